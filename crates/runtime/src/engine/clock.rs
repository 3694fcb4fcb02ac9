//! Where the engine's time comes from.

use std::{
    fmt,
    sync::atomic::{AtomicI64, Ordering},
    time::SystemTime,
};

use crate::Timestamp;

/// Where the engine's time comes from.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The time.
    fn now(&self) -> Timestamp;

    /// Whether it goes by itself, so that waiting makes sense.
    fn runs(&self) -> bool;
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn runs(&self) -> bool {
        true
    }
}

/// A clock that moves only when told.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// It shows that time.
    pub fn new(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.as_millis()))
    }

    /// It shows that time from now on, unless it shows a later one.
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
