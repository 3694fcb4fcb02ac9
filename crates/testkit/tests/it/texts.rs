//! Nothing that the product does is decided by a text for people: a message, a reason, what `Debug` prints.
//!
//! The sources are read as text. That finds what is written plainly, which is how it comes in again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::root;

/// What names a text for people.
const TEXTS: [&str; 5] = ["message", "reason", "to_string()", "why", "problem"];

/// What looks into a text.
const LOOKS: [&str; 9] = [
    ".contains(",
    ".starts_with(",
    ".ends_with(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".split_once(",
    ".find(",
    "==\"",
    "!=\"",
];

/// What may come between both.
const BETWEEN: [&str; 4] = [".as_str()", ".as_ref()", ".as_deref()", ".trim()"];

/// What is allowed, by file and code without blanks, and why.
const ALLOWED: [(&str, &str, &str); 0] = [];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let is_test = path.file_name().is_some_and(|it| it == "tests" || it == "tests.rs");
        if is_test {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// A source without comments, tests and blanks; those between two words stay.
fn code(source: &str) -> String {
    let source = source.split_once("#[cfg(test)]\nmod ").map_or(source, |(code, _)| code);
    let lines = source.lines().filter(|it| !it.trim_start().starts_with("//"));
    let mut code = String::new();
    for word in lines.flat_map(str::split_whitespace) {
        if code.ends_with(is_of_word) && word.starts_with(is_of_word) {
            code.push(' ');
        }
        code.push_str(word);
    }
    code
}

fn is_of_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

/// The places of `code` that look into a text for people.
fn looks(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for text in TEXTS {
        for (at, _) in code.match_indices(text) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(is_of_word) {
                continue;
            }
            let mut end = at + text.len();
            while let Some(between) = BETWEEN.iter().find(|it| code[end..].starts_with(**it)) {
                end += between.len();
            }
            if let Some(look) = LOOKS.iter().find(|it| code[end..].starts_with(**it)) {
                found.push(&code[at..end + look.len()]);
            }
        }
    }
    // `Debug` is for those who write the program.
    for (at, _) in code.match_indices(":?}\"") {
        let rest = &code[at..];
        let is_read = rest.split(';').next().is_some_and(|it| {
            let call = it.split_once(')').map_or("", |(_, it)| it);
            call.starts_with(".to_lowercase()") || LOOKS.iter().any(|look| call.starts_with(look))
        });
        if is_read {
            found.push(&rest[..rest.len().min(60)]);
        }
    }
    found
}

#[test]
fn nothing_is_decided_by_a_text_for_people() {
    let root = root();
    let mut all = Vec::new();
    for entry in fs::read_dir(root.join("crates")).expect("the crates are there") {
        let folder = entry.expect("the entry can be read").path();
        if !folder.ends_with("testkit") {
            sources(&folder.join("src"), &mut all);
        }
    }
    assert!(all.len() > 300, "the sources are found");
    let mut wrong = Vec::new();
    for path in all {
        let code = code(&fs::read_to_string(&path).expect("the source can be read"));
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let is_allowed =
            |look: &str| ALLOWED.iter().any(|(file, it, _)| name.ends_with(file) && *it == look);
        wrong.extend(
            looks(&code).iter().filter(|it| !is_allowed(it)).map(|it| format!("{name}: {it}")),
        );
    }
    assert_eq!(wrong, Vec::<String>::new(), "give it a kind or a code, and decide by that");
}

#[test]
fn what_looks_into_a_text_is_found() {
    let found = |source: &str| looks(&code(source)).len();
    assert_eq!(found("if failure.message.starts_with(NO_CODE) {}"), 1);
    assert_eq!(found("matches!(it, Error { reason } if reason == \"gone\")"), 1);
    assert_eq!(found("error\n    .to_string()\n    .contains(\"x\")"), 1);
    assert_eq!(found("reason.as_str().trim() != \"x\""), 1);
    assert_eq!(found("format!(\"{:?}\", it.kind).to_lowercase()"), 1);
    assert_eq!(found("// message.contains(x)"), 0);
    assert_eq!(found("the_message.contains(x); message.name == other"), 0);
}
