//! From trees to values, with the coercions of the expression language.

use std::{borrow::Cow, cmp::Ordering, sync::Arc};

use travertine_value::{
    EvalError, Limit, Limits, Name, Number, NumberError, Value, Variables, time,
};

use super::parser::{Calculation, Comparison, ExecutionMethod, Expr, Method, Operator, Step};

/// One run: what it sees, what it has written, what it may still cost.
pub(super) struct Run<'a> {
    variables: &'a dyn Variables,
    writes: Vec<(Name, Option<Value>)>,
    steps_left: u64,
    depth_left: usize,
}

impl<'a> Run<'a> {
    pub(super) fn new(variables: &'a dyn Variables, limits: &Limits) -> Self {
        Self {
            variables,
            writes: Vec::new(),
            steps_left: limits.steps_max,
            depth_left: limits.depth_max,
        }
    }

    pub(super) fn into_writes(self) -> Vec<(Name, Option<Value>)> {
        self.writes
    }

    pub(super) fn value(&mut self, expression: &Expr) -> Result<Value, EvalError> {
        self.charge(1)?;
        if self.depth_left == 0 {
            return Err(EvalError::Limit(Limit::Depth));
        }
        self.depth_left -= 1;
        let value = match expression {
            Expr::Constant(value) => Ok(value.clone()),
            Expr::Variable(name) => self.variable(name),
            Expr::Now => match self.variables.now() {
                Some(now) => Ok(now.to_string().into()),
                None => Err(failed("there is no clock here")),
            },
            Expr::Fact(fact) => Ok(self.variables.fact(*fact).map_or(Value::Null, Value::String)),
            Expr::Path(root, steps) => self.path(root, steps),
            Expr::Execution(method, arguments) => self.execution(*method, arguments),
            Expr::Not(inner) => self.boolean(inner).map(|it| Value::Bool(!it)),
            Expr::Negate(inner) => {
                self.value(inner).and_then(|it| number(&it)).map(|it| it.negated().into())
            }
            Expr::Empty(inner) => self.empty(inner).map(Value::Bool),
            Expr::Chain(first, links) => self.chain(first, links),
            Expr::Choice(parts) => {
                let [condition, then, otherwise] = &**parts;
                if self.boolean(condition)? { self.value(then) } else { self.value(otherwise) }
            }
        };
        self.depth_left += 1;
        value
    }

    fn charge(&mut self, steps: usize) -> Result<(), EvalError> {
        let left = self.steps_left.checked_sub(steps as u64);
        self.steps_left = left.ok_or(EvalError::Limit(Limit::Steps))?;
        Ok(())
    }

    /// What this run has written counts before what was there.
    fn find(&self, name: &str) -> Option<Value> {
        match self.writes.iter().rev().find(|(written, _)| &**written == name) {
            Some((_, value)) => value.clone(),
            None => self.variables.get(name),
        }
    }

    fn variable(&self, name: &Name) -> Result<Value, EvalError> {
        self.find(name).ok_or_else(|| failed(format!("unknown variable: {name}")))
    }

    fn boolean(&mut self, expression: &Expr) -> Result<bool, EvalError> {
        boolean(&self.value(expression)?)
    }

    /// An unknown variable is as empty as null.
    fn empty(&mut self, expression: &Expr) -> Result<bool, EvalError> {
        let root = match expression {
            Expr::Path(root, _) => root,
            _ => expression,
        };
        if let Expr::Variable(name) = root
            && self.find(name).is_none()
        {
            return Ok(true);
        }
        Ok(is_empty(&self.value(expression)?))
    }

    fn chain(&mut self, first: &Expr, links: &[(Operator, Expr)]) -> Result<Value, EvalError> {
        let mut left = self.value(first)?;
        for (operator, right) in links {
            left = match operator {
                Operator::Or => (boolean(&left)? || self.boolean(right)?).into(),
                Operator::And => (boolean(&left)? && self.boolean(right)?).into(),
                Operator::Equal => equal(&left, &self.value(right)?)?.into(),
                Operator::Unequal => (!equal(&left, &self.value(right)?)?).into(),
                Operator::Compare(how) => compare(*how, &left, &self.value(right)?)?.into(),
                Operator::Calculate(how) => calculate(*how, &left, &self.value(right)?)?.into(),
            };
        }
        Ok(left)
    }

    fn path(&mut self, root: &Expr, steps: &[Step]) -> Result<Value, EvalError> {
        let mut value = self.value(root)?;
        for step in steps {
            self.charge(1)?;
            value = match step {
                Step::Field(name) => field(&value, name)?,
                Step::Index(index) => {
                    let index = self.value(index)?;
                    indexed(&value, &index)?
                }
                Step::Call(method, arguments) => {
                    let arguments = self.values(arguments)?;
                    self.charge(value.as_list().map_or(0, <[Value]>::len))?;
                    call(&value, *method, &arguments)?
                }
            };
        }
        Ok(value)
    }

