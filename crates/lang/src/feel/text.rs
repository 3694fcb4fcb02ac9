//! Values as FEEL writes them.

use std::fmt::{self, Write};

use super::{
    range::{End, Range},
    value::FeelValue,
};

impl fmt::Display for FeelValue {
    /// As `string()` gives it: a text as it is, anything else as it could be written in FEEL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => f.write_str(text),
            _ => write_literal(self, f),
        }
    }
}

fn write_literal(value: &FeelValue, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        FeelValue::Null => f.write_str("null"),
        FeelValue::Boolean(it) => write!(f, "{it}"),
        FeelValue::Number(it) => write!(f, "{it}"),
        FeelValue::String(text) => write_quoted(text, f),
        FeelValue::Date(it) => write!(f, "{it}"),
        FeelValue::Time(it) => write!(f, "{it}"),
        FeelValue::DateTime(it) => write!(f, "{it}"),
        FeelValue::DaysDuration(it) => write!(f, "{it}"),
        FeelValue::YearsDuration(it) => write!(f, "{it}"),
        FeelValue::List(items) => {
            f.write_char('[')?;
            for (index, item) in items.iter().enumerate() {
                f.write_str(if index == 0 { "" } else { ", " })?;
                write_literal(&item, f)?;
            }
            f.write_char(']')
        }
        FeelValue::Context(entries) => {
            f.write_char('{')?;
            for (index, (name, value)) in entries.iter().enumerate() {
                f.write_str(if index == 0 { "" } else { ", " })?;
                write_key(name, f)?;
                f.write_str(": ")?;
                write_literal(&value, f)?;
            }
            f.write_char('}')
        }
        FeelValue::Range(range) => write_range(range, f),
        FeelValue::Function(function) => write!(f, "{function:?}"),
    }
}

/// A key that is not a plain name stands in quotes.
fn write_key(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut chars = name.chars();
    let is_plain = chars.next().is_some_and(|it| it.is_alphabetic() || it == '_')
        && chars.all(|it| it.is_alphanumeric() || matches!(it, '_' | ' '));
    if is_plain { f.write_str(name) } else { write_quoted(name, f) }
}

fn write_quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('"')
}

fn write_range(range: &Range, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match (&range.start, &range.end) {
        (End::Open, End::Open) => f.write_str("(null..null)"),
        (End::Open, End::Excluded(end)) => write_one_sided("<", end, f),
        (End::Open, End::Included(end)) => write_one_sided("<=", end, f),
        (End::Excluded(start), End::Open) => write_one_sided(">", start, f),
        (End::Included(start), End::Open) => write_one_sided(">=", start, f),
        (start, end) => {
            f.write_char(if start.is_included() { '[' } else { '(' })?;
            write_literal(&start.value(), f)?;
            f.write_str("..")?;
            write_literal(&end.value(), f)?;
            f.write_char(if end.is_included() { ']' } else { ')' })
        }
    }
}

fn write_one_sided(sign: &str, value: &FeelValue, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "({sign} ")?;
    write_literal(value, f)?;
    f.write_char(')')
}
