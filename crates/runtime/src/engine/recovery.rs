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
    /// Claims and reads all shards. Views that cannot be read are thrown away: the log says the same. Where only
    /// those of one shard are damaged, the others keep theirs.
    pub(super) fn read(&self, options: &Options) -> Result<Read, Error> {
        match self.read_shards(options) {
            Err(error) if is_damage(&error) => {
                tracing::error!(%error, "the views of all shards are made again from the log");
                for id in self.ids() {
                    self.check_log(id)?;
                }
                self.store.reset_views()?;
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
        let mut rebuilt = None;
        for id in self.ids() {
            let (mut shard, recovered) = match self.read_shard(id, &owner, &board, options) {
                Err(error) if is_damage(&error) => {
                    tracing::error!(%error, shard = %id, "the views of a shard are made again from the log");
                    self.check_log(id)?;
                    self.store.forget_views(&self.store.take(id, &owner)?)?;
                    board.clear(|it| ShardId::of(it.instance.0, self.store.shards()) == id);
                    rebuilt = Some(error.to_string());
                    self.read_shard(id, &owner, &board, options)?
                }
                read => read?,
            };
            if let Some(Observer(look)) = options.observer.clone() {
                shard.observe(move |seen| look(seen));
            }
            shards.push(shard);
            found.push(recovered);
        }
        Ok(Read { shards, found, board, rebuilt })
    }

    fn read_shard(
        &self,
        id: ShardId,
        owner: &str,
        board: &Arc<Board>,
        options: &Options,
    ) -> Result<(Shard, Recovered), Error> {
        let mut told = |done: u64, total: u64| {
            if let Some(progress) = &options.progress {
                (progress.0)(id, done, total);
            }
        };
        let opening = Opening {
            store: Arc::clone(self.store),
            owner,
            definitions: Arc::clone(self.definitions),
            functions: Arc::clone(self.functions),
            board: Arc::clone(board),
            settings: options.settings.clone(),
            now: options.clock.now(),
        };
        Shard::recover(id, opening, &mut told)
    }

    /// Reads a log, so that views are not thrown away for one that cannot be read.
    fn check_log(&self, shard: ShardId) -> Result<(), Error> {
        self.store.check_log(shard)?;
        let mut after = 0;
        while let Some(last) = self.store.entries(shard, after, PAGE)?.last() {
            after = last.seq;
        }
        Ok(())
    }
}

/// Whether views cannot be read.
fn is_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::DamagedViews { .. }
            | Error::Store(StoreError::DamagedViews { .. } | StoreError::DamagedRow { .. })
    )
}
