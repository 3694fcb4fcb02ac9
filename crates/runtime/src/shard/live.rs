//! An instance in memory, and what is known of it outside the kernel.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use travertine_kernel::{
    Assignments, Command, Ending, Event, Identity, Incident, Instance, Job, LayerId, NodeId, Phase,
    Plan, ROOT, ROOT_LAYER, Reads, Reason, Rejection, Role, Slot, State, Table, TokenId, Wait,
    WaitFor, WaitId, Why, apply,
    plan::{Container, Element, Node, WorkKind},
    why,
};
use travertine_store::{
    Entry, Seq, ShardId,
    codec::record::{
        Created, Folded, Letter, Record, Shared, Snapshot, TaskChange, decode_records,
    },
    codec::{DecodeError, EncodeError, decode_instance, encode_instance},
    view,
};
use travertine_value::{Name, Value};

use super::function::Mind;
use crate::{Address, Definition, Error, InstanceId, Timestamp, board::Offer};

/// An instance in memory.
#[derive(Debug)]
pub struct Live {
    /// Its name.
    pub id: InstanceId,
    /// How it came to be.
    pub created: Created,
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
    pub(super) moved: BTreeMap<WaitId, i64>,
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
    pub(super) at: i64,
    /// What has changed since its rows were written.
    pub(super) touched: Touched,
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
    pub(super) broken: BTreeSet<TokenId>,
    /// Its code, where it is a function that has thought lately.
    pub(super) mind: Mind,
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

/// A wait for work.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) kind: WorkKind,
    pub(super) job_type: Name,
    pub(super) priority: i64,
    /// The limit that it keeps: `class` or `class/key`.
    pub(super) limit: Option<Name>,
    /// Since when.
    pub(super) since: i64,
    /// Who has it, and until when.
    pub(super) lease: Option<(Name, i64)>,
    /// Whether a worker of this process has it.
    pub(super) taken: bool,
    /// Whether it may be up, or on its way up.
    pub(super) is_up: bool,
    /// When it is offered again; 0 for at once.
    pub(super) paused: i64,
    /// What someone has changed of it.
    pub(super) change: Option<Box<TaskChange>>,
}

/// What has changed since rows were written, as it came: most instances end before anyone asks. As long
/// as nothing has a row, only of tokens must anything be known; all the rest gets rows.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Whether anything has.
    pub(super) any: bool,
    pub(super) tokens: Vec<(TokenId, i64)>,
    /// With the table that the row of a closed wait may be in.
    pub(super) waits: Vec<(WaitId, Option<view::Table>)>,
    pub(super) gone_layers: Vec<LayerId>,
    pub(super) variables: Vec<(LayerId, Name)>,
    pub(super) incidents: Vec<TokenId>,
}

/// What stands for a definition that cannot be read, so that rows keep its name.
pub(super) fn unknown_definition(key: u64, id: Name, version: u32) -> Definition {
    let root = Node::new("unknown", None, Element::Process(Container::default()));
    let plan = Arc::new(Plan::new(vec![root], Vec::new()));
    Definition { key, id, tag: None, version, deployment: 0, plan, starts: Vec::new() }
}

impl Live {
    pub(super) fn new(id: u64, created: Created, definition: Arc<Definition>) -> Self {
        Self {
            id: InstanceId(id),
            created,
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
            at: 0,
            touched: Touched::default(),
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
            mind: Mind::default(),
        }
    }

