//! The embedded store: a directory with two SQLite databases.
//!
//! `log.db` has the log and is the truth: a commit there is one sync of its journal. `views.db` has the
//! rows derived from it, as tables that people can read, and stands behind at checkpoints. `lock` says
//! which process has the store open.

mod accept;
mod backup;
mod dialect;
mod end;
mod fault;
mod file;
#[cfg(feature = "postgres")]
pub(crate) mod import;
mod lock;
mod log;
mod look;
mod notes;
mod open;
#[cfg(test)]
mod plans;
mod views;
mod wal;
mod write;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Whether the disk of a store has so little room left that the store should only be looked at, or emptied.
pub fn is_full(dir: &Path) -> bool {
    file::is_full(dir)
}

pub use accept::accept_loss;
pub use backup::backup;

use self::{lock::Lock, log::Log, notes::Notes, open::Database, views::Views, write::Poison};
use crate::{
    Address, Advance, Append, Claim, Claimed, Claiming, DefinitionKey, Deployment, Entry, Error,
    Fold, InstanceId, Mail, MailId, Owner, Resource, Seq, ShardId, Store,
    search::{Column, Found, Search, Tally},
    sql::search::STEPS_MAX,
    view::{InstanceRow, Row, Table},
};

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many shards a new store gets. One that is there keeps its own.
    pub shards: u16,
    /// Whether to make a store where there is none.
    pub create: bool,
    /// Whether what is done makes room: then the room that a store keeps for a full disk is used.
    pub makes_room: bool,
    /// The size in bytes beyond which the log may not grow; then it is full.
    pub log_bytes_max: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { shards: 4, create: true, makes_room: false, log_bytes_max: None }
    }
}

/// The embedded store.
#[derive(Debug)]
pub struct SqliteStore {
    dir: PathBuf,
    views: Views,
    /// Where the views are, if there was no room for them. After them, which are closed before they come back.
    _elsewhere: Option<look::Elsewhere>,
    log: Log,
    notes: Notes,
    // The last to go.
    _lock: Lock,
    /// Where it is a copy: the copy, and the lock of the original.
    copy: Option<(look::Copy, Option<Lock>)>,
}

impl SqliteStore {
    /// Opens the store in a directory, or makes it there.
    pub fn open(dir: impl Into<PathBuf>, options: &Options) -> Result<Self, Error> {
        let dir = dir.into();
        match Self::open_in(dir.clone(), options) {
            // SQLite has many words for that.
            Err(Error::Failed { reason } | Error::Poisoned { reason }) if file::is_full(&dir) => {
                Err(Error::Full { reason })
            }
            opened => opened,
        }
    }

    /// Opens a copy of a store that cannot be written, to look at it. It goes with the answer.
    pub fn look(dir: &Path) -> Result<Self, Error> {
        file::need_log(dir)?;
        let held = Lock::look(dir)?;
        let copy = look::copy(dir)?;
        let mut store = Self::open_in(
            copy.path().to_owned(),
            &Options { create: false, ..Options::default() },
        )?;
        store.copy = Some((copy, held));
        Ok(store)
    }

