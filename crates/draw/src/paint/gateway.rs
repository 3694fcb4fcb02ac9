//! Gateways.

use super::{LINE, Pen, THIN, event::pentagon};
use crate::{
    geometry::at,
    model::Gateway,
    scene::{Path, Scene},
    sheet::Shape,
};

/// The width that marks are drawn for.
const WIDTH: f64 = 50.0;

const CROSS: &str = "M -7 -8 L 7 8 M 7 -8 L -7 8";
const PLUS: &str = "M 0 -11 L 0 11 M -11 0 L 11 0";
const STAR: &str = "M 0 -11 L 0 11 M -11 0 L 11 0 M -7.6 -7.6 L 7.6 7.6 M 7.6 -7.6 L -7.6 7.6";
const SMALL_PLUS: &str = "M -2 -8 L 2 -8 L 2 -2 L 8 -2 L 8 2 L 2 2 L 2 8 L -2 8 L -2 2 L -8 2 \
                          L -8 -2 L -2 -2 Z";

pub(super) fn paint(scene: &mut Scene, gateway: Gateway, shape: &Shape, pen: Pen) {
    let bounds = shape.bounds;
    let center = bounds.center();
    let corners = [
        at(center.x, bounds.y),
        at(bounds.right(), center.y),
        at(center.x, bounds.bottom()),
        at(bounds.x, center.y),
    ];
    scene.path(Path::polygon(&corners), Some(pen.paper), pen.line(LINE));
    let scale = bounds.width.min(bounds.height) / WIDTH;
    let place = |text: &str| Path::icon(text).placed(center, scale);
    let circle = |radius: f64| Path::circle(center, radius * scale);
    let thick = pen.line(3.6 * scale);
    match gateway {
        Gateway::Exclusive if !shape.marker => {}
        Gateway::Exclusive => scene.path(place(CROSS), None, thick),
        Gateway::Parallel => scene.path(place(PLUS), None, thick),
        Gateway::Inclusive => scene.path(circle(10.5), None, pen.line(3.0 * scale)),
        Gateway::Complex => scene.path(place(STAR), None, thick),
        Gateway::EventBased => {
            scene.path(circle(14.0), None, pen.line(THIN));
            scene.path(circle(11.4), None, pen.line(THIN));
            scene.path(pentagon(7.2).placed(center, scale), None, pen.line(THIN));
        }
        Gateway::EventBasedStart => {
            scene.path(circle(13.4), None, pen.line(THIN));
            scene.path(pentagon(8.4).placed(center, scale), None, pen.line(THIN));
        }
        Gateway::ParallelEventBasedStart => {
            scene.path(circle(13.4), None, pen.line(THIN));
            scene.path(place(SMALL_PLUS), None, pen.line(THIN));
        }
    }
}
