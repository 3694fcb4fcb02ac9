//! How a test wants its engine.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use travertine_func::Functions;

use super::{
    engine::{TestEngine, World},
    mortal::Death,
    stand_in::StandIn,
};
use crate::{Options, Timestamp};

/// How a test wants its engine. It has all functions and activities that the program is linked with.
///
/// ```
/// use travertine::{ActivityContext, Context, Failure, Flow, activity, testing::Setup, workflow};
///
/// #[activity]
/// async fn look_at_shelf(cx: ActivityContext, shelf: usize) -> Result<String, Failure> {
///     let shelves = cx.get::<Vec<&str>>()?;
///     Ok(shelves[shelf].to_owned())
/// }
///
/// #[workflow]
/// async fn look_twice(cx: Context) -> Flow<String> {
///     Ok(cx.call(look_at_shelf(0)).await? + &cx.call(look_at_shelf(1)).await?)
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let env = Setup::new().dependency(vec!["pot", "lid"]).open();
/// assert_eq!(env.start("a", look_twice()).await?.result().await?, "potlid");
/// // Without any shelves.
/// let env = Setup::new().activity("look_at_shelf", |_: usize| async { Ok("!".to_owned()) }).open();
/// assert_eq!(env.start("a", look_twice()).await?.result().await?, "!!");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct Setup {
    pub(super) options: Options,
    pub(super) now: Timestamp,
    trial: Option<Arc<Trial>>,
}

/// A scenario that is gone through with a crash.
#[derive(Debug)]
pub(super) struct Trial {
    death: Mutex<Option<Death>>,
    opened: Mutex<Vec<Arc<World>>>,
}

impl Trial {
    pub(super) fn new(death: Option<Death>) -> Arc<Self> {
        Arc::new(Self { death: Mutex::new(death), opened: Mutex::default() })
    }

    /// The engines that the scenario has opened.
    pub(super) fn opened(&self) -> Vec<Arc<World>> {
        std::mem::take(&mut *self.opened.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for Setup {
    fn default() -> Self {
        Self::new()
    }
}

impl Setup {
    /// A setup with all functions and activities that this program has, as they are.
    ///
    /// ```
    /// # use travertine::testing::Setup;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let env = Setup::new().open();
    /// assert_eq!(env.engine().metrics().jobs, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn new() -> Self {
        let mut options = Options { shards: 1, ..Options::default() };
        options.settings.functions.shadow_every = 1;
        // Whoever asks for its result is told, and a test may want it so.
        options.settings.functions.prints_incidents = false;
        // Rows are stored when someone asks for them, not when a clock of the machine says so.
        options.pace.interval = Duration::from_hours(1_000);
        // 2030-01-01T00:00:00Z
        Self { options, now: Timestamp::from_millis(1_893_456_000_000), trial: None }
    }

    pub(super) fn on_trial(trial: &Arc<Trial>) -> Self {
        Self { trial: Some(Arc::clone(trial)), ..Self::new() }
    }

    /// Uses these functions and activities, instead of all that the program is linked with.
    ///
    /// ```
    /// # use travertine::{Context, Flow, Functions, workflow};
    /// # use travertine::testing::Setup;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn unknown_here(cx: Context) -> Flow<()> { Ok(()) }
    /// let env = Setup::new().functions(Functions::new()).open();
    /// assert!(env.start("a", unknown_here()).await.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn functions(mut self, functions: Functions) -> Self {
        self.options.functions = functions;
        self
    }

    /// Has a closure stand in for an activity. Where it needs more than the arguments, it asks
    /// [`context`](super::context).
    ///
    /// # Panics
    ///
    /// Where there is no such activity.
    ///
    /// ```
    /// # use travertine::{Context, Failure, Flow, activity, workflow};
    /// # use travertine::testing::Setup;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[activity]
    /// # async fn weather(town: String) -> Result<String, Failure> { Err(Failure::terminal("offline", town)) }
    /// # #[workflow]
    /// # async fn forecast(cx: Context) -> Flow<String> { Ok(cx.call(weather("Rome".into())).await?) }
    /// let env = Setup::new().activity("weather", |town: String| async move { Ok(format!("{town}: sun")) });
    /// assert_eq!(env.open().start("a", forecast()).await?.result().await?, "Rome: sun");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn activity<A>(mut self, name: &str, stand_in: impl StandIn<A>) -> Self {
        if self.options.functions.find_activity(name).is_none() {
            let names: Vec<&str> = self.options.functions.activities().map(|it| it.0).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            panic!("no activity `{name}` to stand in for; the activities are: {names}");
        }
        let (called, stand_in) = (name.to_owned(), Arc::new(stand_in));
        let functions = std::mem::take(&mut self.options.functions);
        self.options.functions = functions
            .replace_activity(name, move |_, arguments| stand_in.attempt(&called, arguments));
        self
    }

    /// Gives activities something that they use, one of each type.
    ///
    /// ```
    /// # use travertine::{ActivityContext, Context, Failure, Flow, activity, workflow};
    /// # use travertine::testing::Setup;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// #[activity]
    /// async fn greeting(cx: ActivityContext) -> Result<String, Failure> {
    ///     Ok(cx.get::<&str>()?.to_string())
    /// }
    /// # #[workflow]
    /// # async fn greets(cx: Context) -> Flow<String> { Ok(cx.call(greeting()).await?) }
    /// let env = Setup::new().dependency("hello").open();
    /// assert_eq!(env.start("a", greets()).await?.result().await?, "hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn dependency<T: Send + Sync + 'static>(mut self, it: T) -> Self {
        self.options.dependencies = self.options.dependencies.with(it);
        self
    }

    /// Sets the time that the clock shows at first.
    ///
    /// ```
    /// # use travertine::Timestamp;
    /// # use travertine::testing::Setup;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let env = Setup::new().now(Timestamp::from_millis(0)).open();
    /// assert_eq!(env.now().to_string(), "1970-01-01T00:00:00Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn now(mut self, now: Timestamp) -> Self {
        self.now = now;
        self
    }

    /// Changes how the engine is opened. It has a clock of its own in any case.
    ///
    /// ```
    /// # use travertine::testing::Setup;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # use travertine::Limit;
    /// let one_at_a_time = ("bank".into(), Limit::at_once(1));
    /// let env = Setup::new().options(|it| it.limits.extend([one_at_a_time])).open();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Opens the engine. Activities run on the executor of tokio that the caller runs on.
    ///
    /// # Panics
    ///
    /// Where it cannot be opened: two functions have one name, for example.
    ///
    /// ```
    /// # use travertine::testing::Setup;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let env = Setup::new().open();
    /// env.settle().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn open(mut self) -> TestEngine {
        let trial = self.trial.take();
        let take = |it: &Arc<Trial>| it.death.lock().unwrap_or_else(PoisonError::into_inner).take();
        let world = Arc::new(World::new(self, trial.as_ref().and_then(take)));
        if let Some(trial) = trial {
            trial.opened.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&world));
        }
        TestEngine { world }
    }
}
