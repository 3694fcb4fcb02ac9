//! What holds for all events and all bytes.

use std::sync::Arc;

use proptest::{collection::vec, prelude::*};
use travertine_kernel::{Event, LayerId};
use travertine_store::codec::{
    DecodeError, decode_events, decode_repeat, decode_values, encode_events, encode_repeat,
    encode_values,
};
use travertine_value::{Map, Value};

use crate::{encoded, strategy, try_decode};

/// The values in the order they are written, for equality does not look at the order of fields.
fn text(events: &[Event]) -> String {
    format!("{events:?}")
}

proptest! {
    #[test]
    fn events_come_back_as_they_were(events in vec(strategy::event(), 0..12)) {
        let bytes = encoded(&events);
        let read = decode_events(&bytes).unwrap();
        prop_assert_eq!(text(&read), text(&events));
        prop_assert_eq!(encoded(&read), bytes);
        prop_assert_eq!(read, events);
    }

    #[test]
    fn values_come_back_as_they_were_in_their_order(values in strategy::assignments()) {
        let mut bytes = Vec::new();
        encode_values(&values, &mut bytes).unwrap();
        let read = decode_values(&bytes).unwrap();
        prop_assert_eq!(format!("{read:?}"), format!("{values:?}"));
        prop_assert_eq!(read, values);
        prop_assert!(decode_values(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn cycles_come_back_as_they_were(repeat in strategy::repeat()) {
        let mut bytes = Vec::new();
        encode_repeat(&repeat, &mut bytes).unwrap();
        prop_assert_eq!(decode_repeat(&bytes), Ok(repeat));
        prop_assert!(decode_repeat(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn what_was_there_before_is_left_alone(before in any::<Vec<u8>>(), event in strategy::event()) {
        let mut bytes = before.clone();
        encode_events(std::slice::from_ref(&event), &mut bytes).unwrap();
        prop_assert_eq!(&bytes[..before.len()], &before[..]);
        prop_assert_eq!(decode_events(&bytes[before.len()..]), Ok(vec![event]));
    }

    #[test]
    fn a_part_of_the_bytes_is_never_taken_for_the_whole(
        events in vec(strategy::event(), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = encoded(&events);
        let cut = cut.index(bytes.len());
        let error: DecodeError = decode_events(&bytes[..cut]).unwrap_err();
        prop_assert!(error.offset <= cut);
    }

    #[test]
    fn flipped_bits_do_no_harm(
        events in vec(strategy::event(), 1..6),
        flips in vec((any::<prop::sample::Index>(), 0_u8..8), 1..4),
    ) {
        let mut bytes = encoded(&events);
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        try_decode(&bytes);
    }

    #[test]
    fn random_bytes_do_no_harm(mut bytes in any::<Vec<u8>>()) {
        try_decode(&bytes);
        bytes.splice(0..0, [1, 1]);
        try_decode(&bytes);
    }

    #[test]
    fn the_bytes_of_a_value_keep_the_order_of_its_fields(value in strategy::value()) {
        let reversed = |map: &Map| {
            map.iter().rev().map(|(name, it)| (Arc::clone(name), it.clone())).collect::<Map>()
        };
        let set = |value| vec![Event::VariableSet { layer: LayerId(1), name: "x".into(), value }];
        if let Value::Map(map) = &value && map.len() > 1 {
            let other = set(reversed(map).into());
            prop_assert_eq!(text(&decode_events(&encoded(&other)).unwrap()), text(&other));
            prop_assert_ne!(encoded(&other), encoded(&set(value)));
        }
    }
}
