//! Attempts at activities by this process: how long they may take, and what came of them.
//!
//! Nothing here is written: after a crash whoever was at work has to begin that attempt again. How
//! often an activity has failed, and when it is tried again, stands in the log.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use travertine_func::{Failure, Retry};
use travertine_kernel::{Assignments, Backoff, Command, JobOptions, Rejection, WaitId};
use travertine_value::{Map, Name, Value};

use super::{
    Hashed, Shard,
    alarm::Alarm,
    guard::step,
    job::{assignments, variables},
    live::Live,
};
use crate::{Address, Error, InstanceId, JobFailure, Timestamp};

/// Attempts that workers of this process are making.
pub(super) struct Attempts {
    /// By instance and wait.
    all: HashMap<Address, Attempt, Hashed>,
    /// What such attempts have told of themselves last.
    details: HashMap<Address, Value, Hashed>,
    /// Jobs that are not begun before something under suspicion is over.
    waiting: Vec<Address>,
    /// What a function calls the result of an activity.
    result: Name,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            all: HashMap::default(),
            details: HashMap::default(),
            waiting: Vec::new(),
            result: "result".into(),
        }
    }
}

impl Attempts {
    /// Whether any is not made yet because of something under suspicion.
    pub(super) fn wait(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether one is made at a job.
    pub(super) fn has(&self, job: Address) -> bool {
        self.all.contains_key(&job)
    }

    /// Nobody needs any of them any more.
    pub(super) fn call_off_all(&mut self) {
        self.all.drain().for_each(|(_, it)| it.given.call_off());
    }
}

/// An attempt that is being made.
#[derive(Debug)]
struct Attempt {
    /// How long it may take.
    timeout: Option<Duration>,
    /// When all attempts must be done.
    deadline: Option<Timestamp>,
    /// When it has taken too long, once it has begun.
    ends: Option<Timestamp>,
    /// How long it may be silent.
    heartbeat: Option<Duration>,
    /// Whether its job keeps a limit.
    is_limited: bool,
    /// What whoever makes it was given.
    given: Arc<Given>,
    /// What came of it, where the instance could not hear of it yet.
    outcome: Option<AttemptOutcome<Assignments>>,
}

/// What came of an attempt. With a failure comes how its activity is tried again where the call does
/// not say.
pub type AttemptOutcome<T = Value> = Result<T, Box<(Failure, Option<Retry>)>>;

/// An attempt that a worker of this process is to make. The shard and the worker share it, and the
/// worker gives it back with the outcome: what one thread allocates and another frees costs both.
#[derive(Debug)]
pub struct Given {
    /// The job.
    pub job: Address,
    /// Which activity.
    pub job_type: Name,
    /// What people call the instance.
    pub business_id: Option<Name>,
    /// The key that all attempts of one call share, where the call has one.
    pub idempotency_key: Option<Name>,
    /// Whether it is called for a result; otherwise it brings variables.
    pub wants_result: bool,
    /// Which attempt, from 1.
    pub number: u32,
    /// What the attempt before has told last.
    pub details: Option<Value>,
    /// Whether someone has to know when it begins.
    pub is_timed: bool,
    /// When all attempts must be done.
    deadline: Option<Timestamp>,
    input: Input,
    off: AtomicBool,
    news: Notify,
}

/// What an attempt is made with.
#[derive(Debug)]
enum Input {
    /// What a function calls it with.
    Called(Arc<Map>),
    /// What a process lets it see.
    Seen(Assignments),
}

impl Given {
    /// The variables that it sees.
    pub fn variables(&self) -> Assignments {
        match &self.input {
            Input::Called(map) => assignments(map),
            Input::Seen(variables) => variables.clone(),
        }
    }

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

    fn call_off(self: &Arc<Self>) {
        // Where nobody else has it, nobody can hear of it.
        if Arc::strong_count(self) > 1 {
            self.off.store(true, Ordering::SeqCst);
            self.news.notify_waiters();
        }
    }
}

impl Shard {
    /// Gives a job to a worker of this process, who begins with it at once.
    pub(super) fn begin_attempt(&mut self, job: Address) -> Option<Arc<Given>> {
        if !self.agenda.quarantine.admits_activity(job) {
            self.attempts.waiting.push(job);
            self.leave_if_free(job);
            return None;
        }
        let begun = self.with(job.instance, |shard, live| {
            if !shard.may_begin(live, job.wait) {
                return Ok(None);
            }
            let given = shard.prepare_attempt(live, job.wait);
            if given.deadline.is_some_and(|it| it <= shard.now) {
                shard.forget_attempt(job);
                let failure = Failure::timeout("nobody could begin with it before its deadline");
                shard.attempt_failed(live, job.wait, &failure, None)?;
                return Ok(None);
            }
            Ok(Some(given))
        });
        if !matches!(begun, Ok(Some(_))) {
            self.agenda.quarantine.activity_ends(job);
        }
        match begun {
            Ok(given) => {
                let given = given?;
                self.attempt_begins(&given);
                Some(given)
            }
            Err(error) => {
                tracing::warn!(%job, %error, "an attempt could not be begun");
                self.leave_if_free(job);
                None
            }
        }
    }

