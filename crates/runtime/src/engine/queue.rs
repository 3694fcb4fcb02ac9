//! What the shards of a lane are asked, in order, with a limit to how much may wait; and signals, which come before
//! all that waits.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::Error;

/// A queue with one reader and several ways in, each for itself: one for each shard of a lane. Requests from outside are
/// refused when too many wait on their way; what the engine tells itself always gets in. Signals come before all items
/// of their way: a reader that takes on nothing more until it has heard one can take it alone, and one that is busy with
/// items has it nowhere behind them.
#[derive(Debug)]
pub(super) struct Queue<T, S = ()> {
    state: Mutex<State<T, S>>,
    news: Condvar,
    requests_max: usize,
}

#[derive(Debug)]
struct State<T, S> {
    ways: Vec<WayState<T, S>>,
    /// Whether the reader sleeps and nobody has woken it yet: to wake someone takes long, also where
    /// nobody sleeps.
    asleep: bool,
}

#[derive(Debug)]
struct WayState<T, S> {
    items: VecDeque<T>,
    signals: Vec<S>,
    /// Why requests are refused, where they are.
    closed: Option<Error>,
    /// Whether nothing else gets in either.
    shut: bool,
    /// Whether the reader that sleeps does so although there are items.
    is_deaf: bool,
}

/// Why a queue took nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// So much waits.
    Full(usize),
    /// Nobody reads it now.
    Closed(Error),
}

/// What a reader has taken of one way, and not done yet.
#[derive(Debug)]
pub(super) struct Taken<T, S> {
    pub(super) items: VecDeque<T>,
    pub(super) signals: Vec<S>,
    /// Whether it takes nothing but signals.
    pub(super) is_deaf: bool,
}

impl<T, S> Default for Taken<T, S> {
    fn default() -> Self {
        Self { items: VecDeque::new(), signals: Vec::new(), is_deaf: false }
    }
}

/// One way into a queue.
#[derive(Debug)]
pub(super) struct Way<'a, T, S> {
    queue: &'a Queue<T, S>,
    at: usize,
}

impl<T, S> Queue<T, S> {
    /// A queue with so many ways, in each of which so many requests may wait.
    pub(super) fn new(ways: usize, requests_max: usize) -> Self {
        let way = |_| WayState {
            items: VecDeque::new(),
            signals: Vec::new(),
            closed: None,
            shut: false,
            is_deaf: false,
        };
        let state = State { ways: (0..ways).map(way).collect(), asleep: false };
        Self { state: Mutex::new(state), news: Condvar::new(), requests_max }
    }

