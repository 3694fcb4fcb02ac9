//! Values, and the languages that compute with them.
//!
//! Everything a model says in an expression or a script becomes a [`Program`], compiled once and
//! run many times. [`Language`] is the one seam behind which languages live; the kernel runs
//! programs and never learns in which language they were written.

#![forbid(unsafe_code)]

pub mod feel;
pub mod js;
mod json;
pub mod juel;
mod number;
mod program;
pub mod time;
pub mod typed;
mod value;

pub use json::JsonError;
pub use number::{Number, NumberError, Rounding};
pub use program::{
    CompileError, EXECUTION_METHODS, EvalError, Evaluate, Fact, Kind, Language, Languages, Limit,
    Limits, Outcome, Program, Variables, execution_has,
};
pub use value::{Excess, Map, Name, VALUE_DEPTH_MAX, Value};
