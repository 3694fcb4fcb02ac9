//! What is due when.

use std::collections::{BTreeMap, BTreeSet};

use travertine_kernel::WaitId;
use travertine_store::record::StartKey;
use travertine_value::time::Timestamp;

use super::guard::Undo;
use crate::{Address, InstanceId};

/// Whom a timer wakes. Of those due at once the order is that of their kinds, then of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// A token that waits: instance and wait.
    Wait(Address),
    /// A start event of a definition.
    Start(StartKey),
    /// The end of a lease, or of a pause, of a job: instance and wait.
    Job(Address),
    /// The end of a held message.
    Message(u64),
    /// The end of an attempt of this process at an activity: instance and wait.
    Attempt(Address),
    /// A limit that time gives room to.
    Limit,
    /// Starts that wait for another second.
    Throttle,
}

/// The timers that are set, by when they are due.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    order: BTreeSet<(Timestamp, Alarm)>,
    /// Those that do not ring until they are set again.
    muted: BTreeSet<(Timestamp, Alarm)>,
    due: BTreeMap<Alarm, Timestamp>,
    /// How those were that one turn has set or unset.
    pub(super) undo: Undo<(Alarm, Option<Set>)>,
}

/// How a timer is set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    due: Timestamp,
    is_muted: bool,
}

impl Alarms {
    pub(super) fn set(&mut self, due: Timestamp, alarm: Alarm) {
        let before = self.remove(alarm);
        self.undo.note(|| (alarm, before));
        self.order.insert((due, alarm));
        self.due.insert(alarm, due);
    }

    pub(super) fn unset(&mut self, alarm: Alarm) {
        let before = self.remove(alarm);
        if before.is_some() {
            self.undo.note(|| (alarm, before));
        }
    }

    fn remove(&mut self, alarm: Alarm) -> Option<Set> {
        let due = self.due.remove(&alarm)?;
        let is_muted = !self.order.remove(&(due, alarm)) && self.muted.remove(&(due, alarm));
        Some(Set { due, is_muted })
    }

    /// Takes back what one turn has set and unset.
    pub(super) fn roll_back(&mut self) {
        for (alarm, before) in self.undo.take() {
            self.remove(alarm);
            if let Some(Set { due, is_muted }) = before {
                self.due.insert(alarm, due);
                let set = if is_muted { &mut self.muted } else { &mut self.order };
                set.insert((due, alarm));
            }
        }
    }

    /// Whether it is set.
    pub(super) fn is_set(&self, alarm: Alarm) -> bool {
        self.due.contains_key(&alarm)
    }

    /// Unsets all that wake an instance.
    pub(super) fn forget(&mut self, instance: InstanceId) {
        let first = Address { instance, wait: WaitId(0) };
        let last = Address { instance, wait: WaitId(u64::MAX) };
        for (first, last) in
            [(Alarm::Wait(first), Alarm::Wait(last)), (Alarm::Job(first), Alarm::Job(last))]
        {
            let set: Vec<Alarm> = self.due.range(first..=last).map(|(it, _)| *it).collect();
            for alarm in set {
                self.unset(alarm);
            }
        }
    }

    /// When the next one is due that rings.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.order.first().map(|(due, _)| *due)
    }

    /// Takes the next one that is due by `now`.
    pub(super) fn take(&mut self, now: Timestamp) -> Option<(Timestamp, Alarm)> {
        let (due, _) = self.order.first()?;
        if *due > now {
            return None;
        }
        let (due, alarm) = self.order.pop_first()?;
        self.due.remove(&alarm);
        Some((due, alarm))
    }

    /// Those that are due by `now` and ring, in order.
    pub(super) fn due(&self, now: Timestamp) -> impl Iterator<Item = &(Timestamp, Alarm)> {
        self.order.iter().take_while(move |(due, _)| *due <= now)
    }

    /// Those that are due by `now` do not ring until they are set again.
    pub(super) fn mute_due(&mut self, now: Timestamp) {
        while let Some(it) = self.order.pop_first() {
            if it.0 > now {
                self.order.insert(it);
                return;
            }
            self.muted.insert(it);
        }
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Timestamp, Alarm)> {
        self.muted.iter().chain(&self.order)
    }

    /// How many timers of models are set: leases, pauses and messages that end are none.
    pub(super) fn timers(&self) -> usize {
        self.due.keys().filter(|it| matches!(it, Alarm::Wait(..) | Alarm::Start(_))).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_is_muted_rings_once_it_is_set_again_and_nothing_is_left_of_it_when_it_is_unset()
    {
        let at = Timestamp::from_millis(5);
        let mut alarms = Alarms::default();
        let is = |it: &Alarms| (it.next(), it.iter().count());
        alarms.set(at, Alarm::Limit);
        alarms.mute_due(at);
        assert_eq!(is(&alarms), (None, 1));
        alarms.set(at, Alarm::Limit);
        assert_eq!(is(&alarms), (Some(at), 1));
        alarms.mute_due(at);
        alarms.unset(Alarm::Limit);
        assert_eq!(is(&alarms), (None, 0));
    }
}
