//! When nothing goes on by itself any more.

use std::{collections::BTreeMap, future::Future, sync::atomic::Ordering, thread, time::Duration};

use travertine_store::{Mail, Seq, ShardId, codec::record::decode_letter};
use travertine_value::{Name, patience::Patience};

use super::{Engine, Pending};
use crate::{
    Error, InstanceId, Timestamp,
    request::{Glance, GlanceRequest},
};

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(1);

impl Engine {
    /// Waits until nothing goes on by itself any more: what was asked is done, what instances sent each
    /// other has come, no timer is due. Says whether that was so within the time.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// # use std::time::Duration;
    /// let engine = Engine::in_memory(Options::default())?;
    /// assert!(engine.settle(Duration::from_mins(1))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn settle(&self, within: Duration) -> Result<bool, Error> {
        Ok(self.settle_but_restless(within, |_| false)?.rests)
    }

    /// Waits until nothing goes on by itself any more, but not for instances that do not come to rest where
    /// nothing else is left to do and `may_go` says so.
    #[doc(hidden)] // For the command line.
    pub fn settle_but_restless(
        &self,
        within: Duration,
        may_go: impl Fn(&[InstanceId]) -> bool,
    ) -> Result<Settled, Error> {
        let mut patience = Patience::new(within);
        let mut before = None;
        let mut only_restless = false;
        loop {
            // A shard whose store is full does not answer.
            let looks: Option<Vec<_>> =
                self.looks().into_iter().map(|it| it.wait_for(&mut patience)).collect();
            let (restless, throttled) = looks.as_deref().map(hurried).unwrap_or_default();
            let rest = looks.map_or(Ok(None), |looks| self.shards_rest(looks, false))?;
            // What one shard sent while another was asked shows in the second look.
            if rest.is_some() && rest == before {
                let (restless, throttled) = (Vec::new(), Vec::new());
                return Ok(Settled { rests: true, restless, throttled });
            }
            let over = patience.is_over();
            let hurries = !restless.is_empty() || !throttled.is_empty();
            let again = std::mem::replace(&mut only_restless, hurries);
            if over || (again && only_restless && may_go(&restless)) {
                return Ok(Settled { rests: false, restless, throttled });
            }
            if rest.is_none() {
                thread::sleep(PAUSE);
            }
            before = rest;
        }
    }

    /// The instances that do not come to rest, where they are all there is to do, as far as the shards say
    /// within the time.
    #[doc(hidden)] // For the command line.
    pub fn restless(&self, within: Duration) -> Vec<InstanceId> {
        self.hurried(within).0
    }

    /// The definitions of which starts wait, since more would begin than may in a second, and how many wait, as
    /// far as the shards say within the time. Of an engine at rest, all that are on their way.
    #[doc(hidden)] // For the command line.
    pub fn throttled(&self, within: Duration) -> Vec<(Name, u64)> {
        self.hurried(within).1
    }

    fn hurried(&self, within: Duration) -> Hurried {
        let mut patience = Patience::new(within);
        let looks: Option<Vec<_>> =
            self.looks().into_iter().map(|it| it.wait_for(&mut patience)).collect();
        looks.as_deref().map(hurried).unwrap_or_default()
    }

    /// Answers when nothing goes on by itself any more, except for what workers of this process have
    /// in hand, with what can make it go on.
    #[doc(hidden)] // For `travertine::testing`, whose clock moves when nothing goes on.
    pub async fn rest(&self) -> Result<Rest, Error> {
        let mut before = None;
        loop {
            let mut looks = Vec::new();
            for pending in self.looks() {
                looks.push(pending.await);
            }
            let shards = self.shards_rest(looks, true)?;
            let (jobs, at_work) = self.inner.common.board.ready_and_at_work();
            let found = shards.map(|shards| {
                let due = shards.iter().filter_map(|(_, due)| *due).min();
                (shards, Rest { due, jobs, at_work })
            });
            // What one shard sent while another was asked shows in the second look.
            match found {
                Some(found) if before.as_ref() == Some(&found) => return Ok(found.1),
                found => before = found,
            }
            tokio::task::yield_now().await;
        }
    }

    /// Ends when a worker of this process, after the call, has one job less in hand.
    #[doc(hidden)] // For `travertine::testing`, whose clock moves when nothing goes on.
    pub fn worked(&self) -> impl Future<Output = ()> + Send + '_ {
        self.inner.common.board.worked()
    }

    fn looks(&self) -> Vec<Pending<Glance>> {
        self.router().ask_each(&GlanceRequest {})
    }

    /// The last entry of each shard and when it has something to do, where all of them rest. Starts that wait for
    /// another second count as something that goes on, unless `waits`.
    fn shards_rest(
        &self,
        looks: Vec<Result<Glance, Error>>,
        waits: bool,
    ) -> Result<Option<Vec<Resting>>, Error> {
        let mut shards = Vec::new();
        let mut rests = true;
        let mut waiting = Vec::new();
        for look in looks {
            let look = look?;
            rests &= !look.is_busy;
            shards.push((look.seq, look.due));
            waiting.push(if waits { look.waiting } else { 0 });
        }
        for (shard, waiting) in (0..self.shards()).map(ShardId).zip(waiting) {
            // One that cannot be read stays.
            let left = |it: &&Mail| decode_letter(&it.body).is_ok();
            rests = rests
                && (self.inner.at_rest.load(Ordering::SeqCst)
                    || self.store().inbox(shard, &[], usize::MAX)?.iter().filter(left).count()
                        <= waiting);
        }
        Ok(rests.then_some(shards))
    }
}

