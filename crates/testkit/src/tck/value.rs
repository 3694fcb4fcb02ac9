//! Values as cases write them.

use travertine_lang::feel::{
    FeelValue,
    temporal::{Date, DateTime, DaysDuration, Time, YearsDuration},
};
use travertine_value::{Name, Number};
use travertine_xml::{Node, Ns, local_part};

/// The value in an `inputNode`, `expected`, `component` or `item`: a value, a list, or components.
pub(super) fn read(node: Node<'_>) -> Result<FeelValue, String> {
    if is_nil(node) {
        return Ok(FeelValue::Null);
    }
    if node.child("component").is_some() {
        let component =
            |it: Node<'_>| Ok((Name::from(it.attr("name").unwrap_or_default()), read(it)?));
        let entries: Result<Vec<_>, String> = node.all("component").map(component).collect();
        return Ok(FeelValue::Context(entries?.into_iter().collect()));
    }
    if let Some(list) = node.child("list") {
        if is_nil(list) {
            return Ok(FeelValue::Null);
        }
        let items: Result<Vec<_>, String> = list.all("item").map(read).collect();
        return Ok(items?.into());
    }
    node.child("value").map_or(Ok(FeelValue::Null), simple)
}

fn is_nil(node: Node<'_>) -> bool {
    node.ext(&Ns::Xsi, "nil").is_some_and(|it| matches!(it, "true" | "1"))
}

/// A value of the type that `xsi:type` names; text where it names none.
fn simple(node: Node<'_>) -> Result<FeelValue, String> {
    if is_nil(node) {
        return Ok(FeelValue::Null);
    }
    let of = node.ext(&Ns::Xsi, "type").map_or("string", local_part);
    let text = if of == "string" { node.text() } else { node.text().trim() };
    let value: Option<FeelValue> = match of {
        "string" => Some(text.into()),
        "boolean" => match text {
            "true" | "1" => Some(true.into()),
            "false" | "0" => Some(false.into()),
            _ => None,
        },
        "decimal" | "double" | "float" | "integer" | "int" | "long" => {
            text.parse::<Number>().ok().map(Into::into)
        }
        "date" => Date::parse(text).map(Into::into),
        "time" => Time::parse(text).map(Into::into),
        "dateTime" => DateTime::parse(text).map(Into::into),
        "duration" => YearsDuration::parse(text)
            .map(Into::into)
            .or_else(|| DaysDuration::parse(text).map(Into::into)),
        _ => return Err(format!("values of type '{of}' are not known")),
    };
    value.ok_or_else(|| format!("'{text}' is not a value of type {of}"))
}
