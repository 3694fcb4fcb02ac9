//! Files become processes, with the decisions that their tasks make.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use travertine_dmn::{Decisions, Severity};

use crate::Timestamp;

/// Whether a file has decisions in it, not processes.
pub fn is_decision(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it.eq_ignore_ascii_case("dmn"))
}

/// Reads files, each a name and what is in it, as processes. Their tasks can make the decisions of the
/// files among them, and of those that were `known` before.
pub fn read_models(
    files: &[(&str, &[u8])],
    known: &BTreeMap<&str, &[u8]>,
    now: Timestamp,
) -> travertine_bpmn::Report {
    let (given, processes): (Vec<_>, Vec<_>) =
        files.iter().copied().partition(|(name, _)| is_decision(name));
    let mut decisions = known.clone();
    decisions.extend(given);
    let mut options = travertine_bpmn::Options { now, ..travertine_bpmn::Options::default() };
    if decisions.is_empty() {
        return travertine_bpmn::read(&processes, &options);
    }
    let decisions: Vec<(&str, &[u8])> = decisions.into_iter().collect();
    let mut decided = travertine_dmn::read(&decisions);
    // What there is to say of a file that was known before was said then.
    decided.diagnostics.retain(|it| {
        it.severity == Severity::Error || files.iter().any(|(name, _)| *name == it.file)
    });
    let rejected = decided.is_rejected();
    let models = decided.definitions.into_iter().map(Arc::new).collect();
    options.languages = options.languages.with(Arc::new(Decisions::new(models)));
    let mut report = travertine_bpmn::read(&processes, &options);
    report.diagnostics.splice(0..0, decided.diagnostics);
    if rejected {
        report.processes.clear();
    }
    report
}
