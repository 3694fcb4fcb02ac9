//! Whether the views of a shard say what its log says.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
};

use travertine_kernel::{Event, WaitFor};
use travertine_store::{
    Error as StoreError, MailId, Seq, ShardId, Store,
    codec::record::{decode_letter, decode_records},
    record::{Letter, Record},
    search::{Column, IncidentColumn, Search, TaskColumn},
    view::{Change, Cursor, InstanceRow, Query, Row, Table},
};

use super::{
    Shard,
    checkpoint::{instance_row, instance_rows},
    live::Live,
    load::{broken, unreadable},
    settings::Kept,
};
use crate::{Address, Error, InstanceId, Timestamp};

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
    /// How many ended instances have entries and no row, or a row and no entries: they were forgotten, and
    /// a crash of the machine has brought back one of both.
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

    fn differs(&mut self, instance: InstanceId, what: impl Into<String>) {
        self.differences.push(Difference { instance, what: what.into() });
    }
}

/// The tables whose rows follow from one instance alone.
const TABLES: [Table; 9] = [
    Table::Elements,
    Table::Variables,
    Table::Jobs,
    Table::Tasks,
    Table::Timers,
    Table::Incidents,
    Table::PastJobs,
    Table::PastTasks,
    Table::PastIncidents,
];

/// Since when rows of what is over are kept: from the oldest on that there is.
type Oldest = BTreeMap<Table, Timestamp>;

