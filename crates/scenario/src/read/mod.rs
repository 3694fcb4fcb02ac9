//! A file becomes a model, or is refused by name.
//!
//! Nothing of the extension is ignored: what stands in no table is an error, and so is what a table knows
//! where it means nothing.

mod answer;
mod attribute;
mod event;
mod lower;
mod others;
mod table;

use std::collections::BTreeSet;

use travertine_xml::{self as xml, Diagnostic, Document, Node, Ns, Severity};

use crate::model::Model;
pub use answer::{Element, Fate};
pub use table::{Owner, WORDS, Word};

/// What a reader found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The model, where nothing about it is an error.
    pub model: Option<Model>,
    /// What there is to say, in the order of places.
    pub diagnostics: Vec<Diagnostic>,
    /// What becomes of each element, drawings aside.
    pub elements: Vec<Element>,
}

/// Part of the address of the extension's namespace.
const NAMESPACE: &str = "bpmnos.telematique.eu";

/// Whether a file uses the extension, and so is meant to be run as a scenario.
pub fn is_meant(file: &str, bytes: &[u8]) -> bool {
    // Most files are told by their text alone.
    let known = |bytes: &[u8]| bytes.windows(NAMESPACE.len()).any(|it| it == NAMESPACE.as_bytes());
    known(bytes) && xml::read(Ns::Bpmn, file, bytes).is_ok_and(|it| uses(&it))
}

fn uses(document: &Document) -> bool {
    document.nodes().any(|it| is_ours(it.ns()) || it.attributes().iter().any(|it| is_ours(&it.ns)))
}

fn is_ours(ns: &Ns) -> bool {
    matches!(ns, Ns::Other(uri) if uri.contains(NAMESPACE))
}

/// Reads a model.
pub fn read(file: &str, bytes: &[u8]) -> Report {
    let document = match xml::read(Ns::Bpmn, file, bytes) {
        Ok(document) => document,
        Err(fault) => {
            let diagnostics = vec![Diagnostic::of_fault(file, fault)];
            return Report { model: None, diagnostics, elements: Vec::new() };
        }
    };
    let mut sink = Sink::default();
    survey(&document, &mut sink);
    let model = lower::lower(&document, &mut sink);
    if sink.found.iter().all(|it| it.severity != Severity::Error) {
        unread(&document, &mut sink);
    }
    let diagnostics = Diagnostic::in_order(sink.found, &[file]);
    let refused = diagnostics.iter().any(|it| it.severity == Severity::Error);
    let elements = answer::elements(&document, &diagnostics);
    Report { model: (!refused).then_some(model), diagnostics, elements }
}

/// What there is to say.
#[derive(Debug, Default)]
struct Sink {
    found: Vec<Diagnostic>,
}

impl Sink {
    fn error(&mut self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        self.found.push(Diagnostic::about(Severity::Error, code, at, at.place(), message, help));
    }

    fn warn(&mut self, code: &'static str, at: Node<'_>, message: String, help: &str) {
        self.found.push(Diagnostic::about(Severity::Warning, code, at, at.place(), message, help));
    }
}

/// The children of `extensionElements` with a name, and those in `status` where that may be around them.
fn extensions<'a>(node: Node<'a>, name: &'a str) -> impl Iterator<Item = Node<'a>> {
    let direct = node.all("extensionElements").flat_map(Node::children);
    let direct: Vec<Node<'a>> = direct.filter(|it| is_ours(it.ns())).collect();
    let status = direct.iter().filter(|it| it.name() == "status").map(|it| it.mark());
    let within: Vec<Node<'a>> = status.flat_map(Node::children).collect();
    let named = move |it: &Node<'a>| is_ours(it.ns()) && it.name() == name;
    direct.into_iter().chain(within).filter(named).map(Node::mark)
}

/// The parts of a list such as `restrictions/restriction`.
fn listed<'a>(node: Node<'a>, list: &'a str, one: &'a str) -> Vec<Node<'a>> {
    extensions(node, list).flat_map(|it| it.parts(one)).collect()
}

/// Looks at every element, whether anything knows it where it stands.
fn survey(document: &Document, sink: &mut Sink) {
    let mut hinted = BTreeSet::new();
    for node in document.nodes() {
        if is_ours(node.ns()) {
            if !is_hint(node) {
                extension(node, sink, &mut hinted);
            }
        } else if *node.ns() == Ns::Bpmn {
            standard(node, sink);
            others::of_standard(node, sink, &mut hinted);
        } else {
            others::element(node, sink, &mut hinted);
        }
    }
}

/// Whether an element of the extension is in a hint for optimisers.
fn is_hint(node: Node<'_>) -> bool {
    let guidance = |it: Node<'_>| is_ours(it.ns()) && it.name() == "guidance";
    guidance(node) || node.ancestors().any(guidance)
}

