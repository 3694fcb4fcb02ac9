//! One process at a time: a lock that lives as long as a connection.
//!
//! The lock tells people that somebody is there already. It is not what keeps the log whole: where it is lost, with the
//! connection, whoever comes claims the shards, and nothing that the former owner appends is written any more.

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::Duration,
};

use tokio::sync::oneshot;
use tokio_postgres::Error as PgError;

use super::{
    fault::{self, Of},
    link::{Lines, Link, wait},
};
use crate::Error;

/// How often the lock is asked for before somebody is told that it is taken: the server needs a while to notice that a
/// process has died.
const TRIES: u32 = 50;

/// How long between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// Keeps the lock of a store.
#[derive(Debug)]
pub(super) struct Keeper {
    stop: Option<oneshot::Sender<()>>,
    stopped: Mutex<mpsc::Receiver<()>>,
}

/// Takes the lock, where nobody has it.
async fn take(link: &mut Link, key: i64) -> Result<bool, PgError> {
    let row = link.row("SELECT pg_try_advisory_lock($1)", &[&key]).await?;
    Ok(row.is_some_and(|it| it.get(0)))
}

/// Who has the lock, in words.
async fn holder(link: &mut Link, key: i64) -> Result<Option<String>, PgError> {
    let sql = "SELECT a.application_name, coalesce(host(a.client_addr), 'the same machine'),
            to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
        FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
            AND ((l.classid::bigint << 32) | l.objid::bigint) = $1";
    let row = link.row(sql, &[&key]).await?;
    Ok(row.map(|it| {
        let name: Option<String> = it.get(0);
        let name = name.unwrap_or_default();
        let process =
            name.split(' ').nth(1).map_or_else(|| name.clone(), |it| format!("process {it}"));
        let (host, since): (String, Option<String>) = (it.get(1), it.get(2));
        let since = since.map_or_else(String::new, |it| format!(", since {it} UTC"));
        format!("{process} on {host}{since}")
    }))
}

impl Keeper {
    /// Takes the lock and keeps it. [`Error::InUse`] where somebody else has it.
    pub(super) fn take(lines: &Arc<Lines>, key: i64) -> Result<Self, Error> {
        let mut link = lines.connect("lock")?;
        let failed = |error: PgError| fault::told(&error, Of::Log);
        let mut tries = 0;
        while !wait(take(&mut link, key)).map_err(failed)? {
            tries += 1;
            if tries == TRIES {
                let holder = wait(holder(&mut link, key)).map_err(failed)?;
                return Err(Error::InUse { store: lines.target.to_string(), holder });
            }
            std::thread::sleep(PAUSE);
        }
        let (stop, stopping) = oneshot::channel();
        let (stopped, told) = mpsc::channel();
        let again = Arc::downgrade(lines);
        lines.runtime().spawn(async move {
            keep(link, stopping, key, || again.upgrade().map(|it| it.connecting("lock"))).await;
            let _: Result<(), _> = stopped.send(());
        });
        Ok(Self { stop: Some(stop), stopped: Mutex::new(told) })
    }
}

/// Keeps the lock until it is told to stop, and takes it again after the connection was lost, where nobody else has it.
async fn keep<F: Future<Output = Result<Link, Error>>>(
    link: Link,
    mut stopping: oneshot::Receiver<()>,
    key: i64,
    connect: impl Fn() -> Option<F>,
) {
    let mut held = Some(link);
    loop {
        if let Some(link) = &mut held {
            let gone = Arc::clone(&link.gone);
            tokio::select! {
                _ = &mut stopping => {
                    let _: Result<_, PgError> = link.run("SELECT pg_advisory_unlock($1)", &[&key]).await;
                    return;
                }
                () = gone.notified() => held = None,
            }
            continue;
        }
        tokio::select! {
            _ = &mut stopping => return,
            () = tokio::time::sleep(PAUSE * 5) => {}
        }
        let Some(connecting) = connect() else { return };
        if let Ok(mut link) = connecting.await
            && take(&mut link, key).await.unwrap_or(false)
        {
            held = Some(link);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Whoever opens the store next need not wait for the server to notice.
        drop(self.stop.take());
        let _: Result<(), _> = self
            .stopped
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .recv_timeout(Duration::from_secs(2));
    }
}
