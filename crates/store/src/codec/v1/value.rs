//! Values of variables, in a form of their own.
//!
//! It is smaller and quicker than JSON, its numbers are exact, and reading it is bounded in depth and
//! in memory, which postcard alone cannot promise for something that contains itself.
//!
//! A value begins with a byte of three bits for its kind and five for a number `n`; where `n` is 31
//! or more those five are all ones and `n - 31` follows, seven bits a byte, the lowest first.
//!
//! | kind | `n` | then |
//! |---|---|---|
//! | 0 | 0 null, 1 false, 2 true | |
//! | 1 | the whole number, in zigzag | |
//! | 2 | the power of ten, in zigzag | the digits as one whole number, in zigzag |
//! | 3 | bytes of a text | the text |
//! | 4 | items of a list | the items |
//! | 5 | fields of an object | for each the length of its name, the name, the value |

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    sync::Arc,
};

use serde::Deserialize;
use travertine_kernel::{self as kernel, Status};
use travertine_value::{self as value, Map, Name, Number};

use super::{
    super::{VALUE_DEPTH_MAX, error::Flaw},
    Fault, Out, Put,
    put::zigzag,
};

/// A value that is not read yet.
#[derive(Debug, Deserialize)]
pub(super) struct Value<'a>(&'a [u8]);

impl<'a> Value<'a> {
    pub(super) fn lift(self) -> Result<value::Value, Fault<'a>> {
        read(self.0)
    }

    pub(super) fn lift_list(self) -> Result<Vec<value::Value>, Fault<'a>> {
        match read(self.0)? {
            value::Value::List(items) => Ok(Arc::unwrap_or_clone(items)),
            value::Value::Null
            | value::Value::Bool(_)
            | value::Value::Number(_)
            | value::Value::String(_)
            | value::Value::Map(_) => Err(Fault { place: self.0, flaw: Flaw::UnknownKind }),
        }
    }
}

/// Names and values, in order.
#[derive(Debug, Deserialize)]
pub(super) struct Assignments<'a>(#[serde(borrow)] Vec<(&'a str, Value<'a>)>);

impl<'a> Assignments<'a> {
    pub(super) fn lift(self) -> Result<kernel::Assignments, Fault<'a>> {
        self.0.into_iter().map(|(name, value)| Ok((name.into(), value.lift()?))).collect()
    }

    pub(super) fn lift_map(self) -> Result<BTreeMap<Name, value::Value>, Fault<'a>> {
        self.0.into_iter().map(|(name, value)| Ok((name.into(), value.lift()?))).collect()
    }

    pub(super) fn lift_status(status: Option<Self>) -> Result<Status, Fault<'a>> {
        Ok(status.map(Self::lift_map).transpose()?.map(Arc::new))
    }
}

impl Put for value::Value {
    #[inline]
    fn put(&self, out: &mut Out) {
        out.sized(|out| write(self, 0, out));
    }
}

/// Items that are put as one value.
pub(super) struct List<'a>(pub(super) &'a [value::Value]);

impl Put for List<'_> {
    fn put(&self, out: &mut Out) {
        out.sized(|out| write_list(self.0, 0, out));
    }
}

const NULL_OR_BOOL: u8 = 0;
const WHOLE: u8 = 1;
const DECIMAL: u8 = 2;
const TEXT: u8 = 3;
const LIST: u8 = 4;
const MAP: u8 = 5;

const NULL: u64 = 0;
const FALSE: u64 = 1;
const TRUE: u64 = 2;

/// All five bits: the number follows.
const LONG: u8 = 31;

fn write(value: &value::Value, depth: usize, out: &mut Out) {
    match value {
        value::Value::Null => head(NULL_OR_BOOL, NULL, out),
        value::Value::Bool(false) => head(NULL_OR_BOOL, FALSE, out),
        value::Value::Bool(true) => head(NULL_OR_BOOL, TRUE, out),
        value::Value::Number(number) => write_number(*number, out),
        value::Value::String(text) => {
            head(TEXT, length(text.len()), out);
            out.raw(text.as_bytes());
        }
        value::Value::List(items) => write_list(items, depth, out),
        value::Value::Map(fields) => {
            if depth == VALUE_DEPTH_MAX {
                return out.refuse_depth();
            }
            head(MAP, length(fields.len()), out);
            for (name, value) in &**fields {
                name.put(out);
                write(value, depth + 1, out);
            }
        }
    }
}

