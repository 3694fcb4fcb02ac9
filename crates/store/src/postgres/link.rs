//! Connections to PostgreSQL, and how threads wait for what comes over them.

use std::{
    collections::HashMap,
    fmt,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use tokio::{runtime::Runtime, sync::Notify};
use tokio_postgres::{AsyncMessage, Client, Error as PgError, Row, Statement, types::ToSql};

use super::{
    fault::{self, Of},
    target::Target,
};
use crate::Error;

/// So many statements a connection keeps prepared.
const PREPARED_MAX: usize = 400;

/// Times that the role, the database or the server may set, and that end what must not be ended. Older servers do not
/// know all of them.
const NO_TIMEOUTS: &str = "SELECT set_config(name, '0', false) FROM pg_settings
    WHERE name IN ('lock_timeout', 'idle_session_timeout', 'transaction_timeout')";

/// A parameter of a statement.
pub(super) type Param<'a> = &'a (dyn ToSql + Sync);

/// Waits for a future, whatever thread this is.
pub(super) fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}

/// Something that is sent together with others, and its answer.
pub(super) type Sent<'a> = Pin<Box<dyn Future<Output = Result<u64, PgError>> + Send + 'a>>;

/// Sends all in order without waiting in between, and answers with the first that went wrong.
pub(super) async fn together(mut sent: Vec<Sent<'_>>) -> Result<(), PgError> {
    let mut answers: Vec<Option<Result<u64, PgError>>> = sent.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut open = false;
        for (it, answer) in sent.iter_mut().zip(&mut answers) {
            if answer.is_none() {
                match it.as_mut().poll(context) {
                    Poll::Ready(done) => *answer = Some(done),
                    Poll::Pending => open = true,
                }
            }
        }
        if open { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    answers.into_iter().flatten().try_for_each(|it| it.map(drop))
}

/// A connection, for one who asks at a time.
pub(super) struct Link {
    pub(super) client: Client,
    doubt: Arc<AtomicBool>,
    /// Told when it is gone.
    pub(super) gone: Arc<Notify>,
    statements: HashMap<String, Statement>,
    sent: Arc<AtomicU64>,
    /// How long a statement may take, in milliseconds; 0 for ever.
    within: u32,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl Link {
    pub(super) async fn prepare(&mut self, text: &str) -> Result<Statement, PgError> {
        if let Some(found) = self.statements.get(text) {
            return Ok(found.clone());
        }
        if self.statements.len() >= PREPARED_MAX {
            self.statements.clear();
        }
        let made = self.client.prepare(text).await?;
        self.statements.insert(text.to_owned(), made.clone());
        Ok(made)
    }

    /// The rows that a statement gives.
    pub(super) async fn rows(
        &mut self,
        text: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, PgError> {
        let statement = self.prepare(text).await?;
        self.count();
        self.client.query(&statement, params).await
    }

    pub(super) async fn row(
        &mut self,
        text: &str,
        params: &[Param<'_>],
    ) -> Result<Option<Row>, PgError> {
        Ok(self.rows(text, params).await?.into_iter().next())
    }

    pub(super) async fn run(&mut self, text: &str, params: &[Param<'_>]) -> Result<u64, PgError> {
        let statement = self.prepare(text).await?;
        self.count();
        self.client.execute(&statement, params).await
    }

    /// A script without parameters.
    pub(super) async fn script(&self, text: &str) -> Result<(), PgError> {
        self.count();
        self.client.batch_execute(text).await
    }

    /// Lets statements take no longer than so many milliseconds.
    pub(super) async fn limit(&mut self, within: u32) -> Result<(), PgError> {
        if self.within != within {
            self.script(&format!("SET statement_timeout = {within}")).await?;
            self.within = within;
        }
        Ok(())
    }

    pub(super) fn count(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the server has warned of anything since it was asked last: a commit may not have been replicated.
    pub(super) fn take_doubt(&self) -> bool {
        self.doubt.swap(false, Ordering::SeqCst)
    }
}

/// Makes connections.
pub(super) struct Lines {
    pub(super) target: Target,
    runtime: Option<Runtime>,
    open: Arc<(Mutex<usize>, Condvar)>,
    /// How often anything was asked of the server.
    pub(super) sent: Arc<AtomicU64>,
    /// How long reading waits for a database that is away.
    patience: Duration,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Lines {
    pub(super) fn new(target: Target, patience: Duration) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("postgres")
            .enable_all()
            .build()
            .map_err(|error| Error::Failed {
                reason: format!("no threads for PostgreSQL: {error}"),
            })?;
        let (open, sent) = Default::default();
        Ok(Self { target, runtime: Some(runtime), open, sent, patience })
    }

    pub(super) fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until the store is closed")
    }

    /// A new connection.
    pub(super) fn connect(&self, duty: &str) -> Result<Link, Error> {
        wait(self.runtime().spawn(self.connecting(duty)))
            .unwrap_or_else(|error| Err(Error::Failed { reason: error.to_string() }))
    }

    /// A new connection, to be waited for where the connections live.
    pub(super) fn connecting(
        &self,
        duty: &str,
    ) -> impl Future<Output = Result<Link, Error>> + Send + use<> {
        let Target { mut config, schema, tls, unsafe_commit, .. } = self.target.clone();
        let (open, sent) = (Arc::clone(&self.open), Arc::clone(&self.sent));
        config.application_name(format!("travertine {} {duty}", std::process::id()));
        async move {
            let made = config.connect(tls).await;
            let (client, mut connection) = made.map_err(|error| fault::told(&error, Of::Log))?;
            let (doubt, gone) = (Arc::<AtomicBool>::default(), Arc::<Notify>::default());
            let (warned, told) = (Arc::clone(&doubt), Arc::clone(&gone));
            let live = Live::new(&open);
            tokio::spawn(async move {
                while let Some(Ok(message)) = poll_fn(|it| connection.poll_message(it)).await {
                    if let AsyncMessage::Notice(it) = message
                        && (it.code().code() == "01000" || it.code().code() == "57P01")
                    {
                        warned.store(true, Ordering::SeqCst);
                    }
                }
                // Its socket is closed before anybody hears of it.
                drop(connection);
                drop(live);
                told.notify_one();
            });
            let link = Link { client, doubt, gone, statements: HashMap::new(), sent, within: 0 };
            let settings = format!(
                "SET search_path = {schema};
                 SET default_transaction_isolation = 'read committed';
                 SET statement_timeout = 0;
                 SET idle_in_transaction_session_timeout = '10s';
                 SET client_min_messages = warning;
                 SET standard_conforming_strings = on;
                 {NO_TIMEOUTS}"
            );
            let failed = |error: PgError| fault::told(&error, Of::Log);
            link.script(&settings).await.map_err(failed)?;
            let sql =
                "SELECT current_setting('synchronous_commit'), current_setting('server_encoding')";
            let row = link.client.query_one(sql, &[]).await.map_err(failed)?;
            let (commit, encoding): (&str, &str) = (row.get(0), row.get(1));
            if encoding != "UTF8" {
                let reason = format!(
                    "the encoding of this database is {encoding}, which cannot keep all texts; a store needs a \
                     database with the encoding UTF8"
                );
                return Err(Error::Failed { reason });
            }
            if !unsafe_commit && commit == "off" {
                let reason = String::from(
                    "synchronous_commit is off for this role or database, so that what is acknowledged could be \
                     lost; turn it on, or accept that with unsafe-commit=on in the URL",
                );
                return Err(Error::Failed { reason });
            }
            link.take_doubt();
            Ok(link)
        }
    }
}

/// A connection that is not closed yet.
struct Live(Arc<(Mutex<usize>, Condvar)>);

impl Live {
    fn new(all: &Arc<(Mutex<usize>, Condvar)>) -> Self {
        *all.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self(Arc::clone(all))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.1.notify_all();
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // Goodbye is said to the server, as long as it listens.
        let (count, changed) = &*self.open;
        let open = count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(changed.wait_timeout_while(open, Duration::from_secs(1), |it| *it > 0));
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Connections of one duty, one for each who asks at the same time.
#[derive(Debug)]
pub(super) struct Pool {
    duty: &'static str,
    most: usize,
    links: Mutex<Links>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct Links {
    idle: Vec<Link>,
    open: usize,
}

/// A connection as long as somebody has it.
pub(super) struct Lent<'a> {
    pool: &'a Pool,
    link: Option<Link>,
}

impl Pool {
    pub(super) fn new(duty: &'static str, most: usize) -> Self {
        Self { duty, most, links: Mutex::default(), free: Condvar::new() }
    }

    /// A connection, as soon as one is free.
    pub(super) fn lend(&self, lines: &Lines) -> Result<Lent<'_>, Error> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            while let Some(link) = links.idle.pop() {
                if !link.client.is_closed() {
                    return Ok(Lent { pool: self, link: Some(link) });
                }
                links.open -= 1;
            }
            if links.open < self.most {
                break;
            }
            links = self.free.wait(links).unwrap_or_else(PoisonError::into_inner);
        }
        links.open += 1;
        drop(links);
        // It counts as open from now on, also where it cannot be had.
        let mut lent = Lent { pool: self, link: None };
        lent.link = Some(lines.connect(self.duty)?);
        Ok(lent)
    }

    /// Does something with a connection. One that is lost is not used again.
    pub(super) fn with<T>(
        &self,
        lines: &Lines,
        act: impl AsyncFnOnce(&mut Link) -> Result<T, PgError>,
        told: impl FnOnce(&PgError) -> Error,
    ) -> Result<T, Error> {
        let mut lent = self.lend(lines)?;
        let link = lent.link();
        wait(act(link)).map_err(|error| {
            if fault::is_lost(&error) {
                lent.link = None;
            }
            told(&error)
        })
    }

    /// Reads, and again where the connection was lost, as long as patience lasts.
    pub(super) fn read<T>(
        &self,
        lines: &Lines,
        of: Of,
        mut act: impl AsyncFnMut(&mut Link) -> Result<T, PgError>,
    ) -> Result<T, Error> {
        let began = Instant::now();
        let mut pause = Duration::ZERO;
        loop {
            match self.with(lines, &mut act, |error| fault::told(error, of)) {
                Err(Error::Away { .. }) if began.elapsed() < lines.patience => {
                    thread::sleep(pause);
                    pause = (pause * 2).clamp(Duration::from_millis(20), Duration::from_secs(1));
                }
                answer => return answer,
            }
        }
    }
}

impl Lent<'_> {
    pub(super) fn link(&mut self) -> &mut Link {
        self.link.as_mut().expect("it is there until it is lost")
    }

    /// It is not used again.
    pub(super) fn lose(&mut self) {
        self.link = None;
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut links = self.pool.links.lock().unwrap_or_else(PoisonError::into_inner);
        match self.link.take() {
            Some(link) if !link.client.is_closed() => links.idle.push(link),
            _ => links.open -= 1,
        }
        drop(links);
        self.pool.free.notify_one();
    }
}
