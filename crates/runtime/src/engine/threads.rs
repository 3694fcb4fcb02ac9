//! The threads of an engine: for each shard one that decides and one that writes, and one for all
//! that brings the views up to date. What is little is written by the one that decides.
//!
//! Each is a value that acts in steps, [`Decider`], `Committer` and `RowKeeper`, and waits only between
//! them. So `tests` below can take the same steps in every order, with queues that are full, rows
//! that lag and an end at every point.

mod write;

use std::{
    cell::Cell,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::sync::Notify;
use travertine_func::Retry;
use travertine_store::{Claim, Error as StoreError, Mail, Seq, ShardId, Store};
use travertine_value::interrupt::{Interrupted, interrupt_by};

use super::{
    clock::Clock,
    metrics::{Counters, add},
    queue::Queue,
};
use crate::{
    Board, Checkpoint, Error, Sealed, Shard,
    request::{Needs, ReplyTo, Request},
    shard::{Case, panic_text},
};

use write::commit;
pub(super) use write::{store_rows, write};

/// How much of what waits is looked at beforehand: about as much as a batch takes.
const FORESEEN: usize = 4_096;

/// What a shard's thread is told.
#[derive(Debug)]
pub(super) enum Input {
    /// Someone asks.
    Ask(Request, ReplyTo),
    /// Another shard asks.
    Mail(Mail),
    /// The time may have changed.
    Wake,
}

/// What a shard's thread hears before all that it was told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Signal {
    /// The rows up to here are stored.
    Stored(Seq),
    /// Rows were not stored, and none will be.
    Unstored,
    /// The shard is written by right of this claim now.
    Claimed(Claim),
    /// No more will come.
    Stop,
}

/// What the thread that writes is told.
pub(super) enum Write {
    Batch(Sealed),
    /// Rows that may be stored once all batches before are.
    Rows(Option<Checkpoint>, Vec<ReplyTo>),
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

/// How much may be on its way to the thread that writes.
const WRITES_MAX: usize = 4;

/// A way for what is to be written.
pub(super) fn writer() -> (Writer, Writes) {
    let (to, from) = sync_channel(WRITES_MAX);
    let under_way = Arc::<AtomicUsize>::default();
    (
        Writer { to, under_way: Arc::clone(&under_way), last: Cell::new(0) },
        Writes { from, under_way },
    )
}

impl Writer {
    /// Writes a batch, now or later. Says whether anything can be written.
    fn write(&self, common: &Common, shard: ShardId, sealed: Sealed) -> bool {
        if self.takes_few(common, &sealed) {
            return commit(common, shard, vec![sealed]);
        }
        self.tell(Write::Batch(sealed))
    }

    /// Whether the thread that decides writes the batch itself.
    fn takes_few(&self, common: &Common, sealed: &Sealed) -> bool {
        let entries = sealed.batch.entries.len();
        // One small batch among large ones does not hold up what is to be decided.
        let few = entries.max(self.last.replace(entries)) <= FEW;
        few && self.is_idle() && common.store.is_near()
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
    flushed: Vec<ReplyTo>,
}

/// What all threads of an engine share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) store: Arc<dyn Store>,
    pub(super) board: Arc<Board>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) counters: Counters,
    /// Tells those who read the log that there is more of it.
    pub(super) written: Notify,
    pub(super) queues: Vec<Queue<Input, Signal>>,
    pub(super) claims: Claims,
    /// What belongs nowhere yet goes to the shards in turn.
    pub(super) next: AtomicU64,
    /// What ends the naps of the thread that looks for what need not be kept any more.
    pub(super) naps: Queue<()>,
    pub(super) pace: Pace,
    /// How what was not written is tried again.
    pub(super) storage_retry: Retry,
    pub(super) waits_for_room: bool,
    /// Why the engine takes no more.
    pub(super) fault: OnceLock<Error>,
    /// Why rows are not stored any more. The log has all they would say, so the engine goes on.
    pub(super) views_fault: OnceLock<Error>,
    /// Whether someone wants it to end.
    pub(super) stopping: Arc<AtomicBool>,
}

