//! A log from elsewhere becomes an embedded store.

use std::{fs, path::Path};

use rusqlite::{Connection, params};

use super::{
    Options, SqliteStore, backup, file,
    log::{self, Head},
    open::Database,
};
use crate::{Deployment, Entry, Error, Mail, Owner, Seq, ShardId, sum};

/// A store that is being filled. It opens like any other once it is finished.
#[derive(Debug)]
pub(crate) struct Import {
    connection: Connection,
    db: Database,
}

impl Import {
    /// Makes a store of so many shards in a new directory.
    pub(crate) fn begin(dir: &Path, shards: u16) -> Result<Self, Error> {
        if shards > log::SHARDS_MAX {
            let most = log::SHARDS_MAX;
            let reason =
                format!("an embedded store has up to {most} shards, and this one has {shards}");
            return Err(Error::Failed { reason });
        }
        file::make_directory(dir)?;
        let failed = |error: std::io::Error| super::fault::system(dir, &error);
        if fs::read_dir(dir).map_err(failed)?.next().is_some() {
            let reason =
                format!("{} is not empty: choose a new directory for the copy", dir.display());
            return Err(Error::Failed { reason });
        }
        drop(SqliteStore::open(dir, &Options { shards, ..Options::default() })?);
        let db = Database::log(dir);
        let (connection, _) = db.connect("full")?;
        let import = Self { connection, db };
        import.done(import.connection.execute_batch("BEGIN IMMEDIATE"))?;
        Ok(import)
    }

    fn done<T>(&self, done: rusqlite::Result<T>) -> Result<T, Error> {
        done.map_err(|error| super::fault::write(&self.db.place(), &error))
    }

    pub(crate) fn entry(&self, shard: ShardId, it: &Entry) -> Result<(), Error> {
        let sql = format!(
            "INSERT INTO log_{}(seq, instance, previous, at, sum, body) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
            shard.0
        );
        let sum = sum::entry(shard, it);
        let row = params![it.seq, it.instance.0, it.previous, it.at.as_millis(), sum, it.body];
        self.done(self.connection.prepare_cached(&sql).and_then(|mut sql| sql.execute(row)))
            .map(drop)
    }

    pub(crate) fn mail(&self, it: &Mail) -> Result<(), Error> {
        let sql =
            "INSERT INTO inbox(receiver, sender, number, body, sum) VALUES(?1, ?2, ?3, ?4, ?5)";
        let row = params![it.to.0, it.id.from.0, it.id.number, it.body, sum::mail(it)];
        self.done(self.connection.prepare_cached(sql).and_then(|mut sql| sql.execute(row)))
            .map(drop)
    }

    pub(crate) fn deployment(&self, it: &Deployment) -> Result<(), Error> {
        self.done(log::insert_deployment(&self.connection, it))
    }

    /// What is known of a shard beside its entries, all of which are there.
    pub(crate) fn shard(
        &self,
        shard: ShardId,
        owner: &Owner,
        last: Seq,
        mailed: u64,
    ) -> Result<(), Error> {
        let all = || {
            let there = log::take_stock(&self.connection, shard.0)?;
            let last = there.last.max(last);
            log::put_head(&self.connection, shard.0, &Head { last, mailed, ..there })?;
            self.connection.execute(
                "UPDATE shards SET epoch = ?2 WHERE shard = ?1",
                params![shard.0, owner.epoch],
            )
        };
        self.done(all()).map(drop)
    }

    /// All of it is there.
    pub(crate) fn finish(self, revision: u64, dir: &Path) -> Result<(), Error> {
        let sql = "INSERT INTO meta VALUES('revision', ?1) ON CONFLICT DO UPDATE SET value = ?1";
        self.done(self.connection.execute(sql, [revision]))?;
        self.done(self.connection.execute_batch("COMMIT"))?;
        drop(self.connection);
        Database::views(dir).remove()?;
        backup::sync(dir)
    }
}
