//! What steps expect.

use std::collections::BTreeMap;

use travertine_kernel::{Ending, FailureKind, Phase};
use travertine_runtime::Live;
use travertine_value::{Map, Name, Value};

use super::{
    format::Expectation,
    world::{Difference, World},
};

impl World<'_> {
    /// Looks whether it is so.
    pub(super) fn expect(
        &self,
        expectation: &Expectation,
        instance: Option<&str>,
    ) -> Result<(), Difference> {
        match expectation {
            Expectation::Active(wanted) => {
                let mut wanted = wanted.clone();
                wanted.sort();
                let active = self.active(instance);
                check(wanted == active, || (format!("active {wanted:?}"), format!("{active:?}")))
            }
            Expectation::Completed(wanted) => {
                let meant = self.meant(instance);
                let all = self.sandbox.instances().filter(|it| meant(it.id));
                let (running, ended): (Vec<&Live>, Vec<&Live>) =
                    all.partition(|it| it.state.is_running());
                // Where no step asks for an instance, none is as good as one that has ended.
                let is_so = if *wanted {
                    running.is_empty() && (!ended.is_empty() || !self.case.starts_instances())
                } else {
                    !running.is_empty()
                };
                check(is_so, || {
                    let found = format!(
                        "{} running, {} ended; active {:?}",
                        running.len(),
                        ended.len(),
                        self.active(instance)
                    );
                    (if *wanted { "completed" } else { "still running" }.to_owned(), found)
                })
            }
            Expectation::Vars(wanted) => self.expect_vars(instance, |variables| {
                let wrong = wanted.iter().find(|(name, value)| variables.get(*name) != Some(value));
                wrong.map(|(name, value)| (&**name, format!("{name} = {value}")))
            }),
            Expectation::NoVars(names) => self.expect_vars(instance, |variables| {
                let wrong = names.iter().find(|name| variables.contains_key(name.as_str()));
                wrong.map(|name| (name.as_str(), format!("no variable {name}")))
            }),
            Expectation::VarsOneOf(wanted) => self.expect_vars(instance, |variables| {
                let wrong = wanted.iter().find(|(name, values)| {
                    let values = values.as_list().unwrap_or_default();
                    !variables.get(*name).is_some_and(|it| values.contains(it))
                });
                wrong.map(|(name, values)| (&**name, format!("{name} is one of {values}")))
            }),
            Expectation::Visited(wanted) => {
                let journal = self.journal();
                let completed = journal.completed(self.meant(instance));
                let mut left = count(completed.iter().copied());
                let missing: Vec<&String> = wanted
                    .iter()
                    .filter(|it| match left.get_mut(it.as_str()) {
                        Some(n) if *n > 0 => {
                            *n -= 1;
                            false
                        }
                        _ => true,
                    })
                    .collect();
                check(missing.is_empty(), || {
                    (format!("completed {missing:?} (of {wanted:?})"), format!("{completed:?}"))
                })
            }
            Expectation::NotVisited(unwanted) => {
                let journal = self.journal();
                let entered = journal.entered(self.meant(instance));
                let wrong: Vec<_> =
                    unwanted.iter().filter(|it| entered.contains(it.as_str())).collect();
                check(wrong.is_empty(), || {
                    (format!("never entered {unwanted:?}"), format!("entered {wrong:?}"))
                })
            }
            Expectation::VisitCount(wanted) => {
                let journal = self.journal();
                let counts = count(journal.completed(self.meant(instance)).into_iter());
                let of = |name: &str| counts.get(name).copied().unwrap_or_default();
                let wrong = wanted.iter().find(|(name, n)| n.as_i64() != Some(of(name)));
                check(wrong.is_none(), || {
                    let (name, n) = wrong.expect("it was found");
                    (format!("{name} completed {n} times"), format!("{} times", of(name)))
                })
            }
            Expectation::Order(wanted) => {
                let journal = self.journal();
                let completed = journal.completed(self.meant(instance));
                let mut rest = completed.iter();
                let in_order = wanted.iter().all(|it| rest.any(|done| done == it));
                check(in_order, || (format!("in order {wanted:?}"), format!("{completed:?}")))
            }
            Expectation::Trace(wanted) => self.expect_trace(wanted),
            Expectation::Incident(element) => check(self.is_stuck_at(element), || {
                (format!("an incident at {element}"), format!("active {:?}", self.active(None)))
            }),
            Expectation::Outcome(outcome) => {
                let meant = self.meant(instance);
                let mut all = self.sandbox.instances().filter(|it| meant(it.id));
                check(outcome == "error" && all.any(has_error), || {
                    (format!("ended with {outcome}"), format!("active {:?}", self.active(None)))
                })
            }
            Expectation::Started(wanted) => {
                let roots = self.sandbox.instances().filter(|it| !it.is_called()).count();
                check(roots == *wanted, || (format!("{wanted} started"), roots.to_string()))
            }
            Expectation::Rejected => {
                check(false, || ("the models are refused".to_owned(), "deployed".to_owned()))
            }
            Expectation::Error => {
                let failed = |it: &Live| {
                    !it.troubles().is_empty()
                        || matches!(it.phase(), Phase::Ended(Ending::Failed(_)))
                };
                check(self.sandbox.instances().any(failed), || {
                    ("an error, on deployment or running".to_owned(), "none".to_owned())
                })
            }
        }
    }

    /// Looks at the variables of the process for the first that is wrong.
    fn expect_vars<'m>(
        &self,
        instance: Option<&str>,
        wrong: impl Fn(&Map) -> Option<(&'m str, String)>,
    ) -> Result<(), Difference> {
        let Some(record) = self.root(instance) else {
            return check(false, || ("an instance".to_owned(), "none".to_owned()));
        };
        let variables: Map =
            record.variables().map(|(name, value)| (Name::clone(name), value.clone())).collect();
        match wrong(&variables) {
            None => Ok(()),
            Some((name, expected)) => {
                let found = variables
                    .get(name)
                    .map_or_else(|| "no such variable".to_owned(), Value::to_json);
                Err(Difference { expected, found })
            }
        }
    }

    /// A marker counts only where it is expected, and at most once.
    fn expect_trace(&self, wanted: &[String]) -> Result<(), Difference> {
        const MARKER: &str = "MARKER_exists";
        let mut written = self.written.lock().expect("nobody panics with it").clone();
        let marked = written.iter().any(|it| it == MARKER) && wanted.iter().any(|it| it == MARKER);
        written.retain(|it| it != MARKER);
        written.extend(marked.then(|| MARKER.to_owned()));
        written.sort();
        let mut wanted = wanted.to_vec();
        wanted.sort();
        check(wanted == written, || (format!("the trace {wanted:?}"), format!("{written:?}")))
    }

    fn is_stuck_at(&self, element: &str) -> bool {
        let stuck = self.sandbox.instances().any(|record| {
            record.troubles().iter().any(|trouble| {
                let node = record.state.tokens[&trouble.token].node;
                &*record.plan().node(node).name == element
            })
        });
        stuck || self.journal().has_failed_at(element)
    }
}

/// Whether an error that nobody caught has ended an instance or stopped it.
fn has_error(record: &Live) -> bool {
    let raised = |it: &travertine_kernel::Failure| it.kind == FailureKind::Error;
    let ended = matches!(record.phase(), Phase::Ended(Ending::Failed(failure)) if raised(failure));
    ended || record.state.incidents.values().any(|it| raised(&it.failure))
}

fn count<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, i64> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn check(is_so: bool, difference: impl FnOnce() -> (String, String)) -> Result<(), Difference> {
    if is_so {
        return Ok(());
    }
    let (expected, found) = difference();
    Err(Difference { expected, found })
}