/// What a table knows and nobody has read does not stand where it could mean something.
fn unread(document: &Document, sink: &mut Sink) {
    for node in document.nodes().filter(|it| is_ours(it.ns()) && !it.is_seen() && !is_hint(*it)) {
        let owns = |it: &Node<'_>| *it.ns() == Ns::Bpmn && !it.is("extensionElements");
        let around = node.ancestors().find(owns);
        let around = around.map_or_else(String::new, |it| format!(" in {}", it.title()));
        let message = format!("bpmnos:{} means nothing where it stands{around}", node.name());
        let help = "put it into the extensionElements of what it is about";
        sink.error("TV0741", node, message, help);
    }
}

/// An element of the extension.
fn extension(node: Node<'_>, sink: &mut Sink, hinted: &mut BTreeSet<(String, String)>) {
    let parent = node.parent().filter(|it| is_ours(it.ns())).map_or("", Node::name);
    let Some(owner) =
        node.ancestors().find(|it| *it.ns() == Ns::Bpmn && !it.is("extensionElements"))
    else {
        return;
    };
    let owner = if owner.name().ends_with("LoopCharacteristics")
        || owner.name().ends_with("EventDefinition")
    {
        owner.parent().unwrap_or(owner)
    } else {
        owner
    };
    let named: Vec<&Word> = WORDS.iter().filter(|it| it.name == node.name()).collect();
    let word = named.iter().find(|it| {
        let stands =
            if it.inside.is_empty() { parent.is_empty() } else { it.inside.contains(&parent) };
        let kind = kind(owner);
        // What is inside belongs to what is around it.
        stands && (it.on.contains(&kind) || it.on.contains(&Owner::Other))
    });
    let title = owner.title();
    if !node.text().trim().is_empty() {
        let message = format!("the text in bpmnos:{} of {title} is not executed here", node.name());
        sink.error("TV0741", node, message, "say it by attributes");
    }
    if node.name() == "parameter" && is_leftover(node) {
        let node = node.mark();
        if hinted.insert((parent.to_owned(), "parameter".to_owned())) {
            let message = format!("bpmnos:parameter of bpmnos:{parent} has no effect");
            let help = "leave it away; the expression counts alone";
            sink.found.push(Diagnostic::about(
                Severity::Note,
                "TV0747",
                node,
                node.place(),
                message,
                help,
            ));
        }
        return;
    }
    let Some(word) = word else {
        let (message, help) = if let Some(known) = named.first() {
            let on: Vec<_> = known.on.iter().map(|it| it.words()).collect();
            (
                format!("bpmnos:{} means nothing where it stands in {title}", node.name()),
                format!("it belongs to: {}", on.join(", ")),
            )
        } else {
            let known: Vec<_> = WORDS.iter().map(|it| it.name).collect();
            (
                format!("bpmnos:{} of {title} is not executed here", node.name()),
                format!("what is executed: {}", known.join(", ")),
            )
        };
        sink.error("TV0741", node, message, &help);
        return;
    };
    if word.meaning.is_empty() {
        return;
    }
    for it in node.attributes() {
        let known = word.attributes.contains(&it.name.as_str());
        if is_ours(&it.ns) {
            let message = format!("{} of bpmnos:{} has a prefix", it.name, node.name());
            sink.error("TV0741", node, message, "write it without");
        } else if it.ns == Ns::None
            && !known
            && hinted.insert((node.name().to_owned(), it.name.clone()))
        {
            let message = format!("{} of bpmnos:{} has no effect", it.name, node.name());
            let severity =
                if node.name() == "operator" { Severity::Note } else { Severity::Warning };
            sink.found.push(Diagnostic::about(
                severity,
                "TV0747",
                node,
                it.place,
                message,
                "leave it away",
            ));
        }
    }
    let beside = node.attributes().iter().any(|it| it.ns == Ns::None && it.name == "attribute");
    if node.name() == "parameter" && beside && node.attr("value").is_none() {
        let message = format!("a bpmnos:parameter of {title} says its value by an attribute");
        sink.error("TV0741", node, message, "write the name of the attribute as its value");
    }
    let parameters = PARAMETERS.iter().find(|(inside, _)| *inside == parent);
    if let (true, Some((inside, known))) = (node.name() == "parameter", parameters) {
        let name = node.attr("name").unwrap_or_default();
        if !known.contains(&name) {
            let message = format!("bpmnos:{inside} of {title} has no parameter '{name}'");
            let help = format!("it has {}", known.join(", "));
            sink.error("TV0741", node, message, &help);
        }
    }
}

use table::{DRAWN, EXECUTED, PARAMETERS};

