//! What operations are asked with, in eight bytes: so that code which runs again from its journal is
//! seen to ask for the same things, not only for things of the same names.
//!
//! The bytes that are hashed are a format: what was written once must come out the same in every later
//! version. Values that are equal give the same, so the order of fields does not count. Neither does a
//! field that is null, since what is missing is null everywhere: a new optional argument, or a new
//! optional field of one, changes nothing for those who do not use it.

use travertine_kernel::{Assignments, Digest};
use travertine_value::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

/// The digest of what must be the same again, unless the code says that it may change.
pub(crate) fn unless(may_change: bool, digest: impl FnOnce() -> Digest) -> Option<Digest> {
    (!may_change).then(digest)
}

/// Of named values.
pub(crate) fn of_arguments(arguments: &Assignments) -> Digest {
    of(|bytes| put_arguments(arguments, bytes))
}

pub(crate) fn of_value(value: &Value) -> Digest {
    of(|bytes| put(value, bytes))
}

/// Of the start of something that goes its own way.
pub(crate) fn of_start(id: &str, arguments: &Assignments) -> Digest {
    of(|bytes| {
        put_text(id, bytes);
        put_arguments(arguments, bytes);
    })
}

/// Of an event that is sent.
pub(crate) fn of_event(to: Option<&str>, key: Option<&Value>, payload: &Assignments) -> Digest {
    of(|bytes| {
        put_text(to.unwrap_or_default(), bytes);
        put(key.unwrap_or(&Value::Null), bytes);
        put_arguments(payload, bytes);
    })
}

fn of(put: impl FnOnce(&mut Vec<u8>)) -> Digest {
    let mut bytes = Vec::with_capacity(64);
    put(&mut bytes);
    Digest(xxh3_64(&bytes))
}

fn put_arguments(arguments: &Assignments, bytes: &mut Vec<u8>) {
    put_fields(arguments.iter().map(|(name, value)| (&**name, value)).collect(), bytes);
}

fn put(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Null => bytes.push(0),
        Value::Bool(it) => bytes.push(1 + u8::from(*it)),
        Value::Number(number) => {
            if let Some(whole) = number.to_i64() {
                bytes.push(3);
                bytes.extend(whole.to_le_bytes());
            } else {
                bytes.push(4);
                put_text(&number.to_string(), bytes);
            }
        }
        Value::String(text) => {
            bytes.push(5);
            put_text(text, bytes);
        }
        Value::List(items) => {
            bytes.push(6);
            put_length(items.len(), bytes);
            items.iter().for_each(|it| put(it, bytes));
        }
        Value::Map(map) => {
            bytes.push(7);
            put_map(map, bytes);
        }
    }
}

fn put_map(map: &Map, bytes: &mut Vec<u8>) {
    put_fields(map.iter().map(|(name, value)| (&**name, value)).collect(), bytes);
}

fn put_fields(mut fields: Vec<(&str, &Value)>, bytes: &mut Vec<u8>) {
    fields.retain(|(_, value)| **value != Value::Null);
    fields.sort_unstable_by_key(|(name, _)| *name);
    put_length(fields.len(), bytes);
    for (name, value) in fields {
        put_text(name, bytes);
        put(value, bytes);
    }
}

fn put_text(text: &str, bytes: &mut Vec<u8>) {
    put_length(text.len(), bytes);
    bytes.extend_from_slice(text.as_bytes());
}

fn put_length(length: usize, bytes: &mut Vec<u8>) {
    let length = u64::try_from(length).expect("a length has at most 64 bits");
    bytes.extend(length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn json(text: &str) -> Digest {
        of_value(&Value::parse_json(text).unwrap())
    }

    #[test]
    fn a_digest_is_what_it_was_in_every_version() {
        let arguments = vec![("n".into(), 1.into())];
        let all = [
            json(r#"{"town":"Rome","items":[3,4.5,-1e30,true,false,null],"gift":{}}"#),
            of_arguments(&arguments),
            of_start("a", &arguments),
            of_event(Some("a"), Some(&7.into()), &arguments),
        ];
        let all = all.map(|Digest(it)| format!("{it:016x}")).join(" ");
        // Not to be updated: journals have these.
        expect!["8d26012b97c3daf2 7edd786cc09bf1b7 5c2113bcb9f1671d 0b5e71fafb592828"]
            .assert_eq(&all);
    }

    #[test]
    fn equal_values_have_one_digest_and_others_another() {
        assert_eq!(json(r#"{"a":1,"b":2.50}"#), json(r#"{"b":2.5,"a":1.0}"#));
        assert_eq!(json(r#"{"a":{"b":null}}"#), json(r#"{"a":{},"c":null}"#));
        let all = [
            "null",
            "0",
            "false",
            "true",
            "1",
            "1.5",
            "\"1\"",
            "\"\"",
            "[]",
            "{}",
            "[[]]",
            "[null]",
            "[0]",
            "[1,2]",
            "[2,1]",
            r#"["ab","c"]"#,
            r#"["a","bc"]"#,
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"b":1}"#,
            r#"{"a":1,"b":1}"#,
            r#"{"a":{"b":1}}"#,
            "9223372036854775808",
        ];
        let digests: std::collections::BTreeSet<_> = all.iter().map(|it| json(it).0).collect();
        assert_eq!(digests.len(), all.len());
    }
}
