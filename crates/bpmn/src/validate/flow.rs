//! Rules about sequence flows and how nodes are connected.

use super::{Rules, graph::end};
use crate::{dialect::Dialect, lower::is_true, schema, xml::Node};

const LISTS: &[&str] = &["incoming", "outgoing"];

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
        self.check_listed(flow, source, target);
        if self.executable && !is_true(flow, "isImmediate", true) {
            let message = format!("{} says that it is not immediate", flow.title());
            let help = "it is taken at once all the same; remove isImmediate";
            self.harmless("TV0423", flow, message, help);
        }
        let Some(source) = source.filter(|_| flow.child("conditionExpression").is_some()) else {
            return;
        };
        let message =
            || format!("{} has a condition, but {} takes it always", flow.title(), source.title());
        let help = "remove the condition, or use another gateway";
        if source.is("parallelGateway") {
            self.sink.warn("TV0403", flow, message(), help);
        } else if source.is("eventBasedGateway") || schema::is_a(source.name(), "catchEvent") {
            self.standard("TV0403", flow, message(), help);
        }
        if schema::is_a(source.name(), "activity") && self.graph.outgoing(source).len() < 2 {
            let message = format!(
                "{} has a condition, but {} has no other way to go on",
                flow.title(),
                source.title()
            );
            self.standard("TV0404", flow, message, "add a default flow");
        }
    }

    /// Where any node of a scope lists its flows, each should list all of its own. What leads where is said
    /// by the flows alone.
    fn check_listed(&self, flow: Node<'a>, from: Option<Node<'a>>, to: Option<Node<'a>>) {
        let (Some(from), Some(to)) = (from, to) else { return };
        if !flow.parent().is_some_and(|it| self.graph.has_lists(it)) {
            return;
        }
        for (node, list) in [(from, "outgoing"), (to, "incoming")] {
            if !flow.id().is_some_and(|it| self.graph.lists(node, it)) {
                let message = format!("{} does not list {} as {list}", node.title(), flow.title());
                let help = "the flow counts; add it to the list, or leave all such lists out";
                self.harmless("TV0405", node, message, help);
            }
        }
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

    /// What a node lists as its flows are its flows.
    fn check_lists(&self, node: Node<'a>) {
        // The lists come first, so that this never walks far.
        let lists = node.children().take_while(|it| !it.is("sequenceFlow"));
        for listed in lists.filter(|it| it.is_any(LISTS)) {
            let flow = self.files.resolve_as(listed, listed.text(), "sequenceFlow");
            let name = if listed.is("incoming") { "targetRef" } else { "sourceRef" };
            if let Some(flow) = flow
                && end(flow, name, self.files).is_some_and(|it| it != node)
            {
                let message =
                    format!("{} lists {} as {}", node.title(), flow.title(), listed.name());
                let help = "the flow counts, which does not lead there; correct the list";
                self.harmless("TV0405", node, message, help);
            }
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
            || self.dialect == Dialect::Fleans && self.graph.is_handler(node)
            || (node.is("boundaryEvent")
                && self.files.definition(node, "compensateEventDefinition").is_some());
        let link = self.files.definition(node, "linkEventDefinition").is_some();
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
        self.check_lists(node);
        let Some(scope) = node.parent() else { return };
        let intermediate = node.is_any(&["intermediateCatchEvent", "intermediateThrowEvent"]);
        // There events can be chosen, too, alone or, for Camunda 8, with what they lead to.
        let is_alone = incoming.is_empty() && outgoing.is_empty() && intermediate;
        if scope.is("adHocSubProcess") && (is_alone || self.dialect == Dialect::Camunda8) {
            return;
        }
        let is_late_end = node.is("endEvent") && self.graph.is_instantiated(scope);
        let started = self.graph.has_start(scope) && !scope.is("adHocSubProcess");
        if (started || intermediate || is_late_end) && !never_in && incoming.is_empty() {
            let message = format!("no sequence flow leads to {}", node.title());
            let help = "connect it, or remove it";
            // Nothing ever comes to an end event then, which hurts nobody.
            if node.is("endEvent") || !started {
                self.harmless("TV0409", node, message, help);
            } else {
                self.standard("TV0409", node, message, help);
            }
        }
        let leads_on = intermediate || node.is_any(&["startEvent", "boundaryEvent"]);
        if (self.graph.has_end(scope) || leads_on) && !never_out && outgoing.is_empty() {
            let message = format!("no sequence flow leads away from {}", node.title());
            let help = "its path ends here; connect it, to an end event for instance";
            self.harmless("TV0410", node, message, help);
        }
    }
}
