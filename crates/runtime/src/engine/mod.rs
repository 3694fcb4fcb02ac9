//! The engine: shards on threads, with a store behind them.
//!
//! Every call asks a shard for something and answers when that is durable. Answers are futures that
//! any executor can wait for; [`Pending::wait`] waits for them without one.

mod activity;
mod clock;
mod deploy;
#[cfg(test)]
mod ended;
mod function;
mod heal;
mod history;
mod message;
mod metrics;
mod operate;
mod pending;
mod query;
mod queue;
mod recovery;
mod retention;
mod router;
mod schedule;
mod settle;
mod threads;
mod verify;
mod worker;

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use travertine_func::{Dependencies, Functions, Retry};
use travertine_store::{MemoryStore, ShardId, SqliteStore, Store, sqlite};
use travertine_value::Name;

pub use crate::id::NUMBER;
pub use clock::{Clock, ManualClock, SystemClock};
pub use deploy::{Deployment, File};
pub use function::{
    Preflight, RecoveryReport, Run, RunError, Sending, Startable, StartingFunction, Updating,
};
pub use history::{History, Step};
pub use message::MessageRequest;
pub use metrics::Metrics;
pub use operate::{Starting, Target};
pub use pending::Pending;
pub use retention::{Retention, Swept};
pub use schedule::{Making, Scheduled, Scheduling};
pub use settle::{Rest, Settled};
pub use threads::Pace;
pub use verify::{Difference, Verified};
pub use worker::{Job, Worker, Workers};

pub use crate::request::{Look, Outcome};

use crate::{
    Definitions, Error, Limit, Recovered, Seen, Settings, Shard,
    request::{Ask, FlushRequest, FollowRequest},
};
use activity::Performers;
use heal::Healing;
use pending::block_on;
use queue::Queue;
use recovery::{Read, Recovery};
use router::Router;
use threads::{Claims, Common, Input, Signal};

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
}

