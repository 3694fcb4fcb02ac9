//! Instances come into memory when they are needed, and leave it when they are not.

use std::sync::Arc;

use travertine_func::quietly;
use travertine_kernel::{Event, WaitId};
use travertine_store::{
    Entry, Error as StoreError, Seq,
    codec::record::{decode_records, decode_snapshot},
    record::{Created, Record},
    view::InstanceRow,
};
use travertine_value::Name;

use super::{
    Shard,
    checkpoint::instance_row,
    live::{Live, Touched, unknown_definition},
    snapshot::unfolded,
};
use crate::{Address, Definition, DefinitionKey, Error, InstanceId};

/// How many entries are read at once.
pub(super) const PAGE: usize = 4_096;

impl Shard {
    /// The instance of that number, in memory. One that cannot be read is halted.
    pub(super) fn live(&mut self, id: InstanceId) -> Result<&mut Live, Error> {
        let live = self.take_out(id)?;
        Ok(self.instances.put(live))
    }

    /// Takes an instance out of memory, or reads it.
    pub(super) fn bring(&mut self, id: InstanceId) -> Result<Box<Live>, Error> {
        if let Some(live) = self.instances.take(id) {
            return Ok(live);
        }
        if let Some(live) = self.instances.closing.reopen(id) {
            self.instances.order.push_back(id);
            return Ok(Box::new(live));
        }
        let loaded = match self.load(id) {
            Err(error @ Error::Damaged { .. }) => self.load_damaged(id, error),
            loaded => loaded,
        };
        if let Err(Error::Store(error)) = &loaded {
            self.env.fail(error);
        } else if let Err(Error::NoSuchInstance(_)) = &loaded {
            self.forget_rows(id);
        }
        let live = loaded?;
        if live.touched.any {
            self.views.dirty.push(id);
            self.views.want();
        }
        self.instances.order.push_back(id);
        Ok(Box::new(live))
    }

    /// Has the row of an instance written again, which cannot be read.
    pub(super) fn mend(&mut self, instance: InstanceId) -> Result<(), Error> {
        let mended = self.with(instance, |shard, live| {
            shard.views.mark(live);
            shard.views.want();
            Ok(())
        });
        match mended {
            // Nothing is left of it but the row, which goes.
            Err(Error::NoSuchInstance(_)) => Ok(()),
            mended => mended,
        }
    }

    /// Forgets what rows say of an instance that is not kept any more. A crash may have brought them
    /// back.
    fn forget_rows(&mut self, id: InstanceId) {
        if let Ok(Some(_)) | Err(StoreError::DamagedRow { .. }) = self.env.instance(id) {
            self.forget_indexed(id);
            self.views.remove(id);
            self.views.want();
        }
    }

    /// Forgets which jobs, timers and subscriptions an instance has.
    pub(super) fn forget_indexed(&mut self, id: InstanceId) {
        self.env.board.clear(|job| job.instance == id);
        self.alarms.forget(id);
        for address in self.messages.waiting.of(id) {
            self.unsubscribe_logged(address);
        }
    }

    /// The instance of that number, if it runs or has ended lately.
    pub fn look(&mut self, id: InstanceId) -> Result<&Live, Error> {
        let live = self.live(id)?;
        live.damage.clone().map_or(Ok(live), Err)
    }

    /// The instances in memory, by number.
    pub fn in_memory(&self) -> Vec<&Live> {
        let mut lives: Vec<&Live> = self.instances.lives.values().map(|it| &**it).collect();
        lives.sort_by_key(|it| it.id);
        lives
    }

    /// The instance of that number, if it is in memory.
    pub(crate) fn in_memory_at(&self, id: InstanceId) -> Option<&Live> {
        self.instances.lives.get(&id).map(|it| &**it)
    }

