//! Whole processes, with their lanes and pools, one below the other.

use std::collections::BTreeMap;

use super::{
    aside,
    container::{self, Block},
};
use crate::{
    geometry::{Point, Rect, at, num},
    model::{ItemId, Kind, LinkKind, Model},
    sheet::{Edge, Shape, Sheet},
};

/// How wide the band with the name of a pool or lane is.
const BAND: f64 = 30.0;

const PADDING: f64 = 30.0;

/// The height of a pool that shows nothing.
const CLOSED: f64 = 70.0;

/// What stays free between pools, and what each message needs there.
const GAP: f64 = 40.0;
const TRACK: f64 = 14.0;

/// A process without a pool.
pub(crate) fn process(model: &Model, id: ItemId) -> Option<Sheet> {
    let block = filled(model, id);
    if block.shapes.is_empty() {
        return None;
    }
    let item = model.item(id);
    let title = if item.name.is_empty() { item.id.clone() } else { item.name.clone() };
    Some(Sheet { title: Some(title), shapes: block.shapes, edges: block.edges, laid_out: true })
}

/// All pools, then all processes that have none; or only what belongs to one process.
pub(crate) fn collaboration(model: &Model, only: Option<ItemId>) -> Vec<Sheet> {
    let wanted = |process: Option<ItemId>| only.is_none_or(|only| process == Some(only));
    let mut pools: Vec<(ItemId, Block)> = Vec::new();
    for (id, item) in model.items.iter().enumerate() {
        let Kind::Pool { process, .. } = item.kind else { continue };
        if wanted(process) {
            let first = process.filter(|it| model.pool_of(*it) == Some(id));
            pools.push((id, first.map(|it| filled(model, it)).unwrap_or_default()));
        }
    }
    let width = pools.iter().map(|(_, it)| it.width + BAND).fold(400.0, f64::max);
    let owner: BTreeMap<ItemId, usize> = pools
        .iter()
        .enumerate()
        .flat_map(|(at, (id, block))| {
            let items = block.shapes.iter().map(|it| it.item);
            items.chain([*id]).map(move |it| (it, at)).collect::<Vec<_>>()
        })
        .collect();
    let gaps = gaps(model, &owner, pools.len());
    let mut sheet = Sheet { laid_out: true, ..Sheet::default() };
    let mut bounds = Vec::new();
    let mut top = 0.0;
    for (at, (id, mut block)) in pools.into_iter().enumerate() {
        top += if at == 0 { 0.0 } else { GAP + TRACK * num(gaps[at]) };
        let height = if block.shapes.is_empty() { CLOSED } else { block.height };
        let own = Rect::new(0.0, top, width, height);
        let mut pool = Shape::new(id, own);
        pool.expanded = !block.shapes.is_empty();
        block.shift(BAND, top);
        for lane in block.shapes.iter_mut().filter(|it| model.item(it.item).kind == Kind::Lane) {
            lane.bounds.width = own.right() - lane.bounds.x;
        }
        sheet.shapes.push(pool);
        sheet.shapes.extend(block.shapes);
        sheet.edges.extend(block.edges);
        bounds.push(own);
        top += height;
    }
    messages(model, &owner, &bounds, &mut sheet);
    let alone = model.all(|it| it.kind == Kind::Process).map(|(id, _)| id);
    let alone = alone.filter(|it| wanted(Some(*it)) && model.pool_of(*it).is_none());
    let alone: Vec<Sheet> = alone.filter_map(|it| process(model, it)).collect();
    std::iter::once(sheet).chain(alone).collect()
}

/// A process with its lanes, and room around it where a border follows.
fn filled(model: &Model, id: ItemId) -> Block {
    let bands = bands(model, id);
    let of_each: Vec<Vec<ItemId>> = bands.iter().map(|it| it.means.clone()).collect();
    let mut block = container::container(model, id, &of_each);
    if block.shapes.is_empty() && bands.is_empty() {
        return block;
    }
    let depth = bands.iter().map(|it| it.way.len()).max().unwrap_or_default();
    let left = BAND * num(depth) + PADDING;
    let edge = if bands.is_empty() { PADDING } else { 0.0 };
    block.shift(left, edge);
    block.width += left + PADDING;
    block.height += 2.0 * edge;
    if bands.is_empty() {
        return block;
    }
    // A single band has no height of its own: it is as high as what lies in it.
    if let [_] = bands[..] {
        block.shift(0.0, PADDING);
        block.height += 2.0 * PADDING;
        block.lanes = vec![(0.0, block.height)];
    }
    if let (Some(first), Some(last)) =
        (block.lanes.first_mut().map(|it| it.0 = 0.0), block.lanes.last_mut())
    {
        let () = first;
        last.1 = last.1.max(block.height);
        block.height = last.1;
    }
    let mut shapes: BTreeMap<ItemId, Rect> = BTreeMap::new();
    for (band, (top, bottom)) in bands.iter().zip(&block.lanes) {
        for (level, lane) in band.way.iter().enumerate() {
            let x = BAND * num(level);
            let bounds = Rect::new(x, *top, block.width - x, bottom - top);
            shapes.entry(*lane).and_modify(|it| *it = it.with(bounds)).or_insert(bounds);
        }
    }
    let lanes = shapes.into_iter().map(|(id, bounds)| Shape::new(id, bounds));
    block.shapes.splice(0..0, lanes);
    block
}

