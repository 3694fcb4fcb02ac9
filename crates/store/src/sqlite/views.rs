//! The views, in `views.db`: they stand behind the log and can be made again from it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use rusqlite::{Connection, OptionalExtension as _, Params, params, params_from_iter};

use super::{
    dialect::InSqlite,
    open::{Database, Found as FoundFile},
    write::{Poison, Writer},
};
use crate::{
    Address, Error, InstanceId, Seq, ShardId,
    search::{Column, Found, Place, Search, Tally, Total, Value},
    sql::{rows, search},
    sum,
    view::{Change, InstanceRow, Key, Row, Table},
};

/// The views of all shards.
#[derive(Debug)]
pub(super) struct Views {
    writer: Writer,
    pub(super) db: Database,
    /// Held while the files are read or written, and by who puts others in their place.
    files: RwLock<()>,
    log: Vec<u8>,
    put: Vec<Put>,
    /// Why they were made again, where they were.
    rebuilt: Mutex<Option<String>>,
}

/// How rows of a table are put.
#[derive(Debug)]
struct Put {
    table: Table,
    one: String,
    many: String,
}

/// How many rows are put with one statement.
const AT_ONCE: usize = 32;

impl Views {
    /// Opens the views that belong to this log; makes them where there are none that do.
    pub(super) fn open(
        db: Database,
        log: &[u8],
        ends: impl Fn(ShardId) -> Seq,
        is_new: bool,
        poison: Arc<Poison>,
    ) -> Result<Self, Error> {
        let (connection, rebuilt) = match inspect(&db, log, ends) {
            Standing::Usable(connection) => (connection, None),
            // Someone must know that, and decide.
            Standing::Ahead(reason) => {
                let place = db.path.with_file_name("log.db").display().to_string();
                return Err(Error::Lost { place, reason });
            }
            // They are derived: those of another log, of another version or damaged ones are made again.
            Standing::Useless(why) => (make(&db, log)?, Some(why).filter(|_| !is_new)),
        };
        let put = Table::ALL
            .into_iter()
            .map(|table| {
                let names = rows::columns(table);
                let row = format!("({})", vec!["?"; names.len()].join(", "));
                let head = format!("INSERT OR REPLACE INTO {table}({}) VALUES", names.join(", "));
                let many = format!("{head}{}", vec![row.as_str(); AT_ONCE].join(", "));
                Put { table, one: format!("{head}{row}"), many }
            })
            .collect();
        Ok(Self {
            writer: db.writer(connection, poison),
            db,
            files: RwLock::default(),
            log: log.to_owned(),
            put,
            rebuilt: Mutex::new(rebuilt),
        })
    }

    /// Why they were made again, where they were.
    pub(super) fn rebuilt(&self) -> Option<String> {
        self.rebuilt.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads in one transaction, beside whoever writes.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        let _files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        self.db.read(read)
    }

    /// Whether the files are sound.
    pub(super) fn check(&self) -> Result<(), Error> {
        let _files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        match self.db.flaws()? {
            Some(reason) => Err(Error::DamagedViews { place: self.db.place(), reason }),
            None => Ok(()),
        }
    }

    /// Throws away what belongs to one shard.
    pub(super) fn forget(&self, shard: ShardId, shards: u16) -> Result<(), Error> {
        self.writer.write(("checkpoint.changed", "checkpoint.committed"), |it| {
            let all = || {
                for table in Table::ALL {
                    let sql = format!("DELETE FROM {table} WHERE {}", rows::of_shard(table));
                    it.execute(&sql, [shard.0, shards])?;
                }
                it.execute("DELETE FROM snapshots WHERE instance % ?2 = ?1", [shard.0, shards])?;
                it.execute("DELETE FROM checkpoints WHERE shard = ?1", [shard.0])
            };
            all().map(drop).map_err(|error| self.failed(&error))
        })
    }

    /// Puts empty ones in their place. What was there may be damaged, so it is not touched but taken away.
    pub(super) fn reset(&self) -> Result<(), Error> {
        let mut writer = self.writer.lock();
        let _files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        // Closed first: closing takes away a journal of this name.
        *writer = Connection::open_in_memory().map_err(|error| self.failed(&error))?;
        *writer = make(&self.db, &self.log)?;
        Ok(())
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        self.writer.fault(error)
    }

