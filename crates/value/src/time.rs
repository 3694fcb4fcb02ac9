//! Points in time, and the timers that models write in ISO 8601 or as cron expressions.
//!
//! A timer's text becomes a [`Due`]: when it fires, and how it goes on. There is no clock here: `now`
//! comes from the caller.

mod cron;

use std::{fmt, sync::Arc, time::Duration};

use jiff::{Span, Zoned, civil, tz::TimeZone};

pub use cron::{Cron, Weekdays, split_zone};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
///
/// ```
/// # use std::time::Duration;
/// # use travertine_value::time::Timestamp;
/// let noon = Timestamp::from_millis(1_767_268_800_000);
/// assert_eq!(noon.to_string(), "2026-01-01T12:00:00Z");
/// assert_eq!(noon.after(Duration::from_mins(90)).since(noon), Duration::from_mins(90));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The first point there is.
    pub const MIN: Self = Self(i64::MIN);

    /// The last point there is, which never comes.
    pub const MAX: Self = Self(i64::MAX);

    /// So many milliseconds after the beginning of 1970; before it, where negative.
    ///
    /// ```
    /// # use travertine_value::time::Timestamp;
    /// assert_eq!(Timestamp::from_millis(-1).to_string(), "1969-12-31T23:59:59.999Z");
    /// ```
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds after the beginning of 1970.
    ///
    /// ```
    /// # use travertine_value::time::Timestamp;
    /// assert_eq!(Timestamp::from_millis(1_500).as_millis(), 1_500);
    /// ```
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The point so much later, or the last one there is. Less than a millisecond counts as nothing.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use travertine_value::time::Timestamp;
    /// let soon = Timestamp::from_millis(1_000).after(Duration::from_millis(500));
    /// assert_eq!(soon, Timestamp::from_millis(1_500));
    /// ```
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }

    /// The point so much earlier, or the first one there is. Less than a millisecond counts as nothing.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use travertine_value::time::Timestamp;
    /// let shortly_before = Timestamp::from_millis(1_000).before(Duration::from_millis(1));
    /// assert_eq!(shortly_before, Timestamp::from_millis(999));
    /// ```
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(millis(span)))
    }

    /// The beginning of the second that it is in.
    ///
    /// ```
    /// # use travertine_value::time::Timestamp;
    /// assert_eq!(Timestamp::from_millis(-1).whole_second(), Timestamp::from_millis(-1_000));
    /// ```
    #[must_use]
    pub const fn whole_second(self) -> Self {
        Self(self.0.saturating_sub(self.0.rem_euclid(1_000)))
    }

    /// How much later it is; nothing where it is not.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use travertine_value::time::Timestamp;
    /// let (one, two) = (Timestamp::from_millis(1_000), Timestamp::from_millis(1_500));
    /// assert_eq!((two.since(one), one.since(two)), (Duration::from_millis(500), Duration::ZERO));
    /// ```
    pub const fn since(self, earlier: Self) -> Duration {
        if self.0 > earlier.0 {
            Duration::from_millis(self.0.abs_diff(earlier.0))
        } else {
            Duration::ZERO
        }
    }
}

/// Whole milliseconds of a span; the most there can be where it has more.
///
/// ```
/// # use std::time::Duration;
/// # use travertine_value::time::millis;
/// assert_eq!(millis(Duration::from_micros(1_999)), 1);
/// assert_eq!(millis(Duration::MAX), i64::MAX);
/// ```
pub fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// A span without what is less than a millisecond, as it is when it comes back from a store.
///
/// ```
/// # use std::time::Duration;
/// # use travertine_value::time::whole_millis;
/// assert_eq!(whole_millis(Duration::from_micros(1_999)), Duration::from_millis(1));
/// ```
pub fn whole_millis(span: Duration) -> Duration {
    Duration::from_millis(millis(span).unsigned_abs())
}

impl fmt::Display for Timestamp {
    /// RFC 3339, in UTC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(timestamp) => write!(f, "{timestamp}"),
            // Beyond the year 9999 there is no such text.
            Err(_) => write!(f, "{} ms after 1970", self.0),
        }
    }
}

/// How the text of a timer is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// A date, with or without a time of day.
    Date,
    /// A time span from now.
    Duration,
    /// A time span again and again, or a cron expression.
    Cycle,
    /// A time span again and again, or a cron expression in which weekdays are counted from 1 for Sunday.
    QuartzCycle,
}

impl Timer {
    /// How the days of a week are numbered in cron expressions.
    pub fn weekdays(self) -> Weekdays {
        match self {
            Self::QuartzCycle => Weekdays::From1,
            Self::Date | Self::Duration | Self::Cycle => Weekdays::From0,
        }
    }
}

