//! Ways out of a crowd: lines that leave a box up or down and must not run through what stands there.

use crate::geometry::{Point, Rect, at, num};

/// How far apart the places are at which a way is looked for, and how many of them on each side.
const STEP: f64 = 12.0;
const STEPS_MAX: usize = 80;

/// How far a line goes straight before it turns.
const STUB: f64 = 8.0;

/// The line from the upper or lower border of a box to a height: straight down or up at `wish` where
/// nothing is in the way, else beside it, else around what is there.
pub(super) fn way_out(from: Rect, wish: f64, to: f64, others: &[Rect]) -> Vec<Point> {
    let middle = from.center();
    let is_down = to > middle.y;
    let start = if is_down { from.bottom() } else { from.y };
    let turn = if is_down { start + STUB } else { start - STUB };
    let is_free = |a: Point, b: Point| !others.iter().any(|it| it.is_crossed(a, b));
    let room = (from.width / 2.0 - 6.0).max(0.0);
    let nearby = (0..=4).flat_map(|it| [num(it) * STEP, -num(it) * STEP]);
    let places = || {
        let beside = nearby.clone().filter(|it| it.abs() <= room).map(|it| middle.x + it);
        std::iter::once(wish).chain(beside)
    };
    if let Some(x) = places().find(|x| is_free(at(*x, start), at(*x, to))) {
        return vec![at(x, start), at(x, to)];
    }
    let around = || {
        let stub = places().find(|x| is_free(at(*x, start), at(*x, turn)))?;
        let sides = (1..=STEPS_MAX).flat_map(|it| [num(it) * STEP, -num(it) * STEP]);
        let mut ways = sides
            .map(|it| stub + it)
            .filter(|x| is_free(at(stub, turn), at(*x, turn)) && is_free(at(*x, turn), at(*x, to)));
        let x = ways.next()?;
        Some(vec![at(stub, start), at(stub, turn), at(x, turn), at(x, to)])
    };
    around().unwrap_or_else(|| vec![at(wish, start), at(wish, to)])
}

/// Whether a straight line touches a rectangle.
pub(super) fn touches(rect: Rect, from: Point, to: Point) -> bool {
    // The part of the line that lies within the rectangle in both directions, if any does.
    let (mut first, mut last) = (0.0_f64, 1.0_f64);
    for (start, way, low, high) in [
        (from.x, to.x - from.x, rect.x, rect.right()),
        (from.y, to.y - from.y, rect.y, rect.bottom()),
    ] {
        if way.abs() < 1e-9 {
            if start <= low || start >= high {
                return false;
            }
            continue;
        }
        let (a, b) = ((low - start) / way, (high - start) / way);
        first = first.max(a.min(b));
        last = last.min(a.max(b));
    }
    first < last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_out_leads_around_what_stands_there() {
        let task = Rect::new(0.0, 0.0, 100.0, 80.0);
        let points = |others: &[Rect]| way_out(task, 50.0, 300.0, others);
        assert_eq!(points(&[]), [at(50.0, 80.0), at(50.0, 300.0)]);
        let event = Rect::new(40.0, 150.0, 20.0, 36.0);
        assert_eq!(points(&[event]), [at(62.0, 80.0), at(62.0, 300.0)]);
        let below = Rect::new(0.0, 150.0, 100.0, 80.0);
        let way = points(&[below]);
        assert_eq!(way.len(), 4, "{way:?}");
        assert!(way.windows(2).all(|it| !below.is_crossed(it[0], it[1])), "{way:?}");
    }

    #[test]
    fn a_straight_line_touches_what_it_runs_through() {
        let it = Rect::new(0.0, 0.0, 10.0, 10.0);
        assert!(touches(it, at(-5.0, -5.0), at(15.0, 15.0)));
        assert!(!touches(it, at(-5.0, 8.0), at(4.0, 20.0)));
        assert!(!touches(it, at(10.0, -5.0), at(10.0, 15.0)));
        assert!(!touches(it, at(20.0, 20.0), at(30.0, 30.0)));
    }
}
