//! Jobs for workers elsewhere, and user tasks.

use std::time::Duration;

use travertine_kernel::{Assignments, Command, plan::WorkKind};
use travertine_value::Name;

use super::{Engine, JobAsk, Pending};
use crate::{
    Activated, Address, Edit, Error, JobChange, JobFailure, TaskChange,
    request::{
        ChangeTaskRequest, ClaimTaskRequest, CompleteRequest, CompleteWorkRequest, ExtendRequest,
        FailRequest, ThrowErrorRequest, UpdateJobRequest,
    },
};

impl Engine {
    /// Gives jobs of a type to a worker, at most so many: the most pressing first, of those the oldest.
    /// It has them for so long, also after a restart. Only variables with these names are
    /// handed out, or all where none is named.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for job in engine.activate("paint", "worker-1", 10, Duration::from_mins(1), &[]).await? {
    ///     engine.complete(job.job, vec![("painted".into(), true.into())]).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn activate(
        &self,
        job_type: &str,
        worker: &str,
        most: usize,
        lease: Duration,
        names: &[Name],
    ) -> Result<Vec<Activated>, Error> {
        let variables = names.to_vec();
        self.poll_jobs(&JobAsk { most, lease, variables, ..JobAsk::new(job_type, worker) }).await
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

    /// A job is done, or a user task: a job's address is refused where a user task is meant, and the other way
    /// round. A `strict` caller does not complete a job that has no retries left.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Address, Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// # use travertine_kernel::plan::WorkKind;
    /// let job: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// let painted = vec![("painted".into(), true.into())];
    /// match engine.complete_work(job, WorkKind::Job, false, painted).await {
    ///     Err(Error::WrongKind { work, .. }) => println!("{work} is for people"),
    ///     done => done?,
    /// }
    /// # Ok(()) }
    /// ```
    pub fn complete_work(
        &self,
        work: Address,
        kind: WorkKind,
        strict: bool,
        variables: Assignments,
    ) -> Pending<()> {
        self.ask(CompleteWorkRequest { work, kind, strict, variables })
    }

    /// A job has failed. It is offered again after a while, or becomes an incident where it may not be tried
    /// again. A user task is refused.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Error, JobFailure};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for job in engine.activate("paint", "worker-1", 1, Duration::from_mins(1), &[]).await? {
    ///     let failure = JobFailure { backoff: Duration::from_secs(5), ..JobFailure::new("no paint left") };
    ///     engine.fail(job.job, failure).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn fail(&self, job: Address, failure: JobFailure) -> Pending<()> {
        let kind = Some(WorkKind::Job);
        self.ask(FailRequest { job, failure: Box::new(failure), kind })
    }

    /// Changes a job: all of it, or nothing. How long its worker has it can only be changed while one has it.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Address, Engine, Error, JobChange};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let job: Address = "12-7".parse().expect("wait 7 of instance 12");
    /// let change = JobChange { retries: Some(3), priority: Some(80), ..JobChange::default() };
    /// engine.update_job(job, change).await?;
    /// # Ok(()) }
    /// ```
    pub fn update_job(&self, job: Address, change: JobChange) -> Pending<()> {
        self.ask(UpdateJobRequest { job, change })
    }

    /// A job has raised an error for the model to catch. A user task is refused, and so is a job that may not be tried any
    /// more.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for job in engine.activate("paint", "worker-1", 1, Duration::from_mins(1), &[]).await? {
    ///     engine.throw_job_error(job.job, "no-paint", "no paint left", vec![]).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn throw_job_error(
        &self,
        job: Address,
        code: &str,
        message: &str,
        variables: Assignments,
    ) -> Pending<()> {
        let (code, message) = (code.into(), message.to_owned());
        self.ask(ThrowErrorRequest { job, code, message, variables })
    }

    /// A job, or a user task, has raised an error for the model to catch.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for job in engine.activate("paint", "worker-1", 1, Duration::from_mins(1), &[]).await? {
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
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for job in engine.activate("paint", "worker-1", 1, Duration::from_mins(1), &[]).await? {
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

    /// Lets a worker have its job for so long from now.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for job in engine.activate("paint", "worker-1", 1, Duration::from_mins(1), &[]).await? {
    ///     engine.extend(job.job, Duration::from_mins(10)).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn extend(&self, job: Address, lease: Duration) -> Pending<()> {
        let until = self.now().after(lease);
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
}
