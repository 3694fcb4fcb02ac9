//! How things are put into bytes.
//!
//! The bytes are postcard's, which reads them: a number takes seven bits a byte, the lowest first; one
//! that may be negative is in zigzag; a text and a list begin with their length, what may be missing
//! with 0 or 1. A struct is its fields in order, an enum the position of its variant and then that one's
//! fields.
//!
//! Every turn of an instance is put into bytes, so nothing is made in between: the kernel's own types
//! are walked through.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use travertine_kernel::{FlowId, LayerId, NodeId, PostId, TokenId, WaitId};
use travertine_value::time::{self, Timestamp};

use crate::codec::error::EncodeError;

/// Something that has a form in bytes.
pub(in crate::codec) trait Put {
    /// Appends it.
    fn put(&self, out: &mut Out);
}

/// Where things are put.
#[derive(Debug, Default)]
pub(in crate::codec) struct Out {
    bytes: Vec<u8>,
    too_deep: bool,
}

impl Out {
    /// Appends to `bytes` what `put` puts. Where that is not possible nothing is appended.
    pub(in crate::codec) fn append(
        bytes: &mut Vec<u8>,
        put: impl FnOnce(&mut Self),
    ) -> Result<(), EncodeError> {
        let start = bytes.len();
        let mut out = Self { bytes: std::mem::take(bytes), too_deep: false };
        put(&mut out);
        *bytes = out.bytes;
        if out.too_deep {
            bytes.truncate(start);
            return Err(EncodeError::TooDeep);
        }
        Ok(())
    }

    /// Something that must not be stored: a value is nested too deeply.
    pub(super) fn refuse_depth(&mut self) {
        self.too_deep = true;
    }

    #[inline]
    pub(in crate::codec) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// The variant of an enum at `position`, of which there are at most 128, with its parts.
    #[inline]
    pub(in crate::codec) fn variant(&mut self, position: u8, parts: impl Put) {
        self.byte(position);
        parts.put(self);
    }

    #[inline]
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    #[inline]
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.bytes.push(number.to_le_bytes()[0]);
    }

    pub(super) fn long_number(&mut self, mut number: u128) {
        while number >= 0x80 {
            self.bytes.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.bytes.push(number.to_le_bytes()[0]);
    }

    #[inline]
    pub(super) fn length(&mut self, length: usize) {
        self.number(length.try_into().expect("a length has at most 64 bits"));
    }

    /// Bytes after their number.
    #[inline]
    pub(in crate::codec) fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.raw(bytes);
    }

    /// What `put` puts, after the number of its bytes.
    #[inline]
    pub(super) fn sized(&mut self, put: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.bytes.push(0);
        put(self);
        let length = self.bytes.len() - start - 1;
        match u8::try_from(length) {
            Ok(length @ ..0x80) => self.bytes[start] = length,
            Ok(_) | Err(_) => self.widen(start, length),
        }
    }

    /// Puts in a length that needs more than the one byte that was left for it at `start`.
    #[cold]
    fn widen(&mut self, start: usize, length: usize) {
        let mut longer = Self::default();
        longer.length(length);
        self.bytes.splice(start..=start, longer.bytes);
    }

    /// Things after their number.
    #[inline]
    pub(super) fn list<T: Put>(&mut self, all: impl ExactSizeIterator<Item = T>) {
        self.length(all.len());
        all.for_each(|it| it.put(self));
    }
}

#[inline]
pub(super) fn zigzag(number: i64) -> u64 {
    (number << 1).cast_unsigned() ^ (number >> 63).cast_unsigned()
}