/// By what right the shards of an engine are written, and which of them are lost.
#[derive(Debug)]
pub(super) struct Claims(Vec<Tenure>);

#[derive(Debug)]
struct Tenure {
    epoch: AtomicU64,
    /// Why the shard takes no more, although the engine does.
    lost: OnceLock<Error>,
    /// Whether stored rows did not show all there was when its thread last went to sleep.
    behind: AtomicBool,
}

impl Claims {
    pub(super) fn of(shards: &[Shard]) -> Self {
        let tenure = |it: &Shard| Tenure {
            epoch: AtomicU64::new(it.claim().epoch),
            lost: OnceLock::new(),
            behind: AtomicBool::new(true),
        };
        Self(shards.iter().map(tenure).collect())
    }

    fn get(&self, shard: ShardId) -> Claim {
        Claim { shard, epoch: self.0[usize::from(shard.0)].epoch.load(Ordering::Acquire) }
    }

    fn set(&self, claim: Claim) {
        self.0[usize::from(claim.shard.0)].epoch.store(claim.epoch, Ordering::Release);
    }

    /// Whether stored rows of a shard did not show all there was when its thread last went to sleep.
    fn is_behind(&self, shard: ShardId) -> bool {
        self.0[usize::from(shard.0)].behind.load(Ordering::Acquire)
    }

    fn set_behind(&self, shard: ShardId, behind: bool) {
        self.0[usize::from(shard.0)].behind.store(behind, Ordering::Release);
    }

    pub(super) fn is_lost(&self, shard: ShardId) -> bool {
        self.0[usize::from(shard.0)].lost.get().is_some()
    }

    /// Why a shard is lost, where one is.
    pub(super) fn lost(&self) -> Option<Error> {
        self.0.iter().find_map(|it| it.lost.get().cloned())
    }

    /// Takes note that a shard is lost. Answers whether any is left.
    fn lose(&self, shard: ShardId, error: &Error) -> bool {
        if self.0[usize::from(shard.0)].lost.set(error.clone()).is_ok() {
            tracing::error!(%shard, %error, "a shard is lost");
        }
        self.0.iter().any(|it| it.lost.get().is_none())
    }
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

impl Common {
    /// The engine cannot go on.
    pub(super) fn fail(&self, error: &Error) {
        if self.fault.set(error.clone()).is_ok() {
            tracing::error!(%error, "the engine has failed");
        }
        self.board.close();
        for queue in &self.queues {
            queue.close(&error.to_string(), Some(Signal::Stop));
        }
        self.naps.signal(());
    }

    /// A shard cannot go on. The others do, unless the whole store has failed or none is left.
    fn give_up(&self, shard: ShardId, error: &Error) {
        let whole = matches!(
            error,
            Error::Store(
                StoreError::Poisoned { .. }
                    | StoreError::Full { .. }
                    | StoreError::ReadOnly { .. }
                    | StoreError::Away { .. }
            )
        );
        if whole || !self.claims.lose(shard, error) {
            return self.fail(error);
        }
        let reason = format!(
            "shard {shard} is lost: {error}; open the store again to go on with its instances"
        );
        self.queue(shard).close(&reason, Some(Signal::Stop));
        let shards = self.store.shards();
        self.board.clear(|job| ShardId::of(job.instance.0, shards) == shard);
    }

    /// Why no answer comes any more, where that is so.
    pub(super) fn why_silent(&self) -> Option<Error> {
        self.fault.get().cloned().or_else(|| self.claims.lost())
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
        self.stall(failed);
    }

    fn wait_for_store(&self, reason: &str, failed: u32) {
        tracing::warn!(%reason, "the engine waits for the store");
        self.stall(failed);
    }

    fn stall(&self, failed: u32) {
        add(&self.counters.stalls, 1);
        thread::sleep(self.storage_retry.delay(failed));
    }

    /// Whether stored rows of a shard show everything that was acknowledged before.
    pub(super) fn is_fresh(&self, shard: ShardId) -> bool {
        // In this order: while it sleeps, nothing changes.
        self.queue(shard).is_idle() && !self.claims.is_behind(shard)
    }