impl Shard {
    /// Replays the log and compares what follows with the views, which must be up to date.
    ///
    /// The log is read once in order and once along the chains of the instances, and each table once in the
    /// order of keys; one instance is in memory at a time. `progress` is told how many entries of how many have been read.
    pub fn verify(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<Verified, Error> {
        let mut found = Verified::default();
        for mail in self.env.store.inbox(self.id(), &[], usize::MAX)? {
            if let Err(error) = decode_letter(&mail.body) {
                let MailId { from, number } = mail.id;
                let mail = format!("mail {number} from shard {from} to {}", self.id());
                found.differs(InstanceId::NONE, format!("{mail} cannot be read: {error}"));
            }
        }
        let mut walk = Walk { entries: 0, total: 2 * self.env.store.last(self.id())?, progress };
        let mut of_instances = 0;
        let mut after = 0;
        loop {
            let entries = self.env.store.entries(self.id(), after, PAGE)?;
            let Some(end) = entries.last().map(|it| it.seq) else { break };
            for entry in entries {
                found.entries += 1;
                of_instances += u64::from(entry.instance != InstanceId::NONE);
                if let Err(error) = decode_records(&entry.body) {
                    let what = format!("entry {} cannot be read: {error}", entry.seq);
                    found.differs(entry.instance, what);
                }
            }
            walk.on(end - after);
            after = end;
        }
        let chained = self.verify_instances(&mut walk, &mut found)?;
        if chained != of_instances {
            self.verify_loose(&mut found)?;
        }
        Ok(found)
    }

    /// Compares all instances that have rows, and says how many entries their chains have.
    fn verify_instances(
        &mut self,
        walk: &mut Walk<'_>,
        found: &mut Verified,
    ) -> Result<u64, Error> {
        let mut chained = 0;
        let oldest = self.oldest()?;
        let mut instances = Stream::new(Table::Instances);
        let mut tables: Vec<Stream> = TABLES.map(Stream::new).into();
        let mut subscriptions = Stream::new(Table::Subscriptions);
        while let Some(row) = instances.next(&*self.env.store)? {
            let row = match row {
                Ok(Row::Instance(row)) => row,
                Ok(_) => continue,
                Err((id, what)) => {
                    if ShardId::of(id, self.env.shards) == self.id() {
                        found.instances += 1;
                        found.differs(InstanceId(id), what);
                    }
                    continue;
                }
            };
            if ShardId::of(row.id, self.env.shards) != self.id() {
                continue;
            }
            found.instances += 1;
            let mut there = Vec::new();
            for table in &mut tables {
                there.extend(table.of(InstanceId(row.id), &*self.env.store)?);
            }
            let subscribed = subscriptions.of(InstanceId(row.id), &*self.env.store)?;
            let id = row.id;
            match self.verify_instance(&row, there, &subscribed, &oldest, found) {
                Ok(length) => {
                    chained += length;
                    walk.on(length);
                }
                Err(error @ Error::Damaged { .. }) => {
                    found.differs(InstanceId(id), error.to_string());
                }
                Err(other) => return Err(other),
            }
        }
        Ok(chained)
    }

    /// Finds the entries that no row leads to, by where the chain of each instance ends. That takes a little
    /// memory for each instance, so it is done only where there are such entries.
    fn verify_loose(&mut self, found: &mut Verified) -> Result<(), Error> {
        let mut last: BTreeMap<InstanceId, Seq> = BTreeMap::new();
        let mut after = 0;
        loop {
            let entries = self.env.store.entries(self.id(), after, PAGE)?;
            let Some(end) = entries.last().map(|it| it.seq) else { break };
            for entry in entries.iter().filter(|it| it.instance != InstanceId::NONE) {
                let before = last.insert(entry.instance, entry.seq).unwrap_or(0);
                if before != entry.previous {
                    let what =
                        format!("entry {} follows {before}, not {}", entry.seq, entry.previous);
                    found.differs(entry.instance, what);
                }
            }
            after = end;
        }
        for (id, last) in last {
            let row = match self.env.store.instance(id) {
                // It was told before.
                Err(StoreError::DamagedRow { .. }) => continue,
                row => row?,
            };
            match row {
                Some(row) if row.last != last => {
                    let what = format!("its row is of entry {}, its last is {last}", row.last);
                    found.differs(id, what);
                }
                Some(_) => {}
                None => {
                    found.instances += 1;
                    match self.has_ended_by(id, last) {
                        Ok(true) => found.forgotten += 1,
                        Ok(false) => found.differs(id, "it has no row"),
                        Err(error @ Error::Damaged { .. }) => found.differs(id, error.to_string()),
                        Err(other) => return Err(other),
                    }
                }
            }
        }
        Ok(())
    }

    /// Compares an instance with its rows, and says how many entries it has.
    fn verify_instance(
        &mut self,
        row: &InstanceRow,
        mut there: Vec<Row>,
        subscribed: &[Row],
        oldest: &Oldest,
        found: &mut Verified,
    ) -> Result<u64, Error> {
        let id = row.id;
        let mut live = self.unborn(InstanceId(id), row)?;
        let chain = match self.env.store.chain(self.id(), row.last, 0) {
            Err(StoreError::NoSuchEntry { seq, .. }) if seq == row.last && row.ended.is_some() => {
                // It was forgotten, and a crash has brought its row back; unless the log has lost it.
                self.env.store.check_log(self.id()).map_err(|it| broken(InstanceId(id), it))?;
                found.forgotten += 1;
                return Ok(0);
            }
            chain => chain.map_err(|it| broken(InstanceId(id), it))?,
        };
        let length = chain.len() as u64;
        let mut shortened = false;
        for entry in chain {
            let records =
                decode_records(&entry.body).map_err(|error| unreadable(&entry, &error))?;
            self.replay(&mut live, &entry, &records)?;
            for record in &records {
                if let Record::Happened(events) = record {
                    live.forget_closed(events);
                }
                shortened |= matches!(record, Record::Folded(_) | Record::Ended(_));
            }
        }
        if live.halted.is_some() {
            return Ok(length);
        }
        let over: Vec<Row> = there.extract_if(.., |it| Table::PAST.contains(&it.table())).collect();
        let wanted = std::mem::take(&mut live.past);
        if !shortened {
            self.verify_past(id, wanted, over, oldest, found);
        }
        found.rows += 1;
        let wanted = instance_row(&live);
        if wanted != *row {
            found.differs(InstanceId(id), format!("its row should be {wanted:?}, and is {row:?}"));
        }
        let loaded = self.load(InstanceId(id))?;
        if loaded.state != live.state {
            found.differs(InstanceId(id), "its snapshot leads to another state than its log");
        }
        if loaded.heard != live.heard {
            found.differs(
                InstanceId(id),
                "its snapshot tells of other messages that it has had than its log",
            );
        }
        verify_rows(live, there, subscribed, found);
        Ok(length)
    }

    /// Since when rows of what is over are there, for what is always kept: those of before are gone by their age.
    fn oldest(&self) -> Result<Oldest, Error> {
        let columns: [(Table, Column); 2] = [
            (Table::PastTasks, TaskColumn::Ended.into()),
            (Table::PastIncidents, IncidentColumn::Ended.into()),
        ];
        let mut oldest = Oldest::new();
        for (table, column) in columns {
            let mut search = Search::of(table).ascending(column).limit(1);
            search.unbounded = true;
            let first = self.env.store.search(&search)?.rows.pop();
            oldest.extend(first.and_then(|it| it.ended()).map(|it| (table, it)));
        }
        Ok(oldest)
    }

    /// Compares what is over with its rows. What is kept as long as somebody wants may be missing; what is there must be
    /// right.
    fn verify_past(
        &self,
        id: u64,
        wanted: Vec<Row>,
        there: Vec<Row>,
        oldest: &Oldest,
        found: &mut Verified,
    ) {
        let keyed = |rows: Vec<Row>| -> BTreeMap<_, Row> {
            rows.into_iter().map(|it| ((it.table(), it.key()), it)).collect()
        };
        let (wanted, there) = (keyed(wanted), keyed(there));
        found.rows += there.len() as u64;
        let kept: BTreeMap<Table, Kept> = self.env.settings.history.tables().into();
        for (place, row) in &there {
            let right = wanted.get(place);
            // What is not kept any more is not made again to compare it, either.
            if right != Some(row) && kept.get(&place.0) != Some(&Kept::No) {
                found.differs(
                    InstanceId(id),
                    format!("a row of what is over should be {right:?}, and is {row:?}"),
                );
            }
        }
        for (place, row) in &wanted {
            let since = oldest.get(&place.0);
            let must = since.is_some_and(|since| row.ended().is_some_and(|it| it > *since));
            if must && !there.contains_key(place) {
                found.differs(InstanceId(id), format!("a row of what is over is missing: {row:?}"));
            }
        }
    }

    /// Whether an instance has ended with an entry or before.
    fn has_ended_by(&self, id: InstanceId, last: Seq) -> Result<bool, Error> {
        for entry in self.env.store.chain(self.id(), last, 0).map_err(|it| broken(id, it))? {
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
}

/// How far a verification is.
struct Walk<'a> {
    entries: u64,
    total: u64,
    progress: &'a mut dyn FnMut(u64, u64),
}

impl Walk<'_> {
    fn on(&mut self, entries: u64) {
        let page = |count: u64| count / PAGE as u64;
        let before = page(self.entries);
        self.entries += entries;
        if page(self.entries) > before {
            (self.progress)(self.entries.min(self.total), self.total);
        }
    }
}

/// The rows of a table in the order of keys, a page of them in memory.
struct Stream {
    table: Table,
    rows: VecDeque<Row>,
    after: Option<Cursor>,
    ended: bool,
}

/// A row, or the instance whose row cannot be read, and why.
type Found = Result<Row, (u64, String)>;

impl Stream {
    fn new(table: Table) -> Self {
        Self { table, rows: VecDeque::new(), after: None, ended: false }
    }

