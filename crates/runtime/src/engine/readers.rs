//! Threads that read, so that nobody who asks is blocked, and rows that are up to date for who reads.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;
use travertine_store::{ShardId, Store};

use super::{Pending, router::Router, threads::Common};
use crate::{Error, request::FlushRequest};

/// How many threads read at most. They are started when they are needed.
const THREADS_MAX: usize = 4;
/// How many that want to read may wait.
const WAITING_MAX: usize = 1_000;
/// How long it is at least from one time that rows are stored for who reads to the next.
const APART: Duration = Duration::from_millis(20);

type Task = Box<dyn FnOnce() + Send>;

/// The threads that read.
#[derive(Default)]
pub(super) struct Readers {
    state: Mutex<State>,
    news: Condvar,
    fresh: Mutex<Fresh>,
}

#[derive(Default)]
struct State {
    tasks: VecDeque<Task>,
    threads: Vec<JoinHandle<()>>,
    idle: usize,
    closed: bool,
}

/// Who waits for rows of all shards.
#[derive(Default)]
struct Fresh {
    waiting: Vec<oneshot::Sender<Result<(), Error>>>,
    /// Whether someone sees to them.
    running: bool,
    /// When rows were stored for such.
    began: Option<Instant>,
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readers").finish_non_exhaustive()
    }
}

fn closed() -> Error {
    Error::Closed { reason: "it was shut down".to_owned() }
}

impl Readers {
    /// Reads on one of the threads.
    pub(super) fn read<T, F>(
        self: &Arc<Self>,
        common: &Arc<Common>,
        read: F,
    ) -> impl Future<Output = Result<T, Error>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&dyn Store) -> Result<T, Error> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let common = Arc::clone(common);
        let taken = self.give(Box::new(move || {
            // Whoever has asked may not wait any more: then nothing need be read.
            if !sender.is_closed() {
                let answer = read(&*common.store);
                drop(common);
                let _: Result<(), Result<T, Error>> = sender.send(answer);
            }
        }));
        async move {
            taken?;
            receiver.await.unwrap_or_else(|_| Err(closed()))
        }
    }

    /// Answers when the rows of all shards show what was acknowledged before. Who asks at about the same time is
    /// answered at once.
    pub(super) fn fresh(
        self: &Arc<Self>,
        common: &Arc<Common>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let waits = (!is_fresh(common)).then(|| {
            let (sender, receiver) = oneshot::channel();
            let mut fresh = self.waiting();
            fresh.waiting.push(sender);
            let begins = !std::mem::replace(&mut fresh.running, true);
            drop(fresh);
            let (readers, common) = (Arc::clone(self), Arc::clone(common));
            let taken =
                if begins { self.give(Box::new(move || readers.freshen(&common))) } else { Ok(()) };
            if taken.is_err() {
                let mut fresh = self.waiting();
                fresh.running = false;
                fresh.waiting.clear();
            }
            (taken, receiver)
        });
        async move {
            let Some((taken, receiver)) = waits else { return Ok(()) };
            taken?;
            receiver.await.unwrap_or_else(|_| Err(closed()))
        }
    }

    /// Has rows stored for all that wait, until nobody does.
    fn freshen(&self, common: &Arc<Common>) {
        loop {
            let mut fresh = self.waiting();
            if fresh.waiting.is_empty() {
                fresh.running = false;
                return;
            }
            let left = fresh.began.map(|it| APART.saturating_sub(it.elapsed()));
            if let Some(left) = left.filter(|it| !it.is_zero()) {
                drop(fresh);
                thread::sleep(left);
                continue;
            }
            fresh.began = Some(Instant::now());
            let waiting = std::mem::take(&mut fresh.waiting);
            drop(fresh);
            let flushes = Router::new(common).ask_each(&FlushRequest {});
            let stored = flushes.into_iter().map(Pending::wait).collect::<Vec<_>>();
            let outcome = stored.into_iter().collect::<Result<Vec<()>, Error>>().map(drop);
            for it in waiting {
                let _: Result<(), Result<(), Error>> = it.send(outcome.clone());
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Fresh> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(self: &Arc<Self>, task: Task) -> Result<(), Error> {
        let mut state = self.state();
        if state.closed {
            return Err(closed());
        }
        if state.tasks.len() >= WAITING_MAX {
            let reason = format!("{WAITING_MAX} searches wait already; slow down and try again");
            return Err(Error::Busy { reason });
        }
        state.tasks.push_back(task);
        if state.idle < state.tasks.len() && state.threads.len() < THREADS_MAX {
            let readers = Arc::clone(self);
            let name = format!("reader {}", state.threads.len());
            match thread::Builder::new().name(name).spawn(move || readers.work()) {
                Ok(thread) => state.threads.push(thread),
                // Those that are there do it.
                Err(_) if !state.threads.is_empty() => {}
                Err(error) => {
                    state.tasks.pop_back();
                    let reason = format!("a thread cannot be started: {error}");
                    return Err(Error::Failed { reason });
                }
            }
        }
        drop(state);
        self.news.notify_one();
        Ok(())
    }

    fn work(&self) {
        loop {
            let mut state = self.state();
            let task = loop {
                if state.closed {
                    return;
                }
                if let Some(task) = state.tasks.pop_front() {
                    break task;
                }
                state.idle += 1;
                state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            };
            drop(state);
            // Who waits for it hears that no answer comes.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(task)) {
                let reason = crate::shard::panic_text(&*panic);
                tracing::error!(%reason, "reading failed");
            }
        }
    }

    /// Ends the threads. Who still waits is told.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let (tasks, threads) =
            (std::mem::take(&mut state.tasks), std::mem::take(&mut state.threads));
        drop(state);
        self.news.notify_all();
        drop(tasks);
        self.waiting().waiting.clear();
        for thread in threads {
            // What failed in it was said.
            let _: thread::Result<()> = thread.join();
        }
        self.waiting().waiting.clear();
    }
}

/// Whether the rows of all shards show what was acknowledged before.
fn is_fresh(common: &Common) -> bool {
    let shards = (0..common.store.shards()).map(ShardId);
    common.views_fault.get().is_none()
        && common.fault.get().is_none()
        && shards.into_iter().all(|it| common.is_fresh(it))
}
