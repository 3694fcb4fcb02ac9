//! Conformance cases: models, what is done with them, and what must then be true.
//!
//! The format is that of the suites of other projects, which are black-box: deploy, act, look. A
//! [`Suite`] is read from a `cases.json`; [`run`] runs one case of it in a world of its own.

mod action;
mod expectation;
mod format;
mod journal;
mod language;
mod model;
mod restarts;
mod summary;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use format::{Case, LoadError, Suite};
pub use restarts::Restarts;
pub use summary::{Choice, Summary, Tally};

use world::World;

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All was as expected.
    Passed,
    /// Something was not.
    Failed(Failure),
    /// It was not run.
    Skipped(&'static str),
}

/// What was not as expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The step, from 1; 0 for the deployment.
    pub step: usize,
    /// What should have been.
    pub expected: String,
    /// What was instead.
    pub found: String,
    /// Everything that had happened, line by line.
    pub trace: String,
}

/// What a case needs that a virtual clock and one thread cannot give.
const WALL_CLOCK: &str = "wallclock-script-sleep";

/// Runs a case in a world of its own, which is restarted between steps if so asked. A panic is a failure
/// of that case, not of the run.
pub fn run(suite: &Suite, case: &Case, restarts: &Restarts) -> Verdict {
    if case.needs.iter().any(|it| it == WALL_CLOCK) {
        return Verdict::Skipped("its scripts sleep by the wall clock");
    }
    match catch_unwind(AssertUnwindSafe(|| World::new(suite, case, restarts).run(restarts))) {
        Ok(Ok(())) => Verdict::Passed,
        Ok(Err(failure)) => Verdict::Failed(failure),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Verdict::Failed(Failure {
                expected: "no panic".to_owned(),
                found: format!("a panic: {}", text.unwrap_or("without a text")),
                ..Failure::default()
            })
        }
    }
}
