//! Which boxes stand in one column: as far to the right as their longest way from a start.

use super::graph::{Cell, Chain, Graph, Layered};

/// The line of a way that only passes, with room on both sides.
const PASSING: f64 = 8.0;

/// How many layers all lines together may pass. The longest of more than that are not led around boxes
/// but drawn straight: nobody could follow them anyway.
const PASSED_MAX: usize = 100_000;

/// Boxes in layers, and lines cut where they pass one.
pub(super) fn layered(graph: &Graph) -> Layered {
    let back = back_arcs(graph);
    let layer = longest_ways(graph, &back);
    let mut cells: Vec<Cell> = Vec::new();
    for (of, spot) in graph.boxes.iter().enumerate() {
        cells.push(Cell {
            layer: layer[of],
            lane: spot.lane,
            of: Some(of),
            up: spot.height / 2.0 + spot.above,
            down: spot.height / 2.0 + spot.below,
        });
    }
    let is_led = led(graph, &layer);
    let mut chains = Vec::new();
    for (id, arc) in graph.arcs.iter().enumerate().filter(|(id, _)| is_led[*id]) {
        let mut chain = Chain { arc: id, cells: Vec::new(), back: back[id] };
        let mut pass = |layer: usize, lane: usize, cells: &mut Vec<Cell>| {
            cells.push(Cell { layer, lane, of: None, up: PASSING, down: PASSING });
            chain.cells.push(cells.len() - 1);
        };
        if back[id] {
            for at in layer[arc.to]..=layer[arc.from] {
                pass(at, graph.boxes[arc.from].lane, &mut cells);
            }
        } else {
            for at in layer[arc.from] + 1..layer[arc.to] {
                pass(at, graph.boxes[arc.to].lane, &mut cells);
            }
            chain.cells.insert(0, arc.from);
            chain.cells.push(arc.to);
        }
        chains.push(chain);
    }
    let mut layers = vec![Vec::new(); layer.iter().max().map_or(0, |it| it + 1)];
    for (id, cell) in cells.iter().enumerate() {
        layers[cell.layer].push(id);
    }
    Layered { cells, chains, layers }
}

/// Which arcs are led around boxes, shortest first.
fn led(graph: &Graph, layer: &[usize]) -> Vec<bool> {
    let span = |id: usize| layer[graph.arcs[id].from].abs_diff(layer[graph.arcs[id].to]) + 1;
    let mut ids: Vec<_> =
        (0..graph.arcs.len()).filter(|it| graph.arcs[*it].from != graph.arcs[*it].to).collect();
    ids.sort_by_key(|it| span(*it));
    let mut is_led = vec![false; graph.arcs.len()];
    let mut passed = 0;
    for id in ids {
        passed += span(id);
        is_led[id] = passed <= PASSED_MAX;
    }
    is_led
}

/// The arcs that close a circle, seen from where everything starts.
fn back_arcs(graph: &Graph) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Open,
        Done,
    }
    let leaving = leaving(graph);
    let mut entered = vec![false; graph.boxes.len()];
    for arc in graph.arcs.iter().filter(|it| it.from != it.to) {
        entered[arc.to] = true;
    }
    let mut back = vec![false; graph.arcs.len()];
    let mut seen = vec![Seen::No; graph.boxes.len()];
    let (starts, others): (Vec<usize>, Vec<usize>) =
        (0..graph.boxes.len()).partition(|it| !entered[*it]);
    for start in starts.into_iter().chain(others) {
        if seen[start] != Seen::No {
            continue;
        }
        seen[start] = Seen::Open;
        let mut way = vec![(start, 0)];
        while let Some((at, next)) = way.last_mut() {
            let Some(&arc) = leaving[*at].get(*next) else {
                seen[*at] = Seen::Done;
                way.pop();
                continue;
            };
            *next += 1;
            let to = graph.arcs[arc].to;
            match seen[to] {
                Seen::No => {
                    seen[to] = Seen::Open;
                    way.push((to, 0));
                }
                Seen::Open => back[arc] = true,
                Seen::Done => {}
            }
        }
    }
    back
}

fn leaving(graph: &Graph) -> Vec<Vec<usize>> {
    let mut leaving = vec![Vec::new(); graph.boxes.len()];
    for (id, arc) in graph.arcs.iter().enumerate() {
        leaving[arc.from].push(id);
    }
    leaving
}

fn longest_ways(graph: &Graph, back: &[bool]) -> Vec<usize> {
    // A back arc counts in the other direction, so that there are no circles.
    let mut ahead = vec![Vec::new(); graph.boxes.len()];
    let mut open = vec![0_usize; graph.boxes.len()];
    for (id, arc) in graph.arcs.iter().enumerate().filter(|(_, it)| it.from != it.to) {
        let (from, to) = if back[id] { (arc.to, arc.from) } else { (arc.from, arc.to) };
        ahead[from].push(to);
        open[to] += 1;
    }
    let mut layer = vec![0_usize; graph.boxes.len()];
    let is_source: Vec<bool> = open.iter().map(|it| *it == 0).collect();
    let mut ready: Vec<usize> = (0..graph.boxes.len()).filter(|it| open[*it] == 0).collect();
    while let Some(at) = ready.pop() {
        for &to in &ahead[at] {
            layer[to] = layer[to].max(layer[at] + 1);
            open[to] -= 1;
            if open[to] == 0 {
                ready.push(to);
            }
        }
    }
    // What nothing leads to stands right before what it leads to.
    for at in (0..graph.boxes.len()).filter(|it| is_source[*it]) {
        if let Some(next) = ahead[at].iter().map(|it| layer[*it]).min() {
            layer[at] = next.saturating_sub(1);
        }
    }
    layer
}
