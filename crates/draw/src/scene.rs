//! What a picture is made of: paths and texts, in groups that know what they show.

use crate::geometry::{Point, Rect, at};

/// A picture before it is written down.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    pub(crate) bounds: Rect,
    pub(crate) marks: Vec<Mark>,
}

/// An element, in words and numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) label: String,
    pub(crate) tokens: u32,
    pub(crate) visits: u32,
    pub(crate) incidents: u32,
}

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Color(pub(crate) u8, pub(crate) u8, pub(crate) u8);

pub(crate) const WHITE: Color = Color(0xff, 0xff, 0xff);
pub(crate) const INK: Color = Color(0x2b, 0x2f, 0x38);
pub(crate) const FAINT: Color = Color(0x8a, 0x90, 0x9c);

/// How wide the white rim of a text is, half of it under the letters.
pub(crate) const RIM: f64 = 3.0;

/// One thing to draw, over all that came before it.
#[derive(Clone, Debug)]
pub(crate) enum Mark {
    /// What follows shows the element of that id.
    Open {
        id: String,
        class: String,
        /// What it is, for who does not see it; only of elements that are drawn by themselves.
        about: Option<About>,
    },
    Close,
    Path {
        path: Path,
        fill: Option<Color>,
        stroke: Option<Stroke>,
    },
    Text {
        text: String,
        at: Point,
        size: f64,
        color: Color,
        anchor: Anchor,
        bold: bool,
        /// Whether it reads upwards.
        upwards: bool,
        /// Whether it has a white rim, so that it can be read over lines.
        rim: bool,
    },
}

/// Which part of a text lies at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) color: Color,
    pub(crate) width: f64,
    pub(crate) dash: Dash,
}

/// How a line is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dash {
    Solid,
    Dotted,
    Dashed,
    Mixed,
}

impl Dash {
    /// The lengths of strokes and gaps.
    pub(crate) fn lengths(self) -> &'static [f64] {
        match self {
            Self::Solid => &[],
            Self::Dotted => &[1.0, 4.0],
            Self::Dashed => &[6.0, 4.0],
            Self::Mixed => &[10.0, 4.0, 1.0, 4.0],
        }
    }
}

impl Stroke {
    pub(crate) fn new(color: Color, width: f64) -> Self {
        Self { color, width, dash: Dash::Solid }
    }

    pub(crate) fn dashed(self, dash: Dash) -> Self {
        Self { dash, ..self }
    }
}

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Move(Point),
    Line(Point),
    Curve(Point, Point, Point),
    Close,
}

/// How far the handles of a quarter of a circle are from its ends, in parts of the radius.
const QUARTER: f64 = 0.552_284_75;

/// Lines and curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Path(pub(crate) Vec<Step>);

impl Path {
    pub(crate) fn line(points: &[Point]) -> Self {
        let mut steps = Vec::new();
        for (position, point) in points.iter().enumerate() {
            steps.push(if position == 0 { Step::Move(*point) } else { Step::Line(*point) });
        }
        Self(steps)
    }

    pub(crate) fn polygon(points: &[Point]) -> Self {
        let mut path = Self::line(points);
        path.0.push(Step::Close);
        path
    }

    /// A line whose corners are rounded.
    pub(crate) fn rounded_line(points: &[Point], radius: f64) -> Self {
        let mut path = Self::default();
        for (position, point) in points.iter().enumerate() {
            let (Some(before), Some(after)) =
                (position.checked_sub(1).and_then(|it| points.get(it)), points.get(position + 1))
            else {
                path.0.push(if position == 0 { Step::Move(*point) } else { Step::Line(*point) });
                continue;
            };
            let (back, on) = (point.distance(*before), point.distance(*after));
            let radius = radius.min(back / 2.0).min(on / 2.0);
            if radius < 0.5 {
                path.0.push(Step::Line(*point));
                continue;
            }
            let (from, to) =
                (point.towards(*before, radius / back), point.towards(*after, radius / on));
            path.0.push(Step::Line(from));
            path.0.push(Step::Curve(
                from.towards(*point, QUARTER),
                to.towards(*point, QUARTER),
                to,
            ));
        }
        path
    }

    pub(crate) fn circle(center: Point, radius: f64) -> Self {
        Self::rounded(Rect::around(center, 2.0 * radius, 2.0 * radius), radius)
    }