    pub(super) fn way(&self, at: usize) -> Way<'_, T, S> {
        Way { queue: self, at }
    }

    pub(super) fn ways(&self) -> impl Iterator<Item = Way<'_, T, S>> {
        let ways = self.state().ways.len();
        (0..ways).map(|it| self.way(it))
    }

    fn state(&self) -> MutexGuard<'_, State<T, S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, mut state: MutexGuard<'_, State<T, S>>) {
        let was_asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if was_asleep {
            self.news.notify_one();
        }
    }

    /// Takes what is there, items in order, of each way. Waits for something where there is nothing, but no longer than
    /// that. Of a way to whose items the reader is deaf it takes signals alone.
    pub(super) fn take(&self, taken: &mut [Taken<T, S>], wait: Option<Duration>) {
        let mut state = self.state();
        let has_items = taken.iter().any(|it| !it.is_deaf && !it.items.is_empty());
        if !has_items {
            for (way, taken) in state.ways.iter_mut().zip(&*taken) {
                way.is_deaf = taken.is_deaf;
            }
            let sleeps = |it: &mut State<T, S>| {
                it.asleep = it.ways.iter().all(WayState::has_nothing);
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
        for (way, taken) in state.ways.iter_mut().zip(taken) {
            taken.signals.append(&mut way.signals);
            if taken.is_deaf {
                continue;
            }
            if taken.items.is_empty() {
                std::mem::swap(&mut taken.items, &mut way.items);
            } else {
                taken.items.append(&mut way.items);
            }
        }
    }

    /// How much waits on all ways.
    pub(super) fn len(&self) -> usize {
        self.state().ways.iter().map(|it| it.items.len()).sum()
    }
}

impl<T, S> WayState<T, S> {
    fn has_nothing(&self) -> bool {
        (self.items.is_empty() || self.is_deaf) && self.signals.is_empty()
    }
}

impl<'a, T, S> Way<'a, T, S> {
    fn locked(&self) -> MutexGuard<'a, State<T, S>> {
        self.queue.state()
    }

    /// Asks for something. What comes from within, `inside`, is taken however much waits.
    pub(super) fn request(&self, item: T, inside: bool) -> Result<(), Refused> {
        let mut state = self.locked();
        let way = &mut state.ways[self.at];
        if let Some(error) = &way.closed {
            return Err(Refused::Closed(error.clone()));
        }
        if way.items.len() >= self.queue.requests_max && !inside {
            return Err(Refused::Full(way.items.len()));
        }
        way.items.push_back(item);
        self.queue.wake(state);
        Ok(())
    }

    /// Tells something. It is dropped where nothing gets in.
    pub(super) fn tell(&self, item: T) -> Result<(), Refused> {
        let mut state = self.locked();
        let way = &mut state.ways[self.at];
        if let Some(error) = &way.closed
            && way.shut
        {
            let refused = Refused::Closed(error.clone());
            // Whoever waits for an answer learns that none will come.
            drop(state);
            drop(item);
            return Err(refused);
        }
        way.items.push_back(item);
        self.queue.wake(state);
        Ok(())
    }

    /// Tells something that comes before all items.
    pub(super) fn signal(&self, signal: S) {
        let mut state = self.locked();
        state.ways[self.at].signals.push(signal);
        self.queue.wake(state);
    }

    /// Puts back what the reader has taken and not begun with, before all that came since. Gives it back where nothing
    /// gets in.
    pub(super) fn put_back(&self, mut items: VecDeque<T>) -> Result<(), VecDeque<T>> {
        let mut state = self.locked();
        let way = &mut state.ways[self.at];
        if way.shut {
            return Err(items);
        }
        items.append(&mut way.items);
        way.items = items;
        Ok(())
    }

    /// Refuses requests from now on.
    pub(super) fn refuse(&self, error: Error) {
        self.locked().ways[self.at].closed.get_or_insert(error);
    }

    /// Lets nothing in from now on but signals, and gives back what waits.
    pub(super) fn shut(&self, error: Error) -> VecDeque<T> {
        let mut state = self.locked();
        let way = &mut state.ways[self.at];
        way.closed.get_or_insert(error);
        way.shut = true;
        std::mem::take(&mut way.items)
    }

    /// Lets in again what the engine tells itself.
    pub(super) fn unlock(&self) {
        self.locked().ways[self.at].shut = false;
    }

    /// Lets everything in again, if still wanted.
    pub(super) fn open(&self, is_wanted: impl FnOnce() -> bool) {
        let mut state = self.locked();
        let way = &mut state.ways[self.at];
        if is_wanted() {
            (way.closed, way.shut) = (None, false);
        }
    }

    /// How much waits.
    pub(super) fn len(&self) -> usize {
        self.locked().ways[self.at].items.len()
    }

    /// Whether the reader sleeps because there is nothing for it.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.locked();
        let way = &state.ways[self.at];
        state.asleep && way.items.is_empty() && way.signals.is_empty()
    }

    #[cfg(test)]
    pub(super) fn has_signals(&self) -> bool {
        !self.locked().ways[self.at].signals.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, sync::mpsc, thread, time::Duration};

    use super::{Queue, Refused, Taken};
    use crate::Error;

    fn closed() -> Error {
        Error::Closed { reason: "it is over".to_owned() }
    }

    #[test]
    fn who_waits_for_a_signal_hears_it_behind_items() {
        let queue = Queue::new(1, 10);
        queue.way(0).tell(1).unwrap();
        thread::scope(|scope| {
            let (found, heard) = mpsc::channel();
            let queue = &queue;
            scope.spawn(move || {
                let mut taken = [Taken { is_deaf: true, ..Taken::default() }];
                queue.take(&mut taken, None);
                let [Taken { items, signals, .. }] = taken;
                found.send((items.len(), signals))
            });
            while !queue.state().asleep {
                thread::yield_now();
            }
            queue.way(0).tell(2).unwrap();
            queue.way(0).signal("three");
            let heard = heard.recv_timeout(Duration::from_mins(1));
            // Whoever has not heard of it is woken, so that the test comes to its end.
            queue.way(0).signal("four");
            assert_eq!(heard, Ok((0, vec!["three"])));
        });
    }

    #[test]
    fn signals_are_taken_with_items_and_not_among_them() {
        let queue = Queue::new(2, 10);
        queue.way(0).tell(1).unwrap();
        queue.way(0).signal("a");
        queue.way(0).tell(2).unwrap();
        queue.way(1).tell(3).unwrap();
        let mut taken = [Taken::default(), Taken::default()];
        queue.take(&mut taken, None);
        let [one, other] = taken;
        assert_eq!((one.items, one.signals), (VecDeque::from([1, 2]), vec!["a"]));
        assert_eq!((other.items, other.signals), (VecDeque::from([3]), vec![]));
    }

    #[test]
    fn a_way_that_is_shut_gives_back_what_waits_and_the_others_stay_open() {
        let queue = Queue::<u32, ()>::new(2, 1);
        let (one, other) = (queue.way(0), queue.way(1));
        one.request(1, false).unwrap();
        assert_eq!(one.request(2, false), Err(Refused::Full(1)));
        assert_eq!(one.shut(closed()), [1]);
        assert_eq!(one.request(2, true), Err(Refused::Closed(closed())));
        assert_eq!(one.tell(2), Err(Refused::Closed(closed())));
        assert_eq!(one.put_back([0].into()), Err([0].into()));
        one.unlock();
        one.tell(2).unwrap();
        assert_eq!(one.request(3, true), Err(Refused::Closed(closed())));
        one.open(|| false);
        assert_eq!(one.request(3, true), Err(Refused::Closed(closed())));
        one.open(|| true);
        one.request(3, true).unwrap();
        one.put_back([0, 1].into()).unwrap();
        other.request(9, false).unwrap();
        assert_eq!((one.len(), queue.len()), (4, 5));
        let mut taken = [Taken::default(), Taken::default()];
        queue.take(&mut taken, None);
        assert_eq!((&taken[0].items, &taken[1].items), (&[0, 1, 2, 3].into(), &[9].into()));
    }
}
