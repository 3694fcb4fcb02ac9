//! From trees to values.
//!
//! Nothing here fails for a wrong type or a missing name: the part becomes null, and the session
//! notes why. Only limits end an evaluation.

mod arithmetic;
mod call;
mod compare;
mod iterate;
mod path;
mod session;
mod test;

use std::{cmp::Ordering, sync::Arc};

use travertine_value::{Limit, Name};

use super::{
    function::{Function, Lambda},
    problem::Reason,
    range::{End, Range},
    tree::{At, Branch, Comparison, EndOf, Expr, RangeOf},
    value::FeelValue,
};

pub use session::{Scope, Session, Settings};

pub(super) use compare::{compare, equal};
pub(super) use session::Nowhere;

type Valued = Result<FeelValue, Limit>;

/// The evaluation of one tree.
pub(super) struct Run<'r, 's> {
    pub(super) session: &'r mut Session<'s>,
    scope: &'r dyn Scope,
    source: Name,
    /// The slots of all functions that are being called; those of the innermost from `base`.
    locals: Vec<FeelValue>,
    base: usize,
    this: Option<Arc<Lambda>>,
}

impl<'r, 's> Run<'r, 's> {
    pub(super) fn new(session: &'r mut Session<'s>, scope: &'r dyn Scope, source: &Name) -> Self {
        let source = Name::clone(source);
        Self { session, scope, source, locals: Vec::new(), base: 0, this: None }
    }

    /// Gives the next slot a value.
    pub(super) fn push(&mut self, value: FeelValue) {
        self.locals.push(value);
    }

    pub(super) fn value(&mut self, expr: &Expr) -> Valued {
        self.session.step()?;
        match expr {
            Expr::Constant(value) => Ok(value.clone()),
            Expr::Local(slot) => Ok(self.local(*slot).clone()),
            Expr::Global(name, at) => Ok(self.global(name, *at)),
            Expr::GlobalOr(name, builtin) => {
                Ok(self.scope.get(name).unwrap_or_else(|| builtin.value()))
            }
            _ => {
                self.session.go_deeper()?;
                let value = self.compound(expr);
                self.session.come_back();
                value
            }
        }
    }

    fn compound(&mut self, expr: &Expr) -> Valued {
        match expr {
            Expr::Constant(_) | Expr::Local(_) | Expr::Global(..) | Expr::GlobalOr(..) => {
                unreachable!("these have no parts")
            }
            Expr::Captured(index) => Ok(self.captured(*index)),
            Expr::Entry(entry) => self.entry(entry),
            Expr::ThisFunction => Ok(self.this_function()),
            Expr::Path(root, steps) => self.path(root, steps),
            Expr::Negate(operand, at) => self.negate(operand, *at),
            Expr::Arithmetic(first, links) => self.arithmetic(first, links),
            Expr::Compare(how, at, sides) => self.comparison(*how, *at, sides),
            Expr::Between(at, parts) => self.between(*at, parts),
            Expr::In(at, value, tests) => self.membership(*at, value, tests),
            Expr::InstanceOf(value, of) => Ok(of.includes(&self.value(value)?).into()),
            Expr::And(at, operands) => self.logic(*at, operands, false),
            Expr::Or(at, operands) => self.logic(*at, operands, true),
            Expr::Choice(branches, otherwise) => self.choice(branches, otherwise),
            Expr::For(over) => self.loop_over(over),
            Expr::Quantified(quantifier, over) => self.quantified(*quantifier, over),
            Expr::List(items) => self.list(items),
            Expr::Context(entries) => self.context(entries),
            Expr::Range(range) => self.range(range),
            Expr::Function(definition) => self.closure(definition),
            Expr::Builtin(form, at, arguments) => self.builtin(form, *at, arguments),
            Expr::Call(call) => self.call(call),
            Expr::IsDefined(operand) => self.is_defined(operand),
            Expr::Nothing(at, reason) => {
                Ok(self.null(Reason::NoSuchFunction, *at, || reason.to_string()))
            }
        }
    }

    /// Null, with the reason.
    pub(super) fn null(
        &mut self,
        reason: Reason,
        at: At,
        message: impl FnOnce() -> String,
    ) -> FeelValue {
        self.session.warn(reason, &self.source, at, message);
        FeelValue::Null
    }

    /// A value that was put together; refused where it has grown too deep or too large.
    pub(super) fn made(&mut self, value: impl Into<FeelValue>) -> Valued {
        let value = value.into();
        self.session.charge_for(&value)?;
        Ok(value)
    }

    fn local(&self, slot: usize) -> &FeelValue {
        &self.locals[self.base + slot]
    }

    fn global(&mut self, name: &Name, at: At) -> FeelValue {
        match self.scope.get(name) {
            Some(value) => value,
            None => self.null(Reason::MissingVariable(Name::clone(name)), at, || {
                format!("there is no variable {name}")
            }),
        }
    }

    fn captured(&self, index: usize) -> FeelValue {
        let this = self.this.as_ref().expect("only a function has captured anything");
        this.captured[index].clone()
    }

