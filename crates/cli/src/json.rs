//! JSON for people and for programs.

use std::{borrow::Cow, fmt::Write as _};

pub(crate) use travertine_data::{
    json::{key, object, variables},
    text::size,
};
use travertine_value::{Map, Name, Value};

/// How long a list may be that stays in its line.
const LINE_CHARS_MAX: usize = 72;

/// The value over several lines, indented by two spaces. Short lists of plain values stay together.
pub(crate) fn pretty(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    text
}

fn write(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::List(items) if !items.is_empty() && !is_short(items) => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                next_line(text, position, indent + 2);
                write(text, item, indent + 2);
            }
            end_line(text, indent);
            text.push(']');
        }
        Value::List(items) if !items.is_empty() => {
            let items: Vec<String> = items.iter().map(Value::to_string).collect();
            text.extend(["[", &items.join(", "), "]"]);
        }
        Value::Map(fields) if !fields.is_empty() => write_fields(text, fields, indent),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::List(_)
        | Value::Map(_) => put(text, value),
    }
}

fn is_short(items: &[Value]) -> bool {
    let is_plain = |it: &Value| it.as_list().is_none() && it.as_map().is_none();
    // So many that they cannot be short are not worth printing twice.
    items.len() <= LINE_CHARS_MAX / 2
        && items.iter().all(is_plain)
        && items.iter().map(|it| it.to_string().chars().count() + 2).sum::<usize>()
            <= LINE_CHARS_MAX
}

fn write_fields(text: &mut String, fields: &Map, indent: usize) {
    text.push('{');
    for (position, (name, value)) in fields.iter().enumerate() {
        next_line(text, position, indent + 2);
        put(text, &Value::from(Name::clone(name)));
        text.push_str(": ");
        write(text, value, indent + 2);
    }
    end_line(text, indent);
    text.push('}');
}

/// How much of a value people read who have not asked for all of it, and of what is larger.
const SHOWN_BYTES_MAX: usize = 4_000;
const CUT_CHARS: usize = 200;

/// The variables over several lines. Of a large value only the beginning is shown, and its size.
pub(crate) fn shortened(variables: &[(Name, Value)]) -> String {
    if variables.iter().all(|(_, value)| value.to_json().len() <= SHOWN_BYTES_MAX) {
        return pretty(&variables.iter().cloned().collect());
    }
    let mut text = String::from("{");
    for (position, (name, value)) in variables.iter().enumerate() {
        next_line(&mut text, position, 2);
        put(&mut text, &Value::from(Name::clone(name)));
        text.push_str(": ");
        match cut(&value.to_json()) {
            Some(beginning) => text.push_str(&beginning),
            None => write(&mut text, value, 2),
        }
    }
    end_line(&mut text, 0);
    text.push('}');
    text
}

/// A text for people: of a large one the beginning and its size.
pub(crate) fn brief(text: &str) -> Cow<'_, str> {
    cut(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn cut(text: &str) -> Option<String> {
    if text.len() <= SHOWN_BYTES_MAX {
        return None;
    }
    let end = text.char_indices().nth(CUT_CHARS).map_or(text.len(), |(end, _)| end);
    Some(format!("{}… {}", &text[..end], size(text.len())))
}

/// Ends a line, after a comma where it is not the first item.
pub(crate) fn next_line(text: &mut String, position: usize, indent: usize) {
    if position > 0 {
        text.push(',');
    }
    end_line(text, indent);
}

/// Ends a line, and begins the next that far to the right.
pub(crate) fn end_line(text: &mut String, indent: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', indent));
}

fn put(text: &mut String, value: &Value) {
    write!(text, "{value}").expect("a string takes every text");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_value_is_shown_by_its_beginning_and_its_size() {
        let large = Value::from("x".repeat(15_000_000).as_str());
        let shown = shortened(&[("a".into(), 1.into()), ("b".into(), large)]);
        assert!(shown.starts_with("{\n  \"a\": 1,\n  \"b\": \"xxx"), "{shown}");
        assert!(shown.ends_with("xxx… 15.0 MB\n}"), "{shown}");
        assert!(shown.len() < 300);
        assert_eq!(shortened(&[("a".into(), 1.into())]), "{\n  \"a\": 1\n}");
        assert_eq!([size(12), size(4_567)], ["12 bytes", "4.5 kB"]);
    }

    #[test]
    fn what_is_printed_over_several_lines_reads_back_as_the_same() {
        let source = r#"{"a":[1,{"b":"x\"y"},[]],"c":{},"d":null}"#;
        let value = Value::parse_json(source).unwrap();
        assert_eq!(Value::parse_json(&pretty(&value)).unwrap(), value);
        let text = "{\n  \"a\": [1, 2],\n  \"b\": [\n    []\n  ]\n}";
        assert_eq!(pretty(&Value::parse_json(r#"{"a":[1,2],"b":[[]]}"#).unwrap()), text);
    }
}
