//! Who asks for jobs, and when they last did: in memory, for people who look for workers.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use travertine_value::Name;

use crate::{Engine, Timestamp};

/// How many are remembered. Whoever has not asked for the longest time is forgotten first.
const MOST: usize = 1_000;

/// A worker elsewhere that has asked for jobs of a type.
///
/// ```no_run
/// # use travertine_runtime::Engine;
/// # fn example(engine: Engine) {
/// for it in engine.askers() {
///     println!("{} asked for {} at {}", it.worker, it.job_type, it.last);
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// What it asks for.
    pub job_type: Name,
    /// What it calls itself.
    pub worker: Name,
    /// When it last began to ask, or was given something.
    pub last: Timestamp,
    /// How many of its calls wait.
    pub waiting: usize,
}

/// Those who have asked.
#[derive(Debug, Default)]
pub(super) struct Askers(Mutex<BTreeMap<(Name, Name), (Timestamp, usize)>>);

impl Askers {
    /// Notes that somebody asks, until what comes back is dropped.
    pub(super) fn asks(&self, job_type: &Name, worker: &Name, now: Timestamp) -> Asks<'_> {
        let key = (Name::clone(job_type), Name::clone(worker));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(&key) {
            let idle = all.iter().filter(|(_, (_, waiting))| *waiting == 0);
            let oldest = idle.min_by_key(|(_, (last, _))| *last).map(|(key, _)| key.clone());
            match oldest {
                Some(oldest) => drop(all.remove(&oldest)),
                // All of them wait; one more is not remembered.
                None => return Asks { askers: self, key: None },
            }
        }
        let asker = all.entry(key.clone()).or_insert((now, 0));
        asker.0 = now;
        asker.1 += 1;
        Asks { askers: self, key: Some(key) }
    }

    fn all(&self) -> Vec<Asker> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let asker =
            |((job_type, worker), (last, waiting)): (&(Name, Name), &(Timestamp, usize))| {
                let (job_type, worker) = (Name::clone(job_type), Name::clone(worker));
                Asker { job_type, worker, last: *last, waiting: *waiting }
            };
        all.iter().map(asker).collect()
    }
}

/// Somebody who asks.
#[derive(Debug)]
pub(super) struct Asks<'a> {
    askers: &'a Askers,
    key: Option<(Name, Name)>,
}

impl Drop for Asks<'_> {
    fn drop(&mut self) {
        let Some(key) = &self.key else { return };
        let mut all = self.askers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asker) = all.get_mut(key) {
            asker.1 = asker.1.saturating_sub(1);
        }
    }
}

impl Engine {
    /// The workers elsewhere that have asked for jobs since the engine was opened, by type.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// assert!(Engine::in_memory(Options::default())?.askers().is_empty());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn askers(&self) -> Vec<Asker> {
        self.inner.askers.all()
    }
}
