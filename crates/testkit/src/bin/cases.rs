//! Runs conformance cases: `cases [--feature F] [--skip-feature F] [--only ID] [--engine-specific]
//! [--restart FROM] [--trace] [--list] FILE…`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is what it is for")]

use std::{path::PathBuf, process::ExitCode};

use travertine_testkit::cases::{Choice, Restarts, Suite, Summary};

const USAGE: &str = "usage: cases [OPTION]… FILE…

  --feature F        run only cases mainly about F; may be given again
  --skip-feature F   run no cases mainly about F; may be given again
  --only ID          run only cases whose id contains ID; may be given again
  --engine-specific  run those too that expect what the standard leaves open
  --restart FROM     restart between any two steps, and read everything from the `log`, from
                     `views` with snapshots, or from views and `chains` of entries
  --trace            print everything that happened in cases that fail
  --list             print the ids of the cases instead of running them";

#[derive(Default)]
struct Arguments {
    choice: Choice,
    trace: bool,
    list: bool,
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // A panic is reported as a failed case, with its message.
    std::panic::set_hook(Box::new(|_| {}));
    let mut summary = Summary::default();
    for file in &arguments.files {
        let suite = match Suite::load(file) {
            Ok(suite) => suite,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::from(2);
            }
        };
        if arguments.list {
            for case in suite.cases.iter().filter(|it| arguments.choice.wants(it)) {
                println!("{} ({})", case.id, case.feature);
            }
        } else {
            summary.take(&suite, &arguments.choice);
        }
    }
    if arguments.list {
        return ExitCode::SUCCESS;
    }
    if arguments.trace {
        for (id, failure) in &summary.failures {
            println!("--- {id}\n{}", failure.trace);
        }
    }
    println!("{summary}");
    if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(mut given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--feature" => arguments.choice.features.push(value()?),
            "--skip-feature" => arguments.choice.skipped_features.push(value()?),
            "--only" => arguments.choice.only.push(value()?),
            "--engine-specific" => arguments.choice.engine_specific = true,
            "--restart" => {
                arguments.choice.restarts = match value()?.as_str() {
                    "log" => Restarts::Log,
                    "views" => Restarts::Views,
                    "chains" => Restarts::Chains,
                    other => return Err(format!("nothing to restart from: {other}")),
                }
            }
            "--trace" => arguments.trace = true,
            "--list" => arguments.list = true,
            option if option.starts_with('-') => return Err(format!("no such option: {option}")),
            file => arguments.files.push(file.into()),
        }
    }
    if arguments.files.is_empty() { Err("no file is named".to_owned()) } else { Ok(arguments) }
}
