//! An instance in memory, and what is known of it outside the kernel.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use travertine_kernel::{
    Assignments, Command, Ending, Event, Identity, Instance, Job, LayerId, Phase, Plan, Raised,
    Reason, Rejection, Table, TokenId, WaitFor, WaitId, Why,
    plan::{Container, Element, Node, WorkKind},
    why,
};
use travertine_store::{
    Entry, Seq, ShardId,
    codec::record::decode_records,
    record::{Created, Labels, Letter, Record, Shared, TaskChange},
    view,
};
use travertine_value::{Name, Value};

use super::function::CachedSession;
use crate::{Address, Definition, DefinitionKey, Error, InstanceId, Timestamp, board::Offer};

/// An instance in memory.
#[derive(Debug)]
pub struct Live {
    /// Its name.
    pub id: InstanceId,
    /// How it came to be.
    pub created: Created,
    /// What its starter says of it, where it says anything.
    pub(super) labels: Option<Box<Labels>>,
    /// The elements after which it ends, where its starter wants that.
    pub(super) ends_after: Option<Box<[Name]>>,
    /// What it runs.
    pub definition: Arc<Definition>,
    /// The kernel's state.
    pub state: Instance,
    /// Whether someone has stopped it for a while.
    pub suspended: bool,
    /// Why the engine gave it up.
    pub halted: Option<String>,
    /// Whether the engine failed within a turn, so that its state is not what the log says.
    pub(super) torn: bool,
    /// Why what is stored of it cannot be read. It has no state then, and is halted.
    pub(super) damage: Option<Error>,
    /// What it will be told as soon as it can hear it.
    pub(super) deferred: Vec<Letter>,
    /// Its waits for work.
    pub(super) work: Table<WaitId, Work>,
    /// Timers that someone has moved.
    pub(super) moved: BTreeMap<WaitId, Timestamp>,
    /// Which messages for all it has had, by name.
    pub(super) heard: BTreeMap<Name, Had>,
    /// The id of the definition that it began as, where nothing else tells that any more.
    pub(super) began_as: Option<Name>,
    /// The last entry about it.
    pub(super) last: Seq,
    /// The entry after which its snapshot was taken.
    pub(super) snapshot: Seq,
    /// How many bytes the snapshot has.
    pub(super) snapshot_size: usize,
    /// How many bytes the entries since then have.
    pub(super) tail: usize,
    /// When the last entry was written.
    pub(super) at: Timestamp,
    /// What has changed since its rows were written.
    pub(super) touched: Touched,
    /// Rows of what is over since then.
    pub(super) past: Vec<view::Row>,
    /// The greatest name of anything that has a row; 0 where nothing has.
    pub(super) rowed: u64,
    /// The greatest name of anything so far.
    pub(super) named: u64,
    /// Layers that have another name than the token that owns them.
    pub(super) opened: BTreeMap<TokenId, Vec<LayerId>>,
    /// When it was last used, for forgetting it.
    pub(super) used: u64,
    /// Its calls, by the position of the run, or the number of the operation, that calls; 0 for all
    /// others.
    pub(super) calls: BTreeMap<WaitId, u32>,
    /// Its waits for messages and signals that another shard finds receivers for.
    pub(super) subscribed: BTreeMap<WaitId, ShardId>,
    /// How many turns it has taken since anyone asked something of it.
    pub(super) turns: u32,
    /// How many timers that were due at once have rung since then.
    pub(super) hurries: u32,
    /// Whether the timer that rings was due when it was set.
    pub(super) hurry: bool,
    /// Timers that were due when they were set.
    pub(super) hurried: BTreeSet<WaitId>,
    /// How many instances have started one another up to this one, by what they sent. A chain is quick, so
    /// nobody need know after a restart.
    pub(super) generation: u32,
    /// The tokens whose incidents have rows.
    pub(super) broken: BTreeSet<u64>,
    /// Its code, where it is a function that has thought lately.
    pub(super) session: CachedSession,
}

/// Messages of a name for all that an instance has had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Had {
    /// All up to this number count as had.
    pub(super) after: u64,
    /// Those with greater numbers, in order.
    pub(super) had: Vec<u64>,
}

/// Why an instance cannot go on without help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Where.
    pub token: TokenId,
    /// What is wrong.
    pub message: String,
}

/// What stands for the end of a pause where there is none.
pub(super) const AT_ONCE: Timestamp = Timestamp::from_millis(0);

