//! Whether the views say what the log says.

use super::{Engine, Pending};
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
        self.flush_now()?;
        // Damage shows here, before what is damaged is made again because someone reads it.
        let mut all = Verified::default();
        for what in self.store().check()? {
            all.differences.push(Difference { instance: InstanceId(0), what });
        }
        let shards = (0..self.shards()).map(travertine_store::ShardId);
        let asked: Vec<Pending<Verified>> =
            shards.map(|it| self.ask(it, crate::Shard::verify)).collect();
        for pending in asked {
            all.add(pending.wait()?);
        }
        Ok(all)
    }
}
