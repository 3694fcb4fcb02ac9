//! The way through: read, check, lower, answer.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::{
    Options, analysis,
    dialect::Dialect,
    files::Files,
    lower::{self, Lowered},
    report::{Drawing, Process, Report, Sink},
    schema, validate,
    xml::{self, Node, Ns, Severity},
};

/// All plans of a deployment together have no more nodes than this.
const PLAN_NODES_MAX: usize = 200_000;

/// The code of the diagnostic that names processes which are not executable.
pub const NOT_EXECUTABLE: &str = "TV0434";

/// Reads files that are deployed together. All problems of all files are reported; there are
/// processes only where none of them is an error.
pub fn read(files: &[(&str, &[u8])], options: &Options) -> Report {
    let sink = Sink::default();
    let mut documents = Vec::new();
    for (name, bytes) in files {
        match xml::read(Ns::Bpmn, name, bytes) {
            Ok(document) => documents.push(document),
            Err(fault) => sink.fault(name, fault),
        }
    }
    let dialects: Vec<_> =
        documents.iter().map(|it| Dialect::of(it, options.dialect, &sink)).collect();
    for (document, dialect) in documents.iter_mut().zip(&dialects) {
        if *dialect == Dialect::Fleans {
            document.recast("cancelEndEvent", "endEvent", "cancelEventDefinition");
        }
    }
    let known = Files { documents: documents.iter().zip(dialects).collect() };
    refuse_foreign(&known, &sink);
    spare_drawings(&known, &sink);
    refuse_doubles(&known, &sink);
    for document in &documents {
        schema::check(document, &known, &sink);
    }
    validate::validate(&known, &sink);
    let routes = lower::Routes::new(&known, &sink);
    let conversations = lower::Conversations::new(&known);
    let cx = lower::Context {
        files: &known,
        options,
        sink: &sink,
        routes: &routes,
        conversations: &conversations,
    };
    let lowered = lower_all(cx, &known);
    let files_read = known.documents.iter();
    let elements =
        files_read.flat_map(|(it, dialect)| schema::answers(it, *dialect, &sink)).collect();
    if !sink.has_errors() {
        analysis::analyse(&lowered, &known, options, &sink);
    }
    let fit = lowered.into_iter().filter(|(it, _)| !sink.has_errors() && !sink.is_broken(*it));
    let processes = fit.map(|(node, lowered)| process(node, lowered, &known)).collect();
    let drawings = drawings(&known, &sink);
    let names: Vec<_> = files.iter().map(|(name, _)| *name).collect();
    let report =
        Report { diagnostics: sink.into_diagnostics(&names), elements, processes, drawings };
    if options.strict { report.strictly() } else { report }
}

/// Models for BPMNOS mean by their extensions most of what they say, and none of it is executed by plans,
/// only in scenarios: to ignore that would be to run something else.
fn refuse_foreign(files: &Files<'_>, sink: &Sink) {
    let is_foreign =
        |ns: &Ns| matches!(ns, Ns::Other(uri) if uri.contains("bpmnos.telematique.eu"));
    for (document, _) in &files.documents {
        let mut known = HashSet::new();
        let root = document.root();
        let mut report = |place, what: String, owner: Node<'_>| {
            if known.insert(what.clone()) {
                let message = format!("{what} of {} is not executed here", owner.title());
                let help = "models for BPMNOS are run as scenarios: travertine run MODEL --scenario FILE, which \
                            docs/bpmnos.md explains";
                sink.add(Severity::Error, "TV0730", root, place, message, help);
            }
        };
        for node in document.nodes() {
            let owner = node.ancestors().find(|it| *it.ns() == Ns::Bpmn && it.id().is_some());
            if is_foreign(node.ns()) {
                report(node.place(), format!("bpmnos:{}", node.name()), owner.unwrap_or(root));
            }
            for it in node.attributes().iter().filter(|it| is_foreign(&it.ns)) {
                report(it.place, format!("bpmnos:{}", it.name), node);
            }
        }
    }
}