/// A wait for work.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) kind: WorkKind,
    pub(super) job_type: Name,
    pub(super) priority: i64,
    /// The limit that it keeps: `class` or `class/key`.
    pub(super) limit: Option<Name>,
    /// Since when.
    pub(super) since: Timestamp,
    /// Who has it, and until when.
    pub(super) lease: Option<(Name, Timestamp)>,
    /// Whether a worker of this process has it.
    pub(super) taken: bool,
    /// Whether it may be up, or on its way up.
    pub(super) is_up: bool,
    /// When it is offered again, or [`AT_ONCE`].
    pub(super) paused: Timestamp,
    /// What someone has changed of it.
    pub(super) change: Option<Box<TaskChange>>,
}

/// What has changed since rows were written, as it came: most instances end before anyone asks. As long
/// as nothing has a row, only of tokens must anything be known; all the rest gets rows.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Whether anything has.
    pub(super) any: bool,
    pub(super) tokens: Vec<(TokenId, Timestamp)>,
    /// With the table that the row of a closed wait may be in.
    pub(super) waits: Vec<(WaitId, Option<view::Table>)>,
    pub(super) gone_layers: Vec<LayerId>,
    pub(super) variables: Vec<(LayerId, Name)>,
    pub(super) incidents: Vec<TokenId>,
}

/// What stands for a definition that cannot be read, so that rows keep its name.
pub(super) fn unknown_definition(key: DefinitionKey, id: Name, version: u32) -> Definition {
    let root = Node::new("unknown", None, Element::Process(Container::default()));
    let plan = Arc::new(Plan::new(vec![root], Vec::new()));
    Definition { key, id, tag: None, version, deployment: 0, plan, starts: Vec::new() }
}

impl Live {
    pub(super) fn new(id: InstanceId, created: Created, definition: Arc<Definition>) -> Self {
        Self {
            id,
            created,
            labels: None,
            ends_after: None,
            definition,
            state: Instance::default(),
            suspended: false,
            halted: None,
            torn: false,
            damage: None,
            deferred: Vec::new(),
            work: Table::default(),
            moved: BTreeMap::new(),
            heard: BTreeMap::new(),
            last: 0,
            snapshot: 0,
            snapshot_size: 0,
            tail: 0,
            at: Timestamp::default(),
            touched: Touched::default(),
            past: Vec::new(),
            rowed: 0,
            named: 0,
            began_as: None,
            opened: BTreeMap::new(),
            used: 0,
            calls: BTreeMap::new(),
            subscribed: BTreeMap::new(),
            turns: 0,
            hurries: 0,
            hurry: false,
            hurried: BTreeSet::new(),
            generation: 0,
            broken: BTreeSet::new(),
            session: CachedSession::default(),
        }
    }

    /// An instance of which nothing can be read.
    pub(super) fn unknown(id: InstanceId) -> Self {
        let created = Created {
            definition: DefinitionKey::NONE,
            business_id: None,
            caller: None,
            root: InstanceId::NONE,
            depth: 0,
        };
        Self::new(
            id,
            created,
            Arc::new(unknown_definition(DefinitionKey::NONE, "unknown".into(), 0)),
        )
    }

    /// Takes over what an entry says besides what the kernel knows, as far as it can be read.
    pub(super) fn learn_readable(&mut self, entry: &Entry) {
        for record in decode_records(&entry.body).iter().flatten() {
            self.learn(record);
        }
        self.last = entry.seq;
        self.at = entry.at;
    }

    /// Refuses what cannot be told to it now.
    pub(super) fn ready(&self) -> Result<(), Error> {
        if let Some(reason) = &self.halted {
            return Err(Error::Halted { instance: self.id, reason: reason.clone() });
        }
        if self.has_ended() {
            return Err(Rejection::Ended.into());
        }
        if self.suspended {
            return Err(Error::Suspended(self.id));
        }
        Ok(())
    }

    /// Refuses what is not for a wait for work of that kind.
    pub(super) fn check_work(&self, wait: WaitId, kind: WorkKind) -> Result<(), Error> {
        self.ready()?;
        match self.work.get(&wait) {
            Some(work) if work.kind == kind => Ok(()),
            _ => Err(Rejection::NoSuchWait(wait).into()),
        }
    }

    /// Counts its turns in a row, and those of its timers that were due when they were set.
    pub(super) fn count_turn(&mut self, command: &Command) {
        if *command == Command::Continue {
            self.turns += 1;
        } else if matches!(command, Command::Delivered { .. }) {
            // What it sent itself is no reason to think that it has come to rest.
        } else if !self.state.is_unfinished() {
            self.turns = 0;
            self.hurries = if self.hurry { self.hurries + 1 } else { 0 };
        }
    }

