//! How high the cells of each layer stand: in line with their neighbours where they can be.

use super::graph::{Graph, Layered};

/// How often things are pulled towards their neighbours, and how often lines are straightened.
const PULLING: usize = 5;
const STRAIGHTENING: usize = 4;

/// What stays free between boxes, and beside lines that pass.
const GAP: f64 = 30.0;
const PASSING_GAP: f64 = 10.0;

/// What stays free at the upper and lower border of a band.
const LANE_PADDING: f64 = 20.0;

/// The height of the middle of each cell, and where the bands begin and end.
pub(super) fn middles(graph: &Graph, layered: &Layered) -> (Vec<f64>, Vec<(f64, f64)>) {
    let mut middles = vec![0.0; layered.cells.len()];
    let mut lanes = Vec::new();
    let mut top = 0.0;
    let banded = graph.lanes > 1;
    for lane in 0..graph.lanes.max(1) {
        let band = Band::of(graph, layered, lane);
        band.place(layered, &mut middles);
        let (from, to) = band.extent(layered, &middles);
        let padding = if banded { LANE_PADDING } else { 0.0 };
        let height = (to - from + 2.0 * padding).max(if banded { 100.0 } else { 0.0 });
        let spare = (height - (to - from)) / 2.0;
        for cell in band.layers.iter().flatten() {
            middles[*cell] += top + spare - from;
        }
        lanes.push((top, top + height));
        top += height;
    }
    (middles, lanes)
}

/// The cells of one band, by layers.
struct Band {
    layers: Vec<Vec<usize>>,
    /// Neighbours in the same band, with how much further down than their middle the line leaves.
    left: Vec<Vec<(usize, f64)>>,
    right: Vec<Vec<(usize, f64)>>,
    /// Whether each cell is reached only from what is attached to a box: it makes way for others.
    hangs: Vec<bool>,
}

impl Band {
    fn of(graph: &Graph, layered: &Layered, lane: usize) -> Self {
        let mine = |cell: usize| layered.cells[cell].lane == lane;
        let own = |it: &Vec<usize>| it.iter().copied().filter(|it| mine(*it)).collect();
        let empty = vec![Vec::new(); layered.cells.len()];
        let mut band = Self {
            layers: layered.layers.iter().map(own).collect(),
            left: empty.clone(),
            right: empty,
            hangs: vec![false; layered.cells.len()],
        };
        let mut straight = vec![false; layered.cells.len()];
        for chain in &layered.chains {
            let arc = graph.arcs[chain.arc];
            for (position, pair) in chain.cells.windows(2).enumerate() {
                if !(mine(pair[0]) && mine(pair[1])) {
                    continue;
                }
                let hangs = arc.port.is_some() && position == 0 && !chain.back;
                let lower = if hangs { layered.cells[pair[0]].down + 50.0 } else { 0.0 };
                band.left[pair[1]].push((pair[0], lower));
                if hangs {
                    band.hangs[pair[1]] = true;
                } else {
                    straight[pair[1]] = true;
                }
                // A box is not pulled down by what is attached to it.
                if !hangs {
                    band.right[pair[0]].push((pair[1], 0.0));
                }
            }
            if let (true, Some(first), Some(last)) =
                (chain.back, chain.cells.first(), chain.cells.last())
            {
                for (cell, end) in [(*first, arc.to), (*last, arc.from)] {
                    if mine(cell) && mine(end) {
                        let lower = layered.cells[end].down + 2.0 * PASSING_GAP;
                        let side = if cell == *first { &mut band.left } else { &mut band.right };
                        side[cell].push((end, lower));
                    }
                }
            }
        }
        band.hangs.iter_mut().zip(straight).for_each(|(hangs, straight)| *hangs &= !straight);
        band
    }

