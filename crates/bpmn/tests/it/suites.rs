//! Reads the models of the shared conformance suites, where they are there.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use travertine_bpmn::{Dialect, Report, Severity, Verdict, read};
use travertine_value::Value;
use travertine_xml::{Node, Ns};

use crate::language::lenient;

fn suites() -> Option<PathBuf> {
    let shared = match std::env::var_os("TRAVERTINE_SHARED") {
        Some(path) => PathBuf::from(path),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    let suites = shared.join("suites");
    if suites.is_dir() {
        return Some(suites);
    }
    println!("skipped: there are no suites in {}", suites.display());
    None
}

struct Case {
    id: String,
    files: Vec<PathBuf>,
    rejected: bool,
    engine_specific: bool,
}

fn cases(suite: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(suite.join("cases.json")).unwrap();
    let json = Value::parse_json(&text).unwrap();
    let list = |value: &Value, name| {
        value.field(name).and_then(|it| it.as_list().map(<[_]>::to_vec)).unwrap_or_default()
    };
    list(&json, "cases")
        .iter()
        .filter(|it| !list(it, "steps").iter().any(|it| it.field("expect_error").is_some()))
        .map(|it| Case {
            id: it.field("id").and_then(Value::as_str).unwrap().to_owned(),
            files: list(it, "files").iter().map(|it| suite.join(it.as_str().unwrap())).collect(),
            rejected: list(it, "steps").iter().any(|it| it.field("expect_rejected").is_some()),
            engine_specific: it.field("engine_specific").is_some(),
        })
        .collect()
}

fn report(
    files: &[PathBuf],
    dialect: Option<Dialect>,
    language: Option<&str>,
    strict: bool,
) -> Report {
    let contents: Vec<_> = files.iter().map(|it| std::fs::read(it).unwrap()).collect();
    let names: Vec<_> = files.iter().map(|it| it.display().to_string()).collect();
    let files: Vec<_> =
        names.iter().zip(&contents).map(|(name, it)| (name.as_str(), it.as_slice())).collect();
    let mut options = lenient();
    options.strict = strict;
    options.dialect = dialect;
    options.expression_language = language.map(str::to_owned);
    read(&files, &options)
}

#[test]
fn models_that_run_are_read_and_models_that_break_the_standard_are_refused() {
    let Some(suites) = suites() else { return };
    let (mut wrongly_refused, mut wrongly_taken) = (0, 0);
    for (suite, dialect, language) in [
        ("betsy", None, None),
        ("camunda7", Some(Dialect::Camunda7), None),
        ("spiff", None, Some("python")),
    ] {
        let (mut taken, mut refused) = (0, 0);
        for case in cases(&suites.join(suite)) {
            if case.rejected && suite == "betsy" {
                let found = report(&case.files, dialect, language, false).diagnostics;
                assert!(!found.is_empty(), "nothing is said about {}", case.id);
            }
            let report = report(&case.files, dialect, language, case.rejected);
            if report.is_rejected() == case.rejected {
                *(if case.rejected { &mut refused } else { &mut taken }) += 1;
                continue;
            }
            if case.rejected {
                wrongly_taken += 1;
                let specific = if case.engine_specific { " (engine specific)" } else { "" };
                println!("should be refused: {}{specific}", case.id);
                continue;
            }
            wrongly_refused += 1;
            println!("should be read: {}", case.id);
            for it in report.diagnostics.iter().filter(|it| it.severity == Severity::Error) {
                println!("    {it}");
            }
        }
        println!("{suite}: {taken} read, {refused} refused as they should be");
    }
    println!("{wrongly_refused} wrongly refused, {wrongly_taken} wrongly read");
    // What is left needs constructs that plans have no word for yet, or rules of one engine only.
    assert!(wrongly_refused <= 6 && wrongly_taken <= 19);
}

/// The files that tools exported from the models of the interchange group.
fn interchange(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            interchange(&path, files);
        } else if path.extension().is_some_and(|it| it == "bpmn") {
            files.push(path);
        }
    }
}

/// The places of all elements of a file but those of diagrams, and of what stands in texts for people.
fn places(file: &Path) -> BTreeSet<(u32, u32)> {
    fn collect(node: Node<'_>, places: &mut BTreeSet<(u32, u32)>) {
        if *node.ns() == Ns::Tool {
            return;
        }
        places.insert((node.place().line, node.place().column));
        if !(*node.ns() == Ns::Bpmn && node.is_any(&["documentation", "text", "script"])) {
            node.children().for_each(|it| collect(it, places));
        }
    }
    let mut found = BTreeSet::new();
    let document = travertine_xml::read(Ns::Bpmn, "", &std::fs::read(file).unwrap()).unwrap();
    collect(document.root(), &mut found);
    found
}

#[test]
fn every_element_of_every_interchange_file_is_answered_for() {
    let Some(suites) = suites() else { return };
    let mut files = Vec::new();
    interchange(&suites.join("miwg"), &mut files);
    assert!(files.len() > 200, "{} files", files.len());
    let mut taken = 0;
    for file in &files {
        let report = report(std::slice::from_ref(file), None, None, false);
        taken += usize::from(!report.is_rejected());
        let answered: BTreeSet<_> = report.elements.iter().map(|it| (it.line, it.column)).collect();
        let missing: Vec<_> = places(file).difference(&answered).copied().collect();
        assert!(missing.is_empty(), "{}: no answer for what stands at {missing:?}", file.display());
        if !report.is_rejected() {
            let rejected = report.elements.iter().find(|it| it.verdict == Verdict::Rejected);
            assert!(rejected.is_none(), "{}: {rejected:?} has no reason", file.display());
        }
    }
    println!("{taken} of {} files can be deployed", files.len());
}
