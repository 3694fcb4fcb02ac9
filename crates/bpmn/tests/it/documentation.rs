//! The examples that people copy must work.

use std::path::Path;

use travertine_bpmn::{Diagnostic, Severity, Verdict, rules};

use crate::model::{file, report};

#[test]
fn every_example_of_the_extensions_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/extensions.md");
    let text = std::fs::read_to_string(path).unwrap();
    let examples: Vec<_> =
        text.split("```xml\n").skip(1).filter_map(|it| it.split("```").next()).collect();
    assert!(examples.len() >= 10);
    for example in examples {
        let report = report(&file(example));
        // For whom a message is lies outside of most examples, and so does what makes a model whole.
        let outside =
            |code: &str| code == "TV0926" || rules().iter().any(|it| it.codes.contains(&code));
        let is_problem = |it: &&Diagnostic| it.severity == Severity::Error || !outside(it.code);
        let problems = report.diagnostics.iter().filter(is_problem);
        let problems: Vec<_> = problems.map(ToString::to_string).collect();
        assert!(problems.is_empty(), "{problems:#?}\nin {example}");
        let ignored = report
            .elements
            .iter()
            .find(|it| it.kind.contains("tv:") && it.verdict != Verdict::Executed);
        assert!(ignored.is_none(), "{ignored:?}");
    }
}

/// Compares a page with what it should be; `UPDATE_EXPECT=1` writes it anew.
pub(crate) fn expect_page(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, text).unwrap();
        return;
    }
    let page = std::fs::read_to_string(path).unwrap_or_default();
    let different = page.lines().zip(text.lines()).find(|(is, should)| is != should);
    assert!(
        page == text,
        "{} is stale; write it anew with UPDATE_EXPECT=1. First difference: {different:#?}",
        path.display()
    );
}
