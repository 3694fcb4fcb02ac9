//! The value of a variable: JSON, with exact numbers.

use std::{fmt, sync::Arc};

use indexmap::IndexMap;

use crate::{
    json::{self, JsonError},
    number::Number,
};

/// A name of a variable or a field. Cheap to clone.
///
/// ```
/// # use travertine_value::Name;
/// let name = Name::from("cents");
/// let same = Name::clone(&name); // Nothing is copied.
/// assert_eq!(&*same, "cents");
/// ```
pub type Name = Arc<str>;

/// A JSON-like object. It keeps the order in which its fields were written; two are equal whatever
/// that order.
///
/// ```
/// # use travertine_value::{Map, Value};
/// let mut order = Map::new();
/// order.insert("town".into(), "Rome".into());
/// order.insert("cents".into(), 1_200.into());
/// assert_eq!(Value::from(order).to_json(), r#"{"town":"Rome","cents":1200}"#);
/// ```
pub type Map = IndexMap<Name, Value>;

/// A value. Cheap to clone.
///
/// ```
/// # use travertine_value::Value;
/// let order = Value::parse_json(r#"{"town": "Rome", "items": [3, 4.50], "gift": null}"#)?;
/// assert_eq!(order.field("town"), Some(&Value::from("Rome")));
/// assert_eq!(order.field("gift"), Some(&Value::Null));
/// assert_eq!(order.to_string(), r#"{"town":"Rome","items":[3,4.5],"gift":null}"#);
/// # Ok::<(), travertine_value::JsonError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// An exact number.
    Number(Number),
    /// A text.
    String(Arc<str>),
    /// A list.
    List(Arc<Vec<Self>>),
    /// An object.
    Map(Arc<Map>),
}

/// How deep lists and objects may nest in a value that is kept: reading, comparing and dropping it
/// recurse. Programs and JSON stop at 256; what collects their results can add to that.
pub const VALUE_DEPTH_MAX: usize = 1024;

/// Why a value cannot be kept.
///
/// ```
/// # use travertine_value::{Excess, Value};
/// let long = Value::from("abcdef").fits(8, 4);
/// assert_eq!(long, Err(Excess::Bytes(4)));
/// assert_eq!(Excess::Depth(8).to_string(), "nested deeper than 8");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Lists and objects are nested deeper than this.
    Depth(usize),
    /// It takes more bytes than this.
    Bytes(usize),
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(max) => write!(f, "nested deeper than {max}"),
            Self::Bytes(max) => write!(f, "larger than {max} bytes"),
        }
    }
}

impl Value {
    /// Whether it nests no deeper than this and takes, about, no more bytes than this when it is
    /// stored. It is not looked at any further, so a small value that repeats itself without end
    /// costs no more than a large one.
    ///
    /// ```
    /// # use travertine_value::{Excess, Value};
    /// let nested = Value::from(vec![Value::from(vec![1.into()])]);
    /// assert_eq!(nested.fits(2, 100), Ok(()));
    /// assert_eq!(nested.fits(1, 100), Err(Excess::Depth(1)));
    /// ```
    pub fn fits(&self, depth_max: usize, bytes_max: usize) -> Result<(), Excess> {
        let mut left = bytes_max;
        self.weigh(depth_max, &mut left).map_err(|it| match it {
            Excess::Depth(_) => Excess::Depth(depth_max),
            Excess::Bytes(_) => Excess::Bytes(bytes_max),
        })
    }

