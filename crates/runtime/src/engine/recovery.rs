//! Shards are read when an engine is opened, and when they were lost, and the views made again where they are damaged.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use travertine_func::Functions;
use travertine_store::{Claim, Error as StoreError, ShardId, Store};
use travertine_value::interrupt::{Interrupted, is_interrupted};

use super::{Observer, Options};
use crate::{Board, Definitions, Error, Opening, Recovered, Shard};

/// How many entries are read at once.
const PAGE: usize = 4_096;

/// What shards are read with.
pub(super) struct Recovery {
    pub(super) store: Arc<dyn Store>,
    functions: Arc<Functions>,
    options: Options,
    /// What this engine is called where it has claimed something. No other one is called so.
    pub(super) owner: String,
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

impl Recovery {
    pub(super) fn new(
        store: &Arc<dyn Store>,
        functions: &Arc<Functions>,
        options: &Options,
    ) -> Self {
        let by_chance = RandomState::new().hash_one(0);
        Self {
            store: Arc::clone(store),
            functions: Arc::clone(functions),
            options: options.clone(),
            owner: format!("process {}, engine {by_chance:016x}", std::process::id()),
        }
    }

    /// Claims all shards. Whoever had them writes nothing any more from then on, so that nothing that is read after that
    /// is about to change.
    pub(super) fn take_all(&self) -> Result<Vec<Claim>, Error> {
        let take = |it: u16| Ok(self.store.take(ShardId(it), &self.owner)?);
        (0..self.store.shards()).map(take).collect()
    }

    /// Reads all shards, which were claimed before anything was read. Views that cannot be read are thrown away: the log
    /// says the same. Where only those of one shard are damaged, the others keep theirs.
    pub(super) fn read(
        &self,
        claims: &[Claim],
        definitions: &Arc<Definitions>,
    ) -> Result<Read, Error> {
        match self.read_all(claims, definitions) {
            Err(error) if is_damage(&error) => {
                tracing::error!(%error, "the views of all shards are made again from the log");
                for claim in claims {
                    self.check_log(claim.shard)?;
                }
                self.store.reset_views(claims)?;
                Ok(Read { rebuilt: Some(error.to_string()), ..self.read_all(claims, definitions)? })
            }
            read => read,
        }
    }

    fn read_all(&self, claims: &[Claim], definitions: &Arc<Definitions>) -> Result<Read, Error> {
        let board = Arc::new(Board::new(self.options.limits.clone()));
        let (mut shards, mut found) = (Vec::new(), Vec::new());
        let mut rebuilt = None;
        for claim in claims {
            let (shard, recovered, why) = self.read_shard(*claim, definitions, &board)?;
            shards.push(shard);
            found.push(recovered);
            rebuilt = why.or(rebuilt);
        }
        Ok(Read { shards, found, board, rebuilt })
    }

    /// Reads one shard. Says why its views were made again, where they were.
    pub(super) fn read_shard(
        &self,
        claim: Claim,
        definitions: &Arc<Definitions>,
        board: &Arc<Board>,
    ) -> Result<(Shard, Recovered, Option<String>), Error> {
        let shard = claim.shard;
        let ((mut shard, recovered), rebuilt) = match self.try_read(claim, definitions, board) {
            Err(error) if is_damage(&error) => {
                tracing::error!(%error, %shard, "the views of a shard are made again from the log");
                self.check_log(shard)?;
                self.store.forget_views(&claim)?;
                board.clear(|it| ShardId::of(it.instance.0, self.store.shards()) == shard);
                (self.try_read(claim, definitions, board)?, Some(error.to_string()))
            }
            read => (read?, None),
        };
        if let Some(Observer(look)) = self.options.observer.clone() {
            shard.observe(move |seen| look(seen));
        }
        Ok((shard, recovered, rebuilt))
    }

    fn try_read(
        &self,
        claim: Claim,
        definitions: &Arc<Definitions>,
        board: &Arc<Board>,
    ) -> Result<(Shard, Recovered), Error> {
        let mut told = |done: u64, total: u64| {
            if is_interrupted() {
                Interrupted::unwind();
            }
            if let Some(progress) = &self.options.progress {
                (progress.0)(claim.shard, done, total);
            }
        };
        let opening = Opening {
            store: Arc::clone(&self.store),
            definitions: Arc::clone(definitions),
            functions: Arc::clone(&self.functions),
            board: Arc::clone(board),
            settings: self.options.settings.clone(),
            now: self.options.clock.now(),
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
