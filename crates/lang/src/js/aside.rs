//! Work on a thread of its own, for whoever cannot wait for it any longer than so long.
//!
//! Some work of the script engine cannot be interrupted: one multiplication of huge numbers takes as long
//! as it takes. It then holds this thread, never the one that asked for it.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use travertine_value::{
    Limit,
    interrupt::{Interrupted, is_interrupted, is_interruptible},
    patience::Patience,
};

/// How long a run may take, and whether somebody has given up waiting for it.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    /// What the thread that runs it has seen of the clock.
    patience: Option<Cell<Patience>>,
    time: Option<Duration>,
    /// What a run gets, after its time, to notice that by itself, which most do.
    grace: Duration,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The time is up, says whoever waits.
    is_late: AtomicBool,
    ended: AtomicU8,
}

/// Its answer is there. Before that it is 0.
const ANSWERED: u8 = 1;
/// Nobody waits for it any longer.
const GIVEN_UP: u8 = 2;

impl Deadline {
    /// So many milliseconds from now; never without them.
    pub(super) fn after(time_ms_max: Option<u64>) -> Self {
        let time = time_ms_max.map(Duration::from_millis);
        let patience = time.map(|it| Cell::new(Patience::new(it)));
        Self { patience, time, grace: GRACE, state: Arc::default() }
    }

    /// Whether it is time to end.
    pub(super) fn has_passed(&self) -> bool {
        self.state.is_late.load(Ordering::Relaxed)
            || self.state.ended.load(Ordering::Relaxed) == GIVEN_UP
            || self.patience.as_ref().is_some_and(|it| {
                let mut patience = it.get();
                let is_over = patience.is_over();
                it.set(patience);
                is_over
            })
    }
}

/// Runs that nobody waits for any longer and that have not noticed yet.
static LEFT_ALONE: AtomicUsize = AtomicUsize::new(0);

/// With as many of them, no more are begun.
const LEFT_ALONE_MAX: usize = 16;

/// See [`Deadline`].
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
    if deadline.time.is_none() && !is_interruptible() {
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
        if state.ended.swap(ANSWERED, Ordering::SeqCst) == GIVEN_UP {
            LEFT_ALONE.fetch_sub(1, Ordering::Relaxed);
        }
    });
    if let Err(work) = hand_over(work) {
        // There can be no further thread; then it is done here.
        work();
    }
    let mut wait = Wait::new(deadline);
    let mut answered = None;
    while answered.is_none()
        && let Some(look) = wait.look(deadline)
    {
        answered = answer.recv_timeout(look).ok();
    }
    if answered.is_none() {
        LEFT_ALONE.fetch_add(1, Ordering::Relaxed);
        if deadline.state.ended.swap(GIVEN_UP, Ordering::SeqCst) == ANSWERED {
            // It came just now.
            LEFT_ALONE.fetch_sub(1, Ordering::Relaxed);
            answered = answer.try_recv().ok();
        }
    }
    match answered {
        Some(Ok(value)) => Ok(value),
        Some(Err(panic)) => resume_unwind(panic),
        None => {
            HELPER.take();
            if wait.is_interrupted {
                Interrupted::unwind();
            }
            Err(Limit::Time)
        }
    }
}

/// How long somebody waits for a run: as long as it may take, or until everything is to end, and a moment.
struct Wait {
    time: Option<Patience>,
    /// Once the run is late.
    grace: Option<Patience>,
    is_interrupted: bool,
}

impl Wait {
    fn new(deadline: &Deadline) -> Self {
        Self { time: deadline.time.map(Patience::new), grace: None, is_interrupted: false }
    }

    /// How long to wait before looking again; `None` when it is over.
    fn look(&mut self, deadline: &Deadline) -> Option<Duration> {
        if self.grace.is_none() {
            self.is_interrupted = is_interrupted();
            let is_late = self.time.as_mut().is_some_and(Patience::is_over);
            // Where everything is to end, nothing is to come of it, also not that it was late.
            deadline.state.is_late.store(is_late, Ordering::Relaxed);
            if self.is_interrupted || is_late {
                self.grace = Some(Patience::new(deadline.grace));
            }
        }
        let left = match (&mut self.grace, &mut self.time) {
            (Some(grace), _) => Some(grace.look()).filter(|it| !it.is_zero())?,
            (None, Some(time)) => time.look(),
            (None, None) => Duration::MAX,
        };
        Some(if is_interruptible() { left.min(LOOK) } else { left })
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
    use travertine_value::interrupt::interrupt_by;

    use super::*;

    /// Nobody waits for long once it is late.
    fn short(time_ms_max: Option<u64>) -> Deadline {
        Deadline { grace: Duration::from_millis(1), ..Deadline::after(time_ms_max) }
    }

    /// Even the slowest machine is in time.
    fn patient(time_ms_max: Option<u64>) -> Deadline {
        Deadline { grace: Duration::from_mins(10), ..Deadline::after(time_ms_max) }
    }

    #[test]
    fn whoever_asks_goes_on_when_the_time_is_up() {
        let deadline = short(Some(0));
        let (hold, held) = mpsc::channel::<()>();
        let ended = run(&deadline, move || held.recv().is_err());
        assert_eq!(ended, Err(Limit::Time));
        assert!(deadline.has_passed());
        drop(hold);
        // The next one has a helper of its own.
        assert_eq!(run(&Deadline::after(None), || 1), Ok(1));
        assert_eq!(run(&patient(Some(600_000)), || 1), Ok(1));
    }

    #[test]
    fn a_run_that_would_take_long_ends_when_everything_is_to_end() {
        for limit in [Some(600_000), None] {
            let waits = thread::spawn(move || {
                let flag = Arc::new(AtomicBool::new(true));
                interrupt_by(Arc::clone(&flag));
                let (hold, held) = mpsc::channel::<()>();
                let deadline = short(limit);
                let hung = || run(&deadline, move || held.recv().is_err());
                let ended = catch_unwind(AssertUnwindSafe(hung));
                let panic = ended.expect_err("it does not answer");
                assert!(panic.is::<Interrupted>() && deadline.has_passed());
                drop(hold);
                // What takes no time comes to its end all the same.
                assert_eq!(run(&patient(limit), || 1), Ok(1));
            });
            waits.join().expect("it was interrupted");
        }
    }

    #[test]
    fn a_panic_comes_back() {
        let deadline = Deadline::after(Some(600_000));
        let hung = || run(&deadline, || -> u8 { panic!("no") });
        let panic = catch_unwind(AssertUnwindSafe(hung)).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"no"));
    }

    #[test]
    fn without_a_deadline_nothing_is_handed_over() {
        let here = thread::current().id();
        assert_eq!(run(&Deadline::after(None), move || thread::current().id()), Ok(here));
    }
}