    pub(super) fn checkpoint(
        &self,
        shard: ShardId,
        shards: u16,
        upto: Seq,
        state: &[u8],
        changes: &[Change],
    ) -> Result<(), Error> {
        self.writer.write(("checkpoint.changed", "checkpoint.committed"), |it| {
            let all = || {
                // Rows are put together, after what else changes; but not after they are deleted.
                let mut pending = Pending::default();
                for change in changes {
                    if let Change::Put(row) = change {
                        pending.add(row);
                        continue;
                    }
                    if pending.has_any_of(change) {
                        self.put_all(it, &std::mem::take(&mut pending).rows)?;
                    }
                    apply(it, shard, shards, change)?;
                }
                self.put_all(it, &pending.rows)?;
                let sum = sum::checkpoint(shard, upto, state);
                it.prepare_cached("INSERT OR REPLACE INTO checkpoints VALUES(?1, ?2, ?3, ?4)")?
                    .execute(params![shard.0, upto, state, sum])
            };
            all().map(drop).map_err(|error| self.failed(&error))
        })
    }

    /// Puts rows, many of a table with one statement: most of what a statement costs comes once.
    fn put_all(&self, connection: &Connection, rows: &[&Row]) -> rusqlite::Result<()> {
        for put in &self.put {
            let rows: Vec<&Row> =
                rows.iter().copied().filter(|it| it.table() == put.table).collect();
            let (many, rest) = rows.as_chunks::<AT_ONCE>();
            if !many.is_empty() {
                let mut statement = connection.prepare_cached(&put.many)?;
                for rows in many {
                    let mut bound = 0;
                    for row in rows {
                        bound = rows::bind(&mut *statement, bound, row)?;
                    }
                    statement.raw_execute()?;
                }
            }
            if !rest.is_empty() {
                let mut statement = connection.prepare_cached(&put.one)?;
                for row in rest {
                    rows::bind(&mut *statement, 0, row)?;
                    statement.raw_execute()?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn checkpointed(&self, shard: ShardId) -> Result<(Seq, Vec<u8>), Error> {
        let found = self.one(
            "SELECT upto, state, sum FROM checkpoints WHERE shard = ?1",
            [u64::from(shard.0)],
            |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, u32>(2)?)),
        )?;
        let Some((upto, state, sum)) = found else { return Ok((0, Vec::new())) };
        if sum != sum::checkpoint(shard, upto, &state) {
            let reason = format!("the checksum of the checkpoint of shard {shard} is wrong");
            return Err(Error::DamagedViews { place: self.db.place(), reason });
        }
        Ok((upto, state))
    }

    pub(super) fn instance(&self, id: InstanceId) -> Result<Option<InstanceRow>, Error> {
        let columns = rows::columns(Table::Instances).join(", ");
        let sql = format!("SELECT {columns} FROM instances WHERE id = ?1");
        let found = self.rows(Table::Instances, &sql, [i64::try_from(id.0).unwrap_or(i64::MAX)])?;
        Ok(found
            .into_iter()
            .find_map(|it| if let Row::Instance(it) = it { Some(it) } else { None }))
    }

    pub(super) fn called(&self, call: Address) -> Result<Option<InstanceId>, Error> {
        let sql = "SELECT id FROM instances WHERE parent = ?1 AND parent_wait = ?2";
        self.one(sql, [call.instance.0, call.wait.0], |row| row.get(0).map(InstanceId))
    }

    pub(super) fn snapshot(&self, instance: InstanceId) -> Result<Option<(Seq, Vec<u8>)>, Error> {
        let sql = "SELECT seq, body FROM snapshots WHERE instance = ?1";
        self.one(sql, [instance.0], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn one<T, const N: usize>(
        &self,
        sql: &str,
        numbers: [u64; N],
        read: fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Error> {
        // What is greater than any number was never written.
        let numbers = numbers.map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        self.read(|it| {
            it.prepare_cached(sql)
                .and_then(|mut it| it.query_row(params_from_iter(numbers), read).optional())
                .map_err(|error| self.db.unreadable(&error))
        })
    }

    pub(super) fn named(
        &self,
        shard: ShardId,
        shards: u16,
        business_id: &str,
    ) -> Result<Vec<InstanceId>, Error> {
        let sql =
            "SELECT id FROM instances WHERE business_id = ?1 AND id % ?2 = ?3 ORDER BY id DESC";
        self.read(|it| {
            it.prepare_cached(sql)
                .and_then(|mut it| {
                    it.query_map(params![business_id, shards, shard.0], |row| {
                        row.get(0).map(InstanceId)
                    })?
                    .collect()
                })
                .map_err(|error| self.db.unreadable(&error))
        })
    }

    /// The rows of a table that a statement finds.
    fn rows(&self, table: Table, sql: &str, params: impl Params) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        self.each(table, sql, params, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    fn each(
        &self,
        table: Table,
        sql: &str,
        params: impl Params,
        each: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.read(|it| {
            let failed = |error: rusqlite::Error| self.db.unreadable(&error);
            let mut statement = it.prepare_cached(sql).map_err(failed)?;
            let mut found = statement.query(params).map_err(failed)?;
            while let Some(row) = found.next().map_err(failed)? {
                each(rows::read(table, row).map_err(|error| self.damaged(table, row, &error))?)?;
            }
            Ok(())
        })
    }

    /// A row that cannot be read, by its key where that can be.
    fn damaged(&self, table: Table, row: &rusqlite::Row<'_>, error: &rusqlite::Error) -> Error {
        match (self.db.unreadable(error), rows::key(table, row)) {
            (Error::DamagedViews { reason, .. }, Ok(key)) => {
                Error::DamagedRow { table, key, reason }
            }
            (error, _) => error,
        }
    }

    pub(super) fn scan(
        &self,
        shard: ShardId,
        shards: u16,
        table: Table,
        each: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let sql = format!(
            "SELECT {} FROM {table} WHERE {} ORDER BY {}",
            rows::columns(table).join(", "),
            rows::of_shard(table),
            rows::key_columns(table).join(", "),
        );
        self.each(table, &sql, [shard.0, shards], each)
    }

    /// Rows that someone searches for, within so many steps of SQLite's machine, where they are
    /// counted.
    pub(super) fn search(&self, search: &Search, steps: Option<u32>) -> Result<Found, Error> {
        let _files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let page = search::of(&InSqlite, search);
        let found = self.db.read_within(steps, |it| {
            let failed = |error: rusqlite::Error| self.searching(search, &error);
            let mut statement = it.prepare_cached(&page.text).map_err(failed)?;
            let mut rows = statement.query(params_from_iter(page.values)).map_err(failed)?;
            let mut found = Vec::new();
            while let Some(row) = rows.next().map_err(failed)? {
                let damaged = |error| self.damaged(search.table, row, &error);
                let columns = search.sort.iter().map(|it| it.column);
                let ranks = search::ranked(columns, rows::columns(search.table).len(), row)
                    .map_err(damaged)?;
                found.push((rows::read(search.table, row).map_err(damaged)?, ranks));
            }
            let total =
                if search.count { Some(self.count(it, search, found.len())?) } else { None };
            Ok((found, total))
        });
        let (mut found, total) = found?;
        let limit = search.limit as usize;
        let has_more = found.len() > limit;
        found.truncate(limit);
        if matches!(search.place, Place::Before(_)) {
            found.reverse();
        }
        let cursor = |it: Option<&(Row, Vec<Option<Value>>)>| {
            it.map(|(row, ranks)| search.cursor(row, ranks.clone()))
        };
        let (start, end) = (cursor(found.first()), cursor(found.last()));
        let rows = found.into_iter().map(|(row, _)| row).collect();
        Ok(Found { rows, start, end, has_more, total })
    }

    /// How many rows a search finds, by what they have in these columns.
    pub(super) fn tally(
        &self,
        search: &Search,
        by: &[Column],
        steps: Option<u32>,
    ) -> Result<Vec<Tally>, Error> {
        let _files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let sql = search::tally(&InSqlite, search, by);
        self.db.read_within(steps, |it| {
            let failed = |error: rusqlite::Error| self.searching(search, &error);
            let mut statement = it.prepare_cached(&sql.text).map_err(failed)?;
            let mut rows = statement.query(params_from_iter(sql.values)).map_err(failed)?;
            let mut groups = Vec::new();
            while let Some(row) = rows.next().map_err(failed)? {
                let count = row.get(0).map_err(failed)?;
                let of = search::ranked(by.iter().copied(), 1, row).map_err(failed)?;
                groups.push(Tally { of, count });
            }
            Ok(groups)
        })
    }

    /// How many rows there are, where so many were read for a page.
    fn count(&self, it: &Connection, search: &Search, read: usize) -> Result<Total, Error> {
        // The first page has them all, where there is no other.
        if search.place == Place::First && read <= search.limit as usize {
            return Ok(Total::of(read));
        }
        let sql = search::count(&InSqlite, search);
        let counted: u32 = it
            .prepare_cached(&sql.text)
            .and_then(|mut it| it.query_row(params_from_iter(sql.values), |row| row.get(0)))
            .map_err(|error| self.searching(search, &error))?;
        Ok(Total::of(counted as usize))
    }

    fn searching(&self, search: &Search, error: &rusqlite::Error) -> Error {
        if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) {
            return search.too_broad();
        }
        self.db.unreadable(error)
    }

    pub(super) fn compact(&self) -> Result<(), Error> {
        Database::vacuum(&self.writer)
    }
}

/// How it stands with views that are there.
enum Standing {
    Usable(Connection),
    /// They know more than the log.
    Ahead(String),
    Useless(String),
}

fn inspect(db: &Database, log: &[u8], ends: impl Fn(ShardId) -> Seq) -> Standing {
    if !db.path.exists() {
        return Standing::Useless(String::from("there were none"));
    }
    let connection = match db.connect("normal") {
        Ok((connection, FoundFile::Ours)) => connection,
        Ok((_, FoundFile::Nothing)) => return Standing::Useless(String::from("they were empty")),
        Ok((_, FoundFile::Older(format))) => {
            return Standing::Useless(format!("they were in the older format {format}"));
        }
        Err(error) => return Standing::Useless(error.to_string()),
    };
    match compare(&connection, db, log, ends) {
        Ok(Compared::Behind) => Standing::Usable(connection),
        Ok(Compared::Ahead(reason)) => Standing::Ahead(reason),
        Ok(Compared::Strange(reason)) => Standing::Useless(reason.to_owned()),
        Err(error) => Standing::Useless(db.unreadable(&error).to_string()),
    }
}

enum Compared {
    Behind,
    Ahead(String),
    Strange(&'static str),
}

fn compare(
    connection: &Connection,
    db: &Database,
    log: &[u8],
    ends: impl Fn(ShardId) -> Seq,
) -> rusqlite::Result<Compared> {
    let of: Vec<u8> =
        connection.query_row("SELECT value FROM meta WHERE name = 'log'", [], |row| row.get(0))?;
    if of != log {
        return Ok(Compared::Strange("they were those of another log"));
    }
    let mut statement = connection.prepare("SELECT shard, upto, state, sum FROM checkpoints")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (shard, upto, state) = (ShardId(row.get(0)?), row.get(1)?, row.get::<_, Vec<u8>>(2)?);
        if row.get::<_, u32>(3)? != sum::checkpoint(shard, upto, &state) {
            return Ok(Compared::Strange("the checksum of a checkpoint was wrong"));
        }
        let end = ends(shard);
        if upto > end {
            let missing = upto - end;
            let about = missing_instances(connection, end)?;
            let views = db.path.display();
            return Ok(Compared::Ahead(format!(
                "shard {shard} ends with entry {end}, and {views} has seen {upto} ({missing} missing{about})"
            )));
        }
    }
    Ok(Compared::Behind)
}

/// How far the views of this log have seen each shard, where they can be read.
pub(super) fn seen(db: &Database, log: &[u8]) -> BTreeMap<ShardId, Seq> {
    let read = || {
        if !db.path.exists() {
            return None;
        }
        let (connection, found) = db.connect("normal").ok()?;
        let of = "SELECT value FROM meta WHERE name = 'log'";
        let of: Vec<u8> = connection.query_row(of, [], |row| row.get(0)).ok()?;
        if found != FoundFile::Ours || of != log {
            return None;
        }
        let mut statement =
            connection.prepare("SELECT shard, upto, state, sum FROM checkpoints").ok()?;
        let row = |row: &rusqlite::Row<'_>| {
            let (shard, upto) = (ShardId(row.get(0)?), row.get(1)?);
            let sum = sum::checkpoint(shard, upto, &row.get::<_, Vec<u8>>(2)?);
            Ok((row.get::<_, u32>(3)? == sum).then_some((shard, upto)))
        };
        let found = statement.query_map([], row).ok()?;
        Some(found.filter_map(|it| it.ok().flatten()).collect())
    };
    read().unwrap_or_default()
}

/// Which instances have entries after the end of the log, a few of them.
fn missing_instances(connection: &Connection, end: Seq) -> rusqlite::Result<String> {
    const FEW: usize = 5;
    let mut found: Vec<u64> = connection
        .prepare("SELECT id FROM instances WHERE last > ?1 ORDER BY id LIMIT ?2")?
        .query_map(params![end, FEW + 1], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let more = if found.len() > FEW { " and others" } else { "" };
    found.truncate(FEW);
    let few: Vec<String> = found.iter().map(u64::to_string).collect();
    Ok(match &few[..] {
        [] => String::new(),
        [one] => format!(", of instance {one}"),
        several => format!(", of instances {}{more}", several.join(", ")),
    })
}

/// Makes empty views, in place of what is there.
fn make(db: &Database, log: &[u8]) -> Result<Connection, Error> {
    db.remove()?;
    // In this order after a crash: some checkpoint, and what was before it.
    let (connection, _) = db.connect("normal")?;
    db.make(&connection, &rows::schema())?;
    connection
        .execute("INSERT INTO meta VALUES('log', ?1)", [log])
        .map_err(|error| super::fault::write(&db.place(), &error))?;
    Ok(connection)
}

fn clear(connection: &Connection, instance: u64) -> rusqlite::Result<()> {
    for table in Table::OF_INSTANCES {
        let sql = format!("DELETE FROM {table} WHERE instance = ?1");
        connection.prepare_cached(&sql)?.execute([instance])?;
    }
    connection.prepare_cached("DELETE FROM snapshots WHERE instance = ?1")?.execute([instance])?;
    Ok(())
}

/// Rows that are still to be put.
#[derive(Default)]
struct Pending<'a> {
    rows: Vec<&'a Row>,
    /// Their keys, but for those of instances: there are many of them, and who takes one away again has all
    /// rows put first.
    keys: BTreeSet<(Table, Key)>,
}

impl<'a> Pending<'a> {
    fn add(&mut self, row: &'a Row) {
        if row.table() != Table::Instances {
            self.keys.insert((row.table(), row.key()));
        }
        self.rows.push(row);
    }

    /// Whether the change takes one of the rows away.
    fn has_any_of(&self, change: &Change) -> bool {
        match change {
            Change::Put(_) | Change::Snapshot { .. } => false,
            Change::Remove(_) | Change::Delete(Table::Instances, _) => !self.rows.is_empty(),
            Change::Delete(table, key) => self.keys.contains(&(*table, key.clone())),
            Change::DeleteLayer(instance, layer) => {
                self.has(Table::Variables, *instance, Some(*layer))
            }
            Change::Clear(instance) => self.has_of(*instance),
            Change::Expire(table, _) => self.keys.iter().any(|(it, _)| it == table),
        }
    }

    fn has_of(&self, instance: u64) -> bool {
        Table::OF_INSTANCES.into_iter().any(|it| self.has(it, instance, None))
    }

    fn has(&self, table: Table, instance: u64, number: Option<u64>) -> bool {
        let first = Key { instance, number: number.unwrap_or(0), name: "".into() };
        self.keys.range((table, first)..).next().is_some_and(|(it, key)| {
            *it == table && key.instance == instance && number.is_none_or(|it| key.number == it)
        })
    }
}

fn apply(
    connection: &Connection,
    shard: ShardId,
    shards: u16,
    change: &Change,
) -> rusqlite::Result<()> {
    match change {
        Change::Put(_) => {}
        Change::Delete(table, key) => {
            let names = rows::key_columns(*table).iter().enumerate();
            let terms: Vec<String> =
                names.map(|(at, name)| format!("{name} = ?{}", at + 1)).collect();
            let sql = format!("DELETE FROM {table} WHERE {}", terms.join(" AND "));
            let values = rows::key_values(*table, key);
            connection.prepare_cached(&sql)?.execute(params_from_iter(values))?;
        }
        Change::DeleteLayer(instance, layer) => {
            connection
                .prepare_cached("DELETE FROM variables WHERE instance = ?1 AND layer = ?2")?
                .execute([instance, layer])?;
        }
        Change::Clear(instance) => clear(connection, *instance)?,
        Change::Remove(instance) => {
            clear(connection, *instance)?;
            for table in Table::PAST {
                let sql = format!("DELETE FROM {table} WHERE instance = ?1");
                connection.prepare_cached(&sql)?.execute([instance])?;
            }
            connection
                .prepare_cached("DELETE FROM instances WHERE id = ?1")?
                .execute([instance])?;
        }
        Change::Expire(table, before) => {
            let sql =
                format!("DELETE FROM {table} WHERE ended < ?3 AND {}", rows::of_shard(*table));
            connection.prepare_cached(&sql)?.execute(params![
                shard.0,
                shards,
                before.as_millis()
            ])?;
        }
        Change::Snapshot { instance, seq, body } => {
            connection
                .prepare_cached("INSERT OR REPLACE INTO snapshots VALUES(?1, ?2, ?3)")?
                .execute(params![instance, seq, body])?;
        }
    }
    Ok(())
}
