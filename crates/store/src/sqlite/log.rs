//! The log: entries, owners, mails and deployments, in `log.db`.
//!
//! Each shard has a table of entries of its own, so that every insert goes to the end of a tree and a
//! shard is read without the others. For people the view `log` shows all of them.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard},
};

use rusqlite::{Connection, OptionalExtension as _, named_params, params};

use super::{
    open::{Database, Found},
    wal::Wal,
    write::{Poison, Writer},
};
use crate::{
    Batch, Claim, Deployed, Deployment, Entry, Error, Fold, Mail, MailId, Resource, Seq, ShardId,
    crash_point,
};

/// So many tables of entries a database may have.
pub(super) const SHARDS_MAX: u16 = 256;

/// The log of all shards.
#[derive(Debug)]
pub(super) struct Log {
    // Before the connections, so that its thread ends first.
    wal: Wal,
    writer: Writer,
    pub(super) db: Database,
    /// What ties the views to this log.
    pub(super) id: Vec<u8>,
    statements: Vec<Statements>,
    /// The epochs of the shards, held while something else than the log is written by right of them.
    /// Locked before any writer.
    epochs: Vec<RwLock<u64>>,
    /// The ends of the logs. Locked after the writer.
    ends: Mutex<Vec<Seq>>,
    queue: Mutex<Queue>,
    turn: Condvar,
    poison: Arc<Poison>,
}

/// The statements of a shard, made once.
#[derive(Debug)]
struct Statements {
    insert: String,
    one: String,
    after: String,
    delete: String,
}

/// Who waits while someone else commits.
#[derive(Debug, Default)]
struct Queue {
    busy: bool,
    tickets: u64,
    waiting: Vec<(u64, Vec<Batch>)>,
    done: BTreeMap<u64, Result<(), Error>>,
}

fn schema(shards: u16) -> String {
    let mut sql = String::from(
        "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
         CREATE TABLE shards(shard INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, owner TEXT NOT NULL,
             last INTEGER NOT NULL);
         CREATE TABLE inbox(receiver INTEGER NOT NULL, sender INTEGER NOT NULL, number INTEGER NOT NULL,
             body BLOB NOT NULL, PRIMARY KEY(receiver, sender, number)) WITHOUT ROWID;
         CREATE TABLE deployments(number INTEGER PRIMARY KEY, at INTEGER NOT NULL);
         CREATE TABLE resources(deployment INTEGER NOT NULL, position INTEGER NOT NULL,
             name TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY(deployment, position));
         CREATE TABLE definitions(key INTEGER PRIMARY KEY, deployment INTEGER NOT NULL,
             position INTEGER NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, tag TEXT,
             resource INTEGER NOT NULL, removed INTEGER NOT NULL, UNIQUE(id, version));
         CREATE INDEX definitions_by_deployment ON definitions(deployment, position);
         INSERT INTO meta VALUES('id', randomblob(16));",
    );
    let mut all = Vec::new();
    for shard in 0..shards {
        write!(
            sql,
            "CREATE TABLE log_{shard}(seq INTEGER PRIMARY KEY, instance INTEGER NOT NULL,
                 previous INTEGER NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL);
             INSERT INTO shards VALUES({shard}, 0, '', 0);"
        )
        .expect("a string takes every text");
        all.push(format!("SELECT {shard} AS shard, * FROM log_{shard}"));
    }
    write!(sql, "CREATE VIEW log AS {};", all.join(" UNION ALL ")).expect("as above");
    sql
}

