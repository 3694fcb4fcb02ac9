//! A test that is said to cover a requirement is there, and so is the requirement.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{root, skipped};

/// All sources below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    for path in entries.map(|it| it.expect("it can be read").path()) {
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// What a line of comments says that a test covers.
fn covered(line: &str) -> Option<&str> {
    line.trim_start()
        .strip_prefix("//")?
        .trim_start_matches('/')
        .trim_start()
        .strip_prefix("covers:")
}

/// Whether it is one, such as `SCOPE-12` or `MULTI-T13a`.
fn is_id(text: &str) -> bool {
    text.split_once('-').is_some_and(|(group, number)| {
        let number = number.strip_prefix('T').unwrap_or(number);
        let letter = number.trim_start_matches(|it: char| it.is_ascii_digit());
        !group.is_empty()
            && group.chars().all(|it| it.is_ascii_uppercase())
            && number.len() > letter.len()
            && letter.len() <= 1
            && letter.chars().all(|it| it.is_ascii_lowercase())
    })
}

/// The requirements that tests in a text name, or what is wrong with a line.
fn named_in(text: &str) -> Result<BTreeSet<String>, String> {
    let mut named = BTreeSet::new();
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let Some(list) = covered(line) else { continue };
        for id in list.split(',').map(str::trim) {
            if !is_id(id) {
                return Err(format!("line {}: `{id}` is no requirement", index + 1));
            }
            named.insert(id.to_owned());
        }
        let below =
            lines[index..].iter().map(|it| it.trim_start()).find(|it| !it.starts_with("//"));
        if !below.is_some_and(|it| it == "#[test]" || it == "#[tokio::test]") {
            return Err(format!("line {}: there is no test below it", index + 1));
        }
    }
    Ok(named)
}

fn named() -> BTreeSet<String> {
    let mut files = Vec::new();
    for folder in ["crates", "examples", "benches"] {
        sources(&root().join(folder), &mut files);
    }
    let mut all = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source is a text");
        let named = named_in(&text).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
        all.extend(named);
    }
    all
}

#[test]
fn what_is_said_to_be_covered_stands_at_a_test() {
    assert!(named().len() > 300);
}

#[test]
fn a_list_that_is_no_list_or_stands_at_no_test_is_found() {
    let mark = ["//", "covers:"].join(" ");
    let read = |list: &str, below: &str| named_in(&format!("{mark} {list}\n// so\n{below}\n"));
    let ids = |ids: &[&str]| Ok(ids.iter().map(|it| (*it).to_owned()).collect());
    assert_eq!(read("SCOPE-1, MULTI-T13a", "#[test]"), ids(&["MULTI-T13a", "SCOPE-1"]));
    assert_eq!(read("SCOPE-1,", "#[test]"), Err("line 1: `` is no requirement".to_owned()));
    assert_eq!(read("SCOPE 1", "#[test]"), Err("line 1: `SCOPE 1` is no requirement".to_owned()));
    assert_eq!(
        read("SCOPE-1..3", "#[test]"),
        Err("line 1: `SCOPE-1..3` is no requirement".to_owned())
    );
    assert_eq!(
        read("SCOPE-1", "fn helper() {}"),
        Err("line 1: there is no test below it".to_owned())
    );
}

#[test]
fn tests_name_exactly_the_requirements_that_there_are() {
    let path = root().join("../shared/spec/requirements.md");
    let Ok(text) = fs::read_to_string(&path) else {
        skipped(&format!("without {} nobody knows which requirements there are", path.display()));
        return;
    };
    let id = |line: &str| Some(line.strip_prefix("- ")?.split_once(' ')?.0.to_owned());
    let known: BTreeSet<String> = text.lines().filter_map(id).filter(|it| is_id(it)).collect();
    let named = named();
    let unknown: Vec<_> = named.difference(&known).collect();
    assert!(unknown.is_empty(), "tests name what is no requirement: {unknown:?}");
    let missing: Vec<_> = known.difference(&named).collect();
    assert!(missing.is_empty(), "no test names these requirements: {missing:?}");
}