    fn this_function(&self) -> FeelValue {
        let this = self.this.as_ref().expect("only a function can call itself");
        Function(super::function::Body::Lambda(Arc::clone(this))).into()
    }

    fn is_defined(&mut self, operand: &Expr) -> Valued {
        let warnings = self.session.warnings_len();
        let value = self.value(operand)?;
        let is_missing = self.session.is_missing_since(warnings);
        self.session.forget_warnings(warnings);
        Ok((!value.is_null() || !is_missing).into())
    }

    fn list(&mut self, items: &[Expr]) -> Valued {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(self.value(item)?);
        }
        self.made(values)
    }

    fn context(&mut self, entries: &[(Name, Expr)]) -> Valued {
        let mut made = indexmap::IndexMap::with_capacity(entries.len());
        for (name, expr) in entries {
            let value = self.value(expr)?;
            self.locals.push(value.clone());
            made.insert(Name::clone(name), value);
        }
        self.locals.truncate(self.locals.len() - entries.len());
        self.made(super::collection::Context::from(made))
    }

    fn range(&mut self, range: &RangeOf) -> Valued {
        let start = self.end(&range.start)?;
        let end = match (&range.end, &start) {
            (EndOf::Same, End::Included(value)) => End::Included(value.clone()),
            (EndOf::Same, _) => unreachable!("only a range of one value ends where it starts"),
            (other, _) => self.end(other)?,
        };
        let (low, high) = (start.value(), end.value());
        if !low.is_null() && !high.is_null() && equal(&low, &high).is_none() {
            return Ok(self.null(Reason::WrongType, range.at, || {
                format!("there is no range from {} to {}", low.kind(), high.kind())
            }));
        }
        if compare(&low, &high) == Some(Ordering::Greater) {
            return Ok(self.null(Reason::BadArgument, range.at, || {
                "a range does not go down from its start to its end".to_owned()
            }));
        }
        let is_test = matches!(range.end, EndOf::Same);
        Ok(Range { start, end, is_test }.into())
    }

    fn end(&mut self, end: &EndOf) -> Result<End, Limit> {
        Ok(match end {
            EndOf::Open | EndOf::Same => End::Open,
            EndOf::Excluded(expr) => End::Excluded(self.value(expr)?),
            EndOf::Included(expr) => End::Included(self.value(expr)?),
        })
    }

    /// `and` and `or`: the deciding value wins, wherever it stands; without one, what is no boolean
    /// makes the whole null.
    fn logic(&mut self, at: At, operands: &[Expr], deciding: bool) -> Valued {
        let warnings = self.session.warnings_len();
        let mut undecided = None;
        for operand in operands {
            match self.value(operand)? {
                FeelValue::Boolean(it) if it == deciding => {
                    // What was null before has made no difference.
                    self.session.forget_warnings(warnings);
                    return Ok(deciding.into());
                }
                FeelValue::Boolean(_) => {}
                other => undecided = Some(other),
            }
        }
        Ok(match undecided {
            None => (!deciding).into(),
            Some(value) => self.null(Reason::WrongType, at, || {
                let word = if deciding { "or" } else { "and" };
                format!("'{word}' needs booleans, not {}", value.kind())
            }),
        })
    }

    /// A condition that is null is not met.
    fn choice(&mut self, branches: &[Branch], otherwise: &Expr) -> Valued {
        for branch in branches {
            match self.value(&branch.condition)? {
                FeelValue::Boolean(true) => return self.value(&branch.then),
                FeelValue::Boolean(false) => {}
                other => {
                    self.null(Reason::WrongType, branch.at, || {
                        format!("{} is not a condition", other.kind())
                    });
                }
            }
        }
        self.value(otherwise)
    }

    fn comparison(&mut self, how: Comparison, at: At, sides: &[Expr; 2]) -> Valued {
        let warnings = self.session.warnings_len();
        let left = self.value(&sides[0])?;
        let computed;
        let right = if let Expr::Constant(constant) = &sides[1] {
            constant
        } else {
            computed = self.value(&sides[1])?;
            &computed
        };
        // Who asks whether something is null knows that it may be.
        if sides.iter().any(|it| matches!(it, Expr::Constant(FeelValue::Null))) {
            self.session.forget_warnings(warnings);
        }
        self.compared(how, at, &left, right)
    }

    fn between(&mut self, at: At, parts: &[Expr; 3]) -> Valued {
        let value = self.value(&parts[0])?;
        let low = self.value(&parts[1])?;
        let high = self.value(&parts[2])?;
        let (start, end) = (End::Included(low), End::Included(high));
        let range = Range { start, end, is_test: false };
        Ok(match range.contains(&value) {
            Some(it) => it.into(),
            None => self.null(Reason::WrongType, at, || {
                let (low, high) = (range.start.value(), range.end.value());
                let (value, low, high) = (value.kind(), low.kind(), high.kind());
                format!("{value} cannot be compared with {low} and {high}")
            }),
        })
    }
}