/// When a timer fires, and how it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// When. A point in the past means at once.
    pub at: Timestamp,
    /// What comes after, if anything does.
    pub repeat: Option<Repeat>,
}

/// The rest of a cycle. Firings are counted from its first one, so that the last of January plus a
/// month, and another, is the last of March.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// What lies between two firings.
    pub rhythm: Rhythm,
    /// The first firing of all.
    pub first: Timestamp,
    /// How many firings came before the one that is due now.
    pub fired: u32,
    /// How many are left after the one that is due now; `None` for no end.
    pub left: Option<u32>,
    /// None comes later than this.
    pub until: Option<Timestamp>,
    /// The IANA time zone in which days and months are counted; UTC where there is none.
    pub zone: Option<Arc<str>>,
}

/// What lies between two firings of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rhythm {
    /// Always the same span.
    Every(Period),
    /// The time until the clocks show something that fits.
    Cron(Cron),
}

/// A span of time, as people count it: a month is not a number of days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Period {
    /// Years and months.
    pub months: i32,
    /// Weeks and days.
    pub days: i32,
    /// Hours and all below.
    pub millis: i64,
}

/// Why a text is no timer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeError {
    /// It is not a date.
    NotADate(String),
    /// It is not a duration.
    NotADuration(String),
    /// It is not a cycle.
    NotACycle(String),
    /// It would never fire.
    NeverFires(String),
    /// It looks like a cron expression and is none.
    NotACron {
        /// The text.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// It leaves the years that can be counted.
    OutOfRange(String),
}

/// A text that is no time, or that there is none.
fn given(text: &str) -> &str {
    if text.trim().is_empty() { "nothing is given" } else { text }
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotADate(text) => {
                write!(f, "not a date such as 2026-01-31T12:00:00Z: {}", given(text))
            }
            Self::NotADuration(text) => {
                write!(f, "not a duration such as PT5M or P1D: {}", given(text))
            }
            Self::NotACycle(text) => {
                write!(f, "not a cycle such as R3/PT10S or 0 0 9 * * MON-FRI: {}", given(text))
            }
            Self::NeverFires(text) => write!(f, "the cycle would never fire: {text}"),
            Self::NotACron { text, why } => write!(f, "not a cron expression: {text}: {why}"),
            Self::OutOfRange(text) => write!(f, "the time is out of range: {text}"),
        }
    }
}

impl std::error::Error for TimeError {}

/// When a timer with this text fires, if it is armed `now`.
pub fn due(timer: Timer, text: &str, now: Timestamp) -> Result<Due, TimeError> {
    let text = text.trim();
    match timer {
        Timer::Date => Ok(Due { at: date(text)?.at, repeat: None }),
        Timer::Duration => {
            let at = duration(text)?.times(1, now, None);
            let at = at.ok_or_else(|| TimeError::OutOfRange(text.to_owned()))?;
            Ok(Due { at: at.max(now), repeat: None })
        }
        Timer::Cycle | Timer::QuartzCycle if Cron::is_meant(text) => {
            recurrent(text, timer.weekdays(), now)
        }
        Timer::Cycle | Timer::QuartzCycle => cycle(text, now),
    }
}

/// A date and time of ISO 8601, and a duration after it, or before it where that is negative.
pub fn shift(date_text: &str, by: &str) -> Result<Timestamp, TimeError> {
    let at = date(date_text.trim())?.at;
    duration(by)?.times(1, at, None).ok_or_else(|| TimeError::OutOfRange(by.to_owned()))
}

impl Repeat {
    /// The firing after the one that was due at `previous`.
    pub fn next(&self, previous: Timestamp) -> Option<Due> {
        if self.left == Some(0) {
            return None;
        }
        let mut next = Self { left: self.left.map(|it| it - 1), ..self.clone() };
        let zone = self.zone.as_deref();
        let at = match &self.rhythm {
            Rhythm::Cron(cron) => {
                // Counted for people only.
                next.fired = self.fired.saturating_add(1);
                cron.next(previous, &zone_named(zone)?)?
            }
            Rhythm::Every(period) => {
                let fired = self.fired.checked_add(1);
                let at = fired.and_then(|it| period.times(it, self.first, zone));
                if let (Some(fired), Some(at)) = (fired, at.filter(|it| *it > previous)) {
                    next.fired = fired;
                    at
                } else {
                    // The timer was moved by hand, or there are no numbers left; go on from there.
                    next.first = previous;
                    next.fired = 1;
                    period.times(1, previous, zone).filter(|it| *it > previous)?
                }
            }
        };
        if self.until.is_some_and(|it| at > it) {
            return None;
        }
        Some(next.due(at))
    }

