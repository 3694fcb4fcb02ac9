//! Operations: what a function has asked for and waits for, and the builders that ask.

use std::{
    fmt,
    future::{Future, IntoFuture, Ready, ready},
    marker::PhantomData,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{self, Poll},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use travertine_kernel::{
    Assignments, Backoff, Catches, Digest, Job, JobOptions, Post, WaitFor, plan::WorkKind,
};
use travertine_value::{
    Name, Value,
    time::{Timestamp, whole_millis},
    typed,
};

use crate::{
    context::Context,
    core::Asked,
    definition::{Activity, ActivityOptions, Workflow},
    digest,
    error::Failure,
    event::Event,
    retry::Retry,
};

/// How the answer of an operation becomes a value.
type Decode<T> = fn(&Name, &Assignments) -> Result<T, Failure>;

/// An operation that was asked for. It runs whether it is awaited or not; to drop it before it is
/// done is to say that it is not needed, and that is written into the journal.
///
/// ```
/// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
/// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
/// # async fn example(cx: Context) -> Flow<()> {
/// let first = cx.call(charge(1)).start();
/// let second = cx.call(charge(2)).start();
/// assert_eq!(first.key(), "activity charge");
/// let both = (first.await?, second.await?);
/// # Ok(()) }
/// ```
#[must_use = "an operation that is dropped is called off"]
pub struct Operation<T> {
    cx: Context,
    key: Name,
    asked: Asked,
    decode: Decode<T>,
    is_child: bool,
    /// Whether it goes on when this is dropped.
    is_detached: bool,
}

impl<T> Operation<T> {
    pub(crate) fn ask(
        cx: Context,
        key: Name,
        decode: Decode<T>,
        on: impl FnOnce(&Context, &Name) -> Result<(WaitFor, Option<Digest>), Failure>,
    ) -> Self {
        let asked = cx.core.ask(&cx.scope, &key, || on(&cx, &key));
        Self { cx, key, asked, decode, is_child: false, is_detached: false }
    }

    fn of_child(mut self) -> Self {
        self.is_child = true;
        self
    }

    /// What the journal calls it.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # use std::time::Duration;
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let naps = [1, 2].map(|it| cx.sleep(Duration::from_secs(it)).start());
    /// assert_eq!(naps.map(|it| it.key().to_owned()), ["sleep", "sleep#2"]);
    /// # Ok(()) }
    /// ```
    pub fn key(&self) -> &str {
        &self.key
    }
}

// Nothing in it is pinned.
impl<T> Unpin for Operation<T> {}

impl<T> Future for Operation<T> {
    type Output = Result<T, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let core = &self.cx.core;
        let number = match &self.asked {
            Asked::Number(number) => *number,
            Asked::Refused(failure) => return Poll::Ready(Err(failure.clone())),
            Asked::Stuck => {
                core.stuck();
                return Poll::Pending;
            }
        };
        core.poll_operation(&self.cx.scope, number, cx.waker(), |answer| match answer {
            Ok(answer) => (self.decode)(&self.key, answer),
            Err(failure) if self.is_child && !failure.is_cancelled() => {
                Err(failure.clone().of_child())
            }
            Err(failure) => Err(failure.clone()),
        })
    }
}

impl<T> Drop for Operation<T> {
    fn drop(&mut self) {
        match self.asked {
            Asked::Number(number) if self.is_detached => self.cx.core.forget_operation(number),
            Asked::Number(number) => self.cx.core.drop_operation(number),
            Asked::Refused(_) | Asked::Stuck => {}
        }
    }
}

impl<T> fmt::Debug for Operation<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} {:?}", self.key, self.asked)
    }
}

/// The `result` of activities and functions.
fn decode_result<T: DeserializeOwned>(key: &Name, answer: &Assignments) -> Result<T, Failure> {
    let result = answer.iter().find(|(name, _)| &**name == "result");
    let value = result.map_or(&Value::Null, |(_, value)| value);
    typed::from_value(value).map_err(|error| undecodable(key, &error))
}

/// The variables of messages, jobs and processes.
fn decode_variables<T: DeserializeOwned>(key: &Name, answer: &Assignments) -> Result<T, Failure> {
    typed::from_assignments(answer).map_err(|error| undecodable(key, &error))
}

