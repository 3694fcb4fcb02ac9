//! Names that stand beside what they name.

use crate::{
    geometry::{Point, Rect, at, num},
    model::{Kind, Model},
    scene::{Anchor, Color, FAINT, INK, Mark, Scene},
    sheet::{Edge, Shape, Sheet},
    text,
};

/// How wide a name beside a node is at most, and how many lines it has.
const WIDTH: f64 = 96.0;
const LINES_MAX: usize = 6;

/// The name of a sheet, above it.
pub(super) fn heading(scene: &mut Scene, title: &str, extent: Rect) {
    let width = extent.width.max(300.0);
    let lines = text::wrap(title, 14.0, width, 1);
    for text in lines {
        scene.marks.push(Mark::Text {
            text,
            at: at(extent.x, extent.y - 16.0),
            size: 14.0,
            color: INK,
            anchor: Anchor::Start,
            bold: true,
            upwards: false,
            rim: false,
        });
    }
}

/// The name of a shape that has no room for it inside.
pub(super) fn of_shape(scene: &mut Scene, model: &Model, sheet: &Sheet, shape: &Shape) {
    let item = model.item(shape.item);
    match item.kind {
        Kind::Event(_)
        | Kind::Gateway(_)
        | Kind::Data { .. }
        | Kind::Store
        | Kind::Group
        | Kind::Conversation => {}
        Kind::Process
        | Kind::Pool { .. }
        | Kind::Lane
        | Kind::Activity(_)
        | Kind::Annotation
        | Kind::Choreography => return,
    }
    let bounds = shape.bounds;
    let name = item.label(sheet.laid_out);
    let color = if item.name.is_empty() { FAINT } else { shape.colors.stroke.unwrap_or(INK) };
    if let Some(label) = shape.label {
        let width = if sheet.laid_out { label.width + 2.0 } else { 1.1 * label.width.max(WIDTH) };
        let lines = text::wrap(name, text::SMALL, width, LINES_MAX);
        let height = text::line_height(text::SMALL) * num(lines.len());
        let middle = label.center();
        // Names grow downwards from where their modeler put them.
        let top = if sheet.laid_out || label.height >= height {
            middle.y - height / 2.0
        } else {
            label.y
        };
        put(scene, &lines, middle.x, top, color);
        return;
    }
    let lines = text::wrap(name, text::SMALL, WIDTH, LINES_MAX);
    let height = text::line_height(text::SMALL) * num(lines.len());
    let width = lines.iter().map(|it| text::width(it, text::SMALL)).fold(0.0, f64::max);
    let place = match item.kind {
        Kind::Group => {
            Rect::new(bounds.center().x - width / 2.0, bounds.y - height - 2.0, width, height)
        }
        _ => free_place(model, sheet, shape, width, height),
    };
    put(scene, &lines, place.center().x, place.y, color);
}

/// The place beside a shape where its name is in nobody's way, or least so.
fn free_place(model: &Model, sheet: &Sheet, shape: &Shape, width: f64, height: f64) -> Rect {
    let bounds = shape.bounds;
    let center = bounds.center();
    let place = |x: f64, y: f64| Rect::around(at(x, y), width, height);
    let (aside, low, high) =
        (width / 2.0 + 10.0, bounds.bottom() + 4.0 + height / 2.0, bounds.y - 3.0 - height / 2.0);
    let candidates = [
        place(center.x, low),
        place(center.x, high),
        place(center.x + aside, low),
        place(center.x - aside, low),
        place(center.x + aside, high),
        place(center.x - aside, high),
    ];
    // What is nowhere near is looked at once, not for each of them.
    let near = place(center.x, center.y).grown(width.max(height) + bounds.width.max(bounds.height));
    let lines = sheet.edges.iter().flat_map(|it| it.points.windows(2));
    let lines: Vec<_> = lines.filter(|it| near.is_crossed(it[0], it[1])).collect();
    let shapes = sheet.shapes.iter().filter(|it| {
        let frame = it.expanded && model.item(it.item).contains();
        !frame && model.item(it.item).is_flow_node() && it.bounds.overlaps(near)
    });
    let shapes: Vec<_> = shapes.collect();
    let disturbs = |rect: Rect| {
        let crossed = lines.iter().filter(|it| rect.is_crossed(it[0], it[1])).count();
        crossed + shapes.iter().filter(|it| it.bounds.overlaps(rect)).count()
    };
    let best = candidates.into_iter().min_by_key(|it| disturbs(*it));
    best.expect("there are some")
}

/// The name of a line: where the modeler put it, else at the longest part along the page.
pub(super) fn of_edge(scene: &mut Scene, name: &str, edge: &Edge) {
    if name.is_empty() {
        return;
    }
    let color = edge.color.unwrap_or(INK);
    if let Some(label) = edge.label {
        let lines = text::wrap(name, text::SMALL, 1.1 * label.width.max(WIDTH), LINES_MAX);
        let height = text::line_height(text::SMALL) * num(lines.len());
        put(scene, &lines, label.center().x, label.center().y - height / 2.0, color);
        return;
    }
    let lines = text::wrap(name, text::SMALL, WIDTH, LINES_MAX);
    let height = text::line_height(text::SMALL) * num(lines.len());
    let width = lines.iter().map(|it| text::width(it, text::SMALL)).fold(0.0, f64::max);
    let parts = || edge.points.windows(2).map(|it| (it[0], it[1]));
    let is_level = |(from, to): &(Point, Point)| (from.x - to.x).abs() > (from.y - to.y).abs();
    let long = |it: &(Point, Point)| it.0.distance(it.1);
    let level = parts().filter(is_level).find(|it| long(it) > width + 8.0);
    let longest = || parts().max_by(|a, b| long(a).total_cmp(&long(b)));
    let Some((from, to)) = level.or_else(longest) else { return };
    let middle = from.towards(to, 0.5);
    if is_level(&(from, to)) {
        put(scene, &lines, middle.x, middle.y.min(from.y).min(to.y) - height - 3.0, color);
    } else {
        put(scene, &lines, middle.x + width / 2.0 + 5.0, middle.y - height / 2.0, color);
    }
}

fn put(scene: &mut Scene, lines: &[String], middle: f64, top: f64, color: Color) {
    let step = text::line_height(text::SMALL);
    for (position, text) in lines.iter().enumerate() {
        scene.marks.push(Mark::Text {
            text: text.clone(),
            at: at(middle, top + step * num(position) + text::SMALL * 0.93),
            size: text::SMALL,
            color,
            anchor: Anchor::Middle,
            bold: false,
            upwards: false,
            rim: true,
        });
    }
}
