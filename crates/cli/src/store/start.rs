//! `travertine start`: an instance begins, and where someone waits, it is seen to its end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use travertine_kernel::{Assignments, Event};
use travertine_runtime::{
    Error, InstanceId, Seen, Timestamp,
    engine::{Look, Observer, Target},
};
use travertine_store::{
    record::Record,
    view::{Filter, InstanceState, JobState, Query, Row, Table},
};
use travertine_value::{Map, Name, Value};

use super::{Desk, Front, Store, rows, show, work};
use crate::{
    args::{self, words},
    json,
    status::Status,
};

/// How often to look whether others have taken an instance further.
const BRIEFLY: Duration = Duration::from_millis(100);

pub(crate) fn start(args: &args::store::StartInstance, front: Front<'_>) -> Result<Status> {
    // The instance that was started, whose progress is shown to those who wait; 0 before that.
    let started = Arc::new(AtomicU64::new(0));
    let (whose, screen) = (Arc::clone(&started), front.err.clone());
    let observer = args.wait.then(|| {
        Observer(Arc::new(move |seen: Seen<'_>| {
            let started = whose.load(Ordering::SeqCst);
            if started != 0
                && (seen.live.id.0 == started || seen.live.created.root == InstanceId(started))
            {
                work::show(seen, &screen);
            }
        }))
    });
    let (place, json) = (&args.shared.place, args.shared.json);
    front.watched_at(place, Store::Known, json, observer, |desk| start_at(args, &started, desk))
}

fn start_at(
    args: &args::store::StartInstance,
    started: &AtomicU64,
    desk: &Desk<'_>,
) -> Result<Status> {
    let id = Name::from(args.definition.as_str());
    let target = match (args.version, &args.tag) {
        (Some(version), _) => Target::Version(id, version),
        (None, Some(tag)) => Target::Tag(id, tag.as_str().into()),
        (None, None) => Target::Latest(id),
    };
    let variables = args.variables.given()?;
    let mut starting = desk.engine.start(target).variables(variables.clone());
    if let Some(id) = &args.id {
        starting = starting.id(id);
    }
    for element in &args.at {
        starting = starting.at(element);
    }
    let (instance, known) = match starting.begin().wait() {
        Err(Error::AlreadyExists { instance, .. }) => return exists(instance, args, desk),
        begun => desk.ok(begun)?,
    };
    if known && !variables.is_empty() && !is_same(instance, &variables, desk)? {
        return exists(instance, args, desk);
    }
    if args.wait {
        // Whoever stops waiting knows what goes on without them.
        started.store(instance.0, Ordering::SeqCst);
        let word = if known { "already exists:" } else { "started" };
        desk.err.line(format!("{word} {} {instance}, waiting for it", args.definition));
        wait(instance, args.timeout, desk)?;
    } else {
        desk.settle_for(Some(instance))?;
    }
    let look = desk.look(instance)?;
    let status = if args.wait { status(&look) } else { Status::Done };
    desk.tell(
        || data(&look, known),
        |out| {
            let title = out.paint.bold(format!("{} {instance}", look.row.definition));
            let state = rows::state_painted(look.row.state, out.paint);
            let word = match known {
                _ if args.wait => String::new(),
                true => out.paint.green("already exists: "),
                false => out.paint.green("started "),
            };
            out.line(format!("{word}{title}, {state}"));
            if let Some(reason) = &look.row.reason {
                out.line(format!("  {reason}"));
            }
            show::few_reasons(&look, desk, out);
            if args.wait {
                out.variables(&look.variables, args.full);
            }
        },
    );
    Ok(status)
}

fn data(look: &Look, known: bool) -> Value {
    json::object([
        ("instance", json::key(look.row.id)),
        ("known", known.into()),
        ("business_id", look.row.business_id.clone().into()),
        ("definition", Name::clone(&look.row.definition).into()),
        ("version", look.row.version.into()),
        ("state", words::of_state(look.row.state).into()),
        ("incident_count", look.row.incidents.into()),
        ("reason", look.row.reason.clone().into()),
        ("variables", look.variables.iter().cloned().collect()),
    ])
}

