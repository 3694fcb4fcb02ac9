//! The stored form of events: that it can be read back, that it does not change unnoticed, and that
//! it can be read whatever the bytes.

mod golden;
mod hostile;
mod laws;
mod sample;
mod strategy;

use travertine_kernel::Event;
use travertine_store::codec::{decode_events, encode_events};

fn encoded(events: &[Event]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_events(events, &mut bytes).expect("no value is nested too deeply");
    bytes
}

/// Whatever the bytes are, there is an answer, and what can be read can be written and read again.
fn try_decode(bytes: &[u8]) {
    match decode_events(bytes) {
        Ok(events) => assert_eq!(decode_events(&encoded(&events)), Ok(events)),
        Err(error) => {
            assert!(error.offset <= bytes.len(), "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
}