    fn weigh(&self, depth_left: usize, bytes_left: &mut usize) -> Result<(), Excess> {
        let mut spend = |bytes: usize| {
            *bytes_left = bytes_left.checked_sub(bytes).ok_or(Excess::Bytes(0))?;
            Ok(())
        };
        match self {
            Self::Null | Self::Bool(_) => spend(1),
            Self::Number(_) => spend(8),
            Self::String(text) => spend(text.len() + 1),
            Self::List(_) | Self::Map(_) if depth_left == 0 => Err(Excess::Depth(0)),
            Self::List(items) => {
                spend(1)?;
                items.iter().try_for_each(|it| it.weigh(depth_left - 1, bytes_left))
            }
            Self::Map(fields) => {
                spend(1)?;
                for (name, value) in &**fields {
                    *bytes_left = bytes_left.checked_sub(name.len() + 1).ok_or(Excess::Bytes(0))?;
                    value.weigh(depth_left - 1, bytes_left)?;
                }
                Ok(())
            }
        }
    }

    /// Reads a JSON text. Of fields with the same name the last one counts.
    ///
    /// ```
    /// # use travertine_value::Value;
    /// assert_eq!(Value::parse_json(r#"{"a":1,"a":2}"#)?.to_json(), r#"{"a":2}"#);
    /// assert_eq!(Value::parse_json("[1,").unwrap_err().column, 4);
    /// # Ok::<(), travertine_value::JsonError>(())
    /// ```
    pub fn parse_json(text: &str) -> Result<Self, JsonError> {
        json::parse(text)
    }

    /// The value as compact JSON, as [`Display`](fmt::Display) prints it.
    ///
    /// ```
    /// # use travertine_value::Value;
    /// assert_eq!(Value::from(vec![1.into(), "a".into()]).to_json(), r#"[1,"a"]"#);
    /// ```
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        json::write(self, &mut text).expect("a string takes every text");
        text
    }

    /// What it is, for messages: "a list", "null".
    ///
    /// ```
    /// # use travertine_value::Value;
    /// assert_eq!(Value::from(1).kind(), "a number");
    /// assert_eq!(Value::Null.kind(), "null");
    /// ```
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }

    /// Whether it is nothing.
    ///
    /// ```
    /// # use travertine_value::Value;
    /// assert!(Value::from(None::<bool>).is_null());
    /// assert!(!Value::from(0).is_null());
    /// ```
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The boolean, where it is one.
    ///
    /// ```
    /// # use travertine_value::Value;
    /// assert_eq!(Value::from(true).as_bool(), Some(true));
    /// assert_eq!(Value::from("true").as_bool(), None);
    /// ```
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(it) = self { Some(*it) } else { None }
    }

    /// The number, where it is one.
    ///
    /// ```
    /// # use travertine_value::Value;
    /// let price = Value::parse_json("4.50")?;
    /// assert_eq!(price.as_number(), "4.5".parse().ok());
    /// assert_eq!(Value::from("4.50").as_number(), None);
    /// # Ok::<(), travertine_value::JsonError>(())
    /// ```
    pub fn as_number(&self) -> Option<Number> {
        if let Self::Number(it) = self { Some(*it) } else { None }
    }

    /// The whole number, where it is one that fits.
    ///
    /// ```
    /// # use travertine_value::Value;
    /// assert_eq!(Value::from(1_200).as_i64(), Some(1_200));
    /// assert_eq!(Value::parse_json("4.50")?.as_i64(), None);
    /// # Ok::<(), travertine_value::JsonError>(())
    /// ```
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.to_i64()
    }

    /// The text, where it is one.
    ///
    /// ```
    /// # use travertine_value::Value;
    /// assert_eq!(Value::from("Rome").as_str(), Some("Rome"));
    /// assert_eq!(Value::from(1).as_str(), None);
    /// ```
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(it) = self { Some(it) } else { None }
    }

    /// The items, where it is a list.
    ///
    /// ```
    /// # use travertine_value::Value;
    /// let items: Value = [1, 2].into_iter().map(Value::from).collect();
    /// assert_eq!(items.as_list().map(<[_]>::len), Some(2));
    /// assert_eq!(Value::Null.as_list(), None);
    /// ```
    pub fn as_list(&self) -> Option<&[Self]> {
        if let Self::List(it) = self { Some(it) } else { None }
    }

    /// The fields, where it is an object.
    ///
    /// ```
    /// # use travertine_value::Value;
    /// let order = Value::from_iter([("town".into(), Value::from("Rome"))]);
    /// assert!(order.as_map().is_some_and(|it| it.contains_key("town")));
    /// assert_eq!(Value::Null.as_map(), None);
    /// ```
    pub fn as_map(&self) -> Option<&Map> {
        if let Self::Map(it) = self { Some(it) } else { None }
    }

    /// The field of that name, where it is an object that has one.
    ///
    /// ```
    /// # use travertine_value::Value;
    /// let order = Value::from_iter([("town".into(), Value::from("Rome"))]);
    /// assert_eq!(order.field("town").and_then(Value::as_str), Some("Rome"));
    /// assert_eq!(order.field("street"), None);
    /// ```
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.as_map()?.get(name)
    }
}

