//! Work on a thread of its own, for whoever cannot wait for it any longer than so long.
//!
//! Some work of the script engine cannot be interrupted: one multiplication of huge numbers takes as long
//! as it takes. It then holds this thread, never the one that asked for it.

use std::{
    any::Any,
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicUsize, Ordering},
        mpsc::{self, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use travertine_value::{
    Limit,
    interrupt::{Interrupted, is_interrupted, is_interruptible},
};

/// When a run must end, and whether somebody has given up waiting for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadline {
    at: Option<Instant>,
    state: Arc<AtomicU8>,
}

/// Somebody waits for it.
const AWAITED: u8 = 0;
/// Its answer is there.
const ANSWERED: u8 = 1;
/// Nobody waits for it any longer.
const GIVEN_UP: u8 = 2;

impl Deadline {
    /// So many milliseconds from now; never without them.
    pub(super) fn after(time_ms_max: Option<u64>) -> Self {
        let at = time_ms_max.and_then(|it| Instant::now().checked_add(Duration::from_millis(it)));
        Self { at, state: Arc::new(AtomicU8::new(AWAITED)) }
    }

    /// Whether it is time to end.
    pub(super) fn has_passed(&self) -> bool {
        self.state.load(Ordering::Relaxed) == GIVEN_UP
            || self.at.is_some_and(|it| it <= Instant::now())
    }
}

/// Runs that nobody waits for any longer and that have not noticed yet.
static LEFT_ALONE: AtomicUsize = AtomicUsize::new(0);

/// With as many of them, no more are begun.
const LEFT_ALONE_MAX: usize = 16;

/// What a run gets to notice the deadline by itself, which most do.
const GRACE: Duration = Duration::from_millis(200);

/// How often to look whether everything is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Enough for the depth that the engine allows, and for values as deep as they may be.
const STACK_BYTES: usize = 8 << 20;

type Work = Box<dyn FnOnce() + Send>;

thread_local! {
    /// Waits for more work of this thread, so that a run costs no new thread.
    static HELPER: RefCell<Option<Sender<Work>>> = const { RefCell::new(None) };
}

/// Does the work on another thread until the deadline.
pub(super) fn run<T: Send + 'static>(
    deadline: &Deadline,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Limit> {
    if deadline.at.is_none() && !is_interruptible() {
        return Ok(work());
    }
    if LEFT_ALONE.load(Ordering::Relaxed) >= LEFT_ALONE_MAX {
        return Err(Limit::Time);
    }
    let (sender, answer) = mpsc::sync_channel::<Result<T, Box<dyn Any + Send>>>(1);
    let state = Arc::clone(&deadline.state);
    let work: Work = Box::new(move || {
        let done = catch_unwind(AssertUnwindSafe(work));
        // There is room for one answer, whether or not anybody takes it.
        drop(sender.send(done));
        if state.swap(ANSWERED, Ordering::SeqCst) == GIVEN_UP {
            LEFT_ALONE.fetch_sub(1, Ordering::Relaxed);
        }
    });
    if let Err(work) = hand_over(work) {
        // There can be no further thread; then it is done here.
        work();
    }
    let mut patience = Patience::until(deadline.at);
    let mut answered = answer.recv_timeout(patience.next());
    while answered.is_err() && !patience.is_over() {
        answered = answer.recv_timeout(patience.next());
    }
    if answered.is_err() {
        LEFT_ALONE.fetch_add(1, Ordering::Relaxed);
        if deadline.state.swap(GIVEN_UP, Ordering::SeqCst) == ANSWERED {
            // It came just now.
            LEFT_ALONE.fetch_sub(1, Ordering::Relaxed);
            answered = answer.recv_timeout(GRACE);
        }
    }
    match answered {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => {
            HELPER.take();
            if patience.is_interrupted() {
                Interrupted::unwind();
            }
            Err(Limit::Time)
        }
    }
}

/// How long somebody waits for a run: until its deadline, or for a moment after everything is to end.
struct Patience {
    until: Option<Instant>,
    /// When it ends, where everything is to end.
    interrupted: Option<Instant>,
}

impl Patience {
    fn until(at: Option<Instant>) -> Self {
        Self { until: at.map(|it| it + GRACE), interrupted: None }
    }

    /// How long to wait before looking again whether it is over.
    fn next(&self) -> Duration {
        let ends = self.until.into_iter().chain(self.interrupted).min();
        let left = ends.map(|it| it.saturating_duration_since(Instant::now()));
        let look = if is_interruptible() { LOOK } else { Duration::MAX };
        left.map_or(look, |it| it.min(look))
    }

    fn is_over(&mut self) -> bool {
        let now = Instant::now();
        if self.interrupted.is_none() && is_interrupted() {
            self.interrupted = Some(now + GRACE);
        }
        self.is_interrupted() || self.until.is_some_and(|it| it <= now)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.is_some_and(|it| it <= Instant::now())
    }
}

/// Gives work to the helper of this thread. It comes back where there is none and can be none.
fn hand_over(work: Work) -> Result<(), Work> {
    HELPER.with_borrow_mut(|helper| {
        let work = match helper {
            Some(sender) => match sender.send(work) {
                Ok(()) => return Ok(()),
                Err(refused) => refused.0,
            },
            None => work,
        };
        let (sender, inbox) = mpsc::channel::<Work>();
        let thread = thread::Builder::new().name("script".to_owned()).stack_size(STACK_BYTES);
        let spawned = thread.spawn(move || {
            for work in inbox {
                work();
            }
        });
        match spawned {
            Ok(_) => {
                let sent = sender.send(work).map_err(|refused| refused.0);
                *helper = Some(sender);
                sent
            }
            Err(_) => Err(work),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use travertine_value::interrupt::interrupt_by;

    use super::*;

    #[test]
    fn whoever_asks_goes_on_when_the_time_is_up() {
        let deadline = Deadline::after(Some(0));
        let (hold, held) = mpsc::channel::<()>();
        let ended = run(&deadline, move || held.recv().is_err());
        assert_eq!(ended, Err(Limit::Time));
        assert!(deadline.has_passed());
        drop(hold);
        // The next one has a helper of its own.
        assert_eq!(run(&Deadline::after(Some(60_000)), || 1), Ok(1));
    }

    #[test]
    fn a_run_that_would_take_long_ends_when_everything_is_to_end() {
        for limit in [Some(60_000), None] {
            let waits = thread::spawn(move || {
                let flag = Arc::new(AtomicBool::new(true));
                interrupt_by(Arc::clone(&flag));
                let (hold, held) = mpsc::channel::<()>();
                let deadline = Deadline::after(limit);
                let ended = catch_unwind(|| run(&deadline, move || held.recv().is_err()));
                drop(hold);
                let panic = ended.expect_err("it does not answer");
                assert!(panic.is::<Interrupted>() && deadline.has_passed());
                // What takes no time comes to its end all the same.
                assert_eq!(run(&Deadline::after(limit), || 1), Ok(1));
            });
            waits.join().expect("it was interrupted");
        }
    }

    #[test]
    fn a_panic_comes_back() {
        let deadline = Deadline::after(Some(60_000));
        let panic = catch_unwind(|| run(&deadline, || -> u8 { panic!("no") })).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"no"));
    }

    #[test]
    fn without_a_deadline_nothing_is_handed_over() {
        let here = thread::current().id();
        assert_eq!(run(&Deadline::default(), move || thread::current().id()), Ok(here));
    }
}
