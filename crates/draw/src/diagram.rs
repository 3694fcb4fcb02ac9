//! The places that a model's own diagram data gives.

use std::collections::BTreeSet;

use travertine_xml::{Document, Node, Ns, local_part};

use crate::{
    geometry::{Point, Rect, at},
    model::{Event, EventPlace, ItemId, Kind, LinkKind, Model, Work},
    scene::Color,
    sheet::{Colors, Edge, Shape, Sheet},
};

/// No modeler puts anything farther away.
const PLACE_MAX: f64 = 200_000.0;

/// No shape is larger.
const SIZE_MAX: f64 = 50_000.0;

/// A picture that is larger shows nothing but emptiness.
const EXTENT_MAX: f64 = 60_000.0;

/// How much of a process has a place.
#[derive(Debug)]
pub(crate) enum Coverage {
    Full,
    /// These have none, though others have.
    Partial(Vec<String>),
    None,
}

/// The diagrams of a document, or what in them belongs to one process.
pub(crate) fn sheets(document: &Document, model: &Model, only: Option<ItemId>) -> Vec<Sheet> {
    let diagrams = document.root().children().filter(|it| is(*it, "BPMNDiagram"));
    let mut sheets = Vec::new();
    for diagram in diagrams {
        for plane in diagram.children().filter(|it| is(*it, "BPMNPlane")) {
            let mut sheet = plane_of(plane, model, only);
            sheet.title = title(diagram, plane, model);
            let fits =
                sheet.extent().is_some_and(|it| it.width <= EXTENT_MAX && it.height <= EXTENT_MAX);
            if fits {
                sheets.push(sheet);
            }
        }
    }
    sheets
}

/// How much of a process has a place on any sheet.
pub(crate) fn coverage(model: &Model, sheets: &[Sheet], process: ItemId) -> Coverage {
    let shapes = || sheets.iter().flat_map(|it| &it.shapes);
    let placed: BTreeSet<ItemId> = shapes().map(|it| it.item).collect();
    let closed: BTreeSet<ItemId> = shapes().filter(|it| !it.expanded).map(|it| it.item).collect();
    let mut missing = Vec::new();
    let mut found = 0;
    for (id, item) in model.all(super::model::Item::is_flow_node) {
        if model.process_of(id) != Some(process) {
            continue;
        }
        if placed.contains(&id) {
            found += 1;
        } else if !model.outwards(id).skip(1).any(|it| closed.contains(&it)) {
            missing.push(item.id.clone());
        }
    }
    // A pool without anything in it is drawn as well.
    let pool = model.pool_of(process).is_some_and(|it| placed.contains(&it));
    match missing.len() {
        0 if found > 0 || pool => Coverage::Full,
        _ if found == 0 && !pool => Coverage::None,
        _ => Coverage::Partial(missing),
    }
}

fn is(node: Node<'_>, name: &str) -> bool {
    // Old tools write other namespaces here; the names say enough.
    node.name() == name
}

fn title(diagram: Node<'_>, plane: Node<'_>, model: &Model) -> Option<String> {
    let meant = plane.attr("bpmnElement").and_then(|it| model.find(local_part(it)));
    let meant = meant.map(|it| model.item(it)).filter(|it| it.is_flow_node());
    let title = meant.map(|it| if it.name.is_empty() { &it.id } else { &it.name });
    let title = title.map(String::as_str).or_else(|| diagram.attr("name"));
    title.filter(|it| !it.is_empty()).map(str::to_owned)
}

fn plane_of(plane: Node<'_>, model: &Model, only: Option<ItemId>) -> Sheet {
    let wanted = |id: ItemId| only.is_none_or(|only| model.process_of(id) == Some(only));
    let mut sheet = Sheet::default();
    for node in plane.children().filter(|it| is(*it, "BPMNShape")) {
        let item = node.attr("bpmnElement").and_then(|it| model.find(local_part(it)));
        let Some(item) = item.filter(|it| wanted(*it)) else { continue };
        // A process with a shape of its own is its pool, drawn by tools that know no pools.
        if model.item(item).kind == Kind::Process {
            continue;
        }
        if let Some(shape) = shape(node, item) {
            sheet.shapes.push(shape);
        }
    }
    settle_expansion(plane, &mut sheet, model);
    for node in plane.children().filter(|it| is(*it, "BPMNEdge")) {
        let link = node.attr("bpmnElement").and_then(|it| model.find_link(local_part(it)));
        let Some(link) = link else { continue };
        if let Some(edge) = edge(node, link) {
            sheet.edges.push(edge);
        }
    }
    add_missing_edges(&mut sheet, model);
    let placed: BTreeSet<ItemId> = sheet.shapes.iter().map(|it| it.item).collect();
    sheet.edges.retain(|it| {
        let link = &model.links[it.link];
        let is_there = |id: ItemId| placed.contains(&id) || model.item(id).kind == Kind::Process;
        is_there(link.from) && is_there(link.to)
    });
    sheet
}

