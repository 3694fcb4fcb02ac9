//! What rows of a store look like: for people, and as data. `docs/cli.md` promises the names of the
//! fields.

use travertine_runtime::Timestamp;
use travertine_store::view::{
    IncidentRow, InstanceRow, InstanceState, JobRow, JobState, MessageRow, Row, SubscriptionRow,
    TaskRow, TimerRow,
};
use travertine_value::Name;

pub(crate) use travertine_data::rows::{address, at, data, instance, kept, of_kind, task};

use super::grid::{Cell, Tone};
use crate::{args::words, clock, paint::Paint};

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

fn job_cells(it: &JobRow) -> Vec<Cell> {
    let (word, tone) = match it.state {
        // It has failed, and is offered again then.
        JobState::Available if it.until.is_some() => ("paused", Tone::Dim),
        JobState::Available => (words::of_job_state(it.state), Tone::Plain),
        JobState::Leased => (words::of_job_state(it.state), Tone::Busy),
        JobState::Failed => (words::of_job_state(it.state), Tone::Bad),
        JobState::Completed | JobState::Cancelled | JobState::Raised => {
            (words::of_job_state(it.state), Tone::Dim)
        }
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

fn timer_cells(it: &TimerRow, now: Timestamp) -> Vec<Cell> {
    let is_due = it.due <= now;
    let left = if is_due { "now".to_owned() } else { clock::between(now, it.due) };
    vec![
        Cell::new(address(it.instance, it.wait), Tone::Strong),
        it.definition.to_string().into(),
        it.element.to_string().into(),
        at(it.due).into(),
        left.into(),
    ]
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

/// What must match, where anything must.
fn agreed(correlation: &Name) -> &str {
    if &**correlation == "{}" { "" } else { correlation }
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
