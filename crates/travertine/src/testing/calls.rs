//! What activities are called with, and how they wait.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::de::DeserializeOwned;
use tokio::sync::{Notify, oneshot, watch};
use travertine_func::{ActivityContext, Arguments, BoxFuture, Failure, RunnableActivity};
use travertine_value::typed;

use crate::{Assignments, Clock as _, ManualClock, Timestamp, Value};

/// One attempt at an activity.
///
/// ```
/// # use travertine::{Context, Failure, Flow, activity, workflow};
/// # use travertine::testing::TestEngine;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # #[activity]
/// # async fn knock_once(door: String) -> Result<u64, Failure> { Ok(door.len() as u64) }
/// # #[workflow]
/// # async fn knocks_once(cx: Context) -> Flow<u64> { Ok(cx.call(knock_once("blue".into())).await?) }
/// let env = TestEngine::open();
/// env.start("a", knocks_once()).await?.result().await?;
/// let call = &env.calls("knock_once")[0];
/// assert_eq!((call.attempt, call.life), (1, 1));
/// assert_eq!(call.outcome, Some(Ok(4.into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The key that all attempts of one call of the function share, also after a crash.
    pub key: String,
    /// Which attempt, from 1. One that a crash has cut off is made again with its number.
    pub attempt: u32,
    /// What it was called with.
    pub arguments: Assignments,
    /// What came of it; nothing where it is at work, or was cut off.
    pub outcome: Option<Result<Value, Failure>>,
    /// How often the engine had been opened when it was called, from 1.
    pub life: usize,
}

impl Call {
    /// An argument, by the name of its parameter.
    ///
    /// # Panics
    ///
    /// Where it has no such argument, or it is of another type.
    ///
    /// ```
    /// # use travertine::{Context, Failure, Flow, activity, workflow};
    /// # use travertine::testing::TestEngine;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[activity]
    /// # async fn knock_at(door: String) -> Result<(), Failure> { Ok(()) }
    /// # #[workflow]
    /// # async fn knocks_at(cx: Context) -> Flow<()> { Ok(cx.call(knock_at("blue".into())).await?) }
    /// let env = TestEngine::open();
    /// env.start("a", knocks_at()).await?.result().await?;
    /// assert_eq!(env.calls("knock_at")[0].argument::<String>("door"), "blue");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn argument<T: DeserializeOwned>(&self, parameter: &str) -> T {
        let found = self.arguments.iter().find(|(name, _)| &**name == parameter);
        let (_, value) =
            found.unwrap_or_else(|| panic!("no argument `{parameter}` among {:?}", self.arguments));
        typed::from_value(value).unwrap_or_else(|error| panic!("argument `{parameter}`: {error}"))
    }
}

/// All attempts at activities, of all lives of an engine.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Which activity, and the attempt.
    made: Mutex<Vec<(String, Call)>>,
}

impl Calls {
    fn made(&self) -> MutexGuard<'_, Vec<(String, Call)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn of(&self, activity: &str) -> Vec<Call> {
        let made = self.made();
        made.iter().filter(|(name, _)| name == activity).map(|(_, it)| it.clone()).collect()
    }

    pub(super) fn all(&self) -> Vec<(String, Call)> {
        self.made().clone()
    }

    /// An attempt at an activity, written down.
    pub(super) fn attempt(
        self: &Arc<Self>,
        name: &str,
        activity: &RunnableActivity,
        life: &Arc<Life>,
        cx: ActivityContext,
        arguments: Arguments,
    ) -> BoxFuture<'static, Result<Value, Failure>> {
        let (calls, life) = (Arc::clone(self), Arc::clone(life));
        let index = {
            let mut made = calls.made();
            let call = Call {
                key: cx.idempotency_key().to_owned(),
                attempt: cx.attempt(),
                arguments: arguments.values().clone(),
                outcome: None,
                life: life.number,
            };
            made.push((name.to_owned(), call));
            made.len() - 1
        };
        let activity = activity.clone();
        Box::pin(async move {
            let over = life.over();
            let here = Here { life, cx: cx.clone() };
            let doing = HERE.scope(here, async move { activity.run(cx, arguments).await });
            let outcome = tokio::select! {
                biased;
                () = over => return Err(Failure::new("crash", "the engine is gone")),
                outcome = doing => outcome,
            };
            calls.made()[index].1.outcome = Some(outcome.clone());
            outcome
        })
    }
}

/// From opening an engine to its crash, for the activities of that time.
#[derive(Debug)]
pub(super) struct Life {
    /// Which, from 1.
    pub(super) number: usize,
    clock: Arc<ManualClock>,
    waiting: Mutex<Waiting>,
    /// Notified when an activity begins to wait.
    pub(super) news: Notify,
    over: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// How many have waited.
    next: u64,
    /// Activities that wait: until when, where they do not wait for good.
    all: BTreeMap<u64, (Option<Timestamp>, oneshot::Sender<()>)>,
}

