//! Variables as the types of programs.

use std::{cell::Cell, sync::Arc};

use serde::{
    Serialize,
    de::{Deserializer, Error as _, Unexpected, Visitor},
};

use super::{TypeError, read, write::Writer};
use crate::{
    json::DEPTH_MAX,
    value::{Name, Value},
};

/// The variable that is what a type without fields is.
const VALUE: &str = "value";

pub(super) fn write<T: Serialize + ?Sized>(it: &T) -> Result<Vec<(Name, Value)>, TypeError> {
    let variant = Cell::new(false);
    Ok(match it.serialize(Writer::telling_variants(&variant))? {
        Value::Null => Vec::new(),
        // A variant stays one value: as a variable of its name it could not be told from a struct.
        Value::Map(fields) if !variant.get() => Arc::unwrap_or_clone(fields).into_iter().collect(),
        other => vec![(VALUE.into(), other)],
    })
}

/// Reads variables as one thing.
pub(super) struct Reader<'de>(&'de [(Name, Value)]);

impl<'de> Reader<'de> {
    pub(super) fn new(variables: &'de [(Name, Value)]) -> Self {
        Self(variables)
    }

    fn fields<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        let fields = self.0.iter().map(|(name, value)| (name, value));
        visitor.visit_map(read::Fields::new(fields, DEPTH_MAX - 1))
    }

    fn value<'v>(&self, visitor: &impl Visitor<'v>) -> Result<read::Reader<'de>, TypeError> {
        let found = self.0.iter().find(|(name, _)| **name == *VALUE);
        let (_, value) = found.ok_or_else(|| {
            TypeError::invalid_type(Unexpected::Other("no variable `value`"), visitor)
        })?;
        Ok(read::Reader::new(value))
    }
}

fn in_value(error: TypeError) -> TypeError {
    error.in_field(VALUE)
}

/// Methods of types that are the variable `value`.
macro_rules! in_value {
    ($($method:ident($($name:ident: $type:ty),*),)*) => {$(
        fn $method<V: Visitor<'de>>(
            self,
            $($name: $type,)*
            visitor: V,
        ) -> Result<V::Value, TypeError> {
            self.value(&visitor)?.$method($($name,)* visitor).map_err(in_value)
        }
    )*};
}

/// Methods of types that are the variables themselves.
macro_rules! in_fields {
    ($($method:ident($($type:ty),*),)*) => {$(
        fn $method<V: Visitor<'de>>(self, $(_: $type,)* visitor: V) -> Result<V::Value, TypeError> {
            self.fields(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = TypeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.0 {
            [(name, value)] if **name == *VALUE => {
                read::Reader::new(value).deserialize_any(visitor).map_err(in_value)
            }
            _ => self.fields(visitor),
        }
    }

    in_fields! {
        deserialize_map(),
        deserialize_struct(&'static str, &'static [&'static str]),
    }

    in_value! {
        deserialize_bool(),
        deserialize_i8(),
        deserialize_i16(),
        deserialize_i32(),
        deserialize_i64(),
        deserialize_i128(),
        deserialize_u8(),
        deserialize_u16(),
        deserialize_u32(),
        deserialize_u64(),
        deserialize_u128(),
        deserialize_f32(),
        deserialize_f64(),
        deserialize_char(),
        deserialize_str(),
        deserialize_string(),
        deserialize_bytes(),
        deserialize_byte_buf(),
        deserialize_seq(),
        deserialize_tuple(length: usize),
        deserialize_tuple_struct(name: &'static str, length: usize),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
        deserialize_identifier(),
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        if self.0.is_empty() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        visitor.visit_unit()
    }
}
