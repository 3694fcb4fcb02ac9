//! The inside of a process or sub-process.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    artifact,
    graph::{Arc, Graph, Laid, Port, Spot},
};
use crate::{
    diagram::is_boundary,
    geometry::{Rect, at, num},
    model::{Activity, Item, ItemId, Kind, LinkKind, Model, Work},
    sheet::{Edge, Shape},
    text,
};

/// How wide the names of events and gateways are at most.
pub(super) const LABEL_WIDTH: f64 = 96.0;

/// How far apart things are that no line connects.
const GAP: f64 = 40.0;

/// What stays free inside a sub-process, and above that for its name.
const PADDING: f64 = 24.0;
const HEADER: f64 = 22.0;

const EVENT: f64 = 36.0;
const GATEWAY: f64 = 50.0;

/// How far the mark of a default flow reaches from it to each side, and a little more.
const SLASH: f64 = 10.0;

/// How wide rows of things without lines become, at least.
const ROW_WIDTH: f64 = 700.0;

/// Things with places, right of and below the origin.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) shapes: Vec<Shape>,
    pub(super) edges: Vec<Edge>,
    /// Where the bands of the lanes begin and end.
    pub(super) lanes: Vec<(f64, f64)>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Block {
    pub(super) fn shift(&mut self, dx: f64, dy: f64) {
        for shape in &mut self.shapes {
            shape.bounds = shape.bounds.moved(dx, dy);
            shape.label = shape.label.map(|it| it.moved(dx, dy));
        }
        for edge in &mut self.edges {
            edge.points.iter_mut().for_each(|it| *it = it.by(dx, dy));
            edge.label = edge.label.map(|it| it.moved(dx, dy));
        }
        for lane in &mut self.lanes {
            *lane = (lane.0 + dy, lane.1 + dy);
        }
    }

    /// Takes another block in, at its place.
    pub(super) fn take(&mut self, other: Self) {
        self.shapes.extend(other.shapes);
        self.edges.extend(other.edges);
        self.width = self.width.max(other.width);
        self.height = self.height.max(other.height);
    }
}

/// Lays out what lies in a process or sub-process. `lanes` are the bands of a process, from top to
/// bottom, each with all lanes that mean it.
pub(super) fn container(model: &Model, id: ItemId, lanes: &[Vec<ItemId>]) -> Block {
    let nodes: Vec<ItemId> = model
        .inside(id)
        .filter(|(_, it)| it.is_flow_node() && !(is_boundary(it.kind) && it.host.is_some()))
        .map(|(id, _)| id)
        .collect();
    let builder = Builder::new(model, &nodes, lanes);
    let mut block =
        if lanes.len() > 1 { builder.component(&nodes) } else { builder.components(&nodes) };
    artifact::add(model, id, &mut block);
    block
}

struct Builder<'m> {
    model: &'m Model,
    lanes: &'m [Vec<ItemId>],
    /// What lies in each sub-process.
    insides: BTreeMap<ItemId, Block>,
    /// The events attached to each activity, from left to right.
    attached: BTreeMap<ItemId, Attached>,
    /// The links between nodes here, with the nodes they connect.
    links: Vec<(usize, ItemId, ItemId)>,
    /// Those that leave each node, by their places in the list.
    leaving: BTreeMap<ItemId, Vec<usize>>,
}

/// The events attached to an activity.
struct Attached {
    events: Vec<ItemId>,
    /// How far apart they are.
    spacing: f64,
}

impl<'m> Builder<'m> {
    fn new(model: &'m Model, nodes: &[ItemId], lanes: &'m [Vec<ItemId>]) -> Self {
        let here: BTreeSet<ItemId> = nodes.iter().copied().collect();
        let mut attached: BTreeMap<ItemId, Vec<ItemId>> = BTreeMap::new();
        for (id, event) in model.all(|it| is_boundary(it.kind)) {
            if let Some(host) = event.host.filter(|it| here.contains(it)) {
                attached.entry(host).or_default().push(id);
            }
        }
        let attached = attached
            .into_iter()
            .map(|(host, events)| (host, Attached { spacing: spacing(model, &events), events }))
            .collect();
        let node = |id: ItemId| {
            let item = model.item(id);
            let node = if is_boundary(item.kind) { item.host.unwrap_or(id) } else { id };
            here.contains(&node).then_some(node)
        };
        let mut links = Vec::new();
        for (id, link) in model.links.iter().enumerate() {
            let leads = match link.kind {
                // An association between nodes leads from a compensation event to what undoes.
                LinkKind::Sequence { .. } | LinkKind::Association { .. } => true,
                LinkKind::Message | LinkKind::Conversation => false,
            };
            if let (true, Some(from), Some(to)) = (leads, node(link.from), node(link.to)) {
                links.push((id, from, to));
            }
        }
        let mut leaving: BTreeMap<ItemId, Vec<usize>> = BTreeMap::new();
        for (place, (_, from, _)) in links.iter().enumerate() {
            leaving.entry(*from).or_default().push(place);
        }
        let contains = nodes.iter().filter(|it| model.item(**it).contains());
        let insides = contains.map(|it| (*it, inside(model, *it))).collect();
        Self { model, lanes, insides, attached, links, leaving }
    }

