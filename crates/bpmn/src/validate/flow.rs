//! Rules about sequence flows and how nodes are connected.

use super::{Rules, graph::end};
use crate::{lower::is_true, schema, xml::Node};

impl<'a> Rules<'a> {
    pub(super) fn check_flow(&self, flow: Node<'a>) {
        let source = end(flow, "sourceRef", self.files);
        let target = end(flow, "targetRef", self.files);
        if let (Some(source), Some(target)) = (source, target)
            && (source.parent() != target.parent() || source.parent() != flow.parent())
        {
            let message = format!(
                "{} leads from {} to {} across the border of a process or sub-process",
                flow.title(),
                source.title(),
                target.title()
            );
            self.error("TV0402", flow, message, "keep flows inside one scope; use events between");
        }
        self.check_listed(flow, source, "outgoing");
        self.check_listed(flow, target, "incoming");
        let Some(source) = source.filter(|_| flow.child("conditionExpression").is_some()) else {
            return;
        };
        if source.is_any(&["parallelGateway", "eventBasedGateway"])
            || schema::is_a(source.name(), "catchEvent")
        {
            let message =
                format!("{} has a condition, but {} takes it always", flow.title(), source.title());
            self.strict("TV0403", flow, message, "remove the condition, or use another gateway");
        }
        if schema::is_a(source.name(), "activity") && self.graph.outgoing(source).len() < 2 {
            let message = format!(
                "{} has a condition, but {} has no other way to go on",
                flow.title(),
                source.title()
            );
            self.strict("TV0404", flow, message, "add a default flow");
        }
    }

    /// Where a node lists its flows, it must list them all.
    fn check_listed(&self, flow: Node<'a>, node: Option<Node<'a>>, list: &'static str) {
        let Some((node, id)) = node.zip(flow.id()) else { return };
        let lists = |list| node.all(list).next().is_some();
        let is_listed = node.all(list).any(|it| crate::xml::local_part(it.text().trim()) == id);
        if !is_listed && (lists("incoming") || lists("outgoing") || self.is_listed_elsewhere(flow))
        {
            let message = format!("{} does not list {} as {list}", node.title(), flow.title());
            self.error("TV0405", node, message, "add it, or leave all such lists out");
        }
    }

    /// Whether the other end of a flow lists it.
    fn is_listed_elsewhere(&self, flow: Node<'a>) -> bool {
        let ends = [("sourceRef", "outgoing"), ("targetRef", "incoming")];
        ends.into_iter().any(|(name, list)| {
            end(flow, name, self.files).is_some_and(|node| {
                node.all(list).any(|it| Some(crate::xml::local_part(it.text().trim())) == flow.id())
            })
        })
    }

    pub(super) fn check_default(&self, node: Node<'a>) {
        let Some(reference) = node.attr("default") else { return };
        let Some(flow) = self.files.resolve_as(node, reference, "sequenceFlow") else { return };
        if !self.graph.outgoing(node).contains(&flow) {
            let message = format!("the default flow '{reference}' does not leave {}", node.title());
            self.error("TV0406", node, message, "name a flow that leaves it");
        }
        if flow.child("conditionExpression").is_some() {
            let message = format!("the default flow '{reference}' has a condition");
            self.error("TV0407", flow, message, "remove the condition");
        }
    }

    /// Who must have incoming and outgoing flows, and who must not.
    pub(super) fn check_connections(&self, node: Node<'a>) {
        let incoming = self.graph.incoming(node);
        let outgoing = self.graph.outgoing(node);
        let refuse = |flows: &[Node<'a>], what: &str| {
            for flow in flows {
                let message = format!("{} leads {what} {}", flow.title(), node.title());
                self.error("TV0408", *flow, message, "remove the flow");
            }
        };
        let event_sub_process = is_true(node, "triggeredByEvent", false);
        let compensation = is_true(node, "isForCompensation", false)
            || (node.is("boundaryEvent") && node.child("compensateEventDefinition").is_some());
        let link = node.child("linkEventDefinition").is_some();
        let never_in = node.is_any(&["startEvent", "boundaryEvent"])
            || event_sub_process
            || compensation
            || (link && node.is("intermediateCatchEvent"))
            || is_true(node, "instantiate", false);
        let never_out = node.is("endEvent")
            || event_sub_process
            || compensation
            || (link && node.is("intermediateThrowEvent"));
        if never_in {
            refuse(incoming, "to");
        }
        if never_out {
            refuse(outgoing, "away from");
        }
        let Some(scope) = node.parent().filter(|it| !it.is("adHocSubProcess")) else { return };
        if scope.child("startEvent").is_some() && !never_in && incoming.is_empty() {
            let message = format!("no sequence flow leads to {}", node.title());
            self.strict("TV0409", node, message, "connect it, or remove it");
        }
        if scope.child("endEvent").is_some() && !never_out && outgoing.is_empty() {
            let message = format!("no sequence flow leads away from {}", node.title());
            self.strict("TV0410", node, message, "connect it, to an end event for instance");
        }
    }
}
