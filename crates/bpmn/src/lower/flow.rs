//! Sequence flows, default flows and links.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use travertine_kernel::plan::{Element, Flow, FlowId, Merge, NodeId};

use travertine_value::{Program, Value};

use super::{Lowering, index, is_true};
use crate::{
    dialect::Dialect,
    expression::Text,
    schema,
    xml::{Node, Ns},
};

impl<'a> Lowering<'a> {
    /// The flows directly in a container, in document order, then its links.
    pub(super) fn flows_of(&mut self, container: Node<'a>) {
        for source in container.all("sequenceFlow") {
            let end = |name| source.attr(name).and_then(|it| self.target(source, it));
            let (Some(from), Some(to)) = (end("sourceRef"), end("targetRef")) else { continue };
            let name = match source.id() {
                Some(id) => Arc::from(id),
                None => Arc::from(format!(
                    "{}->{}",
                    self.nodes[index(from)].name,
                    self.nodes[index(to)].name
                )),
            };
            // Gateways that always take all flows do so in Camunda 7 too, whatever is written there.
            let always =
                self.sources[index(from)].is_any(&["parallelGateway", "eventBasedGateway"]);
            let condition = source
                .child("conditionExpression")
                .filter(|_| !always)
                .map(|it| self.condition_of(Text::of(it)));
            let place = self.add_flow(Flow { name, from, to, condition }, source);
            self.flow_places.insert(source.key(), place);
        }
        self.links(container);
    }

    fn add_flow(&mut self, flow: Flow, source: Node<'a>) -> FlowId {
        let place = FlowId(u32::try_from(self.flows.len()).expect("files are limited in size"));
        *self.arriving.entry(flow.to).or_default() += 1;
        if flow.condition.is_none() {
            *self.free.entry(flow.from).or_default() += 1;
        }
        self.flows.push(flow);
        self.flow_sources.push(source);
        place
    }

    /// The flow that a node leaves by where no condition holds. The standard does not count flows without
    /// a condition there; Camunda does, so that beside one of those the default of an activity is never taken.
    pub(super) fn default_flow(&mut self, node: Node<'a>, place: NodeId) -> Option<FlowId> {
        let flow = self.cx.files.resolve(node, node.attr("default")?)?;
        let default = self.flow_places.get(&flow.key()).copied()?;
        let others = self.free.get(&place).copied().unwrap_or_default() > 1;
        let is_gateway = schema::is_a(node.name(), "gateway");
        if self.dialect.is_camunda() && others && !is_gateway {
            let never = Program::constant(Value::Bool(false));
            self.flows[default.0 as usize].condition = Some(never);
            return None;
        }
        Some(default)
    }

    /// The link events of a kind directly in a container, with their names.
    fn link_events(&self, container: Node<'a>, kind: &'static str) -> Vec<(Node<'a>, &'a str)> {
        let named = |event| {
            let link = self.cx.files.definition(event, "linkEventDefinition")?;
            Some((event, link.attr("name")?))
        };
        container.all(kind).filter_map(named).collect()
    }

    /// A link is a flow that nobody wanted to draw.
    fn links(&mut self, container: Node<'a>) {
        let mut catches: BTreeMap<&str, NodeId> = BTreeMap::new();
        for (event, name) in self.link_events(container, "intermediateCatchEvent") {
            let place = self.places[&event.key()];
            if catches.insert(name, place).is_some() {
                let message = format!("a second event catches the link '{name}'");
                self.error("TV0420", event, message, "let one event catch each link");
            }
        }
        let mut thrown = BTreeSet::new();
        for (event, name) in self.link_events(container, "intermediateThrowEvent") {
            let from = self.places[&event.key()];
            if let Some(&to) = catches.get(name) {
                let flow = Flow::new(&format!("link {name}"), from, to);
                self.add_flow(flow, event);
                thrown.insert(name);
            } else {
                let message = format!("no event catches the link '{name}'");
                self.error("TV0421", event, message, "add a catching link event of that name");
            }
        }
        for (event, name) in self.link_events(container, "intermediateCatchEvent") {
            if !thrown.contains(name) {
                let message = format!("no event throws the link '{name}'");
                self.error("TV0422", event, message, "add a throwing link event of that name");
            }
        }
    }

    pub(super) fn forking_gateway(&self, node: Node<'a>) -> Element {
        let other =
            if node.is("inclusiveGateway") { Element::Inclusive } else { Element::Parallel };
        if let Some(merge) = self.merge(node) {
            return Element::FanIn(merge);
        }
        if self.joins.contains(&node.key()) {
            return Element::FanIn(Merge::Last);
        }
        match node.ext(&Ns::Travertine, "fork") {
            None if self.forks.contains(&node.key()) => Element::FanOut,
            Some("isolate") => Element::FanOut,
            Some("share") | None => other,
            Some(fork) => {
                let message = format!("tv:fork of {} is '{fork}'", node.title());
                self.error("TV0703", node, message, "write 'share' or 'isolate'");
                other
            }
        }
    }

    pub(super) fn complex_gateway(&self, node: Node<'a>) -> Element {
        if self.joins.contains(&node.key()) {
            return Element::FanIn(Merge::Last);
        }
        if self.forks.contains(&node.key()) {
            return Element::FanOut;
        }
        if self.dialect == Dialect::Fleans {
            return self.fleans_complex(node);
        }
        match node.child("activationCondition") {
            Some(condition) => {
                Element::Complex { activation: self.compiler.expression(Text::of(condition)) }
            }
            // Without a condition nothing is complex: it merges one by one and splits by
            // conditions, which is what an inclusive gateway does with one incoming flow.
            None => Element::Inclusive,
        }
    }

    /// The events that an instance waits for, once one behind a parallel gateway has started it.
    fn started_with(&self, flow: &Flow, behind: &BTreeMap<NodeId, Vec<NodeId>>) -> Vec<NodeId> {
        if self.sources[index(flow.from)].attr("eventGatewayType") != Some("Parallel") {
            return Vec::new();
        }
        behind[&flow.from].iter().filter(|it| **it != flow.to).copied().collect()
    }

    /// An instantiating event gateway is a way to draw several start events: the events behind it
    /// become those.
    pub(super) fn instantiating_gateways(&mut self) {
        let mut gone = vec![false; self.nodes.len()];
        for (place, source) in self.sources.iter().enumerate() {
            gone[place] = source.is("eventBasedGateway") && is_true(*source, "instantiate", false);
        }
        if !gone.contains(&true) {
            return;
        }
        let mut behind: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for flow in self.flows.iter().filter(|it| gone[index(it.from)]) {
            behind.entry(flow.from).or_default().push(flow.to);
        }
        for flow in &self.flows {
            if !gone[index(flow.from)] {
                continue;
            }
            let with = self.started_with(flow, &behind);
            let target = &mut self.nodes[index(flow.to)];
            if let Element::Catch(catch) | Element::Receive(catch) = &target.element {
                let (triggers, all) = (catch.triggers.clone(), catch.all);
                target.element =
                    Element::Start(travertine_kernel::plan::Start { triggers, all, with });
            }
        }
        // Positions of flows are known to default flows by now, so the flow stays and is led away
        // from the new start event instead of being removed.
        for flow in &mut self.flows {
            if gone[index(flow.from)] {
                flow.to = flow.from;
            }
        }
    }
}

/// An event-based gateway; one that instantiates gives way to the events behind it.
pub(super) fn event_gateway(node: Node<'_>) -> Element {
    if is_true(node, "instantiate", false) { Element::Pass } else { Element::EventBased }
}
