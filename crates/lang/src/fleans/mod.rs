//! The statements and expressions of models made for Fleans: a small part of C#.
//!
//! A script is statements, each an assignment or something thrown; an expression sees variables as
//! `_context.name`, and by their bare names. Whatever fails is an error of the model with the code `500`,
//! for it to catch, unless the script throws one with a code of its own.

mod eval;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use travertine_value::{EvalError, Evaluate, Limits, Name, Outcome, Program, Variables};

use self::{
    eval::Run,
    lexer::Problem,
    parser::{Expr, Statement},
};
use crate::{CompileError, Kind, Language};

/// The code of what fails without naming one.
pub const FAILED: &str = "500";

/// The language.
#[derive(Clone, Copy, Debug)]
pub struct Fleans;

impl Language for Fleans {
    fn names(&self) -> &[&str] {
        &["fleans", "csharp", "c#"]
    }

    fn compile(&self, kind: Kind, source: &str) -> Result<Program, CompileError> {
        let compiled = match kind {
            Kind::Expression => parser::expression(source).map(Form::Expression),
            Kind::Script => parser::script(source).map(Form::Script),
        };
        let form = compiled.map_err(|problem| located(source, problem))?;
        let reads = parser::reads(&form);
        Ok(Program::new(source, Arc::new(Compiled { form, reads })))
    }
}

/// A compiled text.
#[derive(Debug)]
struct Compiled {
    form: Form,
    reads: Vec<Name>,
}

#[derive(Debug)]
enum Form {
    Expression(Expr),
    Script(Vec<Statement>),
}

impl Evaluate for Compiled {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let mut run = Run::new(variables, limits);
        let done = match &self.form {
            Form::Expression(expression) => run.value(expression).map(|it| it.value),
            Form::Script(statements) => run.statements(statements),
        };
        match done {
            Ok(value) => Ok(Outcome { value, writes: run.into_writes() }),
            Err(EvalError::Failed(message)) => {
                Err(EvalError::Thrown { code: FAILED.to_owned(), message })
            }
            Err(other) => Err(other),
        }
    }

    fn reads(&self) -> Option<&[Name]> {
        Some(&self.reads)
    }
}

fn located(source: &str, problem: Problem) -> CompileError {
    let before = &source[..problem.at.min(source.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    CompileError {
        message: problem.message,
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
        foreign: false,
    }
}
