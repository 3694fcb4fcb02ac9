//! What is due when.

use std::collections::{BTreeMap, BTreeSet};

pub use travertine_expr::time::Timestamp;
use travertine_kernel::NodeId;

use crate::sandbox::Address;

/// Whom a timer wakes. Of those due at once, waits come first, in the order of their ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// A token that waits.
    Wait(Address),
    /// A start event of a definition, by the position of its trigger.
    Start { definition: travertine_expr::Name, node: NodeId, position: usize },
}

/// The timers that are set, by when they are due.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alarms {
    order: BTreeSet<(Timestamp, Alarm)>,
    due: BTreeMap<Alarm, Timestamp>,
}

impl Alarms {
    pub(crate) fn set(&mut self, due: Timestamp, alarm: Alarm) {
        self.unset(&alarm);
        self.order.insert((due, alarm.clone()));
        self.due.insert(alarm, due);
    }

    pub(crate) fn unset(&mut self, alarm: &Alarm) {
        if let Some(due) = self.due.remove(alarm) {
            self.order.remove(&(due, alarm.clone()));
        }
    }

    pub(crate) fn unset_where(&mut self, wanted: impl Fn(&Alarm) -> bool) {
        self.order.retain(|(_, it)| !wanted(it));
        self.due.retain(|it, _| !wanted(it));
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.order.first().map(|(due, _)| *due)
    }

    /// Takes the next one that is due by `now`.
    pub(crate) fn take(&mut self, now: Timestamp) -> Option<(Timestamp, Alarm)> {
        let (due, _) = self.order.first()?;
        if *due > now {
            return None;
        }
        let (due, alarm) = self.order.pop_first()?;
        self.due.remove(&alarm);
        Some((due, alarm))
    }
}
