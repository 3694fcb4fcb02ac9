//! Searches among what is in memory: what is deployed.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value as Json};
use travertine_runtime::{Key, Named};
use travertine_store::search::{LIMIT_MAX, SORT_MAX, Test, Value};

use super::{
    Answer,
    read::date,
    search::{
        Asked, PageBody, SortBody, alternatives, cannot, count, descending, flag, key, number,
        tests, text, wrong,
    },
    write::Fields,
};
use crate::desk::{Refusal, off_the_executor};

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Text,
    Int,
    Flag,
    Key,
    Date,
    /// One of these words, which are said in any case.
    Word(&'static [&'static str]),
}

/// A field of what is listed.
pub(super) struct ListField<T> {
    pub(super) name: &'static str,
    pub(super) holds: Holds,
    pub(super) filters: bool,
    pub(super) sorts: bool,
    pub(super) value: fn(&T) -> Option<Value>,
}

/// A key as a number that can be compared.
pub(super) fn key_of(named: Named) -> Option<Value> {
    Key::of(named).map(|it| Value::Number(it.number()))
}

/// A page of what was found.
pub(super) struct Listed<T> {
    items: Vec<T>,
    total: usize,
    start: Option<String>,
    end: Option<String>,
}

/// What picks a page out of items.
pub(super) struct Picker<T: 'static> {
    holds: Vec<Holding<T>>,
    by: Vec<(&'static ListField<T>, bool)>,
    page: PageBody,
}

impl Asked {
    /// What picks the page that is asked for.
    pub(super) fn picker<T>(self, fields: &'static [ListField<T>]) -> Result<Picker<T>, Refusal> {
        let (filter, sort, page) = self.parts();
        let holds = conditions(filter, fields, &mut 0)?;
        if sort.len() > SORT_MAX {
            return Err(Refusal::invalid(format!("a list is sorted by at most {SORT_MAX} fields")));
        }
        let mut by = Vec::new();
        for SortBody { field, order } in sort {
            let Some(it) = fields.iter().find(|it| it.sorts && it.name == field) else {
                let known: Vec<&str> =
                    fields.iter().filter(|it| it.sorts).map(|it| it.name).collect();
                return Err(cannot("sorted", &field, &known));
            };
            by.push((it, descending(order.as_deref())?));
        }
        Ok(Picker { holds, by, page })
    }
}

impl<T: Send + 'static> Picker<T> {
    /// Whether an item is meant.
    pub(super) fn has(&self, item: &T) -> bool {
        self.holds.iter().all(|it| it.holds(item))
    }

    /// Picks the page out of all items. `name` tells items apart.
    pub(super) async fn pick(
        self,
        mut items: Vec<T>,
        name: fn(&T) -> Named,
    ) -> Result<Listed<T>, Refusal> {
        off_the_executor(move || {
            items.retain(|it| self.has(it));
            items.sort_by(|one, other| {
                let by_values = self.by.iter().map(|(by, descending)| {
                    let order = (by.value)(one).cmp(&(by.value)(other));
                    if *descending { order.reverse() } else { order }
                });
                let by_key = || name(one).cmp(&name(other));
                by_values.into_iter().find(|it| it.is_ne()).unwrap_or_else(by_key)
            });
            page_of(items, self.page, name)
        })
        .await
    }
}

/// Something that must hold for an item.
enum Holding<T: 'static> {
    Is(&'static ListField<T>, Vec<Test>),
    Any(Vec<Vec<Self>>),
}

impl<T> Holding<T> {
    fn holds(&self, item: &T) -> bool {
        match self {
            Self::Is(field, tests) => {
                let value = (field.value)(item);
                tests.iter().all(|test| test.passes(value.as_ref()))
            }
            Self::Any(ways) => ways.iter().any(|all| all.iter().all(|it| it.holds(item))),
        }
    }
}