    fn values(&mut self, expressions: &[Expr]) -> Result<Vec<Value>, EvalError> {
        expressions.iter().map(|it| self.value(it)).collect()
    }

    fn execution(
        &mut self,
        method: ExecutionMethod,
        arguments: &[Expr],
    ) -> Result<Value, EvalError> {
        let mut arguments = self.values(arguments)?.into_iter();
        let name = match arguments.next() {
            Some(Value::String(name)) => name,
            Some(other) => {
                return Err(failed(format!(
                    "the name of a variable is a text, not {}",
                    other.kind()
                )));
            }
            None => unreachable!("the parser has counted the arguments"),
        };
        Ok(match method {
            ExecutionMethod::Get => self.find(&name).unwrap_or_default(),
            ExecutionMethod::Has => self.find(&name).is_some().into(),
            ExecutionMethod::Set => {
                self.writes.push((name, Some(arguments.next().unwrap_or_default())));
                Value::Null
            }
            ExecutionMethod::Remove => {
                self.writes.push((name, None));
                Value::Null
            }
        })
    }
}

fn failed(message: impl Into<String>) -> EvalError {
    EvalError::Failed(message.into())
}

/// A value within a text: null is nothing, and a text has no quotes.
pub(super) fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => {
            Cow::Owned(value.to_string())
        }
    }
}

fn boolean(value: &Value) -> Result<bool, EvalError> {
    match value {
        Value::Null => Ok(false),
        Value::Bool(it) => Ok(*it),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.is_empty() || text.eq_ignore_ascii_case("false") => Ok(false),
        Value::String(text) => Err(failed(format!("not a boolean: '{text}'"))),
        Value::Number(_) | Value::List(_) | Value::Map(_) => {
            Err(failed(format!("{} is not a boolean", value.kind())))
        }
    }
}

fn number(value: &Value) -> Result<Number, EvalError> {
    match value {
        Value::Null => Ok(Number::ZERO),
        Value::Number(number) => Ok(*number),
        Value::String(text) if text.is_empty() => Ok(Number::ZERO),
        Value::String(text) => text.parse().map_err(|error| match error {
            NumberError::Malformed => failed(format!("not a number: '{text}'")),
            other => failed(other.to_string()),
        }),
        Value::Bool(_) | Value::List(_) | Value::Map(_) => {
            Err(failed(format!("{} is not a number", value.kind())))
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The more specific of the two decides how both are seen: number, boolean, text.
fn equal(left: &Value, right: &Value) -> Result<bool, EvalError> {
    Ok(match (left, right) {
        (Value::Null, _) | (_, Value::Null) => left.is_null() && right.is_null(),
        (Value::Number(_), _) | (_, Value::Number(_)) => number(left)? == number(right)?,
        // In a comparison every text but "true" is false, as in Java.
        (Value::Bool(a), Value::String(b)) | (Value::String(b), Value::Bool(a)) => {
            *a == b.eq_ignore_ascii_case("true")
        }
        (
            Value::Bool(_) | Value::String(_) | Value::List(_) | Value::Map(_),
            Value::Bool(_) | Value::String(_) | Value::List(_) | Value::Map(_),
        ) => left == right,
    })
}

fn compare(how: Comparison, left: &Value, right: &Value) -> Result<bool, EvalError> {
    if left.is_null() || right.is_null() {
        let or_equal = matches!(how, Comparison::LessOrEqual | Comparison::GreaterOrEqual);
        return Ok(or_equal && left.is_null() && right.is_null());
    }
    let order = match (left, right) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(_), _) | (_, Value::Number(_)) => number(left)?.cmp(&number(right)?),
        _ => {
            let (left, right) = (left.kind(), right.kind());
            return Err(failed(format!("{left} and {right} have no order")));
        }
    };
    Ok(match how {
        Comparison::Less => order == Ordering::Less,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    })
}

fn calculate(how: Calculation, left: &Value, right: &Value) -> Result<Number, EvalError> {
    let (left, right) = (number(left)?, number(right)?);
    let result = match how {
        Calculation::Add => left.checked_add(right),
        Calculation::Subtract => left.checked_sub(right),
        Calculation::Multiply => left.checked_mul(right),
        Calculation::Divide => left.checked_div(right),
        Calculation::Remainder => left.checked_rem(right),
    };
    result.map_err(|error| failed(error.to_string()))
}

/// Nothing has no fields, and to ask for one is no mistake.
fn field(value: &Value, name: &str) -> Result<Value, EvalError> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Map(fields) => Ok(fields.get(name).cloned().unwrap_or_default()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::List(_) => {
            Err(failed(format!("{} has no field {name}", value.kind())))
        }
    }
}

