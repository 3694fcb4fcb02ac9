//! Every store is held to the same promises, and the embedded one to more.

#![expect(clippy::unwrap_used, reason = "there are helpers of tests among them")]

mod away;
mod damage;
#[cfg(unix)]
mod files;
mod laws;
mod postgres;
#[cfg(unix)]
mod process;
mod sqlite;
mod suite;

use std::path::Path;

use travertine_store::{SqliteStore, sqlite::Options};

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir, &Options::default()).unwrap()
}
