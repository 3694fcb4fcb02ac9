//! An engine in memory whose clock skips, and which can crash.

use std::{
    fmt,
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use travertine_func::{Arguments, Functions};
use travertine_runtime::INSTANCE;
use travertine_store::{MemoryStore, Store};

use super::{
    calls::{Call, Calls, Life},
    log::Log,
    mortal::{Death, Died, Mortal},
    replay::Code,
    setup::Setup,
};
use crate::{
    ActivityContext, Clock as _, Engine, Error, Event, ManualClock, Message, Name, Options,
    Receipt, RunError, RunStatus, Timestamp, Value, Workflow,
};

/// How often the clock may skip before a run counts as endless.
const SKIPS_MAX: u32 = 100_000;

/// An engine in memory whose clock moves only when a test says so, or waits for the end of a run.
/// Clones are the same one.
///
/// ```
/// use std::time::Duration;
/// use travertine::{Context, Flow, testing::Setup, workflow};
///
/// #[workflow]
/// async fn long_nap(cx: Context, hours: u64) -> Flow<u64> {
///     cx.sleep(Duration::from_hours(hours)).await?;
///     Ok(hours)
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let env = Setup::new().open();
/// let (run, began) = (env.start("nap-1", long_nap(8)).await?, env.now());
/// env.advance(Duration::from_hours(7)).await?;
/// env.crash(); // The engine is opened again, on what was written.
/// assert_eq!(run.result().await?, 8);
/// assert_eq!(env.now(), began.after(Duration::from_hours(8)));
/// assert_eq!(env.journal("nap-1")[1], "asks for sleep");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct TestEngine {
    pub(super) world: Arc<World>,
}

/// What outlives the crash of an engine.
#[derive(Debug)]
pub(super) struct World {
    options: Options,
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    calls: Arc<Calls>,
    living: Mutex<Living>,
    /// How many events and updates the test has sent.
    sent: AtomicU64,
}

#[derive(Debug)]
struct Living {
    engine: Option<Engine>,
    store: Arc<Mortal>,
    life: Arc<Life>,
    /// How the engine crashed as planned, and what was known to be done then.
    crash: Option<Crashed>,
}

/// What was so when an engine crashed.
#[derive(Clone, Debug)]
pub(super) struct Crashed {
    pub(super) died: Died,
    /// Which life ended.
    pub(super) life: usize,
    /// The keys of activities whose outcome was durable.
    pub(super) done: std::collections::BTreeSet<String>,
}

impl World {
    /// The id of something that the test sends: where it is sent again after a crash it is recognised.
    fn next_id(&self) -> String {
        format!("sent by the test: {}", self.sent.fetch_add(1, Ordering::SeqCst) + 1)
    }

    pub(super) fn new(setup: Setup, death: Option<Death>) -> Self {
        let Setup { mut options, now, .. } = setup;
        let store = Arc::new(MemoryStore::new(options.shards));
        let clock = Arc::new(ManualClock::new(now));
        options.clock = Arc::<ManualClock>::clone(&clock);
        let mortal = Arc::new(Mortal::new(&store, death));
        let life = Arc::new(Life::new(1, &clock));
        let living = Living { engine: None, store: mortal, life, crash: None };
        let world = Self {
            options,
            store,
            clock,
            calls: Arc::default(),
            living: Mutex::new(living),
            sent: AtomicU64::new(0),
        };
        drop(world.alive());
        world
    }

    fn living(&self) -> std::sync::MutexGuard<'_, Living> {
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine, opened again where it has crashed.
    pub(super) fn alive(&self) -> (Engine, Arc<Life>) {
        let mut living = self.living();
        loop {
            if let Some(died) = living.store.died() {
                living.life.end();
                // Its threads end before the next one begins.
                drop(living.engine.take());
                if living.store.died_as_planned() {
                    let (life, done) = (living.life.number, Log::read(&*self.store).done());
                    living.crash = Some(Crashed { died, life, done });
                }
                living.store = Arc::new(living.store.reborn());
                living.life = Arc::new(Life::new(living.life.number + 1, &self.clock));
            }
            if let Some(engine) = &living.engine {
                return (engine.clone(), Arc::clone(&living.life));
            }
            let options = Options { functions: self.watched(&living.life), ..self.options.clone() };
            let store: Arc<dyn Store> = Arc::<Mortal>::clone(&living.store);
            match Engine::on(&store, options) {
                Ok(engine) => living.engine = Some(engine),
                Err(_) if living.store.died().is_some() => {}
                Err(error) => panic!("the engine cannot be opened: {error}"),
            }
        }
    }

