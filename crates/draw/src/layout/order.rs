//! In which order the cells of a layer stand, so that few lines cross.

use super::graph::{Graph, Layered};
use crate::geometry::num;

/// How often the layers are looked through, in both directions.
const ROUNDS: usize = 12;

/// A neighbour in the next layer, and how much further down the line leaves than from its middle.
type Neighbour = (usize, f64);

/// Orders the cells of each layer.
pub(super) fn order(graph: &Graph, layered: &mut Layered) {
    let mut sides = Sides::of(graph, layered);
    first(layered, &mut sides);
    let mut best = (crossings(layered, &sides), layered.layers.clone());
    for round in 0..ROUNDS {
        let count = layered.layers.len();
        for step in 0..count {
            let (layer, to_the_left) =
                if round % 2 == 0 { (step, true) } else { (count - 1 - step, false) };
            sort(layered, &mut sides, layer, to_the_left);
        }
        let now = crossings(layered, &sides);
        if now < best.0 {
            best = (now, layered.layers.clone());
        }
    }
    layered.layers = best.1;
}

/// What each cell is connected to, on both sides.
struct Sides {
    left: Vec<Vec<Neighbour>>,
    right: Vec<Vec<Neighbour>>,
    /// For the ends of lines that go back: the box they belong to, which is in the same layer.
    end_of: Vec<Option<usize>>,
    /// Where each cell of the layer beside stands, and where those of this one would like to. What is
    /// there of other layers means nothing: clearing it for each would take as long as the whole.
    place: Vec<f64>,
    wish: Vec<f64>,
}

impl Sides {
    fn of(graph: &Graph, layered: &Layered) -> Self {
        let empty = vec![Vec::new(); layered.cells.len()];
        let end_of = vec![None; layered.cells.len()];
        let (place, wish) = (vec![0.0; layered.cells.len()], vec![0.0; layered.cells.len()]);
        let mut sides = Self { left: empty.clone(), right: empty, end_of, place, wish };
        for chain in &layered.chains {
            for (position, pair) in chain.cells.windows(2).enumerate() {
                let port = graph.arcs[chain.arc].port.filter(|_| position == 0 && !chain.back);
                let width = graph.boxes[graph.arcs[chain.arc].from].width.max(1.0);
                // What leaves further right goes to what stands higher: then lines do not cross.
                let lower = port.map_or(0.0, |it| 0.6 + 0.1 * (1.0 - it.x / width));
                sides.right[pair[0]].push((pair[1], 0.0));
                sides.left[pair[1]].push((pair[0], lower));
            }
            if let (true, Some(first), Some(last)) =
                (chain.back, chain.cells.first(), chain.cells.last())
            {
                let arc = graph.arcs[chain.arc];
                sides.end_of[*first] = Some(arc.to);
                sides.end_of[*last] = Some(arc.from);
            }
        }
        sides
    }
}

/// A first order: as things are met on the way from the left.
fn first(layered: &mut Layered, sides: &mut Sides) {
    for layer in 0..layered.layers.len() {
        sort(layered, sides, layer, true);
    }
}

fn sort(layered: &mut Layered, sides: &mut Sides, layer: usize, to_the_left: bool) {
    let Some(beside) = (if to_the_left { layer.checked_sub(1) } else { Some(layer + 1) }) else {
        return;
    };
    let Sides { left, right, end_of, place, wish } = sides;
    for (position, cell) in layered.layers.get(beside).into_iter().flatten().enumerate() {
        place[*cell] = num(position);
    }
    let neighbours = if to_the_left { &*left } else { &*right };
    for (position, cell) in layered.layers[layer].iter().enumerate() {
        let all = &neighbours[*cell];
        let sum: f64 = all.iter().map(|(it, lower)| place[*it] + lower).sum();
        wish[*cell] = if all.is_empty() { num(position) } else { sum / num(all.len()) };
    }
    for cell in &layered.layers[layer] {
        if let (true, Some(end)) = (neighbours[*cell].is_empty(), end_of[*cell]) {
            wish[*cell] = wish[end] + 0.3;
        }
    }
    let cells = &layered.cells;
    layered.layers[layer].sort_by(|a, b| {
        let by_lane = cells[*a].lane.cmp(&cells[*b].lane);
        by_lane.then_with(|| wish[*a].total_cmp(&wish[*b]))
    });
}

/// How many lines cross.
fn crossings(layered: &Layered, sides: &Sides) -> usize {
    let mut count = 0;
    let mut position = vec![0; layered.cells.len()];
    for pair in layered.layers.windows(2) {
        for (at, cell) in pair[1].iter().enumerate() {
            position[*cell] = at;
        }
        let mut before = Tally::new(pair[1].len());
        for cell in &pair[0] {
            let ends = || sides.right[*cell].iter().map(|(it, _)| position[*it]);
            count += ends().map(|it| before.above(it)).sum::<usize>();
            ends().for_each(|it| before.add(it));
        }
    }
    count
}

/// Counts positions, so that those above one can be asked for without going through all of them (a
/// Fenwick tree).
struct Tally {
    sums: Vec<usize>,
    all: usize,
}

impl Tally {
    fn new(positions: usize) -> Self {
        Self { sums: vec![0; positions + 1], all: 0 }
    }

    fn add(&mut self, position: usize) {
        self.all += 1;
        let mut at = position + 1;
        while at < self.sums.len() {
            self.sums[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    /// How many were added at positions above this one.
    fn above(&self, position: usize) -> usize {
        let mut at = position + 1;
        let mut up_to = 0;
        while at > 0 {
            up_to += self.sums[at];
            at &= at - 1;
        }
        self.all - up_to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_counts_what_lies_above() {
        let mut tally = Tally::new(5);
        for position in [4, 0, 2, 2] {
            tally.add(position);
        }
        assert_eq!([0, 1, 2, 3, 4].map(|it| tally.above(it)), [3, 3, 1, 1, 0]);
    }
}
