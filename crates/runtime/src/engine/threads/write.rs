//! The threads that write: batches into the log, rows into the views.

use std::{
    sync::{
        atomic::Ordering,
        mpsc::{Receiver, SyncSender},
    },
    time::{Duration, Instant},
};

use travertine_store::{Batch, Claim, Claimed, Claiming, Error as StoreError, Seq, ShardId};

use super::{
    super::metrics::{Counters, add, raise},
    Common, Input, Rows, Signal, Write, Writes,
};
use crate::{Checkpoint, Error, Sealed, request::Reply};

/// Writes, until there is nothing more to write.
pub(in crate::engine) fn write(
    common: &Common,
    shard: ShardId,
    work: &Writes,
    views: &SyncSender<Rows>,
) {
    let committer = Committer { shard, work };
    while let Ok(first) = work.from.recv() {
        let Some((rows, done)) = committer.commit(common, first) else { return };
        if rows.is_some_and(|it| views.send(it).is_err()) {
            return;
        }
        committer.done(done);
    }
}

/// What writes for a shard. It commits what there is, hands over rows whose batches are written, and says
/// that it is done.
pub(super) struct Committer<'a> {
    pub(super) shard: ShardId,
    pub(super) work: &'a Writes,
}

impl Committer<'_> {
    /// Commits all batches that are there, up to the first rows. Answers with those and how much it has
    /// done, or with nothing where it could not.
    pub(super) fn commit(&self, common: &Common, first: Write) -> Option<(Option<Rows>, usize)> {
        let mut sealed = Vec::new();
        let mut next = Some(first);
        let mut rows = None;
        while let Some(write) = next.take() {
            match write {
                Write::Batch(it) => {
                    sealed.push(it);
                    next = self.work.from.try_recv().ok();
                }
                Write::Rows(checkpoint, flushed) => {
                    rows = Some(Rows { shard: self.shard, checkpoint, flushed });
                }
            }
        }
        let done = sealed.len() + usize::from(rows.is_some());
        (sealed.is_empty() || commit(common, self.shard, sealed)).then_some((rows, done))
    }

    pub(super) fn done(&self, done: usize) {
        self.work.under_way.fetch_sub(done, Ordering::AcqRel);
    }
}

/// Makes batches durable and lets out what waited for that. Says whether it could.
pub(super) fn commit(common: &Common, shard: ShardId, sealed: Vec<Sealed>) -> bool {
    let (batches, releases): (Vec<Batch>, Vec<_>) =
        sealed.into_iter().map(|it| (it.batch, it.releases)).unzip();
    if !batches.iter().all(Batch::is_empty) {
        let entries: usize = batches.iter().map(|it| it.entries.len()).sum();
        let _span = tracing::debug_span!("commit", batches = batches.len(), entries).entered();
        let began = Instant::now();
        if let Err(error) = append(common, shard, &batches) {
            common.give_up(shard, &error.into());
            return false;
        }
        count(&common.counters, &batches, began.elapsed());
        common.written.notify_waiters();
    }
    for (batch, releases) in batches.into_iter().zip(releases) {
        let mut sealed = Sealed { batch, releases };
        // Whoever hears that an instance waits may send it something at once, and the shard that finds
        // receivers must have heard of it before.
        for mail in sealed.take_mails() {
            common.queue(mail.to).tell(Input::Mail(mail));
        }
        sealed.release(&common.board);
    }
    true
}

/// Appends batches, as soon as that can be done.
fn append(common: &Common, shard: ShardId, batches: &[Batch]) -> Result<(), StoreError> {
    let mut failed = 0;
    loop {
        failed += 1;
        let claim = common.claims.get(shard);
        match common.store.append(&claim, batches) {
            Err(StoreError::Full { reason }) if common.may_wait() => {
                common.wait_for_room(&reason, failed);
            }
            Err(StoreError::Away { reason }) if common.goes_on() => {
                common.wait_for_store(&reason, failed);
            }
            Err(StoreError::Unknown { reason }) if failed == 1 || common.goes_on() => {
                if claim_again(common, claim)?.has(batches) {
                    return Ok(());
                }
                // It is not there and never will be, so that it can be written once more.
                if failed > 1 {
                    common.wait_for_store(&reason, failed);
                }
            }
            answer => return answer,
        }
    }
}

