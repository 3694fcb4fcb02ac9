//! `travertine schedules`: what is started again and again.

use std::path::Path;

use anyhow::{Result, bail};
use travertine_data::schedule;
use travertine_runtime::{Engine, Error, Overlap, Timestamp, When, engine::Scheduled};
use travertine_store::view::{Filter, Query, Table};
use travertine_value::{Name, Value, time};

use super::{
    Desk,
    grid::{self, Cell, Tone},
    rows,
};
use crate::{args::schedule as args, clock, json, screen::Screen, shell, status::Status};

const SCHEDULES: &[&str] = &[
    "schedule", "starts", "when", "zone", "overlap", "state", "next", "in", "last", "started",
    "skipped", "failed", "instance",
];

pub(crate) fn list(desk: &Desk<'_>) -> Result<Status> {
    let all = desk.wait(desk.engine.schedules())?;
    desk.tell(
        || schedule::several(&all, &desk.engine),
        |out| {
            if all.is_empty() {
                out.line("no schedules");
                return;
            }
            let rows = all.iter().map(|it| cells(it, desk.now())).collect();
            grid::print(SCHEDULES, rows, out);
            for it in &all {
                problem(it, desk.data, out);
            }
        },
    );
    Ok(Status::Done)
}

pub(crate) fn add(args: &args::AddSchedule, desk: &Desk<'_>) -> Result<Status> {
    let known = desk.wait(desk.engine.find_schedule(&args.name))?;
    let known = known.filter(|it| !it.schedule.removed);
    if let (Some(known), false) = (&known, args.replace) {
        bail!(
            "schedule {} is there already: it starts {} {}; --replace changes it, {} removes it",
            args.name,
            known.schedule.definition,
            rhythm(known),
            desk.command(&["schedules", "remove", &args.name]),
        );
    }
    let variables = args.variables.given()?;
    let mut schedule = desk.engine.schedule(&args.name).overlap(match args.overlap {
        args::Overlap::Skip => Overlap::Skip,
        args::Overlap::Queue => Overlap::Queue,
        args::Overlap::Replace => Overlap::Replace,
        args::Overlap::Allow => Overlap::Allow,
    });
    if let Some(cron) = &args.cron {
        schedule = match &args.zone {
            Some(zone) if time::split_zone(cron).0.is_none() => {
                schedule.cron(&format!("CRON_TZ={zone} {cron}"))
            }
            Some(zone) => bail!("`{cron}` names a time zone already; leave out --zone {zone}"),
            None => schedule.cron(cron),
        };
    }
    if let Some(every) = args.every {
        schedule = schedule.every(every);
    }
    if let Some(jitter) = args.jitter {
        schedule = schedule.jitter(jitter);
    }
    if args.paused {
        schedule = schedule.paused();
    }
    let made = schedule.process(&args.definition, variables);
    desk.wait(made.into_future())?;
    if args.paused && known.is_some() {
        desk.wait(desk.engine.pause_schedule(&args.name))?;
    }
    desk.settle()?;
    let made = found(&args.name, desk)?;
    let word = if known.is_some() { "changed" } else { "added" };
    desk.tell(
        || schedule::schedule(&made, &desk.engine),
        |out| {
            let name = out.paint.bold(&made.name);
            let what = format!("it starts {} {}", made.schedule.definition, rhythm(&made));
            out.line(format!("{word} {name}: {what}{}", next(&made)));
        },
    );
    Ok(Status::Done)
}

pub(crate) fn pause(args: &args::NamedSchedules, desk: &Desk<'_>) -> Result<Status> {
    each(args, desk, |engine, name| desk.wait(engine.pause_schedule(name)))
}

pub(crate) fn resume(args: &args::NamedSchedules, desk: &Desk<'_>) -> Result<Status> {
    each(args, desk, |engine, name| desk.wait(engine.resume_schedule(name)))
}

/// Does the same with each of several schedules, all of which must be there, and tells how they are.
fn each(
    args: &args::NamedSchedules,
    desk: &Desk<'_>,
    act: impl Fn(&Engine, &str) -> Result<()>,
) -> Result<Status> {
    all(&args.names, desk)?;
    for name in &args.names {
        act(&desk.engine, name)?;
    }
    desk.settle()?;
    let all = all(&args.names, desk)?;
    desk.tell(
        || schedule::several(&all, &desk.engine),
        |out| {
            for it in &all {
                out.line(format!("{}{}", out.paint.bold(&it.name), next(it)));
            }
        },
    );
    Ok(Status::Done)
}

pub(crate) fn trigger(args: &args::NamedSchedules, desk: &Desk<'_>) -> Result<Status> {
    let before = all(&args.names, desk)?;
    for name in &args.names {
        desk.wait(desk.engine.trigger_schedule(name))?;
    }
    desk.settle()?;
    let all = all(&args.names, desk)?;
    let mut told = Vec::new();
    for (before, after) in before.iter().zip(&all) {
        told.push(triggered(before, after, desk)?);
    }
    desk.tell(
        || schedule::several(&all, &desk.engine),
        |out| {
            for (it, told) in all.iter().zip(&told) {
                out.line(format!("{} {told}", out.paint.bold(&it.name)));
                problem(it, desk.data, out);
            }
        },
    );
    Ok(Status::Done)
}

