//! Values of a type from JSON, which knows no dates, times and durations.

use std::{collections::BTreeMap, sync::Arc};

use travertine_lang::feel::{
    FeelValue, Type,
    temporal::{Date, DateTime, DaysDuration, Time, YearsDuration},
};
use travertine_value::{Name, Value};

use super::{Shape, TypeId, Types};

/// The value that a type makes of JSON: texts become dates, times and durations where the type asks
/// for them. What does not fit stays as it is, for the check that follows to say so.
pub(crate) fn from_json(types: &Types, of: TypeId, value: &Value) -> FeelValue {
    let mut of = of;
    loop {
        // Goes deeper only where the value does: types may be other names for others, many times.
        return match (&types.get(of).shape, value) {
            (Shape::Plain(of), value) => plain(of, value),
            (Shape::Same(other), _) => {
                of = *other;
                continue;
            }
            (Shape::List(item), Value::List(items)) => {
                items.iter().map(|it| from_json(types, *item, it)).collect()
            }
            (Shape::List(item), _) => {
                of = *item;
                continue;
            }
            (Shape::Context(entries), Value::Map(fields)) => {
                let known: BTreeMap<_, _> = entries.iter().map(|(name, of)| (name, *of)).collect();
                let entry = |(name, value): (&Name, &Value)| {
                    let of = known.get(name).copied().unwrap_or(TypeId::ANY);
                    (Arc::clone(name), from_json(types, of, value))
                };
                FeelValue::Context(fields.iter().map(entry).collect())
            }
            (Shape::Context(_) | Shape::Function { .. }, value) => value.into(),
        };
    }
}

fn plain(of: &Type, value: &Value) -> FeelValue {
    let Value::String(text) = value else { return value.into() };
    let parsed: Option<FeelValue> = match of {
        Type::Date => Date::parse(text).map(Into::into),
        Type::Time => Time::parse(text).map(Into::into),
        Type::DateTime => DateTime::parse(text).map(Into::into),
        Type::DaysDuration => DaysDuration::parse(text).map(Into::into),
        Type::YearsDuration => YearsDuration::parse(text).map(Into::into),
        Type::Any
        | Type::Null
        | Type::Boolean
        | Type::Number
        | Type::String
        | Type::List(_)
        | Type::Context(_)
        | Type::Range(_)
        | Type::Function(..)
        | Type::Unknown(_) => None,
    };
    parsed.unwrap_or_else(|| value.into())
}
