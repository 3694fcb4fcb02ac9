//! A time of day.

use std::{cmp::Ordering, fmt};

use travertine_value::Number;

use super::{DAY_SECONDS, DaysDuration, SECOND_NANOS, Zone, read::Reader};

/// A time of day, here or somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Nanoseconds after midnight.
    nanos: i64,
    zone: Zone,
}

impl Time {
    /// The time with these numbers, where there is one.
    pub fn new(hour: i64, minute: i64, second: i64, nanos: i64, zone: Zone) -> Option<Self> {
        let is_time = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..SECOND_NANOS).contains(&nanos);
        is_time.then(|| Self {
            nanos: (hour * 3_600 + minute * 60 + second) * SECOND_NANOS + nanos,
            zone,
        })
    }

    /// Reads `12:34:56.789`, with or without an offset or zone.
    pub fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader::new(text);
        reader.eat(b'T');
        let (time, _) = reader.time()?;
        reader.at_end().then_some(time)
    }

    pub(super) fn from_nanos(nanos: i64, zone: Zone) -> Self {
        debug_assert!((0..DAY_SECONDS * SECOND_NANOS).contains(&nanos), "within a day");
        Self { nanos, zone }
    }

    /// Midnight.
    pub fn midnight(zone: Zone) -> Self {
        Self { nanos: 0, zone }
    }

    /// The hour.
    pub fn hour(&self) -> i64 {
        self.second_of_day() / 3_600
    }

    /// The minute.
    pub fn minute(&self) -> i64 {
        self.second_of_day() / 60 % 60
    }

    /// The second, with its fraction.
    pub fn second(&self) -> Number {
        let nanos = Number::from(self.nanos % (60 * SECOND_NANOS));
        nanos.checked_div(SECOND_NANOS.into()).expect("the divisor is not nought")
    }

    /// Nanoseconds after midnight.
    pub fn nanos(&self) -> i64 {
        self.nanos
    }

    pub(super) fn second_of_day(&self) -> i64 {
        self.nanos / SECOND_NANOS
    }

    /// Where it is meant.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// How far ahead of UTC it is, where that is known.
    pub fn offset(&self) -> Option<DaysDuration> {
        self.zone.offset_of_time(self.second_of_day()).map(DaysDuration::from_seconds)
    }

    /// This time of the day in another zone.
    #[must_use]
    pub fn with_zone(&self, zone: Zone) -> Self {
        Self { nanos: self.nanos, zone }
    }

    /// The time after so long, around the clock.
    #[must_use]
    pub fn add(&self, duration: DaysDuration) -> Self {
        let day = i128::from(DAY_SECONDS) * i128::from(SECOND_NANOS);
        let nanos = (i128::from(self.nanos) + duration.nanos()).rem_euclid(day);
        let nanos = i64::try_from(nanos).expect("a day has fewer nanoseconds");
        Self { nanos, zone: self.zone.clone() }
    }

    /// How much later it is than another one; `None` where only one is tied to a place.
    pub fn since(&self, other: &Self) -> Option<DaysDuration> {
        let nanos = match (self.utc_nanos(), other.utc_nanos()) {
            (Some(one), Some(other)) => one - other,
            (None, None) => self.nanos - other.nanos,
            (Some(_), None) | (None, Some(_)) => return None,
        };
        DaysDuration::from_nanos(nanos.into())
    }

    /// Which is earlier; `None` where only one is tied to a place.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        self.since(other).map(|it| it.cmp(&DaysDuration::default()))
    }

    fn utc_nanos(&self) -> Option<i64> {
        let offset = self.zone.offset_of_time(self.second_of_day())?;
        Some(self.nanos - offset * SECOND_NANOS)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.second_of_day();
        write!(f, "{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)?;
        let nanos = self.nanos % SECOND_NANOS;
        if nanos != 0 {
            let digits = format!("{nanos:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        write!(f, "{}", self.zone)
    }
}
