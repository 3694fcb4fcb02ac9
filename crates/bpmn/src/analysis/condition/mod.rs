//! What can be known of a condition without running it.
//!
//! Conditions come in several languages, but most of them are comparisons of variables with fixed
//! values, joined by and, or and not, and that looks much the same in all of them. Whatever is
//! written otherwise is not understood, and then nothing is said about it.

use std::fmt;

mod parse;

pub(super) use parse::parse;

/// A condition that is understood.
#[derive(Debug)]
pub(super) enum Condition {
    Variable(usize),
    Value(Value),
    Compare(Comparison, Box<Self>, Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Not(Box<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Different,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A fixed value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(it) => write!(f, "{it}"),
            Self::Number(it) => write!(f, "{it}"),
            Self::Text(it) => write!(f, "'{it}'"),
        }
    }
}

/// The variables of some conditions, and the values that make a difference to them.
#[derive(Debug, Default)]
pub(super) struct Variables {
    names: Vec<String>,
    values: Vec<Vec<Value>>,
}

/// More combinations of values than this are not tried.
const TRIES_MAX: usize = 4_096;

impl Variables {
    fn find(&mut self, name: &str) -> usize {
        self.names.iter().position(|it| it == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.values.push(Vec::new());
            self.names.len() - 1
        })
    }

    /// A variable is compared with a value: so that one counts, and what lies beside it.
    fn compared(&mut self, variable: usize, value: &Value) {
        match value {
            Value::Null => self.add(variable, Value::Null),
            Value::Bool(_) => self.is_asked(variable),
            Value::Number(number) => {
                for near in [*number, number - 1.0, number + 1.0] {
                    self.add(variable, Value::Number(near));
                }
            }
            Value::Text(_) => {
                self.add(variable, value.clone());
                self.add(variable, Value::Text("something else".to_owned()));
            }
        }
    }

    /// A variable is a condition of its own.
    fn is_asked(&mut self, variable: usize) {
        self.add(variable, Value::Bool(true));
        self.add(variable, Value::Bool(false));
    }

    fn add(&mut self, variable: usize, value: Value) {
        if !self.values[variable].contains(&value) {
            self.values[variable].push(value);
        }
    }

    /// Values for which none of the conditions holds, as text; `None` where none were found.
    pub(super) fn refute(&self, conditions: &[Condition]) -> Option<String> {
        // A variable that is only ever compared with null may be anything else.
        let open = |it: &Vec<Value>| it.iter().all(|it| *it == Value::Null);
        let tries = self.values.iter().try_fold(1_usize, |all, it| all.checked_mul(it.len()))?;
        if tries > TRIES_MAX || self.values.iter().any(open) {
            return None;
        }
        (0..tries).find_map(|number| {
            let mut rest = number;
            let chosen: Vec<_> = self
                .values
                .iter()
                .map(|values| {
                    let value = &values[rest % values.len()];
                    rest /= values.len();
                    value
                })
                .collect();
            let fails = |it: &Condition| it.value(&chosen) == Some(Value::Bool(false));
            conditions.iter().all(fails).then(|| {
                let named =
                    self.names.iter().zip(&chosen).map(|(name, it)| format!("{name} = {it}"));
                named.collect::<Vec<_>>().join(", ")
            })
        })
    }
}

impl Condition {
    /// Its value where that is always the same.
    pub(super) fn constant(&self) -> Option<bool> {
        if self.has_variable() {
            return None;
        }
        match self.value(&[])? {
            Value::Bool(it) => Some(it),
            Value::Null | Value::Number(_) | Value::Text(_) => None,
        }
    }

    fn has_variable(&self) -> bool {
        match self {
            Self::Variable(_) => true,
            Self::Value(_) => false,
            Self::Compare(_, a, b) | Self::And(a, b) | Self::Or(a, b) => {
                a.has_variable() || b.has_variable()
            }
            Self::Not(it) => it.has_variable(),
        }
    }

    /// Its value; `None` where languages would disagree about it.
    fn value(&self, variables: &[&Value]) -> Option<Value> {
        match self {
            Self::Variable(it) => Some(variables[*it].clone()),
            Self::Value(it) => Some(it.clone()),
            Self::Compare(how, a, b) => {
                let holds = compare(*how, &a.value(variables)?, &b.value(variables)?)?;
                Some(Value::Bool(holds))
            }
            Self::And(a, b) => match a.value(variables)? {
                Value::Bool(true) => b.value(variables),
                it => (it == Value::Bool(false)).then_some(it),
            },
            Self::Or(a, b) => match a.value(variables)? {
                Value::Bool(false) => b.value(variables),
                it => (it == Value::Bool(true)).then_some(it),
            },
            Self::Not(it) => match it.value(variables)? {
                Value::Bool(it) => Some(Value::Bool(!it)),
                Value::Null | Value::Number(_) | Value::Text(_) => None,
            },
        }
    }
}

fn compare(how: Comparison, a: &Value, b: &Value) -> Option<bool> {
    let order = match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.partial_cmp(b)?,
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        (Value::Bool(_), Value::Bool(_)) | (Value::Null, _) | (_, Value::Null) => {
            return match how {
                Comparison::Equal => Some(a == b),
                Comparison::Different => Some(a != b),
                Comparison::Less
                | Comparison::AtMost
                | Comparison::Greater
                | Comparison::AtLeast => None,
            };
        }
        _ => return None,
    };
    Some(match how {
        Comparison::Equal => order.is_eq(),
        Comparison::Different => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::AtMost => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::AtLeast => order.is_ge(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refute(texts: &[&str]) -> Option<String> {
        let mut variables = Variables::default();
        let conditions: Option<Vec<_>> = texts.iter().map(|it| parse(it, &mut variables)).collect();
        variables.refute(&conditions?)
    }

    #[test]
    fn opposites_leave_nothing_out() {
        for pair in [
            ["${approved}", "${!approved}"],
            ["x > 5", "x <= 5"],
            ["= x = \"a\"", "= x != \"a\""],
            ["x === true", "x === false"],
            ["${order.total ge 10 and vip}", "${not (order.total >= 10 && vip)}"],
        ] {
            assert_eq!(refute(&pair), None, "{pair:?}");
        }
    }

    #[test]
    fn what_is_left_out_is_named() {
        assert_eq!(refute(&["x < 5", "x > 5"]), Some("x = 5".to_owned()));
        assert_eq!(
            refute(&["${x == 'a'}", "${x == 'b'}"]),
            Some("x = 'something else'".to_owned())
        );
        assert_eq!(refute(&["a && b", "!a"]), Some("a = true, b = false".to_owned()));
    }

    #[test]
    fn what_is_not_understood_is_not_judged() {
        for text in ["f(x)", "x + 1 > 2", "x = 1", "a b", "x == y", "${x}${y}", "", "x == null"] {
            assert_eq!(refute(&[text]), None, "{text}");
        }
    }

    #[test]
    fn constants_are_known() {
        let constant = |text| parse(text, &mut Variables::default())?.constant();
        assert_eq!(constant("${true}"), Some(true));
        assert_eq!(constant("1 == 2"), Some(false));
        assert_eq!(constant("x == 2"), None);
    }
}
