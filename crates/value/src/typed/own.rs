//! Values and numbers as parts of types of programs: a field of type [`Value`] takes whatever is there.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

use crate::{
    number::Number,
    value::{Map, Name, Value},
};

/// Under this name our own writer and reader hand over a number that none of serde's kinds can hold. To
/// others it is a text.
pub(super) const EXACT: &str = "$travertine::exact";

/// Whether one of serde's kinds holds a number as it is.
pub(super) fn is_plain(number: Number) -> bool {
    number.to_i64().is_some()
        || number.to_u128().is_some_and(|it| u64::try_from(it).is_ok())
        || Number::from_f64(number.to_f64()) == Some(number)
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(whole) = self.to_i64() {
            return serializer.serialize_i64(whole);
        }
        if let Some(natural) = self.to_u128().and_then(|it| u64::try_from(it).ok()) {
            return serializer.serialize_u64(natural);
        }
        if is_plain(*self) {
            return serializer.serialize_f64(self.to_f64());
        }
        serializer.serialize_newtype_struct(EXACT, &self.to_string())
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_newtype_struct(EXACT, ValueVisitor)? {
            Value::Number(number) => Ok(number),
            // What others have kept of one that they cannot hold.
            Value::String(text) => text.parse().map_err(D::Error::custom),
            other => Err(D::Error::custom(format_args!("{other} is no number"))),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(it) => serializer.serialize_bool(*it),
            Self::Number(it) => it.serialize(serializer),
            Self::String(it) => serializer.serialize_str(it),
            Self::List(items) => serializer.collect_seq(items.iter()),
            Self::Map(fields) => {
                serializer.collect_map(fields.iter().map(|(name, it)| (&**name, it)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(EXACT, ValueVisitor)
    }
}

struct ValueVisitor;

/// A number of a kind that holds more than ours.
fn number<T, E: Error>(number: Option<Number>, it: T) -> Result<Value, E>
where
    T: fmt::Display,
{
    number.map(Value::Number).ok_or_else(|| E::custom(format_args!("{it} is no exact number")))
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value such as JSON has")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, it: D) -> Result<Value, D::Error> {
        Value::deserialize(it)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, it: D) -> Result<Value, D::Error> {
        it.deserialize_any(self)
    }

    fn visit_bool<E>(self, it: bool) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_i64<E>(self, it: i64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_i128<E: Error>(self, it: i128) -> Result<Value, E> {
        number(it.try_into().ok(), it)
    }

    fn visit_u64<E: Error>(self, it: u64) -> Result<Value, E> {
        self.visit_i128(it.into())
    }

    fn visit_u128<E: Error>(self, it: u128) -> Result<Value, E> {
        number(it.try_into().ok(), it)
    }

    fn visit_f64<E: Error>(self, it: f64) -> Result<Value, E> {
        number(Number::from_f64(it), it)
    }

    fn visit_str<E>(self, it: &str) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(it) = items.next_element()? {
            all.push(it);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if name == EXACT {
                let text: String = fields.next_value()?;
                return text.parse().map(Value::Number).map_err(A::Error::custom);
            }
            all.insert(Name::from(name), fields.next_value()?);
        }
        Ok(all.into())
    }
}
