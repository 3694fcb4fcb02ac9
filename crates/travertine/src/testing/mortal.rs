//! A store whose user dies at a certain append.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use travertine_store::{
    Batch, Claim, Deployment, Entry, Error, Fold, Mail, MemoryStore, Seq, ShardId, Store,
    view::{Change, InstanceRow, Page, Query, Row, Table},
};

use super::log;

/// When someone dies: at a step of an instance, which is an entry of the log that is about it. What one
/// instance goes through does not depend on what others do meanwhile, so steps are the same each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Death {
    pub(super) side: Side,
    /// The instance; 0 for the shard itself.
    pub(super) instance: u64,
    /// Which of its entries, from 1.
    pub(super) step: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// What would have been written is lost.
    Before,
    /// It is written, and nobody was told.
    After,
}

/// A store around another, until its user dies. From then on it takes nothing.
#[derive(Debug)]
pub(super) struct Mortal {
    store: Arc<MemoryStore>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    death: Option<Death>,
    /// How many steps the instance that is part of the plan has made.
    steps: usize,
    died: Option<Died>,
    /// Whether that was because the test said so, and not the plan.
    told: bool,
}

/// How someone died.
#[derive(Clone, Debug)]
pub(super) struct Died {
    /// When, in words.
    pub(super) at: String,
    /// The last step of the instance in the plan that was lost, or not told: what is written at once
    /// can hold several.
    pub(super) step: usize,
}

impl Mortal {
    pub(super) fn new(store: &Arc<MemoryStore>, death: Option<Death>) -> Self {
        let state = State { death, steps: 0, died: None, told: false };
        Self { store: Arc::clone(store), state: Mutex::new(state) }
    }

    /// One that can be used again. What was planned and has not come is still to come.
    pub(super) fn reborn(&self) -> Self {
        let State { death, steps, told, .. } = *self.state();
        let state = State { death: death.filter(|_| told), steps, died: None, told: false };
        Self { store: Arc::clone(&self.store), state: Mutex::new(state) }
    }

    /// Whether it died as planned.
    pub(super) fn died_as_planned(&self) -> bool {
        let state = self.state();
        state.died.is_some() && !state.told
    }

    /// How it died, where it did.
    pub(super) fn died(&self) -> Option<Died> {
        self.state().died.clone()
    }

    /// It dies now.
    pub(super) fn die(&self) {
        let mut state = self.state();
        if state.died.is_none() {
            state.told = true;
            state.died = Some(Died { at: "when it was told to".to_owned(), step: state.steps });
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write<T>(&self, write: impl FnOnce(&MemoryStore) -> Result<T, Error>) -> Result<T, Error> {
        // Held while it writes: nothing is written by the dead.
        let state = self.state();
        if state.died.is_some() { Err(dead()) } else { write(&self.store) }
    }
}

fn dead() -> Error {
    Error::Poisoned { reason: "the engine has crashed, as the test wants it".to_owned() }
}

impl Store for Mortal {
    fn shards(&self) -> u16 {
        self.store.shards()
    }

    fn claim(&self, shard: ShardId, owner: &str) -> Result<Claim, Error> {
        self.write(|it| it.claim(shard, owner))
    }

    fn append(&self, batches: &[Batch]) -> Result<(), Error> {
        let mut state = self.state();
        if state.died.is_some() {
            return Err(dead());
        }
        let Some(Death { side, instance, step }) = state.death else {
            return self.store.append(batches);
        };
        let entries = batches.iter().flat_map(|it| &it.entries);
        let before = state.steps;
        state.steps += entries.filter(|it| it.instance == instance).count();
        if !(before + 1..=state.steps).contains(&step) {
            return self.store.append(batches);
        }
        let what = log::in_words(&*self.store, batches);
        let side = match side {
            Side::Before => "before",
            Side::After => {
                self.store.append(batches)?;
                "after"
            }
        };
        let at = format!("{side} it is written that {what}");
        state.died = Some(Died { at, step: state.steps });
        Err(dead())
    }

    fn entries(&self, shard: ShardId, after: Seq, limit: usize) -> Result<Vec<Entry>, Error> {
        self.store.entries(shard, after, limit)
    }

    fn last(&self, shard: ShardId) -> Result<Seq, Error> {
        self.store.last(shard)
    }

    fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, Error> {
        self.store.chain(shard, last, after)
    }

    fn fold(&self, claim: &Claim, folds: &[Fold]) -> Result<(), Error> {
        self.write(|it| it.fold(claim, folds))
    }

    fn inbox(&self, shard: ShardId) -> Result<Vec<Mail>, Error> {
        self.store.inbox(shard)
    }

    fn deploy(&self, deployment: &Deployment) -> Result<(), Error> {
        self.write(|it| it.deploy(deployment))
    }

    fn deployments(&self, after: u64) -> Result<Vec<Deployment>, Error> {
        self.store.deployments(after)
    }

    fn undeploy(&self, keys: &[u64]) -> Result<(), Error> {
        self.write(|it| it.undeploy(keys))
    }

    fn checkpoint(
        &self,
        claim: &Claim,
        upto: Seq,
        state: &[u8],
        changes: &[Change],
    ) -> Result<(), Error> {
        self.write(|it| it.checkpoint(claim, upto, state, changes))
    }

    fn checkpointed(&self, shard: ShardId) -> Result<(Seq, Vec<u8>), Error> {
        self.store.checkpointed(shard)
    }

    fn forget_views(&self) -> Result<(), Error> {
        self.write(MemoryStore::forget_views)
    }

    fn instance(&self, id: u64) -> Result<Option<InstanceRow>, Error> {
        self.store.instance(id)
    }

    fn named(&self, shard: ShardId, business_id: &str) -> Result<Vec<u64>, Error> {
        self.store.named(shard, business_id)
    }

    fn called(&self, caller: u64, wait: u64) -> Result<Option<u64>, Error> {
        self.store.called(caller, wait)
    }

    fn snapshot(&self, instance: u64) -> Result<Option<(Seq, Vec<u8>)>, Error> {
        self.store.snapshot(instance)
    }

    fn scan(
        &self,
        shard: ShardId,
        table: Table,
        each: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.store.scan(shard, table, each)
    }

    fn query(&self, query: &Query) -> Result<Page, Error> {
        self.store.query(query)
    }

    fn size(&self) -> Result<(u64, u64), Error> {
        self.store.size()
    }

    fn compact(&self) -> Result<(), Error> {
        self.write(MemoryStore::compact)
    }

    fn backup(&self, to: &Path) -> Result<(), Error> {
        self.store.backup(to)
    }
}
