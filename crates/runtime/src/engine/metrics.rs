//! What the engine counts about itself.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::request::{Kind, Origin};

/// Counts, as they are kept.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) requests: Requests,
    pub(super) refused: AtomicU64,
    pub(super) events: AtomicU64,
    pub(super) batches: AtomicU64,
    pub(super) entries: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) batch_max: AtomicU64,
    pub(super) append_nanos: AtomicU64,
    pub(super) append_nanos_max: AtomicU64,
    pub(super) checkpoints: AtomicU64,
    pub(super) rows: AtomicU64,
    pub(super) checkpoint_nanos: AtomicU64,
    pub(super) written: AtomicU64,
    pub(super) stored: AtomicU64,
    pub(super) stalls: AtomicU64,
    pub(super) in_memory: AtomicU64,
    pub(super) shards_lost: AtomicU64,
    pub(super) shards_claimed_again: AtomicU64,
}

/// How often each kind of request was accepted.
#[derive(Debug)]
pub(super) struct Requests([AtomicU64; Kind::ALL.len()]);

impl Default for Requests {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; Kind::ALL.len()])
    }
}

impl Requests {
    pub(super) fn add(&self, kind: Kind) {
        add(&self.0[kind as usize], 1);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Kind, u64)> {
        Kind::ALL.into_iter().zip(self.0.iter().map(|it| it.load(Ordering::Relaxed)))
    }

    /// All but what the engine tells itself.
    fn total(&self) -> u64 {
        let asked = self.all().filter(|(kind, _)| kind.origin() != Origin::Engine);
        asked.map(|(_, count)| count).sum()
    }
}

/// What the engine has done since it was opened, and how it is now.
///
/// ```
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::{Metrics, Options};
/// let engine = Engine::in_memory(Options::default())?;
/// let Metrics { requests, jobs, .. } = engine.metrics();
/// assert_eq!((requests, jobs), (0, 0));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Requests that were accepted.
    pub requests: u64,
    /// Requests that were refused because too many were waiting.
    pub refused: u64,
    /// Events of all instances.
    pub events: u64,
    /// Commits of the log.
    pub batches: u64,
    /// Entries of the log.
    pub entries: u64,
    /// Bytes of these entries.
    pub bytes: u64,
    /// The most entries of one commit.
    pub batch_max: u64,
    /// How long all commits took together, in nanoseconds.
    pub append_nanos: u64,
    /// How long the longest commit took, in nanoseconds.
    pub append_nanos_max: u64,
    /// Checkpoints of the views.
    pub checkpoints: u64,
    /// Rows that these changed.
    pub rows: u64,
    /// How long all checkpoints took together, in nanoseconds.
    pub checkpoint_nanos: u64,
    /// How many entries the views are behind the log.
    pub view_lag: u64,
    /// How often the engine had to wait for the store, or for room in it.
    pub stalls: u64,
    /// How often a shard was lost: it could not be written or read, or the engine failed on it.
    pub shards_lost: u64,
    /// How often such a shard was claimed again and went on.
    pub shards_claimed_again: u64,
    /// Shards that are lost now.
    pub shards_away: u64,
    /// Requests that are waiting now.
    pub waiting: u64,
    /// Instances in memory at the last look.
    pub in_memory: u64,
    /// Jobs that wait for a worker now.
    pub jobs: u64,
}

pub(super) fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

pub(super) fn raise(counter: &AtomicU64, to: u64) {
    counter.fetch_max(to, Ordering::Relaxed);
}

impl Counters {
    pub(super) fn read(&self) -> Metrics {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Metrics {
            requests: self.requests.total(),
            refused: get(&self.refused),
            events: get(&self.events),
            batches: get(&self.batches),
            entries: get(&self.entries),
            bytes: get(&self.bytes),
            batch_max: get(&self.batch_max),
            append_nanos: get(&self.append_nanos),
            append_nanos_max: get(&self.append_nanos_max),
            checkpoints: get(&self.checkpoints),
            rows: get(&self.rows),
            checkpoint_nanos: get(&self.checkpoint_nanos),
            view_lag: get(&self.written).saturating_sub(get(&self.stored)),
            stalls: get(&self.stalls),
            shards_lost: get(&self.shards_lost),
            shards_claimed_again: get(&self.shards_claimed_again),
            shards_away: 0,
            waiting: 0,
            in_memory: get(&self.in_memory),
            jobs: 0,
        }
    }
}