fn indexed(value: &Value, index: &Value) -> Result<Value, EvalError> {
    match value {
        Value::List(items) if !index.is_null() => {
            let index = number(index)?.to_i64().and_then(|it| usize::try_from(it).ok());
            Ok(index.and_then(|it| items.get(it)).cloned().unwrap_or_default())
        }
        Value::Null | Value::List(_) => Ok(Value::Null),
        Value::Map(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            field(value, &text(index))
        }
    }
}

fn call(value: &Value, method: Method, arguments: &[Value]) -> Result<Value, EvalError> {
    let argument = arguments.first().unwrap_or(&Value::Null);
    Ok(match (method, value) {
        (Method::Equals, value) if !value.is_null() => (value == argument).into(),
        (Method::ToString, value) if !value.is_null() => text(value).into_owned().into(),
        (Method::Contains, Value::String(it)) => it.contains(&*text(argument)).into(),
        (Method::Contains, Value::List(items)) => items.contains(argument).into(),
        (Method::ContainsKey, Value::Map(fields)) => fields.contains_key(&*text(argument)).into(),
        (Method::StartsWith, Value::String(it)) => it.starts_with(&*text(argument)).into(),
        (Method::EndsWith, Value::String(it)) => it.ends_with(&*text(argument)).into(),
        (Method::Get, Value::Map(fields)) => {
            fields.get(&*text(argument)).cloned().unwrap_or_default()
        }
        (Method::Get, Value::List(items)) => {
            let item = items.get(position(argument, items.len())?);
            item.cloned().ok_or_else(|| out_of_range(argument))?
        }
        (Method::IndexOf, Value::String(it)) => match it.find(&*text(argument)) {
            Some(bytes) => it[..bytes].chars().count().into(),
            None => (-1_i64).into(),
        },
        (Method::IndexOf, Value::List(items)) => match items.iter().position(|it| it == argument) {
            Some(index) => index.into(),
            None => (-1_i64).into(),
        },
        (Method::IsEmpty, Value::String(_) | Value::List(_) | Value::Map(_)) => {
            is_empty(value).into()
        }
        (Method::Length, Value::String(it)) => it.chars().count().into(),
        (Method::Size, Value::List(items)) => items.len().into(),
        (Method::Size, Value::Map(fields)) => fields.len().into(),
        (Method::Substring, Value::String(it)) => substring(it, arguments)?.into(),
        (Method::ToLowerCase, Value::String(it)) => it.to_lowercase().into(),
        (Method::ToUpperCase, Value::String(it)) => it.to_uppercase().into(),
        (Method::Trim, Value::String(it)) => it.trim().into(),
        (Method::ToDate, Value::String(it)) => moved(it, "PT0S")?.into(),
        (Method::Plus(unit), Value::String(it)) => {
            moved(it, &unit.duration(count(argument)?))?.into()
        }
        (Method::Minus(unit), Value::String(it)) => {
            moved(it, &unit.duration(-count(argument)?))?.into()
        }
        (method, value) => {
            return Err(failed(format!("{} has no method {}", value.kind(), method.name())));
        }
    })
}

/// A whole number of days, hours and so on.
fn count(value: &Value) -> Result<i64, EvalError> {
    let count = number(value)?.to_i64().filter(|it| it.unsigned_abs() < 1_000_000);
    count.ok_or_else(|| failed(format!("not a number of days, hours or the like: {}", text(value))))
}

/// A time, moved by a duration.
fn moved(time: &str, by: &str) -> Result<String, EvalError> {
    let at = time::shift(time, by);
    at.map(|it| it.to_string()).map_err(|error| failed(error.to_string()))
}

/// A place in a list or text, counted in characters from 0.
fn position(value: &Value, most: usize) -> Result<usize, EvalError> {
    let position = number(value)?.to_i64().and_then(|it| usize::try_from(it).ok());
    position.filter(|it| *it <= most).ok_or_else(|| out_of_range(value))
}

fn out_of_range(index: &Value) -> EvalError {
    failed(format!("the index is out of range: {}", text(index)))
}

fn substring(it: &Arc<str>, arguments: &[Value]) -> Result<String, EvalError> {
    let length = it.chars().count();
    let end = match arguments.get(1) {
        Some(end) => position(end, length)?,
        None => length,
    };
    let start = position(&arguments[0], end)?;
    Ok(it.chars().skip(start).take(end - start).collect())
}
