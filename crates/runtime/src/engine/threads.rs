//! The threads of an engine: for each shard one that decides and one that writes, and one for all
//! that brings the views up to date. What is little is written by the one that decides.

use std::{
    cell::Cell,
    collections::VecDeque,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use travertine_func::Retry;
use travertine_store::{Batch, Error as StoreError, Mail, Seq, ShardId, Store};

use super::{
    clock::Clock,
    metrics::{Counters, add, raise},
    queue::Queue,
};
use crate::{Board, Checkpoint, Definitions, Error, Given, Sealed, Shard, shard::Outcome};

/// What a shard's thread is told.
pub(super) enum Input {
    /// Someone asks.
    Ask(Box<dyn FnOnce(&mut Shard) + Send>),
    /// A worker of this process has made an attempt.
    Attempted(Arc<Given>, Outcome),
    /// Another shard asks.
    Mail(Mail),
    /// Something will be deployed in a moment.
    Expect(Arc<Definitions>, Flushed),
    /// Something is deployed.
    Adopt(Arc<Definitions>),
    /// The rows up to here are stored.
    Stored(Seq),
    /// Someone wants the rows up to date.
    Flush(Flushed),
    /// The time may have changed.
    Wake,
    /// No more will come.
    Stop,
}

/// Called when what was told is seen to: rows are up to date, or cannot be.
pub(super) type Flushed = Box<dyn FnOnce(Result<(), Error>) + Send>;

/// What the thread that writes is told.
pub(super) enum Write {
    Batch(Sealed),
    /// Rows that may be stored once all batches before are.
    Rows(Option<Checkpoint>, Vec<Flushed>),
}

/// The way from the thread that decides to the one that writes.
pub(super) struct Writer {
    to: SyncSender<Write>,
    /// How much it was told and has not done yet.
    under_way: Arc<AtomicUsize>,
    /// How many entries the last batch had.
    last: Cell<usize>,
}

/// What the thread that writes is told, in order.
pub(super) struct Writes {
    from: Receiver<Write>,
    under_way: Arc<AtomicUsize>,
}

/// How many entries are written by the thread that decides, if nothing else is being written: for few
/// of them it takes longer to wake another thread than what could be decided meanwhile.
const FEW: usize = 16;

/// How many entries are worth a commit of their own, so that nothing is decided while nothing is
/// written.
const ENOUGH: usize = 64;

/// A way for what is to be written.
pub(super) fn writer() -> (Writer, Writes) {
    let (to, from) = sync_channel(4);
    let under_way = Arc::<AtomicUsize>::default();
    (
        Writer { to, under_way: Arc::clone(&under_way), last: Cell::new(0) },
        Writes { from, under_way },
    )
}

impl Writer {
    /// Writes a batch, now or later. Says whether anything can be written.
    fn write(&self, common: &Common, sealed: Sealed) -> bool {
        let entries = sealed.batch.entries.len();
        // One small batch among large ones does not hold up what is to be decided.
        let few = entries.max(self.last.replace(entries)) <= FEW;
        if few && self.is_idle() {
            return commit(common, vec![sealed]);
        }
        self.tell(Write::Batch(sealed))
    }

    fn is_idle(&self) -> bool {
        self.under_way.load(Ordering::Acquire) == 0
    }

    fn tell(&self, write: Write) -> bool {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        self.to.send(write).is_ok()
    }
}

/// What the thread that brings views up to date is told.
pub(super) struct Rows {
    shard: ShardId,
    checkpoint: Option<Checkpoint>,
    flushed: Vec<Flushed>,
}

/// What all threads of an engine share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) store: Arc<dyn Store>,
    pub(super) board: Arc<Board>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) counters: Counters,
    pub(super) queues: Vec<Queue<Input>>,
    /// What ends the naps of the thread that looks for what need not be kept any more.
    pub(super) naps: Queue<()>,
    pub(super) pace: Pace,
    /// How what was not written is tried again.
    pub(super) storage_retry: Retry,
    pub(super) waits_for_room: bool,
    /// Why the engine takes no more.
    pub(super) fault: OnceLock<Error>,
    /// Whether someone wants it to end.
    pub(super) stopping: AtomicBool,
}