    pub(super) fn queue(&self, shard: ShardId) -> &Queue<Input, Signal> {
        &self.queues[usize::from(shard.0)]
    }
}

/// Has a shard act. Where it panics outside of any instance, what it has in memory is not to be trusted: the shard is
/// lost, and the others go on.
pub(super) fn or_lost(common: &Common, shard: ShardId, act: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(act)) {
        let reason = format!("the engine failed: {}", panic_text(&*panic));
        common.give_up(shard, &Error::Failed { reason });
    }
}

/// Decides, until it is stopped or the shard is lost.
pub(super) fn decide(common: &Common, shard: Shard, writer: &Writer) {
    let id = shard.id();
    let mut decider = Decider::new(shard);
    interrupt_by(Arc::clone(&common.stopping));
    while common.fault.get().is_none() && !common.claims.is_lost(id) {
        if !decider.hear(common) {
            continue;
        }
        let sealed = match catch_unwind(AssertUnwindSafe(|| decider.act(common, writer))) {
            Ok(Ok(sealed)) => sealed,
            Ok(Err(error)) => return common.give_up(id, &error),
            // A script that takes long does not hold up the end. Nothing of the batch is written: who opens the
            // store next begins with what was before it.
            Err(panic) if panic.is::<Interrupted>() => return decider.shard.close(),
            Err(panic) => resume_unwind(panic),
        };
        if sealed.is_some_and(|it| !writer.write(common, id, it)) {
            return;
        }
        let rows = decider.rows(common);
        if rows.is_some_and(|it| !writer.tell(it)) {
            return;
        }
        if decider.is_over(common) {
            return decider.shard.close();
        }
    }
}

/// What decides for a shard. It hears what there is, acts on it, and hands over rows; then it is over, or
/// hears again.
struct Decider {
    shard: Shard,
    inputs: VecDeque<Input>,
    signals: Vec<Signal>,
    flushes: Vec<ReplyTo>,
    /// How many instances were in memory when that was counted last.
    in_memory: u64,
    /// Whether rows are on their way into the store.
    storing: bool,
    stopping: bool,
    last_rows: Instant,
    /// How often in a row the store was away when it was asked for what a batch needs.
    away: u32,
}

/// What a decider waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Anything, but no longer than that.
    News(Option<Duration>),
    /// A signal: so much has changed that nothing more is taken on before rows are stored.
    Signals,
}

impl Decider {
    fn new(shard: Shard) -> Self {
        Self {
            shard,
            inputs: VecDeque::new(),
            signals: Vec::new(),
            flushes: Vec::new(),
            in_memory: 0,
            storing: false,
            stopping: false,
            last_rows: Instant::now(),
            away: 0,
        }
    }

    fn wait(&self, common: &Common) -> Wait {
        if self.storing && self.shard.changed() >= common.pace.changed_max {
            return Wait::Signals;
        }
        if self.stopping && !self.storing {
            return Wait::News(Some(Duration::ZERO));
        }
        Wait::News(pause(common, &self.shard, self.last_rows, self.storing))
    }

    /// Takes what there is, as soon as there is something. Says whether anything may be done about it.
    fn hear(&mut self, common: &Common) -> bool {
        let queue = common.queue(self.shard.id());
        let wait = self.wait(common);
        // Whoever finds it asleep knows how it stands.
        common.claims.set_behind(self.shard.id(), self.storing || self.shard.is_behind());
        match wait {
            Wait::News(most) => queue.take(&mut self.inputs, &mut self.signals, most),
            Wait::Signals => queue.take_signals(&mut self.signals),
        }
        self.heed();
        wait != Wait::Signals
    }

    /// Acts on signals.
    fn heed(&mut self) {
        for signal in self.signals.drain(..) {
            match signal {
                Signal::Stored(upto) => {
                    self.storing = false;
                    self.shard.stored(upto);
                }
                Signal::Unstored => self.storing = false,
                Signal::Claimed(claim) => self.shard.claimed(claim),
                Signal::Stop => self.stopping = true,
            }
        }
    }

