//! What can be asked of instances, jobs, tasks and timers.

use std::future::{Future, IntoFuture};
use std::pin::Pin;

use travertine_kernel::{
    Assignments, Command, Mapping, Migration, Modification, Reason, TokenId, check_variables,
};
use travertine_value::{Limits, Name, Value};

use super::{Engine, Pending, Startable};
use crate::{
    Activated, Address, At, Begin, Edit, Ended, Error, InstanceId, Lease, TaskChange,
    request::{
        AwaitRequest, ChangeTaskRequest, ClaimTaskRequest, CommandRequest, CompleteRequest,
        EvaluateConditionsRequest, ExtendRequest, FailRequest, FireTimerRequest, LeaseRequest,
        MigrateRequest, MoveTimerRequest, ReleaseHaltedRequest, ResumeRequest, RetryRequest,
        StartRequest, SuspendRequest, TryMigrationRequest, WhyRequest,
    },
};

/// Which version of a definition is meant.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::Target;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let latest = engine.start("delivery").await?;
/// let second = engine.start(Target::Version("delivery".into(), 2)).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The latest.
    Latest(Name),
    /// This one.
    Version(Name, u32),
    /// The latest that its author calls so.
    Tag(Name, Name),
}

impl Startable for Target {
    type Starting<'a> = Starting<'a>;

    fn starting(self, engine: &Engine) -> Starting<'_> {
        Starting { engine, target: self, business_id: None, at: At::Start, variables: Vec::new() }
    }
}

impl Startable for &str {
    type Starting<'a> = Starting<'a>;

    fn starting(self, engine: &Engine) -> Starting<'_> {
        Target::from(self).starting(engine)
    }
}

impl From<&str> for Target {
    fn from(id: &str) -> Self {
        Self::Latest(id.into())
    }
}

/// An instance that is about to be started. Awaiting it, or [`Starting::wait`], starts it.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let delivery = engine.start("delivery").id("delivery-1").variable("town", "Rome").await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "nothing is started before it is awaited"]
pub struct Starting<'a> {
    engine: &'a Engine,
    target: Target,
    business_id: Option<Name>,
    at: At,
    variables: Assignments,
}

impl Starting<'_> {
    /// What people call the instance. An instance of the same definition that they call so already is
    /// not started again.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery = engine.start("delivery").id("delivery-1").await?;
    /// # Ok(()) }
    /// ```
    pub fn id(mut self, id: &str) -> Self {
        self.business_id = Some(id.into());
        self
    }

    /// A variable that it begins with.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery = engine.start("delivery").variable("town", "Rome").variable("parcels", 2).await?;
    /// # Ok(()) }
    /// ```
    pub fn variable(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Variables that it begins with.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery = engine.start("delivery").variables(vec![("town".into(), "Rome".into())]).await?;
    /// # Ok(()) }
    /// ```
    pub fn variables(mut self, variables: Assignments) -> Self {
        self.variables.extend(variables);
        self
    }

    /// Begins at this element instead of the plain start; may be said again for several.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// // As if the parcel had been packed.
    /// let delivery = engine.start("delivery").at("send").await?;
    /// # Ok(()) }
    /// ```
    pub fn at(mut self, element: &str) -> Self {
        let mut elements = if let At::Elements(elements) = self.at { elements } else { Vec::new() };
        elements.push(element.into());
        self.at = At::Elements(elements);
        self
    }

    /// Starts it, on a thread that may be blocked.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery: InstanceId = engine.start("delivery").wait()?;
    /// # Ok(()) }
    /// ```
    pub fn wait(self) -> Result<InstanceId, Error> {
        self.begin().wait().map(|(id, _)| id)
    }

    /// Starts it. Answers whether it was there already, too.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let (delivery, was_there) = engine.start("delivery").id("delivery-1").begin().await?;
    /// # Ok(()) }
    /// ```
    pub fn begin(self) -> Pending<(InstanceId, bool)> {
        let definition = match self.engine.target(&self.target) {
            Ok(key) => key,
            Err(error) => return Pending::refused(error),
        };
        let Self { business_id, at, variables, .. } = self;
        let begin = Begin { definition, business_id, at, variables };
        self.engine.ask(StartRequest { begin })
    }
}

impl<'a> IntoFuture for Starting<'a> {
    type Output = Result<InstanceId, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let begun = self.begin();
        Box::pin(async move { begun.await.map(|(id, _)| id) })
    }
}

