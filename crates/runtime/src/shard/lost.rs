//! A shard that is lost, and what of it outlives that in this process: who waits for an answer, and which mails it has
//! had, so that none is heard twice by who comes after it.

use std::collections::BTreeMap;

use travertine_store::{MailId, ShardId};

use super::{Shard, Watcher};
use crate::{Error, InstanceId};

/// Up to which number a shard has had the mails of others. Those of one sender come in order.
#[derive(Debug, Default)]
pub(super) struct Had(BTreeMap<ShardId, u64>);

impl Had {
    /// A mail has come. Says whether it is new.
    pub(super) fn note(&mut self, id: MailId) -> bool {
        let last = self.0.entry(id.from).or_default();
        let is_new = *last < id.number;
        *last = id.number.max(*last);
        is_new
    }

    fn merge(&mut self, other: &Self) {
        for (from, number) in &other.0 {
            self.note(MailId { from: *from, number: *number });
        }
    }
}

/// What is kept of a shard that is lost until it comes again.
#[derive(Debug)]
pub struct Remains {
    watchers: Vec<(InstanceId, Watcher)>,
    had: Had,
}

impl Remains {
    /// It will not come again.
    pub fn refuse(self, error: &Error) {
        for (_, watcher) in self.watchers {
            watcher.to.send(Err(error.clone()));
        }
    }
}

impl Shard {
    /// It is lost: nothing of what was asked since the last batch is done, and whoever works for it need not go on.
    pub fn lost(&mut self, error: &Error) -> Remains {
        self.outbox.refuse(error);
        self.attempts.call_off_all();
        self.agenda.quarantine.lose();
        Remains { watchers: self.watchers.take_all(), had: std::mem::take(&mut self.had) }
    }

    /// It takes the place of one that was lost.
    pub fn inherit(&mut self, remains: Remains) {
        self.had.merge(&remains.had);
        for (instance, watcher) in remains.watchers {
            self.watch(instance, watcher);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_is_new_once_whoever_had_it() {
        let mail = |from: u16, number| MailId { from: ShardId(from), number };
        let mut had = Had::default();
        assert_eq!(
            [1, 1, 3, 2, 4].map(|it| had.note(mail(1, it))),
            [true, false, true, false, true]
        );
        assert!(had.note(mail(2, 1)), "each sender counts for itself");
        let mut next = Had::default();
        assert!(next.note(mail(1, 9)));
        next.merge(&had);
        assert_eq!([mail(1, 9), mail(2, 1)].map(|it| next.note(it)), [false, false]);
        assert_eq!([mail(1, 10), mail(2, 2)].map(|it| next.note(it)), [true, true]);
    }
}