    /// Does what was asked, as far as one batch has room, and what is due.
    fn act(&mut self, common: &Common, writer: &Writer) -> Result<Option<Sealed>, Error> {
        let shard = &mut self.shard;
        shard.tick(common.clock.now());
        shard.foresee(self.inputs.iter().take(FORESEEN).filter_map(|it| match it {
            Input::Mail(mail) => Some(Case::Mail(mail.id)),
            Input::Ask(Request::EndAttempt(it), _) => Some(Case::attempt(it.given.job)),
            _ => None,
        }));
        let is_far = !common.store.is_near();
        if is_far && let Err(error) = shard.fetch(needs(&self.inputs)) {
            return self.wait_for_store(common, error);
        }
        self.away = 0;
        while let Some(input) = self.inputs.pop_front() {
            match input {
                Input::Ask(Request::Flush(_), to) => self.flushes.push(to),
                Input::Ask(request, to) => shard.request(request, to),
                Input::Mail(mail) => shard.receive(&mail),
                Input::Wake => {}
            }
            if shard.is_full() || (shard.unwritten() >= ENOUGH && writer.is_idle()) {
                break;
            }
        }
        shard.work();
        if is_far {
            shard.forget_fetched();
        }
        if let Some(error) = shard.fault() {
            return Err(error.clone());
        }
        add(&common.counters.events, shard.take_events());
        Ok(shard.seal())
    }

    /// What a batch needs cannot be read now: nothing of it is begun, and it is tried again.
    fn wait_for_store(&mut self, common: &Common, error: Error) -> Result<Option<Sealed>, Error> {
        self.shard.forget_fetched();
        if !common.goes_on() {
            return Err(error);
        }
        self.away += 1;
        common.wait_for_store(&error.to_string(), self.away);
        Ok(None)
    }

    /// The rows that are to be stored now.
    fn rows(&mut self, common: &Common) -> Option<Write> {
        let shard = &mut self.shard;
        let due = shard.is_behind() && self.last_rows.elapsed() >= common.pace.interval;
        let wanted = shard.changed() >= common.pace.changed || due || self.stopping;
        if (!wanted || self.storing) && self.flushes.is_empty() {
            return None;
        }
        let checkpoint = shard.checkpoint();
        let flushed = std::mem::take(&mut self.flushes);
        self.last_rows = Instant::now();
        if checkpoint.is_none() && flushed.is_empty() {
            return None;
        }
        self.storing = checkpoint.is_some() || self.storing;
        let counted = std::mem::replace(&mut self.in_memory, shard.len() as u64);
        add(&common.counters.in_memory, self.in_memory);
        common.counters.in_memory.fetch_sub(counted, Ordering::Relaxed);
        Some(Write::Rows(checkpoint, flushed))
    }

    /// Whether it was stopped and has done everything that was asked before.
    fn is_over(&self, common: &Common) -> bool {
        self.stopping
            && self.inputs.is_empty()
            && common.queue(self.shard.id()).len() == 0
            && self.shard.changed() == 0
    }
}

/// What will be needed for what waits, as much of it as is looked at beforehand.
fn needs(inputs: &VecDeque<Input>) -> Needs {
    let mut needs = Needs::default();
    for input in inputs.iter().take(FORESEEN) {
        match input {
            Input::Ask(request, _) => needs.note_request(request),
            Input::Mail(mail) => Shard::note_mail(&mut needs, &mail.body),
            Input::Wake => {}
        }
    }
    needs
}

/// How long the shard has nothing to do, if nobody asks.
fn pause(common: &Common, shard: &Shard, last_rows: Instant, storing: bool) -> Option<Duration> {
    if shard.is_busy() {
        return Some(Duration::ZERO);
    }
    let rows = (shard.is_behind() && !storing)
        .then(|| common.pace.interval.saturating_sub(last_rows.elapsed()));
    let due = common.clock.runs().then(|| shard.next_due()).flatten();
    let due = due.map(|it| it.since(common.clock.now()));
    rows.into_iter().chain(due).min()
}

#[cfg(test)]
mod tests;
