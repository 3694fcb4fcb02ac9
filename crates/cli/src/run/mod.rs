//! `travertine run`: an instance in memory, from its start to where it ends or waits.
//!
//! `choice` finds what to start, `world` holds it, `watch` shows what happens. `answers` and `dialog`
//! say what to do about `pending`, and `outcome` tells how it ended.

mod answers;
mod choice;
mod dialog;
mod outcome;
mod pending;
mod request;
mod watch;
mod world;

use std::io::{self, IsTerminal as _};

use anyhow::{Result, anyhow, bail};
use travertine_bpmn::{Report, Severity};
use travertine_expr::Name;
use travertine_kernel::Assignments;

use crate::{
    args, clock, diagnostic, files, files::Models, json, pairs, prompt::Prompt, screen::Screen,
    status::Status,
};
use answers::Answers;
use watch::{Shown, Watch};
pub(crate) use world::World;

/// Runs a process of the files.
pub(crate) fn run(args: &args::Run, out: &Screen, err: &Screen) -> Result<Status> {
    let models = Models::read(&args.files)?;
    let report = models.report();
    if report.is_rejected() {
        reject(&report, &models, args.json, out, err);
        return Ok(Status::Rejected);
    }
    warn(&report, args.json, err);
    let watch = Watch::new(shown(args), args.json, out.clone());
    let record = watch.record();
    let mut world = World::new(args.start.now.unwrap_or_else(clock::now), watch);
    begin(&args.start, args.process.as_deref(), &report, &mut world, out)?;
    let left = if asks(args) { dialog::talk(&mut world, &mut Prompt::new()?, out)? } else { None };
    if args.json {
        out.line(json::pretty(&outcome::data(&world, &report, record.take())));
    } else {
        outcome::text(&world, out);
    }
    Ok(left.unwrap_or_else(|| outcome::status(&world)))
}

/// Starts what the arguments ask for and gives the answers they name.
pub(crate) fn begin(
    asked: &args::Start,
    process: Option<&str>,
    report: &Report,
    world: &mut World,
    out: &Screen,
) -> Result<()> {
    let process = choice::process(report, process)?;
    let start = choice::start(process, asked.event.as_deref())?;
    let variables = variables(asked)?;
    let answers = asked.answers.as_deref().map(Answers::read).transpose()?.unwrap_or_default();
    world.deploy(&report.processes)?;
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
    if json {
        out.line(json::pretty(&outcome::rejected(report)));
        return;
    }
    for it in report.diagnostics.iter().filter(|it| it.severity == Severity::Error) {
        err.line(diagnostic::text(it, models, err.paint));
        err.line("");
    }
    err.line(format!("{} the model cannot run", err.paint.red("rejected:")));
}

fn warn(report: &Report, json: bool, err: &Screen) {
    let warnings = report.diagnostics.len();
    if warnings == 0 || json {
        return;
    }
    let what = if warnings == 1 { "1 warning" } else { &format!("{warnings} warnings") };
    let word = err.paint.yellow("warning:");
    err.line(format!("{word} {what} about the model; `travertine check` shows them"));
}

/// The variables to start with. Those of arguments go before those of a file.
fn variables(args: &args::Start) -> Result<Assignments> {
    let mut variables = Vec::new();
    if let Some(path) = &args.vars_file {
        if args.answers.as_ref().is_some_and(|it| it == path) && path.as_os_str() == "-" {
            bail!("--vars and --answers cannot both be standard input");
        }
        let text = files::text(path)?;
        variables = pairs::object(&text).map_err(|it| anyhow!("{}: {it}", files::title(path)))?;
    }
    for (name, value) in &args.vars {
        variables.retain(|(known, _)| known != name);
        variables.push((Name::clone(name), value.clone()));
    }
    Ok(variables)
}
