//! Times for tests: fixed, and written as people write them.

use travertine_value::time::{self, Timestamp};

/// When tests begin: 2030-01-01T00:00:00Z, a time that no model mentions.
pub const DAWN: Timestamp = Timestamp::from_millis(1_893_456_000_000);

/// So long after `now`, written as in ISO 8601: `PT5S`.
pub fn after(now: Timestamp, duration: &str) -> Result<Timestamp, String> {
    let due = time::due(time::Timer::Duration, duration, now);
    due.map(|it| it.at).map_err(|error| format!("{duration} is no duration: {error}"))
}

/// The time as in ISO 8601, in UTC and without saying so: `2030-01-01T00:00:05`.
pub fn local(time: Timestamp) -> String {
    time.to_string().trim_end_matches('Z').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_in_iso_8601() {
        assert_eq!(local(DAWN), "2030-01-01T00:00:00");
        assert_eq!(local(after(DAWN, "PT1H5.5S").unwrap()), "2030-01-01T01:00:05.5");
    }
}