fn write_list(items: &[value::Value], depth: usize, out: &mut Out) {
    if depth == VALUE_DEPTH_MAX {
        return out.refuse_depth();
    }
    head(LIST, length(items.len()), out);
    for it in items {
        write(it, depth + 1, out);
    }
}

fn write_number(number: Number, out: &mut Out) {
    if let Some(whole) = number.to_i64() {
        return head(WHOLE, zigzag(whole), out);
    }
    let (digits, exponent) = parts(number);
    head(DECIMAL, zigzag(exponent), out);
    out.long_number((digits << 1).cast_unsigned() ^ (digits >> 127).cast_unsigned());
}

/// The digits of a number as a whole number, and the power of ten they are to be multiplied with.
fn parts(number: Number) -> (i128, i64) {
    let mut parts = Parts::default();
    write!(parts, "{number}").expect("digits can be counted");
    (if parts.is_negative { -parts.digits } else { parts.digits }, parts.zeros - parts.places)
}

/// Counts along while a number is printed.
#[derive(Default)]
struct Parts {
    is_negative: bool,
    digits: i128,
    /// The zeros since the last other digit.
    zeros: i64,
    /// The digits after the point.
    places: i64,
    is_fraction: bool,
}

impl fmt::Write for Parts {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            match byte {
                b'-' => self.is_negative = true,
                b'.' => self.is_fraction = true,
                b'0' => {
                    self.zeros += 1;
                    self.places += i64::from(self.is_fraction);
                }
                digit => {
                    // Those before the first digit count for nothing.
                    let zeros = if self.digits == 0 { 0 } else { self.zeros };
                    self.digits = (0..zeros).fold(self.digits, |it, _| it * 10);
                    self.zeros = 0;
                    self.places += i64::from(self.is_fraction);
                    self.digits = self.digits * 10 + i128::from(digit - b'0');
                }
            }
        }
        Ok(())
    }
}

fn length(length: usize) -> u64 {
    u64::try_from(length).expect("a length has at most 64 bits")
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

fn head(kind: u8, number: u64, out: &mut Out) {
    match u8::try_from(number) {
        Ok(small) if small < LONG => out.byte(kind << 5 | small),
        Ok(_) | Err(_) => {
            out.byte(kind << 5 | LONG);
            out.number(number - u64::from(LONG));
        }
    }
}

fn read(bytes: &[u8]) -> Result<value::Value, Fault<'_>> {
    let mut reader = Reader { rest: bytes, owed: 0 };
    let value = reader.value(0)?;
    if reader.rest.is_empty() { Ok(value) } else { Err(reader.fault(Flaw::TrailingBytes)) }
}

struct Reader<'a> {
    rest: &'a [u8],
    /// How many bytes there must still be, at the least, for all that was announced so far. So
    /// nobody gets space for more than they can have.
    owed: usize,
}

