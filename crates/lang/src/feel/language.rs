//! FEEL behind the seam of the languages: programs over process variables.

use std::sync::Arc;

use travertine_value::{EvalError, Evaluate, Limits, Name, Outcome, Program, Variables};

use crate::{CompileError, Kind, Language};

use super::{
    eval::{Scope, Session, Settings},
    expression::Expression,
    names::Names,
    problem::{Reason, Severity, Warning},
    value::FeelValue,
};

/// The language FEEL.
///
/// A text may begin with `=`. A condition, such as a comparison, that becomes null for a reason fails
/// with that reason, and so does everything that needs a clock or randomness where there is none; any
/// other value may be null.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feel {
    is_strict: bool,
}

impl Feel {
    /// A stricter FEEL: whatever becomes null for a reason fails with it, even where the value of the
    /// whole does not depend on it.
    pub fn strict() -> Self {
        Self { is_strict: true }
    }
}

impl Language for Feel {
    fn names(&self) -> &[&str] {
        &[
            "feel",
            "https://www.omg.org/spec/dmn/20240513/feel/",
            "https://www.omg.org/spec/dmn/20230324/feel/",
            "https://www.omg.org/spec/dmn/20211108/feel/",
            "https://www.omg.org/spec/dmn/20191111/feel/",
            "http://www.omg.org/spec/dmn/20180521/feel/",
            "http://www.omg.org/spec/feel/20140401",
            "http://www.omg.org/spec/feel/20140401/",
        ]
    }

    fn compile(&self, _: Kind, source: &str) -> Result<Program, CompileError> {
        let text = without_prefix(source);
        let expression = Expression::parse(&text, &Names::new())?;
        if let Some(problem) =
            expression.problems().iter().find(|it| it.severity == Severity::Error)
        {
            return Err(CompileError {
                message: problem.message.clone(),
                line: problem.place.line,
                column: problem.place.column,
                foreign: false,
            });
        }
        Ok(Program::new(source, Arc::new(Compiled { expression, is_strict: self.is_strict })))
    }
}

/// The text without the `=` in front. A space takes its place, so that columns stay as they are.
fn without_prefix(source: &str) -> String {
    let trimmed = source.trim_start();
    match trimmed.strip_prefix('=') {
        Some(rest) => format!("{} {rest}", &source[..source.len() - trimmed.len()]),
        None => source.to_owned(),
    }
}

#[derive(Debug)]
struct Compiled {
    expression: Expression,
    is_strict: bool,
}

impl Evaluate for Compiled {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let settings = Settings { now: variables.now(), limits: *limits, ..Settings::default() };
        let mut session = Session::new(&settings);
        let value = self.expression.evaluate_in(&Process(variables), &mut session)?;
        if let Some(warning) = self.failure(&value, session.warnings()) {
            return Err(EvalError::Failed(warning.to_string()));
        }
        Ok(Outcome { value: value.to_value(), writes: Vec::new() })
    }

    fn reads(&self) -> Option<&[Name]> {
        Some(self.expression.reads())
    }
}

impl Compiled {
    /// The warning that is more than a warning here.
    fn failure<'w>(&self, value: &FeelValue, warnings: &'w [Warning]) -> Option<&'w Warning> {
        let any = self.is_strict || value.is_null() && self.expression.is_condition();
        let is_failure = |it: &&Warning| any || it.reason == Reason::NoSource;
        warnings.iter().find(is_failure)
    }
}

struct Process<'v>(&'v dyn Variables);

impl Scope for Process<'_> {
    fn get(&self, name: &str) -> Option<FeelValue> {
        self.0.get(name).map(Into::into)
    }
}
