//! One scenario through crashes at every step.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use super::{
    TestEngine,
    engine::World,
    mortal::{Death, Side},
    setup::{Setup, Trial},
};

/// What came of a scenario that was gone through with a crash at every step.
///
/// ```
/// # use travertine::{Context, Flow, workflow};
/// # use travertine::testing::{CrashReport, Setup, TestEngine};
/// # use std::time::Duration;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # #[workflow]
/// # async fn crashing_nap(cx: Context) -> Flow<u32> { cx.sleep(Duration::from_hours(1)).await?; Ok(7) }
/// let report: CrashReport<_> = TestEngine::crash_everywhere(async |setup: Setup| {
///     setup.open().start("a", crashing_nap()).await?.result().await
/// })
/// .await;
/// assert_eq!(report.problems, [""; 0]);
/// assert!(report.crashes > 2 && report.repeated.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "it says what went wrong"]
pub struct CrashReport<T> {
    /// What the scenario came to without a crash.
    pub result: T,
    /// How many crashes there were, each in a scenario of its own.
    pub crashes: usize,
    /// Activities that have done their work again, because a crash came before its outcome was
    /// durable. That is as it must be: an activity is done at least once. It is harmless where a
    /// second time does nothing more.
    pub repeated: Vec<Repeated>,
    /// What must not be: another result than without a crash, work done again although its outcome was
    /// durable, code at odds with its journal.
    pub problems: Vec<String>,
}

/// An activity that has done its work again.
///
/// ```
/// # use travertine::{Context, Failure, Flow, activity, workflow};
/// # use travertine::testing::{Setup, TestEngine};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # #[activity]
/// # async fn stir() -> Result<u32, Failure> { Ok(7) }
/// # #[workflow]
/// # async fn stirs(cx: Context) -> Flow<u32> { Ok(cx.call(stir()).await?) }
/// let report = TestEngine::crash_everywhere(async |setup: Setup| {
///     setup.open().start("a", stirs()).await?.result().await
/// })
/// .await;
/// // Each crash that came before the outcome was durable: done at least once, not once.
/// for it in &report.repeated {
///     assert_eq!((it.activity.as_str(), it.times), ("stir", 2));
/// }
/// # assert!(!report.repeated.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// When the engine crashed.
    pub crash: String,
    /// Which activity.
    pub activity: String,
    /// What it was called by each time.
    pub key: String,
    /// How often it has said that it was done.
    pub times: usize,
}

impl fmt::Display for Repeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { activity, key, times, .. } = self;
        write!(f, "activity {activity} has done its work {times} times for `{key}`")
    }
}

impl<T> CrashReport<T> {
    /// Panics where something went wrong, with all of it in words. Gives the result otherwise.
    ///
    /// # Panics
    ///
    /// Where something went wrong.
    ///
    /// ```
    /// # use travertine::{Context, Flow, workflow};
    /// # use travertine::testing::{Setup, TestEngine};
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[workflow]
    /// # async fn short_nap(cx: Context) -> Flow<u32> { cx.sleep(Duration::from_hours(1)).await?; Ok(7) }
    /// let scenario = async |setup: Setup| setup.open().start("a", short_nap()).await?.result().await;
    /// assert_eq!(TestEngine::crash_everywhere(scenario).await.assert_same()?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn assert_same(self) -> T {
        let Self { result, crashes, problems, .. } = self;
        let count = problems.len();
        assert!(
            problems.is_empty(),
            "{count} problems with {crashes} crashes:\n{}",
            problems.join("\n")
        );
        result
    }
}

