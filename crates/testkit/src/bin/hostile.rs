//! Runs one hostile case in this process, on a new store: `hostile CASE DIR`. Without a case it names them all.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is what it is for")]

use std::{env, path::Path, process::ExitCode};

use travertine_testkit::hostile::{cases, run};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let [name, dir] = &words[..] else {
        for (_, case) in cases() {
            println!("{}", case.name);
        }
        return ExitCode::SUCCESS;
    };
    let cases = cases();
    let Some(case) = cases.iter().map(|(_, it)| it).find(|it| it.name == *name) else {
        eprintln!("there is no case {name}; without words, all are named");
        return ExitCode::from(2);
    };
    match run(case, Path::new(dir)) {
        Ok(fate) => {
            println!("{fate}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
