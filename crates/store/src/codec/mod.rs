//! Events as bytes.
//!
//! The first byte names the version of the format. What is written is always the newest version;
//! what is read may be any. A version's types are its own and never change: an event that did not
//! exist before is added at the end of the newest version, an event that looks different now makes
//! a new version.

mod error;
pub mod record;
mod v1;

use travertine_kernel::Event;

pub use error::{DecodeError, EncodeError, Flaw};

/// How deep lists and objects may nest in a value. Programs and JSON stop at 256; what collects
/// their results can add to that. Reading, comparing and dropping a value recurse.
pub const VALUE_DEPTH_MAX: usize = 1024;

/// Appends `events` to `bytes`, in the newest format. The same events always give the same bytes.
/// Where that is not possible nothing is appended.
pub fn encode_events(events: &[Event], bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = bytes.len();
    bytes.push(v1::VERSION);
    let written = v1::encode(events, bytes);
    if written.is_err() {
        bytes.truncate(start);
    }
    written
}

/// The events in `bytes`, whatever the version of the format.
///
/// The bytes are not trusted: whatever they are, there is an answer, and it takes no more memory
/// than a fixed multiple of their number.
pub fn decode_events(bytes: &[u8]) -> Result<Vec<Event>, DecodeError> {
    let flawed = |flaw| DecodeError { event: None, offset: 0, flaw };
    match bytes.split_first() {
        None => Err(flawed(Flaw::CutShort)),
        Some((&v1::VERSION, rest)) => v1::decode(rest).map_err(|error| error.after(1)),
        Some((&version, _)) => Err(flawed(Flaw::UnknownVersion(version))),
    }
}
