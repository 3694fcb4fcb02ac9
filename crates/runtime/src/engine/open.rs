//! How an engine begins and ends: its store is read, its threads are started, and stopped in the end.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use travertine_func::Functions;
use travertine_store::{MemoryStore, Seq, ShardId, SqliteStore, Store, sqlite};

use super::{
    Engine, Inner,
    activity::Performers,
    code, deploy,
    heal::Healing,
    load::{self, Current},
    metrics,
    options::Options,
    queue::Queue,
    reclaim::reclaim,
    recovery::{Read, Recovery},
    retention::Retention,
    tenure::Claims,
    threads::{self, Common, Lane, Signal},
};
use crate::{Board, Definitions, Error, Recovered, Shard, batch, is_own, schedule};

/// The threads of an engine.
#[derive(Debug)]
pub(super) struct Threads {
    inner: Arc<Inner>,
    /// Those that do what is asked.
    asked: Mutex<Vec<JoinHandle<()>>>,
    /// The one that asks by itself.
    sweeper: Mutex<Option<JoinHandle<()>>>,
}

/// What was found when an engine was opened.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// for it in &engine.opened().unreadable {
///     println!("cannot be read: {it}");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// Shard by shard.
    pub shards: Vec<Recovered>,
    /// Which deployed definitions cannot be read, and why. Their instances are halted.
    pub unreadable: Vec<String>,
    /// Why the views were made again from the log when it was opened, where they were.
    pub rebuilt: Option<String>,
    /// How long it took.
    pub took: Duration,
}

impl Engine {
    /// Opens the store in a directory, or makes one there, and goes on with what it has.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # fn example() -> Result<(), Error> {
    /// let engine = Engine::open("data")?;
    /// # Ok(()) }
    /// ```
    pub fn open(dir: impl Into<std::path::PathBuf>) -> Result<Self, Error> {
        Self::open_with(dir, Options::default())
    }

    /// Opens the store in a directory with these options, or makes one there, and goes on with what it has.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// # fn example() -> Result<(), Error> {
    /// let engine = Engine::open_with("data", Options { create: false, ..Options::default() })?;
    /// # Ok(()) }
    /// ```
    pub fn open_with(dir: impl Into<std::path::PathBuf>, options: Options) -> Result<Self, Error> {
        let store_options = sqlite::Options {
            shards: options.shards,
            create: options.create,
            ..sqlite::Options::default()
        };
        let store = SqliteStore::open(dir, &store_options)?;
        Self::on(&(Arc::new(store) as Arc<dyn Store>), options)
    }

