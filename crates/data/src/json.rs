//! JSON documents, put together.

use travertine_value::{Name, Value};

/// An object with these fields, in this order.
pub fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    fields.into_iter().map(|(name, value)| (Name::from(name), value)).collect()
}

/// An object of variables.
pub fn variables<'a>(all: impl IntoIterator<Item = (&'a Name, &'a Value)>) -> Value {
    all.into_iter().map(|(name, value)| (Name::clone(name), value.clone())).collect()
}

/// The key of an instance, token or wait: 63 bits, which not every reader of JSON takes as a number.
pub fn key(number: u64) -> Value {
    number.to_string().into()
}