impl Log {
    /// Opens the log, or makes one of so many shards where `create` says so.
    pub(super) fn open(
        db: Database,
        create: Option<u16>,
        bytes_max: Option<u64>,
        poison: Arc<Poison>,
    ) -> Result<Self, Error> {
        let (mut connection, found) = db.connect("full")?;
        match (found, create) {
            (Found::Ours, _) => {}
            (Found::Nothing, Some(shards)) => db.make(&connection, &schema(shards))?,
            (Found::Nothing, None) => {
                let reason = String::from("there is no store; make one first");
                return Err(Error::Foreign { store: db.place(), reason });
            }
        }
        let failed = |error: rusqlite::Error| db.unreadable(&error);
        if let Some(bytes) = bytes_max {
            let pages = i64::try_from(bytes / 4096).unwrap_or(i64::MAX);
            connection.pragma_update(None, "max_page_count", pages).map_err(failed)?;
        }
        let id = connection
            .query_row("SELECT value FROM meta WHERE name = 'id'", [], |row| row.get(0))
            .map_err(failed)?;
        let shards: u16 = connection
            .query_row("SELECT count(*) FROM shards", [], |row| row.get(0))
            .map_err(failed)?;
        let (mut epochs, mut ends) = (Vec::new(), Vec::new());
        for shard in 0..shards {
            let sql = "SELECT epoch FROM shards WHERE shard = ?1";
            let epoch = connection.query_row(sql, [shard], |row| row.get(0)).map_err(failed)?;
            epochs.push(RwLock::new(epoch));
            let sql = format!(
                "SELECT max(last, (SELECT coalesce(max(seq), 0) FROM log_{shard})) FROM shards WHERE shard = {shard}"
            );
            ends.push(connection.query_row(&sql, [], |row| row.get(0)).map_err(failed)?);
        }
        let (mover, _) = db.connect("full")?;
        let wal = Wal::new(&mut connection, mover, db.place(), Arc::clone(&poison))?;
        Ok(Self {
            wal,
            writer: Writer::new(connection, db.place(), Arc::clone(&poison)),
            db,
            id,
            statements: (0..shards).map(Statements::new).collect(),
            epochs,
            ends: Mutex::new(ends),
            queue: Mutex::default(),
            turn: Condvar::new(),
            poison,
        })
    }

    pub(super) fn shards(&self) -> u16 {
        u16::try_from(self.statements.len()).expect("it was a u16 when they were made")
    }

