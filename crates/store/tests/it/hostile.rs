//! Bytes that mean harm, or came to harm. The fuzz target `decode` looks for more of them.

use travertine_kernel::{Event, LayerId};
use travertine_store::codec::{
    DecodeError, EncodeError, Flaw, VALUE_DEPTH_MAX, decode_events, encode_events,
    record::{decode_letter, decode_records},
};
use travertine_value::Value;

use crate::{encoded, sample, try_decode};

const VERSION: u8 = 1;
const TOKEN_UNCUED: u8 = 6;
const STATUS_SET: u8 = 11;
const VARIABLE_SET: u8 = 14;
const COMPENSATION_QUEUED: u8 = 20;

/// A variable without a name, with these bytes as its value.
fn variable(value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![VERSION, 1, VARIABLE_SET, 1, 0];
    let mut length = value.len();
    while length >= 0x80 {
        bytes.push(length.to_le_bytes()[0] | 0x80);
        length >>= 7;
    }
    bytes.push(length.to_le_bytes()[0]);
    bytes.extend(value);
    bytes
}

fn error(event: Option<usize>, offset: usize, flaw: Flaw) -> Result<Vec<Event>, DecodeError> {
    Err(DecodeError { event, offset, flaw })
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let list = 4 << 5;
    for (bytes, expected) in [
        (vec![], error(None, 0, Flaw::CutShort)),
        (vec![0], error(None, 0, Flaw::UnknownVersion(0))),
        (vec![VERSION], error(None, 1, Flaw::CutShort)),
        (vec![VERSION, 0, 0], error(None, 2, Flaw::TrailingBytes)),
        (vec![VERSION, 2, TOKEN_UNCUED, 1], error(None, 2, Flaw::TooMany(2))),
        (vec![VERSION, 1, 0x7f, 0], error(Some(0), 3, Flaw::UnknownKind)),
        (vec![VERSION, 1, TOKEN_UNCUED, 0xff], error(Some(0), 4, Flaw::CutShort)),
        (variable(&[]), error(Some(0), 6, Flaw::CutShort)),
        (variable(&[0xff]), error(Some(0), 7, Flaw::CutShort)),
        (variable(&[list | 1, 0xe0]), error(Some(0), 7, Flaw::UnknownKind)),
        (variable(&[list | 3, 0]), error(Some(0), 7, Flaw::TooMany(3))),
        (variable(&[0, 0]), error(Some(0), 7, Flaw::TrailingBytes)),
    ] {
        assert_eq!(decode_events(&bytes), expected, "{bytes:?}");
    }
    let error = decode_events(&variable(&[list | 3, 0])).unwrap_err();
    assert_eq!(error.to_string(), "byte 7, in event 0: more is announced than there can be: 3");
}

#[test]
fn huge_announcements_cost_nothing() {
    const HUGE: [u8; 9] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    for start in [
        &[VERSION][..],
        &[VERSION, 1, COMPENSATION_QUEUED, 1],
        &[VERSION, 1, STATUS_SET, 1, 1],
        &[VERSION, 1, VARIABLE_SET, 1],
        &[VERSION, 1, VARIABLE_SET, 1, 0],
    ] {
        try_decode(&[start, &HUGE, &[0; 64]].concat());
    }
    for kind in 0..8 {
        try_decode(&variable(&[&[kind << 5 | 0x1f], &HUGE[..], &[0; 64]].concat()));
    }
}

/// Each list in the next, and each announces as many items as there are bytes.
#[test]
fn nested_announcements_are_not_believed_twice() {
    let value = vec![4 << 5 | 0x1e; 10_000];
    let error = decode_events(&variable(&value)).unwrap_err();
    assert_eq!(error.flaw, Flaw::TooMany(30));
}

#[test]
fn deep_nesting_is_refused_at_its_place() {
    for open in [&[4 << 5 | 1][..], &[5 << 5 | 1, 0]] {
        let value = open.repeat(1_000_000);
        let error = decode_events(&variable(&value)).unwrap_err();
        assert_eq!(error.flaw, Flaw::TooDeep);
    }
}

#[test]
fn what_could_not_be_read_is_not_written() {
    let nested = |depth| (0..depth).fold(Value::Null, |it, _| vec![it].into());
    let set = |value| vec![Event::VariableSet { layer: LayerId(1), name: "x".into(), value }];
    let mut bytes = vec![42];
    let deep = set(nested(VALUE_DEPTH_MAX + 1));
    assert_eq!(encode_events(&deep, &mut bytes), Err(EncodeError::TooDeep));
    assert_eq!(bytes, [42]);
    let fits = set(nested(VALUE_DEPTH_MAX));
    assert_eq!(decode_events(&encoded(&fits)), Ok(fits));
}

#[test]
fn of_fields_with_the_same_name_the_last_one_counts() {
    let map = 5 << 5;
    let events = decode_events(&variable(&[map | 2, 1, b'a', 1, 1, b'a', 2])).unwrap();
    let value = Value::parse_json(r#"{"a":true}"#).unwrap();
    assert_eq!(events, [Event::VariableSet { layer: LayerId(1), name: "".into(), value }]);
}

#[test]
fn every_sample_survives_every_cut_and_every_flip() {
    for (name, events) in sample::all() {
        let bytes = encoded(&events);
        for at in 0..bytes.len() {
            assert!(decode_events(&bytes[..at]).is_err(), "{name} cut at {at}");
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                try_decode(&bytes);
            }
        }
    }
}

#[test]
fn letters_within_letters_are_read_a_few_deep_and_refused_beyond() {
    const CHAINED: u8 = 20;
    const RING: u8 = 12;
    let nested = |depth: usize| {
        let around = (0..depth).flat_map(|_| [CHAINED, 2]);
        std::iter::once(VERSION).chain(around).chain([RING, 4, 9]).collect::<Vec<u8>>()
    };
    for depth in 0..=4 {
        assert!(decode_letter(&nested(depth)).is_ok(), "{depth}");
    }
    for depth in [5, 1_000, 1_000_000] {
        let error = decode_letter(&nested(depth)).expect_err("it is too deep");
        assert!(error.offset <= 64, "{error}");
        // The same as what an instance could not hear.
        let deferred = [&[VERSION, 1, 6][..], &nested(depth)[1..]].concat();
        assert!(decode_records(&deferred).is_err(), "{depth}");
    }
    // What was refused changes nothing for what comes after.
    assert!(decode_letter(&nested(4)).is_ok());
}
