//! Files become processes, decisions, forms and resources.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use travertine_bpmn::{Diagnostic, KnownDecisions, Report, Severity};
use travertine_value::{Name, Value};

use crate::{
    Definitions, DeployedKind, Timestamp,
    decision::{DecisionModel, DmnFile},
};

/// What files define.
#[derive(Debug, Default)]
pub struct Models {
    /// The processes, and what there is to say about all of the files.
    pub report: Report,
    /// The decisions, file by file.
    pub decisions: Vec<Arc<DecisionModel>>,
    /// Forms and other files that are one thing each.
    pub others: Vec<OtherFile>,
}

/// A file that is one deployed thing: a form, or anything else that is neither a process nor a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherFile {
    /// What it is.
    pub kind: DeployedKind,
    /// The name of the file.
    pub file: String,
    /// Its id: what a form says, and the name of any other file that says nothing.
    pub id: Name,
    /// What its author calls the version.
    pub tag: Option<Name>,
}

impl Models {
    /// The ids of everything in the files, whether it can be deployed or not.
    pub fn ids(&self) -> impl Iterator<Item = Name> {
        let processes = self.report.processes.iter().map(|it| Name::from(it.id.as_str()));
        let decisions = self.decisions.iter().flat_map(|it| {
            let own = it.decisions().iter().map(|it| Name::clone(&it.id));
            own.chain([it.requirements().0])
        });
        processes.chain(decisions).chain(self.others.iter().map(|it| Name::clone(&it.id)))
    }
}

/// The namespace of BPMN models.
const BPMN: &[u8] = b"http://www.omg.org/spec/BPMN/20100524/MODEL";

/// Whether a file has decisions in it, not processes. Its name says so, or the namespace of its XML.
pub fn is_decision(name: &str, body: &[u8]) -> bool {
    kind_of(name, body) == DeployedKind::Decision
}

/// What a file has in it. Its name says so; where it does not, the namespace of its XML does.
pub fn kind_of(name: &str, body: &[u8]) -> DeployedKind {
    let extension = Path::new(name).extension().unwrap_or_default();
    let is = |it: &str| extension.eq_ignore_ascii_case(it);
    let is_xml = || {
        let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        // UTF-16 begins with a mark.
        text.trim_ascii_start().starts_with(b"<")
            || text.starts_with(&[0xff, 0xfe])
            || text.starts_with(&[0xfe, 0xff])
    };
    let says_bpmn = || body.windows(BPMN.len()).any(|it| it == BPMN);
    if is("dmn") {
        DeployedKind::Decision
    } else if is("bpmn") {
        DeployedKind::Process
    } else if is("form") {
        DeployedKind::Form
    } else if is_xml() && travertine_dmn::outline(name, body).is_some() {
        DeployedKind::Decision
    } else if is("xml") || is_xml() && (extension.is_empty() || says_bpmn()) {
        DeployedKind::Process
    } else {
        DeployedKind::Resource
    }
}

/// Reads files, each a name and what is in it. Files that are `deployed` can be imported, and their
/// decisions made; where there are none, those of the files can.
pub fn read_models(
    files: &[(&str, &[u8])],
    deployed: Option<&Definitions>,
    now: Timestamp,
) -> Models {
    let kinds = files.iter().map(|(name, body)| kind_of(name, body));
    let kinds: Vec<DeployedKind> = kinds.collect();
    let of_kind = |kind: DeployedKind| {
        let found = files.iter().zip(&kinds).filter(move |(_, it)| **it == kind);
        found.map(|(it, _)| *it).collect::<Vec<_>>()
    };
    let (given, processes) = (of_kind(DeployedKind::Decision), of_kind(DeployedKind::Process));
    let given: Vec<Arc<DmnFile>> =
        given.iter().map(|(name, body)| DmnFile::new(name, body)).collect();
    let library = deployed.into_iter().flat_map(|it| it.decision_files().rev());
    let others: Vec<Arc<DmnFile>> = given.iter().chain(library).cloned().collect();
    let decisions: Vec<_> = given.iter().map(|it| DecisionModel::new(it, &others)).collect();
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for it in decisions.iter().flat_map(|it| it.check()).chain(doubles(&decisions)) {
        // Each who imports a file tells what is wrong with that.
        if !diagnostics.contains(&it) {
            diagnostics.push(it);
        }
    }

    let mut others = Vec::new();
    for (name, body) in of_kind(DeployedKind::Form) {
        match read_form(name, body) {
            Ok(form) => others.push(form),
            Err(wrong) => diagnostics.push(*wrong),
        }
    }
    others.extend(of_kind(DeployedKind::Resource).iter().map(|(name, body)| plain(name, body)));
    diagnostics.extend(same_ids(&others));

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
    Models { report, decisions, others }
}

/// A form says in JSON what it is called.
fn read_form(file: &str, body: &[u8]) -> Result<OtherFile, Box<Diagnostic>> {
    let wrong = |message: String, help: &str| {
        Box::new(Diagnostic {
            severity: Severity::Error,
            code: "TV2031",
            file: file.to_owned(),
            element: None,
            line: 1,
            column: 1,
            message,
            help: help.to_owned(),
        })
    };
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let form = std::str::from_utf8(text).map_err(|error| error.to_string());
    let form = form.and_then(|it| Value::parse_json(it).map_err(|error| error.to_string()));
    let form = form.map_err(|why| {
        let help = "a form is a JSON object, as form editors write it";
        wrong(format!("this is no form: {why}"), help)
    })?;
    let (Some(id), tag) = labels(&form) else {
        let help = "give the form an `id`, by which models name it";
        return Err(wrong("the form has no id".to_owned(), help));
    };
    Ok(OtherFile { kind: DeployedKind::Form, file: file.to_owned(), id, tag })
}

/// Any other file is known by its name, unless it is JSON that says what it is called.
fn plain(file: &str, body: &[u8]) -> OtherFile {
    let is_script = Path::new(file).extension().is_some_and(|it| it.eq_ignore_ascii_case("rpa"));
    let said = std::str::from_utf8(body).ok().filter(|_| is_script);
    let said = said.and_then(|it| Value::parse_json(it).ok());
    let (id, tag) = said.as_ref().map_or((None, None), labels);
    let id = id.unwrap_or_else(|| file.into());
    OtherFile { kind: DeployedKind::Resource, file: file.to_owned(), id, tag }
}

/// What a JSON object calls itself, and its version.
fn labels(of: &Value) -> (Option<Name>, Option<Name>) {
    let text = |name: &str| {
        let found = of.as_map()?.get(name)?.as_str()?.trim();
        (!found.is_empty()).then(|| Name::from(found))
    };
    (text("id"), text("versionTag"))
}

/// Says so where two files call themselves the same.
fn same_ids(files: &[OtherFile]) -> Vec<Diagnostic> {
    let mut seen: BTreeMap<(DeployedKind, &str), &str> = BTreeMap::new();
    let mut found = Vec::new();
    for it in files {
        let Some(other) = seen.insert((it.kind, &it.id), &it.file) else { continue };
        found.push(Diagnostic {
            severity: Severity::Error,
            code: "TV2032",
            file: it.file.clone(),
            element: Some(it.id.to_string()),
            line: 1,
            column: 1,
            message: format!("the {} '{}' is in {other} and in {}", it.kind.name(), it.id, it.file),
            help: "deploy one of them, or give one another id".to_owned(),
        });
    }
    found
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
