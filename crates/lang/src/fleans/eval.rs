//! From trees to values.

use std::{borrow::Cow, cmp::Ordering, sync::Arc};

use travertine_value::{
    EvalError, Limit, Limits, Name, Number, NumberError, Rounding, Value, Variables,
};

use super::{
    FAILED,
    parser::{Expr, Function, Operator, Statement},
};

/// One run: what it sees, what it has written, what it may still cost.
pub(super) struct Run<'a> {
    variables: &'a dyn Variables,
    writes: Vec<(Name, Option<Value>)>,
    steps_left: u64,
    bytes_left: usize,
}

/// A value, and whether it is a number that was made with fractions, which divides otherwise.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) value: Value,
    real: bool,
}

impl From<Value> for Typed {
    fn from(value: Value) -> Self {
        let real = matches!(&value, Value::Number(it) if !it.is_whole());
        Self { value, real }
    }
}

impl<'a> Run<'a> {
    pub(super) fn new(variables: &'a dyn Variables, limits: &Limits) -> Self {
        Self {
            variables,
            writes: Vec::new(),
            steps_left: limits.steps_max,
            bytes_left: limits.memory_bytes_max,
        }
    }

    pub(super) fn into_writes(self) -> Vec<(Name, Option<Value>)> {
        self.writes
    }

    pub(super) fn statements(&mut self, all: &[Statement]) -> Result<Value, EvalError> {
        for statement in all {
            match statement {
                Statement::Assign(name, value) => {
                    let value = self.value(value)?.value;
                    self.writes.push((Arc::clone(name), Some(value)));
                }
                Statement::Throw { when, coded, arguments } => {
                    let holds = match when {
                        Some(condition) => self.boolean(condition)?,
                        None => true,
                    };
                    if holds {
                        return Err(self.thrown(*coded, arguments)?);
                    }
                }
                Statement::Say => {}
            }
        }
        Ok(Value::Null)
    }

    fn thrown(&mut self, coded: bool, arguments: &[Expr]) -> Result<EvalError, EvalError> {
        let mut texts = Vec::new();
        for argument in arguments {
            texts.push(text(&self.value(argument)?.value).into_owned());
        }
        let mut texts = texts.into_iter();
        let code = if coded { texts.next() } else { None };
        let code = code.unwrap_or_else(|| FAILED.to_owned());
        let message = texts.next().unwrap_or_else(|| "thrown by a script".to_owned());
        Ok(EvalError::Thrown { code, message })
    }

