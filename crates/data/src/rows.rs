//! Rows as data.

use travertine_runtime::{Address, InstanceId, Timestamp};
use travertine_store::view::{
    IncidentRow, InstanceRow, JobRow, MessageRow, Row, SubscriptionKind, SubscriptionRow, TaskRow,
    TimerRow,
};
use travertine_value::{Name, Value};

use crate::{json, words};

/// A point in time, for people: in whole seconds.
pub fn at(time: Timestamp) -> String {
    time.whole_second().to_string()
}

/// A point in time as data.
pub fn time(at: Timestamp) -> Value {
    at.to_string().into()
}

fn times(at: Option<Timestamp>) -> Value {
    at.map(time).into()
}

fn name(text: &Name) -> Value {
    Name::clone(text).into()
}

/// A value that is kept as JSON.
pub fn kept(text: &str) -> Value {
    Value::parse_json(text).unwrap_or(Value::Null)
}

/// What people call a wait of an instance.
pub fn address(instance: u64, wait: u64) -> String {
    Address { instance: InstanceId(instance), wait: travertine_kernel::WaitId(wait) }.to_string()
}

/// The row as data.
pub fn data(row: &Row) -> Value {
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

/// An instance.
pub fn instance(it: &InstanceRow) -> Value {
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

/// A job.
pub fn job(it: &JobRow) -> Value {
    let open = json::object([
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
    ]);
    over(open, it.ended, it.by.as_ref(), None)
}

/// What is over, with when that was and who has ended it.
fn over(
    open: Value,
    ended: Option<Timestamp>,
    by: Option<&Name>,
    state: Option<&'static str>,
) -> Value {
    let (Some(ended), Some(fields)) = (ended, open.as_map()) else { return open };
    let mut fields = fields.clone();
    if let Some(state) = state {
        fields.insert("state".into(), state.into());
    }
    fields.insert("ended".into(), time(ended));
    fields.insert("by".into(), by.cloned().into());
    fields.into()
}

/// A user task.
pub fn task(it: &TaskRow) -> Value {
    let open = json::object([
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
    ]);
    over(open, it.ended, it.by.as_ref(), Some(it.state.name()))
}

/// A timer.
pub fn timer(it: &TimerRow) -> Value {
    let instance = (it.instance != 0).then(|| json::key(it.instance));
    json::object([
        ("timer", address(it.instance, it.wait).into()),
        ("instance", instance.into()),
        ("definition", name(&it.definition)),
        ("element", name(&it.element)),
        ("due", time(it.due)),
    ])
}

/// An incident.
pub fn incident(it: &IncidentRow) -> Value {
    let open = json::object([
        ("instance", json::key(it.instance)),
        ("token", json::key(it.token)),
        ("element", name(&it.element)),
        ("kind", name(&it.kind)),
        ("code", it.code.clone().into()),
        ("message", name(&it.message)),
        ("since", time(it.since)),
    ]);
    over(open, it.ended, it.by.as_ref(), None)
}

/// The word for what is waited for.
pub fn of_kind(kind: SubscriptionKind) -> &'static str {
    match kind {
        SubscriptionKind::Message => "message",
        SubscriptionKind::Signal => "signal",
    }
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
