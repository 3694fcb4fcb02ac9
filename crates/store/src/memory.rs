//! A store that keeps everything in memory: simple, the same in every run, and gone with its process.
//!
//! It is the reference that other stores are held against, and the store of the simulation, which
//! [`MemoryStore::crash`] is for.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound::{Excluded, Unbounded},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use travertine_value::Name;

use crate::{
    Address, Advance, Append, Claim, Claimed, Claiming, DefinitionKey, Deployment, Entry, Error,
    Fold, InstanceId, Mail, MailId, Owner, Resource, Seq, ShardId, Store,
    search::{Column, Found, Place, Search, Source, Tally, evaluate, tally},
    store::is_after,
    view::{Change, InstanceRow, Key, Row, Table},
};

/// How many checkpoints and folds a crash can take back at most.
const UNSETTLED_MAX: usize = 16;

/// Everything in memory.
#[derive(Debug)]
pub struct MemoryStore {
    shards: u16,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    logs: Vec<Log>,
    deployments: BTreeMap<u64, Deployment>,
    revision: u64,
    views: Views,
    /// How to take the latest checkpoints back, the latest last.
    checkpoints: Vec<Undo>,
    /// The entries that the latest folds have removed, by shard, the latest last.
    folds: Vec<(ShardId, Vec<Entry>)>,
}

#[derive(Debug, Default)]
struct Log {
    epoch: u64,
    owner: String,
    entries: BTreeMap<Seq, Entry>,
    last: Seq,
    /// The greatest number of the mails that it has sent.
    mails: u64,
    inbox: BTreeMap<MailId, Mail>,
}

#[derive(Debug, Default)]
struct Views {
    rows: BTreeMap<Table, BTreeMap<Key, Row>>,
    /// What people call instances, and their numbers.
    names: BTreeSet<(Name, u64)>,
    /// The waits that have called instances, and which.
    calls: BTreeMap<(u64, u64), u64>,
    snapshots: BTreeMap<u64, (Seq, Vec<u8>)>,
    upto: BTreeMap<ShardId, (Seq, Vec<u8>)>,
}

/// What a checkpoint found, in the order in which it was changed.
#[derive(Debug)]
struct Undo {
    shard: ShardId,
    upto: Option<(Seq, Vec<u8>)>,
    changed: Vec<Changed>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are rows")]
enum Changed {
    Row(Table, Key, Option<Row>),
    Snapshot(u64, Option<(Seq, Vec<u8>)>),
}

impl MemoryStore {
    /// A store with nothing in it.
    pub fn new(shards: u16) -> Self {
        assert!(shards > 0, "a store needs a shard");
        let logs = (0..shards).map(|_| Log::default()).collect();
        Self { shards, inner: Mutex::new(Inner { logs, ..Inner::default() }) }
    }

    /// Loses the latest so many checkpoints and folds, as a crash of the machine may: they are in order,
    /// but not durable at once. Folds are durable with the next append.
    pub fn crash(&self, checkpoints: usize, folds: usize) {
        let mut inner = self.lock();
        for _ in 0..checkpoints {
            let Some(undo) = inner.checkpoints.pop() else { break };
            inner.views.take_back(undo);
        }
        for _ in 0..folds {
            let Some((shard, entries)) = inner.folds.pop() else { break };
            let log = &mut inner.logs[usize::from(shard.0)];
            log.entries.extend(entries.into_iter().map(|it| (it.seq, it)));
        }
        inner.checkpoints.clear();
        inner.folds.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // No call leaves anything half done where it can panic.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn log(&self, shard: ShardId) -> &Log {
        &self.logs[usize::from(shard.0)]
    }

    fn check(&self, claim: &Claim) -> Result<(), Error> {
        if self.log(claim.shard).epoch == claim.epoch {
            Ok(())
        } else {
            Err(Error::Stale { shard: claim.shard })
        }
    }

    fn append(&mut self, append: &Append<'_>) -> Result<(), Error> {
        let shard = append.claim.shard;
        self.check(&append.claim)?;
        let end = append.follow(self.log(shard).last)?;
        for batch in append.batches {
            let log = &mut self.logs[usize::from(shard.0)];
            log.entries.extend(batch.entries.iter().map(|it| (it.seq, it.clone())));
            for mail in &batch.sent {
                let sender = &mut self.logs[usize::from(mail.id.from.0)];
                sender.mails = sender.mails.max(mail.id.number);
                self.logs[usize::from(mail.to.0)].inbox.insert(mail.id, mail.clone());
            }
            for id in &batch.taken {
                self.logs[usize::from(shard.0)].inbox.remove(id);
            }
        }
        self.logs[usize::from(shard.0)].last = end;
        Ok(())
    }

