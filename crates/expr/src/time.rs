//! Points in time, and the timers that models write in ISO 8601.
//!
//! A timer's text becomes a [`Due`]: when it fires, and how it goes on. There is no clock here: `now`
//! comes from the caller. Cron expressions are not understood yet.

use std::{fmt, sync::Arc};

use jiff::{Span, Zoned, civil, tz::TimeZone};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// So many milliseconds after the beginning of 1970; before it, where negative.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds after the beginning of 1970.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The point so many milliseconds later, or the last one there is.
    #[must_use]
    pub const fn after_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }
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
    /// A time span again and again.
    Cycle,
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
    /// The time between two firings.
    pub period: Period,
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
    /// It looks like a cron expression.
    Cron(String),
    /// It leaves the years that can be counted.
    OutOfRange(String),
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotADate(text) => write!(f, "not a date such as 2026-01-31T12:00:00Z: {text}"),
            Self::NotADuration(text) => write!(f, "not a duration such as PT5M or P1D: {text}"),
            Self::NotACycle(text) => write!(f, "not a cycle such as R3/PT10S: {text}"),
            Self::NeverFires(text) => write!(f, "the cycle would never fire: {text}"),
            Self::Cron(text) => write!(f, "cron expressions are not supported: {text}"),
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
        Timer::Cycle => cycle(text, now),
    }
}

impl Repeat {
    /// The firing after the one that was due at `previous`.
    pub fn next(&self, previous: Timestamp) -> Option<Due> {
        if self.left == Some(0) {
            return None;
        }
        let mut next = Self {
            fired: self.fired.checked_add(1)?,
            left: self.left.map(|it| it - 1),
            ..self.clone()
        };
        let mut at = next.period.times(next.fired, next.first, next.zone.as_deref())?;
        if at <= previous {
            // The timer was moved by hand; go on from there.
            next.first = previous;
            next.fired = 1;
            at = next.period.times(1, previous, next.zone.as_deref())?;
        }
        if self.until.is_some_and(|it| at > it) {
            return None;
        }
        Some(next.due(at))
    }

    /// The firing at this point, with what comes after it.
    fn due(self, at: Timestamp) -> Due {
        let goes_on = self.left != Some(0);
        Due { at, repeat: goes_on.then_some(self) }
    }
}

