//! Schedules as data.

use travertine_runtime::{Engine, Overlap, When, engine::Scheduled};
use travertine_store::view::InstanceState;
use travertine_value::{Name, Value, time};

use crate::{json, rows, text, words};

/// Several schedules.
pub fn several(all: &[Scheduled], engine: &Engine) -> Value {
    json::object([("schedules", all.iter().map(|it| schedule(it, engine)).collect())])
}

/// A schedule.
pub fn schedule(it: &Scheduled, engine: &Engine) -> Value {
    let kept = &it.schedule;
    let kind = engine.definitions().find(&kept.definition).map(|it| it.is_function());
    let kind = kind.map(|function| if function { "function" } else { "process" });
    let (cron, every) = match &kept.when {
        When::Cron(_) => (Some(when(it)), None),
        When::Every { span, .. } => (None, Some(time::millis(*span))),
    };
    let zone = cron.as_ref().map(|_| zone(it).to_owned());
    json::object([
        ("schedule", Name::clone(&it.name).into()),
        ("instance", json::key(it.instance.0)),
        ("definition", kept.definition.as_str().into()),
        ("kind", kind.into()),
        ("variables", Value::parse_json(&kept.variables).unwrap_or(Value::Null)),
        ("cron", cron.into()),
        ("zone", zone.into()),
        ("every_ms", every.into()),
        ("jitter_ms", time::millis(kept.jitter).into()),
        ("overlap", of_overlap(kept.overlap).into()),
        ("state", state(it).into()),
        ("problem", it.problem.clone().into()),
        ("next", kept.next.map(rows::time).into()),
        ("last", kept.last.map(rows::time).into()),
        ("started", kept.started.into()),
        ("skipped", kept.skipped.into()),
        ("failed", kept.failed.into()),
    ])
}

/// The word for what happens when the last one still runs.
pub fn of_overlap(overlap: Overlap) -> &'static str {
    match overlap {
        Overlap::Skip => "skip",
        Overlap::Queue => "queue",
        Overlap::Replace => "replace",
        Overlap::Allow => "allow",
    }
}

/// The zone of its times; empty where it has none.
pub fn zone(it: &Scheduled) -> &str {
    match &it.schedule.when {
        when @ When::Cron(_) => when.zone().unwrap_or("UTC"),
        When::Every { .. } => "",
    }
}

/// When it fires: its cron line, or its period.
pub fn when(it: &Scheduled) -> String {
    match &it.schedule.when {
        When::Cron(text) => time::split_zone(text).1.to_owned(),
        When::Every { span, .. } => format!("every {}", text::span(*span)),
    }
}

/// How it stands with a schedule, in a word.
pub fn state(it: &Scheduled) -> &'static str {
    match it.state {
        InstanceState::Running if it.problem.is_some() => "blocked",
        InstanceState::Running if it.schedule.removed => "removed",
        InstanceState::Running if it.schedule.paused => "paused",
        InstanceState::Running => "active",
        InstanceState::Suspended
        | InstanceState::Halted
        | InstanceState::Completed
        | InstanceState::Failed
        | InstanceState::Cancelled => words::of_state(it.state),
    }
}
