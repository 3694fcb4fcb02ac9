//! Lists: filters, order, pages forth and back, counts.

use travertine_data::{json, rows};
use travertine_runtime::Timestamp;
use travertine_store::{
    search::{
        Column, Condition, Era, Found, InstanceColumn, Kind, Pattern, Place, Search, Sort, Test,
        Value as Cell, era_of,
    },
    view::{Row, Table},
};
use travertine_value::{Name, Value, time};

use super::{
    call::{Answer, Call, known},
    problem::Problem,
};
use crate::desk::{Refusal, Seen};

/// How many rows a page has where nobody says, and at most.
const ROWS: u32 = 50;
const ROWS_MAX: u32 = 1_000;

/// Parameters that every list has.
const COMMON: [&str; 7] = ["limit", "after", "before", "skip", "sort", "count", "relaxed"];

/// The parameter of lists that have what is over, too.
const PAST: &str = "past";

/// A list of rows of a table.
#[derive(Debug)]
pub struct Listed {
    pub(super) table: Table,
    /// What the rows stand under.
    pub(super) field: &'static str,
    /// What rows can be found and sorted by.
    pub(super) columns: &'static [(&'static str, Column)],
    /// Parameters of its own.
    pub(super) others: &'static [&'static str],
    /// The order where nobody says: the latest first, or the oldest.
    pub(super) newest_first: bool,
}

impl Listed {
    pub(super) fn parameters(&self) -> Vec<&'static str> {
        let mut all: Vec<&'static str> = COMMON.to_vec();
        all.extend(self.table.past().map(|_| PAST));
        all.extend(self.others);
        for (name, column) in self.columns {
            if column.kind() == Kind::Time {
                // `started_after` and `started_before`, by their names in the table of spans.
                all.extend(
                    SPANS
                        .iter()
                        .filter(|(it, ..)| it == name)
                        .flat_map(|(_, from, to)| [*from, *to]),
                );
            } else {
                all.push(name);
            }
        }
        all
    }

    /// The search that the parameters ask for.
    pub(super) fn search(&self, call: &Call) -> Result<Search, Problem> {
        let mut search = Search::of(self.table).limit(call.number("limit", ROWS, ROWS_MAX)?);
        for (name, column) in self.columns {
            if let Some(text) = call.parameter(name) {
                search.conditions.push(Condition::Is(*column, test(name, column.kind(), text)?));
            }
            if let Some((_, from, to)) = SPANS.iter().find(|(it, ..)| it == name) {
                if let Some(text) = call.parameter(from) {
                    let at = moment(from, text, call)?;
                    search.conditions.push(Condition::Is(*column, Test::Gte(Cell::Time(at))));
                }
                if let Some(text) = call.parameter(to) {
                    let at = moment(to, text, call)?;
                    search.conditions.push(Condition::Is(*column, Test::Lt(Cell::Time(at))));
                }
            }
        }
        search.sort = match call.parameter("sort") {
            Some(text) => {
                text.split(',').map(|it| self.sort(it.trim())).collect::<Result<_, _>>()?
            }
            None if self.newest_first => self.newest(),
            None => Vec::new(),
        };
        let cursor = |name: &str, text: &str| {
            text.parse().map_err(|error| Refusal::invalid(format!("the parameter {name}: {error}")))
        };
        let (after, before, skip) =
            (call.parameter("after"), call.parameter("before"), call.parameter("skip"));
        search.place = match (after, before, skip) {
            (None, None, None) => Place::First,
            (Some(text), None, None) => Place::After(cursor("after", text)?),
            (None, Some(text), None) => Place::Before(cursor("before", text)?),
            (None, None, Some(_)) => Place::Skip(
                call.whole("skip")?.and_then(|it| u32::try_from(it).ok()).unwrap_or(u32::MAX),
            ),
            _ => return Err(Refusal::invalid(
                "a page is after, before or behind so many rows: say one of after, before and skip",
            )
            .into()),
        };
        search.era = self.era(call, &search)?;
        search.count = call.flag("count")?;
        search.relaxed = call.flag("relaxed")?;
        search.check().map_err(travertine_runtime::Error::from)?;
        Ok(search)
    }

    /// Whether it is about what is there or what is over: as somebody says, or as the columns tell.
    fn era(&self, call: &Call, search: &Search) -> Result<Era, Problem> {
        let told = || era_of(&search.conditions).unwrap_or_default();
        match call.parameter(PAST) {
            _ if self.table.past().is_none() => Ok(Era::Present),
            None => Ok(told()),
            Some("false") => Ok(Era::Present),
            Some("true") => Ok(Era::Both),
            Some("only") => Ok(Era::Past),
            Some(other) => Err(Refusal::invalid(format!(
                "the parameter past is true, false or only, not {other:?}"
            ))
            .into()),
        }
    }

    fn newest(&self) -> Vec<Sort> {
        match self.table {
            Table::Instances => vec![Sort { column: InstanceColumn::Id.into(), descending: true }],
            _ => Vec::new(),
        }
    }

    fn sort(&self, text: &str) -> Result<Sort, Problem> {
        let (name, descending) = text.strip_prefix('-').map_or((text, false), |it| (it, true));
        let names: Vec<&str> = self.columns.iter().map(|(it, _)| *it).collect();
        known("column", name, &names)?;
        let found = self.columns.iter().find(|(it, _)| *it == name);
        let (_, column) =
            found.ok_or_else(|| Refusal::invalid(format!("there is no column {name}")))?;
        Ok(Sort { column: *column, descending })
    }

    /// Answers with the rows that a search finds.
    pub(super) async fn answer(&self, call: &Call, search: Search) -> Result<Answer, Problem> {
        let found = call.desk.search(search).await?;
        Ok(Answer::Document(self.document(&found, document)))
    }

    /// The page that was found.
    pub(super) fn document(&self, found: &Found<Seen>, row: impl Fn(&Seen) -> Value) -> Value {
        let all: Value = found.rows.iter().map(row).collect();
        let next = found.end.as_ref().filter(|_| found.has_more).map(ToString::to_string);
        let previous = found.start.as_ref().map(ToString::to_string);
        let total = found
            .total
            .map(|it| json::object([("count", it.count.into()), ("exact", (!it.has_more).into())]));
        json::object([
            (self.field, all),
            ("next", next.into()),
            ("previous", previous.into()),
            ("total", total.into()),
        ])
    }
}

