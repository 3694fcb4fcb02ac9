//! A stand-in until values convert by themselves.

use serde::{Serialize, de::DeserializeOwned};
use travertine_expr::{Map, Name, Value};
use travertine_kernel::Assignments;

pub(crate) fn to_value<T: Serialize + ?Sized>(it: &T) -> Result<Value, String> {
    let text = serde_json::to_string(it).map_err(|it| it.to_string())?;
    Value::parse_json(&text).map_err(|it| it.to_string())
}

pub(crate) fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_str(&value.to_json()).map_err(|it| it.to_string())
}

pub(crate) fn to_assignments<T: Serialize + ?Sized>(it: &T) -> Result<Assignments, String> {
    Ok(match to_value(it)? {
        Value::Map(map) => {
            map.iter().map(|(name, value)| (Name::clone(name), value.clone())).collect()
        }
        value => vec![("value".into(), value)],
    })
}

pub(crate) fn from_assignments<T: DeserializeOwned>(it: &Assignments) -> Result<T, String> {
    let whole = Value::from(it.iter().cloned().collect::<Map>());
    match from_value(&whole) {
        Ok(value) => Ok(value),
        Err(error) => match &**it {
            [(name, value)] if &**name == "value" => from_value(value),
            [] => from_value(&Value::Null),
            _ => Err(error),
        },
    }
}
