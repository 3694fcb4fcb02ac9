//! The expressions of models made for BPMNOS.
//!
//! A formula that reads a name without a value has no value itself, whole: [`Value::Null`] stands for
//! that. Only `x == undefined`, `x != undefined` and `x := undefined` speak of it. Whatever else cannot be
//! worked out is a [`Fault`].

mod eval;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use std::fmt;

use travertine_value::{Name, Number, Rounding, Value};

use self::{
    eval::Run,
    lexer::Problem,
    parser::{Allowed, Parser, Tree},
};
use crate::CompileError;

/// Longer texts are refused.
const BYTES_MAX: usize = 20_000;

/// Why a formula could not be worked out, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// What a formula sees.
pub trait Surroundings {
    /// The value of a name; [`Value::Null`] where it has none.
    fn read(&mut self, name: &str) -> Value;

    /// What a function gives that is not part of the language.
    fn call(&mut self, name: &str, arguments: &[Value]) -> Result<Value, Fault>;
}

/// What a formula reads and calls.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// Names that it reads.
    pub reads: Vec<Name>,
    /// Names of which it asks only whether they have a value.
    pub asks: Vec<Name>,
    /// Functions that are not part of the language.
    pub calls: Vec<Name>,
}

/// A formula.
#[derive(Clone, Debug)]
pub struct Formula {
    source: String,
    tree: Tree,
    uses: Uses,
}

/// A formula whose value a name gets.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The name.
    pub target: Name,
    /// The formula; without one the name becomes undefined.
    pub formula: Option<Formula>,
}

/// What may be chosen for a name.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The name.
    pub target: Name,
    source: String,
    allowed: Allowed,
    uses: Uses,
}

/// Values that may be chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Options {
    /// One of these.
    Members(Vec<Value>),
    /// A number between two, the ends included as said, and a multiple of the third where there is one.
    Between {
        /// The lower end, and whether it counts.
        from: (Number, bool),
        /// The upper end, and whether it counts.
        to: (Number, bool),
        /// What it is a multiple of.
        multiple: Option<Number>,
    },
}

/// More values are not listed one by one.
pub const LISTED_MAX: usize = 10_000;

impl Formula {
    /// Reads a formula.
    pub fn parse(source: &str) -> Result<Self, CompileError> {
        with(source, |parser| {
            let tree = parser.comparison()?;
            parser.end()?;
            Ok(Self { source: source.trim().to_owned(), tree, uses: uses(parser) })
        })
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What it needs.
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    /// What it is worth; [`Value::Null`] where a name that it reads has no value.
    pub fn value(&self, around: &mut dyn Surroundings) -> Result<Value, Fault> {
        value(&self.tree, &self.uses, around)
    }

    /// Whether it holds. What has no value does not.
    pub fn holds(&self, around: &mut dyn Surroundings) -> Result<bool, Fault> {
        match self.value(around)? {
            Value::Null => Ok(false),
            Value::Number(number) => Ok(number != Number::ZERO),
            other => Err(Fault(format!("{other} neither holds nor fails to"))),
        }
    }
}

impl Assignment {
    /// Reads an assignment.
    pub fn parse(source: &str) -> Result<Self, CompileError> {
        let mut all = Self::parse_all(source)?;
        if all.len() > 1 {
            return Err(refused("one assignment is expected here, not several"));
        }
        Ok(all.remove(0))
    }

    /// Reads assignments parted by commas.
    pub fn parse_all(source: &str) -> Result<Vec<Self>, CompileError> {
        with(source, |parser| {
            let mut all = Vec::new();
            loop {
                let (target, tree) = parser.assignment()?;
                let uses = uses(parser);
                parser.reads.clear();
                parser.asks.clear();
                parser.calls.clear();
                let source = source.trim().to_owned();
                let formula = tree.map(|tree| Formula { source, tree, uses });
                all.push(Self { target, formula });
                if !parser.comma() {
                    parser.end()?;
                    return Ok(all);
                }
            }
        })
    }

    /// Reads a name, or an assignment to one.
    pub fn parse_declared(source: &str) -> Result<(Name, Option<Self>), CompileError> {
        let parser = Parser::new(source).map_err(|it| located(source, &it))?;
        if parser.at_assignment() {
            let assignment = Self::parse(source)?;
            return Ok((Name::clone(&assignment.target), Some(assignment)));
        }
        Ok((source.trim().into(), None))
    }

