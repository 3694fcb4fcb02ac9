//! Checks a file against the table.

use std::collections::HashMap;

use super::{Content, Lineage, Type, is_a, lineage, value};
use crate::{
    dialect::Dialect,
    files::Files,
    report::Sink,
    xml::{Attribute, Document, Node, Ns, Severity, local_part},
};

/// What models for Fleans write without a prefix.
const FLEANS: &[&str] = &[
    "type",
    "collection",
    "elementVariable",
    "outputCollection",
    "outputElement",
    "activationCondition",
    "correlationKey",
    "propagateAllParentVariables",
    "propagateAllChildVariables",
];

/// Checks every BPMN element of a file.
pub(crate) fn check(document: &Document, files: &Files<'_>, sink: &Sink) {
    let root = document.root();
    if !root.is("definitions") {
        let message = format!("the outermost element is {}, not BPMN's definitions", root.name());
        sink.error("TV0105", root, message, "give a file of BPMN 2.0");
        return;
    }
    let mut ids: HashMap<&str, Node<'_>> = HashMap::new();
    let mut todo = vec![root];
    while let Some(node) = todo.pop() {
        if let Some(id) = node.id()
            && let Some(first) = ids.insert(id, node)
        {
            let message = format!(
                "the id '{id}' is used twice: here and by the {} in line {}",
                first.name(),
                first.place().line
            );
            sink.error("TV0301", node, message, "give each element an id of its own");
        }
        if !element(node, files, sink) {
            continue;
        }
        todo.extend(node.children().rev().filter(|it| *it.ns() == Ns::Bpmn));
    }
}

/// Checks one element; whether its children are worth a look.
fn element(node: Node<'_>, files: &Files<'_>, sink: &Sink) -> bool {
    let Some(known) = lineage(node.name()) else {
        let message = format!("BPMN has no element '{}'", node.name());
        sink.error("TV0201", node, message, "remove it, or correct its name");
        return false;
    };
    attributes(node, known, files, sink);
    match known.kind.content {
        Content::Any => return false,
        Content::Ref(targets) => {
            reference(node, None, node.text().trim(), targets, files, sink);
        }
        Content::Elements | Content::Text => {}
    }
    if let Content::Elements = known.kind.content
        && !node.text().trim().is_empty()
    {
        let message = format!("{} contains the text '{}'", node.title(), node.text().trim());
        sink.error("TV0207", node, message, "remove the text");
    }
    children(node, known, sink);
    true
}

fn attributes(node: Node<'_>, known: &Lineage, files: &Files<'_>, sink: &Sink) {
    let is_fleans = files.dialect(node) == Dialect::Fleans;
    for rule in known.attributes.iter().filter(|it| it.required) {
        if is_fleans && rule.name == "targetNamespace" {
            continue;
        }
        if node.attr(rule.name).is_none() {
            let message = format!("{} has no {}", node.title(), rule.name);
            sink.error("TV0204", node, message, "add the attribute; the standard asks for it");
        }
    }
    for attribute in node.attributes().iter().filter(|it| it.ns == Ns::None) {
        let Some(rule) = known.attributes.iter().find(|it| it.name == attribute.name) else {
            if is_fleans && FLEANS.contains(&attribute.name.as_str()) {
                continue;
            }
            let message =
                format!("{} has the unknown attribute '{}'", node.title(), attribute.name);
            let help = "remove it, correct its name, or give it the prefix of its extension";
            sink.attribute_error("TV0203", node, attribute, message, help);
            continue;
        };
        if let Some(fault) = value::fault(&attribute.value, &rule.value) {
            let Attribute { name, value, .. } = attribute;
            let message = format!("{} of {} is '{value}', which {fault}", name, node.title());
            sink.attribute_error("TV0205", node, attribute, message, "correct the value");
        } else if let Type::Ref(targets) = rule.value {
            reference(node, Some(attribute), &attribute.value, targets, files, sink);
        }
    }
}

fn reference(
    node: Node<'_>,
    attribute: Option<&Attribute>,
    text: &str,
    targets: &[&str],
    files: &Files<'_>,
    sink: &Sink,
) {
    let name = attribute.map_or_else(|| node.name(), |it| it.name.as_str());
    // Lanes, types, lists of flows and conversations change nothing, so what they lack breaks nothing.
    let harmless = node.is("conversationLink")
        || ["flowNodeRef", "structureRef", "itemRef", "itemSubjectRef", "incoming", "outgoing"]
            .contains(&name);
    let severity = if harmless { Severity::Warning } else { Severity::Error };
    let place = attribute.map_or_else(|| node.place(), |it| it.place);
    let report =
        |code, message: String, help: &str| sink.add(severity, code, node, place, message, help);
    let owner = if attribute.is_some() { Some(node) } else { node.parent() };
    let owner = owner.map(Node::title).unwrap_or_default();
    let prefix = text.split_once(':').map(|(prefix, _)| prefix);
    match files.resolve(node, text) {
        Some(target) if targets.iter().any(|it| is_a(target.name(), it)) => {
            if !Files::is_prefix_of(node, text, target) {
                let title = target.title();
                let message =
                    format!("{name} of {owner} is '{text}', not {title} of this namespace");
                let help = "give it the prefix of the namespace that it lies in";
                sink.add(Severity::Warning, "TV0304", node, place, message, help);
            }
        }
        // There an event can have boundary events, like a receive task.
        Some(target)
            if name == "attachedToRef"
                && target.is("intermediateCatchEvent")
                && files.dialect(node) == Dialect::Fleans => {}
        Some(target) => {
            let wanted = targets.join(" or ");
            let message = format!("{name} of {owner} means the {}, not a {wanted}", target.title());
            report("TV0303", message, "refer to an element of the right kind");
        }
        // Camunda 7 takes such a reference for the code itself.
        None if name == "errorRef" && files.dialect(node) == Dialect::Camunda7 => {}
        None if prefix.is_some_and(|it| is_foreign(node, it)) => {
            let message = format!("{name} of {owner} is '{text}', which lies in another file");
            report("TV0304", message, "deploy the file it lies in together with this one");
        }
        None => {
            let text = local_part(text);
            let message = format!("{name} of {owner} is '{text}', but there is no such element");
            report("TV0302", message, "correct the reference, or add what it refers to");
        }
    }
}

/// Whether a prefix stands for something else than the namespace of the file itself.
fn is_foreign(node: Node<'_>, prefix: &str) -> bool {
    node.namespace(prefix) != node.document().root().attr("targetNamespace")
}

fn children(node: Node<'_>, known: &Lineage, sink: &Sink) {
    let rules = &known.children;
    let mut counts = vec![0_usize; rules.len()];
    for child in node.children().filter(|it| *it.ns() == Ns::Bpmn) {
        let Some(kind) = lineage(child.name()) else { continue };
        if let Some(rule) = rules.iter().position(|it| kind.names.contains(&it.name)) {
            counts[rule] += 1;
            if counts[rule] == rules[rule].max.saturating_add(1) {
                let message = format!(
                    "{} has more than {} {}",
                    node.title(),
                    rules[rule].max,
                    rules[rule].name
                );
                sink.error("TV0206", child, message, "keep the one you mean");
            }
        } else {
            let message = format!("{} cannot stand in {}", child.title(), node.title());
            sink.error("TV0202", child, message, "move it to where BPMN allows it");
        }
    }
    for (rule, count) in rules.iter().zip(counts) {
        if count < rule.min {
            let message = format!("{} has no {}", node.title(), rule.name);
            sink.error("TV0206", node, message, "add one; the standard asks for it");
        }
    }
}