    /// The firing after the one that was due at `previous`, and after `now`. Those that were missed
    /// meanwhile count as one with it. However many they are, it costs the same.
    pub fn next_after(&self, previous: Timestamp, now: Timestamp) -> Option<Due> {
        if let Rhythm::Cron(_) = self.rhythm {
            return self.next(previous.max(now));
        }
        let next = self.next(previous)?;
        if next.at > now {
            return Some(next);
        }
        let mut repeat = next.repeat?;
        let Rhythm::Every(period) = repeat.rhythm else { return None };
        let skipped = period.skip(
            Counted { first: repeat.first, fired: repeat.fired },
            now.after(Duration::from_millis(1)),
            repeat.zone.as_deref(),
        )?;
        if let Some(left) = &mut repeat.left {
            *left = u32::try_from(skipped.count).ok().and_then(|it| left.checked_sub(it))?;
        }
        Counted { first: repeat.first, fired: repeat.fired } = skipped.to;
        if repeat.until.is_some_and(|it| skipped.at > it) {
            return None;
        }
        Some(repeat.due(skipped.at))
    }

    /// The firing at this point, with what comes after it.
    fn due(self, at: Timestamp) -> Due {
        let goes_on = self.left != Some(0);
        Due { at, repeat: goes_on.then_some(self) }
    }
}

/// A firing of a cycle: its first one, and how many came before this one.
#[derive(Clone, Copy)]
struct Counted {
    first: Timestamp,
    fired: u32,
}

/// What [`Period::skip`] has found.
struct Skipped {
    to: Counted,
    /// When that one is due.
    at: Timestamp,
    /// How many firings lie between.
    count: u64,
}

impl Period {
    /// The first firing from this one on that is not before `now`; `None` where the calendar ends
    /// first. It does not go through the firings between, which can be any number.
    fn skip(self, from: Counted, now: Timestamp, zone: Option<&str>) -> Option<Skipped> {
        let Counted { first, fired } = from;
        if let Self { months: 0, days: 0, millis } = self {
            let millis = u64::try_from(millis).ok().filter(|it| *it > 0)?;
            let passed = u64::try_from(i128::from(now.0) - i128::from(first.0)).unwrap_or(0);
            let number = passed.div_ceil(millis).max(u64::from(fired));
            let at = i128::from(first.0) + i128::from(number) * i128::from(millis);
            let at = Timestamp(i64::try_from(at).ok()?);
            // A span that is always as long can be counted from any of its firings.
            let to = match u32::try_from(number) {
                Ok(fired) => Counted { first, fired },
                Err(_) => Counted { first: at, fired: 0 },
            };
            self.times(0, at, zone)?;
            return Some(Skipped { to, at, count: number - u64::from(fired) });
        }
        // Beyond the calendar everything is past.
        let is_past = |it: u32| self.times(it, first, zone).is_none_or(|at| at >= now);
        let (mut low, mut high) = (fired, fired);
        let mut step = 1_u32;
        while !is_past(high) {
            low = high;
            high = high.checked_add(step)?;
            step = step.saturating_mul(2);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if is_past(middle) { high = middle } else { low = middle }
        }
        let at = self.times(high, first, zone)?;
        let to = Counted { first, fired: high };
        Some(Skipped { to, at, count: u64::from(high - fired) })
    }

    /// The point `times` periods after `start`, by the calendar.
    fn times(self, times: u32, start: Timestamp, zone: Option<&str>) -> Option<Timestamp> {
        let times = i64::from(times);
        let zone = zone_named(zone)?;
        let span = Span::new()
            .try_months(i64::from(self.months).checked_mul(times)?)
            .and_then(|it| it.try_days(i64::from(self.days).saturating_mul(times)))
            .and_then(|it| it.try_milliseconds(self.millis.saturating_mul(times)));
        let start = jiff::Timestamp::from_millisecond(start.0).ok()?.to_zoned(zone);
        let end = start.checked_add(span.ok()?).ok()?;
        Some(Timestamp(end.timestamp().as_millisecond()))
    }
}

/// The zone of that name; UTC without one.
fn zone_named(name: Option<&str>) -> Option<TimeZone> {
    name.map_or(Some(TimeZone::UTC), |it| TimeZone::get(it).ok())
}

struct Date {
    at: Timestamp,
    zone: Option<Arc<str>>,
}

/// A date without a time of day is midnight; without an offset or zone it is in UTC.
fn date(text: &str) -> Result<Date, TimeError> {
    let malformed = || TimeError::NotADate(text.to_owned());
    if text.contains('[') {
        let zoned: Zoned = text.parse().map_err(|_| malformed())?;
        let at = Timestamp(zoned.timestamp().as_millisecond());
        return Ok(Date { at, zone: zoned.time_zone().iana_name().map(Arc::from) });
    }
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Ok(Date { at: Timestamp(timestamp.as_millisecond()), zone: None });
    }
    let local: civil::DateTime = text.parse().map_err(|_| malformed())?;
    let zoned = local.to_zoned(TimeZone::UTC).map_err(|_| malformed())?;
    Ok(Date { at: Timestamp(zoned.timestamp().as_millisecond()), zone: None })
}

