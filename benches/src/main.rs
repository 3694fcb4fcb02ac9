//! Counts instructions, which are the same on a busy machine and an idle one.
//!
//! `cargo run --profile dist -p travertine-benches` measures every scenario at two sizes under callgrind
//! and prints what one more unit costs at each, and how much that grows. It needs valgrind.
//! `… -- SCENARIO SIZE` does the work alone.

use std::{
    env,
    io::{self, Write as _},
    process::{Command, ExitCode},
};

use travertine_benches::{COMPARISONS, SCENARIOS, Scenario};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match &args[..] {
        [] => measure_all(),
        [name, size] => match (work(name), size.parse()) {
            (Some(run), Ok(size)) => {
                std::hint::black_box(run(size));
                ExitCode::SUCCESS
            }
            _ => usage(),
        },
        _ => usage(),
    }
}

/// The work of that name: a scenario, or one way of a comparison, as `name/0` and `name/1`.
fn work(name: &str) -> Option<fn(u32) -> usize> {
    if let Some(scenario) = SCENARIOS.iter().find(|it| it.name == name) {
        return Some(scenario.run);
    }
    let (name, way) = name.split_once('/')?;
    let comparison = COMPARISONS.iter().find(|it| it.name == name)?;
    comparison.ways.get(way.parse::<usize>().ok()?).map(|(_, run)| *run)
}

fn usage() -> ExitCode {
    let names: Vec<&str> = SCENARIOS.iter().map(|it| it.name).collect();
    say(&format!("usage: [SCENARIO SIZE], where SCENARIO is one of {}", names.join(", ")));
    ExitCode::from(2)
}

fn say(line: &str) {
    // Nobody is left to tell when standard output is gone.
    drop(writeln!(io::stdout(), "{line}"));
}

fn measure_all() -> ExitCode {
    let mut good = true;
    say("instructions a unit, at a small and at a large size, and the ratio of the two");
    for scenario in SCENARIOS {
        match measure(scenario) {
            Ok((small, large)) => {
                let ratio = large / small;
                let limit = f64::from(scenario.growth_max) / 100.0;
                let verdict = if ratio > limit {
                    good = false;
                    format!(", more than {limit}")
                } else {
                    String::new()
                };
                say(&format!(
                    "{:28} {small:>9.0} {large:>9.0}  x{ratio:.2}{verdict}   ({})",
                    scenario.name, scenario.unit
                ));
            }
            Err(why) => {
                good = false;
                say(&format!("{:28} {why}", scenario.name));
            }
        }
    }
    say("\ninstructions a unit, in two ways, and the ratio of the first to the second");
    for it in COMPARISONS {
        let [(left, _), (right, _)] = it.ways;
        let cost = |way: usize| -> Result<f64, String> {
            let name = format!("{}/{way}", it.name);
            Ok((count(&name, 220)? - count(&name, 20)?) / 200.0)
        };
        match (cost(0), cost(1)) {
            (Ok(first), Ok(second)) => {
                let ratio = first / second;
                let limit = it.ratio_max.map(|it| f64::from(it) / 100.0);
                let verdict = match limit {
                    Some(limit) if ratio > limit => {
                        good = false;
                        format!(", more than {limit}")
                    }
                    Some(_) | None => String::new(),
                };
                say(&format!(
                    "{:28} {first:>9.0} {second:>9.0}  x{ratio:.2}{verdict}   ({}: {left} to {right})",
                    it.name, it.unit
                ));
            }
            (Err(why), _) | (_, Err(why)) => {
                good = false;
                say(&format!("{:28} {why}", it.name));
            }
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What a unit costs, around the small size and around the large one.
fn measure(scenario: &Scenario) -> Result<(f64, f64), String> {
    let (small, large) = scenario.sizes;
    let slope = |from: u32, to: u32| -> Result<f64, String> {
        let (a, b) = (count(scenario.name, from)?, count(scenario.name, to)?);
        Ok((b - a) / f64::from(to - from))
    };
    if scenario.average {
        let average = |size: u32| Ok::<f64, String>(count(scenario.name, size)? / f64::from(size));
        Ok((average(small)?, average(large)?))
    } else {
        Ok((slope(small, small * 2)?, slope(large - large / 2, large)?))
    }
}

fn count(name: &str, size: u32) -> Result<f64, String> {
    let exe = env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(exe)
        .args([name, &size.to_string()])
        .output()
        .map_err(|error| {
            format!("valgrind cannot be run ({error}): install the package valgrind")
        })?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split_once("Collected :"));
    line.and_then(|(_, number)| number.trim().parse().ok())
        .ok_or_else(|| format!("valgrind counted nothing:\n{text}"))
}
