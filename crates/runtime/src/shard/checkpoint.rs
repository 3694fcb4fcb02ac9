//! The rows of what has changed, for people and for the next start.

use std::collections::{BTreeMap, BTreeSet};

use travertine_kernel::{
    Assignments, Cue, ElementKind, Ending, Layer, LayerId, NodeId, Phase, ROOT, Role, Slot, State,
    Token, TokenId, Wait, WaitFor, WaitId,
    plan::{Moment, Node},
};
use travertine_store::{
    Claim, Error as StoreError, Fold, Seq, Store,
    codec::record::{encode_held, encode_shard, encode_snapshot, encode_subscription},
    record::{Noted, ShardState, StartKey, SubscriptionKind},
    view::{
        self, Change, ElementRow, IncidentRow, InstanceRow, InstanceState, JobRow, JobState, Key,
        MessageRow, Row, SubscriptionRow, Table, TaskRow, TaskState, TimerRow, VariableRow,
    },
};
use travertine_value::{Map, Name, Value, time::Timestamp};

use super::{
    Shard,
    job::TaskFields,
    live::{AT_ONCE, Live, field},
    start::name_of,
};
use crate::InstanceId;
use crate::message::{MessageKey, shown};

/// What brings the rows of a shard up to date.
#[derive(Debug)]
pub struct Checkpoint {
    /// The entry after which the rows are so. It must be durable before they are stored.
    pub upto: Seq,
    /// What the shard knows besides.
    pub state: Vec<u8>,
    /// The rows.
    pub changes: Vec<Change>,
    /// Entries of the log that go once they are stored.
    pub folds: Vec<Fold>,
}

impl Checkpoint {
    /// Stores it, by right of a claim.
    pub fn store(&self, store: &dyn Store, claim: &Claim) -> Result<(), StoreError> {
        store.checkpoint(claim, self.upto, &self.state, &self.changes)?;
        // A store that is near lets others write in between.
        let at_once = if store.is_near() { 1 } else { FOLDS_AT_ONCE };
        lots(&self.folds, at_once).into_iter().try_for_each(|it| fold(store, claim, it))
    }
}

/// How many instances are shortened or deleted with one statement of a store behind a network.
const FOLDS_AT_ONCE: usize = 64;

/// Folds in order, so many at a time, and each entry at one time only: a fold begins with what another one has left.
fn lots(folds: &[Fold], at_once: usize) -> Vec<&[Fold]> {
    let (mut lots, mut from, mut of) = (Vec::new(), 0, BTreeSet::new());
    for (at, fold) in folds.iter().enumerate() {
        if of.len() == at_once || of.contains(&fold.last) {
            lots.push(&folds[from..at]);
            from = at;
            of.clear();
        }
        of.insert(fold.last);
    }
    if from < folds.len() {
        lots.push(&folds[from..]);
    }
    lots
}

