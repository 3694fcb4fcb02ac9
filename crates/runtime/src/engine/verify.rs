//! Whether the views say what the log says.

use std::sync::Arc;

use tokio::sync::oneshot;
use travertine_store::ShardId;

use super::{Engine, Pending, Progress};
use crate::{
    Error, InstanceId,
    request::{Ask, Relay, Reply, VerifyRequest},
};

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

    /// Replays everything, compares it with the views, and says how far it is: each entry is read twice.
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
        let shards = self.router().shards();
        let asked: Vec<Pending<Verified>> =
            shards.map(|it| self.verify_shard(it, progress.clone())).collect();
        for pending in asked {
            all.add(pending.wait()?);
        }
        Ok(all)
    }

    fn verify_shard(&self, shard: ShardId, progress: Progress) -> Pending<Verified> {
        let (sender, receiver) = oneshot::channel();
        let told = Box::new(Told { shard, progress, sender });
        match self.router().relay_at(shard, VerifyRequest {}, told) {
            Ok(()) => Pending::new(receiver, &self.inner.common, VerifyRequest::reply),
            Err(error) => Pending::refused(error),
        }
    }
}

/// Who is told how far a shard is, and then what it has found.
#[derive(Debug)]
struct Told {
    shard: ShardId,
    progress: Progress,
    sender: oneshot::Sender<Result<Reply, Error>>,
}

impl Relay for Told {
    fn relay(self: Box<Self>, reply: Result<Reply, Error>) {
        // Whoever asked may not wait any more.
        let _: Result<(), Result<Reply, Error>> = self.sender.send(reply);
    }

    fn progress(&self, read: u64, all: u64) {
        (self.progress.0)(self.shard, read, all);
    }
}
