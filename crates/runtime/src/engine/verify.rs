//! Whether the views say what the log says.

use super::{Engine, Pending};
use crate::Error;

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
        self.flush_now()?;
        let shards = (0..self.shards()).map(travertine_store::ShardId);
        let asked: Vec<Pending<Verified>> =
            shards.map(|it| self.ask(it, crate::Shard::verify)).collect();
        let mut all = Verified::default();
        for pending in asked {
            all.add(pending.wait()?);
        }
        Ok(all)
    }
}