    /// An instance of which nothing can be read.
    pub(super) fn unknown(id: u64) -> Self {
        let created = Created { definition: 0, business_id: None, caller: None, root: 0, depth: 0 };
        Self::new(id, created, Arc::new(unknown_definition(0, "unknown".into(), 0)))
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
        } else if self.state.is_unfinished() {
            // It has not come to rest. What it sent itself is no reason to think that it has.
            self.turns += u32::from(matches!(command, Command::Delivered { .. }));
        } else {
            self.turns = 0;
            self.hurries = if self.hurry { self.hurries + 1 } else { 0 };
        }
    }

    /// The call that it answers, where it was called.
    pub fn caller(&self) -> Option<Address> {
        self.created.caller.map(Address::new)
    }

    /// Why its tokens rest. Timers that someone has moved are due when that one said, and work that has
    /// failed is offered again after its pause.
    pub fn reasons(&self) -> Vec<Reason> {
        let mut reasons = why(&self.definition.plan, &self.state);
        for reason in &mut reasons {
            match &mut reason.why {
                Why::Timer { wait, due, .. } => {
                    if let Some(moved) = self.moved.get(wait) {
                        *due = Timestamp::from_millis(*moved);
                    }
                }
                Why::Work { wait, again, .. } => {
                    let paused = self.work.get(wait).map_or(0, |it| it.paused);
                    *again = (paused != 0).then(|| Timestamp::from_millis(paused));
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

    /// Everything that needs an operator.
    pub fn troubles(&self) -> Vec<Trouble> {
        let incidents = self.state.incidents.iter();
        let trouble = |(token, it): (&TokenId, &Incident)| Trouble {
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
            && self.calls.is_empty()
            && self.subscribed.is_empty()
    }

    pub(super) fn address(&self, wait: WaitId) -> Address {
        Address { instance: self.id, wait }
    }

    /// The outermost caller.
    pub(super) fn root(&self) -> u64 {
        if self.created.root == 0 { self.id.0 } else { self.created.root }
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
            && work.paused == 0
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

    /// Takes note of what has happened. The kernel's state is as it is after all of it.
    pub(super) fn note(&mut self, at: i64, events: &[Event]) {
        self.at = at;
        let has_rows = self.rowed > 0;
        for event in events {
            match event {
                Event::TokenCreated { token, layer, .. } => {
                    self.name_given(token.0);
                    self.touched.token(*token, at);
                    if let Reads::Own(_) = layer {
                        let id = LayerId(token.0);
                        let owner = self.state.layers.get(&id).map(|it| it.owner);
                        if let Some(owner) = owner.filter(|it| it != token) {
                            self.opened.entry(owner).or_default().push(id);
                        }
                    }
                }
                Event::TokenMoved { token, .. }
                | Event::TokenState { token, .. }
                | Event::TokenParked { token, .. }
                | Event::TokenPromoted { token }
                | Event::TokenRetired { token }
                | Event::TokenRecalled { token, .. }
                | Event::BranchArrived { token } => self.touched.token(*token, at),
                Event::Migrated { .. } => {
                    // Everything may have another name.
                    let tokens = self.state.tokens.keys();
                    self.touched.tokens.extend(tokens.map(|token| (*token, at)));
                    for wait in self.state.waits.keys() {
                        self.touched.waits.push((*wait, None));
                    }
                    self.touched.incidents.extend(self.state.incidents.keys().copied());
                }
                Event::TokenGone { token, .. } => {
                    self.touched.token(*token, at);
                    let opened = self.opened.remove(token).into_iter().flatten();
                    if has_rows {
                        self.touched.gone_layers.push(LayerId(token.0));
                        self.touched.gone_layers.extend(opened);
                    }
                }
                Event::LayerOpened { token, layer } => {
                    self.name_given(layer.0);
                    self.opened.entry(*token).or_default().push(*layer);
                }
                Event::LayerClosed { token } => {
                    let closed = self.opened.get_mut(token).and_then(Vec::pop);
                    self.touched.gone_layers.extend(closed.filter(|_| has_rows));
                }
                Event::VariableSet { layer, name, .. } | Event::VariableRemoved { layer, name }
                    if has_rows =>
                {
                    self.touched.variables.push((*layer, Name::clone(name)));
                }
                Event::WaitOpened { wait, token, on, .. } => {
                    self.name_given(wait.0);
                    if has_rows {
                        self.touched.waits.push((*wait, None));
                    }
                    self.note_wait(*wait, *token, on, at);
                }
                Event::RetriesSet { wait, retries } => {
                    self.touched.waits.push((*wait, None));
                    match self.work.get_mut(wait) {
                        Some(work) if *retries == 0 => work.free(),
                        // Whoever has it goes on with it.
                        Some(work) => work.paused = 0,
                        None => {}
                    }
                }
                Event::WorkFailed { wait, .. } => {
                    self.touched.waits.push((*wait, None));
                    if let Some(work) = self.work.get_mut(wait) {
                        work.free();
                    }
                }
                Event::WaitClosed { wait } => {
                    let table = match self.work.get(wait).map(|it| it.kind) {
                        Some(WorkKind::Job) => view::Table::Jobs,
                        Some(WorkKind::User) => view::Table::Tasks,
                        None => view::Table::Timers,
                    };
                    if has_rows {
                        self.touched.waits.push((*wait, Some(table)));
                    }
                    self.moved.remove(wait);
                }
                Event::IncidentRaised { token, .. } | Event::IncidentResolved { token } => {
                    self.touched.incidents.push(*token);
                    self.touched.token(*token, at);
                    // What the code of a function stumbles over is not what others do for it.
                    let is_of_work = self.state.journal.is_none();
                    for wait in
                        self.state.tokens.get(token).into_iter().flat_map(|it| it.waits.keys())
                    {
                        self.touched.waits.push((*wait, None));
                        if let Some(work) = self.work.get_mut(wait).filter(|_| is_of_work) {
                            work.free();
                        }
                    }
                }
                // These change nothing that has a row.
                _ => {}
            }
        }
    }

    fn note_wait(&mut self, wait: WaitId, token: TokenId, on: &WaitFor, at: i64) {
        if let WaitFor::Work(job) = on {
            self.work.insert(wait, Work::new(job, at));
        } else if let WaitFor::Child { .. } = on {
            let role = self.state.tokens.get(&token).map(|it| it.role);
            let slot = self.state.waits.get(&wait).map(|it| it.slot);
            let run = match (role, slot) {
                (Some(Role::Run(run)), _) | (_, Some(Slot::Operation(run))) => run,
                _ => 0,
            };
            self.calls.insert(wait, run);
        }
    }

    /// Takes note that rows tell of its incidents as they are. Answers with those that are over.
    pub(super) fn incidents_over(&mut self) -> Vec<TokenId> {
        let now = self.state.incidents.keys().copied().collect();
        let before = std::mem::replace(&mut self.broken, now);
        before.difference(&self.broken).copied().collect()
    }

    /// Forgets what was known of waits that are over.
    pub(super) fn forget_closed(&mut self, events: &[Event]) {
        for event in events {
            if let Event::WaitClosed { wait } = event {
                self.work.remove(wait);
                self.calls.remove(wait);
            }
        }
    }

    /// All rows must be written again.
    pub(super) fn touch_all(&mut self) {
        let tokens = self.state.tokens.keys().map(|it| (*it, self.at));
        self.touched.tokens.extend(tokens);
        self.touched.all_but_tokens(&self.state);
    }

    /// Gives up what it does not need after its end. It is kept until its row is stored.
    pub(super) fn rest(&mut self) {
        self.touched = Touched { any: self.touched.any, ..Touched::default() };
        if self.work.is_empty() {
            self.work = Table::default();
        }
    }

    /// Its timers, and when each is due.
    pub(super) fn timers(&self) -> impl Iterator<Item = (WaitId, i64)> {
        self.state.waits.iter().filter_map(|(wait, it)| match &*it.on {
            WaitFor::Timer { due, .. } => {
                Some((*wait, self.moved.get(wait).copied().unwrap_or(due.as_millis())))
            }
            _ => None,
        })
    }

    fn name_given(&mut self, name: u64) {
        self.named = self.named.max(name);
    }

    /// Takes note of a record that does not come from the kernel.
    pub(super) fn learn(&mut self, record: &Record) {
        match record {
            Record::Suspended => self.suspended = true,
            Record::Resumed => self.suspended = false,
            Record::Halted(reason) => self.halted = Some(reason.clone()),
            Record::Released => self.halted = None,
            Record::Deferred(letter) => self.deferred.push(letter.clone()),
            Record::Recalled => self.deferred.clear(),
            Record::Leased { wait, worker, until } => {
                self.touched.waits.push((WaitId(*wait), None));
                if let Some(work) = self.work.get_mut(&WaitId(*wait)) {
                    work.lease = Some((Name::clone(worker), *until));
                }
            }
            Record::Paused { wait, until } => {
                self.touched.waits.push((WaitId(*wait), None));
                if let Some(work) = self.work.get_mut(&WaitId(*wait)) {
                    work.lease = None;
                    work.paused = *until;
                }
            }
            Record::TaskChanged { wait, change } => {
                self.touched.waits.push((WaitId(*wait), None));
                if let Some(work) = self.work.get_mut(&WaitId(*wait)) {
                    work.change.get_or_insert_default().merge(change.clone());
                }
            }
            Record::TimerMoved { wait, due } => {
                self.touched.waits.push((WaitId(*wait), None));
                self.moved.insert(WaitId(*wait), *due);
            }
            Record::Heard { name, after, had } => {
                let had = Had { after: *after, had: had.clone() };
                self.heard.insert(Name::clone(name), had);
            }
            Record::BeganAs { definition } => self.began_as = Some(Name::clone(definition)),
            // The definition itself is found by whoever has them all.
            Record::Created(_)
            | Record::Happened(_)
            | Record::Migrated { .. }
            | Record::Folded(_)
            | Record::Held(_)
            | Record::Gone { .. }
            | Record::Known { .. }
            | Record::Recognised { .. }
            | Record::Subscribed(_)
            | Record::Unsubscribed { .. }
            | Record::Noted { .. }
            | Record::Unnoted { .. }
            | Record::StartTimer(_)
            | Record::Ended(_) => {}
        }
    }

    /// Is what is left of an instance that someone has ended while it was halted, whatever it was before.
    pub(super) fn end_by(&mut self, at: i64, folded: &Folded) {
        let gone = Self::new(self.id.0, folded.created.clone(), Arc::clone(&self.definition));
        let Self { last, snapshot, snapshot_size, tail, used, began_as, .. } = self;
        *self = Self {
            last: *last,
            snapshot: *snapshot,
            snapshot_size: *snapshot_size,
            tail: *tail,
            used: *used,
            began_as: began_as.take(),
            touched: std::mem::take(&mut self.touched),
            // It may have rows of whatever it had.
            rowed: u64::MAX,
            ..gone
        };
        self.replay(at, &unfolded(folded));
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

    /// Replays what has happened.
    pub(super) fn replay(&mut self, at: i64, events: &[Event]) {
        for event in events {
            apply(&mut self.state, event);
        }
        self.note(at, events);
        if self.has_ended() {
            // Others were given it in the same batch.
            self.deferred.clear();
        }
    }

    /// All that a snapshot keeps.
    pub(super) fn to_snapshot(&self) -> Result<Snapshot, EncodeError> {
        let mut records = Vec::new();
        if self.suspended {
            records.push(Record::Suspended);
        }
        records.extend(self.halted.iter().map(|it| Record::Halted(it.clone())));
        records.extend(self.deferred.iter().map(|it| Record::Deferred(it.clone())));
        for (&WaitId(wait), work) in &self.work {
            if let Some((worker, until)) = &work.lease {
                let worker = Name::clone(worker);
                records.push(Record::Leased { wait, worker, until: *until });
            }
            if work.paused != 0 {
                records.push(Record::Paused { wait, until: work.paused });
            }
            if let Some(change) = &work.change {
                records.push(Record::TaskChanged { wait, change: (**change).clone() });
            }
        }
        let moved = self.moved.iter();
        records.extend(moved.map(|(wait, due)| Record::TimerMoved { wait: wait.0, due: *due }));
        records.extend(self.heard.iter().map(|(name, it)| Record::Heard {
            name: Name::clone(name),
            after: it.after,
            had: it.had.clone(),
        }));
        let mut state = Vec::new();
        encode_instance(&self.state, &mut state)?;
        Ok(Snapshot {
            created: self.created.clone(),
            definition: self.definition.key,
            records,
            since: self.work.iter().map(|(wait, it)| (wait.0, it.since)).collect(),
            state,
        })
    }

    /// The instance as a snapshot says.
    pub(super) fn of_snapshot(
        id: u64,
        snapshot: &Snapshot,
        definition: Arc<Definition>,
    ) -> Result<Self, DecodeError> {
        let mut live = Self::new(id, snapshot.created.clone(), definition);
        live.state = decode_instance(&snapshot.state)?;
        let since: BTreeMap<u64, i64> = snapshot.since.iter().copied().collect();
        let waits: Vec<(WaitId, Wait)> =
            live.state.waits.iter().map(|(id, wait)| (*id, wait.clone())).collect();
        for (wait, it) in waits {
            live.name_given(wait.0);
            let since = since.get(&wait.0).copied().unwrap_or(0);
            live.note_wait(wait, it.token, &it.on, since);
        }
        for (layer, it) in &live.state.layers {
            live.named = live.named.max(layer.0);
            if it.owner.0 != layer.0 {
                live.opened.entry(it.owner).or_default().push(*layer);
            }
        }
        live.named = live.state.tokens.iter().map(|(it, _)| it.0).fold(live.named, u64::max);
        snapshot.records.iter().for_each(|it| live.learn(it));
        Ok(live)
    }
}

impl Touched {
    fn token(&mut self, token: TokenId, at: i64) {
        match self.tokens.last_mut() {
            Some(last) if last.0 == token => last.1 = at,
            _ => self.tokens.push((token, at)),
        }
    }

    pub(super) fn all_but_tokens(&mut self, state: &Instance) {
        self.waits.extend(state.waits.keys().map(|it| (*it, None)));
        self.incidents.extend(state.incidents.keys().copied());
        for (layer, it) in &state.layers {
            let names = it.variables.keys().map(|name| (*layer, Name::clone(name)));
            self.variables.extend(names);
        }
    }
}

impl Work {
    /// Nobody has it any more.
    fn free(&mut self) {
        self.lease = None;
        self.taken = false;
        self.paused = 0;
    }

    fn new(job: &Job, since: i64) -> Self {
        let priority = field(job, "priority").and_then(Value::as_i64).unwrap_or(0);
        Self {
            kind: job.kind,
            job_type: Name::clone(&job.job_type),
            priority,
            limit: field(job, "limit").and_then(Value::as_str).map(Name::from),
            since,
            lease: None,
            taken: false,
            is_up: true,
            paused: 0,
            change: None,
        }
    }
}

/// What the model says of work.
pub(super) fn field<'a>(job: &'a Job, name: &str) -> Option<&'a Value> {
    job.fields.iter().find(|(it, _)| &**it == name).map(|(_, value)| value)
}

/// The events that lead to what is kept of an ended instance.
pub(crate) fn unfolded(folded: &Folded) -> Vec<Event> {
    let started = Timestamp::from_millis(folded.started);
    let mut events = vec![
        Event::Started { at: started, start: Vec::new(), caller: None },
        Event::TokenCreated {
            token: ROOT,
            node: NodeId(0),
            scope: None,
            via: None,
            role: Role::Flow,
            layer: Reads::Own(None),
            status: None,
        },
    ];
    let variables = folded.variables.iter().cloned();
    events.extend(variables.map(|(name, value)| Event::VariableSet {
        layer: ROOT_LAYER,
        name,
        value,
    }));
    events.push(Event::TokenGone { token: ROOT, state: State::Done });
    events.push(Event::Finished { ending: folded.ending.clone() });
    events
}