    pub(super) fn load(&self, id: InstanceId) -> Result<Live, Error> {
        let missing = Error::NoSuchInstance(id);
        let Some((row, made_again)) = self.row_of(id)? else { return Err(missing) };
        if row.ended.is_some()
            && let Some(live) = self.load_ended(id, &row)?
        {
            return Ok(live);
        }
        let mut live = match self.load_snapshot(id)? {
            Some(live) => live,
            None => self.unborn(id, &row)?,
        };
        // A snapshot alone does not tell that the instance is still kept.
        let after = live.last;
        let chain = match self.env.chain(id, row.last, after.min(row.last - 1)) {
            Err(StoreError::NoSuchEntry { seq, .. }) if seq == row.last => {
                // It was forgotten, and a crash has brought its row back; unless the log has lost it.
                self.env.store.check_log(self.id()).map_err(|it| broken(id, it))?;
                return Err(missing);
            }
            chain => chain.map_err(|it| broken(id, it))?,
        };
        for entry in chain.into_iter().filter(|it| it.seq > after) {
            let records = decode_records(&entry.body).map_err(|it| unreadable(&entry, &it))?;
            self.replay(&mut live, &entry, &records)?;
            for record in &records {
                if let Record::Happened(events) = record {
                    live.forget_closed(events);
                }
            }
        }
        live.incidents_over();
        live.touched = Touched { any: made_again, ..Touched::default() };
        // Their rows are stored.
        live.past = Vec::new();
        // Whatever it has names for may have rows.
        live.rowed = live.named;
        Ok(live)
    }

    /// What is left of an instance that someone has ended while it was halted. Nothing of what was before
    /// need be readable.
    fn load_ended(&self, id: InstanceId, row: &InstanceRow) -> Result<Option<Live>, Error> {
        let found = match self.env.chain(id, row.last, row.last.saturating_sub(1)) {
            Err(StoreError::NoSuchEntry { .. } | StoreError::Corrupt { .. }) => return Ok(None),
            found => found?,
        };
        let Some(entry) = found.into_iter().find(|it| it.seq == row.last) else { return Ok(None) };
        let Ok(records) = decode_records(&entry.body) else { return Ok(None) };
        if !matches!(records.first(), Some(Record::Ended(_))) {
            return Ok(None);
        }
        let mut live = Live::unknown(id);
        self.replay(&mut live, &entry, &records)?;
        live.touched = Touched::default();
        Ok(Some(live))
    }

    /// The row of an instance, and whether it was made again as the log says because it cannot be read.
    pub(super) fn row_of(&self, id: InstanceId) -> Result<Option<(InstanceRow, bool)>, Error> {
        match self.env.instance(id) {
            Err(error @ StoreError::DamagedRow { .. }) => {
                tracing::error!(instance = id.0, %error, "a row is made again from the log");
                Ok(self.row_of_log(id)?.map(|row| (row, true)))
            }
            row => Ok(row?.map(|row| (row, false))),
        }
    }

    /// How an instance came to be and which entry about it is the last that rows know, as the log says.
    /// Nothing else tells where in the log that stands, so all of it is read.
    fn row_of_log(&self, id: InstanceId) -> Result<Option<InstanceRow>, Error> {
        let mut live: Option<Live> = None;
        let mut after = 0;
        loop {
            let entries = self.env.store.entries(self.id(), after, PAGE)?;
            let Some(end) = entries.last().map(|it| it.seq) else { break };
            for entry in
                entries.iter().filter(|it| it.instance == id && it.seq <= self.views.stored)
            {
                live.get_or_insert_with(|| self.begun(entry)).last = entry.seq;
            }
            after = end;
        }
        Ok(live.map(|it| instance_row(&it)))
    }

    /// An instance at its first entry.
    fn begun(&self, entry: &Entry) -> Live {
        let id = entry.instance;
        let mut live = Live::unknown(id);
        let records = decode_records(&entry.body).unwrap_or_default();
        let created = match records.first() {
            Some(Record::Created(created)) => Some(created),
            Some(Record::Folded(folded)) => Some(&folded.created),
            _ => None,
        };
        if let Some(created) = created {
            live.definition = self.definition_of(id, created.definition).unwrap_or_else(|_| {
                Arc::new(unknown_definition(created.definition, "unknown".into(), 0))
            });
            live.created = created.clone();
        }
        live.at = entry.at;
        live
    }

