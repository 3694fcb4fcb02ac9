//! `for`, `some` and `every`.

use travertine_value::{Limit, Number};

use super::{
    super::{
        collection::List,
        problem::Reason,
        range::Range,
        temporal::Date,
        tree::{At, Domain, Iterator, Loop, Quantifier},
        value::FeelValue,
    },
    Run, Valued,
};

/// What an iterator goes over.
enum Values {
    List(List),
    Numbers(Number, Number),
    Dates(Date, Date),
}

/// Whether a loop goes on.
enum Next {
    On,
    Stop,
}

impl Run<'_, '_> {
    pub(super) fn loop_over(&mut self, over: &Loop) -> Valued {
        let mut results = Vec::new();
        let body = &mut |run: &mut Self| {
            let partial = if over.reads_partial {
                run.session.charge_steps(results.len())?;
                run.made(results.clone())?
            } else {
                FeelValue::Null
            };
            run.locals.push(partial);
            let result = run.value(&over.body)?;
            run.locals.pop();
            run.session.charge_bytes(size_of::<FeelValue>())?;
            results.push(result);
            Ok(Next::On)
        };
        let is_complete = self.each(&over.iterators, body)?.is_some();
        if is_complete { self.made(results) } else { Ok(FeelValue::Null) }
    }

    pub(super) fn quantified(&mut self, quantifier: Quantifier, over: &Loop) -> Valued {
        let deciding = quantifier == Quantifier::Some;
        let mut is_decided = false;
        let mut is_unknown = false;
        let body = &mut |run: &mut Self| {
            match run.value(&over.body)? {
                FeelValue::Boolean(it) if it == deciding => {
                    is_decided = true;
                    return Ok(Next::Stop);
                }
                FeelValue::Boolean(_) => {}
                _ => is_unknown = true,
            }
            Ok(Next::On)
        };
        if self.each(&over.iterators, body)?.is_none() {
            return Ok(FeelValue::Null);
        }
        Ok(if is_decided {
            deciding.into()
        } else if is_unknown {
            self.null(Reason::WrongType, over.at, || "a condition is not a boolean".to_owned())
        } else {
            (!deciding).into()
        })
    }

    /// Runs the body for every combination. `None` where an iterator has nothing to go over.
    fn each(
        &mut self,
        iterators: &[Iterator],
        body: &mut dyn FnMut(&mut Self) -> Result<Next, Limit>,
    ) -> Result<Option<Next>, Limit> {
        let Some((iterator, rest)) = iterators.split_first() else { return body(self).map(Some) };
        let Some(values) = self.values(iterator)? else { return Ok(None) };
        let mut visit = |run: &mut Self, value: FeelValue| {
            run.session.charge_steps(1)?;
            run.locals.push(value);
            let next = run.each(rest, body)?;
            run.locals.pop();
            Ok(next)
        };
        match values {
            Values::List(list) => {
                for item in list.iter() {
                    match visit(self, item)? {
                        Some(Next::On) => {}
                        other => return Ok(other),
                    }
                }
            }
            Values::Numbers(start, end) => {
                let step = Number::from(if start <= end { 1 } else { -1 });
                let mut number = start;
                while (number <= end) == (start <= end) || number == end {
                    match visit(self, number.into())? {
                        Some(Next::On) => {}
                        other => return Ok(other),
                    }
                    if number == end {
                        break;
                    }
                    let Ok(next) = number.checked_add(step) else { break };
                    number = next;
                }
            }
            Values::Dates(start, end) => {
                let step = if start <= end { 1 } else { -1 };
                let mut days = start.days();
                loop {
                    let date = Date::from_days(days).expect("it lies between two dates");
                    match visit(self, date.into())? {
                        Some(Next::On) => {}
                        other => return Ok(other),
                    }
                    if days == end.days() {
                        break;
                    }
                    days += step;
                }
            }
        }
        Ok(Some(Next::On))
    }

    fn values(&mut self, iterator: &Iterator) -> Result<Option<Values>, Limit> {
        let at = iterator.at;
        match &iterator.domain {
            Domain::Span(start, end) => {
                let (start, end) = (self.value(start)?, self.value(end)?);
                Ok(self.span(&start, &end, at))
            }
            Domain::Values(expr) => Ok(match self.value(expr)? {
                FeelValue::List(list) => Some(Values::List(list)),
                FeelValue::Range(range) => self.range_values(&range, at),
                FeelValue::Null => {
                    self.null(Reason::WrongType, at, || "there is nothing to go over".to_owned());
                    None
                }
                other => Some(Values::List(vec![other].into())),
            }),
        }
    }

    fn span(&mut self, start: &FeelValue, end: &FeelValue, at: At) -> Option<Values> {
        match (start, end) {
            (FeelValue::Number(a), FeelValue::Number(b)) => Some(Values::Numbers(*a, *b)),
            (FeelValue::Date(a), FeelValue::Date(b)) => Some(Values::Dates(*a, *b)),
            (start, end) => {
                self.null(Reason::WrongType, at, || {
                    format!("nothing goes step by step from {} to {}", start.kind(), end.kind())
                });
                None
            }
        }
    }

    /// Ends that do not belong to the range are left out.
    fn range_values(&mut self, range: &Range, at: At) -> Option<Values> {
        let values = self.span(&range.start.value(), &range.end.value(), at)?;
        let (first, last) = (range.start.is_included(), range.end.is_included());
        if first && last {
            return Some(values);
        }
        Some(match values {
            Values::Numbers(a, b) => {
                let step = Number::from(if a <= b { 1 } else { -1 });
                let a = if first { a } else { a.checked_add(step).ok()? };
                let inside = if last { b } else { b.checked_sub(step).ok()? };
                let is_empty = if step.is_negative() { a < inside } else { a > inside };
                if is_empty { Values::List(Vec::new().into()) } else { Values::Numbers(a, inside) }
            }
            Values::Dates(a, b) => {
                let step = if a <= b { 1 } else { -1 };
                let a = Date::from_days(a.days() + if first { 0 } else { step })?;
                let inside = Date::from_days(b.days() - if last { 0 } else { step })?;
                let is_empty = if step < 0 { a < inside } else { a > inside };
                if is_empty { Values::List(Vec::new().into()) } else { Values::Dates(a, inside) }
            }
            Values::List(list) => Values::List(list),
        })
    }
}
