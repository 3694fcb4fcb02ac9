//! Adding, subtracting, multiplying, dividing, raising: numbers, texts, times and durations.

use std::borrow::Cow;

use travertine_value::{Number, NumberError, Rounding};

use super::{
    super::{
        problem::Reason,
        temporal::{DateTime, DaysDuration, Time, YearsDuration, Zone},
        tree::{At, Expr, Operator},
        value::FeelValue,
    },
    Run, Valued,
};

type Calculated = Result<FeelValue, Cow<'static, str>>;

impl Run<'_, '_> {
    pub(super) fn arithmetic(&mut self, first: &Expr, links: &[(Operator, At, Expr)]) -> Valued {
        let mut left = self.value(first)?;
        for (how, at, right) in links {
            let computed;
            let right = if let Expr::Constant(constant) = right {
                constant
            } else {
                computed = self.value(right)?;
                &computed
            };
            // Numbers first: they are almost all that is ever calculated with.
            if let (FeelValue::Number(a), FeelValue::Number(b)) = (&left, right) {
                left = match numbers(*how, *a, *b) {
                    Ok(number) => FeelValue::Number(number),
                    Err(error) => self.null(Reason::BadArgument, *at, || error.to_string()),
                };
                continue;
            }
            let result = match (&left, right) {
                (FeelValue::String(a), FeelValue::String(b)) if *how == Operator::Add => {
                    self.session.charge_bytes(a.len() + b.len())?;
                    Ok(format!("{a}{b}").into())
                }
                _ => calculate(*how, &left, right),
            };
            left = match result {
                Ok(value) => value,
                Err(reason) => self.null(Reason::WrongType, *at, || reason.into_owned()),
            };
        }
        Ok(left)
    }

    pub(super) fn negate(&mut self, operand: &Expr, at: At) -> Valued {
        Ok(match self.value(operand)? {
            FeelValue::Number(it) => it.negated().into(),
            FeelValue::DaysDuration(it) => DaysDuration::from_nanos(-it.nanos()).into(),
            FeelValue::YearsDuration(it) => {
                it.months().checked_neg().map(YearsDuration::from_months).into()
            }
            other => {
                self.null(Reason::WrongType, at, || format!("{} cannot be negated", other.kind()))
            }
        })
    }
}

fn numbers(how: Operator, a: Number, b: Number) -> Result<Number, NumberError> {
    match how {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => a.checked_div(b),
        Operator::Power => a.pow(b),
    }
}

fn calculate(how: Operator, left: &FeelValue, right: &FeelValue) -> Calculated {
    let result = match how {
        Operator::Add => add(left, right),
        Operator::Subtract => subtract(left, right),
        Operator::Multiply => multiply(left, right),
        Operator::Divide => divide(left, right),
        Operator::Power => None,
    };
    if let Some(value) = result {
        return value.ok_or(Cow::Borrowed("the result is out of range"));
    }
    let verb = match how {
        Operator::Add => "added",
        Operator::Subtract => "subtracted",
        Operator::Multiply => "multiplied",
        Operator::Divide => "divided",
        Operator::Power => "raised",
    };
    let (left, right) = (left.kind(), right.kind());
    Err(format!("{left} and {right} cannot be {verb}").into())
}

/// `None` where the kinds do not go together, `Some(None)` where the result has left its range.
#[expect(clippy::option_option, reason = "two reasons for null, with a message each")]
fn add(left: &FeelValue, right: &FeelValue) -> Option<Option<FeelValue>> {
    use FeelValue as V;
    Some(match (left, right) {
        (V::DaysDuration(a), V::DaysDuration(b)) => {
            DaysDuration::from_nanos(a.nanos() + b.nanos()).map(Into::into)
        }
        (V::YearsDuration(a), V::YearsDuration(b)) => {
            let months = a.months().checked_add(b.months());
            months.map(|it| YearsDuration::from_months(it).into())
        }
        (V::Date(date), V::YearsDuration(duration))
        | (V::YearsDuration(duration), V::Date(date)) => date.add_months(*duration).map(Into::into),
        // The time of day that passes is lost again.
        (V::Date(date), V::DaysDuration(duration)) | (V::DaysDuration(duration), V::Date(date)) => {
            let midnight = DateTime::new(*date, Time::midnight(Zone::Local));
            midnight.add(*duration).map(|it| it.date().into())
        }
        (V::DateTime(it), V::YearsDuration(duration))
        | (V::YearsDuration(duration), V::DateTime(it)) => it.add_months(*duration).map(Into::into),
        (V::DateTime(it), V::DaysDuration(duration))
        | (V::DaysDuration(duration), V::DateTime(it)) => it.add(*duration).map(Into::into),
        (V::Time(it), V::DaysDuration(duration)) | (V::DaysDuration(duration), V::Time(it)) => {
            Some(it.add(*duration).into())
        }
        _ => return None,
    })
}

