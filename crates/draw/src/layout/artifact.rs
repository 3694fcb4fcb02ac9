//! Data and annotations, which no token visits: in a row above and a row below the rest.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    aside,
    container::{Block, LABEL_WIDTH},
};
use crate::{
    geometry::{Point, Rect, at, num},
    model::{Item, ItemId, Kind, LinkKind, Model},
    sheet::{Edge, Shape},
    text,
};

/// How wide annotations are at most.
const ANNOTATION_WIDTH: f64 = 150.0;

const GAP: f64 = 30.0;

/// How far above data lines run along.
const APART: f64 = 12.0;

/// Adds what belongs to a container and is no flow node, and the dotted lines to it.
pub(super) fn add(model: &Model, container: ItemId, block: &mut Block) {
    let places: BTreeMap<ItemId, Rect> =
        block.shapes.iter().map(|it| (it.item, it.bounds)).collect();
    let mut above = Vec::new();
    let mut below = Vec::new();
    for (id, item) in model.inside(container) {
        let Some((width, height)) = size(item) else { continue };
        let linked = partners(model, id).find_map(|it| places.get(&it));
        // The object itself is drawn only where someone uses it directly.
        if linked.is_none()
            && matches!(item.class.as_str(), "dataObject" | "dataInput" | "dataOutput")
        {
            continue;
        }
        let wish = linked.map_or(f64::INFINITY, |it| it.center().x - width / 2.0);
        let row = if item.kind == Kind::Annotation { &mut above } else { &mut below };
        row.push((wish, id, width, height));
    }
    let bottom = block.height;
    let mut shapes = row(&mut below, bottom + GAP);
    let height = above.iter().map(|it| it.3).fold(0.0, f64::max);
    if height > 0.0 {
        block.shift(0.0, height + GAP);
        for it in &mut shapes {
            it.bounds = it.bounds.moved(0.0, height + GAP);
        }
        let mut over = row(&mut above, 0.0);
        for it in &mut over {
            it.bounds = it.bounds.moved(0.0, height - it.bounds.height);
        }
        shapes.extend(over);
        block.height += height + GAP;
    }
    for shape in shapes {
        let item = model.item(shape.item);
        let name = match item.kind {
            Kind::Annotation => 0,
            _ => text::wrap(&item.name, text::SMALL, LABEL_WIDTH, 6).len(),
        };
        let name = num(name) * text::line_height(text::SMALL);
        block.width = block.width.max(shape.bounds.right() + name.min(25.0));
        block.height = block.height.max(shape.bounds.bottom() + name + 6.0);
        block.shapes.push(shape);
    }
    lines(model, block);
}

/// Puts things side by side, each as near to its wish as it can be.
fn row(all: &mut [(f64, ItemId, f64, f64)], top: f64) -> Vec<Shape> {
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut left = 0.0;
    let mut shapes = Vec::new();
    for (wish, id, width, height) in all {
        let x = if wish.is_finite() { wish.max(left) } else { left };
        shapes.push(Shape::new(*id, Rect::new(x, top, *width, *height)));
        left = x + *width + GAP + 20.0;
    }
    shapes
}

fn size(item: &Item) -> Option<(f64, f64)> {
    match item.kind {
        Kind::Annotation => {
            let lines = text::wrap(&item.name, text::SIZE, ANNOTATION_WIDTH, 12);
            let width = lines.iter().map(|it| text::width(it, text::SIZE)).fold(40.0, f64::max);
            Some((width + 16.0, num(lines.len().max(1)) * text::line_height(text::SIZE) + 12.0))
        }
        Kind::Data { .. } => Some((36.0, 50.0)),
        Kind::Store => Some((50.0, 50.0)),
        Kind::Process
        | Kind::Pool { .. }
        | Kind::Lane
        | Kind::Activity(_)
        | Kind::Event(_)
        | Kind::Gateway(_)
        | Kind::Group
        | Kind::Conversation
        | Kind::Choreography => None,
    }
}

/// What an item is connected to.
fn partners(model: &Model, id: ItemId) -> impl Iterator<Item = ItemId> {
    model.links.iter().filter_map(move |it| match (it.from == id, it.to == id) {
        (true, false) => Some(it.to),
        (false, true) => Some(it.from),
        _ => None,
    })
}

fn lines(model: &Model, block: &mut Block) {
    let places: BTreeMap<ItemId, Rect> =
        block.shapes.iter().map(|it| (it.item, it.bounds)).collect();
    let is_obstacle = |it: &&Shape| {
        let item = model.item(it.item);
        item.is_flow_node() && !(it.expanded && item.contains())
    };
    let obstacles: Vec<Rect> =
        block.shapes.iter().filter(is_obstacle).map(|it| it.bounds).collect();
    let drawn: BTreeSet<usize> = block.edges.iter().map(|it| it.link).collect();
    for (id, link) in model.links.iter().enumerate() {
        if !matches!(link.kind, LinkKind::Association { .. }) || drawn.contains(&id) {
            continue;
        }
        let (Some(from), Some(to)) = (places.get(&link.from), places.get(&link.to)) else {
            continue;
        };
        if link.from != link.to {
            block.edges.push(Edge::new(id, association(*from, *to, &obstacles)));
        }
    }
}

/// The dotted line between two boxes: straight where nothing is in the way, else around it.
fn association(from: Rect, to: Rect, obstacles: &[Rect]) -> Vec<Point> {
    let straight = vec![from.exit(to.center()), to.exit(from.center())];
    let others: Vec<Rect> = obstacles
        .iter()
        .filter(|it| !it.has(from.center()) && !it.has(to.center()))
        .copied()
        .collect();
    let is_disturbed = others.iter().any(|it| aside::touches(*it, straight[0], straight[1]));
    // Only what stands above or below can be reached by a way up or down.
    let (upper, lower) = if from.y < to.y { (from, to) } else { (to, from) };
    if !is_disturbed || upper.bottom() >= lower.y {
        return straight;
    }
    let height = lower.y - APART;
    let mut way = aside::way_out(upper, upper.center().x, height, &others);
    way.extend([at(lower.center().x, height), at(lower.center().x, lower.y)]);
    if from.y < to.y { way } else { way.into_iter().rev().collect() }
}
