//! What a shard is asked, in order, with a limit to how much may wait.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A queue with one reader. Requests from outside are refused when too many wait; what the engine
/// tells itself always gets in.
#[derive(Debug)]
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    news: Condvar,
    requests_max: usize,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
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

impl<T> Queue<T> {
    pub(super) fn new(requests_max: usize) -> Self {
        let state = State { items: VecDeque::new(), closed: None, over: false, asleep: false };
        Self { state: Mutex::new(state), news: Condvar::new(), requests_max }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for something. What comes from within, `inside`, is taken however much waits.
    pub(super) fn request(&self, item: T, inside: bool) -> Result<(), Refused> {
        let state = self.state();
        if let Some(reason) = &state.closed {
            return Err(Refused::Closed(reason.clone()));
        }
        if state.items.len() >= self.requests_max && !inside {
            return Err(Refused::Full(state.items.len()));
        }
        self.push(state, item);
        Ok(())
    }

    /// Tells something. Nobody hears it where the queue is closed.
    pub(super) fn tell(&self, item: T) {
        let state = self.state();
        if state.over {
            // Whoever waits for an answer learns that none will come.
            drop(state);
            drop(item);
            return;
        }
        self.push(state, item);
    }

    fn push(&self, mut state: MutexGuard<'_, State<T>>, item: T) {
        state.items.push_back(item);
        let was_asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if was_asleep {
            self.news.notify_one();
        }
    }

    /// Takes the first item that is `wanted`, out of order; waits for one where there is none.
    pub(super) fn take_first(&self, wanted: impl Fn(&T) -> bool) -> T {
        let mut state = self.state();
        loop {
            if let Some(found) = state.items.iter().position(&wanted)
                && let Some(item) = state.items.remove(found)
            {
                state.asleep = false;
                return item;
            }
            state.asleep = true;
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes what is there, in order; waits for it where there is nothing, but no longer than that.
    pub(super) fn take(&self, taken: &mut VecDeque<T>, wait: Option<Duration>) {
        let mut state = self.state();
        if state.items.is_empty() && taken.is_empty() {
            let sleeps = |it: &mut State<T>| {
                it.asleep = it.items.is_empty();
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
        if taken.is_empty() {
            std::mem::swap(taken, &mut state.items);
        } else {
            taken.append(&mut state.items);
        }
    }

    /// Refuses everything from now on, and forgets what is there. The reader still hears `last`.
    pub(super) fn close(&self, reason: &str, last: Option<T>) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| reason.to_owned());
        state.over = true;
        let items = std::mem::replace(&mut state.items, last.into_iter().collect());
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
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use super::Queue;

    #[test]
    fn who_waits_for_one_thing_hears_of_it_behind_others() {
        let queue = Queue::new(10);
        queue.tell(1);
        thread::scope(|scope| {
            let (found, heard) = mpsc::channel();
            let queue = &queue;
            scope.spawn(move || found.send(queue.take_first(|it| *it > 1)));
            while !queue.state().asleep {
                thread::yield_now();
            }
            queue.tell(2);
            let heard = heard.recv_timeout(Duration::from_mins(1));
            // Whoever has not heard of it is woken, so that the test comes to its end.
            queue.close("it is over", Some(3));
            assert_eq!(heard, Ok(2));
        });
    }
}
