//! Work for workers and for people.

use std::{
    fmt::{self, Write as _},
    time::Duration,
};

use travertine_kernel::{
    Assignments, Command, Failure, FailureKind, Job, Rejection, Slot, TokenId, View, Wait, WaitId,
    plan::{Events, WorkKind},
};
use travertine_store::record::{Edit, Record, TaskChange};
use travertine_value::{Map, Name, Value};

use super::{
    Shard,
    alarm::Alarm,
    guard::step,
    live::{AT_ONCE, Live, Work, field},
    outbox::Release,
};
use crate::{Address, DefinitionKey, Error, InstanceId, Timestamp, is_own};

/// The header of a listener's job that says on what it is called.
const LISTENER: &str = "listener";

/// How a worker has a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lease {
    /// Until then. It is remembered after a crash.
    Until {
        /// Who has it.
        worker: Name,
        /// When it is offered to others again.
        until: Timestamp,
    },
    /// As long as this process lives.
    Process,
}

/// A job that a worker has been given.
///
/// ```no_run
/// # use std::time::Duration;
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// for job in engine.activate("paint", "worker-1", 10, Duration::from_mins(1), &[]).await? {
///     println!("{}: {} tries left", job.job, job.retries);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Activated {
    /// What it is called.
    pub job: Address,
    /// Which workers can do it.
    pub job_type: Name,
    /// The token that waits for it.
    pub token: TokenId,
    /// The id of what the instance runs.
    pub definition: Name,
    /// The version of that.
    pub version: u32,
    /// The key of that version.
    pub definition_key: DefinitionKey,
    /// The outermost caller of the instance; the instance itself where nobody has called it.
    pub root: InstanceId,
    /// What people call the instance.
    pub business_id: Option<Name>,
    /// The tags of the instance.
    pub tags: Vec<Name>,
    /// The trace that the instance was started in, as a W3C `traceparent`.
    pub trace: Option<Name>,
    /// The element's id in the model.
    pub element: Name,
    /// Which visit to the element it is, as [`Named::Visit`](crate::Named::Visit) numbers them.
    pub visit: u64,
    /// On what the listener is called whose job it is, such as `start`; nothing where it is the element's own
    /// work.
    pub listener: Option<Name>,
    /// How often it may still fail, this time included.
    pub retries: u32,
    /// Greater comes first.
    pub priority: i64,
    /// What the model says of it.
    pub headers: Assignments,
    /// The key that all attempts of one call share, where a function has asked for the job.
    pub idempotency_key: Option<Name>,
    /// The variables that its token sees.
    pub variables: Assignments,
    /// Until when the worker has it.
    pub until: Option<Timestamp>,
    /// About how many bytes it has as JSON, where the worker has said how many there may be; else 0.
    pub bytes: usize,
}

/// What a worker says of a job that it could not do.
///
/// ```
/// # use std::time::Duration;
/// # use travertine_runtime::JobFailure;
/// let failure = JobFailure { backoff: Duration::from_secs(5), ..JobFailure::new("no paint left") };
/// assert_eq!(failure.retries, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFailure {
    /// How often it may be tried again; one time less than before where nothing is said. At 0 it becomes an
    /// incident.
    pub retries: Option<u32>,
    /// After how long it is offered again.
    pub backoff: Duration,
    /// What went wrong.
    pub message: String,
    /// Variables for the next try: they are the element's own, and go with it unless they are mapped.
    pub variables: Assignments,
    /// Whether it is refused where the job may not be tried any more, or has an incident: then nobody has it who
    /// could say so.
    pub strict: bool,
}

impl JobFailure {
    /// A failure after which the job is tried again at once, if it may be.
    ///
    /// ```
    /// # use travertine_runtime::JobFailure;
    /// assert!(JobFailure::new("no paint left").backoff.is_zero());
    /// ```
    pub fn new(message: &str) -> Self {
        Self { message: message.to_owned(), ..Self::default() }
    }
}

/// What someone changes of a job. `None` leaves it as it is.
///
/// ```
/// # use travertine_runtime::JobChange;
/// let change = JobChange { retries: Some(3), ..JobChange::default() };
/// assert_eq!(change.priority, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobChange {
    /// How often it may still fail, at least once. Where nobody has it, it is offered at once.
    pub retries: Option<u32>,
    /// For how long from now the worker that has it keeps it.
    pub lease: Option<Duration>,
    /// Greater comes first.
    pub priority: Option<i64>,
}