/// Claims a shard again whose owner does not know what became of an append.
fn claim_again(common: &Common, claim: Claim) -> Result<Claimed, StoreError> {
    let mut failed = 0;
    loop {
        failed += 1;
        match common.store.claim(claim.shard, Claiming::Again(claim)) {
            Ok(claimed) => {
                common.claims.set(claimed.claim);
                common.queue(claim.shard).signal(Signal::Claimed(claimed.claim));
                return Ok(claimed);
            }
            Err(StoreError::Full { reason }) if common.may_wait() => {
                common.wait_for_room(&reason, failed);
            }
            Err(StoreError::Away { reason }) if common.goes_on() => {
                common.wait_for_store(&reason, failed);
            }
            Err(error) => return Err(error),
        }
    }
}

fn count(counters: &Counters, batches: &[Batch], took: Duration) {
    let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    let entries = batches.iter().map(|it| it.entries.len() as u64).sum();
    let bytes = batches.iter().flat_map(|it| &it.entries).map(|it| it.body.len() as u64).sum();
    add(&counters.batches, 1);
    add(&counters.entries, entries);
    add(&counters.written, entries);
    add(&counters.bytes, bytes);
    raise(&counters.batch_max, entries);
    add(&counters.append_nanos, nanos);
    raise(&counters.append_nanos_max, nanos);
}

/// Brings the views up to date, until there is nothing more.
/// `upto` is how far the log of each shard was when the counting began.
pub(in crate::engine) fn store_rows(common: &Common, upto: Vec<Seq>, work: &Receiver<Rows>) {
    let mut keeper = RowKeeper { upto };
    for rows in work {
        keeper.store(common, rows);
    }
}

/// What brings the views up to date, of all shards.
pub(super) struct RowKeeper {
    /// How far the rows of each shard are.
    pub(super) upto: Vec<Seq>,
}

impl RowKeeper {
    pub(super) fn store(&mut self, common: &Common, rows: Rows) {
        let Rows { shard, checkpoint, flushed } = rows;
        let mut outcome = common.views_fault.get().cloned().map_or(Ok(()), Err);
        if checkpoint.is_some() && outcome.is_err() {
            common.queue(shard).signal(Signal::Unstored);
        } else if let Some(checkpoint) = checkpoint {
            let rows = checkpoint.changes.len();
            let _span = tracing::debug_span!("checkpoint", %shard, rows).entered();
            let began = Instant::now();
            outcome = store_checkpoint(common, shard, &checkpoint);
            match &outcome {
                Ok(()) => {
                    let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    add(&common.counters.checkpoints, 1);
                    add(&common.counters.rows, checkpoint.changes.len() as u64);
                    add(&common.counters.checkpoint_nanos, nanos);
                    let before = &mut self.upto[usize::from(shard.0)];
                    add(&common.counters.stored, checkpoint.upto.saturating_sub(*before));
                    *before = checkpoint.upto;
                    common.queue(shard).signal(Signal::Stored(checkpoint.upto));
                }
                Err(error @ Error::Store(StoreError::Full { .. })) => {
                    tracing::warn!(%error, "rows are not stored any more");
                    let _: Result<(), Error> = common.views_fault.set(error.clone());
                    common.queue(shard).signal(Signal::Unstored);
                }
                Err(error) => common.give_up(shard, error),
            }
        }
        for it in flushed {
            it.send(outcome.clone().map(Reply::Flush));
        }
    }
}

/// Stores rows, as soon as there is room for them.
fn store_checkpoint(common: &Common, shard: ShardId, checkpoint: &Checkpoint) -> Result<(), Error> {
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
            other => return other.map_err(Error::from),
        }
    }
}
