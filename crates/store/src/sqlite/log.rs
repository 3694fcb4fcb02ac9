//! The log: entries, owners, mails and deployments, in `log.db`.
//!
//! Each shard has a table of entries of its own, so that every insert goes to the end of a tree and a
//! shard is read without the others. For people the view `log` shows all of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard},
};

use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};
use travertine_value::time::Timestamp;

use super::{
    Options,
    end::{self, End},
    file::{self, FileId},
    open::{Database, Found},
    wal::Wal,
    write::{Poison, Writer},
};
use crate::{
    Append, Batch, Claim, Claimed, Claiming, DefinitionKey, Deployed, Deployment, Entry, Error,
    Fold, InstanceId, Mail, MailId, Owner, Resource, Seq, ShardId, codec, crash_point, sum,
};

pub(super) use crate::sum::Head;

/// So many tables of entries a database may have.
pub(super) const SHARDS_MAX: u16 = 256;

/// After so many bytes no more entries are read at once.
const READ_BYTES_MAX: usize = 64 << 20;

/// How many entries are looked at when a log is opened, of all shards together. A shorter log is known to
/// be whole then; of a longer one the end is.
const LOOKED_AT: usize = 4_096;

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
    /// What is known of the logs without reading them. Locked after the writer.
    heads: Mutex<Vec<Head>>,
    end: End,
    /// Which file it is.
    file: Option<FileId>,
    makes_room: bool,
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
    newest: String,
    sums: String,
}

/// Who waits while someone else commits.
#[derive(Debug, Default)]
struct Queue {
    busy: bool,
    tickets: u64,
    waiting: Vec<Waiting>,
    done: BTreeMap<u64, Vec<Result<(), Error>>>,
}

/// What somebody waits for.
#[derive(Debug)]
struct Waiting {
    ticket: u64,
    appends: Vec<(Claim, Vec<Batch>)>,
}

fn schema(shards: u16) -> String {
    let mut sql = String::from(
        "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
         CREATE TABLE shards(shard INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, owner TEXT NOT NULL,
             last INTEGER NOT NULL, newest INTEGER NOT NULL, entries INTEGER NOT NULL,
             digest INTEGER NOT NULL, mails INTEGER NOT NULL, plain INTEGER NOT NULL,
             mailed INTEGER NOT NULL);
         CREATE TABLE inbox(receiver INTEGER NOT NULL, sender INTEGER NOT NULL, number INTEGER NOT NULL,
             body BLOB NOT NULL, sum INTEGER, PRIMARY KEY(receiver, sender, number)) WITHOUT ROWID;
         CREATE TABLE deployments(number INTEGER PRIMARY KEY, at INTEGER NOT NULL, sum INTEGER);
         CREATE TABLE resources(deployment INTEGER NOT NULL, position INTEGER NOT NULL,
             name TEXT NOT NULL, sum INTEGER, body BLOB NOT NULL, PRIMARY KEY(deployment, position));
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
                 previous INTEGER NOT NULL, at INTEGER NOT NULL, sum INTEGER, body BLOB NOT NULL);
             INSERT INTO shards VALUES({shard}, 0, '', 0, 0, 0, 0, 0, 0, 0);"
        )
        .expect("a string takes every text");
        all.push(format!(
            "SELECT {shard} AS shard, seq, instance, previous, at, body FROM log_{shard}"
        ));
    }
    write!(sql, "CREATE VIEW log AS {};", all.join(" UNION ALL ")).expect("as above");
    sql
}

/// Brings an older log to the format of today.
pub(super) fn bring_up(
    db: &Database,
    connection: &mut Connection,
    format: i32,
) -> Result<(), Error> {
    db.upgrade(connection, |it| {
        it.execute_batch(
            "ALTER TABLE shards ADD COLUMN mailed INTEGER NOT NULL DEFAULT 0;
             UPDATE shards SET mailed =
                 (SELECT coalesce(max(number), 0) FROM inbox WHERE sender = shards.shard);",
        )?;
        if format > 1 {
            return Ok(());
        }
        add_checksums(it, it.query_row("SELECT count(*) FROM shards", [], |row| row.get(0))?)
    })
}

/// Brings a log of format 1 to format 2. Its entries keep having no checksum.
fn add_checksums(connection: &Connection, shards: u16) -> rusqlite::Result<()> {
    connection.execute_batch(
        "ALTER TABLE shards ADD COLUMN newest INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE shards ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE shards ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE shards ADD COLUMN mails INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE shards ADD COLUMN plain INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE inbox ADD COLUMN sum INTEGER;
         ALTER TABLE deployments ADD COLUMN sum INTEGER;
         ALTER TABLE resources ADD COLUMN sum INTEGER;",
    )?;
    for shard in 0..shards {
        connection.execute_batch(&format!("ALTER TABLE log_{shard} ADD COLUMN sum INTEGER;"))?;
        let mut head = take_stock(connection, shard)?;
        let sql = "SELECT last, mailed FROM shards WHERE shard = ?1";
        let (last, mailed) =
            connection.query_row(sql, [shard], |row| Ok((row.get(0)?, row.get(1)?)))?;
        (head.last, head.mailed) = (head.last.max(last), mailed);
        head.plain = head.last;
        put_head(connection, shard, &head)?;
    }
    Ok(())
}

