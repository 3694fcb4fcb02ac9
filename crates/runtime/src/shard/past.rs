//! Rows of what is over: work that is done or that nobody wants any more, incidents that are resolved.

use std::collections::BTreeMap;

use travertine_kernel::{
    Event, JournalEntry, NodeId, Past, Raised, Slot, State, TokenId, Wait, WaitFor, WaitId,
    plan::WorkKind,
};
use travertine_store::view::{IncidentRow, JobRow, JobState, Row, TaskRow, TaskState};
use travertine_value::{Name, time::Timestamp};

use super::{
    checkpoint::{json, list, listener_of},
    job::TaskFields,
    live::Live,
};

/// How work was over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Done,
    Withdrawn,
    /// It has raised an error that somebody has caught.
    Raised,
}

/// Rows of what these events have ended.
pub(super) fn past_rows(
    live: &Live,
    past: Vec<Past>,
    events: &[Event],
    at: Timestamp,
    by: Option<&Name>,
) -> Vec<Row> {
    let closed: BTreeMap<WaitId, usize> = events
        .iter()
        .enumerate()
        .filter_map(|(place, it)| match it {
            Event::WaitClosed { wait } => Some((*wait, place)),
            _ => None,
        })
        .collect();
    let mut works: BTreeMap<TokenId, WaitId> = BTreeMap::new();
    let mut rows = Vec::new();
    for it in past {
        rows.extend(match it {
            Past::Work { wait, it, node, visit, key } => {
                works.insert(it.token, wait);
                let after = closed.get(&wait).and_then(|place| events.get(place + 1..));
                let how = how(&it, after.unwrap_or_default());
                work_row(live, wait, &it, Place { node, visit, key }, how)
                    .map(|row| over(row, at, by))
            }
            Past::Incident { token, it, node, visit } => {
                let wait = failed_work(live, token, &it).or_else(|| works.get(&token).copied());
                let row = incident_row(live, token, &it, node, visit, wait);
                Some(over(row, at, by))
            }
        });
    }
    rows
}

/// Where work was.
struct Place {
    node: NodeId,
    visit: u64,
    key: Option<Name>,
}

/// How work was over, as the events after that tell.
fn how(wait: &Wait, after: &[Event]) -> How {
    if let Slot::Operation(number) = wait.slot {
        let is_done = |it: &Event| match it {
            Event::Journaled { entry } => {
                matches!(&**entry, JournalEntry::Done { operation, .. } if *operation == number)
            }
            _ => false,
        };
        return if after.iter().any(is_done) { How::Done } else { How::Withdrawn };
    }
    // Whoever goes with the work has not done it.
    match after.iter().find(|it| it.token() == Some(wait.token)) {
        Some(Event::TokenGone { state: State::Withdrawn, .. }) => How::Withdrawn,
        Some(Event::TokenGone { state: State::Failed, .. }) => How::Raised,
        _ => How::Done,
    }
}

/// The work that an incident is about, where it is still wanted.
fn failed_work(live: &Live, token: TokenId, it: &Raised) -> Option<WaitId> {
    let mut waits = live.state.tokens.get(&token)?.waits.keys();
    let is_of_work = it.incident.redo == travertine_kernel::Cue::Offer;
    waits.find(|wait| is_of_work && live.job(**wait).is_some()).copied()
}

fn work_row(live: &Live, wait: WaitId, it: &Wait, place: Place, how: How) -> Option<Row> {
    let WaitFor::Work(job) = &*it.on else { return None };
    let work = live.work.get(&wait)?;
    let node = live.definition.plan.node(place.node);
    let element = place.key.unwrap_or_else(|| Name::clone(&node.name));
    Some(match job.kind {
        WorkKind::Job => Row::Job(JobRow {
            instance: live.id.0,
            wait: wait.0,
            token: it.token.0,
            visit: place.visit,
            element,
            job_type: Name::clone(&job.job_type),
            state: match how {
                How::Done => JobState::Completed,
                How::Withdrawn => JobState::Cancelled,
                How::Raised => JobState::Raised,
            },
            retries: job.retries,
            priority: work.priority,
            until: None,
            worker: work.lease.as_ref().map(|(worker, _)| Name::clone(worker)),
            headers: json(&job.fields),
            listener: listener_of(it),
            error: job.failure.clone(),
            error_code: None,
            created: work.since,
            ended: None,
            by: None,
        }),
        WorkKind::User => {
            let fields = TaskFields::of_work(job, work);
            Row::Task(TaskRow {
                instance: live.id.0,
                wait: wait.0,
                token: it.token.0,
                visit: place.visit,
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
                created: work.since,
                state: if how == How::Done { TaskState::Completed } else { TaskState::Cancelled },
                ended: None,
                by: None,
            })
        }
    })
}

fn incident_row(
    live: &Live,
    token: TokenId,
    it: &Raised,
    node: NodeId,
    visit: u64,
    wait: Option<WaitId>,
) -> Row {
    Row::Incident(IncidentRow {
        instance: live.id.0,
        token: token.0,
        number: it.number,
        visit,
        element: Name::clone(&live.definition.plan.node(node).name),
        kind: it.failure.kind.name().into(),
        part: it.failure.place.as_ref().map(|it| it.part),
        wait: wait.map(|it| it.0),
        listener: wait.and_then(|it| listener_of(live.state.waits.get(&it)?)),
        code: it.failure.code.clone(),
        message: it.failure.message.as_str().into(),
        since: it.since,
        ended: None,
        by: None,
    })
}

/// The row as it is once that is over.
fn over(mut row: Row, at: Timestamp, who: Option<&Name>) -> Row {
    if let Row::Job(JobRow { ended, by, .. })
    | Row::Task(TaskRow { ended, by, .. })
    | Row::Incident(IncidentRow { ended, by, .. }) = &mut row
    {
        *ended = Some(at);
        *by = who.cloned();
    }
    row
}
