//! The files that a command is given.

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use travertine_bpmn::{FILE_BYTES_MAX, Severity};
use travertine_runtime::{DeployedKind, kind_of};

use crate::caller;

/// The code of the warning that nobody knows a decision.
pub(crate) const NO_DECISION: &str = "TV0720";

/// Files and what is in them, in the order they were given.
#[derive(Debug)]
pub(crate) struct Models {
    all: Vec<(String, Vec<u8>)>,
    /// Where the lines of each begin, once somebody has asked.
    lines: OnceCell<HashMap<String, Vec<usize>>>,
}

impl Models {
    /// Reads them all. Every file that cannot be read is named, not the first.
    pub(crate) fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut all: Vec<(String, Vec<u8>)> = Vec::new();
        let mut faults = Vec::new();
        let mut known = HashSet::new();
        for path in paths {
            let name = path.display().to_string();
            if !known.insert(name.clone()) {
                continue;
            }
            match bytes(path) {
                // Models that are too large are reported with their place.
                Ok(bytes) if bytes.len() > FILE_BYTES_MAX && !kind_of(&name, &bytes).is_model() => {
                    let most = FILE_BYTES_MAX >> 20;
                    faults.push(format!("cannot read {name}: it is larger than {most} MiB"));
                }
                Ok(bytes) => all.push((name, bytes)),
                Err(error) => faults.push(format!("cannot read {name}: {}", plain(&error))),
            }
        }
        if !faults.is_empty() {
            bail!(faults.join("\nerror: "));
        }
        Ok(Self::new(all))
    }

    fn new(all: Vec<(String, Vec<u8>)>) -> Self {
        Self { all, lines: OnceCell::new() }
    }

    /// A text that is no file, under a name for messages.
    pub(crate) fn of_text(name: &str, text: &str) -> Self {
        Self::new(vec![(name.to_owned(), text.as_bytes().to_vec())])
    }

    /// The files as models of decisions.
    pub(crate) fn decisions(&self) -> travertine_dmn::Report {
        let files: Vec<(&str, &[u8])> =
            self.all.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        travertine_dmn::read(&files)
    }

    /// The files as processes and decisions.
    pub(crate) fn defined(&self) -> travertine_runtime::Models {
        let files: Vec<(&str, &[u8])> =
            self.all.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        travertine_runtime::read_models(&files, None, crate::clock::now())
    }

    /// The files as all that there is: a decision that is not among them will never be.
    pub(crate) fn defined_for_good(&self) -> travertine_runtime::Models {
        let mut defined = self.defined();
        let diagnostics = &mut defined.report.diagnostics;
        for it in diagnostics.iter_mut().filter(|it| it.code == NO_DECISION) {
            it.severity = Severity::Error;
        }
        defined
    }

    /// What there is to say about the files, and their processes.
    pub(crate) fn report(&self) -> travertine_bpmn::Report {
        self.defined().report
    }

    /// What is in the file of that name.
    pub(crate) fn kind(&self, name: &str) -> Option<DeployedKind> {
        let (_, bytes) = self.all.iter().find(|(known, _)| known == name)?;
        Some(kind_of(name, bytes))
    }

    /// Whether there is a model among the files.
    pub(crate) fn has_models(&self) -> bool {
        self.all.iter().any(|(name, bytes)| kind_of(name, bytes).is_model())
    }

    /// A model that comes from elsewhere.
    pub(crate) fn of(name: String, bytes: Vec<u8>) -> Self {
        Self::of_all(vec![(name, bytes)])
    }

    /// Models that come from elsewhere.
    pub(crate) fn of_all(all: Vec<(String, Vec<u8>)>) -> Self {
        Self::new(all)
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

    /// The line of a file, counted from 1. What is too long to be read by anybody is none.
    pub(crate) fn source_line(&self, file: &str, line: u32) -> Option<String> {
        let (_, bytes) = self.all.iter().find(|(name, _)| name == file)?;
        let begins = self.lines.get_or_init(|| self.begins()).get(file)?;
        let position = usize::try_from(line).ok()?.checked_sub(1)?;
        let begin = *begins.get(position)?;
        let end = begins.get(position + 1).map_or(bytes.len(), |it| it - 1);
        if end - begin > LINE_BYTES_MAX {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes[begin..end]);
        Some(text.trim_end_matches('\r').trim_start_matches('\u{feff}').to_owned())
    }

    /// Where each line of each file begins.
    fn begins(&self) -> HashMap<String, Vec<usize>> {
        let begins = |bytes: &[u8]| {
            let breaks = bytes.iter().enumerate().filter(|(_, it)| **it == b'\n');
            std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect()
        };
        self.all.iter().map(|(name, bytes)| (name.clone(), begins(bytes))).collect()
    }
}

/// A longer line is not shown: a file in one line would be copied for each thing that is said of it.
const LINE_BYTES_MAX: usize = 1 << 20;

/// What is in a file, as far as a model may go: some files have no end.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = FILE_BYTES_MAX as u64 + 1;
    fs::File::open(caller::path(path))?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
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
        return text_of(caller::stdin()).context("cannot read standard input");
    }
    let read = fs::File::open(caller::path(path)).and_then(text_of);
    read.map_err(|error| anyhow::anyhow!("cannot read {}: {}", path.display(), plain(&error)))
}

/// Far more than all variables of an instance may take.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// A text that ends.
fn text_of(source: impl io::Read) -> io::Result<String> {
    let mut text = String::new();
    source.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > TEXT_BYTES_MAX {
        let most = TEXT_BYTES_MAX >> 20;
        return Err(io::Error::other(format!("it is larger than {most} MiB")));
    }
    Ok(text)
}

/// The fault without the number that only programmers know.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
