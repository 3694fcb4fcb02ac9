//! Which rows are behind the log.

use std::collections::{BTreeSet, VecDeque};

use travertine_store::{
    Fold, Seq,
    view::{Change, Key, Table},
};

use super::Live;
use crate::{Address, InstanceId};

/// What has changed since rows were stored.
#[derive(Default)]
pub(super) struct Views {
    /// Instances that have changed since rows were written.
    pub(super) dirty: Vec<InstanceId>,
    /// Changes of rows that belong to no instance.
    pub(super) rows: Vec<Change>,
    /// Entries of the log that go once these rows are stored.
    pub(super) folds: Vec<Fold>,
    /// The entry up to which rows are stored.
    pub(super) stored: Seq,
    /// The entry up to which rows were handed over.
    pub(super) checkpointed: Seq,
    /// Instances whose rows go: with the next checkpoint, and with those that are being stored.
    going: BTreeSet<InstanceId>,
    /// Instances of which less is kept, from the same moment on.
    shortened: Vec<InstanceId>,
    handed_over: VecDeque<HandedOver>,
}

/// What becomes true with rows that are being stored.
#[derive(Default)]
struct HandedOver {
    going: BTreeSet<InstanceId>,
    shortened: Vec<InstanceId>,
}

impl Views {
    /// Rows that are up to date with that entry.
    pub(super) fn at(upto: Seq) -> Self {
        Self { stored: upto, checkpointed: upto, ..Self::default() }
    }

    /// All rows of an instance go.
    pub(super) fn remove(&mut self, instance: InstanceId) {
        self.rows.push(Change::Remove(instance.0));
        self.going.insert(instance);
    }

    /// Less is kept of an instance once rows are stored.
    pub(super) fn shorten(&mut self, instance: InstanceId, fold: Fold) {
        self.folds.push(fold);
        self.shortened.push(instance);
        self.want();
    }

    /// Whether rows of an instance that are stored are about to go.
    pub(super) fn is_going(&self, instance: InstanceId) -> bool {
        let is_handed_over = |it: &HandedOver| it.going.contains(&instance);
        self.going.contains(&instance) || self.handed_over.iter().any(is_handed_over)
    }

    /// The changes of rows that belong to no instance in memory, for a checkpoint.
    pub(super) fn hand_over(&mut self) -> Vec<Change> {
        let going = std::mem::take(&mut self.going);
        let shortened = std::mem::take(&mut self.shortened);
        self.handed_over.push_back(HandedOver { going, shortened });
        std::mem::take(&mut self.rows)
    }

    /// A checkpoint is stored. Answers with the instances of which less is kept from now on.
    pub(super) fn are_stored(&mut self, upto: Seq) -> Vec<InstanceId> {
        self.stored = self.stored.max(upto);
        self.handed_over.pop_front().unwrap_or_default().shortened
    }

    /// The rows of an instance must be written.
    pub(super) fn mark(&mut self, live: &mut Live) {
        if !live.touched.any {
            live.touched.any = true;
            self.dirty.push(live.id);
        }
    }

    /// Rows must be written although no entry is.
    pub(super) fn want(&mut self) {
        self.checkpointed = 0;
    }

    /// The row of a message goes.
    pub(super) fn delete_message(&mut self, number: u64) {
        let key = Key { instance: number, number: 0, name: "".into() };
        self.rows.push(Change::Delete(Table::Messages, key));
    }

    /// The row of someone who waits for messages goes.
    pub(super) fn delete_subscription(&mut self, Address { instance, wait }: Address) {
        let key = Key { instance: instance.0, number: wait.0, name: "".into() };
        self.rows.push(Change::Delete(Table::Subscriptions, key));
    }
}
