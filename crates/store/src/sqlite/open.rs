//! Opening and making the two databases of a store.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{
    fault,
    write::{Poison, Writer},
};
use crate::Error;

/// `TRVN`, by which `file` and we know our databases.
const APPLICATION: i32 = 0x5452_564e;
/// The format of the log. Older ones are brought to it.
pub(super) const LOG_FORMAT: i32 = 3;
/// The format of the views. Those of another one are made again.
pub(super) const VIEWS_FORMAT: i32 = 5;

/// A database of a store.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) path: PathBuf,
    format: i32,
    kind: Kind,
    readers: Mutex<Vec<Connection>>,
}

/// What is lost with a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The truth.
    Log,
    /// What can be made again from the log.
    Views,
}

/// What is where a database should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Ours,
    /// Ours, in this older format.
    Older(i32),
}

impl Kind {
    /// Damage, as damage to what can be made again where it is.
    pub(super) fn told(self, told: Error, error: &rusqlite::Error) -> Error {
        let code = error.sqlite_error_code();
        // The file may be gone, or lie on a part of the disk that cannot be read.
        let unreachable = matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure));
        // A table is not there, or not as it should be: no statement of ours is wrong otherwise.
        let strange = code == Some(ErrorCode::Unknown);
        match (self, told) {
            (Self::Views, Error::Corrupt { place, reason }) => {
                Error::DamagedViews { place, reason }
            }
            (Self::Views, Error::Failed { reason }) if unreachable || strange => {
                Error::DamagedViews { place: String::from("a file of the views"), reason }
            }
            (Self::Views, Error::Poisoned { reason }) if strange => {
                Error::DamagedViews { place: String::from("a file of the views"), reason }
            }
            (_, told) => told,
        }
    }
}

impl Database {
    pub(super) fn log(dir: &Path) -> Self {
        Self::new(dir, "log.db", LOG_FORMAT, Kind::Log)
    }

    pub(super) fn views(dir: &Path) -> Self {
        Self::new(dir, "views.db", VIEWS_FORMAT, Kind::Views)
    }

    fn new(dir: &Path, name: &str, format: i32, kind: Kind) -> Self {
        Self { path: dir.join(name), format, kind, readers: Mutex::default() }
    }

    /// Who writes it by this connection.
    pub(super) fn writer(&self, connection: Connection, poison: Arc<Poison>) -> Writer {
        Writer::new(connection, self.place(), self.kind, poison)
    }

