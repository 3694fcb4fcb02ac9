//! Conformance cases: our own, and those of other projects where they are at hand.

use std::path::{Path, PathBuf};

use travertine_testkit::cases::{Choice, Restarts, Suite, Summary, Tally};

use crate::{root, skipped};

#[expect(clippy::print_stdout, reason = "whoever runs the tests wants to know")]
fn run(file: &Path, choice: &Choice) -> Summary {
    let suite = Suite::load(file).unwrap_or_else(|error| panic!("{error}"));
    let mut summary = Summary::default();
    summary.take(&suite, choice);
    println!("{}: {}", suite.name, summary.total());
    summary
}

fn own_cases() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("conformance"))
        .expect("our own cases can be read")
        .map(|entry| entry.expect("a folder can be read").path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn our_own_cases_pass() {
    for file in own_cases() {
        let summary = run(&file, &Choice::default());
        assert_eq!(summary.total().failed, 0, "{summary}");
    }
}

/// How many cases of each suite pass. It only goes up.
const FLOORS: [(&str, usize); 3] = [("betsy", 242), ("camunda7", 315), ("spiff", 41)];

#[test]
fn as_many_cases_of_others_pass_as_before() {
    let suites = root().join("../shared/suites");
    if !suites.exists() {
        skipped(&format!("there are no suites in {}", suites.display()));
        return;
    }
    for (suite, floor) in FLOORS {
        let choice = Choice { engine_specific: true, ..Choice::default() };
        let summary = run(&suites.join(suite).join("cases.json"), &choice);
        let Tally { passed, .. } = summary.total();
        assert!(passed >= floor, "{suite}: {passed} passed, {floor} before\n{summary}");
        let panicked = summary.failures.iter().find(|(_, it)| it.found.starts_with("a panic"));
        assert!(panicked.is_none(), "{panicked:?}");
    }
}

/// The cases that do not pass, by suite.
#[expect(clippy::print_stdout, reason = "whoever runs the tests wants to know")]
fn failed(choice: &Choice) -> Vec<(String, Vec<String>)> {
    let shared = root().join("../shared/suites");
    if !shared.exists() {
        println!("there are no suites in {}, only our own cases are run", shared.display());
    }
    let others = FLOORS.iter().map(|(suite, _)| shared.join(suite).join("cases.json"));
    let files = own_cases().into_iter().chain(others.filter(|_| shared.exists()));
    let failed = files.map(|file| {
        let summary = run(&file, choice);
        let ids = summary.failures.into_iter().map(|(id, it)| format!("{id} at step {}", it.step));
        (file.display().to_string(), ids.collect())
    });
    failed.collect()
}

#[test]
fn restarts_between_all_steps_change_nothing() {
    let choice = |restarts| Choice { engine_specific: true, restarts, ..Choice::default() };
    let without = failed(&choice(Restarts::None));
    for restarts in [Restarts::Log, Restarts::Views, Restarts::Chains] {
        assert_eq!(failed(&choice(restarts.clone())), without, "{restarts:?}");
    }
}

#[test]
fn restarts_on_a_directory_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let restarts = Restarts::Directory(dir.path().to_owned());
    for file in own_cases() {
        let summary = run(&file, &Choice { restarts: restarts.clone(), ..Choice::default() });
        assert_eq!(summary.total().failed, 0, "{summary}");
    }
}
