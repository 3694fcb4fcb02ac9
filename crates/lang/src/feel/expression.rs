//! Expressions and unary tests, parsed once and evaluated many times.

use travertine_value::{Limit, Name};

use crate::CompileError;

use super::{
    eval::{Run, Scope, Session, Settings},
    names::Names,
    parser::{self, Tree},
    problem::{Problem, Warning},
    tree::{Expr, Tests},
    types::Type,
    value::FeelValue,
};

/// What an evaluation leaves behind.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The value.
    pub value: FeelValue,
    /// What became null on the way, and why.
    pub warnings: Vec<Warning>,
}

impl Evaluation {
    /// The value, where nothing became null that was not expected to be; else the first reason.
    pub fn strict(self) -> Result<FeelValue, Warning> {
        match self.warnings.into_iter().next() {
            Some(warning) => Err(warning),
            None => Ok(self.value),
        }
    }
}

/// A parsed expression.
#[derive(Debug)]
pub struct Expression {
    source: Name,
    tree: Tree<Expr>,
}

impl Expression {
    /// Parses a text in which these names are known.
    pub fn parse(source: &str, names: &Names) -> Result<Self, CompileError> {
        let source = Name::from(source);
        let tree = parser::expression(&source, names)?;
        Ok(Self { source, tree })
    }

    /// Evaluates it on its own.
    pub fn evaluate(&self, scope: &dyn Scope, settings: &Settings) -> Result<Evaluation, Limit> {
        let mut session = Session::new(settings);
        let value = self.evaluate_in(scope, &mut session)?;
        Ok(Evaluation { value, warnings: session.take_warnings() })
    }

    /// Evaluates it as part of something larger, which shares its limits and collects its warnings.
    pub fn evaluate_in(
        &self,
        scope: &dyn Scope,
        session: &mut Session<'_>,
    ) -> Result<FeelValue, Limit> {
        Run::new(session, scope, &self.source).value(&self.tree.root)
    }

    /// The text it was parsed from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The names it may read from outside, in order of appearance.
    pub fn reads(&self) -> &[Name] {
        &self.tree.reads
    }

    /// Those of them that cannot be anything else: a name in a filter may be an entry of the items.
    pub fn needs(&self) -> &[Name] {
        &self.tree.needs
    }

    /// What is known to be wrong with it before it runs.
    pub fn problems(&self) -> &[Problem] {
        &self.tree.problems
    }

    /// Whether it can only be true, false or null.
    pub fn is_condition(&self) -> bool {
        matches!(
            self.tree.root,
            Expr::Compare(..)
                | Expr::Between(..)
                | Expr::In(..)
                | Expr::InstanceOf(..)
                | Expr::And(..)
                | Expr::Or(..)
                | Expr::Quantified(..)
                | Expr::IsDefined(_)
        ) || matches!(self.tree.root, Expr::Builtin(form, ..) if form.name == "not")
    }
}

/// Parsed unary tests, such as stand in the cells of a decision table.
#[derive(Debug)]
pub struct UnaryTests {
    source: Name,
    tree: Tree<Tests>,
}

impl UnaryTests {
    /// Parses a text in which these names are known.
    pub fn parse(source: &str, names: &Names) -> Result<Self, CompileError> {
        let source = Name::from(source);
        let tree = parser::unary_tests(&source, names)?;
        Ok(Self { source, tree })
    }

    /// Whether the input passes, on its own. True, false, or null where that cannot be said.
    pub fn evaluate(
        &self,
        input: &FeelValue,
        scope: &dyn Scope,
        settings: &Settings,
    ) -> Result<Evaluation, Limit> {
        let mut session = Session::new(settings);
        let value = self.evaluate_in(input, scope, &mut session)?;
        Ok(Evaluation { value, warnings: session.take_warnings() })
    }

    /// Whether the input passes, as part of something larger.
    pub fn evaluate_in(
        &self,
        input: &FeelValue,
        scope: &dyn Scope,
        session: &mut Session<'_>,
    ) -> Result<FeelValue, Limit> {
        let mut run = Run::new(session, scope, &self.source);
        run.push(input.clone());
        run.cell(input, &self.tree.root)
    }

    /// The text they were parsed from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The names they may read from outside, in order of appearance.
    pub fn reads(&self) -> &[Name] {
        &self.tree.reads
    }

    /// Those of them that cannot be anything else: a name in a filter may be an entry of the items.
    pub fn needs(&self) -> &[Name] {
        &self.tree.needs
    }

    /// What is known to be wrong with them before they run.
    pub fn problems(&self) -> &[Problem] {
        &self.tree.problems
    }
}

impl Type {
    /// Reads a type as it is written in FEEL: `list<number>`, or the name of a known one.
    pub fn parse(source: &str, names: &Names) -> Result<Self, CompileError> {
        parser::type_of(source, names)
    }
}