    fn checkpoint(&mut self, advance: &Advance<'_>) -> Result<(), Error> {
        let Advance { claim: Claim { shard, .. }, upto, state, changes } = *advance;
        self.check(&advance.claim)?;
        if upto > self.log(shard).last {
            return Err(Error::NoSuchEntry { shard, seq: upto });
        }
        let mut changed = Vec::new();
        let shards = u16::try_from(self.logs.len()).expect("they were given as such a number");
        for change in changes {
            self.views.change(shard, shards, change, &mut changed);
        }
        let old = self.views.upto.insert(shard, (upto, state.to_vec()));
        self.checkpoints.push(Undo { shard, upto: old, changed });
        if self.checkpoints.len() > UNSETTLED_MAX {
            self.checkpoints.remove(0);
        }
        Ok(())
    }
}

impl Log {
    fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, Error> {
        let mut found: Vec<Entry> = Vec::new();
        let mut seq = last;
        while seq > after {
            let entry = self.entries.get(&seq).ok_or(Error::NoSuchEntry { shard, seq })?;
            seq = entry.follows(found.last(), shard)?;
            found.push(entry.clone());
        }
        found.reverse();
        Ok(found)
    }
}

impl Views {
    fn set(&mut self, table: Table, key: Key, row: Option<Row>) -> Changed {
        let rows = self.rows.entry(table).or_default();
        let name = row.as_ref().and_then(business_id);
        let call = row.as_ref().and_then(call);
        let old = match row {
            Some(row) => rows.insert(key.clone(), row),
            None => rows.remove(&key),
        };
        if let Some((name, id)) = old.as_ref().and_then(business_id) {
            self.names.remove(&(name, id));
        }
        if let Some((caller, _)) = old.as_ref().and_then(self::call) {
            self.calls.remove(&caller);
        }
        self.names.extend(name);
        self.calls.extend(call);
        Changed::Row(table, key, old)
    }

    fn set_snapshot(&mut self, instance: u64, snapshot: Option<(Seq, Vec<u8>)>) -> Changed {
        let old = match snapshot {
            Some(snapshot) => self.snapshots.insert(instance, snapshot),
            None => self.snapshots.remove(&instance),
        };
        Changed::Snapshot(instance, old)
    }

    fn clear(&mut self, instance: u64, changed: &mut Vec<Changed>) {
        for table in Table::OF_INSTANCES {
            let keys: Vec<Key> = self.of_instance(table, instance).map(Row::key).collect();
            changed.extend(keys.into_iter().map(|key| self.set(table, key, None)));
        }
        changed.push(self.set_snapshot(instance, None));
    }

    fn of_instance(&self, table: Table, instance: u64) -> impl Iterator<Item = &Row> {
        let first = Key::of_instance(instance);
        let rows = self.rows.get(&table).into_iter().flat_map(move |it| it.range(first.clone()..));
        rows.take_while(move |(key, _)| key.instance == instance).map(|(_, row)| row)
    }

    fn change(&mut self, shard: ShardId, shards: u16, change: &Change, changed: &mut Vec<Changed>) {
        match change {
            Change::Put(row) => changed.push(self.set(row.table(), row.key(), Some(row.clone()))),
            Change::Delete(table, key) => changed.push(self.set(*table, key.clone(), None)),
            Change::DeleteLayer(instance, layer) => {
                let of_layer = self.of_instance(Table::Variables, *instance).map(Row::key);
                let keys: Vec<Key> = of_layer.filter(|it| it.number == *layer).collect();
                changed.extend(keys.into_iter().map(|key| self.set(Table::Variables, key, None)));
            }
            Change::Clear(instance) => self.clear(*instance, changed),
            Change::Remove(instance) => {
                self.clear(*instance, changed);
                for table in Table::PAST {
                    let keys: Vec<Key> = self.of_instance(table, *instance).map(Row::key).collect();
                    changed.extend(keys.into_iter().map(|key| self.set(table, key, None)));
                }
                changed.push(self.set(Table::Instances, Key::of_instance(*instance), None));
            }
            Change::Expire(table, before) => {
                let rows = self.rows.get(table).into_iter().flat_map(BTreeMap::values);
                let old = rows.filter(|it| {
                    it.shard(shards) == shard && it.ended().is_some_and(|it| it < *before)
                });
                let keys: Vec<Key> = old.map(Row::key).collect();
                changed.extend(keys.into_iter().map(|key| self.set(*table, key, None)));
            }
            Change::Snapshot { instance, seq, body } => {
                changed.push(self.set_snapshot(*instance, Some((*seq, body.clone()))));
            }
        }
    }

