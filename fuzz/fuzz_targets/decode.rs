//! Any bytes as stored events, instances, records, letters, values and cycles: there is an answer, it takes no more
//! memory than a fixed multiple of the bytes, and what could be read can be written and read again.
//! An instance that could be read keeps the kernel's rules.

#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use travertine_fuzz::{Counting, within};
use travertine_store::codec::{
    DecodeError, EncodeError, decode_events, decode_instance, decode_repeat, decode_values,
    encode_events, encode_instance, encode_repeat, encode_values,
    record::{decode_letter, decode_records, encode_letter, encode_records},
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| {
    try_decode(bytes, 128, decode_events, |it, bytes| encode_events(it, bytes));
    try_decode(bytes, 128, decode_values, |it, bytes| encode_values(it, bytes));
    try_decode(bytes, 128, decode_repeat, encode_repeat);
    try_decode(bytes, 256, decode_records, |it, bytes| encode_records(it, bytes));
    try_decode(bytes, 256, decode_letter, encode_letter);
    let instance = try_decode(bytes, 256, decode_instance, encode_instance);
    if let Some(instance) = instance {
        travertine_kernel::check(&instance);
    }
});

fn try_decode<T: PartialEq + Debug>(
    bytes: &[u8],
    multiple: usize,
    decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
    encode: impl Fn(&T, &mut Vec<u8>) -> Result<(), EncodeError>,
) -> Option<T> {
    match within(multiple * bytes.len() + 2048, || decode(bytes)) {
        Ok(it) => {
            let mut again = Vec::new();
            encode(&it, &mut again).expect("what was read can be written");
            assert_eq!(decode(&again).as_ref(), Ok(&it));
            Some(it)
        }
        Err(error) => {
            assert!(error.offset <= bytes.len(), "{error}");
            None
        }
    }
}
