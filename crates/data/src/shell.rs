//! Words of commands that people copy into a shell.

/// An option with its value, in one word where the value could be taken for an option.
pub fn option(name: &str, value: &str) -> Vec<String> {
    if value.starts_with('-') {
        vec![format!("--{name}={value}")]
    } else {
        vec![format!("--{name}"), value.to_owned()]
    }
}

/// The text as one word of a shell.
pub fn quoted(text: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "-_.,:=/+@%".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    if !text.chars().any(acts) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut word = String::from("$'");
    for letter in text.chars() {
        match letter {
            '\'' | '\\' => word.extend(['\\', letter]),
            _ if acts(letter) => word.push_str(&code(letter)),
            _ => word.push(letter),
        }
    }
    word + "'"
}

/// The character as JSON and shells can write it. Those that act have at most four digits.
pub fn code(letter: char) -> String {
    format!("\\u{:04x}", u32::from(letter))
}

/// Whether a terminal does something for a character instead of showing it, or it is one of our marks.
pub fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            // Line and paragraph separators, and what turns the direction of writing.
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{fdd0}'..='\u{fdef}')
}