impl<'a> Reader<'a> {
    /// This is what recurses, so what a value needs is kept out of its frame.
    fn value(&mut self, depth: usize) -> Result<value::Value, Fault<'a>> {
        let start = self.rest;
        match self.head()? {
            (LIST | MAP, _) if depth == VALUE_DEPTH_MAX => {
                Err(Fault { place: start, flaw: Flaw::TooDeep })
            }
            (LIST, count) => self.list(count, depth + 1),
            (MAP, count) => self.map(count, depth + 1),
            (kind, number) => self.scalar(kind, number, start),
        }
    }

    fn list(&mut self, count: u64, depth: usize) -> Result<value::Value, Fault<'a>> {
        let count = self.promise(count, 1)?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            self.owed -= 1;
            items.push(self.value(depth)?);
        }
        Ok(items.into())
    }

    fn map(&mut self, count: u64, depth: usize) -> Result<value::Value, Fault<'a>> {
        let count = self.promise(count, 2)?;
        let mut fields = Map::with_capacity(count);
        for _ in 0..count {
            self.owed -= 2;
            let length = self.varint()?;
            let name: Name = self.text(length)?.into();
            fields.insert(name, self.value(depth)?);
        }
        Ok(fields.into())
    }

    fn scalar(
        &mut self,
        kind: u8,
        number: u64,
        place: &'a [u8],
    ) -> Result<value::Value, Fault<'a>> {
        match (kind, number) {
            (NULL_OR_BOOL, NULL) => Ok(value::Value::Null),
            (NULL_OR_BOOL, FALSE) => Ok(false.into()),
            (NULL_OR_BOOL, TRUE) => Ok(true.into()),
            (WHOLE, number) => Ok(unzigzag(number).into()),
            (TEXT, length) => self.text(length).map(Into::into),
            (DECIMAL, exponent) => {
                let digits = self.long_varint()?;
                let digits = (digits >> 1).cast_signed() ^ -(digits & 1).cast_signed();
                let number = format!("{digits}e{}", unzigzag(exponent)).parse::<Number>();
                let unfit = |error| Fault { place, flaw: Flaw::Number(error) };
                number.map(Into::into).map_err(unfit)
            }
            _ => Err(Fault { place, flaw: Flaw::UnknownKind }),
        }
    }

    /// Believes that `count` things of so many bytes follow, if they can.
    fn promise(&mut self, count: u64, bytes_min: usize) -> Result<usize, Fault<'a>> {
        let bytes = usize::try_from(count).ok().and_then(|it| it.checked_mul(bytes_min));
        let owed = bytes.and_then(|it| self.owed.checked_add(it));
        match owed {
            Some(owed) if owed <= self.rest.len() => {
                self.owed = owed;
                Ok(bytes.unwrap_or_default() / bytes_min)
            }
            Some(_) | None => Err(self.fault(Flaw::TooMany(count))),
        }
    }

    fn head(&mut self) -> Result<(u8, u64), Fault<'a>> {
        let byte = self.byte()?;
        let number = match byte & LONG {
            LONG => {
                let more = self.varint()?;
                more.checked_add(LONG.into()).ok_or_else(|| self.fault(Flaw::BadEncoding))?
            }
            small => small.into(),
        };
        Ok((byte >> 5, number))
    }

    fn varint(&mut self) -> Result<u64, Fault<'a>> {
        let number = self.long_varint()?;
        u64::try_from(number).map_err(|_| self.fault(Flaw::BadEncoding))
    }

    fn long_varint(&mut self) -> Result<u128, Fault<'a>> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(first.into());
        }
        let mut number = u128::from(first & 0x7f);
        for shift in (7..128).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if bits.leading_zeros() < shift {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.fault(Flaw::BadEncoding))
    }

    fn text(&mut self, length: u64) -> Result<&'a str, Fault<'a>> {
        let taken = usize::try_from(length).ok().and_then(|it| self.rest.split_at_checked(it));
        let (bytes, rest) = taken.ok_or_else(|| self.fault(Flaw::CutShort))?;
        let text = str::from_utf8(bytes)
            .map_err(|error| Fault { place: &bytes[error.valid_up_to()..], flaw: Flaw::NotText })?;
        self.rest = rest;
        Ok(text)
    }

    fn byte(&mut self) -> Result<u8, Fault<'a>> {
        let (&byte, rest) = self.rest.split_first().ok_or_else(|| self.fault(Flaw::CutShort))?;
        self.rest = rest;
        Ok(byte)
    }

    fn fault(&self, flaw: Flaw) -> Fault<'a> {
        Fault { place: self.rest, flaw }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::EncodeError;

    fn written(value: &value::Value) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::new();
        Out::append(&mut bytes, |out| write(value, 0, out)).map(|()| bytes)
    }

    fn stored(json: &str) -> Vec<u8> {
        written(&value::Value::parse_json(json).unwrap()).unwrap()
    }

    #[test]
    fn every_value_comes_back_as_it_was() {
        for json in [
            "null",
            "true",
            "false",
            "0",
            "-1",
            "15",
            "-16",
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
            "0.1",
            "-12.50",
            "9999999999999999999999999999999999",
            "-0.1234567890123456789012345678901234",
            "9.999999999999999999999999999999999e6144",
            "1e6144",
            "-1e-6143",
            "1e-6176",
            r#""""#,
            r#""grüß""#,
            "[]",
            "[[],{},[null]]",
            r#"{"b":1,"a":{"":[0.5]}}"#,
        ] {
            let value = value::Value::parse_json(json).unwrap();
            let bytes = stored(json);
            let read = read(&bytes).unwrap();
            assert_eq!(read, value, "{json}");
            assert_eq!(read.to_json(), value.to_json(), "{json}");
        }
    }

    #[test]
    fn small_values_are_small() {
        for (json, size) in [
            ("null", 1),
            ("15", 1),
            ("1000", 3),
            ("12.5", 3),
            (r#""order""#, 6),
            (r#"{"total":99.95,"paid":false}"#, 17),
        ] {
            assert_eq!(stored(json).len(), size, "{json}");
        }
    }

    fn flaw(bytes: &[u8]) -> (usize, Flaw) {
        let fault = read(bytes).unwrap_err();
        (super::super::offset(bytes, fault.place), fault.flaw)
    }

    #[test]
    fn flaws_are_named_with_their_place() {
        let list = |count| LIST << 5 | count;
        let map = |count| MAP << 5 | count;
        let text = |length| TEXT << 5 | length;
        for (bytes, at, expected) in [
            (&[][..], 0, Flaw::CutShort),
            (&[0, 0], 1, Flaw::TrailingBytes),
            (&[3], 0, Flaw::UnknownKind),
            (&[list(1), 7 << 5], 1, Flaw::UnknownKind),
            (&[list(2), 0], 1, Flaw::TooMany(2)),
            (&[list(3), list(2), 0, 0], 2, Flaw::TooMany(2)),
            (&[map(1), 0], 1, Flaw::TooMany(1)),
            (&[list(31), 255, 255, 255, 255, 15], 6, Flaw::TooMany(u64::from(u32::MAX) + 31)),
            (&[text(2), b'a'], 1, Flaw::CutShort),
            (&[text(2), b'a', 0xff], 2, Flaw::NotText),
            (&[WHOLE << 5 | 31, 0x80], 2, Flaw::CutShort),
            (&[list(31), 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], 11, Flaw::BadEncoding),
            (&[list(31), 255, 255, 255, 255, 255, 255, 255, 255, 255, 3], 11, Flaw::BadEncoding),
            (&[DECIMAL << 5 | 31, 255, 255, 1, 2], 0, Flaw::Number(value::NumberError::OutOfRange)),
        ] {
            assert_eq!(flaw(bytes), (at, expected), "{bytes:?}");
        }
    }

    #[test]
    fn a_number_of_more_than_128_bits_is_refused() {
        let mut bytes = vec![DECIMAL << 5];
        bytes.extend([0xff; 18]);
        bytes.push(0x04);
        assert_eq!(flaw(&bytes), (20, Flaw::BadEncoding));
        bytes[19] = 0x03;
        assert_eq!(flaw(&bytes), (0, Flaw::Number(value::NumberError::TooManyDigits)));
    }

    #[test]
    fn depth_is_bounded_on_both_ways() {
        let nested = |depth| (0..depth).fold(value::Value::Null, |it, _| vec![it].into());
        let mut bytes = written(&nested(VALUE_DEPTH_MAX)).unwrap();
        assert_eq!(read(&bytes).unwrap(), nested(VALUE_DEPTH_MAX));
        assert_eq!(written(&nested(VALUE_DEPTH_MAX + 1)), Err(EncodeError::TooDeep));
        bytes.insert(0, LIST << 5 | 1);
        assert_eq!(flaw(&bytes), (VALUE_DEPTH_MAX, Flaw::TooDeep));
    }
}