    fn open_in(dir: PathBuf, options: &Options) -> Result<Self, Error> {
        let foreign = |reason: &str| Error::Foreign {
            store: dir.display().to_string(),
            reason: reason.to_owned(),
        };
        if dir.exists() && !dir.is_dir() {
            return Err(foreign("it is a file, and a store is a directory"));
        }
        let is_new = !file::has_log(&dir)?;
        if options.create {
            if !(1..=log::SHARDS_MAX).contains(&options.shards) {
                let most = log::SHARDS_MAX;
                let reason = format!("a store has 1 to {most} shards, not {}", options.shards);
                return Err(Error::BadQuery { reason });
            }
            if is_new {
                file::check_remains(&dir)?;
                make_directory(&dir)?;
            }
        } else {
            file::need_log(&dir)?;
        }
        let lock = Lock::take(&dir)?;
        file::narrow(&dir);
        if options.makes_room && file::is_full(&dir) {
            file::use_reserve(&dir);
        }
        let is_tight = options.makes_room && file::is_tight(&dir);
        let elsewhere = is_tight.then(|| look::Elsewhere::take(&dir)).flatten();
        let poison = Arc::new(Poison::default());
        let create = options.create.then_some(options.shards);
        let db = Database::log(&dir);
        let log = Log::open(db, create, options, Arc::clone(&poison))?;
        let views = Database::views(elsewhere.as_ref().map_or(&dir, |it| it.path()));
        let views = Views::open(views, &log.id, |it| log.last(it), is_new, poison)?;
        let notes = Notes::open(&dir, &log.id);
        if elsewhere.is_none() {
            file::reserve(&dir);
        }
        backup::sync(&dir)?;
        Ok(Self { dir, views, _elsewhere: elsewhere, log, notes, _lock: lock, copy: None })
    }
}

impl SqliteStore {
    fn advance(&self, advance: &Advance<'_>) -> Result<(), Error> {
        let Advance { claim: Claim { shard, .. }, upto, state, changes } = *advance;
        let _held = self.log.hold(&advance.claim)?;
        if upto > self.log.last(shard) {
            return Err(Error::NoSuchEntry { shard, seq: upto });
        }
        self.views.checkpoint(shard, self.shards(), upto, state, changes)
    }
}

/// Makes the directory, and its name durable.
fn make_directory(dir: &Path) -> Result<(), Error> {
    file::make_directory(dir)?;
    let whole = dir.canonicalize().map_err(|error| fault::system(dir, &error))?;
    whole.parent().map_or(Ok(()), backup::sync)
}

impl Store for SqliteStore {
    fn shards(&self) -> u16 {
        self.log.shards()
    }

    fn is_near(&self) -> bool {
        true
    }

    fn claim(&self, shard: ShardId, how: Claiming<'_>) -> Result<Claimed, Error> {
        self.log.claim(shard, how)
    }

    fn release(&self, claim: &Claim) -> Result<(), Error> {
        self.log.release(claim)
    }

    fn owners(&self) -> Result<Vec<Owner>, Error> {
        self.log.owners()
    }

    fn fence(&self, claims: &[Claim]) -> Result<Vec<bool>, Error> {
        Ok(claims.iter().map(|it| self.log.holds(it)).collect())
    }

    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<(), Error>> {
        self.log.append(appends)
    }

    fn entries(&self, shard: ShardId, after: Seq, limit: usize) -> Result<Vec<Entry>, Error> {
        self.log.entries(shard, after, limit)
    }

    fn last(&self, shard: ShardId) -> Result<Seq, Error> {
        Ok(self.log.last(shard))
    }

    fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, Error> {
        self.log.chain(shard, last, after)
    }

    fn check_log(&self, shard: ShardId) -> Result<(), Error> {
        self.log.check_whole(shard)
    }

    fn check(&self) -> Result<Vec<String>, Error> {
        let damaged = |reason| Error::Corrupt { place: self.log.db.place(), reason }.to_string();
        let mut found: Vec<String> = match self.log.db.flaws() {
            Err(error @ Error::Corrupt { .. }) => vec![error.to_string()],
            flaws => flaws?.map(damaged).into_iter().collect(),
        };
        let shards = (0..self.shards()).map(|it| self.log.check_whole(ShardId(it)));
        for checked in shards.chain([self.log.check_deployments()]) {
            match checked {
                Err(error @ (Error::Lost { .. } | Error::Corrupt { .. })) => {
                    found.push(error.to_string());
                }
                checked => checked?,
            }
        }
        Ok(found)
    }

    fn check_views(&self) -> Result<(), Error> {
        self.views.check()
    }

    fn rebuilt(&self) -> Option<String> {
        self.views.rebuilt()
    }

