//! Durable functions: they are started, and found again by what people call them.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
};

use serde::de::DeserializeOwned;
use travertine_func::Workflow;
use travertine_value::{Name, Value};

use super::{
    Engine, Pending, Startable,
    run::{Run, decoded},
};
use crate::{
    Begin, Error, InstanceId, RunStatus,
    request::{
        BarrierRequest, CancelRunRequest, DescribeRequest, FindRunRequest, ResultRequest,
        StartRequest,
    },
};

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
        let begin = Begin { definition: found.key, business_id: id, variables, ..Begin::default() };
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

impl Engine {
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

    /// The id of the run that someone means, to which events for it are sent. Where there is none, it is the id
    /// as it was given, for the run that will have it.
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
        Ok(found.map_or_else(|| id.into(), Run::into_id))
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

    pub(super) fn cancel_instance(&self, instance: InstanceId) -> Pending<bool> {
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
}
