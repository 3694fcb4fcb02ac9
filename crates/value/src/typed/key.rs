//! Keys of maps, which are texts in a value whatever they are in a program.

use serde::{
    de::{Deserializer, Error as _, Unexpected, Visitor, value::BorrowedStrDeserializer},
    forward_to_deserialize_any,
    ser::{Impossible, Serialize, Serializer},
};

use super::{
    TypeError,
    write::{exact, finite},
};
use crate::{number::Number, value::Name};

/// Makes a text of a key.
pub(super) struct Writer;

fn no_key(what: &str) -> TypeError {
    TypeError::new(format!("a key must be a text, a number or a boolean, not {what}"))
}

type Never = Impossible<Name, TypeError>;

impl Serializer for Writer {
    type Ok = Name;
    type Error = TypeError;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    fn serialize_bool(self, it: bool) -> Result<Name, TypeError> {
        Ok(if it { "true" } else { "false" }.into())
    }

    fn serialize_i8(self, it: i8) -> Result<Name, TypeError> {
        Ok(it.to_string().into())
    }

    fn serialize_i16(self, it: i16) -> Result<Name, TypeError> {
        Ok(it.to_string().into())
    }

    fn serialize_i32(self, it: i32) -> Result<Name, TypeError> {
        Ok(it.to_string().into())
    }

    fn serialize_i64(self, it: i64) -> Result<Name, TypeError> {
        Ok(it.to_string().into())
    }

    fn serialize_i128(self, it: i128) -> Result<Name, TypeError> {
        Ok(exact(it.try_into(), it)?.to_string().into())
    }

    fn serialize_u8(self, it: u8) -> Result<Name, TypeError> {
        Ok(it.to_string().into())
    }

    fn serialize_u16(self, it: u16) -> Result<Name, TypeError> {
        Ok(it.to_string().into())
    }

    fn serialize_u32(self, it: u32) -> Result<Name, TypeError> {
        Ok(it.to_string().into())
    }

    fn serialize_u64(self, it: u64) -> Result<Name, TypeError> {
        Ok(it.to_string().into())
    }

    fn serialize_u128(self, it: u128) -> Result<Name, TypeError> {
        Ok(exact(it.try_into(), it)?.to_string().into())
    }

    fn serialize_f32(self, it: f32) -> Result<Name, TypeError> {
        Ok(finite(Number::from_f32(it), it.into())?.to_string().into())
    }

    fn serialize_f64(self, it: f64) -> Result<Name, TypeError> {
        Ok(finite(Number::from_f64(it), it)?.to_string().into())
    }

    fn serialize_char(self, it: char) -> Result<Name, TypeError> {
        Ok((&*it.encode_utf8(&mut [0; 4])).into())
    }

    fn serialize_str(self, it: &str) -> Result<Name, TypeError> {
        Ok(it.into())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Name, TypeError> {
        Err(no_key("bytes"))
    }

    fn serialize_none(self) -> Result<Name, TypeError> {
        Err(no_key("null"))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, it: &T) -> Result<Name, TypeError> {
        it.serialize(self)
    }

    fn serialize_unit(self) -> Result<Name, TypeError> {
        Err(no_key("null"))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Name, TypeError> {
        Err(no_key("null"))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Name, TypeError> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        it: &T,
    ) -> Result<Name, TypeError> {
        it.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Name, TypeError> {
        Err(no_key("a variant with a value"))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Never, TypeError> {
        Err(no_key("a list"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Never, TypeError> {
        Err(no_key("a list"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Never, TypeError> {
        Err(no_key("a list"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, TypeError> {
        Err(no_key("a variant with a value"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Never, TypeError> {
        Err(no_key("an object"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Never, TypeError> {
        Err(no_key("an object"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, TypeError> {
        Err(no_key("a variant with a value"))
    }
}

/// Reads a key: a text that may spell a number or a boolean, where one is asked for.
pub(super) struct Reader<'de>(pub(super) &'de str);

impl Reader<'_> {
    fn spelled<'v, T: std::str::FromStr>(
        &self,
        visitor: &impl Visitor<'v>,
    ) -> Result<T, TypeError> {
        self.0.parse().map_err(|_| {
            let found = format!("the key {:?}", self.0);
            TypeError::invalid_type(Unexpected::Other(&found), visitor)
        })
    }
}

/// Methods that read a type from its text.
macro_rules! spelled {
    ($($method:ident $visit:ident,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
            let it = self.spelled(&visitor)?;
            visitor.$visit(it)
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = TypeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        visitor.visit_borrowed_str(self.0)
    }

    spelled! {
        deserialize_bool visit_bool,
        deserialize_i8 visit_i8,
        deserialize_i16 visit_i16,
        deserialize_i32 visit_i32,
        deserialize_i64 visit_i64,
        deserialize_i128 visit_i128,
        deserialize_u8 visit_u8,
        deserialize_u16 visit_u16,
        deserialize_u32 visit_u32,
        deserialize_u64 visit_u64,
        deserialize_u128 visit_u128,
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        let number: Number = self.spelled(&visitor)?;
        visitor.visit_f32(number.to_f32())
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        let number: Number = self.spelled(&visitor)?;
        visitor.visit_f64(number.to_f64())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        visitor.visit_enum(BorrowedStrDeserializer::new(self.0))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}
