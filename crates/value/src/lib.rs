//! Values, and the seam behind which the languages that compute with them live.
//!
//! Everything a model says in an expression or a script becomes a [`Program`], compiled once and
//! run many times. The kernel runs programs and never learns in which language they were written, or
//! that there are languages at all.

#![forbid(unsafe_code)]

#[doc(hidden)] // For those who tell people what is wrong.
pub mod brief;
#[doc(hidden)] // For the runtime, whose threads end.
pub mod interrupt;
mod json;
mod number;
#[doc(hidden)] // For the runtime and the languages, which wait for what may take too long.
pub mod patience;
mod program;
pub mod time;
pub mod typed;
mod value;

pub use json::{JsonError, position};
pub use number::{Number, NumberError, Rounding};
pub use program::{EvalError, Evaluate, Fact, Limit, Limits, Outcome, Program, Variables};
pub use value::{Excess, Map, Name, VALUE_DEPTH_MAX, Value};