impl Waiting {
    fn add(&mut self, due: Option<Timestamp>, sender: oneshot::Sender<()>) -> u64 {
        self.next += 1;
        self.all.insert(self.next, (due, sender));
        self.next
    }
}

#[derive(Clone)]
struct Here {
    life: Arc<Life>,
    cx: ActivityContext,
}

tokio::task_local! {
    static HERE: Here;
}

impl Life {
    pub(super) fn new(number: usize, clock: &Arc<ManualClock>) -> Self {
        let clock = Arc::clone(clock);
        Self {
            number,
            clock,
            waiting: Mutex::default(),
            news: Notify::new(),
            over: watch::Sender::new(false),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many activities wait in this way.
    pub(super) fn idle(&self) -> usize {
        self.waiting().all.len()
    }

    /// When the first of them goes on.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.waiting().all.values().filter_map(|(due, _)| *due).min()
    }

    /// Lets those go on whose time has come.
    pub(super) fn wake(&self) {
        let now = self.clock.now();
        self.waiting().all.retain(|_, (due, _)| due.is_none_or(|it| it > now));
    }

    /// No activity of it goes on.
    pub(super) fn end(&self) {
        self.over.send_replace(true);
    }

    fn over(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut over = self.over.subscribe();
        async move {
            if over.wait_for(|it| *it).await.is_err() {
                // Nobody can end it any more, and nobody needs to.
                std::future::pending::<()>().await;
            }
        }
    }

    async fn wait_until(self: Arc<Self>, due: Option<Timestamp>) {
        let (sender, woken) = oneshot::channel();
        let number = self.waiting().add(due, sender);
        let here = Leaving { life: self, number };
        here.life.news.notify_waiters();
        // It is woken when its sender is dropped.
        let _: Result<(), oneshot::error::RecvError> = woken.await;
    }
}

/// An activity that waits no more once this is dropped.
struct Leaving {
    life: Arc<Life>,
    number: u64,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.life.waiting().all.remove(&self.number);
    }
}

fn here() -> Here {
    HERE.try_with(Here::clone)
        .expect("it is called by an activity of a TestEngine, on its own task")
}

/// What the activity that calls it would be given as its context: for stand-ins, which are not given
/// any.
///
/// # Panics
///
/// Outside of an activity of a [`TestEngine`](super::TestEngine).
///
/// ```
/// # use travertine::{Context, Failure, Flow, activity, workflow};
/// # use travertine::testing::Setup;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # use travertine::testing;
/// # #[activity]
/// # async fn ring(bell: String) -> Result<u32, Failure> { Ok(bell.len() as u32) }
/// # #[workflow]
/// # async fn rings(cx: Context) -> Flow<u32> { Ok(cx.call(ring("old".into())).await?) }
/// // It fails the first time.
/// let env = Setup::new().activity("ring", |_: String| async {
///     match testing::context().attempt() {
///         1 => Err(Failure::new("stuck", "try again")),
///         attempt => Ok(attempt),
///     }
/// });
/// assert_eq!(env.open().start("a", rings()).await?.result().await?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub fn context() -> ActivityContext {
    here().cx
}

/// An activity takes so long, by the clock of its [`TestEngine`](super::TestEngine).
///
/// # Panics
///
/// Outside of such an activity.
///
/// ```
/// # use travertine::{Context, Failure, Flow, activity, workflow};
/// # use travertine::testing::Setup;
/// # use std::time::Duration;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # use travertine::testing;
/// # #[activity]
/// # async fn boil() -> Result<(), Failure> { Ok(()) }
/// # #[workflow]
/// # async fn boils(cx: Context) -> Flow<()> { Ok(cx.call(boil()).await?) }
/// let env = Setup::new().activity("boil", || async { Ok(testing::sleep(Duration::from_mins(4)).await) });
/// let env = env.open();
/// let began = env.now();
/// env.start("a", boils()).await?.result().await?;
/// assert_eq!(env.now(), began.after(Duration::from_mins(4)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub async fn sleep(time: Duration) {
    let life = here().life;
    let due = life.clock.now().after(time);
    if !time.is_zero() {
        life.wait_until(Some(due)).await;
    }
}

/// An activity never answers.
///
/// # Panics
///
/// Outside of an activity of a [`TestEngine`](super::TestEngine).
///
/// ```
/// # use travertine::{Context, Failure, Flow, activity, workflow};
/// # use travertine::testing::Setup;
/// # use std::time::Duration;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # use travertine::testing;
/// # #[activity]
/// # async fn answer_letter() -> Result<(), Failure> { Ok(()) }
/// #[workflow]
/// async fn impatient(cx: Context) -> Flow<bool> {
///     Ok(cx.timeout(Duration::from_hours(1), cx.call(answer_letter())).await.is_ok())
/// }
/// let env = Setup::new().activity("answer_letter", || async { Ok(testing::hang().await) }).open();
/// assert_eq!(env.start("a", impatient()).await?.result().await?, false);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub async fn hang() {
    here().life.wait_until(None).await;
}
