//! `travertine run`: an instance in memory or in a store, from its start to where it ends or waits.
//!
//! `choice` finds what to start, `world` holds it, or `kept` where it is in a store, and `watch` shows
//! what happens. `answers` and `dialog`
//! say what to do about `pending`, and `outcome` tells how it ended.

mod answers;
mod dialog;
mod kept;
mod notes;
mod outcome;
mod request;
mod scenario;
mod watch;
mod world;

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Result, anyhow, bail};
use travertine_bpmn::{Diagnostic, Process, Report, Severity};
use travertine_data::run::choice;
use travertine_kernel::Assignments;
use travertine_runtime::{Engine, Error, InstanceId, Seen, Turned, engine::Observer};
use travertine_store::view::{Filter, InstanceRow, InstanceState, Query, Row, Table};
use travertine_value::Name;

use crate::{
    args, clock, diagnostic,
    files::Models,
    prompt::Prompt,
    screen::Screen,
    status::Status,
    store,
    store::{Full, Store},
};
use answers::Answers;
use kept::Kept;
use notes::Notes;
pub(crate) use watch::line;
use watch::{Shown, Watch};
pub(crate) use world::World;

/// Runs a process of the files.
pub(crate) fn run(args: &args::Run, out: &Screen, err: &Screen) -> Result<Status> {
    let models = Models::read(&args.files)?;
    if let Some(file) = &args.scenario.file {
        return scenario::run(args, file, &models, out, err);
    }
    let defined = if args.data.is_some() { models.defined() } else { models.defined_for_good() };
    let report = &defined.report;
    if report.is_rejected() {
        reject(report, &models, args.json, out, err);
        return Ok(Status::Rejected);
    }
    warn(report, args.json, err);
    let watch = Watch::new(shown(args), args.json, out.clone());
    let record = watch.record();
    let mut world = if let Some(data) = &args.data {
        goes_on(args, data, &models, report, watch, out, err)?
    } else {
        let mut world = World::new(args.start.now.unwrap_or_else(clock::now), watch);
        world.tell_restless(err);
        begin(&args.start, args.process.as_deref(), &defined, &mut world, out)?;
        world
    };
    let left = if asks(args) { dialog::talk(&mut world, &mut Prompt::new()?, out)? } else { None };
    if args.json {
        out.json(&outcome::data(&world, report, record.take()));
    } else {
        outcome::text(&world, args.data.as_deref(), args.full, out);
    }
    let status = left.unwrap_or_else(|| outcome::status(&world));
    if let (Some(data), false, false) = (&args.data, world.is_over(), args.json) {
        let data = data.display();
        err.line(err.paint.dim(format!("it is kept in {data}; the same command goes on with it")));
    }
    world.close()?;
    Ok(status)
}

/// An instance in a store: the one that runs there, or a new one. Answers that it has had are not given
/// again.
fn goes_on(
    args: &args::Run,
    data: &Path,
    models: &Models,
    report: &Report,
    watch: Watch,
    out: &Screen,
    err: &Screen,
) -> Result<World> {
    let (process, start) = chosen(report, args.process.as_deref(), &args.start)?;
    let variables = variables(&args.start)?;
    let answers = args.start.answers.as_deref().map(Answers::read).transpose()?.unwrap_or_default();
    let explain = |error: &Error| anyhow!(store::explain(error, data, None));
    let observer = watch.is_needed().then(|| observer(watch));
    let open = || store::open(data, Store::New(None), Full::Fails, observer.clone());
    let engine = store::patiently(open)?;
    engine.deploy(&models.files()).map_err(|it| explain(&it))?;
    engine.settle(Duration::from_secs(30)).map_err(|it| explain(&it))?;
    let known = if args.new { None } else { open_instance(&engine, &process.id)? };
    let main = if let Some(row) = known {
        let since = row.started;
        if !args.json {
            let what = format!("goes on with {} {}, started {since}", row.definition, row.id);
            err.line(err.paint.dim(format!("{what}; --new starts another")));
        }
        InstanceId(row.id)
    } else {
        let mut starting = engine.start(process.id.as_str()).variables(variables);
        if let Some(event) = start {
            starting = starting.at(event);
        }
        starting.wait().map_err(|it| explain(&it))?
    };
    let definitions = report.processes.iter().map(|it| Name::from(it.id.as_str())).collect();
    let mut world = World::kept(Kept::new(engine, main, definitions).map_err(|it| explain(&it))?);
    answers.give_noted(&mut world, out, Some(&Notes::in_store(data)))?;
    Ok(world)
}