impl Engine {
    /// Starts a process, of its latest version where only an id is named, or a function: awaiting
    /// what this answers with starts it.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let run = engine.start(order(1_200)).id("order-1").await?;
    /// let delivery = engine.start("delivery").variable("town", "Rome").await?;
    /// # Ok(()) }
    /// ```
    pub fn start<S: Startable>(&self, what: S) -> S::Starting<'_> {
        what.starting(self)
    }

    pub(super) fn target(&self, target: &Target) -> Result<u64, Error> {
        let definitions = self.definitions();
        let (id, found) = match target {
            Target::Latest(id) => (id, definitions.find(id)),
            Target::Version(id, version) => {
                (id, definitions.versions(id).iter().find(|it| it.version == *version))
            }
            Target::Tag(id, tag) => {
                let mut newest_first = definitions.versions(id).iter().rev();
                (id, newest_first.find(|it| it.tag.as_ref() == Some(tag)))
            }
        };
        found.map(|it| it.key).ok_or_else(|| match target {
            Target::Latest(_) => Error::no_such_definition(id),
            Target::Version(_, version) => {
                Error::no_such_definition(&format!("{id} version {version}"))
            }
            Target::Tag(_, tag) => Error::no_such_definition(&format!("{id} tagged {tag}")),
        })
    }

    /// Answers when the instance has ended, and how.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let delivery = engine.start("delivery").await?;
    /// let ended = engine.result(delivery).await?;
    /// println!("{:?}", ended.ending);
    /// # Ok(()) }
    /// ```
    pub fn result(&self, instance: InstanceId) -> Pending<Ended> {
        self.ask(AwaitRequest { instance, through_incidents: true })
    }

    /// The same of a function; or why it stands still, as soon as it does.
    pub(super) fn result_or_incident(&self, instance: InstanceId) -> Pending<Ended> {
        self.ask(AwaitRequest { instance, through_incidents: false })
    }

    /// Tells an instance something, in the kernel's words.
    #[doc(hidden)] // The kernel's words are not for programs; what they need has a method of its own.
    pub fn command(&self, instance: InstanceId, command: Command) -> Pending<()> {
        self.ask(CommandRequest { instance, command })
    }

    /// Ends an instance and all that it has called.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let run = engine.start(order(1_200)).await?;
    /// engine.cancel(run.instance()).await?;
    /// # Ok(()) }
    /// ```
    pub fn cancel(&self, instance: InstanceId) -> Pending<()> {
        self.command(instance, Command::Cancel)
    }

    /// Has an instance stand still until it is resumed. What comes meanwhile is kept for it.
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
    pub fn suspend(&self, instance: InstanceId) -> Pending<()> {
        self.ask(SuspendRequest { instance })
    }

    /// Lets a suspended instance go on.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.suspend(InstanceId(12)).await?;
    /// engine.resume(InstanceId(12)).await?;
    /// # Ok(()) }
    /// ```
    pub fn resume(&self, instance: InstanceId) -> Pending<()> {
        self.ask(ResumeRequest { instance })
    }

    /// Lets an instance on which the engine failed be tried again.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// // What made the engine fail on it is repaired.
    /// engine.release(InstanceId(12))?;
    /// # Ok(()) }
    /// ```
    pub fn release(&self, instance: InstanceId) -> Result<(), Error> {
        // What the log says of it must be there to be read.
        self.flush_now()?;
        self.ask(ReleaseHaltedRequest { instance }).wait()
    }

    /// Sets variables of the process, or in the layer of one of its tokens.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.set_variables(InstanceId(12), None, vec![("town".into(), "Oslo".into())]).await?;
    /// # Ok(()) }
    /// ```
    pub fn set_variables(
        &self,
        instance: InstanceId,
        token: Option<TokenId>,
        variables: Assignments,
    ) -> Pending<()> {
        self.command(instance, Command::Set { token, variables })
    }

    /// Takes tokens away and puts tokens elsewhere: all of it, or nothing.
    ///
    /// ```no_run
    /// # use travertine_kernel as travertine;
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// use travertine::{Modification, TokenId, Which};
    ///
    /// engine.modify(InstanceId(12), vec![Modification::Withdraw(Which::Token(TokenId(3)))]).await?;
    /// # Ok(()) }
    /// ```
    pub fn modify(&self, instance: InstanceId, steps: Vec<Modification>) -> Pending<()> {
        self.command(instance, Command::Modify { steps })
    }

    /// What would happen if an instance went on by another version of its definition.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # use travertine_runtime::engine::Target;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let to = Target::Version("delivery".into(), 2);
    /// let migration = engine.try_migration(InstanceId(12), to, Default::default()).await?;
    /// println!("{migration:?}");
    /// # Ok(()) }
    /// ```
    pub fn try_migration(
        &self,
        instance: InstanceId,
        to: impl Into<Target>,
        mapping: Mapping,
    ) -> Pending<Migration> {
        match self.target(&to.into()) {
            Ok(to) => self.ask(TryMigrationRequest { instance, to, mapping }),
            Err(error) => Pending::refused(error),
        }
    }

    /// Lets an instance go on by another version of its definition.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.migrate(InstanceId(12), "delivery", Default::default()).await?;
    /// # Ok(()) }
    /// ```
    pub fn migrate(
        &self,
        instance: InstanceId,
        to: impl Into<Target>,
        mapping: Mapping,
    ) -> Pending<()> {
        match self.target(&to.into()) {
            Ok(to) => self.ask(MigrateRequest { instance, to, mapping }),
            Err(error) => Pending::refused(error),
        }
    }

    /// Why an instance waits: a reason for each token that rests.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for reason in engine.why(InstanceId(12)).await? {
    ///     println!("{:?}", reason.why);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn why(&self, instance: InstanceId) -> Pending<Vec<Reason>> {
        self.ask(WhyRequest { instance })
    }

    /// Tries again what ended in an incident: at one token, or everywhere in the instance. Says how many
    /// incidents there were.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let incidents = engine.retry(InstanceId(12), None).await?;
    /// # Ok(()) }
    /// ```
    pub fn retry(&self, instance: InstanceId, token: Option<TokenId>) -> Pending<usize> {
        self.ask(RetryRequest { instance, token })
    }

    /// Gives jobs of a type to a worker, at most so many: the most pressing first, of those the oldest.
    /// It has them for `lease` milliseconds, also after a restart. Only variables with these names are
    /// handed out, or all where none is named.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for job in engine.activate("paint", "worker-1", 10, 60_000, &[]).await? {
    ///     engine.complete(job.job, vec![("painted".into(), true.into())]).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn activate(
        &self,
        job_type: &str,
        worker: &str,
        most: usize,
        lease: i64,
        names: &[Name],
    ) -> Result<Vec<Activated>, Error> {
        let (job_type, worker): (Name, Name) = (job_type.into(), worker.into());
        let mut given = Vec::new();
        while given.len() < most {
            let board = &self.inner.common.board;
            let offers = board.take(&job_type, most - given.len(), self.now());
            if offers.is_empty() {
                break;
            }
            let until = self.now().after_millis(lease).as_millis();
            let leases: Vec<_> = offers
                .into_iter()
                .map(|it| {
                    let lease = Lease::Until { worker: Name::clone(&worker), until };
                    let names = names.to_vec();
                    self.ask(LeaseRequest { job: it.job, lease, names })
                })
                .collect();
            for lease in leases {
                given.extend(lease.await?.map(|it| *it));
            }
        }
        Ok(given)
    }

    /// A job, a user task or a decision is done.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Address, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let job: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// engine.complete(job, vec![("painted".into(), true.into())]).await?;
    /// # Ok(()) }
    /// ```
    pub fn complete(&self, what: Address, variables: Assignments) -> Pending<()> {
        self.ask(CompleteRequest { to: what, variables })
    }

    /// A job has failed. It is offered again after `backoff` milliseconds, or becomes an incident where it
    /// may not be tried again. Without `retries` one try less is left.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for job in engine.activate("paint", "worker-1", 1, 60_000, &[]).await? {
    ///     engine.fail(job.job, None, 5_000, "no paint left").await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn fail(
        &self,
        job: Address,
        retries: Option<u32>,
        backoff: i64,
        message: &str,
    ) -> Pending<()> {
        self.ask(FailRequest { job, retries, backoff, message: message.to_owned() })
    }

    /// A job has raised an error for the model to catch.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for job in engine.activate("paint", "worker-1", 1, 60_000, &[]).await? {
    ///     engine.throw_error(job.job, "no-paint", "no paint left", vec![]).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn throw_error(
        &self,
        job: Address,
        code: &str,
        message: &str,
        variables: Assignments,
    ) -> Pending<()> {
        let (code, message) = (Some(code.into()), message.to_owned());
        self.command(job.instance, Command::Raise { wait: job.wait, code, message, variables })
    }

    /// A job has raised an escalation, and may go on.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for job in engine.activate("paint", "worker-1", 1, 60_000, &[]).await? {
    ///     engine.escalate(job.job, "little-paint", vec![]).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn escalate(&self, job: Address, code: &str, variables: Assignments) -> Pending<()> {
        let command = Command::Escalate { wait: job.wait, code: Some(code.into()), variables };
        self.command(job.instance, command)
    }

    /// Changes how often a job may still fail. A worker that has it goes on with it; otherwise it is offered
    /// at once.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Address, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let job: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// engine.set_retries(job, 3).await?;
    /// # Ok(()) }
    /// ```
    pub fn set_retries(&self, job: Address, retries: u32) -> Pending<()> {
        self.command(job.instance, Command::SetRetries { wait: job.wait, retries })
    }

    /// Lets a worker have its job for so many milliseconds from now.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for job in engine.activate("paint", "worker-1", 1, 60_000, &[]).await? {
    ///     engine.extend(job.job, 600_000).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn extend(&self, job: Address, lease: i64) -> Pending<()> {
        let until = self.now().after_millis(lease).as_millis();
        self.ask(ExtendRequest { job, until })
    }

    /// Someone takes a user task, and nobody else can.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Address, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let task: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// engine.claim(task, "ann").await?;
    /// # Ok(()) }
    /// ```
    pub fn claim(&self, task: Address, who: &str) -> Pending<()> {
        self.ask(ClaimTaskRequest { task, who: who.into() })
    }

    /// Nobody has the user task any more.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Address, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let task: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// engine.unclaim(task).await?;
    /// # Ok(()) }
    /// ```
    pub fn unclaim(&self, task: Address) -> Pending<()> {
        self.change_task(task, TaskChange { assignee: Edit::Remove, ..TaskChange::default() })
    }

    /// Changes who does a user task, and until when.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Address, Edit, Engine, Error, TaskChange};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let task: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// let change = TaskChange { assignee: Edit::Set("ben".into()), ..TaskChange::default() };
    /// engine.change_task(task, change).await?;
    /// # Ok(()) }
    /// ```
    pub fn change_task(&self, task: Address, change: TaskChange) -> Pending<()> {
        self.ask(ChangeTaskRequest { task, change: Box::new(change) })
    }

    /// Has a timer ring at another time, in milliseconds since 1970. Those that start instances are
    /// called as their rows say: of instance 0.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Address, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let timer: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// engine.move_timer(timer, engine.now().after_millis(60_000).as_millis()).await?;
    /// # Ok(()) }
    /// ```
    pub fn move_timer(&self, timer: Address, due: i64) -> Pending<()> {
        self.ask(MoveTimerRequest { timer, due })
    }

    /// Has a timer ring now.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Address, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let timer: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// engine.fire_timer(timer).await?;
    /// # Ok(()) }
    /// ```
    pub fn fire_timer(&self, timer: Address) -> Pending<()> {
        self.ask(FireTimerRequest { timer })
    }

    /// Offers variables to the conditional start events. Answers with what they started.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let started = engine.evaluate_conditions(vec![("stock".into(), 3.into())]).await?;
    /// # Ok(()) }
    /// ```
    pub fn evaluate_conditions(&self, variables: Assignments) -> Pending<Vec<InstanceId>> {
        if let Err(error) = check_variables(&variables, &Limits::default()) {
            return Pending::refused(error);
        }
        self.ask(EvaluateConditionsRequest { variables })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::{Options, one_task},
        request::GlanceRequest,
    };

    #[test]
    fn who_does_not_wait_any_more_is_forgotten_long_before_the_end() {
        let engine = Engine::in_memory(Options { shards: 1, ..Options::default() }).unwrap();
        engine.deploy(&[one_task()]).unwrap();
        let id = engine.start("p").wait().unwrap();
        let waits = engine.result(id);
        for _ in 0..1_000 {
            drop(engine.result(id));
        }
        let watched = || engine.ask(GlanceRequest {}).wait().unwrap().watched;
        assert!(watched() < 200, "{}", watched());
        engine.cancel(id).wait().unwrap();
        waits.wait().unwrap();
        assert_eq!(watched(), 0);
    }
}
