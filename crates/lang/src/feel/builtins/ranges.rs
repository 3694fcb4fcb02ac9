//! How points and ranges lie to each other.

use std::cmp::Ordering;

use super::{
    super::{
        eval::compare,
        range::{End, Range},
        value::FeelValue,
    },
    Answer, Args, Entry, Fault,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("before(point1, point2)", before),
    ("before(point, range)", before),
    ("before(range, point)", before),
    ("before(range1, range2)", before),
    ("after(point1, point2)", after),
    ("after(point, range)", after),
    ("after(range, point)", after),
    ("after(range1, range2)", after),
    ("meets(range1, range2)", |args| ranges(args, meets)),
    ("met by(range1, range2)", |args| ranges(args, |a, b| meets(b, a))),
    ("overlaps(range1, range2)", |args| ranges(args, overlaps)),
    ("overlaps before(range1, range2)", |args| ranges(args, overlaps_before)),
    ("overlaps after(range1, range2)", |args| ranges(args, |a, b| overlaps_before(b, a))),
    ("finishes(point, range)", finishes),
    ("finishes(range1, range2)", finishes),
    ("finished by(range, point)", finished_by),
    ("finished by(range1, range2)", finished_by),
    ("includes(range, point)", includes),
    ("includes(range1, range2)", includes),
    ("during(point, range)", during),
    ("during(range1, range2)", during),
    ("starts(point, range)", starts),
    ("starts(range1, range2)", starts),
    ("started by(range, point)", started_by),
    ("started by(range1, range2)", started_by),
    ("coincides(point1, point2)", coincides),
    ("coincides(range1, range2)", coincides),
];

/// A point, or a range of them.
enum Place {
    Point(FeelValue),
    Range(Range),
}

impl Place {
    fn of(args: &Args<'_, '_, '_>, index: usize) -> Result<Self, Fault> {
        match args.value(index).unwrap_singleton() {
            FeelValue::Range(range) => Ok(Self::Range((*range).clone())),
            FeelValue::Null => Err(Fault::argument("expected a point or a range, found null")),
            point => Ok(Self::Point(point)),
        }
    }

    fn into_range(self) -> Range {
        match self {
            Self::Point(point) => Range::of_point(point),
            Self::Range(range) => range,
        }
    }
}

fn places(args: &Args<'_, '_, '_>) -> Result<(Place, Place), Fault> {
    Ok((Place::of(args, 0)?, Place::of(args, 1)?))
}

fn answer(answer: Option<bool>) -> Answer {
    answer.map(Into::into).ok_or_else(|| Fault::argument("the two cannot be compared"))
}

fn ranges(args: &mut Args<'_, '_, '_>, ask: fn(&Range, &Range) -> Option<bool>) -> Answer {
    match places(args)? {
        (Place::Range(a), Place::Range(b)) => answer(ask(&a, &b)),
        _ => Err(Fault::argument("expected two ranges")),
    }
}

fn before(args: &mut Args<'_, '_, '_>) -> Answer {
    let (a, b) = places(args)?;
    answer(a.into_range().is_before(&b.into_range()))
}

fn after(args: &mut Args<'_, '_, '_>) -> Answer {
    let (a, b) = places(args)?;
    answer(b.into_range().is_before(&a.into_range()))
}

/// One ends where the other begins, and both have that point.
fn meets(a: &Range, b: &Range) -> Option<bool> {
    let both = a.end.is_included() && b.start.is_included();
    Some(both && compare(&a.end.value(), &b.start.value())? == Ordering::Equal)
}

fn overlaps(a: &Range, b: &Range) -> Option<bool> {
    Some(!a.is_before(b)? && !b.is_before(a)?)
}

/// One begins first and ends within the other.
fn overlaps_before(a: &Range, b: &Range) -> Option<bool> {
    Some(
        overlaps(a, b)?
            && a.compare_starts(b)? == Ordering::Less
            && a.compare_ends(b)? != Ordering::Greater,
    )
}

fn point_at(end: &End, point: &FeelValue) -> Option<bool> {
    Some(end.is_included() && compare(&end.value(), point)? == Ordering::Equal)
}

fn finishes(args: &mut Args<'_, '_, '_>) -> Answer {
    match places(args)? {
        (Place::Point(point), Place::Range(range)) => answer(point_at(&range.end, &point)),
        (Place::Range(a), Place::Range(b)) => answer(range_finishes(&a, &b)),
        _ => Err(Fault::argument("expected a range")),
    }
}

fn finished_by(args: &mut Args<'_, '_, '_>) -> Answer {
    match places(args)? {
        (Place::Range(range), Place::Point(point)) => answer(point_at(&range.end, &point)),
        (Place::Range(a), Place::Range(b)) => answer(range_finishes(&b, &a)),
        _ => Err(Fault::argument("expected a range")),
    }
}

/// Both end together, and the first does not begin earlier.
fn range_finishes(a: &Range, b: &Range) -> Option<bool> {
    Some(a.compare_ends(b)? == Ordering::Equal && a.compare_starts(b)? != Ordering::Less)
}

fn starts(args: &mut Args<'_, '_, '_>) -> Answer {
    match places(args)? {
        (Place::Point(point), Place::Range(range)) => answer(point_at(&range.start, &point)),
        (Place::Range(a), Place::Range(b)) => answer(range_starts(&a, &b)),
        _ => Err(Fault::argument("expected a range")),
    }
}

fn started_by(args: &mut Args<'_, '_, '_>) -> Answer {
    match places(args)? {
        (Place::Range(range), Place::Point(point)) => answer(point_at(&range.start, &point)),
        (Place::Range(a), Place::Range(b)) => answer(range_starts(&b, &a)),
        _ => Err(Fault::argument("expected a range")),
    }
}

/// Both begin together, and the first does not end later.
fn range_starts(a: &Range, b: &Range) -> Option<bool> {
    Some(a.compare_starts(b)? == Ordering::Equal && a.compare_ends(b)? != Ordering::Greater)
}

fn includes(args: &mut Args<'_, '_, '_>) -> Answer {
    match places(args)? {
        (Place::Range(range), Place::Point(point)) => answer(range.contains(&point)),
        (Place::Range(a), Place::Range(b)) => answer(range_includes(&a, &b)),
        _ => Err(Fault::argument("expected a range")),
    }
}

fn during(args: &mut Args<'_, '_, '_>) -> Answer {
    match places(args)? {
        (Place::Point(point), Place::Range(range)) => answer(range.contains(&point)),
        (Place::Range(a), Place::Range(b)) => answer(range_includes(&b, &a)),
        _ => Err(Fault::argument("expected a range")),
    }
}

fn range_includes(a: &Range, b: &Range) -> Option<bool> {
    Some(a.compare_starts(b)? != Ordering::Greater && a.compare_ends(b)? != Ordering::Less)
}

fn coincides(args: &mut Args<'_, '_, '_>) -> Answer {
    match places(args)? {
        (Place::Point(a), Place::Point(b)) => {
            answer(compare(&a, &b).map(|it| it == Ordering::Equal))
        }
        (Place::Range(a), Place::Range(b)) => answer(Some(
            a.compare_starts(&b) == Some(Ordering::Equal)
                && a.compare_ends(&b) == Some(Ordering::Equal),
        )),
        _ => Err(Fault::argument("expected two points or two ranges")),
    }
}
