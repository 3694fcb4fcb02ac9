//! Events, instances, named values and cycles as bytes.
//!
//! The first byte names the version of the format. What is written is always the newest version;
//! what is read may be any. A version's types are its own and never change: an event that did not
//! exist before is added at the end of the newest version, an event that looks different now makes
//! a new version.

mod error;
pub mod record;
mod v1;

use travertine_kernel::{Assignments, Event, Instance};
use travertine_value::{Name, Value, time::Repeat};

use v1::{Out, Put};

pub use error::{DecodeError, EncodeError, Flaw};

pub use travertine_value::VALUE_DEPTH_MAX;

/// The first byte of what a store puts in the place of bytes whose checksum is wrong. No version has it.
const DAMAGED: u8 = 0;

/// What a store puts in the place of bytes whose checksum is wrong, so that nobody takes them for what was
/// written. Reading it gives [`Flaw::Checksum`].
pub(crate) fn damaged() -> Vec<u8> {
    vec![DAMAGED]
}

/// Appends `events` to `bytes`, in the newest format. The same events always give the same bytes.
/// Where that is not possible nothing is appended.
pub fn encode_events(events: &[Event], bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
    append(events, bytes)
}

/// The events in `bytes`, whatever the version of the format.
///
/// The bytes are not trusted: whatever they are, there is an answer, and it takes no more memory
/// than a fixed multiple of their number. The same goes for all that is read here.
pub fn decode_events(bytes: &[u8]) -> Result<Vec<Event>, DecodeError> {
    read(bytes, v1::decode)
}

/// Appends a whole instance, in the newest format. Where that is not possible nothing is appended.
pub fn encode_instance(instance: &Instance, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
    append(instance, bytes)
}

/// The instance in `bytes`, whatever the version of the format. All its parts fit together; that
/// they fit the plan it is run by is not known here.
pub fn decode_instance(bytes: &[u8]) -> Result<Instance, DecodeError> {
    read(bytes, v1::decode_instance)
}

/// Appends named values, in their order, in the newest format. Where that is not possible nothing is
/// appended.
pub fn encode_values(values: &[(Name, Value)], bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
    append(values, bytes)
}

/// The named values in `bytes`, whatever the version of the format.
pub fn decode_values(bytes: &[u8]) -> Result<Assignments, DecodeError> {
    read(bytes, v1::decode_values)
}

/// Appends the rest of a cycle, in the newest format.
pub fn encode_repeat(repeat: &Repeat, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
    append(repeat, bytes)
}

/// The rest of a cycle in `bytes`, whatever the version of the format.
pub fn decode_repeat(bytes: &[u8]) -> Result<Repeat, DecodeError> {
    read(bytes, v1::decode_repeat)
}

/// Appends the version of the format and then `it`.
fn append(it: &(impl Put + ?Sized), bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
    Out::append(bytes, |out| {
        out.byte(v1::VERSION);
        it.put(out);
    })
}

fn read<T>(
    bytes: &[u8],
    read_v1: impl FnOnce(&[u8]) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let flawed = |flaw| DecodeError { event: None, offset: 0, flaw };
    match bytes.split_first() {
        None => Err(flawed(Flaw::CutShort)),
        Some((&v1::VERSION, rest)) => read_v1(rest).map_err(|error| error.after(1)),
        Some((&version, _)) => Err(flawed(Flaw::UnknownVersion(version))),
    }
}
