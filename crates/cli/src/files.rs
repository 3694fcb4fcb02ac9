//! The files that a command is given.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

/// Files and what is in them, in the order they were given.
#[derive(Debug)]
pub(crate) struct Models {
    all: Vec<(String, Vec<u8>)>,
}

impl Models {
    /// Reads them all. Every file that cannot be read is named, not the first.
    pub(crate) fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut all: Vec<(String, Vec<u8>)> = Vec::new();
        let mut faults = Vec::new();
        for path in paths {
            let name = path.display().to_string();
            if all.iter().any(|(known, _)| *known == name) {
                continue;
            }
            match fs::read(path) {
                Ok(bytes) => all.push((name, bytes)),
                Err(error) => faults.push(format!("cannot read {name}: {}", plain(&error))),
            }
        }
        if !faults.is_empty() {
            bail!(faults.join("\nerror: "));
        }
        Ok(Self { all })
    }

    /// A text that is no file, under a name for messages.
    pub(crate) fn of_text(name: &str, text: &str) -> Self {
        Self { all: vec![(name.to_owned(), text.as_bytes().to_vec())] }
    }

    /// The files as models of decisions.
    pub(crate) fn decisions(&self) -> travertine_dmn::Report {
        let files: Vec<(&str, &[u8])> =
            self.all.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        travertine_dmn::read(&files)
    }

    /// The files as processes, with the decisions among them for business rule tasks.
    pub(crate) fn report(&self) -> travertine_bpmn::Report {
        let files: Vec<(&str, &[u8])> =
            self.all.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        travertine_runtime::read_models(&files, &BTreeMap::new(), crate::clock::now())
    }

    /// A model that comes from elsewhere.
    pub(crate) fn of(name: String, bytes: Vec<u8>) -> Self {
        Self { all: vec![(name, bytes)] }
    }

    /// The files, to be deployed.
    pub(crate) fn files(&self) -> Vec<travertine_runtime::engine::File> {
        let file = |(name, body): &(String, Vec<u8>)| travertine_runtime::engine::File {
            name: name.clone(),
            body: body.clone(),
        };
        self.all.iter().map(file).collect()
    }

    /// The name and the content of the first of them.
    pub(crate) fn first(&self) -> (&str, &[u8]) {
        let (name, bytes) = self.all.first().expect("there is always a file");
        (name, bytes)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(name, _)| name.as_str())
    }

    /// The line of a file, counted from 1.
    pub(crate) fn source_line(&self, file: &str, line: u32) -> Option<String> {
        let (_, bytes) = self.all.iter().find(|(name, _)| name == file)?;
        let position = usize::try_from(line).ok()?.checked_sub(1)?;
        let line = bytes.split(|it| *it == b'\n').nth(position)?;
        let text = String::from_utf8_lossy(line);
        Some(text.trim_end_matches('\r').trim_start_matches('\u{feff}').to_owned())
    }
}

/// What people call the file.
pub(crate) fn title(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".to_owned();
    }
    path.display().to_string()
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        return Ok(text);
    }
    fs::read_to_string(path)
        .map_err(|error| anyhow::anyhow!("cannot read {}: {}", path.display(), plain(&error)))
}

/// The fault without the number that only programmers know.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