#[expect(clippy::option_option, reason = "two reasons for null, with a message each")]
fn subtract(left: &FeelValue, right: &FeelValue) -> Option<Option<FeelValue>> {
    use FeelValue as V;
    let in_utc = |date| DateTime::new(date, Time::midnight(Zone::UTC));
    match (left, right) {
        (V::Date(a), V::Date(b)) => {
            let days = a.days() - b.days();
            Some(days.checked_mul(86_400).map(|it| DaysDuration::from_seconds(it).into()))
        }
        (V::DateTime(a), V::DateTime(b)) => a.since(b).map(|it| Some(it.into())),
        // A date among points in time is its midnight in UTC.
        (V::DateTime(a), V::Date(b)) => a.since(&in_utc(*b)).map(|it| Some(it.into())),
        (V::Date(a), V::DateTime(b)) => in_utc(*a).since(b).map(|it| Some(it.into())),
        (V::Time(a), V::Time(b)) => a.since(b).map(|it| Some(it.into())),
        (V::DaysDuration(_) | V::YearsDuration(_), V::Date(_) | V::Time(_) | V::DateTime(_)) => {
            None
        }
        (_, V::DaysDuration(b)) => match DaysDuration::from_nanos(-b.nanos()) {
            Some(negated) => add(left, &negated.into()),
            None => Some(None),
        },
        (_, V::YearsDuration(b)) => match b.months().checked_neg() {
            Some(negated) => add(left, &YearsDuration::from_months(negated).into()),
            None => Some(None),
        },
        _ => None,
    }
}

#[expect(clippy::option_option, reason = "two reasons for null, with a message each")]
fn multiply(left: &FeelValue, right: &FeelValue) -> Option<Option<FeelValue>> {
    use FeelValue as V;
    Some(match (left, right) {
        (V::DaysDuration(duration), V::Number(number))
        | (V::Number(number), V::DaysDuration(duration)) => {
            days(duration.to_number().checked_mul(*number).ok())
        }
        (V::YearsDuration(duration), V::Number(number))
        | (V::Number(number), V::YearsDuration(duration)) => {
            months(Number::from(duration.months()).checked_mul(*number).ok())
        }
        _ => return None,
    })
}

#[expect(clippy::option_option, reason = "two reasons for null, with a message each")]
fn divide(left: &FeelValue, right: &FeelValue) -> Option<Option<FeelValue>> {
    use FeelValue as V;
    Some(match (left, right) {
        (V::DaysDuration(duration), V::Number(number)) => {
            days(duration.to_number().checked_div(*number).ok())
        }
        (V::YearsDuration(duration), V::Number(number)) => {
            months(Number::from(duration.months()).checked_div(*number).ok())
        }
        (V::DaysDuration(a), V::DaysDuration(b)) => {
            a.to_number().checked_div(b.to_number()).ok().map(Into::into)
        }
        (V::YearsDuration(a), V::YearsDuration(b)) => {
            Number::from(a.months()).checked_div(b.months().into()).ok().map(Into::into)
        }
        _ => return None,
    })
}

fn days(seconds: Option<Number>) -> Option<FeelValue> {
    DaysDuration::from_number(seconds?).map(Into::into)
}

/// Parts of a month are dropped.
fn months(months: Option<Number>) -> Option<FeelValue> {
    let whole = months?.round(0, Rounding::Down).ok()?.to_i64()?;
    Some(YearsDuration::from_months(whole).into())
}
