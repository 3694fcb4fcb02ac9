//! Points in time, for people.

use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) use travertine_data::text::between;
use travertine_runtime::Timestamp;
use travertine_value::time::{self, TimeError, Timer};

/// What the clock of this machine shows. In whole seconds, because people read it.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_millis(seconds.saturating_mul(1_000))
}

/// The point in time that a text of ISO 8601 means.
pub(crate) fn date(text: &str) -> Result<Timestamp, TimeError> {
    Ok(time::due(Timer::Date, text, Timestamp::default())?.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_their_two_largest_units() {
        let told = |millis| between(Timestamp::default(), Timestamp::from_millis(millis));
        assert_eq!(told(0), "0s");
        assert_eq!(told(1_500), "1s 500ms");
        assert_eq!(told(3 * 86_400_000 + 5), "3d 5ms");
        assert_eq!(told(90 * 60_000 + 1), "1h 30min");
    }

    #[test]
    fn a_date_is_read() {
        assert_eq!(date("2026-01-31T12:00:00Z").unwrap().to_string(), "2026-01-31T12:00:00Z");
        assert!(date("soon").is_err());
    }
}
