//! A store whose views are made again as soon as anyone finds that they are damaged.
//!
//! The log says all that the views say, so nobody has to hear of the damage but who looks after the machine.
//! Rows of a shard are made again up to the checkpoint that it last stored, exactly: what it stores next
//! goes on from there.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use travertine_func::Functions;
use travertine_store::{
    Advance, Claim, Claimed, Claiming, Error as StoreError, Layer, Loaded, Seq, ShardId, Store,
    search::{Column, Found, Search, Tally},
    view::{InstanceRow, Table},
};

use super::load::load;
use crate::{Address, Board, Error, InstanceId, Opening, Settings, Shard, Timestamp};

type Result<T> = std::result::Result<T, StoreError>;

/// A store whose views are made again where they are damaged.
#[derive(Debug)]
pub(super) struct Healing {
    store: Arc<dyn Store>,
    functions: Arc<Functions>,
    settings: Settings,
    /// Held by who reads or writes views, and alone by who makes them again.
    views: RwLock<()>,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    shards: Vec<Standing>,
    /// How often views were made again.
    healed: u64,
    why: Option<String>,
}

/// How far the views of a shard are, once its owner has asked.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    claim: Option<Claim>,
    upto: Option<Seq>,
}

impl Healing {
    pub(super) fn new(
        store: &Arc<dyn Store>,
        functions: &Arc<Functions>,
        settings: &Settings,
    ) -> Self {
        let shards = vec![Standing::default(); usize::from(store.shards())];
        Self {
            store: Arc::clone(store),
            functions: Arc::clone(functions),
            settings: settings.clone(),
            views: RwLock::default(),
            known: Mutex::new(Known { shards, healed: 0, why: None }),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn standing(&self, shard: ShardId, change: impl FnOnce(&mut Standing)) {
        change(&mut self.known().shards[usize::from(shard.0)]);
    }

    /// Asks for something of the views, again where they had to be made again for it.
    fn of_views<T>(&self, ask: impl Fn(&dyn Store) -> Result<T>) -> Result<T> {
        let healed = self.known().healed;
        let asked = || {
            let _views = self.views.read().unwrap_or_else(PoisonError::into_inner);
            ask(&*self.store)
        };
        match asked() {
            Err(error) if is_damage(&error) => {
                self.heal(healed, &error)?;
                asked()
            }
            answer => answer,
        }
    }

    /// Makes the views again, unless someone else has meanwhile.
    fn heal(&self, healed: u64, damage: &StoreError) -> Result<()> {
        let _alone = self.views.write().unwrap_or_else(PoisonError::into_inner);
        let standings = {
            let known = self.known();
            if known.healed != healed {
                return Ok(());
            }
            known.shards.clone()
        };
        tracing::warn!(error = %damage, "the views are made again from the log");
        let alone = self.shard_of(damage).map(|it| standings[usize::from(it.0)]);
        let done = match alone {
            Some(Standing { claim: Some(claim), upto: Some(upto) }) => self.make(claim, upto),
            _ => Err(damage.clone()),
        };
        match done {
            Err(error) if is_damage(&error) => self.make_all(&standings)?,
            done => done?,
        }
        let mut known = self.known();
        known.healed += 1;
        known.why = Some(damage.to_string());
        Ok(())
    }

    /// The shard whose views are damaged, where it is only one.
    fn shard_of(&self, damage: &StoreError) -> Option<ShardId> {
        match damage {
            StoreError::DamagedRow { table, key, .. } => table.shard(key, self.store.shards()),
            _ => None,
        }
    }

    /// Makes the views of one shard again.
    fn make(&self, claim: Claim, upto: Seq) -> Result<()> {
        // They are not thrown away for a log that cannot be read.
        self.store.check_log(claim.shard)?;
        self.store.forget_views(&claim)?;
        self.make_from_log(&[(claim, upto)])
    }

    /// Makes the views of all shards again.
    fn make_all(&self, standings: &[Standing]) -> Result<()> {
        for shard in (0..self.store.shards()).map(ShardId) {
            self.store.check_log(shard)?;
        }
        let claims: Vec<Claim> = standings.iter().filter_map(|it| it.claim).collect();
        self.store.reset_views(&claims)?;
        let known = |it: &Standing| it.claim.zip(it.upto);
        self.make_from_log(&standings.iter().filter_map(known).collect::<Vec<_>>())
    }

    fn make_from_log(&self, shards: &[(Claim, Seq)]) -> Result<()> {
        let board = Arc::new(Board::new(std::collections::BTreeMap::new()));
        let in_words = |error: Error| match error {
            Error::Store(error) => error,
            other => StoreError::Failed { reason: other.to_string() },
        };
        let (definitions, _) =
            load(&*self.store, &self.functions, Duration::MAX).map_err(in_words)?;
        let definitions = Arc::new(definitions);
        for (claim, upto) in shards {
            let opening = Opening {
                store: Arc::clone(&self.store),
                definitions: Arc::clone(&definitions),
                functions: Arc::clone(&self.functions),
                board: Arc::clone(&board),
                settings: self.settings.clone(),
                now: Timestamp::from_millis(0),
            };
            Shard::make_views(*claim, opening, *upto).map_err(in_words)?;
        }
        Ok(())
    }
}

/// Whether views must be made again. The row of an instance is made again by itself.
fn is_damage(error: &StoreError) -> bool {
    match error {
        StoreError::DamagedViews { .. } => true,
        StoreError::DamagedRow { table, .. } => *table != Table::Instances,
        _ => false,
    }
}

impl Layer for Healing {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn claim(&self, shard: ShardId, how: Claiming<'_>) -> Result<Claimed> {
        let claimed = self.store.claim(shard, how)?;
        self.standing(shard, |it| {
            // Whoever claims again goes on with what it had.
            let upto = it.upto.filter(|_| matches!(how, Claiming::Again(_)));
            *it = Standing { claim: Some(claimed.claim), upto };
        });
        Ok(claimed)
    }

    fn release(&self, claim: &Claim) -> Result<()> {
        self.store.release(claim)?;
        self.standing(claim.shard, |it| *it = Standing::default());
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>> {
        let mut found = self.store.check()?;
        let healed = self.known().healed;
        let checked = {
            let _views = self.views.read().unwrap_or_else(PoisonError::into_inner);
            self.store.check_views()
        };
        match checked {
            Err(damage) if is_damage(&damage) => {
                found.push(format!("{damage}; the views were made again"));
                self.heal(healed, &damage)?;
            }
            checked => checked?,
        }
        Ok(found)
    }

    fn rebuilt(&self) -> Option<String> {
        self.known().why.clone().or_else(|| self.store.rebuilt())
    }

    fn checkpoint_all(&self, advances: &[Advance<'_>]) -> Vec<Result<()>> {
        let one = |it: &Advance<'_>| {
            self.of_views(|store| store.checkpoint(&it.claim, it.upto, it.state, it.changes))?;
            self.standing(it.claim.shard, |standing| standing.upto = Some(it.upto));
            Ok(())
        };
        advances.iter().map(one).collect()
    }

    fn checkpointed(&self, shard: ShardId) -> Result<(Seq, Vec<u8>)> {
        let (upto, state) = self.of_views(|it| it.checkpointed(shard))?;
        self.standing(shard, |it| it.upto = Some(upto));
        Ok((upto, state))
    }

    fn forget_views(&self, claim: &Claim) -> Result<()> {
        let _alone = self.views.write().unwrap_or_else(PoisonError::into_inner);
        self.store.forget_views(claim)?;
        self.standing(claim.shard, |it| it.upto = None);
        Ok(())
    }

    fn reset_views(&self, claims: &[Claim]) -> Result<()> {
        let _alone = self.views.write().unwrap_or_else(PoisonError::into_inner);
        self.store.reset_views(claims)?;
        self.known().shards.iter_mut().for_each(|it| it.upto = None);
        Ok(())
    }

    fn instance(&self, id: InstanceId) -> Result<Option<InstanceRow>> {
        self.of_views(|it| it.instance(id))
    }

    fn named(&self, shard: ShardId, business_id: &str) -> Result<Vec<InstanceId>> {
        self.of_views(|it| it.named(shard, business_id))
    }

    fn called(&self, call: Address) -> Result<Option<InstanceId>> {
        self.of_views(|it| it.called(call))
    }

    fn snapshot(&self, instance: InstanceId) -> Result<Option<(Seq, Vec<u8>)>> {
        self.of_views(|it| it.snapshot(instance))
    }

    /// What is damaged is asked for again by itself, and made again then.
    fn load(&self, shard: ShardId, instances: &[InstanceId]) -> Vec<Loaded> {
        let _views = self.views.read().unwrap_or_else(PoisonError::into_inner);
        self.store.load(shard, instances)
    }

    fn named_many(&self, shard: ShardId, names: &[&str]) -> Result<Vec<Vec<InstanceId>>> {
        self.of_views(|it| it.named_many(shard, names))
    }

    fn called_many(&self, calls: &[Address]) -> Result<Vec<Option<InstanceId>>> {
        self.of_views(|it| it.called_many(calls))
    }

    // Not `scan`: who has seen some rows cannot see them again, so views that are damaged there are made again by
    // whoever opens the shards.

    fn search(&self, search: &Search) -> Result<Found> {
        self.of_views(|it| it.search(search))
    }

    fn tally(&self, search: &Search, by: &[Column]) -> Result<Vec<Tally>> {
        self.of_views(|it| it.tally(search, by))
    }

    fn size(&self) -> Result<(u64, u64)> {
        self.of_views(|it| it.size())
    }

    fn compact(&self) -> Result<()> {
        self.of_views(|it| it.compact())
    }
}
