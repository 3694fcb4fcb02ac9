//! The languages of expressions and scripts: FEEL, JavaScript, `${…}`, the C# of Fleans, and the formulas of BPMNOS.
//!
//! [`Language`] turns a text into a [`Program`](travertine_value::Program), which is all that the rest
//! of the engine sees of it.

#![forbid(unsafe_code)]

pub mod bpmnos;
mod execution;
pub mod feel;
pub mod fleans;
pub mod js;
pub mod juel;
mod language;

pub use execution::execution_has;
pub use language::{CompileError, Kind, Language, Languages};
