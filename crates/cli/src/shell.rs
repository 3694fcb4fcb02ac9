//! Commands that people copy into a shell: complete, quoted, and on the same store.

use std::path::Path;

pub(crate) use travertine_data::shell::quoted;

use crate::caller;

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

#[cfg(test)]
mod tests {
    use travertine_data::shell::option;

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
