//! Durable functions: start them, talk to them, see what they do.

use std::{
    collections::{BTreeSet, VecDeque},
    fmt,
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use travertine_func::{Event, Failure, Workflow};
use travertine_kernel::Ending;
use travertine_store::{
    Error as StoreError, ShardId, Store,
    view::{Filter, InstanceState, Page, Query, Row, Table},
};
use travertine_value::{Name, Value, typed};

use super::{Engine, Pending, block_on};
use crate::{
    At, Begin, Definition, Definitions, Ended, Error, INSTANCE, InstanceId, Live, Message, Receipt,
    Recovered, Shard,
    request::{
        Ask, BarrierRequest, CancelRunRequest, DescribeRequest, FindRunRequest,
        QueryFunctionRequest, ResultRequest, StartRequest, TryCodeRequest, UnblockRequest,
        UpdateFunctionRequest,
    },
    shard::{RunStatus, Unblocked, configure, print},
};

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// What can be started: a process by its id, a function by a described call.
///
/// ```no_run
/// # use travertine_func::Workflow;
/// # use travertine_runtime::{Engine, Error};
/// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// // Both can be started: the call of a function, and the id of a process.
/// let run = engine.start(order(1_200)).await?;
/// let instance = engine.start("delivery").await?;
/// # Ok(()) }
/// ```
pub trait Startable {
    /// What starts it when it is awaited.
    type Starting<'a>;

    /// Prepares the start.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// # use travertine_runtime::engine::Startable;
    /// let run = order(1_200).starting(&engine).await?; // As `engine.start(order(1_200))`.
    /// # Ok(()) }
    /// ```
    fn starting(self, engine: &Engine) -> Self::Starting<'_>;
}

impl<O> Startable for Workflow<O> {
    type Starting<'a> = StartingFunction<'a, O>;

    fn starting(self, engine: &Engine) -> StartingFunction<'_, O> {
        StartingFunction { engine, call: self, id: None }
    }
}

/// A function that is about to be started. Awaiting it, or [`StartingFunction::wait`], starts it.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_func::Workflow;
/// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let run = engine.start(order(1_200)).id("order-1").await?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is started before it is awaited"]
pub struct StartingFunction<'a, O> {
    engine: &'a Engine,
    call: Workflow<O>,
    id: Option<Name>,
}

impl<O> fmt::Debug for StartingFunction<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartingFunction").field("call", &self.call).field("id", &self.id).finish()
    }
}

impl<O> StartingFunction<'_, O> {
    /// What the run is called. Starting the same function with the same arguments under an id that is
    /// known answers with the run that is there.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let run = engine.start(order(1_200)).id("order-1").await?;
    /// let same = engine.start(order(1_200)).id("order-1").await?;
    /// assert_eq!(run.instance(), same.instance());
    /// # Ok(()) }
    /// ```
    pub fn id(mut self, id: &str) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Starts it, on a thread that may be blocked.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # fn example(engine: Engine) -> Result<(), Error> {
    /// let run = engine.start(order(1_200)).id("order-1").wait()?;
    /// # Ok(()) }
    /// ```
    pub fn wait(self) -> Result<Run<O>, Error> {
        let (engine, id) = (self.engine.clone(), self.id.clone());
        let instance = self.begin().wait()?.0;
        Ok(Run::new(engine, id, instance))
    }

    /// Starts it. Answers with its number, and whether it was there already.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let (instance, was_there) = engine.start(order(1_200)).id("order-1").begin().await?;
    /// # Ok(()) }
    /// ```
    pub fn begin(self) -> Pending<(InstanceId, bool)> {
        let Self { engine, call, id } = self;
        let definitions = engine.definitions();
        let (name, version) = (Name::from(call.name()), call.binding());
        let found = match version {
            None => definitions.find(&name),
            Some(version) => definitions.versions(&name).iter().find(|it| it.version == version),
        };
        let Some(found) = found else {
            return Pending::refused(Error::no_such_definition(&name));
        };
        if !found.is_function() {
            let reason = format!("{name} is a process, not a function; start it by its id");
            return Pending::refused(Error::Failed { reason });
        }
        let variables = match call.into_arguments() {
            Ok(variables) => variables,
            Err(failure) => {
                return Pending::refused(Error::Failed { reason: failure.to_string() });
            }
        };
        let begin = Begin { definition: found.key, business_id: id, at: At::Start, variables };
        engine.ask(StartRequest { begin })
    }
}