fn undecodable(key: &str, error: &dyn fmt::Display) -> Failure {
    Failure::terminal(Failure::DECODE, format!("the answer of `{key}`: {error}"))
}

/// Gives a builder `start`, and lets it be awaited.
macro_rules! startable {
    ($builder:ident<$output:ident> $(where $bound:ident)?) => {
        impl<$output: DeserializeOwned $(+ $bound)?> IntoFuture for $builder<$output> {
            type Output = Result<$output, Failure>;
            type IntoFuture = Operation<$output>;

            fn into_future(self) -> Self::IntoFuture {
                self.start()
            }
        }
    };
}

/// A call of an activity that can still be told how. Await it, or [`start`](Self::start) it.
///
/// ```
/// # use travertine_func::{Activity, ActivityOptions, Context, Flow, Retry};
/// # use std::time::Duration;
/// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
/// # async fn example(cx: Context) -> Flow<()> {
/// let second = Duration::from_secs(1);
/// let paid = cx.call(charge(1_200)).retry(Retry::exponential("1s", 2.0).max(5)).timeout(30 * second);
/// let paid = paid.deadline(3_600 * second).heartbeat(10 * second).limit("customer", "ann").priority(5);
/// let receipt: String = paid.await?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is called before this is awaited or started"]
#[derive(Debug)]
pub struct Call<T> {
    cx: Context,
    activity: Activity<T>,
    priority: Option<i64>,
    limit: Option<Name>,
}

impl<T: DeserializeOwned> Call<T> {
    pub(crate) fn new(cx: &Context, activity: Activity<T>) -> Self {
        Self { cx: cx.clone(), activity, priority: None, limit: None }
    }

    /// Sets how the activity is tried again.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow, Retry};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let receipt = cx.call(charge(1_200)).retry(Retry::every("5s").max(10)).await?;
    /// # Ok(()) }
    /// ```
    pub fn retry(mut self, retry: Retry) -> Self {
        self.activity.options.retry = retry;
        self
    }

    /// How long one attempt may take.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # use std::time::Duration;
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let receipt = cx.call(charge(1_200)).timeout(Duration::from_secs(30)).await?;
    /// # Ok(()) }
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.activity.options.timeout = Some(timeout);
        self
    }

    /// How long all attempts together may take.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # use std::time::Duration;
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let receipt = cx.call(charge(1_200)).deadline(Duration::from_hours(1)).await?;
    /// # Ok(()) }
    /// ```
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.activity.options.deadline = Some(deadline);
        self
    }

    /// How long it may be silent before its attempt counts as lost.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # use std::time::Duration;
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let receipt = cx.call(charge(1_200)).heartbeat(Duration::from_secs(10)).await?;
    /// # Ok(()) }
    /// ```
    pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.activity.options.heartbeat = Some(heartbeat);
        self
    }

    /// Sets its priority: a higher one is done first.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let receipt = cx.call(charge(1_200)).priority(10).await?;
    /// # Ok(()) }
    /// ```
    pub fn priority(mut self, priority: i64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Keeps the limit of that class, together with all that have the same key.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// // The engine was opened with a limit for the class `customer`.
    /// let receipt = cx.call(charge(1_200)).limit("customer", "ann").await?;
    /// # Ok(()) }
    /// ```
    pub fn limit(mut self, class: &str, key: &(impl fmt::Display + ?Sized)) -> Self {
        self.limit = Some(format!("{class}/{key}").into());
        self
    }

    /// Asks for it now, to be awaited later.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # use std::time::Duration;
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let paying = cx.call(charge(1_200)).start();
    /// cx.sleep(Duration::from_secs(60)).await?;
    /// let receipt = paying.await?;
    /// # Ok(()) }
    /// ```
    pub fn start(self) -> Operation<T> {
        let Self { cx, activity, priority, limit } = self;
        let key = cx.key(&["activity ", activity.name()]);
        Operation::ask(cx, key, decode_result, |cx, key| {
            let Activity { name, options, arguments, may_change, .. } = activity;
            let arguments = arguments?;
            let input = digest::unless(may_change, || digest::of_arguments(&arguments));
            let job = job(cx, key, name, arguments, &options, (priority, limit))?;
            Ok((WaitFor::Work(job), input))
        })
    }
}

startable!(Call<T>);

