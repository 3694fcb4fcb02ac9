//! How often and how fast activities are tried again.

use std::time::Duration;

/// Reads a time span: a whole number with its unit, `100ms`, `2s`, `5m`, `1h` or `7d`.
///
/// It can be called where constants are made, so a wrong text need not wait for its run.
///
/// ```
/// use std::time::Duration;
/// use travertine_func::parse_duration;
///
/// const HOUR: Duration = parse_duration("1h").unwrap();
/// assert_eq!(HOUR, Duration::from_secs(3600));
/// assert_eq!(parse_duration("soon"), None);
/// ```
pub const fn parse_duration(text: &str) -> Option<Duration> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut count: u64 = 0;
    while at < bytes.len() && bytes[at].is_ascii_digit() {
        let digit = (bytes[at] - b'0') as u64;
        let Some(tens) = count.checked_mul(10) else { return None };
        let Some(sum) = tens.checked_add(digit) else { return None };
        count = sum;
        at += 1;
    }
    if at == 0 {
        return None;
    }
    let unit_ms = match bytes.split_at(at).1 {
        b"ms" => 1,
        b"s" => 1_000,
        b"m" => 60_000,
        b"h" => 3_600_000,
        b"d" => 86_400_000,
        _ => return None,
    };
    match count.checked_mul(unit_ms) {
        Some(millis) => Some(Duration::from_millis(millis)),
        None => None,
    }
}

/// How an activity that failed is tried again.
///
/// ```
/// # use travertine_func as travertine;
/// use std::time::Duration;
/// use travertine::Retry;
///
/// let retry = Retry::exponential("100ms", 2.0).max(5);
/// assert_eq!(retry.attempts, 5);
/// assert_eq!(retry.delay(1), Duration::from_millis(100));
/// assert_eq!(retry.delay(3), Duration::from_millis(400));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// How often it is tried at most, the first time included.
    pub attempts: u32,
    /// The pause after the first attempt.
    pub initial: Duration,
    /// How many times longer each further pause is.
    pub factor: f64,
    /// The longest pause.
    pub max_delay: Duration,
}

impl Retry {
    /// Three attempts, 100 ms and 200 ms apart.
    pub const DEFAULT: Self = Self::exponential("100ms", 2.0);

    /// One attempt, and no other.
    ///
    /// ```
    /// # use travertine_func::Retry;
    /// assert_eq!(Retry::never().attempts, 1);
    /// ```
    pub const fn never() -> Self {
        Self::DEFAULT.max(1)
    }

    /// Three attempts, unless [`max`](Self::max) says otherwise, with pauses that grow, up to an hour.
    ///
    /// # Panics
    /// Where `initial` is no time span; in a constant that is an error of the compiler.
    ///
    /// ```
    /// # use travertine_func::Retry;
    /// let retry = Retry::exponential("1s", 3.0);
    /// assert_eq!([1, 2, 3].map(|failed| retry.delay(failed).as_secs()), [1, 3, 9]);
    /// ```
    pub const fn exponential(initial: &str, factor: f64) -> Self {
        let Some(initial) = parse_duration(initial) else {
            panic!("a time span is a whole number with its unit: 100ms, 2s, 5m, 1h or 7d")
        };
        assert!(factor >= 1.0, "pauses do not become shorter: the factor is at least 1");
        Self { attempts: 3, initial, factor, max_delay: Duration::from_hours(1) }
    }

    /// Three attempts, unless [`max`](Self::max) says otherwise, with equally long pauses between them.
    ///
    /// ```
    /// # use travertine_func::Retry;
    /// assert_eq!([1, 2, 3].map(|failed| Retry::every("5s").delay(failed).as_secs()), [5, 5, 5]);
    /// ```
    pub const fn every(pause: &str) -> Self {
        Self::exponential(pause, 1.0)
    }

    /// Allows so many attempts at most, the first one included.
    ///
    /// ```
    /// # use travertine_func::Retry;
    /// assert_eq!(Retry::every("5s").max(10).attempts, 10);
    /// ```
    #[must_use]
    pub const fn max(self, attempts: u32) -> Self {
        assert!(attempts > 0, "an activity is tried at least once");
        Self { attempts, ..self }
    }

    /// Lets no pause be longer than this.
    ///
    /// ```
    /// # use travertine_func::Retry;
    /// # use std::time::Duration;
    /// let retry = Retry::exponential("1s", 10.0).max_delay(Duration::from_mins(1));
    /// assert_eq!(retry.delay(5), Duration::from_mins(1));
    /// ```
    #[must_use]
    pub const fn max_delay(self, max_delay: Duration) -> Self {
        Self { max_delay, ..self }
    }

    /// The pause after so many attempts have failed.
    ///
    /// ```
    /// # use travertine_func::Retry;
    /// # use std::time::Duration;
    /// assert_eq!(Retry::exponential("1s", 2.0).delay(3), Duration::from_secs(4));
    /// ```
    pub fn delay(&self, failed: u32) -> Duration {
        let power = i32::try_from(failed.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.initial.as_secs_f64() * self.factor.powi(power);
        Duration::try_from_secs_f64(seconds).map_or(self.max_delay, |it| it.min(self.max_delay))
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_have_a_whole_number_and_a_unit() {
        let millis = |text| parse_duration(text).map(|it| it.as_millis());
        assert_eq!(millis("100ms"), Some(100));
        assert_eq!(millis("2s"), Some(2_000));
        assert_eq!(millis("5m"), Some(300_000));
        assert_eq!(millis("7d"), Some(604_800_000));
        for wrong in
            ["", "ms", "5", "1.5s", "-1s", "5 s", "99999999999999999999s", "9999999999999999d"]
        {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let retry = Retry::exponential("1s", 10.0).max_delay(Duration::from_mins(1));
        let seconds = [1, 2, 3, 4000].map(|failed| retry.delay(failed).as_secs());
        assert_eq!(seconds, [1, 10, 60, 60]);
        assert_eq!(Retry::every("2s").delay(9).as_secs(), 2);
    }
}