fn duration(text: &str) -> Result<Period, TimeError> {
    let malformed = || TimeError::NotADuration(text.to_owned());
    // The library also reads "5 minutes", which is not ISO 8601.
    if !text.trim_start_matches(['+', '-']).starts_with('P') {
        return Err(malformed());
    }
    let span: Span = text.parse().map_err(|_| malformed())?;
    let units = [
        (span.get_hours().into(), 3_600_000),
        (span.get_minutes(), 60_000),
        (span.get_seconds(), 1000),
        (span.get_milliseconds(), 1),
    ];
    let millis = units.into_iter().try_fold(0_i64, |sum, (count, millis): (i64, i64)| {
        sum.checked_add(count.checked_mul(millis)?)
    });
    Ok(Period {
        months: i32::from(span.get_years()) * 12 + span.get_months(),
        days: span.get_weeks() * 7 + span.get_days(),
        millis: millis.ok_or_else(|| TimeError::OutOfRange(text.to_owned()))?,
    })
}

/// `R3/PT10S`, `R/<start>/PT1H` or `R3/PT1H/<end>`; a duration alone repeats for ever.
fn cycle(text: &str, now: Timestamp) -> Result<Due, TimeError> {
    let malformed = || TimeError::NotACycle(text.to_owned());
    let never = || TimeError::NeverFires(text.to_owned());
    if text.starts_with('P') {
        return first(None, None, duration(text)?, None, now).ok_or_else(never);
    }
    // The name of a zone has a slash of its own.
    let mut in_brackets = false;
    let mut parts = text.split(move |it: char| {
        in_brackets = it == '[' || (in_brackets && it != ']');
        it == '/' && !in_brackets
    });
    let count = parts.next().and_then(|it| it.strip_prefix('R'));
    let Some(count) = count.filter(|_| text.contains('/') && text.len() > 1) else {
        return Err(malformed());
    };
    let count = match count {
        "" | "-1" => None,
        digits => Some(digits.parse::<u32>().map_err(|_| malformed())?),
    };
    let (Some(second), third, None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(malformed());
    };
    let starts_with_period = second.starts_with('P');
    let (start, period, end) = match third {
        None => (None, duration(second)?, None),
        Some(end) if starts_with_period => (None, duration(second)?, Some(date(end)?)),
        Some(period) => (Some(date(second)?), duration(period)?, None),
    };
    first(count, start, period, end, now).ok_or_else(never)
}

/// The first firing. A start in the past is caught up with where the count has an end; without one,
/// what was missed is skipped, lest a cycle from long ago fire a million times at once.
fn first(
    count: Option<u32>,
    start: Option<Date>,
    period: Period,
    end: Option<Date>,
    now: Timestamp,
) -> Option<Due> {
    let zone = start.as_ref().or(end.as_ref()).and_then(|it| it.zone.clone());
    let step = period.times(1, now, zone.as_deref())?;
    if step <= now || count == Some(0) {
        return None;
    }
    let first = start.map_or(step, |it| it.at);
    let until = end.map(|it| it.at);
    let start = Counted { first, fired: 0 };
    let reached = if count.is_none() { now } else { first };
    let Skipped { to: Counted { first, fired }, at, .. } =
        period.skip(start, reached, zone.as_deref())?;
    if until.is_some_and(|it| at > it) {
        return None;
    }
    let left = count.map(|it| it - 1);
    Some(Repeat { rhythm: Rhythm::Every(period), first, fired, left, until, zone }.due(at))
}

/// A cron expression, with the zone whose clocks it means.
fn recurrent(text: &str, weekdays: Weekdays, now: Timestamp) -> Result<Due, TimeError> {
    let wrong = |why: String| TimeError::NotACron { text: text.to_owned(), why };
    let (zone, expression) = split_zone(text);
    let clocks = zone_named(zone)
        .ok_or_else(|| wrong(format!("there is no time zone {}", zone.unwrap_or_default())))?;
    let cron = Cron::parse(expression, weekdays).map_err(wrong)?;
    let at = cron.next(now, &clocks).ok_or_else(|| TimeError::NeverFires(text.to_owned()))?;
    let zone = zone.map(Arc::from);
    let rhythm = Rhythm::Cron(cron);
    Ok(Repeat { rhythm, first: at, fired: 0, left: None, until: None, zone }.due(at))
}

#[cfg(test)]
mod tests;
