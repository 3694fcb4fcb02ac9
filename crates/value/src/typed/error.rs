//! Why a value is not of a type, and where in it.

use std::fmt;

use serde::{
    de::{self, Expected, Unexpected},
    ser,
};

/// So much of a text is shown in a message.
const SHOWN_CHARS_MAX: usize = 60;

/// Why a value is not of a type or cannot be made of it, and where:
/// ``items[3].price: expected u32, found "x"``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError(Box<Problem>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    message: String,
    /// From the inside out, in the order in which it is learned.
    path: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Index(usize),
}

impl TypeError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Problem { message: message.into(), path: Vec::new() }))
    }

    pub(super) fn too_deep() -> Self {
        Self::new(format!("nested deeper than {}", crate::json::DEPTH_MAX))
    }

    /// This error as seen from the object that has this field.
    pub(super) fn in_field(mut self, name: &str) -> Self {
        self.0.path.push(Step::Field(name.to_owned()));
        self
    }

    /// This error as seen from the list that has this item.
    pub(super) fn in_item(mut self, index: usize) -> Self {
        self.0.path.push(Step::Index(index));
        self
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.path.iter().rev().enumerate() {
            match step {
                Step::Field(name) if !is_plain(name) => write!(f, "[{name:?}]")?,
                Step::Field(name) if index == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(at) => write!(f, "[{at}]")?,
            }
        }
        if !self.0.path.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.0.message)
    }
}

/// Whether it reads well after a point.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|it| it.is_alphanumeric() || it == '_' || it == '-')
}

impl std::error::Error for TypeError {}

impl ser::Error for TypeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}

impl de::Error for TypeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found {}", Found(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found length {length}"))
    }
}

/// What was found, in the words of values.
struct Found<'a>(Unexpected<'a>);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unexpected::Bool(it) => write!(f, "{it}"),
            Unexpected::Unsigned(it) => write!(f, "{it}"),
            Unexpected::Signed(it) => write!(f, "{it}"),
            Unexpected::Float(it) => write!(f, "{it}"),
            Unexpected::Str(text) => match text.char_indices().nth(SHOWN_CHARS_MAX) {
                Some((end, _)) => write!(f, "{:?}…", &text[..end]),
                None => write!(f, "{text:?}"),
            },
            Unexpected::Unit | Unexpected::Option => f.write_str("null"),
            Unexpected::Seq => f.write_str("a list"),
            Unexpected::Map => f.write_str("an object"),
            other => write!(f, "{other}"),
        }
    }
}
