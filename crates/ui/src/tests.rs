//! Whether what is committed was built from the sources beside it, is whole, and is small enough.

use std::{
    fmt::Write as _,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};

use super::*;

/// The sources, where this crate lies in its repository.
fn sources() -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui");
    found.is_dir().then_some(found)
}

fn list(root: &Path, below: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(below)).expect("a directory of sources can be read") {
        let entry = entry.expect("an entry can be read");
        let name = format!("{below}{}", entry.file_name().to_str().expect("names are texts"));
        if entry.file_type().expect("its type is known").is_dir() {
            list(root, &format!("{name}/"), found);
        } else {
            found.push(name);
        }
    }
}

/// As `ui/scripts/finish.mjs` works it out: names in order, each with length and content.
fn hash(root: &Path) -> String {
    let mut names: Vec<String> = [
        "index.html",
        "package-lock.json",
        "package.json",
        "scripts/finish.mjs",
        "svelte.config.js",
        "tsconfig.json",
        "vite.config.ts",
    ]
    .map(str::to_owned)
    .into();
    list(root, "src/", &mut names);
    list(root, "public/", &mut names);
    names.sort();
    let mut hash = Sha256::new();
    for name in names {
        let bytes = fs::read(root.join(&name)).expect("a source can be read");
        hash.update(format!("{name}\n{}\n", bytes.len()));
        hash.update(bytes);
    }
    hash.finalize().iter().fold(String::new(), |mut text, it| {
        write!(text, "{it:02x}").expect("a string takes every text");
        text
    })
}

#[test]
fn what_is_committed_was_built_from_these_sources() {
    let Some(root) = sources() else {
        eprintln!("SKIPPED: the sources of the page are not beside this crate");
        return;
    };
    let built = find("source.sha256").expect("the build notes what it was made from");
    assert_eq!(
        String::from_utf8_lossy(built.bytes).trim(),
        hash(&root),
        "crates/ui/dist is older than ui/: run `npm ci && npm run build` in ui/"
    );
}

#[test]
fn a_compressed_file_is_the_same_file() {
    for asset in all() {
        let mut plain = Vec::new();
        GzDecoder::new(asset.gzip).read_to_end(&mut plain).expect("it can be unpacked");
        assert!(plain == asset.bytes, "{}", asset.name);
    }
}

/// What the page asks for before it can draw anything.
fn first_load() -> Vec<&'static Asset> {
    let index = find("index.html").expect("there is a page");
    let text = std::str::from_utf8(index.bytes).expect("it is a text");
    let named = text.split('"').filter_map(|it| find(it.trim_start_matches("./")));
    std::iter::once(index).chain(named).collect()
}

#[test]
fn the_first_load_is_small() {
    let files = first_load();
    let bytes: usize = files.iter().map(|it| it.gzip.len()).sum();
    let names: Vec<&str> = files.iter().map(|it| it.name).collect();
    assert!(files.len() >= 3, "the page names its script and its style: {names:?}");
    assert!(files.len() <= 5, "{names:?}");
    assert!(bytes <= 120 * 1024, "{bytes} bytes in {names:?}");
}

#[test]
fn all_of_it_is_small() {
    let bytes: usize =
        all().iter().filter(|it| !it.name.starts_with(EDITORS)).map(|it| it.gzip.len()).sum();
    assert!(bytes <= 300 * 1024, "{bytes} bytes");
    for (name, most) in [("forms", 175), ("modeler", 480)] {
        let files = all().iter().filter(|it| it.name.starts_with(&format!("{EDITORS}{name}-")));
        let bytes: usize = files.map(|it| it.gzip.len()).sum();
        assert!(bytes <= most * 1024, "{bytes} bytes of {name}");
        assert_eq!(bytes > 0, cfg!(feature = "editors"), "{name}");
    }
}

fn is_script(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == "js")
}

/// The files that a script names, by where they are.
fn named(of: &Asset) -> Vec<String> {
    let text = std::str::from_utf8(of.bytes).expect("scripts are texts");
    let folder = of.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = Vec::new();
    for quote in ['"', '\'', '`'] {
        for name in text.split(quote).filter(|it| is_script(it)) {
            if let Some(name) = name.strip_prefix("./") {
                found.push(format!("{folder}/{name}").trim_start_matches('/').to_owned());
            } else if let Some(name) = name.strip_prefix("../") {
                found.push(name.to_owned());
            }
        }
    }
    found
}

#[test]
fn every_file_that_a_script_loads_is_there() {
    for asset in all().iter().filter(|it| is_script(it.name)) {
        for name in named(asset) {
            let left_out = cfg!(not(feature = "editors")) && name.starts_with(EDITORS);
            // Files beside the document are named from there.
            let there = find(&name).or_else(|| find(name.trim_start_matches("assets/")));
            assert!(left_out || there.is_some(), "{} loads {name}", asset.name);
        }
    }
}

#[test]
fn the_page_begins_without_editors() {
    for asset in all().iter().filter(|it| is_script(it.name) && !it.name.starts_with(EDITORS)) {
        let text = std::str::from_utf8(asset.bytes).expect("scripts are texts");
        let needs = |it: &&str| it.starts_with("../editors/") || it.starts_with("./editors/");
        let at_once = text.split("from").skip(1).filter_map(|it| it.get(1..)).find(|it| needs(it));
        assert!(at_once.is_none(), "{} needs editors at once: {at_once:?}", asset.name);
    }
}

#[test]
fn nothing_is_fetched_from_elsewhere() {
    let index = find("index.html").expect("there is a page");
    let text = std::str::from_utf8(index.bytes).expect("it is a text");
    assert!(!text.contains("://"), "the page names another host");
    assert!(!text.contains("<style") && !text.contains(" style="), "no style may be inline");
    let inline =
        text.split("<script").skip(1).any(|it| !it.starts_with(" src") && !it.contains("src="));
    assert!(!inline, "no script may be inline");
}