/// Refuses what the engine does itself: what it says is all that others know of it.
pub(super) fn for_others(live: &Live, wait: WaitId) -> Result<(), Error> {
    if is_own(&live.definition.id) {
        let asked = "be answered by anybody but the engine";
        return Err(Rejection::WrongWait { wait, asked }.into());
    }
    Ok(())
}

impl Shard {
    /// Gives a job to a worker; `None` where nobody may have it now. Only the variables with these
    /// names are handed out, or all where none is named.
    pub(super) fn lease(
        &mut self,
        job: Address,
        lease: &Lease,
        names: &[Name],
    ) -> Option<Activated> {
        let leased = self.with(job.instance, |shard, live| {
            if !shard.may_begin(live, job.wait) {
                return Ok(None);
            }
            let until = shard.hold_job(live, job.wait, lease);
            Ok(Some(activated(live, job.wait, names, until)))
        });
        leased.unwrap_or_else(|_| {
            self.leave_if_free(job);
            None
        })
    }

    /// A worker has a job from now on. Says until when, where there is an end to that.
    fn hold_job(&mut self, live: &mut Live, wait: WaitId, lease: &Lease) -> Option<Timestamp> {
        match lease {
            Lease::Until { worker, until } => {
                let worker = Name::clone(worker);
                self.learn(live, &[Record::Leased { wait, worker, until: *until }]);
                self.alarms.set(*until, Alarm::Job(live.address(wait)));
                Some(*until)
            }
            Lease::Process => {
                live.take(wait);
                None
            }
        }
    }

    /// Gives jobs to a worker elsewhere, in their order, as long as all of them have no more bytes than
    /// `bytes_max`. Those that nobody may have now are left out. One that has more by itself becomes an
    /// incident; the first that has more than is left goes back, and so do all after it.
    pub(super) fn lease_all(
        &mut self,
        jobs: &[Address],
        lease: &Lease,
        names: &[Name],
        bytes_max: Option<usize>,
    ) -> Vec<Activated> {
        let Some(bytes_max) = bytes_max else {
            return jobs.iter().filter_map(|job| self.lease(*job, lease, names)).collect();
        };
        let (mut given, mut left) = (Vec::new(), bytes_max);
        for (position, &job) in jobs.iter().enumerate() {
            let leased = self.with(job.instance, |shard, live| {
                if !shard.may_begin(live, job.wait) {
                    return Ok(None);
                }
                let given = activated(live, job.wait, names, None);
                let bytes = bytes(&given);
                let until =
                    if bytes <= left { shard.hold_job(live, job.wait, lease) } else { None };
                Ok(Some(Activated { until, bytes, ..given }))
            });
            match leased.ok().flatten() {
                Some(it) if it.bytes > bytes_max => {
                    self.keep_from_workers(job, it.bytes, bytes_max);
                }
                Some(it) if it.bytes > left => {
                    jobs[position..].iter().for_each(|job| self.offer_again(*job));
                    break;
                }
                Some(it) => {
                    left -= it.bytes;
                    given.push(it);
                }
                None => self.leave_if_free(job),
            }
        }
        given
    }

    /// Nobody has taken a job that was taken off the board. It goes up again where a worker may have it.
    pub(super) fn offer_again(&mut self, job: Address) {
        self.leave_if_free(job);
        // Of an instance that is gone there is nothing to offer.
        let _: Result<(), Error> = self.with(job.instance, |shard, live| {
            shard.offer(live, job.wait);
            Ok(())
        });
    }

    /// No worker can be given a job that is so large.
    fn keep_from_workers(&mut self, job: Address, bytes: usize, max: usize) {
        let size = |it: usize| u64::try_from(it).unwrap_or(u64::MAX);
        let kind = FailureKind::Oversized { bytes: size(bytes), max: size(max) };
        let failure = Box::new(Failure::of(kind));
        let command = Command::NotGiven { wait: job.wait, failure };
        let told = self.with(job.instance, |shard, live| {
            live.ready()?;
            shard.turn(live, command)
        });
        self.leave_if_free(job);
        if let Err(error) = told {
            tracing::warn!(%job, %error, "a job that is too large cannot be kept from workers");
        }
    }

