//! Copies of a store that others may be writing.

use std::{fs, path::Path};

use rusqlite::{
    Connection, ErrorCode, OpenFlags,
    backup::{Backup, StepResult},
};

use super::{SqliteStore, fault, file};
use crate::{Error, Store as _};

/// How many pages are copied at a time.
const PAGES: i32 = 1024;

/// Copies the log of a store to a new directory, as it is at one moment. It needs no lock: another
/// process may have the store open and write it. The copy opens like the original, with views made
/// again.
pub fn backup(from: &Path, to: &Path) -> Result<(), Error> {
    let source = from.join("log.db");
    file::need_log(from)?;
    file::make_directory(to)?;
    let inside = |from: &Path| to.canonicalize().is_ok_and(|to| to.starts_with(from));
    if from.canonicalize().is_ok_and(|it| inside(&it)) {
        // A copy that goes with the original is of no use, and nothing foreign belongs there.
        let _: std::io::Result<()> = fs::remove_dir(to);
        let (from, to) = (from.display(), to.display());
        let reason =
            format!("{to} is inside the store {from}: choose a directory elsewhere for the copy");
        return Err(Error::Failed { reason });
    }
    let taken = fs::read_dir(to).map_err(|error| fault::system(to, &error))?.next().is_some();
    if taken {
        let reason = format!("{} is not empty: choose a new directory for the copy", to.display());
        return Err(Error::Failed { reason });
    }
    // Only a whole copy gets the name of a log.
    let unfinished = to.join("unfinished.db");
    file::make(&unfinished)?;
    if let Err(error) = copy(&source, &unfinished) {
        // Nobody needs a part of it, and it would be in the way of the next try.
        let _: std::io::Result<()> = fs::remove_file(&unfinished);
        let _: std::io::Result<()> = fs::remove_file(to.join("unfinished.db-journal"));
        // What is in the journal cannot be read in place by who may not write there.
        if matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
            && is_out_of_reach(&source)
        {
            return SqliteStore::look(from)?.backup(to);
        }
        let place = format!("copying {} to {}", from.display(), to.display());
        return Err(fault::read(&place, &error));
    }
    let finished = to.join("log.db");
    fs::rename(&unfinished, &finished).map_err(|error| fault::system(&finished, &error))?;
    sync(to)?;
    to.parent().filter(|it| !it.as_os_str().is_empty()).map_or(Ok(()), sync)
}

/// Whether this process may not write a file.
fn is_out_of_reach(file: &Path) -> bool {
    fs::OpenOptions::new().write(true).open(file).is_err()
}

fn copy(from: &Path, to: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut from = Connection::open_with_flags(from, flags)?;
    from.busy_timeout(std::time::Duration::from_secs(5))?;
    from.pragma_update(None, "query_only", true)?;
    // Reading holds the moment: without it the copy would begin again with each write of someone else.
    let moment = from.transaction()?;
    moment.query_row("SELECT count(*) FROM shards", [], |_| Ok(()))?;
    let mut to = Connection::open(to)?;
    {
        let backup = Backup::new(&moment, &mut to)?;
        while backup.step(PAGES)? != StepResult::Done {}
    }
    // One file, and the views of the original are not those of the copy.
    to.pragma_update(None, "journal_mode", "delete")?;
    to.pragma_update(None, "synchronous", "full")?;
    to.execute("UPDATE meta SET value = randomblob(16) WHERE name = 'id'", [])?;
    Ok(())
}

/// Makes the names in a directory durable.
pub(super) fn sync(dir: &Path) -> Result<(), Error> {
    let file = fs::File::open(dir).map_err(|error| fault::system(dir, &error))?;
    file.sync_all().map_err(|error| fault::system(dir, &error))
}
