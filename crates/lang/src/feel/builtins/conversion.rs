//! From one kind of value to another.

use std::sync::Arc;

use travertine_value::{Number, Value};

use super::{
    super::{
        names::Names,
        parser,
        range::{End, Range},
        temporal::{Date, DateTime, DaysDuration, Time, YearsDuration, Zone},
        tree::{EndOf, Expr, RangeOf},
        value::FeelValue,
    },
    Answer, Args, Entry, Fault,
    args::wrong,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("date(from)", date),
    ("date(year, month, day)", date_of_parts),
    ("time(from)", time),
    ("time(hour, minute, second, offset?)", time_of_parts),
    ("date and time(from)", date_time),
    ("date and time(date, time)", date_time_of_parts),
    ("date and time(date, timezone)", date_time_of_parts),
    ("date and time(year, month, day, hour, minute, second, offset?)", date_time_of_numbers),
    ("duration(from)", duration),
    ("years and months duration(from, to)", years_and_months),
    ("number(from)", number),
    ("number(from, grouping separator, decimal separator?)", number_with_separators),
    ("string(from)", string),
    ("range(from)", range),
    ("to json(value)", |args| Ok(args.value(0).to_value().to_json().into())),
    ("from json(value)", from_json),
];

fn malformed(what: &str, text: &str) -> Fault {
    let shown: String = text.chars().take(60).collect();
    Fault::argument(format!("not {what}: \"{shown}\""))
}

fn date(args: &mut Args<'_, '_, '_>) -> Answer {
    match args.value(0).unwrap_singleton() {
        FeelValue::String(text) => {
            Date::parse(&text).map(Into::into).ok_or_else(|| malformed("a date", &text))
        }
        FeelValue::Date(date) => Ok(date.into()),
        FeelValue::DateTime(it) => Ok(it.date().into()),
        other => Err(wrong(&other, "a string or a date and time")),
    }
}

fn date_of_parts(args: &mut Args<'_, '_, '_>) -> Answer {
    let date = Date::new(whole(args, 0)?, whole(args, 1)?, whole(args, 2)?);
    date.map(Into::into).ok_or_else(|| Fault::argument("there is no such day"))
}

fn whole(args: &Args<'_, '_, '_>, index: usize) -> Result<i64, Fault> {
    let number = args.number(index)?;
    number.to_i64().ok_or_else(|| Fault::argument(format!("not a whole number: {number}")))
}

fn time(args: &mut Args<'_, '_, '_>) -> Answer {
    match args.value(0).unwrap_singleton() {
        FeelValue::String(text) => {
            Time::parse(&text).map(Into::into).ok_or_else(|| malformed("a time", &text))
        }
        FeelValue::Time(time) => Ok(time.into()),
        FeelValue::DateTime(it) => Ok(it.time().clone().into()),
        FeelValue::Date(_) => Ok(Time::midnight(Zone::UTC).into()),
        other => Err(wrong(&other, "a string or a date and time")),
    }
}

fn time_of_parts(args: &mut Args<'_, '_, '_>) -> Answer {
    time_from(args, 0).map(Into::into)
}

/// The time from hour, minute, second and offset at this argument and behind it.
fn time_from(args: &Args<'_, '_, '_>, first: usize) -> Result<Time, Fault> {
    let (hour, minute) = (whole(args, first)?, whole(args, first + 1)?);
    let second = args.number(first + 2)?;
    let zone = match args.given(first + 3) {
        None => Zone::Local,
        Some(FeelValue::DaysDuration(offset)) => Zone::from_offset(offset.seconds())
            .ok_or_else(|| Fault::argument("the offset is too large"))?,
        Some(other) => return Err(wrong(&other, "a days and time duration")),
    };
    let nanos = DaysDuration::from_number(second).map(DaysDuration::nanos);
    let no_such_time = || Fault::argument("there is no such time");
    let nanos = nanos.and_then(|it| i64::try_from(it).ok()).ok_or_else(no_such_time)?;
    let (second, nanos) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    Time::new(hour, minute, second, nanos, zone).ok_or_else(no_such_time)
}

fn date_time(args: &mut Args<'_, '_, '_>) -> Answer {
    match args.value(0).unwrap_singleton() {
        FeelValue::String(text) => {
            let parsed = DateTime::parse(&text).map(Into::into);
            parsed.ok_or_else(|| malformed("a date and time", &text))
        }
        FeelValue::DateTime(it) => Ok(FeelValue::DateTime(it)),
        FeelValue::Date(date) => Ok(DateTime::new(date, Time::midnight(Zone::UTC)).into()),
        other => Err(wrong(&other, "a string")),
    }
}

fn date_time_of_parts(args: &mut Args<'_, '_, '_>) -> Answer {
    let first = args.value(0).unwrap_singleton();
    let date = match &first {
        FeelValue::Date(date) => *date,
        FeelValue::DateTime(it) => it.date(),
        other => return Err(wrong(other, "a date or a date and time")),
    };
    match (args.value(1).unwrap_singleton(), &first) {
        (FeelValue::Time(time), _) => Ok(DateTime::new(date, time).into()),
        // The same moment elsewhere.
        (FeelValue::String(zone), FeelValue::DateTime(it)) => {
            let zone = Zone::from_name(&zone).ok_or_else(|| malformed("a time zone", &zone))?;
            let moved = if *it.zone() == Zone::Local {
                Some(DateTime::new(it.date(), it.time().with_zone(zone)))
            } else {
                it.in_zone(zone)
            };
            moved.map(Into::into).ok_or_else(|| Fault::argument("out of range"))
        }
        (other, _) => Err(wrong(&other, "a time")),
    }
}