    /// Puts the jobs up again that waited until something under suspicion was over, once one may begin.
    pub(super) fn admit_waiting(&mut self) {
        let waiting = &mut self.attempts.waiting;
        if !waiting.is_empty() && self.agenda.quarantine.wait_for_room(waiting) {
            for job in std::mem::take(waiting) {
                self.offer_again(job);
            }
        }
    }

    /// Gives a job that a worker may have to one of this process, who begins with it later.
    pub(super) fn prepare_attempt(&mut self, live: &mut Live, wait: WaitId) -> Arc<Given> {
        step("attempt");
        let job = live.address(wait);
        let key = Address { wait, ..job };
        live.take(wait);
        let work = live.job(wait).expect("only jobs are offered");
        let options = work.options.as_deref();
        let all = options.map_or(work.retries, |it| it.attempts);
        let done = all.saturating_sub(work.retries);
        let timeout = options.and_then(|it| it.timeout);
        let deadline = options.and_then(|it| it.deadline);
        let heartbeat = options.and_then(|it| it.heartbeat);
        let input = options.map_or_else(
            || Input::Seen(variables(live, live.state.waits[&wait].token, work, &[])),
            |it| Input::Called(Arc::clone(&it.input)),
        );
        let given = Arc::new(Given {
            job,
            job_type: Name::clone(&work.job_type),
            business_id: live.created.business_id.clone(),
            idempotency_key: options.map(|it| Name::clone(&it.idempotency_key)),
            wants_result: options.is_some_and(|it| !it.brings_variables),
            number: done.saturating_add(1),
            details: self.attempts.details.get(&key).cloned(),
            is_timed: timeout.or(heartbeat).is_some() || deadline.is_some(),
            deadline,
            input,
            off: AtomicBool::new(false),
            news: Notify::new(),
        });
        let attempt = Attempt {
            timeout,
            deadline,
            ends: None,
            heartbeat,
            is_limited: live.work[&wait].limit.is_some(),
            given: Arc::clone(&given),
            outcome: None,
        };
        self.agenda.quarantine.activity_begins(job);
        let replaced = self.attempts.all.insert(key, attempt);
        debug_assert!(replaced.is_none(), "a job that someone is at is not up");
        given
    }

    /// A worker begins with an attempt: its time runs from now on.
    pub(crate) fn attempt_begins(&mut self, given: &Arc<Given>) {
        let now = self.now;
        let Some(attempt) = self.attempt(given) else { return };
        let timeout = attempt.timeout.map(|it| now.after(it));
        attempt.ends = timeout.into_iter().chain(attempt.deadline).min();
        self.set_attempt_alarm(given.job);
    }

    /// A worker is alive, and this far.
    pub(crate) fn beat(&mut self, given: &Arc<Given>, details: Value) {
        if self.attempt(given).is_some() {
            let job = given.job;
            self.attempts.details.insert(job, details);
            self.set_attempt_alarm(job);
        }
    }

    /// The attempt that whoever was given this makes, if it is still that one.
    fn attempt(&mut self, given: &Arc<Given>) -> Option<&mut Attempt> {
        let attempt = self.attempts.all.get_mut(&given.job)?;
        (Arc::ptr_eq(&attempt.given, given) && attempt.outcome.is_none()).then_some(attempt)
    }

    fn set_attempt_alarm(&mut self, job: Address) {
        let Some(attempt) = self.attempts.all.get(&job) else { return };
        let silent = attempt.heartbeat.map(|it| self.now.after(it));
        if let Some(due) = attempt.ends.into_iter().chain(silent).min() {
            let alarm = Alarm::Attempt(job);
            self.alarms.set(due, alarm);
        }
    }

    /// An attempt has come to its end. One that nobody waits for any more counts for nothing. Where
    /// the instance cannot hear of it now, it does as soon as it can.
    pub(super) fn end_attempt(
        &mut self,
        given: Arc<Given>,
        outcome: AttemptOutcome,
    ) -> Result<(), Error> {
        if self.attempt(&given).is_none() {
            return Ok(());
        }
        self.agenda.quarantine.begin_outcome(given.job);
        let (job, wants_result) = (given.job, given.wants_result);
        drop(given);
        let outcome = outcome.map(|value| self.results(value, wants_result));
        self.apply_outcome(job, outcome)
    }

    /// What an activity brings: a result to a function, variables to a process.
    fn results(&self, value: Value, wants_result: bool) -> Assignments {
        match value {
            Value::Null if !wants_result => Vec::new(),
            Value::Map(map) if !wants_result => assignments(&map),
            value => vec![(Name::clone(&self.attempts.result), value)],
        }
    }

    fn apply_outcome(
        &mut self,
        job: Address,
        outcome: AttemptOutcome<Assignments>,
    ) -> Result<(), Error> {
        let told =
            self.with(job.instance, |shard, live| shard.apply_outcome_to(live, job, outcome));
        match told {
            // It may have been withdrawn while it was made.
            Err(Error::Rejected(_)) => Ok(()),
            Err(Error::NoSuchInstance(_)) => {
                self.forget_attempt(job);
                Ok(())
            }
            told => told,
        }
    }