/// When rows are brought up to date.
///
/// ```
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::{Options, Pace};
/// # use std::time::Duration;
/// let pace = Pace { interval: Duration::from_secs(5), ..Pace::default() };
/// let engine = Engine::in_memory(Options { pace, ..Options::default() })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pace {
    /// After so many instances have changed.
    pub changed: usize,
    /// After so long, if anything has changed.
    pub interval: Duration,
    /// When so many have changed and rows are not stored yet, nothing more is taken on.
    pub changed_max: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { changed: 32_768, interval: Duration::from_millis(500), changed_max: 200_000 }
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ask(_) => "Ask",
            Self::Attempted(..) => "Attempted",
            Self::Mail(_) => "Mail",
            Self::Expect(..) => "Expect",
            Self::Adopt(_) => "Adopt",
            Self::Stored(_) => "Stored",
            Self::Flush(_) => "Flush",
            Self::Wake => "Wake",
            Self::Stop => "Stop",
        })
    }
}

impl Common {
    /// The engine cannot go on.
    pub(super) fn fail(&self, error: &Error) {
        if self.fault.set(error.clone()).is_ok() {
            tracing::error!(%error, "the engine has failed");
        }
        for queue in &self.queues {
            queue.close(&error.to_string(), Some(Input::Stop));
        }
        self.naps.tell(());
    }

    /// Whether nobody has stopped it, and nothing has failed.
    pub(super) fn goes_on(&self) -> bool {
        self.fault.get().is_none() && !self.stopping.load(Ordering::SeqCst)
    }

    /// Whether what finds no room is tried again.
    fn may_wait(&self) -> bool {
        self.waits_for_room && self.goes_on()
    }

    fn wait_for_room(&self, reason: &str, failed: u32) {
        tracing::warn!(%reason, "writing waits for room in the store");
        add(&self.counters.stalls, 1);
        thread::sleep(self.storage_retry.delay(failed));
    }

    fn queue(&self, shard: ShardId) -> &Queue<Input> {
        &self.queues[usize::from(shard.0)]
    }
}

/// Decides, until it is stopped.
pub(super) fn decide(common: &Common, mut shard: Shard, writer: &Writer) {
    let queue = common.queue(shard.id());
    let mut inputs = VecDeque::new();
    let mut flushes = Vec::new();
    let mut in_memory = 0;
    let mut storing = false;
    let mut stopping = false;
    let mut last_rows = Instant::now();
    loop {
        if common.fault.get().is_some() {
            return;
        }
        if storing && shard.changed() >= common.pace.changed_max {
            // Everything else waits until rows are stored.
            match queue.take_first(|it| matches!(it, Input::Stored(_) | Input::Stop)) {
                Input::Stored(upto) => {
                    storing = false;
                    shard.stored(upto);
                }
                _ => stopping = true,
            }
            continue;
        }
        if !stopping {
            queue.take(&mut inputs, pause(common, &shard, last_rows, storing));
        }
        shard.tick(common.clock.now());
        while let Some(input) = inputs.pop_front() {
            match input {
                Input::Ask(act) => act(&mut shard),
                Input::Attempted(given, outcome) => shard.attempted(given, outcome),
                Input::Mail(mail) => shard.receive(&mail),
                Input::Expect(definitions, told) => {
                    shard.expect(&definitions);
                    told(Ok(()));
                }
                Input::Adopt(definitions) => shard.adopt(&definitions),
                Input::Stored(upto) => {
                    storing = false;
                    shard.stored(upto);
                }
                Input::Flush(flushed) => flushes.push(flushed),
                Input::Wake => {}
                Input::Stop => stopping = true,
            }
            if shard.is_full() || (shard.unwritten() >= ENOUGH && writer.is_idle()) {
                break;
            }
        }
        shard.work();
        if let Some(error) = shard.fault() {
            common.fail(error);
            return;
        }
        add(&common.counters.events, shard.take_events());
        if let Some(sealed) = shard.seal()
            && !writer.write(common, sealed)
        {
            return;
        }
        let changed = shard.changed();
        let due = shard.is_behind() && last_rows.elapsed() >= common.pace.interval;
        let wanted = changed >= common.pace.changed || due || stopping;
        if (wanted && !storing) || !flushes.is_empty() {
            let checkpoint = shard.checkpoint();
            let told = std::mem::take(&mut flushes);
            last_rows = Instant::now();
            if checkpoint.is_some() || !told.is_empty() {
                storing = checkpoint.is_some() || storing;
                let counted = std::mem::replace(&mut in_memory, shard.len() as u64);
                add(&common.counters.in_memory, in_memory);
                common.counters.in_memory.fetch_sub(counted, Ordering::Relaxed);
                if !writer.tell(Write::Rows(checkpoint, told)) {
                    return;
                }
            }
        }
        if stopping && inputs.is_empty() && queue.len() == 0 && shard.changed() == 0 {
            return;
        }
        if stopping {
            // Whatever is under way comes to an end first.
            queue.take(&mut inputs, Some(Duration::from_millis(1)));
        }
    }
}

