//! Points in time, for people.

use std::time::{SystemTime, UNIX_EPOCH};

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

/// The point in time a duration of ISO 8601 after `from`.
pub(crate) fn after(from: Timestamp, duration: &str) -> Result<Timestamp, TimeError> {
    Ok(time::due(Timer::Duration, duration, from)?.at)
}

/// How long it is from one point to another, in the two largest units: `2d 3h`.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> String {
    const UNITS: [(&str, i64); 5] =
        [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];
    let mut rest = to.as_millis().saturating_sub(from.as_millis()).max(0);
    let mut parts = Vec::new();
    for (unit, size) in UNITS {
        if rest >= size && parts.len() < 2 {
            parts.push(format!("{}{unit}", rest / size));
            rest %= size;
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
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
    fn a_date_and_a_duration_meet() {
        let from = date("2026-01-31T12:00:00Z").unwrap();
        assert_eq!(after(from, "P1DT1H").unwrap().to_string(), "2026-02-01T13:00:00Z");
        assert!(after(from, "soon").is_err());
    }
}
