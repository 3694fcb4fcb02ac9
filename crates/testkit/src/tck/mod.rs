//! The Technology Compatibility Kit of DMN: models, and cases that say what their decisions give.
//!
//! A folder holds models (`*.dmn`) and cases (`*-test-*.xml`). [`Kit`] finds them, [`Kit::run`] runs
//! them; `case` reads the cases and `compare` knows when a value is the expected one.

mod case;
mod compare;
mod folder;
mod value;

use std::{collections::BTreeMap, fmt, path::PathBuf};

pub use folder::Kit;

/// A case that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Folder, file and case: `0001-filter/0001-filter-test-01.xml/001`.
    pub id: String,
    /// The result that was not as expected; none where the case could not be run.
    pub result: Option<String>,
    /// What should have been.
    pub expected: String,
    /// What was instead.
    pub found: String,
}

/// What came of the cases.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// By the folder given, and those directly in it: passed and failed.
    pub levels: BTreeMap<String, Tally>,
    /// What failed, in order.
    pub failures: Vec<Failure>,
}

/// How many cases of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Every result was as expected.
    pub passed: usize,
    /// Some result was not.
    pub failed: usize,
}

/// A folder or file that cannot be read.
#[derive(Debug)]
pub struct LoadError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

impl Summary {
    /// Of all levels together.
    pub fn total(&self) -> Tally {
        self.levels.values().fold(Tally::default(), |sum, it| Tally {
            passed: sum.passed + it.passed,
            failed: sum.failed + it.failed,
        })
    }

    /// Adds what came of another folder.
    pub fn add(&mut self, other: Self) {
        for (level, tally) in other.levels {
            let known = self.levels.entry(level).or_default();
            known.passed += tally.passed;
            known.failed += tally.failed;
        }
        self.failures.extend(other.failures);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, result, expected, found } = self;
        write!(f, "FAILED {id}")?;
        if let Some(result) = result {
            write!(f, " {result}")?;
        }
        write!(f, ": expected {expected}, found {found}")
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read {}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for LoadError {}
