//! What a shard is asked, in order, with a limit to how much may wait; and signals, which come before
//! all that waits.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A queue with one reader. Requests from outside are refused when too many wait; what the engine
/// tells itself always gets in. Signals have a way of their own: a reader that takes on nothing more
/// until it has heard one can take it alone, and one that is busy with items has it nowhere behind them.
#[derive(Debug)]
pub(super) struct Queue<T, S = ()> {
    state: Mutex<State<T, S>>,
    news: Condvar,
    requests_max: usize,
}

#[derive(Debug)]
struct State<T, S> {
    items: VecDeque<T>,
    signals: Vec<S>,
    closed: Option<String>,
    /// Whether nobody reads it any more.
    over: bool,
    /// Whether the reader sleeps and nobody has woken it yet: to wake someone takes long, also where
    /// nobody sleeps.
    asleep: bool,
}

/// Why a queue took nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// So much waits.
    Full(usize),
    /// Nobody reads it any more.
    Closed(String),
}

impl<T, S> Queue<T, S> {
    pub(super) fn new(requests_max: usize) -> Self {
        let state = State {
            items: VecDeque::new(),
            signals: Vec::new(),
            closed: None,
            over: false,
            asleep: false,
        };
        Self { state: Mutex::new(state), news: Condvar::new(), requests_max }
    }

    fn state(&self) -> MutexGuard<'_, State<T, S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for something. What comes from within, `inside`, is taken however much waits.
    pub(super) fn request(&self, item: T, inside: bool) -> Result<(), Refused> {
        let mut state = self.state();
        if let Some(reason) = &state.closed {
            return Err(Refused::Closed(reason.clone()));
        }
        if state.items.len() >= self.requests_max && !inside {
            return Err(Refused::Full(state.items.len()));
        }
        state.items.push_back(item);
        self.wake(state);
        Ok(())
    }

    /// Tells something. Nobody hears it where the queue is closed.
    pub(super) fn tell(&self, item: T) {
        let mut state = self.state();
        if state.over {
            // Whoever waits for an answer learns that none will come.
            drop(state);
            drop(item);
            return;
        }
        state.items.push_back(item);
        self.wake(state);
    }

    /// Tells something that comes before all items.
    pub(super) fn signal(&self, signal: S) {
        let mut state = self.state();
        state.signals.push(signal);
        self.wake(state);
    }

    fn wake(&self, mut state: MutexGuard<'_, State<T, S>>) {
        let was_asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if was_asleep {
            self.news.notify_one();
        }
    }

    /// Takes the signals alone; waits for one where there is none.
    pub(super) fn take_signals(&self, signals: &mut Vec<S>) {
        let mut state = self.state();
        while state.signals.is_empty() {
            state.asleep = true;
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.asleep = false;
        signals.append(&mut state.signals);
    }

    /// Takes what is there, items in order; waits for it where there is nothing, but no longer than
    /// that.
    pub(super) fn take(
        &self,
        taken: &mut VecDeque<T>,
        signals: &mut Vec<S>,
        wait: Option<Duration>,
    ) {
        let mut state = self.state();
        if state.has_nothing() && taken.is_empty() {
            let sleeps = |it: &mut State<T, S>| {
                it.asleep = it.has_nothing();
                it.asleep
            };
            state = match wait {
                None => self.news.wait_while(state, sleeps).unwrap_or_else(PoisonError::into_inner),
                Some(wait) => {
                    self.news
                        .wait_timeout_while(state, wait, sleeps)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
            state.asleep = false;
        }
        signals.append(&mut state.signals);
        if taken.is_empty() {
            std::mem::swap(taken, &mut state.items);
        } else {
            taken.append(&mut state.items);
        }
    }

    /// Refuses everything from now on, and forgets what is there. The reader still hears `last`.
    pub(super) fn close(&self, reason: &str, last: Option<S>) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| reason.to_owned());
        state.over = true;
        state.signals.extend(last);
        let items = std::mem::take(&mut state.items);
        drop(state);
        drop(items);
        self.news.notify_one();
    }

    /// Refuses requests from now on.
    pub(super) fn refuse(&self, reason: &str) {
        self.state().closed.get_or_insert_with(|| reason.to_owned());
    }

    pub(super) fn len(&self) -> usize {
        self.state().items.len()
    }

    /// Whether the reader sleeps because there is nothing for it.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state();
        state.asleep && state.has_nothing()
    }

    #[cfg(test)]
    pub(super) fn has_signals(&self) -> bool {
        !self.state().signals.is_empty()
    }
}

impl<T, S> State<T, S> {
    fn has_nothing(&self) -> bool {
        self.items.is_empty() && self.signals.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, sync::mpsc, thread, time::Duration};

    use super::Queue;

    #[test]
    fn who_waits_for_a_signal_hears_it_behind_items() {
        let queue = Queue::new(10);
        queue.tell(1);
        thread::scope(|scope| {
            let (found, heard) = mpsc::channel();
            let queue = &queue;
            scope.spawn(move || {
                let mut signals = Vec::new();
                queue.take_signals(&mut signals);
                found.send(signals)
            });
            while !queue.state().asleep {
                thread::yield_now();
            }
            queue.tell(2);
            queue.signal("three");
            let heard = heard.recv_timeout(Duration::from_mins(1));
            // Whoever has not heard of it is woken, so that the test comes to its end.
            queue.close("it is over", Some("four"));
            assert_eq!(heard, Ok(vec!["three"]));
        });
    }

    #[test]
    fn signals_are_taken_with_items_and_not_among_them() {
        let queue = Queue::new(10);
        queue.tell(1);
        queue.signal("a");
        queue.tell(2);
        let (mut items, mut signals) = (VecDeque::new(), Vec::new());
        queue.take(&mut items, &mut signals, None);
        assert_eq!((items, signals), (VecDeque::from([1, 2]), vec!["a"]));
    }
}
