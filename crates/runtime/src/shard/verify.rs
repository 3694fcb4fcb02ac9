//! Whether the views of a shard say what its log says.

use std::{collections::BTreeMap, fmt};

use travertine_kernel::{Event, WaitFor};
use travertine_store::{
    Entry, Error as StoreError, MailId, Seq,
    codec::record::{Letter, Record, decode_letter, decode_records},
    view::{Change, Filter, Query, Row, Table},
};

use super::{
    Shard,
    checkpoint::{instance_row, instance_rows},
    live::Live,
    load::{broken, unreadable},
};
use crate::{Error, InstanceId};

/// How many entries are read at once.
const PAGE: usize = 4_096;

/// What was compared, and what does not agree.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let verified = engine.verify()?;
/// println!("{} instances, {} differences", verified.instances, verified.differences.len());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many entries of the log were read.
    pub entries: u64,
    /// How many instances were compared.
    pub instances: u64,
    /// How many rows were compared.
    pub rows: u64,
    /// How many ended instances have entries and no row: they were forgotten, and a crash of the
    /// machine has brought their entries back.
    pub forgotten: u64,
    /// What does not agree.
    pub differences: Vec<Difference>,
}

/// Something that the log and the views say differently.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// for it in engine.verify()?.differences {
///     println!("instance {}: {}", it.instance, it.what);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// About which instance; 0 for the shard itself.
    pub instance: InstanceId,
    /// What.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.instance {
            InstanceId(0) => f.write_str(&self.what),
            instance => write!(f, "instance {instance}: {}", self.what),
        }
    }
}

impl Verified {
    /// Adds what was found elsewhere.
    pub(crate) fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.instances += other.instances;
        self.rows += other.rows;
        self.forgotten += other.forgotten;
        self.differences.extend(other.differences);
    }

    fn differs(&mut self, instance: u64, what: impl Into<String>) {
        let instance = InstanceId(instance);
        self.differences.push(Difference { instance, what: what.into() });
    }
}

/// The tables whose rows follow from one instance alone.
const TABLES: [Table; 6] =
    [Table::Elements, Table::Variables, Table::Jobs, Table::Tasks, Table::Timers, Table::Incidents];

impl Shard {
    /// Replays the log and compares what follows with the views, which must be up to date.
    pub fn verify(&mut self) -> Result<Verified, Error> {
        let mut found = Verified::default();
        for mail in self.store.inbox(self.id())? {
            if let Err(error) = decode_letter(&mail.body) {
                let MailId { from, number } = mail.id;
                let mail = format!("mail {number} from shard {from} to {}", self.id());
                found.differs(0, format!("{mail} cannot be read: {error}"));
            }
        }
        let mut last: BTreeMap<u64, Seq> = BTreeMap::new();
        let mut after = 0;
        loop {
            let entries = self.store.entries(self.id(), after, PAGE)?;
            let Some(end) = entries.last().map(|it| it.seq) else { break };
            for entry in entries {
                found.entries += 1;
                verify_entry(&entry, &mut last, &mut found);
            }
            after = end;
        }
        for (instance, last) in last {
            found.instances += 1;
            match self.verify_instance(instance, last, &mut found) {
                Err(error @ Error::Damaged { .. }) => found.differs(instance, error.to_string()),
                verified => verified?,
            }
        }
        Ok(found)
    }

    fn verify_instance(&mut self, id: u64, last: Seq, found: &mut Verified) -> Result<(), Error> {
        let row = match self.store.instance(id) {
            Err(error @ StoreError::DamagedRow { .. }) => {
                found.differs(id, error.to_string());
                return Ok(());
            }
            row => row?,
        };
        let Some(row) = row else {
            if self.has_ended_by(id, last)? {
                found.forgotten += 1;
            } else {
                found.differs(id, "it has no row");
            }
            return Ok(());
        };
        if row.last != last {
            found.differs(id, format!("its row is of entry {}, its last is {last}", row.last));
            return Ok(());
        }
        let mut live = self.unborn(id, &row)?;
        for entry in self.store.chain(self.id(), last, 0).map_err(|it| broken(id, it))? {
            let records =
                decode_records(&entry.body).map_err(|error| unreadable(&entry, &error))?;
            self.replay(&mut live, &entry, &records)?;
            for record in &records {
                if let Record::Happened(events) = record {
                    live.forget_closed(events);
                }
            }
        }
        if live.halted.is_some() {
            return Ok(());
        }
        found.rows += 1;
        let wanted = instance_row(&live);
        if wanted != row {
            found.differs(id, format!("its row should be {wanted:?}, and is {row:?}"));
        }
        let loaded = self.load(id)?;
        if loaded.state != live.state {
            found.differs(id, "its snapshot leads to another state than its log");
        }
        if loaded.heard != live.heard {
            found.differs(id, "its snapshot tells of other messages that it has had than its log");
        }
        self.verify_rows(live, found)
    }