    /// Puts jobs up again that a worker elsewhere has been given, until then, and will not do.
    pub(super) fn hand_back(&mut self, worker: &Name, jobs: &[(Address, Timestamp)]) {
        for (job, until) in jobs {
            let handed = self.with(job.instance, |shard, live| {
                let lease = live.work.get(&job.wait).and_then(|it| it.lease.as_ref());
                // Somebody else may have it by now.
                if lease.is_some_and(|(by, upto)| by == worker && upto == until) {
                    shard.learn(live, &[Record::Paused { wait: job.wait, until: AT_ONCE }]);
                    shard.offer(live, job.wait);
                }
                Ok(())
            });
            if let Err(error) = handed {
                tracing::debug!(%job, %error, "a job cannot be handed back");
            }
        }
    }

    /// A job or a user task is done, and nothing else. A `strict` caller does not complete what may not be
    /// tried any more.
    pub(super) fn complete_work(
        &mut self,
        work: Address,
        kind: WorkKind,
        strict: bool,
        variables: Assignments,
    ) -> Result<(), Error> {
        self.check_work(work, kind)?;
        if strict && kind == WorkKind::Job {
            self.check_retries(work)?;
        }
        self.complete(work, variables)
    }

    /// Refuses a job that may not be tried any more.
    pub(super) fn check_retries(&mut self, job: Address) -> Result<(), Error> {
        self.with(job.instance, |_, live| match live.job(job.wait) {
            Some(it) if it.retries == 0 => Err(Error::NoRetriesLeft(job)),
            _ => Ok(()),
        })
    }

    /// Refuses a job that stands still at an incident.
    pub(super) fn check_offered(&mut self, job: Address) -> Result<(), Error> {
        self.with(job.instance, |_, live| {
            let token = live.state.waits.get(&job.wait).map(|it| it.token);
            match token.filter(|it| live.state.incidents.contains_key(it)) {
                Some(token) => Err(Rejection::HasIncident(token).into()),
                None => Ok(()),
            }
        })
    }

    /// Refuses what is no open work of that kind, and what is the engine's own.
    pub(super) fn check_work(&mut self, work: Address, kind: WorkKind) -> Result<(), Error> {
        self.with(work.instance, |_, live| {
            live.ready()?;
            for_others(live, work.wait)?;
            let found = live.work.get(&work.wait).map(|it| it.kind);
            match found.ok_or(Rejection::NoSuchWait(work.wait))? {
                is if is != kind => Err(Error::WrongKind { work, is }),
                _ => Ok(()),
            }
        })
    }

    /// Changes a job: all of it, or nothing.
    pub(super) fn update_job(&mut self, job: Address, change: &JobChange) -> Result<(), Error> {
        self.check_work(job, WorkKind::Job)?;
        let (id, wait) = (job.instance, job.wait);
        let until = change.lease.map(|it| self.now.after(it));
        self.with(id, |shard, live| {
            let lease = live.work.get(&wait).and_then(|it| it.lease.clone());
            let mut records = Vec::new();
            if let Some(until) = until {
                let (worker, _) = lease.ok_or(Error::NotLeased(job))?;
                records.push(Record::Leased { wait, worker, until });
            }
            if change.priority.is_some() {
                let change = TaskChange { priority: change.priority, ..TaskChange::default() };
                records.push(Record::TaskChanged { wait, change });
            }
            // It is up with its priority of before.
            let before = live.work.get(&wait).filter(|it| it.is_up);
            let before = before.map(|it| live.any_offer(wait, it));
            if let Some(retries) = change.retries {
                shard.turn_with(live, Command::SetRetries { wait, retries }, records)?;
            } else {
                shard.learn(live, &records);
            }
            if let Some(until) = until {
                shard.alarms.set(until, Alarm::Job(Address { instance: id, wait }));
            }
            if change.priority.is_some() {
                if let Some(before) = before {
                    shard.outbox.release(Release::Withdraw(before));
                }
                shard.offer(live, wait);
            }
            Ok(())
        })
    }

