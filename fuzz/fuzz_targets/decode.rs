//! Any bytes as stored events: there is an answer, it takes no more memory than a fixed multiple of
//! the bytes, and what could be read can be written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use travertine_fuzz::{Counting, within};
use travertine_store::codec::{decode_events, encode_events};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| {
    match within(128 * bytes.len() + 1024, || decode_events(bytes)) {
        Ok(events) => {
            let mut again = Vec::new();
            encode_events(&events, &mut again).expect("what was read can be written");
            assert_eq!(decode_events(&again).as_ref(), Ok(&events));
        }
        Err(error) => assert!(error.offset <= bytes.len(), "{error}"),
    }
});