/// Who looks on while instances do something: called on the shard's own thread after each accepted
/// command, before that is durable.
#[derive(Clone)]
pub struct Observer(pub Arc<dyn Fn(Seen<'_>) + Send + Sync>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// Who is told how far reading the store is: the shard, entries read, entries in all.
///
/// ```
/// # use travertine_runtime::engine::{Options, Progress};
/// # use std::sync::Arc;
/// let progress = Progress(Arc::new(|shard, read, all| println!("{shard:?}: {read} of {all}")));
/// let options = Options { progress: Some(progress), ..Options::default() };
/// ```
#[derive(Clone)]
pub struct Progress(pub Arc<dyn Fn(ShardId, u64, u64) + Send + Sync>);

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

impl Default for Options {
    fn default() -> Self {
        // A shard keeps a core busy and its writer half of another.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let shards = u16::try_from(cores / 4).unwrap_or(16).clamp(1, 16);
        Self {
            shards,
            create: true,
            settings: Settings::default(),
            pace: Pace::default(),
            waits_for_room: true,
            storage_retry: Retry::exponential("100ms", 2.0).max_delay(Duration::from_secs(5)),
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
        }
    }
}

/// A durable workflow engine. Clones are the same engine.
///
/// ```no_run
/// # use travertine_func::Workflow;
/// # use travertine_runtime::{Engine, Error};
/// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
/// # fn example() -> Result<(), Error> {
/// let engine = Engine::open("data")?;
/// let run = engine.start(order(1_200)).id("order-1").wait()?;
/// println!("{:?}", run.wait());
/// engine.shutdown()?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Engine {
    inner: Arc<Inner>,
    /// What ends when nobody has the engine any more. Its own threads do not keep it open.
    threads: Option<Arc<Threads>>,
}

#[derive(Debug)]
struct Inner {
    common: Arc<Common>,
    definitions: RwLock<Arc<Definitions>>,
    /// Held while something is deployed.
    deploying: Mutex<()>,
    functions: Arc<Functions>,
    performers: Mutex<Performers>,
    retention: Retention,
    event_retention: Duration,
    /// Whether nothing goes on by itself.
    at_rest: AtomicBool,
    recovered: Opened,
}

/// The threads of an engine.
#[derive(Debug)]
struct Threads {
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

    /// The same, with options.
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
        // Schedules are functions that every program has.
        let functions = Arc::new(options.functions.clone().workflow(crate::schedule::DEFINITION));
        let store: &Arc<dyn Store> =
            &(Arc::new(Healing::new(store, &functions, &options.settings)) as Arc<dyn Store>);
        let given: Vec<_> =
            functions.workflows().filter(|it| it.name != crate::schedule::SCHEDULE).collect();
        deploy::deploy_functions(&**store, &given, options.clock.now())?;
        let (definitions, unreadable) = deploy::load(&**store, &functions)?;
        for it in &unreadable {
            tracing::error!("{it}; its instances are halted");
        }
        let definitions = Arc::new(definitions);
        let recovery = Recovery { store, definitions: &definitions, functions: &functions };
        let Read { shards, found, board, rebuilt } = recovery.read(&options)?;
        let count = usize::from(store.shards());
        let common = Arc::new(Common {
            store: Arc::clone(store),
            board: Arc::clone(&board),
            clock: Arc::clone(&options.clock),
            counters: metrics::Counters::default(),
            queues: (0..count).map(|_| Queue::new(options.requests_max)).collect(),
            claims: Claims::of(&shards),
            next: AtomicU64::new(0),
            naps: Queue::new(usize::MAX),
            pace: options.pace.clone(),
            storage_retry: options.storage_retry,
            waits_for_room: options.waits_for_room,
            fault: OnceLock::new(),
            views_fault: OnceLock::new(),
            stopping: AtomicBool::new(false),
        });
        if options.preflight {
            let problems = function::try_all(&**store, &definitions, &shards)?;
            if !problems.is_empty() {
                return Err(Error::Refused { diagnostics: problems });
            }
        }
        let rebuilt = rebuilt.or_else(|| store.rebuilt());
        let recovered = Opened { shards: found, unreadable, rebuilt, took: began.elapsed() };
        let threads = start_threads(&common, shards)?;
        let (dependencies, at_once) = (&options.dependencies, options.activities_at_once.max(1));
        let at_rest = options.settings.at_rest;
        let performers = if at_rest {
            Performers::default()
        } else {
            Performers::start(&common, &functions, dependencies, at_once)?
        };
        tracing::info!(took = ?recovered.took, shards = count, "the engine is open");
        let inner = Arc::new(Inner {
            functions,
            performers: Mutex::new(performers),
            common: Arc::clone(&common),
            definitions: RwLock::new(definitions),
            deploying: Mutex::new(()),
            retention: options.retention,
            event_retention: options.event_retention,
            at_rest: AtomicBool::new(at_rest),
            recovered,
        });
        let threads = Threads {
            inner: Arc::clone(&inner),
            asked: Mutex::new(threads),
            sweeper: Mutex::new(None),
        };
        if inner.retention != Retention::default() && !at_rest {
            let engine = Self { inner: Arc::clone(&inner), threads: None };
            let (since, every) = (engine.now(), options.sweep_every);
            let sweep = guarded(&common, move || engine.sweep_now_and_then(since, every));
            let sweeper = spawn("sweeper".into(), sweep)?;
            *threads.sweeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(sweeper);
        }
        let engine = Self { inner, threads: Some(Arc::new(threads)) };
        if !at_rest {
            engine.welcome_code()?.tell(options.settings.functions.prints_incidents);
        }
        Ok(engine)
    }

    /// What was found when it was opened.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options { shards: 2, ..Options::default() })?;
    /// assert_eq!(engine.opened().shards.len(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn opened(&self) -> &Opened {
        &self.inner.recovered
    }

    /// What is deployed.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// assert!(engine.definitions().find("order").is_none());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn definitions(&self) -> Arc<Definitions> {
        Arc::clone(&self.inner.definitions.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The functions and activities that it has: those it was given, and its own.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for it in engine.functions().workflows() {
    ///     println!("{} version {}", it.name, it.version);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn functions(&self) -> &Functions {
        &self.inner.functions
    }

    /// What it has counted since it was opened.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// assert_eq!(engine.metrics().waiting, 0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        let common = &self.inner.common;
        let waiting = common.queues.iter().map(|it| it.len() as u64).sum();
        let jobs = common.board.counts().iter().map(|(_, count)| *count as u64).sum();
        Metrics { waiting, jobs, ..common.counters.read() }
    }

    /// How often each kind of request was accepted since it was opened, those of the engine itself included.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// for (kind, count) in engine.requests_by_kind() {
    ///     println!("{kind}: {count}");
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn requests_by_kind(&self) -> Vec<(&'static str, u64)> {
        self.inner
            .common
            .counters
            .requests
            .all()
            .map(|(kind, count)| (kind.name(), count))
            .collect()
    }

    /// Why it takes no more, if it does not.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// assert_eq!(engine.fault(), None);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn fault(&self) -> Option<Error> {
        self.inner.common.fault.get().cloned()
    }

    /// Why the rows that queries see are not brought up to date any more, if they are not: there is no room
    /// for them, and the engine does not wait for room. Nothing is lost by that.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// assert_eq!(engine.views_fault(), None);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn views_fault(&self) -> Option<Error> {
        self.inner.common.views_fault.get().cloned()
    }

    /// The store it runs on.
    #[doc(hidden)] // Programs ask the engine; `query` and `look` read the store for them.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.common.store
    }

    /// The time, as the engine sees it.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// let tomorrow = engine.now().after_millis(86_400_000);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn now(&self) -> crate::Timestamp {
        self.inner.common.clock.now()
    }

    /// Has shards look at the clock, after one that does not go by itself was set.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error, Timestamp};
    /// # use travertine_runtime::engine::{ManualClock, Options};
    /// # use std::sync::Arc;
    /// let clock = Arc::new(ManualClock::default());
    /// let options = Options { clock: Arc::<ManualClock>::clone(&clock), ..Options::default() };
    /// let engine = Engine::in_memory(options)?;
    /// clock.set(Timestamp::from_millis(60_000));
    /// engine.wake(); // Timers that are due now ring.
    /// # Ok::<(), Error>(())
    /// ```
    pub fn wake(&self) {
        self.inner.common.queues.iter().for_each(|it| it.tell(Input::Wake));
        self.inner.common.naps.signal(());
    }

    /// Does everything that was asked, brings the views up to date and closes the store. Clones of the
    /// engine, and runs of functions, can do no more after that; the store can be opened again when
    /// they are gone.
    ///
    /// ```
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// let engine = Engine::in_memory(Options::default())?;
    /// let clone = engine.clone();
    /// engine.shutdown()?;
    /// assert!(clone.start(order(1_200)).wait().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shutdown(self) -> Result<(), Error> {
        if let Some(threads) = &self.threads {
            threads.stop();
        }
        self.fault().or_else(|| self.views_fault()).map_or(Ok(()), Err)
    }

    fn router(&self) -> Router<'_> {
        Router::new(&self.inner.common)
    }

    /// Asks the shard that a request is for.
    fn ask<A: Ask>(&self, ask: A) -> Pending<A::Reply> {
        self.router().ask(ask)
    }

    fn shards(&self) -> u16 {
        self.inner.common.store.shards()
    }

    /// Lets what was asked of an engine at rest take its course. What was due or left to do when it was opened
    /// stays as it is: an operator comes before that.
    #[doc(hidden)] // For the command line.
    pub fn follow(&self) -> Result<(), Error> {
        if !self.inner.at_rest.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        self.router().ask_each(&FollowRequest {}).into_iter().try_for_each(Pending::wait)
    }

    /// Answers when the views have everything that was acknowledged before.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.start(order(1_200)).await?;
    /// engine.flush().await?; // Whoever reads the store from elsewhere sees it now.
    /// # Ok(()) }
    /// ```
    pub fn flush(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let waits: Vec<Pending<()>> = self.flushing();
        async move {
            for wait in waits {
                wait.await?;
            }
            Ok(())
        }
    }

    /// The same, on a thread that may be blocked.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// engine.flush_now()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn flush_now(&self) -> Result<(), Error> {
        self.flushing().into_iter().try_for_each(Pending::wait)
    }

    fn flushing(&self) -> Vec<Pending<()>> {
        self.router().ask_each(&FlushRequest {})
    }
}