    /// Whether an instance has ended with an entry or before.
    fn has_ended_by(&self, id: u64, last: Seq) -> Result<bool, Error> {
        for entry in self.store.chain(self.id(), last, 0).map_err(|it| broken(id, it))? {
            let records =
                decode_records(&entry.body).map_err(|error| unreadable(&entry, &error))?;
            let ends = |it: &Record| match it {
                Record::Happened(events) => {
                    events.iter().any(|it| matches!(it, Event::Finished { .. }))
                }
                Record::Folded(_) | Record::Ended(_) => true,
                _ => false,
            };
            if records.iter().any(ends) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn verify_rows(&mut self, mut live: Live, found: &mut Verified) -> Result<(), Error> {
        let id = live.id.0;
        let mut changes = Vec::new();
        let waits: Vec<_> = live.state.waits.iter().map(|(id, it)| (*id, it.clone())).collect();
        let deferred: Vec<(u64, u64)> = live.deferred.iter().filter_map(receiver).collect();
        live.rowed = 0;
        instance_rows(&mut live, usize::MAX, &mut changes);
        let mut wanted: Vec<Row> = changes
            .into_iter()
            .filter_map(|it| if let Change::Put(row) = it { Some(row) } else { None })
            .filter(|it| it.table() != Table::Instances)
            .collect();
        let mut there = Vec::new();
        for table in TABLES {
            there.extend(self.rows_of(table, id)?);
        }
        let order = |row: &Row| (row.table(), row.key());
        wanted.sort_by_key(order);
        there.sort_by_key(order);
        found.rows += wanted.len() as u64;
        if wanted != there {
            let missing = wanted.iter().filter(|it| !there.contains(it)).take(3);
            let missing: Vec<String> = missing.map(|it| format!("{it:?}")).collect();
            let extra = there.iter().filter(|it| !wanted.contains(it)).take(3);
            let extra: Vec<String> = extra.map(|it| format!("{it:?}")).collect();
            found.differs(id, format!("rows are missing: {missing:?}; rows are wrong: {extra:?}"));
        }
        let subscribed = self.rows_of(Table::Subscriptions, id)?;
        for (wait, it) in waits {
            let waits_for = matches!(*it.on, WaitFor::Message { .. } | WaitFor::Signal { .. });
            let has_row = subscribed.iter().any(|row| row.key().number == wait.0);
            let taken = deferred.contains(&(id, wait.0));
            if waits_for && !has_row && !taken {
                found.differs(id, format!("nobody knows that wait {} waits for messages", wait.0));
            }
        }
        Ok(())
    }

    fn rows_of(&self, table: Table, instance: u64) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        let mut after = None;
        loop {
            let page = self.store.query(&Query {
                table,
                filters: vec![Filter::Instance(instance)],
                descending: false,
                after: after.take(),
                limit: 1_000,
            })?;
            rows.extend(page.rows);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(rows),
            }
        }
    }
}

/// Whom a letter that could not be heard yet was for.
fn receiver(letter: &Letter) -> Option<(u64, u64)> {
    if let Letter::Deliver { to, .. } | Letter::Signal { to, .. } = letter {
        Some(*to)
    } else {
        None
    }
}

fn verify_entry(entry: &Entry, last: &mut BTreeMap<u64, Seq>, found: &mut Verified) {
    if let Err(error) = decode_records(&entry.body) {
        found.differs(entry.instance, format!("entry {} cannot be read: {error}", entry.seq));
    }
    if entry.instance == 0 {
        return;
    }
    let before = last.insert(entry.instance, entry.seq).unwrap_or(0);
    if before != entry.previous {
        let what = format!("entry {} follows {before}, not {}", entry.seq, entry.previous);
        found.differs(entry.instance, what);
    }
}