impl<'a, O: 'a> IntoFuture for StartingFunction<'a, O> {
    type Output = Result<Run<O>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let (engine, id) = (self.engine.clone(), self.id.clone());
        let begun = self.begin();
        Box::pin(async move { begun.await.map(|(instance, _)| Run::new(engine, id, instance)) })
    }
}

/// A run of a function.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_func::Workflow;
/// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let run = engine.start(order(1_200)).id("order-1").await?;
/// println!("{}: {:?}", run.id(), run.status().await?);
/// let step: u32 = run.query("step", &()).await?;
/// let before: String = run.update("move", "Oslo").id("click-17").await?;
/// match run.result().await {
///     Ok(receipt) => println!("{receipt}"),
///     Err(error) => println!("{error}"),
/// }
/// # Ok(()) }
/// ```
pub struct Run<O> {
    engine: Engine,
    id: Name,
    instance: InstanceId,
    output: PhantomData<fn() -> O>,
}

impl<O> Clone for Run<O> {
    fn clone(&self) -> Self {
        let Self { engine, id, instance, output } = self;
        Self { engine: engine.clone(), id: Name::clone(id), instance: *instance, output: *output }
    }
}

impl<O> fmt::Debug for Run<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("id", &self.id)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

/// Why a run has no result.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::{Run, RunError};
/// # async fn example(run: Run<String>) -> Result<(), Error> {
/// match run.result().await {
///     Ok(receipt) => println!("{receipt}"),
///     Err(RunError::Failed(failure)) => println!("it failed with {}", failure.code),
///     Err(RunError::Cancelled) => println!("someone has ended it"),
///     Err(RunError::Blocked { reason, .. }) => println!("its code must be mended: {reason}"),
///     Err(RunError::Engine(error)) => return Err(error),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// Its code has failed.
    Failed(Failure),
    /// Someone has ended it.
    Cancelled,
    /// Its code cannot go on: it panicked, or does not agree with its journal, or is not in this program.
    /// The run stays where it is, and goes on when a program whose code can is started.
    Blocked {
        /// What the run is called.
        id: Name,
        /// What is wrong.
        reason: String,
    },
    /// The engine cannot tell.
    Engine(Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => write!(f, "the function failed: {failure}"),
            Self::Cancelled => f.write_str("the function was cancelled"),
            Self::Blocked { id, reason } => write!(
                f,
                "{id} cannot go on: {reason}. It is kept, and goes on when a program whose code can is started"
            ),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<Error> for RunError {
    fn from(error: Error) -> Self {
        match error {
            Error::Blocked { id, reason, .. } => Self::Blocked { id, reason },
            other => Self::Engine(other),
        }
    }
}

impl<O> Run<O> {
    fn new(engine: Engine, id: Option<Name>, instance: InstanceId) -> Self {
        let id = id.unwrap_or_else(|| instance.unnamed());
        Self { engine, id, instance, output: PhantomData }
    }

    /// The run that an instance is.
    pub(super) fn of(engine: &Engine, id: Option<&Name>, instance: InstanceId) -> Self {
        Self::new(engine.clone(), id.map(Name::clone), instance)
    }

    /// What it is called. One that was given no id is called by its number: `number:12`.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// assert_eq!(engine.start(order(1_200)).id("order-1").await?.id(), "order-1");
    /// # Ok(()) }
    /// ```
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its number among all instances.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let run = engine.start(order(1_200)).await?;
    /// engine.suspend(run.instance()).await?;
    /// # Ok(()) }
    /// ```
    pub fn instance(&self) -> InstanceId {
        self.instance
    }

    /// What it is doing.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Error, RunStatus};
    /// # use travertine_runtime::engine::Run;
    /// # async fn example(run: Run<String>) -> Result<(), Error> {
    /// if run.status().await? == RunStatus::Suspended {
    ///     println!("{} waits", run.id());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn status(&self) -> Pending<RunStatus> {
        let describe = DescribeRequest { instance: self.instance };
        self.engine.router().ask_for(describe, |reply| DescribeRequest::reply(reply).status)
    }

    /// Asks it to end; its code may clear up first, and asking again does not disturb that.
    /// [`Engine::cancel`] does. Says whether it was still running.
    ///
    /// ```no_run
    /// # use travertine_runtime::Error;
    /// # use travertine_runtime::engine::Run;
    /// # async fn example(run: Run<String>) -> Result<(), Error> {
    /// let was_running = run.cancel().await?;
    /// # Ok(()) }
    /// ```
    pub fn cancel(&self) -> Pending<bool> {
        self.engine.cancel_instance(self.instance)
    }

    /// Asks its code about what it has in hand.
    ///
    /// ```no_run
    /// # use travertine_runtime::Error;
    /// # use travertine_runtime::engine::Run;
    /// # async fn example(run: Run<String>) -> Result<(), Error> {
    /// // Answered by `cx.on_query("step", …)`.
    /// let step: u32 = run.query("step", &()).await?;
    /// # Ok(()) }
    /// ```
    pub fn query<I: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        name: &str,
        input: &I,
    ) -> Answer<'static, T> {
        let (instance, name) = (self.instance, Name::from(name));
        let asked = match encoded(input) {
            Ok(input) => self.engine.ask(QueryFunctionRequest { instance, name, input }),
            Err(error) => Pending::refused(error),
        };
        Box::pin(async move { decoded(&asked.await?) })
    }

    /// Has its code change what it has in hand, and answers with what the code says to that, once it
    /// is durable.
    ///
    /// ```no_run
    /// # use travertine_runtime::Error;
    /// # use travertine_runtime::engine::Run;
    /// # async fn example(run: Run<String>) -> Result<(), Error> {
    /// // Answered by `cx.on_update("move", …)`.
    /// let before: String = run.update("move", "Oslo").await?;
    /// # Ok(()) }
    /// ```
    pub fn update<I: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        name: &str,
        input: &I,
    ) -> Updating<T> {
        let (engine, instance) = (self.engine.clone(), self.instance);
        let (name, input) = (name.into(), encoded(input));
        Updating { engine, instance, name, input, id: None, answer: PhantomData }
    }
}

