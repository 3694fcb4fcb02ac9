//! What came of a decision, and how.

use std::fmt;

use travertine_lang::feel::FeelValue;
use travertine_value::{Limit, Name};

use crate::logic::Spot;

/// What came of a decision.
#[derive(Clone, Debug)]
pub struct DecisionResult {
    /// Its value.
    pub value: FeelValue,
    /// Every decision that was evaluated for it, in the order in which they were done; itself last.
    pub decisions: Vec<EvaluatedDecision>,
    /// What became null and why.
    pub problems: Vec<Problem>,
}

/// A decision that was evaluated.
#[derive(Clone, Debug)]
pub struct EvaluatedDecision {
    /// Its id in the model.
    pub id: Option<String>,
    /// Its name, with those of the imports on the way to it.
    pub name: Name,
    /// How it is made.
    pub logic: LogicKind,
    /// What came of it.
    pub value: FeelValue,
    /// The tables that were evaluated for it, its own and those of functions it has called.
    pub tables: Vec<EvaluatedTable>,
}

/// A decision table that was evaluated.
#[derive(Clone, Debug)]
pub struct EvaluatedTable {
    /// The values of its inputs.
    pub inputs: Vec<EvaluatedColumn>,
    /// The rules that matched and count for the result, in the order in which they count.
    pub rules: Vec<MatchedRule>,
}

/// A rule that matched.
#[derive(Clone, Debug)]
pub struct MatchedRule {
    /// Its id in the model.
    pub id: Option<Name>,
    /// Where it stands in its table, from 1.
    pub number: usize,
    /// The values of its outputs.
    pub outputs: Vec<EvaluatedColumn>,
}

/// The value of an input or an output of a table.
#[derive(Clone, Debug)]
pub struct EvaluatedColumn {
    /// The id of the input or output in the model.
    pub id: Option<Name>,
    /// What people call it.
    pub name: Name,
    /// The value.
    pub value: FeelValue,
}

/// How a decision is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogicKind {
    /// By a table.
    Table,
    /// By an expression.
    Literal,
    /// By a context of entries.
    Context,
    /// By calling a business knowledge model or a decision service.
    Invocation,
    /// By a list.
    List,
    /// By a relation.
    Relation,
    /// By something else: a function, a conditional, a filter, a loop, or nothing.
    Other,
}

/// Something that became null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The decision that was being evaluated.
    pub decision: Option<Name>,
    /// The file.
    pub file: Option<Name>,
    /// Where, from 1; 0 where it has no place.
    pub line: u32,
    /// Where in the line, from 1.
    pub column: u32,
    /// What and why.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(decision: Option<Name>, spot: Option<&Spot>, message: String) -> Self {
        let file = spot.map(|it| Name::clone(&it.file));
        let (line, column) = spot.map_or((0, 0), |it| (it.line, it.column));
        Self { decision, file, line, column, message }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:{}:{}: ", self.line, self.column)?;
        }
        if let Some(decision) = &self.decision {
            write!(f, "decision '{decision}': ")?;
        }
        f.write_str(&self.message)
    }
}

/// Why there is no result at all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Nothing of that name or id can be evaluated.
    NoSuchDecision(String),
    /// The model has no decision, or several and none was named.
    NotNamed,
    /// It ran into a limit.
    Limit(Limit),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchDecision(name) => write!(f, "no such decision: {name}"),
            Self::NotNamed => f.write_str("it is not clear which decision is meant"),
            Self::Limit(limit) => write!(f, "the {limit} limit was exceeded"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Limit> for Error {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}