    /// The functions of this program, with activities that are written down.
    fn watched(&self, life: &Arc<Life>) -> Functions {
        let functions = self.options.functions.clone();
        self.options.functions.activities().fold(functions, |all, (name, activity)| {
            let (calls, life) = (Arc::clone(&self.calls), Arc::clone(life));
            let (activity, called) = (activity.clone(), name.to_owned());
            all.replace_activity(name, move |cx: ActivityContext, arguments: Arguments| {
                calls.attempt(&called, &activity, &life, cx, arguments)
            })
        })
    }

    fn has_died(&self) -> bool {
        self.living().store.died().is_some()
    }

    /// What was so at the crash that was planned.
    pub(super) fn crashed(&self) -> Option<Crashed> {
        self.living().crash.clone()
    }

    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Those whom its log is about.
    pub(super) fn about(&self) -> std::collections::BTreeSet<u64> {
        Log::read(&*self.store).about
    }

    /// Whether the code decides again what it has decided.
    pub(super) fn check_replay(&self, only: Option<&str>) -> Result<(), String> {
        let log = Log::read(&*self.store);
        let (engine, _) = self.alive();
        let definitions = engine.definitions();
        let code = Code {
            functions: engine.functions(),
            definitions: &definitions,
            settings: self.options.settings.functions.session,
        };
        match only {
            None => log.stories.iter().try_for_each(|(id, story)| code.check(*id, story)),
            Some(name) => {
                let (id, story) = log.find(name).ok_or_else(|| format!("no run `{name}`"))?;
                code.check(id, story)
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.living().life.end();
    }
}

impl TestEngine {
    /// An engine with all that this program has, as it is.
    ///
    /// ```
    /// # use travertine::{Context, Flow, workflow};
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn seven(cx: Context) -> Flow<u32> { Ok(7) }
    /// let env = TestEngine::open();
    /// assert_eq!(env.start("a", seven()).await?.result().await?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn open() -> Self {
        Setup::new().open()
    }

    /// The engine, for what is not offered here. After a crash it is another.
    ///
    /// ```
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let env = TestEngine::open();
    /// assert_eq!(env.engine().schedules().await?, []);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn engine(&self) -> Engine {
        self.world.alive().0
    }

