//! The two durations: of months, and of seconds. They never mix, for a month is no number of days.

use std::fmt;

use travertine_value::Number;

use super::{DAY_SECONDS, SECOND_NANOS, read::Reader};

/// A duration of years and months.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct YearsDuration {
    months: i64,
}

impl YearsDuration {
    /// So many months.
    pub fn from_months(months: i64) -> Self {
        Self { months }
    }

    /// All of it in months.
    pub fn months(self) -> i64 {
        self.months
    }

    /// Reads `P1Y2M`.
    pub fn parse(text: &str) -> Option<Self> {
        Reader::new(text).years_duration()
    }
}

impl fmt::Display for YearsDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (years, months) = (self.months.unsigned_abs() / 12, self.months.unsigned_abs() % 12);
        f.write_str(if self.months < 0 { "-P" } else { "P" })?;
        if years != 0 {
            write!(f, "{years}Y")?;
        }
        if months != 0 || years == 0 {
            write!(f, "{months}M")?;
        }
        Ok(())
    }
}

/// A duration of days, hours, minutes, seconds and fractions of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DaysDuration {
    /// Whole seconds, rounded down.
    seconds: i64,
    /// What is left, from 0.
    nanos: u32,
}

impl DaysDuration {
    /// So many seconds.
    pub fn from_seconds(seconds: i64) -> Self {
        Self { seconds, nanos: 0 }
    }

    /// So many nanoseconds, where they fit.
    pub fn from_nanos(nanos: i128) -> Option<Self> {
        let second = i128::from(SECOND_NANOS);
        let rest = u32::try_from(nanos.rem_euclid(second)).expect("below a second");
        Some(Self { seconds: i64::try_from(nanos.div_euclid(second)).ok()?, nanos: rest })
    }

    /// So many seconds and parts of one, to the nanosecond.
    pub fn from_number(seconds: Number) -> Option<Self> {
        let nanos = seconds.checked_mul(SECOND_NANOS.into()).ok()?;
        Self::from_nanos(nanos.round(0, travertine_value::Rounding::Down).ok()?.to_i128()?)
    }

    /// All of it in nanoseconds.
    pub fn nanos(self) -> i128 {
        i128::from(self.seconds) * i128::from(SECOND_NANOS) + i128::from(self.nanos)
    }

    /// All of it in seconds.
    pub fn to_number(self) -> Number {
        let fraction = Number::from(self.nanos).checked_div(SECOND_NANOS.into());
        let fraction = fraction.expect("the divisor is not nought");
        fraction.checked_add(self.seconds.into()).expect("28 digits fit")
    }

    /// All of it in whole seconds.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// Days, hours, minutes and seconds; all with the sign of the whole.
    pub fn parts(self) -> (i64, i64, i64, Number) {
        let sign = if self.seconds < 0 { -1 } else { 1 };
        let positive = self.nanos().unsigned_abs();
        let seconds = i64::try_from(positive / 1_000_000_000).unwrap_or(i64::MAX);
        let nanos = u32::try_from(positive % 1_000_000_000).expect("below a second");
        let second = Self { seconds: seconds % 60, nanos }.to_number();
        let second = if sign < 0 { second.negated() } else { second };
        let (days, hours, minutes) =
            (seconds / DAY_SECONDS, seconds / 3_600 % 24, seconds / 60 % 60);
        (sign * days, sign * hours, sign * minutes, second)
    }

    /// Reads `P1DT2H3M4.5S`.
    pub fn parse(text: &str) -> Option<Self> {
        Reader::new(text).days_duration()
    }
}

impl fmt::Display for DaysDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, hours, minutes, seconds) = self.parts();
        f.write_str(if self.seconds < 0 { "-P" } else { "P" })?;
        if days != 0 {
            write!(f, "{}D", days.abs())?;
        }
        let no_seconds = seconds == Number::ZERO;
        if (hours, minutes) == (0, 0) && no_seconds {
            return if days == 0 { f.write_str("T0S") } else { Ok(()) };
        }
        f.write_str("T")?;
        if hours != 0 {
            write!(f, "{}H", hours.abs())?;
        }
        if minutes != 0 {
            write!(f, "{}M", minutes.abs())?;
        }
        if !no_seconds {
            write!(f, "{}S", seconds.abs())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_in_their_shortest_form() {
        for (text, printed) in [
            ("PT0.999S", "PT0.999S"),
            ("PT0.S", "PT0S"),
            ("-PT1H2M", "-PT1H2M"),
            ("PT1000M0.999999999S", "PT16H40M0.999999999S"),
            ("PT240H", "P10D"),
            ("-PT0.5S", "-PT0.5S"),
        ] {
            assert_eq!(DaysDuration::parse(text).unwrap().to_string(), printed, "{text}");
        }
        for (text, printed) in [("P0Y", "P0M"), ("P1Y27M", "P3Y3M"), ("-P100M", "-P8Y4M")] {
            assert_eq!(YearsDuration::parse(text).unwrap().to_string(), printed, "{text}");
        }
        for text in ["", "P", "PT", "1Y", "P1H", "P1Y1D", "P1D1Y", "PT1M1H", "P1", "P1DT", "--P1D"]
        {
            assert_eq!(DaysDuration::parse(text), None, "{text}");
            assert_eq!(YearsDuration::parse(text), None, "{text}");
        }
    }
}
