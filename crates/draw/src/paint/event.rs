//! Events.

use super::{LINE, Pen, THIN};
use crate::{
    geometry::{Point, Rect, at, num},
    model::{Event, EventPlace, What},
    scene::{Dash, Path, Scene, Stroke},
};

/// The radius that icons are drawn for.
const RADIUS: f64 = 18.0;

const ENVELOPE: &str = "M -8.5 -6 L 8.5 -6 L 8.5 6 L -8.5 6 Z";
const FLAP: &str = "M -8.5 -6 L 0 1 L 8.5 -6";
const HANDS: &str = "M 0.8 -7 L 0 0.4 L 5 2";
const BOLT: &str = "M -8 7.6 L -3.2 -6.4 L 2.4 1.2 L 8 -8 L 3.8 7 L -2 -0.6 Z";
const ARROW_UP: &str = "M 0 -9.5 L 7 8 L 0 0.8 L -7 8 Z";
const TRIANGLE: &str = "M 0 -9 L 8.8 6.6 L -8.8 6.6 Z";
const PAGE: &str = "M -6.5 -8.5 L 6.5 -8.5 L 6.5 8.5 L -6.5 8.5 Z";
const PAGE_LINES: &str = "M -4 -5.4 L 4 -5.4 M -4 -1.8 L 4 -1.8 M -4 1.8 L 4 1.8 M -4 5.4 L 4 5.4";
const REWIND: &str = "M -10 0 L -1.5 -6.6 L -1.5 6.6 Z M -1.5 0 L 7 -6.6 L 7 6.6 Z";
const CROSS: &str = "M -8.6 -6 L -6 -8.6 L 0 -2.6 L 6 -8.6 L 8.6 -6 L 2.6 0 L 8.6 6 L 6 8.6 \
                     L 0 2.6 L -6 8.6 L -8.6 6 L -2.6 0 Z";
const ARROW: &str = "M -9 -3.6 L 2 -3.6 L 2 -8 L 10 0 L 2 8 L 2 3.6 L -9 3.6 Z";
const PLUS: &str = "M -2.6 -9 L 2.6 -9 L 2.6 -2.6 L 9 -2.6 L 9 2.6 L 2.6 2.6 L 2.6 9 L -2.6 9 \
                    L -2.6 2.6 L -9 2.6 L -9 -2.6 L -2.6 -2.6 Z";

pub(super) fn paint(scene: &mut Scene, event: Event, bounds: Rect, pen: Pen) {
    let center = bounds.center();
    let radius = bounds.width.min(bounds.height) / 2.0;
    let dash = if event.interrupting { Dash::Solid } else { Dash::Dashed };
    let width = match event.place {
        EventPlace::End => 3.4,
        EventPlace::Start | EventPlace::Catch | EventPlace::Throw | EventPlace::Boundary => LINE,
    };
    scene.path(Path::circle(center, radius), Some(pen.paper), pen.dashed(width, dash));
    match event.place {
        EventPlace::Catch | EventPlace::Throw | EventPlace::Boundary => {
            let inner = Path::circle(center, radius - 3.4);
            scene.path(inner, None, pen.dashed(LINE, dash));
        }
        EventPlace::Start | EventPlace::End => {}
    }
    let throws = matches!(event.place, EventPlace::Throw | EventPlace::End);
    icon(scene, event.what, throws, center, radius / RADIUS, pen);
}

/// What an event is about. What throws it is filled.
fn icon(scene: &mut Scene, what: What, throws: bool, center: Point, scale: f64, pen: Pen) {
    let fill = Some(if throws { pen.ink } else { pen.paper });
    let place = |text: &str| Path::icon(text).placed(center, scale);
    let line = pen.line(THIN);
    match what {
        What::Nothing => {}
        What::Message => {
            scene.path(place(ENVELOPE), fill, line);
            let flap = if throws { pen.paper } else { pen.ink };
            scene.path(place(FLAP), None, Some(Stroke::new(flap, THIN)));
        }
        What::Timer => {
            scene.path(Path::circle(center, 10.0 * scale), Some(pen.paper), line);
            scene.path(ticks().placed(center, scale), None, pen.line(1.0));
            scene.path(place(HANDS), None, line);
        }
        What::Error => scene.path(place(BOLT), fill, line),
        What::Escalation => scene.path(place(ARROW_UP), fill, line),
        What::Signal => scene.path(place(TRIANGLE), fill, line),
        What::Condition => {
            scene.path(place(PAGE), Some(pen.paper), line);
            scene.path(place(PAGE_LINES), None, line);
        }
        What::Compensation => scene.path(place(REWIND), fill, line),
        What::Cancel => scene.path(place(CROSS), fill, line),
        What::Link => scene.path(place(ARROW), fill, line),
        What::Terminate => scene.path(Path::circle(center, 10.5 * scale), Some(pen.ink), None),
        What::Multiple => scene.path(pentagon(9.5).placed(center, scale), fill, line),
        What::ParallelMultiple => scene.path(place(PLUS), fill, line),
    }
}

fn ticks() -> Path {
    let mut path = Path::default();
    for hour in 0..12 {
        let (sin, cos) = (std::f64::consts::TAU * num(hour) / 12.0).sin_cos();
        path.0.extend(Path::line(&[at(8.0 * cos, 8.0 * sin), at(9.6 * cos, 9.6 * sin)]).0);
    }
    path
}

/// Five corners around the origin, one of them above.
pub(super) fn pentagon(radius: f64) -> Path {
    let corner = |number: usize| {
        let (sin, cos) = (std::f64::consts::TAU * (num(number) / 5.0 - 0.25)).sin_cos();
        at(radius * cos, radius * sin)
    };
    Path::polygon(&[corner(0), corner(1), corner(2), corner(3), corner(4)])
}