/// An update that is about to be sent. Awaiting it sends it.
///
/// ```no_run
/// # use travertine_runtime::Error;
/// # use travertine_runtime::engine::{Run, Updating};
/// # async fn example(run: Run<String>) -> Result<(), Error> {
/// let update: Updating<String> = run.update("move", "Oslo").id("click-17");
/// let before = update.await?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is sent before it is awaited"]
#[derive(Debug)]
pub struct Updating<T> {
    engine: Engine,
    instance: InstanceId,
    name: Name,
    input: Result<Value, Error>,
    id: Option<Name>,
    answer: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Updating<T> {
    /// What the sender calls it. The same again, for the same run, changes nothing and gives the answer
    /// of the first one; whether name and input are the same is not looked at.
    ///
    /// ```no_run
    /// # use travertine_runtime::Error;
    /// # use travertine_runtime::engine::Run;
    /// # async fn example(run: Run<String>) -> Result<(), Error> {
    /// for _ in 0..2 {
    ///     // The second time changes nothing, and is answered as the first.
    ///     let before: String = run.update("move", "Oslo").id("click-17").await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn id(mut self, id: &str) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sends it, on a thread that may be blocked.
    ///
    /// ```no_run
    /// # use travertine_runtime::Error;
    /// # use travertine_runtime::engine::Run;
    /// # async fn example(run: Run<String>) -> Result<(), Error> {
    /// let before: String = run.update("move", "Oslo").wait()?;
    /// # Ok(()) }
    /// ```
    pub fn wait(self) -> Result<T, Error> {
        decoded(&self.send().wait()?)
    }

    fn send(self) -> Pending<Value> {
        let Self { engine, instance, name, input, id, answer: _ } = self;
        match input {
            Ok(input) => engine.ask(UpdateFunctionRequest { instance, name, input, id }),
            Err(error) => Pending::refused(error),
        }
    }
}

impl<T: DeserializeOwned> IntoFuture for Updating<T> {
    type Output = Result<T, Error>;
    type IntoFuture = Answer<'static, T>;

