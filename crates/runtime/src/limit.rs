//! How much of the same may be done at once, and how often it may begin.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use travertine_func::Functions;
use travertine_value::Name;

use crate::{Error, Timestamp, board::Order};

/// How much of the same may be done at once, and how often it may begin. It holds for each key of its
/// class separately.
///
/// ```
/// # use travertine_runtime as travertine;
/// use std::time::Duration;
/// use travertine::Limit;
///
/// let bank = Limit { at_once: Some(3), rate: Some((100, Duration::from_secs(1))) };
/// assert_eq!(Limit::at_once(3).and_rate(100, Duration::from_secs(1)), bank);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// How many jobs may have begun and not ended.
    pub at_once: Option<u32>,
    /// How many jobs may begin in any time span of that length.
    pub rate: Option<(u32, Duration)>,
}

impl Limit {
    /// Allows at most so many jobs at once.
    ///
    /// ```
    /// # use travertine_runtime::Limit;
    /// let one_at_a_time = Limit::at_once(1);
    /// ```
    pub fn at_once(jobs: u32) -> Self {
        Self { at_once: Some(jobs), rate: None }
    }

    /// Lets at most so many jobs begin in any time span of that length.
    ///
    /// ```
    /// # use travertine_runtime::Limit;
    /// # use std::time::Duration;
    /// let often = Limit::rate(100, Duration::from_secs(1));
    /// assert_eq!(often.at_once, None);
    /// ```
    pub fn rate(jobs: u32, per: Duration) -> Self {
        Self { at_once: None, rate: Some((jobs, per)) }
    }

    /// Also lets at most so many jobs begin in any time span of that length.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use travertine_runtime::Limit;
    /// let gently = Limit::at_once(5).and_rate(50, Duration::from_mins(1));
    /// ```
    #[must_use]
    pub fn and_rate(self, jobs: u32, per: Duration) -> Self {
        Self { rate: Some((jobs, per)), ..self }
    }
}

/// Whether limits let anything begin at all, and whether those are there that activities name.
pub(crate) fn check(limits: &BTreeMap<Name, Limit>, functions: &Functions) -> Result<(), Error> {
    for (class, limit) in limits {
        let wrong = if class.is_empty() || class.contains('/') {
            "its name must not be empty and must not have a `/`, which comes before the key"
        } else if limit.at_once == Some(0) || limit.rate.is_some_and(|(jobs, _)| jobs == 0) {
            "it lets nothing begin: give at least 1, or leave it out"
        } else if limit.rate.is_some_and(|(_, per)| per < Duration::from_millis(1)) {
            "the time span of its rate is too short: give at least a millisecond"
        } else {
            continue;
        };
        return Err(Error::Failed { reason: format!("limit `{class}`: {wrong}") });
    }
    for (name, activity) in functions.activities() {
        if let Some(class) = activity.options.limit.filter(|it| !limits.contains_key(*it)) {
            return Err(Error::Failed {
                reason: format!(
                    "activity `{name}` keeps the limit `{class}`, which is not there: add it to \
                     `Options::limits`"
                ),
            });
        }
    }
    Ok(())
}

/// What is known of one key of a class.
#[derive(Debug, Default)]
pub(crate) struct Key {
    limit: Limit,
    /// How many have begun and not ended.
    begun: u32,
    /// When the last ones have begun, as far as the rate asks.
    recent: VecDeque<Timestamp>,
    /// Those that are up, by their type.
    pub(crate) lines: BTreeMap<Name, Line>,
    /// When it is looked at again.
    pub(crate) due: Option<Timestamp>,
}

/// Jobs of one type with one key.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) jobs: BTreeSet<Order>,
    /// The one that may go next.
    pub(crate) head: Option<Order>,
}

impl Key {
    pub(crate) fn new(limit: Limit) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Whether one more may begin.
    pub(crate) fn has_room(&self) -> bool {
        self.limit.at_once.is_none_or(|most| self.begun < most) && !self.is_too_often()
    }

    fn is_too_often(&self) -> bool {
        self.limit.rate.is_some_and(|(most, _)| self.recent.len() as u64 >= u64::from(most))
    }

    /// One has begun.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.hold();
        if self.limit.rate.is_some() {
            self.recent.push_back(now);
        }
    }

    /// One has begun long ago.
    pub(crate) fn hold(&mut self) {
        self.begun = self.begun.saturating_add(1);
    }

    /// One has ended.
    pub(crate) fn end(&mut self) {
        self.begun = self.begun.saturating_sub(1);
    }

    /// Forgets what does not count any more.
    pub(crate) fn pass(&mut self, now: Timestamp) {
        let Some((_, per)) = self.limit.rate else { return };
        while self.recent.front().is_some_and(|it| it.after(per) <= now) {
            self.recent.pop_front();
        }
    }

    /// When there is room again, or else when nothing counts any more.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let (_, per) = self.limit.rate?;
        let since = if self.is_too_often() { self.recent.front() } else { self.recent.back() };
        since.map(|it| it.after(per))
    }

    /// Whether nothing need be known of it.
    pub(crate) fn is_idle(&self) -> bool {
        self.begun == 0 && self.recent.is_empty() && self.lines.is_empty()
    }
}