fn date_time_of_numbers(args: &mut Args<'_, '_, '_>) -> Answer {
    let date = Date::new(whole(args, 0)?, whole(args, 1)?, whole(args, 2)?);
    let date = date.ok_or_else(|| Fault::argument("there is no such day"))?;
    Ok(DateTime::new(date, time_from(args, 3)?).into())
}

fn duration(args: &mut Args<'_, '_, '_>) -> Answer {
    match args.value(0).unwrap_singleton() {
        FeelValue::String(text) => {
            let days = DaysDuration::parse(&text).map(FeelValue::from);
            let years = || YearsDuration::parse(&text).map(FeelValue::from);
            days.or_else(years).ok_or_else(|| malformed("a duration", &text))
        }
        it @ (FeelValue::DaysDuration(_) | FeelValue::YearsDuration(_)) => Ok(it),
        other => Err(wrong(&other, "a string")),
    }
}

fn years_and_months(args: &mut Args<'_, '_, '_>) -> Answer {
    let day = |index| match args.value(index).unwrap_singleton() {
        FeelValue::Date(date) => Ok(date),
        FeelValue::DateTime(it) => Ok(it.date()),
        other => Err(wrong(&other, "a date or a date and time")),
    };
    Ok(day(0)?.months_until(day(1)?).into())
}

fn number(args: &mut Args<'_, '_, '_>) -> Answer {
    match args.value(0).unwrap_singleton() {
        FeelValue::Number(number) => Ok(number.into()),
        FeelValue::String(text) => parse_number(&text),
        other => Err(wrong(&other, "a string")),
    }
}

fn parse_number(text: &str) -> Answer {
    let parsed = Number::parse_rounded(text.trim());
    parsed.map(Into::into).map_err(|_| malformed("a number", text))
}

fn number_with_separators(args: &mut Args<'_, '_, '_>) -> Answer {
    let text = args.string(0)?;
    let separator = |index: usize, allowed: &[&str]| match args.given(index) {
        None => Ok(None),
        Some(FeelValue::String(it)) if allowed.contains(&&*it) => Ok(Some(it)),
        Some(FeelValue::String(it)) => Err(malformed("a separator", &it)),
        Some(other) => Err(wrong(&other, "a string")),
    };
    let grouping = separator(1, &[" ", ".", ","])?;
    let decimal = separator(2, &[".", ","])?;
    if grouping.is_some() && grouping == decimal {
        return Err(Fault::argument("both separators are the same"));
    }
    let plain = match &grouping {
        Some(grouping) => text.replace(&**grouping, ""),
        None => text.to_string(),
    };
    let plain = match &decimal {
        Some(decimal) if **decimal != *"." && plain.contains('.') => {
            return Err(malformed("a number", &text));
        }
        Some(decimal) => plain.replace(&**decimal, "."),
        None => plain,
    };
    parse_number(&plain).map_err(|_| malformed("a number", &text))
}

fn string(args: &mut Args<'_, '_, '_>) -> Answer {
    match args.value(0) {
        FeelValue::Null => Err(wrong(&FeelValue::Null, "a value")),
        FeelValue::String(text) => Ok(text.into()),
        other => args.printed(&other).map(Into::into),
    }
}

/// Only literals may stand at the ends: the text comes from outside, and computes nothing.
fn range(args: &mut Args<'_, '_, '_>) -> Answer {
    let text = args.string(0)?;
    let tree = parser::expression(&Arc::clone(&text), &Names::new());
    let Ok(Expr::Range(range)) = tree.map(|it| it.root) else {
        return Err(malformed("a range", &text));
    };
    let RangeOf { start, end, .. } = &*range;
    let (start, end) = (range_end(start), range_end(end));
    let (Some(start), Some(end)) = (start, end) else { return Err(malformed("a range", &text)) };
    let (low, high) = (start.value(), end.value());
    let is_upward = low.is_null()
        || high.is_null()
        || super::super::eval::compare(&low, &high).is_some_and(std::cmp::Ordering::is_le);
    if !is_upward || low.is_null() && high.is_null() {
        return Err(malformed("a range", &text));
    }
    Ok(Range { start, end, is_test: false }.into())
}

fn range_end(end: &EndOf) -> Option<End> {
    match end {
        EndOf::Open | EndOf::Same => None,
        EndOf::Excluded(expr) => literal(expr).map(End::Excluded),
        EndOf::Included(expr) => literal(expr).map(End::Included),
    }
}

/// A constant, or one of the conversions of a constant text.
fn literal(expr: &Expr) -> Option<FeelValue> {
    match expr {
        Expr::Constant(FeelValue::Boolean(_)) => None,
        Expr::Constant(value) => Some(value.clone()),
        Expr::Builtin(form, _, arguments) => {
            let Some(Some(Expr::Constant(FeelValue::String(text)))) = arguments.first() else {
                return None;
            };
            match form.name {
                "date" => Date::parse(text).map(Into::into),
                "time" => Time::parse(text).map(Into::into),
                "date and time" => DateTime::parse(text).map(Into::into),
                "duration" => parser::at_literal(text).filter(|it| {
                    matches!(it, FeelValue::DaysDuration(_) | FeelValue::YearsDuration(_))
                }),
                _ => None,
            }
        }
        _ => None,
    }
}

fn from_json(args: &mut Args<'_, '_, '_>) -> Answer {
    let text = args.string(0)?;
    args.run.session.charge_steps(text.len())?;
    let parsed = Value::parse_json(&text);
    parsed.map(Into::into).map_err(|error| Fault::argument(error.to_string()))
}