    pub(super) fn value(&mut self, expression: &Expr) -> Result<Typed, EvalError> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(EvalError::Limit(Limit::Steps))?;
        Ok(match expression {
            Expr::Null => Value::Null.into(),
            Expr::Bool(it) => Value::Bool(*it).into(),
            Expr::Text(it) => Value::from(it.as_str()).into(),
            Expr::Number(number, real) => Typed { value: (*number).into(), real: *real },
            Expr::Path(path) => match self.find(path) {
                Some(value) => value.into(),
                None => return Err(failed(format!("there is no variable {}", path.join(".")))),
            },
            Expr::Not(it) => Value::Bool(!self.boolean(it)?).into(),
            Expr::Negate(it) => {
                let it = self.value(it)?;
                Typed { value: number(&it.value)?.negated().into(), real: it.real }
            }
            Expr::Binary(operator, left, right) => self.binary(*operator, left, right)?,
            Expr::Choice(parts) => {
                let [condition, then, otherwise] = &**parts;
                if self.boolean(condition)? { self.value(then)? } else { self.value(otherwise)? }
            }
            Expr::List(all) => {
                let items: Result<Vec<Value>, _> =
                    all.iter().map(|it| self.value(it).map(|it| it.value)).collect();
                Value::from(items?).into()
            }
            Expr::Math(function, arguments) => self.math(*function, arguments)?,
        })
    }

    /// What this run has written counts before what was there.
    fn find(&self, path: &[Name]) -> Option<Value> {
        let (first, fields) = path.split_first()?;
        let written = self.writes.iter().rev().find(|(it, _)| it == first);
        let mut value = match written {
            Some((_, value)) => value.clone()?,
            None => self.variables.get(first)?,
        };
        for field in fields {
            let Value::Map(map) = &value else { return None };
            value = map.get(field)?.clone();
        }
        Some(value)
    }

    /// Null for a name that does not exist.
    fn perhaps(&mut self, expression: &Expr) -> Result<Typed, EvalError> {
        match expression {
            Expr::Path(path) => Ok(self.find(path).unwrap_or_default().into()),
            _ => self.value(expression),
        }
    }

    fn boolean(&mut self, expression: &Expr) -> Result<bool, EvalError> {
        match self.value(expression)?.value {
            Value::Bool(it) => Ok(it),
            other => Err(failed(format!("{} is not a boolean", other.kind()))),
        }
    }

    fn binary(
        &mut self,
        operator: Operator,
        left: &Expr,
        right: &Expr,
    ) -> Result<Typed, EvalError> {
        match operator {
            Operator::Coalesce => {
                let left = self.perhaps(left)?;
                return if left.value.is_null() { self.value(right) } else { Ok(left) };
            }
            Operator::Or => {
                return Ok(Value::Bool(self.boolean(left)? || self.boolean(right)?).into());
            }
            Operator::And => {
                return Ok(Value::Bool(self.boolean(left)? && self.boolean(right)?).into());
            }
            Operator::Equal | Operator::Unequal => {
                let about_null = matches!(left, Expr::Null) || matches!(right, Expr::Null);
                let (left, right) = if about_null {
                    (self.perhaps(left)?, self.perhaps(right)?)
                } else {
                    (self.value(left)?, self.value(right)?)
                };
                let equal = left.value == right.value;
                return Ok(Value::Bool(equal == (operator == Operator::Equal)).into());
            }
            _ => {}
        }
        let (left, right) = (self.value(left)?, self.value(right)?);
        match operator {
            Operator::Less => ordered(&left, &right, |it| it == Ordering::Less),
            Operator::LessOrEqual => ordered(&left, &right, |it| it != Ordering::Greater),
            Operator::Greater => ordered(&left, &right, |it| it == Ordering::Greater),
            Operator::GreaterOrEqual => ordered(&left, &right, |it| it != Ordering::Less),
            Operator::Add if is_text(&left) || is_text(&right) => {
                let joined = format!("{}{}", text(&left.value), text(&right.value));
                let left = self.bytes_left.checked_sub(joined.len());
                self.bytes_left = left.ok_or(EvalError::Limit(Limit::Memory))?;
                Ok(Value::from(joined).into())
            }
            _ => calculated(operator, &left, &right),
        }
    }

    fn math(&mut self, function: Function, arguments: &[Expr]) -> Result<Typed, EvalError> {
        let mut numbers = Vec::new();
        let mut real = false;
        for argument in arguments {
            let it = self.value(argument)?;
            real |= it.real;
            numbers.push(number(&it.value)?);
        }
        let first = numbers.first().copied().unwrap_or(Number::ZERO);
        let second = numbers.get(1).copied().unwrap_or(Number::ZERO);
        let rounded = |places: i32, how| first.round(places, how);
        let result = match function {
            Function::Abs => Ok(first.abs()),
            Function::Ceiling => rounded(0, Rounding::Ceiling),
            Function::Floor => rounded(0, Rounding::Floor),
            Function::Truncate => rounded(0, Rounding::Down),
            Function::Round => {
                let places = second.to_i64().and_then(|it| i32::try_from(it).ok());
                let places = places.filter(|it| (0..=28).contains(it));
                let places = places.ok_or_else(|| failed("Math.Round has 0 to 28 places"))?;
                rounded(places, Rounding::HalfEven)
            }
            Function::Max => Ok(first.max(second)),
            Function::Min => Ok(first.min(second)),
            Function::Pow => first.pow(second),
            Function::Sqrt => first.sqrt(),
            Function::Cbrt => cube_root(first),
            Function::Clamp => {
                let third = numbers.get(2).copied().unwrap_or(Number::ZERO);
                if second > third {
                    return Err(failed("Math.Clamp has a least that is not above its most"));
                }
                Ok(first.clamp(second, third))
            }
            Function::Exp => first.exp(),
            Function::Log if numbers.len() == 2 => logarithm(first, second),
            Function::Log => first.ln(),
            Function::Log10 => logarithm(first, 10.into()),
            Function::Sign => {
                let sign = first.cmp(&Number::ZERO) as i64;
                return Ok(Value::from(sign).into());
            }
        };
        let real = real
            || matches!(
                function,
                Function::Cbrt
                    | Function::Exp
                    | Function::Log
                    | Function::Log10
                    | Function::Pow
                    | Function::Sqrt
            );
        Ok(Typed { value: result.map_err(wrong)?.into(), real })
    }
}

/// Places that roots and logarithms are rounded to, so that those which are whole come out whole.
const PLACES: i32 = 15;

fn logarithm(of: Number, base: Number) -> Result<Number, NumberError> {
    of.ln()?.checked_div(base.ln()?)?.round(PLACES, Rounding::HalfEven)
}

fn cube_root(of: Number) -> Result<Number, NumberError> {
    let third = Number::from(1).checked_div(3.into())?;
    let root = of.abs().pow(third)?.round(PLACES, Rounding::HalfEven)?;
    Ok(if of.is_negative() { root.negated() } else { root })
}

fn failed(message: impl Into<String>) -> EvalError {
    EvalError::Failed(message.into())
}

fn wrong(error: NumberError) -> EvalError {
    failed(error.to_string())
}

fn is_text(it: &Typed) -> bool {
    matches!(it.value, Value::String(_))
}

/// A value within a text.
fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        Value::Bool(true) => Cow::Borrowed("True"),
        Value::Bool(false) => Cow::Borrowed("False"),
        Value::Number(_) | Value::List(_) | Value::Map(_) => Cow::Owned(value.to_string()),
    }
}

fn number(value: &Value) -> Result<Number, EvalError> {
    match value {
        Value::Number(number) => Ok(*number),
        other => Err(failed(format!("{} is not a number", other.kind()))),
    }
}

fn ordered(
    left: &Typed,
    right: &Typed,
    holds: impl FnOnce(Ordering) -> bool,
) -> Result<Typed, EvalError> {
    let order = number(&left.value)?.cmp(&number(&right.value)?);
    Ok(Value::Bool(holds(order)).into())
}

fn calculated(operator: Operator, left: &Typed, right: &Typed) -> Result<Typed, EvalError> {
    let real = left.real || right.real;
    let (left, right) = (number(&left.value)?, number(&right.value)?);
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide if real => left.checked_div(right),
        Operator::Divide => left.checked_div(right).and_then(|it| it.round(0, Rounding::Down)),
        _ => {
            // The sign is that of what is divided.
            let whole = left.checked_div(right).and_then(|it| it.round(0, Rounding::Down));
            whole.and_then(|it| it.checked_mul(right)).and_then(|it| left.checked_sub(it))
        }
    };
    Ok(Typed { value: result.map_err(wrong)?.into(), real })
}
