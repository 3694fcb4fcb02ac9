//! Texts as PostgreSQL takes them, which knows no U+0000.
//!
//! U+0000 becomes U+0001 U+0001, and U+0001 becomes U+0001 U+0002. So texts keep the order of their bytes.

use std::borrow::Cow;

/// A text as it is stored.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', '\x01']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(one).collect())
}

/// A character as it is stored.
pub(super) fn one(it: char) -> String {
    match it {
        '\0' => String::from("\x01\x01"),
        '\x01' => String::from("\x01\x02"),
        other => other.into(),
    }
}

/// A text as it was given.
pub(super) fn unescape(text: String) -> String {
    if !text.contains('\x01') {
        return text;
    }
    let mut given = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(it) = rest.next() {
        given.push(match it {
            // A text that was cut may end with half of it.
            '\x01' if rest.next() == Some('\x01') => '\0',
            other => other,
        });
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_as_they_were_and_keep_their_order() {
        let parts = ["", "\0", "\x01", "\x02", "a", "\0\0", "\0\x01", "\x01\0", "\x01\x02", "ß\0"];
        let all: Vec<String> =
            parts.iter().flat_map(|a| parts.iter().map(move |b| format!("{a}{b}"))).collect();
        for one in &all {
            assert_eq!(unescape(escape(one).into_owned()), *one);
            assert!(!escape(one).contains('\0'));
            for other in &all {
                assert_eq!(escape(one).cmp(&escape(other)), one.cmp(other), "{one:?} {other:?}");
            }
        }
    }
}
