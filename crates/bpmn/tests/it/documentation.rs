//! The examples that people copy must work.

use std::path::Path;

use travertine_bpmn::Verdict;

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
        let problems: Vec<_> = report.diagnostics.iter().map(ToString::to_string).collect();
        assert!(problems.is_empty(), "{problems:#?}\nin {example}");
        let ignored = report
            .elements
            .iter()
            .find(|it| it.kind.contains("tv:") && it.verdict != Verdict::Executed);
        assert!(ignored.is_none(), "{ignored:?}");
    }
}
