//! An engine that is killed at any moment loses nothing and does nothing twice.

mod quarantine;

use std::path::Path;

use travertine_store::CRASH_POINTS;
use travertine_testkit::crash::{Drive, Kill, Random};

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
