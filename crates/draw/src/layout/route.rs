//! How lines run: along the axes, up and down only between layers or where nothing stands.

use std::collections::BTreeMap;

use super::graph::{Arc, Chain, Graph, Laid, Layered};
use crate::geometry::{Point, Rect, at, num};

/// How far apart lines between two layers are.
const TRACK: f64 = 10.0;

/// What stays free between two layers at least.
const GAP_MIN: f64 = 50.0;

/// How far lines stay from boxes.
const CLEAR: f64 = 16.0;

/// What is less than that off is in line.
const STRAIGHT: f64 = 0.5;

/// Where a line begins or ends at its box.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Side,
    Upper,
    Lower,
    /// At what is attached to the lower border, straight down.
    Port,
    /// At what is attached to the lower border, and then to the side at that height.
    PortAside(f64),
}

/// What tells one bundle of risers from another in their gap.
type Bundle = (usize, usize);

/// A part of a line that goes up or down between two layers.
#[derive(Clone, Copy, Debug)]
struct Riser {
    /// The gap it is in: the one left of the layer of that number.
    gap: usize,
    from: f64,
    to: f64,
    /// Risers of one bundle lie on each other.
    bundle: Bundle,
    turn: Turn,
}

/// What a riser does to its line. They stand in this order from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// It comes from the left and goes back there.
    BackLeft,
    Through,
    /// It comes from the right and goes back there.
    BackRight,
}

/// The places of everything.
pub(super) fn finish(
    graph: &Graph,
    layered: &Layered,
    middles: &[f64],
    lanes: Vec<(f64, f64)>,
) -> Laid {
    let mut router = Router {
        graph,
        layered,
        middles,
        ends: vec![(End::Side, End::Side); graph.arcs.len()],
        risers: vec![Vec::new(); graph.arcs.len()],
        corners: vec![(false, false); graph.boxes.len()],
        stems: vec![Vec::new(); layered.layers.len()],
        has_port: vec![false; graph.boxes.len()],
    };
    for arc in graph.arcs.iter().filter(|it| it.port.is_some()) {
        router.has_port[arc.from] = true;
    }
    router.choose_ends();
    for chain in &layered.chains {
        router.add_risers(chain);
    }
    let tracks = router.tracks();
    let columns = router.columns(&tracks);
    let mut laid = router.lay(&columns, &tracks);
    laid.lanes = lanes;
    laid
}

struct Router<'g> {
    graph: &'g Graph,
    layered: &'g Layered,
    middles: &'g [f64],
    /// How each arc begins and ends.
    ends: Vec<(End, End)>,
    /// By arc.
    risers: Vec<Vec<Riser>>,
    corners: Vec<(bool, bool)>,
    /// The lines that go up or down inside each layer: at which box, and from where to where.
    stems: Vec<Vec<(usize, f64, f64)>>,
    /// Whether something with a line of its own is attached to a box.
    has_port: Vec<bool>,
}

/// Where layers and gaps are.
struct Columns {
    /// The left side and the width of each layer.
    layers: Vec<(f64, f64)>,
    /// The left side of each gap.
    gaps: Vec<f64>,
    width: f64,
}

/// The track of each bundle in its gap, and how many there are in each gap.
struct Tracks {
    of: BTreeMap<(usize, Bundle), usize>,
    count: Vec<usize>,
}