    /// Forgets all that belongs to one shard.
    fn forget(&mut self, shard: ShardId, shards: u16) {
        for table in Table::ALL {
            let rows = self.rows.get(&table).into_iter().flat_map(BTreeMap::values);
            let keys: Vec<Key> =
                rows.filter(|it| it.shard(shards) == shard).map(Row::key).collect();
            for key in keys {
                self.set(table, key, None);
            }
        }
        self.snapshots.retain(|id, _| ShardId::of(*id, shards) != shard);
        self.upto.remove(&shard);
    }

    fn take_back(&mut self, undo: Undo) {
        for changed in undo.changed.into_iter().rev() {
            match changed {
                Changed::Row(table, key, row) => self.set(table, key, row),
                Changed::Snapshot(instance, snapshot) => self.set_snapshot(instance, snapshot),
            };
        }
        match undo.upto {
            Some(upto) => self.upto.insert(undo.shard, upto),
            None => self.upto.remove(&undo.shard),
        };
    }

    fn search(&self, search: &Search) -> Found {
        let Some(rows) = self.rows.get(&search.table) else { return evaluate(search, [], self) };
        let all: Box<dyn Iterator<Item = (&Key, &Row)>> = match (search.by_key(), &search.place) {
            (Some(false), Place::First) => Box::new(rows.iter()),
            (Some(false), Place::After(it)) => Box::new(rows.range((Excluded(&it.key), Unbounded))),
            (Some(true), Place::First) => Box::new(rows.iter().rev()),
            (Some(true), Place::After(it)) => Box::new(rows.range(..&it.key).rev()),
            _ => return evaluate(search, rows.values(), self),
        };
        if search.count {
            return evaluate(search, rows.values(), self);
        }
        // In the order of keys a page needs no more than its rows and one beyond.
        let found = all.map(|(_, row)| row).filter(|row| search.holds(row, self));
        let found: Vec<&Row> = found.take(search.limit as usize + 1).collect();
        evaluate(search, found, self)
    }
}

impl Source for Views {
    fn instance(&self, id: u64) -> Option<&InstanceRow> {
        match self.rows.get(&Table::Instances)?.get(&Key::of_instance(id)) {
            Some(Row::Instance(it)) => Some(it),
            _ => None,
        }
    }

    fn any(&self, table: Table, instance: u64, passes: &dyn Fn(&Row) -> bool) -> bool {
        self.of_instance(table, instance).any(passes)
    }
}

fn business_id(row: &Row) -> Option<(Name, u64)> {
    let Row::Instance(it) = row else { return None };
    it.business_id.as_ref().map(|name| (Name::clone(name), it.id))
}

fn call(row: &Row) -> Option<((u64, u64), u64)> {
    let Row::Instance(it) = row else { return None };
    it.parent.map(|parent| (parent, it.id))
}

impl Store for MemoryStore {
    fn shards(&self) -> u16 {
        self.shards
    }

    fn is_near(&self) -> bool {
        true
    }

    fn claim(&self, shard: ShardId, how: Claiming<'_>) -> Result<Claimed, Error> {
        let mut inner = self.lock();
        let log = &mut inner.logs[usize::from(shard.0)];
        if how.epoch().is_some_and(|it| it != log.epoch) {
            return Err(Error::Stale { shard });
        }
        log.epoch += 1;
        if let Some(owner) = how.owner() {
            owner.clone_into(&mut log.owner);
        }
        let claim = Claim { shard, epoch: log.epoch };
        Ok(Claimed { claim, last: log.last, mails: log.mails })
    }

    fn release(&self, claim: &Claim) -> Result<(), Error> {
        let mut inner = self.lock();
        inner.check(claim)?;
        let log = &mut inner.logs[usize::from(claim.shard.0)];
        log.epoch += 1;
        log.owner.clear();
        Ok(())
    }

    fn owners(&self) -> Result<Vec<Owner>, Error> {
        Ok(self.lock().logs.iter().map(|it| Owner::new(it.epoch, &it.owner)).collect())
    }

