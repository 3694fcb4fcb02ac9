//! Conditions that leave a token no way, and conditions that are none.

use travertine_kernel::plan::{Element, FlowId, NodeId, Repeat};

use super::{
    Subject,
    condition::{Condition, Variables, parse},
};
use crate::xml::Node;

pub(super) fn check(subject: Subject<'_, '_>) {
    for id in subject.nodes() {
        let node = subject.plan().node(id);
        let conditional = |it: &FlowId| subject.plan().flow(*it).condition.is_some();
        if node.outgoing.iter().any(conditional) {
            gap(subject, id);
            constant_flows(subject, id);
        }
        events(subject, id);
    }
}

/// The condition of a flow, where it has one that is understood.
fn understood(
    subject: Subject<'_, '_>,
    flow: FlowId,
    variables: &mut Variables,
) -> Option<Condition> {
    subject.plan().flow(flow).condition.as_ref()?;
    let text = subject.flow_source(flow).child("conditionExpression")?.text();
    parse(text, variables)
}

/// Values for which no flow can be taken.
fn gap(subject: Subject<'_, '_>, id: NodeId) {
    let node = subject.plan().node(id);
    if node.default.is_some() {
        return;
    }
    let mut variables = Variables::default();
    let conditions: Option<Vec<_>> =
        node.outgoing.iter().map(|it| understood(subject, *it, &mut variables)).collect();
    let Some(values) = conditions.and_then(|it| variables.refute(&it)) else { return };
    let when = if values.is_empty() { String::new() } else { format!(" if {values}") };
    let ways: Vec<_> = node
        .outgoing
        .iter()
        .map(|it| {
            let flow = subject.plan().flow(*it);
            format!("{} → {}", node.name, subject.plan().node(flow.to).name)
        })
        .collect();
    let message = format!(
        "{} has no default flow, and no condition holds{when}: neither {}",
        subject.title(id),
        ways.join(" nor ")
    );
    let help = "make one of its flows the default";
    subject.warn("TV0923", id, message, help);
}

/// Flows that are never taken, because of conditions that are always the same.
fn constant_flows(subject: Subject<'_, '_>, id: NodeId) {
    let node = subject.plan().node(id);
    let constant = |it: FlowId| understood(subject, it, &mut Variables::default())?.constant();
    let name = |it: FlowId| &*subject.plan().flow(it).name;
    let help = "remove the condition, or the flow that is never taken";
    for (position, &flow) in node.outgoing.iter().enumerate() {
        let message = match constant(flow) {
            None => continue,
            Some(false) => {
                format!("flow '{}' is never taken: its condition is always false", name(flow))
            }
            Some(true) => {
                // An exclusive gateway takes the first that holds; others take all that hold.
                let exclusive = matches!(node.element, Element::Exclusive);
                let later = &node.outgoing[position + 1..];
                let other = later.iter().find(|it| exclusive && Some(**it) != node.default);
                let Some(never) = other.copied().or(node.default) else { continue };
                format!(
                    "flow '{}' is never taken: the condition of flow '{}' is always true",
                    name(never),
                    name(flow)
                )
            }
        };
        let target = subject.plan().flow(flow).to;
        let message = format!("{message}: {}", subject.path(&[id, target]));
        subject.warn_at("TV0924", subject.flow_source(flow), message, help);
    }
}

/// Conditional events that never happen, and loops that never run again.
fn events(subject: Subject<'_, '_>, id: NodeId) {
    let source = subject.source(id);
    let constant = |it: Node<'_>| parse(it.text(), &mut Variables::default())?.constant();
    for definition in source.all("conditionalEventDefinition") {
        if definition.child("condition").and_then(constant) == Some(false) {
            let message =
                format!("{} never happens: its condition is always false", source.title());
            subject.warn("TV0924", id, message, "correct the condition");
        }
    }
    if let Some(Repeat::Loop(it)) = subject.plan().node(id).repeat.as_deref() {
        let condition =
            source.child("standardLoopCharacteristics").and_then(|it| it.child("loopCondition"));
        if condition.and_then(constant) == Some(false) {
            let what = if it.test_before { "runs" } else { "repeats" };
            let message =
                format!("{} never {what}: its loop condition is always false", source.title());
            subject.warn("TV0924", id, message, "correct the condition, or remove the loop");
        }
    }
}
