//! What a shard does without anyone asking.

use std::{collections::VecDeque, fmt};

use super::quarantine::Quarantine;
use crate::InstanceId;

/// What a shard does without anyone asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drive {
    /// Nothing.
    Rests,
    /// What follows from what someone has asked: nothing that was due, or left to do, when it was opened.
    Follows,
    /// All there is to do.
    Goes,
}

/// What there is to do, and what keeps a shard from doing it.
pub(super) struct Agenda {
    pub(super) drive: Drive,
    /// Instances that used up their turn.
    pub(super) unfinished: VecDeque<InstanceId>,
    /// How many of them had when it was opened; they are the first.
    pub(super) left: usize,
    /// How many events there have been since this was set to 0.
    pub(super) events: u64,
    /// What is in the store and cannot be read, besides instances.
    pub(super) damaged: Vec<String>,
    /// What the process has died of.
    pub(super) quarantine: Quarantine,
}

impl Agenda {
    pub(super) fn new(at_rest: bool, unfinished: Vec<InstanceId>) -> Self {
        Self {
            drive: if at_rest { Drive::Rests } else { Drive::Goes },
            unfinished: unfinished.into(),
            left: 0,
            events: 0,
            damaged: Vec::new(),
            quarantine: Quarantine::default(),
        }
    }

    /// Whether nothing goes on by itself.
    pub(super) fn rests(&self) -> bool {
        self.drive == Drive::Rests
    }

    /// Those that may go on, among the instances that used up their turn.
    pub(super) fn unfinished(&self) -> impl ExactSizeIterator<Item = InstanceId> {
        self.unfinished.range(self.first()..).copied()
    }

    /// The next of them.
    pub(super) fn take_unfinished(&mut self) -> Option<InstanceId> {
        self.unfinished.remove(self.first())
    }

    fn first(&self) -> usize {
        match self.drive {
            Drive::Rests => self.unfinished.len(),
            Drive::Follows => self.left.min(self.unfinished.len()),
            Drive::Goes => 0,
        }
    }

    /// Something of the shard itself cannot be read. The rest goes on without it.
    pub(super) fn pass_over(&mut self, what: &str, error: &dyn fmt::Display) {
        let damaged = format!("{what} is damaged: {error}");
        tracing::error!(damaged, "it stays in the store and is passed over");
        self.damaged.push(damaged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_when_it_was_opened_waits_until_all_may_go_on() {
        let mut agenda = Agenda::new(true, vec![InstanceId(1), InstanceId(2)]);
        agenda.left = 2;
        agenda.unfinished.push_back(InstanceId(3));
        assert_eq!(agenda.take_unfinished(), None);
        agenda.drive = Drive::Follows;
        assert_eq!(agenda.unfinished().collect::<Vec<_>>(), [InstanceId(3)]);
        assert_eq!(
            (agenda.take_unfinished(), agenda.take_unfinished()),
            (Some(InstanceId(3)), None)
        );
        agenda.drive = Drive::Goes;
        assert_eq!(agenda.take_unfinished(), Some(InstanceId(1)));
    }
}
