//! Which cases are run, and what came of them, for people.

use std::{collections::BTreeMap, fmt};

use super::{Case, Restarts, Suite, Verdict, run};

/// Which cases to run.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only those mainly about one of these; all where none is named.
    pub features: Vec<String>,
    /// None of those mainly about one of these.
    pub skipped_features: Vec<String>,
    /// Only those whose id contains one of these; all where none is named.
    pub only: Vec<String>,
    /// Those too that expect what the standard leaves open.
    pub engine_specific: bool,
    /// Whether the world is restarted between any two steps.
    pub restarts: Restarts,
}

/// What came of the cases.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// By feature.
    pub features: BTreeMap<String, Tally>,
    /// What failed: id and verdict.
    pub failures: Vec<(String, super::Failure)>,
}

/// How many cases of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All was as expected.
    pub passed: usize,
    /// Something was not.
    pub failed: usize,
    /// Not run.
    pub skipped: usize,
}

impl Choice {
    /// Whether a case is asked for at all.
    pub fn wants(&self, case: &Case) -> bool {
        (self.features.is_empty() || self.features.contains(&case.feature))
            && !self.skipped_features.contains(&case.feature)
            && (self.only.is_empty() || self.only.iter().any(|it| case.id.contains(it.as_str())))
    }
}

impl Summary {
    /// Runs the chosen cases of a suite.
    pub fn take(&mut self, suite: &Suite, choice: &Choice) {
        for case in suite.cases.iter().filter(|it| choice.wants(it)) {
            let verdict = if case.engine_specific && !choice.engine_specific {
                Verdict::Skipped("it expects what the standard leaves open")
            } else {
                run(suite, case, &choice.restarts)
            };
            let tally = self.features.entry(case.feature.clone()).or_default();
            match verdict {
                Verdict::Passed => tally.passed += 1,
                Verdict::Skipped(_) => tally.skipped += 1,
                Verdict::Failed(failure) => {
                    tally.failed += 1;
                    self.failures.push((case.id.clone(), failure));
                }
            }
        }
    }

    /// Of all features together.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for tally in self.features.values() {
            total.passed += tally.passed;
            total.failed += tally.failed;
            total.skipped += tally.skipped;
        }
        total
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// A line for each case that failed, one for each feature, and the sum.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, failure) in &self.failures {
            let super::Failure { step, expected, found, .. } = failure;
            writeln!(f, "FAILED {id} step {step}: expected {expected}, found {found}")?;
        }
        for (feature, tally) in &self.features {
            writeln!(f, "{feature}: {tally}")?;
        }
        self.total().fmt(f)
    }
}
