//! Whether the views say what the log says.

use std::sync::Arc;

use travertine_store::ShardId;

use super::{Engine, Pending, Progress};
use crate::{Error, InstanceId};

pub use crate::shard::{Difference, Verified};

impl Engine {
    /// Replays everything and compares it with the views. Each shard stands still meanwhile.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// assert_eq!(engine.verify()?.differences, []);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn verify(&self) -> Result<Verified, Error> {
        self.verify_told(&Progress(Arc::new(|_, _, _| {})))
    }

    /// The same, and says how far it is: each entry is read twice.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::{Options, Progress};
    /// # use std::sync::Arc;
    /// let engine = Engine::in_memory(Options::default())?;
    /// let progress = Progress(Arc::new(|shard, read, all| println!("{shard:?}: {read} of {all}")));
    /// assert_eq!(engine.verify_told(&progress)?.differences, []);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn verify_told(&self, progress: &Progress) -> Result<Verified, Error> {
        self.flush_now()?;
        // Damage shows here, before what is damaged is made again because someone reads it.
        let mut all = Verified::default();
        for what in self.store().check()? {
            all.differences.push(Difference { instance: InstanceId(0), what });
        }
        let shards = (0..self.shards()).map(ShardId);
        let asked: Vec<Pending<Verified>> =
            shards.map(|it| self.verify_shard(it, progress.clone())).collect();
        for pending in asked {
            all.add(pending.wait()?);
        }
        Ok(all)
    }

    fn verify_shard(&self, id: ShardId, progress: Progress) -> Pending<Verified> {
        self.ask(id, move |shard| shard.verify(&mut |done, total| (progress.0)(id, done, total)))
    }
}
