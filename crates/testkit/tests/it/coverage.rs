//! `docs/bpmn-coverage.md`: every row names what runs it, and no row is missing.

use std::{fs, path::PathBuf};

use crate::{root, skipped};

/// The rows of the tables of a page: cells, without what only makes them bold or code.
fn rows(page: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with('|') {
            continue;
        }
        let head = lines.peek().is_some_and(|it| it.starts_with("|---"));
        if !head && !line.starts_with("|---") {
            let cells = line.trim_matches('|').split('|');
            rows.push(cells.map(|it| it.trim().to_owned()).collect());
        }
    }
    rows
}

/// The file that tests are in whose names begin so.
fn file(module: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = module.split("::").collect();
    let path = match parts[..] {
        ["draw"] => "crates/draw/src/tests.rs".to_owned(),
        ["runtime", "sandbox"] => "crates/runtime/src/sandbox/tests.rs".to_owned(),
        [name @ ("runtime" | "bpmn"), test] => format!("crates/{name}/tests/it/{test}.rs"),
        _ => format!("crates/testkit/tests/it/{}.rs", parts.join("/")),
    };
    Some(root().join(path)).filter(|it| it.exists())
}

/// Whether such a test or page is there and run.
fn is_run(reference: &str) -> bool {
    if let Some(page) = reference.strip_prefix('[') {
        let path = page.split(['(', ')']).nth(1).unwrap_or_default();
        let text = fs::read_to_string(root().join("docs").join(path)).unwrap_or_default();
        return path.starts_with("semantics/") && text.contains("```trace");
    }
    let Some((module, test)) = reference.trim_matches('`').rsplit_once("::") else { return false };
    let text = file(module).and_then(|it| fs::read_to_string(it).ok()).unwrap_or_default();
    text.contains(&format!("#[test]\nfn {test}()"))
        || text.contains(&format!("    #[test]\n    fn {test}()"))
}

fn coverage() -> Vec<Vec<String>> {
    let page = root().join("docs/bpmn-coverage.md");
    rows(&fs::read_to_string(page).expect("the page is there"))
}

#[test]
fn every_row_names_what_runs_it() {
    let rows = coverage();
    assert!(rows.len() > 80, "there are {} rows", rows.len());
    for row in rows {
        let [construct, answer, references] = &row[..] else { panic!("three cells: {row:?}") };
        assert!(!answer.is_empty(), "{construct} has no answer");
        for reference in references.split(", ") {
            assert!(is_run(reference), "{construct}: nothing runs {reference}");
        }
    }
}

#[test]
fn no_row_is_missing() {
    let shared = root().join("../shared/spec/bpmn-coverage.md");
    let Ok(shared) = fs::read_to_string(shared) else {
        skipped("there is no list of constructs beside the checkout");
        return;
    };
    let plain = |text: &str| text.replace(['*', '`'], "");
    let ours: Vec<String> = coverage().iter().map(|it| plain(&it[0])).collect();
    let missing: Vec<String> =
        rows(&shared).iter().map(|it| plain(&it[0])).filter(|it| !ours.contains(it)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
