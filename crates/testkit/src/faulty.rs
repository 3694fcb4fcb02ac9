//! A store that fails as real ones do, by a plan or by a seed.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use travertine_store::{
    Advance, Append, Claim, Claimed, Claiming, DefinitionKey, Deployment, Error, Fold, MemoryStore,
    ShardId, Store,
};

use crate::random::Random;

/// A call that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// [`Store::claim`].
    Claim,
    /// [`Store::release`].
    Release,
    /// [`Store::append_all`], for one shard.
    Append,
    /// [`Store::fold`].
    Fold,
    /// [`Store::deploy`].
    Deploy,
    /// [`Store::undeploy`].
    Undeploy,
    /// [`Store::checkpoint_all`], for one shard.
    Checkpoint,
    /// [`Store::forget_views`] or [`Store::reset_views`].
    Forget,
}

/// What goes wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody knows whether it was written. It was not.
    Lost,
    /// Nobody knows whether it was written. It was.
    Kept,
    /// There is no room. It was not written.
    Full,
    /// The store cannot be reached. It was not written.
    Away,
    /// Someone else claims the shard just before. Calls that need no claim go well.
    Stolen,
    /// The store is unusable until it is opened again, and it was not written.
    PoisonedLost,
    /// The store is unusable until it is opened again, and it was written.
    PoisonedKept,
}

/// A store around another one, which fails when its plan says so.
pub struct Faulty<S> {
    store: S,
    state: Mutex<State>,
}

struct State {
    plan: Box<dyn FnMut(Write, Option<ShardId>) -> Option<Fault> + Send>,
    poisoned: bool,
}

impl<S: fmt::Debug> fmt::Debug for Faulty<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("store", &self.store).finish_non_exhaustive()
    }
}

impl<S: Store> Faulty<S> {
    /// Asks `plan` at each call that writes.
    pub fn new(store: S, mut plan: impl FnMut(Write) -> Option<Fault> + Send + 'static) -> Self {
        let state = State { plan: Box::new(move |write, _| plan(write)), poisoned: false };
        Self { store, state: Mutex::new(state) }
    }

    /// Fails at about so many of a thousand calls, the same ones for the same seed.
    pub fn seeded(store: S, seed: u64, per_thousand: u64) -> Self {
        let mut random = Random(seed);
        Self::new(store, move |_| {
            let (dice, which) = (random.below(1_000), random.below(7));
            let faults = [
                Fault::Lost,
                Fault::Kept,
                Fault::Full,
                Fault::Away,
                Fault::Stolen,
                Fault::PoisonedLost,
                Fault::PoisonedKept,
            ];
            let which = usize::try_from(which).expect("it is less than seven");
            (dice < per_thousand).then_some(faults[which])
        })
    }

    /// Changes the plan.
    pub fn plan(&self, mut plan: impl FnMut(Write) -> Option<Fault> + Send + 'static) {
        self.state().plan = Box::new(move |write, _| plan(write));
    }

    /// Changes the plan to one for a single shard.
    pub fn plan_for(
        &self,
        only: ShardId,
        mut plan: impl FnMut(Write) -> Option<Fault> + Send + 'static,
    ) {
        self.state().plan =
            Box::new(move |write, shard| if shard == Some(only) { plan(write) } else { None });
    }

    /// What opening the store again does: it can be written once more.
    pub fn reopen(&self) {
        self.state().poisoned = false;
    }

    /// The store inside, which never fails.
    pub fn inner(&self) -> &S {
        &self.store
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write<T>(
        &self,
        what: Write,
        shard: Option<ShardId>,
        write: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let reason = || format!("a fault of the plan at {what:?}");
        let mut state = self.state();
        if state.poisoned {
            return Err(Error::Poisoned { reason: String::from("a fault of the plan") });
        }
        let Some(fault) = (state.plan)(what, shard) else {
            drop(state);
            return write();
        };
        match fault {
            Fault::Lost => Err(Error::Unknown { reason: reason() }),
            Fault::Kept => write().and(Err(Error::Unknown { reason: reason() })),
            Fault::Full => Err(Error::Full { reason: reason() }),
            Fault::Away => Err(Error::Away { reason: reason() }),
            Fault::Stolen => {
                if let Some(shard) = shard {
                    self.store.take(shard, "a thief")?;
                }
                write()
            }
            Fault::PoisonedLost => {
                state.poisoned = true;
                Err(Error::Poisoned { reason: reason() })
            }
            Fault::PoisonedKept => {
                state.poisoned = true;
                write().and(Err(Error::Poisoned { reason: reason() }))
            }
        }
    }
}

impl Faulty<MemoryStore> {
    /// A crash of the machine, and opening the store again: some of the latest checkpoints and folds are
    /// lost, the same ones for the same seed.
    pub fn crash(&self, seed: u64) {
        let mut random = Random(seed);
        let mut some = || usize::try_from(random.below(4)).expect("it is less than four");
        let (checkpoints, folds) = (some(), some());
        self.store.crash(checkpoints, folds);
        self.reopen();
    }
}

impl<S: Store> travertine_store::Layer for Faulty<S> {
    fn behind(&self) -> &dyn Store {
        &self.store
    }