    /// The instance as its snapshot says. Where that cannot be read, the log says the same.
    fn load_snapshot(&self, id: InstanceId) -> Result<Option<Live>, Error> {
        let (seq, body) = match self.env.snapshot(id) {
            Err(error @ (StoreError::Corrupt { .. } | StoreError::DamagedViews { .. })) => {
                tracing::warn!(instance = id.0, %error, "a snapshot is passed over");
                return Ok(None);
            }
            found => match found? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        let read = decode_snapshot(&body).map_err(|it| damaged(id, &it)).and_then(|snapshot| {
            let definition = self.definition_of(id, snapshot.definition)?;
            Live::of_snapshot(id, &snapshot, definition).map_err(|it| damaged(id, &it))
        });
        let mut live = match read {
            Ok(live) => live,
            Err(error) => {
                tracing::warn!(instance = id.0, %error, "a snapshot is passed over");
                return Ok(None);
            }
        };
        live.last = seq;
        live.snapshot = seq;
        live.snapshot_size = body.len();
        self.note_all_remote(&mut live);
        Ok(Some(live))
    }

    /// An instance whose log cannot be read, as far as it can. Its state is not known, so it only
    /// keeps what comes for it. Of one that has ended the rows say enough.
    fn load_damaged(&self, id: InstanceId, error: Error) -> Result<Live, Error> {
        let missing = Error::NoSuchInstance(id);
        let (row, made_again) = self.row_of(id)?.ok_or(missing)?;
        if row.ended.is_some() {
            return Err(error);
        }
        let mut live = self.unborn(id, &row).unwrap_or_else(|_| {
            let (definition, version) = (Name::clone(&row.definition), row.version);
            let definition = unknown_definition(row.definition_key, definition, version);
            Live::new(id, created_of(&row), Arc::new(definition))
        });
        for entry in self.readable_end(id, row.last)?.iter().rev() {
            live.learn_readable(entry);
        }
        live.last = row.last;
        live.damage = Some(error);
        live.touched = Touched { any: made_again, ..Touched::default() };
        Ok(live)
    }

    /// The entries about an instance that can be read, the newest first, as far as they follow on each
    /// other.
    fn readable_end(&self, id: InstanceId, last: Seq) -> Result<Vec<Entry>, Error> {
        let mut found = Vec::new();
        let mut next = last;
        while next > 0 {
            match self.env.store.chain(self.id(), next, next - 1) {
                Ok(entries) => found.extend(entries.into_iter().filter(|it| it.instance == id)),
                Err(StoreError::NoSuchEntry { .. } | StoreError::Corrupt { .. }) => break,
                Err(error) => return Err(error.into()),
            }
            next = found.last().filter(|it| it.seq == next).map_or(0, |it| it.previous);
        }
        Ok(found)
    }

    /// Halts an instance that cannot be read, unless its log says so already.
    pub(super) fn halt_damaged(&mut self, live: &mut Live) {
        let Some(error) = live.damage.clone().filter(|_| live.halted.is_none()) else { return };
        let id = live.id;
        self.env.board.clear(|job| job.instance == id);
        self.halt(live, error.to_string());
        for watcher in self.watchers.take(id) {
            self.reply_to_watcher(watcher, Err(error.clone()));
        }
    }

    /// An instance before its first entry.
    pub(super) fn unborn(&self, id: InstanceId, row: &InstanceRow) -> Result<Live, Error> {
        Ok(Live::new(id, created_of(row), self.definition_of(id, row.definition_key)?))
    }

    /// What an instance runs, as what is stored of it says.
    pub(super) fn definition_of(
        &self,
        id: InstanceId,
        key: DefinitionKey,
    ) -> Result<Arc<Definition>, Error> {
        self.env.definition(key).map_err(|error| match self.env.definitions.why_unreadable(key) {
            Some(why) => damaged(id, &why),
            None => damaged(id, &error),
        })
    }

    /// Makes an instance in memory what it was after an entry.
    pub(super) fn replay(
        &self,
        live: &mut Live,
        entry: &Entry,
        records: &[Record],
    ) -> Result<(), Error> {
        let id = live.id;
        let (mut by, mut moved) = (None, false);
        for record in records {
            if let Record::By { who } | Record::ByBatch { who, .. } = record {
                by = Some(who);
            } else if let Record::Migrated { definition: key } = record {
                // What happened with that is about elements of what it runs from then on.
                live.definition = self.definition_of(id, *key)?;
                moved = true;
            }
        }
        for record in records {
            match record {
                Record::Created(created) => {
                    live.created = created.clone();
                    if !moved {
                        live.definition = self.definition_of(id, created.definition)?;
                    }
                }
                Record::Happened(events) => {
                    // What can be read need not follow on what was before.
                    live.state.keep_past(self.env.settings.history.wanted());
                    quietly(|| live.replay(entry.at, events, by))
                        .map_err(|panic| unreadable(entry, &panic))?;
                    self.note_remote(live, events);
                }
                Record::Folded(folded) => {
                    live.created = folded.created.clone();
                    live.definition = self.definition_of(id, folded.created.definition)?;
                    live.replay(entry.at, &unfolded(folded), None);
                }
                Record::Ended(folded) => {
                    // What it ran may not be known any more.
                    if let Ok(definition) = self.env.definition(folded.created.definition) {
                        live.definition = definition;
                    }
                    live.end_by(entry.at, folded);
                }
                Record::Migrated { .. } => {}
                other => live.learn(other),
            }
        }
        live.last = entry.seq;
        live.tail += entry.body.len();
        Ok(())
    }

    /// Which waits another shard finds receivers for.
    fn note_remote(&self, live: &mut Live, events: &[Event]) {
        for event in events {
            if let Event::WaitOpened { wait, on, .. } = event {
                self.note_keeper(live, *wait, on);
            } else if let Event::WaitClosed { wait } = event {
                live.subscribed.remove(wait);
            }
        }
    }

    fn note_all_remote(&self, live: &mut Live) {
        let waits: Vec<_> =
            live.state.waits.iter().map(|(id, wait)| (*id, Arc::clone(&wait.on))).collect();
        for (wait, on) in waits {
            self.note_keeper(live, wait, &on);
        }
    }

    fn note_keeper(&self, live: &mut Live, wait: WaitId, on: &travertine_kernel::WaitFor) {
        use travertine_kernel::WaitFor;
        if let WaitFor::Message { name, .. } | WaitFor::Signal { name } = on {
            let keeper = self.keeper(name);
            if keeper != self.id() {
                live.subscribed.insert(wait, keeper);
            }
        }
    }

    /// Forgets instances that nobody has used for a while, until no more are in memory than there
    /// should be. Those whose rows are not stored stay.
    pub(super) fn evict(&mut self) {
        self.instances.evict(self.env.settings.instances_max, self.views.stored);
    }

    /// How many instances are in memory.
    pub fn len(&self) -> usize {
        self.instances.lives.len()
    }

    /// Whether no instance is in memory.
    pub fn is_empty(&self) -> bool {
        self.instances.lives.is_empty()
    }
}

/// How an instance came to be, as far as its row says.
fn created_of(row: &InstanceRow) -> Created {
    Created {
        definition: row.definition_key,
        business_id: row.business_id.clone(),
        caller: row
            .parent
            .map(|(instance, wait)| Address { instance: InstanceId(instance), wait: WaitId(wait) }),
        root: if row.root == row.id { InstanceId::NONE } else { InstanceId(row.root) },
        depth: 0,
    }
}

pub(super) fn damaged(id: InstanceId, error: &dyn std::fmt::Display) -> Error {
    Error::damaged_instance(id, error)
}

/// The entries about an instance cannot be had.
pub(super) fn broken(id: InstanceId, error: StoreError) -> Error {
    match error {
        StoreError::NoSuchEntry { .. } | StoreError::Corrupt { .. } | StoreError::Lost { .. } => {
            damaged(id, &error)
        }
        other => other.into(),
    }
}

/// An entry about an instance cannot be read.
pub(super) fn unreadable(entry: &Entry, error: &dyn std::fmt::Display) -> Error {
    damaged(entry.instance, &format!("entry {}: {error}", entry.seq))
}
