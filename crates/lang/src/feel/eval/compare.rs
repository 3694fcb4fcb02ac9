//! Equality and order.

use std::cmp::Ordering;

use super::{
    super::{
        collection::{Context, List, Shape},
        problem::Reason,
        tree::{At, Comparison},
        value::FeelValue,
    },
    Run, Valued,
};

/// Whether two values are equal; `None` where they are of different kinds. Only null equals null.
pub(in super::super) fn equal(left: &FeelValue, right: &FeelValue) -> Option<bool> {
    use FeelValue as V;
    Some(match (left, right) {
        (V::Number(a), V::Number(b)) => a == b,
        (V::String(a), V::String(b)) => a == b,
        (V::Boolean(a), V::Boolean(b)) => a == b,
        (V::Null, V::Null) => true,
        (V::Null, _) | (_, V::Null) => false,
        (V::Date(a), V::Date(b)) => a == b,
        (V::Time(a), V::Time(b)) => a.compare(b) == Some(Ordering::Equal),
        (V::DateTime(a), V::DateTime(b)) => a.compare(b) == Some(Ordering::Equal),
        (V::DaysDuration(a), V::DaysDuration(b)) => a == b,
        (V::YearsDuration(a), V::YearsDuration(b)) => a == b,
        (V::List(a), V::List(b)) => lists_equal(a, b),
        (V::Context(a), V::Context(b)) => contexts_equal(a, b),
        (V::Range(a), V::Range(b)) => a.equals(b),
        (V::Function(a), V::Function(b)) => a == b,
        // A list of one item stands for the item.
        (V::List(list), other) | (other, V::List(list)) if list.len() == 1 => {
            return equal(&list.get(0)?, other);
        }
        _ => return None,
    })
}

fn lists_equal(a: &List, b: &List) -> bool {
    a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal(&a, &b) == Some(true))
}

fn contexts_equal(a: &Context, b: &Context) -> bool {
    a.len() == b.len()
        && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(&a, &b) == Some(true)))
}

/// Which of two values comes first; `None` where that cannot be said.
pub(in super::super) fn compare(left: &FeelValue, right: &FeelValue) -> Option<Ordering> {
    use FeelValue as V;
    match (left, right) {
        (V::Number(a), V::Number(b)) => Some(a.cmp(b)),
        (V::String(a), V::String(b)) => Some(a.cmp(b)),
        (V::Date(a), V::Date(b)) => Some(a.cmp(b)),
        (V::Time(a), V::Time(b)) => a.compare(b),
        (V::DateTime(a), V::DateTime(b)) => a.compare(b),
        (V::DaysDuration(a), V::DaysDuration(b)) => Some(a.cmp(b)),
        (V::YearsDuration(a), V::YearsDuration(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

impl Run<'_, '_> {
    pub(super) fn compared(
        &mut self,
        how: Comparison,
        at: At,
        left: &FeelValue,
        right: &FeelValue,
    ) -> Valued {
        let answer = match how {
            Comparison::Equal => self.is_equal(left, right)?,
            Comparison::Unequal => self.is_equal(left, right)?.map(|it| !it),
            Comparison::Less => compare(left, right).map(Ordering::is_lt),
            Comparison::LessOrEqual => compare(left, right).map(Ordering::is_le),
            Comparison::Greater => compare(left, right).map(Ordering::is_gt),
            Comparison::GreaterOrEqual => compare(left, right).map(Ordering::is_ge),
        };
        Ok(match answer {
            Some(it) => it.into(),
            None => self.null(Reason::WrongType, at, || {
                format!("{} and {} cannot be compared", left.kind(), right.kind())
            }),
        })
    }

    /// Equality whose work is counted.
    pub(in super::super) fn is_equal(
        &mut self,
        left: &FeelValue,
        right: &FeelValue,
    ) -> Result<Option<bool>, travertine_value::Limit> {
        if let (FeelValue::List(_) | FeelValue::Context(_), _) = (left, right) {
            let nodes = Shape::of(left).nodes.min(Shape::of(right).nodes);
            self.session.charge_steps(usize::try_from(nodes).unwrap_or(usize::MAX))?;
        }
        Ok(equal(left, right))
    }
}
