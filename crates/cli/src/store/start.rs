//! `travertine start`: an instance begins, and where someone waits, it is seen to its end.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use travertine_expr::Name;
use travertine_kernel::Assignments;
use travertine_runtime::{InstanceId, engine::Look, engine::Target};
use travertine_store::view::{Filter, InstanceState, Query, Row, Table};

use super::{Desk, rows, show};
use crate::{
    args::{self, words},
    files, json, pairs,
    status::Status,
};

pub(crate) fn start(args: &args::store::StartInstance, desk: &Desk<'_>) -> Result<Status> {
    let id = Name::from(args.definition.as_str());
    let target = match (args.version, &args.tag) {
        (Some(version), _) => Target::Version(id, version),
        (None, Some(tag)) => Target::Tag(id, tag.as_str().into()),
        (None, None) => Target::Latest(id),
    };
    let mut starting = desk.engine.start(target).variables(variables(&args.variables)?);
    if let Some(id) = &args.id {
        starting = starting.id(id);
    }
    for element in &args.at {
        starting = starting.at(element);
    }
    let (instance, known) = desk.ok(starting.begin().wait())?;
    if args.wait {
        wait(instance, args.timeout, desk)?;
    } else {
        desk.settle()?;
    }
    let look = desk.look(instance)?;
    let status = if args.wait { status(&look) } else { Status::Done };
    desk.tell(
        || {
            json::object([
                ("instance", json::key(instance.0)),
                ("known", known.into()),
                ("business_id", look.row.business_id.clone().into()),
                ("definition", Name::clone(&look.row.definition).into()),
                ("version", look.row.version.into()),
                ("state", words::of_state(look.row.state).into()),
                ("incident_count", look.row.incidents.into()),
                ("reason", look.row.reason.clone().into()),
                ("variables", look.variables.iter().cloned().collect()),
            ])
        },
        |out| {
            let word = if known { "known" } else { "started" };
            let title = format!("{} {instance}", look.row.definition);
            let state = rows::state_painted(look.row.state, out.paint);
            let word = out.paint.green(word);
            out.line(format!("{word} {}, {state}", out.paint.bold(title)));
            if let Some(reason) = &look.row.reason {
                out.line(format!("  {reason}"));
            }
            show::few_reasons(&look, out);
            if args.wait {
                out.line(json::pretty(&look.variables.iter().cloned().collect()));
            }
        },
    );
    Ok(status)
}

/// Variables as they were given. Those of arguments go before those of an object.
pub(crate) fn variables(given: &args::store::Variables) -> Result<Assignments> {
    let mut all = match &given.object {
        None => Vec::new(),
        Some(text) if text.trim_start().starts_with('{') => {
            pairs::object(text).map_err(|it| anyhow!("--vars: {it}"))?
        }
        Some(path) => {
            let text = files::text(path.as_ref())?;
            pairs::object(&text).map_err(|it| anyhow!("{}: {it}", files::title(path.as_ref())))?
        }
    };
    for (name, value) in &given.vars {
        all.retain(|(known, _)| known != name);
        all.push((Name::clone(name), value.clone()));
    }
    Ok(all)
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
        let Some(due) = next_due(instance, desk)? else { return Ok(()) };
        let until = due.saturating_sub(desk.now().as_millis());
        let until = Duration::from_millis(u64::try_from(until).unwrap_or(0));
        thread::sleep(left.map_or(until, |left| until.min(left)));
    }
}

/// When the next timer of an instance rings, or of what it has called.
fn next_due(instance: InstanceId, desk: &Desk<'_>) -> Result<Option<i64>> {
    let page = desk.query(&Query {
        table: Table::Timers,
        filters: vec![Filter::Root(instance.0)],
        descending: false,
        after: None,
        limit: 10_000,
    })?;
    let dues = page.rows.iter().map(|it| if let Row::Timer(it) = it { it.due } else { i64::MAX });
    Ok(dues.min())
}
