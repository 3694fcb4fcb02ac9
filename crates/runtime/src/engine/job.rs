//! Jobs for workers elsewhere, and user tasks.

use travertine_kernel::{Assignments, Command};
use travertine_value::Name;

use super::{Engine, Pending};
use crate::{
    Activated, Address, Edit, Error, Lease, TaskChange,
    request::{
        ChangeTaskRequest, ClaimTaskRequest, CompleteRequest, ExtendRequest, FailRequest,
        LeaseRequest,
    },
};

impl Engine {
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
}
