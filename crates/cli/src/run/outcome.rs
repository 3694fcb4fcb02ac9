//! How a run ended, for people and as data.

use std::path::Path;

use travertine_bpmn::Report;
use travertine_kernel::{Ending, Phase, tree};
use travertine_value::{Name, Value};

use super::{
    pending::{self, Pending, What},
    record::Record,
    world::World,
};
use crate::{diagnostic, json, paint::Paint, screen::Screen, shell, status::Status};

/// How many lines people read about what waits.
const LINES_MAX: usize = 20;

/// How far an instance came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Completed,
    Failed,
    Cancelled,
    Incident,
    Waiting,
    Restless,
}

impl Outcome {
    fn of(record: Record<'_>, world: &World) -> Self {
        match record.phase() {
            Phase::Ended(Ending::Completed) => Self::Completed,
            Phase::Ended(Ending::Failed(_)) => Self::Failed,
            Phase::Ended(Ending::Cancelled) => Self::Cancelled,
            Phase::New | Phase::Running if record.is_troubled() => Self::Incident,
            Phase::New | Phase::Running if world.restless().is_some() => Self::Restless,
            Phase::New | Phase::Running => Self::Waiting,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Incident => "incident",
            Self::Waiting => "waiting",
            Self::Restless => "restless",
        }
    }

    fn painted(self, paint: Paint) -> String {
        match self {
            Self::Completed => paint.green(self.word()),
            Self::Waiting => paint.yellow(self.word()),
            Self::Failed | Self::Cancelled | Self::Incident | Self::Restless => {
                paint.red(self.word())
            }
        }
    }
}

/// The worst of what became of the instances.
pub(crate) fn status(world: &World) -> Status {
    let called_too = world.instances().map(|it| (it, Outcome::of(it, world)));
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
    let outcome = Outcome::of(record, world);
    let id = format!("{} {}", record.definition.id, record.id);
    out.line(format!("{} {}", outcome.painted(paint), paint.bold(id)));
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
    if let (Outcome::Restless, Some(events)) = (outcome, world.restless()) {
        out.line(format!("  it has not come to rest after {events} events"));
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
}

/// All of it as data. `docs/cli.md` promises the names of the fields.
pub(crate) fn data(world: &World, report: &Report, trace: Vec<Value>) -> Value {
    let main = world.main();
    json::object([
        ("outcome", Outcome::of(main, world).word().into()),
        ("exit_status", u32::from(status(world).code()).into()),
        ("process", Name::clone(&main.definition.id).into()),
        ("instance", json::key(main.id.0)),
        ("time", world.now().to_string().into()),
        ("variables", json::variables(main.variables())),
        ("instances", world.instances().map(|it| instance_data(it, world)).collect()),
        ("held_messages", world.held().into_iter().map(Value::from).collect()),
        ("diagnostics", report.diagnostics.iter().map(diagnostic::data).collect()),
        ("trace", trace.into()),
    ])
}

/// What there is to say of a model that cannot run.
pub(crate) fn rejected(report: &Report) -> Value {
    json::object([
        ("outcome", "rejected".into()),
        ("exit_status", u32::from(Status::Rejected.code()).into()),
        ("diagnostics", report.diagnostics.iter().map(diagnostic::data).collect()),
    ])
}

fn instance_data(record: Record<'_>, world: &World) -> Value {
    let failure = match record.phase() {
        Phase::Ended(Ending::Failed(failure)) => Some(json::object([
            ("code", failure.code.clone().into()),
            ("message", failure.message.as_str().into()),
        ])),
        Phase::New | Phase::Running | Phase::Ended(Ending::Completed | Ending::Cancelled) => None,
    };
    let now = world.now();
    let pending = pending::of(record);
    let data = |it: &Pending| it.data(now, &world.visible(it));
    let is_trouble = |it: &&Pending| matches!(it.what, What::Incident(_));
    let tree = tree(record.plan(), record.state).map(|it| it.to_string()).unwrap_or_default();
    json::object([
        ("instance", json::key(record.id.0)),
        ("process", Name::clone(&record.definition.id).into()),
        ("caller", record.caller.map(|it| json::key(it.instance.0)).into()),
        ("outcome", Outcome::of(record, world).word().into()),
        ("failure", failure.into()),
        ("variables", json::variables(record.variables())),
        ("incidents", pending.iter().filter(is_trouble).map(data).collect()),
        ("waits", pending.iter().filter(|it| !is_trouble(it)).map(data).collect()),
        ("tree", tree.lines().map(Value::from).collect()),
    ])
}