/// Which activities show their inside. Those that do not hide what lies in them.
fn settle_expansion(plane: Node<'_>, sheet: &mut Sheet, model: &Model) {
    let placed: BTreeSet<ItemId> = sheet.shapes.iter().map(|it| it.item).collect();
    let shown: BTreeSet<ItemId> = placed.iter().filter_map(|it| model.item(*it).parent).collect();
    // The plane of a sub-process shows its inside, not itself.
    let on = plane.attr("bpmnElement").and_then(|it| model.find(local_part(it)));
    let said: Vec<(ItemId, bool)> = plane
        .children()
        .filter_map(|it| {
            let item = model.find(local_part(it.attr("bpmnElement")?))?;
            Some((item, it.attr("isExpanded")? == "true"))
        })
        .collect();
    for shape in &mut sheet.shapes {
        if let Kind::Activity(activity) = model.item(shape.item).kind {
            let said = said.iter().find(|(it, _)| *it == shape.item).map(|(_, said)| *said);
            shape.expanded = match activity.work {
                Work::SubProcess | Work::EventSubProcess | Work::Transaction => said
                    .unwrap_or_else(|| {
                        shown.contains(&shape.item)
                            || shape.bounds.width > 150.0 && shape.bounds.height > 110.0
                    }),
                // Some tools draw what is called inside what calls it.
                Work::Call => said == Some(true),
                Work::Plain
                | Work::User
                | Work::Service
                | Work::Script
                | Work::Send
                | Work::Receive { .. }
                | Work::Manual
                | Work::BusinessRule => false,
            };
        }
    }
    let closed: BTreeSet<ItemId> = sheet
        .shapes
        .iter()
        .filter(|it| !it.expanded && model.item(it.item).contains() && Some(it.item) != on)
        .map(|it| it.item)
        .collect();
    sheet.shapes.retain(|it| {
        let around = model.outwards(it.item).skip(1);
        !around.take_while(|it| Some(*it) != on).any(|it| closed.contains(&it))
    });
}

fn shape(node: Node<'_>, item: ItemId) -> Option<Shape> {
    let bounds = node.children().find(|it| is(*it, "Bounds")).and_then(rect)?;
    let label = node.children().find(|it| is(*it, "BPMNLabel"));
    let label = label.and_then(|it| it.children().find(|it| is(*it, "Bounds"))).and_then(rect);
    let band = node.attr("participantBandKind").map(|it| it.contains("initiating"));
    Some(Shape {
        label: label.filter(|it| it.width >= 8.0 && it.height >= 5.0),
        horizontal: match node.attr("isHorizontal") {
            Some(said) => said == "true",
            None => bounds.width >= bounds.height,
        },
        marker: node.attr("isMarkerVisible") != Some("false"),
        band: band.map(|_| {
            node.attr("participantBandKind").is_some_and(|it| !it.contains("non_initiating"))
        }),
        colors: Colors {
            stroke: color(node, &["border-color", "stroke"]),
            fill: color(node, &["background-color", "fill"]),
        },
        ..Shape::new(item, bounds)
    })
}

fn rect(node: Node<'_>) -> Option<Rect> {
    let number = |name: &str, max: f64| {
        let number: f64 = node.attr(name)?.trim().parse().ok()?;
        (number.is_finite() && number.abs() <= max).then_some(number)
    };
    let (width, height) = (number("width", SIZE_MAX)?, number("height", SIZE_MAX)?);
    (width >= 1.0 && height >= 1.0).then_some(Rect::new(
        number("x", PLACE_MAX)?,
        number("y", PLACE_MAX)?,
        width,
        height,
    ))
}

