//! The one connection that writes a database.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::Connection;

use super::{fault, open::Kind};
use crate::{Error, crash_point};

/// Why nothing more may be written, once that is so.
#[derive(Debug, Default)]
pub(super) struct Poison {
    reason: OnceLock<String>,
}

impl Poison {
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.reason.get() {
            Some(reason) => Err(Error::Poisoned { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Remembers an error after which nothing can be believed.
    pub(super) fn note(&self, error: Error) -> Error {
        if let Error::Poisoned { reason } = &error {
            self.reason.get_or_init(|| reason.clone());
        }
        error
    }
}

/// Writes a database, one transaction at a time.
#[derive(Debug)]
pub(super) struct Writer {
    connection: Mutex<Connection>,
    place: String,
    kind: Kind,
    poison: Arc<Poison>,
}

/// The points before and after a commit.
pub(super) type Points = (&'static str, &'static str);

impl Writer {
    pub(super) fn new(
        connection: Connection,
        place: String,
        kind: Kind,
        poison: Arc<Poison>,
    ) -> Self {
        Self { connection: Mutex::new(connection), place, kind, poison }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn fault(&self, error: &rusqlite::Error) -> Error {
        self.poison.note(self.kind.told(fault::write(&self.place, error), error))
    }

    /// All that `work` does, or nothing.
    pub(super) fn write<T>(
        &self,
        points: Points,
        work: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.transact(&self.lock(), points, work)
    }

    /// All that `work` does with this connection, or nothing.
    pub(super) fn transact<T>(
        &self,
        connection: &Connection,
        (before, after): Points,
        work: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.poison.check()?;
        self.execute(connection, "BEGIN IMMEDIATE")?;
        let done = work(connection).and_then(|answer| {
            crash_point(before);
            self.execute(connection, "COMMIT")?;
            Ok(answer)
        });
        if done.is_ok() {
            crash_point(after);
        } else if !connection.is_autocommit() {
            // Some errors have rolled it back already.
            self.execute(connection, "ROLLBACK")
                .map_err(|error| self.poison.note(Error::Poisoned { reason: error.to_string() }))?;
        }
        done
    }

    /// What cannot be done in a transaction.
    pub(super) fn outside<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        self.poison.check()?;
        work(&self.lock()).map_err(|error| self.fault(&error))
    }

    fn execute(&self, connection: &Connection, sql: &str) -> Result<(), Error> {
        let done = connection.prepare_cached(sql).and_then(|mut it| it.execute([]));
        done.map(drop).map_err(|error| self.fault(&error))
    }
}
