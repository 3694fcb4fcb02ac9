//! How long somebody waits, on a machine that may stand still.

use std::time::{Duration, Instant};

/// What counts at most between two looks.
const STEP_MAX: Duration = Duration::from_millis(100);

/// A time that is used up by looking at the clock again and again.
///
/// What passes between two looks counts as a tenth of a second at most. So a machine that stands still, or a process
/// that was stopped, uses up nearly nothing of it, and what was waited for has its chance when everything goes on.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    left: Duration,
    looked: Instant,
}

impl Patience {
    /// For so long from now; `Duration::MAX` for ever.
    pub fn new(time: Duration) -> Self {
        Self { left: time, looked: Instant::now() }
    }

    /// Looks at the clock. Says how long to wait before looking again; nothing when the time is over.
    pub fn look(&mut self) -> Duration {
        self.look_at(Instant::now())
    }

    /// Looks at the clock. Whether the time is over.
    pub fn is_over(&mut self) -> bool {
        self.look().is_zero()
    }

    fn look_at(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.looked).min(STEP_MAX);
        self.looked = now;
        self.left = self.left.saturating_sub(passed);
        self.left.min(STEP_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn time_that_is_looked_at_counts_as_it_is() {
        let mut patience = Patience::new(250 * MS);
        let began = patience.looked;
        let mut looks = [50, 140, 240, 249, 250].into_iter().map(|it| began + it * MS);
        let left: Vec<_> = looks.by_ref().map(|it| patience.look_at(it)).collect();
        assert_eq!(left, [100 * MS, 100 * MS, 10 * MS, MS, Duration::ZERO]);
    }

    #[test]
    fn a_machine_that_stands_still_uses_up_nearly_nothing() {
        let mut patience = Patience::new(10_000 * MS);
        let began = patience.looked;
        assert_eq!(patience.look_at(began + 3_600_000 * MS), 100 * MS);
        assert_eq!(patience.left, 9_900 * MS);
        // A clock that goes back takes nothing.
        assert_eq!(patience.look_at(began), 100 * MS);
        assert_eq!(patience.left, 9_900 * MS);
    }

    #[test]
    fn no_time_is_over_at_once_and_all_time_never() {
        assert!(Patience::new(Duration::ZERO).is_over());
        let mut patience = Patience::new(Duration::MAX);
        let far = patience.looked + 1_000_000_000 * MS;
        assert_eq!(patience.look_at(far), 100 * MS);
    }
}
