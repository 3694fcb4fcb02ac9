//! What is read for a batch before it is seen to. Of a store behind a network each read is a round trip, however
//! little it brings; so what a batch will need is asked for all at once.

use std::collections::{BTreeSet, HashMap};

use travertine_store::{
    Entry, Error as StoreError, Loaded, Seq, ShardId, codec::record::decode_letter,
    view::InstanceRow,
};
use travertine_value::Name;

use super::{Hashed, Shard, alarm::Alarm, environment::Environment};
use crate::{Address, Error, InstanceId, request::Needs};

/// How much of what is due is read for at most: about as much as a batch takes.
const DUE_MAX: usize = 4_096;

/// What was read beforehand. It counts for one batch: whatever changes in that is in memory, and memory comes first.
#[derive(Default)]
pub(super) struct Lots {
    loaded: HashMap<InstanceId, Loaded, Hashed>,
    named: HashMap<Name, Vec<InstanceId>>,
    called: HashMap<Address, Option<InstanceId>, Hashed>,
}

/// What the store has, from what was read beforehand where that tells. What is damaged is asked for again by itself, so
/// that whoever needs it learns why. What cannot be read now is a fault: nobody may decide anything without it.
impl Environment {
    pub(super) fn instance(&self, id: InstanceId) -> Result<Option<InstanceRow>, StoreError> {
        match self.lots.loaded.get(&id) {
            Some(Loaded { row: Ok(row), .. }) => Ok(row.clone()),
            Some(_) | None => self.read(self.store.instance(id)),
        }
    }

    pub(super) fn snapshot(&self, id: InstanceId) -> Result<Option<(Seq, Vec<u8>)>, StoreError> {
        match self.lots.loaded.get(&id) {
            Some(Loaded { snapshot: Ok(snapshot), .. }) => Ok(snapshot.clone()),
            Some(_) | None => self.read(self.store.snapshot(id)),
        }
    }

    /// The entries about an instance back from `last` as far as those after `after`.
    pub(super) fn chain(
        &self,
        id: InstanceId,
        last: Seq,
        after: Seq,
    ) -> Result<Vec<Entry>, StoreError> {
        if let Some(Loaded { chain: Ok(chain), .. }) = self.lots.loaded.get(&id)
            && chain.last().is_some_and(|it| it.seq == last)
            && chain.first().is_some_and(|it| it.previous <= after)
        {
            return Ok(chain.iter().filter(|it| it.seq > after).cloned().collect());
        }
        self.read(self.store.chain(self.id(), last, after))
    }

    pub(super) fn named(&self, name: &Name) -> Result<Vec<InstanceId>, StoreError> {
        match self.lots.named.get(name) {
            Some(found) => Ok(found.clone()),
            None => self.read(self.store.named(self.id(), name)),
        }
    }

    pub(super) fn called(&self, call: Address) -> Result<Option<InstanceId>, StoreError> {
        match self.lots.called.get(&call) {
            Some(found) => Ok(*found),
            None => self.read(self.store.called(call)),
        }
    }

    /// Takes note where nothing could be read now.
    fn read<T>(&self, read: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &read
            && is_away(error)
        {
            self.fail(error);
        }
        read
    }
}

/// Whether nothing can be read now, and may be soon.
fn is_away(error: &StoreError) -> bool {
    matches!(error, StoreError::Away { .. } | StoreError::Unknown { .. } | StoreError::Full { .. })
}

impl Shard {
    /// Takes note of what a mail will need. What cannot be read needs nothing.
    pub fn note_mail(needs: &mut Needs, body: &[u8]) {
        if let Ok(letter) = decode_letter(body) {
            needs.note_letter(&letter);
        }
    }

    /// Reads what will be needed and memory does not have, and what is due: who is called so and who was called, then
    /// all instances. It counts until [`Shard::forget_fetched`]. Where the store is away nothing must be begun that
    /// needs it.
    pub fn fetch(&mut self, mut needs: Needs) -> Result<(), Error> {
        let id = self.id();
        for (_, alarm) in self.alarms.due(self.now).take(DUE_MAX) {
            match alarm {
                Alarm::Wait(at) | Alarm::Job(at) | Alarm::Attempt(at) => {
                    needs.instances.insert(at.instance);
                }
                Alarm::Start(_) | Alarm::Message(_) | Alarm::Limit | Alarm::Throttle => {}
            }
        }
        needs.calls.retain(|it| self.instances.started_by(*it).is_none());
        self.fetch_named(id, &needs.names, &mut needs.instances)?;
        self.fetch_called(&needs.calls, &mut needs.instances)?;
        let instances = &self.instances;
        let is_missing = |it: &InstanceId| {
            !instances.lives.contains_key(it) && instances.closing.get(*it).is_none()
        };
        let env = &self.env;
        let missing: Vec<InstanceId> = needs
            .instances
            .into_iter()
            .filter(|it| env.shard_of(*it) == id && is_missing(it))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let loaded = self.env.store.load(id, &missing);
        if let Some(error) = loaded.iter().filter_map(why_unread).find(|it| is_away(it)) {
            return Err(error.clone().into());
        }
        self.env.lots.loaded.extend(missing.into_iter().zip(loaded));
        Ok(())
    }

    fn fetch_named(
        &mut self,
        id: ShardId,
        names: &BTreeSet<Name>,
        instances: &mut BTreeSet<InstanceId>,
    ) -> Result<(), Error> {
        if names.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = names.iter().map(|it| &**it).collect();
        match self.env.store.named_many(id, &texts) {
            Ok(found) => {
                instances.extend(found.iter().flatten());
                self.env.lots.named.extend(names.iter().map(Name::clone).zip(found));
            }
            Err(error) if is_away(&error) => return Err(error.into()),
            Err(error) => tracing::debug!(%error, "names are asked for one by one"),
        }
        Ok(())
    }

    fn fetch_called(
        &mut self,
        calls: &BTreeSet<Address>,
        instances: &mut BTreeSet<InstanceId>,
    ) -> Result<(), Error> {
        if calls.is_empty() {
            return Ok(());
        }
        let calls: Vec<Address> = calls.iter().copied().collect();
        match self.env.store.called_many(&calls) {
            Ok(found) => {
                instances.extend(found.iter().flatten());
                self.env.lots.called.extend(calls.into_iter().zip(found));
            }
            Err(error) if is_away(&error) => return Err(error.into()),
            Err(error) => tracing::debug!(%error, "calls are asked for one by one"),
        }
        Ok(())
    }

    /// What was read beforehand counts no more.
    pub fn forget_fetched(&mut self) {
        self.env.lots = Lots::default();
    }
}

/// Why some of what there is of an instance could not be read.
fn why_unread(loaded: &Loaded) -> Option<&StoreError> {
    let Loaded { row, snapshot, chain } = loaded;
    let unread = row.as_ref().err().or_else(|| snapshot.as_ref().err());
    unread.or_else(|| chain.as_ref().err())
}
