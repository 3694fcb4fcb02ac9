//! What extensions add to any node: gates, mappings, operators, restrictions, listeners, merges.

use travertine_kernel::plan::{
    Gates, Listeners, Merge, NodeId, Restriction, RestrictionScope, Results,
};
use travertine_value::{Name, Program};

use super::{Lowering, index};
use crate::{
    dialect::Dialect,
    expression::{Text, variable_named},
    schema,
    xml::{Node, Ns},
};

impl<'a> Lowering<'a> {
    pub(super) fn extras(&mut self, node: Node<'a>, place: NodeId) {
        let gates = self.gates(node);
        let inputs = self.inputs(node);
        let outputs = self.outputs(node);
        let operators = self.keyed(node, "operator", "attribute");
        let restrictions = self.restrictions(node);
        let listeners = self.listeners(node, place);
        let results = self.fleans_results(node);
        let apart = self.apart.contains(&node.key());
        let nothing = !apart
            && results == Results::default()
            && gates == Gates::default()
            && inputs.is_empty()
            && outputs.is_empty()
            && operators.is_empty()
            && restrictions.is_empty()
            && listeners.is_empty();
        if nothing {
            return;
        }
        let extras = self.nodes[index(place)].extras_mut();
        extras.gates = gates;
        extras.inputs = inputs;
        extras.outputs = outputs;
        extras.operators = operators;
        extras.restrictions = restrictions;
        extras.listeners = listeners;
        extras.results = results;
        extras.apart = apart;
    }

    /// A process has a status to keep, but nothing around it to map from or to.
    pub(super) fn process_extras(&mut self, process: Node<'a>, place: NodeId) {
        let operators = self.keyed(process, "operator", "attribute");
        let restrictions = self.restrictions(process);
        // Those of a process that is called as a gosub are not called: the call has its own.
        let listeners =
            if place == NodeId(0) { self.listeners(process, place) } else { Listeners::default() };
        if !operators.is_empty() || !restrictions.is_empty() || !listeners.is_empty() {
            let extras = self.nodes[index(place)].extras_mut();
            extras.listeners = listeners;
            extras.operators = operators;
            extras.restrictions = restrictions;
        }
    }

    fn gates(&self, node: Node<'a>) -> Gates {
        let mut gates = Gates::default();
        if !schema::is_a(node.name(), "activity") {
            return gates;
        }
        for word in node.ext(&Ns::Travertine, "gate").unwrap_or_default().split_whitespace() {
            match word {
                "ready" => gates.ready = true,
                "entry" => gates.entry = true,
                "exit" => gates.exit = true,
                _ => {
                    let message = format!("tv:gate of {} has the word '{word}'", node.title());
                    self.error("TV0703", node, message, "write some of: ready entry exit");
                }
            }
        }
        gates
    }

    fn inputs(&self, node: Node<'a>) -> Vec<(Name, Program)> {
        let mut inputs = self.keyed(node, "input", "target");
        match self.dialect {
            Dialect::Native => {}
            Dialect::Camunda7 => {
                inputs.extend(self.parameters(node, "inputParameter"));
                if node.is("callActivity") {
                    inputs.extend(self.camunda_in(node));
                }
            }
            Dialect::Camunda8 => inputs.extend(self.zeebe_mapping(node, "input")),
            Dialect::Fleans => inputs.extend(self.fleans_mapping(node, "input")),
        }
        inputs
    }

    fn outputs(&self, node: Node<'a>) -> Vec<(Name, Program)> {
        let mut outputs = self.keyed(node, "output", "target");
        match self.dialect {
            Dialect::Native => {}
            Dialect::Camunda7 => {
                if node.is("callActivity") {
                    outputs.extend(self.camunda_out(node));
                }
                outputs.extend(self.parameters(node, "outputParameter"));
                // Who that was is known to those who start it; the variable is there in any case.
                let initiator = node.ext(&Ns::Camunda, "initiator").filter(|it| !it.is_empty());
                if let Some(name) = initiator.filter(|_| node.is("startEvent")) {
                    outputs.push((Name::from(name), variable_named(name)));
                }
            }
            Dialect::Camunda8 => outputs.extend(self.zeebe_mapping(node, "output")),
            Dialect::Fleans => outputs.extend(self.fleans_mapping(node, "output")),
        }
        outputs
    }

    fn restrictions(&self, node: Node<'a>) -> Vec<Restriction> {
        node.extensions(&Ns::Travertine, "restriction")
            .map(|it| {
                let scope = match it.attr("scope") {
                    Some("entry") => RestrictionScope::Entry,
                    Some("completion") => RestrictionScope::Completion,
                    Some("exit") => RestrictionScope::Exit,
                    Some("full") | None => RestrictionScope::Full,
                    Some(other) => {
                        let message = format!("the scope of a restriction is '{other}'");
                        self.error("TV0703", it, message, "write entry, completion, exit or full");
                        RestrictionScope::Full
                    }
                };
                let condition = self.compiler.expression(Text::of(it));
                let name = it.id().map_or_else(|| Name::from(condition.source()), Name::from);
                Restriction { name, scope, condition }
            })
            .collect()
    }

    /// How a converging gateway merges the branches of a fan-out; `None` where it does not.
    pub(super) fn merge(&self, node: Node<'a>) -> Option<Merge> {
        let merge = node.ext(&Ns::Travertine, "merge")?;
        let path = node.ext(&Ns::Travertine, "path");
        match (merge, path) {
            ("last", None) => Some(Merge::Last),
            ("agree", None) => Some(Merge::Agree),
            ("conflict", None) => Some(Merge::Conflict),
            ("append", Some(path)) => Some(Merge::Append(Name::from(path))),
            _ => {
                let message = format!("tv:merge of {} is '{merge}'", node.title());
                let help = "write last, agree or conflict, or append with tv:path";
                self.error("TV0703", node, message, help);
                Some(Merge::Last)
            }
        }
    }
}