/// A row as a document, with what it is an instance of.
pub(super) fn document(seen: &Seen) -> Value {
    let document = rows::data(&seen.row);
    let Some(about) = &seen.about else { return document };
    let Some(fields) = document.as_map() else { return document };
    let mut fields = fields.clone();
    for (name, value) in [
        ("definition", Value::from(Name::clone(&about.definition))),
        ("version", about.version.into()),
        ("business_id", about.business_id.clone().into()),
    ] {
        fields.entry(name.into()).or_insert(value);
    }
    fields.into()
}

/// Columns of times, and the parameters for the span they must be in.
const SPANS: [(&str, &str, &str); 8] = [
    ("started", "started_after", "started_before"),
    ("ended", "ended_after", "ended_before"),
    ("since", "since_after", "since_before"),
    ("due", "due_after", "due_before"),
    ("follow_up", "follow_up_after", "follow_up_before"),
    ("created", "created_after", "created_before"),
    ("published", "published_after", "published_before"),
    ("died", "died_after", "died_before"),
];

/// What a column must be: one of several words between commas, or a pattern with `*`.
fn test(name: &str, kind: Kind, text: &str) -> Result<Test, Problem> {
    let wrong =
        |wanted: &str| Refusal::invalid(format!("the parameter {name} is {wanted}, not {text:?}"));
    Ok(match kind {
        Kind::Number => {
            let all: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
            one_of(all.map_err(|_| wrong("a number"))?)
        }
        Kind::Bool => Test::eq(text.parse::<bool>().map_err(|_| wrong("true or false"))?),
        Kind::Text | Kind::LongText | Kind::List if text.contains(['*', '?']) => {
            let pattern = Pattern::parse(text).map_err(travertine_runtime::Error::from)?;
            Test::Like(pattern)
        }
        Kind::Text | Kind::LongText | Kind::List => {
            one_of(text.split(',').map(Name::from).collect::<Vec<_>>())
        }
        Kind::Time | Kind::Key => return Err(wrong("no such thing").into()),
    })
}

fn one_of<T: Into<Cell>>(mut all: Vec<T>) -> Test {
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Test::eq(only),
        (last, _) => Test::any_of(all.into_iter().chain(last)),
    }
}

/// A point in time: as a date, or as so long before now.
pub(super) fn moment(name: &str, text: &str, call: &Call) -> Result<Timestamp, Problem> {
    point(text, call.desk.engine().now()).ok_or_else(|| {
        Refusal::invalid(format!(
            "the parameter {name} is a point in time such as 2026-05-17T09:30:00Z, or a span before now such as 2h, \
             not {text:?}"
        ))
        .into()
    })
}

/// The point in time that a text means: a date, or so long before now.
pub(super) fn point(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(due) = time::due(time::Timer::Date, text, Timestamp::default()) {
        return Some(due.at);
    }
    let span = travertine_data::words::span(text).ok()?;
    Some(now.before(span))
}

/// The row, where it is that of an instance.
pub(super) fn instance(row: &Row) -> Option<&travertine_store::view::InstanceRow> {
    if let Row::Instance(it) = row { Some(it) } else { None }
}
