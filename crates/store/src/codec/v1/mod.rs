//! The first format, in postcard. Events are a number and then so many events.
//!
//! Postcard writes an enum as the position of its variant and a struct as its fields in order. So
//! the order in which the types of this folder are written *is* the format: variants are added at
//! the end and nothing else ever changes. Values of variables are in a form of their own, within
//! the event as one run of bytes.

mod event;
mod failure;
mod instance;
mod journal;
mod part;
mod place;
mod scope;
mod token;
mod value;
mod wait;

use postcard::{Deserializer, de_flavors, ser_flavors};
use serde::{Deserialize, Serialize};
use travertine_expr::{Name, Value, time};

pub(super) use self::instance::{decode_instance, encode_instance};
pub(super) use self::part::{catches, decode_part, encode_part, ending, events, repeat, values};
use self::{event::Event, value::Assignments, wait::Repeat};
use super::error::{DecodeError, EncodeError, Flaw};

pub(super) const VERSION: u8 = 1;

/// No event takes fewer bytes: its kind, and at least one field.
const EVENT_BYTES_MIN: usize = 2;

pub(super) fn encode(
    events: &[travertine_kernel::Event],
    bytes: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    write(&events.len(), bytes)?;
    events.iter().try_for_each(|it| write(&Event::of(it), bytes))
}

fn write(part: &(impl Serialize + ?Sized), bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
    // A vector takes all bytes and every sequence knows its length; only values have a limit.
    postcard::serialize_with_flavor(part, Buffer(bytes)).map_err(|_| EncodeError::TooDeep)
}

struct Buffer<'a>(&'a mut Vec<u8>);

impl ser_flavors::Flavor for Buffer<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<Vec<travertine_kernel::Event>, DecodeError> {
    let outside =
        |Fault { place, flaw }| DecodeError { event: None, offset: offset(bytes, place), flaw };
    let (count, mut rest) = read::<u64>(bytes).map_err(outside)?;
    let count = usize::try_from(count)
        .ok()
        .filter(|it| *it <= rest.len() / EVENT_BYTES_MIN)
        .ok_or_else(|| outside(Fault { place: rest, flaw: Flaw::TooMany(count) }))?;
    let mut events = Vec::with_capacity(count);
    for number in 0..count {
        let inside = |Fault { place, flaw }| DecodeError {
            event: Some(number),
            offset: offset(bytes, place),
            flaw,
        };
        let (event, after) = read::<Event<'_>>(rest).map_err(inside)?;
        events.push(event.lift().map_err(inside)?);
        rest = after;
    }
    if rest.is_empty() {
        Ok(events)
    } else {
        Err(outside(Fault { place: rest, flaw: Flaw::TrailingBytes }))
    }
}

pub(super) fn encode_values(
    values: &[(Name, Value)],
    bytes: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    write(&Assignments::of(values), bytes)
}

pub(super) fn decode_values(bytes: &[u8]) -> Result<travertine_kernel::Assignments, DecodeError> {
    whole(bytes, Assignments::lift)
}

pub(super) fn encode_repeat(repeat: &time::Repeat, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
    write(&Repeat::of(repeat), bytes)
}

pub(super) fn decode_repeat(bytes: &[u8]) -> Result<time::Repeat, DecodeError> {
    whole(bytes, Repeat::lift)
}

/// All of `bytes` as one thing.
fn whole<'a, T: Deserialize<'a>, U>(
    bytes: &'a [u8],
    lift: impl FnOnce(T) -> Result<U, Fault<'a>>,
) -> Result<U, DecodeError> {
    let outside = |Fault { place, flaw }: Fault<'_>| DecodeError {
        event: None,
        offset: offset(bytes, place),
        flaw,
    };
    let (it, rest) = read::<T>(bytes).map_err(outside)?;
    if !rest.is_empty() {
        return Err(outside(Fault { place: rest, flaw: Flaw::TrailingBytes }));
    }
    lift(it).map_err(outside)
}

/// What is wrong, and what comes from there on.
#[derive(Debug)]
struct Fault<'a> {
    place: &'a [u8],
    flaw: Flaw,
}

/// How much of `whole` comes before `part`, which is a part of it.
fn offset(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr() - whole.as_ptr().addr()
}

/// Reads a `T`, and gives what follows it.
fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), Fault<'a>> {
    let mut input = Deserializer::from_flavor(de_flavors::Slice::new(bytes));
    let read = T::deserialize(&mut input);
    let rest = input.finalize().expect("a slice always has a rest");
    match read {
        Ok(it) => Ok((it, rest)),
        Err(error) => Err(Fault { place: rest, flaw: flaw(&error) }),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "postcard may add to its errors")]
fn flaw(error: &postcard::Error) -> Flaw {
    match error {
        postcard::Error::DeserializeUnexpectedEnd => Flaw::CutShort,
        postcard::Error::DeserializeBadUtf8 => Flaw::NotText,
        // The types here have no rules of their own, so this is a variant that does not exist.
        postcard::Error::SerdeDeCustom | postcard::Error::DeserializeBadEnum => Flaw::UnknownKind,
        _ => Flaw::BadEncoding,
    }
}