    fn claim(&self, shard: ShardId, how: Claiming<'_>) -> Result<Claimed, Error> {
        self.write(Write::Claim, Some(shard), || self.store.claim(shard, how))
    }

    fn release(&self, claim: &Claim) -> Result<(), Error> {
        self.write(Write::Release, Some(claim.shard), || self.store.release(claim))
    }

    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<(), Error>> {
        let one = |it: &Append<'_>| {
            let append = || self.store.append(&it.claim, it.batches);
            self.write(Write::Append, Some(it.claim.shard), append)
        };
        appends.iter().map(one).collect()
    }

    fn fold(&self, claim: &Claim, folds: &[Fold]) -> Result<(), Error> {
        self.write(Write::Fold, Some(claim.shard), || self.store.fold(claim, folds))
    }

    fn deploy(&self, deployment: &Deployment) -> Result<(), Error> {
        self.write(Write::Deploy, None, || self.store.deploy(deployment))
    }

    fn undeploy(&self, keys: &[DefinitionKey]) -> Result<(), Error> {
        self.write(Write::Undeploy, None, || self.store.undeploy(keys))
    }

    fn checkpoint_all(&self, advances: &[Advance<'_>]) -> Vec<Result<(), Error>> {
        let one = |it: &Advance<'_>| {
            let write = || self.store.checkpoint(&it.claim, it.upto, it.state, it.changes);
            self.write(Write::Checkpoint, Some(it.claim.shard), write)
        };
        advances.iter().map(one).collect()
    }

    fn forget_views(&self, claim: &Claim) -> Result<(), Error> {
        self.write(Write::Forget, Some(claim.shard), || self.store.forget_views(claim))
    }

    fn reset_views(&self, claims: &[Claim]) -> Result<(), Error> {
        self.write(Write::Forget, None, || self.store.reset_views(claims))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store_suite::{SHARDS, batch, entry, store_suite};

    #[test]
    fn without_faults_it_keeps_every_promise() {
        store_suite(|| Faulty::new(MemoryStore::new(SHARDS), |_| None));
    }

    /// Appends one entry with a fault, and says what came of it and how many entries there are.
    fn appended(fault: Fault) -> (Error, usize, Faulty<MemoryStore>) {
        let store = Faulty::new(MemoryStore::new(1), |_| None);
        let claim = store.take(ShardId(0), "test").unwrap();
        store.plan(move |it| (it == Write::Append).then_some(fault));
        let error = store.append(&claim, &[batch(vec![entry(1, 1, 0)])]).unwrap_err();
        let entries = store.entries(ShardId(0), 0, 9).unwrap().len();
        (error, entries, store)
    }

    #[test]
    fn an_unknown_outcome_is_either() {
        let (error, entries, _) = appended(Fault::Lost);
        assert!(matches!((error, entries), (Error::Unknown { .. }, 0)));
        let (error, entries, _) = appended(Fault::Kept);
        assert!(matches!((error, entries), (Error::Unknown { .. }, 1)));
    }

    #[test]
    fn a_stolen_shard_is_stale_and_a_full_store_takes_nothing() {
        let (error, entries, _) = appended(Fault::Stolen);
        assert!(matches!((error, entries), (Error::Stale { .. }, 0)));
        let (error, entries, _) = appended(Fault::Full);
        assert!(matches!((error, entries), (Error::Full { .. }, 0)));
    }

    #[test]
    fn poison_lasts_until_it_is_opened_again() {
        let (error, entries, store) = appended(Fault::PoisonedKept);
        assert!(matches!((error, entries), (Error::Poisoned { .. }, 1)));
        store.plan(|_| None);
        assert!(matches!(store.take(ShardId(0), "b"), Err(Error::Poisoned { .. })));
        store.reopen();
        assert!(store.take(ShardId(0), "b").is_ok());
    }

    #[test]
    fn a_seed_gives_the_same_faults_again() {
        let run = |seed| {
            let store = Faulty::seeded(MemoryStore::new(1), seed, 300);
            (0..200).map(|_| store.take(ShardId(0), "a").is_ok()).collect::<Vec<_>>()
        };
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
        assert!(run(5).contains(&true));
    }
}
