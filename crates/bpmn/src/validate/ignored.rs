//! What a model says that would change something elsewhere, and does not here. It is never passed
//! over in silence: it is a warning, or an error where going on would be wrong.

use std::collections::HashSet;

use super::Rules;
use crate::{
    files::Files,
    lower::{feeds_loop, is_invented, is_true},
    report::Sink,
    schema,
    xml::{Node, Ns},
};

/// Checks everything in a file but what nobody means to run.
pub(super) fn check<'a>(root: Node<'a>, files: &Files<'a>, sink: &Sink) {
    let drawings = root.children().filter(|it| it.is("process") && sink.is_drawing(*it));
    let drawings: HashSet<_> = drawings.map(Node::key).collect();
    let is_drawn = |it: Node<'a>| {
        let mut around = it.ancestors();
        !drawings.is_empty() && around.any(|it| drawings.contains(&it.key()))
    };
    for node in root.descendants().filter(|it| *it.ns() == Ns::Bpmn && !is_drawn(*it)) {
        match node.name() {
            "extension" => must_understand(node, sink),
            "correlationSubscription" | "correlationKey" => correlation(node, files, sink),
            "humanPerformer" | "potentialOwner" => role(node, sink),
            "messageFlow" => message_flow(node, files, sink),
            name if schema::is_a(name, "flowNode") => associations(node, files, sink),
            _ => {}
        }
    }
}

impl<'a> Rules<'a> {
    /// Checks what a kind of sub-process cannot be at the same time.
    pub(super) fn check_kind(&self, container: Node<'a>) {
        if is_true(container, "triggeredByEvent", false) && !container.is("subProcess") {
            let message = format!("{} cannot be an event sub-process too", container.title());
            let help = "put it into an event sub-process";
            self.error("TV0810", container, message, help);
        }
        let method = container.attr("method").unwrap_or("##Compensate");
        if container.is("transaction") && !method.eq_ignore_ascii_case("##Compensate") {
            let message =
                format!("{} is undone by compensation, not by {method}", container.title());
            self.sink.warn("TV0811", container, message, "write method=\"##Compensate\"");
        }
    }
}

fn must_understand(extension: Node<'_>, sink: &Sink) {
    if is_true(extension, "mustUnderstand", false) {
        let definition = extension.attr("definition").unwrap_or_default();
        let message = format!("the extension '{definition}' must be understood, and is not");
        sink.error(
            "TV0813",
            extension,
            message,
            "set mustUnderstand to false if it can be ignored",
        );
    }
}

/// Messages of models for Camunda are not matched by keys, and a key without properties matches all.
fn correlation(node: Node<'_>, files: &Files<'_>, sink: &Sink) {
    let parts = ["correlationPropertyRef", "correlationPropertyBinding"];
    if files.dialect(node).is_camunda() {
        let message = format!("{} has no effect: messages are not matched by it", node.title());
        sink.warn("TV0814", node, message, "say by tv:correlation what must match");
    } else if !node.children().any(|it| it.is_any(&parts)) {
        let message = format!("{} has no effect: it has no properties", node.title());
        sink.warn("TV0814", node, message, "refer to a correlationProperty");
    }
}

/// Who does a task is read from expressions in user tasks.
fn role(role: Node<'_>, sink: &Sink) {
    let owner = role.parent();
    if !owner.is_some_and(|it| it.is_any(&["userTask", "globalUserTask"])) {
        let message = format!("{} has no effect outside user tasks", role.title());
        sink.warn("TV0815", role, message, "say it in the user tasks");
    } else if role.child("resourceRef").is_some() {
        let message = format!("{} names a resource, which assigns nobody", role.title());
        sink.warn("TV0815", role, message, "name people by a resourceAssignmentExpression");
    }
}

/// Messages find each other by name, so both ends of a flow, and the flow itself, must mean the same.
fn message_flow<'a>(flow: Node<'a>, files: &Files<'a>, sink: &Sink) {
    let named = |at: Node<'a>, reference: &str| {
        let message = files.resolve_as(at, reference, "message")?;
        message.attr("name").or_else(|| message.id())
    };
    let end = |name| {
        let node = files.resolve(flow, flow.attr(name)?)?;
        let definition = node.child("messageEventDefinition").unwrap_or(node);
        Some((node.title(), named(node, definition.attr("messageRef")?)?))
    };
    let own = flow.attr("messageRef").and_then(|it| Some((flow.title(), named(flow, it)?)));
    let said: Vec<_> = [own, end("sourceRef"), end("targetRef")].into_iter().flatten().collect();
    let Some((first, name)) = said.first() else { return };
    if let Some((other, another)) = said.iter().find(|(_, it)| it != name) {
        let message = format!(
            "{} is about two messages: '{name}' of {first}, and '{another}' of {other}",
            flow.title()
        );
        sink.warn("TV0816", flow, message, "let all refer to the same message");
    }
}

/// Data stores lie outside of instances, so nothing is copied from or to them. In models for Camunda
/// associations copy nothing at all; that makes no difference where a name stays the same, because
/// activities see the variables around them anyway.
fn associations<'a>(node: Node<'a>, files: &Files<'a>, sink: &Sink) {
    let native = !files.dialect(node).is_camunda();
    let kinds = ["dataInputAssociation", "dataOutputAssociation"];
    for association in node.children().filter(|it| it.is_any(&kinds)) {
        let ends: Vec<_> = association
            .children()
            .filter(|it| it.is_any(&["sourceRef", "targetRef"]))
            .filter_map(|it| files.resolve(it, it.text()))
            .collect();
        let store = ends.iter().find(|it| it.is("dataStoreReference"));
        let message = if let Some(store) = store.filter(|_| native) {
            let what = association.name();
            format!("{what} of {} copies nothing: {} lies outside", node.title(), store.title())
        } else if !native && changes(association, &ends) && !feeds_loop(node, association) {
            format!(
                "{} of {} copies nothing: variables are seen where they are",
                association.name(),
                node.title()
            )
        } else {
            continue;
        };
        let help = match store {
            Some(_) => "let a worker read or write the store",
            None => "map it by tv:input or tv:output if it changes a name or a value",
        };
        sink.warn("TV0817", association, message, help);
        return;
    }
}

/// Whether an association would give something another name or value.
fn changes(association: Node<'_>, ends: &[Node<'_>]) -> bool {
    if association.child("transformation").is_some() || association.child("assignment").is_some() {
        return true;
    }
    let name = |it: &Node<'_>| it.attr("name").or_else(|| it.id()).map(str::to_owned);
    match ends {
        [source, target] => name(source) != name(target) && !ends.iter().any(|it| is_invented(*it)),
        _ => false,
    }
}