impl fmt::Display for Value {
    /// Compact JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        json::write(self, f)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Number(value.into())
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(value.into())
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Number(value.into())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}

impl From<Name> for Value {
    fn from(value: Name) -> Self {
        Self::String(value)
    }
}

impl From<Vec<Self>> for Value {
    fn from(value: Vec<Self>) -> Self {
        Self::List(Arc::new(value))
    }
}

impl From<Map> for Value {
    fn from(value: Map) -> Self {
        Self::Map(Arc::new(value))
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl FromIterator<Self> for Value {
    fn from_iter<I: IntoIterator<Item = Self>>(items: I) -> Self {
        items.into_iter().collect::<Vec<_>>().into()
    }
}

impl FromIterator<(Name, Self)> for Value {
    fn from_iter<I: IntoIterator<Item = (Name, Self)>>(fields: I) -> Self {
        fields.into_iter().collect::<Map>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_three_words() {
        assert_eq!(size_of::<Value>(), 24);
    }

    #[test]
    fn objects_are_equal_whatever_the_order_of_their_fields() {
        let one = Value::parse_json(r#"{"a":1,"b":2.0}"#).unwrap();
        let other = Value::parse_json(r#"{"b":2,"a":1}"#).unwrap();
        assert_eq!(one, other);
        assert_eq!(one.to_string(), r#"{"a":1,"b":2}"#);
    }

    #[test]
    fn accessors_answer_only_for_their_kind() {
        let value = Value::from("x");
        assert_eq!((value.as_str(), value.as_bool(), value.as_i64()), (Some("x"), None, None));
        assert_eq!(Value::from(vec![Value::Null]).kind(), "a list");
        assert_eq!(Value::from(None::<bool>), Value::Null);
    }
}

#[cfg(test)]
mod size_tests {
    use super::{Excess, Map, Value};

    #[test]
    fn a_value_fits_up_to_its_limits_and_no_further() {
        let nested = |depth| (0..depth).fold(Value::Null, |it, _| vec![it].into());
        assert_eq!(nested(5).fits(5, 100), Ok(()));
        assert_eq!(nested(6).fits(5, 100), Err(Excess::Depth(5)));
        assert_eq!(Value::from("abc").fits(0, 4), Ok(()));
        assert_eq!(Value::from("abcd").fits(0, 4), Err(Excess::Bytes(4)));
        let map: Map = [("name".into(), Value::Null)].into_iter().collect();
        assert_eq!(Value::from(map.clone()).fits(1, 7), Ok(()));
        assert_eq!(Value::from(map).fits(1, 6), Err(Excess::Bytes(6)));
    }

    #[test]
    fn what_repeats_itself_costs_no_more_than_what_is_large() {
        // 2^200 items, in two hundred lists.
        let doubled = (0..200).fold(Value::Null, |it: Value, _| vec![it.clone(), it].into());
        assert_eq!(doubled.fits(1000, 10_000), Err(Excess::Bytes(10_000)));
    }
}
