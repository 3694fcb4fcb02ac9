//! The web page of Travertine, as it was built from `ui/`.
//!
//! What was built is committed in `dist`, so that a build of this crate needs neither Node nor a network. Who serves
//! it, and with which headers, is left to the server.

#![forbid(unsafe_code)]

/// Where the files are that only editors and forms need. Without the feature `editors` there are none.
pub const EDITORS: &str = "editors/";

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Where it is, below the page's own path.
    pub name: &'static str,
    /// What it is, as `Content-Type` says it.
    pub content_type: &'static str,
    /// The beginning of its SHA-256: another file has another.
    pub hash: &'static str,
    /// What is in it.
    pub bytes: &'static [u8],
    /// What is in it, compressed by gzip.
    pub gzip: &'static [u8],
}

impl Asset {
    /// Whether its name tells its content, so that a browser need never ask again.
    pub fn is_immutable(&self) -> bool {
        self.name.starts_with("assets/") || self.name.starts_with(EDITORS)
    }
}

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// All files, by name.
pub fn all() -> &'static [Asset] {
    ALL
}

/// The file of this name.
pub fn find(name: &str) -> Option<&'static Asset> {
    ALL.binary_search_by(|it| it.name.cmp(name)).ok().map(|at| &ALL[at])
}

#[cfg(test)]
mod tests;
