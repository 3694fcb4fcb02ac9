//! Work for workers.

use std::time::Duration;

use travertine_kernel::{Assignments, plan::WorkKind};
use travertine_runtime::{Activated, JobChange, JobFailure, engine::JobAsk, is_own};
use travertine_value::Name;

use super::{Desk, Outcome, Refusal, WAIT_MAX, key};

/// How many bytes jobs have that are given out together: what clients take in, less what the wire adds.
const BYTES_MAX: usize = (4 << 20) - (64 << 10);

/// A worker asks for jobs.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Which jobs.
    pub job_type: Name,
    /// Who asks.
    pub worker: Name,
    /// For how long it wants to have them.
    pub lease: Duration,
    /// How many at most.
    pub most: usize,
    /// The names of the variables that it wants; all where there are none.
    pub names: Vec<Name>,
    /// How long to wait for the first one; as long as the server says where that is not said.
    pub wait: Option<Duration>,
}

/// What a worker says of a job that it could not do.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    /// How often it may be tried again; one less than before where that is not said.
    pub retries: Option<u32>,
    /// How long nobody shall have it.
    pub backoff: Duration,
    /// What went wrong.
    pub message: String,
    /// What to remember for the next try.
    pub variables: Assignments,
}

impl Desk {
    /// Gives jobs to a worker, as soon as there is one.
    pub async fn activate(&self, ask: Ask) -> Result<Vec<Activated>, Refusal> {
        ask.check()?;
        self.may_name(&ask.job_type)?;
        let wait = ask.wait.unwrap_or(self.poll);
        tokio::select! {
            jobs = self.engine.jobs(ask.of(wait.min(WAIT_MAX))) => Ok(jobs?),
            () = self.is_over() => Ok(Vec::new()),
        }
    }

    /// A job is done.
    pub async fn complete_job(&self, key: i64, variables: Assignments) -> Result<(), Refusal> {
        let job = key::wait(key, "job")?;
        self.may_job(job, key).await?;
        Ok(self.engine.complete_work(job, WorkKind::Job, true, variables).await?)
    }

    /// A job could not be done.
    pub async fn fail_job(&self, key: i64, failure: Failure) -> Result<(), Refusal> {
        let job = key::wait(key, "job")?;
        self.may_job(job, key).await?;
        let Failure { retries, backoff, message, variables } = failure;
        Ok(self
            .engine
            .fail(job, JobFailure { retries, backoff, message, variables, strict: true })
            .await?)
    }

    /// Changes a job: all that is asked, or nothing.
    pub async fn update_job(&self, key: i64, change: JobChange) -> Result<(), Refusal> {
        let job = key::wait(key, "job")?;
        self.may_job(job, key).await?;
        let JobChange { retries, lease, priority } = &change;
        if retries.is_none() && lease.is_none() && priority.is_none() {
            let detail = "there is nothing to change: say retries, timeout or priority";
            return Err(Refusal::invalid(detail));
        }
        Ok(self.engine.update_job(job, change).await?)
    }

    /// A job has raised an error for the model to catch.
    pub async fn throw_error(
        &self,
        key: i64,
        code: &str,
        message: &str,
        variables: Assignments,
    ) -> Result<(), Refusal> {
        let job = key::wait(key, "job")?;
        self.may_job(job, key).await?;
        if code.is_empty() {
            return Err(Refusal::invalid("the code of the error is missing: name it"));
        }
        Ok(self.engine.throw_job_error(job, code, message, variables).await?)
    }
}

impl Ask {
    /// What the engine is asked for, to wait so long for the first job.
    pub(super) fn of(self, wait: Duration) -> JobAsk {
        let Self { job_type, worker, lease, most, names: variables, wait: _ } = self;
        let bytes_max = Some(BYTES_MAX);
        JobAsk { job_type, worker, most, lease, variables, bytes_max, wait }
    }

    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.job_type.trim().is_empty() {
            return Err(Refusal::invalid("the type of the jobs is missing: name it"));
        }
        if is_own(&self.job_type) {
            let detail = format!("jobs of the type {} are for the engine itself", self.job_type);
            return Err(Refusal::new(Outcome::Forbidden, detail));
        }
        if self.lease < Duration::from_millis(1) {
            return Err(Refusal::invalid("a job is taken for at least 1 ms: raise the timeout"));
        }
        if self.most < 1 {
            return Err(Refusal::invalid("at least one job must be asked for"));
        }
        Ok(())
    }
}
