//! A day and a time of it.

use std::{cmp::Ordering, fmt};

use travertine_value::time::Timestamp;

use super::{
    DAY_SECONDS, Date, DaysDuration, SECOND_NANOS, Time, YearsDuration, Zone, read::Reader,
};

const DAY_NANOS: i128 = DAY_SECONDS as i128 * SECOND_NANOS as i128;

/// A day and a time of it, here or somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct DateTime {
    date: Date,
    time: Time,
}

impl DateTime {
    /// Both together; the time says where.
    pub fn new(date: Date, time: Time) -> Self {
        Self { date, time }
    }

    /// Reads `2024-02-29T12:34:56`, with or without an offset or zone, or a date, which is its midnight.
    pub fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader::new(text);
        let date = reader.date()?;
        if reader.at_end() {
            return Some(Self { date, time: Time::midnight(Zone::Local) });
        }
        reader.eat(b'T').then_some(())?;
        let (time, is_end_of_day) = reader.time()?;
        let date = if is_end_of_day { Date::from_days(date.days() + 1)? } else { date };
        reader.at_end().then_some(Self { date, time })
    }

    /// A point in time as the clocks of a zone show it; without one, in UTC.
    pub fn from_timestamp(timestamp: Timestamp, zone: Zone) -> Option<Self> {
        let zone = if zone == Zone::Local { Zone::UTC } else { zone };
        Self::from_utc_nanos(i128::from(timestamp.as_millis()) * 1_000_000, zone)
    }

    /// The day.
    pub fn date(&self) -> Date {
        self.date
    }

    /// The time of the day.
    pub fn time(&self) -> &Time {
        &self.time
    }

    /// Where it is meant.
    pub fn zone(&self) -> &Zone {
        self.time.zone()
    }

    /// How far ahead of UTC it is, where that is known.
    pub fn offset(&self) -> Option<DaysDuration> {
        self.offset_seconds().map(DaysDuration::from_seconds)
    }

    /// This point in time as the clocks of another zone show it.
    pub fn in_zone(&self, zone: Zone) -> Option<Self> {
        Self::from_utc_nanos(self.utc_nanos()?, zone)
    }

    /// This time of the day so many months later.
    pub fn add_months(&self, duration: YearsDuration) -> Option<Self> {
        Some(Self { date: self.date.add_months(duration)?, time: self.time.clone() })
    }

    /// The point in time so much later.
    pub fn add(&self, duration: DaysDuration) -> Option<Self> {
        match self.utc_nanos() {
            Some(nanos) => Self::from_utc_nanos(nanos + duration.nanos(), self.zone().clone()),
            None => Self::from_local_nanos(self.local_nanos() + duration.nanos(), Zone::Local),
        }
    }

    /// How much later it is than another one; `None` where only one is tied to a place.
    pub fn since(&self, other: &Self) -> Option<DaysDuration> {
        let nanos = match (self.utc_nanos(), other.utc_nanos()) {
            (Some(one), Some(other)) => one - other,
            (None, None) => self.local_nanos() - other.local_nanos(),
            (Some(_), None) | (None, Some(_)) => return None,
        };
        DaysDuration::from_nanos(nanos)
    }

    /// Which is earlier; `None` where only one is tied to a place.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        self.since(other).map(|it| it.cmp(&DaysDuration::default()))
    }

    fn local_nanos(&self) -> i128 {
        i128::from(self.date.days()) * DAY_NANOS + i128::from(self.time.nanos())
    }

    fn offset_seconds(&self) -> Option<i64> {
        self.zone().offset_at(self.date, self.time.second_of_day())
    }

    fn utc_nanos(&self) -> Option<i128> {
        let offset = i128::from(self.offset_seconds()?) * i128::from(SECOND_NANOS);
        Some(self.local_nanos() - offset)
    }

    fn from_local_nanos(nanos: i128, zone: Zone) -> Option<Self> {
        let date = Date::from_days(i64::try_from(nanos.div_euclid(DAY_NANOS)).ok()?)?;
        let nanos = i64::try_from(nanos.rem_euclid(DAY_NANOS)).expect("within a day");
        Some(Self { date, time: Time::from_nanos(nanos, zone) })
    }

    fn from_utc_nanos(nanos: i128, zone: Zone) -> Option<Self> {
        let utc = Self::from_local_nanos(nanos, Zone::UTC)?;
        let offset = zone.offset_at_utc(utc.date, utc.time.second_of_day())?;
        Self::from_local_nanos(nanos + i128::from(offset) * i128::from(SECOND_NANOS), zone)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.date, self.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date_time(text: &str) -> DateTime {
        DateTime::parse(text).unwrap()
    }

    #[test]
    fn texts_come_back_as_they_went_in() {
        for text in [
            "2017-12-31T11:22:33.456+01:35",
            "-2021-01-01T10:10:10@Australia/Melbourne",
            "999999999-12-31T23:59:59.999999999@Europe/Paris",
            "2018-12-08T10:30:11Z",
        ] {
            assert_eq!(date_time(text).to_string(), text);
        }
        for text in ["2017-12-31T24:00:01", "2017-12-31T7:00:00", "2017-12-31T13:20:00@xyz/abc"] {
            assert_eq!(DateTime::parse(text), None, "{text}");
        }
    }

    #[test]
    fn points_in_time_are_compared_wherever_they_are_meant() {
        let paris = date_time("2018-02-08T00:00:00@Europe/Paris");
        assert_eq!(paris.compare(&date_time("2018-02-07T23:00:00Z")), Some(Ordering::Equal));
        assert_eq!(paris.compare(&date_time("2018-02-08T00:00:00")), None);
    }

    #[test]
    fn an_hour_passes_when_the_clocks_change() {
        let before = date_time("2024-03-31T01:30:00@Europe/Berlin");
        let after = before.add(DaysDuration::from_seconds(3_600)).unwrap();
        assert_eq!(after.to_string(), "2024-03-31T03:30:00@Europe/Berlin");
        // There is no half past two: it is an hour and a half after one.
        let skipped = date_time("2024-03-31T02:30:00@Europe/Berlin");
        let shown = skipped.add(DaysDuration::default()).unwrap();
        assert_eq!(shown.to_string(), "2024-03-31T03:30:00@Europe/Berlin");
        assert_eq!(skipped.compare(&shown), Some(Ordering::Equal));
    }
}
