//! Rules about collaborations, roles and annotations.

use std::collections::{HashMap, HashSet};

use crate::{
    files::Files,
    lower::is_true,
    report::Sink,
    schema,
    xml::{Node, Ns},
};

pub(super) fn check<'a>(root: Node<'a>, files: &Files<'a>, sink: &Sink) {
    let participants = participants(root, files);
    let mut waiting = HashMap::new();
    for node in root.descendants().filter(|it| *it.ns() == Ns::Bpmn) {
        match node.name() {
            "messageFlow" => message_flow(node, files, &participants, sink),
            "callActivity" => called(node, files, &mut waiting, sink),
            "participantMultiplicity" => multiplicity(node, sink),
            "documentation" | "textAnnotation" => text_format(node, sink),
            "globalConversation" => global_conversation(node, sink),
            "callConversation" => no_choreography(node, "calledCollaborationRef", files, sink),
            "process" => {
                no_choreography(node, "definitionalCollaborationRef", files, sink);
                let collaboration = node.attr("definitionalCollaborationRef");
                closed(node, node, collaboration.and_then(|it| files.resolve(node, it)), sink);
            }
            "choreographyRef" => choreography(node, files, sink),
            name if schema::is_a(name, "resourceRole") => role(node, sink),
            _ => {}
        }
    }
}

/// A message goes from one participant to another, from something that sends to something that
/// receives.
fn message_flow<'a>(
    flow: Node<'a>,
    files: &Files<'a>,
    participants: &Participants<'a>,
    sink: &Sink,
) {
    let end = |name| files.resolve(flow, flow.attr(name)?);
    let (Some(source), Some(target)) = (end("sourceRef"), end("targetRef")) else { return };
    if participant(source, participants) == participant(target, participants) {
        let message = format!("{} stays within one participant", flow.title());
        sink.error("TV0480", flow, message, "use a sequence flow, or another participant");
    }
    let sends = |it: Node<'_>| !schema::is_a(it.name(), "catchEvent") && !it.is("receiveTask");
    let receives = |it: Node<'_>| !schema::is_a(it.name(), "throwEvent") && !it.is("sendTask");
    if !sends(source) {
        let message = format!("{} begins at {}, which sends nothing", flow.title(), source.title());
        sink.error("TV0481", flow, message, "turn it around");
    }
    if !receives(target) {
        let message =
            format!("{} ends at {}, which receives nothing", flow.title(), target.title());
        sink.error("TV0481", flow, message, "turn it around");
    }
    message_events(flow, source, target, files, sink);
}

/// A message ends at an event that catches one, and begins at an event that throws one.
fn message_events<'a>(
    flow: Node<'a>,
    source: Node<'a>,
    target: Node<'a>,
    files: &Files<'a>,
    sink: &Sink,
) {
    for (event, kind, what) in [(source, "throwEvent", "begins"), (target, "catchEvent", "ends")] {
        let has_message =
            || super::definitions(event, files).iter().any(|it| it.is("messageEventDefinition"));
        if schema::is_a(event.name(), kind) && !has_message() {
            let message =
                format!("{} {what} at {}, which has no message", flow.title(), event.title());
            sink.warn("TV0486", flow, message, "give the event a messageEventDefinition");
        }
    }
}

/// What a global conversation may have besides what documents it.
const CONVERSED: &[&str] =
    &["participant", "messageFlow", "correlationKey", "documentation", "extensionElements"];

fn global_conversation(conversation: Node<'_>, sink: &Sink) {
    let mut parts = conversation.children().filter(|it| *it.ns() == Ns::Bpmn);
    if let Some(part) = parts.find(|it| !it.is_any(CONVERSED)) {
        let message = format!("{} has a {}", conversation.title(), part.name());
        let help = "it may have participants, message flows and keys; make it a collaboration";
        sink.warn("TV0483", part, message, help);
    }
}

/// Where a collaboration is meant, a choreography is not.
fn no_choreography<'a>(node: Node<'a>, name: &str, files: &Files<'a>, sink: &Sink) {
    let target = node.attr(name).and_then(|it| files.resolve_as(node, it, "choreography"));
    if let Some(target) = target {
        let message = format!("{name} of {} means {}", node.title(), target.title());
        sink.warn("TV0484", node, message, "refer to a collaboration");
    }
}

