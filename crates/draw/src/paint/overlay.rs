//! What an instance has done: tokens, visits, incidents, and what the signs mean.

use crate::{
    geometry::{Point, Rect, at},
    marks::{Marks, NodeMark},
    model::{Item, Kind},
    scene::{Anchor, Color, INK, Mark, Path, Scene, Stroke, WHITE},
    text,
};

/// The colours of lines that were taken, of tokens, of visits and of incidents.
pub(crate) const TAKEN: Color = Color(0x1b, 0x6e, 0xc2);
pub(crate) const TOKEN: Color = Color(0x1e, 0x8e, 0x3e);
pub(crate) const VISIT: Color = Color(0xe8, 0xf0, 0xfa);
pub(crate) const INCIDENT: Color = Color(0xd3, 0x2f, 0x2f);

const RADIUS: f64 = 9.0;

/// The signs at a node: tokens at the upper left, visits at the upper right, and incidents at
/// the lower left.
pub(super) fn badges(scene: &mut Scene, item: &Item, bounds: Rect, mark: NodeMark) {
    // The corners of a diamond are far from where they would be in a box.
    let inset = match item.kind {
        Kind::Gateway(_) => bounds.width * 0.16,
        Kind::Event(_) => bounds.width * 0.08,
        _ => 0.0,
    };
    scene.group(&item.id, "marks", |scene| {
        if mark.visits > 0 {
            visits(scene, at(bounds.right() - inset, bounds.y + inset), mark.visits);
        }
        if mark.tokens > 0 {
            token(scene, at(bounds.x + inset, bounds.y + inset), mark.tokens);
        }
        if mark.incidents > 0 {
            incident(scene, at(bounds.x + inset, bounds.bottom() - inset));
        }
    });
}

fn token(scene: &mut Scene, center: Point, count: u32) {
    pill(scene, center, &count.to_string(), TOKEN, WHITE, WHITE);
}

fn visits(scene: &mut Scene, center: Point, count: u32) {
    pill(scene, center, &format!("{count}×"), VISIT, TAKEN, TAKEN);
}

fn incident(scene: &mut Scene, center: Point) {
    pill(scene, center, "!", INCIDENT, WHITE, WHITE);
}

fn pill(scene: &mut Scene, center: Point, text: &str, fill: Color, ink: Color, rim: Color) {
    let width = (text::width(text, text::SMALL) + 8.0).max(2.0 * RADIUS);
    let rect = Rect::around(center, width, 2.0 * RADIUS);
    scene.path(Path::rounded(rect, RADIUS), Some(fill), Some(Stroke::new(rim, 1.2)));
    scene.marks.push(Mark::Text {
        text: text.to_owned(),
        at: center.by(0.0, text::SMALL * 0.36),
        size: text::SMALL,
        color: ink,
        anchor: Anchor::Middle,
        bold: true,
        upwards: false,
        rim: false,
    });
}

/// What the signs mean, below everything.
pub(super) fn legend(scene: &mut Scene, marks: &Marks) {
    let Some(extent) = scene.extent() else { return };
    let y = extent.bottom() + 34.0;
    let mut x = extent.x + RADIUS;
    let any = |of: fn(&NodeMark) -> u32| marks.nodes.values().any(|it| of(it) > 0);
    scene.group("legend", "legend", |scene| {
        let mut entry = |width: f64, text: &str, paint: &dyn Fn(&mut Scene, Point)| {
            paint(scene, at(x, y));
            scene.marks.push(Mark::Text {
                text: text.to_owned(),
                at: at(x + width, y + text::SMALL * 0.36),
                size: text::SMALL,
                color: INK,
                anchor: Anchor::Start,
                bold: false,
                upwards: false,
                rim: false,
            });
            x += width + text::width(text, text::SMALL) + 28.0;
        };
        if any(|it| it.tokens) {
            entry(15.0, "tokens here now", &|scene, place| token(scene, place, 1));
        }
        entry(17.0, "times entered", &|scene, place| visits(scene, place, 1));
        entry(26.0, "flow taken", &|scene, place| {
            let line = Path::line(&[place.by(-8.0, 0.0), place.by(20.0, 0.0)]);
            scene.path(line, None, Some(Stroke::new(TAKEN, 2.6)));
        });
        if any(|it| it.incidents) {
            entry(15.0, "incident", &incident_at);
        }
    });
}

fn incident_at(scene: &mut Scene, place: Point) {
    incident(scene, place);
}
