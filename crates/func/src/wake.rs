//! Who wakes a function. Only its session may; a wake from elsewhere is the sign of an await that is
//! not durable.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Wake,
};

thread_local! {
    /// Where this is tells threads that are there at the same time from each other.
    static HERE: u8 = const { 0 };
}

fn here() -> usize {
    HERE.with(|it| std::ptr::from_ref(it).addr())
}

/// Sees every wake of one function.
#[derive(Default)]
pub(crate) struct Alarm {
    /// The thread that polls the function or tells it something, while it does; otherwise 0.
    inside: AtomicUsize,
    woken: AtomicBool,
    foreign: AtomicBool,
}

impl Alarm {
    /// Wakes on this thread are the session's own while `run` runs.
    pub(crate) fn inside<T>(&self, run: impl FnOnce() -> T) -> T {
        // Whoever wakes it from another thread sees something else than itself, whatever it sees.
        self.inside.store(here(), Ordering::Relaxed);
        let answer = run();
        self.inside.store(0, Ordering::Relaxed);
        answer
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
        let own = self.inside.load(Ordering::Relaxed) == here();
        if own { &self.woken } else { &self.foreign }.store(true, Ordering::Relaxed);
    }
}
