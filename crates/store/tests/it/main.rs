//! The stored form of events and instances: that it can be read back, that it does not change unnoticed, and that
//! it can be read whatever the bytes.

mod golden;
mod hostile;
mod instance;
mod laws;
mod records;
mod sample;
mod shapes;
mod sqlite;
mod strategy;

use travertine_kernel::Event;
use travertine_store::codec::{
    DecodeError, EncodeError, decode_events, decode_instance, decode_repeat, decode_values,
    encode_events, encode_instance, encode_repeat, encode_values,
};

fn encoded(events: &[Event]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_events(events, &mut bytes).expect("no value is nested too deeply");
    bytes
}

/// Whatever the bytes are, there is an answer, and what can be read can be written and read again.
fn try_decode(bytes: &[u8]) {
    again(bytes, decode_events, |it, bytes| encode_events(it, bytes));
    again(bytes, decode_instance, encode_instance);
    again(bytes, decode_values, |it, bytes| encode_values(it, bytes));
    again(bytes, decode_repeat, encode_repeat);
}

fn again<T: PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
    encode: impl Fn(&T, &mut Vec<u8>) -> Result<(), EncodeError>,
) {
    match decode(bytes) {
        Ok(it) => {
            let mut bytes = Vec::new();
            encode(&it, &mut bytes).expect("what was read can be written");
            assert_eq!(decode(&bytes), Ok(it));
        }
        Err(error) => {
            assert!(error.offset <= bytes.len(), "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
}