    /// The time that the clock shows.
    ///
    /// ```
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let env = TestEngine::open();
    /// assert_eq!(env.now().to_string(), "2030-01-01T00:00:00Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn now(&self) -> Timestamp {
        self.world.clock.now()
    }

    /// Has the engine do something. Where it crashes meanwhile it is opened again, and asked again.
    async fn ask<T, F>(&self, act: impl Fn(Engine, Arc<Life>) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        loop {
            let (engine, life) = self.world.alive();
            let answer = act(engine, life).await;
            if answer.is_ok() || !self.world.has_died() {
                return answer;
            }
        }
    }

    /// Starts a function. Starting it again under the same id answers with the run that is there.
    ///
    /// ```
    /// # use travertine::{Context, Flow, workflow};
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn eight(cx: Context) -> Flow<u32> { Ok(8) }
    /// let env = TestEngine::open();
    /// let run = env.start("a", eight()).await?;
    /// let same = env.start("a", eight()).await?;
    /// assert_eq!((run.result().await?, same.result().await?), (8, 8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn start<O>(&self, id: &str, call: Workflow<O>) -> Result<TestRun<O>, Error> {
        self.ask(|engine, _| {
            let call = call.clone();
            async move { engine.start(call).id(id).await.map(drop) }
        })
        .await?;
        Ok(self.run(id))
    }

    /// The run of that id.
    ///
    /// ```
    /// # use travertine::{Context, Flow, workflow};
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn nine(cx: Context) -> Flow<u32> { Ok(9) }
    /// let env = TestEngine::open();
    /// env.start("a", nine()).await?;
    /// assert_eq!(env.run::<u32>("a").result().await?, 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn run<O>(&self, id: &str) -> TestRun<O> {
        TestRun { env: self.clone(), id: id.to_owned(), output: PhantomData }
    }

    /// Sends an event, as its type says.
    ///
    /// ```
    /// # use travertine::{Context, Event, Flow, workflow};
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "test.paid"; }
    /// #[workflow]
    /// async fn payment(cx: Context) -> Flow<u64> {
    ///     Ok(cx.event::<Paid>().await?.cents)
    /// }
    /// let env = TestEngine::open();
    /// let run = env.start("a", payment()).await?;
    /// env.send_event(Paid { cents: 1_200 }).to("a").await?;
    /// assert_eq!(run.result().await?, 1_200);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn send_event<E: Event>(&self, event: E) -> TestSending<'_> {
        let engine = self.engine();
        let sending = engine.send_event(event).message_id(&self.world.next_id());
        TestSending { env: self, message: sending.into_message(), to: None }
    }

    /// Lets everything happen that needs no time and nothing from the test.
    ///
    /// ```
    /// # use travertine::{Context, Failure, Flow, activity, workflow};
    /// # use travertine::testing::TestEngine;
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[activity]
    /// # async fn ring_twice() -> Result<(), Failure> { Ok(()) }
    /// # #[workflow]
    /// # async fn rings_later(cx: Context) -> Flow<()> { cx.call(ring_twice()).await?; cx.sleep(Duration::from_hours(1)).await?; Ok(()) }
    /// let env = TestEngine::open();
    /// env.start("a", rings_later()).await?;
    /// env.settle().await?;
    /// assert_eq!(env.calls("ring_twice").len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn settle(&self) -> Result<(), Error> {
        self.rest().await.map(drop)
    }

    /// Lets so much time pass, from one thing that is due to the next.
    ///
    /// ```
    /// # use travertine::{Context, Flow, RunStatus, workflow};
    /// # use travertine::testing::TestEngine;
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn two_hours(cx: Context) -> Flow<()> { cx.sleep(Duration::from_hours(2)).await?; Ok(()) }
    /// let env = TestEngine::open();
    /// let run = env.start("a", two_hours()).await?;
    /// env.advance(Duration::from_hours(1)).await?;
    /// assert_eq!(run.status().await?, RunStatus::Suspended);
    /// env.advance(Duration::from_hours(1)).await?;
    /// assert_eq!(run.status().await?, RunStatus::Succeeded);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn advance(&self, time: Duration) -> Result<(), Error> {
        let end = self.now().after(time);
        while let Some(due) = self.rest().await?.filter(|it| *it <= end) {
            self.skip_to(due);
        }
        self.skip_to(end);
        self.settle().await
    }

    /// The engine is gone as after a crash of its process, and opened again.
    ///
    /// ```
    /// # use travertine::{Context, Flow, workflow};
    /// # use travertine::testing::TestEngine;
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn sturdy(cx: Context) -> Flow<u32> { cx.sleep(Duration::from_hours(2)).await?; Ok(3) }
    /// let env = TestEngine::open();
    /// let run = env.start("a", sturdy()).await?;
    /// env.crash();
    /// assert_eq!(run.result().await?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn crash(&self) {
        self.world.living().store.die();
        drop(self.world.alive());
    }

    /// All attempts at an activity, in the order in which they began.
    ///
    /// ```
    /// # use travertine::{Context, Failure, Flow, activity, workflow};
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[activity]
    /// # async fn count_to(n: u32) -> Result<u32, Failure> { Ok(n) }
    /// # #[workflow]
    /// # async fn counts(cx: Context) -> Flow<()> { for n in 1..=3 { cx.call(count_to(n)).await?; } Ok(()) }
    /// let env = TestEngine::open();
    /// env.start("a", counts()).await?.result().await?;
    /// let calls = env.calls("count_to");
    /// assert_eq!(calls.iter().map(|it| it.argument::<u32>("n")).collect::<Vec<_>>(), [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn calls(&self, activity: &str) -> Vec<Call> {
        self.world.calls.of(activity)
    }

    /// What the run of that id has asked for and been told, and how it ended: a line for each.
    ///
    /// # Panics
    ///
    /// Where there is no such run.
    ///
    /// ```
    /// # use travertine::{Context, Flow, workflow};
    /// # use travertine::testing::TestEngine;
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn written_down(cx: Context) -> Flow<u32> { cx.sleep(Duration::from_hours(1)).await?; Ok(3) }
    /// let env = TestEngine::open();
    /// env.start("a", written_down()).await?.result().await?;
    /// assert_eq!(env.journal("a"), ["began", "asks for sleep", "sleep done", "completed result=3"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn journal(&self, id: &str) -> Vec<String> {
        let log = Log::read(&*self.world.store);
        let Some((_, story)) = log.find(id) else { panic!("no run `{id}`") };
        story.lines()
    }

    /// Runs the code of a run again, with its journal as it was at each thing that it was told, and
    /// compares what it decides, and asks for, with what it decided before.
    ///
    /// ```
    /// # use travertine::{Context, Flow, workflow};
    /// # use travertine::testing::TestEngine;
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn the_same_again(cx: Context) -> Flow<u64> { cx.sleep(Duration::from_hours(1)).await?; Ok(cx.random().below(6)) }
    /// let env = TestEngine::open();
    /// env.start("a", the_same_again()).await?.result().await?;
    /// env.check_replay("a")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn check_replay(&self, id: &str) -> Result<(), String> {
        self.world.check_replay(Some(id))
    }

    /// Answers when nothing goes on without time or the test, with when something is due.
    async fn rest(&self) -> Result<Option<Timestamp>, Error> {
        self.ask(|engine, life| async move {
            loop {
                let (worked, waits) = (engine.worked(), life.news.notified());
                let rest = engine.rest().await?;
                let functions = &self.world.options.functions;
                if rest.jobs.iter().any(|(it, _)| functions.find_activity(it).is_some()) {
                    // Someone is about to take it.
                    tokio::task::yield_now().await;
                } else if rest.at_work <= life.idle() {
                    return Ok(rest.due.into_iter().chain(life.due()).min());
                } else {
                    tokio::select! {
                        () = worked => {}
                        () = waits => {}
                    }
                }
            }
        })
        .await
    }

    fn skip_to(&self, time: Timestamp) {
        self.world.clock.set(time);
        let (engine, life) = self.world.alive();
        life.wake();
        engine.wake();
    }

    /// Goes on until a run has ended, or cannot end.
    async fn run_to_end(&self, id: &str) -> Result<(), Error> {
        for _ in 0..SKIPS_MAX {
            let due = self.rest().await?;
            let status = self.ask(|engine, _| async move { engine.query_status(id).await }).await?;
            let stands_still = match status {
                None => return Err(failed(format!("there is no run `{id}`"))),
                Some(RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled) => {
                    return Ok(());
                }
                Some(RunStatus::Running | RunStatus::Suspended | RunStatus::Blocked) => {
                    let log = Log::read(&*self.world.store);
                    log.find(id).is_some_and(|(_, it)| it.state.incidents.iter().next().is_some())
                }
            };
            match due {
                Some(due) if !stands_still => self.skip_to(due),
                _ => return Err(failed(self.why(id))),
            }
        }
        Err(failed(format!("`{id}` has not ended after {SKIPS_MAX} timers")))
    }

    /// Why a run does not end.
    fn why(&self, id: &str) -> String {
        let log = Log::read(&*self.world.store);
        let mut reasons = Vec::new();
        for story in log.stories.values() {
            let incidents = story.state.incidents.iter();
            reasons.extend(incidents.map(|(_, it)| {
                let name = &story.name;
                format!("{name} stands still: {}", it.failure)
            }));
        }
        if let Some((_, story)) = log.find(id)
            && reasons.is_empty()
        {
            reasons.push(format!("it waits for {}", story.waits().join(" and ")));
        }
        format!("`{id}` does not go on by itself: {}", reasons.join("; "))
    }
}

