//! What a search means: the answer from rows in memory.

use std::{cmp::Ordering, collections::BTreeMap};

use super::{
    COUNT_MAX, Column, Condition, Cursor, Found, Place, Search, Sort, Tally, Test, Total, Value,
    column::Kind,
};
use crate::view::{InstanceRow, Key, Row, Table};

/// How many characters decide when rows are sorted by a text of any length.
pub(crate) const SORTED_CHARS: usize = 200;

/// Where conditions find the rows beside a row.
#[doc(hidden)] // The engine has such rows, and stores have.
pub trait Source {
    /// The row of an instance.
    fn instance(&self, id: u64) -> Option<&InstanceRow>;

    /// Whether an instance has a row in a table that passes.
    fn any(&self, table: Table, instance: u64, passes: &dyn Fn(&Row) -> bool) -> bool;
}

/// The answer to a search that makes sense, from these rows of its table, in any order.
#[doc(hidden)] // The engine has such rows, and stores have.
pub fn evaluate<'a>(
    search: &Search,
    rows: impl IntoIterator<Item = &'a Row>,
    source: &dyn Source,
) -> Found {
    let mut all: Vec<Ranked<&Row>> = rows
        .into_iter()
        .filter(|row| search.holds(row, source))
        .map(|row| {
            let about = about(row, source);
            let values = search.sort.iter().map(|it| it.column.rank(row, about)).collect();
            Ranked { values, key: row.key(), row }
        })
        .collect();
    all.sort_by(|one, other| search.order(one.place(), other.place()));
    pick(search, all).map(Row::clone)
}

/// How many rows there are for which a search holds, by what they have in these columns.
pub(crate) fn tally<'a>(
    search: &Search,
    by: &[Column],
    rows: impl IntoIterator<Item = &'a Row>,
    source: &dyn Source,
) -> Vec<Tally> {
    let mut counts: BTreeMap<Vec<Option<Value>>, u64> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| search.holds(row, source)) {
        let about = about(row, source);
        *counts.entry(by.iter().map(|it| it.rank(row, about)).collect()).or_default() += 1;
    }
    counts.into_iter().map(|(of, count)| Tally { of, count }).collect()
}

/// A row and its place.
struct Ranked<R> {
    values: Vec<Option<Value>>,
    key: Key,
    row: R,
}

impl<R> Ranked<R> {
    fn place(&self) -> (&[Option<Value>], &Key) {
        (&self.values, &self.key)
    }
}

/// The page of sorted rows.
fn pick<R>(search: &Search, all: Vec<Ranked<R>>) -> Found<R> {
    let limit = search.limit as usize;
    let at = |cursor: &Cursor, passed: &[Ordering]| {
        let place = (&cursor.values[..], &cursor.key);
        all.partition_point(|it| passed.contains(&search.order(it.place(), place)))
    };
    let (first, end) = match &search.place {
        Place::First => (0, limit),
        Place::After(cursor) => {
            let first = at(cursor, &[Ordering::Less, Ordering::Equal]);
            (first, first.saturating_add(limit))
        }
        Place::Before(cursor) => {
            let end = at(cursor, &[Ordering::Less]);
            (end.saturating_sub(limit), end)
        }
        Place::Skip(rows) => (*rows as usize, (*rows as usize).saturating_add(limit)),
    };
    let has_more =
        if matches!(search.place, Place::Before(_)) { first > 0 } else { end < all.len() };
    let total = search.count.then(|| Total::of(all.len()));
    let mut places = Vec::new();
    let mut rows = Vec::new();
    for it in all.into_iter().take(end).skip(first) {
        places.push((it.values, it.key));
        rows.push(it.row);
    }
    let cursor = |(values, key): (Vec<Option<Value>>, Key)| Cursor::new(search, values, key);
    let end = places.pop();
    let start = if places.is_empty() { end.clone() } else { Some(places.swap_remove(0)) };
    Found { rows, start: start.map(cursor), end: end.map(cursor), has_more, total }
}

impl Search {
    /// Whether all conditions hold for a row.
    pub(crate) fn holds(&self, row: &Row, source: &dyn Source) -> bool {
        let about = about(row, source);
        self.conditions.iter().all(|it| it.holds(row, about, source))
    }

    /// Which of two places comes first.
    fn order(&self, one: (&[Option<Value>], &Key), other: (&[Option<Value>], &Key)) -> Ordering {
        let turned = |order: Ordering, descending| {
            if descending { order.reverse() } else { order }
        };
        let pairs = one.0.iter().zip(other.0).zip(&self.sort);
        let by_values = pairs
            .map(|((one, other), Sort { descending, .. })| turned(one.cmp(other), *descending))
            .find(|it| it.is_ne());
        by_values.unwrap_or_else(|| turned(one.1.cmp(other.1), self.is_key_descending()))
    }

