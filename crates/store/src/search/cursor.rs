//! Places between rows, as text that programs keep and send back.

use std::{fmt, str::FromStr};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use travertine_value::{Name, time::Timestamp};

use super::{Search, Value, bad, column::Kind};
use crate::{Error, view::Key};

/// The most characters of a cursor.
const LENGTH_MAX: usize = 65_536;
/// How cursors are written. Those of another version are refused.
const VERSION: u8 = 1;

/// A place between two rows: what the row before or after it is sorted by, and its key. It stays meaningful when
/// rows come and go, and belongs to searches of the same table that are sorted alike.
///
/// ```
/// # use travertine_store::search::Cursor;
/// let error = "AAAA".parse::<Cursor>().unwrap_err();
/// assert!(error.to_string().contains("cursor"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Of the table and the order that it belongs to.
    sum: u32,
    /// What the row is sorted by.
    pub(crate) values: Vec<Option<Value>>,
    /// The key of the row.
    pub(crate) key: Key,
}

/// A cursor as it is written in bytes.
#[derive(Deserialize, Serialize)]
struct Written<'a> {
    version: u8,
    sum: u32,
    #[serde(borrow)]
    values: Vec<Option<WrittenValue<'a>>>,
    instance: u64,
    number: u64,
    name: &'a str,
}

#[derive(Deserialize, Serialize)]
enum WrittenValue<'a> {
    Number(i64),
    Text(&'a str),
    Time(i64),
    Bool(bool),
    Key(u64, u64),
}

impl Cursor {
    /// The place of a row in the order of a search.
    pub(crate) fn new(search: &Search, values: Vec<Option<Value>>, key: Key) -> Self {
        Self { sum: sum(search), values, key }
    }

    /// Refuses a search that it was not made for.
    pub(super) fn fits(&self, search: &Search) -> Result<(), Error> {
        let alike = self.sum == sum(search) && self.values.len() == search.sort.len();
        let kind = |(value, column): (&Option<Value>, Kind)| {
            value.as_ref().is_none_or(|it| it.is_for(column))
        };
        let kinds = search.sort.iter().map(|it| it.column.kind());
        if alike && self.values.iter().zip(kinds).all(kind) {
            return Ok(());
        }
        Err(bad("the cursor is of a search that was sorted in another way; begin without a cursor"))
    }

    fn read(text: &str) -> Option<Self> {
        if text.len() > LENGTH_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
        let (it, rest) = postcard::take_from_bytes::<Written<'_>>(&bytes).ok()?;
        if it.version != VERSION || !rest.is_empty() {
            return None;
        }
        let value = |it: WrittenValue<'_>| match it {
            WrittenValue::Number(it) => Value::Number(it),
            WrittenValue::Text(it) => Value::Text(it.into()),
            WrittenValue::Time(it) => Value::Time(Timestamp::from_millis(it)),
            WrittenValue::Bool(it) => Value::Bool(it),
            WrittenValue::Key(instance, number) => Value::Key(instance, number),
        };
        Some(Self {
            sum: it.sum,
            values: it.values.into_iter().map(|it| it.map(value)).collect(),
            key: Key { instance: it.instance, number: it.number, name: Name::from(it.name) },
        })
    }
}

/// Tells the orders of searches apart.
fn sum(search: &Search) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(search.table.present().to_string().as_bytes());
    for it in &search.sort {
        let direction = if it.descending { '-' } else { '+' };
        hasher.update(format!("{direction}{:?}", it.column).as_bytes());
    }
    hasher.finalize()
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |it: &'_ Value| match it {
            Value::Number(it) => Some(WrittenValue::Number(*it)),
            Value::Time(it) => Some(WrittenValue::Time(it.as_millis())),
            Value::Bool(it) => Some(WrittenValue::Bool(*it)),
            Value::Key(instance, number) => Some(WrittenValue::Key(*instance, *number)),
            Value::Text(_) | Value::List(_) => None,
        };
        let written = Written {
            version: VERSION,
            sum: self.sum,
            values: self
                .values
                .iter()
                .map(|it| match it {
                    Some(Value::Text(text)) => Some(WrittenValue::Text(text)),
                    it => it.as_ref().and_then(value),
                })
                .collect(),
            instance: self.key.instance,
            number: self.key.number,
            name: &self.key.name,
        };
        let bytes = postcard::to_extend(&written, Vec::new()).map_err(|_| fmt::Error)?;
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            bad("that is no cursor of a page; use one as a page gives it, or begin without one")
        })
    }
}
