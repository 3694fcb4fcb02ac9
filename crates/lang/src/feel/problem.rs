//! What can be said about an expression: before it runs, and after.

use std::fmt;

use travertine_value::Name;

use super::tree::At;

/// A place in a text. Lines and columns count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl Place {
    pub(super) fn of(source: &str, at: At) -> Self {
        let before = source.get(..at as usize).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |it| it + 1);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
        Self {
            line: count(before.matches('\n').count()),
            column: count(before[line_start..].chars().count()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It can only be a mistake: a function that does not exist, a wrong number of arguments.
    Error,
    /// It always gives null, which may even be wanted.
    Warning,
}

/// Something about an expression that is known before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, naming the thing.
    pub message: String,
    /// Where.
    pub place: Place,
}

/// Why a part of an expression became null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The kind of reason.
    pub reason: Reason,
    /// The reason in words, naming the thing.
    pub message: String,
    /// Where.
    pub place: Place,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.place)
    }
}

/// The kinds of reasons for which something becomes null.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// There is no variable of this name.
    MissingVariable(Name),
    /// A context has no entry of this name.
    MissingEntry(Name),
    /// Values of these kinds do not go together.
    WrongType,
    /// A function cannot work with its arguments.
    BadArgument,
    /// There is no such function, or not with such arguments.
    NoSuchFunction,
    /// The clock or the source of randomness is missing.
    NoSource,
    /// Code in another language is not run.
    External,
}