fn fold(store: &dyn Store, claim: &Claim, folds: &[Fold]) -> Result<(), StoreError> {
    match store.fold(claim, folds) {
        // One may have gone before a crash that the rows did not survive. The others are to go all the same.
        Err(StoreError::NoSuchEntry { .. } | StoreError::Corrupt { .. }) if folds.len() > 1 => {
            folds.iter().try_for_each(|it| fold(store, claim, std::slice::from_ref(it)))
        }
        Ok(()) | Err(StoreError::NoSuchEntry { .. }) => Ok(()),
        // Nobody needs them any more.
        Err(error @ StoreError::Corrupt { .. }) => {
            tracing::error!(%error, "entries of an ended instance stay");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

impl Shard {
    /// How many instances have changed since the last checkpoint.
    pub(crate) fn changed(&self) -> usize {
        self.views.dirty.len()
    }

    /// Whether anything has changed since the last checkpoint.
    pub(crate) fn is_behind(&self) -> bool {
        self.outbox.seq != self.views.checkpointed || !self.starts.changed.is_empty()
    }

    /// The rows of all that has changed since the last checkpoint; `None` where nothing has.
    pub fn checkpoint(&mut self) -> Option<Checkpoint> {
        if !self.is_behind() {
            return None;
        }
        self.views.checkpointed = self.outbox.seq;
        let mut changes = self.views.hand_over();
        // Most have one.
        changes.reserve(self.views.dirty.len() * 3 / 2);
        self.instances.closing.hand_over(&mut changes);
        for id in std::mem::take(&mut self.views.dirty) {
            let Some(live) = self.instances.lives.get_mut(&id) else { continue };
            instance_rows(live, self.env.settings.snapshot_bytes, &mut changes);
            if live.has_ended() {
                self.instances.ended.push_back((live.last, id));
            }
        }
        for start in std::mem::take(&mut self.starts.changed) {
            changes.push(self.start_timer_row(start));
        }
        for number in std::mem::take(&mut self.messages.fresh_held) {
            let held = self.messages.held.get(number).expect("a fresh message is held");
            changes.push(Change::Put(Row::Message(message_row(held))));
        }
        for number in std::mem::take(&mut self.messages.fresh_known) {
            let (MessageKey { name, receiver, id }, until) = &self.messages.known_until[&number];
            changes.push(Change::Put(Row::Message(MessageRow {
                id: number,
                name: Name::clone(name),
                message_id: Some(Name::clone(id)),
                correlation: Name::clone(receiver),
                body: Vec::new(),
                published: self.now,
                expires: Some(*until),
                dead: None,
                reason: None,
            })));
        }
        for address in std::mem::take(&mut self.messages.fresh_waiting) {
            let it = self.messages.waiting.get(address).expect("a fresh subscription waits");
            let mut body = Vec::new();
            if let Err(error) = encode_subscription(it, &mut body) {
                tracing::error!(%error, "a subscription cannot be stored");
            }
            changes.push(Change::Put(Row::Subscription(SubscriptionRow {
                instance: it.instance.0,
                wait: it.wait.0,
                keeper: self.id(),
                kind: match it.kind {
                    SubscriptionKind::Message => view::SubscriptionKind::Message,
                    SubscriptionKind::Signal => view::SubscriptionKind::Signal,
                },
                name: Name::clone(&it.name),
                element: Name::clone(&it.element),
                correlation: json(&shown(&it.correlation)),
                body,
                created: it.since,
            })));
        }
        let mut state = Vec::new();
        if let Err(error) = encode_shard(&self.shard_state(), &mut state) {
            tracing::error!(%error, "the state of the shard cannot be stored");
        }
        let folds = std::mem::take(&mut self.views.folds);
        Some(Checkpoint { upto: self.outbox.seq, state, changes, folds })
    }

    /// A checkpoint is stored.
    pub fn stored(&mut self, upto: Seq) {
        for id in self.views.are_stored(upto) {
            // It may have been read since, when there was more of it.
            self.instances.forget_ended(id, upto);
        }
        self.instances.stored(upto);
        self.evict();
    }

    fn shard_state(&self) -> ShardState {
        ShardState {
            instances: self.instances.count,
            messages: self.messages.count.max(self.messages.recorded),
            noted: self
                .starts
                .noted
                .iter()
                .flat_map(|(start, all)| all.iter().map(|it| (*start, it.clone())))
                .map(|(start, variables)| Noted { start, variables })
                .collect(),
            timers: self.starts.timers.values().cloned().collect(),
            unfinished: self.agenda.unfinished.iter().copied().collect(),
        }
    }

    fn start_timer_row(&self, start: StartKey) -> Change {
        let wait = self.id().instance(name_of(start), self.env.shards);
        let stands = !self.alarms.is_set(super::alarm::Alarm::Start(start));
        let timer = self.starts.timers.get(&start).filter(|_| !stands).and_then(|it| it.due);
        let definition = self.env.definitions.get(start.definition);
        match (timer, definition) {
            (Some(due), Some(definition)) => Change::Put(Row::Timer(TimerRow {
                instance: 0,
                wait,
                definition: Name::clone(&definition.id),
                element: Name::clone(&definition.plan.node(NodeId(start.node)).name),
                visit: 0,
                due,
                body: Vec::new(),
            })),
            _ => Change::Delete(Table::Timers, key(InstanceId::NONE, wait)),
        }
    }
}

fn key(instance: InstanceId, number: u64) -> Key {
    Key { instance: instance.0, number, name: "".into() }
}

pub(super) fn instance_rows(live: &mut Live, snapshot_bytes: usize, changes: &mut Vec<Change>) {
    let mut touched = std::mem::take(&mut live.touched);
    changes.extend(live.past.drain(..).map(Change::Put));
    let row = instance_row(live);
    if live.halted.is_some() {
        // Its state is not to be believed; the other rows stay as they were.
        live.touched = super::live::Touched { any: false, ..touched };
        changes.push(Change::Put(Row::Instance(row)));
        return;
    }
    if live.has_ended() {
        if live.rowed > 0 {
            changes.push(Change::Clear(live.id.0));
        }
        changes.push(Change::Put(Row::Instance(row)));
        return;
    }
    if live.rowed == 0 {
        touched.all_but_tokens(&live.state);
    }
    let had = |number: u64| number <= live.rowed;
    changes.push(Change::Put(Row::Instance(row)));
    for (token, since) in touched.tokens.into_iter().collect::<BTreeMap<_, _>>() {
        match element_row(live, token, since) {
            Some(row) => changes.push(Change::Put(Row::Element(row))),
            None if had(token.0) => {
                changes.push(Change::Delete(Table::Elements, key(live.id, token.0)));
            }
            None => {}
        }
    }
    for (wait, closed) in touched.waits.into_iter().collect::<BTreeMap<_, _>>() {
        match (wait_row(live, wait), closed) {
            (Some(row), _) => changes.push(Change::Put(row)),
            (None, Some(table)) if had(wait.0) => {
                changes.push(Change::Delete(table, key(live.id, wait.0)));
            }
            (None, _) => {}
        }
    }
    for layer in touched.gone_layers.into_iter().collect::<BTreeSet<_>>() {
        if had(layer.0) && !live.state.layers.contains_key(&layer) {
            changes.push(Change::DeleteLayer(live.id.0, layer.0));
        }
    }
    for (layer, name) in touched.variables.into_iter().collect::<BTreeSet<_>>() {
        let found = live.state.layers.get(&layer);
        match found.map(|it| variable_row(live, layer, it, &name)) {
            Some(Some(row)) => changes.push(Change::Put(row)),
            Some(None) if had(layer.0) => {
                let key = Key { instance: live.id.0, number: layer.0, name };
                changes.push(Change::Delete(Table::Variables, key));
            }
            _ => {}
        }
    }
    for token in touched.incidents.into_iter().collect::<BTreeSet<_>>() {
        changes.extend(incident_row(live, token).map(Change::Put));
    }
    // A token takes its incident along when it goes.
    for number in live.incidents_over() {
        changes.push(Change::Delete(Table::Incidents, key(live.id, number)));
    }
    if live.tail > snapshot_bytes.max(live.snapshot_size) {
        snapshot(live, changes);
    }
    live.rowed = live.named;
}

/// The tail of its log has outgrown the snapshot.
fn snapshot(live: &mut Live, changes: &mut Vec<Change>) {
    let mut body = Vec::new();
    let written = live.to_snapshot().and_then(|it| encode_snapshot(&it, &mut body));
    if let Err(error) = written {
        tracing::error!(instance = live.id.0, %error, "an instance has no snapshot");
        return;
    }
    live.snapshot = live.last;
    live.snapshot_size = body.len();
    live.tail = 0;
    changes.push(Change::Snapshot { instance: live.id.0, seq: live.last, body });
}

pub(super) fn instance_row(live: &Live) -> InstanceRow {
    let (state, reason) = match (&live.state.phase, &live.halted) {
        (_, Some(reason)) => (InstanceState::Halted, Some(Name::from(reason.as_str()))),
        (Phase::Ended(Ending::Completed), _) => (InstanceState::Completed, None),
        (Phase::Ended(Ending::Cancelled), _) => (InstanceState::Cancelled, None),
        (Phase::Ended(Ending::Failed(failure)), _) => {
            (InstanceState::Failed, Some(Name::from(failure.message.as_str())))
        }
        (Phase::New | Phase::Running, _) if live.suspended => (InstanceState::Suspended, None),
        (Phase::New | Phase::Running, _) => (InstanceState::Running, None),
    };
    let ended = live.has_ended() && live.halted.is_none();
    InstanceRow {
        id: live.id.0,
        business_id: live.created.business_id.clone(),
        definition_key: live.definition.key,
        definition: Name::clone(&live.definition.id),
        definition_name: live.definition.plan.node(NodeId(0)).label.clone(),
        version: live.definition.version,
        version_tag: live.definition.tag.clone(),
        state,
        started: live.state.started.unwrap_or(live.at),
        ended: ended.then_some(live.at),
        parent: live.created.caller.map(|it| (it.instance.0, it.wait.0)),
        root: live.root().0,
        incidents: u32::try_from(live.state.incidents.len()).unwrap_or(u32::MAX),
        reason,
        result: ended.then(|| json(&live.result())),
        tags: (!live.tags().is_empty()).then(|| list(live.tags())),
        last: live.last,
    }
}

/// Names as a list in JSON.
pub(super) fn list(names: &[Name]) -> Name {
    let items: Vec<Value> = names.iter().map(|it| Value::String(Name::clone(it))).collect();
    Value::from(items).to_json().into()
}

pub(super) fn element_row(live: &Live, token: TokenId, since: Timestamp) -> Option<ElementRow> {
    let it = live.state.tokens.get(&token)?;
    let is_there = match it.role {
        Role::Flow | Role::Run(_) | Role::Branch(_) => token != ROOT,
        // What stays to undo is nowhere, until it does.
        Role::Compensation => {
            let scope = it.scope.and_then(|it| live.state.scopes.get(&it));
            scope.is_some_and(|it| it.live.contains(&token))
        }
        Role::Guard(_) | Role::Start => false,
    };
    if !is_there {
        return None;
    }
    let node = live.definition.plan.node(it.node);
    Some(ElementRow {
        instance: live.id.0,
        token: token.0,
        visit: it.visit,
        element: Name::clone(&node.name),
        label: node.label.clone(),
        kind: kind_of(node, it),
        state: state_name(it.state).into(),
        scope: it.scope.map(|it| it.0),
        scope_visit: it.scope.map_or(0, |it| visit_of(live, it)),
        incident: live.state.incidents.get(&token).map(|it| it.number),
        since,
    })
}

/// What a token stands at: around the runs of an activity is its body.
fn kind_of(node: &Node, token: &Token) -> ElementKind {
    let around = node.repeat.is_some() && !matches!(token.role, Role::Run(_));
    if around { ElementKind::MultiInstanceBody } else { node.kind }
}

/// The visit that a token is on, or that what it waits for belongs to; 0 for the process itself.
fn visit_of(live: &Live, token: TokenId) -> u64 {
    live.state.visit_of(token).unwrap_or(0)
}

/// What people call the state of a token.
pub(crate) fn state_name(state: State) -> &'static str {
    match state {
        State::Created => "created",
        State::Arrived => "arrived",
        State::Ready => "ready",
        State::Entered => "entered",
        State::Busy => "busy",
        State::Completed => "completed",
        State::Exiting => "exiting",
        State::Departed => "departed",
        State::Waiting => "waiting",
        State::Done => "done",
        State::Failing => "failing",
        State::Failed => "failed",
        State::Withdrawn => "withdrawn",
    }
}

pub(super) fn variable_row(live: &Live, id: LayerId, layer: &Layer, name: &Name) -> Option<Row> {
    Some(Row::Variable(VariableRow {
        instance: live.id.0,
        layer: id.0,
        name: Name::clone(name),
        value: layer.variables.get(name)?.to_json().into(),
        number: layer.variables.number(name)?,
        visit: visit_of(live, layer.owner),
    }))
}

pub(super) fn incident_row(live: &Live, token: TokenId) -> Option<Row> {
    let incident = live.state.incidents.get(&token)?;
    let it = live.state.tokens.get(&token)?;
    let failed = failed_work(live, token);
    Some(Row::Incident(IncidentRow {
        instance: live.id.0,
        token: token.0,
        number: incident.number,
        visit: visit_of(live, token),
        element: Name::clone(&live.definition.plan.node(it.node).name),
        kind: incident.failure.kind.name().into(),
        part: incident.failure.place.as_ref().map(|it| it.part),
        wait: failed.map(|it| it.0),
        listener: failed.and_then(|it| listener(live, it)),
        code: incident.failure.code.clone(),
        message: incident.failure.message.as_str().into(),
        since: incident.since,
        ended: None,
        by: None,
    }))
}

/// The work that a token's incident is about: that which is offered again when it is resolved.
pub(super) fn failed_work(live: &Live, token: TokenId) -> Option<WaitId> {
    let incident = live.state.incidents.get(&token)?;
    let mut waits = live.state.tokens.get(&token)?.waits.keys();
    waits.find(|it| incident.redo == Cue::Offer && live.job(**it).is_some()).copied()
}

/// What a job is called on, where it is that of a listener.
fn listener(live: &Live, wait: WaitId) -> Option<Name> {
    listener_of(live.state.waits.get(&wait)?)
}

pub(super) fn listener_of(wait: &Wait) -> Option<Name> {
    let (Slot::Listener(moment, _), WaitFor::Work(job)) = (wait.slot, &*wait.on) else {
        return None;
    };
    // Models say it by a field of this name.
    let said = field(job, "listener").and_then(Value::as_str);
    Some(said.map_or_else(|| moment_name(moment).into(), Name::from))
}

fn moment_name(moment: Moment) -> &'static str {
    match moment {
        Moment::BeforeAll => "beforeAll",
        Moment::Start => "start",
        Moment::Completion => "completion",
        Moment::End => "end",
    }
}

/// The row of a wait. Those of a function are at what its code calls them, by the numbers of its
/// operations.
pub(super) fn wait_row(live: &Live, wait: WaitId) -> Option<Row> {
    let it = live.state.waits.get(&wait)?;
    let node = live.definition.plan.node(live.state.tokens.get(&it.token)?.node);
    let element = match it.slot {
        Slot::Operation(number) => {
            let key = live.state.journal.as_ref().and_then(|it| it.key(number));
            key.unwrap_or(&node.name)
        }
        Slot::Own(_) | Slot::Gate(_) | Slot::Listener(..) => &node.name,
    };
    let element = Name::clone(element);
    match &*it.on {
        WaitFor::Work(job) if job.kind == travertine_kernel::plan::WorkKind::Job => {
            let work = live.work.get(&wait)?;
            let failure = live.state.incidents.get(&it.token).map(|it| &it.failure);
            let (state, until, worker) = match &work.lease {
                _ if job.retries == 0 || live.is_broken(wait) => (JobState::Failed, None, None),
                Some((worker, until)) => {
                    (JobState::Leased, Some(*until), Some(Name::clone(worker)))
                }
                None => (JobState::Available, (work.paused > AT_ONCE).then_some(work.paused), None),
            };
            Some(Row::Job(JobRow {
                instance: live.id.0,
                wait: wait.0,
                token: it.token.0,
                visit: visit_of(live, it.token),
                element,
                job_type: Name::clone(&job.job_type),
                state,
                retries: job.retries,
                priority: work.priority,
                until,
                worker,
                headers: json(&job.fields),
                listener: listener(live, wait),
                error: failure
                    .map(|it| Name::from(it.message.as_str()))
                    .or_else(|| job.failure.clone()),
                error_code: failure.and_then(|it| it.code.clone()),
                created: work.since,
                ended: None,
                by: None,
            }))
        }
        WaitFor::Work(job) => {
            let fields = TaskFields::of_work(job, live.work.get(&wait)?);
            Some(Row::Task(TaskRow {
                instance: live.id.0,
                wait: wait.0,
                token: it.token.0,
                visit: visit_of(live, it.token),
                element,
                label: node.label.clone(),
                assignee: fields.assignee,
                candidate_users: list(&fields.candidate_users),
                candidate_groups: list(&fields.candidate_groups),
                due: fields.due,
                follow_up: fields.follow_up,
                priority: fields.priority,
                form: fields.form,
                fields: json(&job.fields),
                created: live.work.get(&wait).map_or(live.at, |it| it.since),
                state: TaskState::Open,
                ended: None,
                by: None,
            }))
        }
        WaitFor::Timer { due, .. } => Some(Row::Timer(TimerRow {
            instance: live.id.0,
            wait: wait.0,
            definition: Name::clone(&live.definition.id),
            element,
            visit: visit_of(live, it.token),
            due: live.moved.get(&wait).copied().unwrap_or(*due),
            body: Vec::new(),
        })),
        WaitFor::Message { .. }
        | WaitFor::Signal { .. }
        | WaitFor::Condition
        | WaitFor::Data { .. }
        | WaitFor::Delivery(_)
        | WaitFor::Child { .. }
        | WaitFor::Gate(_)
        | WaitFor::Choice => None,
    }
}

fn message_row(held: &travertine_store::record::Held) -> MessageRow {
    let mut body = Vec::new();
    if let Err(error) = encode_held(held, &mut body) {
        tracing::error!(%error, "a message cannot be stored");
    }
    MessageRow {
        id: held.number,
        name: Name::clone(&held.message.name),
        message_id: held.message.id.clone(),
        correlation: json(&shown(&held.message.correlation)),
        body,
        published: held.published,
        expires: held.expires,
        dead: held.dead.as_ref().map(|it| it.at),
        reason: held.dead.as_ref().map(|it| Name::clone(&it.reason)),
    }
}

/// Names and values as the text of a JSON object.
pub(crate) fn json(values: &Assignments) -> Name {
    if values.is_empty() {
        return "{}".into();
    }
    let map: Map = values.iter().cloned().collect();
    Value::from(map).to_json().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_go_together_unless_one_begins_with_what_another_one_leaves() {
        let folds = [1, 2, 3, 2, 4].map(|last| Fold { last, entry: None });
        let of = |at_once: usize| -> Vec<Vec<Seq>> {
            let lots = lots(&folds, at_once);
            lots.into_iter().map(|it| it.iter().map(|it| it.last).collect()).collect()
        };
        assert_eq!(of(1), [vec![1], vec![2], vec![3], vec![2], vec![4]]);
        assert_eq!(of(2), [vec![1, 2], vec![3, 2], vec![4]]);
        assert_eq!(of(64), [vec![1, 2, 3], vec![2, 4]]);
    }
}