    /// Everything: what lines connect by itself, and what they do not in rows below.
    fn components(&self, nodes: &[ItemId]) -> Block {
        let mut blocks: Vec<Block> = Vec::new();
        let mut singles: Vec<Block> = Vec::new();
        for component in self.connected(nodes) {
            let block = self.component(&component);
            if component.len() == 1 { singles.push(block) } else { blocks.push(block) }
        }
        let mut all = Block::default();
        let mut top = 0.0;
        for mut block in blocks {
            block.shift(0.0, top);
            top += block.height + GAP;
            block.height = top - GAP;
            all.take(block);
        }
        let (mut left, mut row) = (0.0, 0.0_f64);
        let width = all.width.max(ROW_WIDTH);
        for mut block in singles {
            if left > 0.0 && left + block.width > width {
                top += row + GAP;
                (left, row) = (0.0, 0.0);
            }
            block.shift(left, top);
            row = row.max(block.height);
            left += block.width + GAP;
            block.width = left - GAP;
            block.height += top;
            all.take(block);
        }
        all
    }

    fn connected(&self, nodes: &[ItemId]) -> Vec<Vec<ItemId>> {
        let mut beside: BTreeMap<ItemId, Vec<ItemId>> = BTreeMap::new();
        for (_, from, to) in &self.links {
            beside.entry(*from).or_default().push(*to);
            beside.entry(*to).or_default().push(*from);
        }
        let mut seen = BTreeSet::new();
        let mut components = Vec::new();
        for node in nodes {
            if !seen.insert(*node) {
                continue;
            }
            let mut component = vec![*node];
            let mut at = 0;
            while let Some(node) = component.get(at).copied() {
                at += 1;
                for next in beside.get(&node).into_iter().flatten() {
                    if seen.insert(*next) {
                        component.push(*next);
                    }
                }
            }
            // In the order of the model, which is the order people thought of them.
            component.sort_unstable();
            components.push(component);
        }
        components
    }

    fn component(&self, nodes: &[ItemId]) -> Block {
        let position: BTreeMap<ItemId, usize> =
            nodes.iter().enumerate().map(|(position, id)| (*id, position)).collect();
        let mut graph = Graph { lanes: self.lanes.len(), ..Graph::default() };
        graph.boxes.extend(nodes.iter().map(|it| self.spot(*it)));
        let mut links = Vec::new();
        let mut leaving: Vec<usize> = nodes
            .iter()
            .flat_map(|it| self.leaving.get(it).into_iter().flatten().copied())
            .collect();
        leaving.sort_unstable();
        for (id, from, to) in leaving.into_iter().map(|it| &self.links[it]) {
            let (Some(from), Some(to)) = (position.get(from), position.get(to)) else { continue };
            let link = &self.model.links[*id];
            let label = size(&text::wrap(&link.name, text::SMALL, LABEL_WIDTH, 3));
            let port = self.port(link.from, graph.boxes[*from]);
            if from == to {
                graph.boxes[*from].below += 20.0;
            }
            links.push(*id);
            graph.arcs.push(Arc { from: *from, to: *to, label, port });
        }
        let laid = graph.lay_out();
        self.block(nodes, &links, &graph, laid)
    }

    fn spot(&self, id: ItemId) -> Spot {
        let item = self.model.item(id);
        let lane = item.lane.and_then(|own| self.lanes.iter().position(|it| it.contains(&own)));
        let lane = lane.unwrap_or_default();
        let lines = text::wrap(item.label(true), text::SMALL, LABEL_WIDTH, 4);
        let (label_width, label_height) = size(&lines);
        let label_width = label_width + 8.0;
        match item.kind {
            Kind::Event(_) => Spot {
                width: EVENT,
                height: EVENT,
                slot: label_width,
                below: label_height + 6.0,
                lane,
                ..Spot::default()
            },
            Kind::Gateway(_) => Spot {
                width: GATEWAY,
                height: GATEWAY,
                slot: label_width,
                above: if lines.is_empty() { 0.0 } else { label_height + 4.0 },
                lane,
                corners: true,
                ..Spot::default()
            },
            _ => self.activity_spot(id, lane),
        }
    }

