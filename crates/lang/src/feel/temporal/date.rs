//! A day of the calendar.

use std::fmt;

use super::{YearsDuration, read::Reader};

/// The names of the days of the week, Monday first.
pub(in super::super) const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The names of the months.
pub(in super::super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const YEAR_MAX: i64 = 999_999_999;
/// Days of 400 years, after which the calendar repeats.
const CYCLE_DAYS: i64 = 146_097;

/// A day of the proleptic Gregorian calendar, of the years -999,999,999 to 999,999,999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// Days after 1970-01-01.
    days: i64,
}

impl Date {
    /// The day with these numbers, where there is one.
    pub fn new(year: i64, month: i64, day: i64) -> Option<Self> {
        let is_day = (-YEAR_MAX..=YEAR_MAX).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day);
        is_day.then(|| Self { days: days_from_civil(year, month, day) })
    }

    /// Reads `2024-02-29`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader::new(text);
        let date = reader.date()?;
        reader.at_end().then_some(date)
    }

    /// The day so many days after 1970-01-01, where the calendar reaches that far.
    pub fn from_days(days: i64) -> Option<Self> {
        let first = days_from_civil(-YEAR_MAX, 1, 1);
        let last = days_from_civil(YEAR_MAX, 12, 31);
        (first..=last).contains(&days).then_some(Self { days })
    }

    /// Days after 1970-01-01.
    pub fn days(self) -> i64 {
        self.days
    }

    /// Year, month and day.
    pub fn parts(self) -> (i64, i64, i64) {
        civil_from_days(self.days)
    }

    /// The year.
    pub fn year(self) -> i64 {
        self.parts().0
    }

    /// The month, from 1.
    pub fn month(self) -> i64 {
        self.parts().1
    }

    /// The day of the month, from 1.
    pub fn day(self) -> i64 {
        self.parts().2
    }

    /// The day of the week: Monday is 1, Sunday is 7.
    pub fn weekday(self) -> i64 {
        (self.days + 3).rem_euclid(7) + 1
    }

    /// The day of the year, from 1.
    pub fn day_of_year(self) -> i64 {
        self.days - days_from_civil(self.year(), 1, 1) + 1
    }

    /// The number of the week, as ISO 8601 counts weeks: the first one has the year's first Thursday.
    pub fn week_of_year(self) -> i64 {
        let thursday = Self { days: self.days - self.weekday() + 4 };
        (thursday.day_of_year() - 1) / 7 + 1
    }

    /// The last day of the same month.
    #[must_use]
    pub fn last_of_month(self) -> Self {
        let (year, month, _) = self.parts();
        Self { days: days_from_civil(year, month, days_in_month(year, month)) }
    }

    /// The day so many months later; in a shorter month, its last day.
    pub fn add_months(self, duration: YearsDuration) -> Option<Self> {
        let (year, month, day) = self.parts();
        let months = (year * 12 + month - 1).checked_add(duration.months())?;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        if !(-YEAR_MAX..=YEAR_MAX).contains(&year) {
            return None;
        }
        Self::new(year, month, day.min(days_in_month(year, month)))
    }

    /// Whole months from this day to another; negative to an earlier one.
    pub fn months_until(self, other: Self) -> YearsDuration {
        let (year, month, day) = self.parts();
        let (other_year, other_month, other_day) = other.parts();
        let months = (other_year - year) * 12 + other_month - month;
        YearsDuration::from_months(if months > 0 && other_day < day {
            months - 1
        } else if months < 0 && other_day > day {
            months + 1
        } else {
            months
        })
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.parts();
        let sign = if year < 0 { "-" } else { "" };
        write!(f, "{sign}{:04}-{month:02}-{day:02}", year.abs())
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Years are counted from March, so that the leap day is the last one of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (cycle, year_of_cycle) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * CYCLE_DAYS + day_of_cycle - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (cycle, day_of_cycle) = (shifted.div_euclid(CYCLE_DAYS), shifted.rem_euclid(CYCLE_DAYS));
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524
        - day_of_cycle / 146_096)
        / 365;
    let day_of_year =
        day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_cycle + cycle * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree_both_ways() {
        for days in (-1_000_000..1_000_000).step_by(997) {
            let date = Date::from_days(days).unwrap();
            let (year, month, day) = date.parts();
            assert_eq!(Date::new(year, month, day), Some(date));
        }
        assert_eq!(Date::new(1970, 1, 1).unwrap().days(), 0);
        assert_eq!(Date::new(2000, 3, 1).unwrap().days(), 11_017);
    }

    #[test]
    fn weeks_are_those_of_iso_8601() {
        for (text, week, weekday) in [
            ("2019-09-17", 38, 2),
            ("2003-12-31", 1, 3),
            ("2010-01-01", 53, 5),
            ("2005-01-01", 53, 6),
        ] {
            let date = Date::parse(text).unwrap();
            assert_eq!((date.week_of_year(), date.weekday()), (week, weekday), "{text}");
        }
    }

    #[test]
    fn the_last_of_january_and_a_month_is_the_last_of_february() {
        let date = Date::parse("2024-01-31").unwrap();
        assert_eq!(date.add_months(YearsDuration::from_months(1)), Date::new(2024, 2, 29));
        assert_eq!(date.add_months(YearsDuration::from_months(i64::MAX)), None);
    }
}
