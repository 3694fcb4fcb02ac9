//! From words to the tree, in one pass, with all names resolved on the way.

mod calls;
mod cells;
mod control;
mod cursor;
mod operators;
mod postfix;
mod primary;
mod scope;
mod typed;

use travertine_value::Name;

use crate::CompileError;

use super::{
    lexer::{self, Spot},
    names::Names,
    problem::{Place, Problem, Severity},
    tree::{At, Expr, Tests},
    types::Type,
};

use scope::Scopes;

pub(super) use primary::at_literal;

/// Brackets, branches and functions within each other.
const NESTING_MAX: usize = 100;

/// A text longer than this is no expression.
const SOURCE_BYTES_MAX: usize = 1 << 20;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) message: String,
    pub(super) at: At,
}

impl SyntaxError {
    pub(super) fn new(message: impl Into<String>, at: At) -> Self {
        Self { message: message.into(), at }
    }

    fn locate(self, source: &str) -> CompileError {
        let place = Place::of(source, self.at);
        CompileError {
            message: self.message,
            line: place.line,
            column: place.column,
            foreign: false,
        }
    }
}

type Parsed<T> = Result<T, SyntaxError>;

/// What came out of a text.
#[derive(Debug)]
pub(super) struct Tree<T> {
    pub(super) root: T,
    /// The names from outside, in order of appearance.
    pub(super) reads: Vec<Name>,
    /// Those of them that stand outside of filters, too.
    pub(super) needs: Vec<Name>,
    pub(super) problems: Vec<Problem>,
}

/// Parses a whole expression.
pub(super) fn expression(source: &Name, names: &Names) -> Result<Tree<Expr>, CompileError> {
    whole(source, names, Parser::expression)
}

/// Parses the tests of a cell. The input `?` has the first slot.
pub(super) fn unary_tests(source: &Name, names: &Names) -> Result<Tree<Tests>, CompileError> {
    whole(source, names, |parser| {
        parser.bind("?");
        parser.cell()
    })
}

/// Parses a type on its own.
pub(super) fn type_of(source: &str, names: &Names) -> Result<Type, CompileError> {
    whole(&Name::from(source), names, Parser::type_name).map(|tree| tree.root)
}

fn whole<'n, T>(
    source: &Name,
    names: &'n Names,
    parse: impl FnOnce(&mut Parser<'n>) -> Parsed<T>,
) -> Result<Tree<T>, CompileError> {
    let run = || {
        if source.len() > SOURCE_BYTES_MAX {
            return Err(SyntaxError::new("the expression is too long", 0));
        }
        let tokens = lexer::tokens(source)?;
        let mut parser = Parser {
            source: Name::clone(source),
            tokens,
            position: 0,
            names,
            scopes: Scopes::new(),
            problems: Vec::new(),
            nesting: 0,
        };
        let root = parse(&mut parser)?;
        parser.expect_end()?;
        let (reads, needs) = parser.scopes.into_reads();
        Ok(Tree { root, reads, needs, problems: parser.problems })
    };
    run().map_err(|error| error.locate(source))
}

struct Parser<'n> {
    source: Name,
    tokens: Vec<Spot>,
    position: usize,
    names: &'n Names,
    scopes: Scopes,
    problems: Vec<Problem>,
    nesting: usize,
}

impl Parser<'_> {
    /// Parses something that can contain itself.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting == NESTING_MAX {
            return Err(self.error("the expression is nested too deeply"));
        }
        self.nesting += 1;
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    fn problem(&mut self, severity: Severity, message: impl Into<String>, at: At) {
        let place = Place::of(&self.source, at);
        self.problems.push(Problem { severity, message: message.into(), place });
    }

    /// A part that is null whatever happens, and the problem that says so.
    fn nothing(&mut self, message: String, at: At) -> Expr {
        self.problem(Severity::Error, message.clone(), at);
        Expr::Nothing(at, message.into())
    }
}
