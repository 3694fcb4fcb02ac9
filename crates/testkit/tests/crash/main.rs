//! An engine that is killed at any moment loses nothing and does nothing twice.

mod quarantine;

use std::path::Path;

use travertine_runtime::request::Kind;
use travertine_store::CRASH_POINTS;
use travertine_testkit::crash::{
    Drive, Kill, Random,
    answers::{self, End, Fate, Place, place},
};

const PROCESS: &str = env!("CARGO_BIN_EXE_crash");

/// How many lines a process may say before it comes to the point at which it dies. What it does is left to
/// chance; most come there within a thousand.
const LINES_MAX: u64 = 40_000;

fn none(wrong: &[String], after: &Kill) {
    assert!(wrong.is_empty(), "after {after:?}: {:#?}", &wrong[..wrong.len().min(20)]);
}

#[test]
fn an_engine_killed_at_random_loses_nothing_and_does_nothing_twice() {
    let mut random = Random(7);
    for seed in 0..2 {
        let dir = tempfile::tempdir().unwrap();
        let mut drive = Drive::new(Path::new(PROCESS), dir.path(), seed);
        for round in 0..10 {
            let kill = Drive::any(&mut random);
            drive.kill(&kill).unwrap();
            // Some are killed again before anybody has looked.
            if round % 3 == 0 {
                none(&drive.check(), &kill);
            }
        }
        none(&drive.settle(), &Kill::After(0));
        assert!(drive.ledger.acknowledged > 200, "{}", drive.ledger.acknowledged);
    }
}

#[test]
fn an_engine_killed_at_any_point_of_a_commit_loses_nothing_and_does_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut drive = Drive::new(Path::new(PROCESS), dir.path(), 3);
    for point in CRASH_POINTS.iter().filter(|it| !it.starts_with("wal.")) {
        let kill = Kill::At(point, 2, LINES_MAX);
        assert!(drive.kill(&kill).unwrap(), "{point} was not passed");
        none(&drive.check(), &kill);
    }
    none(&drive.settle(), &Kill::After(0));
}

#[test]
fn an_engine_killed_while_the_journal_is_moved_loses_nothing_and_does_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut drive = Drive::new(Path::new(PROCESS), dir.path(), 5);
    drive.body = 200_000;
    for point in CRASH_POINTS.iter().filter(|it| it.starts_with("wal.")) {
        let kill = Kill::At(point, 1, LINES_MAX);
        assert!(drive.kill(&kill).unwrap(), "{point} was not passed");
        none(&drive.check(), &kill);
    }
    none(&drive.settle(), &Kill::After(0));
}

/// How many requests are made before a store is closed in order.
const ASKS: u64 = 400;

#[test]
fn what_is_answered_to_each_kind_of_request_is_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut drive = answers::Drive::new(Path::new(PROCESS), dir.path(), 11);
    let mut random = Random(11);
    for point in CRASH_POINTS.iter().filter(|it| !it.starts_with("wal.")) {
        let end = End::Kill(Kill::At(point, 2, LINES_MAX));
        assert!(drive.end(&end).unwrap(), "{point} was not passed");
        drive.end(&End::Kill(Drive::any(&mut random))).unwrap();
        let wrong = drive.check();
        assert!(wrong.is_empty(), "after {end:?}: {wrong:#?}");
    }
    for _ in 0..3 {
        drive.end(&End::Close(ASKS)).unwrap();
        let wrong = drive.check();
        assert!(wrong.is_empty(), "after it was closed: {wrong:#?}");
    }
    for kind in Kind::ALL {
        let Place::Asked(_) = place(kind) else { continue };
        assert!(drive.ledger.accepted.contains(&kind), "{kind:?} was never asked");
        assert!(drive.ledger.count(kind, Fate::Done) > 0, "{kind:?} was never done");
        // What somebody else has by now stays there, and that is no reason to refuse it.
        let is_refused = kind == Kind::HandBack || drive.ledger.count(kind, Fate::NotDone) > 0;
        assert!(is_refused, "{kind:?} was always done");
    }
}

#[test]
fn what_is_answered_is_so_where_the_journal_is_moved() {
    let dir = tempfile::tempdir().unwrap();
    let mut drive = answers::Drive::new(Path::new(PROCESS), dir.path(), 13);
    drive.body = 200_000;
    for point in CRASH_POINTS.iter().filter(|it| it.starts_with("wal.")) {
        let end = End::Kill(Kill::At(point, 1, LINES_MAX));
        assert!(drive.end(&end).unwrap(), "{point} was not passed");
        let wrong = drive.check();
        assert!(wrong.is_empty(), "after {end:?}: {wrong:#?}");
    }
}