    /// What the name becomes.
    pub fn value(&self, around: &mut dyn Surroundings) -> Result<Value, Fault> {
        match &self.formula {
            Some(formula) => formula.value(around),
            None => Ok(Value::Null),
        }
    }
}

impl Choice {
    /// Reads what may be chosen.
    pub fn parse(source: &str) -> Result<Self, CompileError> {
        with(source, |parser| {
            let (target, allowed) = parser.choice()?;
            parser.end()?;
            Ok(Self { target, source: source.trim().to_owned(), allowed, uses: uses(parser) })
        })
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What it needs.
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    /// What may be chosen now. Nothing may where an end has no value.
    pub fn options(&self, around: &mut dyn Surroundings) -> Result<Options, Fault> {
        for name in &self.uses.reads {
            if around.read(name).is_null() {
                return Ok(Options::Members(Vec::new()));
            }
        }
        let mut run = Run { around, bound: Vec::new() };
        let mut number = |tree: &Tree| {
            let value = run.value(tree)?;
            value.as_number().ok_or_else(|| Fault(format!("{value} is no number")))
        };
        match &self.allowed {
            Allowed::Between { from, to, multiple } => Ok(Options::Between {
                from: (number(&from.0)?, from.1),
                to: (number(&to.0)?, to.1),
                multiple: multiple.as_ref().map(&mut number).transpose()?,
            }),
            Allowed::Members(tree) => match run.value(tree)? {
                Value::List(members) => Ok(Options::Members(members.to_vec())),
                other => Err(Fault(format!("{other} is no collection"))),
            },
        }
    }
}

impl Options {
    /// The values one by one, in ascending order, as far as that is possible: whole numbers only where
    /// `whole` is set, and of a range without steps its ends and its middle.
    pub fn listed(&self, whole: bool) -> Result<Vec<Value>, Fault> {
        let (from, to, multiple) = match self {
            Self::Members(members) => return Ok(members.clone()),
            Self::Between { from, to, multiple } => (*from, *to, *multiple),
        };
        let failed = |it: travertine_value::NumberError| Fault(it.to_string());
        let one = Number::from(1);
        let step = match multiple {
            Some(step) if step <= Number::ZERO => {
                return Err(Fault(format!("{step} has no multiples to choose from")));
            }
            Some(step) => Some(step),
            None if whole => Some(one),
            None => None,
        };
        let Some(step) = step else {
            let middle = from.0.checked_add(to.0).map_err(failed)?;
            let middle = middle.checked_div(2.into()).map_err(failed)?;
            let mut all = vec![from.0, middle, to.0];
            all.dedup();
            return Ok(all.into_iter().filter(|it| self.has(*it)).map(Value::from).collect());
        };
        let first = from.0.checked_div(step).and_then(|it| it.round(0, Rounding::Ceiling));
        let mut next = first.and_then(|it| it.checked_mul(step)).map_err(failed)?;
        let mut all = Vec::new();
        while next <= to.0 {
            if self.has(next) && (!whole || next.is_whole()) {
                all.push(Value::from(next));
                if all.len() >= LISTED_MAX {
                    break;
                }
            }
            next = next.checked_add(step).map_err(failed)?;
        }
        Ok(all)
    }

    /// Whether a value is among them.
    pub fn contains(&self, value: &Value) -> bool {
        let value = eval::inside(value.clone());
        match self {
            Self::Members(members) => members.iter().any(|it| eval::inside(it.clone()) == value),
            Self::Between { multiple, .. } => value.as_number().is_some_and(|number| {
                let even = |step: Number| number.checked_rem(step) == Ok(Number::ZERO);
                self.has(number) && multiple.is_none_or(even)
            }),
        }
    }

    fn has(&self, number: Number) -> bool {
        let Self::Between { from, to, .. } = self else { return false };
        (number > from.0 || from.1 && number == from.0) && (number < to.0 || to.1 && number == to.0)
    }
}

fn value(tree: &Tree, uses: &Uses, around: &mut dyn Surroundings) -> Result<Value, Fault> {
    for name in &uses.reads {
        if around.read(name).is_null() {
            return Ok(Value::Null);
        }
    }
    Run { around, bound: Vec::new() }.value(tree)
}

fn with<T>(
    source: &str,
    parse: impl FnOnce(&mut Parser) -> Result<T, Problem>,
) -> Result<T, CompileError> {
    if source.len() > BYTES_MAX {
        return Err(refused(&format!("a text has at most {BYTES_MAX} bytes")));
    }
    let parsed = Parser::new(source).and_then(|mut parser| parse(&mut parser));
    parsed.map_err(|problem| located(source, &problem))
}

fn uses(parser: &Parser) -> Uses {
    let foreign = |it: &&Name| !eval::FUNCTIONS.contains(&&***it);
    Uses {
        reads: parser.reads.iter().cloned().collect(),
        asks: parser.asks.iter().cloned().collect(),
        calls: parser.calls.iter().filter(foreign).cloned().collect(),
    }
}

fn refused(message: &str) -> CompileError {
    CompileError { message: message.to_owned(), line: 1, column: 1, foreign: false }
}

fn located(source: &str, problem: &Problem) -> CompileError {
    let before = &source[..problem.at.min(source.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    CompileError {
        message: problem.message.clone(),
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
        foreign: false,
    }
}