fn edge(node: Node<'_>, link: usize) -> Option<Edge> {
    let mut points: Vec<Point> = Vec::new();
    for it in node.children().filter(|it| is(*it, "waypoint")) {
        let number = |name: &str| {
            let number: f64 = it.attr(name)?.trim().parse().ok()?;
            (number.is_finite() && number.abs() <= PLACE_MAX).then_some(number)
        };
        let point = at(number("x")?, number("y")?);
        if points.last().is_none_or(|it| it.distance(point) > 0.5) {
            points.push(point);
        }
    }
    let label = node.children().find(|it| is(*it, "BPMNLabel"));
    let label = label.and_then(|it| it.children().find(|it| is(*it, "Bounds"))).and_then(rect);
    (points.len() >= 2).then(|| Edge {
        label,
        color: color(node, &["border-color", "stroke"]),
        message: node.attr("messageVisibleKind").map(|it| it == "initiating"),
        ..Edge::new(link, points)
    })
}

/// Straight lines for flows that have none. Associations without a line are left out on purpose by
/// those who model much data.
fn add_missing_edges(sheet: &mut Sheet, model: &Model) {
    let drawn: BTreeSet<usize> = sheet.edges.iter().map(|it| it.link).collect();
    let bounds = |id: ItemId| sheet.shapes.iter().find(|it| it.item == id).map(|it| it.bounds);
    let mut added = Vec::new();
    for (id, link) in model.links.iter().enumerate().filter(|(id, _)| !drawn.contains(id)) {
        let (Some(from), Some(to)) = (bounds(link.from), bounds(link.to)) else { continue };
        let flows = match link.kind {
            LinkKind::Sequence { .. } | LinkKind::Message => true,
            LinkKind::Association { .. } | LinkKind::Conversation => false,
        };
        if flows && link.from != link.to {
            added.push(Edge::new(id, vec![from.exit(to.center()), to.exit(from.center())]));
        }
    }
    sheet.edges.extend(added);
}

fn color(node: Node<'_>, names: &[&str]) -> Option<Color> {
    names.iter().find_map(|name| parse_color(node.ext(&Ns::Tool, name)?))
}

/// A colour as CSS writes it: with three or six digits, or one of the few names that tools use.
fn parse_color(text: &str) -> Option<Color> {
    let text = text.trim();
    let Some(digits) = text.strip_prefix('#') else {
        return Some(match text.to_ascii_lowercase().as_str() {
            "white" => Color(0xff, 0xff, 0xff),
            "black" => Color(0, 0, 0),
            "red" => Color(0xe5, 0x39, 0x35),
            "green" => Color(0x43, 0xa0, 0x47),
            "blue" => Color(0x1e, 0x88, 0xe5),
            "orange" => Color(0xfb, 0x8c, 0),
            "yellow" => Color(0xff, 0xd8, 0x4d),
            "purple" => Color(0x8e, 0x24, 0xaa),
            "gray" | "grey" => Color(0x80, 0x80, 0x80),
            _ => return None,
        });
    };
    if !digits.is_ascii() {
        return None;
    }
    let part = |from: usize, length: usize| u8::from_str_radix(&digits[from..from + length], 16);
    match digits.len() {
        3 => {
            let part = |from| Some(part(from, 1).ok()? * 17);
            Some(Color(part(0)?, part(1)?, part(2)?))
        }
        6 | 8 => Some(Color(part(0, 2).ok()?, part(2, 2).ok()?, part(4, 2).ok()?)),
        _ => None,
    }
}

/// Whether an item is a boundary event.
pub(crate) fn is_boundary(kind: Kind) -> bool {
    matches!(kind, Kind::Event(Event { place: EventPlace::Boundary, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_as_css_writes_them() {
        assert_eq!(parse_color("#fff"), Some(Color(255, 255, 255)));
        assert_eq!(parse_color("#1E88e5"), Some(Color(0x1e, 0x88, 0xe5)));
        assert_eq!(parse_color("#zz88e5"), None);
        assert_eq!(parse_color("#ää"), None);
        assert_eq!(parse_color("url(#x)"), None);
    }
}
