//! Reads DMN models, version 1.1 to 1.5, and makes their decisions.
//!
//! [`read`] takes files that belong together and answers for everything that is wrong in them. What
//! comes out is [`Definitions`]: compiled once, evaluated often, by as many threads as like.
//!
//! The standard lets a wrong value become null. Here it never does so silently: each result says what
//! became null and why, and which rules of which tables have matched.

#![forbid(unsafe_code)]

mod compile;
mod definitions;
mod eval;
mod files;
mod logic;
mod model;
mod name;
mod outline;
mod program;
mod read;
mod report;
mod result;
mod scope;
mod show;
mod source;
mod text;
mod types;

pub use definitions::{Definitions, Input, Invocable, InvocableKind};
pub use outline::{Outline, OutlinedDecision, outline};
pub use read::read;
pub use report::Report;
pub use result::{
    DecisionResult, Error, EvaluatedColumn, EvaluatedDecision, EvaluatedTable, LogicKind,
    MatchedRule, Problem,
};
pub use travertine_xml::{Diagnostic, Severity};