/// How long the shard has nothing to do, if nobody asks.
fn pause(common: &Common, shard: &Shard, last_rows: Instant, storing: bool) -> Option<Duration> {
    if shard.is_busy() {
        return Some(Duration::ZERO);
    }
    let rows = (shard.is_behind() && !storing)
        .then(|| common.pace.interval.saturating_sub(last_rows.elapsed()));
    let due = common.clock.runs().then(|| shard.next_due()).flatten().map(|due| {
        let left = due.as_millis().saturating_sub(common.clock.now().as_millis());
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    });
    rows.into_iter().chain(due).min()
}

/// Writes, until there is nothing more to write.
pub(super) fn write(common: &Common, shard: ShardId, work: &Writes, views: &SyncSender<Rows>) {
    while let Ok(first) = work.from.recv() {
        let mut sealed = Vec::new();
        let mut next = Some(first);
        let mut rows = None;
        while let Some(write) = next.take() {
            match write {
                Write::Batch(it) => {
                    sealed.push(it);
                    next = work.from.try_recv().ok();
                }
                Write::Rows(checkpoint, flushed) => {
                    rows = Some(Rows { shard, checkpoint, flushed });
                }
            }
        }
        let done = sealed.len() + usize::from(rows.is_some());
        if !sealed.is_empty() && !commit(common, sealed) {
            return;
        }
        if let Some(rows) = rows
            && views.send(rows).is_err()
        {
            return;
        }
        work.under_way.fetch_sub(done, Ordering::AcqRel);
    }
}

/// Makes batches durable and lets out what waited for that. Says whether it could.
fn commit(common: &Common, sealed: Vec<Sealed>) -> bool {
    let (batches, releases): (Vec<Batch>, Vec<_>) =
        sealed.into_iter().map(|it| (it.batch, it.releases)).unzip();
    let writes = batches
        .iter()
        .any(|it| !it.entries.is_empty() || !it.sent.is_empty() || !it.taken.is_empty());
    if writes {
        let entries: usize = batches.iter().map(|it| it.entries.len()).sum();
        let _span = tracing::debug_span!("commit", batches = batches.len(), entries).entered();
        let began = Instant::now();
        for failed in 1.. {
            match common.store.append(&batches) {
                Ok(()) => break,
                Err(StoreError::Full { reason }) if common.may_wait() => {
                    common.wait_for_room(&reason, failed);
                }
                Err(error) => {
                    common.fail(&error.into());
                    return false;
                }
            }
        }
        count(&common.counters, &batches, began.elapsed());
    }
    for (batch, releases) in batches.into_iter().zip(releases) {
        for mail in (Sealed { batch, releases }).release(&common.board) {
            common.queue(mail.to).tell(Input::Mail(mail));
        }
    }
    true
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
pub(super) fn store_rows(common: &Common, mut upto: Vec<Seq>, work: &Receiver<Rows>) {
    for Rows { shard, checkpoint, flushed } in work {
        let mut outcome = Ok(());
        if let Some(checkpoint) = checkpoint {
            let rows = checkpoint.changes.len();
            let _span = tracing::debug_span!("checkpoint", %shard, rows).entered();
            let began = Instant::now();
            outcome = store_checkpoint(common, &checkpoint);
            match &outcome {
                Ok(()) => {
                    let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    add(&common.counters.checkpoints, 1);
                    add(&common.counters.rows, checkpoint.changes.len() as u64);
                    add(&common.counters.checkpoint_nanos, nanos);
                    let before = &mut upto[usize::from(shard.0)];
                    add(&common.counters.stored, checkpoint.upto.saturating_sub(*before));
                    *before = checkpoint.upto;
                    common.queue(shard).tell(Input::Stored(checkpoint.upto));
                }
                Err(error) => common.fail(error),
            }
        }
        for it in flushed {
            it(outcome.clone());
        }
    }
}

/// Stores rows, as soon as there is room for them.
fn store_checkpoint(common: &Common, checkpoint: &Checkpoint) -> Result<(), Error> {
    let mut failed = 0;
    loop {
        failed += 1;
        match checkpoint.store(&*common.store) {
            Err(StoreError::Full { reason }) if common.may_wait() => {
                common.wait_for_room(&reason, failed);
            }
            other => return other.map_err(Error::from),
        }
    }
}
