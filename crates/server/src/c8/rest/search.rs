//! Searches: filters, order and pages on the wire become searches of ours.
//!
//! Each resource has a table of the fields that can be named. What cannot be filtered by is refused, as an ignored
//! filter would find more than was asked for.

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use travertine_kernel::WaitId;
use travertine_runtime::{Address, InstanceId, Key, Named};
use travertine_store::{
    search::{Column, Condition, Cursor, Era, Found, Place, Search, Sort, Test, Value, era_of},
    view::Table,
};
use travertine_value::Name;

use super::{
    Answer,
    read::{date, read_if_any},
    write::{Fields, TENANT},
};
use crate::desk::Refusal;

/// How many clauses a filter may have.
const CLAUSES_MAX: usize = 50;
/// How many values one of them may have.
const VALUES_MAX: usize = 1_000;

/// What a resource can be searched by.
pub(super) struct Resource {
    pub(super) table: Table,
    pub(super) filters: &'static [(&'static str, Of)],
    /// Rows are all the same by what has no column.
    pub(super) sorts: &'static [(&'static str, Option<Column>)],
}

/// What a field of a filter is about.
#[derive(Clone, Copy)]
pub(super) enum Of {
    Text(Column),
    Int(Column),
    Flag(Column),
    Date(Column),
    /// A key, and what of it is in the column.
    Key(Column, fn(Named) -> Option<Value>),
    /// Words of theirs, and what ours of the same meaning are.
    Word(Column, &'static [(&'static str, &'static [&'static str])]),
    /// Whether there is something in the column.
    Some(Column),
    /// This text in all rows; nothing, where it is `None`.
    Fixed(Option<&'static str>),
    /// This one of these words in all rows.
    FixedWord(&'static str, &'static [(&'static str, &'static [&'static str])]),
    /// False in all rows.
    Never,
    /// Says nothing about rows.
    Ignored,
    /// What must hold is worked out.
    Made(fn(&str, Json) -> Result<Vec<Condition>, Refusal>),
    /// Variables of the instance.
    Variables,
}

/// The key of an instance.
pub(super) fn instance(named: Named) -> Option<Value> {
    if let Named::Instance(id) = named { Some(id.0.into()) } else { None }
}

/// The key of a process definition.
pub(super) fn definition(named: Named) -> Option<Value> {
    if let Named::Definition(number) = named { Some(number.into()) } else { None }
}

/// The key of an element instance; the process instance is one.
pub(super) fn visit(named: Named) -> Option<Value> {
    match named {
        Named::Instance(id) => Some((id.0, 0).into()),
        Named::Visit(id, number) => Some((id.0, number).into()),
        _ => None,
    }
}

/// The key of a job, a user task, a subscription.
pub(super) fn wait(named: Named) -> Option<Value> {
    if let Named::Wait(it) = named { Some((it.instance.0, it.wait.0).into()) } else { None }
}

/// A stay at an element; the process instance itself, where it is at none.
pub(super) fn stay(instance: u64, visit: u64) -> Named {
    let instance = InstanceId(instance);
    if visit == 0 { Named::Instance(instance) } else { Named::Visit(instance, visit) }
}

/// What a wait is called.
pub(super) fn waiting(instance: u64, wait: u64) -> Named {
    Named::Wait(Address { instance: InstanceId(instance), wait: WaitId(wait) })
}

pub(super) fn variable(named: Named) -> Option<Value> {
    if let Named::Variable(id, number) = named { Some((id.0, number).into()) } else { None }
}

pub(super) fn incident(named: Named) -> Option<Value> {
    if let Named::Incident(id, number) = named { Some((id.0, number).into()) } else { None }
}

#[derive(Default, Deserialize)]
struct Body {
    filter: Option<Map<String, Json>>,
    sort: Option<Vec<SortBody>>,
    page: Option<PageBody>,
}

#[derive(Deserialize)]
pub(super) struct SortBody {
    pub(super) field: String,
    pub(super) order: Option<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct PageBody {
    pub(super) limit: Option<i64>,
    pub(super) from: Option<i64>,
    pub(super) after: Option<String>,
    pub(super) before: Option<String>,
}

/// What a body asks for, before it is known which rows are meant.
pub(super) struct Asked(Body);

impl Asked {
    pub(super) fn read(body: &[u8]) -> Result<Self, Refusal> {
        read_if_any(body).map(Self)
    }

    /// The key of the one instance that is asked for, where what is over is asked for, too.
    pub(super) fn instance_with_past(&self) -> Option<i64> {
        let filter = self.0.filter.as_ref()?;
        let plain = |name: &str| match filter.get(name)? {
            Json::Object(operators) if operators.len() == 1 => operators.get("$eq"),
            other => Some(other),
        };
        let is_active = |it: &Json| it.as_str().is_some_and(|it| it.eq_ignore_ascii_case("ACTIVE"));
        if plain("state").is_some_and(is_active) {
            return None;
        }
        key("processInstanceKey", plain("processInstanceKey")?).ok()
    }

    pub(super) fn parts(self) -> (Map<String, Json>, Vec<SortBody>, PageBody) {
        let Self(Body { filter, sort, page }) = self;
        (filter.unwrap_or_default(), sort.unwrap_or_default(), page.unwrap_or_default())
    }

    /// The search for rows of a resource.
    pub(super) fn search(self, resource: &Resource) -> Result<Search, Refusal> {
        let (filter, sort, page) = self.parts();
        let mut reader = Reader { resource, clauses: 0 };
        let mut search = Search::of(resource.table).counted();
        search.conditions = reader.filter(filter)?;
        if resource.table.past().is_some() {
            // Their searches find what is over as well, where nothing says otherwise.
            search.era = era_of(&search.conditions).unwrap_or(Era::Both);
        }
        for SortBody { field, order } in sort {
            let found = resource.sorts.iter().find(|(name, _)| *name == field);
            let Some((_, column)) = found else {
                let known: Vec<&str> = resource.sorts.iter().map(|(name, _)| *name).collect();
                return Err(cannot("sorted", &field, &known));
            };
            let descending = descending(order.as_deref())?;
            search.sort.extend(column.map(|column| Sort { column, descending }));
        }
        if let Some(limit) = page.limit {
            search.limit = number("limit", limit)?;
        }
        search.place = match (page.after, page.before, page.from) {
            (None, None, None) => Place::First,
            (Some(after), None, None) => Place::After(came(&after)?),
            (None, Some(before), None) => Place::Before(came(&before)?),
            (None, None, Some(from)) => Place::Skip(number("from", from)?),
            _ => return Err(Refusal::invalid("a page is told by one of after, before and from")),
        };
        search.check().map_err(refused)?;
        Ok(search)
    }
}

pub(super) fn refused(error: travertine_store::Error) -> Refusal {
    Refusal::from(travertine_runtime::Error::from(error))
}

pub(super) fn number(name: &str, it: i64) -> Result<u32, Refusal> {
    u32::try_from(it).map_err(|_| {
        Refusal::invalid(format!("the page's {name} is {it}, which is no number of rows"))
    })
}

pub(super) fn descending(order: Option<&str>) -> Result<bool, Refusal> {
    match order {
        None => Ok(false),
        Some(it) if it.eq_ignore_ascii_case("ASC") => Ok(false),
        Some(it) if it.eq_ignore_ascii_case("DESC") => Ok(true),
        Some(other) => Err(Refusal::invalid(format!("the order is ASC or DESC, not {other:?}"))),
    }
}

pub(super) fn cannot(what: &str, field: &str, known: &[&str]) -> Refusal {
    Refusal::invalid(format!("these cannot be {what} by {field:?}, only by {}", known.join(", ")))
}

struct Reader<'a> {
    resource: &'a Resource,
    clauses: usize,
}

impl Reader<'_> {
    fn filter(&mut self, filter: Map<String, Json>) -> Result<Vec<Condition>, Refusal> {
        let mut all = Vec::new();
        for (name, wanted) in filter {
            if wanted.is_null() {
                continue;
            }
            if name == "$or" {
                let ways = alternatives(wanted)?.into_iter().map(|it| self.filter(it));
                let any = ways.map(|it| it.map(Condition::All)).collect::<Result<Vec<_>, _>>()?;
                if !any.is_empty() {
                    all.push(Condition::Any(any));
                }
                continue;
            }
            count(1, &mut self.clauses)?;
            let found = self.resource.filters.iter().find(|(it, _)| *it == name);
            let Some((name, of)) = found else {
                let known: Vec<&str> = self.resource.filters.iter().map(|(it, _)| *it).collect();
                return Err(cannot("filtered", &name, &known));
            };
            clause(name, *of, wanted, &mut all)?;
        }
        Ok(all)
    }
}

fn clause(name: &str, of: Of, wanted: Json, all: &mut Vec<Condition>) -> Result<(), Refusal> {
    let text = |it: &Json| text(name, it).map(|it| vec![Value::Text(it)]);
    match of {
        Of::Text(column) => all.extend(conditions(column, tests(name, wanted, &text)?)),
        Of::Int(column) => {
            let int = |it: &Json| match it.as_i64() {
                Some(it) => Ok(vec![Value::Number(it)]),
                None => Err(wrong(name, it, "a whole number")),
            };
            all.extend(conditions(column, tests(name, wanted, &int)?));
        }
        Of::Flag(column) => {
            all.extend(conditions(column, tests(name, wanted, &|it| flag(name, it))?));
        }
        Of::Date(column) => {
            let time = |it: &Json| match it {
                Json::String(text) => Ok(vec![Value::Time(date(text)?)]),
                other => Err(wrong(name, other, "a date as text")),
            };
            all.extend(conditions(column, tests(name, wanted, &time)?));
        }
        Of::Key(column, part) => {
            let key = |it: &Json| {
                let none = if column.kind() == travertine_store::search::Kind::Key {
                    Value::Key(0, 0)
                } else {
                    Value::Number(-1)
                };
                let named = Key::read(key(name, it)?);
                // A key of another kind is nobody's.
                Ok(vec![named.and_then(part).unwrap_or(none)])
            };
            all.extend(conditions(column, tests(name, wanted, &key)?));
        }
        Of::Word(column, words) => {
            let found = words_of(name, words, wanted)?;
            all.extend(conditions(column, found));
        }
        Of::Fixed(value) => {
            let value = value.map(Value::from);
            // What nothing has can be of any kind.
            let any = |it: &Json| match it {
                Json::Number(_) | Json::Bool(_) if value.is_none() => {
                    Ok(vec![Value::Text(it.to_string().into())])
                }
                other => text(other),
            };
            all.extend(fixed(&tests(name, wanted, &any)?, value.as_ref()));
        }
        Of::Some(column) => {
            let tests = tests(name, wanted, &|it| flag(name, it))?;
            let holds = |there: bool| tests.iter().all(|it| it.passes(Some(&there.into())));
            all.extend(match (holds(true), holds(false)) {
                (true, true) => None,
                (false, false) => Some(Condition::Any(Vec::new())),
                (there, _) => Some(Condition::Is(column, Test::Exists(there))),
            });
        }
        Of::FixedWord(value, words) => {
            let tests = words_of(name, words, wanted)?;
            all.extend(fixed(&tests, Some(&value.into())));
        }
        Of::Ignored => {}
        Of::Made(make) => all.extend(make(name, wanted)?),
        Of::Never => {
            let tests = tests(name, wanted, &|it| flag(name, it))?;
            all.extend(fixed(&tests, Some(&Value::Bool(false))));
        }
        Of::Variables => {
            let Json::Array(variables) = wanted else {
                return Err(wrong(name, &wanted, "a list of names and values"));
            };
            for mut it in variables {
                let variable = it.get("name").and_then(Json::as_str).map(Name::from);
                let value = it.get_mut("value").map(Json::take);
                let (Some(variable), Some(value)) = (variable, value) else {
                    return Err(wrong(name, &it, "a variable's name and value"));
                };
                for test in tests(name, value, &text)? {
                    all.push(Condition::variable(Name::clone(&variable), test));
                }
            }
        }
    }
    Ok(())
}

/// Refuses a filter that has more clauses than it may have.
pub(super) fn count(more: usize, clauses: &mut usize) -> Result<(), Refusal> {
    *clauses += more;
    if *clauses <= CLAUSES_MAX {
        return Ok(());
    }
    Err(Refusal::invalid(format!("a filter has at most {CLAUSES_MAX} clauses")))
}

/// The filters one of which must hold.
pub(super) fn alternatives(wanted: Json) -> Result<Vec<Map<String, Json>>, Refusal> {
    let wrong = || Refusal::invalid("$or is a list of filters");
    let Json::Array(ways) = wanted else { return Err(wrong()) };
    let object = |it| if let Json::Object(it) = it { Ok(it) } else { Err(wrong()) };
    ways.into_iter().map(object).collect()
}

fn conditions(column: Column, tests: Vec<Test>) -> impl Iterator<Item = Condition> {
    tests.into_iter().map(move |it| Condition::Is(column, it))
}

/// What holds for every row needs no test, and what holds for none is a condition that nothing meets.
fn fixed(tests: &[Test], value: Option<&Value>) -> Option<Condition> {
    let holds = tests.iter().all(|it| it.passes(value));
    (!holds).then(|| Condition::Any(Vec::new()))
}

/// Reads a plain value, or an object of operators. One value of theirs can be several of ours.
pub(super) fn tests(
    name: &str,
    wanted: Json,
    convert: &dyn Fn(&Json) -> Result<Vec<Value>, Refusal>,
) -> Result<Vec<Test>, Refusal> {
    let Json::Object(operators) = wanted else {
        return Ok(vec![one_of(convert(&wanted)?)]);
    };
    let mut all = Vec::new();
    for (operator, wanted) in operators {
        if wanted.is_null() {
            continue;
        }
        let several = || -> Result<Vec<Value>, Refusal> {
            let Json::Array(list) = &wanted else {
                return Err(wrong(&format!("{name} {operator}"), &wanted, "a list"));
            };
            if list.len() > VALUES_MAX {
                let detail = format!("{operator} of {name} has more than {VALUES_MAX} values");
                return Err(Refusal::invalid(detail));
            }
            let lists: Vec<Vec<Value>> = list.iter().map(convert).collect::<Result<_, _>>()?;
            Ok(lists.concat())
        };
        let single = || -> Result<Value, Refusal> {
            let mut values = convert(&wanted)?;
            match values.len() {
                1 => Ok(values.remove(0)),
                _ => Err(Refusal::invalid(format!("{name} cannot be tested by {operator}"))),
            }
        };
        all.push(match operator.as_str() {
            "$eq" => one_of(convert(&wanted)?),
            "$neq" => none_of(convert(&wanted)?),
            "$in" => Test::In(several()?),
            "$notIn" => Test::NotIn(several()?),
            "$like" => Test::like(text(name, &wanted)?).map_err(refused)?,
            "$exists" => match &wanted {
                Json::Bool(it) => Test::Exists(*it),
                other => return Err(wrong(&format!("{name} $exists"), other, "true or false")),
            },
            "$gt" => Test::Gt(single()?),
            "$gte" => Test::Gte(single()?),
            "$lt" => Test::Lt(single()?),
            "$lte" => Test::Lte(single()?),
            other => {
                let detail = format!(
                    "{name} cannot be tested by {other}, only by $eq, $neq, $exists, $in, $notIn, $like, $gt, \
                     $gte, $lt and $lte"
                );
                return Err(Refusal::invalid(detail));
            }
        });
    }
    Ok(all)
}

fn one_of(mut values: Vec<Value>) -> Test {
    if values.len() == 1 { Test::Eq(values.remove(0)) } else { Test::In(values) }
}

fn none_of(mut values: Vec<Value>) -> Test {
    if values.len() == 1 { Test::Neq(values.remove(0)) } else { Test::NotIn(values) }
}

/// Tests for words of theirs, in any case. A pattern stands for those that are like it.
fn words_of(
    name: &str,
    words: &[(&'static str, &'static [&'static str])],
    mut wanted: Json,
) -> Result<Vec<Test>, Refusal> {
    let ours = |passes: &dyn Fn(&str) -> bool| -> Vec<Value> {
        let found = words.iter().filter(|(theirs, _)| passes(theirs));
        found.flat_map(|(_, ours)| ours.iter().map(|it| Value::from(*it))).collect()
    };
    let like = wanted.as_object_mut().and_then(|it| it.remove("$like"));
    let convert = |it: &Json| {
        let word = text(name, it)?;
        if !words.iter().any(|(theirs, _)| theirs.eq_ignore_ascii_case(&word)) {
            let known: Vec<&str> = words.iter().map(|(theirs, _)| *theirs).collect();
            let detail = format!("{name} is one of {}, not {word:?}", known.join(", "));
            return Err(Refusal::invalid(detail));
        }
        Ok(ours(&|theirs| theirs.eq_ignore_ascii_case(&word)))
    };
    let mut all = tests(name, wanted, &convert)?;
    if let Some(like) = like {
        let pattern = text(name, &like)?.to_uppercase();
        let Test::Like(pattern) = Test::like(pattern).map_err(refused)? else { return Ok(all) };
        all.push(Test::In(ours(&|theirs| pattern.matches(theirs))));
    }
    Ok(all)
}

/// What holds for one of the words that pass. The words are told in any case.
pub(super) fn one_of_words(
    name: &str,
    wanted: Json,
    words: impl IntoIterator<Item = (&'static str, Condition)>,
) -> Result<Vec<Condition>, Refusal> {
    let words: Vec<(&str, Condition)> = words.into_iter().collect();
    let convert = |it: &Json| {
        let said = text(name, it)?;
        let Some((word, _)) = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(&said))
        else {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            return Err(Refusal::invalid(format!(
                "{name} is one of {}, not {said:?}",
                known.join(", ")
            )));
        };
        Ok(vec![Value::from(*word)])
    };
    let tests = tests(name, wanted, &convert)?;
    let passes = |word: &str| tests.iter().all(|test| test.passes(Some(&word.into())));
    let held = words.into_iter().filter(|(word, _)| passes(word)).map(|(_, it)| it);
    Ok(vec![Condition::Any(held.collect())])
}

pub(super) fn text(name: &str, it: &Json) -> Result<Name, Refusal> {
    match it {
        Json::String(text) => Ok(text.as_str().into()),
        other => Err(wrong(name, other, "a text")),
    }
}

pub(super) fn flag(name: &str, it: &Json) -> Result<Vec<Value>, Refusal> {
    match it {
        Json::Bool(it) => Ok(vec![Value::Bool(*it)]),
        other => Err(wrong(name, other, "true or false")),
    }
}

pub(super) fn key(name: &str, it: &Json) -> Result<i64, Refusal> {
    let number = match it {
        Json::String(text) => text.parse().ok(),
        Json::Number(number) => number.as_i64(),
        _ => None,
    };
    number.ok_or_else(|| wrong(name, it, "a key, which is a whole number as text"))
}

pub(super) fn wrong(name: &str, it: &Json, wanted: &str) -> Refusal {
    let mut shown = it.to_string();
    if shown.len() > 100 {
        shown = shown.chars().take(100).chain(['…']).collect();
    }
    Refusal::invalid(format!("{name} is {wanted}, not {shown}"))
}

/// The answer to a search.
pub(super) fn answer<R>(found: &Found<R>, mut write: impl FnMut(&mut Fields<'_>, &R)) -> Answer {
    Answer::object(|it| {
        it.list("items", &found.rows, |it, row| write(it, row));
        it.object("page", |it| {
            let total = found.total;
            it.int("totalItems", total.map_or(0, |it| it.count));
            it.flag("hasMoreTotalItems", total.is_some_and(|it| it.has_more));
            it.text_or_null("startCursor", found.start.as_ref().map(sent).as_deref());
            it.text_or_null("endCursor", found.end.as_ref().map(sent).as_deref());
        });
    })
}

/// A cursor as clients want it: plain base64, with padding.
fn sent(cursor: &Cursor) -> String {
    let mut text = cursor.to_string().replace('-', "+").replace('_', "/");
    text.extend(std::iter::repeat_n('=', text.len().wrapping_neg() % 4));
    text
}

fn came(text: &str) -> Result<Cursor, Refusal> {
    let text = text.trim_end_matches('=').replace('+', "-").replace('/', "_");
    text.parse().map_err(refused)
}

/// The one tenant, as a filter.
pub(super) const TENANT_FILTER: (&str, Of) = ("tenantId", Of::Fixed(Some(TENANT)));
