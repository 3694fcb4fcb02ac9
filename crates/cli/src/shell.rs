//! Commands that people copy into a shell: complete, quoted, and on the same store.

use std::path::Path;

use crate::{
    caller,
    screen::{acts, code},
};

/// Where a store is that no argument names, and the variable that can name another one.
pub(crate) const DATA: &str = "travertine-data";
pub(crate) const DATA_VARIABLE: &str = "TRAVERTINE_DATA";

/// The command with these words on the store in `data`, which is named where the command would not take it
/// by itself.
pub(crate) fn command<S: AsRef<str>>(words: &[S], data: &Path) -> String {
    let by_itself = caller::data(DATA_VARIABLE).unwrap_or_else(|| DATA.into());
    let mut all = vec!["travertine".to_owned()];
    all.extend(words.iter().map(|it| quoted(it.as_ref())));
    if data.as_os_str() != by_itself {
        all.extend(["--data".to_owned(), quoted(&data.display().to_string())]);
    }
    all.join(" ")
}

/// The command, as it stands in a sentence.
pub(crate) fn named<S: AsRef<str>>(words: &[S], data: &Path) -> String {
    format!("`{}`", command(words, data))
}

/// An option with its value, in one word where the value could be taken for an option.
pub(crate) fn option(name: &str, value: &str) -> Vec<String> {
    if value.starts_with('-') {
        vec![format!("--{name}={value}")]
    } else {
        vec![format!("--{name}"), value.to_owned()]
    }
}

/// The text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_one_word_for_a_shell() {
        let words = ["a-1", "two words", "it's", "$HOME", "", "7", "a\u{1b}[31m'"].map(quoted);
        let expected =
            ["a-1", "'two words'", r"'it'\''s'", "'$HOME'", "''", "7", r"$'a\u001b[31m\''"];
        assert_eq!(words, expected);
        assert_eq!(option("key", "-5"), ["--key=-5"]);
    }
}
