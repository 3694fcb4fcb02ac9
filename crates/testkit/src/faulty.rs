//! A store that fails as real ones do, by a plan or by a seed.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use travertine_store::{
    Advance, Append, Claim, Claimed, Claiming, DefinitionKey, Deployment, Entry, Error, Fold,
    InstanceId, Loaded, Mail, MailId, MemoryStore, Seq, ShardId, Store, view::InstanceRow,
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
    /// It was not written, and nothing says that it may be tried again.
    Failed,
    /// Someone else claims the shard just before. Calls that need no claim go well.
    Stolen,
    /// The store is unusable until it is opened again, and it was not written.
    PoisonedLost,
    /// The store is unusable until it is opened again, and it was written.
    PoisonedKept,
}

/// What goes wrong with a call that reads what shards decide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFault {
    /// The store cannot be reached.
    Away,
    /// It has no room for what it needs to read.
    Full,
    /// The rights are missing.
    Forbidden,
    /// It cannot be read.
    Failed,
    /// The call panics.
    Panics,
}

/// A store around another one, which fails when its plan says so.
pub struct Faulty<S> {
    store: S,
    state: Mutex<State>,
    reads: Mutex<PlanReads>,
}

type PlanReads = Box<dyn FnMut(ShardId) -> Option<ReadFault> + Send>;

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
        Self { store, state: Mutex::new(state), reads: Mutex::new(Box::new(|_| None)) }
    }

    /// Fails at about so many of a thousand calls, the same ones for the same seed.
    pub fn seeded(store: S, seed: u64, per_thousand: u64) -> Self {
        let mut random = Random(seed);
        Self::new(store, move |_| {
            let (dice, which) = (random.below(1_000), random.below(8));
            let faults = [
                Fault::Lost,
                Fault::Kept,
                Fault::Full,
                Fault::Away,
                Fault::Failed,
                Fault::Stolen,
                Fault::PoisonedLost,
                Fault::PoisonedKept,
            ];
            let which = usize::try_from(which).expect("it is less than eight");
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

    /// Asks `plan` at each call that reads what a shard decides by.
    pub fn plan_reads(&self, plan: impl FnMut(ShardId) -> Option<ReadFault> + Send + 'static) {
        *self.reads.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(plan);
    }

    fn read<T>(
        &self,
        shard: ShardId,
        read: impl FnOnce(&S) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let fault = (self.reads.lock().unwrap_or_else(PoisonError::into_inner))(shard);
        let reason = || "a fault of the plan when something was read".to_owned();
        match fault {
            None => read(&self.store),
            Some(ReadFault::Away) => Err(Error::Away { reason: reason() }),
            Some(ReadFault::Full) => Err(Error::Full { reason: reason() }),
            Some(ReadFault::Forbidden) => Err(Error::ReadOnly { reason: reason() }),
            Some(ReadFault::Failed) => Err(Error::Failed { reason: reason() }),
            // Nothing is printed of it.
            Some(ReadFault::Panics) => std::panic::resume_unwind(Box::new(reason())),
        }
    }

    fn shard_of(&self, instance: InstanceId) -> ShardId {
        ShardId::of(instance.0, self.store.shards())
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
            Fault::Failed => Err(Error::Failed { reason: reason() }),
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

    fn entries(&self, shard: ShardId, after: Seq, limit: usize) -> Result<Vec<Entry>, Error> {
        self.read(shard, |it| it.entries(shard, after, limit))
    }

    fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, Error> {
        self.read(shard, |it| it.chain(shard, last, after))
    }

    fn inbox(&self, shard: ShardId, after: &[MailId], limit: usize) -> Result<Vec<Mail>, Error> {
        self.read(shard, |it| it.inbox(shard, after, limit))
    }

    fn instance(&self, id: InstanceId) -> Result<Option<InstanceRow>, Error> {
        self.read(self.shard_of(id), |it| it.instance(id))
    }

    fn named(&self, shard: ShardId, business_id: &str) -> Result<Vec<InstanceId>, Error> {
        self.read(shard, |it| it.named(shard, business_id))
    }

    fn snapshot(&self, instance: InstanceId) -> Result<Option<(Seq, Vec<u8>)>, Error> {
        self.read(self.shard_of(instance), |it| it.snapshot(instance))
    }

    fn load(&self, shard: ShardId, instances: &[InstanceId]) -> Vec<Loaded> {
        let unread = |error: &Error| Loaded {
            row: Err(error.clone()),
            snapshot: Err(error.clone()),
            chain: Err(error.clone()),
        };
        let loaded = self.read(shard, |it| Ok(it.load(shard, instances)));
        loaded.unwrap_or_else(|error| instances.iter().map(|_| unread(&error)).collect())
    }

    fn named_many(&self, shard: ShardId, names: &[&str]) -> Result<Vec<Vec<InstanceId>>, Error> {
        self.read(shard, |it| it.named_many(shard, names))
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