/// The instances that do not come to rest, where they are all there is to do, and the definitions of which starts
/// wait, and how many.
type Hurried = (Vec<InstanceId>, Vec<(Name, u64)>);

fn hurried(looks: &[Result<Glance, Error>]) -> Hurried {
    let mut throttled: BTreeMap<Name, u64> = BTreeMap::new();
    for (name, count) in looks.iter().flatten().flat_map(|it| &it.throttled) {
        *throttled.entry(Name::clone(name)).or_default() += count;
    }
    let throttled = throttled.into_iter().collect();
    let mut restless = Vec::new();
    for look in looks.iter().flatten() {
        match &look.restless {
            Some(it) => restless.extend(it),
            None if look.is_busy => return (Vec::new(), throttled),
            None => {}
        }
    }
    (restless, throttled)
}

/// Whether nothing goes on by itself any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Whether that is so.
    pub rests: bool,
    /// The instances that do not come to rest, where nothing else was left to do.
    pub restless: Vec<InstanceId>,
    /// The definitions of which more starts wait than may begin in a second, and how many.
    pub throttled: Vec<(Name, u64)>,
}

/// Of a shard that rests: its last entry, and when it has something to do.
type Resting = (Seq, Option<Timestamp>);

/// What can make an engine go on that has nothing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// When the next timer, pause or expiry is due.
    pub due: Option<Timestamp>,
    /// The jobs that anyone may take, by type, and how many of each. What its limit keeps back is not
    /// among them.
    pub jobs: Vec<(Name, usize)>,
    /// How many jobs and activities workers of this process have in hand.
    pub at_work: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_do_not_come_to_rest_only_where_they_are_all_there_is_to_do_anywhere() {
        let look = |is_busy: bool, restless: Option<u64>| {
            let restless = restless.map(|it| vec![InstanceId(it)]);
            let throttled = vec![("p".into(), 2)];
            let (seq, due, waiting, watched) = (1, None, 0, 0);
            Ok(Glance { is_busy, seq, due, restless, throttled, waiting, watched })
        };
        let restless = |looks: &[Result<Glance, Error>]| {
            let (restless, throttled) = hurried(looks);
            assert_eq!(throttled, [("p".into(), 2 * looks.len() as u64)]);
            restless
        };
        let both = restless(&[look(true, Some(1)), look(true, Some(2))]);
        assert_eq!(both, [InstanceId(1), InstanceId(2)]);
        assert_eq!(restless(&[look(true, Some(1)), look(false, None)]), [InstanceId(1)]);
        assert_eq!(restless(&[look(true, Some(1)), look(true, None)]), []);
    }
}
