//! `in`, and the cells of decision tables.

use super::{
    super::{
        problem::Reason,
        tree::{At, Expr, Test, Tests},
        value::FeelValue,
    },
    Run, Valued,
};
use travertine_value::Limit;

impl Run<'_, '_> {
    pub(super) fn membership(&mut self, at: At, value: &Expr, tests: &[Test]) -> Valued {
        let value = self.value(value)?;
        self.any(at, &value, tests)
    }

    /// Whether the input in the first slot passes the tests of a cell.
    pub(in super::super) fn cell(&mut self, input: &FeelValue, tests: &Tests) -> Valued {
        let passes = self.any(0, input, &tests.tests)?;
        Ok(match passes {
            FeelValue::Boolean(it) => (it != tests.is_negated).into(),
            other => other,
        })
    }

    /// True if one test passes, else null if one cannot be said, else false.
    fn any(&mut self, at: At, value: &FeelValue, tests: &[Test]) -> Valued {
        let warnings = self.session.warnings_len();
        let mut is_unknown = false;
        for test in tests {
            match self.test(value, test)? {
                Some(true) => {
                    self.session.forget_warnings(warnings);
                    return Ok(true.into());
                }
                Some(false) => {}
                None => is_unknown = true,
            }
        }
        if !is_unknown {
            return Ok(false.into());
        }
        Ok(if self.session.warnings_len() == warnings {
            self.null(Reason::WrongType, at, || {
                format!("{} cannot be compared with what it is tested against", value.kind())
            })
        } else {
            FeelValue::Null
        })
    }

    fn test(&mut self, value: &FeelValue, test: &Test) -> Result<Option<bool>, Limit> {
        match test {
            Test::Compare(how, at, operand) => {
                let operand = self.value(operand)?;
                Ok(self.compared(*how, *at, value, &operand)?.as_bool())
            }
            Test::Condition(at, condition) => match self.value(condition)? {
                FeelValue::Boolean(it) => Ok(Some(it)),
                // `? + 1` or a call that gives a value: the input is compared with it.
                other => self.is_member(value, &other, *at),
            },
            Test::Member(at, expr) => {
                let other = self.value(expr)?;
                self.is_member(value, &other, *at)
            }
        }
    }

    /// Whether a value equals another, or is in it where that is a list or a range.
    fn is_member(
        &mut self,
        value: &FeelValue,
        other: &FeelValue,
        at: At,
    ) -> Result<Option<bool>, Limit> {
        let answer = match other {
            FeelValue::Range(range) if !matches!(value, FeelValue::Range(_)) => {
                range.contains(value)
            }
            FeelValue::List(items) => {
                let is_same = matches!(value, FeelValue::List(_))
                    && self.is_equal(value, other)? == Some(true);
                let mut is_in = is_same;
                for item in items.iter() {
                    if is_in {
                        break;
                    }
                    is_in = match &item {
                        FeelValue::Range(range) if !matches!(value, FeelValue::Range(_)) => {
                            range.contains(value) == Some(true)
                        }
                        _ => self.is_equal(value, &item)? == Some(true),
                    };
                }
                Some(is_in)
            }
            // A condition that does not mention the input is still a condition.
            FeelValue::Boolean(it) if !matches!(value, FeelValue::Boolean(_) | FeelValue::Null) => {
                Some(*it)
            }
            _ => self.is_equal(value, other)?,
        };
        if answer.is_none() {
            self.null(Reason::WrongType, at, || {
                format!("{} and {} cannot be compared", value.kind(), other.kind())
            });
        }
        Ok(answer)
    }
}
