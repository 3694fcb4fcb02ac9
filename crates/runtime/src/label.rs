//! What the starter of an instance says of it: its tags, and the trace that it belongs to.

use travertine_store::record::Labels;

use crate::Error;

/// How many tags an instance may have.
const TAGS_MAX: usize = 10;

/// How many characters a tag may have.
const TAG_LENGTH_MAX: usize = 100;

/// Whether an instance can have these labels.
pub(crate) fn check(labels: &Labels) -> Result<(), Error> {
    let wrong = |reason: String| Err(Error::BadLabel { reason });
    let Labels { tags, trace } = labels;
    if tags.len() > TAGS_MAX {
        return wrong(format!(
            "an instance has at most {TAGS_MAX} tags, and these are {}",
            tags.len()
        ));
    }
    for (position, tag) in tags.iter().enumerate() {
        if !is_tag(tag) {
            return wrong(format!(
                "\"{}\" is no tag: a tag begins with a letter, goes on with letters, digits, _ - : or ., and has \
                 at most {TAG_LENGTH_MAX} characters",
                tag.escape_debug()
            ));
        }
        if tags[..position].contains(tag) {
            return wrong(format!("the tag {tag} is named twice"));
        }
    }
    match trace {
        Some(trace) if !is_trace(trace) => wrong(format!(
            "\"{}\" is no traceparent: it is made of version, trace id, parent id and flags, such as \
             00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            trace.escape_debug()
        )),
        _ => Ok(()),
    }
}

fn is_tag(tag: &str) -> bool {
    let may = |it: char| it.is_ascii_alphanumeric() || "_-:.".contains(it);
    tag.len() <= TAG_LENGTH_MAX
        && tag.starts_with(|it: char| it.is_ascii_alphabetic())
        && tag.chars().all(may)
}

/// Whether a text is a `traceparent` of the W3C. Later versions may have more after the flags.
///
/// ```
/// # use travertine_runtime::is_trace;
/// assert!(is_trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
/// assert!(!is_trace("4bf92f3577b34da6"));
/// ```
pub fn is_trace(text: &str) -> bool {
    let is_hex = |it: &str, length: usize| {
        it.len() == length && it.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_zero = |it: &str| it.bytes().all(|it| it == b'0');
    let mut parts = text.split('-');
    let (Some(version), Some(id), Some(parent), Some(flags)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    is_hex(version, 2)
        && version != "ff"
        && is_hex(id, 32)
        && !is_zero(id)
        && is_hex(parent, 16)
        && !is_zero(parent)
        && is_hex(flags, 2)
        && text.len() <= 256
        && (version != "00" || parts.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_begins_with_a_letter_and_is_short() {
        for good in ["a", "Urgent", "team:billing", "v1.2-x_y", &"t".repeat(100)] {
            assert!(is_tag(good), "{good}");
        }
        for bad in ["", "1a", "-a", "a b", "ä", "a\n", &"t".repeat(101)] {
            assert!(!is_tag(bad), "{bad}");
        }
    }

    #[test]
    fn a_trace_is_what_the_standard_says() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let parent = "00f067aa0ba902b7";
        assert!(is_trace(&format!("00-{id}-{parent}-01")));
        assert!(is_trace(&format!("cc-{id}-{parent}-01-what-comes-later")));
        for bad in [
            format!("00-{id}-{parent}"),
            format!("00-{id}-{parent}-01-more"),
            format!("ff-{id}-{parent}-01"),
            format!("00-{}-{parent}-01", "0".repeat(32)),
            format!("00-{id}-{}-01", "0".repeat(16)),
            format!("00-{}-{parent}-01", id.to_uppercase()),
            String::new(),
        ] {
            assert!(!is_trace(&bad), "{bad}");
        }
    }
}
