//! When nothing goes on by itself any more.

use std::{
    thread,
    time::{Duration, Instant},
};

use travertine_store::{Seq, ShardId};

use super::{Engine, Pending};
use crate::Error;

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(1);

impl Engine {
    /// Waits until nothing goes on by itself any more: what was asked is done, what instances sent each
    /// other has come, no timer is due. Says whether that was so within the time.
    pub fn settle(&self, within: Duration) -> Result<bool, Error> {
        let began = Instant::now();
        let mut before = None;
        loop {
            let rest = self.rest()?;
            // What one shard sent while another was asked shows in the second look.
            if rest.is_some() && rest == before {
                return Ok(true);
            }
            if began.elapsed() > within {
                return Ok(false);
            }
            if rest.is_none() {
                thread::sleep(PAUSE);
            }
            before = rest;
        }
    }

    /// The last entry of each shard, where all of them rest.
    fn rest(&self) -> Result<Option<Vec<Seq>>, Error> {
        let shards = || (0..self.shards()).map(ShardId);
        let asked: Vec<Pending<(bool, Seq)>> =
            shards().map(|it| self.ask(it, |shard| Ok((shard.is_busy(), shard.seq())))).collect();
        let mut last = Vec::new();
        let mut rests = true;
        for pending in asked {
            let (busy, seq) = pending.wait()?;
            rests &= !busy;
            last.push(seq);
        }
        for shard in shards() {
            rests = rests && self.store().inbox(shard)?.is_empty();
        }
        Ok(rests.then_some(last))
    }
}
