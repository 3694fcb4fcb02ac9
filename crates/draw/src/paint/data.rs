//! Data, stores and annotations.

use super::{LINE, Pen, THIN};
use crate::{
    geometry::{Rect, at, num},
    model::DataRole,
    scene::{Anchor, Mark, Path, Scene, Step},
    text,
};

/// A page with a folded corner.
pub(super) fn object(scene: &mut Scene, role: DataRole, collection: bool, bounds: Rect, pen: Pen) {
    let fold = (bounds.width * 0.3).min(bounds.height * 0.3);
    let (left, top, right, bottom) = (bounds.x, bounds.y, bounds.right(), bounds.bottom());
    let page = [
        at(left, top),
        at(right - fold, top),
        at(right, top + fold),
        at(right, bottom),
        at(left, bottom),
    ];
    scene.path(Path::polygon(&page), Some(pen.paper), pen.line(LINE));
    let corner = [at(right - fold, top), at(right - fold, top + fold), at(right, top + fold)];
    scene.path(Path::line(&corner), None, pen.line(LINE));
    let arrow = "M 0 4 L 7 4 L 7 1 L 13 6.5 L 7 12 L 7 9 L 0 9 Z";
    let arrow = Path::icon(arrow).placed(at(left + 3.0, top + 3.0), 1.0);
    match role {
        DataRole::Plain => {}
        DataRole::Input => scene.path(arrow, Some(pen.paper), pen.line(THIN)),
        DataRole::Output => scene.path(arrow, Some(pen.ink), pen.line(THIN)),
    }
    if collection {
        let bars = Path::icon("M -4 -4 L -4 4 M 0 -4 L 0 4 M 4 -4 L 4 4");
        scene.path(bars.placed(at(bounds.center().x, bottom - 7.0), 1.0), None, pen.line(2.0));
    }
}

/// A drum.
pub(super) fn store(scene: &mut Scene, bounds: Rect, pen: Pen) {
    let lid = (bounds.height * 0.16).min(bounds.width * 0.2);
    let (left, top, right, bottom) =
        (bounds.x, bounds.y + lid, bounds.right(), bounds.bottom() - lid);
    // The handles of a curve that sinks by `lid` lie a third deeper.
    let sink = lid * 4.0 / 3.0;
    let body = Path(vec![
        Step::Move(at(left, top)),
        Step::Line(at(left, bottom)),
        Step::Curve(at(left, bottom + sink), at(right, bottom + sink), at(right, bottom)),
        Step::Line(at(right, top)),
        Step::Curve(at(right, top - sink), at(left, top - sink), at(left, top)),
        Step::Close,
    ]);
    scene.path(body, Some(pen.paper), pen.line(LINE));
    for ring in 0..3 {
        let y = top + num(ring) * lid * 0.7;
        let path = Path(vec![
            Step::Move(at(left, y)),
            Step::Curve(at(left, y + sink), at(right, y + sink), at(right, y)),
        ]);
        scene.path(path, None, pen.line(LINE));
    }
}

/// A text behind a bracket.
pub(super) fn annotation(scene: &mut Scene, name: &str, bounds: Rect, pen: Pen) {
    let reach = 8.0_f64.min(bounds.width / 4.0);
    let bracket = [
        at(bounds.x + reach, bounds.y),
        at(bounds.x, bounds.y),
        at(bounds.x, bounds.bottom()),
        at(bounds.x + reach, bounds.bottom()),
    ];
    scene.path(Path::line(&bracket), None, pen.line(LINE));
    let step = text::line_height(text::SIZE);
    let mut lines_max = 1;
    while step * num(lines_max + 1) <= bounds.height + 4.0 {
        lines_max += 1;
    }
    let lines = text::wrap(name, text::SIZE, bounds.width - 10.0, lines_max);
    let top = bounds.y + ((bounds.height - step * num(lines.len())) / 2.0).clamp(0.0, 6.0);
    for (position, text) in lines.into_iter().enumerate() {
        scene.marks.push(Mark::Text {
            text,
            at: at(bounds.x + 7.0, top + text::SIZE + step * num(position)),
            size: text::SIZE,
            color: pen.ink,
            anchor: Anchor::Start,
            bold: false,
            upwards: false,
            rim: false,
        });
    }
}
