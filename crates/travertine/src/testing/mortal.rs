//! A store whose user dies at a certain append.

use std::sync::{Arc, Mutex, PoisonError};

use travertine_store::{
    Advance, Append, Claim, Claimed, Claiming, DefinitionKey, Deployment, Error, Fold, InstanceId,
    Layer, MemoryStore, ShardId, Store,
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

    fn append(&self, append: &Append<'_>) -> Result<(), Error> {
        let Append { claim, batches } = append;
        let mut state = self.state();
        if state.died.is_some() {
            return Err(dead());
        }
        let Some(Death { side, instance, step }) = state.death else {
            return self.store.append(claim, batches);
        };
        let entries = batches.iter().flat_map(|it| &it.entries);
        let before = state.steps;
        state.steps += entries.filter(|it| it.instance == InstanceId(instance)).count();
        if !(before + 1..=state.steps).contains(&step) {
            return self.store.append(claim, batches);
        }
        let what = log::in_words(&*self.store, batches);
        let side = match side {
            Side::Before => "before",
            Side::After => {
                self.store.append(claim, batches)?;
                "after"
            }
        };
        let at = format!("{side} it is written that {what}");
        state.died = Some(Died { at, step: state.steps });
        Err(dead())
    }
}

fn dead() -> Error {
    Error::Poisoned { reason: "the engine has crashed, as the test wants it".to_owned() }
}

impl Layer for Mortal {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn claim(&self, shard: ShardId, how: Claiming<'_>) -> Result<Claimed, Error> {
        self.write(|it| it.claim(shard, how))
    }

    fn release(&self, claim: &Claim) -> Result<(), Error> {
        self.write(|it| it.release(claim))
    }

    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<(), Error>> {
        appends.iter().map(|it| self.append(it)).collect()
    }

    fn fold(&self, claim: &Claim, folds: &[Fold]) -> Result<(), Error> {
        self.write(|it| it.fold(claim, folds))
    }

    fn deploy(&self, deployment: &Deployment) -> Result<(), Error> {
        self.write(|it| it.deploy(deployment))
    }

    fn undeploy(&self, keys: &[DefinitionKey]) -> Result<(), Error> {
        self.write(|it| it.undeploy(keys))
    }

    fn checkpoint_all(&self, advances: &[Advance<'_>]) -> Vec<Result<(), Error>> {
        let one = |it: &Advance<'_>| {
            self.write(|store| store.checkpoint(&it.claim, it.upto, it.state, it.changes))
        };
        advances.iter().map(one).collect()
    }

    fn forget_views(&self, claim: &Claim) -> Result<(), Error> {
        self.write(|it| it.forget_views(claim))
    }

    fn reset_views(&self, claims: &[Claim]) -> Result<(), Error> {
        self.write(|it| it.reset_views(claims))
    }

    fn compact(&self) -> Result<(), Error> {
        self.write(MemoryStore::compact)
    }
}
