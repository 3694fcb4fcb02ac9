//! The thread that writes the log, for all shards of a lane.

use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{atomic::Ordering, mpsc::SyncSender},
    time::{Duration, Instant},
};

use travertine_store::{Append, Batch, Claim, Claimed, Claiming, Error as StoreError, ShardId};

use super::{
    super::metrics::{Counters, add, raise},
    Common, Input, Rows, Signal, Write, Writes,
};
use crate::{Error, RequestOutcome, Sealed, request::ReplyTo};

/// Writes, until there is nothing more to write.
pub(in crate::engine) fn write(common: &Common, work: Writes, views: &SyncSender<Rows>) {
    let mut committer = Committer::new(work);
    while let Ok(first) = committer.work.from.recv() {
        let (rows, done) = committer.commit(common, first);
        if rows.is_some_and(|it| views.send(it).is_err()) {
            return;
        }
        committer.done(done);
    }
}

/// What writes for a lane. It commits what there is, hands over rows whose batches are written, and says that it is
/// done.
pub(super) struct Committer {
    pub(super) work: Writes,
    /// Shards of which a batch was not written, so that nothing that comes after it may be, until they have left.
    broken: BTreeSet<ShardId>,
}

impl Committer {
    pub(super) fn new(work: Writes) -> Self {
        Self { work, broken: BTreeSet::new() }
    }

    /// Commits all batches that are there, up to the first rows. Answers with those and how much it has done.
    pub(super) fn commit(&mut self, common: &Common, first: Write) -> (Option<Rows>, usize) {
        let mut sealed: Vec<Sealed> = Vec::new();
        let mut next = Some(first);
        let (mut rows, mut done) = (None, 0);
        while let Some(write) = next.take() {
            done += 1;
            match write {
                Write::Batches(more) if sealed.is_empty() => sealed = more,
                Write::Batches(more) => sealed.extend(more),
                Write::Rows(shard, checkpoint, flushed) => {
                    rows = Some(Rows::Of { shard, checkpoint, flushed });
                }
                Write::Left(shard) => rows = Some(Rows::Left(shard)),
            }
            if rows.is_none() {
                next = self.work.from.try_recv().ok();
            }
        }
        if !self.broken.is_empty() {
            for it in sealed.extract_if(.., |it| self.broken.contains(&it.shard)) {
                let error = common.refusal(it.shard);
                it.refuse(&error);
            }
        }
        self.broken.extend(commit(common, sealed));
        (self.follow(common, rows), done)
    }

    /// Rows of a shard say nothing that the log does not.
    fn follow(&mut self, common: &Common, rows: Option<Rows>) -> Option<Rows> {
        match rows? {
            Rows::Of { shard, flushed, .. } if self.broken.contains(&shard) => {
                let error = common.refusal(shard);
                for it in flushed {
                    it.send(Err(error.clone()));
                }
                None
            }
            Rows::Left(shard) => {
                self.broken.remove(&shard);
                Some(Rows::Left(shard))
            }
            rows @ Rows::Of { .. } => Some(rows),
        }
    }

    pub(super) fn done(&self, done: usize) {
        self.work.under_way.fetch_sub(done, Ordering::AcqRel);
    }
}

/// The batches of one shard that are written together.
struct Lot<'a> {
    shard: ShardId,
    sealed: &'a mut [Sealed],
    /// Which of all batches they are.
    range: Range<usize>,
    tried: Tried,
}

/// What came of trying to write a lot.
enum Tried {
    Written,
    /// Nothing was written, and it is tried again: at once, or when the store has had time to recover.
    Again(Option<StoreError>),
    /// It was not written, unless nobody knows.
    Failed(Error, RequestOutcome),
}

/// Makes batches durable, of each shard all or nothing, and lets out what waited for that. Answers with the shards that
/// are lost since theirs were not written.
pub(super) fn commit(common: &Common, mut sealed: Vec<Sealed>) -> Vec<ShardId> {
    if !sealed.is_sorted_by_key(|it| it.shard) {
        // Those of a shard stay in their order.
        sealed.sort_by_key(|it| it.shard);
    }
    let mut batches: Vec<Batch> =
        sealed.iter_mut().map(|it| std::mem::take(&mut it.batch)).collect();
    let mut from = 0;
    let lots = sealed.chunk_by_mut(|one, other| one.shard == other.shard).map(|sealed| {
        let range = from..from + sealed.len();
        from = range.end;
        // What only lets something out waits for nothing.
        let is_empty = batches[range.clone()].iter().all(Batch::is_empty);
        let tried = if is_empty { Tried::Written } else { Tried::Again(None) };
        Lot { shard: sealed[0].shard, sealed, range, tried }
    });
    let mut lots: Vec<Lot<'_>> = lots.collect();
    let mut lost = Vec::new();
    for tries in 1.. {
        try_all(common, &mut lots, &batches, tries);
        let (mut left, mut why) = (Vec::new(), None);
        for lot in lots {
            match lot.tried {
                Tried::Written => lot.let_out(common, &mut batches),
                Tried::Again(ref error) => {
                    why = why.or_else(|| error.clone());
                    left.push(lot);
                }
                Tried::Failed(..) => {
                    lost.push(lot.shard);
                    lot.fail(common);
                }
            }
        }
        match why {
            Some(StoreError::Full { reason }) => common.wait_for_room(&reason, tries),
            Some(error) => common.wait_for_store(&error.to_string(), tries),
            None => {}
        }
        if left.is_empty() {
            break;
        }
        lots = left;
    }
    lost
}

