//! From the types of programs to values.

use std::cell::Cell;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::{TypeError, key, own::EXACT};
use crate::{
    json::DEPTH_MAX,
    number::{Number, NumberError},
    value::{Map, Name, Value},
};

/// Room for this many items is made at once, whatever length a type claims to have.
const ROOM_MAX: usize = 4096;

/// Makes one value.
#[derive(Clone, Copy)]
pub(super) struct Writer<'a> {
    depth_left: usize,
    /// Told when the value is that of an enum: it looks like that of a map.
    variant: Option<&'a Cell<bool>>,
}

impl<'a> Writer<'a> {
    pub(super) fn new() -> Self {
        Self { depth_left: DEPTH_MAX, variant: None }
    }

    pub(super) fn telling_variants(variant: &'a Cell<bool>) -> Self {
        Self { depth_left: DEPTH_MAX, variant: Some(variant) }
    }

    /// For what is one level deeper.
    fn inner(self) -> Result<Writer<'static>, TypeError> {
        let depth_left = self.depth_left.checked_sub(1).ok_or_else(TypeError::too_deep)?;
        Ok(Writer { depth_left, variant: None })
    }

    fn variant(self, name: &'static str) -> Result<(Variant, Writer<'static>), TypeError> {
        if let Some(told) = self.variant {
            told.set(true);
        }
        Ok((Variant(Some(name)), self.inner()?))
    }

    fn items(self, length: usize) -> Result<Items, TypeError> {
        Ok(Items { list: room(length), writer: self.inner()?, variant: Variant(None) })
    }

    fn fields(self, length: usize) -> Result<Fields, TypeError> {
        let map = Map::with_capacity(length.min(ROOM_MAX));
        Ok(Fields { map, key: None, writer: self.inner()?, variant: Variant(None) })
    }
}

fn room(length: usize) -> Vec<Value> {
    Vec::with_capacity(length.min(ROOM_MAX))
}

