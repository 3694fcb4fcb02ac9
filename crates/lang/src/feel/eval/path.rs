//! Paths and filters: `order.items[qty > 1].price`.

use travertine_value::{Name, Number, Rounding};

use super::{
    super::{
        collection::{List, short},
        problem::Reason,
        range::Range,
        temporal::{Date, Time},
        tree::{At, Entry, Expr, Filter, Step},
        value::FeelValue,
    },
    Run, Valued,
};

impl Run<'_, '_> {
    pub(super) fn path(&mut self, root: &Expr, steps: &[Step]) -> Valued {
        let mut value = self.value(root)?;
        for step in steps {
            self.session.step()?;
            value = match step {
                Step::Field(name, at) => self.field(&value, name, *at)?,
                Step::Filter(filter) => self.filter(value, filter)?,
            };
        }
        Ok(value)
    }

    /// An entry of the item of a filter, or what the name means outside of it.
    pub(super) fn entry(&mut self, entry: &Entry) -> Valued {
        if let FeelValue::Context(context) = self.local(entry.item)
            && let Some(value) = context.get(&entry.name)
        {
            return Ok(value);
        }
        self.value(&entry.otherwise)
    }

    fn field(&mut self, value: &FeelValue, name: &Name, at: At) -> Valued {
        match value {
            FeelValue::Context(context) => Ok(match context.get(name) {
                Some(value) => value,
                None => self.null(Reason::MissingEntry(Name::clone(name)), at, || {
                    format!("the context has no entry {}", short(name))
                }),
            }),
            FeelValue::List(list) => {
                self.session.go_deeper()?;
                self.session.charge_steps(list.len())?;
                let mut values = Vec::with_capacity(list.len());
                for item in list.iter() {
                    values.push(self.field(&item, name, at)?);
                }
                self.session.come_back();
                self.made(values)
            }
            other => Ok(match property(other, name) {
                Some(value) => value,
                None => self.null(Reason::MissingEntry(Name::clone(name)), at, || {
                    format!("{} has no {}", other.kind(), short(name))
                }),
            }),
        }
    }

    fn filter(&mut self, value: FeelValue, filter: &Filter) -> Valued {
        if value.is_null() {
            return Ok(
                self.null(Reason::WrongType, filter.at, || "null cannot be filtered".to_owned())
            );
        }
        let list = value.into_list();
        if let Expr::Constant(FeelValue::Number(_)) = &filter.condition {
            return self.indexed(&list, &filter.condition, filter);
        }
        let mut kept = Vec::new();
        for (index, item) in list.iter().enumerate() {
            self.locals.push(item);
            let answer = self.value(&filter.condition);
            let item = self.locals.pop().unwrap_or_default();
            match answer? {
                FeelValue::Boolean(true) => kept.push(item),
                FeelValue::Boolean(false) | FeelValue::Null => {}
                // A number says which item, not whether this one.
                FeelValue::Number(_) if index == 0 => {
                    return self.indexed_by_first(&list, filter);
                }
                other => {
                    self.null(Reason::WrongType, filter.at, || {
                        format!("a filter needs a boolean or a number, not {}", other.kind())
                    });
                }
            }
        }
        if list.is_empty() && self.is_index_without_items(filter)? {
            return Ok(FeelValue::Null);
        }
        self.made(kept)
    }

    fn is_index_without_items(&mut self, filter: &Filter) -> Result<bool, travertine_value::Limit> {
        if !matches!(filter.condition, Expr::Arithmetic(..) | Expr::Local(_) | Expr::Entry(_)) {
            return Ok(false);
        }
        let warnings = self.session.warnings_len();
        self.locals.push(FeelValue::Null);
        let answer = self.value(&filter.condition);
        self.locals.pop();
        self.session.forget_warnings(warnings);
        Ok(matches!(answer?, FeelValue::Number(_)))
    }

    fn indexed_by_first(&mut self, list: &List, filter: &Filter) -> Valued {
        self.locals.push(list.get(0).unwrap_or_default());
        let value = self.indexed(list, &filter.condition, filter);
        self.locals.pop();
        value
    }

    /// Items count from 1, and from -1 at the end.
    fn indexed(&mut self, list: &List, index: &Expr, filter: &Filter) -> Valued {
        let index = self.value(index)?.as_number().unwrap_or(Number::ZERO);
        let whole = index.round(0, Rounding::Down).ok().and_then(Number::to_i64).unwrap_or(0);
        let position = match whole {
            1.. => usize::try_from(whole - 1).ok(),
            0 => None,
            _ => {
                usize::try_from(whole.unsigned_abs()).ok().and_then(|it| list.len().checked_sub(it))
            }
        };
        Ok(match position.and_then(|it| list.get(it)) {
            Some(value) => value,
            None => self.null(Reason::BadArgument, filter.at, || {
                format!("the list of {} has no item {index}", list.len())
            }),
        })
    }
}

/// What values other than contexts say about themselves.
fn property(value: &FeelValue, name: &str) -> Option<FeelValue> {
    match value {
        FeelValue::Date(date) => of_date(*date, name),
        FeelValue::Time(time) => of_time(time, name).or_else(|| match name {
            "time offset" => Some(time.offset().into()),
            _ => None,
        }),
        FeelValue::DateTime(it) => match name {
            "time offset" => Some(it.offset().into()),
            _ => of_date(it.date(), name).or_else(|| of_time(it.time(), name)),
        },
        FeelValue::YearsDuration(it) => match name {
            "years" => Some((it.months() / 12).into()),
            "months" => Some((it.months() % 12).into()),
            _ => None,
        },
        FeelValue::DaysDuration(it) => {
            let (days, hours, minutes, seconds) = it.parts();
            match name {
                "days" => Some(days.into()),
                "hours" => Some(hours.into()),
                "minutes" => Some(minutes.into()),
                "seconds" => Some(seconds.into()),
                _ => None,
            }
        }
        FeelValue::Range(range) => of_range(range, name),
        FeelValue::Null
        | FeelValue::Boolean(_)
        | FeelValue::Number(_)
        | FeelValue::String(_)
        | FeelValue::List(_)
        | FeelValue::Context(_)
        | FeelValue::Function(_) => None,
    }
}

fn of_date(date: Date, name: &str) -> Option<FeelValue> {
    let (year, month, day) = date.parts();
    Some(FeelValue::from(match name {
        "year" => year,
        "month" => month,
        "day" => day,
        "weekday" => date.weekday(),
        _ => return None,
    }))
}

fn of_time(time: &Time, name: &str) -> Option<FeelValue> {
    Some(match name {
        "hour" => time.hour().into(),
        "minute" => time.minute().into(),
        "second" => time.second().into(),
        "timezone" => time.zone().name().into(),
        _ => return None,
    })
}

fn of_range(range: &Range, name: &str) -> Option<FeelValue> {
    Some(match name {
        "start" => range.start.value(),
        "end" => range.end.value(),
        "start included" => range.start.is_included().into(),
        "end included" => range.end.is_included().into(),
        _ => return None,
    })
}