/// Work for a worker outside, described step by step. Await it, or [`start`](Self::start) it.
///
/// ```
/// # use travertine_func::{Context, Flow};
/// # async fn example(cx: Context) -> Flow<()> {
/// let painting = cx.job::<String>("paint").variable("colour", "red").priority(5).start();
/// let painted = painting.await?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is offered before this is awaited or started"]
pub struct JobCall<T> {
    cx: Context,
    job_type: Name,
    input: Result<Assignments, Failure>,
    options: ActivityOptions,
    priority: Option<i64>,
    limit: Option<Name>,
    may_change: bool,
    output: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> JobCall<T> {
    pub(crate) fn new(cx: &Context, job_type: &str) -> Self {
        Self {
            cx: cx.clone(),
            job_type: job_type.into(),
            input: Ok(Vec::new()),
            options: ActivityOptions::DEFAULT,
            priority: None,
            limit: None,
            may_change: false,
            output: PhantomData,
        }
    }

    /// A variable that the worker gets.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let colour: String = cx.job("paint").variable("colour", "red").variable("coats", &2).await?;
    /// # Ok(()) }
    /// ```
    pub fn variable<V: Serialize + ?Sized>(mut self, name: &str, value: &V) -> Self {
        add_variable(&mut self.input, &self.job_type, name, value);
        self
    }

    /// Its variables are not compared when the function runs again. See
    /// [`Activity::arguments_may_change`].
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context, token: String) -> Flow<()> {
    /// let colour: String = cx.job("paint").variable("token", &token).arguments_may_change().await?;
    /// # Ok(()) }
    /// ```
    pub fn arguments_may_change(mut self) -> Self {
        self.may_change = true;
        self
    }

    /// How it is tried again and how long it may take.
    ///
    /// ```
    /// # use travertine_func::{ActivityOptions, Context, Flow, Retry};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let once = ActivityOptions { retry: Retry::never(), ..ActivityOptions::DEFAULT };
    /// let colour: String = cx.job("paint").options(once).await?;
    /// # Ok(()) }
    /// ```
    pub fn options(mut self, options: ActivityOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets its priority: a higher one is done first.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let colour: String = cx.job("paint").priority(10).await?;
    /// # Ok(()) }
    /// ```
    pub fn priority(mut self, priority: i64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Keeps the limit of that class, together with all that have the same key.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// // The engine was opened with a limit for the class `brush`.
    /// let colour: String = cx.job("paint").limit("brush", &7).await?;
    /// # Ok(()) }
    /// ```
    pub fn limit(mut self, class: &str, key: &(impl fmt::Display + ?Sized)) -> Self {
        self.limit = Some(format!("{class}/{key}").into());
        self
    }

    /// Asks for it now, to be awaited later.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # use std::time::Duration;
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let painting = cx.job::<String>("paint").start();
    /// cx.sleep(Duration::from_secs(60)).await?;
    /// let colour = painting.await?;
    /// # Ok(()) }
    /// ```
    pub fn start(self) -> Operation<T> {
        let Self { cx, job_type, input, options, priority, limit, may_change, output: _ } = self;
        let key = cx.key(&["job ", &job_type]);
        Operation::ask(cx, key, decode_variables, |cx, key| {
            let input = input?;
            let digest = digest::unless(may_change, || digest::of_arguments(&input));
            let mut job = job(cx, key, job_type, input, &options, (priority, limit))?;
            if let Some(options) = &mut job.options {
                // Whoever does it may be an activity, which answers functions otherwise.
                options.brings_variables = true;
            }
            Ok((WaitFor::Work(job), digest))
        })
    }
}

startable!(JobCall<T>);

impl<T> fmt::Debug for JobCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {} {:?}", self.job_type, self.input)
    }
}

/// The work of an activity, as the engine offers it to workers. Of pauses it says only what is
/// unusual.
fn job(
    cx: &Context,
    key: &Name,
    job_type: Name,
    input: Assignments,
    options: &ActivityOptions,
    (priority, limit): (Option<i64>, Option<Name>),
) -> Result<Job, Failure> {
    let ActivityOptions { retry, timeout, deadline, heartbeat, limit: class } = options;
    if !retry.factor.is_finite() {
        let message = format!("the factor of pauses of `{job_type}` is {}", retry.factor);
        return Err(Failure::terminal(Failure::ENCODE, message));
    }
    let is_usual = *retry == Retry { attempts: retry.attempts, ..Retry::DEFAULT };
    let backoff = (!is_usual).then(|| Backoff {
        initial: whole_millis(retry.initial),
        factor: retry.factor,
        max: whole_millis(retry.max_delay),
    });
    let options = JobOptions {
        input: Arc::new(input.into_iter().collect()),
        idempotency_key: cx.unique(key),
        attempts: retry.attempts,
        backoff,
        timeout: timeout.map(whole_millis),
        deadline: deadline.map(|it| cx.now().after(it)),
        heartbeat: heartbeat.map(whole_millis),
        priority,
        limit: limit.or_else(|| class.map(Name::from)),
        brings_variables: false,
    };
    Ok(Job {
        kind: WorkKind::Job,
        job_type,
        retries: retry.attempts,
        fields: Vec::new(),
        options: Some(Box::new(options)),
        failure: None,
    })
}

/// A sleep. Await it, or [`start`](Self::start) it.
///
/// ```
/// # use travertine_func::{Context, Flow};
/// # use std::time::Duration;
/// # async fn example(cx: Context) -> Flow<()> {
/// let hour = cx.sleep(Duration::from_hours(1)).start();
/// drop(hour); // It is called off.
/// # Ok(()) }
/// ```
#[must_use = "nobody sleeps before this is awaited or started"]
#[derive(Debug)]
pub struct Sleep {
    cx: Context,
    due: Timestamp,
}

impl Sleep {
    pub(crate) fn new(cx: &Context, due: Timestamp) -> Self {
        Self { cx: cx.clone(), due }
    }

