//! From things with places to paths and texts.
//!
//! What lies under other things is drawn first: pools, lanes, the frames of sub-processes, lines,
//! then nodes, then what is attached to them, then names, and last what an instance has done.

mod activity;
mod data;
mod edge;
mod event;
mod frame;
mod gateway;
mod label;
mod overlay;

use crate::{
    diagram::is_boundary,
    geometry::Rect,
    marks::{Marks, NodeMark},
    model::{Item, ItemId, Kind, LinkKind, Model},
    scene::{About, Color, Dash, INK, Scene, Stroke, WHITE},
    sheet::{Edge, Shape, Sheet},
    text,
};

pub(crate) use overlay::{INCIDENT, TAKEN, TOKEN, VISIT};

/// The line around nodes.
pub(super) const LINE: f64 = 1.5;

/// The line inside icons.
pub(super) const THIN: f64 = 1.2;

/// What stays free around a picture.
const MARGIN: f64 = 24.0;

/// Draws the sheets, with what an instance has done.
pub(crate) fn paint(model: &Model, sheets: &[Sheet], marks: Option<&Marks>) -> Scene {
    let mut scene = Scene::default();
    for sheet in sheets {
        paint_sheet(&mut scene, model, sheet, marks);
    }
    if let Some(marks) = marks {
        overlay::legend(&mut scene, marks);
    }
    scene.bounds = scene.extent().unwrap_or_default().grown(MARGIN);
    scene
}

fn paint_sheet(scene: &mut Scene, model: &Model, sheet: &Sheet, marks: Option<&Marks>) {
    if let (Some(title), Some(extent)) = (&sheet.title, sheet.extent()) {
        label::heading(scene, title, extent);
    }
    let mut shapes: Vec<&Shape> = sheet.shapes.iter().collect();
    shapes.sort_by_key(|it| level(model, it));
    let under = shapes.partition_point(|it| level(model, it) < LINES);
    for shape in &shapes[..under] {
        paint_shape(scene, model, sheet, shape, marks);
    }
    // Lines that were taken lie over those that were not.
    let mut edges: Vec<&Edge> = sheet.edges.iter().collect();
    edges.sort_by_key(|it| {
        let link = &model.links[it.link];
        let taken = marks.is_some_and(|marks| marks.flows.contains_key(&link.id));
        (matches!(link.kind, LinkKind::Sequence { .. }), taken)
    });
    for edge in edges {
        let link = &model.links[edge.link];
        let taken = marks.and_then(|it| it.flows.get(&link.id)).copied().unwrap_or_default();
        scene.group(&link.id, class_of(link.kind), |scene| edge::paint(scene, link, edge, taken));
    }
    for shape in &shapes[under..] {
        paint_shape(scene, model, sheet, shape, marks);
    }
    for shape in &shapes {
        label::of_shape(scene, model, sheet, shape);
    }
    for edge in &sheet.edges {
        label::of_edge(scene, &model.links[edge.link].name, edge);
    }
    if let Some(marks) = marks {
        for shape in &shapes {
            if let Some(mark) = marks.nodes.get(&model.item(shape.item).id) {
                overlay::badges(scene, model.item(shape.item), shape.bounds, *mark);
            }
        }
    }
}

/// The level of lines: what is below is under them, what is above over them.
const LINES: usize = 10_000;

fn level(model: &Model, shape: &Shape) -> usize {
    let item = model.item(shape.item);
    let depth = |id: ItemId| model.outwards(id).count();
    match item.kind {
        Kind::Process => 0,
        Kind::Pool { .. } if shape.band.is_some() => LINES + 3,
        Kind::Pool { .. } => 1,
        Kind::Lane => {
            2 + std::iter::successors(Some(shape.item), |it| model.item(*it).lane).count().min(90)
        }
        Kind::Group => 99,
        Kind::Activity(_) if shape.expanded => 100 + depth(shape.item),
        kind if is_boundary(kind) => LINES + 2,
        Kind::Activity(_)
        | Kind::Event(_)
        | Kind::Gateway(_)
        | Kind::Data { .. }
        | Kind::Store
        | Kind::Annotation
        | Kind::Conversation
        | Kind::Choreography => LINES + 1,
    }
}

fn class_of(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Sequence { .. } => "sequenceFlow",
        LinkKind::Message => "messageFlow",
        LinkKind::Association { .. } => "association",
        LinkKind::Conversation => "conversationLink",
    }
}

/// The colours that a shape is drawn in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pen {
    pub(super) ink: Color,
    pub(super) paper: Color,
}

impl Pen {
    pub(super) fn line(self, width: f64) -> Stroke {
        Stroke::new(self.ink, width)
    }

    pub(super) fn dashed(self, width: f64, dash: Dash) -> Stroke {
        Stroke::new(self.ink, width).dashed(dash)
    }
}

fn paint_shape(
    scene: &mut Scene,
    model: &Model,
    sheet: &Sheet,
    shape: &Shape,
    marks: Option<&Marks>,
) {
    let item = model.item(shape.item);
    let mark = marks.and_then(|it| it.nodes.get(&item.id));
    let troubled = mark.is_some_and(|it| it.incidents > 0);
    let pen = Pen {
        ink: if troubled { INCIDENT } else { shape.colors.stroke.unwrap_or(INK) },
        paper: shape.colors.fill.unwrap_or(WHITE),
    };
    let about = about(item, mark.copied().unwrap_or_default());
    scene.element(&item.id, &item.class, about, |scene| match item.kind {
        Kind::Process => {}
        Kind::Pool { multiple, .. } => frame::pool(scene, item, shape, multiple, pen),
        Kind::Lane => frame::lane(scene, item, shape, pen),
        Kind::Group => frame::group(scene, shape.bounds, pen),
        Kind::Activity(activity) => {
            activity::paint(scene, item, activity, shape, pen, sheet.laid_out);
        }
        Kind::Event(event) => event::paint(scene, event, shape.bounds, pen),
        Kind::Gateway(gateway) => gateway::paint(scene, gateway, shape, pen),
        Kind::Data { role, collection } => data::object(scene, role, collection, shape.bounds, pen),
        Kind::Store => data::store(scene, shape.bounds, pen),
        Kind::Annotation => data::annotation(scene, &item.name, shape.bounds, pen),
        Kind::Conversation => frame::conversation(scene, shape.bounds, pen),
        Kind::Choreography => frame::choreography(scene, item, shape.bounds, pen),
    });
}

/// What there is to say about an element: what it is called, what it is, and what has happened there.
fn about(item: &Item, mark: NodeMark) -> About {
    let NodeMark { tokens, visits, incidents } = mark;
    let mut words = String::new();
    for letter in item.class.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    let name = if item.name.is_empty() { &item.id } else { &item.name };
    let mut parts = vec![name.clone(), words];
    let mut count = |count: u32, one: &str, many: &str| match count {
        0 => {}
        1 => parts.push(format!("1 {one}")),
        count => parts.push(format!("{count} {many}")),
    };
    count(tokens, "token", "tokens");
    count(incidents, "incident", "incidents");
    if visits > 0 {
        parts.push(format!("entered {visits}×"));
    }
    About { label: parts.join(", "), tokens, visits, incidents }
}

/// Lines of text around the middle of a rectangle.
pub(super) fn centered(scene: &mut Scene, lines: &[String], within: Rect, size: f64, color: Color) {
    let step = text::line_height(size);
    let center = within.center();
    let mut baseline = center.y - step * crate::geometry::num(lines.len()) / 2.0 + size * 0.93;
    for line in lines {
        scene.text(line, crate::geometry::at(center.x, baseline), size, color);
        baseline += step;
    }
}
