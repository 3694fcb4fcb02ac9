//! A scene as PNG. Texts are set in a font of our own, so that the picture is the same everywhere.

use tiny_skia::{FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, StrokeDash, Transform};
use ttf_parser::{Face, OutlineBuilder};

use crate::{
    Error,
    scene::{Anchor, Color, Mark, Path, RIM, Scene, Step, Stroke, WHITE},
};

/// Pixels for each unit, so that small texts can be read.
const SCALE: f64 = 2.0;

/// More pixels than that are scaled down.
const PIXELS_MAX: f64 = 80e6;
const SIDE_MAX: f64 = 30_000.0;

/// The scene in pixels, on white.
pub(crate) fn write(scene: &Scene) -> Result<Vec<u8>, Error> {
    let bounds = scene.bounds;
    let (width, height) = (bounds.width.max(1.0), bounds.height.max(1.0));
    let scale = SCALE
        .min((PIXELS_MAX / (width * height)).sqrt())
        .min(SIDE_MAX / width)
        .min(SIDE_MAX / height);
    let mut pixels = Pixmap::new(whole(width * scale), whole(height * scale))
        .ok_or_else(|| Error::Pixels(format!("it is {width:.0} by {height:.0} large")))?;
    pixels.fill(tiny_skia::Color::WHITE);
    let transform = Transform::from_row(
        short(scale),
        0.0,
        0.0,
        short(scale),
        short(-bounds.x * scale),
        short(-bounds.y * scale),
    );
    let font = Face::parse(notosans::REGULAR_TTF, 0).expect("the font is complete");
    let bold = Face::parse(notosans::BOLD_TTF, 0).expect("the font is complete");
    let mut canvas = Canvas { pixels, transform, font, bold };
    for mark in &scene.marks {
        canvas.draw(mark);
    }
    debug_assert!(canvas.pixels.pixels().iter().all(|it| it.alpha() == u8::MAX));
    canvas.pixels.encode_png().map_err(|error| Error::Pixels(error.to_string()))
}

struct Canvas {
    pixels: Pixmap,
    transform: Transform,
    font: Face<'static>,
    bold: Face<'static>,
}

impl Canvas {
    fn draw(&mut self, mark: &Mark) {
        match mark {
            Mark::Open { .. } | Mark::Close => {}
            Mark::Path { path, fill, stroke } => {
                let Some(path) = outline(path) else { return };
                if let Some(fill) = fill {
                    self.fill(&path, *fill, self.transform);
                }
                if let Some(stroke) = stroke {
                    self.stroke(&path, *stroke);
                }
            }
            Mark::Text { .. } => self.text(mark),
        }
    }

    fn fill(&mut self, path: &tiny_skia::Path, color: Color, transform: Transform) {
        self.pixels.fill_path(path, &paint(color), FillRule::Winding, transform, None);
    }

    fn stroke(&mut self, path: &tiny_skia::Path, stroke: Stroke) {
        let lengths = stroke.dash.lengths().iter().map(|it| short(*it)).collect();
        let line = tiny_skia::Stroke {
            width: short(stroke.width),
            line_cap: LineCap::Round,
            line_join: LineJoin::Round,
            dash: StrokeDash::new(lengths, 0.0),
            ..tiny_skia::Stroke::default()
        };
        self.pixels.stroke_path(path, &paint(stroke.color), &line, self.transform, None);
    }

    fn text(&mut self, mark: &Mark) {
        let Mark::Text { text, at, size, color, anchor, bold, upwards, rim } = mark else { return };
        let font = if *bold { &self.bold } else { &self.font };
        let scale = size / f64::from(font.units_per_em());
        let mut glyphs = Glyphs { path: PathBuilder::new(), x: 0.0 };
        for letter in text.chars() {
            // Letters that the font does not have are shown as its empty box.
            let glyph = font.glyph_index(letter).unwrap_or_default();
            // There may be nothing to draw, as for a space.
            let _ = font.outline_glyph(glyph, &mut glyphs);
            glyphs.x += f32::from(font.glyph_hor_advance(glyph).unwrap_or_default());
        }
        let width = f64::from(glyphs.x) * scale;
        let Some(path) = glyphs.path.finish() else { return };
        let start = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -width / 2.0,
        };
        let turn = if *upwards { -90.0 } else { 0.0 };
        let transform = Transform::from_scale(short(scale), short(-scale))
            .post_translate(short(start), 0.0)
            .post_rotate(turn)
            .post_translate(short(at.x), short(at.y))
            .post_concat(self.transform);
        if *rim {
            let width = short(RIM / scale);
            let line = tiny_skia::Stroke {
                width,
                line_join: LineJoin::Round,
                ..tiny_skia::Stroke::default()
            };
            self.pixels.stroke_path(&path, &paint(WHITE), &line, transform, None);
        }
        self.fill(&path, *color, transform);
    }
}

/// The outlines of letters, side by side.
struct Glyphs {
    path: PathBuilder,
    x: f32,
}

impl OutlineBuilder for Glyphs {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.x + x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.x + x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.x + x1, y1, self.x + x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.path.cubic_to(self.x + x1, y1, self.x + x2, y2, self.x + x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

fn outline(path: &Path) -> Option<tiny_skia::Path> {
    let mut builder = PathBuilder::new();
    for step in &path.0 {
        match *step {
            Step::Move(to) => builder.move_to(short(to.x), short(to.y)),
            Step::Line(to) => builder.line_to(short(to.x), short(to.y)),
            Step::Curve(one, two, to) => builder.cubic_to(
                short(one.x),
                short(one.y),
                short(two.x),
                short(two.y),
                short(to.x),
                short(to.y),
            ),
            Step::Close => builder.close(),
        }
    }
    builder.finish()
}

fn paint(Color(red, green, blue): Color) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, u8::MAX);
    paint.anti_alias = true;
    paint
}

#[expect(clippy::cast_possible_truncation, reason = "pixels need no more than 24 bits")]
fn short(number: f64) -> f32 {
    number as f32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float turns into the nearest number there is"
)]
fn whole(number: f64) -> u32 {
    number.ceil() as u32
}