    fn fold(&self, claim: &Claim, folds: &[Fold]) -> Result<(), Error> {
        self.log.fold(claim, folds)
    }

    fn noted(&self, shard: ShardId) -> Option<Vec<u8>> {
        Some(self.notes.read(shard))
    }

    fn note(&self, shard: ShardId, what: &[u8]) {
        self.notes.write(shard, what);
    }

    fn inbox(&self, shard: ShardId, after: &[MailId], limit: usize) -> Result<Vec<Mail>, Error> {
        self.log.inbox(shard, after, limit)
    }

    fn mailed(&self) -> Result<Vec<u64>, Error> {
        Ok(self.log.mailed())
    }

    fn deploy(&self, deployment: &Deployment) -> Result<(), Error> {
        self.log.deploy(deployment)
    }

    fn deployments(&self, after: u64) -> Result<Vec<Deployment>, Error> {
        self.log.deployments(after)
    }

    fn resource(&self, key: DefinitionKey) -> Result<Option<Resource>, Error> {
        self.log.resource(key)
    }

    fn undeploy(&self, keys: &[DefinitionKey]) -> Result<(), Error> {
        self.log.undeploy(keys)
    }

    fn retire(&self, keys: &[DefinitionKey]) -> Result<(), Error> {
        self.log.retire(keys)
    }

    fn revision(&self) -> Result<u64, Error> {
        self.log.revision()
    }

    fn checkpoint_all(&self, advances: &[Advance<'_>]) -> Vec<Result<(), Error>> {
        // Nothing is synced, so a transaction for each costs nothing.
        advances.iter().map(|it| self.advance(it)).collect()
    }

    fn checkpointed(&self, shard: ShardId) -> Result<(Seq, Vec<u8>), Error> {
        self.views.checkpointed(shard)
    }

    fn forget_views(&self, claim: &Claim) -> Result<(), Error> {
        let _held = self.log.hold(claim)?;
        self.views.forget(claim.shard, self.shards())
    }

    fn reset_views(&self, claims: &[Claim]) -> Result<(), Error> {
        let claims = Claim::of_all(claims, self.shards())?;
        let _held = claims.iter().map(|it| self.log.hold(it)).collect::<Result<Vec<_>, _>>()?;
        self.views.reset()
    }

    fn instance(&self, id: InstanceId) -> Result<Option<InstanceRow>, Error> {
        self.views.instance(id)
    }

    fn named(&self, shard: ShardId, business_id: &str) -> Result<Vec<InstanceId>, Error> {
        self.views.named(shard, self.shards(), business_id)
    }

    fn called(&self, call: Address) -> Result<Option<InstanceId>, Error> {
        self.views.called(call)
    }

    fn snapshot(&self, instance: InstanceId) -> Result<Option<(Seq, Vec<u8>)>, Error> {
        self.views.snapshot(instance)
    }

    fn scan(
        &self,
        shard: ShardId,
        table: Table,
        each: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.views.scan(shard, self.shards(), table, each)
    }

    fn search(&self, search: &Search) -> Result<Found, Error> {
        search.check()?;
        self.views.search(search, (!search.unbounded).then_some(STEPS_MAX))
    }

    fn tally(&self, search: &Search, by: &[Column]) -> Result<Vec<Tally>, Error> {
        search.check_tally(by)?;
        let steps = (!search.unbounded).then_some(STEPS_MAX);
        search.tallied(self.views.tally(search, by, steps)?)
    }

    fn size(&self) -> Result<(u64, u64), Error> {
        let (log, views) = (self.log.db.size()?, self.views.db.size()?);
        Ok((log.0 + views.0, log.1 + views.1))
    }

    fn compact(&self) -> Result<(), Error> {
        self.log.compact()?;
        self.views.compact()
    }

    fn backup(&self, to: &Path) -> Result<(), Error> {
        backup(&self.dir, to)
    }
}
