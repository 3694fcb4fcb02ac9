//! Values as the types of programs, by way of [`serde`].
//!
//! What a type looks like as a value is what it looks like as JSON: structs and maps are objects,
//! sequences and tuples are lists, `None` and `()` are null, an enum is the name of its variant, or
//! an object with one field of that name. Keys that are numbers or booleans become texts. There is
//! no text in between.
//!
//! Numbers are exact. What would have to be rounded on the way in is refused: NaN, the infinities,
//! whole numbers of more than 34 digits. Floats come back as they were, except that `-0.0` comes
//! back as `0.0`. Where a type does not say which number it wants, as in an untagged enum, whole
//! numbers up to 64 bits stay exact and all others are the nearest `f64`.
//!
//! A part of a type can be a [`Value`] or a [`Number`](crate::Number), which take whatever is there, exactly.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use travertine_value::typed::{from_value, to_value};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Item { name: String, price: f64 }
//!
//! let item = Item { name: "tea".to_owned(), price: 2.5 };
//! let value = to_value(&item)?;
//! assert_eq!(value.to_json(), r#"{"name":"tea","price":2.5}"#);
//! assert_eq!(from_value::<Item>(&value)?, item);
//! # Ok::<(), travertine_value::typed::TypeError>(())
//! ```

mod assignments;
mod error;
mod key;
mod own;
mod read;
#[cfg(test)]
mod tests;
mod write;

use serde::{Serialize, de::DeserializeOwned};

use crate::value::{Name, Value};

pub use error::TypeError;

/// The value of this.
pub fn to_value<T: Serialize + ?Sized>(it: &T) -> Result<Value, TypeError> {
    it.serialize(write::Writer::new())
}

/// What this is the value of.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, TypeError> {
    T::deserialize(read::Reader::new(value))
}

/// This as variables: those of a struct or a map are its fields, `()` and `None` have none, and
/// anything else is a variable `value`.
pub fn to_assignments<T: Serialize + ?Sized>(it: &T) -> Result<Vec<(Name, Value)>, TypeError> {
    assignments::write(it)
}

/// What these are the variables of. As with the fields of a struct, those that nobody asks for are
/// passed over.
///
/// A type that does not say what it wants, as an untagged enum, cannot tell a struct whose only
/// field is `value` from that value, and gets the value.
pub fn from_assignments<T: DeserializeOwned>(variables: &[(Name, Value)]) -> Result<T, TypeError> {
    T::deserialize(assignments::Reader::new(variables))
}
