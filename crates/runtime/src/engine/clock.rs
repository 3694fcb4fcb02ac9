//! Where the engine's time comes from.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::SystemTime,
};

use crate::{Error, Timestamp};

/// Where the engine's time comes from.
///
/// ```
/// # mod travertine { pub use travertine_runtime::{Timestamp, engine::Clock}; }
/// use travertine::{Clock, Timestamp};
///
/// /// It is always noon.
/// #[derive(Debug)]
/// struct Noon;
///
/// impl Clock for Noon {
///     fn now(&self) -> Timestamp {
///         Timestamp::from_millis(12 * 3_600_000)
///     }
///
///     fn runs(&self) -> bool {
///         false
///     }
/// }
/// assert_eq!(Noon.now().to_string(), "1970-01-01T12:00:00Z");
/// ```
pub trait Clock: fmt::Debug + Send + Sync {
    /// The time.
    ///
    /// ```
    /// # use travertine_runtime::Timestamp;
    /// # use travertine_runtime::engine::SystemClock;
    /// assert!(SystemClock.now() > Timestamp::from_millis(0));
    /// # use travertine_runtime::engine::Clock;
    /// ```
    fn now(&self) -> Timestamp;

    /// Whether it goes by itself, so that waiting makes sense.
    ///
    /// ```
    /// # use travertine_runtime::engine::{ManualClock, SystemClock};
    /// # use travertine_runtime::engine::Clock;
    /// assert!(SystemClock.runs());
    /// assert!(!ManualClock::default().runs());
    /// ```
    fn runs(&self) -> bool;
}

/// The clock of this machine.
///
/// ```
/// # use travertine_runtime::engine::{Options, SystemClock};
/// # use std::sync::Arc;
/// let options = Options { clock: Arc::new(SystemClock), ..Options::default() };
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::default().after(since)
    }

    fn runs(&self) -> bool {
        true
    }
}

/// A clock that moves only when told.
///
/// ```
/// # use travertine_runtime::{Engine, Error, Timestamp};
/// # use travertine_runtime::engine::{ManualClock, Options};
/// # use std::sync::Arc;
/// let clock = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
/// let options = Options { clock: Arc::<ManualClock>::clone(&clock), ..Options::default() };
/// let engine = Engine::in_memory(options)?;
/// clock.set(Timestamp::from_millis(3_600_000));
/// engine.wake();
/// assert_eq!(engine.now().as_millis(), 3_600_000);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows that time.
    ///
    /// ```
    /// # use travertine_runtime::Timestamp;
    /// # use travertine_runtime::engine::ManualClock;
    /// # use travertine_runtime::engine::Clock;
    /// assert_eq!(ManualClock::new(Timestamp::from_millis(7)).now().as_millis(), 7);
    /// ```
    pub fn new(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.as_millis()))
    }

    /// Has it show that time from now on, unless it shows a later one.
    ///
    /// ```
    /// # use travertine_runtime::Timestamp;
    /// # use travertine_runtime::engine::ManualClock;
    /// # use travertine_runtime::engine::Clock;
    /// let clock = ManualClock::new(Timestamp::from_millis(7));
    /// clock.set(Timestamp::from_millis(9));
    /// clock.set(Timestamp::from_millis(8)); // It does not go back.
    /// assert_eq!(clock.now().as_millis(), 9);
    /// ```
    pub fn set(&self, now: Timestamp) {
        self.0.fetch_max(now.as_millis(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    fn runs(&self) -> bool {
        false
    }
}

/// The clock of this machine, which can be stopped at a time and let go again from there: for tests of what runs on an
/// engine elsewhere.
///
/// ```
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::{Options, TestClock};
/// # use std::{sync::Arc, time::Duration};
/// let clock = Arc::new(TestClock::default());
/// let options = Options { clock: Arc::<TestClock>::clone(&clock), ..Options::default() };
/// let engine = Engine::in_memory(options)?;
/// let tomorrow = engine.now().after(Duration::from_hours(24));
/// clock.pin(tomorrow)?;
/// engine.wake();
/// assert_eq!(engine.now(), tomorrow);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
pub struct TestClock(Mutex<Pinned>);

#[derive(Debug, Default)]
struct Pinned {
    at: Option<Timestamp>,
    /// What it showed when it was let go, and what the clock of this machine showed then.
    released: Option<(Timestamp, Timestamp)>,
}

impl Pinned {
    fn now(&self) -> Timestamp {
        self.at.unwrap_or_else(|| {
            let machine = SystemClock.now();
            self.released.map_or(machine, |(it, then)| it.after(machine.since(then)))
        })
    }
}

impl TestClock {
    /// Has it show this time until it is pinned to another one or let go. It does not go back.
    ///
    /// ```
    /// # use travertine_runtime::{Error, Timestamp};
    /// # use travertine_runtime::engine::TestClock;
    /// let clock = TestClock::default();
    /// let past = clock.pin(Timestamp::from_millis(0));
    /// assert!(matches!(past, Err(Error::Backwards { .. })));
    /// ```
    pub fn pin(&self, to: Timestamp) -> Result<(), Error> {
        let mut it = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = it.now();
        if to < now {
            return Err(Error::Backwards { now });
        }
        it.at = Some(to);
        Ok(())
    }

    /// Lets it go again by itself, from the time that it shows.
    ///
    /// ```
    /// # use travertine_runtime::Timestamp;
    /// # use travertine_runtime::engine::{Clock, TestClock};
    /// let (clock, later) = (TestClock::default(), Timestamp::from_millis(9_000_000_000_000));
    /// clock.pin(later).unwrap();
    /// assert!(!clock.runs());
    /// clock.release();
    /// assert!(clock.runs() && clock.now() >= later);
    /// ```
    pub fn release(&self) {
        let mut it = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = it.at.take() {
            it.released = Some((at, SystemClock.now()));
        }
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    fn runs(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).at.is_none()
    }
}
