//! `docs/semantics/` and `docs/sources/`: every page is run, and says what then happened.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use travertine_testkit::page;

fn folders() -> [PathBuf; 2] {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    ["semantics", "sources"].map(|it| docs.join(it))
}

/// The pages of a folder, by name; the index apart.
fn pages(folder: &Path) -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).expect("the pages are there") {
        let path = entry.expect("a folder can be read").path();
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        if path.extension().is_some_and(|it| it == "md") && name != "README" {
            pages.push((name, fs::read_to_string(path).expect("a page can be read")));
        }
    }
    pages.sort();
    pages
}

#[test]
fn every_page_says_what_happens() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut wrong = Vec::new();
    let all =
        folders().map(|folder| pages(&folder).into_iter().map(move |it| (folder.clone(), it)));
    for (folder, (name, text)) in all.into_iter().flatten() {
        let written = match page::write(&name, &text) {
            Ok(written) => written,
            Err(error) => {
                wrong.push(error);
                continue;
            }
        };
        // Programs are run with the tests of the crate that they use.
        if written.runs == 0 && !text.contains("```rust,") {
            wrong.push(format!("{name}.md runs nothing"));
        }
        let mut files = written.pictures;
        files.push((format!("{name}.md"), written.text));
        for (file, content) in files {
            let path = folder.join(&file);
            let found = fs::read_to_string(&path).unwrap_or_default();
            if update && found != content {
                fs::write(&path, &content).unwrap();
            } else if found != content {
                let differs = found.lines().zip(content.lines()).find(|(is, should)| is != should);
                wrong.push(format!("{file} is stale; its first difference: {differs:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "UPDATE_EXPECT=1 writes pages anew\n{}", wrong.join("\n"));
}

#[test]
fn every_picture_belongs_to_a_page_and_every_page_is_in_the_index() {
    for folder in folders() {
        let index = fs::read_to_string(folder.join("README.md")).unwrap();
        let mut pictures = BTreeSet::new();
        for (name, text) in pages(&folder) {
            assert!(index.contains(&format!("]({name}.md)")), "the index does not have {name}.md");
            pictures.extend(page::write(&name, &text).unwrap().pictures.into_iter().map(|it| it.0));
        }
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "svg") {
                let file = path.file_name().unwrap().to_string_lossy();
                assert!(pictures.contains(&*file), "no page shows {file}");
            }
        }
    }
}
