//! Tasks, calls and sub-processes.

use super::{LINE, Pen, THIN, centered};
use crate::{
    geometry::{Point, Rect, at, num},
    model::{Activity, Item, Repeat, Work},
    scene::{Dash, FAINT, Path, Scene},
    sheet::Shape,
    text,
};

/// How round the corners are.
const CORNER: f64 = 10.0;

/// How large the marks at the lower border are, and how far apart.
const MARKER: f64 = 14.0;
const MARKER_STEP: f64 = 18.0;

/// How much of the upper left corner an icon takes.
const ICON: f64 = 20.0;

const USER: &str = "M 1.5 15 C 1.5 10.8 4 9.2 8 9.2 C 12 9.2 14.5 10.8 14.5 15 Z O 8 5 3.4";
const USER_COLLAR: &str =
    "M 5.6 9.6 C 6 11.6 10 11.6 10.4 9.6 M 4.6 12.6 L 4.6 15 M 11.4 12.6 L 11.4 15";
const SCRIPT: &str = "M 5 1.5 L 14 1.5 C 11.4 4.4 11.4 6 12.8 8 C 14.4 10.4 13.8 12.8 11.2 14.5 \
                      L 2.4 14.5 C 4.8 12.8 5 10.6 3.6 8.4 C 2.2 6.2 2.6 3.6 5 1.5 Z \
                      M 5.4 4.8 L 10.2 4.8 M 5.6 8 L 10.6 8 M 6.6 11.2 L 11.4 11.2";
const ENVELOPE: &str = "M 1 3 L 15 3 L 15 13 L 1 13 Z";
const FLAP: &str = "M 1 3 L 8 8.8 L 15 3";
const HAND: &str = "M 1.2 6.6 C 2.6 4.6 4.2 2.4 5.4 2.2 L 9 2.2 C 10.4 2.2 10.4 4.4 9 4.4 L 7.2 4.4 \
                    L 13.8 4.4 C 15.2 4.4 15.2 6.8 13.8 6.8 L 14.2 6.8 C 15.6 6.8 15.6 9.2 14.2 9.2 \
                    L 13.6 9.2 C 15 9.2 15 11.6 13.6 11.6 L 12.6 11.6 C 13.8 11.6 13.8 13.8 12.4 13.8 \
                    L 5.2 13.8 C 3.6 13.8 2.4 13 1.2 12 \
                    M 9.2 6.8 L 13.8 6.8 M 9.2 9.2 L 13.8 9.2 M 9.2 11.6 L 13.4 11.6";
const TABLE: &str = "M 1 2.5 L 15 2.5 L 15 13.5 L 1 13.5 Z";
const TABLE_HEAD: &str = "M 1 2.5 L 15 2.5 L 15 6 L 1 6 Z";
const TABLE_LINES: &str = "M 1 6 L 15 6 M 1 9.8 L 15 9.8 M 5.4 6 L 5.4 13.5";

/// Draws an activity. Where the places are ours and it has no name, its id helps to find it.
pub(super) fn paint(
    scene: &mut Scene,
    item: &Item,
    activity: Activity,
    shape: &Shape,
    pen: Pen,
    laid_out: bool,
) {
    let bounds = shape.bounds;
    border(scene, activity, bounds, pen);
    icon(scene, activity.work, at(bounds.x + 5.0, bounds.y + 5.0), pen);
    let shown = markers(activity, shape.expanded);
    let foot = if shown.is_empty() { 0.0 } else { MARKER + 2.0 };
    let step = text::line_height(text::SIZE);
    let (name, color) = match item.name.as_str() {
        "" if laid_out => (item.id.as_str(), FAINT),
        name => (name, pen.ink),
    };
    if shape.expanded {
        let lines = text::wrap(name, text::SIZE, bounds.width - 56.0, 2);
        let height = step * num(lines.len());
        let head = Rect::new(bounds.x, bounds.y + 6.0, bounds.width, height);
        centered(scene, &lines, head, text::SIZE, color);
    } else {
        let (lines, size, room) = fitted(name, bounds, foot, has_icon(activity.work));
        centered(scene, &lines, room, size, color);
    }
    let middle = bounds.center().x;
    let left = middle - MARKER_STEP * (num(shown.len()) - 1.0) / 2.0;
    for (position, marker) in shown.iter().enumerate() {
        let center = at(left + MARKER_STEP * num(position), bounds.bottom() - MARKER / 2.0 - 3.0);
        paint_marker(scene, *marker, center, pen);
    }
}