    fn into_future(self) -> Self::IntoFuture {
        let sent = self.send();
        Box::pin(async move { decoded(&sent.await?) })
    }
}

impl<O: DeserializeOwned> Run<O> {
    /// Answers when it has ended; or with [`RunError::Blocked`] as soon as it cannot go on, because its
    /// code panicked or does not agree with its journal. It is not lost then: with code that can go on
    /// it does, when the program is started again.
    ///
    /// ```no_run
    /// # use travertine_runtime::Error;
    /// # use travertine_runtime::engine::{Run, RunError};
    /// # async fn example(run: Run<String>) -> Result<(), Error> {
    /// let receipt: Result<String, RunError> = run.result().await;
    /// # Ok(()) }
    /// ```
    pub async fn result(&self) -> Result<O, RunError> {
        outcome(self.engine.result_or_incident(self.instance).await?)
    }

    /// Answers when it has ended, however long it stands still before. For programs in which someone
    /// else sees to incidents: an operator who retries it, a migration.
    ///
    /// ```no_run
    /// # use travertine_runtime::Error;
    /// # use travertine_runtime::engine::{Run, RunError};
    /// # async fn example(run: Run<String>) -> Result<(), Error> {
    /// let receipt: Result<String, RunError> = run.result_despite_incidents().await;
    /// # Ok(()) }
    /// ```
    pub async fn result_despite_incidents(&self) -> Result<O, RunError> {
        outcome(self.engine.result(self.instance).await?)
    }

    /// As [`result`](Self::result), on a thread that may be blocked.
    ///
    /// ```no_run
    /// # use travertine_runtime::Error;
    /// # use travertine_runtime::engine::{Run, RunError};
    /// # async fn example(run: Run<String>) -> Result<(), Error> {
    /// let receipt: Result<String, RunError> = run.wait();
    /// # Ok(()) }
    /// ```
    pub fn wait(&self) -> Result<O, RunError> {
        outcome(self.engine.result_or_incident(self.instance).wait()?)
    }
}

fn outcome<O: DeserializeOwned>(ended: Ended) -> Result<O, RunError> {
    match ended.ending {
        Ending::Completed => {
            let mut variables = ended.variables.into_iter();
            let found = variables.find(|(name, _)| &**name == "result");
            Ok(decoded(&found.map_or(Value::Null, |(_, value)| value))?)
        }
        Ending::Failed(failure) => Err(RunError::Failed(Failure::of_kernel(&failure))),
        Ending::Cancelled => Err(RunError::Cancelled),
    }
}

fn encoded<I: Serialize + ?Sized>(input: &I) -> Result<Value, Error> {
    typed::to_value(input).map_err(|error| Error::Failed { reason: error.to_string() })
}

fn decoded<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    typed::from_value(value)
        .map_err(|error| Error::Failed { reason: format!("it is of another type: {error}") })
}

/// An event that is about to be sent. Awaiting it sends it.
///
/// ```no_run
/// # use travertine_func::{Event, EventConfig};
/// # use travertine_runtime::{Engine, Error};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Paid { cents: u64 }
/// # impl Event for Paid {
/// #     const NAME: &'static str = "order.paid";
/// #     const CONFIG: EventConfig = EventConfig::DEFAULT;
/// # }
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// engine.send_event(Paid { cents: 5 }).to("order-1").message_id("click-17").await?;
/// engine.send_event(Paid { cents: 5 }).key("customer-7").await?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is sent before it is awaited"]
#[derive(Debug)]
pub struct Sending<'a> {
    engine: &'a Engine,
    message: Result<Message, Error>,
    to: Option<Name>,
}