    fn activity_spot(&self, id: ItemId, lane: usize) -> Spot {
        let (mut width, mut height) = (100.0_f64, 80.0_f64);
        if let Some(inside) = self.insides.get(&id) {
            let name = text::width(&self.model.item(id).name, text::SIZE).min(300.0);
            width = (inside.width + 2.0 * PADDING).max(name + 2.0 * PADDING).max(140.0);
            height = inside.height + 2.0 * PADDING + HEADER;
        }
        let mut below = 0.0;
        if let Some(Attached { events, spacing }) = self.attached.get(&id) {
            width = width.max(num(events.len()) * spacing + 16.0);
            let heights = events.iter().map(|it| size(&event_lines(self.model, *it)).1);
            let label = heights.fold(0.0, f64::max);
            below = EVENT / 2.0 + label + 16.0;
        }
        Spot { width, height, slot: width, below, lane, ..Spot::default() }
    }

    fn port(&self, event: ItemId, host: Spot) -> Option<Port> {
        let item = self.model.item(event);
        let attached = self.attached.get(&item.host.filter(|_| is_boundary(item.kind))?)?;
        let place = attached.events.iter().position(|it| *it == event)?;
        let from_right = num(attached.events.len() - place) - 0.5;
        let x = host.width - 8.0 - attached.spacing * from_right;
        Some(Port { x, reach: EVENT / 2.0, name: size(&event_lines(self.model, event)).1 })
    }

    fn block(&self, nodes: &[ItemId], links: &[usize], graph: &Graph, laid: Laid) -> Block {
        let mut block =
            Block { lanes: laid.lanes, width: laid.width, height: laid.height, ..Block::default() };
        for (position, id) in nodes.iter().enumerate() {
            let bounds = laid.boxes[position];
            let mut shape = Shape::new(*id, bounds);
            let item = self.model.item(*id);
            shape.expanded = self.insides.contains_key(id);
            shape.label = label(item, bounds, laid.corners[position]);
            block.shapes.push(shape);
            if let Some(inside) = self.insides.get(id) {
                let mut inside = inside.clone();
                inside.shift(bounds.x + PADDING, bounds.y + PADDING + HEADER);
                block.shapes.extend(inside.shapes);
                block.edges.extend(inside.edges);
            }
            for event in self.attached.get(id).into_iter().flat_map(|it| &it.events) {
                let Some(port) = self.port(*event, graph.boxes[position]) else { continue };
                let center = at(bounds.x + port.x, bounds.bottom());
                let mut shape = Shape::new(*event, Rect::around(center, EVENT, EVENT));
                let lines = event_lines(self.model, *event);
                let (width, height) = size(&lines);
                shape.label =
                    Some(Rect::new(center.x + 5.0, center.y + EVENT / 2.0 + 1.0, width, height));
                block.shapes.push(shape);
            }
        }
        for (position, (link, points)) in links.iter().zip(laid.ways).enumerate() {
            let mut edge = Edge::new(*link, points);
            edge.label = laid.labels[position];
            block.edges.push(edge);
        }
        block
    }
}

/// How far apart attached events are.
fn spacing(model: &Model, attached: &[ItemId]) -> f64 {
    let names = attached.iter().flat_map(|it| event_lines(model, *it));
    let widest = names.map(|it| text::width(&it, text::SMALL)).fold(0.0, f64::max);
    if attached.len() == 1 { 40.0 } else { (widest + 18.0).max(48.0) }
}

/// The name of an attached event, beside the line that leaves it.
fn event_lines(model: &Model, event: ItemId) -> Vec<String> {
    text::wrap(model.item(event).label(true), text::SMALL, 70.0, 3)
}

/// How wide and how high lines of text are.
fn size(lines: &[String]) -> (f64, f64) {
    let width = lines.iter().map(|it| text::width(it, text::SMALL)).fold(0.0, f64::max);
    (width, num(lines.len()) * text::line_height(text::SMALL))
}

/// The inside of a sub-process.
fn inside(model: &Model, id: ItemId) -> Block {
    let mut block = container(model, id, &[]);
    if let Kind::Activity(Activity { work: Work::Transaction, .. }) = model.item(id).kind {
        block.height += 4.0;
    }
    block
}

/// Where the name of a gateway goes: where no line is.
fn label(item: &Item, bounds: Rect, (upper, _): (bool, bool)) -> Option<Rect> {
    let name = item.label(true);
    if !matches!(item.kind, Kind::Gateway(_)) || name.is_empty() {
        return None;
    }
    let lines = text::wrap(name, text::SMALL, LABEL_WIDTH, 4);
    let (width, height) = size(&lines);
    // The line that leaves there may have a slash across it.
    let x = bounds.center().x - if upper { width + SLASH } else { width / 2.0 };
    Some(Rect::new(x, bounds.y - height - 1.0, width, height))
}