/// The variant that a value is of, if it is of one.
struct Variant(Option<&'static str>);

impl Variant {
    fn wrap(self, value: Value) -> Value {
        match self.0 {
            Some(name) => [(Name::from(name), value)].into_iter().collect(),
            None => value,
        }
    }

    fn blame(&self, error: TypeError) -> TypeError {
        match self.0 {
            Some(name) => error.in_field(name),
            None => error,
        }
    }
}

/// A float as a number, or the complaint that it is none.
pub(super) fn finite(number: Option<Number>, float: f64) -> Result<Number, TypeError> {
    number.ok_or_else(|| TypeError::new(format!("{float} is not a finite number")))
}

/// A whole number of 128 bits as a number, or the complaint that it is too long.
pub(super) fn exact(
    number: Result<Number, NumberError>,
    whole: impl std::fmt::Display,
) -> Result<Number, TypeError> {
    number.map_err(|error| TypeError::new(format!("{whole} cannot be kept exactly: {error}")))
}

impl Serializer for Writer<'_> {
    type Ok = Value;
    type Error = TypeError;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Fields;

    fn serialize_bool(self, it: bool) -> Result<Value, TypeError> {
        Ok(it.into())
    }

    fn serialize_i8(self, it: i8) -> Result<Value, TypeError> {
        Ok(i64::from(it).into())
    }

    fn serialize_i16(self, it: i16) -> Result<Value, TypeError> {
        Ok(i64::from(it).into())
    }

    fn serialize_i32(self, it: i32) -> Result<Value, TypeError> {
        Ok(it.into())
    }

    fn serialize_i64(self, it: i64) -> Result<Value, TypeError> {
        Ok(it.into())
    }

    fn serialize_i128(self, it: i128) -> Result<Value, TypeError> {
        Ok(exact(it.try_into(), it)?.into())
    }

    fn serialize_u8(self, it: u8) -> Result<Value, TypeError> {
        Ok(i64::from(it).into())
    }

    fn serialize_u16(self, it: u16) -> Result<Value, TypeError> {
        Ok(i64::from(it).into())
    }

    fn serialize_u32(self, it: u32) -> Result<Value, TypeError> {
        Ok(it.into())
    }

    fn serialize_u64(self, it: u64) -> Result<Value, TypeError> {
        Ok(it.into())
    }

    fn serialize_u128(self, it: u128) -> Result<Value, TypeError> {
        Ok(exact(it.try_into(), it)?.into())
    }

    fn serialize_f32(self, it: f32) -> Result<Value, TypeError> {
        Ok(finite(Number::from_f32(it), it.into())?.into())
    }

    fn serialize_f64(self, it: f64) -> Result<Value, TypeError> {
        Ok(finite(Number::from_f64(it), it)?.into())
    }

    fn serialize_char(self, it: char) -> Result<Value, TypeError> {
        Ok((&*it.encode_utf8(&mut [0; 4])).into())
    }

    fn serialize_str(self, it: &str) -> Result<Value, TypeError> {
        Ok(it.into())
    }

    fn serialize_bytes(self, it: &[u8]) -> Result<Value, TypeError> {
        Ok(it.iter().map(|it| Value::from(i64::from(*it))).collect())
    }

    fn serialize_none(self) -> Result<Value, TypeError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, it: &T) -> Result<Value, TypeError> {
        it.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, TypeError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, TypeError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, TypeError> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        it: &T,
    ) -> Result<Value, TypeError> {
        let value = it.serialize(self)?;
        match &value {
            Value::String(text) if name == EXACT => Ok(Value::Number(exact(text.parse(), text)?)),
            _ => Ok(value),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        it: &T,
    ) -> Result<Value, TypeError> {
        let (variant, writer) = self.variant(variant)?;
        match it.serialize(writer) {
            Ok(value) => Ok(variant.wrap(value)),
            Err(error) => Err(variant.blame(error)),
        }
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Items, TypeError> {
        self.items(length.unwrap_or(0))
    }

    fn serialize_tuple(self, length: usize) -> Result<Items, TypeError> {
        self.items(length)
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Items, TypeError> {
        self.items(length)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Items, TypeError> {
        let (variant, writer) = self.variant(variant)?;
        Ok(Items { variant, ..writer.items(length)? })
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Fields, TypeError> {
        self.fields(length.unwrap_or(0))
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Fields, TypeError> {
        self.fields(length)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Fields, TypeError> {
        let (variant, writer) = self.variant(variant)?;
        Ok(Fields { variant, ..writer.fields(length)? })
    }
}

/// Makes a list.
pub(super) struct Items {
    list: Vec<Value>,
    writer: Writer<'static>,
    variant: Variant,
}

impl Items {
    fn push<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), TypeError> {
        match it.serialize(self.writer) {
            Ok(value) => self.list.push(value),
            Err(error) => return Err(self.variant.blame(error.in_item(self.list.len()))),
        }
        Ok(())
    }

    fn finish(self) -> Value {
        self.variant.wrap(self.list.into())
    }
}

impl SerializeSeq for Items {
    type Ok = Value;
    type Error = TypeError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), TypeError> {
        self.push(it)
    }

    fn end(self) -> Result<Value, TypeError> {
        Ok(self.finish())
    }
}

impl SerializeTuple for Items {
    type Ok = Value;
    type Error = TypeError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), TypeError> {
        self.push(it)
    }

    fn end(self) -> Result<Value, TypeError> {
        Ok(self.finish())
    }
}

impl SerializeTupleStruct for Items {
    type Ok = Value;
    type Error = TypeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), TypeError> {
        self.push(it)
    }

    fn end(self) -> Result<Value, TypeError> {
        Ok(self.finish())
    }
}

impl SerializeTupleVariant for Items {
    type Ok = Value;
    type Error = TypeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), TypeError> {
        self.push(it)
    }

    fn end(self) -> Result<Value, TypeError> {
        Ok(self.finish())
    }
}

/// Makes an object.
pub(super) struct Fields {
    map: Map,
    /// The key whose value comes next.
    key: Option<Name>,
    writer: Writer<'static>,
    variant: Variant,
}

impl Fields {
    fn insert<T: Serialize + ?Sized>(&mut self, name: Name, it: &T) -> Result<(), TypeError> {
        match it.serialize(self.writer) {
            Ok(value) => self.map.insert(name, value),
            Err(error) => return Err(self.variant.blame(error.in_field(&name))),
        };
        Ok(())
    }

    fn finish(self) -> Value {
        self.variant.wrap(self.map.into())
    }
}

impl SerializeMap for Fields {
    type Ok = Value;
    type Error = TypeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), TypeError> {
        self.key = Some(key.serialize(key::Writer)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), TypeError> {
        let key = self.key.take().expect("serde has a key come before its value");
        self.insert(key, it)
    }

    fn end(self) -> Result<Value, TypeError> {
        Ok(self.finish())
    }
}

impl SerializeStruct for Fields {
    type Ok = Value;
    type Error = TypeError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        it: &T,
    ) -> Result<(), TypeError> {
        self.insert(name.into(), it)
    }

    fn end(self) -> Result<Value, TypeError> {
        Ok(self.finish())
    }
}

impl SerializeStructVariant for Fields {
    type Ok = Value;
    type Error = TypeError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        it: &T,
    ) -> Result<(), TypeError> {
        self.insert(name.into(), it)
    }

    fn end(self) -> Result<Value, TypeError> {
        Ok(self.finish())
    }
}
