//! The values that FEEL computes with.

use std::{cmp::Ordering, sync::Arc};

use travertine_value::{Number, Value};

use super::{
    collection::{Context, List},
    function::Function,
    range::Range,
    temporal::{Date, DateTime, DaysDuration, Time, YearsDuration},
};

/// A value of FEEL. Cheap to clone; a process variable becomes one without being copied.
#[derive(Clone, Debug, Default)]
pub enum FeelValue {
    /// Nothing, or nothing sensible.
    #[default]
    Null,
    /// True or false.
    Boolean(bool),
    /// An exact number.
    Number(Number),
    /// A text.
    String(Arc<str>),
    /// A day.
    Date(Date),
    /// A time of day.
    Time(Time),
    /// A day and a time of it.
    DateTime(Arc<DateTime>),
    /// Days, hours, minutes and seconds.
    DaysDuration(DaysDuration),
    /// Years and months.
    YearsDuration(YearsDuration),
    /// A list.
    List(List),
    /// Named entries.
    Context(Context),
    /// Everything between two ends.
    Range(Arc<Range>),
    /// Something that can be called.
    Function(Function),
}

impl FeelValue {
    /// What it is, for messages: "a list", "null".
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Date(_) => "a date",
            Self::Time(_) => "a time",
            Self::DateTime(_) => "a date and time",
            Self::DaysDuration(_) => "a days and time duration",
            Self::YearsDuration(_) => "a years and months duration",
            Self::List(_) => "a list",
            Self::Context(_) => "a context",
            Self::Range(_) => "a range",
            Self::Function(_) => "a function",
        }
    }

    /// Whether it is nothing.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The boolean, where it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Boolean(it) = self { Some(*it) } else { None }
    }

    /// The number, where it is one.
    pub fn as_number(&self) -> Option<Number> {
        if let Self::Number(it) = self { Some(*it) } else { None }
    }

    /// The text, where it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(it) = self { Some(it) } else { None }
    }

    /// The list, where it is one.
    pub fn as_list(&self) -> Option<&List> {
        if let Self::List(it) = self { Some(it) } else { None }
    }

    /// The context, where it is one.
    pub fn as_context(&self) -> Option<&Context> {
        if let Self::Context(it) = self { Some(it) } else { None }
    }

    /// Whether both are equal, as `=` says it; `None` where they are of different kinds.
    pub fn equals(&self, other: &Self) -> Option<bool> {
        super::eval::equal(self, other)
    }

    /// Which comes first, as `<` says it; `None` where that cannot be said.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        super::eval::compare(self, other)
    }

    /// The value as a process variable: dates, times, durations and ranges become their texts,
    /// a function becomes null.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null | Self::Function(_) => Value::Null,
            Self::Boolean(it) => Value::Bool(*it),
            Self::Number(it) => Value::Number(*it),
            Self::String(it) => Value::String(Arc::clone(it)),
            Self::List(list) => list.to_value(),
            Self::Context(context) => context.to_value(),
            Self::Date(_)
            | Self::Time(_)
            | Self::DateTime(_)
            | Self::DaysDuration(_)
            | Self::YearsDuration(_)
            | Self::Range(_) => self.to_string().into(),
        }
    }

    /// The only item of a list with one item; every other value as it is.
    #[must_use]
    pub fn unwrap_singleton(self) -> Self {
        match &self {
            Self::List(list) if list.len() == 1 => list.get(0).unwrap_or_default(),
            _ => self,
        }
    }

    /// Its items where it is a list, and the value itself as the only item where not.
    pub fn into_list(self) -> List {
        match self {
            Self::List(list) => list,
            other => vec![other].into(),
        }
    }
}

/// Equal as `=` says it; what cannot be compared is not equal.
impl PartialEq for FeelValue {
    fn eq(&self, other: &Self) -> bool {
        super::eval::equal(self, other) == Some(true)
    }
}

impl From<Value> for FeelValue {
    /// Lists and contexts are shared, not copied.
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(it) => Self::Boolean(it),
            Value::Number(it) => Self::Number(it),
            Value::String(it) => Self::String(it),
            Value::List(it) => Self::List(it.into()),
            Value::Map(it) => Self::Context(it.into()),
        }
    }
}

impl From<&Value> for FeelValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(it) => Self::Boolean(*it),
            Value::Number(it) => Self::Number(*it),
            Value::String(it) => Self::String(Arc::clone(it)),
            Value::List(it) => Self::List(Arc::clone(it).into()),
            Value::Map(it) => Self::Context(Arc::clone(it).into()),
        }
    }
}

impl From<bool> for FeelValue {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<Number> for FeelValue {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<i64> for FeelValue {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<usize> for FeelValue {
    fn from(value: usize) -> Self {
        Self::Number(value.into())
    }
}

impl From<&str> for FeelValue {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl From<String> for FeelValue {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}

impl From<Arc<str>> for FeelValue {
    fn from(value: Arc<str>) -> Self {
        Self::String(value)
    }
}

impl From<Date> for FeelValue {
    fn from(value: Date) -> Self {
        Self::Date(value)
    }
}

impl From<Time> for FeelValue {
    fn from(value: Time) -> Self {
        Self::Time(value)
    }
}

impl From<DateTime> for FeelValue {
    fn from(value: DateTime) -> Self {
        Self::DateTime(Arc::new(value))
    }
}

impl From<DaysDuration> for FeelValue {
    fn from(value: DaysDuration) -> Self {
        Self::DaysDuration(value)
    }
}

impl From<YearsDuration> for FeelValue {
    fn from(value: YearsDuration) -> Self {
        Self::YearsDuration(value)
    }
}

impl From<List> for FeelValue {
    fn from(value: List) -> Self {
        Self::List(value)
    }
}

impl From<Vec<Self>> for FeelValue {
    fn from(value: Vec<Self>) -> Self {
        Self::List(value.into())
    }
}

impl From<Context> for FeelValue {
    fn from(value: Context) -> Self {
        Self::Context(value)
    }
}

impl From<Range> for FeelValue {
    fn from(value: Range) -> Self {
        Self::Range(Arc::new(value))
    }
}

impl From<Function> for FeelValue {
    fn from(value: Function) -> Self {
        Self::Function(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for FeelValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl FromIterator<Self> for FeelValue {
    fn from_iter<I: IntoIterator<Item = Self>>(items: I) -> Self {
        items.into_iter().collect::<Vec<_>>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_four_words() {
        assert!(size_of::<FeelValue>() <= 32, "{}", size_of::<FeelValue>());
    }

    #[test]
    fn variables_go_in_and_out_without_a_copy() {
        let value = Value::parse_json(r#"{"a":[1,"x",null,true]}"#).unwrap();
        let feel = FeelValue::from(value.clone());
        let back = feel.to_value();
        assert_eq!(back, value);
        let (Value::Map(one), Value::Map(other)) = (&value, &back) else { panic!("maps") };
        assert!(Arc::ptr_eq(one, other));
    }

    #[test]
    fn temporal_values_leave_as_texts() {
        let value = FeelValue::from(vec![Date::new(2024, 2, 29).unwrap().into()]);
        assert_eq!(value.to_value().to_string(), r#"["2024-02-29"]"#);
    }
}