/// A process is meant to be run if it says so, if it is called, or if it is the only one and does
/// not say otherwise. Others may be drawings for people, which are not held to the rules.
fn spare_drawings(files: &Files<'_>, sink: &Sink) {
    let called = files.called();
    for process in files.processes() {
        if !is_executable(process, files) && !called.contains(&process.key()) {
            sink.spare(process);
        }
    }
}

/// The standard says that a process is not executable unless it says so. One that says nothing and is
/// the only one is meant all the same: why else would anyone read it?
fn is_executable(process: Node<'_>, files: &Files<'_>) -> bool {
    let other = process.attr("isExecutable").is_none() && files.processes().nth(1).is_none();
    lower::is_true(process, "isExecutable", other)
}

/// Of two processes with the same id only one could be deployed. Within a file no two elements have the same.
fn refuse_doubles(files: &Files<'_>, sink: &Sink) {
    let mut known = HashMap::new();
    for process in files.processes().filter(|it| is_executable(*it, files)) {
        let Some(id) = process.id() else { continue };
        let file = &process.document().file;
        let other = *known.entry(id).or_insert(file);
        if other != file {
            let message = format!("the process '{id}' is in {other} and in {file}");
            let help = "deploy one of them, or give one another id";
            sink.add(Severity::Error, "TV0308", process, process.place(), message, help);
        }
    }
}

/// The processes that are not executable, named once for each file.
fn drawings(files: &Files<'_>, sink: &Sink) -> Vec<Drawing> {
    let some_run = files.processes().any(|it| is_executable(it, files));
    let severity = if some_run { Severity::Note } else { Severity::Warning };
    let mut all = Vec::new();
    for (document, _) in &files.documents {
        let idle: Vec<_> =
            document.root().all("process").filter(|it| !is_executable(*it, files)).collect();
        let Some(first) = idle.first() else { continue };
        let silent = idle.iter().filter(|it| it.attr("isExecutable").is_none()).count();
        let why = match silent {
            0 => "isExecutable is false",
            _ if silent == idle.len() => "isExecutable is not set",
            _ => "isExecutable is false or not set",
        };
        let names: Vec<_> =
            idle.iter().map(|it| format!("'{}'", it.id().unwrap_or_default())).collect();
        let message = match names.split_last() {
            Some((last, [])) => format!("process {last} is not executable: {why}"),
            Some((last, others)) => {
                format!("processes {} and {last} are not executable: {why}", others.join(", "))
            }
            None => unreachable!("there is a first"),
        };
        let help = "set isExecutable to true to run it";
        sink.add(severity, NOT_EXECUTABLE, *first, first.place(), message, help);
        all.extend(idle.iter().map(|it| Drawing {
            id: it.id().unwrap_or_default().to_owned(),
            file: document.file.clone(),
            explicit: it.attr("isExecutable").is_some(),
        }));
    }
    all
}

/// Lowers every process, until all plans together have become absurdly large: each has in it what it
/// calls as gosubs, so that a small file can ask for the square of itself.
fn lower_all<'a>(cx: lower::Context<'a>, files: &'a Files<'a>) -> Vec<(Node<'a>, Lowered<'a>)> {
    let mut all = Vec::new();
    let mut nodes = 0;
    for process in files.processes() {
        let lowered = lower::lower(cx, process);
        nodes += lowered.plan.nodes.len();
        all.push((process, lowered));
        if nodes > PLAN_NODES_MAX {
            let message = format!(
                "the processes up to {} have more than {PLAN_NODES_MAX} nodes, those they call counted",
                process.title()
            );
            let help = "make gosubs calls of processes of their own";
            cx.sink.add(Severity::Error, "TV0433", process, process.place(), message, help);
            break;
        }
    }
    all
}

fn process(node: Node<'_>, lowered: Lowered<'_>, files: &Files<'_>) -> Process {
    Process {
        id: node.id().unwrap_or_default().to_owned(),
        name: lower::label(node),
        executable: is_executable(node, files),
        plan: Arc::new(lowered.plan),
        file: node.document().file.clone(),
    }
}
