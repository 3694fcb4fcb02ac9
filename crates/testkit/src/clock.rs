//! Times for tests: fixed, and written as people write them.

use travertine_kernel::time;
use travertine_runtime::Timestamp;

/// When tests begin: 2030-01-01T00:00:00Z, a time that no model mentions.
pub const DAWN: Timestamp = Timestamp(1_893_456_000_000);

const DAY_MS: i64 = 86_400_000;

/// So long after `now`, written as in ISO 8601: `PT5S`.
pub fn after(now: Timestamp, duration: &str) -> Result<Timestamp, String> {
    let due = time::due(time::Timer::Duration, duration, now);
    due.map(|it| it.at).map_err(|error| format!("{duration} is no duration: {error}"))
}

/// The time as in ISO 8601, in UTC and without saying so: `2030-01-01T00:00:05`.
pub fn local(time: Timestamp) -> String {
    let (days, ms) = (time.0.div_euclid(DAY_MS), time.0.rem_euclid(DAY_MS));
    let (year, month, day) = civil(days);
    let (seconds, ms) = (ms / 1000, ms % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = if ms == 0 { String::new() } else { format!(".{ms:03}") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}")
}

/// The date of a day counted from 1970-01-01, by Howard Hinnant's `civil_from_days`.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_in_iso_8601() {
        assert_eq!(local(DAWN), "2030-01-01T00:00:00");
        assert_eq!(local(Timestamp(951_782_400_000)), "2000-02-29T00:00:00");
        assert_eq!(local(Timestamp(-1)), "1969-12-31T23:59:59.999");
    }
}
