//! Pools, lanes and groups: what only surrounds other things; and what collaborations show beside
//! them.

use super::{LINE, Pen, THIN, centered};
use crate::{
    geometry::{Rect, at, num},
    model::Item,
    scene::{Anchor, Dash, Mark, Path, Scene},
    sheet::Shape,
    text,
};

/// How wide the band with a name is.
const BAND: f64 = 30.0;

const SHADE: crate::scene::Color = crate::scene::Color(0xe3, 0xe6, 0xea);

pub(super) fn pool(scene: &mut Scene, item: &Item, shape: &Shape, multiple: bool, pen: Pen) {
    let bounds = shape.bounds;
    if let Some(begins) = shape.band {
        let paper = if begins { pen.paper } else { SHADE };
        scene.path(Path::rounded(bounds, 0.0), Some(paper), pen.line(LINE));
        centered(
            scene,
            &text::wrap(&item.name, text::SMALL, bounds.width - 8.0, 1),
            bounds,
            text::SMALL,
            pen.ink,
        );
        return;
    }
    scene.path(Path::rounded(bounds, 0.0), Some(pen.paper), pen.line(LINE));
    let closed = !shape.expanded || is_flat(bounds, shape.horizontal);
    if closed {
        let lines = text::wrap(&item.name, text::SIZE, bounds.width - 20.0, 3);
        centered(scene, &lines, bounds, text::SIZE, pen.ink);
    } else {
        band(scene, &item.name, bounds, shape.horizontal, pen);
    }
    if multiple {
        let bars = Path::icon("M -4 -5 L -4 5 M 0 -5 L 0 5 M 4 -5 L 4 5");
        let place = at(bounds.center().x, bounds.bottom() - 9.0);
        scene.path(bars.placed(place, 1.0), None, pen.line(2.0));
    }
}

/// Whether a pool has no room for a process, so that its name has all of it.
fn is_flat(bounds: Rect, horizontal: bool) -> bool {
    let across = if horizontal { bounds.height } else { bounds.width };
    across <= 70.0
}

pub(super) fn lane(scene: &mut Scene, item: &Item, shape: &Shape, pen: Pen) {
    scene.path(Path::rounded(shape.bounds, 0.0), Some(pen.paper), pen.line(THIN));
    band(scene, &item.name, shape.bounds, shape.horizontal, pen);
}

/// The band with the name: at the left, or above where the flow goes down.
fn band(scene: &mut Scene, name: &str, bounds: Rect, horizontal: bool, pen: Pen) {
    if name.is_empty() {
        return;
    }
    let size = text::SIZE;
    if horizontal {
        let border = [at(bounds.x + BAND, bounds.y), at(bounds.x + BAND, bounds.bottom())];
        scene.path(Path::line(&border), None, pen.line(THIN));
        let lines = text::wrap(name, size, bounds.height - 10.0, 2);
        let step = text::line_height(size);
        let first = bounds.x + BAND / 2.0 - step * num(lines.len()) / 2.0 + size * 0.93;
        for (position, line) in lines.into_iter().enumerate() {
            scene.marks.push(Mark::Text {
                text: line,
                at: at(first + step * num(position), bounds.center().y),
                size,
                color: pen.ink,
                anchor: Anchor::Middle,
                bold: false,
                upwards: true,
                rim: false,
            });
        }
    } else {
        let border = [at(bounds.x, bounds.y + BAND), at(bounds.right(), bounds.y + BAND)];
        scene.path(Path::line(&border), None, pen.line(THIN));
        let head = Rect { height: BAND, ..bounds };
        centered(scene, &text::wrap(name, size, bounds.width - 10.0, 2), head, size, pen.ink);
    }
}

pub(super) fn group(scene: &mut Scene, bounds: Rect, pen: Pen) {
    scene.path(Path::rounded(bounds, 10.0), None, pen.dashed(LINE, Dash::Mixed));
}

pub(super) fn conversation(scene: &mut Scene, bounds: Rect, pen: Pen) {
    let (center, side) = (bounds.center(), bounds.width / 4.0);
    let corners = [
        at(bounds.x + side, bounds.y),
        at(bounds.right() - side, bounds.y),
        at(bounds.right(), center.y),
        at(bounds.right() - side, bounds.bottom()),
        at(bounds.x + side, bounds.bottom()),
        at(bounds.x, center.y),
    ];
    scene.path(Path::polygon(&corners), Some(pen.paper), pen.line(LINE));
}

pub(super) fn choreography(scene: &mut Scene, item: &Item, bounds: Rect, pen: Pen) {
    scene.path(Path::rounded(bounds, 10.0), Some(pen.paper), pen.line(LINE));
    let lines = text::wrap(&item.name, text::SIZE, bounds.width - 10.0, 3);
    centered(scene, &lines, bounds, text::SIZE, pen.ink);
}