/// The head of a shard, as its entries and mails make it.
pub(super) fn take_stock(connection: &Connection, shard: u16) -> rusqlite::Result<Head> {
    let mut head = Head::default();
    let mut sums = connection.prepare(&Statements::new(shard).sums)?;
    let mut rows = sums.query([i64::MAX])?;
    while let Some(row) = rows.next()? {
        head.add(row.get(0)?, row.get(1)?);
    }
    let mut mails = connection.prepare("SELECT number, sum FROM inbox WHERE receiver = ?1")?;
    let mut rows = mails.query([shard])?;
    while let Some(row) = rows.next()? {
        head.sent(row.get(0)?, row.get(1)?);
    }
    Ok(head)
}

pub(super) fn head(connection: &Connection, shard: u16) -> rusqlite::Result<Head> {
    connection
        .prepare_cached(
            "SELECT last, newest, entries, digest, mails, plain, mailed FROM shards WHERE shard = ?1",
        )?
        .query_row([shard], |row| {
            Ok(Head {
                last: row.get(0)?,
                newest: row.get(1)?,
                entries: row.get(2)?,
                digest: row.get::<_, i64>(3)?.cast_unsigned(),
                mails: row.get::<_, i64>(4)?.cast_unsigned(),
                plain: row.get(5)?,
                mailed: row.get(6)?,
            })
        })
}

pub(super) fn put_head(connection: &Connection, shard: u16, head: &Head) -> rusqlite::Result<()> {
    let Head { last, newest, entries, digest, mails, plain, mailed } = *head;
    let (digest, mails) = (digest.cast_signed(), mails.cast_signed());
    connection
        .prepare_cached(
            "UPDATE shards SET last = ?2, newest = ?3, entries = ?4, digest = ?5, mails = ?6, plain = ?7,
                 mailed = ?8
             WHERE shard = ?1",
        )?
        .execute(params![shard, last, newest, entries, digest, mails, plain, mailed])
        .map(drop)
}

impl Log {
    /// Opens the log, or makes one of so many shards where `create` says so.
    pub(super) fn open(
        db: Database,
        create: Option<u16>,
        options: &Options,
        poison: Arc<Poison>,
    ) -> Result<Self, Error> {
        let (mut connection, found) = db.connect("full")?;
        let dir = db.path.parent().expect("it is in the directory of the store");
        if let Found::Nothing = found {
            file::check_remains(dir)?;
        }
        match (found, create) {
            (Found::Ours, _) => {}
            (Found::Older(format), _) => bring_up(&db, &mut connection, format)?,
            (Found::Nothing, Some(shards)) => db.make(&connection, &schema(shards))?,
            (Found::Nothing, None) => {
                let reason = String::from("there is no store; make one first");
                return Err(Error::Foreign { store: db.place(), reason });
            }
        }
        let failed = |error: rusqlite::Error| db.unreadable(&error);
        if let Some(bytes) = options.log_bytes_max {
            let pages = i64::try_from(bytes / 4096).unwrap_or(i64::MAX);
            connection.pragma_update(None, "max_page_count", pages).map_err(failed)?;
        }
        let id: Vec<u8> = connection
            .query_row("SELECT value FROM meta WHERE name = 'id'", [], |row| row.get(0))
            .map_err(failed)?;
        let shards: u16 = connection
            .query_row("SELECT count(*) FROM shards", [], |row| row.get(0))
            .map_err(failed)?;
        if !(1..=SHARDS_MAX).contains(&shards) {
            let reason = format!("it says that it has {shards} shards");
            return Err(Error::Corrupt { place: db.place(), reason });
        }
        let (mut epochs, mut heads) = (Vec::new(), Vec::new());
        for shard in 0..shards {
            let sql = "SELECT epoch FROM shards WHERE shard = ?1";
            let epoch = connection.query_row(sql, [shard], |row| row.get(0)).map_err(failed)?;
            epochs.push(RwLock::new(epoch));
            heads.push(head(&connection, shard).map_err(failed)?);
        }
        let statements: Vec<Statements> = (0..shards).map(Statements::new).collect();
        for (shard, (head, statements)) in (0..).map(ShardId).zip(heads.iter().zip(&statements)) {
            let most = LOOKED_AT / usize::from(shards);
            look(&connection, statements, most).map_err(failed)?.check(
                &db,
                shard,
                head,
                head.entries > most as u64,
            )?;
        }
        for (shard, (marked, head)) in
            end::read(dir, &id, shards).into_iter().flatten().zip(&heads).enumerate()
        {
            if marked > head.last {
                let (last, missing) = (head.last, marked - head.last);
                return Err(db.lost(format!(
                    "shard {shard} ends with entry {last}, and {marked} were written ({missing} missing)"
                )));
            }
        }
        let end = End::open(dir, &id);
        let (mover, _) = db.connect("full")?;
        let wal = Wal::new(&mut connection, mover, db.place(), Arc::clone(&poison))?;
        Ok(Self {
            wal,
            writer: db.writer(connection, Arc::clone(&poison)),
            id,
            statements,
            epochs,
            heads: Mutex::new(heads),
            end,
            file: FileId::of(&db.path),
            makes_room: options.makes_room,
            db,
            queue: Mutex::default(),
            turn: Condvar::new(),
            poison,
        })
    }