/// Older models say a restriction or an operator by parameters, and newer ones keep them beside.
fn is_leftover(parameter: Node<'_>) -> bool {
    parameter.parent().is_some_and(|it| {
        is_ours(it.ns())
            && ["restriction", "operator"].contains(&it.name())
            && it.attr("expression").is_some_and(|it| !it.trim().is_empty())
    })
}

/// An element of BPMN, and its attributes of the extension.
fn standard(node: Node<'_>, sink: &mut Sink) {
    let first = node.id().and_then(|it| node.document().by_id(it));
    if first.is_some_and(|it| it.position() != node.position()) {
        let message = format!("the id of {} is that of another element, too", node.title());
        sink.error("TV0744", node, message, "give each an id of its own");
    }
    for it in node.attributes().iter().filter(|it| is_ours(&it.ns)) {
        let title = node.title();
        if it.name != "type" {
            let message = format!("bpmnos:{} of {title} is not executed here", it.name);
            sink.error("TV0741", node, message, "only bpmnos:type is known");
        } else if !node.is("task") || it.value != "Decision" {
            let message = format!("bpmnos:type=\"{}\" of {title} is not executed here", it.value);
            let help = "a task can be of type Decision; a plain one has no type";
            sink.error("TV0741", node, message, help);
        }
    }
    let name = node.name();
    if EXECUTED.contains(&name) || DRAWN.contains(&name) {
        return;
    }
    // Texts of conditions, and what is drawn inside of drawings, are looked at where they mean something.
    let known = [
        "conditionExpression",
        "condition",
        "timeDate",
        "timeDuration",
        "timeCycle",
        "loopCondition",
        "loopCardinality",
        "completionCondition",
        "script",
    ];
    if known.contains(&name) {
        return foreign(node, sink);
    }
    let message = format!("{} is not executed in models made for BPMNOS", node.title());
    let help =
        "docs/bpmnos.md lists what is; say it with those, or run the model without the extension";
    sink.error("TV0745", node, message, help);
}

/// What the standard says by expressions of its own, the extension says otherwise.
fn foreign(node: Node<'_>, sink: &mut Sink) {
    if node.text().trim().is_empty() {
        return;
    }
    let owner = node.ancestors().find(|it| it.id().is_some() && !it.name().ends_with("Definition"));
    let owner = owner.unwrap_or(node);
    let instead = match node.name() {
        "conditionExpression" | "condition" => "bpmnos:restrictions",
        "timeDate" | "timeDuration" | "timeCycle" => "bpmnos:timer",
        "loopCondition" | "loopCardinality" => "bpmnos:loopCharacteristics",
        "completionCondition" => "the end of its activities",
        _ => "bpmnos:operators",
    };
    let said = extensions(owner, instead.trim_start_matches("bpmnos:")).next().is_some();
    let message = format!("{} of {} is not executed here", node.name(), owner.title());
    if said {
        let help = format!("{instead} counts alone");
        sink.warn("TV0745", node, message, &help);
    } else {
        sink.error("TV0745", node, message, &format!("say it by {instead}"));
    }
}

/// What an element of the extension belongs to.
fn kind(owner: Node<'_>) -> Owner {
    let defines = |name: &str| owner.child(name).is_some();
    match owner.name() {
        "process" => Owner::Process,
        "subProcess" if is_true(owner, "triggeredByEvent", false) => Owner::EventSubProcess,
        "subProcess" | "adHocSubProcess" | "transaction" => Owner::SubProcess,
        "task" if is_decision(owner) => Owner::DecisionTask,
        "task" | "userTask" | "scriptTask" | "manualTask" | "businessRuleTask" => Owner::Task,
        "sendTask" | "receiveTask" => Owner::MessageTask,
        "sequenceFlow" => Owner::Flow,
        "dataObject" | "dataObjectReference" => Owner::DataObject,
        "dataStore" | "dataStoreReference" => Owner::DataStore,
        _ if defines("messageEventDefinition") => Owner::MessageEvent,
        _ if defines("timerEventDefinition") => Owner::TimerEvent,
        _ if defines("conditionalEventDefinition") => Owner::ConditionalEvent,
        _ if defines("signalEventDefinition") => Owner::SignalEvent,
        _ => Owner::Other,
    }
}

/// What a setting of BPMN says, or what it means where it says nothing.
fn is_true(node: Node<'_>, setting: &str, other: bool) -> bool {
    match node.attr(setting).map(str::trim) {
        Some("true" | "1") => true,
        Some("false" | "0") => false,
        _ => other,
    }
}

fn is_decision(task: Node<'_>) -> bool {
    task.attributes()
        .iter()
        .any(|it| is_ours(&it.ns) && it.name == "type" && it.value == "Decision")
}