fn failed(reason: String) -> Error {
    Error::Failed { reason }
}

/// A run of a function in a [`TestEngine`].
///
/// ```
/// # use travertine::{Context, Flow, RunStatus, workflow};
/// # use travertine::testing::TestEngine;
/// # use std::time::Duration;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # #[workflow]
/// # async fn day_off(cx: Context) -> Flow<String> { cx.sleep(Duration::from_hours(24)).await?; Ok("rested".into()) }
/// let env = TestEngine::open();
/// let run = env.start("a", day_off()).await?;
/// assert_eq!(run.status().await?, RunStatus::Suspended);
/// assert_eq!(run.result().await?, "rested");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct TestRun<O> {
    env: TestEngine,
    id: String,
    output: PhantomData<fn() -> O>,
}

impl<O> Clone for TestRun<O> {
    fn clone(&self) -> Self {
        Self { env: self.env.clone(), id: self.id.clone(), output: PhantomData }
    }
}

impl<O> fmt::Debug for TestRun<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestRun").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<O> TestRun<O> {
    /// The id of the run.
    ///
    /// ```
    /// # use travertine::{Context, Flow, workflow};
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn ten(cx: Context) -> Flow<u32> { Ok(10) }
    /// assert_eq!(TestEngine::open().start("a", ten()).await?.id(), "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it is doing, once nothing goes on without time or the test.
    ///
    /// ```
    /// # use travertine::{Context, Flow, RunStatus, workflow};
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn eleven(cx: Context) -> Flow<u32> { Ok(11) }
    /// let run = TestEngine::open().start("a", eleven()).await?;
    /// assert_eq!(run.status().await?, RunStatus::Succeeded);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn status(&self) -> Result<RunStatus, Error> {
        self.env.settle().await?;
        self.ask(|run| async move { run.status().await }).await
    }

    /// Asks it to end; its code may clear up first. Says whether it was still running.
    ///
    /// ```
    /// # use travertine::{Context, Flow, RunError, workflow};
    /// # use travertine::testing::TestEngine;
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn too_long(cx: Context) -> Flow<()> { cx.sleep(Duration::from_hours(24)).await?; Ok(()) }
    /// let run = TestEngine::open().start("a", too_long()).await?;
    /// assert!(run.cancel().await?);
    /// assert_eq!(run.result().await, Err(RunError::Cancelled));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn cancel(&self) -> Result<bool, Error> {
        self.ask(|run| async move { run.cancel().await }).await
    }

    /// Asks its code about what it has in hand.
    ///
    /// ```
    /// # use travertine::{Context, Flow, workflow};
    /// # use travertine::testing::TestEngine;
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// #[workflow]
    /// async fn asked(cx: Context) -> Flow<()> {
    ///     cx.on_query("double", |n: u32| 2 * n);
    ///     Ok(cx.sleep(Duration::from_hours(1)).await?)
    /// }
    /// let run = TestEngine::open().start("a", asked()).await?;
    /// assert_eq!(run.query::<_, u32>("double", &4).await?, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn query<I: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        name: &str,
        input: &I,
    ) -> Result<T, Error> {
        self.ask(|run| async move { run.query(name, input).await }).await
    }

    /// Has its code change what it has in hand. It has an id of its own.
    ///
    /// ```
    /// # use travertine::{Context, Flow, workflow};
    /// # use travertine::testing::TestEngine;
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// #[workflow]
    /// async fn changed(cx: Context) -> Flow<()> {
    ///     cx.on_update("double", |_: &u32| Ok(()), |n| Ok(2 * n));
    ///     Ok(cx.sleep(Duration::from_hours(1)).await?)
    /// }
    /// let run = TestEngine::open().start("a", changed()).await?;
    /// assert_eq!(run.update::<_, u32>("double", &4).await?, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn update<I: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        name: &str,
        input: &I,
    ) -> Result<T, Error> {
        let id = &self.env.world.next_id();
        self.ask(|run| async move { run.update(name, input).id(id).await }).await
    }

    async fn ask<T, F>(&self, act: impl Fn(crate::Run<Value>) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let act = &act;
        let ask = |engine: Engine, _| async move {
            let found = engine.run(&self.id).await?;
            let missing = || failed(format!("there is no run `{}`", self.id));
            act(found.ok_or_else(missing)?).await
        };
        self.env.ask(ask).await
    }
}

