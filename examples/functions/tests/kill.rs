//! The examples lose nothing and do nothing twice, whenever they are killed.
//!
//! Each is killed just before its first append to the log is durable, and just after; then, on a fresh
//! directory, at its second, and so on until it comes to its end before that. In between it is run again on
//! what it had left behind.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Output, Stdio},
};

/// One example on a directory, killed at the nth time that it passes a point of the store.
fn run(program: &str, dir: &Path, crash: Option<(&str, u32)>) -> Option<String> {
    let mut command = Command::new(program);
    command.arg(dir).stdin(Stdio::null());
    match crash {
        Some((point, nth)) => command.env("TRAVERTINE_CRASH", format!("{point}:{nth}")),
        None => command.env_remove("TRAVERTINE_CRASH"),
    };
    let Output { status, stdout, stderr } = command.output().expect("the example starts");
    let said = String::from_utf8(stdout).expect("it says words");
    if status.success() {
        return Some(said);
    }
    assert!(
        crash.is_some() && status.code().is_none(),
        "{said}{}",
        String::from_utf8_lossy(&stderr)
    );
    None
}

/// How its runs have ended.
fn endings(said: &str) -> Vec<&str> {
    said.lines().filter(|it| it.contains(" ended: ")).collect()
}

/// What activities did: the key of each, which attempt, and what.
struct Line {
    key: String,
    attempt: u32,
    what: String,
}

fn ledger(dir: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(dir.join("ledger")).expect("something was done");
    text.lines()
        .map(|line| {
            let parts: Vec<&str> = line.split('\t').collect();
            let [key, attempt, what] = parts[..] else { panic!("half a line: {line}") };
            let attempt = attempt.parse().expect("a number");
            Line { key: key.to_owned(), attempt, what: what.to_owned() }
        })
        .collect()
}

/// What was done, each once; how often something was done again; each attempt follows the one before.
fn effects(lines: &[Line], after: &str) -> (Vec<String>, usize) {
    let mut by_key: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    for line in lines {
        by_key.entry(&line.key).or_default().push(line);
    }
    let (mut all, mut again) = (Vec::new(), 0);
    for (key, lines) in by_key {
        let (mut attempt, mut repeated) = (0, 0);
        for line in lines {
            if line.attempt == attempt {
                repeated += 1;
            } else {
                assert_eq!(line.attempt, attempt + 1, "{after}: an attempt at {key} was forgotten");
                attempt = line.attempt;
                all.push(line.what.clone());
            }
        }
        assert!(repeated <= 1, "{after}: {key} was done again and again");
        again += repeated;
    }
    all.sort();
    (all, again)
}

/// `at_once` is how many activities it has under way at the same time, at most.
fn survives_every_kill(program: &str, at_once: usize) {
    let dir = tempfile::tempdir().expect("there is room");
    let said = run(program, dir.path(), None).expect("nobody kills it");
    let expected = endings(&said);
    assert!(!expected.is_empty(), "{said}");
    let (done, again) = effects(&ledger(dir.path()), "without a kill");
    assert_eq!(again, 0, "nobody has killed it");
    // Run again, it does nothing more.
    let said_again = run(program, dir.path(), None).expect("nobody kills it");
    assert_eq!(endings(&said_again), expected);
    assert_eq!(effects(&ledger(dir.path()), "once more"), (done.clone(), 0));

    for point in ["append.inserted", "append.committed"] {
        let mut nth = 1;
        while is_killed_and_goes_on(program, (point, nth), &expected, &done, at_once) {
            nth += 1;
        }
        assert!(nth > 2, "it appends something to be killed at");
    }
}

/// Says whether it was killed at all.
fn is_killed_and_goes_on(
    program: &str,
    crash: (&str, u32),
    endings_expected: &[&str],
    done: &[String],
    at_once: usize,
) -> bool {
    let dir = tempfile::tempdir().expect("there is room");
    let after = format!("killed at {crash:?}");
    let is_killed = run(program, dir.path(), Some(crash)).is_none();
    let said = run(program, dir.path(), None).expect("nobody kills it");
    assert_eq!(endings(&said), endings_expected, "{after}");
    let (found, again) = effects(&ledger(dir.path()), &after);
    assert_eq!(found, done, "{after}");
    let at_work = if is_killed { at_once } else { 0 };
    assert!(again <= at_work, "{after}: {again} were done again");
    is_killed
}

/// Killed again and again on the same directory, it comes to the same end: each run gets a little further.
fn survives_kill_after_kill(program: &str, point: &str, nth: u32) {
    let dir = tempfile::tempdir().expect("there is room");
    let expected = run(program, dir.path(), None).expect("nobody kills it");
    let (done, _) = effects(&ledger(dir.path()), "without a kill");

    let dir = tempfile::tempdir().expect("there is room");
    let said = (0..).find_map(|_| run(program, dir.path(), Some((point, nth)))).expect("it ends");
    assert_eq!(endings(&said), endings(&expected));
    let mut found: Vec<String> = ledger(dir.path()).into_iter().map(|it| it.what).collect();
    found.sort();
    found.dedup();
    let mut done = done;
    done.dedup();
    assert_eq!(found, done);
}

#[test]
fn orders_are_charged_once_or_refunded_whenever_they_are_killed() {
    survives_every_kill(env!("CARGO_BIN_EXE_order"), 2);
}

#[test]
fn subscriptions_are_billed_once_a_month_whenever_they_are_killed() {
    survives_every_kill(env!("CARGO_BIN_EXE_billing"), 1);
}

#[test]
fn requests_are_decided_once_whenever_they_are_killed() {
    survives_every_kill(env!("CARGO_BIN_EXE_approval"), 2);
}

#[test]
fn rows_are_imported_once_whenever_it_is_killed() {
    survives_every_kill(env!("CARGO_BIN_EXE_import"), 2);
}

#[test]
fn processes_and_functions_wait_for_each_other_whenever_they_are_killed() {
    survives_every_kill(env!("CARGO_BIN_EXE_delivery"), 1);
}

#[test]
fn orders_come_to_their_end_although_they_are_killed_again_and_again() {
    survives_kill_after_kill(env!("CARGO_BIN_EXE_order"), "append.committed", 4);
}