impl Sending<'_> {
    fn change(mut self, change: impl FnOnce(&mut Message)) -> Self {
        if let Ok(message) = &mut self.message {
            change(message);
        }
        self
    }

    /// Only to the run of this id, or to who is called so later. A number is an id where a run is called
    /// so; otherwise it is that of a run without an id, if there is one when the event is sent.
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.send_event(Paid { cents: 1_200 }).to("order-1").await?;
    /// # Ok(()) }
    /// ```
    pub fn to(mut self, id: &str) -> Self {
        self.to = Some(id.into());
        self
    }

    /// Only to those who wait with this key, or with none.
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// // For those who wait with `cx.event::<Paid>().key("customer-7")`.
    /// engine.send_event(Paid { cents: 1_200 }).key("customer-7").await?;
    /// # Ok(()) }
    /// ```
    pub fn key(self, key: impl Into<Value>) -> Self {
        let key = key.into();
        self.change(|it| it.correlation.push(("key".into(), key)))
    }

    /// What the sender calls it. The same again is recognised, and delivered once.
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error, Receipt};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.send_event(Paid { cents: 1_200 }).message_id("click-17").await?;
    /// let again = engine.send_event(Paid { cents: 1_200 }).message_id("click-17").await?;
    /// assert_eq!(again, Receipt::Known);
    /// # Ok(()) }
    /// ```
    pub fn message_id(self, id: &str) -> Self {
        self.change(|it| it.id = Some(id.into()))
    }

    /// What would be sent, for [`Engine::publish`]. It is for the run of exactly that id: one that was
    /// given none has [`Run::id`].
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error, Message};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let message: Message = engine.send_event(Paid { cents: 1_200 }).to("order-1").into_message()?;
    /// let receipt = engine.publish(message).await?;
    /// # Ok(()) }
    /// ```
    pub fn into_message(self) -> Result<Message, Error> {
        let to = self.to;
        self.message.map(|it| sent_to(it, to))
    }

    /// Sends it, on a thread that may be blocked.
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error, Receipt};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let receipt: Receipt = engine.send_event(Paid { cents: 1_200 }).to("order-1").wait()?;
    /// # Ok(()) }
    /// ```
    pub fn wait(self) -> Result<Receipt, Error> {
        block_on(&mut self.into_future())
    }
}

/// A message, to the run of an id alone where there is one.
fn sent_to(mut message: Message, to: Option<Name>) -> Message {
    message.correlation.extend(to.map(|it| (INSTANCE.into(), it.into())));
    message
}

impl<'a> IntoFuture for Sending<'a> {
    type Output = Result<Receipt, Error>;
    type IntoFuture = Answer<'a, Receipt>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { engine, message, to } = self;
        Box::pin(async move {
            let to = match to {
                Some(to) => Some(engine.address(&to).await?),
                None => None,
            };
            engine.publish(sent_to(message?, to)).await
        })
    }
}

/// What was found when an engine was opened.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let report = engine.recover()?;
/// println!("{} timers, {} activities to do", report.timers, report.jobs);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// How many entries of the log came after the last checkpoint.
    pub entries: u64,
    /// How many instances they are about.
    pub instances: u64,
    /// How many jobs and activities wait to be done.
    pub jobs: u64,
    /// How many timers are set; those whose time has passed have fired.
    pub timers: u64,
    /// How many waits for messages, events and signals there are.
    pub subscriptions: u64,
    /// How many messages and events nobody has taken yet.
    pub messages: u64,
    /// How many functions go on that stood still because of their code: it was missing, or panicked, or
    /// did not agree with their journal.
    pub resumed: u64,
    /// How many still stand still for that.
    pub blocked: u64,
    /// How many instances have had their rows made again from the log, because some could not be read.
    pub rebuilt: u64,
    /// How many deployed definitions cannot be read. Their instances are halted.
    pub unreadable: u64,
    /// How many entries and mails of shards cannot be read. They stay in the store, and are passed over.
    pub damaged: u64,
    /// How long it took.
    pub took: Duration,
}

/// What came of trying the code of this program against open instances.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::Preflight;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let preflight: Preflight = engine.preflight()?;
/// for (instance, problem) in &preflight.problems {
///     println!("{instance}: {problem}");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preflight {
    /// How many instances were tried.
    pub tried: usize,
    /// Those whose journal the code does not agree with, and why.
    pub problems: Vec<(InstanceId, String)>,
}