impl Router<'_> {
    /// Lets lines leave and reach boxes from above and below where nothing is in the way.
    fn choose_ends(&mut self) {
        for arc in self.graph.arcs.iter().filter(|it| it.from == it.to) {
            let middle = self.middles[arc.from];
            let border = middle + self.graph.boxes[arc.from].height / 2.0;
            let stem = (arc.from, middle, border + loop_reach(*arc));
            self.stems[self.layered.cells[arc.from].layer].push(stem);
        }
        for chain in &self.layered.chains {
            let arc = self.graph.arcs[chain.arc];
            self.ends[chain.arc].0 = self.begin(chain, arc);
            let next = if chain.back { chain.cells[chain.cells.len() - 1] } else { chain.cells[1] };
            self.use_corner(arc.from, self.ends[chain.arc].0, self.middles[next]);
        }
        let leaving = self.corners.clone();
        for chain in &self.layered.chains {
            let arc = self.graph.arcs[chain.arc];
            let end = self.end(chain, arc, &leaving);
            self.ends[chain.arc].1 = end;
            let last = chain.cells.len() - 1;
            let before = if chain.back { chain.cells[0] } else { chain.cells[last - 1] };
            self.use_corner(arc.to, end, self.line_height(chain, before));
        }
    }

    fn use_corner(&mut self, of: usize, end: End, height: f64) {
        match end {
            End::Upper => self.corners[of].0 = true,
            End::Lower => self.corners[of].1 = true,
            End::Port => {}
            End::Side | End::PortAside(_) => return,
        }
        let middle = self.middles[of];
        let stem = (of, middle.min(height), middle.max(height));
        self.stems[self.layered.cells[of].layer].push(stem);
    }

    fn begin(&self, chain: &Chain, arc: Arc) -> End {
        let spot = self.graph.boxes[arc.from];
        let middle = self.middles[arc.from];
        let border = middle + spot.height / 2.0;
        // The height at which the line is wanted when it has left the layer of its box.
        let next = if chain.back { chain.cells.last() } else { chain.cells.get(1) };
        let to = self.middles[*next.expect("a line passes something")];
        if let Some(port) = arc.port {
            let from = border + port.reach;
            return if to > from + 5.0 && self.is_free(arc.from, from, to, chain) {
                End::Port
            } else {
                End::PortAside(from + port.name + 10.0)
            };
        }
        if chain.back {
            let free = to > border && self.is_free(arc.from, border, to, chain);
            return if free { End::Lower } else { End::Side };
        }
        if !spot.corners {
            return End::Side;
        }
        if to < middle - spot.height / 2.0 && self.is_free(arc.from, to, middle, chain) {
            End::Upper
        } else if to > border && self.is_free(arc.from, middle, to, chain) {
            End::Lower
        } else {
            End::Side
        }
    }

    fn end(&self, chain: &Chain, arc: Arc, leaving: &[(bool, bool)]) -> End {
        let spot = self.graph.boxes[arc.to];
        let middle = self.middles[arc.to];
        let border = middle + spot.height / 2.0;
        let last = chain.cells.len() - 1;
        let before = if chain.back { chain.cells[0] } else { chain.cells[last - 1] };
        let from = self.line_height(chain, before);
        let attached = self.has_port[arc.to];
        let (upper_used, lower_used) = leaving[arc.to];
        if chain.back {
            let free = from > border && self.is_free(arc.to, border, from, chain);
            return if free && !lower_used && !attached { End::Lower } else { End::Side };
        }
        // Only where the line does not first have to come down from another corner.
        if !spot.corners || matches!(self.ends[chain.arc].0, End::Port) {
            return End::Side;
        }
        if from < middle - spot.height / 2.0
            && !upper_used
            && self.is_free(arc.to, from, middle, chain)
        {
            End::Upper
        } else if from > border && !lower_used && self.is_free(arc.to, middle, from, chain) {
            End::Lower
        } else {
            End::Side
        }
    }

    /// The height at which a line leaves a cell to the right.
    fn line_height(&self, chain: &Chain, cell: usize) -> f64 {
        let arc = self.graph.arcs[chain.arc];
        if chain.back || cell != arc.from {
            return self.middles[cell];
        }
        match self.ends[chain.arc].0 {
            End::Side => self.middles[cell],
            End::PortAside(height) => height,
            End::Upper | End::Lower | End::Port => self.middles[chain.cells[1]],
        }
    }

    /// Whether nothing else in the layer of a box lies between two heights. The line's own cell does
    /// not count.
    fn is_free(&self, of: usize, from: f64, to: f64, chain: &Chain) -> bool {
        let (from, to) = (from.min(to), from.max(to));
        let layer = self.layered.cells[of].layer;
        let beside = self.stems[layer]
            .iter()
            .any(|(other, top, bottom)| *other != of && *top < to + 4.0 && from - 4.0 < *bottom);
        // A line passes each layer once, from its first one on.
        let first = self.layered.cells[chain.cells[0]].layer;
        let own = layer.checked_sub(first).and_then(|it| chain.cells.get(it));
        !beside
            && self.layered.layers[layer].iter().all(|other| {
                let cell = self.layered.cells[*other];
                *other == of
                    || own == Some(other)
                    || self.middles[*other] - cell.up >= to
                    || self.middles[*other] + cell.down <= from
            })
    }

    fn add_risers(&mut self, chain: &Chain) {
        let arc = self.graph.arcs[chain.arc];
        let (begin, end) = self.ends[chain.arc];
        let own = |position: usize| (self.graph.boxes.len() + chain.arc, position);
        let mut found = Vec::new();
        let layer = |cell: usize| self.layered.cells[cell].layer;
        if chain.back {
            let (first, last) = (chain.cells[0], chain.cells[chain.cells.len() - 1]);
            let leaves = match begin {
                End::Side => Some(self.middles[arc.from]),
                End::PortAside(height) => Some(height),
                End::Upper | End::Lower | End::Port => None,
            };
            if let Some(from) = leaves {
                let (gap, to) = (layer(last) + 1, self.middles[last]);
                found.push(Riser { gap, from, to, bundle: own(0), turn: Turn::BackLeft });
            }
            if end == End::Side {
                let (gap, from) = (layer(first), self.middles[first]);
                let to = self.middles[arc.to];
                found.push(Riser { gap, from, to, bundle: own(1), turn: Turn::BackRight });
            }
        }
        // Many turns too small to be drawn must not add up: the line stays where it was last turned to.
        let mut from = self.line_height(chain, chain.cells[0]);
        for (position, pair) in chain.cells.windows(2).enumerate() {
            let is_last = position + 2 == chain.cells.len();
            let to = match end {
                End::Upper | End::Lower if is_last && !chain.back => from,
                _ => self.middles[pair[1]],
            };
            if (from - to).abs() < STRAIGHT {
                continue;
            }
            let first = position == 0 && !chain.back && begin == End::Side;
            let bundle = if first { (arc.from, 0) } else { own(position + 2) };
            let gap = layer(pair[1]);
            found.push(Riser { gap, from, to, bundle, turn: Turn::Through });
            from = to;
        }
        self.risers[chain.arc] = found;
    }

    /// Gives risers that would lie on each other tracks of their own.
    fn tracks(&self) -> Tracks {
        let mut bundles: BTreeMap<(usize, Bundle), Vec<Riser>> = BTreeMap::new();
        for riser in self.risers.iter().flatten() {
            bundles.entry((riser.gap, riser.bundle)).or_default().push(*riser);
        }
        let mut tracks =
            Tracks { of: BTreeMap::new(), count: vec![0; self.layered.layers.len() + 1] };
        let mut by_gap: BTreeMap<usize, Vec<(Bundle, &Vec<Riser>)>> = BTreeMap::new();
        for ((gap, bundle), risers) in &bundles {
            by_gap.entry(*gap).or_default().push((*bundle, risers));
        }
        for (gap, mut all) in by_gap {
            // Lines that go down stand the further left the lower they begin, and those that go up
            // the higher: then they do not cross.
            all.sort_by(|(_, a), (_, b)| {
                let key = |it: &[Riser]| {
                    let (down, up) =
                        (it.iter().any(|it| it.to > it.from), it.iter().any(|it| it.to < it.from));
                    let order = if down && !up { -it[0].from } else { it[0].from };
                    (it[0].turn, u8::from(down && !up), order)
                };
                let (a, b) = (key(a), key(b));
                (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| a.2.total_cmp(&b.2))
            });
            let mut taken: Vec<(f64, f64, usize)> = Vec::new();
            for (bundle, risers) in all {
                let heights = || risers.iter().flat_map(|it| [it.from, it.to]);
                let top = heights().fold(f64::INFINITY, f64::min);
                let bottom = heights().fold(f64::NEG_INFINITY, f64::max);
                let overlapping = taken
                    .iter()
                    .filter(|(from, to, _)| *from < bottom + 4.0 && top - 4.0 < *to)
                    .map(|(_, _, track)| track + 1);
                let track = overlapping.max().unwrap_or(0);
                taken.push((top, bottom, track));
                tracks.of.insert((gap, bundle), track);
                tracks.count[gap] = tracks.count[gap].max(track + 1);
            }
        }
        tracks
    }

    fn columns(&self, tracks: &Tracks) -> Columns {
        let layers = &self.layered.layers;
        let mut labels = vec![0.0_f64; layers.len() + 1];
        for chain in self.layered.chains.iter().filter(|it| !it.back) {
            let arc = self.graph.arcs[chain.arc];
            let gap = self.layered.cells[arc.from].layer + 1;
            labels[gap] = labels[gap].max(arc.label.0);
        }
        let mut columns = Columns { layers: Vec::new(), gaps: Vec::new(), width: 0.0 };
        let mut x = 0.0;
        for (gap, label) in labels.into_iter().enumerate() {
            columns.gaps.push(x);
            let risers = num(tracks.count[gap]);
            let outer = gap == 0 || gap == layers.len();
            let least = if outer { 0.0 } else { GAP_MIN };
            let needed = if risers > 0.0 { CLEAR + TRACK * (risers - 1.0) } else { 0.0 };
            let label = if label > 0.0 { label + 12.0 } else { 0.0 };
            let tail = if risers > 0.0 || label > 0.0 { CLEAR } else { 0.0 };
            x += (needed + label + tail + CLEAR / 2.0 * f64::from(u8::from(!outer))).max(least);
            let Some(layer) = layers.get(gap) else { continue };
            let slots = layer.iter().filter_map(|it| self.layered.cells[*it].of);
            let width = slots.map(|it| self.graph.boxes[it]).map(|it| it.slot.max(it.width));
            let width = width.fold(0.0, f64::max);
            columns.layers.push((x, width));
            x += width;
        }
        columns.width = x;
        columns
    }

    fn lay(&self, columns: &Columns, tracks: &Tracks) -> Laid {
        let boxes: Vec<Rect> = self
            .graph
            .boxes
            .iter()
            .enumerate()
            .map(|(id, spot)| {
                let (x, width) = columns.layers[self.layered.cells[id].layer];
                let center = at(x + width / 2.0, self.middles[id]);
                Rect::around(center, spot.width, spot.height)
            })
            .collect();
        let mut ways = vec![Vec::new(); self.graph.arcs.len()];
        let mut labels = vec![None; self.graph.arcs.len()];
        for chain in &self.layered.chains {
            let mut way = self.way(chain, &boxes, columns, tracks);
            let label = self.graph.arcs[chain.arc].label;
            if label.0 > 0.0 {
                labels[chain.arc] = Some(self.label(chain, columns, tracks, label));
            }
            if chain.back {
                way.reverse();
            }
            ways[chain.arc] = simple(&way);
        }
        for (id, arc) in self.graph.arcs.iter().enumerate().filter(|(_, it)| it.from == it.to) {
            ways[id] = around(boxes[arc.from], *arc);
        }
        for (id, arc) in self.graph.arcs.iter().enumerate() {
            if ways[id].is_empty() {
                let (from, to) = (boxes[arc.from], boxes[arc.to]);
                ways[id] = vec![from.exit(to.center()), to.exit(from.center())];
            }
        }
        let height = boxes.iter().zip(&self.graph.boxes).map(|(it, spot)| it.bottom() + spot.below);
        let height = height.chain(ways.iter().flatten().map(|it| it.y + 5.0)).fold(0.0, f64::max);
        let corners = self.corners.clone();
        Laid { boxes, ways, labels, lanes: Vec::new(), corners, width: columns.width, height }
    }

    /// The points of a line, from left to right.
    fn way(&self, chain: &Chain, boxes: &[Rect], columns: &Columns, tracks: &Tracks) -> Vec<Point> {
        let arc = self.graph.arcs[chain.arc];
        let (begin, end) = self.ends[chain.arc];
        let (from, to) = (boxes[arc.from], boxes[arc.to]);
        let risers = &self.risers[chain.arc];
        let track = |riser: &Riser| {
            let track = tracks.of[&(riser.gap, riser.bundle)];
            let first = if riser.gap == 0 { 0.0 } else { CLEAR };
            columns.gaps[riser.gap] + first + TRACK * num(track)
        };
        let cells = &chain.cells;
        let (left_end, right_end) = if chain.back { (end, begin) } else { (begin, end) };
        let (left, right) = if chain.back { (to, from) } else { (from, to) };
        let mut way = Vec::new();
        let left_height = self.line_height(chain, cells[0]);
        let turn = |way: &mut Vec<Point>, riser: &Riser| {
            way.push(at(track(riser), riser.from));
            way.push(at(track(riser), riser.to));
        };
        match left_end {
            End::Side if chain.back => {
                way.push(at(left.x, left.center().y));
                if let Some(riser) = risers.iter().find(|it| it.turn == Turn::BackRight) {
                    way.push(at(track(riser), riser.to));
                    way.push(at(track(riser), riser.from));
                }
            }
            End::Side => way.push(at(left.right(), left.center().y)),
            End::Upper => {
                way.extend([at(left.center().x, left.y), at(left.center().x, left_height)]);
            }
            End::Lower => {
                way.extend([at(left.center().x, left.bottom()), at(left.center().x, left_height)]);
            }
            End::Port | End::PortAside(_) => {
                let port = arc.port.unwrap_or_default();
                let x = left.x + port.x;
                way.extend([at(x, left.bottom() + port.reach), at(x, left_height)]);
            }
        }
        for riser in risers.iter().filter(|it| it.turn == Turn::Through) {
            turn(&mut way, riser);
        }
        let arriving = match (chain.back, cells.len()) {
            (true, many) => self.middles[cells[many - 1]],
            (false, many) => self.line_height(chain, cells[many - 2]),
        };
        match right_end {
            End::Side if chain.back => {
                if let Some(riser) = risers.iter().find(|it| it.turn == Turn::BackLeft) {
                    way.push(at(track(riser), riser.to));
                    way.push(at(track(riser), riser.from));
                }
                way.push(at(right.right(), right.center().y));
            }
            End::Side => way.push(at(right.x, right.center().y)),
            End::Upper => {
                way.extend([at(right.center().x, arriving), at(right.center().x, right.y)]);
            }
            End::Lower => {
                way.extend([at(right.center().x, arriving), at(right.center().x, right.bottom())]);
            }
            End::Port | End::PortAside(_) => {
                let port = arc.port.unwrap_or_default();
                let x = right.x + port.x;
                if let Some(riser) = risers.iter().find(|it| it.turn == Turn::BackLeft) {
                    way.push(at(track(riser), riser.to));
                    way.push(at(track(riser), riser.from));
                    way.push(at(x, riser.from));
                } else {
                    way.push(at(x, arriving));
                }
                way.push(at(x, right.bottom() + port.reach));
            }
        }
        way
    }

    /// Where the name of a line goes: above it, right of where lines go up and down.
    fn label(
        &self,
        chain: &Chain,
        columns: &Columns,
        tracks: &Tracks,
        (width, height): (f64, f64),
    ) -> Rect {
        let arc = self.graph.arcs[chain.arc];
        let layer = self.layered.cells[arc.from].layer;
        if chain.back {
            let (x, _) = columns.layers[layer];
            let last = chain.cells[chain.cells.len() - 1];
            return Rect::new(x, self.middles[last] - height - 2.0, width, height);
        }
        let line = match self.ends[chain.arc].1 {
            End::Upper | End::Lower if chain.cells.len() == 2 => {
                self.line_height(chain, chain.cells[0])
            }
            _ => self.middles[chain.cells[1]],
        };
        let gap = layer + 1;
        let end = columns.layers.get(gap).map_or(columns.width, |(x, _)| *x);
        let count = tracks.count[gap];
        let start = columns.gaps[gap]
            + if count > 0 { CLEAR + TRACK * num(count - 1) } else { CLEAR / 2.0 };
        let x = f64::midpoint(start, end - CLEAR / 2.0) - width / 2.0;
        Rect::new(x, line - height - 3.0, width, height)
    }
}