impl TestEngine {
    /// Goes through a scenario without a crash, and then again and again: each time the engine crashes
    /// at another step, just before or just after something is written, and is opened again on what it
    /// has written. Whatever the scenario asks of its [`TestEngine`] goes on after that.
    ///
    /// The scenario opens its engine from the setup that it is given, and makes anew what activities
    /// change. What it gives back is compared, so it gives back whatever must be the same: results of
    /// runs, and what activities have done to the world.
    ///
    /// ```
    /// # use travertine::{Context, Failure, Flow, activity, workflow};
    /// # use travertine::testing::{Setup, TestEngine};
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # #[activity]
    /// # async fn add_to(n: u32) -> Result<u32, Failure> { Ok(n + 1) }
    /// #[workflow]
    /// async fn adds_twice(cx: Context) -> Flow<u32> {
    ///     let n = cx.call(add_to(0)).await?;
    ///     Ok(cx.call(add_to(n)).await?)
    /// }
    /// let report = TestEngine::crash_everywhere(async |setup: Setup| {
    ///     setup.open().start("a", adds_twice()).await?.result().await
    /// })
    /// .await;
    /// assert_eq!(report.assert_same()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn crash_everywhere<T: PartialEq + fmt::Debug>(
        scenario: impl AsyncFn(Setup) -> T,
    ) -> CrashReport<T> {
        let trial = Trial::new(None);
        let result = scenario(Setup::on_trial(&trial)).await;
        let mut report =
            CrashReport { result, crashes: 0, repeated: Vec::new(), problems: Vec::new() };
        let mut about = BTreeSet::new();
        for world in trial.opened() {
            report.problems.extend(world.check_replay(None).err());
            about.extend(world.about());
        }
        for instance in about {
            let mut step = 1;
            loop {
                let death = |side| Death { side, instance, step };
                let before = report.try_with(&scenario, death(Side::Before)).await;
                let after = report.try_with(&scenario, death(Side::After)).await;
                // Steps that are written at once are lost, or kept, together.
                let Some(last) = before.into_iter().chain(after).min() else { break };
                step = last + 1;
            }
        }
        report
    }
}

impl<T: PartialEq + fmt::Debug> CrashReport<T> {
    /// Goes through the scenario with a crash. Gives the last step that was lost, or kept, with it;
    /// nothing where the scenario does not come so far.
    async fn try_with(
        &mut self,
        scenario: &impl AsyncFn(Setup) -> T,
        death: Death,
    ) -> Option<usize> {
        let trial = Trial::new(Some(death));
        let outcome = caught(scenario(Setup::on_trial(&trial))).await;
        let worlds = trial.opened();
        // The crash may have come after all that the scenario has asked for.
        for world in &worlds {
            drop(world.alive());
        }
        let (world, crash) = worlds.iter().find_map(|it| Some((it, it.crashed()?)))?;
        self.crashes += 1;
        let at = &crash.died.at;
        let repeated = repeated_in(world, at);
        let mut problems = Vec::new();
        match outcome {
            Ok(result) if result == self.result => {}
            Ok(result) => {
                let text = format!("it comes to {result:?}, not {:?}", self.result);
                let twice = repeated.iter().map(|it| {
                    format!(
                        "; {it}, the first time without its outcome being durable: what it does must be \
                         the same when it is done twice (give its `cx.idempotency_key()` to whoever does \
                         it)"
                    )
                });
                let text = std::iter::once(text).chain(twice).collect::<Vec<_>>().concat();
                problems.push(text);
            }
            Err(panic) => problems.push(format!("it panics: {panic}")),
        }
        let again = |(_, call): &&(String, super::Call)| {
            call.life > crash.life && crash.done.contains(&call.key)
        };
        for (activity, call) in world.calls().all().iter().filter(again) {
            let key = &call.key;
            problems.push(format!("activity {activity} is done again for `{key}`, which was done"));
        }
        problems.extend(world.check_replay(None).err());
        self.problems.extend(problems.into_iter().map(|it| format!("crash {at}: {it}")));
        self.repeated.extend(repeated);
        Some(crash.died.step)
    }
}

/// The activities that have done their work more than once.
fn repeated_in(world: &Arc<World>, crash: &str) -> Vec<Repeated> {
    let mut times = BTreeMap::<(String, String), usize>::new();
    for (activity, call) in world.calls().all() {
        if matches!(call.outcome, Some(Ok(_))) {
            *times.entry((activity, call.key)).or_default() += 1;
        }
    }
    let often = times.into_iter().filter(|(_, times)| *times > 1);
    let repeated =
        |((activity, key), times)| Repeated { crash: crash.to_owned(), activity, key, times };
    often.map(repeated).collect()
}

/// The output of a future, or the words with which it panics.
async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
            Poll::Ready(Err(text.unwrap_or_else(|| "without words".to_owned())))
        }
    })
    .await
}