impl<O: DeserializeOwned> TestRun<O> {
    /// Lets time pass until it has ended. Where it cannot end without the test, or stands still, that
    /// is an error with the reason.
    ///
    /// ```
    /// # use travertine::{Context, Flow, workflow};
    /// # use travertine::testing::TestEngine;
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn whole_week(cx: Context) -> Flow<u32> { cx.sleep(Duration::from_hours(7 * 24)).await?; Ok(12) }
    /// assert_eq!(TestEngine::open().start("a", whole_week()).await?.result().await?, 12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn result(&self) -> Result<O, RunError> {
        self.env.run_to_end(&self.id).await?;
        loop {
            let engine = self.env.engine();
            let Some(run) = engine.run(&self.id).await? else {
                return Err(failed(format!("there is no run `{}`", self.id)).into());
            };
            drop(engine);
            match run.result().await {
                Err(RunError::Engine(_)) if self.env.world.has_died() => {}
                result => return result,
            }
        }
    }
}

/// An event that is about to be sent. Awaiting it sends it.
///
/// ```
/// # use travertine::{Event, Receipt};
/// # use travertine::testing::TestEngine;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Rung;
/// # impl Event for Rung { const NAME: &'static str = "test.rung"; }
/// let env = TestEngine::open();
/// // Nobody waits for it yet.
/// assert_eq!(env.send_event(Rung).await?, Receipt::Held);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[must_use = "nothing is sent before it is awaited"]
#[derive(Debug)]
pub struct TestSending<'a> {
    env: &'a TestEngine,
    message: Result<Message, Error>,
    to: Option<Name>,
}