    /// An engine that keeps everything in memory, for trying out and for tests.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// engine.shutdown()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn in_memory(options: Options) -> Result<Self, Error> {
        Self::on(&(Arc::new(MemoryStore::new(options.shards)) as Arc<dyn Store>), options)
    }

    /// An engine on any store.
    #[doc(hidden)] // Programs have no stores of their own; tests have.
    #[tracing::instrument(skip_all)]
    pub fn on(store: &Arc<dyn Store>, options: Options) -> Result<Self, Error> {
        let began = Instant::now();
        options.functions.check().map_err(|error| Error::Failed { reason: error.to_string() })?;
        crate::limit::check(&options.limits, &options.functions)?;
        // Schedules and batches are functions that every program has.
        let functions = options.functions.clone().workflow(schedule::DEFINITION);
        let functions = Arc::new(functions.workflow(batch::DEFINITION));
        let store: &Arc<dyn Store> =
            &(Arc::new(Healing::new(store, &functions, &options.settings)) as Arc<dyn Store>);
        let recovery = Recovery::new(store, &functions, &options);
        let claims = recovery.take_all()?;
        let (definitions, unreadable) = read_definitions(&**store, &functions, &options)?;
        let Read { shards, found, board, rebuilt } = recovery.read(&claims, &definitions)?;
        if options.preflight {
            let problems = code::try_all(&**store, &definitions, &shards)?;
            if !problems.is_empty() {
                return Err(Error::Refused { diagnostics: problems });
            }
        }
        let rebuilt = rebuilt.or_else(|| store.rebuilt());
        let recovered = Opened { shards: found, unreadable, rebuilt, took: began.elapsed() };
        let current = Current::new(&definitions);
        let lanes = options.lanes(&**store);
        let common = Arc::new(common(store, board, current, &shards, lanes, &options));
        let threads = start_threads(&common, by_lanes(shards, lanes), recovery)?;
        let (dependencies, at_once) = (&options.dependencies, options.activities_at_once.max(1));
        let at_rest = options.settings.at_rest;
        let performers = if at_rest {
            Performers::default()
        } else {
            Performers::start(&common, &functions, dependencies, at_once)?
        };
        tracing::info!(took = ?recovered.took, shards = store.shards(), "the engine is open");
        let inner = Arc::new(Inner {
            askers: super::askers::Askers::default(),
            batches: super::batch::Batches::default(),
            functions,
            performers: Mutex::new(performers),
            readers: Arc::default(),
            common,
            aside: Arc::default(),
            decision_limits: travertine_value::Limits {
                time_ms_max: u64::try_from(options.script_time_max.as_millis()).ok(),
                ..travertine_value::Limits::default()
            },
            deploying: Mutex::new(()),
            retention: options.retention,
            event_retention: options.event_retention,
            at_rest: AtomicBool::new(at_rest),
            recovered,
        });
        let threads = Threads {
            sweeper: Mutex::new(start_sweeper(&inner, options.sweep_every)?),
            inner: Arc::clone(&inner),
            asked: Mutex::new(threads),
        };
        let engine = Self { inner, threads: Some(Arc::new(threads)), by: None };
        if !at_rest {
            engine.welcome_code()?.tell(options.settings.functions.prints_incidents);
            engine.resume_batches()?;
        }
        Ok(engine)
    }
}

/// What a store has deployed, with the functions of this program, and what of it cannot be read.
fn read_definitions(
    store: &dyn Store,
    functions: &Functions,
    options: &Options,
) -> Result<(Arc<Definitions>, Vec<String>), Error> {
    let given: Vec<_> = functions.workflows().filter(|it| !is_own(it.name)).collect();
    deploy::deploy_functions(store, &given, options.clock.now())?;
    let (definitions, unreadable) = load::load(store, functions, options.script_time_max)?;
    for it in &unreadable {
        tracing::error!("{it}; its instances are halted");
    }
    Ok((Arc::new(definitions), unreadable))
}

/// What all threads of an engine share.
fn common(
    store: &Arc<dyn Store>,
    board: Arc<Board>,
    current: Current,
    shards: &[Shard],
    lanes: usize,
    options: &Options,
) -> Common {
    let lane = |number: usize| shards.iter().skip(number).step_by(lanes).len();
    Common {
        store: Arc::clone(store),
        board,
        clock: Arc::clone(&options.clock),
        counters: metrics::Counters::default(),
        written: tokio::sync::Notify::new(),
        lanes: (0..lanes).map(|it| Queue::new(lane(it), options.requests_max)).collect(),
        claims: Claims::of(shards),
        lost: Queue::new(1, usize::MAX),
        patience: options.patience,
        current: RwLock::new(current),
        next: AtomicU64::new(0),
        naps: Queue::new(1, usize::MAX),
        pace: options.pace.clone(),
        storage_retry: options.storage_retry,
        waits_for_room: options.waits_for_room,
        fault: OnceLock::new(),
        views_fault: OnceLock::new(),
        stopping: Arc::default(),
    }
}

