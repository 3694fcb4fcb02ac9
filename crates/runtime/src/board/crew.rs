//! Workers of this process, and how jobs get into their hands.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::sync::{Notify, mpsc};
use travertine_value::Name;

use crate::{InstanceId, shard::Given};

/// Workers of this process who do jobs of a type, so many at once.
#[derive(Clone, Debug)]
pub(crate) struct Crew(pub(super) Arc<CrewState>);

#[derive(Debug)]
pub(super) struct CrewState {
    pub(super) job_type: Name,
    pub(super) at_once: usize,
    /// How many of them are. It grows only while the places are locked, so that no job is neither up
    /// nor in hand.
    pub(super) at_work: AtomicUsize,
    /// Whether someone waits for the last of them to finish.
    pub(super) is_leaving: AtomicBool,
    /// Notified when one has finished who was waited for.
    pub(super) free: Notify,
    pub(super) worked: Arc<Worked>,
}

/// Notified when a worker has finished, once anyone has asked for that.
#[derive(Debug, Default)]
pub(super) struct Worked {
    pub(super) is_asked_for: AtomicBool,
    pub(super) news: Notify,
}

impl Crew {
    pub(crate) fn job_type(&self) -> &Name {
        &self.0.job_type
    }

    /// How many more jobs it could do.
    pub(crate) fn free(&self) -> usize {
        self.0.at_once.saturating_sub(self.0.at_work.load(Ordering::SeqCst))
    }

    /// Ends when one of a crew that was all at work may have become free.
    pub(crate) async fn one_free(&self) {
        self.0.free.notified().await;
    }

    /// Ends when nobody is at work any more.
    pub(crate) async fn all_free(&self) {
        self.0.is_leaving.store(true, Ordering::SeqCst);
        while self.0.at_work.load(Ordering::SeqCst) > 0 {
            self.0.free.notified().await;
        }
    }
}

/// A job that a worker of this process has in hand, until this is dropped.
#[derive(Debug)]
pub(crate) struct AtWork(Crew);

impl AtWork {
    /// The places are locked.
    pub(super) fn begin(crew: &Crew) -> Self {
        crew.0.at_work.fetch_add(1, Ordering::SeqCst);
        Self(crew.clone())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let crew = &self.0.0;
        let were_at_work = crew.at_work.fetch_sub(1, Ordering::SeqCst);
        if were_at_work >= crew.at_once || crew.is_leaving.load(Ordering::SeqCst) {
            crew.free.notify_one();
        }
        if crew.worked.is_asked_for.load(Ordering::SeqCst) {
            crew.worked.news.notify_waiters();
        }
    }
}

/// A job that was put into a hand.
pub(crate) type Handed = (Arc<Given>, AtWork);

/// A worker of this process who has nothing else to do, for one job, which need not go up first.
#[derive(Debug)]
pub(crate) struct Hand {
    pub(super) hands: Arc<Hands>,
    pub(super) at_work: AtWork,
}

/// Jobs on their way to workers of this process, by crew: each crew is given all of its jobs at once.
#[derive(Debug, Default)]
pub(crate) struct Handing(Vec<(Arc<Hands>, Vec<Handed>)>);

impl Handing {
    pub(crate) fn add(&mut self, hand: Hand, given: Arc<Given>) {
        let Hand { hands, at_work } = hand;
        let known = self.0.iter_mut().find(|(it, _)| Arc::ptr_eq(it, &hands));
        match known {
            Some((_, jobs)) => jobs.push((given, at_work)),
            None => self.0.push((hands, vec![(given, at_work)])),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the jobs of an instance from going out. Whoever was to have them is free again.
    pub(crate) fn forget(&mut self, instance: InstanceId) {
        for (_, jobs) in &mut self.0 {
            jobs.retain(|(given, _)| given.job.instance != instance);
        }
        self.0.retain(|(_, jobs)| !jobs.is_empty());
    }

    /// Gives them to the workers.
    pub(crate) fn put(self) {
        for (hands, jobs) in self.0 {
            // Where the workers have ended meanwhile, the jobs are begun after a restart, as are those
            // that they did not finish.
            let _: Result<(), mpsc::error::SendError<Vec<Handed>>> = hands.to.send(jobs);
        }
    }
}

/// A crew that takes jobs as they come.
#[derive(Debug)]
pub(super) struct Hands {
    pub(super) crew: Crew,
    pub(super) to: mpsc::UnboundedSender<Vec<Handed>>,
}
