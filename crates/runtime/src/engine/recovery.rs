//! All shards are read when an engine is opened, and the views made again where they are damaged.

use std::sync::Arc;

use travertine_func::Functions;
use travertine_store::{Claim, Error as StoreError, ShardId, Store};

use super::{Observer, Options};
use crate::{Board, Definitions, Error, Opening, Recovered, Shard};

/// How many entries are read at once.
const PAGE: usize = 4_096;

/// Claims all shards of a store. Whoever had them writes nothing any more from then on, so that nothing that is read
/// after that is about to change.
pub(super) fn take_all(store: &dyn Store) -> Result<Vec<Claim>, Error> {
    let owner = format!("process {}", std::process::id());
    (0..store.shards()).map(|it| Ok(store.take(ShardId(it), &owner)?)).collect()
}

/// What shards are read with.
pub(super) struct Recovery<'a> {
    pub(super) store: &'a Arc<dyn Store>,
    /// The claims of all shards, made before anything was read.
    pub(super) claims: &'a [Claim],
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
    /// Reads all shards. Views that cannot be read are thrown away: the log says the same. Where only
    /// those of one shard are damaged, the others keep theirs.
    pub(super) fn read(&self, options: &Options) -> Result<Read, Error> {
        match self.read_shards(options) {
            Err(error) if is_damage(&error) => {
                tracing::error!(%error, "the views of all shards are made again from the log");
                for claim in self.claims {
                    self.check_log(claim.shard)?;
                }
                self.store.reset_views(self.claims)?;
                Ok(Read { rebuilt: Some(error.to_string()), ..self.read_shards(options)? })
            }
            read => read,
        }
    }

    fn read_shards(&self, options: &Options) -> Result<Read, Error> {
        let board = Arc::new(Board::new(options.limits.clone()));
        let (mut shards, mut found) = (Vec::new(), Vec::new());
        let mut rebuilt = None;
        for claim in self.claims {
            let id = claim.shard;
            let (mut shard, recovered) = match self.read_shard(*claim, &board, options) {
                Err(error) if is_damage(&error) => {
                    tracing::error!(%error, shard = %id, "the views of a shard are made again from the log");
                    self.check_log(id)?;
                    self.store.forget_views(claim)?;
                    board.clear(|it| ShardId::of(it.instance.0, self.store.shards()) == id);
                    rebuilt = Some(error.to_string());
                    self.read_shard(*claim, &board, options)?
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
        claim: Claim,
        board: &Arc<Board>,
        options: &Options,
    ) -> Result<(Shard, Recovered), Error> {
        let mut told = |done: u64, total: u64| {
            if let Some(progress) = &options.progress {
                (progress.0)(claim.shard, done, total);
            }
        };
        let opening = Opening {
            store: Arc::clone(self.store),
            definitions: Arc::clone(self.definitions),
            functions: Arc::clone(self.functions),
            board: Arc::clone(board),
            settings: options.settings.clone(),
            now: options.clock.now(),
        };
        Shard::recover(claim, opening, &mut told)
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