/// The lines of a name, how large, and where: as large as fits, and beside or below the icon.
fn fitted(name: &str, bounds: Rect, foot: f64, icon: bool) -> (Vec<String>, f64, Rect) {
    const SIZES: [f64; 4] = [text::SIZE, 11.0, 10.0, 9.0];
    let width = bounds.width - 10.0;
    let whole = Rect { height: (bounds.height - foot).max(1.0), ..bounds };
    let below = Rect::new(bounds.x, bounds.y + ICON, bounds.width, (whole.height - ICON).max(1.0));
    for size in SIZES {
        let lines = text::wrap(name, size, width, usize::MAX);
        let height = text::line_height(size) * num(lines.len());
        let first = lines.first().map_or(0.0, |it| text::width(it, size));
        let beside = whole.center().y - height / 2.0 >= bounds.y + ICON
            || first / 2.0 <= bounds.width / 2.0 - ICON;
        if height <= whole.height - 4.0 && (beside || !icon) {
            return (lines, size, whole);
        }
        if height <= below.height - 2.0 {
            return (lines, size, below);
        }
    }
    let size = SIZES[SIZES.len() - 1];
    let mut lines_max = 1;
    while text::line_height(size) * num(lines_max + 1) <= whole.height - 2.0 {
        lines_max += 1;
    }
    (text::wrap(name, size, width, lines_max), size, whole)
}

fn border(scene: &mut Scene, activity: Activity, bounds: Rect, pen: Pen) {
    let outer = Path::rounded(bounds, CORNER);
    match activity.work {
        Work::Call => scene.path(outer, Some(pen.paper), pen.line(4.0)),
        Work::EventSubProcess => {
            scene.path(outer, Some(pen.paper), pen.dashed(LINE, Dash::Dotted));
        }
        Work::Transaction => {
            scene.path(outer, Some(pen.paper), pen.line(LINE));
            scene.path(Path::rounded(bounds.grown(-3.0), CORNER - 2.5), None, pen.line(LINE));
        }
        Work::Plain
        | Work::User
        | Work::Service
        | Work::Script
        | Work::Send
        | Work::Receive { .. }
        | Work::Manual
        | Work::BusinessRule
        | Work::SubProcess => scene.path(outer, Some(pen.paper), pen.line(LINE)),
    }
}

fn has_icon(work: Work) -> bool {
    match work {
        Work::User
        | Work::Service
        | Work::Script
        | Work::Send
        | Work::Receive { .. }
        | Work::Manual
        | Work::BusinessRule => true,
        Work::Plain | Work::Call | Work::SubProcess | Work::EventSubProcess | Work::Transaction => {
            false
        }
    }
}

/// What a task does, in its upper left corner.
fn icon(scene: &mut Scene, work: Work, corner: Point, pen: Pen) {
    let line = pen.line(THIN);
    let place = |text: &str| Path::icon(text).placed(corner, 1.0);
    match work {
        Work::User => {
            scene.path(place(USER), Some(pen.paper), line);
            scene.path(place(USER_COLLAR), None, pen.line(1.0));
        }
        Work::Service => {
            scene.path(gear().placed(corner.by(8.0, 8.0), 1.0), Some(pen.paper), line);
            scene.path(Path::circle(corner.by(8.0, 8.0), 2.4), Some(pen.paper), line);
        }
        Work::Script => scene.path(place(SCRIPT), Some(pen.paper), line),
        Work::Send => {
            scene.path(place(ENVELOPE), Some(pen.ink), line);
            let flap = crate::scene::Stroke::new(pen.paper, THIN);
            scene.path(place(FLAP), None, Some(flap));
        }
        Work::Receive { instantiates: false } => {
            scene.path(place(ENVELOPE), Some(pen.paper), line);
            scene.path(place(FLAP), None, line);
        }
        Work::Receive { instantiates: true } => {
            scene.path(Path::circle(corner.by(9.0, 9.0), 10.0), Some(pen.paper), line);
            let small = |text: &str| Path::icon(text).placed(corner.by(3.4, 3.4), 0.7);
            scene.path(small(ENVELOPE), Some(pen.paper), line);
            scene.path(small(FLAP), None, line);
        }
        Work::Manual => scene.path(place(HAND), Some(pen.paper), line),
        Work::BusinessRule => {
            scene.path(place(TABLE), Some(pen.paper), line);
            scene.path(place(TABLE_HEAD), Some(FAINT), None);
            scene.path(place(TABLE_LINES), None, line);
            scene.path(place(TABLE), None, line);
        }
        Work::Plain | Work::Call | Work::SubProcess | Work::EventSubProcess | Work::Transaction => {
        }
    }
}

