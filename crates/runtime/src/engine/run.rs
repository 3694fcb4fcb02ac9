//! A run of a function: what it is doing, what it is asked, and how it ends.

use std::{
    fmt,
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
};

use serde::{Serialize, de::DeserializeOwned};
use travertine_func::Failure;
use travertine_kernel::Ending;
use travertine_value::{Name, Value, typed};

use super::{Engine, Pending};
use crate::{
    Ended, Error, InstanceId, RunStatus,
    request::{Ask, DescribeRequest, QueryFunctionRequest, UpdateFunctionRequest},
};

type Answer<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

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
    /// Its code cannot go on, or that of a function that it has called: it panicked, or does not agree with its
    /// journal, or is not in this program. The run stays where it is, and goes on when a program whose code can is
    /// started.
    Blocked {
        /// What is called so cannot go on: the run, or what it has called.
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
    pub(super) fn new(engine: Engine, id: Option<Name>, instance: InstanceId) -> Self {
        let id = id.unwrap_or_else(|| instance.unnamed());
        Self { engine, id, instance, output: PhantomData }
    }

    /// The run that an instance is.
    pub(super) fn of(engine: &Engine, id: Option<&Name>, instance: InstanceId) -> Self {
        Self::new(engine.clone(), id.map(Name::clone), instance)
    }

    /// What it is called.
    pub(super) fn into_id(self) -> Name {
        self.id
    }

    /// The id of the run; `number:12` where it was given none.
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
    ) -> Answer<T> {
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
    /// Sets what the sender calls it. Sent again to the same run under the same id, it changes nothing and gives
    /// the answer of the first one; whether name and input are the same is not looked at.
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
    type IntoFuture = Answer<T>;

    fn into_future(self) -> Self::IntoFuture {
        let sent = self.send();
        Box::pin(async move { decoded(&sent.await?) })
    }
}

impl<O: DeserializeOwned> Run<O> {
    /// Answers when it has ended; or with [`RunError::Blocked`] as soon as it cannot go on, or a function that it
    /// has called, because its code panicked or does not agree with its journal. It is not lost then: with code
    /// that can go on it does, when the program is started again.
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

    /// Waits as [`result`](Self::result) does, on a thread that may be blocked.
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

pub(super) fn decoded<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    typed::from_value(value)
        .map_err(|error| Error::Failed { reason: format!("it is of another type: {error}") })
}
