//! The `${…}` language of process engines: a subset of the Java Unified Expression Language.
//!
//! A text is a template. Exactly one `${…}` (or `#{…}`) keeps the type of its value; with text around
//! it, everything becomes one text; a text without braces is itself. There are no beans and no
//! functions: an expression sees the variables and `execution`, and nothing else.

mod eval;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use travertine_value::{
    EvalError, Evaluate, Limit, Limits, Name, Outcome, Program, Value, Variables,
};

use crate::{CompileError, Kind, Language};

use self::{eval::Run, parser::Expr};

/// The language. Expressions and scripts are the same to it.
#[derive(Clone, Copy, Debug)]
pub struct Juel;

impl Language for Juel {
    fn names(&self) -> &[&str] {
        &["juel", "el"]
    }

    fn compile(&self, _: Kind, source: &str) -> Result<Program, CompileError> {
        let template = parser::template(source)?;
        Ok(Program::new(source, Arc::new(template)))
    }
}

/// Compiles a text that is one expression, without the braces.
pub fn compile_bare(source: &str) -> Result<Program, CompileError> {
    let template = parser::bare(source)?;
    Ok(Program::new(source, Arc::new(template)))
}

/// A compiled text.
#[derive(Debug)]
struct Template {
    form: Form,
    /// `None` where a name is computed while running.
    reads: Option<Vec<Name>>,
}

#[derive(Debug)]
enum Form {
    Literal(Name),
    Typed(Expr),
    Text(Vec<Piece>),
}

#[derive(Debug)]
enum Piece {
    Literal(String),
    Computed(Expr),
}

impl Evaluate for Template {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let mut run = Run::new(variables, limits);
        let value = match &self.form {
            Form::Literal(text) => Value::String(Arc::clone(text)),
            Form::Typed(expression) => run.value(expression)?,
            Form::Text(pieces) => join(pieces, &mut run, limits)?.into(),
        };
        Ok(Outcome { value, writes: run.into_writes() })
    }

    fn reads(&self) -> Option<&[Name]> {
        self.reads.as_deref()
    }
}

fn join(pieces: &[Piece], run: &mut Run<'_>, limits: &Limits) -> Result<String, EvalError> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Computed(expression) => text.push_str(&eval::text(&run.value(expression)?)),
        }
        if text.len() > limits.memory_bytes_max {
            return Err(EvalError::Limit(Limit::Memory));
        }
    }
    Ok(text)
}
