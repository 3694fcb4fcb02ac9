//! By what right an engine writes its shards, and which of them it does not have.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use travertine_store::{Claim, ShardId};

use crate::{Error, Shard};

/// By what right the shards of an engine are written, and which of them are lost.
#[derive(Debug)]
pub(super) struct Claims(Vec<Tenure>);

#[derive(Debug)]
struct Tenure {
    epoch: AtomicU64,
    /// Whether nothing is decided for the shard, although the engine goes on.
    is_lost: AtomicBool,
    /// Why, where that is so.
    loss: Mutex<Option<Loss>>,
    /// Whether stored rows did not show all there was when its thread last went to sleep.
    behind: AtomicBool,
}

/// Why a shard is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) error: Error,
    /// Whether somebody else has it now, so that it is not claimed again.
    pub(super) for_good: bool,
}

impl Tenure {
    fn loss(&self) -> MutexGuard<'_, Option<Loss>> {
        self.loss.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claims {
    pub(super) fn of(shards: &[Shard]) -> Self {
        let tenure = |it: &Shard| Tenure {
            epoch: AtomicU64::new(it.claim().epoch),
            is_lost: AtomicBool::new(false),
            loss: Mutex::new(None),
            behind: AtomicBool::new(true),
        };
        Self(shards.iter().map(tenure).collect())
    }

    fn of_shard(&self, shard: ShardId) -> &Tenure {
        &self.0[usize::from(shard.0)]
    }

    /// The right by which a shard is written, or was until it was lost.
    pub(super) fn get(&self, shard: ShardId) -> Claim {
        Claim { shard, epoch: self.of_shard(shard).epoch.load(Ordering::Acquire) }
    }

    pub(super) fn set(&self, claim: Claim) {
        self.of_shard(claim.shard).epoch.store(claim.epoch, Ordering::Release);
    }

    /// Whether stored rows of a shard did not show all there was when its thread last went to sleep.
    pub(super) fn is_behind(&self, shard: ShardId) -> bool {
        self.of_shard(shard).behind.load(Ordering::Acquire)
    }

    pub(super) fn set_behind(&self, shard: ShardId, behind: bool) {
        self.of_shard(shard).behind.store(behind, Ordering::Release);
    }

    /// Whether nothing is decided for a shard.
    pub(super) fn is_lost(&self, shard: ShardId) -> bool {
        self.of_shard(shard).is_lost.load(Ordering::Acquire)
    }

    /// Why a shard is lost, where it is.
    pub(super) fn loss(&self, shard: ShardId) -> Option<Loss> {
        self.of_shard(shard).loss().clone()
    }

    /// Whether somebody else has a shard now.
    pub(super) fn is_gone(&self, shard: ShardId) -> bool {
        self.of_shard(shard).loss().as_ref().is_some_and(|it| it.for_good)
    }

    /// Why a shard is lost, where one is.
    pub(super) fn any_loss(&self) -> Option<Error> {
        self.0.iter().find_map(|it| it.loss().as_ref().map(|it| it.error.clone()))
    }

    /// How many shards are lost.
    pub(super) fn lost(&self) -> usize {
        self.0.iter().filter(|it| it.is_lost.load(Ordering::Acquire)).count()
    }

    /// Whether somebody else has all shards now.
    pub(super) fn all_gone(&self) -> bool {
        self.0.iter().all(|it| it.loss().as_ref().is_some_and(|it| it.for_good))
    }

    /// Takes note that a shard is lost. Says whether that is new.
    pub(super) fn lose(&self, shard: ShardId, loss: Loss) -> bool {
        let tenure = self.of_shard(shard);
        let mut known = tenure.loss();
        if known.as_ref().is_some_and(|it| it.for_good || !loss.for_good) {
            return false;
        }
        *known = Some(loss);
        tenure.is_lost.store(true, Ordering::Release);
        true
    }

    /// A shard that was lost was claimed again.
    pub(super) fn found(&self, claim: Claim) {
        self.set(claim);
        let tenure = self.of_shard(claim.shard);
        *tenure.loss() = None;
        tenure.is_lost.store(false, Ordering::Release);
    }
}