impl Engine {
    /// Sends an event to the functions, and processes, that wait for it, as its type says.
    ///
    /// ```no_run
    /// # use travertine_func::Event;
    /// # use travertine_runtime::{Engine, Error};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Paid { cents: u64 }
    /// # impl Event for Paid { const NAME: &'static str = "order.paid"; }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.send_event(Paid { cents: 1_200 }).await?;
    /// # Ok(()) }
    /// ```
    #[expect(
        clippy::needless_pass_by_value,
        reason = "who sends an event has no use for it any more"
    )]
    pub fn send_event<E: Event>(&self, event: E) -> Sending<'_> {
        let variables = typed::to_assignments(&event);
        let message = variables.map_err(|error| Error::Failed { reason: error.to_string() });
        let retention = self.inner.event_retention;
        let message = message.map(|variables| {
            let mut config = E::CONFIG;
            config.expire_after.get_or_insert(retention);
            let mut message = Message { variables, ..Message::new(E::NAME) };
            configure(&mut message, config);
            message
        });
        Sending { engine: self, message, to: None }
    }

    /// The run of that id, where there is one. One that was given none goes by its number; with
    /// [`NUMBER`](super::NUMBER) before it, a number is never taken for an id.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_func::Workflow;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// if let Some(run) = engine.run::<String>("order-1").await? {
    ///     run.cancel().await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn run<O>(&self, id: &str) -> Result<Option<Run<O>>, Error> {
        let found = self.find_named(id).await?;
        Ok(found.map(|(instance, id)| Run::new(self.clone(), id, instance)))
    }

    async fn find_run(&self, id: &str) -> Result<Option<InstanceId>, Error> {
        Ok(self.find_named(id).await?.map(|(instance, _)| instance))
    }

    /// The run that someone means, and its own id, where it has one.
    async fn find_named(&self, id: &str) -> Result<Option<(InstanceId, Option<Name>)>, Error> {
        if let Some(found) = self.ask(FindRunRequest { name: id.into() }).await? {
            return Ok(Some((found, Some(id.into()))));
        }
        let by_number = InstanceId::numbered(id);
        let Some(number) = by_number.or_else(|| id.parse().ok()) else { return Ok(None) };
        let found = match self.ask(DescribeRequest { instance: number }).await {
            Err(Error::NoSuchInstance(_)) => return Ok(None),
            found => found?,
        };
        let id = found.business_id;
        let is_meant = found.is_function && (id.is_none() || by_number.is_some());
        Ok(is_meant.then_some((number, id)))
    }

    /// What the run that someone means is called, which events for it are sent to. Where there is none,
    /// it is who will be called so.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let id = engine.address("12").await?; // `number:12`, unless a run is called 12, or none has that number.
    /// # Ok(()) }
    /// ```
    pub async fn address(&self, id: &str) -> Result<Name, Error> {
        // Whatever else people say is an id, whether or not someone has it.
        if InstanceId::numbered(id).is_none() && id.parse::<InstanceId>().is_err() {
            return Ok(id.into());
        }
        let found = self.run::<()>(id).await?;
        Ok(found.map_or_else(|| id.into(), |it| it.id))
    }

    /// What the run of that id is doing; nothing where there is none.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_func::Workflow;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let status = engine.query_status("order-1").await?;
    /// # Ok(()) }
    /// ```
    pub async fn query_status(&self, id: &str) -> Result<Option<RunStatus>, Error> {
        match self.run::<()>(id).await? {
            Some(run) => run.status().await.map(Some),
            None => Ok(None),
        }
    }

    /// The result of the run of that id, where it has succeeded.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_func::Workflow;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let receipt: Option<String> = engine.query_result("order-1").await?;
    /// # Ok(()) }
    /// ```
    pub async fn query_result<T: DeserializeOwned>(&self, id: &str) -> Result<Option<T>, Error> {
        let Some(instance) = self.find_run(id).await? else { return Ok(None) };
        let found = self.ask(ResultRequest { instance }).await?;
        let Some(variables) = found else { return Ok(None) };
        let result = variables.into_iter().find(|(name, _)| &**name == "result");
        decoded(&result.map_or(Value::Null, |(_, value)| value)).map(Some)
    }

    /// Asks the run of that id to end; its code may clear up first, and asking again does not disturb
    /// that. One that is suspended is resumed for it. Says whether it was running.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_func::Workflow;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let ran = engine.cancel_run("order-1").await?;
    /// # Ok(()) }
    /// ```
    pub async fn cancel_run(&self, id: &str) -> Result<bool, Error> {
        match self.find_run(id).await? {
            Some(instance) => self.cancel_instance(instance).await,
            None => Ok(false),
        }
    }

    fn cancel_instance(&self, instance: InstanceId) -> Pending<bool> {
        self.ask(CancelRunRequest { instance })
    }

    /// Lets activities that have begun come to their end, and begins no more. Functions go on where
    /// they are when the engine is opened again.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_func::Workflow;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.drain().await;
    /// engine.shutdown()?;
    /// # Ok(()) }
    /// ```
    pub async fn drain(&self) {
        let mut performers = {
            let mut held =
                self.inner.performers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            std::mem::take(&mut *held)
        };
        performers.drain().await;
        // What came of them is durable, too.
        for told in self.router().ask_each(&BarrierRequest {}) {
            let _: Result<(), Error> = told.await;
        }
    }

    /// Tries the code of this program against the journals of open instances, without changing
    /// anything: what would block is told before it does.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_func::Workflow;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for (instance, problem) in engine.preflight()?.problems {
    ///     println!("{instance}: {problem}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn preflight(&self) -> Result<Preflight, Error> {
        let mut report = Preflight::default();
        for definition in self.definitions().all().filter(|it| it.is_function()) {
            self.each_row(Table::Instances, &open_runs(definition), |row| {
                let instance = InstanceId(row.key().instance);
                report.tried += 1;
                let tried = self.ask(TryCodeRequest { instance }).wait()?;
                report.problems.extend(tried.err().map(|problem| (instance, problem)));
                Ok(())
            })?;
        }
        Ok(report)
    }

    /// Lets functions go on that their code had blocked, where the code that is here can go on with
    /// them: it was corrected, or came back, or what they want to begin is deployed by now.
    pub(super) fn welcome_code(&self) -> Result<Welcomed, Error> {
        let mut welcomed = Welcomed::default();
        let functions = &self.inner.functions;
        for definition in self.definitions().all().filter(|it| it.is_function()) {
            if functions.find_workflow(&definition.id, Some(definition.version)).is_none() {
                continue;
            }
            let filters = [
                Filter::Definition(Name::clone(&definition.id)),
                Filter::Version(definition.version),
            ];
            let mut asked = VecDeque::new();
            self.each_row(Table::Incidents, &filters, |row| {
                let instance = InstanceId(row.key().instance);
                asked.push_back(self.ask(UnblockRequest { instance }));
                // They are durable together.
                if asked.len() < AT_ONCE { Ok(()) } else { welcomed.take(asked.pop_front()) }
            })?;
            asked.into_iter().try_for_each(|it| welcomed.take(Some(it)))?;
        }
        Ok(welcomed)
    }

    /// What was found when the engine was opened, which has then gone on with all of it by itself. Asked
    /// again it runs nothing twice: it only lets functions go on that stand still because of their code
    /// and can go on by now.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_func::Workflow;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let found = engine.recover()?;
    /// println!("{} timers, {} jobs", found.timers, found.jobs);
    /// # Ok(()) }
    /// ```
    pub fn recover(&self) -> Result<RecoveryReport, Error> {
        let Welcomed { resumed, blocked, .. } = self.welcome_code()?;
        let opened = self.opened();
        let sum = |of: fn(&Recovered) -> u64| opened.shards.iter().map(of).sum::<u64>();
        Ok(RecoveryReport {
            entries: sum(|it| it.entries),
            instances: sum(|it| it.instances),
            jobs: sum(|it| it.jobs),
            timers: sum(|it| it.timers),
            subscriptions: sum(|it| it.subscriptions),
            messages: sum(|it| it.messages),
            resumed,
            blocked,
            rebuilt: opened.rebuilt.as_ref().map_or(0, |_| sum(|it| it.instances)),
            unreadable: opened.unreadable.len() as u64,
            damaged: sum(|it| it.damaged.len() as u64),
            took: opened.took,
        })
    }

    pub(super) fn each_row(
        &self,
        table: Table,
        filters: &[Filter],
        mut each: impl FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.flush_now()?;
        each_page(table, filters, |query| self.read_views(|it| Ok(it.query(query)?)), &mut each)
    }
}