fn observer(watch: Watch) -> Observer {
    let watch = Mutex::new(watch);
    Observer(Arc::new(move |seen| {
        let Seen { now, live, command, events, effects } = seen;
        let (instance, definition, state) = (live.id, &*live.definition, &live.state);
        let turned = Turned { now, instance, definition, command, events, effects, state };
        watch.lock().expect("nobody fails while looking on").see(turned);
    }))
}

/// The latest instance of a process that has not ended and that nobody has called.
fn open_instance(engine: &Engine, process: &str) -> Result<Option<InstanceRow>> {
    use InstanceState::{Halted, Running, Suspended};
    let page = engine.query_now(&Query {
        table: Table::Instances,
        filters: vec![
            Filter::Definition(process.into()),
            Filter::State(vec![Running, Suspended, Halted]),
            Filter::TopLevel,
        ],
        descending: true,
        after: None,
        limit: 1,
    })?;
    Ok(page.rows.into_iter().find_map(|it| match it {
        Row::Instance(it) => Some(it),
        _ => None,
    }))
}

/// The process to start, and the start event that counts as triggered.
fn chosen<'a>(
    report: &'a Report,
    process: Option<&str>,
    asked: &'a args::Start,
) -> Result<(&'a Process, Option<&'a str>)> {
    let process = choice::process(report, process, "--process").map_err(|it| anyhow!(it))?;
    let start = choice::start(process, asked.event.as_deref(), "--start");
    Ok((process, start.map_err(|it| anyhow!(it))?))
}

/// Starts what the arguments ask for and gives the answers they name.
pub(crate) fn begin(
    asked: &args::Start,
    process: Option<&str>,
    defined: &travertine_runtime::Models,
    world: &mut World,
    out: &Screen,
) -> Result<()> {
    let report = &defined.report;
    let (process, start) = chosen(report, process, asked)?;
    let variables = variables(asked)?;
    let answers = asked.answers.as_deref().map(Answers::read).transpose()?.unwrap_or_default();
    world.deploy(&report.processes, &defined.decisions)?;
    world.start(&process.id, start, variables)?;
    answers.give(world, out)
}

fn shown(args: &args::Run) -> Shown {
    Shown { trace: args.trace, tree: args.tree }
}

/// Whether someone is there to be asked.
fn asks(args: &args::Run) -> bool {
    !args.json && !args.until_idle && io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Says why a model cannot run.
pub(crate) fn reject(report: &Report, models: &Models, json: bool, out: &Screen, err: &Screen) {
    reject_as("the model cannot run", report, models, json, out, err);
}

/// Says why files are refused, and what that means.
pub(crate) fn reject_as(
    what: &str,
    report: &Report,
    models: &Models,
    json: bool,
    out: &Screen,
    err: &Screen,
) {
    if json {
        out.json(&outcome::rejected(report));
        return;
    }
    for it in report.diagnostics.iter().filter(|it| it.severity == Severity::Error) {
        err.lines(diagnostic::text(it, models, err.paint));
        err.line("");
    }
    err.line(format!("{} {what}", err.paint.red("rejected:")));
}

fn warn(report: &Report, json: bool, err: &Screen) {
    let counts = |it: &&Diagnostic| it.severity == Severity::Warning;
    let warnings = report.diagnostics.iter().filter(counts).count();
    if warnings == 0 || json {
        return;
    }
    let what = if warnings == 1 { "1 warning" } else { &format!("{warnings} warnings") };
    let word = err.paint.yellow("warning:");
    err.line(format!("{word} {what} about the model; `travertine check` shows them"));
}

/// The variables to start with.
fn variables(args: &args::Start) -> Result<Assignments> {
    let is_input = |it: &Path| it == Path::new("-");
    if args.variables.object.as_deref() == Some("-")
        && args.answers.as_deref().is_some_and(is_input)
    {
        bail!("--vars and --answers cannot both be standard input");
    }
    args.variables.given()
}
