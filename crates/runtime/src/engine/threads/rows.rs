//! The thread that brings the views up to date, for all shards.

use std::{collections::BTreeSet, sync::mpsc::Receiver, time::Instant};

use travertine_store::{Error as StoreError, Seq, ShardId};

use super::{super::metrics::add, Common, Rows, Signal};
use crate::{
    Checkpoint, Error,
    request::{Reply, ReplyTo},
};

/// Brings the views up to date, until there is nothing more.
/// `upto` is how far the log of each shard was when the counting began.
pub(in crate::engine) fn store_rows(common: &Common, upto: Vec<Seq>, work: &Receiver<Rows>) {
    let mut keeper = RowKeeper::new(upto);
    for rows in work {
        keeper.store(common, rows);
    }
}

/// What brings the views up to date, of all shards.
pub(super) struct RowKeeper {
    /// How far the rows of each shard are.
    upto: Vec<Seq>,
    /// Shards of which rows were not stored, so that none that come after them may be, until they have left.
    broken: BTreeSet<ShardId>,
}

impl RowKeeper {
    pub(super) fn new(upto: Vec<Seq>) -> Self {
        Self { upto, broken: BTreeSet::new() }
    }

    pub(super) fn store(&mut self, common: &Common, rows: Rows) {
        match rows {
            Rows::Of { shard, checkpoint, flushed } => {
                self.store_of(common, shard, checkpoint, flushed);
            }
            Rows::Left(shard) => {
                self.broken.remove(&shard);
                if !common.claims.is_gone(shard) {
                    // Nobody reads it only where the engine ends.
                    drop(common.lost.way(0).tell(shard));
                }
            }
        }
    }

    fn store_of(
        &mut self,
        common: &Common,
        shard: ShardId,
        checkpoint: Option<Checkpoint>,
        flushed: Vec<ReplyTo>,
    ) {
        let mut outcome = common.views_fault.get().cloned().map_or(Ok(()), Err);
        if self.broken.contains(&shard) {
            outcome = Err(common.refusal(shard));
        } else if checkpoint.is_some() && outcome.is_err() {
            common.queue(shard).signal(Signal::Unstored);
        } else if let Some(checkpoint) = checkpoint {
            outcome = self.store_checkpoint(common, shard, &checkpoint);
        }
        for it in flushed {
            it.send(outcome.clone().map(Reply::Flush));
        }
    }

    fn store_checkpoint(
        &mut self,
        common: &Common,
        shard: ShardId,
        checkpoint: &Checkpoint,
    ) -> Result<(), Error> {
        let rows = checkpoint.changes.len();
        let _span = tracing::debug_span!("checkpoint", %shard, rows).entered();
        let began = Instant::now();
        match store(common, shard, checkpoint) {
            Ok(()) => {
                let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                add(&common.counters.checkpoints, 1);
                add(&common.counters.rows, rows as u64);
                add(&common.counters.checkpoint_nanos, nanos);
                let before = &mut self.upto[usize::from(shard.0)];
                add(&common.counters.stored, checkpoint.upto.saturating_sub(*before));
                *before = checkpoint.upto;
                common.queue(shard).signal(Signal::Stored(checkpoint.upto));
                Ok(())
            }
            Err(error @ StoreError::Full { .. }) => {
                let error = Error::from(error);
                tracing::warn!(%error, "rows are not stored any more");
                let _: Result<(), Error> = common.views_fault.set(error.clone());
                common.queue(shard).signal(Signal::Unstored);
                Err(error)
            }
            Err(error) => {
                self.broken.insert(shard);
                let error = Error::from(error);
                common.give_up(shard, &error);
                Err(error)
            }
        }
    }
}

/// Stores rows, as soon as there is room for them.
fn store(common: &Common, shard: ShardId, checkpoint: &Checkpoint) -> Result<(), StoreError> {
    let mut failed = 0;
    loop {
        failed += 1;
        let claim = common.claims.get(shard);
        match checkpoint.store(&*common.store, &claim) {
            Err(StoreError::Full { reason }) if common.may_wait() => {
                common.wait_for_room(&reason, failed);
            }
            // Rows that are stored twice are what they are.
            Err(StoreError::Away { reason } | StoreError::Unknown { reason })
                if common.goes_on() =>
            {
                common.wait_for_store(&reason, failed);
            }
            // It was claimed again meanwhile, by ourselves.
            Err(StoreError::Stale { .. }) if common.claims.get(shard) != claim => {}
            other => return other,
        }
    }
}