    fn place(&self, layered: &Layered, middles: &mut [f64]) {
        for layer in &self.layers {
            self.settle(layered, layer, &vec![None; layer.len()], middles);
        }
        for round in 0..PULLING + STRAIGHTENING {
            let pulls = round < PULLING;
            for layer in self.layers.iter().rev() {
                let wishes = wishes(layer, &self.right, &self.left, pulls, middles);
                self.settle(layered, layer, &wishes, middles);
            }
            for layer in &self.layers {
                let wishes = wishes(layer, &self.left, &self.right, pulls, middles);
                self.settle(layered, layer, &wishes, middles);
            }
        }
    }

    /// Puts the cells of a layer as near to their wishes as they can be without overlapping: cells
    /// that would overlap are pooled and moved together.
    fn settle(
        &self,
        layered: &Layered,
        layer: &[usize],
        wishes: &[Option<f64>],
        middles: &mut [f64],
    ) {
        // Where each cell would stand if all stood as close as they can.
        let mut packed = Vec::with_capacity(layer.len());
        let mut bottom: Option<(f64, bool)> = None;
        for id in layer {
            let cell = layered.cells[*id];
            let passes = cell.of.is_none();
            let middle = bottom.map_or(0.0, |(bottom, passing)| {
                let gap = if passes || passing { PASSING_GAP } else { GAP };
                bottom + gap + cell.up
            });
            packed.push(middle);
            bottom = Some((middle + cell.down, passes));
        }
        // Each pool: its members, the sum of their weights, and where it would like to be.
        let mut pools: Vec<(usize, f64, f64)> = Vec::new();
        for (position, id) in layer.iter().enumerate() {
            let passes = layered.cells[*id].of.is_none();
            let weight = match wishes[position] {
                None => 0.001,
                Some(_) if self.hangs[*id] => 0.002,
                Some(_) if passes => 3.0,
                Some(_) => 1.0,
            };
            let wish = wishes[position].unwrap_or(middles[*id]) - packed[position];
            let mut pool = (1, weight, wish);
            while let Some(before) = pools.pop_if(|before| before.2 > pool.2) {
                let weight = before.1 + pool.1;
                let wish = (before.1 * before.2 + pool.1 * pool.2) / weight;
                pool = (before.0 + pool.0, weight, wish);
            }
            pools.push(pool);
        }
        let mut position = 0;
        for (members, _, wish) in pools {
            for _ in 0..members {
                middles[layer[position]] = wish + packed[position];
                position += 1;
            }
        }
    }

    fn extent(&self, layered: &Layered, middles: &[f64]) -> (f64, f64) {
        let cells = || self.layers.iter().flatten().map(|it| (layered.cells[*it], middles[*it]));
        let from = cells().map(|(cell, middle)| middle - cell.up).reduce(f64::min);
        let to = cells().map(|(cell, middle)| middle + cell.down).reduce(f64::max);
        (from.unwrap_or_default(), to.unwrap_or_default())
    }
}

/// Where the cells of a layer would like to stand: in the middle of their neighbours on one side.
/// Once they are no longer pulled, those that share their neighbour with others stay where they
/// are: all of them in line with it would only push each other away.
fn wishes(
    layer: &[usize],
    neighbours: &[Vec<(usize, f64)>],
    back: &[Vec<(usize, f64)>],
    pulls: bool,
    middles: &[f64],
) -> Vec<Option<f64>> {
    let wish = |cell: &usize| {
        if let (false, [(only, _)]) = (pulls, &neighbours[*cell][..])
            && back[*only].len() > 1
        {
            return Some(middles[*cell]);
        }
        let mut all: Vec<f64> =
            neighbours[*cell].iter().map(|(it, lower)| middles[*it] + lower).collect();
        all.sort_by(f64::total_cmp);
        match all.len() {
            0 => None,
            odd if odd % 2 == 1 => Some(all[odd / 2]),
            even => Some(f64::midpoint(all[even / 2 - 1], all[even / 2])),
        }
    };
    layer.iter().map(wish).collect()
}
