//! Copies into an embedded store.

use std::{path::Path, pin::pin};

use tokio_postgres::Error as PgError;

use super::{
    deploy,
    fault::{self, Of},
    link::{Lines, Link, Param, wait},
    log::{self, count, next},
};
use crate::{Error, Mail, MailId, Owner, ShardId, sqlite::import::Import, sum};

/// One moment of all tables, however long it takes to read them.
const BEGIN: &str =
    "SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Copies the log, as it is at one moment, into a new directory, which opens like any other store.
pub(super) fn backup(lines: &Lines, shards: u16, to: &Path) -> Result<(), Error> {
    let mut link = lines.connect("backup")?;
    let failed = |error: PgError| fault::told(&error, Of::Log);
    wait(link.script(BEGIN)).map_err(failed)?;
    let import = Import::begin(to, shards)?;
    let copied = copy(lines, &mut link, &import, shards);
    let done = copied.and_then(|revision| import.finish(revision, to));
    if done.is_err() {
        // Nobody needs a part of it, and it would be in the way of the next try.
        let _: std::io::Result<()> = std::fs::remove_dir_all(to);
    }
    done
}

/// Copies all there is, and answers with the revision of the deployments.
fn copy(lines: &Lines, link: &mut Link, import: &Import, shards: u16) -> Result<u64, Error> {
    let failed = |error: PgError| fault::told(&error, Of::Log);
    let (all, damage) = wait(deploy::read(link, 0, u64::MAX)).map_err(failed)?;
    damage.refuse_any(lines)?;
    all.iter().try_for_each(|it| import.deployment(it))?;
    for own in (0..shards).map(ShardId) {
        wait(entries(lines, link, import, own))?;
    }
    let sql = "SELECT receiver, sender, number, sum, body FROM inbox";
    for row in wait(link.rows(sql, &[])).map_err(failed)? {
        let id = MailId { from: log::shard_of(&row, 1), number: count(&row, 2) };
        let mail = Mail { id, to: log::shard_of(&row, 0), body: row.get(4) };
        if row.get::<_, i64>(3) != i64::from(sum::mail(&mail)) {
            let reason = format!("the checksum of a mail to shard {} is wrong", mail.to);
            return Err(Error::Corrupt { place: lines.target.to_string(), reason });
        }
        import.mail(&mail)?;
    }
    let sql = "SELECT shard, epoch, last, mails FROM shards ORDER BY shard";
    for row in wait(link.rows(sql, &[])).map_err(failed)? {
        let owner = Owner { epoch: count(&row, 1), name: None };
        import.shard(log::shard_of(&row, 0), &owner, count(&row, 2), count(&row, 3))?;
    }
    let sql = "SELECT value::bigint FROM meta WHERE name = 'revision'";
    let row = wait(link.row(sql, &[])).map_err(failed)?;
    Ok(row.map_or(0, |it| count(&it, 0)))
}

async fn entries(
    lines: &Lines,
    link: &mut Link,
    import: &Import,
    own: ShardId,
) -> Result<(), Error> {
    let failed = |error: PgError| fault::told(&error, Of::Log);
    let sql =
        "SELECT seq, instance, previous, at, sum, body FROM log WHERE shard = $1 ORDER BY seq";
    let statement = link.prepare(sql).await.map_err(failed)?;
    let shard = log::shard(own);
    let params: [Param<'_>; 1] = [&shard];
    let mut rows = pin!(link.client.query_raw(&statement, params).await.map_err(failed)?);
    while let Some(row) = next(rows.as_mut()).await {
        let row = row.map_err(failed)?;
        let (entry, written) = log::entry(own, &row, 0);
        if written != sum::entry(own, &entry) {
            let reason = format!("the checksum of entry {} of shard {own} is wrong", entry.seq);
            return Err(Error::Corrupt { place: lines.target.to_string(), reason });
        }
        import.entry(own, &entry)?;
    }
    Ok(())
}
