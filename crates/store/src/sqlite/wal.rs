//! Keeping the log's journal short without making anyone wait.
//!
//! SQLite writes to its journal (`log.db-wal`) and moves what is there into the database from time to
//! time; the journal can be written from its beginning again only once all of it has been moved. A
//! thread does the bulk of that beside the writer. The writer moves the little that came meanwhile,
//! before its next transaction, so that it goes on at the journal's beginning: overwriting is faster to
//! sync than growing. For the same reason a journal that is still short is made longer ahead of the
//! writer, a piece at a time.

use std::{
    fs::File,
    io::{self, Seek as _, SeekFrom, Write as _},
    sync::{
        Arc,
        atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};

use rusqlite::Connection;

use super::{fault, write::Poison};
use crate::{Error, crash_point};

/// The length in pages at which the journal is moved.
const PAGES_MAX: i32 = 4096;
/// How many pages may be left for the writer to move.
const REST_MAX: i32 = 128;
/// A page and what SQLite writes before it.
const PAGE: u64 = 4096 + 24;
/// How many bytes there should be to go on with,
const AHEAD: u64 = 64 * PAGE;
/// and by how many the journal is made longer.
const PIECE: usize = 1 << 20;

const IDLE: u8 = 0;
const MOVING: u8 = 1;
const MOVED: u8 = 2;

/// The journal of one database.
#[derive(Debug)]
pub(super) struct Wal {
    state: Arc<AtomicU8>,
    /// How many pages it has after the latest commit.
    length: Arc<AtomicI32>,
    /// The length at which it is moved next.
    limit: AtomicI32,
    file: File,
    /// How long the file is, of which the pages are the beginning; less where nobody has looked.
    bytes: AtomicU64,
    wake: Option<Sender<()>>,
    mover: Option<JoinHandle<()>>,
}

impl Wal {
    /// Looks after the journal that `writer` writes; `mover` is another connection to the same database.
    pub(super) fn new(
        writer: &mut Connection,
        mover: Connection,
        place: String,
        poison: Arc<Poison>,
    ) -> Result<Self, Error> {
        let failed = |error: rusqlite::Error| fault::read(&place, &error);
        for connection in [&*writer, &mover] {
            connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(failed)?;
        }
        let file = open(writer)
            .map_err(|error| Error::Failed { reason: format!("{place}-wal: {error}") })?;
        let length = Arc::new(AtomicI32::new(0));
        let told = Arc::clone(&length);
        let hook = move |_: &mut rusqlite::hooks::Wal, pages| {
            told.store(pages, Ordering::Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(hook)).map_err(failed)?;
        let state = Arc::new(AtomicU8::new(IDLE));
        let (wake, woken) = channel();
        let shared = Arc::clone(&state);
        let mover = std::thread::Builder::new()
            .name(String::from("travertine-wal"))
            .spawn(move || move_when_woken(&mover, &woken, &shared, &place, &poison))
            .map_err(|error| Error::Failed { reason: format!("no thread: {error}") })?;
        let limit = AtomicI32::new(PAGES_MAX);
        Ok(Self {
            state,
            length,
            limit,
            file,
            bytes: AtomicU64::new(0),
            wake: Some(wake),
            mover: Some(mover),
        })
    }

    /// Moves what is left, where the thread has done its part. To be called outside a transaction.
    pub(super) fn finish(&self, writer: &Connection) -> rusqlite::Result<()> {
        if self.state.load(Ordering::Acquire) != MOVED {
            return Ok(());
        }
        crash_point("wal.finish");
        let (length, moved) = move_pages(writer)?;
        crash_point("wal.finished");
        // Someone may be reading what is at the end. Then it must grow for a while.
        let limit = if length == moved { PAGES_MAX } else { length.saturating_add(PAGES_MAX) };
        self.limit.store(limit, Ordering::Relaxed);
        self.state.store(IDLE, Ordering::Release);
        Ok(())
    }

    /// Makes the journal longer where the next transaction might. To be called by who may write, outside a
    /// transaction: nothing that counts is behind the journal's end then.
    pub(super) fn grow(&self) {
        let used = u64::from(self.length.load(Ordering::Relaxed).unsigned_abs()) * PAGE;
        if used + AHEAD <= self.bytes.load(Ordering::Relaxed) {
            return;
        }
        let longer = || {
            let mut file = &self.file;
            // Asked for its metadata, a file has its times written with the next sync, which takes longer.
            let mut length = file.seek(SeekFrom::End(0))?;
            if length < used + AHEAD {
                file.write_all(&vec![0; PIECE])?;
                length = file.stream_position()?;
            }
            io::Result::Ok(length)
        };
        // Where there is no room the transaction says so, if it needs any.
        if let Ok(length) = longer() {
            self.bytes.store(length, Ordering::Relaxed);
        }
    }

    /// To be called when SQLite has cut the journal off.
    pub(super) fn cut(&self) {
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Wakes the thread where the latest commit asks for it.
    pub(super) fn committed(&self) {
        let long = self.length.load(Ordering::Relaxed) >= self.limit.load(Ordering::Relaxed);
        let idle = || {
            let set = (IDLE, MOVING, Ordering::AcqRel, Ordering::Relaxed);
            self.state.compare_exchange(set.0, set.1, set.2, set.3).is_ok()
        };
        if long
            && idle()
            && let Some(wake) = &self.wake
        {
            // The thread ends only when it has failed, which the next write is told.
            let _ = wake.send(());
        }
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(mover) = self.mover.take() {
            // It has nothing to tell: what failed there is in the poison.
            drop(mover.join());
        }
    }
}

/// The journal of a connection. SQLite has no locks on this file that closing it would drop.
fn open(connection: &Connection) -> io::Result<File> {
    let path = connection.path().expect("it is a database on the disk");
    File::options().write(true).open(format!("{path}-wal"))
}

fn move_when_woken(
    mover: &Connection,
    woken: &Receiver<()>,
    state: &AtomicU8,
    place: &str,
    poison: &Poison,
) {
    'woken: while woken.recv().is_ok() {
        crash_point("wal.behind");
        // While it moves, more comes; each round leaves less.
        for _ in 0..4 {
            match move_pages(mover) {
                Ok((length, moved)) if length - moved > REST_MAX => {}
                Ok(_) => break,
                Err(error) => {
                    if ends_moving(&error, place, poison) {
                        return;
                    }
                    state.store(IDLE, Ordering::Release);
                    continue 'woken;
                }
            }
        }
        state.store(MOVED, Ordering::Release);
    }
}

/// Whether nothing more can be moved after an error. Where there was no room everything is still in the
/// journal, and the next commit has it tried again.
fn ends_moving(error: &rusqlite::Error, place: &str, poison: &Poison) -> bool {
    if let Error::Full { .. } = fault::write(place, error) {
        return false;
    }
    let reason = format!("{place}: {error}");
    drop(poison.note(Error::Poisoned { reason }));
    true
}

/// Moves what nobody reads, and answers with the journal's length and how much of it was moved so far.
fn move_pages(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    let mut statement = connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?;
    statement.query_row([], |row| Ok((row.get(1)?, row.get(2)?)))
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_full_disk_does_not_end_the_moving_and_a_failed_sync_does() {
        for (code, ends) in [(ffi::SQLITE_FULL, false), (ffi::SQLITE_IOERR_FSYNC, true)] {
            let poison = Poison::default();
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(ends_moving(&error, "log.db", &poison), ends);
            assert_eq!(poison.check().is_err(), ends);
        }
    }
}
