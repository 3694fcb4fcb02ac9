//! Values and times in a few words, and values as people type them.

use std::time::Duration;

use travertine_kernel::Assignments;
use travertine_runtime::Timestamp;
use travertine_value::{Name, Value, brief::abridged};

/// A value as people type it: JSON where it is JSON, otherwise text. What was meant as JSON but is not is
/// refused: taken for a text, nobody would notice.
pub fn value_of(text: &str) -> Result<Value, String> {
    match Value::parse_json(text) {
        Ok(value) => Ok(value),
        Err(error) if begins_like_json(text) && !error.is_malformed() => Err(format!(
            "this JSON cannot be taken: {error}; what is so deep, so long or so large is kept as a text, in double quotes"
        )),
        Err(error) if begins_like_json(text) => Err(format!(
            "it begins like JSON, but is not: {error}; a text that begins so is written in double quotes, \
             as JSON has it"
        )),
        Err(error) if is_number(text) => {
            let text = abridged(text, 100);
            Err(format!("{error}; in double quotes it is a text: '\"{text}\"'"))
        }
        Err(_) => Ok(text.into()),
    }
}

/// Whether a text is meant as an object, a list or a text of JSON.
pub fn begins_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"'])
}

/// Whether it is a number as JSON writes them, however long or large.
fn is_number(text: &str) -> bool {
    let text = text.trim();
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, Some(exponent.trim_start_matches(['+', '-']))),
        None => (text, None),
    };
    let text = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let is_digits = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    is_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(is_digits)
        && exponent.is_none_or(is_digits)
}

/// The value in a line that people still read.
pub fn short(value: &Value) -> String {
    const CHARS_MAX: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) if text.len() >= 10_000 => {
            format!("{}… {}", &text[..end], size(text.len()))
        }
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The variables in a line: `amount=250 name="Ann Lee"`.
pub fn pairs<'a>(all: impl IntoIterator<Item = &'a (Name, Value)>) -> String {
    let all = all.into_iter().map(|(name, value)| format!("{name}={}", short(value)));
    all.collect::<Vec<_>>().join(" ")
}

/// The variables that an object names.
pub fn assignments(value: &Value) -> Result<Assignments, String> {
    match value.as_map() {
        Some(fields) => {
            Ok(fields.iter().map(|(name, value)| (Name::clone(name), value.clone())).collect())
        }
        None => Err(format!("an object such as {{\"name\": 1}} is expected, not {}", value.kind())),
    }
}

/// How long it is from one point to another, in the two largest units: `2d 3h`.
pub fn between(from: Timestamp, to: Timestamp) -> String {
    span(to.since(from))
}

/// How long that is, in the two largest units: `2d 3h`.
pub fn span(span: Duration) -> String {
    const UNITS: [(&str, u128); 5] =
        [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];
    let mut rest = span.as_millis();
    let mut parts = Vec::new();
    for (unit, size) in UNITS {
        if rest >= size && parts.len() < 2 {
            parts.push(format!("{}{unit}", rest / size));
            rest %= size;
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
}

/// How much that is, for people.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes / 100 % 10),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}
