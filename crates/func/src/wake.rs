//! Who wakes a function. Only its session may; a wake from elsewhere is the sign of an await that is
//! not durable.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Wake,
    thread::{self, ThreadId},
};

/// Sees every wake of one function.
#[derive(Default)]
pub(crate) struct Alarm {
    /// The thread that polls the function or tells it something, while it does.
    inside: Mutex<Option<ThreadId>>,
    woken: AtomicBool,
    foreign: AtomicBool,
}

impl Alarm {
    /// Wakes on this thread are the session's own while `run` runs.
    pub(crate) fn inside<T>(&self, run: impl FnOnce() -> T) -> T {
        self.set(Some(thread::current().id()));
        let answer = run();
        self.set(None);
        answer
    }

    fn set(&self, thread: Option<ThreadId>) {
        *self.inside.lock().unwrap_or_else(PoisonError::into_inner) = thread;
    }

    /// Whether it was woken from inside since this was last asked.
    pub(crate) fn take_woken(&self) -> bool {
        self.woken.swap(false, Ordering::Relaxed)
    }

    /// Whether it was ever woken from outside.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign.load(Ordering::Relaxed)
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let inside = *self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let own = inside == Some(thread::current().id());
        if own { &self.woken } else { &self.foreign }.store(true, Ordering::Relaxed);
    }
}