    /// Takes the database away, with all that belongs to it. Nobody may be reading or writing it.
    pub(super) fn remove(&self) -> Result<(), Error> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for extension in ["db", "db-wal", "db-shm"] {
            let path = self.path.with_extension(extension);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(fault::system(&path, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What SQLite finds wrong with it, a little of it; nothing where it is sound.
    pub(super) fn flaws(&self) -> Result<Option<String>, Error> {
        let found: Vec<String> = self.read(|it| {
            it.prepare("PRAGMA integrity_check(3)")
                .and_then(|mut it| it.query_map([], |row| row.get(0))?.collect())
                .map_err(|error| self.unreadable(&error))
        })?;
        let flaws: Vec<String> = found.into_iter().filter(|it| it != "ok").collect();
        Ok(Some(flaws.join("; ").replace('\n', ": ")).filter(|it| !it.is_empty()))
    }

    /// How errors name it.
    pub(super) fn place(&self) -> String {
        self.path.display().to_string()
    }

    pub(super) fn unreadable(&self, error: &rusqlite::Error) -> Error {
        self.kind.told(fault::read(&self.place(), error), error)
    }

    /// A connection for writing, and whether there was anything before.
    pub(super) fn connect(&self, synchronous: &str) -> Result<(Connection, Found), Error> {
        let wrong = |error: rusqlite::Error| {
            if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
                self.foreign("it is not a database")
            } else {
                self.unreadable(&error)
            }
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        super::file::make(&self.path)?;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(wrong)?;
        let found = self.look(&connection, wrong)?;
        let set = || {
            // These two can only be chosen before there is anything.
            if found == Found::Nothing {
                connection.pragma_update(None, "page_size", 4096)?;
                connection.pragma_update(None, "auto_vacuum", "incremental")?;
            }
            connection.pragma_update(None, "journal_mode", "wal")?;
            connection.pragma_update(None, "synchronous", synchronous)?;
            connection.pragma_update(None, "trusted_schema", false)?;
            connection.pragma_update(None, "cell_size_check", true)?;
            connection.busy_timeout(std::time::Duration::from_secs(5))?;
            connection.set_prepared_statement_cache_capacity(256);
            Ok(())
        };
        set().map_err(wrong)?;
        Ok((connection, found))
    }

    fn look(
        &self,
        connection: &Connection,
        wrong: impl Fn(rusqlite::Error) -> Error + Copy,
    ) -> Result<Found, Error> {
        let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get(0));
        let (application, format): (i32, i32) =
            (number("application_id").map_err(wrong)?, number("user_version").map_err(wrong)?);
        let known = self.format;
        if application == APPLICATION && format == known {
            return Ok(Found::Ours);
        }
        if application == APPLICATION && (1..known).contains(&format) {
            return Ok(Found::Older(format));
        }
        if application == APPLICATION {
            let reason = format!(
                "it is in format {format}, and this version knows format {known}; use a version that knows it"
            );
            return Err(self.foreign(&reason));
        }
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(wrong)?;
        if application == 0 && tables == 0 {
            return Ok(Found::Nothing);
        }
        Err(self.foreign("it is a database of something else"))
    }

    /// The log has not everything that was written.
    pub(super) fn lost(&self, reason: String) -> Error {
        Error::Lost { place: self.place(), reason }
    }

    fn foreign(&self, reason: &str) -> Error {
        Error::Foreign { store: self.place(), reason: reason.to_owned() }
    }

    /// Makes the tables, all or none.
    pub(super) fn make(&self, connection: &Connection, schema: &str) -> Result<(), Error> {
        let all = format!(
            "BEGIN IMMEDIATE; {schema} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {}; COMMIT;",
            self.format
        );
        connection.execute_batch(&all).map_err(|error| fault::write(&self.place(), &error))
    }

    /// Brings an older format to this one, all or nothing.
    pub(super) fn upgrade(
        &self,
        connection: &mut Connection,
        upgrade: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), Error> {
        let all = || {
            let transaction = connection.transaction()?;
            upgrade(&transaction)?;
            transaction.pragma_update(None, "user_version", self.format)?;
            transaction.commit()
        };
        all().map_err(|error| fault::write(&self.place(), &error))
    }

    /// Reads in one transaction, beside whoever writes.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.read_by(self.pooled()?, read)
    }

    /// Reads in one transaction, within about so many steps of SQLite's machine, where they are counted. What
    /// takes more is interrupted.
    pub(super) fn read_within<T>(
        &self,
        steps: Option<u32>,
        read: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        /// How often they are counted.
        const STRIDE: u32 = 1_000;
        let Some(steps) = steps else { return self.read(read) };
        let mut reader = self.pooled()?;
        let mut left = steps / STRIDE;
        let count = move || {
            let over = left == 0;
            left = left.saturating_sub(1);
            over
        };
        let stride = i32::try_from(STRIDE.min(steps).max(1)).unwrap_or(i32::MAX);
        reader.progress_handler(stride, Some(count)).map_err(|error| self.unreadable(&error))?;
        self.read_by(reader, read)
    }

    fn pooled(&self) -> Result<Connection, Error> {
        let pooled = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        pooled.map_or_else(|| self.reader(), Ok)
    }

    fn read_by<T>(
        &self,
        mut reader: Connection,
        read: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let transaction = reader.transaction().map_err(|error| self.unreadable(&error))?;
        let answer = read(&transaction);
        transaction.finish().map_err(|error| self.unreadable(&error))?;
        reader
            .progress_handler(0, None::<fn() -> bool>)
            .map_err(|error| self.unreadable(&error))?;
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        answer
    }

    fn reader(&self) -> Result<Connection, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let reader = Connection::open_with_flags(&self.path, flags)?;
            reader.pragma_update(None, "query_only", true)?;
            reader.pragma_update(None, "trusted_schema", false)?;
            reader.pragma_update(None, "cell_size_check", true)?;
            reader.busy_timeout(std::time::Duration::from_secs(5))?;
            reader.set_prepared_statement_cache_capacity(64);
            Ok(reader)
        };
        open().map_err(|error| self.unreadable(&error))
    }

    /// How many bytes it takes, and how many of them nothing uses.
    pub(super) fn size(&self) -> Result<(u64, u64), Error> {
        let (page, free) = self.read(|reader| {
            let number = |name: &str| {
                reader
                    .pragma_query_value(None, name, |row| row.get::<_, u64>(0))
                    .map_err(|error| self.unreadable(&error))
            };
            Ok((number("page_size")?, number("freelist_count")?))
        })?;
        // Looking is harmless; opening and closing the file would drop SQLite's locks on it.
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |it| it.len());
        let journal = self.path.with_extension("db-wal");
        Ok((length(&self.path) + length(&journal), free * page))
    }

    /// Gives free pages back, a few at a time, so that others can write in between and the journal stays short:
    /// there may be no room for a long one.
    pub(super) fn vacuum(writer: &Writer) -> Result<(), Error> {
        let rest = |connection: &Connection| {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        writer.outside(rest)?;
        loop {
            let (before, after) = writer.outside(|connection| {
                let free = || {
                    connection
                        .pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0))
                };
                let before = free()?;
                // Each step gives back one page.
                let mut statement = connection.prepare("PRAGMA incremental_vacuum(128)")?;
                let mut rows = statement.query([])?;
                while rows.next()?.is_some() {}
                Ok((before, free()?))
            })?;
            writer.outside(rest)?;
            if after == 0 || after >= before {
                return Ok(());
            }
        }
    }
}
