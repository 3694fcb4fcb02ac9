//! Work that would block whoever asks for it, done by threads beside the shards.

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tokio::sync::oneshot;

use super::{Engine, Pending};
use crate::{Error, shard::panic_text};

/// So many threads work at a time.
const THREADS_MAX: usize = 4;

/// So much may wait for them; what comes then is refused.
const WAITING_MAX: usize = 1_024;

/// A thread that has had nothing to do for so long ends.
const IDLE: Duration = Duration::from_secs(10);

type Task = Box<dyn FnOnce() + Send>;

/// Threads that come when there is something to do, and go when there is not.
#[derive(Default)]
pub(super) struct Aside {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Task>,
    threads: usize,
    idle: usize,
}

impl fmt::Debug for Aside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aside").field("threads", &self.lock().threads).finish_non_exhaustive()
    }
}

impl Aside {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a task done. Refused where too many wait.
    fn give(self: &Arc<Self>, task: Task) -> Result<(), Error> {
        let mut state = self.lock();
        if state.waiting.len() >= WAITING_MAX {
            let reason = format!("{WAITING_MAX} calls wait for a thread already; try again");
            return Err(Error::Busy { reason });
        }
        state.waiting.push_back(task);
        if state.idle >= state.waiting.len() {
            self.wake.notify_one();
            return Ok(());
        }
        if state.threads >= THREADS_MAX {
            return Ok(());
        }
        let all = Arc::clone(self);
        match thread::Builder::new().name("aside".to_owned()).spawn(move || all.work()) {
            Ok(_) => state.threads += 1,
            Err(_) if state.threads > 0 => {}
            Err(error) => {
                state.waiting.pop_back();
                let reason = format!("a thread cannot be started: {error}");
                return Err(Error::Failed { reason });
            }
        }
        Ok(())
    }

    /// What each thread does.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            while let Some(task) = state.waiting.pop_front() {
                drop(state);
                task();
                state = self.lock();
            }
            state.idle += 1;
            let waited = self.wake.wait_timeout(state, IDLE);
            let (again, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            state = again;
            state.idle -= 1;
            if waited.timed_out() && state.waiting.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

impl Engine {
    /// Does something that blocks, such as [`Engine::deploy`] or [`Engine::history`], on a thread beside, so
    /// that whoever has an executor can await it. A few are done at a time; where very many wait, one more is
    /// refused with [`Error::Busy`]. What runs there must not wait for another such call.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let history = engine.spawn_blocking(|engine| engine.history(InstanceId(12))).await?;
    /// println!("{} steps", history.steps.len());
    /// # Ok(()) }
    /// ```
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        what: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> Pending<T> {
        // It does not keep the engine open.
        let engine = Self { inner: Arc::clone(&self.inner), threads: None, by: self.by.clone() };
        let (sender, receiver) = oneshot::channel();
        let task = move || {
            let done = catch_unwind(AssertUnwindSafe(|| what(&engine)));
            drop(engine);
            let answer = done.unwrap_or_else(|it| Err(Error::Failed { reason: panic_text(&*it) }));
            // Whoever asked may not wait any more.
            let _: Result<(), Result<T, Error>> = sender.send(answer);
        };
        match self.inner.aside.give(Box::new(task)) {
            Ok(()) => Pending::aside(receiver, &self.inner.common),
            Err(error) => Pending::refused(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::engine::{Options, one_task};

    #[test]
    fn what_blocks_is_done_beside_the_caller() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let asked = engine.spawn_blocking(|engine| engine.deploy(&[one_task()]));
        assert_eq!(asked.wait().unwrap().definitions.len(), 1);
        assert!(engine.definitions().find("p").is_some());
    }

    #[test]
    fn a_panic_beside_is_an_error_and_others_go_on() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let failed = engine.spawn_blocking(|_| -> Result<(), Error> { panic!("oh no") }).wait();
        assert_eq!(failed, Err(Error::Failed { reason: "oh no".to_owned() }));
        assert_eq!(engine.spawn_blocking(|_| Ok(7)).wait(), Ok(7));
    }

    #[test]
    fn few_work_at_a_time_and_too_many_are_refused() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let (started, starts) = mpsc::channel();
        let (gates, blocked): (Vec<_>, Vec<_>) = (0..THREADS_MAX)
            .map(|_| {
                let started = started.clone();
                let (gate, opens) = mpsc::channel::<()>();
                let asked = engine.spawn_blocking(move |_| {
                    started.send(()).unwrap();
                    Ok(opens.recv().unwrap_err())
                });
                (gate, asked)
            })
            .unzip();
        (0..THREADS_MAX).for_each(|_| starts.recv().unwrap());
        let waiting: Vec<_> =
            (0..WAITING_MAX).map(|at| engine.spawn_blocking(move |_| Ok(at))).collect();
        let refused = engine.spawn_blocking(|_| Ok(0)).wait();
        assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
        drop(gates);
        for it in blocked {
            it.wait().unwrap();
        }
        for (at, it) in waiting.into_iter().enumerate() {
            assert_eq!(it.wait(), Ok(at));
        }
    }
}
