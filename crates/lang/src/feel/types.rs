//! Types: what a value is an instance of, and how a value that is not quite is made to fit.

use std::{fmt, sync::Arc};

use travertine_value::Name;

use super::{
    range::{End, Range},
    temporal::{DateTime, Time, Zone},
    value::FeelValue,
};

/// A type of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Every value but null.
    Any,
    /// Only null.
    Null,
    /// True or false.
    Boolean,
    /// Numbers.
    Number,
    /// Texts.
    String,
    /// Days.
    Date,
    /// Times of a day.
    Time,
    /// Days with a time.
    DateTime,
    /// Days, hours, minutes and seconds.
    DaysDuration,
    /// Years and months.
    YearsDuration,
    /// Lists of one type.
    List(Arc<Self>),
    /// Contexts that have at least these entries.
    Context(Arc<Vec<(Name, Self)>>),
    /// Ranges over one type.
    Range(Arc<Self>),
    /// Functions from some types to one.
    Function(Arc<Vec<Self>>, Arc<Self>),
    /// A name that nobody knows. Nothing is an instance of it.
    Unknown(Name),
}

impl Type {
    /// The type that FEEL itself knows by this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "Any" => Self::Any,
            "Null" => Self::Null,
            "boolean" => Self::Boolean,
            "number" => Self::Number,
            "string" => Self::String,
            "date" => Self::Date,
            "time" => Self::Time,
            "date and time" | "dateTime" => Self::DateTime,
            "days and time duration" | "dayTimeDuration" => Self::DaysDuration,
            "years and months duration" | "yearMonthDuration" => Self::YearsDuration,
            "list" => Self::List(Arc::new(Self::Any)),
            "context" => Self::Context(Arc::default()),
            "range" => Self::Range(Arc::new(Self::Any)),
            "function" => Self::Function(Arc::default(), Arc::new(Self::Any)),
            _ => return None,
        })
    }

    /// Whether the value is an instance of this type, as `instance of` says it.
    pub fn includes(&self, value: &FeelValue) -> bool {
        match (self, value) {
            (Self::Null, FeelValue::Null) => true,
            (_, FeelValue::Null) | (Self::Unknown(_), _) => false,
            (Self::Any, _)
            | (Self::Boolean, FeelValue::Boolean(_))
            | (Self::Number, FeelValue::Number(_))
            | (Self::String, FeelValue::String(_))
            | (Self::Date, FeelValue::Date(_))
            | (Self::Time, FeelValue::Time(_))
            | (Self::DateTime, FeelValue::DateTime(_))
            | (Self::DaysDuration, FeelValue::DaysDuration(_))
            | (Self::YearsDuration, FeelValue::YearsDuration(_)) => true,
            (Self::List(of), FeelValue::List(items)) => items.iter().all(|it| of.accepts(&it)),
            (Self::Context(entries), FeelValue::Context(context)) => entries
                .iter()
                .all(|(name, of)| context.get(name).is_some_and(|value| of.accepts(&value))),
            (Self::Range(of), FeelValue::Range(range)) => of.includes_range(range),
            (Self::Function(parameters, result), FeelValue::Function(function)) => {
                let given = function.parameters();
                // The types of what is built in are not written down.
                function.is_builtin_of(parameters.len())
                    || **parameters == Vec::new() && given.is_empty()
                    || given.len() == parameters.len()
                        && given.iter().zip(&**parameters).all(|(it, of)| of.fits(&it.of))
                        && function.result().fits(result)
            }
            (
                Self::Null
                | Self::Boolean
                | Self::Number
                | Self::String
                | Self::Date
                | Self::Time
                | Self::DateTime
                | Self::DaysDuration
                | Self::YearsDuration
                | Self::List(_)
                | Self::Context(_)
                | Self::Range(_)
                | Self::Function(..),
                _,
            ) => false,
        }
    }

    /// Whether the value may stand where this type is asked for: an instance, or null.
    pub fn accepts(&self, value: &FeelValue) -> bool {
        value.is_null() || self.includes(value)
    }

    /// The value made to fit: as it is where it fits, the only item of a list, a list of the only
    /// item, a date as its midnight in UTC. `None` where it does not fit.
    pub fn coerce(&self, value: FeelValue) -> Option<FeelValue> {
        if self.accepts(&value) || *self == Self::Any {
            return Some(value);
        }
        match (self, value) {
            (Self::DateTime, FeelValue::Date(date)) => {
                Some(DateTime::new(date, Time::midnight(Zone::UTC)).into())
            }
            (Self::List(of), value) if !matches!(value, FeelValue::List(_)) => {
                of.coerce(value).map(|it| vec![it].into())
            }
            (_, FeelValue::List(items)) if items.len() == 1 => {
                let item = items.get(0).unwrap_or_default();
                self.accepts(&item).then_some(item)
            }
            _ => None,
        }
    }

    /// Whether every value of this type is one of the other too, as far as the types say.
    fn fits(&self, other: &Self) -> bool {
        *other == Self::Any || *self == Self::Any || self == other
    }

    fn includes_range(&self, range: &Range) -> bool {
        [&range.start, &range.end].into_iter().all(|end| match end {
            End::Open => true,
            End::Excluded(value) | End::Included(value) => self.accepts(value),
        })
    }
}

/// As it is written in FEEL. Of a very large type only the beginning is written.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = WRITTEN_MAX;
        self.write(f, &mut left)
    }
}

/// Parts of a type that are written.
const WRITTEN_MAX: usize = 200;

impl Type {
    fn write(&self, f: &mut fmt::Formatter<'_>, left: &mut usize) -> fmt::Result {
        let Some(rest) = left.checked_sub(1) else { return f.write_str("…") };
        *left = rest;
        match self {
            Self::Any => f.write_str("Any"),
            Self::Null => f.write_str("Null"),
            Self::Boolean => f.write_str("boolean"),
            Self::Number => f.write_str("number"),
            Self::String => f.write_str("string"),
            Self::Date => f.write_str("date"),
            Self::Time => f.write_str("time"),
            Self::DateTime => f.write_str("date and time"),
            Self::DaysDuration => f.write_str("days and time duration"),
            Self::YearsDuration => f.write_str("years and months duration"),
            Self::List(of) => {
                f.write_str("list<")?;
                of.write(f, left)?;
                f.write_str(">")
            }
            Self::Context(entries) => {
                f.write_str("context<")?;
                for (index, (name, of)) in entries.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    if *left == 0 {
                        f.write_str("…")?;
                        break;
                    }
                    write!(f, "{name}: ")?;
                    of.write(f, left)?;
                }
                f.write_str(">")
            }
            Self::Range(of) => {
                f.write_str("range<")?;
                of.write(f, left)?;
                f.write_str(">")
            }
            Self::Function(parameters, result) => {
                f.write_str("function<")?;
                for (index, of) in parameters.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    if *left == 0 {
                        f.write_str("…")?;
                        break;
                    }
                    of.write(f, left)?;
                }
                f.write_str("> -> ")?;
                result.write(f, left)
            }
            Self::Unknown(name) => f.write_str(name),
        }
    }
}
