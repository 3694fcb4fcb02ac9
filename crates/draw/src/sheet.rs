//! What is drawn, and where: from diagram data where it is good, else laid out.

use travertine_xml::Document;

use crate::{
    Error, Options, diagram,
    geometry::{Point, Rect},
    layout,
    model::{ItemId, Kind, Model},
    scene::Color,
};

/// More nodes than that nobody can look at, and laying them out takes long.
const NODES_MAX: usize = 5_000;
const LINES_MAX: usize = 20_000;

/// How far apart sheets are.
const GAP: f64 = 60.0;

/// Things with their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) title: Option<String>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) edges: Vec<Edge>,
    /// Whether the places are ours.
    pub(crate) laid_out: bool,
}

/// An item with its place.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) item: ItemId,
    pub(crate) bounds: Rect,
    /// Where its name goes, where that is not for us to say.
    pub(crate) label: Option<Rect>,
    /// Whether its inside is shown.
    pub(crate) expanded: bool,
    /// Whether a pool or lane goes from left to right.
    pub(crate) horizontal: bool,
    /// Whether a gateway shows what it does.
    pub(crate) marker: bool,
    /// Where it is one of the bands of a choreography task: whether it begins.
    pub(crate) band: Option<bool>,
    pub(crate) colors: Colors,
}

/// The colours that the model asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Colors {
    pub(crate) stroke: Option<Color>,
    pub(crate) fill: Option<Color>,
}

/// A link with its way.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) link: usize,
    pub(crate) points: Vec<Point>,
    pub(crate) label: Option<Rect>,
    pub(crate) color: Option<Color>,
    /// Whether a message is shown on it, and whether it is the first of its exchange.
    pub(crate) message: Option<bool>,
}

impl Shape {
    /// The item at that place, with nothing out of the ordinary.
    pub(crate) fn new(item: ItemId, bounds: Rect) -> Self {
        Self {
            item,
            bounds,
            label: None,
            expanded: true,
            horizontal: true,
            marker: true,
            band: None,
            colors: Colors::default(),
        }
    }
}

impl Edge {
    /// The link on that way, with nothing out of the ordinary.
    pub(crate) fn new(link: usize, points: Vec<Point>) -> Self {
        Self { link, points, label: None, color: None, message: None }
    }
}

impl Sheet {
    /// The smallest rectangle around everything with a place.
    pub(crate) fn extent(&self) -> Option<Rect> {
        let shapes = self.shapes.iter().map(|it| it.bounds);
        let extent = shapes.reduce(Rect::with)?;
        let points = self.edges.iter().flat_map(|it| &it.points);
        Some(points.fold(extent, |it, point| it.with_point(*point)))
    }

    pub(crate) fn shift(&mut self, dx: f64, dy: f64) {
        for shape in &mut self.shapes {
            shape.bounds = shape.bounds.moved(dx, dy);
            shape.label = shape.label.map(|it| it.moved(dx, dy));
        }
        for edge in &mut self.edges {
            edge.points.iter_mut().for_each(|it| *it = it.by(dx, dy));
            edge.label = edge.label.map(|it| it.moved(dx, dy));
        }
    }
}

/// The sheets of a picture, one below the other, and what there is to say about them.
pub(crate) fn all(
    document: &Document,
    model: &Model,
    options: &Options,
) -> Result<(Vec<Sheet>, Vec<String>), Error> {
    for (nodes, nodes_max) in [(model.items.len(), NODES_MAX), (model.links.len(), LINES_MAX)] {
        if nodes > nodes_max {
            return Err(Error::TooLarge { nodes, nodes_max });
        }
    }
    let only = only(model, options)?;
    let mut notes = Vec::new();
    let mut sheets = if options.anew { Vec::new() } else { diagram::sheets(document, model, only) };
    let drawn: Vec<ItemId> = model
        .all(|it| it.kind == Kind::Process)
        .map(|(id, _)| id)
        .filter(|id| only.is_none_or(|only| only == *id))
        .collect();
    let has_collaboration = model.all(|it| matches!(it.kind, Kind::Pool { .. })).next().is_some();
    let mut bare = Vec::new();
    for process in &drawn {
        match diagram::coverage(model, &sheets, *process) {
            diagram::Coverage::Full => {}
            diagram::Coverage::None => bare.push(*process),
            diagram::Coverage::Partial(missing) => {
                let what = list(&missing);
                notes.push(format!(
                    "the diagram has no usable place for {what}; everything is laid out anew"
                ));
                sheets.clear();
                bare.clone_from(&drawn);
                break;
            }
        }
    }
    if sheets.is_empty() && has_collaboration {
        sheets.extend(layout::collaboration(model, only));
    } else {
        sheets.extend(bare.iter().filter_map(|it| layout::process(model, *it)));
    }
    sheets.retain(|it| !it.shapes.is_empty());
    if sheets.is_empty() {
        return Err(Error::Empty(document.file.clone()));
    }
    stack(&mut sheets);
    Ok((sheets, notes))
}

fn only(model: &Model, options: &Options) -> Result<Option<ItemId>, Error> {
    let Some(id) = &options.process else { return Ok(None) };
    let known = model.find(id).filter(|it| model.item(*it).kind == Kind::Process);
    if known.is_some() {
        return Ok(known);
    }
    let processes = model.all(|it| it.kind == Kind::Process);
    let known = processes.map(|(_, it)| it.id.clone()).collect();
    Err(Error::NoSuchProcess { id: id.clone(), known })
}

fn list(ids: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = ids.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match ids.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Puts the sheets one below the other.
fn stack(sheets: &mut [Sheet]) {
    let several = sheets.len() > 1;
    let mut top = 0.0;
    for sheet in sheets {
        let extent = sheet.extent().expect("empty sheets are not kept");
        if !several {
            sheet.title = None;
        }
        sheet.shift(-extent.x, top - extent.y);
        top += extent.height + GAP + 30.0;
    }
}