/// Says that nothing was started, because something else goes by that id.
fn exists(
    instance: InstanceId,
    args: &args::store::StartInstance,
    desk: &Desk<'_>,
) -> Result<Status> {
    desk.settle()?;
    let look = desk.look(instance)?;
    desk.tell(
        || data(&look, true),
        |_| {
            let id = args.id.as_deref().unwrap_or_default();
            let definition = &look.row.definition;
            let show = desk.command(&["show", &instance.to_string()]);
            desk.err.line(format!(
                "{} {id} already exists: instance {instance} of {definition}, started with other variables; \
                 nothing was started. {show} shows it, another --id starts another",
                desk.err.paint.red("error:")
            ));
        },
    );
    Ok(Status::Exists)
}

/// Whether an instance was started with these variables. Of one whose history is shortened nobody knows.
fn is_same(instance: InstanceId, variables: &Assignments, desk: &Desk<'_>) -> Result<bool> {
    let history = desk.ok(desk.engine.history(instance))?;
    let happened = history.steps.iter().flat_map(|it| &it.records).find_map(|it| match it {
        Record::Happened(events) => Some(events),
        _ => None,
    });
    let Some(events) = happened else { return Ok(true) };
    // What it was given is set before the process begins.
    let given: Map = events
        .iter()
        .take_while(|it| !matches!(it, Event::ScopeOpened { .. }))
        .filter_map(|it| match it {
            Event::VariableSet { name, value, .. } => Some((Name::clone(name), value.clone())),
            _ => None,
        })
        .collect();
    Ok(given == variables.iter().cloned().collect::<Map>())
}

/// How it stands with an instance, as an exit status.
pub(crate) fn status(look: &Look) -> Status {
    match look.row.state {
        InstanceState::Completed => Status::Done,
        InstanceState::Failed | InstanceState::Cancelled => Status::Failed,
        InstanceState::Halted => Status::Incident,
        InstanceState::Running | InstanceState::Suspended if look.row.incidents > 0 => {
            Status::Incident
        }
        InstanceState::Running | InstanceState::Suspended => Status::Waiting,
    }
}

/// Waits until an instance has ended, or neither it nor what it has called can go on by itself.
fn wait(instance: InstanceId, timeout: Option<Duration>, desk: &Desk<'_>) -> Result<()> {
    let began = Instant::now();
    loop {
        desk.settle()?;
        let look = desk.look(instance)?;
        let left = timeout.map(|it| it.saturating_sub(began.elapsed()));
        if look.row.ended.is_some() || left == Some(Duration::ZERO) {
            return Ok(());
        }
        let due = next_due(instance, desk)?;
        let goes_on = if desk.is_shared() {
            // Workers of others may do its jobs.
            due.is_some() || has_open(Table::Jobs, instance, desk)?
        } else {
            // Nobody can do what it waits for as long as this process has the store.
            due.is_some()
                && !has_open(Table::Jobs, instance, desk)?
                && !has_open(Table::Tasks, instance, desk)?
        };
        if desk.is_left() || !goes_on {
            return Ok(());
        }
        let until = due.map_or(Duration::MAX, |it| it.since(desk.now()));
        let until = if desk.is_shared() { until.min(BRIEFLY) } else { until };
        thread::sleep(left.map_or(until, |left| until.min(left)));
    }
}

/// Whether an instance, or what it has called, waits for a worker or for a person.
fn has_open(table: Table, instance: InstanceId, desk: &Desk<'_>) -> Result<bool> {
    let page = desk.query(&Query {
        table,
        filters: vec![Filter::Root(instance.0)],
        descending: false,
        after: None,
        limit: 10_000,
    })?;
    let is_open = |it: &Row| !matches!(it, Row::Job(it) if it.state == JobState::Failed);
    Ok(page.rows.iter().any(is_open))
}

/// When the next timer of an instance rings, or of what it has called.
fn next_due(instance: InstanceId, desk: &Desk<'_>) -> Result<Option<Timestamp>> {
    let page = desk.query(&Query {
        table: Table::Timers,
        filters: vec![Filter::Root(instance.0)],
        descending: false,
        after: None,
        limit: 10_000,
    })?;
    let dues =
        page.rows.iter().filter_map(|it| if let Row::Timer(it) = it { Some(it.due) } else { None });
    Ok(dues.min())
}