    fn next(&mut self, store: &dyn Store) -> Result<Option<Found>, Error> {
        if self.rows.is_empty() && !self.ended {
            let mut limit = 1_000;
            let page = loop {
                let query = Query {
                    table: self.table,
                    filters: Vec::new(),
                    descending: false,
                    after: self.after.clone(),
                    limit,
                };
                match store.query(&query) {
                    // One by one up to there, and then on behind it.
                    Err(StoreError::DamagedRow { .. }) if limit > 1 => limit = 1,
                    Err(error @ StoreError::DamagedRow { .. }) => {
                        let what = error.to_string();
                        let StoreError::DamagedRow { key, .. } = error else { continue };
                        let id = key.instance;
                        self.after = Some(Cursor(key));
                        return Ok(Some(Err((id, what))));
                    }
                    page => break page?,
                }
            };
            self.after = page.rows.last().map(|row| Cursor(row.key()));
            self.ended = page.rows.is_empty();
            self.rows = page.rows.into();
        }
        Ok(self.rows.pop_front().map(Ok))
    }

    /// The rows of an instance, whose number is greater than that of the one before.
    fn of(&mut self, instance: InstanceId, store: &dyn Store) -> Result<Vec<Row>, Error> {
        let mut found = Vec::new();
        while let Some(next) = self.next(store)? {
            match next {
                Ok(row) if row.key().instance > instance.0 => {
                    self.rows.push_front(row);
                    break;
                }
                Ok(row) if row.key().instance == instance.0 => found.push(row),
                // They are of another shard, or start instances.
                Ok(_) => {}
                Err((_, reason)) => return Err(Error::damaged(self.table.to_string(), &reason)),
            }
        }
        Ok(found)
    }
}

fn verify_rows(mut live: Live, mut there: Vec<Row>, subscribed: &[Row], found: &mut Verified) {
    let id = live.id;
    let mut changes = Vec::new();
    let waits: Vec<_> = live.state.waits.iter().map(|(id, it)| (*id, it.clone())).collect();
    let deferred: BTreeSet<Address> = live.deferred.iter().filter_map(receiver).collect();
    live.rowed = 0;
    instance_rows(&mut live, usize::MAX, &mut changes);
    let mut wanted: Vec<Row> = changes
        .into_iter()
        .filter_map(|it| if let Change::Put(row) = it { Some(row) } else { None })
        .filter(|it| it.table() != Table::Instances)
        .collect();
    let order = |row: &Row| (row.table(), row.key());
    wanted.sort_by_cached_key(order);
    there.sort_by_cached_key(order);
    found.rows += wanted.len() as u64;
    if wanted != there {
        let keyed = |rows: Vec<Row>| -> BTreeMap<_, Row> {
            rows.into_iter().map(|it| (order(&it), it)).collect()
        };
        let (wanted, there) = (keyed(wanted), keyed(there));
        let without = |some: &BTreeMap<_, Row>, others: &BTreeMap<_, Row>| -> Vec<String> {
            let alone = some.iter().filter(|(key, row)| others.get(*key) != Some(*row)).take(3);
            alone.map(|(_, row)| format!("{row:?}")).collect()
        };
        let (missing, extra) = (without(&wanted, &there), without(&there, &wanted));
        found.differs(id, format!("rows are missing: {missing:?}; rows are wrong: {extra:?}"));
    }
    let subscribed: BTreeSet<u64> = subscribed.iter().map(|it| it.key().number).collect();
    for (wait, it) in waits {
        let waits_for = matches!(*it.on, WaitFor::Message { .. } | WaitFor::Signal { .. });
        if waits_for
            && !subscribed.contains(&wait.0)
            && !deferred.contains(&Address { instance: id, wait })
        {
            found.differs(id, format!("nobody knows that wait {} waits for messages", wait.0));
        }
    }
}

/// Whom a letter that could not be heard yet was for.
fn receiver(letter: &Letter) -> Option<Address> {
    if let Letter::Deliver { to, .. } | Letter::Signal { to, .. } = letter {
        Some(*to)
    } else {
        None
    }
}
