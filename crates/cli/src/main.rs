//! The binary `travertine`: checks BPMN models, runs and draws them, keeps them on a store, serves that store,
//! evaluates expressions, makes decisions and begins projects.
//!
//! `args` says what can be asked, a module for each command does it, `status` says how it went. All
//! that people see goes through a `Screen`.

#![forbid(unsafe_code)]

#[cfg(feature = "serve")]
mod access;
mod args;
mod bench;
mod caller;
mod check;
mod clock;
mod control;
mod decide;
mod diagnostic;
mod draw;
mod eval;
mod feel;
mod files;
mod json;
mod manual;
mod new;
mod paint;
mod pairs;
mod place;
mod prompt;
mod run;
#[cfg(feature = "postgres")]
mod schema;
mod screen;
#[cfg(feature = "serve")]
mod serve;
mod shell;
mod status;
mod store;
#[cfg(feature = "serve")]
mod webhooks;
mod worker;

use std::process::ExitCode;

use travertine_value::brief::abridged_lines;

use args::{Args, Command};
use screen::Screen;
use status::Status;

// Linked for its allocator, in place of the system's.
use mimalloc as _;

/// How much is shown of a line that says what is wrong: it may repeat a name or a value of any length.
const LINE_BYTES_MAX: usize = 2_000;

fn main() -> ExitCode {
    let args = Args::of_process();
    let out = Screen::stdout(args.color);
    let err = Screen::stderr(args.color);
    let done = match &args.command {
        Command::Check(check) => check::check(check, &out),
        Command::Run(run) => run::run(run, &out, &err),
        Command::Draw(draw) => draw::draw(draw, None, &out, &err),
        Command::Eval(eval) => eval::eval(eval, &out, &err),
        Command::Decide(decide) => decide::decide(decide, &out, &err),
        Command::New(args) => new::new(args, &out),
        Command::Bench(bench) => bench::bench(bench, &out),
        #[cfg(feature = "postgres")]
        Command::Schema(args) => schema::schema(args, &out),
        Command::Completions(args) => manual::completions(args, &out),
        Command::Man(args) => manual::man(args, &out),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::serve(args, &out, &err),
        #[cfg(feature = "serve")]
        Command::Access(args) => access::access(args, &out, &err),
        #[cfg(feature = "serve")]
        Command::Webhooks(args) => webhooks::webhooks(args, &out),
        Command::Worker(worker) => worker::worker(worker, &out, &err),
        Command::Store(command) => store::run(command, None, &out, &err),
    };
    conclude(done, &out, &err).into()
}

/// How a command went. What went wrong stands on standard error.
fn conclude(done: anyhow::Result<Status>, out: &Screen, err: &Screen) -> Status {
    let status = done.unwrap_or_else(|error| {
        let told = error.downcast_ref::<store::Told>();
        if let Some(data) = told.and_then(store::Told::data) {
            err.json(&data);
        } else {
            let words = format!("{error:#}");
            let words = abridged_lines(&words, LINE_BYTES_MAX);
            err.lines(format!("{} {words}", err.paint.red("error:")));
        }
        told.map_or(Status::Usage, store::Told::status)
    });
    match out.finish() {
        Ok(()) => status,
        Err(error) => {
            err.line(format!("{} cannot write: {error}", err.paint.red("error:")));
            Status::Usage
        }
    }
}