    pub(super) fn shards(&self) -> u16 {
        u16::try_from(self.statements.len()).expect("it was a u16 when they were made")
    }

    fn heads(&self) -> MutexGuard<'_, Vec<Head>> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn last(&self, shard: ShardId) -> Seq {
        self.heads()[usize::from(shard.0)].last
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        self.writer.fault(error)
    }

    pub(super) fn claim(&self, shard: ShardId, how: Claiming<'_>) -> Result<Claimed, Error> {
        let mut known =
            self.epochs[usize::from(shard.0)].write().unwrap_or_else(PoisonError::into_inner);
        let claimed = self.writer.write(("claim.changed", "claim.committed"), |it| {
            let epoch = it
                .prepare_cached(
                    "UPDATE shards SET epoch = epoch + 1, owner = coalesce(?2, owner)
                     WHERE shard = ?1 AND epoch = coalesce(?3, epoch) RETURNING epoch",
                )
                .and_then(|mut it| {
                    it.query_row(params![shard.0, how.owner(), how.epoch()], |row| row.get(0))
                        .optional()
                })
                .map_err(|error| self.failed(&error))?
                .ok_or(Error::Stale { shard })?;
            // Whoever appends holds the connection until the head is what is written.
            let head = self.heads()[usize::from(shard.0)];
            let claim = Claim { shard, epoch };
            Ok(Claimed { claim, last: head.last, mails: head.mailed })
        })?;
        *known = claimed.claim.epoch;
        Ok(claimed)
    }

    pub(super) fn release(&self, claim: &Claim) -> Result<(), Error> {
        let mut known =
            self.epochs[usize::from(claim.shard.0)].write().unwrap_or_else(PoisonError::into_inner);
        *known = self.writer.write(("claim.changed", "claim.committed"), |it| {
            it.prepare_cached(
                "UPDATE shards SET epoch = epoch + 1, owner = '' WHERE shard = ?1 AND epoch = ?2
                 RETURNING epoch",
            )
            .and_then(|mut it| {
                it.query_row(params![claim.shard.0, claim.epoch], |row| row.get(0)).optional()
            })
            .map_err(|error| self.failed(&error))?
            .ok_or(Error::Stale { shard: claim.shard })
        })?;
        Ok(())
    }

    pub(super) fn owners(&self) -> Result<Vec<Owner>, Error> {
        self.db.read(|it| {
            it.prepare_cached("SELECT epoch, owner FROM shards ORDER BY shard")
                .and_then(|mut it| {
                    let owner =
                        |row: &Row<'_>| Ok(Owner::new(row.get(0)?, &row.get::<_, String>(1)?));
                    it.query_map([], owner)?.collect()
                })
                .map_err(|error| self.db.unreadable(&error))
        })
    }

    /// Whether a claim still holds: no other process can claim anything.
    pub(super) fn holds(&self, claim: &Claim) -> bool {
        let known = &self.epochs[usize::from(claim.shard.0)];
        *known.read().unwrap_or_else(PoisonError::into_inner) == claim.epoch
    }

    pub(super) fn mailed(&self) -> Vec<u64> {
        self.heads().iter().map(|it| it.mailed).collect()
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
    pub(super) fn append(&self, appends: &[Append<'_>]) -> Vec<Result<(), Error>> {
        let shards = self.shards();
        let shard_exists = |it: ShardId| assert!(it.0 < shards, "there is no shard {it}");
        for append in appends {
            shard_exists(append.claim.shard);
            for mail in append.batches.iter().flat_map(|it| &it.sent) {
                shard_exists(mail.to);
                shard_exists(mail.id.from);
            }
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
                let ticket = queue.tickets;
                let copy = |it: &Append<'_>| (it.claim, it.batches.to_vec());
                queue.waiting.push(Waiting { ticket, appends: appends.iter().map(copy).collect() });
            }
            queue = self.turn.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        // It is this thread's turn, for all who wait.
        queue.busy = true;
        let waiting = std::mem::take(&mut queue.waiting);
        drop(queue);
        let mut all: Vec<Append<'_>> = waiting
            .iter()
            .flat_map(|it| &it.appends)
            .map(|(claim, batches)| Append { claim: *claim, batches })
            .collect();
        if ticket.is_none() {
            all.extend_from_slice(appends);
        }
        let mut answers = self.commit(&all).into_iter();
        let mut queue = lock();
        for it in &waiting {
            let own = answers.by_ref().take(it.appends.len()).collect();
            queue.done.insert(it.ticket, own);
        }
        queue.busy = false;
        let own = match ticket {
            None => answers.collect(),
            Some(ticket) => queue.done.remove(&ticket).expect("whoever waits has an answer"),
        };
        drop(queue);
        self.turn.notify_all();
        own
    }

    /// Commits what it can of them.
    fn commit(&self, appends: &[Append<'_>]) -> Vec<Result<(), Error>> {
        match self.commit_together(appends) {
            Ok(answers) => answers,
            // One that finds no room, or cannot be written at all, does not stand in the way of others.
            Err(error) if appends.len() > 1 && !matches!(error, Error::Poisoned { .. }) => {
                appends.iter().flat_map(|it| self.commit(&[*it])).collect()
            }
            Err(error) => appends.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// Commits in one transaction, without those that are refused.
    fn commit_together(&self, appends: &[Append<'_>]) -> Result<Vec<Result<(), Error>>, Error> {
        let connection = self.writer.lock();
        self.poison.check()?;
        self.check_file()?;
        self.wal.finish(&connection).map_err(|error| self.failed(&error))?;
        if !self.makes_room {
            self.wal.grow();
        }
        crash_point("append.begin");
        let mut answers = Vec::with_capacity(appends.len());
        let before = self.heads().clone();
        let mut heads = before.clone();
        let points = ("append.inserted", "append.committed");
        self.writer.transact(&connection, points, |it| {
            for append in appends {
                // First everything that can be refused, so that nothing has to be taken back.
                let shard = append.claim.shard;
                let last = heads[usize::from(shard.0)].last;
                let allowed =
                    self.check(it, &append.claim).and_then(|()| append.follow(last).map(drop));
                match allowed {
                    Ok(()) => {
                        for batch in append.batches {
                            self.insert(it, shard, batch, &mut heads)
                                .map_err(|error| self.failed(&error))?;
                        }
                        answers.push(Ok(()));
                    }
                    Err(error @ (Error::Stale { .. } | Error::Misplaced { .. })) => {
                        answers.push(Err(error));
                    }
                    Err(error) => return Err(error),
                }
            }
            for (shard, (head, _)) in
                (0..).zip(heads.iter().zip(&before)).filter(|(_, (new, old))| new != old)
            {
                put_head(it, shard, head).map_err(|error| self.failed(&error))?;
            }
            Ok(())
        })?;
        self.end.mark(heads.iter().map(|it| it.last));
        *self.heads() = heads;
        self.wal.committed();
        Ok(answers)
    }

    /// Whether the file is still the one that was opened. What is written to another one, or to none, is lost.
    fn check_file(&self) -> Result<(), Error> {
        if self.file.is_none() || FileId::of(&self.db.path) == self.file {
            return Ok(());
        }
        let place = self.db.place();
        let reason = format!("{place} was removed or replaced while it was open");
        Err(self.poison.note(Error::Poisoned { reason }))
    }

    fn insert(
        &self,
        connection: &Connection,
        shard: ShardId,
        batch: &Batch,
        heads: &mut [Head],
    ) -> rusqlite::Result<()> {
        let mut insert = connection.prepare_cached(&self.of(shard).insert)?;
        for it in &batch.entries {
            let sum = sum::entry(shard, it);
            insert.execute(params![
                it.seq,
                it.instance.0,
                it.previous,
                it.at.as_millis(),
                sum,
                it.body
            ])?;
            heads[usize::from(shard.0)].add(it.seq, Some(sum));
        }
        if !batch.sent.is_empty() {
            let mut send = connection.prepare_cached(
                "INSERT INTO inbox(receiver, sender, number, body, sum) VALUES(?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO NOTHING",
            )?;
            for it in &batch.sent {
                let sum = sum::mail(it);
                let row = params![it.to.0, it.id.from.0, it.id.number, it.body, sum];
                if send.execute(row)? == 0 {
                    // Sent once more, it takes the place of the one before.
                    take(connection, it.to, it.id, heads)?;
                    send.execute(row)?;
                }
                heads[usize::from(it.to.0)].sent(it.id.number, Some(sum));
                let mailed = &mut heads[usize::from(it.id.from.0)].mailed;
                *mailed = it.id.number.max(*mailed);
            }
        }
        for it in &batch.taken {
            take(connection, shard, *it, heads)?;
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
        let plain = self.heads()[usize::from(shard.0)].plain;
        let found: Vec<Entry> = self.db.read(|it| {
            let read = || {
                let mut found = Vec::new();
                let mut bytes = 0;
                let mut statement = it.prepare_cached(&self.of(shard).after)?;
                let mut rows = statement.query([after, limit])?;
                while bytes < READ_BYTES_MAX
                    && let Some(row) = rows.next()?
                {
                    let (entry, _) = entry(shard, plain, row)?;
                    bytes += entry.body.len();
                    found.push(entry);
                }
                Ok(found)
            };
            read().map_err(|error: rusqlite::Error| self.db.unreadable(&error))
        })?;
        // Pages that stand in each other's place give them in another order, and some again and again.
        let mut before = after.cast_unsigned();
        for it in &found {
            if it.seq <= before {
                let reason = format!("entry {} of shard {shard} comes after {before}", it.seq);
                return Err(Error::Corrupt { place: self.db.place(), reason });
            }
            before = it.seq;
        }
        Ok(found)
    }

    pub(super) fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, Error> {
        let failed = |error: rusqlite::Error| self.db.unreadable(&error);
        let plain = self.heads()[usize::from(shard.0)].plain;
        self.db.read(|it| {
            let mut one = it.prepare_cached(&self.of(shard).one).map_err(failed)?;
            let mut found: Vec<Entry> = Vec::new();
            let mut seq = last;
            while seq > after {
                let read = one.query_row([seq], |row| entry(shard, plain, row));
                let (entry, _) =
                    read.optional().map_err(failed)?.ok_or(Error::NoSuchEntry { shard, seq })?;
                seq = entry.follows(found.last(), shard)?;
                found.push(entry);
            }
            found.reverse();
            Ok(found)
        })
    }

    /// Whether the entries and mails of a shard are those that were written.
    pub(super) fn check_whole(&self, shard: ShardId) -> Result<(), Error> {
        let failed = |error: rusqlite::Error| self.db.unreadable(&error);
        self.db.read(|it| {
            let head = head(it, shard.0).map_err(failed)?;
            let found = look(it, self.of(shard), usize::MAX).map_err(failed)?;
            found.check(&self.db, shard, &head, false)?;
            self.check_mails(it, shard, &head)
        })
    }

    /// Whether the mails to a shard are those that were sent.
    fn check_mails(
        &self,
        connection: &Connection,
        shard: ShardId,
        head: &Head,
    ) -> Result<(), Error> {
        let mut found = Head::default();
        let mut read = || {
            let mut mails =
                connection.prepare_cached("SELECT number, sum FROM inbox WHERE receiver = ?1")?;
            let mut rows = mails.query([shard.0])?;
            while let Some(row) = rows.next()? {
                found.sent(row.get(0)?, row.get(1)?);
            }
            Ok(())
        };
        read().map_err(|error: rusqlite::Error| self.db.unreadable(&error))?;
        if found.mails == head.mails {
            return Ok(());
        }
        Err(self.db.lost(format!("mails to shard {shard} are not those that were sent")))
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
        self.heads()[usize::from(claim.shard.0)] = done?;
        Ok(())
    }

    fn fold_in(
        &self,
        connection: &Connection,
        shard: ShardId,
        folds: &[Fold],
    ) -> Result<Head, Error> {
        let failed = |error: rusqlite::Error| self.failed(&error);
        let statements = self.of(shard);
        let mut head = self.heads()[usize::from(shard.0)];
        let mut delete = connection.prepare_cached(&statements.delete).map_err(failed)?;
        let mut insert = connection.prepare_cached(&statements.insert).map_err(failed)?;
        for fold in folds {
            let mut sums = BTreeMap::new();
            let chain = fold.chain(shard, |seq| {
                let mut one = connection.prepare_cached(&statements.one).map_err(failed)?;
                let found = one.query_row([seq], |row| entry(shard, head.plain, row)).optional();
                let found = found.map_err(|error| self.db.unreadable(&error))?;
                Ok(found.map(|(entry, sum)| {
                    sums.insert(seq, sum);
                    entry
                }))
            })?;
            fold.check(shard, &chain)?;
            for it in &chain {
                delete.execute([it.seq]).map_err(failed)?;
                head.remove(it.seq, sums.get(&it.seq).copied().flatten());
            }
            if let Some(it) = &fold.entry {
                let sum = sum::entry(shard, it);
                insert
                    .execute(params![
                        it.seq,
                        it.instance.0,
                        it.previous,
                        it.at.as_millis(),
                        sum,
                        it.body
                    ])
                    .map_err(failed)?;
                head.add(it.seq, Some(sum));
            }
        }
        // The end of the log may have been among them.
        head.newest = connection
            .prepare_cached(&statements.newest)
            .and_then(|mut it| it.query_row([], |row| row.get(0)))
            .map_err(failed)?;
        put_head(connection, shard.0, &head).map_err(failed)?;
        Ok(head)
    }

    pub(super) fn compact(&self) -> Result<(), Error> {
        let done = Database::vacuum(&self.writer);
        self.wal.cut();
        done
    }

    pub(super) fn inbox(
        &self,
        shard: ShardId,
        after: &[MailId],
        limit: usize,
    ) -> Result<Vec<Mail>, Error> {
        let mail = |row: &Row<'_>| {
            let id = MailId { from: ShardId(row.get(0)?), number: row.get(1)? };
            let mut mail = Mail { id, to: shard, body: row.get(2)? };
            if row.get::<_, Option<u32>>(3)?.is_some_and(|it| it != sum::mail(&mail)) {
                mail.body = codec::damaged();
            }
            Ok(mail)
        };
        let failed = |error: rusqlite::Error| self.db.unreadable(&error);
        self.db.read(|it| {
            // Whoever goes on reading has seen that they are whole.
            if after.is_empty() {
                self.check_mails(it, shard, &head(it, shard.0).map_err(failed)?)?;
            }
            let columns = "SELECT sender, number, body, sum FROM inbox WHERE receiver = ?1";
            let mut found: Vec<Mail> = Vec::new();
            let rest = |found: usize| i64::try_from(limit - found).unwrap_or(i64::MAX);
            if after.is_empty() {
                let sql = format!("{columns} ORDER BY sender, number LIMIT ?2");
                let mut all = it.prepare_cached(&sql).map_err(failed)?;
                let mails = all.query_map(params![shard.0, rest(0)], mail).map_err(failed)?;
                return mails.collect::<rusqlite::Result<_>>().map_err(failed);
            }
            let sql = format!("{columns} AND sender = ?2 AND number > ?3 ORDER BY number LIMIT ?4");
            let mut of_sender = it.prepare_cached(&sql).map_err(failed)?;
            for sender in 0..self.shards() {
                let seen = after.iter().filter(|it| it.from.0 == sender).map(|it| it.number).max();
                let seen = i64::try_from(seen.unwrap_or(0)).unwrap_or(i64::MAX);
                let given = params![shard.0, sender, seen, rest(found.len())];
                for mail in of_sender.query_map(given, mail).map_err(failed)? {
                    found.push(mail.map_err(failed)?);
                }
            }
            Ok(found)
        })
    }

    pub(super) fn deploy(&self, deployment: &Deployment) -> Result<(), Error> {
        self.writer.write(("deploy.inserted", "deploy.committed"), |it| {
            let others = rivals(it, deployment).map_err(|error| self.db.unreadable(&error))?;
            deployment.check(others.iter())?;
            insert_deployment(it, deployment)
                .and_then(|()| raise_revision(it))
                .map_err(|error| self.failed(&error))
        })
    }

    pub(super) fn revision(&self) -> Result<u64, Error> {
        self.db.read(|it| {
            let sql = "SELECT value FROM meta WHERE name = 'revision'";
            let found = it
                .prepare_cached(sql)
                .and_then(|mut it| it.query_row([], |row| row.get(0)).optional());
            Ok(found.map_err(|error| self.db.unreadable(&error))?.unwrap_or(0))
        })
    }

    pub(super) fn deployments(&self, after: u64) -> Result<Vec<Deployment>, Error> {
        let (found, damaged) = self.db.read(|it| {
            let found = deployments(it, after, u64::MAX);
            let found = found.map_err(|error| self.db.unreadable(&error))?;
            let damaged = damaged_deployment(it, &found).map_err(|it| self.db.unreadable(&it))?;
            Ok((found, damaged))
        })?;
        if let Some(number) = damaged {
            let reason = format!("the checksum of deployment {number} is wrong");
            return Err(Error::Corrupt { place: self.db.place(), reason });
        }
        Ok(found)
    }

    /// Whether all deployments are there that others, or what they have brought, tell of.
    pub(super) fn check_deployments(&self) -> Result<(), Error> {
        let missing = "SELECT number FROM (
                SELECT deployment AS number FROM definitions
                UNION SELECT deployment FROM resources
                UNION SELECT number - 1 FROM deployments WHERE number > 1)
            WHERE number NOT IN (SELECT number FROM deployments) ORDER BY number LIMIT 1";
        let found: Option<u64> = self.db.read(|it| {
            let found = it.query_row(missing, [], |row| row.get(0)).optional();
            found.map_err(|error| self.db.unreadable(&error))
        })?;
        found.map_or(Ok(()), |number| {
            Err(self.db.lost(format!("deployment {number} was stored and is not there")))
        })
    }

    pub(super) fn resource(&self, key: DefinitionKey) -> Result<Option<Resource>, Error> {
        self.db.read(|it| {
            let found = resource(it, key);
            found.map_err(|error| self.db.unreadable(&error))
        })
    }

    pub(super) fn undeploy(&self, keys: &[DefinitionKey]) -> Result<(), Error> {
        self.change_deployments(keys, |it| it.remove(keys))
    }

    pub(super) fn retire(&self, keys: &[DefinitionKey]) -> Result<(), Error> {
        self.change_deployments(keys, |it| it.retire(keys))
    }

    /// Changes the deployments that have brought these keys, where `change` says that there is something to
    /// change.
    fn change_deployments(
        &self,
        keys: &[DefinitionKey],
        change: impl Fn(&mut Deployment) -> bool,
    ) -> Result<(), Error> {
        self.writer.write(("undeploy.changed", "undeploy.committed"), |it| {
            let failed = |error: rusqlite::Error| self.failed(&error);
            let mut removed = false;
            let found = deployments_of(it, keys).map_err(|error| self.db.unreadable(&error))?;
            for mut deployment in found {
                let damaged = damaged_part(it, &deployment);
                let damaged = damaged.map_err(|error| self.db.unreadable(&error))?;
                if change(&mut deployment) {
                    // Written anew it would look whole.
                    if let Some(what) = damaged {
                        let reason = format!("the checksum of {what} is wrong");
                        return Err(Error::Corrupt { place: self.db.place(), reason });
                    }
                    for sql in [
                        "DELETE FROM deployments WHERE number = ?1",
                        "DELETE FROM resources WHERE deployment = ?1",
                        "DELETE FROM definitions WHERE deployment = ?1",
                    ] {
                        it.execute(sql, [deployment.number]).map_err(failed)?;
                    }
                    insert_deployment(it, &deployment).map_err(failed)?;
                    removed = true;
                }
            }
            if removed {
                raise_revision(it).map_err(failed)?;
            }
            Ok(())
        })
    }
}

impl Statements {
    fn new(shard: u16) -> Self {
        let columns = "seq, instance, previous, at, sum, body";
        Self {
            insert: format!("INSERT INTO log_{shard}({columns}) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"),
            one: format!("SELECT {columns} FROM log_{shard} WHERE seq = ?1"),
            after: format!(
                "SELECT {columns} FROM log_{shard} WHERE seq > ?1 ORDER BY seq LIMIT ?2"
            ),
            delete: format!("DELETE FROM log_{shard} WHERE seq = ?1"),
            newest: format!("SELECT coalesce(max(seq), 0) FROM log_{shard}"),
            sums: format!("SELECT seq, sum FROM log_{shard} ORDER BY seq DESC LIMIT ?1"),
        }
    }
}

/// What was found of a log, from its end.
struct Looked {
    head: Head,
    /// An entry that comes after a later one, and that one.
    misplaced: Option<(Seq, Seq)>,
}

/// Looks at the places and checksums of the last entries of a shard, at so many at most.
fn look(connection: &Connection, statements: &Statements, most: usize) -> rusqlite::Result<Looked> {
    let mut found = Looked { head: Head::default(), misplaced: None };
    let mut statement = connection.prepare_cached(&statements.sums)?;
    let mut rows = statement.query([i64::try_from(most).unwrap_or(i64::MAX)])?;
    let mut later = Seq::MAX;
    while let Some(row) = rows.next()? {
        let seq: Seq = row.get(0)?;
        if seq >= later {
            found.misplaced = Some((later, seq));
            break;
        }
        later = seq;
        found.head.add(seq, row.get(1)?);
    }
    Ok(found)
}

impl Looked {
    /// Whether this is what was written. Only the end is compared where not all was looked at.
    fn check(&self, db: &Database, shard: ShardId, head: &Head, partly: bool) -> Result<(), Error> {
        if let Some((one, other)) = self.misplaced {
            let reason = format!("entry {one} of shard {shard} comes after {other}");
            return Err(Error::Corrupt { place: db.place(), reason });
        }
        let differs = if partly {
            head.differs(&Head { newest: self.head.newest, ..*head })
        } else {
            head.differs(&self.head)
        };
        match differs {
            Some(how) => Err(db.lost(format!("of shard {shard} {how}"))),
            None => Ok(()),
        }
    }
}

/// An entry, with its checksum. Of one whose checksum is wrong nobody gets to see the body.
fn entry(shard: ShardId, plain: Seq, row: &Row<'_>) -> rusqlite::Result<(Entry, Option<u32>)> {
    let mut entry = Entry {
        seq: row.get(0)?,
        instance: InstanceId(row.get(1)?),
        previous: row.get(2)?,
        at: Timestamp::from_millis(row.get(3)?),
        body: row.get(5)?,
    };
    let sum: Option<u32> = row.get(4)?;
    let sound = match sum {
        Some(sum) => sum == sum::entry(shard, &entry),
        None => entry.seq <= plain,
    };
    if !sound {
        entry.body = codec::damaged();
    }
    Ok((entry, sum))
}

/// Takes a mail out of the inbox of a shard, where it is there.
fn take(
    connection: &Connection,
    receiver: ShardId,
    id: MailId,
    heads: &mut [Head],
) -> rusqlite::Result<()> {
    let sum: Option<Option<u32>> = connection
        .prepare_cached(
            "DELETE FROM inbox WHERE receiver = ?1 AND sender = ?2 AND number = ?3 RETURNING sum",
        )?
        .query_row(params![receiver.0, id.from.0, id.number], |row| row.get(0))
        .optional()?;
    if let Some(sum) = sum {
        heads[usize::from(receiver.0)].taken(id.number, sum);
    }
    Ok(())
}

/// The number of the first deployment that is not what was stored, where there is one.
fn damaged_deployment(
    connection: &Connection,
    found: &[Deployment],
) -> rusqlite::Result<Option<u64>> {
    let mut sum = connection.prepare_cached("SELECT sum FROM deployments WHERE number = ?1")?;
    for it in found {
        let sum: Option<u32> = sum.query_row([it.number], |row| row.get(0))?;
        if sum.is_some_and(|sum| sum != sum::deployment(it)) {
            return Ok(Some(it.number));
        }
    }
    Ok(None)
}

/// What of a deployment is not what was stored, where anything is.
fn damaged_part(connection: &Connection, it: &Deployment) -> rusqlite::Result<Option<String>> {
    if damaged_deployment(connection, std::slice::from_ref(it))?.is_some() {
        return Ok(Some(format!("deployment {}", it.number)));
    }
    let sql = "SELECT name, body, sum FROM resources WHERE deployment = ?1";
    let mut files = connection.prepare_cached(sql)?;
    let mut rows = files.query([it.number])?;
    while let Some(row) = rows.next()? {
        if !read_resource(row, 0)?.1 {
            return Ok(Some(format!("a file of deployment {}", it.number)));
        }
    }
    Ok(None)
}

/// Says that other definitions are deployed than before.
fn raise_revision(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "INSERT INTO meta VALUES('revision', 1) ON CONFLICT DO UPDATE SET value = value + 1";
    connection.execute(sql, []).map(drop)
}

pub(super) fn insert_deployment(
    connection: &Connection,
    deployment: &Deployment,
) -> rusqlite::Result<()> {
    let number = deployment.number;
    connection.execute(
        "INSERT INTO deployments(number, at, sum) VALUES(?1, ?2, ?3)",
        params![number, deployment.at.as_millis(), sum::deployment(deployment)],
    )?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO resources(deployment, position, name, sum, body) VALUES(?1, ?2, ?3, ?4, ?5)",
    )?;
    for (position, it) in deployment.resources.iter().enumerate() {
        insert.execute(params![number, position, it.name, sum::resource(it), it.body])?;
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
            ":removed": sum::standing(it),
        })?;
    }
    Ok(())
}

/// The columns of a definition, as [`read_deployed`] reads them.
const DEPLOYED: &str = "deployment, key, id, version, tag, resource, removed";

/// A definition, and the number of its deployment.
fn read_deployed(row: &Row<'_>) -> rusqlite::Result<(u64, Deployed)> {
    let standing: u8 = row.get(6)?;
    let deployed = Deployed {
        key: row.get(1)?,
        id: row.get(2)?,
        version: row.get(3)?,
        tag: row.get(4)?,
        resource: row.get(5)?,
        removed: standing == 1,
        retired: standing == 2,
    };
    Ok((row.get(0)?, deployed))
}

/// A file, out of its name, body and checksum, and whether it is what was stored.
fn read_resource(row: &Row<'_>, at: usize) -> rusqlite::Result<(Resource, bool)> {
    let mut file = Resource { name: row.get(at)?, body: row.get(at + 1)? };
    let is_whole = row.get::<_, Option<u32>>(at + 2)?.is_none_or(|it| it == sum::resource(&file));
    if !is_whole {
        // What it defines cannot be read then, and everything else can.
        file.body = b"the checksum is wrong".to_vec();
    }
    Ok((file, is_whole))
}

/// The deployments after a number, up to another.
fn deployments(
    connection: &Connection,
    after: u64,
    upto: u64,
) -> rusqlite::Result<Vec<Deployment>> {
    let range = [after, upto].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
    let sql = "SELECT number, at FROM deployments WHERE number > ?1 AND number <= ?2";
    let mut found: BTreeMap<u64, Deployment> = connection
        .prepare_cached(sql)?
        .query_map(range, |row| {
            let number = row.get(0)?;
            let at = Timestamp::from_millis(row.get(1)?);
            Ok((number, Deployment { number, at, ..Deployment::default() }))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let within = "WHERE deployment > ?1 AND deployment <= ?2 ORDER BY deployment, position";
    let sql = format!("SELECT {DEPLOYED} FROM definitions {within}");
    let mut definitions = connection.prepare_cached(&sql)?;
    let mut rows = definitions.query(range)?;
    while let Some(row) = rows.next()? {
        let (number, deployed) = read_deployed(row)?;
        if let Some(it) = found.get_mut(&number) {
            it.definitions.push(deployed);
        }
    }
    let sql = format!("SELECT deployment, name, body, sum FROM resources {within}");
    let mut resources = connection.prepare_cached(&sql)?;
    let mut rows = resources.query(range)?;
    while let Some(row) = rows.next()? {
        if let Some(it) = found.get_mut(&row.get(0)?) {
            it.resources.push(read_resource(row, 1)?.0);
        }
    }
    Ok(found.into_values().collect())
}

/// What has used a number, a key or a version already that a deployment wants, apart from its files.
fn rivals(connection: &Connection, wanted: &Deployment) -> rusqlite::Result<Vec<Deployment>> {
    let mut found = connection
        .prepare_cached("SELECT number FROM deployments WHERE number = ?1")?
        .query_map([wanted.number], |row| {
            Ok(Deployment { number: row.get(0)?, ..Deployment::default() })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let sql = format!(
        "SELECT {DEPLOYED} FROM definitions WHERE key = ?1
         UNION SELECT {DEPLOYED} FROM definitions WHERE id = ?2 AND version = ?3"
    );
    let mut used = connection.prepare_cached(&sql)?;
    for it in &wanted.definitions {
        for found_one in used.query_map(params![it.key, it.id, it.version], read_deployed)? {
            let (number, deployed) = found_one?;
            let definitions = vec![deployed];
            found.push(Deployment { number, definitions, ..Deployment::default() });
        }
    }
    Ok(found)
}

/// The deployments that have brought these keys.
fn deployments_of(
    connection: &Connection,
    keys: &[DefinitionKey],
) -> rusqlite::Result<Vec<Deployment>> {
    let mut of_key =
        connection.prepare_cached("SELECT deployment FROM definitions WHERE key = ?1")?;
    let mut numbers: BTreeSet<u64> = BTreeSet::new();
    for key in keys.iter().filter_map(|it| i64::try_from(it.0).ok()) {
        numbers.extend(of_key.query_row([key], |row| row.get::<_, u64>(0)).optional()?);
    }
    let mut found = Vec::new();
    for number in numbers {
        found.extend(deployments(connection, number - 1, number)?);
    }
    Ok(found)
}

/// The file that a definition was deployed with.
fn resource(connection: &Connection, key: DefinitionKey) -> rusqlite::Result<Option<Resource>> {
    let Ok(key) = i64::try_from(key.0) else { return Ok(None) };
    let sql = "SELECT name, body, sum FROM resources
        JOIN definitions USING(deployment)
        WHERE key = ?1 AND removed <> 1 AND resources.position = definitions.resource";
    connection.prepare_cached(sql)?.query_row([key], |row| Ok(read_resource(row, 0)?.0)).optional()
}
