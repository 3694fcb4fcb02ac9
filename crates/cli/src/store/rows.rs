//! What rows of a store look like: for people, and as data. `docs/cli.md` promises the names of the
//! fields.

use travertine_runtime::{Address, InstanceId, Timestamp};
use travertine_store::view::{
    IncidentRow, InstanceRow, InstanceState, JobRow, JobState, MessageRow, Row, SubscriptionKind,
    SubscriptionRow, TaskRow, TimerRow,
};
use travertine_value::{Name, Value};

use super::grid::{Cell, Tone};
use crate::{args::words, clock, json, paint::Paint};

/// The columns of each kind of row.
pub(crate) const INSTANCES: &[&str] = &[
    "instance",
    "definition",
    "version",
    "id",
    "state",
    "incidents",
    "started",
    "ended",
    "caller",
];
pub(crate) const JOBS: &[&str] =
    &["job", "element", "type", "state", "retries", "priority", "worker", "until", "since"];
pub(crate) const TASKS: &[&str] =
    &["task", "element", "name", "assignee", "candidates", "due", "priority", "since"];
pub(crate) const TIMERS: &[&str] = &["timer", "definition", "element", "due", "in"];
pub(crate) const INCIDENTS: &[&str] = &["instance", "token", "element", "kind", "since", "message"];
pub(crate) const MESSAGES: &[&str] =
    &["message", "name", "id", "correlation", "published", "expires"];

pub(crate) const DEAD_LETTERS: &[&str] =
    &["message", "name", "id", "correlation", "published", "died", "reason"];

pub(crate) const SUBSCRIPTIONS: &[&str] =
    &["wait", "element", "kind", "name", "correlation", "since"];

/// A point in time, for people: in whole seconds.
pub(crate) fn at(millis: i64) -> String {
    Timestamp::from_millis(millis.div_euclid(1_000) * 1_000).to_string()
}

/// A point in time as data.
pub(crate) fn time(millis: i64) -> Value {
    Timestamp::from_millis(millis).to_string().into()
}

fn times(millis: Option<i64>) -> Value {
    millis.map(time).into()
}

fn name(text: &Name) -> Value {
    Name::clone(text).into()
}

/// A value that is kept as JSON.
fn kept(text: &str) -> Value {
    Value::parse_json(text).unwrap_or(Value::Null)
}

/// What people call a wait of an instance.
pub(crate) fn address(instance: u64, wait: u64) -> String {
    Address { instance: InstanceId(instance), wait: travertine_kernel::WaitId(wait) }.to_string()
}

fn text(it: Option<&Name>) -> String {
    it.map(ToString::to_string).unwrap_or_default()
}

fn tone(state: InstanceState) -> Tone {
    match state {
        InstanceState::Running => Tone::Busy,
        InstanceState::Suspended => Tone::Dim,
        InstanceState::Completed => Tone::Good,
        InstanceState::Halted | InstanceState::Failed | InstanceState::Cancelled => Tone::Bad,
    }
}

pub(crate) fn state_painted(state: InstanceState, paint: Paint) -> String {
    let word = words::of_state(state);
    match tone(state) {
        Tone::Good => paint.green(word),
        Tone::Bad => paint.red(word),
        Tone::Busy => paint.cyan(word),
        Tone::Dim => paint.dim(word),
        Tone::Plain | Tone::Strong => word.to_owned(),
    }
}

/// The row for people, in the columns of its kind.
pub(crate) fn cells(row: &Row, now: Timestamp) -> Vec<Cell> {
    match row {
        Row::Instance(it) => instance_cells(it),
        Row::Job(it) => job_cells(it),
        Row::Task(it) => task_cells(it),
        Row::Timer(it) => timer_cells(it, now),
        Row::Incident(it) => incident_cells(it),
        Row::Message(it) => message_cells(it),
        Row::Subscription(it) => subscription_cells(it),
        Row::Element(_) | Row::Variable(_) => Vec::new(),
    }
}