/// A wheel with eight teeth around the origin.
fn gear() -> Path {
    const TEETH: usize = 8;
    let mut points = Vec::new();
    for tooth in 0..TEETH {
        let angle = std::f64::consts::TAU * num(tooth) / num(TEETH);
        for (turn, radius) in [(-0.24, 5.4), (-0.15, 7.6), (0.15, 7.6), (0.24, 5.4)] {
            let (sin, cos) = (angle + turn).sin_cos();
            points.push(at(radius * cos, radius * sin));
        }
    }
    Path::polygon(&points)
}

/// A mark at the lower border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Loop,
    Parallel,
    Sequential,
    Compensation,
    AdHoc,
    Closed,
}

fn markers(activity: Activity, expanded: bool) -> Vec<Marker> {
    let repeat = activity.repeat.map(|it| match it {
        Repeat::Loop => Marker::Loop,
        Repeat::Parallel => Marker::Parallel,
        Repeat::Sequential => Marker::Sequential,
    });
    let closed = match activity.work {
        Work::SubProcess | Work::EventSubProcess | Work::Transaction => !expanded,
        // What it calls is elsewhere.
        Work::Call => true,
        Work::Plain
        | Work::User
        | Work::Service
        | Work::Script
        | Work::Send
        | Work::Receive { .. }
        | Work::Manual
        | Work::BusinessRule => false,
    };
    let all = [
        repeat,
        activity.compensates.then_some(Marker::Compensation),
        closed.then_some(Marker::Closed),
        activity.ad_hoc.then_some(Marker::AdHoc),
    ];
    all.into_iter().flatten().collect()
}

fn paint_marker(scene: &mut Scene, marker: Marker, center: Point, pen: Pen) {
    let place = |text: &str| Path::icon(text).placed(center, 1.0);
    match marker {
        Marker::Loop => {
            let circle = "M -1.8 5.2 C -4.6 4.4 -6 2 -5.4 -0.8 C -4.8 -3.8 -2.4 -5.4 0.4 -5.2 \
                          C 3.4 -4.8 5.4 -2.4 5.2 0.6 C 5 2.8 3.8 4.4 1.8 5.2";
            scene.path(place(circle), None, pen.line(THIN));
            let arrow = "M -5.6 2.6 L -1.6 5.3 L -2.2 0.8";
            scene.path(place(arrow), None, pen.line(THIN));
        }
        Marker::Parallel => {
            scene.path(place("M -4 -5 L -4 5 M 0 -5 L 0 5 M 4 -5 L 4 5"), None, pen.line(2.0));
        }
        Marker::Sequential => {
            scene.path(place("M -5 -4 L 5 -4 M -5 0 L 5 0 M -5 4 L 5 4"), None, pen.line(2.0));
        }
        Marker::Compensation => {
            let path = "M -6 0 L -0.5 -4.5 L -0.5 4.5 Z M -0.5 0 L 5 -4.5 L 5 4.5 Z";
            scene.path(place(path), Some(pen.paper), pen.line(THIN));
        }
        Marker::AdHoc => {
            let path = "M -6 1.8 C -4.4 -3 -2 -2.8 0 -0.6 C 2 1.6 4.4 1.4 6 -2.8 \
                        L 6 0.2 C 4.4 4.6 2 4 0 1.8 C -2 -0.4 -4.4 0.4 -6 4 Z";
            scene.path(place(path), Some(pen.ink), None);
        }
        Marker::Closed => {
            scene.path(
                Path::rounded(Rect::around(center, MARKER, MARKER), 0.0),
                Some(pen.paper),
                pen.line(THIN),
            );
            scene.path(place("M 0 -4.4 L 0 4.4 M -4.4 0 L 4.4 0"), None, pen.line(THIN));
        }
    }
}
