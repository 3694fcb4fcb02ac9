//! What a tree is worth. Everything is a number inside: true is 1 and false is 0.

use std::sync::Arc;

use travertine_value::{Name, Number, NumberError, Value};

use super::{
    Fault, Surroundings,
    parser::{Operator, Tree},
};

/// Functions that every text has.
pub(super) const FUNCTIONS: &[&str] =
    &["abs", "pow", "sqrt", "cbrt", "sum", "avg", "count", "min", "max"];

/// A formula at work: what it sees, and the names that filters around it give.
pub(super) struct Run<'a> {
    pub(super) around: &'a mut dyn Surroundings,
    pub(super) bound: Vec<(Name, Value)>,
}

type Worth = Result<Value, Fault>;

impl Run<'_> {
    pub(super) fn value(&mut self, tree: &Tree) -> Worth {
        match tree {
            Tree::Number(number) => Ok((*number).into()),
            Tree::Text(text) => Ok(Value::String(Arc::clone(text))),
            Tree::Read(name) => Ok(inside(self.read(name))),
            Tree::Undefined(name) => Ok(truth(self.read(name).is_null())),
            Tree::List(members) => {
                let members = members.iter().map(|it| self.value(it)).collect::<Result<_, _>>()?;
                list(members)
            }
            Tree::At(of, position) => {
                let of = self.members(of)?;
                let position = self.number(position)?;
                let found = position
                    .to_i64()
                    .and_then(|it| usize::try_from(it.checked_sub(1)?).ok())
                    .and_then(|it| of.get(it));
                found.cloned().ok_or_else(|| {
                    Fault(format!("there is no member {position} among {}", of.len()))
                })
            }
            Tree::Call(name, arguments) => self.call(name, arguments),
            Tree::Filter { name, of, holds } => {
                let mut kept = Vec::new();
                for member in self.members(of)? {
                    self.bound.push((Name::clone(name), member.clone()));
                    let holds = self.number(holds);
                    self.bound.pop();
                    if holds? != Number::ZERO {
                        kept.push(member);
                    }
                }
                Ok(Value::List(Arc::new(kept)))
            }
            Tree::Negative(of) => Ok(self.number(of)?.negated().into()),
            Tree::Not(of) => Ok(truth(self.number(of)? == Number::ZERO)),
            Tree::Binary(operator, left, right) => self.binary(*operator, left, right),
            Tree::If(condition, yes, no) => {
                let chosen = if self.number(condition)? == Number::ZERO { no } else { yes };
                self.value(chosen)
            }
        }
    }

    fn read(&mut self, name: &str) -> Value {
        match self.bound.iter().rev().find(|(known, _)| &**known == name) {
            Some((_, value)) => value.clone(),
            None => self.around.read(name),
        }
    }

    fn number(&mut self, tree: &Tree) -> Result<Number, Fault> {
        let value = self.value(tree)?;
        value.as_number().ok_or_else(|| Fault(format!("{value} is no number")))
    }

    fn members(&mut self, tree: &Tree) -> Result<Vec<Value>, Fault> {
        let value = self.value(tree)?;
        match value.as_list() {
            Some(members) => Ok(members.iter().cloned().map(inside).collect()),
            None => Err(Fault(format!("{value} is no collection"))),
        }
    }

    fn binary(&mut self, operator: Operator, left: &Tree, right: &Tree) -> Worth {
        match operator {
            Operator::Equal => return Ok(truth(self.value(left)? == self.value(right)?)),
            Operator::Unequal => return Ok(truth(self.value(left)? != self.value(right)?)),
            Operator::In => {
                let one = self.value(left)?;
                return Ok(truth(self.members(right)?.contains(&one)));
            }
            Operator::NotIn => {
                let one = self.value(left)?;
                return Ok(truth(!self.members(right)?.contains(&one)));
            }
            Operator::Power
            | Operator::Times
            | Operator::Over
            | Operator::And
            | Operator::Plus
            | Operator::Minus
            | Operator::Or
            | Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual => {}
        }
        let (left, right) = (self.number(left)?, self.number(right)?);
        let zero = Number::ZERO;
        match operator {
            Operator::Power => calculated(left.pow(right)),
            Operator::Times => calculated(left.checked_mul(right)),
            Operator::Over => calculated(left.checked_div(right)),
            Operator::Plus => calculated(left.checked_add(right)),
            Operator::Minus => calculated(left.checked_sub(right)),
            Operator::And => Ok(truth(left != zero && right != zero)),
            Operator::Or => Ok(truth(left != zero || right != zero)),
            Operator::Less => Ok(truth(left < right)),
            Operator::LessOrEqual => Ok(truth(left <= right)),
            Operator::Greater => Ok(truth(left > right)),
            Operator::GreaterOrEqual => Ok(truth(left >= right)),
            Operator::Equal | Operator::Unequal | Operator::In | Operator::NotIn => {
                unreachable!("these are done above")
            }
        }
    }

    fn call(&mut self, name: &Name, arguments: &[Tree]) -> Worth {
        let arguments: Vec<Value> =
            arguments.iter().map(|it| self.value(it)).collect::<Result<_, _>>()?;
        if !FUNCTIONS.contains(&&**name) {
            return self.around.call(name, &arguments).map(inside);
        }
        // Over the members of one collection, or over what is given.
        let members = match &arguments[..] {
            [Value::List(members)] => members.to_vec(),
            _ => arguments,
        };
        if &**name == "count" {
            return Ok(members.len().into());
        }
        let numbers = members.into_iter().map(|it| {
            let it = inside(it);
            it.as_number().ok_or_else(|| Fault(format!("{name} is of numbers, and {it} is none")))
        });
        let numbers = numbers.collect::<Result<Vec<Number>, Fault>>()?;
        let sum = |numbers: &[Number]| {
            numbers.iter().try_fold(Number::ZERO, |sum, it| sum.checked_add(*it))
        };
        match (&**name, &numbers[..]) {
            ("abs", [one]) => Ok(one.abs().into()),
            ("pow", [base, exponent]) => calculated(base.pow(*exponent)),
            ("sqrt", [one]) => calculated(one.sqrt()),
            ("cbrt", [one]) => Ok(cube_root(*one).into()),
            ("sum", all) => calculated(sum(all)),
            ("avg", all) if !all.is_empty() => {
                calculated(sum(all).and_then(|it| it.checked_div(all.len().into())))
            }
            ("min", [first, others @ ..]) => {
                Ok(others.iter().fold(*first, |a, b| a.min(*b)).into())
            }
            ("max", [first, others @ ..]) => {
                Ok(others.iter().fold(*first, |a, b| a.max(*b)).into())
            }
            ("avg" | "min" | "max", []) => Err(Fault(format!("{name} of nothing"))),
            (_, all) => Err(Fault(format!("{name} cannot be of {} values", all.len()))),
        }
    }
}

/// The exact root where there is one.
fn cube_root(of: Number) -> Number {
    let near = of.to_f64().cbrt();
    let whole = Number::from_f64(near.round()).unwrap_or(Number::ZERO);
    let cubed = whole.checked_mul(whole).and_then(|it| it.checked_mul(whole));
    if cubed == Ok(of) { whole } else { Number::from_f64(near).unwrap_or(Number::ZERO) }
}

fn calculated(number: Result<Number, NumberError>) -> Worth {
    number.map(Value::from).map_err(|it| Fault(it.to_string()))
}

fn truth(holds: bool) -> Value {
    i64::from(holds).into()
}

/// A value as it is inside formulas.
pub(super) fn inside(value: Value) -> Value {
    match value {
        Value::Bool(holds) => truth(holds),
        other => other,
    }
}

/// Members of one kind.
fn list(members: Vec<Value>) -> Worth {
    let first = members.first().map(Value::kind);
    match members.iter().find(|it| Some(it.kind()) != first) {
        Some(other) => Err(Fault(format!(
            "the members of a collection are of one kind, and {other} is of another"
        ))),
        None => Ok(Value::List(Arc::new(members))),
    }
}
