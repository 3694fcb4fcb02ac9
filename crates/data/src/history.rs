//! What has happened to an instance: in words, and as data.

use travertine_kernel::{Ending, Event, WaitId};
use travertine_runtime::{
    Definition, Definitions, InstanceId, Timestamp,
    engine::{self, Step},
    trace,
};
use travertine_store::record::{Edit, Letter, Record, TaskChange};
use travertine_value::{Name, Value};

use crate::{account::Account, events, json, places::Places};

/// Something that happened, in words and as data, with the element it is about.
#[derive(Clone, Debug)]
pub struct Happened {
    /// In words.
    pub text: String,
    /// The element that it is about.
    pub element: Option<travertine_kernel::NodeId>,
    /// What kind of event.
    pub kind: &'static str,
    /// Its own fields.
    pub fields: Vec<(&'static str, Value)>,
}

/// One thing that an entry tells about its instance.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// An event of its state.
    Event(&'a Event),
    /// Something else that is kept of it.
    Record(&'a Record),
}

/// What an entry tells, one by one: as many things as [`story`] has of it.
pub fn parts(step: &Step) -> impl Iterator<Item = Part<'_>> {
    parts_of(&step.records)
}

/// What the records of an entry tell, one by one.
pub fn parts_of(records: &[Record]) -> impl Iterator<Item = Part<'_>> {
    records.iter().flat_map(|record| {
        let (events, other) = match record {
            Record::Happened(events) => (&events[..], None),
            other => (&[][..], Some(other).filter(|it| !is_of_shard(it))),
        };
        events.iter().map(Part::Event).chain(other.map(Part::Record))
    })
}

/// Whether it is about a shard, not about an instance.
fn is_of_shard(record: &Record) -> bool {
    matches!(
        record,
        Record::Held(_)
            | Record::Gone { .. }
            | Record::Known { .. }
            | Record::Recognised { .. }
            | Record::Subscribed(_)
            | Record::Unsubscribed { .. }
            | Record::Noted { .. }
            | Record::Unnoted { .. }
            | Record::Numbered { .. }
            | Record::StartTimer(_)
    )
}

/// What each step of a history tells, in order.
pub fn story<'a>(
    history: &'a engine::History,
    definitions: &'a Definitions,
) -> Vec<(&'a Step, &'a Definition, Vec<Happened>)> {
    let (mut places, mut operations) = (Places::default(), Vec::new());
    let mut all = Vec::new();
    for step in &history.steps {
        let definition = definitions.get(step.definition).unwrap_or(&history.definition);
        let mut told = Vec::new();
        for record in &step.records {
            tell(history.instance, definition, record, &mut places, &mut operations, &mut told);
        }
        all.push((step, &**definition, told));
    }
    all
}

fn tell(
    instance: InstanceId,
    definition: &Definition,
    record: &Record,
    places: &mut Places,
    operations: &mut Vec<Name>,
    told: &mut Vec<Happened>,
) {
    let at = |wait: &WaitId| places.of_wait(instance, *wait);
    let (text, element) = match record {
        Record::Happened(events) => {
            for event in events {
                places.follow(instance, event);
                let text = match event {
                    Event::FunctionBegan { .. } => {
                        operations.clear();
                        trace::of_event(&definition.plan, event)
                    }
                    Event::Journaled { entry } => {
                        operations.extend(entry.key().map(Name::clone));
                        trace::of_entry(entry, operations)
                    }
                    event => trace::of_event(&definition.plan, event),
                };
                let element = places.of_event(instance, event);
                let (kind, fields) = events::of_event(&definition.plan, event);
                told.push(Happened { text, element, kind, fields });
                places.forget(instance, event);
            }
            return;
        }
        Record::Created(created) => {
            let name = created.business_id.as_ref().map(|it| format!(" \"{it}\""));
            let caller = created.caller.map(|it| format!(", called by {it}"));
            let (name, caller) = (name.unwrap_or_default(), caller.unwrap_or_default());
            (format!("made{name}: {} version {}{caller}", definition.id, definition.version), None)
        }
        Record::Suspended => ("suspended".to_owned(), None),
        Record::Resumed => ("resumed".to_owned(), None),
        Record::Halted(reason) => (format!("halted: {reason}"), None),
        Record::Released => ("released, to be tried again".to_owned(), None),
        Record::Deferred(letter) => (format!("kept for later: {}", of_letter(letter)), None),
        Record::Recalled => ("told what was kept for later".to_owned(), None),
        Record::Leased { wait, worker, until } => {
            (format!("wait {} leased to {worker} until {until}", wait.0), at(wait))
        }
        Record::Paused { wait, until } if *until <= Timestamp::default() => {
            (format!("wait {} offered again", wait.0), at(wait))
        }
        Record::Paused { wait, until } => {
            (format!("wait {} offered again from {until}", wait.0), at(wait))
        }
        Record::TaskChanged { wait, change } => {
            (format!("task {} changed: {}", wait.0, of_change(change)), at(wait))
        }
        Record::TimerMoved { wait, due } => (format!("timer {} moved to {due}", wait.0), at(wait)),
        Record::Migrated { .. } => {
            (format!("migrated to {} version {}", definition.id, definition.version), None)
        }
        Record::Folded(folded) => {
            let how = match &folded.ending {
                Ending::Completed => "completed".to_owned(),
                Ending::Failed(failure) => {
                    format!("failed: {}", trace::of_failure(&definition.plan, failure))
                }
                Ending::Cancelled => "cancelled".to_owned(),
            };
            let started = folded.started;
            (format!("{how}, started {started}; what happened between is not kept"), None)
        }
        Record::Heard { name, .. } => (format!("message {name} is not heard again"), None),
        Record::Labelled(labels) => {
            let tags = labels.tags.join(", ");
            let trace = labels.trace.as_ref().map(|it| format!("in trace {it}"));
            let tags = (!tags.is_empty()).then(|| format!("tagged {tags}"));
            (tags.into_iter().chain(trace).collect::<Vec<_>>().join(", "), None)
        }
        Record::EndsAfter { elements } => (format!("ends after {}", elements.join(", ")), None),
        Record::By { who } => (format!("by {who}"), None),
        Record::ByBatch { who, batch } => (format!("by {who}, in batch {batch}"), None),
        Record::BeganAs { definition } => (format!("began as {definition}"), None),
        Record::Ended(_) => ("cancelled while it was halted".to_owned(), None),
        // These are about shards, not about instances.
        Record::Held(_)
        | Record::Gone { .. }
        | Record::Known { .. }
        | Record::Recognised { .. }
        | Record::Subscribed(_)
        | Record::Unsubscribed { .. }
        | Record::Noted { .. }
        | Record::Unnoted { .. }
        | Record::Numbered { .. }
        | Record::StartTimer(_) => return,
    };
    let (kind, fields) = events::of_record(record);
    told.push(Happened { text, element, kind, fields });
}

