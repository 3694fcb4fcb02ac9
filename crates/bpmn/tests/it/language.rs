//! A language that takes every text, for models whose languages are not ours.

use std::sync::Arc;

use travertine_bpmn::Options;
use travertine_lang::{CompileError, Kind, Language, Languages};
use travertine_value::{Program, Value};

#[derive(Debug)]
struct Anything;

impl Language for Anything {
    fn names(&self) -> &[&str] {
        &["feel", "python", "groovy", "http://www.java.com/java"]
    }

    fn compile(&self, _: Kind, source: &str) -> Result<Program, CompileError> {
        Ok(Program::constant(Value::String(Arc::from(source))))
    }
}

/// Options that take texts of languages that are not ours.
pub(crate) fn lenient() -> Options {
    Options::new(Languages::standard().with(Arc::new(Anything)))
}
