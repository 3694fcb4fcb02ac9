//! Points and rectangles. `x` grows to the right, `y` downwards.

/// A place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

pub(crate) fn at(x: f64, y: f64) -> Point {
    Point { x, y }
}

impl Point {
    pub(crate) fn by(self, dx: f64, dy: f64) -> Self {
        at(self.x + dx, self.y + dy)
    }

    pub(crate) fn distance(self, other: Self) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }

    /// The point that far on the way to `other`; 0 is here and 1 is there.
    pub(crate) fn towards(self, other: Self, part: f64) -> Self {
        at(self.x + (other.x - self.x) * part, self.y + (other.y - self.y) * part)
    }
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    pub(crate) fn new(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self { x, y, width, height }
    }

    pub(crate) fn around(center: Point, width: f64, height: f64) -> Self {
        Self::new(center.x - width / 2.0, center.y - height / 2.0, width, height)
    }

    pub(crate) fn right(self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(self) -> f64 {
        self.y + self.height
    }

    pub(crate) fn center(self) -> Point {
        at(self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    pub(crate) fn moved(self, dx: f64, dy: f64) -> Self {
        Self { x: self.x + dx, y: self.y + dy, ..self }
    }

    /// The rectangle with so much more, or less, on each side.
    pub(crate) fn grown(self, by: f64) -> Self {
        Self::new(
            self.x - by,
            self.y - by,
            (self.width + 2.0 * by).max(0.0),
            (self.height + 2.0 * by).max(0.0),
        )
    }

    /// The smallest rectangle around both.
    pub(crate) fn with(self, other: Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        Self::new(x, y, self.right().max(other.right()) - x, self.bottom().max(other.bottom()) - y)
    }

    pub(crate) fn with_point(self, point: Point) -> Self {
        self.with(Self::new(point.x, point.y, 0.0, 0.0))
    }

    /// Whether a point lies inside.
    pub(crate) fn has(self, point: Point) -> bool {
        self.x < point.x && point.x < self.right() && self.y < point.y && point.y < self.bottom()
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.x < other.right()
            && other.x < self.right()
            && self.y < other.bottom()
            && other.y < self.bottom()
    }

    /// Whether a line along an axis goes through its inside.
    pub(crate) fn is_crossed(self, from: Point, to: Point) -> bool {
        from.x.min(to.x) < self.right()
            && from.x.max(to.x) > self.x
            && from.y.min(to.y) < self.bottom()
            && from.y.max(to.y) > self.y
    }

    /// Where the line from the centre to a point outside leaves the rectangle.
    pub(crate) fn exit(self, to: Point) -> Point {
        let center = self.center();
        let (dx, dy) = (to.x - center.x, to.y - center.y);
        let part = |length: f64, way: f64| {
            if way.abs() < 1e-9 { f64::INFINITY } else { length / 2.0 / way.abs() }
        };
        let part = part(self.width, dx).min(part(self.height, dy)).min(1.0);
        center.towards(to, part)
    }
}

/// A count as a length.
pub(crate) fn num(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_that_only_touch_do_not_overlap() {
        let it = Rect::new(0.0, 0.0, 10.0, 10.0);
        assert!(!it.overlaps(it.moved(10.0, 0.0)));
        assert!(it.overlaps(it.moved(9.0, 9.0)));
    }

    #[test]
    fn a_line_from_the_centre_leaves_at_the_border() {
        let it = Rect::new(0.0, 0.0, 10.0, 20.0);
        assert_eq!(it.exit(at(50.0, 10.0)), at(10.0, 10.0));
        assert_eq!(it.exit(at(5.0, -50.0)), at(5.0, 0.0));
        assert_eq!(it.exit(it.center()), it.center());
    }
}