/// What came of a trigger.
fn triggered(before: &Scheduled, after: &Scheduled, desk: &Desk<'_>) -> Result<String> {
    let what = &after.schedule.definition;
    if after.schedule.started == before.schedule.started {
        let skipped = after.schedule.skipped > before.schedule.skipped;
        return Ok(match (&after.problem, skipped) {
            (Some(_), _) => format!("cannot start {what}"),
            (None, true) => format!("has not started {what}: the last one still runs"),
            (None, false) => format!("starts {what} when the last one has ended"),
        });
    }
    let newest = desk.query(&Query {
        table: Table::Instances,
        filters: vec![Filter::Parent(after.instance.0)],
        descending: true,
        after: None,
        limit: 1,
    })?;
    // One that runs beside the others is nobody's child.
    let number = newest.rows.first().filter(|_| after.schedule.overlap != Overlap::Allow);
    let number = number.map(|it| format!(" {}", it.key().instance)).unwrap_or_default();
    Ok(format!("has started {what}{number}"))
}

pub(crate) fn remove(args: &args::NamedSchedules, desk: &Desk<'_>) -> Result<Status> {
    let all = all(&args.names, desk)?;
    for name in &args.names {
        desk.wait(desk.engine.remove_schedule(name))?;
    }
    desk.settle()?;
    let mut left = Vec::new();
    for it in &all {
        left.push(desk.wait(desk.engine.find_schedule(&it.name))?);
    }
    desk.tell(
        || {
            let gone = all.iter().map(|it| Value::from(Name::clone(&it.name))).collect();
            json::object([("removed", gone)])
        },
        |out| {
            for (it, left) in all.iter().zip(&left) {
                let name = out.paint.bold(&it.name);
                let rest = if left.is_some() {
                    format!("; it goes when the last {} has ended", it.schedule.definition)
                } else {
                    String::new()
                };
                out.line(format!("removed {name}{rest}"));
            }
        },
    );
    Ok(Status::Done)
}

/// The schedules of these names, all of which must be there.
fn all(names: &[String], desk: &Desk<'_>) -> Result<Vec<Scheduled>> {
    names.iter().map(|it| found(it, desk)).collect()
}

fn found(name: &str, desk: &Desk<'_>) -> Result<Scheduled> {
    let found = desk.wait(desk.engine.find_schedule(name))?;
    desk.ok(found.ok_or_else(|| Error::NoSuchSchedule(name.into())))
}

/// When it fires, in words.
fn rhythm(it: &Scheduled) -> String {
    match &it.schedule.when {
        When::Cron(_) => format!("at {} ({})", schedule::when(it), schedule::zone(it)),
        When::Every { .. } => schedule::when(it),
    }
}

/// When it fires next, as the end of a sentence.
fn next(it: &Scheduled) -> String {
    match it.schedule.next {
        Some(at) => format!(", next {}", rows::at(at)),
        None => format!(", {}", state(it).0),
    }
}

fn state(it: &Scheduled) -> (&'static str, Tone) {
    let word = schedule::state(it);
    let tone = match word {
        "active" => Tone::Busy,
        "removed" | "paused" | "suspended" => Tone::Dim,
        _ => Tone::Bad,
    };
    (word, tone)
}

/// Why it cannot go on, and what helps.
fn problem(it: &Scheduled, data: &Path, out: &Screen) {
    if let Some(problem) = &it.problem {
        out.line(format!("  {}: {}", out.paint.bold(&it.name), out.paint.red(problem)));
        let resolve = shell::command(&["resolve", &it.instance.to_string()], data);
        out.line(format!("    {}", out.paint.dim(resolve)));
    }
}

fn cells(it: &Scheduled, now: Timestamp) -> Vec<Cell> {
    let count = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    let schedule = &it.schedule;
    let left = schedule
        .next
        .map(|due| if due <= now { "now".to_owned() } else { clock::between(now, due) });
    let (word, tone) = state(it);
    vec![
        Cell::new(it.name.to_string(), Tone::Strong),
        schedule.definition.as_str().into(),
        schedule::when(it).into(),
        schedule::zone(it).into(),
        schedule::of_overlap(it.schedule.overlap).into(),
        Cell::new(word, tone),
        schedule.next.map(rows::at).unwrap_or_default().into(),
        left.unwrap_or_default().into(),
        schedule.last.map(rows::at).unwrap_or_default().into(),
        count(schedule.started).into(),
        count(schedule.skipped).into(),
        Cell::new(count(schedule.failed), Tone::Bad),
        it.instance.to_string().into(),
    ]
}
