//! Boxed expressions, compiled.

use std::sync::Arc;

use travertine_value::Name;

use crate::{
    model::{FunctionOf, Variable},
    result::LogicKind,
    text::{Tests, Text},
    types::TypeId,
};

/// An expression with the type that its value must conform to.
#[derive(Debug)]
pub(crate) struct Boxed {
    pub(crate) of: TypeId,
    pub(crate) spot: Spot,
    pub(crate) logic: Logic,
}

/// A place in one of the files, and what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) file: Name,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

#[derive(Debug)]
pub(crate) enum Logic {
    /// It is null, and this is why.
    Nothing(String),
    Literal(Text),
    Table(Box<Table>),
    Context(Vec<Entry>),
    Invocation(Box<Invocation>),
    List(Vec<Boxed>),
    Relation {
        columns: Vec<Variable>,
        rows: Vec<Vec<Boxed>>,
    },
    Function(Arc<FunctionOf>),
    Conditional(Box<Conditional>),
    Filter(Box<Filter>),
    For(Box<Loop>),
    Some(Box<Loop>),
    Every(Box<Loop>),
}

/// An entry of a context. The one without a name is the result.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) variable: Option<Variable>,
    pub(crate) value: Boxed,
}

#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) callee: Boxed,
    pub(crate) bindings: Vec<(Name, Boxed)>,
}

#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) condition: Boxed,
    pub(crate) then: Boxed,
    pub(crate) otherwise: Boxed,
}

#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) domain: Boxed,
    pub(crate) condition: Boxed,
}

#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) variable: Name,
    pub(crate) domain: Boxed,
    pub(crate) body: Boxed,
    /// Whether the body may read the results so far.
    pub(crate) reads_partial: bool,
}

/// A decision table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) hit: Hit,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) rules: Vec<Rule>,
}

/// What becomes of the rules that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    Unique,
    Any,
    Priority,
    First,
    RuleOrder,
    OutputOrder,
    Collect,
    Sum,
    Min,
    Max,
    Count,
}

#[derive(Debug)]
pub(crate) struct Input {
    /// Its id in the model.
    pub(crate) id: Option<Name>,
    /// What people call it: its label, or its expression.
    pub(crate) label: Name,
    pub(crate) expression: Text,
    pub(crate) of: TypeId,
    /// The values it may have.
    pub(crate) allowed: Option<Tests>,
}

#[derive(Debug)]
pub(crate) struct Output {
    /// Its id in the model.
    pub(crate) id: Option<Name>,
    /// Its name in the result, or what people call it where there is only one.
    pub(crate) name: Name,
    pub(crate) of: TypeId,
    /// The values it may have, most important first.
    pub(crate) allowed: Vec<Tests>,
    pub(crate) default: Option<Text>,
}

#[derive(Debug)]
pub(crate) struct Rule {
    /// Its id in the model.
    pub(crate) id: Option<Name>,
    /// Its tests; `None` where anything will do.
    pub(crate) tests: Vec<Option<Tests>>,
    pub(crate) outputs: Vec<Option<Text>>,
}

impl Logic {
    pub(crate) fn kind(&self) -> LogicKind {
        match self {
            Self::Literal(_) => LogicKind::Literal,
            Self::Table(_) => LogicKind::Table,
            Self::Context(_) => LogicKind::Context,
            Self::Invocation(_) => LogicKind::Invocation,
            Self::List(_) => LogicKind::List,
            Self::Relation { .. } => LogicKind::Relation,
            Self::Nothing(_)
            | Self::Function(_)
            | Self::Conditional(_)
            | Self::Filter(_)
            | Self::For(_)
            | Self::Some(_)
            | Self::Every(_) => LogicKind::Other,
        }
    }
}

impl Spot {
    /// A place in a text that begins here.
    pub(crate) fn at(&self, line: u32, column: u32) -> Self {
        let (line, column) = match line {
            0 | 1 => (self.line, self.column + column.saturating_sub(1)),
            _ => (self.line + line - 1, column),
        };
        Self { file: Name::clone(&self.file), line, column }
    }
}
