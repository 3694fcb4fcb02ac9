//! FEEL, the expression language of DMN 1.5, with the additions that authors of BPMN models know.
//!
//! A text becomes an [`Expression`] or [`UnaryTests`], once; that is evaluated against a [`Scope`],
//! often. Nothing is looked up by name that could be resolved before, and variables are not copied.
//! Where something becomes null, a [`Warning`] says why; where it can be known before, a [`Problem`].
//!
//! Behind the seam of the languages, [`Feel`] makes programs of expressions.

mod builtins;
mod collection;
mod eval;
mod expression;
mod function;
mod language;
mod lexer;
mod names;
mod parser;
mod problem;
mod range;
pub mod temporal;
mod text;
mod tree;
mod types;
mod value;

#[cfg(test)]
mod print;
#[cfg(test)]
mod tests;

pub use collection::{Context, List};
pub use eval::{Scope, Session, Settings};
pub use expression::{Evaluation, Expression, UnaryTests};
pub use function::{Function, NativeCall, Parameter};
pub use language::Feel;
pub use names::{Mark, Names};
pub use problem::{Place, Problem, Reason, Severity, Warning};
pub use range::{End, Range};
pub use types::Type;
pub use value::FeelValue;