impl Lot<'_> {
    /// Lets out what waited for the lot to be durable.
    fn let_out(self, common: &Common, batches: &mut [Batch]) {
        for (sealed, batch) in self.sealed.iter_mut().zip(&mut batches[self.range]) {
            let mut sealed = sealed.take_with(std::mem::take(batch));
            // Whoever hears that an instance waits may send it something at once, and the shard that finds
            // receivers must have heard of it before.
            for mail in sealed.take_mails() {
                // One that is lost reads its inbox when it comes again.
                drop(common.queue(mail.to).tell(Input::Mail(mail)));
            }
            sealed.let_out(&common.board, |shard, request| {
                // One that is lost tells nobody.
                drop(common.queue(shard).tell(Input::Ask(request, ReplyTo::Nobody)));
            });
        }
    }

    /// The lot was not written, or nobody knows: its shard is lost.
    fn fail(self, common: &Common) {
        let Tried::Failed(error, outcome) = self.tried else { return };
        common.give_up(self.shard, &error);
        let told = match outcome {
            RequestOutcome::NotDone => common.refusal(self.shard),
            RequestOutcome::Unknown | RequestOutcome::Done => {
                Error::Unknown { reason: error.to_string() }
            }
        };
        for it in self.sealed {
            it.take_with(Batch::default()).refuse(&told);
        }
    }
}

/// Tries to write all lots that are not written, all of them at once.
fn try_all(common: &Common, lots: &mut [Lot<'_>], batches: &[Batch], tries: u32) {
    let of = |it: &Lot<'_>| &batches[it.range.clone()];
    let append = |it: &Lot<'_>| Append { claim: common.claims.get(it.shard), batches: of(it) };
    let is_open = |it: &Lot<'_>| !matches!(it.tried, Tried::Written);
    let open = lots.iter().filter(|it| is_open(it)).count();
    if open == 0 {
        return;
    }
    let _span = tracing::debug_span!("commit", shards = open, batches = batches.len()).entered();
    let began = Instant::now();
    let answers = match &*lots {
        [lot] => common.store.append_all(&[append(lot)]),
        lots => {
            let all = lots.iter().filter(|it| is_open(it)).map(append);
            common.store.append_all(&all.collect::<Vec<_>>())
        }
    };
    let took = began.elapsed();
    let mut written = Written::default();
    for (lot, answer) in lots.iter_mut().filter(|it| is_open(it)).zip(answers) {
        lot.tried = tried(common, &append(lot), answer, tries);
        if let Tried::Written = lot.tried {
            written.add(of(lot));
        }
    }
    if written.any {
        written.count(&common.counters, took);
        common.written.notify_waiters();
    }
}

fn tried(
    common: &Common,
    append: &Append<'_>,
    answer: Result<(), StoreError>,
    tries: u32,
) -> Tried {
    match answer {
        Ok(()) => Tried::Written,
        Err(error @ StoreError::Full { .. }) if common.may_wait() => Tried::Again(Some(error)),
        Err(error @ StoreError::Away { .. }) if common.goes_on() => Tried::Again(Some(error)),
        Err(error @ StoreError::Unknown { .. }) if tries == 1 || common.goes_on() => {
            match claim_again(common, append.claim) {
                Ok(claimed) if claimed.has(append.batches) => Tried::Written,
                // It is not there and never will be, so that it can be written once more.
                Ok(_) => Tried::Again(Some(error).filter(|_| tries > 1)),
                Err(error) => Tried::Failed(error.into(), RequestOutcome::Unknown),
            }
        }
        Err(error) => {
            let error = Error::from(error);
            let outcome = error.outcome();
            Tried::Failed(error, outcome)
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

/// How much one commit has written.
#[derive(Default)]
struct Written {
    any: bool,
    entries: u64,
    bytes: u64,
}

impl Written {
    fn add(&mut self, batches: &[Batch]) {
        self.any = true;
        for entry in batches.iter().flat_map(|it| &it.entries) {
            self.entries += 1;
            self.bytes += entry.body.len() as u64;
        }
    }

    fn count(&self, counters: &Counters, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        add(&counters.batches, 1);
        add(&counters.entries, self.entries);
        add(&counters.written, self.entries);
        add(&counters.bytes, self.bytes);
        raise(&counters.batch_max, self.entries);
        add(&counters.append_nanos, nanos);
        raise(&counters.append_nanos_max, nanos);
    }
}