/// A line from a box to itself: out to the right, around the lower corner, and in from below.
fn around(of: Rect, arc: Arc) -> Vec<Point> {
    let (out, below) = (of.right() + 14.0, of.bottom() + loop_reach(arc));
    match arc.port {
        None => vec![
            at(of.right(), of.center().y),
            at(out, of.center().y),
            at(out, below),
            at(of.center().x, below),
            at(of.center().x, of.bottom()),
        ],
        Some(port) => vec![
            at(of.x + port.x, of.bottom() + port.reach),
            at(of.x + port.x, below),
            at(out, below),
            at(out, of.center().y),
            at(of.right(), of.center().y),
        ],
    }
}

/// How far below its box a line from it to itself goes.
fn loop_reach(arc: Arc) -> f64 {
    arc.port.map_or(14.0, |it| it.reach + 10.0)
}

/// The line without points that change nothing.
pub(super) fn simple(way: &[Point]) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for point in way {
        if points.last().is_some_and(|it| it.distance(*point) < 0.01) {
            continue;
        }
        if let [.., before, last] = points[..] {
            let along = |a: f64, b: f64, c: f64| (a - b).abs() < 0.01 && (b - c).abs() < 0.01;
            if along(before.x, last.x, point.x) || along(before.y, last.y, point.y) {
                points.pop();
            }
        }
        points.push(*point);
    }
    points
}
