//! All shards are read when an engine is opened, and the views made again where they are damaged.

use std::sync::Arc;

use travertine_func::Functions;
use travertine_store::{Error as StoreError, ShardId, Store};

use super::{Observer, Options};
use crate::{Board, Definitions, Error, Opening, Recovered, Shard};

/// How many entries are read at once.
const PAGE: usize = 4_096;

/// What shards are read with.
pub(super) struct Recovery<'a> {
    pub(super) store: &'a Arc<dyn Store>,
    pub(super) definitions: &'a Arc<Definitions>,
    pub(super) functions: &'a Arc<Functions>,
}

/// All shards as the store has them.
pub(super) struct Read {
    pub(super) shards: Vec<Shard>,
    pub(super) found: Vec<Recovered>,
    /// The jobs that they have put up.
    pub(super) board: Arc<Board>,
    /// Why the views were made again, where they were.
    pub(super) rebuilt: Option<String>,
}

impl Recovery<'_> {
    /// Claims and reads all shards. Views that cannot be read are thrown away: the log says the same.
    pub(super) fn read(&self, options: &Options) -> Result<Read, Error> {
        match self.read_shards(options) {
            Err(
                error @ (Error::DamagedViews { .. }
                | Error::Store(
                    StoreError::DamagedViews { .. } | StoreError::DamagedRow { .. },
                )),
            ) => {
                tracing::error!(%error, "the views are made again from the log");
                self.check_log()?;
                self.store.forget_views()?;
                Ok(Read { rebuilt: Some(error.to_string()), ..self.read_shards(options)? })
            }
            read => read,
        }
    }

    fn ids(&self) -> impl Iterator<Item = ShardId> + use<> {
        (0..self.store.shards()).map(ShardId)
    }

    fn read_shards(&self, options: &Options) -> Result<Read, Error> {
        let board = Arc::new(Board::new(options.limits.clone()));
        let owner = format!("process {}", std::process::id());
        let (mut shards, mut found) = (Vec::new(), Vec::new());
        for id in self.ids() {
            let mut told = |done: u64, total: u64| {
                if let Some(progress) = &options.progress {
                    (progress.0)(id, done, total);
                }
            };
            let opening = Opening {
                store: Arc::clone(self.store),
                owner: &owner,
                definitions: Arc::clone(self.definitions),
                functions: Arc::clone(self.functions),
                board: Arc::clone(&board),
                settings: options.settings.clone(),
                now: options.clock.now(),
            };
            let (mut shard, recovered) = Shard::recover(id, opening, &mut told)?;
            if let Some(Observer(look)) = options.observer.clone() {
                shard.observe(move |seen| look(seen));
            }
            shards.push(shard);
            found.push(recovered);
        }
        Ok(Read { shards, found, board, rebuilt: None })
    }

    /// Reads all logs, so that views are not thrown away for a log that cannot be read.
    fn check_log(&self) -> Result<(), Error> {
        for id in self.ids() {
            self.store.check_log(id)?;
            let mut after = 0;
            while let Some(last) = self.store.entries(id, after, PAGE)?.last() {
                after = last.seq;
            }
        }
        Ok(())
    }
}
