//! The compiled form of an expression: names are resolved, calls are matched to their functions.
//!
//! Operators of one level stand in one row, so that a long sum is wide and not deep. `at` is where in
//! the text something stands, for what is said when it becomes null.

use std::sync::Arc;

use travertine_value::Name;

use super::{builtins::Form, function::Parameter, types::Type, value::FeelValue};

/// A place in the text, in bytes from its beginning.
pub(super) type At = u32;

#[derive(Debug)]
pub(super) enum Expr {
    Constant(FeelValue),
    /// A name from outside.
    Global(Name, At),
    /// A name from outside that is also that of a built-in function.
    GlobalOr(Name, &'static super::builtins::Builtin),
    /// A name from inside: the number of its slot.
    Local(usize),
    /// What the function has taken along.
    Captured(usize),
    /// Inside a filter: the entry of that name in the item, and what else it means where the item has
    /// none.
    Entry(Box<Entry>),
    /// The function whose body this stands in.
    ThisFunction,
    Path(Box<Self>, Vec<Step>),
    Negate(Box<Self>, At),
    Arithmetic(Box<Self>, Vec<(Operator, At, Self)>),
    Compare(Comparison, At, Box<[Self; 2]>),
    Between(At, Box<[Self; 3]>),
    In(At, Box<Self>, Vec<Test>),
    InstanceOf(Box<Self>, Type),
    And(At, Vec<Self>),
    Or(At, Vec<Self>),
    /// Conditions with what they choose, and the rest.
    Choice(Vec<Branch>, Box<Self>),
    For(Box<Loop>),
    Quantified(Quantifier, Box<Loop>),
    List(Vec<Self>),
    Context(Vec<(Name, Self)>),
    Range(Box<RangeOf>),
    Function(Arc<Definition>),
    /// A call of a built-in function, its arguments in the order of the parameters.
    Builtin(&'static Form, At, Vec<Option<Self>>),
    /// A call of whatever the first expression gives; where that is no function, of the built-in one.
    Call(Box<Call>),
    IsDefined(Box<Self>),
    /// What cannot mean anything: it is null for this reason.
    Nothing(At, Name),
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) item: usize,
    pub(super) name: Name,
    pub(super) otherwise: Expr,
}

#[derive(Debug)]
pub(super) enum Step {
    Field(Name, At),
    Filter(Filter),
}

#[derive(Debug)]
pub(super) struct Filter {
    pub(super) at: At,
    /// The item has the next slot.
    pub(super) condition: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    Some,
    Every,
}

#[derive(Debug)]
pub(super) struct Branch {
    pub(super) at: At,
    pub(super) condition: Expr,
    pub(super) then: Expr,
}

#[derive(Debug)]
pub(super) struct Loop {
    pub(super) at: At,
    pub(super) iterators: Vec<Iterator>,
    /// Whether the body reads `partial`, which has the slot after the iterators.
    pub(super) reads_partial: bool,
    pub(super) body: Expr,
}

/// Each iterator has the slot after those before it.
#[derive(Debug)]
pub(super) struct Iterator {
    pub(super) at: At,
    pub(super) domain: Domain,
}

#[derive(Debug)]
pub(super) enum Domain {
    Values(Expr),
    /// From one end to the other, up or down.
    Span(Expr, Expr),
}

#[derive(Debug)]
pub(super) struct RangeOf {
    pub(super) at: At,
    pub(super) start: EndOf,
    pub(super) end: EndOf,
}

#[derive(Debug)]
pub(super) enum EndOf {
    Open,
    /// The value at the other end.
    Same,
    Excluded(Expr),
    Included(Expr),
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) at: At,
    pub(super) callee: Expr,
    pub(super) arguments: Vec<(Option<Name>, Expr)>,
    /// The built-in function of the same name, with its arguments in order. They are evaluated only
    /// where the callee is no function.
    pub(super) otherwise: Option<&'static super::builtins::Builtin>,
}

/// A function as it is written. Its first slots are its parameters.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) source: Name,
    pub(super) parameters: Vec<Parameter>,
    /// What it takes along from where it is written.
    pub(super) captures: Vec<Expr>,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Feel(Expr),
    /// Code in another language, which we do not run.
    External,
}

/// One of the tests behind `in`, or in a cell of a decision table.
#[derive(Debug)]
pub(super) enum Test {
    /// `< 5`.
    Compare(Comparison, At, Expr),
    /// An expression about the input `?`, which is itself the answer.
    Condition(At, Expr),
    /// Anything else: the input is equal to it, or in it.
    Member(At, Expr),
}

#[derive(Debug)]
pub(super) struct Tests {
    pub(super) is_negated: bool,
    pub(super) tests: Vec<Test>,
}
