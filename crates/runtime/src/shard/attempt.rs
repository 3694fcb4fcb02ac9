//! Attempts at activities by this process: how long they may take, and what came of them.
//!
//! Nothing here is written: after a crash whoever was at work has to begin that attempt again. How
//! often an activity has failed, and when it is tried again, stands in the log.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use travertine_expr::{Name, Value};
use travertine_func::{Failure, Retry};
use travertine_kernel::{Assignments, Command, Job, Rejection, WaitId};

use super::{Lease, Shard, alarm::Alarm, job::Activated, live::field};
use crate::{Address, Error, Timestamp};

/// Whether an attempt is still needed.
#[derive(Debug, Default)]
pub struct Calling {
    off: AtomicBool,
    news: Notify,
}

impl Calling {
    /// Whether nobody needs the attempt any more.
    pub fn is_off(&self) -> bool {
        self.off.load(Ordering::SeqCst)
    }

    /// Ends when nobody needs the attempt any more.
    pub(crate) async fn off(&self) {
        loop {
            let news = self.news.notified();
            if self.is_off() {
                return;
            }
            news.await;
        }
    }

    fn call_off(&self) {
        self.off.store(true, Ordering::SeqCst);
        self.news.notify_waiters();
    }
}

/// An attempt that is being made.
#[derive(Debug)]
pub(super) struct Attempt {
    /// How many were left when it began, itself included.
    retries: u32,
    /// When it has taken too long.
    ends: Option<i64>,
    /// How long it may be silent.
    heartbeat: Option<i64>,
    /// Whether its job keeps a limit.
    is_limited: bool,
    calling: Arc<Calling>,
}

/// An attempt that a worker of this process is to make.
#[derive(Clone, Debug)]
pub struct Given {
    /// The job.
    pub job: Activated,
    /// Which attempt, from 1.
    pub number: u32,
    /// What the attempt before has told last.
    pub details: Option<Value>,
    /// Whether it is still needed.
    pub calling: Arc<Calling>,
}

impl Shard {
    /// Gives a job to a worker of this process.
    pub fn begin_attempt(&mut self, job: Address) -> Option<Given> {
        let given = self.lease(job, &Lease::Process, &[])?;
        let key = (job.instance.0, job.wait.0);
        let live = &self.lives[&job.instance.0];
        let work = live.job(job.wait)?;
        let now = self.now.as_millis();
        let timeout = number(work, "timeout").map(|it| now.saturating_add(it));
        let deadline = number(work, "deadline");
        if deadline.is_some_and(|it| it <= now) {
            let failure = Failure::timeout("nobody could begin with it before its deadline");
            if let Err(error) = self.attempt_failed(job, 1, &failure, None) {
                tracing::warn!(%job, %error, "an attempt could not be given up");
            }
            return None;
        }
        let attempt = Attempt {
            retries: work.retries,
            ends: timeout.into_iter().chain(deadline).min(),
            heartbeat: number(work, "heartbeat"),
            is_limited: live.work[&job.wait].limit.is_some(),
            calling: Arc::default(),
        };
        let all = number(work, "attempts").unwrap_or_else(|| i64::from(work.retries));
        let done = all.saturating_sub(i64::from(work.retries));
        let number = u32::try_from(done.saturating_add(1)).unwrap_or(1);
        let calling = Arc::clone(&attempt.calling);
        // Someone may have put the job up again in the middle of another attempt, whose place among
        // those that a limit allows this one has now.
        if let Some(old) = self.attempts.remove(&key) {
            old.calling.call_off();
            self.alarms.unset(Alarm::Attempt(key.0, key.1));
        }
        self.set_attempt_alarm(job, &attempt);
        self.attempts.insert(key, attempt);
        Some(Given { job: given, number, details: self.details.get(&key).cloned(), calling })
    }

    /// A worker is alive, and this far.
    pub(crate) fn beat(&mut self, job: Address, calling: &Arc<Calling>, details: Value) {
        let key = (job.instance.0, job.wait.0);
        let Some(attempt) = self.attempts.remove(&key) else { return };
        if Arc::ptr_eq(&attempt.calling, calling) {
            self.details.insert(key, details);
            self.set_attempt_alarm(job, &attempt);
        }
        self.attempts.insert(key, attempt);
    }

    fn set_attempt_alarm(&mut self, job: Address, attempt: &Attempt) {
        let silent = attempt.heartbeat.map(|it| self.now.as_millis().saturating_add(it));
        if let Some(due) = attempt.ends.into_iter().chain(silent).min() {
            let alarm = Alarm::Attempt(job.instance.0, job.wait.0);
            self.alarms.set(Timestamp::from_millis(due), alarm);
        }
    }