    /// The call that it answers, where it was called.
    pub fn caller(&self) -> Option<Address> {
        self.created.caller
    }

    /// Why its tokens rest. Timers that someone has moved are due when that one said, and work that has
    /// failed is offered again after its pause.
    pub fn reasons(&self) -> Vec<Reason> {
        let mut reasons = why(&self.definition.plan, &self.state);
        for reason in &mut reasons {
            match &mut reason.why {
                Why::Timer { wait, due, .. } => {
                    if let Some(moved) = self.moved.get(wait) {
                        *due = *moved;
                    }
                }
                Why::Work { wait, again, .. } => {
                    let paused = self.work.get(wait).map(|it| it.paused);
                    *again = paused.filter(|it| *it != AT_ONCE);
                }
                _ => {}
            }
        }
        reasons
    }

    /// Whether it was started by a call of another instance.
    pub fn is_called(&self) -> bool {
        self.created.caller.is_some()
    }

    /// Who the instance is, for scripts that ask.
    pub(super) fn introduction(&self) -> Identity {
        Identity { id: Some(self.id.0), business_key: self.created.business_id.clone() }
    }

    /// What people call it.
    pub fn business_id(&self) -> Option<&str> {
        self.created.business_id.as_deref()
    }

    /// Its tags.
    pub fn tags(&self) -> &[Name] {
        self.labels.as_ref().map_or(&[], |it| &it.tags)
    }

    /// Everything that needs an operator.
    pub fn troubles(&self) -> Vec<Trouble> {
        let incidents = self.state.incidents.iter();
        let trouble = |(token, it): (&TokenId, &Raised)| Trouble {
            token: *token,
            message: it.failure.to_string(),
        };
        incidents.map(trouble).collect()
    }

    /// What it runs, as the kernel sees it.
    pub fn plan(&self) -> &Plan {
        &self.definition.plan
    }

    /// How far it is.
    pub fn phase(&self) -> &Phase {
        &self.state.phase
    }

    /// The process's own variables. They stay after the end.
    pub fn variables(&self) -> impl Iterator<Item = (&Name, &Value)> {
        self.state.variables().into_iter().flatten()
    }