fn of_letter(letter: &Letter) -> &'static str {
    match letter {
        Letter::Deliver { .. } => "a message",
        Letter::Signal { .. } => "a signal",
        _ => "news from another instance",
    }
}

/// What a change of a user task changes, in words.
pub fn of_change(change: &TaskChange) -> String {
    let TaskChange { assignee, candidate_users, candidate_groups, due, follow_up, priority } =
        change;
    let names = |all: &Vec<Name>| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let parts = [
        edited(assignee, ToString::to_string).map(|it| format!("assignee {it}")),
        candidate_users.as_ref().map(|it| format!("candidates {}", names(it))),
        candidate_groups.as_ref().map(|it| format!("groups {}", names(it))),
        edited(due, ToString::to_string).map(|it| format!("due {it}")),
        edited(follow_up, ToString::to_string).map(|it| format!("follow-up {it}")),
        priority.as_ref().map(|it| format!("priority {it}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What something is after a change, where there is one.
fn edited<T>(edit: &Edit<T>, show: impl Fn(&T) -> String) -> Option<String> {
    match edit {
        Edit::Keep => None,
        Edit::Remove => Some("none".to_owned()),
        Edit::Set(it) => Some(show(it)),
    }
}

/// What happened to an instance, as data.
pub fn history(
    history: &engine::History,
    story: &[(&Step, &Definition, Vec<Happened>)],
    account: &Account,
    page: &Page,
) -> Value {
    let shown = story.iter().filter(|(step, ..)| page.has(step.seq));
    let steps = shown.map(|(step, definition, told)| {
        let events: Value = told.iter().map(|it| event(it, definition)).collect();
        json::object([
            ("entry", json::key(step.seq)),
            ("time", step.at.to_string().into()),
            ("definition", Name::clone(&definition.id).into()),
            ("version", definition.version.into()),
            ("events", events),
        ])
    });
    let activities = account.activities.iter().filter(|it| page.has(it.began.entry));
    json::object([
        ("instance", json::key(history.instance.0)),
        ("definition", Name::clone(&history.definition.id).into()),
        ("version", history.definition.version.into()),
        ("activities", activities.map(|it| it.data(history.instance.0)).collect()),
        ("steps", steps.collect()),
        ("next", page.next.map(json::key).into()),
    ])
}

/// An event: its kind, the element it is about, its own fields, and the sentence that people read.
pub fn event(it: &Happened, definition: &Definition) -> Value {
    let element = it.element.map(|it| Name::clone(&definition.plan.node(it).name));
    let first = [("kind", it.kind.into()), ("element", element.into())];
    let last = [("event", Value::from(it.text.as_str()))];
    let all = first.into_iter().chain(it.fields.iter().cloned()).chain(last);
    all.map(|(name, value)| (Name::from(name), value)).collect()
}

/// A part of the entries of a history.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    after: u64,
    upto: u64,
    /// After which entry the next page begins, where there are more.
    pub next: Option<u64>,
}

impl Page {
    /// The first `limit` entries after this one; all of them, where there is no limit.
    pub fn of(history: &engine::History, after: u64, limit: Option<usize>) -> Self {
        let mut shown = history.steps.iter().map(|it| it.seq).filter(|it| *it > after);
        let last = limit.and_then(|limit| shown.clone().take(limit).last());
        let more = limit.is_some_and(|limit| shown.nth(limit).is_some());
        match (more, last) {
            (true, last) => {
                let upto = last.unwrap_or(after);
                Self { after, upto, next: Some(upto) }
            }
            (false, _) => Self { after, upto: u64::MAX, next: None },
        }
    }

    /// Whether an entry is on it.
    pub fn has(&self, entry: u64) -> bool {
        entry > self.after && entry <= self.upto
    }
}