impl TestSending<'_> {
    /// Sends it only to the run of this id. As in an engine, a number may be that of a run without an id.
    ///
    /// ```
    /// # use travertine::{Context, Event, Flow, RunStatus, workflow};
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Opened;
    /// # impl Event for Opened { const NAME: &'static str = "test.opened"; }
    /// # #[workflow]
    /// # async fn door(cx: Context) -> Flow<()> { cx.event::<Opened>().await?; Ok(()) }
    /// let env = TestEngine::open();
    /// let (one, other) = (env.start("a", door()).await?, env.start("b", door()).await?);
    /// env.send_event(Opened).to("b").await?;
    /// assert_eq!(one.status().await?, RunStatus::Suspended);
    /// assert_eq!(other.status().await?, RunStatus::Succeeded);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn to(mut self, id: &str) -> Self {
        self.to = Some(id.into());
        self
    }

    /// Sends it only to those who wait with this key, or with none.
    ///
    /// ```
    /// # use travertine::{Context, Event, Flow, RunStatus, workflow};
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Called;
    /// # impl Event for Called { const NAME: &'static str = "test.called"; }
    /// #[workflow]
    /// async fn waiter(cx: Context, table: u32) -> Flow<()> {
    ///     cx.event::<Called>().key(&table).await?;
    ///     Ok(())
    /// }
    /// let env = TestEngine::open();
    /// let (one, other) = (env.start("a", waiter(1)).await?, env.start("b", waiter(2)).await?);
    /// env.send_event(Called).key(2).await?;
    /// assert_eq!(one.status().await?, RunStatus::Suspended);
    /// assert_eq!(other.status().await?, RunStatus::Succeeded);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn key(mut self, key: impl Into<Value>) -> Self {
        if let Ok(message) = &mut self.message {
            message.correlation.push(("key".into(), key.into()));
        }
        self
    }
}

impl<'a> IntoFuture for TestSending<'a> {
    type Output = Result<Receipt, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { env, message, to } = self;
        Box::pin(async move {
            let message = message?;
            env.ask(|engine, _| {
                let (mut message, to) = (message.clone(), to.clone());
                async move {
                    if let Some(to) = to {
                        let to = engine.address(&to).await?;
                        message.correlation.push((INSTANCE.into(), to.into()));
                    }
                    engine.publish(message).await
                }
            })
            .await
        })
    }
}