/// The row as data.
pub(crate) fn data(row: &Row) -> Value {
    match row {
        Row::Instance(it) => instance(it),
        Row::Job(it) => job(it),
        Row::Task(it) => task(it),
        Row::Timer(it) => timer(it),
        Row::Incident(it) => incident(it),
        Row::Message(it) => message(it),
        Row::Subscription(it) => subscription(it),
        Row::Element(_) | Row::Variable(_) => Value::Null,
    }
}

fn instance_cells(it: &InstanceRow) -> Vec<Cell> {
    let incidents = if it.incidents == 0 { String::new() } else { it.incidents.to_string() };
    vec![
        Cell::new(it.id.to_string(), Tone::Strong),
        it.definition.to_string().into(),
        it.version.to_string().into(),
        text(it.business_id.as_ref()).into(),
        Cell::new(words::of_state(it.state), tone(it.state)),
        Cell::new(incidents, Tone::Bad),
        at(it.started).into(),
        it.ended.map(at).unwrap_or_default().into(),
        it.parent.map(|(id, wait)| address(id, wait)).unwrap_or_default().into(),
    ]
}

pub(crate) fn instance(it: &InstanceRow) -> Value {
    json::object([
        ("instance", json::key(it.id)),
        ("business_id", it.business_id.clone().into()),
        ("definition", name(&it.definition)),
        ("version", it.version.into()),
        ("state", words::of_state(it.state).into()),
        ("started", time(it.started)),
        ("ended", times(it.ended)),
        ("caller", it.parent.map(|(id, wait)| address(id, wait)).into()),
        ("root", json::key(it.root)),
        ("incident_count", it.incidents.into()),
        ("reason", it.reason.clone().into()),
        ("result", it.result.as_ref().map(|it| kept(it)).into()),
    ])
}

fn job_cells(it: &JobRow) -> Vec<Cell> {
    let (word, tone) = match it.state {
        // It has failed, and is offered again then.
        JobState::Available if it.until.is_some() => ("paused", Tone::Dim),
        JobState::Available => (words::of_job_state(it.state), Tone::Plain),
        JobState::Leased => (words::of_job_state(it.state), Tone::Busy),
        JobState::Failed => (words::of_job_state(it.state), Tone::Bad),
    };
    let priority = if it.priority == 0 { String::new() } else { it.priority.to_string() };
    vec![
        Cell::new(address(it.instance, it.wait), Tone::Strong),
        it.element.to_string().into(),
        it.job_type.to_string().into(),
        Cell::new(word, tone),
        it.retries.to_string().into(),
        priority.into(),
        text(it.worker.as_ref()).into(),
        it.until.map(at).unwrap_or_default().into(),
        at(it.created).into(),
    ]
}

pub(crate) fn job(it: &JobRow) -> Value {
    json::object([
        ("job", address(it.instance, it.wait).into()),
        ("instance", json::key(it.instance)),
        ("token", json::key(it.token)),
        ("element", name(&it.element)),
        ("type", name(&it.job_type)),
        ("state", words::of_job_state(it.state).into()),
        ("retries", it.retries.into()),
        ("priority", it.priority.into()),
        ("worker", it.worker.clone().into()),
        ("until", times(it.until)),
        ("headers", kept(&it.headers)),
        ("created", time(it.created)),
    ])
}

fn task_cells(it: &TaskRow) -> Vec<Cell> {
    let names = |list: &str| -> Vec<String> {
        let kept = kept(list);
        let all = kept.as_list().unwrap_or_default();
        all.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect()
    };
    let candidates = [names(&it.candidate_users), names(&it.candidate_groups)].concat().join(", ");
    let priority = if it.priority == 0 { String::new() } else { it.priority.to_string() };
    vec![
        Cell::new(address(it.instance, it.wait), Tone::Strong),
        it.element.to_string().into(),
        text(it.label.as_ref()).into(),
        text(it.assignee.as_ref()).into(),
        candidates.into(),
        it.due.map(at).unwrap_or_default().into(),
        priority.into(),
        at(it.created).into(),
    ]
}

