//! The threads of an engine: for each lane of shards one that decides and one that writes, one for all that brings
//! the views up to date, and one that claims shards again that were lost. What is little is written by the one that
//! decides.
//!
//! Each is a value that acts in steps, [`Lane`], `Committer`, `RowKeeper` and `Reclaimer`, and waits only between
//! them. So `tests` below can take the same steps in every order, with queues that are full, rows that lag, shards
//! that are lost and an end at every point.

mod lane;
mod rows;
mod write;

use std::{
    cell::Cell,
    sync::{
        Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use tokio::sync::Notify;
use travertine_func::Retry;
use travertine_store::{Claim, Error as StoreError, Mail, Seq, ShardId, Store};

use super::{
    clock::Clock,
    load::Current,
    metrics::{Counters, add},
    queue::{Queue, Way},
    tenure::{Claims, Loss},
};
use crate::{
    Board, Checkpoint, Error, Sealed, Shard,
    request::{ReplyTo, Request},
};

pub(super) use lane::{Lane, decide};
pub(super) use rows::store_rows;
pub(super) use write::write;

/// What a shard is told.
#[derive(Debug)]
pub(super) enum Input {
    /// Someone asks.
    Ask(Request, ReplyTo),
    /// Another shard asks.
    Mail(Mail),
    /// The time may have changed.
    Wake,
}

/// What a lane hears of a shard before all that the shard was told.
#[derive(Debug)]
pub(super) enum Signal {
    /// The rows up to here are stored.
    Stored(Seq),
    /// Rows were not stored, and none will be.
    Unstored,
    /// The shard is written by right of this claim now.
    Claimed(Claim),
    /// The shard is lost.
    Lost,
    /// The shard was lost, and is here again.
    Came(Box<Shard>),
    /// No more will come.
    Stop,
}

/// What the thread that writes is told.
#[derive(Debug)]
pub(super) enum Write {
    /// What one look at all shards of a lane has brought.
    Batches(Vec<Sealed>),
    /// Rows that may be stored once all batches before are.
    Rows(ShardId, Option<Checkpoint>, Vec<ReplyTo>),
    /// Nothing more comes of a shard before it is claimed again.
    Left(ShardId),
}

/// What the thread that brings views up to date is told.
#[derive(Debug)]
pub(super) enum Rows {
    Of {
        shard: ShardId,
        checkpoint: Option<Checkpoint>,
        flushed: Vec<ReplyTo>,
    },
    /// Nothing more comes of a shard before it is claimed again.
    Left(ShardId),
}

/// The way from the thread that decides to the one that writes.
pub(super) struct Writer {
    to: SyncSender<Write>,
    /// How much it was told and has not done yet.
    under_way: Arc<AtomicUsize>,
    /// How many entries came of the last look at all shards.
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
    /// Whether the thread that decides writes the batches itself.
    fn takes_few(&self, common: &Common, sealed: &[Sealed]) -> bool {
        let entries = sealed.iter().map(|it| it.batch.entries.len()).sum();
        // One small batch among large ones does not hold up what is to be decided.
        let few = self.last.replace(entries).max(entries) <= FEW;
        few && self.is_idle() && common.store.is_near()
    }

    fn is_idle(&self) -> bool {
        self.under_way.load(Ordering::Acquire) == 0
    }

    /// Hands something over, as soon as there is room. Says whether anything can be written.
    fn tell(&self, write: Write) -> bool {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        self.to.send(write).is_ok()
    }
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
    /// What the shards of each lane are asked: see [`Common::queue`].
    pub(super) lanes: Vec<Queue<Input, Signal>>,
    pub(super) claims: Claims,
    /// Shards that were lost and are to be claimed again.
    pub(super) lost: Queue<ShardId>,
    /// How long requests wait for a shard that is lost.
    pub(super) patience: Duration,
    /// What is deployed.
    pub(super) current: RwLock<Current>,
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
        let closed = Error::Closed { reason: error.to_string() };
        for way in self.queues() {
            drop(way.shut(closed.clone()));
            way.signal(Signal::Stop);
        }
        self.naps.way(0).signal(());
        self.lost.way(0).signal(());
    }

    /// A shard cannot be written. The others go on, unless the whole store has failed.
    pub(super) fn give_up(&self, shard: ShardId, error: &Error) {
        if let Error::Store(StoreError::Full { .. } | StoreError::ReadOnly { .. }) = error {
            return self.fail(error);
        }
        self.lose(shard, error);
    }

    /// A shard cannot go on. The others do, unless nothing can be believed that the store says or all shards are with
    /// others now. It is claimed again once its lane has let go of it.
    pub(super) fn lose(&self, shard: ShardId, error: &Error) {
        if let Error::Store(StoreError::Poisoned { .. }) = error {
            return self.fail(error);
        }
        let for_good = matches!(error, Error::Store(StoreError::Stale { .. }));
        let was_lost = self.claims.is_lost(shard);
        if !self.claims.lose(shard, Loss { error: error.clone(), for_good }) {
            return;
        }
        add(&self.counters.shards_lost, u64::from(!was_lost));
        if for_good {
            tracing::error!(%shard, %error, "a shard is lost, and stays with whoever has it now");
        } else {
            tracing::error!(%shard, %error, "a shard is lost, and will be claimed again");
        }
        if self.claims.all_gone() {
            return self.fail(error);
        }
        self.queue(shard).signal(Signal::Lost);
    }

    /// What whoever asks a shard is told that is lost.
    pub(super) fn refusal(&self, shard: ShardId) -> Error {
        if let Some(error) = self.fault.get() {
            return Error::Closed { reason: error.to_string() };
        }
        match self.claims.loss(shard) {
            Some(Loss { error, for_good: false }) => {
                Error::Unavailable { shard, reason: error.to_string() }
            }
            Some(Loss { error, for_good: true }) => Error::Closed {
                reason: format!(
                    "shard {shard} is lost: {error}; open the store again to go on with its instances"
                ),
            },
            None => Error::Unavailable { shard, reason: "it was lost for a moment".to_owned() },
        }
    }

    /// Why no answer comes any more, where that is so.
    pub(super) fn why_silent(&self) -> Option<Error> {
        self.fault.get().cloned().or_else(|| self.claims.any_loss())
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

    /// The way to a shard. Which lane it is in depends on its number alone.
    pub(super) fn queue(&self, shard: ShardId) -> Way<'_, Input, Signal> {
        let (shard, lanes) = (usize::from(shard.0), self.lanes.len());
        self.lanes[shard % lanes].way(shard / lanes)
    }

    /// The ways to all shards.
    pub(super) fn queues(&self) -> impl Iterator<Item = Way<'_, Input, Signal>> {
        self.lanes.iter().flat_map(Queue::ways)
    }

    /// Takes the jobs of a shard down.
    pub(super) fn clear_jobs(&self, shard: ShardId) {
        let shards = self.store.shards();
        self.board.clear(|job| ShardId::of(job.instance.0, shards) == shard);
    }

    /// What is deployed.
    pub(super) fn current(&self) -> RwLockReadGuard<'_, Current> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells those who have asked that it is not done.
pub(super) fn refuse_all(inputs: impl IntoIterator<Item = Input>, error: &Error) {
    for input in inputs {
        if let Input::Ask(_, to) = input {
            to.send(Err(error.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