    /// Begins it now, to be awaited later.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # use std::time::Duration;
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let rest = cx.sleep(Duration::from_mins(10)).start();
    /// cx.call(charge(1_200)).await?;
    /// rest.await?; // Ten minutes from when it began.
    /// # Ok(()) }
    /// ```
    pub fn start(self) -> Operation<()> {
        let Self { cx, due } = self;
        let key = cx.key(&["sleep"]);
        let timer = WaitFor::Timer { due, repeat: None };
        // How long is not compared: a sleep brings nothing, so its answer is right at any place, and
        // the pauses of code that lives long may be changed.
        Operation::ask(cx, key, |_, _| Ok(()), |_, _| Ok((timer, None)))
    }
}

impl IntoFuture for Sleep {
    type Output = Result<(), Failure>;
    type IntoFuture = Operation<()>;

    fn into_future(self) -> Self::IntoFuture {
        self.start()
    }
}

/// A call of another function whose result is waited for. Await it, or [`start`](Self::start) it.
///
/// ```
/// # use travertine_func::{Context, Flow, Workflow};
/// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
/// # async fn example(cx: Context) -> Flow<()> {
/// let parcels = ["pot", "lid"].map(|it| cx.child(parcel(it)).start());
/// for parcel in parcels {
///     println!("{}", parcel.await?);
/// }
/// # Ok(()) }
/// ```
#[must_use = "no child begins before this is awaited or started"]
#[derive(Debug)]
pub struct Child<T> {
    cx: Context,
    workflow: Workflow<T>,
}

impl<T: DeserializeOwned> Child<T> {
    pub(crate) fn new(cx: &Context, workflow: Workflow<T>) -> Self {
        Self { cx: cx.clone(), workflow }
    }

