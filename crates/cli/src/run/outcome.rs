//! How a run ended, for people and as data.

use std::path::Path;

use travertine_bpmn::Report;
use travertine_data::{
    look,
    run::{
        self, Outcome, Record, outcome_of,
        pending::{self, Pending, What},
    },
};
use travertine_kernel::{Ending, Phase};
use travertine_value::{Name, Value};

use super::world::World;
use crate::{json, paint::Paint, screen::Screen, shell, status::Status};

/// How many lines people read about what waits.
const LINES_MAX: usize = 20;

fn painted(outcome: Outcome, paint: Paint) -> String {
    match outcome {
        Outcome::Completed => paint.green(outcome.word()),
        Outcome::Waiting => paint.yellow(outcome.word()),
        Outcome::Failed | Outcome::Cancelled | Outcome::Incident | Outcome::Restless => {
            paint.red(outcome.word())
        }
    }
}

/// The worst of what became of the instances.
pub(crate) fn status(world: &World) -> Status {
    let called_too = world.instances().map(|it| (it, outcome_of(it, world)));
    let all: Vec<Outcome> = called_too
        // How a called instance ends is its caller's business.
        .filter(|(it, outcome)| {
            !it.is_called() || matches!(outcome, Outcome::Incident | Outcome::Waiting)
        })
        .map(|(_, outcome)| outcome)
        .collect();
    let any = |wanted: &[Outcome]| all.iter().any(|it| wanted.contains(it));
    if world.restless().is_some() || any(&[Outcome::Failed, Outcome::Cancelled]) {
        Status::Failed
    } else if any(&[Outcome::Incident]) {
        Status::Incident
    } else if any(&[Outcome::Waiting]) {
        Status::Waiting
    } else {
        Status::Done
    }
}

/// Tells people: each instance, what it waits for, and the variables.
pub(crate) fn text(world: &World, data: Option<&Path>, full: bool, out: &Screen) {
    let paint = out.paint;
    let main = world.main().id;
    for record in world.instances() {
        let ended_call = record.is_called() && !record.state.is_running();
        if !ended_call {
            out.gap();
            instance(record, world, data, out);
        }
        if record.id == main {
            let all: Vec<(Name, Value)> = record
                .variables()
                .map(|(name, value)| (Name::clone(name), value.clone()))
                .collect();
            out.variables(&all, full);
        }
    }
    for message in world.held() {
        out.gap();
        out.line(format!("{} message {}: nobody received it", paint.yellow("buffered"), message));
    }
}

fn instance(record: Record<'_>, world: &World, data: Option<&Path>, out: &Screen) {
    let paint = out.paint;
    let outcome = outcome_of(record, world);
    let id = format!("{} {}", record.definition.id, record.id);
    out.line(format!("{} {}", painted(outcome, paint), paint.bold(id)));
    if let Phase::Ended(Ending::Failed(failure)) = record.phase() {
        let code = failure.code.as_ref().map_or_else(String::new, |it| format!(" (error {it})"));
        out.line(format!("  {}{code}", failure.message));
    }
    if let Some(reason) = record.halted {
        out.line(format!("  the engine has given it up: {reason}"));
        let data = data.unwrap_or_else(|| Path::new(shell::DATA));
        let resolve = shell::named(&["resolve", &record.id.to_string()], data);
        out.line(format!("  way out: {resolve} has it tried again"));
    }
    if let (Outcome::Restless, Some((events, bytes))) = (outcome, world.restless()) {
        // Worth a word only where they are what it was given up for.
        let size = bytes >> 20;
        let size = if size < 100 { String::new() } else { format!(", which are {size} MiB") };
        out.line(format!("  it has not come to rest after {events} events{size}"));
        out.line("  way out: look for a loop that never ends; --trace shows where it goes round");
        return;
    }
    let mut all = pending::of(record);
    all.sort_by_key(Pending::kind);
    let now = world.now();
    let mut same: Vec<(String, &Pending, usize)> = Vec::new();
    for it in &all {
        let line = format!("{}: {}", paint.bold(it.title()), it.why(now));
        match same.last_mut() {
            Some((known, _, count)) if *known == line => *count += 1,
            Some(_) | None => same.push((line, it, 1)),
        }
    }
    for (line, it, count) in same.iter().take(LINES_MAX) {
        let kind = match it.what {
            What::Incident(_) => paint.red(it.kind()),
            What::Wait(..) | What::Condition(_) | What::Tokens | What::Events => {
                paint.cyan(it.kind())
            }
        };
        let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
        out.line(format!("  {kind} {line}{times}"));
        if let Some(way_out) = it.way_out() {
            out.line(format!("    way out: {way_out}"));
        }
    }
    if same.len() > LINES_MAX {
        out.line(format!("  and {} more; --json shows them all", same.len() - LINES_MAX));
    }
    if same.is_empty() && outcome == Outcome::Waiting {
        let reasons = travertine_kernel::why(record.plan(), record.state);
        for it in reasons.iter().filter(|it| look::is_telling(it)).take(LINES_MAX) {
            out.line(format!("  {}", json::brief(&it.to_string())));
        }
    }
}

/// All of it as data.
pub(crate) fn data(world: &World, report: &Report, trace: Vec<Value>) -> Value {
    run::document(world, status(world).code(), report, trace)
}

/// What there is to say of a model that cannot run.
pub(crate) fn rejected(report: &Report) -> Value {
    run::rejected(report, Status::Rejected.code())
}
