//! Jobs that a worker may have, of all shards, in the order in which they are given out.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::Notify;
use travertine_expr::Name;

use crate::Address;

/// A job that a worker may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Which workers can do it.
    pub job_type: Name,
    /// Greater comes first.
    pub priority: i64,
    /// Since when it waits: of the same priority the oldest comes first.
    pub since: i64,
    /// What it is called.
    pub job: Address,
}

/// Jobs that a worker may have.
#[derive(Debug, Default)]
pub struct Board {
    queues: Mutex<BTreeMap<Name, Queue>>,
    /// How many workers of this process have in hand. It grows only while the queues are locked, so
    /// that no job is neither up nor in hand.
    at_work: AtomicUsize,
    worked: Notify,
}

/// A job that a worker of this process has in hand, until this is dropped.
#[derive(Debug)]
pub(crate) struct AtWork(Arc<Board>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::SeqCst);
        self.0.worked.notify_waiters();
    }
}

#[derive(Debug, Default)]
struct Queue {
    jobs: BTreeSet<(Reverse<i64>, i64, Address)>,
    news: Arc<Notify>,
}

impl Board {
    fn with<T>(&self, job_type: &Name, act: impl FnOnce(&mut Queue) -> T) -> T {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get_mut(job_type) {
            return act(queue);
        }
        act(queues.entry(Name::clone(job_type)).or_default())
    }

    /// Puts a job up.
    pub fn offer(&self, offer: &Offer) {
        self.with(&offer.job_type, |it| {
            it.jobs.insert((Reverse(offer.priority), offer.since, offer.job));
            it.news.notify_one();
        });
    }

    /// Takes a job down, if it is there.
    pub fn withdraw(&self, offer: &Offer) {
        self.with(&offer.job_type, |it| {
            it.jobs.remove(&(Reverse(offer.priority), offer.since, offer.job));
        });
    }

    /// Takes the first jobs of a type, at most so many.
    pub fn take(&self, job_type: &Name, most: usize) -> Vec<Offer> {
        self.take_and(job_type, most, |_| ())
    }

    /// The same, for a worker of this process, who has them in hand from now on.
    pub(crate) fn take_in_hand(
        self: &Arc<Self>,
        job_type: &Name,
        most: usize,
    ) -> Vec<(Offer, AtWork)> {
        let taken = self.take_and(job_type, most, |count| {
            self.at_work.fetch_add(count, Ordering::SeqCst);
        });
        taken.into_iter().map(|it| (it, AtWork(Arc::clone(self)))).collect()
    }

    /// Has `and` know how many are taken before anyone can see that they are not up any more.
    fn take_and(&self, job_type: &Name, most: usize, and: impl FnOnce(usize)) -> Vec<Offer> {
        self.with(job_type, |it| {
            let taken = std::iter::from_fn(|| it.jobs.pop_first()).take(most);
            let offer = |(Reverse(priority), since, job)| Offer {
                job_type: Name::clone(job_type),
                priority,
                since,
                job,
            };
            let taken: Vec<Offer> = taken.map(offer).collect();
            and(taken.len());
            if !it.jobs.is_empty() {
                // One who waits is woken for one offer; there is more than that.
                it.news.notify_one();
            }
            taken
        })
    }

    /// What is notified when a job of a type is put up.
    pub fn news(&self, job_type: &Name) -> Arc<Notify> {
        self.with(job_type, |it| Arc::clone(&it.news))
    }

    /// How many jobs of each type are up.
    pub fn counts(&self) -> Vec<(Name, usize)> {
        self.counts_and_at_work().0
    }

    /// The same, and how many workers of this process have in hand, at one moment.
    pub(crate) fn counts_and_at_work(&self) -> (Vec<(Name, usize)>, usize) {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = queues.iter().map(|(name, it)| (Name::clone(name), it.jobs.len()));
        let counts = counts.filter(|(_, count)| *count > 0).collect();
        (counts, self.at_work.load(Ordering::SeqCst))
    }

    /// What is notified when a worker of this process has one job less in hand.
    pub(crate) fn worked(&self) -> &Notify {
        &self.worked
    }

    /// Takes everything down that belongs to instances for which `gone`.
    pub fn clear(&self, gone: impl Fn(Address) -> bool) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        for queue in queues.values_mut() {
            queue.jobs.retain(|(_, _, job)| !gone(*job));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(priority: i64, since: i64, instance: u64) -> Offer {
        Offer { job_type: "pay".into(), priority, since, job: Address::new((instance, 1)) }
    }

    #[test]
    fn the_most_pressing_job_comes_first_and_the_oldest_of_those() {
        let board = Board::default();
        for it in [offer(0, 5, 1), offer(0, 3, 2), offer(9, 7, 3), offer(0, 3, 4)] {
            board.offer(&it);
        }
        board.withdraw(&offer(0, 3, 4));
        let taken = board.take(&"pay".into(), 2);
        assert_eq!(taken.iter().map(|it| it.job.instance.0).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(board.counts(), [("pay".into(), 1)]);
        assert_eq!(board.take(&"other".into(), 2), []);
    }

    #[test]
    fn a_job_in_hand_is_counted_until_it_is_let_go() {
        let board = Arc::new(Board::default());
        board.offer(&offer(0, 5, 1));
        board.offer(&offer(0, 6, 2));
        assert_eq!(board.counts_and_at_work(), (vec![("pay".into(), 2)], 0));
        let in_hand = board.take_in_hand(&"pay".into(), 1);
        assert_eq!(in_hand[0].0, offer(0, 5, 1));
        assert_eq!(board.counts_and_at_work(), (vec![("pay".into(), 1)], 1));
        drop(in_hand);
        assert_eq!(board.take(&"pay".into(), 1), [offer(0, 6, 2)]);
        assert_eq!(board.counts_and_at_work(), (vec![], 0));
    }
}