    /// Whether a worker may have a job now. One that keeps a limit has begun with that.
    pub(super) fn may_begin(&mut self, live: &Live, wait: WaitId) -> bool {
        // Whoever took it off the board may have filled a limit.
        self.set_limit_alarm();
        let job = live.address(wait);
        let Some(offer) = live.offer(wait) else {
            if !self.attempts.has(job) && !live.is_held(wait) {
                self.env.board.leave(job);
            }
            return false;
        };
        let limit = offer.limit.as_ref();
        let may = limit.is_none_or(|it| self.env.board.enter(job, it, self.now));
        if !may {
            self.outbox.release(Release::Offer(offer));
        }
        may
    }

    /// A job keeps no limit that nobody is at.
    pub(super) fn leave_if_free(&mut self, job: Address) {
        self.set_limit_alarm();
        let is_held = |live: &Live| live.is_held(job.wait);
        if !self.attempts.has(job) && !self.in_memory_at(job.instance).is_some_and(is_held) {
            self.env.board.leave(job);
        }
    }

    /// Puts a job up again that a worker of this process does not do after all.
    pub(super) fn put_back(&mut self, job: Address) -> Result<(), Error> {
        self.with(job.instance, |shard, live| {
            live.put_back(job.wait);
            shard.forget_attempt(job);
            shard.offer(live, job.wait);
            Ok(())
        })
    }

    /// Lets a worker have its job for longer.
    pub(super) fn extend(&mut self, job: Address, until: Timestamp) -> Result<(), Error> {
        let (id, wait) = (job.instance, job.wait);
        self.with(id, |shard, live| {
            live.check_work(wait, WorkKind::Job)?;
            let Some((worker, _)) = live.work.get(&wait).and_then(|it| it.lease.clone()) else {
                return Err(Error::NotLeased(job));
            };
            shard.learn(live, &[Record::Leased { wait, worker, until }]);
            shard.alarms.set(until, Alarm::Job(Address { instance: id, wait }));
            Ok(())
        })
    }

    /// A job has failed. It is offered again after a pause, or becomes an incident
    /// where it may not be tried again. Without `retries` one try less is left.
    pub(super) fn fail(&mut self, job: Address, failure: JobFailure) -> Result<(), Error> {
        self.with(job.instance, |shard, live| shard.fail_live(live, job.wait, failure))
    }

    pub(super) fn fail_live(
        &mut self,
        live: &mut Live,
        wait: WaitId,
        failure: JobFailure,
    ) -> Result<(), Error> {
        let JobFailure { retries, backoff, message, variables, strict: _ } = failure;
        // Without one, nothing would tell it from a change of how often it may fail.
        let message =
            if message.is_empty() { "it failed, and said nothing".to_owned() } else { message };
        live.ready()?;
        let left = live.job(wait).map(|it| it.retries);
        let retries = retries.unwrap_or_else(|| left.unwrap_or(1).saturating_sub(1));
        let pause = retries > 0 && !backoff.is_zero();
        let until = self.now.after(backoff);
        let paused = Record::Paused { wait, until };
        self.turn_with(
            live,
            Command::Fail { wait, retries, message, variables },
            pause.then_some(paused).into_iter().collect(),
        )?;
        if pause {
            self.alarms.set(until, Alarm::Job(live.address(wait)));
        }
        Ok(())
    }

    /// Someone takes a user task, and nobody else can. Whoever has it may take it again.
    pub(super) fn claim_task(&mut self, task: Address, who: &Name) -> Result<(), Error> {
        self.with(task.instance, |shard, live| {
            live.check_work(task.wait, WorkKind::User)?;
            let fields = TaskFields::of(live, task.wait);
            if let Some(other) = fields.assignee.filter(|it| it != who) {
                return Err(Error::Claimed { task, by: other });
            }
            let assignee = Edit::Set(Name::clone(who));
            let change = TaskChange { assignee, ..TaskChange::default() };
            shard.learn(live, &[Record::TaskChanged { wait: task.wait, change }]);
            Ok(())
        })
    }

    /// Changes who does a user task, and until when.
    pub(super) fn change_task(&mut self, task: Address, change: TaskChange) -> Result<(), Error> {
        self.with(task.instance, |shard, live| {
            live.check_work(task.wait, WorkKind::User)?;
            shard.learn(live, &[Record::TaskChanged { wait: task.wait, change }]);
            Ok(())
        })
    }