impl Threads {
    fn stop(&self) {
        let common = &self.inner.common;
        *self.inner.performers.lock().unwrap_or_else(PoisonError::into_inner) =
            Performers::default();
        common.stopping.store(true, Ordering::SeqCst);
        common.naps.signal(());
        for queue in &common.queues {
            queue.refuse("it is shut down");
            queue.signal(Signal::Stop);
        }
        let asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in asked {
            self.join(thread);
        }
        for queue in &common.queues {
            queue.close("it is shut down", None);
        }
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

fn start_threads(common: &Arc<Common>, shards: Vec<Shard>) -> Result<Vec<JoinHandle<()>>, Error> {
    let mut threads = Vec::new();
    let begun = shards.iter().map(Shard::seq).collect();
    let (views, rows) = mpsc::sync_channel(4);
    for shard in shards {
        let id = shard.id();
        let (writer, work) = threads::writer();
        let (one, other, views) = (Arc::clone(common), Arc::clone(common), views.clone());
        threads.push(spawn(
            format!("shard {id}"),
            guarded(common, move || threads::decide(&one, shard, &writer)),
        )?);
        threads.push(spawn(
            format!("writer {id}"),
            guarded(common, move || threads::write(&other, id, &work, &views)),
        )?);
    }
    let last = Arc::clone(common);
    let store_rows = guarded(common, move || threads::store_rows(&last, begun, &rows));
    threads.push(spawn("views".into(), store_rows)?);
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

/// A process `p` with one task, for tests.
#[cfg(test)]
fn one_task() -> File {
    let model = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
        targetNamespace="t"><process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
        <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>
        </definitions>"#;
    File { name: "p.bpmn".to_owned(), body: model.into() }
}
