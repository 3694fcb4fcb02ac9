//! All that was ever durable, as far as promises are about it.

use std::collections::{BTreeMap, BTreeSet};

use travertine_kernel::{Event, JournalEntry, WaitFor};
use travertine_runtime::{Address, Definitions, InstanceId};
use travertine_store::{
    Entry, Seq,
    codec::record::decode_records,
    record::{Created, Record},
};
use travertine_value::Name;

/// All that was ever durable.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The last entry that was read, by shard.
    pub(super) read: BTreeMap<u16, Seq>,
    /// Every entry, by shard and place, as it was first written.
    pub(super) entries: BTreeMap<(u16, Seq), Entry>,
    pub(super) created: BTreeMap<u64, Created>,
    named: BTreeMap<(Name, Name), u64>,
    called: BTreeMap<Address, u64>,
    pub(super) ended: BTreeSet<u64>,
    /// Functions that were told to end, and may clear up first.
    pub(super) cancelled: BTreeSet<u64>,
    closed: BTreeSet<(u64, u64)>,
    /// Waits for messages, and after how many receipts they were opened.
    expecting: BTreeMap<(u64, u64), u64>,
    set: BTreeSet<Name>,
    /// How often a message brought a variable.
    received: BTreeMap<Name, u32>,
    /// How many receipts there had been when a message first brought a variable to an instance.
    first: BTreeMap<(u64, Name), u64>,
    receipts: u64,
    /// Variables that a message brought to a wait of an instance that had had it before.
    again: BTreeSet<Name>,
    records: BTreeMap<(u64, &'static str), u32>,
}

impl Journal {
    /// Takes note of an entry that is durable now.
    pub(super) fn note(
        &mut self,
        shard: u16,
        entry: Entry,
        definitions: &Definitions,
    ) -> Result<(), String> {
        let records = decode_records(&entry.body)
            .map_err(|error| format!("entry {} of shard {shard}: {error}", entry.seq))?;
        let id = entry.instance;
        for record in records {
            match record {
                Record::Created(created) => self.create(id.0, created, definitions)?,
                Record::Happened(events) => {
                    let starts = entry.previous == 0 && self.created[&id.0].caller.is_none();
                    self.happen(id.0, starts, &events);
                }
                Record::Suspended => self.count(id.0, "suspended"),
                Record::Resumed => self.count(id.0, "resumed"),
                Record::Leased { .. } => self.count(id.0, "leased"),
                Record::TimerMoved { .. } => self.count(id.0, "moved"),
                Record::TaskChanged { .. } => self.count(id.0, "changed"),
                Record::Migrated { .. } => self.count(id.0, "migrated"),
                Record::Halted(reason) => {
                    return Err(format!("instance {id} was halted: {reason}"));
                }
                Record::Released
                | Record::Deferred(_)
                | Record::Recalled
                | Record::Paused { .. }
                | Record::Folded(_)
                | Record::Held(_)
                | Record::Gone { .. }
                | Record::Known { .. }
                | Record::Recognised { .. }
                | Record::Numbered { .. }
                | Record::Subscribed(_)
                | Record::Unsubscribed { .. }
                | Record::Noted { .. }
                | Record::Unnoted { .. }
                | Record::StartTimer(_)
                | Record::Heard { .. }
                | Record::BeganAs { .. }
                | Record::Labelled(_)
                | Record::By { .. }
                | Record::ByBatch { .. }
                | Record::EndsAfter { .. }
                | Record::Ended(_) => {}
            }
        }
        self.read.insert(shard, entry.seq);
        self.entries.insert((shard, entry.seq), entry);
        Ok(())
    }

    fn create(&mut self, id: u64, it: Created, definitions: &Definitions) -> Result<(), String> {
        if let Some(name) = &it.business_id {
            let definition = definitions.get(it.definition).ok_or("an unknown definition")?;
            let key = (Name::clone(&definition.id), Name::clone(name));
            if let Some(other) = self.named.insert(key, id) {
                return Err(format!("instances {other} and {id} are both called {name}"));
            }
        }
        if let Some(caller) = it.caller
            && let Some(other) = self.called.insert(caller, id)
        {
            return Err(format!("call {caller} has started instances {other} and {id}"));
        }
        if self.created.insert(id, it).is_some() {
            return Err(format!("instance {id} was created twice"));
        }
        Ok(())
    }

    /// Whether a message was received is told by the variables that it brings, where nobody hands them
    /// on.
    fn happen(&mut self, id: u64, starts: bool, events: &[Event]) {
        let mut received = starts.then_some(self.receipts);
        for event in events {
            if let Event::WaitOpened { wait, on, .. } = event {
                if let WaitFor::Message { .. } = **on {
                    self.expecting.insert((id, wait.0), self.receipts);
                }
            } else if let Event::WaitClosed { wait } = event {
                received = self.expecting.get(&(id, wait.0)).copied().or(received);
                self.closed.insert((id, wait.0));
            } else if let Event::VariableSet { name, .. } = event {
                self.set.insert(Name::clone(name));
                if let Some(opened) = received {
                    self.receive(id, opened, name);
                }
            } else if let Event::Journaled { entry } = event {
                if let JournalEntry::Cancelled { .. } = **entry {
                    self.cancelled.insert(id);
                }
                // What comes to a function its code has in hand.
                if let JournalEntry::Done { outcome: Ok(brought), .. } = &**entry
                    && let Some(opened) = received.take()
                {
                    for (name, _) in brought {
                        self.receive(id, opened, name);
                    }
                }
            } else if let Event::Finished { .. } = event {
                self.ended.insert(id);
            }
        }
    }

    /// A message has brought a variable to a wait that was opened after so many receipts.
    fn receive(&mut self, id: u64, opened: u64, name: &Name) {
        *self.received.entry(Name::clone(name)).or_default() += 1;
        self.receipts += 1;
        let first = self.first.entry((id, Name::clone(name))).or_insert(self.receipts);
        if *first <= opened {
            self.again.insert(Name::clone(name));
        }
    }

    fn count(&mut self, id: u64, what: &'static str) {
        *self.records.entry((id, what)).or_default() += 1;
    }

    /// How many records of a kind there are about an instance.
    pub(super) fn counted(&self, id: u64, what: &'static str) -> u32 {
        self.records.get(&(id, what)).copied().unwrap_or(0)
    }

    /// Whether a wait is over.
    pub(super) fn is_closed(&self, id: u64, wait: u64) -> bool {
        self.closed.contains(&(id, wait))
    }

    /// Whether a variable of that name was ever set.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    /// How often a message brought a variable of that name.
    pub(super) fn received(&self, name: &str) -> u32 {
        self.received.get(name).copied().unwrap_or(0)
    }

    /// Whether a message brought a variable of that name to a wait of an instance that had had it.
    pub(super) fn has_come_again(&self, name: &str) -> bool {
        self.again.contains(name)
    }

    /// Whether a message has brought a variable of that name to an instance.
    pub(super) fn has_had(&self, id: u64, name: &str) -> bool {
        self.first.contains_key(&(id, Name::from(name)))
    }

    /// What was called by a wait.
    pub(super) fn child(&self, caller: Address) -> Option<u64> {
        self.called.get(&caller).copied()
    }

    /// The instances of a shard.
    pub(super) fn of_shard(&self, shard: u16, shards: u16) -> Vec<InstanceId> {
        let ids = self.created.keys().filter(|it| *it % u64::from(shards) == u64::from(shard));
        ids.map(|it| InstanceId(*it)).collect()
    }
}
