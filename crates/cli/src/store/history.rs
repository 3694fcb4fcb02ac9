//! `travertine history`: what has happened to an instance, and how it was at any point.

use std::borrow::Cow;

use anyhow::{Result, bail};
use travertine_kernel::{Assignments, Ending, Event, tree, why};
use travertine_runtime::{
    Definition, Definitions, Error, InstanceId, Timestamp,
    engine::{self, Step},
    trace,
};
use travertine_store::codec::record::{Edit, Letter, Record, TaskChange};
use travertine_value::{Name, Value};

use super::{
    Desk,
    account::{self, Account, What},
    events, rows, show,
};
use crate::{args::store as args, json, places::Places, run::line, screen::Screen, status::Status};

pub(crate) fn history(args: &args::History, desk: &Desk<'_>) -> Result<Status> {
    let history = desk.ok(desk.engine.history(desk.instance(&args.instance)?))?;
    if let Some(seq) = args.at {
        return state_at(&history, seq, args.full, desk);
    }
    let definitions = desk.engine.definitions();
    let account = account::account(&history, &definitions);
    let story = story(&history, &definitions);
    let page = Page::of(&history, args);
    desk.tell(
        || data(&history, &story, &account, &page),
        |out| {
            if args.events {
                events(&story, &page, args.full, out);
            } else {
                activities(&account, &page, out);
            }
            if let Some(next) = page.next {
                out.line(out.paint.dim(format!("there are more: --after {next}")));
            }
        },
    );
    Ok(Status::Done)
}

/// The entries that someone wants to see.
struct Page {
    after: u64,
    upto: u64,
    /// After which the next page begins.
    next: Option<u64>,
}

impl Page {
    fn of(history: &engine::History, args: &args::History) -> Self {
        let after = args.after.unwrap_or_default();
        let mut shown = history.steps.iter().map(|it| it.seq).filter(|it| *it > after);
        let last = args.limit.and_then(|limit| shown.clone().take(limit).last());
        let more = args.limit.is_some_and(|limit| shown.nth(limit).is_some());
        match (more, last) {
            (true, last) => {
                let upto = last.unwrap_or(after);
                Self { after, upto, next: Some(upto) }
            }
            (false, _) => Self { after, upto: u64::MAX, next: None },
        }
    }

    fn has(&self, entry: u64) -> bool {
        entry > self.after && entry <= self.upto
    }
}

/// Something that happened, in words and as data, with the element it is about.
pub(crate) struct Happened {
    pub(crate) text: String,
    pub(crate) element: Option<travertine_kernel::NodeId>,
    kind: &'static str,
    fields: Vec<(&'static str, Value)>,
}

/// What each step of a history tells, in order.
pub(crate) fn story<'a>(
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
    let at = |wait: &u64| places.of_wait(instance, travertine_kernel::WaitId(*wait));
    let time = |millis: &i64| Timestamp::from_millis(*millis);
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
            let caller = created.caller.map(|(id, wait)| format!(", called by {id}-{wait}"));
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
            (format!("wait {wait} leased to {worker} until {}", time(until)), at(wait))
        }
        Record::Paused { wait, until } if *until <= 0 => {
            (format!("wait {wait} offered again"), at(wait))
        }
        Record::Paused { wait, until } => {
            (format!("wait {wait} offered again from {}", time(until)), at(wait))
        }
        Record::TaskChanged { wait, change } => {
            (format!("task {wait} changed: {}", of_change(change)), at(wait))
        }
        Record::TimerMoved { wait, due } => {
            (format!("timer {wait} moved to {}", time(due)), at(wait))
        }
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
            let started = time(&folded.started);
            (format!("{how}, started {started}; what happened between is not kept"), None)
        }
        Record::Heard { name, .. } => (format!("message {name} is not heard again"), None),
        Record::Labelled(labels) => {
            let tags = labels.tags.join(", ");
            let trace = labels.trace.as_ref().map(|it| format!("in trace {it}"));
            let tags = (!tags.is_empty()).then(|| format!("tagged {tags}"));
            (tags.into_iter().chain(trace).collect::<Vec<_>>().join(", "), None)
        }
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

