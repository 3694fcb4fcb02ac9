//! Going on with a log that has lost something, because someone says so.

use std::{fs, io, path::Path};

use super::{
    end, fault, file,
    lock::Lock,
    log::{self, Head},
    open::{Database, Found},
    views,
};
use crate::{Error, ShardId};

/// Takes the log of a store as it is, where entries that were acknowledged are missing, and says what was
/// lost: nothing where it is whole. Instances of which something is missing are halted when the store is opened. Views are
/// made again from what is there. Where nothing of the log is there, what is left beside it is removed.
pub fn accept_loss(dir: &Path) -> Result<Vec<String>, Error> {
    match file::need_log(dir) {
        Err(Error::Lost { reason, .. }) => return clear(dir, &reason),
        there => there?,
    }
    let lock = Lock::take(dir)?;
    file::narrow(dir);
    let db = Database::log(dir);
    let (mut connection, found) = db.connect("full")?;
    match found {
        Found::Older(format) => log::bring_up(&db, &mut connection, format)?,
        Found::Ours => {}
        Found::Nothing => {
            if let Err(Error::Lost { reason, .. }) = file::check_remains(dir) {
                drop((connection, lock));
                return clear(dir, &reason);
            }
        }
    }
    let mut all = || {
        let transaction = connection.transaction()?;
        let id: Vec<u8> =
            transaction
                .query_row("SELECT value FROM meta WHERE name = 'id'", [], |row| row.get(0))?;
        let shards: u16 =
            transaction.query_row("SELECT count(*) FROM shards", [], |row| row.get(0))?;
        let marks = end::read(dir, &id, shards).unwrap_or_default();
        let seen = views::seen(&Database::views(dir), &id);
        let mut lost = Vec::new();
        for shard in 0..shards {
            let written = log::head(&transaction, shard)?;
            let there = log::take_stock(&transaction, shard)?;
            let mark = marks.get(usize::from(shard)).copied().unwrap_or(0);
            let known = mark.max(seen.get(&ShardId(shard)).copied().unwrap_or(0));
            if let Some(how) = written.differs(&there) {
                lost.push(format!("of shard {shard} {how}"));
            }
            if written.mails != there.mails {
                lost.push(format!("mails to shard {shard} are not those that were sent"));
            }
            if known > written.last {
                let (last, missing) = (written.last, known - written.last);
                lost.push(format!(
                    "shard {shard} ends with entry {last}, and {known} were written ({missing} missing)"
                ));
            }
            // Places of what is lost are not used again.
            let last = written.last.max(there.last).max(known);
            let Head { plain, mailed, .. } = written;
            log::put_head(&transaction, shard, &Head { last, mailed, plain, ..there })?;
        }
        if !lost.is_empty() {
            transaction.execute("UPDATE meta SET value = randomblob(16) WHERE name = 'id'", [])?;
            transaction.commit()?;
        }
        Ok(lost)
    };
    let lost: Vec<String> =
        all().map_err(|error: rusqlite::Error| fault::write(&db.place(), &error))?;
    if !lost.is_empty() {
        Database::views(dir).remove()?;
    }
    Ok(lost)
}

/// Makes room for a new store where nothing of the log is left.
fn clear(dir: &Path, reason: &str) -> Result<Vec<String>, Error> {
    let _lock = Lock::take(dir)?;
    Database::views(dir).remove()?;
    Database::log(dir).remove()?;
    let mark = dir.join(end::NAME);
    match fs::remove_file(&mark) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault::system(&mark, &error)),
        _ => Ok(vec![format!("of the log nothing is there: {reason}")]),
    }
}
