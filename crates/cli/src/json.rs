//! JSON for people and for programs.

use std::fmt::Write as _;

use travertine_expr::{Map, Name, Value};

/// An object with these fields, in this order.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    fields.into_iter().map(|(name, value)| (Name::from(name), value)).collect()
}

/// An object of variables.
pub(crate) fn variables<'a>(all: impl IntoIterator<Item = (&'a Name, &'a Value)>) -> Value {
    all.into_iter().map(|(name, value)| (Name::clone(name), value.clone())).collect()
}

/// The key of an instance, token or wait: 63 bits, which not every reader of JSON takes as a number.
pub(crate) fn key(number: u64) -> Value {
    number.to_string().into()
}

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
    fn what_is_printed_over_several_lines_reads_back_as_the_same() {
        let source = r#"{"a":[1,{"b":"x\"y"},[]],"c":{},"d":null}"#;
        let value = Value::parse_json(source).unwrap();
        assert_eq!(Value::parse_json(&pretty(&value)).unwrap(), value);
        let text = "{\n  \"a\": [1, 2],\n  \"b\": [\n    []\n  ]\n}";
        assert_eq!(pretty(&Value::parse_json(r#"{"a":[1,2],"b":[[]]}"#).unwrap()), text);
    }
}