    fn ends(&self) -> MutexGuard<'_, Vec<Seq>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn last(&self, shard: ShardId) -> Seq {
        self.ends()[usize::from(shard.0)]
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        self.writer.fault(error)
    }

    pub(super) fn claim(&self, shard: ShardId, owner: &str) -> Result<Claim, Error> {
        let mut known =
            self.epochs[usize::from(shard.0)].write().unwrap_or_else(PoisonError::into_inner);
        let epoch = self.writer.write(("claim.changed", "claim.committed"), |it| {
            it.prepare_cached(
                "UPDATE shards SET epoch = epoch + 1, owner = ?2 WHERE shard = ?1 RETURNING epoch",
            )
            .and_then(|mut it| it.query_row(params![shard.0, owner], |row| row.get(0)))
            .map_err(|error| self.failed(&error))
        })?;
        *known = epoch;
        Ok(Claim { shard, epoch })
    }

    /// Nobody else can claim the shard while the answer is held.
    pub(super) fn hold(&self, claim: &Claim) -> Result<RwLockReadGuard<'_, u64>, Error> {
        let known = &self.epochs[usize::from(claim.shard.0)];
        let epoch = known.read().unwrap_or_else(PoisonError::into_inner);
        if *epoch == claim.epoch { Ok(epoch) } else { Err(Error::Stale { shard: claim.shard }) }
    }

    /// Whether the claim still holds, as the database says.
    fn check(&self, connection: &Connection, claim: &Claim) -> Result<(), Error> {
        let epoch: u64 = connection
            .prepare_cached("SELECT epoch FROM shards WHERE shard = ?1")
            .and_then(|mut it| it.query_row([claim.shard.0], |row| row.get(0)))
            .map_err(|error| self.failed(&error))?;
        if epoch == claim.epoch { Ok(()) } else { Err(Error::Stale { shard: claim.shard }) }
    }

    /// Appends, together with whoever asks for it at the same time.
    pub(super) fn append(&self, batches: &[Batch]) -> Result<(), Error> {
        let shards = self.shards();
        let shard_exists = |it: ShardId| assert!(it.0 < shards, "there is no shard {it}");
        for batch in batches {
            shard_exists(batch.claim.shard);
            batch.sent.iter().for_each(|it| shard_exists(it.to));
        }
        let lock = || self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut queue = lock();
        let mut ticket = None;
        loop {
            if let Some(done) = ticket.and_then(|it| queue.done.remove(&it)) {
                return done;
            }
            if !queue.busy {
                break;
            }
            if ticket.is_none() {
                queue.tickets += 1;
                ticket = Some(queue.tickets);
                let waiting = (queue.tickets, batches.to_vec());
                queue.waiting.push(waiting);
            }
            queue = self.turn.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        // It is this thread's turn, for all who wait.
        queue.busy = true;
        let waiting = std::mem::take(&mut queue.waiting);
        drop(queue);
        let mut groups: Vec<&[Batch]> = waiting.iter().map(|(_, it)| &it[..]).collect();
        if ticket.is_none() {
            groups.push(batches);
        }
        let mut results = self.commit(&groups).into_iter();
        let mut queue = lock();
        for ((waiter, _), result) in waiting.iter().zip(results.by_ref()) {
            queue.done.insert(*waiter, result);
        }
        queue.busy = false;
        let own = match ticket {
            None => results.next(),
            Some(ticket) => queue.done.remove(&ticket),
        };
        drop(queue);
        self.turn.notify_all();
        own.expect("every group has a result")
    }

    /// Commits what it can of the groups.
    fn commit(&self, groups: &[&[Batch]]) -> Vec<Result<(), Error>> {
        match self.commit_together(groups) {
            Ok(results) => results,
            // One that finds no room, or cannot be written at all, does not stand in the way of others.
            Err(error) if groups.len() > 1 && !matches!(error, Error::Poisoned { .. }) => {
                groups.iter().flat_map(|it| self.commit(&[*it])).collect()
            }
            Err(error) => groups.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// Commits the groups in one transaction, without those that are refused.
    fn commit_together(&self, groups: &[&[Batch]]) -> Result<Vec<Result<(), Error>>, Error> {
        let connection = self.writer.lock();
        self.poison.check()?;
        self.wal.finish(&connection).map_err(|error| self.failed(&error))?;
        self.wal.grow();
        crash_point("append.begin");
        let mut results = Vec::with_capacity(groups.len());
        let mut ends = self.ends().clone();
        let points = ("append.inserted", "append.committed");
        self.writer.transact(&connection, points, |it| {
            for group in groups {
                let mut after = ends.clone();
                // First everything that can be refused, so that nothing has to be taken back.
                let allowed = group.iter().try_for_each(|batch| {
                    self.check(it, &batch.claim)?;
                    let end = &mut after[usize::from(batch.claim.shard.0)];
                    *end = batch.follow(*end)?;
                    Ok(())
                });
                match allowed {
                    Ok(()) => {
                        for batch in *group {
                            self.insert(it, batch).map_err(|error| self.failed(&error))?;
                        }
                        ends = after;
                        results.push(Ok(()));
                    }
                    Err(error @ (Error::Stale { .. } | Error::Misplaced { .. })) => {
                        results.push(Err(error));
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })?;
        *self.ends() = ends;
        self.wal.committed();
        Ok(results)
    }

    fn insert(&self, connection: &Connection, batch: &Batch) -> rusqlite::Result<()> {
        let shard = batch.claim.shard;
        let mut insert = connection.prepare_cached(&self.of(shard).insert)?;
        for it in &batch.entries {
            insert.execute(params![it.seq, it.instance, it.previous, it.at, it.body])?;
        }
        if !batch.sent.is_empty() {
            let mut send =
                connection.prepare_cached("INSERT OR REPLACE INTO inbox VALUES(?1, ?2, ?3, ?4)")?;
            for it in &batch.sent {
                send.execute(params![it.to.0, it.id.from.0, it.id.number, it.body])?;
            }
        }
        if !batch.taken.is_empty() {
            let mut take = connection.prepare_cached(
                "DELETE FROM inbox WHERE receiver = ?1 AND sender = ?2 AND number = ?3",
            )?;
            for it in &batch.taken {
                take.execute(params![shard.0, it.from.0, it.number])?;
            }
        }
        Ok(())
    }

    fn of(&self, shard: ShardId) -> &Statements {
        &self.statements[usize::from(shard.0)]
    }

    pub(super) fn entries(
        &self,
        shard: ShardId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Entry>, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        self.db.read(|it| {
            it.prepare_cached(&self.of(shard).after)
                .and_then(|mut it| it.query_map([after, limit], entry)?.collect())
                .map_err(|error| self.db.unreadable(&error))
        })
    }

    pub(super) fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, Error> {
        let failed = |error: rusqlite::Error| self.db.unreadable(&error);
        self.db.read(|it| {
            let mut one = it.prepare_cached(&self.of(shard).one).map_err(failed)?;
            let mut found: Vec<Entry> = Vec::new();
            let mut seq = last;
            while seq > after {
                let entry = one.query_row([seq], entry).optional().map_err(failed)?;
                let entry = entry.ok_or(Error::NoSuchEntry { shard, seq })?;
                seq = entry.follows(found.last(), shard)?;
                found.push(entry);
            }
            found.reverse();
            Ok(found)
        })
    }

    pub(super) fn fold(&self, claim: &Claim, folds: &[Fold]) -> Result<(), Error> {
        let connection = self.writer.lock();
        let sync = |how: &str| {
            connection
                .pragma_update(None, "synchronous", how)
                .map_err(|error| self.writer.fault(&error))
        };
        // The next append makes it durable.
        sync("normal")?;
        let points = ("fold.changed", "fold.committed");
        let done = self.writer.transact(&connection, points, |it| {
            self.check(it, claim)?;
            self.fold_in(it, claim.shard, folds)
        });
        sync("full")?;
        done
    }

    fn fold_in(
        &self,
        connection: &Connection,
        shard: ShardId,
        folds: &[Fold],
    ) -> Result<(), Error> {
        let failed = |error: rusqlite::Error| self.failed(&error);
        let statements = self.of(shard);
        let mut delete = connection.prepare_cached(&statements.delete).map_err(failed)?;
        let mut insert = connection.prepare_cached(&statements.insert).map_err(failed)?;
        for fold in folds {
            let chain = fold.chain(shard, |seq| {
                let mut one = connection.prepare_cached(&statements.one).map_err(failed)?;
                let found = one.query_row([seq], entry).optional();
                found.map_err(|error| self.db.unreadable(&error))
            })?;
            fold.check(shard, &chain)?;
            for it in &chain {
                delete.execute([it.seq]).map_err(failed)?;
            }
            if let Some(it) = &fold.entry {
                insert
                    .execute(params![it.seq, it.instance, it.previous, it.at, it.body])
                    .map_err(failed)?;
            }
        }
        // The end of the log may have been among them.
        connection
            .prepare_cached("UPDATE shards SET last = ?2 WHERE shard = ?1 AND last <> ?2")
            .and_then(|mut it| it.execute(params![shard.0, self.last(shard)]))
            .map_err(failed)?;
        Ok(())
    }

    pub(super) fn compact(&self) -> Result<(), Error> {
        let done = Database::vacuum(&self.writer);
        self.wal.cut();
        done
    }

    pub(super) fn inbox(&self, shard: ShardId) -> Result<Vec<Mail>, Error> {
        let mail = |row: &rusqlite::Row<'_>| {
            let id = MailId { from: ShardId(row.get(0)?), number: row.get(1)? };
            Ok(Mail { id, to: shard, body: row.get(2)? })
        };
        self.db.read(|it| {
            it.prepare_cached(
                "SELECT sender, number, body FROM inbox WHERE receiver = ?1 ORDER BY sender, number",
            )
            .and_then(|mut it| it.query_map([shard.0], mail)?.collect())
            .map_err(|error| self.db.unreadable(&error))
        })
    }

    pub(super) fn deploy(&self, deployment: &Deployment) -> Result<(), Error> {
        self.writer.write(("deploy.inserted", "deploy.committed"), |it| {
            let others = deployments(it, 0, false).map_err(|error| self.db.unreadable(&error))?;
            deployment.check(others.iter())?;
            insert_deployment(it, deployment).map_err(|error| self.failed(&error))
        })
    }

    pub(super) fn deployments(&self, after: u64) -> Result<Vec<Deployment>, Error> {
        self.db.read(|it| deployments(it, after, true).map_err(|error| self.db.unreadable(&error)))
    }

    pub(super) fn undeploy(&self, keys: &[u64]) -> Result<(), Error> {
        self.writer.write(("undeploy.changed", "undeploy.committed"), |it| {
            let failed = |error: rusqlite::Error| self.failed(&error);
            for mut deployment in
                deployments(it, 0, true).map_err(|error| self.db.unreadable(&error))?
            {
                if deployment.remove(keys) {
                    for sql in [
                        "DELETE FROM deployments WHERE number = ?1",
                        "DELETE FROM resources WHERE deployment = ?1",
                        "DELETE FROM definitions WHERE deployment = ?1",
                    ] {
                        it.execute(sql, [deployment.number]).map_err(failed)?;
                    }
                    insert_deployment(it, &deployment).map_err(failed)?;
                }
            }
            Ok(())
        })
    }
}

impl Statements {
    fn new(shard: u16) -> Self {
        let columns = "seq, instance, previous, at, body";
        Self {
            insert: format!("INSERT INTO log_{shard} VALUES(?1, ?2, ?3, ?4, ?5)"),
            one: format!("SELECT {columns} FROM log_{shard} WHERE seq = ?1"),
            after: format!(
                "SELECT {columns} FROM log_{shard} WHERE seq > ?1 ORDER BY seq LIMIT ?2"
            ),
            delete: format!("DELETE FROM log_{shard} WHERE seq = ?1"),
        }
    }
}

fn entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        seq: row.get(0)?,
        instance: row.get(1)?,
        previous: row.get(2)?,
        at: row.get(3)?,
        body: row.get(4)?,
    })
}

fn insert_deployment(connection: &Connection, deployment: &Deployment) -> rusqlite::Result<()> {
    let number = deployment.number;
    connection.execute("INSERT INTO deployments VALUES(?1, ?2)", params![number, deployment.at])?;
    let mut insert = connection.prepare_cached("INSERT INTO resources VALUES(?1, ?2, ?3, ?4)")?;
    for (position, it) in deployment.resources.iter().enumerate() {
        insert.execute(params![number, position, it.name, it.body])?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO definitions VALUES(:key, :deployment, :position, :id, :version, :tag, :resource, :removed)",
    )?;
    for (position, it) in deployment.definitions.iter().enumerate() {
        insert.execute(named_params! {
            ":key": it.key,
            ":deployment": number,
            ":position": position,
            ":id": it.id,
            ":version": it.version,
            ":tag": it.tag,
            ":resource": it.resource,
            ":removed": it.removed,
        })?;
    }
    Ok(())
}

/// The deployments after a number, with or without their files.
fn deployments(
    connection: &Connection,
    after: u64,
    with_resources: bool,
) -> rusqlite::Result<Vec<Deployment>> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let mut found: BTreeMap<u64, Deployment> = connection
        .prepare_cached("SELECT number, at FROM deployments WHERE number > ?1")?
        .query_map([after], |row| {
            let number = row.get(0)?;
            Ok((number, Deployment { number, at: row.get(1)?, ..Deployment::default() }))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut definitions = connection.prepare_cached(
        "SELECT deployment, key, id, version, tag, resource, removed FROM definitions
         WHERE deployment > ?1 ORDER BY deployment, position",
    )?;
    let mut rows = definitions.query([after])?;
    while let Some(row) = rows.next()? {
        if let Some(it) = found.get_mut(&row.get(0)?) {
            it.definitions.push(Deployed {
                key: row.get(1)?,
                id: row.get(2)?,
                version: row.get(3)?,
                tag: row.get(4)?,
                resource: row.get(5)?,
                removed: row.get(6)?,
            });
        }
    }
    if with_resources {
        let mut resources = connection.prepare_cached(
            "SELECT deployment, name, body FROM resources
             WHERE deployment > ?1 ORDER BY deployment, position",
        )?;
        let mut rows = resources.query([after])?;
        while let Some(row) = rows.next()? {
            if let Some(it) = found.get_mut(&row.get(0)?) {
                it.resources.push(Resource { name: row.get(1)?, body: row.get(2)? });
            }
        }
    }
    Ok(found.into_values().collect())
}
