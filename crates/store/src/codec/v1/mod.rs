//! The first format, in postcard. Events are a number and then so many events.
//!
//! In postcard an enum is the position of its variant and a struct its fields in order. So the order in
//! which the types of this folder are written *is* the format: variants are added at the end and
//! nothing else ever changes. Values of variables are in a form of their own, within the event as one
//! run of bytes.
//!
//! The types are for reading, and beside each one stands how the kernel's is put. That both say the
//! same is what the golden files are for.

mod event;
mod failure;
mod instance;
mod journal;
mod part;
mod place;
mod put;
pub(super) mod record;
mod scope;
mod token;
mod value;
mod wait;

use postcard::{Deserializer, de_flavors};
use serde::Deserialize;
use travertine_value::time;

use self::{event::Event, value::Assignments, wait::Repeat};
pub(super) use self::{
    instance::decode_instance,
    part::decode_part,
    put::{Out, Put, puts},
};
use super::error::{DecodeError, Flaw};

pub(super) const VERSION: u8 = 1;

/// No event takes fewer bytes: its kind, and at least one field.
const EVENT_BYTES_MIN: usize = 2;

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

pub(super) fn decode_values(bytes: &[u8]) -> Result<travertine_kernel::Assignments, DecodeError> {
    whole(bytes, Assignments::lift)
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