pub(crate) fn of_change(change: &TaskChange) -> String {
    let TaskChange { assignee, candidate_users, candidate_groups, due, follow_up, priority } =
        change;
    let time = |it: &i64| Timestamp::from_millis(*it).to_string();
    let names = |all: &Vec<Name>| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let parts = [
        edited(assignee, ToString::to_string).map(|it| format!("assignee {it}")),
        candidate_users.as_ref().map(|it| format!("candidates {}", names(it))),
        candidate_groups.as_ref().map(|it| format!("groups {}", names(it))),
        edited(due, time).map(|it| format!("due {it}")),
        edited(follow_up, time).map(|it| format!("follow-up {it}")),
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

/// What happened to the process, for people.
fn activities(account: &Account, page: &Page, out: &Screen) {
    for it in account.lines.iter().filter(|it| page.has(it.moment.entry)) {
        let text = match &it.what {
            What::Began(activity) => match account.activities[*activity].began() {
                Some(text) => text,
                None => continue,
            },
            What::Ended(activity) => match account.activities[*activity].ended() {
                Some((text, true)) => text,
                Some((text, false)) => out.paint.red(text),
                None => continue,
            },
            What::Note(text) => text.clone(),
            What::Fault(text) => out.paint.red(text),
        };
        out.line(format!("{}  {text}", out.paint.dim(rows::at(it.moment.at.as_millis()))));
    }
}

/// What the engine did, event by event.
fn events(story: &[(&Step, &Definition, Vec<Happened>)], page: &Page, full: bool, out: &Screen) {
    for (step, definition, told) in story.iter().filter(|(step, ..)| page.has(step.seq)) {
        let head = format!("#{}", step.seq);
        out.line(format!("{}  {}", out.paint.bold(head), out.paint.dim(step.at)));
        for it in told {
            let text = if full { Cow::Borrowed(&*it.text) } else { json::brief(&it.text) };
            out.line(line(&definition.plan, &text, it.element, out));
        }
    }
}

fn data(
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
fn event(it: &Happened, definition: &Definition) -> Value {
    let element = it.element.map(|it| Name::clone(&definition.plan.node(it).name));
    let first = [("kind", it.kind.into()), ("element", element.into())];
    let last = [("event", Value::from(it.text.as_str()))];
    let all = first.into_iter().chain(it.fields.iter().cloned()).chain(last);
    all.map(|(name, value)| (Name::from(name), value)).collect()
}

/// How the instance was after an entry.
fn state_at(history: &engine::History, seq: u64, full: bool, desk: &Desk<'_>) -> Result<Status> {
    let step = history.steps.iter().rfind(|it| it.seq <= seq);
    let (Some(step), Some(first)) = (step, history.steps.first()) else {
        let first = history.steps.first().map(|it| it.seq).unwrap_or_default();
        bail!("instance {} begins with entry {first}, after {seq}", history.instance);
    };
    if first.records.iter().any(|it| matches!(it, Record::Folded(_))) {
        bail!(
            "what happened to instance {} is not kept any more; {} says how it ended",
            history.instance,
            desk.command(&["show", &history.instance.to_string()])
        );
    }
    let definitions = desk.engine.definitions();
    let definition = desk.ok(definitions
        .get(step.definition)
        .ok_or_else(|| Error::NoSuchDefinition(Name::clone(&history.definition.id))))?;
    let state = history.state_at(seq);
    let plan = &definition.plan;
    let variables: Assignments = state
        .variables()
        .into_iter()
        .flatten()
        .map(|(name, value)| (Name::clone(name), value.clone()))
        .collect();
    let (branch, reasons) = (tree(plan, &state), why(plan, &state));
    desk.tell(
        || {
            json::object([
                ("instance", json::key(history.instance.0)),
                ("entry", json::key(step.seq)),
                ("time", step.at.to_string().into()),
                ("definition", Name::clone(&definition.id).into()),
                ("version", definition.version.into()),
                ("variables", variables.iter().cloned().collect()),
                ("tree", show::tree(branch.as_ref())),
                ("waits", reasons.iter().map(|it| show::past(history.instance, it)).collect()),
            ])
        },
        |out| {
            let title = format!("{} {} after entry {}", definition.id, history.instance, step.seq);
            out.line(format!("{}, {}", out.paint.bold(title), step.at));
            show::state(show::shown_tree(definition, branch.as_ref()), &variables, full, out);
            for it in reasons.iter().filter(|it| !definition.is_function() || show::is_telling(it))
            {
                out.line(format!("  {it}"));
            }
        },
    );
    Ok(Status::Done)
}
