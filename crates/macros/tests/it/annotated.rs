//! Programs of which each line says, behind `//~`, what a tool must say about it, or behind `//~^` about the line above.
//!
//! They are examples of this package behind the feature `refused`, so that they are built as everything else is and
//! only when they are asked for.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

/// What `cargo COMMAND` says about an example, as lines `file:line:column: level: words`.
fn say(command: &str, example: &str) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([command, "--package", "travertine-macros", "--example", example]);
    cargo.args(["--features", "refused", "--message-format", "short", "--color", "never"]);
    // What `cargo test` sets for the tests would have everything built anew.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&*name);
        }
    }
    cargo.env("CLIPPY_CONF_DIR", root().join("docs/functions")).current_dir(root());
    let output = cargo.output().expect("cargo is there");
    String::from_utf8(output.stderr).expect("cargo writes UTF-8")
}

/// What is expected and not said, and what is said and not expected.
fn differences(file: &str, level: &str, said: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(file)).expect(file);
    let mut said: Vec<(usize, &str)> = said
        .lines()
        .filter_map(|line| {
            let (line, rest) = line.strip_prefix(file)?.strip_prefix(':')?.split_once(':')?;
            let (_, words) = rest.split_once(": ")?;
            words.starts_with(level).then_some((line.parse().ok()?, words))
        })
        .collect();
    let mut differences = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for expected in line.split("//~").skip(1) {
            let (number, expected) = match expected.strip_prefix('^') {
                Some(above) => (number - 1, above.trim()),
                None => (number, expected.trim()),
            };
            // Of a type with two parts that are wrong, the compiler says it twice.
            let before = said.len();
            said.retain(|(at, words)| *at != number || !words.contains(expected));
            if said.len() == before {
                differences.push(format!("{file}:{number}: nobody says `{expected}`"));
            }
        }
    }
    differences
        .extend(said.iter().map(|(line, words)| format!("{file}:{line}: unexpected: {words}")));
    differences
}

#[test]
fn the_compiler_refuses_what_types_forbid() {
    let said = say("check", "refused");
    let differences = differences("crates/macros/tests/annotated/refused.rs", "error", &said);
    assert!(differences.is_empty(), "{}\n\n{said}", differences.join("\n"));
}

#[test]
fn the_lints_for_workflows_see_what_differs_from_run_to_run() {
    let installed = Command::new(env!("CARGO")).args(["clippy", "--version"]).output();
    if !installed.is_ok_and(|it| it.status.success()) {
        eprintln!("skipped: there is no `cargo clippy`");
        return;
    }
    let said = say("clippy", "lint");
    let file = "crates/macros/tests/annotated/lint.rs";
    let differences = differences(file, "warning: use of a disallowed", &said);
    assert!(differences.is_empty(), "{}\n\n{said}", differences.join("\n"));

    // Each ban has its reason and is tried, but for those of crates that we do not have.
    let tried = std::fs::read_to_string(root().join(file)).expect(file);
    let tried: BTreeSet<&str> =
        tried.lines().filter_map(|it| it.split_once("//~ ")).map(|it| it.1).collect();
    let lints =
        std::fs::read_to_string(root().join("docs/functions/clippy.toml")).expect("it is there");
    for ban in lints.lines().filter_map(|it| it.trim().strip_prefix("{ path = \"")) {
        let (path, rest) = ban.split_once('"').expect("a path ends");
        let is_foreign = rest.contains("allow-invalid") && !path.starts_with("tokio::");
        assert!(rest.starts_with(", reason = \""), "{path} is banned without a reason");
        assert!(tried.contains(path) || is_foreign, "{path} is not tried in {file}");
    }
}
