//! The names in a source text.
//!
//! This is no parser: it finds every word that could be the name of a variable, also in texts and
//! comments. Too many is fine; whoever needs a word that is not there goes the long way.

use crate::value::Name;

/// Every word once, in order of appearance.
pub(super) fn of(source: &str) -> Vec<Name> {
    let mut words = Vec::new();
    for word in source.split(|it| !is_part(it)) {
        if word.starts_with(is_start)
            && !is_reserved(word)
            && !words.iter().any(|it: &Name| **it == *word)
        {
            words.push(Name::from(word));
        }
    }
    words
}

/// Whether a script cannot reach a variable without spelling its name: `_context` is only followed by
/// a point, and there is nothing by which a name could be computed.
pub(super) fn are_all_it_reads(source: &str) -> bool {
    const INDIRECT: [&str; 7] =
        ["eval", "Function", "constructor", "globalThis", "this", "with", "arguments"];
    let is_indirect = |word: &str| INDIRECT.contains(&word);
    !source.contains('\\')
        && !source.split(|it| !is_part(it)).any(is_indirect)
        && source.split("_context").skip(1).all(|it| it.starts_with('.'))
}

fn is_start(it: char) -> bool {
    it.is_alphabetic() || it == '_' || it == '$'
}

fn is_part(it: char) -> bool {
    is_start(it) || it.is_numeric()
}

fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "_context"
            | "break"
            | "case"
            | "catch"
            | "class"
            | "const"
            | "continue"
            | "default"
            | "do"
            | "else"
            | "false"
            | "finally"
            | "for"
            | "function"
            | "if"
            | "in"
            | "instanceof"
            | "new"
            | "null"
            | "return"
            | "switch"
            | "this"
            | "throw"
            | "true"
            | "try"
            | "typeof"
            | "var"
            | "void"
            | "while"
            | "with"
    )
}