    /// An attempt has come to its end. One that nobody waits for any more counts for nothing.
    pub fn end_attempt(
        &mut self,
        job: Address,
        calling: &Arc<Calling>,
        outcome: Result<Assignments, Failure>,
        retry: Option<Retry>,
    ) -> Result<(), Error> {
        let key = (job.instance.0, job.wait.0);
        let Some(attempt) = self.attempts.get(&key) else { return Ok(()) };
        if !Arc::ptr_eq(&attempt.calling, calling) {
            return Ok(());
        }
        let retries = attempt.retries;
        self.forget_attempt(key);
        let told = match outcome {
            Ok(variables) => match self.complete(job, variables) {
                Err(Error::Rejected(why @ Rejection::TooMuch { .. })) => {
                    let much = format!("it brings too much: {why}");
                    let failure = Failure::terminal(Failure::ENCODE, much);
                    self.attempt_failed(job, retries, &failure, retry)
                }
                told => told,
            },
            Err(failure) => self.attempt_failed(job, retries, &failure, retry),
        };
        told.or_else(|error| self.not_heard(job, error))
    }

    /// Whoever waits for an attempt cannot hear of it now: it is made again later.
    fn not_heard(&mut self, job: Address, error: Error) -> Result<(), Error> {
        match error {
            Error::Rejected(Rejection::HasIncident(_))
            | Error::Suspended(_)
            | Error::Halted { .. } => self.put_back(job),
            // It may have been withdrawn while it was made.
            Error::Rejected(_) | Error::NoSuchInstance(_) => Ok(()),
            error => Err(error),
        }
    }

    fn attempt_failed(
        &mut self,
        job: Address,
        retries: u32,
        failure: &Failure,
        retry: Option<Retry>,
    ) -> Result<(), Error> {
        let live = self.ready(job.instance.0)?;
        let work = live.job(job.wait);
        let all = work.and_then(|it| number(it, "attempts")).unwrap_or_else(|| i64::from(retries));
        let policy = work.and_then(policy).or(retry).unwrap_or_default();
        let deadline = work.and_then(|it| number(it, "deadline"));
        let (mut code, mut message) = (failure.code.as_str(), failure.message.clone());
        if failure.retryable && retries > 1 {
            let failed = u32::try_from(all - i64::from(retries) + 1).unwrap_or(1);
            let pause = i64::try_from(policy.delay(failed).as_millis()).unwrap_or(i64::MAX);
            let next = self.now.as_millis().saturating_add(pause);
            if deadline.is_none_or(|it| next < it) {
                return self.fail(job, Some(retries - 1), pause, failure.to_string());
            }
            code = Failure::TIMEOUT;
            message = format!("not done by its deadline; last it was {failure}");
        }
        let code = Some(Name::from(code));
        let raise = Command::Raise { wait: job.wait, code, message, variables: Vec::new() };
        self.command(job.instance, raise)
    }

    /// An attempt has taken too long, or was silent for too long.
    pub(super) fn attempt_lost(&mut self, key: (u64, u64)) {
        let Some(attempt) = self.attempts.get(&key) else { return };
        let (retries, job) = (attempt.retries, Address::new(key));
        let now = self.now.as_millis();
        let failure = if attempt.ends.is_some_and(|it| it <= now) {
            Failure::new(Failure::TIMEOUT, "the attempt took too long")
        } else {
            Failure::new(Failure::TIMEOUT, "the activity has not been heard of for too long")
        };
        self.forget_attempt(key);
        let told = self.attempt_failed(job, retries, &failure, None);
        if let Err(error) = told.or_else(|error| self.not_heard(job, error)) {
            tracing::warn!(%job, %error, "an attempt could not be given up");
        }
    }

    /// Nobody needs an attempt any more.
    pub(super) fn call_off_attempt(&mut self, id: u64, wait: WaitId) {
        self.details.remove(&(id, wait.0));
        self.forget_attempt((id, wait.0));
    }

    pub(super) fn forget_attempt(&mut self, key: (u64, u64)) {
        if let Some(attempt) = self.attempts.remove(&key) {
            if attempt.is_limited {
                self.board.leave(Address::new(key));
            }
            attempt.calling.call_off();
            self.alarms.unset(Alarm::Attempt(key.0, key.1));
        }
    }
}

/// How an activity is tried again, as the call says.
fn policy(job: &Job) -> Option<Retry> {
    let Value::Map(retry) = field(job, "retry")? else { return None };
    let millis = |name: &str| {
        let value = retry.get(name).and_then(Value::as_i64)?;
        Some(Duration::from_millis(u64::try_from(value).ok()?))
    };
    let Value::Number(factor) = retry.get("factor")? else { return None };
    Some(Retry {
        initial: millis("initial")?,
        factor: factor.to_f64(),
        max_delay: millis("maxDelay").unwrap_or(Duration::MAX),
        ..Retry::default()
    })
}

fn number(job: &Job, name: &str) -> Option<i64> {
    field(job, name).and_then(Value::as_i64)
}