pub(crate) fn task(it: &TaskRow) -> Value {
    json::object([
        ("task", address(it.instance, it.wait).into()),
        ("instance", json::key(it.instance)),
        ("token", json::key(it.token)),
        ("element", name(&it.element)),
        ("label", it.label.clone().into()),
        ("assignee", it.assignee.clone().into()),
        ("candidate_users", kept(&it.candidate_users)),
        ("candidate_groups", kept(&it.candidate_groups)),
        ("due", times(it.due)),
        ("follow_up", times(it.follow_up)),
        ("priority", it.priority.into()),
        ("form", it.form.clone().into()),
        ("fields", kept(&it.fields)),
        ("created", time(it.created)),
    ])
}

fn timer_cells(it: &TimerRow, now: Timestamp) -> Vec<Cell> {
    let due = Timestamp::from_millis(it.due);
    let left = if due <= now { "now".to_owned() } else { clock::between(now, due) };
    vec![
        Cell::new(address(it.instance, it.wait), Tone::Strong),
        it.definition.to_string().into(),
        it.element.to_string().into(),
        at(it.due).into(),
        left.into(),
    ]
}

pub(crate) fn timer(it: &TimerRow) -> Value {
    let instance = (it.instance != 0).then(|| json::key(it.instance));
    json::object([
        ("timer", address(it.instance, it.wait).into()),
        ("instance", instance.into()),
        ("definition", name(&it.definition)),
        ("element", name(&it.element)),
        ("due", time(it.due)),
    ])
}

fn incident_cells(it: &IncidentRow) -> Vec<Cell> {
    let code = it.code.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
    vec![
        Cell::new(it.instance.to_string(), Tone::Strong),
        it.token.to_string().into(),
        it.element.to_string().into(),
        Cell::new(format!("{}{code}", it.kind), Tone::Bad),
        at(it.since).into(),
        it.message.to_string().into(),
    ]
}

pub(crate) fn incident(it: &IncidentRow) -> Value {
    json::object([
        ("instance", json::key(it.instance)),
        ("token", json::key(it.token)),
        ("element", name(&it.element)),
        ("kind", name(&it.kind)),
        ("code", it.code.clone().into()),
        ("message", name(&it.message)),
        ("since", time(it.since)),
    ])
}

/// What must match, where anything must.
fn agreed(correlation: &Name) -> &str {
    if &**correlation == "{}" { "" } else { correlation }
}

fn of_kind(kind: SubscriptionKind) -> &'static str {
    match kind {
        SubscriptionKind::Message => "message",
        SubscriptionKind::Signal => "signal",
    }
}

fn subscription_cells(it: &SubscriptionRow) -> Vec<Cell> {
    vec![
        Cell::new(address(it.instance, it.wait), Tone::Strong),
        it.element.to_string().into(),
        of_kind(it.kind).into(),
        it.name.to_string().into(),
        agreed(&it.correlation).into(),
        at(it.created).into(),
    ]
}

fn subscription(it: &SubscriptionRow) -> Value {
    json::object([
        ("wait", address(it.instance, it.wait).into()),
        ("instance", json::key(it.instance)),
        ("element", name(&it.element)),
        ("kind", of_kind(it.kind).into()),
        ("name", name(&it.name)),
        ("correlation", kept(&it.correlation)),
        ("created", time(it.created)),
    ])
}

fn message_cells(it: &MessageRow) -> Vec<Cell> {
    let mut cells: Vec<Cell> = vec![
        Cell::new(it.id.to_string(), Tone::Strong),
        it.name.to_string().into(),
        text(it.message_id.as_ref()).into(),
        agreed(&it.correlation).into(),
        at(it.published).into(),
    ];
    match it.dead {
        Some(died) => cells.extend([at(died).into(), text(it.reason.as_ref()).into()]),
        None => cells.push(it.expires.map(at).unwrap_or_default().into()),
    }
    cells
}

fn message(it: &MessageRow) -> Value {
    let number = ("message", json::key(it.id));
    let named = ("name", name(&it.name));
    let id = ("id", it.message_id.clone().into());
    let correlation = ("correlation", kept(&it.correlation));
    let published = ("published", time(it.published));
    let expires = ("expires", times(it.expires));
    if it.dead.is_none() {
        return json::object([number, named, id, correlation, published, expires]);
    }
    let (died, reason) = (("died", times(it.dead)), ("reason", it.reason.clone().into()));
    json::object([number, named, id, correlation, published, expires, died, reason])
}
