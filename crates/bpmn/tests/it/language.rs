//! A language that takes every text, for models whose languages are not ours.

use std::sync::Arc;

use travertine_bpmn::Options;
use travertine_expr::{CompileError, Kind, Language, Languages, Program, Value};

#[derive(Debug)]
struct Anything;

impl Language for Anything {
    fn names(&self) -> &[&str] {
        &["javascript", "juel", "feel", "python", "groovy", "java", "http://www.java.com/java"]
    }

    fn compile(&self, _: Kind, source: &str) -> Result<Program, CompileError> {
        Ok(Program::constant(Value::String(Arc::from(source))))
    }
}

/// Options with which every expression is one.
pub(crate) fn lenient() -> Options {
    Options::new(Languages::empty().with(Arc::new(Anything)))
}