    /// Offers a job that was never offered before.
    pub(super) fn offer_new(&mut self, live: &mut Live, wait: WaitId) {
        if self.offer(live, wait)
            && let Some(work) = live.work.get_mut(&wait)
        {
            work.is_up = false;
        }
    }

    /// Offers all work of an instance.
    pub(super) fn offer_all(&mut self, live: &mut Live) {
        let waits: Vec<WaitId> = live.work.keys().copied().collect();
        for wait in waits {
            self.offer(live, wait);
        }
    }

    /// Offers a job where a worker may have it, and takes the offer back where none may. Says whether
    /// it has gone straight to a worker, and not up.
    pub(super) fn offer(&mut self, live: &mut Live, wait: WaitId) -> bool {
        step("offer");
        if self.is_attempted(live, wait) {
            return false;
        }
        let Some(work) = live.work.get(&wait).filter(|it| it.kind == WorkKind::Job) else {
            return false;
        };
        let job = live.address(wait);
        let until = work.lease.as_ref().map_or(work.paused, |(_, until)| *until);
        if work.limit.is_some() && !live.is_held(wait) {
            self.env.board.leave(job);
        }
        let is_free = live.is_free(wait, work);
        if is_free
            && work.limit.is_none()
            && !self.agenda.quarantine.is_careful()
            && let Some(hand) = self.env.board.hand(&work.job_type)
        {
            self.alarms.unset(Alarm::Job(live.address(wait)));
            let given = self.prepare_attempt(live, wait);
            self.outbox.handing().add(hand, given);
            return true;
        }
        let offer = live.any_offer(wait, work);
        let release = if is_free { Release::Offer(offer) } else { Release::Withdraw(offer) };
        let alarm = Alarm::Job(live.address(wait));
        if until > AT_ONCE {
            self.alarms.set(until, alarm);
        } else {
            self.alarms.unset(alarm);
        }
        self.outbox.release(release);
        if let Some(work) = live.work.get_mut(&wait) {
            work.is_up = true;
        }
        false
    }

    /// Has this shard look at the limits when time gives room to one.
    pub(super) fn set_limit_alarm(&mut self) {
        if let Some(due) = self.env.board.due() {
            self.alarms.set(due, Alarm::Limit);
        }
    }

    /// Counts the jobs that workers have had since before the engine was opened.
    pub(super) fn count_leased(&mut self) {
        let job = |(_, alarm): &(Timestamp, Alarm)| match alarm {
            Alarm::Job(at) => Some(*at),
            _ => None,
        };
        let jobs: Vec<Address> = self.alarms.iter().filter_map(job).collect();
        for job in jobs {
            let Ok(live) = self.live(job.instance) else { continue };
            if let Some(work) = live.work.get(&job.wait).filter(|it| it.lease.is_some())
                && let Some(limit) = work.limit.clone()
            {
                self.env.board.hold(job, &limit);
            }
        }
    }

    /// A lease or a pause is over.
    pub(super) fn job_again(&mut self, id: InstanceId, wait: WaitId) {
        self.with_any(id, |shard, live| {
            if live.work.contains_key(&wait) {
                shard.learn(live, &[Record::Paused { wait, until: AT_ONCE }]);
                shard.offer(live, wait);
            }
        });
    }
}

/// What an answer has besides headers, variables and names.
const FIXED_BYTES: usize = 512;

/// About how many bytes a job has in an answer.
fn bytes(job: &Activated) -> usize {
    let mut count = Count(FIXED_BYTES);
    for (name, value) in job.headers.iter().chain(&job.variables) {
        // The name with quotes, a colon and a comma. Nothing that is counted is refused.
        count.0 += name.len() + 4;
        let _: fmt::Result = write!(count, "{value}");
    }
    let names = [&job.job_type, &job.definition, &job.element];
    let names = names.into_iter().chain(&job.business_id).chain(&job.tags);
    count.0 + names.map(|it| it.len()).sum::<usize>()
}

struct Count(usize);

