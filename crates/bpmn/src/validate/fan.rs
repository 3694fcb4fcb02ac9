//! Rules about gateways that give their branches variables of their own.

use std::collections::HashSet;

use super::{Graph, Rules, graph::end};
use crate::xml::{Node, Ns};

const FORKING: &[&str] = &["parallelGateway", "inclusiveGateway"];

impl<'a> Rules<'a> {
    /// Branches that are told apart must be brought together, and only those.
    pub(super) fn check_fan(&self, gateway: Node<'a>) {
        if is_fan_out(gateway) && !self.reaches(gateway, "targetRef", Graph::outgoing, is_fan_in) {
            let message = format!("nothing merges the branches of {}", gateway.title());
            self.error("TV0453", gateway, message, "add a gateway with tv:merge behind it");
        }
        if is_fan_in(gateway) && !self.reaches(gateway, "sourceRef", Graph::incoming, is_fan_out) {
            let message = format!("{} merges branches that nothing isolates", gateway.title());
            let help = "add a gateway with tv:fork=\"isolate\" before it";
            self.error("TV0454", gateway, message, help);
        }
    }

    /// Whether a walk along the flows comes to a node like that.
    fn reaches(
        &self,
        from: Node<'a>,
        other_end: &str,
        flows: for<'g> fn(&'g Graph<'a>, Node<'_>) -> &'g [Node<'a>],
        wanted: fn(Node<'_>) -> bool,
    ) -> bool {
        let mut seen = HashSet::new();
        let mut todo = vec![from];
        while let Some(node) = todo.pop() {
            if node != from && wanted(node) {
                return true;
            }
            if seen.insert(node.key()) {
                let next = flows(self.graph, node).iter();
                todo.extend(next.filter_map(|it| end(*it, other_end, self.files)));
                // A boundary event and its activity lead to each other.
                todo.extend(self.graph.boundaries(node));
                todo.extend(node.attr("attachedToRef").and_then(|it| node.document().by_id(it)));
            }
        }
        false
    }
}

fn is_fan_out(node: Node<'_>) -> bool {
    node.is_any(FORKING) && node.ext(&Ns::Travertine, "fork") == Some("isolate")
}

fn is_fan_in(node: Node<'_>) -> bool {
    node.is_any(FORKING) && node.ext(&Ns::Travertine, "merge").is_some()
}
