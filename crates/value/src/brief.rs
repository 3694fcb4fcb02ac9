//! Texts of others in what people read: as much of them as tells what they are.

use std::borrow::Cow;

/// A text of at most about `bytes_max` bytes: of a longer one the beginning and the end, and how much is left out.
pub fn abridged(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    // What a sentence says of the text stands in front of it more often than behind it.
    let start = text.floor_char_boundary(bytes_max / 3 * 2);
    let end = text.ceil_char_boundary(text.len() - bytes_max / 3);
    Cow::Owned(format!("{}… {} bytes …{}", &text[..start], end - start, &text[end..]))
}

/// A text of lines of at most about `line_bytes_max` bytes each: long ones have both ends.
pub fn abridged_lines(text: &str, line_bytes_max: usize) -> Cow<'_, str> {
    if text.lines().all(|it| it.len() <= line_bytes_max) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.split('\n').map(|it| abridged(it, line_bytes_max)).collect();
    Cow::Owned(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_both_ends_are_left() {
        let long = format!("no process {} is deployed", "é".repeat(500_000));
        let told = abridged(&long, 100);
        assert!(told.starts_with("no process éé") && told.ends_with("éé is deployed"), "{told}");
        assert!(told.contains("… 999926 bytes …") && told.len() < 140, "{told}");
        assert_eq!(abridged("short", 5), "short");
    }

    #[test]
    fn each_line_is_abridged_by_itself() {
        assert_eq!(abridged_lines("a\nb\n", 1), "a\nb\n");
        let told = abridged_lines("one line\nxxxxxxxxxxxx\nlast", 9);
        assert_eq!(told, "one line\nxxxxxx… 3 bytes …xxx\nlast");
    }
}
