//! Draws BPMN 2.0 models: where their diagram data says, else where we think best.
//!
//! `model` reads what there is to draw, `diagram` where the modeler has put it, and `layout` finds
//! places for what has none. `paint` turns both into a `scene` of paths and texts, which `svg` and
//! `png` write down. What an instance has done comes in as [`Marks`]; nothing here knows how a
//! model runs.

#![forbid(unsafe_code)]

mod diagram;
mod error;
mod geometry;
mod layout;
mod marks;
mod model;
mod paint;
#[cfg(feature = "png")]
mod png;
mod scene;
mod sheet;
mod svg;
#[cfg(test)]
mod tests;
mod text;

use travertine_xml::{Diagnostic, Ns};

pub use error::Error;
pub use marks::{Marks, NodeMark};

use model::Model;
use scene::Scene;

/// What to draw.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only this process, with its pool where it has one.
    pub process: Option<String>,
    /// Where everything goes is worked out, even if the model says it.
    pub anew: bool,
    /// What an instance has done.
    pub marks: Option<Marks>,
}

/// A model, drawn.
#[derive(Clone, Debug)]
pub struct Picture {
    scene: Scene,
    /// What is not as the model's author may expect.
    pub notes: Vec<String>,
}

impl Picture {
    /// The picture as SVG.
    pub fn svg(&self) -> String {
        svg::write(&self.scene)
    }

    /// The picture as a part of a page: its colours are variables of the page's style (`--tv-ink`, `--tv-paper`,
    /// `--tv-faint`, `--tv-taken`, `--tv-token`, `--tv-visit`, `--tv-incident`), and each element has a role, a label
    /// and its counts.
    pub fn svg_for_page(&self) -> String {
        svg::write_for_page(&self.scene)
    }

    /// The picture as PNG.
    #[cfg(feature = "png")]
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        png::write(&self.scene)
    }
}

/// Where the elements of a model are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// Nodes, containers and pools.
    pub shapes: Vec<Shape>,
    /// Lines between them.
    pub edges: Vec<Edge>,
}

/// Where a shape is.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The element.
    pub element: String,
    /// Its left edge.
    pub x: f64,
    /// Its upper edge.
    pub y: f64,
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
    /// Whether what is inside of it shows.
    pub expanded: bool,
}

/// Where a line goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The element.
    pub element: String,
    /// Its corners, with both ends.
    pub points: Vec<(f64, f64)>,
}

/// Where the elements of a model are: as it says, else as it is laid out. What `options` say of an instance does not
/// matter.
pub fn places(file: &str, bytes: &[u8], options: &Options) -> Result<Places, Error> {
    let document = travertine_xml::read(Ns::Bpmn, file, bytes)
        .map_err(|fault| Error::Unreadable(Box::new(Diagnostic::of_fault(file, fault))))?;
    let model = Model::of(&document);
    let (sheets, _) = sheet::all(&document, &model, options)?;
    let mut places = Places::default();
    for sheet in &sheets {
        places.shapes.extend(sheet.shapes.iter().map(|it| Shape {
            element: model.item(it.item).id.clone(),
            x: it.bounds.x,
            y: it.bounds.y,
            width: it.bounds.width,
            height: it.bounds.height,
            expanded: it.expanded,
        }));
        places.edges.extend(sheet.edges.iter().map(|it| Edge {
            element: model.links[it.link].id.clone(),
            points: it.points.iter().map(|it| (it.x, it.y)).collect(),
        }));
    }
    Ok(places)
}

/// Draws a model.
pub fn draw(file: &str, bytes: &[u8], options: &Options) -> Result<Picture, Error> {
    let document = travertine_xml::read(Ns::Bpmn, file, bytes)
        .map_err(|fault| Error::Unreadable(Box::new(Diagnostic::of_fault(file, fault))))?;
    let model = Model::of(&document);
    let (sheets, notes) = sheet::all(&document, &model, options)?;
    let scene = paint::paint(&model, &sheets, options.marks.as_ref());
    Ok(Picture { scene, notes })
}