impl Period {
    /// The point `times` periods after `start`, by the calendar.
    fn times(self, times: u32, start: Timestamp, zone: Option<&str>) -> Option<Timestamp> {
        let times = i64::from(times);
        let zone = zone.map_or(Some(TimeZone::UTC), |it| TimeZone::get(it).ok())?;
        let span = Span::new()
            .try_months(i64::from(self.months).checked_mul(times)?)
            .and_then(|it| it.try_days(i64::from(self.days).saturating_mul(times)))
            .and_then(|it| it.try_milliseconds(self.millis.saturating_mul(times)));
        let start = jiff::Timestamp::from_millisecond(start.0).ok()?.to_zoned(zone);
        let end = start.checked_add(span.ok()?).ok()?;
        Some(Timestamp(end.timestamp().as_millisecond()))
    }
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

/// `R3/PT10S`, `R/<start>/PT1H` or `R3/PT1H/<end>`.
fn cycle(text: &str, now: Timestamp) -> Result<Due, TimeError> {
    let malformed = || TimeError::NotACycle(text.to_owned());
    // The name of a zone has a slash of its own.
    let mut in_brackets = false;
    let mut parts = text.split(move |it: char| {
        in_brackets = it == '[' || (in_brackets && it != ']');
        it == '/' && !in_brackets
    });
    let count = parts.next().and_then(|it| it.strip_prefix('R'));
    let Some(count) = count.filter(|_| text.contains('/') && text.len() > 1) else {
        let is_cron = text.starts_with('@') || (5..=7).contains(&text.split_whitespace().count());
        return Err(if is_cron { TimeError::Cron(text.to_owned()) } else { malformed() });
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
    first(count, start, period, end, now).ok_or_else(|| TimeError::NeverFires(text.to_owned()))
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
    let fired = if count.is_none() && first < now {
        periods_before(period, first, now, zone.as_deref())?
    } else {
        0
    };
    let at = period.times(fired, first, zone.as_deref())?;
    if until.is_some_and(|it| at > it) {
        return None;
    }
    Some(Repeat { period, first, fired, left: count.map(|it| it - 1), until, zone }.due(at))
}

/// How many periods pass from `first` until `now` is reached.
fn periods_before(
    period: Period,
    first: Timestamp,
    now: Timestamp,
    zone: Option<&str>,
) -> Option<u32> {
    let reached = |it: u32| period.times(it, first, zone).is_some_and(|at| at >= now);
    let (mut low, mut high) = (0, 1_u32);
    while !reached(high) {
        low = high;
        high = high.checked_mul(2)?;
        // Beyond the calendar it is never reached.
        period.times(low, first, zone)?;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if reached(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: &str = "2026-01-31T12:00:00Z";

    fn now() -> Timestamp {
        date(NOW).unwrap().at
    }

    fn when(timer: Timer, text: &str) -> String {
        match due(timer, text, now()) {
            Ok(due) => due.at.to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// The first firings of a cycle.
    fn firings(text: &str, most: usize) -> String {
        let mut firings = Vec::new();
        let mut next = match due(Timer::Cycle, text, now()) {
            Ok(due) => Some(due),
            Err(error) => return error.to_string(),
        };
        while let Some(due) = next
            && firings.len() < most
        {
            firings.push(due.at.to_string());
            next = due.repeat.and_then(|it| it.next(due.at));
        }
        firings.join(" ")
    }

    #[test]
    fn durations_count_from_now() {
        for (text, expected) in [
            ("PT5S", "2026-01-31T12:00:05Z"),
            ("PT0.25S", "2026-01-31T12:00:00.25Z"),
            ("P1DT2H", "2026-02-01T14:00:00Z"),
            ("P2W", "2026-02-14T12:00:00Z"),
            ("P1M", "2026-02-28T12:00:00Z"),
            ("P1Y", "2027-01-31T12:00:00Z"),
            (" PT1H ", "2026-01-31T13:00:00Z"),
            ("PT0S", NOW),
            ("-PT5S", NOW),
            ("5 minutes", "not a duration such as PT5M or P1D: 5 minutes"),
            ("P", "not a duration such as PT5M or P1D: P"),
            ("", "not a duration such as PT5M or P1D: "),
            ("PT5X", "not a duration such as PT5M or P1D: PT5X"),
            ("P9000Y", "the time is out of range: P9000Y"),
        ] {
            assert_eq!(when(Timer::Duration, text), expected, "{text}");
        }
    }

    #[test]
    fn dates_have_an_offset_a_zone_or_utc() {
        for (text, expected) in [
            ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"),
            ("2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00Z"),
            ("2026-03-01T10:00:00.5-05:00", "2026-03-01T15:00:00.5Z"),
            ("2026-07-01T10:00:00[Europe/Berlin]", "2026-07-01T08:00:00Z"),
            ("2026-01-01T10:00:00+01:00[Europe/Berlin]", "2026-01-01T09:00:00Z"),
            ("2026-03-01T10:00:00", "2026-03-01T10:00:00Z"),
            ("2026-03-01", "2026-03-01T00:00:00Z"),
            ("2020-03-01", "2020-03-01T00:00:00Z"),
            ("tomorrow", "not a date such as 2026-01-31T12:00:00Z: tomorrow"),
            ("2026-02-30", "not a date such as 2026-01-31T12:00:00Z: 2026-02-30"),
            (
                "2026-01-01T00:00[Mars/Base]",
                "not a date such as 2026-01-31T12:00:00Z: 2026-01-01T00:00[Mars/Base]",
            ),
        ] {
            assert_eq!(when(Timer::Date, text), expected, "{text}");
        }
    }

    #[test]
    fn cycles_fire_as_often_as_they_say() {
        for (text, expected) in [
            ("R2/PT10S", "2026-01-31T12:00:10Z 2026-01-31T12:00:20Z"),
            ("R1/PT10S", "2026-01-31T12:00:10Z"),
            ("R/PT1H", "2026-01-31T13:00:00Z 2026-01-31T14:00:00Z 2026-01-31T15:00:00Z"),
            ("R-1/PT1H", "2026-01-31T13:00:00Z 2026-01-31T14:00:00Z 2026-01-31T15:00:00Z"),
            ("R2/2026-02-01T00:00:00Z/PT1H", "2026-02-01T00:00:00Z 2026-02-01T01:00:00Z"),
            ("R5/PT1H/2026-01-31T14:30:00Z", "2026-01-31T13:00:00Z 2026-01-31T14:00:00Z"),
            ("R2/2020-01-01T00:00:00Z/PT1H", "2020-01-01T00:00:00Z 2020-01-01T01:00:00Z"),
        ] {
            assert_eq!(firings(text, 3), expected, "{text}");
        }
    }

    #[test]
    fn months_do_not_drift() {
        assert_eq!(
            firings("R/2026-01-31T00:00:00Z/P1M", 3),
            "2026-02-28T00:00:00Z 2026-03-31T00:00:00Z 2026-04-30T00:00:00Z"
        );
    }

    #[test]
    fn days_are_those_of_the_zone() {
        assert_eq!(
            firings("R2/2026-03-28T09:00:00[Europe/Berlin]/P1D", 3),
            "2026-03-28T08:00:00Z 2026-03-29T07:00:00Z"
        );
    }

    #[test]
    fn an_endless_cycle_skips_what_it_missed() {
        assert_eq!(
            firings("R/2000-01-01T00:00:07Z/PT10S", 2),
            "2026-01-31T12:00:07Z 2026-01-31T12:00:17Z"
        );
        assert_eq!(firings(&format!("R/{NOW}/PT10S"), 1), NOW);
    }

    #[test]
    fn a_timer_moved_by_hand_goes_on_from_there() {
        let due = due(Timer::Cycle, "R3/PT1H", now()).unwrap();
        let moved = now().after_millis(86_400_000);
        let next = due.repeat.unwrap().next(moved).unwrap();
        assert_eq!(next.at.to_string(), "2026-02-01T13:00:00Z");
        assert_eq!(next.repeat.unwrap().left, Some(1));
    }

    #[test]
    fn what_is_no_cycle_is_refused() {
        for (text, expected) in [
            ("PT10S", "not a cycle such as R3/PT10S: PT10S"),
            ("R3", "not a cycle such as R3/PT10S: R3"),
            ("R/", "not a duration such as PT5M or P1D: "),
            ("Rx/PT1S", "not a cycle such as R3/PT10S: Rx/PT1S"),
            ("R3/PT1S/2026-02-01/x", "not a cycle such as R3/PT10S: R3/PT1S/2026-02-01/x"),
            ("R/PT0S", "the cycle would never fire: R/PT0S"),
            ("R/-PT5S", "the cycle would never fire: R/-PT5S"),
            ("R0/PT5S", "the cycle would never fire: R0/PT5S"),
            ("R/PT5S/2020-01-01", "the cycle would never fire: R/PT5S/2020-01-01"),
            ("0 0 9 ? * MON-FRI", "cron expressions are not supported: 0 0 9 ? * MON-FRI"),
            ("0 0/5 * * * ?", "cron expressions are not supported: 0 0/5 * * * ?"),
            ("@daily", "cron expressions are not supported: @daily"),
        ] {
            assert_eq!(firings(text, 1), expected, "{text}");
        }
    }

    #[test]
    fn points_beyond_the_calendar_still_print() {
        assert_eq!(
            Timestamp::from_millis(i64::MAX).to_string(),
            "9223372036854775807 ms after 1970"
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_a_timer_panic(text in r"[RPT0-9DHMSYW/:Z+.\[\]aE -]{0,24}") {
            for timer in [Timer::Date, Timer::Duration, Timer::Cycle] {
                if let Ok(Due { at, repeat: Some(repeat) }) = due(timer, &text, now()) {
                    let _ = repeat.next(at);
                }
            }
        }

        #[test]
        fn each_firing_comes_after_the_one_before(months in 0..30_i32, days in 0..40_i32, millis in 1..99_999_999_i64) {
            let text = format!("R/P{months}M{days}DT{}.{:03}S", millis / 1000, millis % 1000);
            let first = due(Timer::Cycle, &text, now()).unwrap();
            let second = first.repeat.as_ref().unwrap().next(first.at).unwrap();
            prop_assert!(now() < first.at && first.at < second.at);
        }
    }
}