/// How many blocked functions are tried at the same time.
const AT_ONCE: usize = 256;

/// How many of those that stay blocked are told one by one when an engine is opened.
const TOLD_MAX: usize = 10;

/// What became of functions that their code had blocked.
#[derive(Debug, Default)]
pub(super) struct Welcomed {
    resumed: u64,
    blocked: u64,
    /// The first of them in words.
    told: Vec<String>,
}

impl Welcomed {
    fn take(&mut self, asked: Option<Pending<Unblocked>>) -> Result<(), Error> {
        match asked.map(Pending::wait) {
            Some(Ok(Unblocked::Yes)) => self.resumed += 1,
            Some(Ok(Unblocked::No { id, reason })) => {
                self.blocked += 1;
                if self.told.len() < TOLD_MAX {
                    self.told.push(format!("{id} still cannot go on: {reason}"));
                }
            }
            // It stands still, or has gone on meanwhile.
            Some(
                Ok(Unblocked::IsNot)
                | Err(Error::Suspended(_) | Error::Halted { .. } | Error::Rejected(_)),
            )
            | None => {}
            Some(Err(error)) => return Err(error),
        }
        Ok(())
    }

    /// Says which functions stand still although their code is here.
    pub(super) fn tell(&self, prints: bool) {
        let Self { resumed, blocked, told } = self;
        if *blocked == 0 {
            return;
        }
        tracing::warn!(blocked, resumed, first = ?told.first(), "functions cannot go on");
        if prints {
            for it in told {
                print(it);
            }
            let more = blocked.saturating_sub(told.len() as u64);
            if more > 0 {
                print(&format!("{more} more cannot go on; `travertine incidents` lists them"));
            }
        }
    }
}