/// Only a collaboration refers to choreographies, and is as closed as they are.
fn choreography<'a>(reference: Node<'a>, files: &Files<'a>, sink: &Sink) {
    let Some(owner) = reference.parent() else { return };
    if !owner.is("collaboration") {
        let message = format!("{} refers to a choreography", owner.title());
        sink.warn("TV0484", reference, message, "only collaborations do; remove it");
    }
    closed(reference, owner, files.resolve(reference, reference.text()), sink);
}

fn closed(at: Node<'_>, one: Node<'_>, other: Option<Node<'_>>, sink: &Sink) {
    let Some(other) = other.filter(|it| schema::is_a(it.name(), "collaboration")) else { return };
    let is_closed = |it: Node<'_>| is_true(it, "isClosed", false);
    if is_closed(one) != is_closed(other) {
        let message = format!("{} and {} disagree on isClosed", one.title(), other.title());
        sink.warn("TV0487", at, message, "set both to the same");
    }
}

/// The participant of each process that has one.
type Participants<'a> = HashMap<(usize, usize), Node<'a>>;

fn participants<'a>(root: Node<'a>, files: &Files<'a>) -> Participants<'a> {
    let nodes =
        root.all("collaboration").flat_map(Node::children).filter(|it| it.is("participant"));
    let owned = nodes.filter_map(|it| Some((files.resolve(it, it.attr("processRef")?)?.key(), it)));
    owned.collect()
}

/// The participant that a node is or belongs to; the process where no participant has it.
fn participant<'a>(node: Node<'a>, participants: &Participants<'a>) -> Node<'a> {
    let Some(process) = node.ancestors().find(|it| it.is("process")) else { return node };
    participants.get(&process.key()).copied().unwrap_or(process)
}

/// A called process must be startable without a trigger. What is known of a process is kept in
/// `waiting`.
fn called<'a>(
    call: Node<'a>,
    files: &Files<'a>,
    waiting: &mut HashMap<(usize, usize), bool>,
    sink: &Sink,
) {
    let Some(process) = files.callable(call).filter(|it| it.is("process")) else { return };
    if *waiting.entry(process.key()).or_insert_with(|| waits(process)) {
        let message = format!(
            "{} calls {}, which waits for an event to start",
            call.title(),
            process.title()
        );
        sink.error("TV0432", call, message, "add a plain start event to the called process");
    }
}

/// Whether all that a process can start with waits for something.
fn waits(process: Node<'_>) -> bool {
    let is_definition = |it: Node<'_>| {
        it.is("eventDefinitionRef")
            || (*it.ns() == Ns::Bpmn && schema::is_a(it.name(), "eventDefinition"))
    };
    let mut starts = process.all("startEvent").peekable();
    if starts.peek().is_some() {
        return starts.all(|it| it.children().any(is_definition));
    }
    // Without a start event it begins wherever nothing leads to.
    let led: HashSet<_> =
        process.all("sequenceFlow").filter_map(|it| it.attr("targetRef").map(str::trim)).collect();
    let is_first = |it: &Node<'_>| {
        schema::is_a(it.name(), "flowNode")
            && !it.is("boundaryEvent")
            && !is_true(*it, "triggeredByEvent", false)
            && !is_true(*it, "isForCompensation", false)
            && it.id().is_none_or(|id| !led.contains(id))
    };
    let mut first = process.children().filter(is_first).peekable();
    first.peek().is_some() && first.all(|it| is_true(it, "instantiate", false))
}

fn multiplicity(node: Node<'_>, sink: &Sink) {
    let number =
        |name, other| node.attr(name).map_or(Some(other), |it| it.trim().parse::<i64>().ok());
    if let (Some(minimum), Some(maximum)) = (number("minimum", 0), number("maximum", 1))
        && minimum > maximum
    {
        let message = format!("at least {minimum} and at most {maximum} participants are none");
        sink.error("TV0482", node, message, "correct minimum or maximum");
    }
}

fn text_format(node: Node<'_>, sink: &Sink) {
    let Some(format) = node.attr("textFormat") else { return };
    let is_mime =
        format.split_once('/').is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty());
    if !is_mime {
        let message = format!("'{format}' is not a MIME type");
        sink.error("TV0208", node, message, "write something like text/plain");
    }
}

fn role(node: Node<'_>, sink: &Sink) {
    if node.child("resourceRef").is_some() && node.child("resourceAssignmentExpression").is_some() {
        let message = format!("{} names a resource and an expression", node.title());
        sink.error("TV0209", node, message, "keep one of them");
    }
}
