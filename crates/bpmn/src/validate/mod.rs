//! The rules of the standard that no schema can state.
//!
//! Each file is a group of rules about one thing. A rule reports and goes on: what it reports is
//! never run, so nobody after it has to be afraid.

mod collaboration;
mod compensation;
mod container;
mod data;
mod event;
mod event_gateway;
mod fan;
mod flow;
mod formal;
mod gateway;
mod graph;
mod ignored;
mod interface;
mod reference;
mod rules;

use crate::{
    dialect::Dialect,
    files::Files,
    report::Sink,
    schema,
    xml::{Node, Ns, Severity},
};
use graph::Graph;
pub(crate) use rules::is_rule;
pub use rules::{Rule, rules};

/// Checks all files.
pub(crate) fn validate(files: &Files<'_>, sink: &Sink) {
    for (document, dialect) in &files.documents {
        let root = document.root();
        collaboration::check(root, files, sink);
        data::check(root, files, sink);
        formal::check(root, files, sink);
        reference::check(root, files, sink);
        ignored::check(root, files, sink);
        for process in root.all("process") {
            let graph = Graph::new(process, files);
            let executable = !sink.is_drawing(process);
            let rules = Rules { files, sink, graph: &graph, dialect: *dialect, executable };
            rules.container(process);
        }
        event::check_operations(root, *dialect, sink);
    }
    if files.documents.iter().any(|(it, _)| it.root().is("definitions"))
        && files.processes().next().is_none()
        && let Some((document, _)) = files.documents.first()
    {
        let message = "there is no process to run in these files".to_owned();
        sink.error("TV0401", document.root(), message, "add a process");
    }
}

/// What every rule about a process needs.
#[derive(Clone, Copy, Debug)]
struct Rules<'a> {
    files: &'a Files<'a>,
    sink: &'a Sink,
    graph: &'a Graph<'a>,
    dialect: Dialect,
    /// Whether the process is meant to be run.
    executable: bool,
}

impl<'a> Rules<'a> {
    /// Checks a process or sub-process and everything in it.
    fn container(&self, container: Node<'a>) {
        self.check_container(container);
        for node in container.children().filter(|it| *it.ns() == Ns::Bpmn) {
            match node.name() {
                "sequenceFlow" => self.check_flow(node),
                name if schema::is_a(name, "anyEvent") => self.check_event(node),
                name if schema::is_a(name, "gateway") => self.check_gateway(node),
                name if schema::is_a(name, "choreographyActivity") => {
                    let message = format!("{} cannot stand in {}", node.title(), container.title());
                    let help = "move it to a choreography, or draw what each participant does";
                    self.error("TV0424", node, message, help);
                }
                _ => {}
            }
            if schema::is_a(node.name(), "flowNode") {
                self.check_connections(node);
                self.check_default(node);
            }
            if schema::is_a(node.name(), "activity") {
                self.check_compensation(node);
                self.check_boundaries(node);
                self.check_behavior(node);
            }
            if schema::is_a(node.name(), "subProcess") {
                self.check_kind(node);
                self.container(node);
            }
        }
    }

    fn error(&self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        self.sink.error(code, at, message, help);
    }

    /// Where nothing that is executed depends on the rule.
    fn harmless(&self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        self.sink.warn(code, at, message, help);
    }

    /// A rule of the standard that Camunda 7 does not enforce, and its models do not keep.
    fn standard(&self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        let severity = match self.dialect {
            Dialect::Camunda7 | Dialect::Fleans => Severity::Warning,
            Dialect::Native | Dialect::Camunda8 => Severity::Error,
        };
        self.sink.add(severity, code, at, at.place(), message, help);
    }
}

/// The event definitions of an event: those drawn in it, then those it refers to.
fn definitions<'a>(event: Node<'a>, files: &Files<'a>) -> Vec<Node<'a>> {
    files.definitions(event).collect()
}