/// Says in which order the parts of a type are put; of an enum also the variants. What is left out
/// does not compile.
macro_rules! puts {
    (struct $type:ty { $($field:ident),* $(,)? }) => {
        impl $crate::codec::v1::Put for $type {
            fn put(&self, out: &mut $crate::codec::v1::Out) {
                let Self { $($field),* } = self;
                $($field.put(out);)*
            }
        }
    };
    (enum $type:ty {
        $($variant:ident $(($($part:ident),*))? $({ $($field:ident),* })?),* $(,)?
    }) => {
        impl $crate::codec::v1::Put for $type {
            fn put(&self, out: &mut $crate::codec::v1::Out) {
                #[derive(Clone, Copy)]
                enum Position { $($variant),* }
                match self {
                    $(Self::$variant $(($($part),*))? $({ $($field),* })? => {
                        out.variant(Position::$variant as u8, ());
                        $($($part.put(out);)*)?
                        $($($field.put(out);)*)?
                    })*
                }
            }
        }
    };
}
pub(in crate::codec) use puts;

/// What is put as a number.
macro_rules! numbers {
    ($($type:ty: |$it:ident| $number:expr;)*) => {
        $(impl Put for $type {
            #[inline]
            fn put(&self, out: &mut Out) {
                let $it = *self;
                out.number($number);
            }
        })*
    };
}

numbers! {
    bool: |it| it.into();
    u16: |it| it.into();
    u32: |it| it.into();
    u64: |it| it;
    i32: |it| zigzag(it.into());
    i64: |it| zigzag(it);
    Timestamp: |it| zigzag(it.as_millis());
    Duration: |it| zigzag(time::millis(it));
    FlowId: |it| it.0.into();
    NodeId: |it| it.0.into();
    LayerId: |it| it.0;
    PostId: |it| it.0;
    TokenId: |it| it.0;
    WaitId: |it| it.0;
}

impl Put for f64 {
    fn put(&self, out: &mut Out) {
        out.raw(&self.to_le_bytes());
    }
}

impl Put for str {
    #[inline]
    fn put(&self, out: &mut Out) {
        out.bytes(self.as_bytes());
    }
}

impl Put for String {
    fn put(&self, out: &mut Out) {
        self.as_str().put(out);
    }
}

impl<T: Put> Put for Option<T> {
    #[inline]
    fn put(&self, out: &mut Out) {
        match self {
            None => out.byte(0),
            Some(it) => {
                out.byte(1);
                it.put(out);
            }
        }
    }
}

impl<T: Put + ?Sized> Put for &T {
    #[inline]
    fn put(&self, out: &mut Out) {
        (**self).put(out);
    }
}

impl<T: Put + ?Sized> Put for Arc<T> {
    #[inline]
    fn put(&self, out: &mut Out) {
        (**self).put(out);
    }
}

/// One thing after the other.
macro_rules! tuples {
    ($(($($type:ident $it:ident),*);)*) => {
        $(impl<$($type: Put),*> Put for ($($type,)*) {
            #[inline]
            fn put(&self, out: &mut Out) {
                let ($($it,)*) = self;
                $($it.put(out);)*
            }
        })*
    };
}

tuples! {
    (A a, B b);
    (A a, B b, C c);
    (A a, B b, C c, D d);
}

impl Put for () {
    #[inline]
    fn put(&self, _: &mut Out) {}
}

impl<T: Put> Put for [T] {
    #[inline]
    fn put(&self, out: &mut Out) {
        out.list(self.iter());
    }
}

impl<T: Put> Put for Vec<T> {
    #[inline]
    fn put(&self, out: &mut Out) {
        self.as_slice().put(out);
    }
}

impl<T: Put> Put for VecDeque<T> {
    fn put(&self, out: &mut Out) {
        out.list(self.iter());
    }
}

impl<K: Put, V: Put> Put for BTreeMap<K, V> {
    fn put(&self, out: &mut Out) {
        out.list(self.iter());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_is_known_late_is_put_like_one_that_is_known_before() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 100_000] {
            let long = vec![7; length];
            let [mut late, mut before] = [vec![1, 2, 3], vec![1, 2, 3]];
            Out::append(&mut late, |out| out.sized(|out| out.raw(&long))).unwrap();
            Out::append(&mut before, |out| out.bytes(&long)).unwrap();
            assert_eq!(late, before, "{length}");
        }
    }
}
