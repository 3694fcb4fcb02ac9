//! Ranges: everything between two ends, and the ways in which two of them can lie.

use std::cmp::Ordering;

use super::{eval::compare, value::FeelValue};

/// Everything between two ends of the same kind.
#[derive(Clone, Debug)]
pub struct Range {
    /// Where it begins.
    pub start: End,
    /// Where it ends.
    pub end: End,
    /// Whether it is written as a test for one value, `(= 10)`, and not by two ends.
    pub is_test: bool,
}

/// An end of a range.
#[derive(Clone, Debug)]
pub enum End {
    /// There is none: `(< 5)` begins nowhere.
    Open,
    /// Up to this value, but without it.
    Excluded(FeelValue),
    /// Up to this value, and with it.
    Included(FeelValue),
}

impl End {
    /// The value it stands at; null where there is none.
    pub fn value(&self) -> FeelValue {
        match self {
            Self::Open => FeelValue::Null,
            Self::Excluded(value) | Self::Included(value) => value.clone(),
        }
    }

    /// Whether the value belongs to the range.
    pub fn is_included(&self) -> bool {
        matches!(self, Self::Included(_))
    }
}

impl Range {
    /// Whether the value lies in the range; `None` where they cannot be compared.
    pub fn contains(&self, value: &FeelValue) -> Option<bool> {
        let after_start = match &self.start {
            End::Open => true,
            End::Excluded(start) => compare(start, value)? == Ordering::Less,
            End::Included(start) => compare(start, value)? != Ordering::Greater,
        };
        let before_end = match &self.end {
            End::Open => true,
            End::Excluded(end) => compare(value, end)? == Ordering::Less,
            End::Included(end) => compare(value, end)? != Ordering::Greater,
        };
        Some(after_start && before_end)
    }

    /// Whether both have the same ends, included alike, and are written in the same way.
    pub fn equals(&self, other: &Self) -> bool {
        let same = |one: &End, other: &End| match (one, other) {
            (End::Open, End::Open) => true,
            (End::Excluded(a), End::Excluded(b)) | (End::Included(a), End::Included(b)) => a == b,
            (End::Open | End::Excluded(_) | End::Included(_), _) => false,
        };
        same(&self.start, &other.start)
            && same(&self.end, &other.end)
            && self.is_test == other.is_test
    }

    /// A range that holds one value.
    pub fn of_point(value: FeelValue) -> Self {
        Self { start: End::Included(value.clone()), end: End::Included(value), is_test: false }
    }

    /// Compares where two ranges begin; one that begins nowhere begins first.
    pub(super) fn compare_starts(&self, other: &Self) -> Option<Ordering> {
        Some(match (&self.start, &other.start) {
            (End::Open, End::Open) => Ordering::Equal,
            (End::Open, _) => Ordering::Less,
            (_, End::Open) => Ordering::Greater,
            (a, b) => {
                let inclusion = b.is_included().cmp(&a.is_included());
                compare(&a.value(), &b.value())?.then(inclusion)
            }
        })
    }

    /// Compares where two ranges end; one that ends nowhere ends last.
    pub(super) fn compare_ends(&self, other: &Self) -> Option<Ordering> {
        Some(match (&self.end, &other.end) {
            (End::Open, End::Open) => Ordering::Equal,
            (End::Open, _) => Ordering::Greater,
            (_, End::Open) => Ordering::Less,
            (a, b) => {
                let inclusion = a.is_included().cmp(&b.is_included());
                compare(&a.value(), &b.value())?.then(inclusion)
            }
        })
    }

    /// Whether all of this range comes before all of the other.
    pub(super) fn is_before(&self, other: &Self) -> Option<bool> {
        let (end, start) = (&self.end, &other.start);
        if matches!(end, End::Open) || matches!(start, End::Open) {
            return Some(false);
        }
        Some(match compare(&end.value(), &start.value())? {
            Ordering::Less => true,
            Ordering::Equal => !(end.is_included() && start.is_included()),
            Ordering::Greater => false,
        })
    }
}
