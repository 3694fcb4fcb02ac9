//! Restarts between the steps of a case: nothing may be lost by them, whatever a world is read from.

use std::{path::PathBuf, sync::Arc};

use travertine_runtime::{Error, Sandbox, Settings};
use travertine_store::{MemoryStore, SqliteStore, Store, sqlite};

use crate::clock::DAWN;

/// Whether the world is restarted between any two steps of a case, and what it is then read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Restarts {
    /// It is not.
    #[default]
    None,
    /// From the log.
    Log,
    /// From the views, with a snapshot of each instance.
    Views,
    /// From the views and the log of each instance, without snapshots.
    Chains,
    /// From views and log in a folder of this one, named after the case.
    Directory(PathBuf),
}

impl Restarts {
    /// A world of that kind.
    pub(super) fn sandbox(&self, case: &str) -> Sandbox {
        let store: Arc<dyn Store> = match self {
            Self::None => return Sandbox::new(DAWN),
            Self::Log | Self::Views | Self::Chains => Arc::new(MemoryStore::new(1)),
            Self::Directory(dir) => {
                let options = sqlite::Options { shards: 1, ..sqlite::Options::default() };
                let store = SqliteStore::open(dir.join(case.replace('/', "-")), &options);
                Arc::new(store.unwrap_or_else(|error| panic!("{error}")))
            }
        };
        let snapshot_bytes = if *self == Self::Chains { usize::MAX } else { 0 };
        let settings = Settings { turns_max: u32::MAX, snapshot_bytes, ..Settings::default() };
        Sandbox::on(store, settings, DAWN).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(super) fn restart(&self, sandbox: &mut Sandbox) -> Result<(), Error> {
        match self {
            Self::None => return Ok(()),
            Self::Log => {}
            Self::Views | Self::Chains | Self::Directory(_) => sandbox.checkpoint()?,
        }
        sandbox.restart()
    }
}