    /// The place of a row that was found, by what it is sorted by.
    pub(crate) fn cursor(&self, row: &Row, values: Vec<Option<Value>>) -> Cursor {
        Cursor::new(self, values, row.key())
    }
}

/// The instance that a row is about. A message, and a timer that starts instances, are about none, whatever has
/// their number.
fn about<'a>(row: &Row, source: &'a dyn Source) -> Option<&'a InstanceRow> {
    let is_about_one = !matches!(row, Row::Message(_) | Row::Instance(_));
    is_about_one.then(|| source.instance(row.key().instance)).flatten()
}

/// The visit that a row belongs to.
fn visit(row: &Row) -> Option<u64> {
    match row {
        Row::Element(it) => Some(it.visit),
        Row::Variable(it) => Some(it.visit),
        Row::Job(it) => Some(it.visit),
        Row::Task(it) => Some(it.visit),
        Row::Timer(it) => Some(it.visit),
        Row::Incident(it) => Some(it.visit),
        Row::Instance(_) | Row::Subscription(_) | Row::Message(_) => None,
    }
}

impl Condition {
    fn holds(&self, row: &Row, about: Option<&InstanceRow>, source: &dyn Source) -> bool {
        match self {
            Self::All(all) => all.iter().all(|it| it.holds(row, about, source)),
            Self::Any(any) => any.iter().any(|it| it.holds(row, about, source)),
            Self::Is(column, test) => test.passes(column.cell(row, about).as_ref()),
            Self::At(table, all) => source.any(*table, row.key().instance, &|other| {
                visit(other) == visit(row) && all.iter().all(|it| it.holds(other, None, source))
            }),
            Self::Has(table, all) => source.any(*table, row.key().instance, &|other| {
                all.iter().all(|it| it.holds(other, None, source))
            }),
        }
    }
}

impl Test {
    /// Whether what is in a column passes; `None` where there is nothing.
    ///
    /// ```
    /// # use travertine_store::search::{Test, Value};
    /// assert!(Test::eq("ann").passes(Some(&Value::from("ann"))));
    /// assert!(Test::neq("ann").passes(None), "nothing is something else");
    /// ```
    pub fn passes(&self, cell: Option<&Value>) -> bool {
        match cell {
            Some(Value::List(items)) => self.passes_list(items),
            Some(value) => self.passes_value(value),
            None => self.denies() || *self == Self::Exists(false),
        }
    }

    /// Whether it holds unless something is there.
    fn denies(&self) -> bool {
        matches!(self, Self::Neq(_) | Self::NotIn(_))
    }

    fn passes_list(&self, items: &[travertine_value::Name]) -> bool {
        let some = |test: &Self| {
            items
                .iter()
                .any(|it| test.passes_value(&Value::Text(travertine_value::Name::clone(it))))
        };
        match self {
            Self::Neq(value) => !some(&Self::Eq(value.clone())),
            Self::NotIn(values) => !some(&Self::In(values.clone())),
            Self::Exists(wanted) => items.is_empty() != *wanted,
            Self::Eq(_)
            | Self::In(_)
            | Self::Like(_)
            | Self::Gt(_)
            | Self::Gte(_)
            | Self::Lt(_)
            | Self::Lte(_) => some(self),
        }
    }

    fn passes_value(&self, cell: &Value) -> bool {
        match self {
            Self::Eq(value) => cell == value,
            Self::Neq(value) => cell != value,
            Self::In(values) => values.contains(cell),
            Self::NotIn(values) => !values.contains(cell),
            Self::Like(pattern) => matches!(cell, Value::Text(it) if pattern.matches(it)),
            Self::Exists(wanted) => *wanted,
            Self::Gt(value) => cell > value,
            Self::Gte(value) => cell >= value,
            Self::Lt(value) => cell < value,
            Self::Lte(value) => cell <= value,
        }
    }
}

impl Column {
    /// What a row is sorted by.
    fn rank(self, row: &Row, about: Option<&InstanceRow>) -> Option<Value> {
        let cell = self.cell(row, about)?;
        if let (Kind::LongText, Value::Text(text)) = (self.kind(), &cell) {
            // As far as every store reads it.
            let head = text.split('\0').next().unwrap_or_default();
            let end = head.char_indices().nth(SORTED_CHARS).map_or(head.len(), |(at, _)| at);
            return Some(Value::from(&head[..end]));
        }
        Some(cell)
    }
}

impl Total {
    /// As far as it is counted.
    pub(crate) fn of(rows: usize) -> Self {
        let count = u32::try_from(rows).unwrap_or(u32::MAX);
        Self { count: count.min(COUNT_MAX), has_more: count > COUNT_MAX }
    }
}

impl<R> Found<R> {
    fn map<T>(self, turn: impl FnMut(R) -> T) -> Found<T> {
        let Self { rows, start, end, has_more, total } = self;
        Found { rows: rows.into_iter().map(turn).collect(), start, end, has_more, total }
    }
}
