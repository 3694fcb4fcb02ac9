//! How an engine is opened.

use std::{collections::BTreeMap, fmt, sync::Arc, thread, time::Duration};

use travertine_func::{Dependencies, Functions, Retry};
use travertine_store::{ShardId, Store};
use travertine_value::Name;

use super::{
    clock::{Clock, SystemClock},
    retention::Retention,
    threads::Pace,
};
use crate::{Limit, Seen, Settings};

/// How an engine is opened.
///
/// ```
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::Options;
/// # use std::time::Duration;
/// let hour = Duration::from_hours(1);
/// let options = Options { shards: 2, sweep_every: hour, ..Options::default() };
/// let engine = Engine::in_memory(options)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// How many shards a new store gets. One that is there keeps its own.
    pub shards: u16,
    /// Whether to make a store where there is none.
    pub create: bool,
    /// How the shards behave.
    pub settings: Settings,
    /// When views are brought up to date.
    pub pace: Pace,
    /// The pauses after which a store is asked again that has written nothing, for want of room. It is
    /// asked until there is room, or the engine is shut down, however many attempts this names.
    pub storage_retry: Retry,
    /// Whether to wait for room. Otherwise the engine closes where there is none, and whoever waits for an
    /// answer is told.
    pub waits_for_room: bool,
    /// How many threads decide, each for as many shards as the others, and with one beside it that writes. One for
    /// each shard where nothing is said; half as many as there are cores, and 16 at most, where the store is behind a
    /// network.
    pub lanes: Option<u16>,
    /// How long a request waits for a shard that was lost and is claimed again, before it is refused with
    /// [`Error::Unavailable`](crate::Error::Unavailable).
    pub patience: Duration,
    /// How many requests may wait at a shard before more are refused.
    pub requests_max: usize,
    /// How long what has ended is kept.
    pub retention: Retention,
    /// How often the engine looks by itself for what need not be kept any more.
    pub sweep_every: Duration,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Who is told how far reading the store is.
    pub progress: Option<Progress>,
    /// Who looks on while instances do something.
    #[doc(hidden)] // For the command line: what it is shown is of the kernel.
    pub observer: Option<Observer>,
    /// The functions and activities of this program: all that it is linked with, where nothing is said.
    pub functions: Functions,
    /// What activities are given.
    pub dependencies: Dependencies,
    /// How many activities of a kind are done at once.
    pub activities_at_once: usize,
    /// Whether to refuse to open where the code of this program does not agree with the journal of an
    /// instance that is open: nothing has gone on then, and the code of before can take over again.
    pub preflight: bool,
    /// How much of the same may be done at once, and how often it may begin, by the class that jobs
    /// name. Each key of a class is counted by itself. What has begun and how often is not stored:
    /// after a restart only jobs that workers outside have count.
    pub limits: BTreeMap<Name, Limit>,
    /// How long events are kept for those who do not wait yet, where their type does not say.
    pub event_retention: Duration,
    /// How long one script of a process may take. One that takes longer is an incident, and nothing of it is
    /// written.
    pub script_time_max: Duration,
}

/// Looks on while instances do something: it is called on the shard's own thread after each accepted
/// command, before that is durable.
#[derive(Clone)]
pub struct Observer(pub Arc<dyn Fn(Seen<'_>) + Send + Sync>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// Is told how far reading the store is: the shard, entries read, entries in all.
///
/// ```
/// # use travertine_runtime::engine::{Options, Progress};
/// # use std::sync::Arc;
/// let progress = Progress(Arc::new(|shard, read, all| println!("{shard:?}: {read} of {all}")));
/// let options = Options { progress: Some(progress), ..Options::default() };
/// ```
#[derive(Clone)]
pub struct Progress(pub Arc<dyn Fn(ShardId, u64, u64) + Send + Sync>);

impl Options {
    /// How many lanes the shards of a store go by.
    pub(super) fn lanes(&self, store: &dyn Store) -> usize {
        let shards = usize::from(store.shards());
        let lanes = match self.lanes {
            Some(lanes) => usize::from(lanes),
            None if store.is_near() => shards,
            None => (cores() / 2).min(16),
        };
        lanes.clamp(1, shards)
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

impl Default for Options {
    fn default() -> Self {
        // A shard keeps a core busy and its writer half of another.
        let shards = u16::try_from(cores() / 4).unwrap_or(16).clamp(1, 16);
        Self {
            shards,
            create: true,
            settings: Settings::default(),
            pace: Pace::default(),
            waits_for_room: true,
            storage_retry: Retry::exponential("100ms", 2.0).max_delay(Duration::from_secs(5)),
            lanes: None,
            patience: Duration::from_secs(15),
            requests_max: 100_000,
            retention: Retention::default(),
            sweep_every: Duration::from_mins(10),
            clock: Arc::new(SystemClock),
            progress: None,
            observer: None,
            functions: Functions::linked(),
            dependencies: Dependencies::new(),
            activities_at_once: 256,
            preflight: false,
            limits: BTreeMap::new(),
            event_retention: Duration::from_hours(7 * 24),
            script_time_max: Duration::from_secs(10),
        }
    }
}
