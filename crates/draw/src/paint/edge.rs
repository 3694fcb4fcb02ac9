//! Lines, and what stands at their ends.

use super::{LINE, overlay};
use crate::{
    geometry::{Point, at},
    model::{Link, LinkKind},
    scene::{Color, Dash, FAINT, INK, Path, Scene, Stroke, WHITE},
    sheet::Edge,
};

/// How round corners are.
const CORNER: f64 = 6.0;

/// Draws a line, more strongly where it was taken.
pub(super) fn paint(scene: &mut Scene, link: &Link, edge: &Edge, taken: u32) {
    let points = &edge.points;
    let [first, second, ..] = points[..] else { return };
    let [.., before, last] = points[..] else { return };
    let (ink, width) = match taken {
        0 => (edge.color.unwrap_or(INK), 1.25),
        _ => (overlay::TAKEN, 2.6),
    };
    let line = Stroke::new(ink, width);
    match link.kind {
        LinkKind::Sequence { default, conditional } => {
            // The line ends inside its arrow, whose tip would be blunt otherwise.
            scene.path(Path::rounded_line(&shortened(points, 4.0), CORNER), None, Some(line));
            arrow(scene, before, last, ink);
            if default {
                slash(scene, first, second, ink);
            } else if conditional {
                diamond(scene, first, second, ink);
            }
        }
        LinkKind::Message => {
            let dashed = line.dashed(Dash::Dashed);
            scene.path(Path::rounded_line(&shortened(points, 8.0), CORNER), None, Some(dashed));
            let (tip, left, right) = arrow_head(before, last, 10.0, 5.0);
            let thin = Some(Stroke::new(ink, 1.25));
            scene.path(Path::polygon(&[left, tip, right]), Some(WHITE), thin);
            scene.path(Path::circle(first, 3.6), Some(WHITE), thin);
            if let Some(begins) = edge.message {
                envelope(scene, middle(points), begins, ink);
            }
        }
        LinkKind::Association { arrows } => {
            let dotted = line.dashed(Dash::Dotted);
            scene.path(Path::line(points), None, Some(Stroke { width: LINE, ..dotted }));
            if arrows.0 {
                open_arrow(scene, second, first, ink);
            }
            if arrows.1 {
                open_arrow(scene, before, last, ink);
            }
        }
        LinkKind::Conversation => {
            scene.path(Path::line(points), None, Some(Stroke::new(ink, 4.0)));
            scene.path(Path::line(points), None, Some(Stroke::new(WHITE, 1.6)));
        }
    }
}

/// The line without its last bit.
fn shortened(points: &[Point], by: f64) -> Vec<Point> {
    let mut points = points.to_vec();
    if let [.., before, last] = &mut points[..] {
        let length = before.distance(*last);
        if length > by {
            *last = last.towards(*before, by / length);
        }
    }
    points
}

/// The tip and the two other corners of an arrow.
fn arrow_head(from: Point, tip: Point, length: f64, half: f64) -> (Point, Point, Point) {
    let distance = from.distance(tip).max(0.01);
    let (dx, dy) = ((tip.x - from.x) / distance, (tip.y - from.y) / distance);
    let base = tip.by(-dx * length, -dy * length);
    (tip, base.by(-dy * half, dx * half), base.by(dy * half, -dx * half))
}

fn arrow(scene: &mut Scene, from: Point, tip: Point, ink: Color) {
    let (tip, left, right) = arrow_head(from, tip, 10.0, 4.2);
    scene.path(Path::polygon(&[left, tip, right]), Some(ink), Some(Stroke::new(ink, 1.0)));
}

fn open_arrow(scene: &mut Scene, from: Point, tip: Point, ink: Color) {
    let (tip, left, right) = arrow_head(from, tip, 8.0, 4.2);
    scene.path(Path::line(&[left, tip, right]), None, Some(Stroke::new(ink, 1.25)));
}

/// The mark of a flow that is taken when no other is.
fn slash(scene: &mut Scene, from: Point, to: Point, ink: Color) {
    let length = from.distance(to).max(0.01);
    let (dx, dy) = ((to.x - from.x) / length, (to.y - from.y) / length);
    let place = from.by(dx * 10.0, dy * 10.0);
    // Turned by a bit less than a right angle against the line.
    let (tx, ty) = (dx * 0.5 - dy * 0.87, dy * 0.5 + dx * 0.87);
    let ends = [place.by(tx * 6.0, ty * 6.0), place.by(-tx * 6.0, -ty * 6.0)];
    scene.path(Path::line(&ends), None, Some(Stroke::new(ink, 1.5)));
}

/// The mark of a flow that leaves an activity under a condition.
fn diamond(scene: &mut Scene, from: Point, to: Point, ink: Color) {
    let length = from.distance(to).max(0.01);
    let (dx, dy) = ((to.x - from.x) / length, (to.y - from.y) / length);
    let middle = from.by(dx * 8.0, dy * 8.0);
    let corners = [
        from,
        middle.by(-dy * 4.6, dx * 4.6),
        from.by(dx * 16.0, dy * 16.0),
        middle.by(dy * 4.6, -dx * 4.6),
    ];
    scene.path(Path::polygon(&corners), Some(WHITE), Some(Stroke::new(ink, 1.25)));
}

fn envelope(scene: &mut Scene, center: Point, begins: bool, ink: Color) {
    let place = |text: &str| Path::icon(text).placed(center, 1.2);
    let paper = if begins { WHITE } else { FAINT };
    let line = Some(Stroke::new(ink, 1.2));
    scene.path(place("M -8.5 -6 L 8.5 -6 L 8.5 6 L -8.5 6 Z"), Some(paper), line);
    scene.path(place("M -8.5 -6 L 0 1 L 8.5 -6"), None, line);
}

/// The point half way along a line.
fn middle(points: &[Point]) -> Point {
    let total: f64 = points.windows(2).map(|it| it[0].distance(it[1])).sum();
    let mut left = total / 2.0;
    for part in points.windows(2) {
        let length = part[0].distance(part[1]);
        if left <= length {
            return part[0].towards(part[1], left / length.max(0.01));
        }
        left -= length;
    }
    points.last().copied().unwrap_or_else(|| at(0.0, 0.0))
}