    /// What it hands on: a process all of these, a function its result.
    pub fn result(&self) -> Assignments {
        let handed_on = |name: &str| {
            !self.definition.is_function()
                || name == "result" && self.state.phase == Phase::Ended(Ending::Completed)
        };
        let all = self.variables().filter(|(name, _)| handed_on(name));
        all.map(|(name, value)| (Name::clone(name), value.clone())).collect()
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self.state.phase, Phase::Ended(_))
    }

    /// A worker of this process has a job from now on.
    pub(super) fn take(&mut self, job: WaitId) {
        if let Some(work) = self.work.get_mut(&job) {
            work.taken = true;
        }
    }

    /// A worker of this process does not do a job after all.
    pub(super) fn put_back(&mut self, job: WaitId) {
        if let Some(work) = self.work.get_mut(&job) {
            work.taken = false;
        }
    }

    /// Whether a worker of this process has one of its jobs, which only memory knows.
    pub(super) fn is_at_work(&self) -> bool {
        self.work.iter().any(|(_, it)| it.taken)
    }

    /// Whether a worker has a job.
    pub(super) fn is_held(&self, job: WaitId) -> bool {
        self.work.get(&job).is_some_and(|it| it.taken || it.lease.is_some())
    }

    /// Whether it has ended and no entry will follow on that one.
    pub(super) fn is_over(&self, last: Seq) -> bool {
        self.has_ended() && self.last == last && self.state.posts.is_empty()
    }

    /// Whether it is halted, though its state is what the log says.
    pub(super) fn is_sound(&self) -> bool {
        self.halted.is_some() && !self.torn && self.damage.is_none() && !self.has_ended()
    }

    /// Whether nothing of it has to be kept besides the kernel's state.
    pub(super) fn is_plain(&self) -> bool {
        !self.suspended
            && self.halted.is_none()
            && self.damage.is_none()
            && self.deferred.is_empty()
            && self.work.is_empty()
            && self.moved.is_empty()
            && self.heard.is_empty()
            && self.began_as.is_none()
            && self.labels.is_none()
            && self.ends_after.is_none()
            && self.calls.is_empty()
            && self.subscribed.is_empty()
    }

    pub(super) fn address(&self, wait: WaitId) -> Address {
        Address { instance: self.id, wait }
    }

    /// The outermost caller.
    pub(super) fn root(&self) -> InstanceId {
        if self.created.root == InstanceId::NONE { self.id } else { self.created.root }
    }

    /// The work that `wait` waits for.
    pub(super) fn job(&self, wait: WaitId) -> Option<&Job> {
        match &*self.state.waits.get(&wait)?.on {
            WaitFor::Work(job) => Some(job),
            WaitFor::Timer { .. }
            | WaitFor::Message { .. }
            | WaitFor::Signal { .. }
            | WaitFor::Condition
            | WaitFor::Data { .. }
            | WaitFor::Delivery(_)
            | WaitFor::Child { .. }
            | WaitFor::Gate(_)
            | WaitFor::Choice => None,
        }
    }

    /// The offer of a job, where a worker may have it now.
    pub(super) fn offer(&self, wait: WaitId) -> Option<Offer> {
        let work = self.work.get(&wait).filter(|it| self.is_free(wait, it))?;
        Some(self.any_offer(wait, work))
    }

    /// Whether a worker may have that work now.
    pub(super) fn is_free(&self, wait: WaitId, work: &Work) -> bool {
        work.kind == WorkKind::Job
            && work.lease.is_none()
            && !work.taken
            && work.paused == AT_ONCE
            && !self.is_deaf(wait)
            && self.job(wait).is_some_and(|it| it.retries > 0)
    }

    /// Whether it cannot hear now what it waits for.
    pub(super) fn is_deaf(&self, wait: WaitId) -> bool {
        self.suspended || self.halted.is_some() || self.is_broken(wait)
    }

    /// Whether whoever waits has an incident, which comes first.
    pub(super) fn is_broken(&self, wait: WaitId) -> bool {
        let token = self.state.waits.get(&wait).map(|it| it.token);
        token.is_some_and(|it| self.state.incidents.contains_key(&it))
    }

    /// Its timers, and when each is due.
    pub(super) fn timers(&self) -> impl Iterator<Item = (WaitId, Timestamp)> {
        self.state.waits.iter().filter_map(|(wait, it)| match &*it.on {
            WaitFor::Timer { due, .. } => {
                Some((*wait, self.moved.get(wait).copied().unwrap_or(*due)))
            }
            _ => None,
        })
    }

    /// What is true once it has had a message for all.
    pub(super) fn after_hearing(&self, name: &Name, it: Shared) -> Record {
        let Had { after, mut had } = self.heard.get(name).cloned().unwrap_or_default();
        let after = after.max(it.upto);
        if let Err(place) = had.binary_search(&it.number) {
            had.insert(place, it.number);
        }
        had.retain(|it| *it > after);
        Record::Heard { name: Name::clone(name), after, had }
    }

    /// The work that may be done again after these events, or may not any more.
    pub(super) fn reconsidered(&self, events: &[Event]) -> Vec<WaitId> {
        let mut waits = Vec::new();
        for event in events {
            if let Event::RetriesSet { wait, .. } | Event::WorkFailed { wait, .. } = event {
                waits.push(*wait);
            } else if let Event::IncidentRaised { token, .. } | Event::IncidentResolved { token } =
                event
                && let Some(token) = self.state.tokens.get(token)
            {
                waits.extend(token.waits.keys().copied());
            }
        }
        waits
    }

    pub(super) fn any_offer(&self, wait: WaitId, work: &Work) -> Offer {
        Offer {
            job_type: Name::clone(&work.job_type),
            priority: work.priority,
            since: work.since,
            job: self.address(wait),
            limit: work.limit.clone(),
        }
    }
}

impl Work {
    /// Nobody has it any more.
    pub(super) fn free(&mut self) {
        self.lease = None;
        self.taken = false;
        self.paused = AT_ONCE;
    }

    pub(super) fn new(job: &Job, since: Timestamp) -> Self {
        let (priority, limit) = match &job.options {
            Some(options) => (options.priority, options.limit.clone()),
            // What a model says of work is no header. Of user tasks the priority is a field like others.
            None => (
                field(job, travertine_bpmn::JOB_PRIORITY)
                    .or_else(|| field(job, "priority").filter(|_| job.kind == WorkKind::User))
                    .and_then(Value::as_i64),
                field(job, travertine_bpmn::JOB_LIMIT).and_then(Value::as_str).map(Name::from),
            ),
        };
        Self {
            kind: job.kind,
            job_type: Name::clone(&job.job_type),
            priority: priority.unwrap_or(0),
            limit,
            since,
            lease: None,
            taken: false,
            is_up: true,
            paused: AT_ONCE,
            change: None,
        }
    }
}

/// What the model says of work.
pub(super) fn field<'a>(job: &'a Job, name: &str) -> Option<&'a Value> {
    job.fields.iter().find(|(it, _)| &**it == name).map(|(_, value)| value)
}
