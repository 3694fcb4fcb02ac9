//! How many calls are open below instances, in all shards of an engine.
//!
//! It stops what runs away, and that runs now: so it is kept in memory. What there was when the engine was opened is
//! counted by rows, once somebody asks about that instance.

use crate::InstanceId;
use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The open calls of what others have called, by the outermost caller.
#[derive(Debug, Default)]
pub(crate) struct Descendants {
    counts: Mutex<BTreeMap<InstanceId, Count>>,
    /// The greatest number of an instance that was there when the engine was opened.
    before: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    open: u32,
    /// Whether those are among them that were there when the engine was opened.
    is_whole: bool,
}

impl Descendants {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<InstanceId, Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An instance of that number was there when the engine was opened.
    pub(crate) fn found(&self, instance: InstanceId) {
        self.before.fetch_max(instance.0, Ordering::Relaxed);
    }

    /// An instance below `root` has more or fewer calls open than before.
    pub(crate) fn change(&self, root: InstanceId, before: usize, after: usize) {
        let more = u32::try_from(after.saturating_sub(before)).unwrap_or(u32::MAX);
        let fewer = u32::try_from(before.saturating_sub(after)).unwrap_or(u32::MAX);
        let mut counts = self.lock();
        let count = counts.entry(root).or_default();
        count.open = count.open.saturating_add(more).saturating_sub(fewer);
        if count.open == 0 && !count.is_whole {
            counts.remove(&root);
        }
    }

    /// How many calls of what others have called are open below `root`. `stored` counts those that rows tell of.
    pub(crate) fn of(&self, root: InstanceId, stored: impl FnOnce() -> u32) -> u32 {
        let known = self.lock().get(&root).copied().unwrap_or_default();
        if known.is_whole || root.0 > self.before.load(Ordering::Relaxed) {
            return known.open;
        }
        // Rows may be behind, and then those that began since are counted twice or not at all.
        let stored = stored();
        let mut counts = self.lock();
        let count = counts.entry(root).or_default();
        count.open = count.open.max(stored);
        count.is_whole = true;
        count.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_calls_are_counted_by_the_outermost_caller() {
        let all = Descendants::default();
        let none = || panic!("it was not there when the engine was opened");
        all.change(InstanceId(7), 0, 3);
        all.change(InstanceId(7), 1, 0);
        assert_eq!((all.of(InstanceId(7), none), all.of(InstanceId(8), none)), (2, 0));
        all.change(InstanceId(7), 2, 0);
        assert!(all.lock().is_empty(), "nothing is kept of callers without calls");
    }

    #[test]
    fn what_was_there_when_the_engine_was_opened_is_counted_by_rows_once() {
        let all = Descendants::default();
        all.found(InstanceId(10));
        all.change(InstanceId(7), 0, 1);
        assert_eq!(all.of(InstanceId(7), || 5), 5);
        all.change(InstanceId(7), 0, 2);
        assert_eq!(all.of(InstanceId(7), || panic!("it is known")), 7);
        assert_eq!(all.of(InstanceId(11), || panic!("it is new")), 0);
    }
}