/// The instances of a function that have not ended.
fn open_runs(function: &Definition) -> Vec<Filter> {
    vec![
        Filter::Definition(Name::clone(&function.id)),
        Filter::Version(function.version),
        Filter::State(vec![
            InstanceState::Running,
            InstanceState::Suspended,
            InstanceState::Halted,
        ]),
    ]
}

fn each_page(
    table: Table,
    filters: &[Filter],
    ask: impl Fn(&Query) -> Result<Page, Error>,
    each: &mut dyn FnMut(Row) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut after = None;
    loop {
        let query =
            Query { table, filters: filters.to_vec(), descending: false, after, limit: 1_000 };
        let page = ask(&query)?;
        page.rows.into_iter().try_for_each(&mut *each)?;
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

/// Tries the code of this program against the journals of open instances, before anything goes on.
/// Answers with those that it does not agree with, and why.
pub(super) fn try_all(
    store: &dyn Store,
    definitions: &Definitions,
    shards: &[Shard],
) -> Result<Vec<String>, Error> {
    let mut ids = BTreeSet::new();
    for function in definitions.all().filter(|it| it.is_function()) {
        let ask = |query: &Query| {
            store.query(query).map_err(|error| match error {
                StoreError::DamagedRow { .. } => Error::Refused {
                    diagnostics: vec![format!(
                        "{error}; opened once without preflight, the engine makes it again from the log"
                    )],
                },
                other => other.into(),
            })
        };
        each_page(Table::Instances, &open_runs(function), ask, &mut |row| {
            ids.insert(row.key().instance);
            Ok(())
        })?;
    }
    // Of the latest the views may not know yet.
    for shard in shards {
        let is_open = |it: &&Live| it.definition.is_function() && !it.has_ended();
        ids.extend(shard.in_memory().into_iter().filter(is_open).map(|it| it.id.0));
    }
    let mut problems = Vec::new();
    for id in ids {
        let shard = &shards[usize::from(ShardId::of(id, store.shards()).0)];
        if let Err(problem) = shard.try_code(InstanceId(id))? {
            problems.push(format!("instance {id}: {problem}"));
        }
    }
    Ok(problems)
}
