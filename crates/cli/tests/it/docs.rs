//! What the documentation shows is what the binary prints. `UPDATE_EXPECT=1` writes it anew.

use expect_test::{ExpectFile, expect_file};

use super::travertine;

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