/// Starts to look now and then for what need not be kept any more, where anything need not be.
fn start_sweeper(inner: &Arc<Inner>, every: Duration) -> Result<Option<JoinHandle<()>>, Error> {
    if inner.retention == Retention::default() || inner.at_rest.load(Ordering::SeqCst) {
        return Ok(None);
    }
    let engine = Engine { inner: Arc::clone(inner), threads: None, by: None };
    let since = engine.now();
    let sweep = guarded(&inner.common, move || engine.sweep_now_and_then(since, every));
    spawn("sweeper".into(), sweep).map(Some)
}

impl Threads {
    pub(super) fn stop(&self) {
        let common = &self.inner.common;
        self.inner.batches.stop();
        *self.inner.performers.lock().unwrap_or_else(PoisonError::into_inner) =
            Performers::default();
        common.stopping.store(true, Ordering::SeqCst);
        common.board.close();
        common.naps.way(0).signal(());
        common.lost.way(0).signal(());
        let closed = Error::Closed { reason: "it is shut down".to_owned() };
        for way in common.queues() {
            way.refuse(closed.clone());
            way.signal(Signal::Stop);
        }
        let asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in asked {
            self.join(thread);
        }
        for way in common.queues() {
            drop(way.shut(closed.clone()));
        }
        self.inner.readers.close();
        common.board.awaited.close();
        // Whatever it waits for is answered now.
        let sweeper = self.sweeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = sweeper {
            self.join(thread);
        }
    }

    fn join(&self, thread: JoinHandle<()>) {
        if thread.join().is_err() {
            self.inner
                .common
                .fail(&Error::Failed { reason: "a thread of the engine failed".into() });
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(name: String, run: Box<dyn FnOnce() + Send>) -> Result<JoinHandle<()>, Error> {
    thread::Builder::new()
        .name(name)
        .spawn(run)
        .map_err(|error| Error::Failed { reason: format!("a thread cannot be started: {error}") })
}

/// The shards of so many lanes. A shard is in the lane of its number, as far as there are lanes.
pub(super) fn by_lanes(shards: Vec<Shard>, lanes: usize) -> Vec<Vec<Shard>> {
    let mut all: Vec<Vec<Shard>> = (0..lanes).map(|_| Vec::new()).collect();
    for (number, shard) in shards.into_iter().enumerate() {
        all[number % lanes].push(shard);
    }
    all
}

fn start_threads(
    common: &Arc<Common>,
    lanes: Vec<Vec<Shard>>,
    recovery: Recovery,
) -> Result<Vec<JoinHandle<()>>, Error> {
    let mut threads = Vec::new();
    let mut begun: Vec<(ShardId, Seq)> =
        lanes.iter().flatten().map(|it| (it.id(), it.seq())).collect();
    begun.sort_unstable();
    let begun = begun.into_iter().map(|it| it.1).collect();
    let (views, rows) = mpsc::sync_channel(4);
    for (number, shards) in lanes.into_iter().enumerate() {
        let (writer, work) = threads::writer();
        let (one, other, views) = (Arc::clone(common), Arc::clone(common), views.clone());
        let lane = Lane::new(number, shards);
        let decide = guarded(common, move || threads::decide(&one, lane, &writer));
        threads.push(spawn(format!("lane {number}"), decide)?);
        let write = guarded(common, move || threads::write(&other, work, &views));
        threads.push(spawn(format!("writer {number}"), write)?);
    }
    let (one, other) = (Arc::clone(common), Arc::clone(common));
    let store_rows = guarded(common, move || threads::store_rows(&one, begun, &rows));
    threads.push(spawn("views".into(), store_rows)?);
    let reclaim = guarded(common, move || reclaim(&other, recovery));
    threads.push(spawn("reclaimer".into(), reclaim)?);
    Ok(threads)
}

/// A thread that does not die in silence.
fn guarded(common: &Arc<Common>, run: impl FnOnce() + Send + 'static) -> Box<dyn FnOnce() + Send> {
    let common = Arc::clone(common);
    Box::new(move || {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            common.fail(&Error::Failed { reason: crate::shard::panic_text(&*panic) });
        }
    })
}
