//! Dates, times, zones and durations as FEEL has them.
//!
//! The years of FEEL go far beyond those of the calendar library (to 999,999,999 either way), so
//! days are counted here; the library is asked for the rules of time zones only.

mod date;
mod date_time;
mod duration;
mod read;
mod time;
mod zone;

pub use date::Date;
pub use date_time::DateTime;
pub use duration::{DaysDuration, YearsDuration};
pub use time::Time;
pub use zone::Zone;

pub(super) use date::{MONTHS, WEEKDAYS};

/// Seconds of a day.
const DAY_SECONDS: i64 = 86_400;
/// Nanoseconds of a second.
const SECOND_NANOS: i64 = 1_000_000_000;
