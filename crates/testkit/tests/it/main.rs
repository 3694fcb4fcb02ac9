//! Conformance cases: our own, and those of other projects where they are at hand.

use std::path::{Path, PathBuf};

use travertine_testkit::cases::{Choice, Suite, Summary, Tally};

#[expect(clippy::print_stdout, reason = "whoever runs the tests wants to know")]
fn run(file: &Path, choice: &Choice) -> Summary {
    let suite = Suite::load(file).unwrap_or_else(|error| panic!("{error}"));
    let mut summary = Summary::default();
    summary.take(&suite, choice);
    println!("{}: {}", suite.name, summary.total());
    summary
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn our_own_cases_pass() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("conformance"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let summary = run(&file, &Choice::default());
        assert_eq!(summary.total().failed, 0, "{summary}");
    }
}

/// How many cases of each suite pass. It only goes up.
const FLOORS: [(&str, usize); 3] = [("betsy", 242), ("camunda7", 313), ("spiff", 41)];

#[test]
fn as_many_cases_of_others_pass_as_before() {
    let suites = root().join("../shared/suites");
    if !suites.exists() {
        println!("skipped: there are no suites in {}", suites.display());
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
