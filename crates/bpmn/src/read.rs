//! The way through: read, check, lower, answer.

use std::sync::Arc;

use crate::{
    Options, analysis,
    dialect::Dialect,
    files::Files,
    lower::{self, Lowered},
    report::{Process, Report, Sink},
    schema, validate,
    xml::{self, Node, Ns, Severity},
};

/// All plans of a deployment together have no more nodes than this.
const PLAN_NODES_MAX: usize = 200_000;

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
    let known = Files {
        documents: documents
            .iter()
            .map(|it| (it, Dialect::of(it, options.dialect, &sink)))
            .collect(),
    };
    spare_drawings(&known, &sink);
    for document in &documents {
        schema::check(document, &known, &sink);
    }
    validate::validate(&known, &sink);
    let routes = lower::Routes::new(&known, &sink);
    let cx = lower::Context { files: &known, options, sink: &sink, routes: &routes };
    let lowered = lower_all(cx, &known);
    let files_read = known.documents.iter();
    let elements =
        files_read.flat_map(|(it, dialect)| schema::answers(it, *dialect, &sink)).collect();
    if !sink.has_errors() {
        analysis::analyse(&lowered, &known, options, &sink);
    }
    let fit = lowered.into_iter().filter(|(it, _)| !sink.has_errors() && !sink.is_broken(*it));
    let processes = fit.map(|(node, lowered)| process(node, lowered)).collect();
    let names: Vec<_> = files.iter().map(|(name, _)| *name).collect();
    Report { diagnostics: sink.into_diagnostics(&names), elements, processes }
}

/// A process is meant to be run if it says so, if it is called, or if it is the only one and does
/// not say otherwise. Others may be drawings for people, which are not held to the rules.
fn spare_drawings(files: &Files<'_>, sink: &Sink) {
    let called = files.called();
    let only = files.processes().nth(1).is_none();
    for process in files.processes() {
        let silent = process.attr("isExecutable").is_none();
        let runs = lower::is_true(process, "isExecutable", silent && only);
        if !runs && !called.contains(&process.key()) {
            sink.spare(process);
        }
    }
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

fn process(node: Node<'_>, lowered: Lowered<'_>) -> Process {
    Process {
        id: node.id().unwrap_or_default().to_owned(),
        name: node.attr("name").map(str::to_owned),
        executable: lower::is_true(node, "isExecutable", false),
        plan: Arc::new(lowered.plan),
        file: node.document().file.clone(),
    }
}
