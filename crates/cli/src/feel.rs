//! Values of FEEL, for people: as they could be typed again.

use travertine_lang::feel::{End, FeelValue};
use travertine_value::{Name, Value};

use crate::json::{end_line, next_line};

/// How long a list or context may be that stays in its line.
const LINE_CHARS_MAX: usize = 88;

/// The value, over several lines where it is long.
pub(crate) fn pretty(value: &FeelValue) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    text
}

/// The value in one line.
pub(crate) fn line(value: &FeelValue) -> String {
    match value {
        FeelValue::Null | FeelValue::Boolean(_) | FeelValue::Number(_) | FeelValue::Function(_) => {
            value.to_string()
        }
        FeelValue::String(text) => quoted(text),
        FeelValue::Date(_)
        | FeelValue::Time(_)
        | FeelValue::DateTime(_)
        | FeelValue::DaysDuration(_)
        | FeelValue::YearsDuration(_) => format!("@\"{value}\""),
        FeelValue::List(items) => {
            let items: Vec<_> = items.iter().map(|it| line(&it)).collect();
            format!("[{}]", items.join(", "))
        }
        FeelValue::Context(context) => {
            let entry =
                |(name, value): (&Name, FeelValue)| format!("{}: {}", key(name), line(&value));
            let entries: Vec<_> = context.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
        FeelValue::Range(range) => match (&range.start, &range.end) {
            (End::Open, End::Open) => value.to_string(),
            (End::Open, End::Excluded(end)) => format!("(< {})", line(end)),
            (End::Open, End::Included(end)) => format!("(<= {})", line(end)),
            (End::Excluded(start), End::Open) => format!("(> {})", line(start)),
            (End::Included(start), End::Open) => format!("(>= {})", line(start)),
            (start, end) => {
                let open = if start.is_included() { '[' } else { '(' };
                let close = if end.is_included() { ']' } else { ')' };
                format!("{open}{}..{}{close}", line(&start.value()), line(&end.value()))
            }
        },
    }
}

fn write(text: &mut String, value: &FeelValue, indent: usize) {
    let whole = line(value);
    let is_short = indent + whole.chars().count() <= LINE_CHARS_MAX;
    match value {
        FeelValue::List(items) if !is_short => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                next_line(text, position, indent + 2);
                write(text, &item, indent + 2);
            }
            end_line(text, indent);
            text.push(']');
        }
        FeelValue::Context(context) if !is_short => {
            text.push('{');
            for (position, (name, value)) in context.iter().enumerate() {
                next_line(text, position, indent + 2);
                text.push_str(&key(name));
                text.push_str(": ");
                write(text, &value, indent + 2);
            }
            end_line(text, indent);
            text.push('}');
        }
        _ => text.push_str(&whole),
    }
}

/// A key that is not a plain name stands in quotes.
fn key(name: &str) -> String {
    let mut letters = name.chars();
    let is_plain = letters.next().is_some_and(|it| it.is_alphabetic() || it == '_')
        && letters.all(|it| it.is_alphanumeric() || matches!(it, '_' | ' '));
    if is_plain { name.to_owned() } else { quoted(name) }
}

/// FEEL escapes texts as JSON does.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use travertine_lang::feel::{Context, Expression, Names, Settings};

    use super::*;

    fn value(text: &str) -> FeelValue {
        let expression = Expression::parse(text, &Names::new()).unwrap();
        expression.evaluate(&Context::default(), &Settings::default()).unwrap().value
    }

    #[test]
    fn what_is_printed_can_be_typed_again() {
        for text in [
            r#"{a: [1, "x\"y", null], "b-c": @"2024-02-29", d: (1..5], e: (> @"P1D")}"#,
            r#"[@"10:30:00", @"2024-02-29T10:30:00Z", @"P1Y2M", true]"#,
        ] {
            assert_eq!(line(&value(text)), text);
        }
    }

    #[test]
    fn what_is_long_is_printed_over_several_lines() {
        let text = format!("{{a: \"{}\", b: [1, 2]}}", "x".repeat(90));
        let printed = pretty(&value(&text));
        assert_eq!(printed.lines().count(), 4);
        assert!(printed.ends_with("\n  b: [1, 2]\n}"), "{printed}");
        assert_eq!(value(&printed), value(&text));
    }
}