/// A lane without lanes in it.
struct Leaf {
    /// The lanes around it, from the outermost, and itself.
    way: Vec<ItemId>,
    /// The lanes whose nodes go into it.
    means: Vec<ItemId>,
}

fn bands(model: &Model, process: ItemId) -> Vec<Leaf> {
    let lanes: Vec<ItemId> =
        model.inside(process).filter(|(_, it)| it.kind == Kind::Lane).map(|(id, _)| id).collect();
    let mut taken: Vec<ItemId> = Vec::new();
    let mut leaves = Vec::new();
    for lane in &lanes {
        if lanes.iter().any(|it| model.item(*it).lane == Some(*lane)) {
            continue;
        }
        let mut way: Vec<ItemId> =
            std::iter::successors(Some(*lane), |it| model.item(*it).lane).collect();
        way.reverse();
        // What lies in a lane but in none of its parts goes into the first part.
        let means: Vec<ItemId> = way.iter().copied().filter(|it| !taken.contains(it)).collect();
        taken.extend(&means);
        leaves.push(Leaf { way, means });
    }
    leaves
}

/// How many messages cross the gap above each pool.
fn gaps(model: &Model, owner: &BTreeMap<ItemId, usize>, pools: usize) -> Vec<usize> {
    let mut gaps = vec![0; pools];
    for link in model.links.iter().filter(|it| it.kind == LinkKind::Message) {
        if let (Some(from), Some(to)) = (owner.get(&link.from), owner.get(&link.to))
            && from != to
        {
            gaps[gap_of(*from, *to)] += 1;
        }
    }
    gaps
}

/// The gap in which a message goes to the side: next to the pool it comes from.
fn gap_of(from: usize, to: usize) -> usize {
    if from < to { from + 1 } else { from }
}

fn messages(model: &Model, owner: &BTreeMap<ItemId, usize>, pools: &[Rect], sheet: &mut Sheet) {
    let places: BTreeMap<ItemId, Rect> =
        sheet.shapes.iter().map(|it| (it.item, it.bounds)).collect();
    let is_obstacle = |it: &&Shape| {
        let item = model.item(it.item);
        item.is_flow_node() && !(it.expanded && item.contains())
    };
    let obstacles: Vec<Rect> =
        sheet.shapes.iter().filter(is_obstacle).map(|it| it.bounds).collect();
    let mut used = vec![0; pools.len()];
    let mut at_item: BTreeMap<ItemId, usize> = BTreeMap::new();
    for (id, link) in model.links.iter().enumerate() {
        if link.kind != LinkKind::Message {
            continue;
        }
        let (Some(from), Some(to)) = (places.get(&link.from), places.get(&link.to)) else {
            continue;
        };
        let (Some(above), Some(below)) = (owner.get(&link.from), owner.get(&link.to)) else {
            continue;
        };
        if above == below {
            continue;
        }
        // Several messages of one item do not lie on each other.
        let mut nudge = |item: ItemId| {
            let count = at_item.entry(item).or_default();
            *count += 1;
            let step = num(*count / 2) * 12.0;
            if (*count).is_multiple_of(2) { step } else { -step }
        };
        let is_pool = |it: ItemId| matches!(model.item(it).kind, Kind::Pool { .. });
        let (from_x, to_x) = (from.center().x + nudge(link.from), to.center().x + nudge(link.to));
        let gap = gap_of(*above, *below);
        let track = pools[gap].y - GAP / 2.0 - TRACK * num(used[gap]);
        used[gap] += 1;
        let leave = |item: Rect, x: f64, is_pool: bool| {
            if is_pool {
                let border = if item.y < track { item.bottom() } else { item.y };
                return vec![at(x, border), at(x, track)];
            }
            let others: Vec<Rect> =
                obstacles.iter().filter(|it| !it.has(item.center())).copied().collect();
            aside::way_out(item, x, track, &others)
        };
        let last = |way: &[Point]| way.last().map_or(0.0, |it| it.x);
        let mut begin = leave(*from, from_x, is_pool(link.from));
        let mut end = leave(*to, to_x, is_pool(link.to));
        // A pool is met wherever the line arrives.
        if is_pool(link.from) && !is_pool(link.to) {
            begin = leave(*from, last(&end), true);
        } else if is_pool(link.to) && !is_pool(link.from) {
            end = leave(*to, last(&begin), true);
        }
        let mut points = begin;
        points.extend(end.into_iter().rev());
        sheet.edges.push(Edge::new(id, super::route::simple(&points)));
    }
}
