//! What requests bring. Fields that are not known are ignored: newer clients send them.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;
use travertine_kernel::Assignments;
use travertine_runtime::Timestamp;
use travertine_value::{Name, Value};

use super::write::TENANT;
use crate::desk::Refusal;

/// Reads a body that must be there.
pub(super) fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(Refusal::invalid("the request has no body, and needs a JSON object"));
    }
    let wrong = |error| Refusal::invalid(format!("the body cannot be read: {error}"));
    serde_json::from_slice(body).map_err(wrong)
}

/// Reads a body that may be absent, or null.
pub(super) fn read_if_any<'a, T: Deserialize<'a> + Default>(body: &'a [u8]) -> Result<T, Refusal> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    read::<Option<T>>(body).map(Option::unwrap_or_default)
}

/// Reads variables out of a JSON object, exactly and once.
pub(super) fn variables(object: Option<&RawValue>) -> Result<Assignments, Refusal> {
    let Some(object) = object else { return Ok(Vec::new()) };
    let value = Value::parse_json(object.get());
    match value.map_err(|error| Refusal::invalid(format!("the variables: {error}")))? {
        Value::Null => Ok(Vec::new()),
        Value::Map(map) => {
            Ok(map.iter().map(|(name, it)| (Name::clone(name), it.clone())).collect())
        }
        other => {
            let detail = format!("variables are a JSON object, not {}", other.kind());
            Err(Refusal::invalid(detail))
        }
    }
}

/// Refuses a tenant, unless it is the one there is.
pub(super) fn tenant(name: Option<&str>) -> Result<(), Refusal> {
    match name {
        None | Some("" | TENANT) => Ok(()),
        Some(other) => Err(Refusal::invalid(format!(
            "there is no tenant {other}: leave the tenant out, or say {TENANT}"
        ))),
    }
}

/// Refuses tenants, unless each is the one there is.
pub(super) fn tenants(names: Option<&[Name]>) -> Result<(), Refusal> {
    names.unwrap_or_default().iter().try_for_each(|it| tenant(Some(it)))
}

/// A point in time.
pub(super) fn date(text: &str) -> Result<Timestamp, Refusal> {
    let wrong = || {
        let detail = format!("{text:?} is no date with a time zone, such as 2026-05-17T09:30:00Z");
        Refusal::invalid(detail)
    };
    let date = text.parse::<jiff::Timestamp>().map_err(|_| wrong())?;
    Ok(Timestamp::from_millis(date.as_millisecond()))
}

/// Names, where there are any.
pub(super) fn names(all: Option<Vec<Name>>) -> Vec<Name> {
    all.unwrap_or_default()
}

/// A key: decimal text, or a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct WireKey(pub(super) i64);

impl<'de> Deserialize<'de> for WireKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl de::Visitor<'_> for Reader {
            type Value = WireKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key, which is a whole number as text")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<WireKey, E> {
                text.parse()
                    .map(WireKey)
                    .map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<WireKey, E> {
                Ok(WireKey(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<WireKey, E> {
                let wrong = |_| E::invalid_value(de::Unexpected::Unsigned(number), &self);
                i64::try_from(number).map(WireKey).map_err(wrong)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