    fn apply_outcome_to(
        &mut self,
        live: &mut Live,
        job: Address,
        outcome: AttemptOutcome<Assignments>,
    ) -> Result<(), Error> {
        let key = job;
        if live.is_deaf(job.wait) {
            if let Some(attempt) = self.attempts.all.get_mut(&key) {
                attempt.outcome = Some(outcome);
                if std::mem::take(&mut attempt.is_limited) {
                    self.env.board.leave(job);
                }
            }
            self.alarms.unset(Alarm::Attempt(key));
            return Ok(());
        }
        self.forget_attempt(key);
        match outcome {
            Ok(variables) => {
                live.ready()?;
                match self.turn(live, Command::Complete { wait: job.wait, variables }) {
                    Err(Error::Rejected(why @ Rejection::TooMuch { .. })) => {
                        let much = format!("it brings too much: {why}");
                        let failure = Failure::terminal(Failure::ENCODE, much);
                        self.attempt_failed(live, job.wait, &failure, None)
                    }
                    told => told,
                }
            }
            Err(failed) => self.attempt_failed(live, job.wait, &failed.0, failed.1),
        }
    }

    /// Whether an attempt is being made at a job, or has been and was not heard of. In that case the
    /// instance hears of it in a moment, if it can hear again.
    pub(super) fn is_attempted(&mut self, live: &mut Live, wait: WaitId) -> bool {
        let key = live.address(wait);
        let Some(attempt) = self.attempts.all.get(&key) else { return false };
        let has_outcome = attempt.outcome.is_some();
        live.take(wait);
        if has_outcome && !live.is_deaf(wait) {
            self.alarms.set(self.now, Alarm::Attempt(key));
        }
        true
    }

    fn attempt_failed(
        &mut self,
        live: &mut Live,
        wait: WaitId,
        failure: &Failure,
        retry: Option<Retry>,
    ) -> Result<(), Error> {
        live.ready()?;
        let work = live.job(wait);
        let retries = work.map_or(1, |it| it.retries);
        let options = work.and_then(|it| it.options.as_deref());
        let all = options.map_or(retries, |it| it.attempts);
        let policy = options.map(policy).or(retry).unwrap_or_default();
        let deadline = options.and_then(|it| it.deadline);
        let (mut code, mut message) = (failure.code.as_str(), failure.message.clone());
        if failure.retryable && retries > 1 {
            let failed = all.saturating_sub(retries).saturating_add(1);
            let pause = policy.delay(failed);
            let next = self.now.after(pause);
            if deadline.is_none_or(|it| next < it) {
                let retries = Some(retries - 1);
                let failure = JobFailure::new(&failure.to_string());
                return self.fail_live(
                    live,
                    wait,
                    JobFailure { retries, backoff: pause, ..failure },
                );
            }
            code = Failure::TIMEOUT;
            message = format!("not done by its deadline; last it was {failure}");
        }
        let code = Some(Name::from(code));
        self.turn(live, Command::Raise { wait, code, message, variables: Vec::new() })
    }

    /// An attempt has taken too long, or was silent for too long; or it has ended, and the instance can
    /// hear of that now.
    pub(super) fn attempt_rang(&mut self, key: Address) {
        let now = self.now;
        let Some(attempt) = self.attempts.all.get_mut(&key) else { return };
        let outcome = attempt.outcome.take().unwrap_or_else(|| {
            let late = if attempt.ends.is_some_and(|it| it <= now) {
                "the attempt took too long"
            } else {
                "the activity has not been heard of for too long"
            };
            attempt.given.call_off();
            Err(Box::new((Failure::new(Failure::TIMEOUT, late), None)))
        });
        let job = key;
        if let Err(error) = self.apply_outcome(job, outcome) {
            tracing::warn!(%job, %error, "the outcome of an activity could not be told");
        }
    }

    /// Nobody needs an attempt any more.
    pub(super) fn call_off_attempt(&mut self, id: InstanceId, wait: WaitId) {
        self.attempts.details.remove(&Address { instance: id, wait });
        self.forget_attempt(Address { instance: id, wait });
    }

    pub(super) fn forget_attempt(&mut self, key: Address) {
        let Some(attempt) = self.attempts.all.remove(&key) else { return };
        if attempt.is_limited {
            self.env.board.leave(key);
        }
        attempt.given.call_off();
        self.alarms.unset(Alarm::Attempt(key));
        self.agenda.quarantine.activity_ends(key);
    }

    /// Nobody hears of the attempts for an instance any more.
    pub(super) fn forget_attempts(&mut self, instance: InstanceId) {
        let of = |key: &&Address| key.instance == instance;
        let keys: Vec<Address> = self.attempts.all.keys().filter(of).copied().collect();
        for key in keys {
            self.forget_attempt(key);
        }
    }
}

/// How an activity is tried again, as the call says. A call that says nothing means what is usual.
fn policy(options: &JobOptions) -> Retry {
    let Some(Backoff { initial, factor, max }) = options.backoff else { return Retry::default() };
    Retry { initial, factor, max_delay: max, ..Retry::default() }
}