    fn fence(&self, claims: &[Claim]) -> Result<Vec<bool>, Error> {
        let inner = self.lock();
        Ok(claims.iter().map(|it| inner.check(it).is_ok()).collect())
    }

    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<(), Error>> {
        let mut inner = self.lock();
        let answers: Vec<_> = appends.iter().map(|it| inner.append(it)).collect();
        if answers.iter().any(Result::is_ok) {
            inner.folds.clear();
        }
        answers
    }

    fn entries(&self, shard: ShardId, after: Seq, limit: usize) -> Result<Vec<Entry>, Error> {
        let inner = self.lock();
        let rest = inner.log(shard).entries.range((Excluded(after), Unbounded));
        Ok(rest.take(limit).map(|(_, it)| it.clone()).collect())
    }

    fn last(&self, shard: ShardId) -> Result<Seq, Error> {
        Ok(self.lock().log(shard).last)
    }

    fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, Error> {
        self.lock().log(shard).chain(shard, last, after)
    }

    fn check_log(&self, _shard: ShardId) -> Result<(), Error> {
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn check_views(&self) -> Result<(), Error> {
        Ok(())
    }

    fn rebuilt(&self) -> Option<String> {
        None
    }

    fn fold(&self, claim: &Claim, folds: &[Fold]) -> Result<(), Error> {
        let mut inner = self.lock();
        inner.check(claim)?;
        let mut chains = Vec::new();
        for fold in folds {
            let entries = &inner.log(claim.shard).entries;
            let chain = fold.chain(claim.shard, |seq| Ok(entries.get(&seq).cloned()))?;
            fold.check(claim.shard, &chain)?;
            chains.push(chain);
        }
        let log = &mut inner.logs[usize::from(claim.shard.0)];
        for (fold, chain) in folds.iter().zip(&chains) {
            for entry in chain {
                log.entries.remove(&entry.seq);
            }
            log.entries.extend(fold.entry.clone().map(|it| (it.seq, it)));
        }
        inner.folds.push((claim.shard, chains.concat()));
        if inner.folds.len() > UNSETTLED_MAX {
            inner.folds.remove(0);
        }
        Ok(())
    }

    fn inbox(&self, shard: ShardId, after: &[MailId], limit: usize) -> Result<Vec<Mail>, Error> {
        let inner = self.lock();
        let mails = inner.log(shard).inbox.values().filter(|it| is_after(it.id, after));
        Ok(mails.take(limit).cloned().collect())
    }

    fn mailed(&self) -> Result<Vec<u64>, Error> {
        Ok(self.lock().logs.iter().map(|it| it.mails).collect())
    }

    fn deploy(&self, deployment: &Deployment) -> Result<(), Error> {
        let mut inner = self.lock();
        deployment.check(inner.deployments.values())?;
        inner.deployments.insert(deployment.number, deployment.clone());
        inner.revision += 1;
        Ok(())
    }

    fn deployments(&self, after: u64) -> Result<Vec<Deployment>, Error> {
        let inner = self.lock();
        Ok(inner
            .deployments
            .range((Excluded(after), Unbounded))
            .map(|(_, it)| it.clone())
            .collect())
    }

    fn undeploy(&self, keys: &[DefinitionKey]) -> Result<(), Error> {
        let mut inner = self.lock();
        let mut removed = false;
        for deployment in inner.deployments.values_mut() {
            removed |= deployment.remove(keys);
        }
        inner.revision += u64::from(removed);
        Ok(())
    }

    fn resource(&self, key: DefinitionKey) -> Result<Option<Resource>, Error> {
        let inner = self.lock();
        let found = inner.deployments.values().find_map(|it| it.resource_of(key));
        Ok(found.cloned())
    }

    fn retire(&self, keys: &[DefinitionKey]) -> Result<(), Error> {
        let mut inner = self.lock();
        let mut any = false;
        for deployment in inner.deployments.values_mut() {
            any |= deployment.retire(keys);
        }
        inner.revision += u64::from(any);
        Ok(())
    }

    fn revision(&self) -> Result<u64, Error> {
        Ok(self.lock().revision)
    }

    fn checkpoint_all(&self, advances: &[Advance<'_>]) -> Vec<Result<(), Error>> {
        let mut inner = self.lock();
        advances.iter().map(|it| inner.checkpoint(it)).collect()
    }

    fn checkpointed(&self, shard: ShardId) -> Result<(Seq, Vec<u8>), Error> {
        Ok(self.lock().views.upto.get(&shard).cloned().unwrap_or_default())
    }

    fn forget_views(&self, claim: &Claim) -> Result<(), Error> {
        let mut inner = self.lock();
        inner.check(claim)?;
        inner.views.forget(claim.shard, self.shards);
        // What a crash would take back belongs to views that are gone.
        inner.checkpoints.clear();
        Ok(())
    }

    fn reset_views(&self, claims: &[Claim]) -> Result<(), Error> {
        let mut inner = self.lock();
        Claim::of_all(claims, self.shards)?.iter().try_for_each(|it| inner.check(it))?;
        inner.views = Views::default();
        inner.checkpoints.clear();
        Ok(())
    }

    fn instance(&self, id: InstanceId) -> Result<Option<InstanceRow>, Error> {
        Ok(self.lock().views.instance(id.0).cloned())
    }

    fn named(&self, shard: ShardId, business_id: &str) -> Result<Vec<InstanceId>, Error> {
        let inner = self.lock();
        let first = (Name::from(business_id), 0);
        let ids = inner.views.names.range(first..).take_while(|(name, _)| **name == *business_id);
        let mut found: Vec<u64> =
            ids.map(|(_, id)| *id).filter(|id| ShardId::of(*id, self.shards) == shard).collect();
        found.reverse();
        Ok(found.into_iter().map(InstanceId).collect())
    }

    fn called(&self, call: Address) -> Result<Option<InstanceId>, Error> {
        Ok(self.lock().views.calls.get(&(call.instance.0, call.wait.0)).copied().map(InstanceId))
    }

    fn snapshot(&self, instance: InstanceId) -> Result<Option<(Seq, Vec<u8>)>, Error> {
        Ok(self.lock().views.snapshots.get(&instance.0).cloned())
    }

    fn scan(
        &self,
        shard: ShardId,
        table: Table,
        each: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // A copy, so that `each` may ask the store.
        let rows: Vec<Row> = {
            let inner = self.lock();
            let rows = inner.views.rows.get(&table).into_iter().flat_map(BTreeMap::values);
            rows.filter(|it| it.shard(self.shards) == shard).cloned().collect()
        };
        rows.into_iter().try_for_each(each)
    }

    fn search(&self, search: &Search) -> Result<Found, Error> {
        search.check()?;
        Ok(self.lock().views.search(search))
    }

    fn tally(&self, search: &Search, by: &[Column]) -> Result<Vec<Tally>, Error> {
        search.check_tally(by)?;
        let views = &self.lock().views;
        let rows = views.rows.get(&search.table).into_iter().flat_map(BTreeMap::values);
        search.tallied(tally(search, by, rows, views))
    }

    fn size(&self) -> Result<(u64, u64), Error> {
        let inner = self.lock();
        let bodies = inner.logs.iter().flat_map(|it| it.entries.values()).map(|it| it.body.len());
        Ok((bodies.sum::<usize>() as u64, 0))
    }

    fn compact(&self) -> Result<(), Error> {
        Ok(())
    }

    fn backup(&self, to: &Path) -> Result<(), Error> {
        let to = to.display();
        Err(Error::Failed { reason: format!("a store in memory cannot be copied to {to}") })
    }
}

#[cfg(test)]
mod tests {
    use travertine_value::time::Timestamp;

    use super::*;
    use crate::Batch;

    fn entry(seq: Seq, previous: Seq) -> Entry {
        Entry { seq, instance: InstanceId(1), previous, at: Timestamp::default(), body: vec![1] }
    }

    #[test]
    fn a_crash_takes_back_what_was_not_durable() {
        let store = MemoryStore::new(1);
        let claim = store.take(ShardId(0), "a").unwrap();
        let entries = vec![entry(1, 0), entry(2, 1)];
        store.append(&claim, &[Batch { entries, ..Batch::default() }]).unwrap();
        store.checkpoint(&claim, 1, b"one", &[]).unwrap();
        let snapshot = Change::Snapshot { instance: 1, seq: 2, body: vec![7] };
        store.checkpoint(&claim, 2, b"two", &[snapshot]).unwrap();
        store.fold(&claim, &[Fold { last: 2, entry: Some(entry(2, 0)) }]).unwrap();
        store.crash(1, 1);
        assert_eq!(store.checkpointed(ShardId(0)).unwrap(), (1, b"one".to_vec()));
        assert_eq!(store.snapshot(InstanceId(1)).unwrap(), None);
        assert_eq!(store.entries(ShardId(0), 0, 9).unwrap(), [entry(1, 0), entry(2, 1)]);
    }
}
