//! The value of a variable: JSON, with exact numbers.

use std::{fmt, sync::Arc};

use indexmap::IndexMap;

/// A name of a variable or a field. Cheap to clone.
pub type Name = Arc<str>;

/// A JSON-like object. It keeps the order in which its fields were written; two are equal whatever
/// that order.
pub type Map = IndexMap<Name, Value>;

/// A value. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// An exact number.
    Number(Number),
    /// A text.
    String(Arc<str>),
    /// A list.
    List(Arc<Vec<Self>>),
    /// An object.
    Map(Arc<Map>),
}

/// An exact decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(i64);

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(value)
    }
}

impl Number {
    /// The number as a whole `i64`, where it is one.
    pub fn to_i64(self) -> Option<i64> {
        Some(self.0)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl From<Vec<Self>> for Value {
    fn from(value: Vec<Self>) -> Self {
        Self::List(Arc::new(value))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