    /// Begins the child now, to be awaited later.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow, Workflow};
    /// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let parcels = ["pot", "lid"].map(|it| cx.child(parcel(it)).start());
    /// let parcels = cx.join_all(parcels).await;
    /// # Ok(()) }
    /// ```
    pub fn start(self) -> Operation<T> {
        let Self { cx, workflow } = self;
        let key = cx.key(&["child ", workflow.name()]);
        let operation = Operation::ask(cx, key, decode_result, |_, _| {
            let definition = Name::from(workflow.name());
            let binding = workflow.binding().map(|it| it.to_string().into());
            let may_change = workflow.may_change;
            let arguments = workflow.into_arguments()?;
            let input = digest::unless(may_change, || digest::of_arguments(&arguments));
            Ok((child(definition, binding, arguments), input))
        });
        operation.of_child()
    }
}

startable!(Child<T>);

fn child(definition: Name, binding: Option<Name>, variables: Assignments) -> WaitFor {
    let catches = Catches { all: true, ..Catches::default() };
    WaitFor::Child { definition, binding, variables, catches }
}

/// A child that runs beside its parent. It ends with its parent at the latest; dropping this does
/// not end it. If it fails, the operations that its parent has open answer with that failure, unless
/// it is [`isolated`](Self::isolated). It can be awaited for its result.
///
/// ```
/// # use travertine_func::{Context, Flow, Workflow};
/// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
/// # async fn example(cx: Context) -> Flow<()> {
/// let beside = cx.spawn(parcel("pot")).isolated();
/// beside.cancel();
/// # Ok(()) }
/// ```
pub struct Spawned<T> {
    operation: Operation<T>,
}

impl<T: DeserializeOwned> Spawned<T> {
    pub(crate) fn new(cx: &Context, workflow: Workflow<T>) -> Self {
        let mut operation = Child::new(cx, workflow).start();
        operation.is_detached = true;
        let attached = cx.core.settings.propagate_child_failures;
        match &operation.asked {
            Asked::Number(number) => cx.core.attach(*number, attached),
            Asked::Refused(failure) if attached && !failure.is_cancelled() => {
                cx.core.interrupt(failure.clone());
            }
            Asked::Refused(_) | Asked::Stuck => {}
        }
        Self { operation }
    }

    /// Its failure does not disturb its parent.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow, Workflow};
    /// # use std::time::Duration;
    /// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// // Whatever becomes of the parcel, this function goes on.
    /// let beside = cx.spawn(parcel("pot")).isolated();
    /// cx.sleep(Duration::from_hours(1)).await?;
    /// # Ok(()) }
    /// ```
    #[must_use = "to isolate it is all that this does"]
    pub fn isolated(self) -> Self {
        self.set_attached(false)
    }

    /// Its failure interrupts its parent, also where that is not the setting.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow, Workflow};
    /// # use std::time::Duration;
    /// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let beside = cx.spawn(parcel("pot")).propagating();
    /// // This answers with the failure of the parcel, should it fail.
    /// cx.sleep(Duration::from_hours(1)).await?;
    /// # Ok(()) }
    /// ```
    #[must_use = "to propagate failures is all that this does"]
    pub fn propagating(self) -> Self {
        self.set_attached(true)
    }

    fn set_attached(self, attached: bool) -> Self {
        if let Asked::Number(number) = self.operation.asked {
            self.operation.cx.core.attach(number, attached);
        }
        self
    }

    /// Ends the child.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow, Workflow};
    /// # use std::time::Duration;
    /// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let beside = cx.spawn(parcel("pot"));
    /// cx.sleep(Duration::from_hours(1)).await?;
    /// beside.cancel();
    /// # Ok(()) }
    /// ```
    pub fn cancel(mut self) {
        self.operation.is_detached = false;
    }
}

impl<T> Future for Spawned<T> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.operation).poll(cx)
    }
}

impl<T> fmt::Debug for Spawned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "spawned {:?}", self.operation)
    }
}

/// The start of an instance that goes its own way. Await it for its id, which is known at once.
///
/// ```
/// # use travertine_func::{Context, Flow, Workflow};
/// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
/// # async fn example(cx: Context) -> Flow<()> {
/// let id = cx.start(parcel("pot")).id("parcel-1").await?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is started before this is awaited"]
#[derive(Debug)]
pub struct Start {
    cx: Context,
    definition: Name,
    variables: Result<Assignments, Failure>,
    may_change: bool,
    id: Option<Name>,
}

impl Start {
    pub(crate) fn new(
        cx: &Context,
        definition: Name,
        variables: Result<Assignments, Failure>,
        may_change: bool,
    ) -> Self {
        Self { cx: cx.clone(), definition, variables, may_change, id: None }
    }

    /// Sets the id of the new instance. Otherwise it is made from that of this one.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow, Workflow};
    /// # fn parcel(item: &str) -> Workflow<String> { Workflow::new("parcel", 1).argument("item", item) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let id = cx.start(parcel("pot")).id("parcel-1").await?;
    /// assert_eq!(id, "parcel-1");
    /// # Ok(()) }
    /// ```
    pub fn id(mut self, id: impl Into<Name>) -> Self {
        self.id = Some(id.into());
        self
    }
}

