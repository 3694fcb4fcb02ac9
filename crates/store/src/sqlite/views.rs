//! The views, in `views.db`: they stand behind the log and can be made again from it.

use std::{collections::BTreeSet, sync::Arc};

use rusqlite::{Connection, OptionalExtension as _, Params, params, params_from_iter};

use super::{
    open::{Database, Found},
    query, rows,
    write::{Poison, Writer},
};
use crate::{
    Error, Seq, ShardId,
    view::{Change, Cursor, InstanceRow, Key, Page, Query, Row, Table},
};

/// The views of all shards.
#[derive(Debug)]
pub(super) struct Views {
    writer: Writer,
    pub(super) db: Database,
    put: Vec<Put>,
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
        poison: Arc<Poison>,
    ) -> Result<Self, Error> {
        if let Some(connection) = usable(&db, log, ends) {
            return Ok(Self::new(connection, db, poison));
        }
        // They are derived: those of another log, of another version or damaged ones are made again.
        for extension in ["db", "db-wal", "db-shm"] {
            let path = db.path.with_extension(extension);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(super::fault::system(&path, &error));
                }
                _ => {}
            }
        }
        // In this order after a crash: some checkpoint, and what was before it.
        let (connection, _) = db.connect("normal")?;
        db.make(&connection, &rows::schema())?;
        connection
            .execute("INSERT INTO meta VALUES('log', ?1)", [log])
            .map_err(|error| super::fault::write(&db.place(), &error))?;
        Ok(Self::new(connection, db, poison))
    }

    fn new(connection: Connection, db: Database, poison: Arc<Poison>) -> Self {
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
        Self { writer: Writer::new(connection, db.place(), poison), db, put }
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        self.writer.fault(error)
    }

    pub(super) fn checkpoint(
        &self,
        shard: ShardId,
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
                    apply(it, change)?;
                }
                self.put_all(it, &pending.rows)?;
                it.prepare_cached("INSERT OR REPLACE INTO checkpoints VALUES(?1, ?2, ?3)")?
                    .execute(params![shard.0, upto, state])
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
                        bound = rows::bind(&mut statement, bound, row)?;
                    }
                    statement.raw_execute()?;
                }
            }
            if !rest.is_empty() {
                let mut statement = connection.prepare_cached(&put.one)?;
                for row in rest {
                    rows::bind(&mut statement, 0, row)?;
                    statement.raw_execute()?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn checkpointed(&self, shard: ShardId) -> Result<(Seq, Vec<u8>), Error> {
        let found = self.one(
            "SELECT upto, state FROM checkpoints WHERE shard = ?1",
            [u64::from(shard.0)],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        Ok(found.unwrap_or_default())
    }

    pub(super) fn forget(&self) -> Result<(), Error> {
        self.writer.write(("checkpoint.changed", "checkpoint.committed"), |it| {
            let all = Table::ALL.map(|table| format!("DELETE FROM {table};")).concat();
            let sql = format!("DELETE FROM checkpoints; DELETE FROM snapshots; {all}");
            it.execute_batch(&sql).map_err(|error| self.failed(&error))
        })
    }

    pub(super) fn instance(&self, id: u64) -> Result<Option<InstanceRow>, Error> {
        let columns = rows::columns(Table::Instances).join(", ");
        let sql = format!("SELECT {columns} FROM instances WHERE id = ?1");
        let found = self.rows(Table::Instances, &sql, [i64::try_from(id).unwrap_or(i64::MAX)])?;
        Ok(found
            .into_iter()
            .find_map(|it| if let Row::Instance(it) = it { Some(it) } else { None }))
    }

    pub(super) fn called(&self, caller: u64, wait: u64) -> Result<Option<u64>, Error> {
        let sql = "SELECT id FROM instances WHERE parent = ?1 AND parent_wait = ?2";
        self.one(sql, [caller, wait], |row| row.get(0))
    }

    pub(super) fn snapshot(&self, instance: u64) -> Result<Option<(Seq, Vec<u8>)>, Error> {
        let sql = "SELECT seq, body FROM snapshots WHERE instance = ?1";
        self.one(sql, [instance], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn one<T, const N: usize>(
        &self,
        sql: &str,
        numbers: [u64; N],
        read: fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Error> {
        // What is greater than any number was never written.
        let numbers = numbers.map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        self.db.read(|it| {
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
    ) -> Result<Vec<u64>, Error> {
        let sql =
            "SELECT id FROM instances WHERE business_id = ?1 AND id % ?2 = ?3 ORDER BY id DESC";
        self.db.read(|it| {
            it.prepare_cached(sql)
                .and_then(|mut it| {
                    it.query_map(params![business_id, shards, shard.0], |row| row.get(0))?.collect()
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
        self.db.read(|it| {
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
            (Error::Corrupt { reason, .. }, Ok(key)) => Error::DamagedRow { table, key, reason },
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

    pub(super) fn query(&self, query: &Query) -> Result<Page, Error> {
        let sql = query::of(query);
        let mut rows = self.rows(query.table, &sql.text, params_from_iter(sql.values))?;
        let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|row| Cursor(row.key()));
        Ok(Page { rows, next })
    }

    pub(super) fn compact(&self) -> Result<(), Error> {
        Database::vacuum(&self.writer)
    }
}

/// A connection to the views that are there, where they belong to this log and do not go beyond it.
fn usable(db: &Database, log: &[u8], ends: impl Fn(ShardId) -> Seq) -> Option<Connection> {
    let (connection, found) = db.connect("normal").ok()?;
    if found != Found::Ours {
        return None;
    }
    let of: Vec<u8> = connection
        .query_row("SELECT value FROM meta WHERE name = 'log'", [], |row| row.get(0))
        .ok()?;
    let upto: Vec<(u16, Seq)> = connection
        .prepare("SELECT shard, upto FROM checkpoints")
        .ok()?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .ok()?
        .collect::<rusqlite::Result<_>>()
        .ok()?;
    let behind = upto.iter().all(|(shard, upto)| *upto <= ends(ShardId(*shard)));
    (of == log && behind).then_some(connection)
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

fn apply(connection: &Connection, change: &Change) -> rusqlite::Result<()> {
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
            connection
                .prepare_cached("DELETE FROM instances WHERE id = ?1")?
                .execute([instance])?;
        }
        Change::Snapshot { instance, seq, body } => {
            connection
                .prepare_cached("INSERT OR REPLACE INTO snapshots VALUES(?1, ?2, ?3)")?
                .execute(params![instance, seq, body])?;
        }
    }
    Ok(())
}
