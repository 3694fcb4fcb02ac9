//! How the clock of a time relates to that of the world.

use std::fmt;

use jiff::{
    civil,
    tz::{AmbiguousOffset, TimeZone},
};

use super::{DAY_SECONDS, Date};

/// Offsets reach so far on either side.
const OFFSET_SECONDS_MAX: i32 = 18 * 3_600;

/// The years in which the library knows the rules of zones, well inside its range. The rules of other
/// years are those of a year with the same calendar.
const YEARS_WITH_RULES: std::ops::RangeInclusive<i64> = -9_000..=9_000;

/// Where a time is meant.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Zone {
    /// Wherever one is.
    #[default]
    Local,
    /// So many seconds ahead of UTC.
    Offset(i32),
    /// Where the rules of this zone hold.
    Named(TimeZone),
}

impl Zone {
    /// UTC.
    pub const UTC: Self = Self::Offset(0);

    /// So many seconds ahead of UTC, where that is possible.
    pub fn from_offset(seconds: i64) -> Option<Self> {
        let seconds = i32::try_from(seconds).ok()?;
        (seconds.abs() <= OFFSET_SECONDS_MAX).then_some(Self::Offset(seconds))
    }

    /// The zone of that name in the IANA database.
    pub fn from_name(name: &str) -> Option<Self> {
        TimeZone::get(name).ok().map(Self::Named)
    }

    /// The name, where it has one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(zone) => zone.iana_name(),
            Self::Local | Self::Offset(_) => None,
        }
    }

    /// Seconds ahead of UTC when the clocks there show this.
    pub(super) fn offset_at(&self, date: Date, second_of_day: i64) -> Option<i64> {
        match self {
            Self::Local => None,
            Self::Offset(seconds) => Some((*seconds).into()),
            Self::Named(zone) => {
                let local = with_rules(date, second_of_day)?;
                // Clocks that skip a time, or show it twice: as they went before they were changed.
                let offset = match zone.to_ambiguous_timestamp(local).offset() {
                    AmbiguousOffset::Unambiguous { offset } => offset,
                    AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => {
                        before
                    }
                };
                Some(offset.seconds().into())
            }
        }
    }

    /// Seconds ahead of UTC when clocks in UTC show this.
    pub(super) fn offset_at_utc(&self, date: Date, second_of_day: i64) -> Option<i64> {
        match self {
            Self::Local => None,
            Self::Offset(seconds) => Some((*seconds).into()),
            Self::Named(zone) => {
                let utc = with_rules(date, second_of_day)?.to_zoned(TimeZone::UTC).ok()?;
                Some(zone.to_offset(utc.timestamp()).seconds().into())
            }
        }
    }

    /// Seconds ahead of UTC for a time without a date. A zone with summer time has no single answer;
    /// we take that of a fixed winter day, so that the same model always gives the same.
    pub(super) fn offset_of_time(&self, second_of_day: i64) -> Option<i64> {
        self.offset_at(Date::new(2000, 1, 1).expect("a day"), second_of_day)
    }
}

impl fmt::Display for Zone {
    /// As it stands behind a time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => Ok(()),
            Self::Offset(0) => f.write_str("Z"),
            Self::Offset(seconds) => {
                let sign = if *seconds < 0 { '-' } else { '+' };
                let seconds = seconds.abs();
                write!(f, "{sign}{:02}:{:02}", seconds / 3_600, seconds / 60 % 60)?;
                if seconds % 60 != 0 {
                    write!(f, ":{:02}", seconds % 60)?;
                }
                Ok(())
            }
            Self::Named(zone) => write!(f, "@{}", zone.iana_name().unwrap_or("UTC")),
        }
    }
}

/// The moment in the library's calendar, moved by whole cycles of 400 years where it has to be.
fn with_rules(date: Date, second_of_day: i64) -> Option<civil::DateTime> {
    debug_assert!((0..DAY_SECONDS).contains(&second_of_day), "a second of a day");
    let (year, month, day) = date.parts();
    let year = if YEARS_WITH_RULES.contains(&year) {
        year
    } else {
        let edge = if year < 0 { -8_800 } else { 8_800 };
        edge + year.rem_euclid(400)
    };
    let narrow = |number: i64| i8::try_from(number).ok();
    civil::DateTime::new(
        i16::try_from(year).ok()?,
        narrow(month)?,
        narrow(day)?,
        narrow(second_of_day / 3_600)?,
        narrow(second_of_day / 60 % 60)?,
        narrow(second_of_day % 60)?,
        0,
    )
    .ok()
}
