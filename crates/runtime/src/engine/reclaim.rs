//! Shards that were lost are claimed and read again, until they are here or somebody else has them.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use travertine_store::{Claim, Claiming, Error as StoreError, MailId, ShardId};
use travertine_value::interrupt::{Interrupted, interrupt_by};

use super::{
    metrics::add,
    queue::Taken,
    recovery::Recovery,
    threads::{Common, Input, Signal, refuse_all},
};
use crate::{Error, Shard, shard::panic_text};

/// A shard that is lost again within so long is claimed again later than one that has been lost for the first time.
const AT_PEACE: Duration = Duration::from_mins(1);

/// Claims shards again that were lost, until the engine ends.
pub(super) fn reclaim(common: &Common, recovery: Recovery) {
    interrupt_by(Arc::clone(&common.stopping));
    let mut reclaimer = Reclaimer::new(recovery);
    while common.goes_on() {
        reclaimer.hear(common);
        reclaimer.act(common);
    }
}

/// What claims shards again. It hears which are lost, and tries to have them back, each after a while.
pub(super) struct Reclaimer {
    recovery: Recovery,
    absent: Vec<Absent>,
    /// When those came that were lost before, and how often it was tried in vain.
    came: BTreeMap<ShardId, (Instant, u32)>,
    heard: [Taken<ShardId, ()>; 1],
}

/// A shard that is lost.
struct Absent {
    shard: ShardId,
    since: Instant,
    /// How often in a row it was lost again, or could not be had.
    failed: u32,
    next: Instant,
    /// Whether requests to it are refused.
    is_shut: bool,
}

impl Reclaimer {
    pub(super) fn new(recovery: Recovery) -> Self {
        let (absent, came) = (Vec::new(), BTreeMap::new());
        Self { recovery, absent, came, heard: [Taken::default()] }
    }

    /// Whether no shard is lost that it knows of.
    #[cfg(test)]
    pub(super) fn has_nothing(&self) -> bool {
        self.absent.is_empty()
    }

    /// Hears which shards are lost, or that time has come to do something about those that it knows of.
    pub(super) fn hear(&mut self, common: &Common) {
        let now = Instant::now();
        let due = |it: &Absent| {
            let shuts = (!it.is_shut).then(|| it.since + common.patience);
            shuts.map_or(it.next, |shuts| it.next.min(shuts)).saturating_duration_since(now)
        };
        let pause = self.absent.iter().map(due).min();
        common.lost.take(&mut self.heard, pause);
        let [heard] = &mut self.heard;
        heard.signals.clear();
        let now = Instant::now();
        for shard in heard.items.drain(..) {
            let before = self.came.remove(&shard).filter(|(came, _)| came.elapsed() < AT_PEACE);
            let failed = before.map_or(0, |(_, failed)| failed + 1);
            let next = now + delay(common, failed);
            self.absent.push(Absent { shard, since: now, failed, next, is_shut: false });
        }
    }

    /// Claims again what may be claimed now.
    pub(super) fn act(&mut self, common: &Common) {
        for mut it in std::mem::take(&mut self.absent) {
            if !common.goes_on() {
                return;
            }
            if it.next <= Instant::now() {
                match self.try_open(common, &it) {
                    Ok(shard) => {
                        self.came.insert(it.shard, (Instant::now(), it.failed));
                        come(common, shard);
                        continue;
                    }
                    Err(
                        error
                        @ Error::Store(StoreError::Stale { .. } | StoreError::Poisoned { .. }),
                    ) => {
                        common.lose(it.shard, &error);
                        continue;
                    }
                    Err(error) => {
                        it.failed += 1;
                        it.next = Instant::now() + delay(common, it.failed);
                        tracing::warn!(shard = %it.shard, %error, "a shard cannot be claimed again yet");
                    }
                }
            }
            it.is_shut |= it.since.elapsed() >= common.patience;
            if it.is_shut {
                let error = common.refusal(it.shard);
                refuse_all(common.queue(it.shard).shut(error.clone()), &error);
            }
            self.absent.push(it);
        }
    }

    /// Claims and reads a shard. A panic is as good as an error.
    fn try_open(&self, common: &Common, it: &Absent) -> Result<Shard, Error> {
        // What others tell it from now on it hears when it comes; what they have told before it reads.
        common.queue(it.shard).unlock();
        match catch_unwind(AssertUnwindSafe(|| self.open(common, it.shard))) {
            Ok(opened) => opened,
            Err(panic) if panic.is::<Interrupted>() => {
                Err(Error::Closed { reason: "it was shut down".to_owned() })
            }
            Err(panic) => {
                let reason = format!("the engine failed: {}", panic_text(&*panic));
                Err(Error::Failed { reason })
            }
        }
    }

    fn open(&self, common: &Common, id: ShardId) -> Result<Shard, Error> {
        let began = Instant::now();
        common.clear_jobs(id);
        let claim = self.claim(common, id)?;
        common.claims.set(claim);
        let (definitions, coming) = {
            let current = common.current();
            (current.told(), current.coming())
        };
        let (mut shard, found, _) = self.recovery.read_shard(claim, &definitions, &common.board)?;
        if let Some(coming) = coming {
            shard.expect(&coming);
        }
        self.tell_others(common, id)?;
        let took = began.elapsed();
        tracing::info!(shard = %id, entries = found.entries, ?took, "a shard was claimed again");
        Ok(shard)
    }

    /// Claims a shard, unless somebody else has it now.
    fn claim(&self, common: &Common, id: ShardId) -> Result<Claim, StoreError> {
        let Recovery { store, owner, .. } = &self.recovery;
        let Claim { epoch, .. } = common.claims.get(id);
        match store.claim(id, Claiming::If { owner, epoch }) {
            Err(stale @ StoreError::Stale { .. }) => {
                // It may be our own claim that stands in the way: one of which no answer came.
                let now = store.owners()?.into_iter().nth(usize::from(id.0));
                let ours = now.filter(|it| it.name.as_ref() == Some(owner)).ok_or(stale)?;
                Ok(store.claim(id, Claiming::If { owner, epoch: ours.epoch })?.claim)
            }
            claimed => Ok(claimed?.claim),
        }
    }

    /// Tells others what the shard has sent them: it may have been lost before it could.
    fn tell_others(&self, common: &Common, id: ShardId) -> Result<(), Error> {
        let shards = self.recovery.store.shards();
        let others = || (0..shards).map(ShardId).filter(|it| *it != id);
        // Nothing of what these have sent.
        let after: Vec<MailId> =
            others().map(|from| MailId { from, number: u64::MAX >> 1 }).collect();
        for other in others() {
            for mail in self.recovery.store.inbox(other, &after, usize::MAX)? {
                // One that is lost, too, reads it when it comes.
                drop(common.queue(other).tell(Input::Mail(mail)));
            }
        }
        Ok(())
    }
}

/// How long to wait before a shard is claimed that could not be had so often.
fn delay(common: &Common, failed: u32) -> Duration {
    if failed == 0 { Duration::ZERO } else { common.storage_retry.delay(failed) }
}

/// A shard is here again: its lane goes on with it.
fn come(common: &Common, shard: Shard) {
    let claim = shard.claim();
    add(&common.counters.shards_claimed_again, 1);
    common.claims.found(claim);
    let way = common.queue(claim.shard);
    way.open(|| common.goes_on());
    way.signal(Signal::Came(Box::new(shard)));
}