impl IntoFuture for Start {
    type Output = Result<String, Failure>;
    type IntoFuture = Posted<String>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { cx, definition, variables, may_change, id } = self;
        let key = cx.key(&["start ", &definition]);
        let id = id.unwrap_or_else(|| cx.unique(&key));
        let asked = cx.core.post(&cx.scope, &key, || {
            let (id, variables) = (Name::clone(&id), variables?);
            let input = digest::unless(may_change, || digest::of_start(&id, &variables));
            Ok((Post::Start { definition, id, variables }, input))
        });
        Posted::new(&cx, asked, id.to_string())
    }
}

/// The answer of something that was sent: it is there at once.
///
/// ```
/// # use travertine_func as travertine;
/// # use travertine_func::{Context, Flow};
/// # async fn example(cx: Context) -> Flow<()> {
/// use std::future::IntoFuture;
/// use travertine::Posted;
///
/// let posted: Posted<String> = cx.process::<()>("delivery").detached().into_future();
/// let id = posted.await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Posted<T> {
    cx: Context,
    answer: Option<Ready<Result<T, Failure>>>,
}

impl<T> Posted<T> {
    fn new(cx: &Context, asked: Asked, value: T) -> Self {
        let answer = match asked {
            Asked::Number(_) => Some(ready(Ok(value))),
            Asked::Refused(failure) => Some(ready(Err(failure))),
            Asked::Stuck => None,
        };
        Self { cx: cx.clone(), answer }
    }
}

impl<T> Unpin for Posted<T> {}

impl<T> Future for Posted<T> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        if let Some(answer) = &mut self.answer {
            return Pin::new(answer).poll(cx);
        }
        self.cx.core.stuck();
        Poll::Pending
    }
}

/// A call of a process, described variable by variable. Await it, [`start`](Self::start) it, or let
/// it go its own way with [`detached`](Self::detached).
///
/// ```
/// # use travertine_func::{Context, Flow};
/// # async fn example(cx: Context) -> Flow<()> {
/// cx.process::<()>("delivery").variable("town", "Rome").await?;
/// let id = cx.process::<()>("delivery").variable("town", "Oslo").detached().await?;
/// # Ok(()) }
/// ```
#[must_use = "no process begins before this is awaited or started"]
pub struct ProcessCall<T> {
    cx: Context,
    process: Name,
    variables: Result<Assignments, Failure>,
    may_change: bool,
    output: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> ProcessCall<T> {
    pub(crate) fn new(cx: &Context, process: &str) -> Self {
        let (process, variables) = (process.into(), Ok(Vec::new()));
        Self { cx: cx.clone(), process, variables, may_change: false, output: PhantomData }
    }

    /// A variable that the process begins with.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// cx.process::<()>("delivery").variable("town", "Rome").variable("parcels", &2).await?;
    /// # Ok(()) }
    /// ```
    pub fn variable<V: Serialize + ?Sized>(mut self, name: &str, value: &V) -> Self {
        add_variable(&mut self.variables, &self.process, name, value);
        self
    }

    /// Variables that the process begins with.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// cx.process::<()>("delivery").variables(vec![("town".into(), "Rome".into())]).await?;
    /// # Ok(()) }
    /// ```
    pub fn variables(mut self, all: Assignments) -> Self {
        if let Ok(variables) = &mut self.variables {
            variables.extend(all);
        }
        self
    }

    /// Its variables are not compared when the function runs again. See
    /// [`Activity::arguments_may_change`].
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context, token: String) -> Flow<()> {
    /// cx.process::<()>("delivery").variable("token", &token).arguments_may_change().await?;
    /// # Ok(()) }
    /// ```
    pub fn arguments_may_change(mut self) -> Self {
        self.may_change = true;
        self
    }

    /// Begins the process now, to be awaited later. Its variables at its end are the result.
    ///
    /// ```
    /// # use travertine_func::{Activity, ActivityOptions, Context, Flow};
    /// # fn charge(cents: u64) -> Activity<String> { Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents) }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let delivery = cx.process::<()>("delivery").variable("town", "Rome").start();
    /// cx.call(charge(1_200)).await?;
    /// delivery.await?;
    /// # Ok(()) }
    /// ```
    pub fn start(self) -> Operation<T> {
        let Self { cx, process, variables, may_change, output: _ } = self;
        let key = cx.key(&["process ", &process]);
        let operation = Operation::ask(cx, key, decode_variables, |_, _| {
            let variables = variables?;
            let input = digest::unless(may_change, || digest::of_arguments(&variables));
            Ok((child(process, None, variables), input))
        });
        operation.of_child()
    }

    /// Starts it for itself: nobody here learns how it ends.
    ///
    /// ```
    /// # use travertine_func::{Context, Flow};
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let id = cx.process::<()>("delivery").variable("town", "Rome").detached().id("delivery-1").await?;
    /// # Ok(()) }
    /// ```
    pub fn detached(self) -> Start {
        Start::new(&self.cx, self.process, self.variables, self.may_change)
    }
}

startable!(ProcessCall<T>);

impl<T> fmt::Debug for ProcessCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} {:?}", self.process, self.variables)
    }
}

