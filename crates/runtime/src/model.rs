//! Files become processes and decisions.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use travertine_bpmn::{Diagnostic, KnownDecisions, Report, Severity};

use crate::{
    Definitions, Timestamp,
    decision::{DecisionModel, DmnFile},
};

/// What files define.
#[derive(Debug, Default)]
pub struct Models {
    /// The processes, and what there is to say about all of the files.
    pub report: Report,
    /// The decisions, file by file.
    pub decisions: Vec<Arc<DecisionModel>>,
}

/// Whether a file has decisions in it, not processes. Its name says so, or the namespace of its XML.
pub fn is_decision(name: &str, body: &[u8]) -> bool {
    let extension = Path::new(name).extension().unwrap_or_default();
    extension.eq_ignore_ascii_case("dmn")
        || !extension.eq_ignore_ascii_case("bpmn") && travertine_dmn::outline(name, body).is_some()
}

/// Reads files, each a name and what is in it. Files that are `deployed` can be imported, and their
/// decisions made; where there are none, those of the files can.
pub fn read_models(
    files: &[(&str, &[u8])],
    deployed: Option<&Definitions>,
    now: Timestamp,
) -> Models {
    let (given, processes): (Vec<_>, Vec<_>) =
        files.iter().copied().partition(|(name, body)| is_decision(name, body));
    let given: Vec<Arc<DmnFile>> =
        given.iter().map(|(name, body)| DmnFile::new(name, body)).collect();
    let library = deployed.map_or(&[][..], Definitions::decision_files);
    let others: Vec<Arc<DmnFile>> = given.iter().chain(library.iter().rev()).cloned().collect();
    let decisions: Vec<_> = given.iter().map(|it| DecisionModel::new(it, &others)).collect();
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for it in decisions.iter().flat_map(|it| it.check()).chain(doubles(&decisions)) {
        // Each who imports a file tells what is wrong with that.
        if !diagnostics.contains(&it) {
            diagnostics.push(it);
        }
    }

    let own = decisions.iter().flat_map(|it| it.names());
    let names = own.chain(deployed.into_iter().flat_map(Definitions::decision_names)).collect();
    let known = KnownDecisions { names, deployed: deployed.is_some() };
    let options =
        travertine_bpmn::Options { now, decisions: known, ..travertine_bpmn::Options::default() };
    let mut report = travertine_bpmn::read(&processes, &options);
    let rejected = diagnostics.iter().any(|it| it.severity == Severity::Error);
    report.diagnostics.splice(0..0, diagnostics);
    if rejected {
        report.processes.clear();
    }
    Models { report, decisions }
}

/// Says so where two of the files have a decision of the same id: which of them would count?
fn doubles(models: &[Arc<DecisionModel>]) -> Vec<Diagnostic> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for model in models {
        for decision in model.decisions() {
            let Some(other) = seen.insert(&decision.id, model.file()) else { continue };
            let (id, file) = (&decision.id, model.file());
            let message = if other == file {
                format!("two decisions in {file} have the id '{id}'")
            } else {
                format!("the decision '{id}' is in {other} and in {file}")
            };
            found.push(Diagnostic {
                severity: Severity::Error,
                code: "TV2030",
                file: file.to_owned(),
                element: Some(id.to_string()),
                line: decision.line,
                column: decision.column,
                message,
                help: "deploy one of them, or give one another id".to_owned(),
            });
        }
    }
    found
}
