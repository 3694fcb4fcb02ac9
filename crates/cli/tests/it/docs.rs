//! What the documentation shows is what the binary prints. `UPDATE_EXPECT=1` writes it anew.

use expect_test::{ExpectFile, expect_file};

use super::{command, finish, travertine, travertine_at};

#[test]
fn what_the_command_line_is_said_to_print_is_printed() {
    let document = include_str!("../../../../docs/cli.md");
    check(document, &expect_file!["../../../../docs/cli.md"]);
}

#[test]
fn what_the_guide_to_decisions_shows_is_printed() {
    let document = include_str!("../../../../docs/decisions.md");
    check(document, &expect_file!["../../../../docs/decisions.md"]);
}

/// The commands of a page about a store are given one after the other, on one store.
#[test]
fn what_the_guide_to_stores_shows_is_printed() {
    let document = include_str!("../../../../docs/store.md");
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data").display().to_string();
    let mut written = String::new();
    let mut rest = document;
    while let Some((before, block)) = rest.split_once("```console\n") {
        let (shown, after) = block.split_once("```\n").unwrap();
        written.extend([before, "```console\n"]);
        for call in shown.lines().filter(|it| it.starts_with("$ ")) {
            let args = words(call.strip_prefix("$ travertine ").unwrap());
            let args: Vec<&str> = args
                .iter()
                .map(|it| if it == "travertine-data" { data.as_str() } else { it.as_str() })
                .collect();
            let called = travertine_at(&args, &data);
            let printed = format!("{}{}", called.out, called.err).replace(&data, "travertine-data");
            written.extend([call, "\n", &without_times(&printed)]);
        }
        written += "```\n";
        rest = after;
    }
    written += rest;
    expect_file!["../../../../docs/store.md"].assert_eq(&written);
}

/// The page that everybody reads first: its model is a file, and its commands are given where that lies.
/// What is asked at a terminal, and what is built, is shown elsewhere.
#[test]
fn what_the_first_page_shows_is_printed() {
    let document = include_str!("../../../../README.md");
    let dir = tempfile::tempdir().unwrap();
    let (_, model) = document.split_once("```xml\n").unwrap();
    let (model, _) = model.split_once("```\n").unwrap();
    let mut written = String::new();
    let mut rest = document;
    let mut shown_blocks = 0;
    while let Some((before, block)) = rest.split_once("```text\n") {
        let (shown, after) = block.split_once("```\n").unwrap();
        written.extend([before, "```text\n"]);
        let mut model = model.to_owned();
        if written.contains("Change `javascript` to `groovy` and `P2D` to `2 days`.") {
            model = model.replace("javascript", "groovy").replace("P2D", "2 days");
        }
        std::fs::write(dir.path().join("expense.bpmn"), model).unwrap();
        let asks = shown.contains("approve> ");
        if shown.starts_with("$ travertine ") && shown.contains("expense") && !asks {
            shown_blocks += 1;
            for call in shown.lines().filter(|it| it.starts_with("$ ")) {
                let args = words(call.strip_prefix("$ travertine ").unwrap());
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                let child = command(&args).current_dir(dir.path()).spawn().unwrap();
                let called = finish(child, "");
                let printed = without_times(&format!("{}{}", called.out, called.err));
                // The timer of two days.
                let printed = printed.replace("until 2026-01-05", "until 2026-01-07");
                written.extend([call, "\n", &printed]);
            }
        } else {
            written += shown;
        }
        written += "```\n";
        rest = after;
    }
    written += rest;
    assert!(shown_blocks >= 4, "{shown_blocks}");
    expect_file!["../../../../README.md"].assert_eq(&written);
}

/// The text with the same time everywhere.
pub(crate) fn without_times(text: &str) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('T') {
        let (before, after) = rest.split_at(at);
        let is_date = before.len() >= 10
            && before.is_char_boundary(before.len() - 10)
            && before[before.len() - 10..].chars().all(|it| it.is_ascii_digit() || it == '-');
        let time = after[1..].find(|it: char| !(it.is_ascii_digit() || it == ':' || it == '.'));
        match time {
            Some(end) if is_date && after[1 + end..].starts_with('Z') => {
                written.extend([&before[..before.len() - 10], "2026-01-05T09:00:00Z"]);
                rest = &after[end + 2..];
            }
            _ => {
                written.extend([before, "T"]);
                rest = &after[1..];
            }
        }
    }
    written + rest
}

fn check(document: &str, expected: &ExpectFile) {
    let mut written = String::new();
    let mut rest = document;
    while let Some((before, block)) = rest.split_once("```console\n") {
        let (shown, after) = block.split_once("```\n").unwrap();
        let call = shown.lines().next().unwrap();
        let args = words(call.strip_prefix("$ travertine ").unwrap());
        let called = travertine(&args.iter().map(String::as_str).collect::<Vec<_>>());
        written.extend([before, "```console\n", call, "\n", &called.out, &called.err, "```\n"]);
        rest = after;
    }
    written += rest;
    expected.assert_eq(&written);
}

/// The words of a call, with what stands in single quotes kept together.
fn words(call: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (position, part) in call.split('\'').enumerate() {
        let last = words.last_mut().unwrap();
        if position % 2 == 1 {
            last.push_str(part);
            continue;
        }
        let mut parts = part.split(' ');
        last.push_str(parts.next().unwrap());
        words.extend(parts.map(str::to_owned));
    }
    words
}

#[test]
fn the_kinds_and_parts_of_failures_are_those_of_the_docs() {
    use travertine_kernel::{FailureKind as Kind, Part};
    let (function, definition, decision) = ("f".into(), "d".into(), "d".into());
    let kinds = [
        Kind::Error,
        Kind::Script,
        Kind::NoFlow,
        Kind::Restriction,
        Kind::Operator,
        Kind::Repeat,
        Kind::Timer,
        Kind::FanIn,
        Kind::Work,
        Kind::Steps,
        Kind::Depth,
        Kind::Budget(None),
        Kind::AdHoc,
        Kind::Call,
        Kind::Code,
        Kind::Panic,
        Kind::Nondeterminism,
        Kind::MissingCode { function, version: 1 },
        Kind::MissingDefinition { definition, version: None },
        Kind::MissingDecision { decision, version: None },
        Kind::Oversized { bytes: 2, max: 1 },
    ];
    let docs = include_str!("../../../../docs/store.md");
    let table = docs.split_once("| `kind` | what went wrong |").unwrap().1;
    let (table, parts) = table.split_once("\n\n").unwrap();
    let listed: Vec<&str> = table.lines().skip(2).map(|it| it.split('`').nth(1).unwrap()).collect();
    assert_eq!(listed, kinds.map(|it| it.name()));
    let parts = parts.split("\n\n").next().unwrap();
    for part in Part::ALL {
        assert!(parts.contains(&format!("`{}`", part.name())), "{part:?}");
    }
}
