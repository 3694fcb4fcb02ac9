//! Runs folders of the DMN TCK: `tck [--only TEXT] [--list-failures] DIR…`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is what it is for")]

use std::{path::PathBuf, process::ExitCode};

use travertine_testkit::tck::{Kit, Summary};

const USAGE: &str = "usage: tck [OPTION]… DIR…

Runs all cases (`*-test-*.xml`) of the folders and of all folders in them, each against the model
beside it. Prints each case that fails with what was expected and found, a line for each folder, and
last of all how many passed and failed.

  --only TEXT      run only cases whose id (file and case) contains TEXT; may be given again
  --list-failures  print only the ids of the cases that fail
  --help           print this

What counts is the test case: it passes when each of its results is as expected. A model that cannot
be loaded fails all of its cases. Where an error is expected, null will do. Numbers are compared by
value; where the case gives one with fewer digits, it may be off by less than 0.00000001, as in the
kit's own runner.

Exit status: 0 all passed, 1 some failed, 2 a file cannot be read or the arguments make no sense.";

#[derive(Default)]
struct Arguments {
    only: Vec<String>,
    ids_only: bool,
    help: bool,
    folders: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if arguments.help {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    // A panic is reported as a failed case, with its message.
    std::panic::set_hook(Box::new(|_| {}));
    let mut summary = Summary::default();
    for folder in &arguments.folders {
        match Kit::find(folder).and_then(|kit| kit.run(&arguments.only)) {
            Ok(found) => summary.add(found),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::from(2);
            }
        }
    }
    for failure in &summary.failures {
        if arguments.ids_only { println!("{}", failure.id) } else { println!("{failure}") }
    }
    for (level, tally) in &summary.levels {
        println!("{level}: {tally}");
    }
    println!("{}", summary.total());
    if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(mut given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--only" => {
                let value = given.next().ok_or_else(|| format!("{argument} needs a value"))?;
                arguments.only.push(value);
            }
            "--list-failures" => arguments.ids_only = true,
            "--help" | "-h" => arguments.help = true,
            option if option.starts_with('-') => return Err(format!("no such option: {option}")),
            folder => arguments.folders.push(folder.into()),
        }
    }
    if arguments.folders.is_empty() && !arguments.help {
        return Err("no folder is named".to_owned());
    }
    Ok(arguments)
}
