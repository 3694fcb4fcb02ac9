//! Boxes and arcs, in layers from left to right.

use super::{layers, order, place, route};
use crate::geometry::{Point, Rect};

/// What is to be laid out.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    pub(super) boxes: Vec<Spot>,
    pub(super) arcs: Vec<Arc>,
    /// How many bands there are, one below the other.
    pub(super) lanes: usize,
}

/// A box that needs a place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spot {
    pub(super) width: f64,
    pub(super) height: f64,
    /// How wide it is with its name.
    pub(super) slot: f64,
    /// What must stay free above it and below it.
    pub(super) above: f64,
    pub(super) below: f64,
    /// The band it must lie in.
    pub(super) lane: usize,
    /// Whether lines may begin and end at its upper and lower corners.
    pub(super) corners: bool,
}

/// A line that needs a way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arc {
    pub(super) from: usize,
    pub(super) to: usize,
    /// How wide and how high its name is.
    pub(super) label: (f64, f64),
    /// Where it does not begin at the box itself: where on its lower border.
    pub(super) port: Option<Port>,
}

/// A place on the lower border of a box, where something is attached.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Port {
    /// How far it is from the left side of the box.
    pub(super) x: f64,
    /// How far what is attached there reaches down from the border.
    pub(super) reach: f64,
    /// How much room its name takes below that.
    pub(super) name: f64,
}

/// What has been laid out. Everything lies right of and below the origin.
#[derive(Clone, Debug, Default)]
pub(super) struct Laid {
    pub(super) boxes: Vec<Rect>,
    pub(super) ways: Vec<Vec<Point>>,
    pub(super) labels: Vec<Option<Rect>>,
    /// Where the bands begin and end.
    pub(super) lanes: Vec<(f64, f64)>,
    /// Which of the corners of each box are in use: the upper and the lower one.
    pub(super) corners: Vec<(bool, bool)>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A box, or a place where a line crosses a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) layer: usize,
    pub(super) lane: usize,
    /// The box, where it is one.
    pub(super) of: Option<usize>,
    /// How far it reaches up and down from its middle.
    pub(super) up: f64,
    pub(super) down: f64,
}

/// The cells that a line passes, from left to right.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) arc: usize,
    pub(super) cells: Vec<usize>,
    /// Whether the line goes from right to left. It then passes the layers of its ends too, but not
    /// the ends themselves.
    pub(super) back: bool,
}

/// Boxes and lines by layers.
#[derive(Clone, Debug, Default)]
pub(super) struct Layered {
    pub(super) cells: Vec<Cell>,
    pub(super) chains: Vec<Chain>,
    /// The cells of each layer, from top to bottom.
    pub(super) layers: Vec<Vec<usize>>,
}

impl Graph {
    /// Finds a place for every box and a way for every line.
    pub(super) fn lay_out(&self) -> Laid {
        if self.boxes.is_empty() {
            return Laid::default();
        }
        let mut layered = layers::layered(self);
        order::order(self, &mut layered);
        let (middles, lanes) = place::middles(self, &layered);
        route::finish(self, &layered, &middles, lanes)
    }
}