/// A wait for an event. Await it, or [`start`](Self::start) it.
///
/// ```
/// # use travertine_func::{Context, Event, EventConfig, Flow};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Paid { cents: u64 }
/// # impl Event for Paid {
/// #     const NAME: &'static str = "order.paid";
/// #     const CONFIG: EventConfig = EventConfig::DEFAULT;
/// # }
/// # async fn example(cx: Context) -> Flow<()> {
/// let paid = cx.event::<Paid>().key("order-7").start();
/// let cents = paid.await?.cents;
/// # Ok(()) }
/// ```
#[must_use = "nothing waits before this is awaited or started"]
pub struct EventWait<T> {
    cx: Context,
    key: Result<Option<Value>, Failure>,
    event: PhantomData<fn() -> T>,
}

impl<T: Event> EventWait<T> {
    pub(crate) fn new(cx: &Context) -> Self {
        Self { cx: cx.clone(), key: Ok(None), event: PhantomData }
    }

    /// Waits only for events with this key.
    ///
    /// ```
    /// # use travertine_func::{Context, Event, Flow};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// // Sent with `cx.send(paid).key("order-7")` or `engine.send_event(paid).key("order-7")`.
    /// let paid = cx.event::<Paid>().key("order-7").await?;
    /// # Ok(()) }
    /// ```
    pub fn key<K: Serialize + ?Sized>(mut self, key: &K) -> Self {
        self.key = event_key(T::NAME, key).map(Some);
        self
    }

    /// Waits from now on, to be awaited later.
    ///
    /// ```
    /// # use travertine_func::{Context, Event, Flow};
    /// # use std::time::Duration;
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// let paid = cx.event::<Paid>().start();
    /// cx.sleep(Duration::from_secs(60)).await?;
    /// // It may have come meanwhile.
    /// let cents = paid.await?.cents;
    /// # Ok(()) }
    /// ```
    pub fn start(self) -> Operation<T> {
        let Self { cx, key: wanted, event: _ } = self;
        let key = cx.key(&["event ", T::NAME]);
        Operation::ask(cx, key, decode_variables, |cx, _| {
            let mut correlation = vec![(Name::from("$to"), Value::from(Name::clone(cx.name())))];
            let wanted = wanted?;
            let input = wanted.as_ref().map(digest::of_value);
            correlation.extend(wanted.map(|key| (Name::from("key"), key)));
            Ok((WaitFor::Message { name: T::NAME.into(), correlation }, input))
        })
    }
}

startable!(EventWait<T> where Event);

impl<T: Event> fmt::Debug for EventWait<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} {:?}", T::NAME, self.key)
    }
}

/// An event to be sent. Await it: it is on its way at once.
///
/// ```
/// # use travertine_func::{Context, Event, EventConfig, Flow};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Paid { cents: u64 }
/// # impl Event for Paid {
/// #     const NAME: &'static str = "order.paid";
/// #     const CONFIG: EventConfig = EventConfig::DEFAULT;
/// # }
/// # async fn example(cx: Context) -> Flow<()> {
/// cx.send(Paid { cents: 5 }).to("order-1").await?;
/// cx.send(Paid { cents: 5 }).key("order-7").await?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is sent before this is awaited"]
#[derive(Debug)]
pub struct SendEvent<T> {
    cx: Context,
    event: T,
    to: Option<Name>,
    key: Result<Option<Value>, Failure>,
    may_change: bool,
}