impl fmt::Write for Count {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

fn activated(live: &Live, wait: WaitId, names: &[Name], until: Option<Timestamp>) -> Activated {
    let plan = &live.definition.plan;
    let Wait { token, slot, .. } = live.state.waits[&wait];
    let listener = || field(live.job(wait)?, LISTENER)?.as_str().map(Name::from);
    let job = live.job(wait).expect("only jobs are offered");
    Activated {
        job: live.address(wait),
        job_type: Name::clone(&job.job_type),
        token,
        definition: Name::clone(&live.definition.id),
        version: live.definition.version,
        definition_key: live.definition.key,
        root: live.root(),
        business_id: live.created.business_id.clone(),
        tags: live.tags().to_vec(),
        trace: live.labels.as_ref().and_then(|it| it.trace.clone()),
        listener: matches!(slot, Slot::Listener(..)).then(listener).flatten(),
        element: Name::clone(&plan.node(live.state.tokens[&token].node).name),
        visit: live.state.visit_of(token).unwrap_or(0),
        retries: job.retries,
        priority: live.work[&wait].priority,
        headers: job
            .fields
            .iter()
            .filter(|(it, _)| !travertine_bpmn::is_inner(it))
            .cloned()
            .collect(),
        idempotency_key: job.options.as_ref().map(|it| Name::clone(&it.idempotency_key)),
        variables: variables(live, token, job, names),
        until,
        bytes: 0,
    }
}

/// The variables with these names that whoever does a job sees, or all where none is named. One that a
/// function calls sees what it is called with.
pub(super) fn variables(live: &Live, token: TokenId, job: &Job, names: &[Name]) -> Assignments {
    if let Some(options) = &job.options {
        return assignments(&options.input);
    }
    let plan = &live.definition.plan;
    let mut all = View::new(plan, &live.state, token).all();
    let extras = plan.node(live.state.tokens[&token].node).extras.as_ref();
    let inputs = extras.map_or(&[][..], |it| &it.inputs);
    if plan.policy.events == Events::Strict && job.kind == WorkKind::Job && !inputs.is_empty() {
        all.retain(|(name, _)| inputs.iter().any(|(it, _)| it == name));
    }
    if !names.is_empty() {
        all.retain(|(name, _)| names.contains(name));
    }
    all
}

/// The fields of an object, as variables.
pub(super) fn assignments(map: &Map) -> Assignments {
    map.iter().map(|(name, value)| (Name::clone(name), value.clone())).collect()
}

/// Who does a user task and until when: what the model says, and what someone has changed since.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskFields {
    pub(super) assignee: Option<Name>,
    pub(super) candidate_users: Vec<Name>,
    pub(super) candidate_groups: Vec<Name>,
    pub(super) due: Option<Timestamp>,
    pub(super) follow_up: Option<Timestamp>,
    pub(super) priority: i64,
    pub(super) form: Option<Name>,
}

impl TaskFields {
    pub(super) fn of(live: &Live, wait: WaitId) -> Self {
        match (live.job(wait), live.work.get(&wait)) {
            (Some(job), Some(work)) => Self::of_work(job, work),
            _ => Self::default(),
        }
    }

    pub(super) fn of_work(job: &Job, work: &Work) -> Self {
        let change = work.change.as_deref().cloned().unwrap_or_default();
        let field = |name: &str| field(job, name);
        let text = |name: &str| field(name).and_then(Value::as_str).map(Name::from);
        Self {
            assignee: change.assignee.apply(|| text("assignee")),
            candidate_users: change
                .candidate_users
                .unwrap_or_else(|| texts(field("candidateUsers"))),
            candidate_groups: change
                .candidate_groups
                .unwrap_or_else(|| texts(field("candidateGroups"))),
            due: change.due.apply(|| date(field("dueDate"), work.since)),
            follow_up: change.follow_up.apply(|| date(field("followUpDate"), work.since)),
            priority: change.priority.unwrap_or(work.priority),
            form: text("form"),
        }
    }
}

/// A list of texts, or a text with commas.
fn texts(value: Option<&Value>) -> Vec<Name> {
    match value {
        Some(Value::List(items)) => {
            items.iter().filter_map(Value::as_str).map(Name::from).collect()
        }
        Some(Value::String(text)) => {
            text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(Name::from).collect()
        }
        _ => Vec::new(),
    }
}

/// A date, or a duration from when the task began. What is neither is for people only.
fn date(value: Option<&Value>, since: Timestamp) -> Option<Timestamp> {
    use travertine_value::time::{Timer, due};
    let text = value?.as_str()?;
    let due = due(Timer::Date, text, since).or_else(|_| due(Timer::Duration, text, since));
    due.ok().map(|it| it.at)
}
