//! From values to the types of programs. Nothing is copied on the way but what the type keeps.

use serde::{
    Deserialize,
    de::{
        DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, Unexpected,
        VariantAccess, Visitor,
        value::{BorrowedStrDeserializer, MapDeserializer},
    },
    forward_to_deserialize_any,
};

use super::{
    TypeError, key,
    own::{EXACT, is_plain},
};
use crate::{
    json::DEPTH_MAX,
    number::Number,
    value::{Name, Value},
};

/// Reads one value.
#[derive(Clone, Copy)]
pub(super) struct Reader<'de> {
    value: &'de Value,
    depth_left: usize,
}

impl<'de> Reader<'de> {
    pub(super) fn new(value: &'de Value) -> Self {
        Self { value, depth_left: DEPTH_MAX }
    }

    fn deeper(self) -> Result<usize, TypeError> {
        self.depth_left.checked_sub(1).ok_or_else(TypeError::too_deep)
    }

    fn items<V: Visitor<'de>>(
        self,
        items: &'de [Value],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        let mut access = Items { list: items, next: 0, depth_left: self.deeper()? };
        let result = visitor.visit_seq(&mut access)?;
        if access.next < items.len() {
            let expected = format!("a list of length {}", access.next);
            return Err(TypeError::invalid_length(items.len(), &&*expected));
        }
        Ok(result)
    }
}

/// A number, where the type does not say which or wants at most 64 bits.
fn number<'de, V: Visitor<'de>>(number: Number, visitor: V) -> Result<V::Value, TypeError> {
    let whole = number.to_i64();
    if let Some(natural) = whole.and_then(|it| u64::try_from(it).ok()) {
        visitor.visit_u64(natural)
    } else if let Some(whole) = whole {
        visitor.visit_i64(whole)
    } else if let Some(natural) = number.to_u128().and_then(|it| u64::try_from(it).ok()) {
        visitor.visit_u64(natural)
    } else {
        visitor.visit_f64(number.to_f64())
    }
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(it) => Unexpected::Bool(*it),
        Value::Number(it) => Unexpected::Float(it.to_f64()),
        Value::String(it) => Unexpected::Str(it),
        Value::List(_) => Unexpected::Seq,
        Value::Map(_) => Unexpected::Map,
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = TypeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(it) => visitor.visit_bool(*it),
            Value::Number(it) => number(*it, visitor),
            Value::String(it) => visitor.visit_borrowed_str(it),
            Value::List(items) => self.items(items, visitor),
            Value::Map(fields) => visitor.visit_map(Fields::new(fields.iter(), self.deeper()?)),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.value.as_number().and_then(Number::to_i128) {
            Some(it) => visitor.visit_i128(it),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.value.as_number().and_then(Number::to_u128) {
            Some(it) => visitor.visit_u128(it),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.value.as_number() {
            Some(it) => visitor.visit_f32(it.to_f32()),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.value.as_number() {
            Some(it) => visitor.visit_f64(it.to_f64()),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        if let (EXACT, Value::Number(number)) = (name, self.value)
            && !is_plain(*number)
        {
            let entry = std::iter::once((EXACT, number.to_string()));
            return visitor.visit_map(MapDeserializer::new(entry));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        if let Value::String(name) = self.value {
            return visitor.visit_enum(BorrowedStrDeserializer::new(name));
        }
        if let Value::Map(fields) = self.value
            && fields.len() == 1
            && let Some((name, value)) = fields.first()
        {
            let reader = Self { value, depth_left: self.deeper()? };
            return visitor.visit_enum(Variant { name, reader });
        }
        let expected = "the name of a variant, or an object with that one field";
        Err(TypeError::invalid_type(unexpected(self.value), &expected))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier
    }
}

/// Reads the items of a list.
struct Items<'de> {
    list: &'de [Value],
    next: usize,
    depth_left: usize,
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = TypeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, TypeError> {
        let index = self.next;
        let Some(value) = self.list.get(index) else { return Ok(None) };
        self.next += 1;
        let reader = Reader { value, depth_left: self.depth_left };
        seed.deserialize(reader).map(Some).map_err(|error| error.in_item(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.list.len() - self.next)
    }
}

/// Reads the fields of an object.
pub(super) struct Fields<'de, I> {
    rest: I,
    /// The field whose value comes next.
    field: Option<(&'de str, &'de Value)>,
    depth_left: usize,
}

impl<I> Fields<'_, I> {
    pub(super) fn new(rest: I, depth_left: usize) -> Self {
        Self { rest, field: None, depth_left }
    }
}

impl<'de, I: ExactSizeIterator<Item = (&'de Name, &'de Value)>> MapAccess<'de> for Fields<'de, I> {
    type Error = TypeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, TypeError> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        self.field = Some((name, value));
        seed.deserialize(key::Reader(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, TypeError> {
        let (name, value) = self.field.take().expect("serde asks for a value after its key");
        let reader = Reader { value, depth_left: self.depth_left };
        seed.deserialize(reader).map_err(|error| error.in_field(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// Reads a variant that has a value.
struct Variant<'de> {
    name: &'de str,
    reader: Reader<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = TypeError;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), TypeError> {
        Ok((seed.deserialize(BorrowedStrDeserializer::new(self.name))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = TypeError;

    fn unit_variant(self) -> Result<(), TypeError> {
        <()>::deserialize(self.reader).map_err(|error| error.in_field(self.name))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, TypeError> {
        seed.deserialize(self.reader).map_err(|error| error.in_field(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, TypeError> {
        self.reader.deserialize_any(visitor).map_err(|error| error.in_field(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        self.reader.deserialize_any(visitor).map_err(|error| error.in_field(self.name))
    }
}