impl<T: Event> SendEvent<T> {
    pub(crate) fn new(cx: &Context, event: T) -> Self {
        Self { cx: cx.clone(), event, to: None, key: Ok(None), may_change: false }
    }

    /// What it says and whom it is for is not compared when the function runs again. See
    /// [`Activity::arguments_may_change`].
    ///
    /// ```
    /// # use travertine_func::{Context, Event, Flow};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// cx.send(Paid { cents: 1_200 }).to("order-1").arguments_may_change().await?;
    /// # Ok(()) }
    /// ```
    pub fn arguments_may_change(mut self) -> Self {
        self.may_change = true;
        self
    }

    /// Sends it only to the instance of this id, as [`Context::id`] has it: `12` is who is called so, and
    /// `number:12` the instance of that number that was given no id.
    ///
    /// ```
    /// # use travertine_func::{Context, Event, Flow};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// cx.send(Paid { cents: 1_200 }).to("order-1").await?;
    /// # Ok(()) }
    /// ```
    pub fn to(mut self, id: impl Into<Name>) -> Self {
        self.to = Some(id.into());
        self
    }

    /// Sends it with this key, for those that wait for it.
    ///
    /// ```
    /// # use travertine_func::{Context, Event, Flow};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(cx: Context) -> Flow<()> {
    /// cx.send(Paid { cents: 1_200 }).key("order-7").await?;
    /// # Ok(()) }
    /// ```
    pub fn key<K: Serialize + ?Sized>(mut self, key: &K) -> Self {
        self.key = event_key(T::NAME, key).map(Some);
        self
    }
}

impl<T: Event> IntoFuture for SendEvent<T> {
    type Output = Result<(), Failure>;
    type IntoFuture = Posted<()>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { cx, event, to, key, may_change } = self;
        let name = cx.key(&["send ", T::NAME]);
        let asked = cx.core.post(&cx.scope, &name, || {
            let key = key?;
            let payload = typed::to_assignments(&event).map_err(|error| {
                let text = format!("event `{}` cannot be kept: {error}", T::NAME);
                Failure::terminal(Failure::ENCODE, text)
            })?;
            let input = digest::unless(may_change, || {
                digest::of_event(to.as_deref(), key.as_ref(), &payload)
            });
            let mut correlation = T::CONFIG.properties();
            correlation.extend(to.map(|to| (Name::from("$to"), Value::from(to))));
            correlation.extend(key.map(|key| (Name::from("key"), key)));
            Ok((Post::Message { name: T::NAME.into(), correlation, payload }, input))
        });
        Posted::new(&cx, asked, ())
    }
}

fn event_key<K: Serialize + ?Sized>(event: &str, key: &K) -> Result<Value, Failure> {
    typed::to_value(key).map_err(|error| {
        Failure::terminal(Failure::ENCODE, format!("the key of event `{event}`: {error}"))
    })
}

fn add_variable<V: Serialize + ?Sized>(
    variables: &mut Result<Assignments, Failure>,
    of: &str,
    name: &str,
    value: &V,
) {
    let Ok(list) = variables else { return };
    match typed::to_value(value) {
        Ok(value) => list.push((name.into(), value)),
        Err(error) => {
            let text = format!("variable `{name}` of `{of}` cannot be kept: {error}");
            *variables = Err(Failure::terminal(Failure::ENCODE, text));
        }
    }
}

/// Waits until a condition over what the code has in hand is true.
pub(crate) async fn until(
    cx: &Context,
    mut condition: impl FnMut() -> bool,
) -> Result<(), Failure> {
    let since = cx.core.position();
    std::future::poll_fn(|task| {
        if condition() {
            cx.core.condition_is_true();
            return Poll::Ready(Ok(()));
        }
        if let Some(failure) = cx.core.stop_for(&cx.scope, since) {
            return Poll::Ready(Err(failure));
        }
        cx.core.condition_waits(task.waker());
        Poll::Pending
    })
    .await
}

/// Lets what is inside go on although the function was told to end.
pub(crate) async fn shield<F: Future>(cx: &Context, inner: F) -> F::Output {
    let mut inner = std::pin::pin!(inner);
    let core = Rc::clone(&cx.core);
    std::future::poll_fn(|task| {
        let _shield = core.shield();
        inner.as_mut().poll(task)
    })
    .await
}