fn conditions<T>(
    filter: Map<String, Json>,
    fields: &'static [ListField<T>],
    clauses: &mut usize,
) -> Result<Vec<Holding<T>>, Refusal> {
    let mut all = Vec::new();
    for (name, wanted) in filter {
        if wanted.is_null() {
            continue;
        }
        if name == "$or" {
            let ways = alternatives(wanted)?;
            // One that says nothing has no clauses, and is one all the same.
            count(ways.iter().filter(|it| it.is_empty()).count(), clauses)?;
            let ways = ways.into_iter().map(|it| conditions(it, fields, clauses));
            let ways = ways.collect::<Result<Vec<_>, _>>()?;
            all.extend((!ways.is_empty()).then_some(Holding::Any(ways)));
            continue;
        }
        count(1, clauses)?;
        let Some(field) = fields.iter().find(|it| it.filters && it.name == name) else {
            let known: Vec<&str> =
                fields.iter().filter(|it| it.filters).map(|it| it.name).collect();
            return Err(cannot("filtered", &name, &known));
        };
        all.push(Holding::Is(field, field.tests(wanted)?));
    }
    Ok(all)
}

fn page_of<T>(items: Vec<T>, page: PageBody, name: fn(&T) -> Named) -> Result<Listed<T>, Refusal> {
    let limit = page.limit.map_or(Ok(100), |it| number("limit", it))?;
    if limit == 0 || limit > LIMIT_MAX {
        return Err(Refusal::invalid(format!("a page has 1 to {LIMIT_MAX} items, not {limit}")));
    }
    let limit = limit as usize;
    let place = |cursor: &str| {
        let stale = || {
            Refusal::invalid(
                "the cursor is of another search, or what it was at is gone: begin anew",
            )
        };
        let key = STANDARD.decode(cursor).ok().and_then(|it| String::from_utf8(it).ok());
        let named = key.and_then(|it| it.parse().ok()).and_then(Key::read).ok_or_else(stale)?;
        items.iter().position(|it| name(it) == named).ok_or_else(stale)
    };
    let (first, end) = match (page.after, page.before, page.from) {
        (None, None, None) => (0, limit),
        (Some(after), None, None) => {
            let first = place(&after)? + 1;
            (first, first + limit)
        }
        (None, Some(before), None) => {
            let end = place(&before)?;
            (end.saturating_sub(limit), end)
        }
        (None, None, Some(from)) => {
            let first = number("from", from)? as usize;
            (first, first + limit)
        }
        _ => return Err(Refusal::invalid("a page is told by one of after, before and from")),
    };
    let total = items.len();
    let items: Vec<T> = items.into_iter().take(end).skip(first).collect();
    let cursor = |it: &T| Key::of(name(it)).map(|it| STANDARD.encode(it.to_string()));
    let (start, end) = (items.first().and_then(cursor), items.last().and_then(cursor));
    Ok(Listed { items, total, start, end })
}

impl<T> ListField<T> {
    fn tests(&self, wanted: Json) -> Result<Vec<Test>, Refusal> {
        let name = self.name;
        let holds = self.holds;
        tests(name, wanted, &|it| match holds {
            Holds::Text => text(name, it).map(|it| vec![Value::Text(it)]),
            Holds::Int => match it.as_i64() {
                Some(it) => Ok(vec![Value::Number(it)]),
                None => Err(wrong(name, it, "a whole number")),
            },
            Holds::Flag => flag(name, it),
            Holds::Date => date(&text(name, it)?).map(|it| vec![Value::Time(it)]),
            Holds::Key => key(name, it).map(|it| vec![Value::Number(it)]),
            Holds::Word(words) => {
                let said = text(name, it)?;
                let Some(word) = words.iter().find(|it| it.eq_ignore_ascii_case(&said)) else {
                    let detail = format!("{name} is one of {}, not {said:?}", words.join(", "));
                    return Err(Refusal::invalid(detail));
                };
                Ok(vec![Value::from(*word)])
            }
        })
    }
}

impl<T> Listed<T> {
    pub(super) fn answer(&self, mut write: impl FnMut(&mut Fields<'_>, &T)) -> Answer {
        Answer::object(|it| {
            it.list("items", &self.items, |it, item| write(it, item));
            it.object("page", |it| {
                it.int("totalItems", i64::try_from(self.total).unwrap_or(i64::MAX));
                it.flag("hasMoreTotalItems", false);
                it.text_or_null("startCursor", self.start.as_deref());
                it.text_or_null("endCursor", self.end.as_deref());
            });
        })
    }
}
