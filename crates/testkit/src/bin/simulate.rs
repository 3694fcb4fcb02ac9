//! Runs simulations: `simulate [--seeds N] [--from N] [--steps N] [--keep-going] [--trace]`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is what it is for")]

use std::process::ExitCode;

use travertine_testkit::simulation::{Figures, simulate};

const USAGE: &str = "usage: simulate [OPTION]…

  --seeds N      how many simulations to run (100)
  --from N       the seed of the first (0)
  --steps N      how many things happen in each (400)
  --keep-going   go on after a promise was broken
  --trace        print all that happened where a promise was broken";

struct Arguments {
    seeds: u64,
    from: u64,
    steps: u64,
    keep_going: bool,
    trace: bool,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // A panic is reported as a broken promise, with its message.
    std::panic::set_hook(Box::new(|_| {}));
    let mut figures = Figures::default();
    let mut broken = 0;
    for seed in arguments.from..arguments.from.saturating_add(arguments.seeds) {
        match simulate(seed, arguments.steps) {
            Ok(it) => figures.add(&it),
            Err(it) => {
                broken += 1;
                if arguments.trace {
                    println!("{}", it.trace.join("\n"));
                }
                println!("{it}");
                if !arguments.keep_going {
                    break;
                }
            }
        }
    }
    println!("{figures}; {broken} broken");
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(mut given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments =
        Arguments { seeds: 100, from: 0, steps: 400, keep_going: false, trace: false };
    while let Some(argument) = given.next() {
        let mut number = || {
            let value = given.next().ok_or_else(|| format!("{argument} needs a value"))?;
            value.parse().map_err(|_| format!("{argument} needs a number, not {value}"))
        };
        match argument.as_str() {
            "--seeds" => arguments.seeds = number()?,
            "--from" => arguments.from = number()?,
            "--steps" => arguments.steps = number()?,
            "--keep-going" => arguments.keep_going = true,
            "--trace" => arguments.trace = true,
            other => return Err(format!("no such option: {other}")),
        }
    }
    Ok(arguments)
}
