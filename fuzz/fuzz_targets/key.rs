//! Any number as a key: it is of something that has this key and no other, or it is none. Any text: it is
//! a key that is written so, or none.

#![no_main]

use libfuzzer_sys::fuzz_target;
use travertine_runtime::Key;

fuzz_target!(|bytes: &[u8]| {
    if let Some(number) = bytes.first_chunk().map(|it| i64::from_le_bytes(*it)) {
        match Key::read(number) {
            Some(it) => assert_eq!(Key::of(it).map(Key::number), Some(number)),
            None => assert!(Key::try_from(number).is_err()),
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(key) = text.parse::<Key>()
    {
        assert_eq!(key.to_string(), text);
    }
});