    /// A rectangle with rounded corners.
    pub(crate) fn rounded(rect: Rect, radius: f64) -> Self {
        let radius = radius.min(rect.width / 2.0).min(rect.height / 2.0).max(0.0);
        let (left, top, right, bottom) = (rect.x, rect.y, rect.right(), rect.bottom());
        if radius < 0.1 {
            let corners = [at(left, top), at(right, top), at(right, bottom), at(left, bottom)];
            return Self::polygon(&corners);
        }
        let handle = radius * (1.0 - QUARTER);
        let mut steps = vec![Step::Move(at(left + radius, top))];
        let corners = [
            (at(right - radius, top), at(right, top), at(right, top + radius)),
            (at(right, bottom - radius), at(right, bottom), at(right - radius, bottom)),
            (at(left + radius, bottom), at(left, bottom), at(left, bottom - radius)),
            (at(left, top + radius), at(left, top), at(left + radius, top)),
        ];
        for (from, corner, to) in corners {
            let part = handle / radius;
            steps.push(Step::Line(from));
            steps.push(Step::Curve(corner.towards(from, part), corner.towards(to, part), to));
        }
        steps.push(Step::Close);
        Self(steps)
    }

    /// A path of our own icons: `M`, `L`, `C` and `Z` as in SVG, and `O x y r` for a circle.
    pub(crate) fn icon(text: &str) -> Self {
        let mut words = text.split_whitespace();
        let mut path = Self::default();
        while let Some(word) = words.next() {
            let mut number = || -> f64 {
                let word = words.next().expect("our icons are complete");
                word.parse().expect("our icons have numbers where they belong")
            };
            let mut point = || at(number(), number());
            match word {
                "M" => path.0.push(Step::Move(point())),
                "L" => path.0.push(Step::Line(point())),
                "C" => path.0.push(Step::Curve(point(), point(), point())),
                "O" => {
                    let center = point();
                    path.0.extend(Self::circle(center, number()).0);
                }
                "Z" => path.0.push(Step::Close),
                other => unreachable!("our icons have no {other}"),
            }
        }
        path
    }

    /// The path so many times as large, and then moved.
    pub(crate) fn placed(mut self, origin: Point, scale: f64) -> Self {
        let move_to = |it: Point| at(origin.x + it.x * scale, origin.y + it.y * scale);
        for step in &mut self.0 {
            *step = match *step {
                Step::Move(to) => Step::Move(move_to(to)),
                Step::Line(to) => Step::Line(move_to(to)),
                Step::Curve(one, two, to) => Step::Curve(move_to(one), move_to(two), move_to(to)),
                Step::Close => Step::Close,
            };
        }
        self
    }

    fn points(&self) -> impl Iterator<Item = Point> {
        self.0.iter().filter_map(|it| match it {
            Step::Move(to) | Step::Line(to) | Step::Curve(_, _, to) => Some(*to),
            Step::Close => None,
        })
    }
}

impl Scene {
    pub(crate) fn path(
        &mut self,
        path: Path,
        fill: Option<Color>,
        stroke: impl Into<Option<Stroke>>,
    ) {
        let stroke = stroke.into();
        self.marks.push(Mark::Path { path, fill, stroke });
    }

    pub(crate) fn text(&mut self, text: &str, at: Point, size: f64, color: Color) {
        let (text, anchor) = (text.to_owned(), Anchor::Middle);
        let (bold, upwards, rim) = (false, false, false);
        self.marks.push(Mark::Text { text, at, size, color, anchor, bold, upwards, rim });
    }

    /// Draws the element of that id with what `paint` draws.
    pub(crate) fn group(&mut self, id: &str, class: &str, paint: impl FnOnce(&mut Self)) {
        self.marks.push(Mark::Open { id: id.to_owned(), class: class.to_owned(), about: None });
        paint(self);
        self.marks.push(Mark::Close);
    }

    /// Draws the element of that id, of which there is something to say.
    pub(crate) fn element(
        &mut self,
        id: &str,
        class: &str,
        about: About,
        paint: impl FnOnce(&mut Self),
    ) {
        let (id, class, about) = (id.to_owned(), class.to_owned(), Some(about));
        self.marks.push(Mark::Open { id, class, about });
        paint(self);
        self.marks.push(Mark::Close);
    }

    /// The smallest rectangle around everything in it.
    pub(crate) fn extent(&self) -> Option<Rect> {
        let mut extent: Option<Rect> = None;
        let mut add = |rect: Rect| extent = Some(extent.map_or(rect, |it| it.with(rect)));
        for mark in &self.marks {
            match mark {
                Mark::Open { .. } | Mark::Close => {}
                Mark::Path { path, .. } => {
                    for it in path.points() {
                        add(Rect::new(it.x, it.y, 0.0, 0.0));
                    }
                }
                Mark::Text { text, at, size, anchor, upwards, .. } => {
                    let width = crate::text::width(text, *size);
                    let start = match anchor {
                        Anchor::Start => 0.0,
                        Anchor::Middle => -width / 2.0,
                    };
                    add(if *upwards {
                        Rect::new(at.x - size, at.y + start, 1.3 * size, width)
                    } else {
                        Rect::new(at.x + start, at.y - size, width, 1.3 * size)
                    });
                }
            }
        }
        extent
    }
}
