//! Reading the texts of ISO 8601 that FEEL allows, and no others.

use super::{DAY_SECONDS, Date, DaysDuration, SECOND_NANOS, Time, YearsDuration, Zone};

/// A text, and how far it has been read.
pub(super) struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn digits(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        self.at += length;
        &rest[..length]
    }

    fn two_digits(&mut self) -> Option<i64> {
        let digits = self.digits();
        if digits.len() == 2 { digits.parse().ok() } else { None }
    }

    /// `2024-02-29`: four digits of a year or more, without a nought in front of more.
    pub(super) fn date(&mut self) -> Option<Date> {
        let is_negative = self.eat(b'-');
        let digits = self.digits();
        if digits.len() < 4 || (digits.len() > 4 && digits.starts_with('0')) {
            return None;
        }
        let year: i64 = digits.parse().ok()?;
        let year = if is_negative { -year } else { year };
        self.eat(b'-').then_some(())?;
        let month = self.two_digits()?;
        self.eat(b'-').then_some(())?;
        let day = self.two_digits()?;
        Date::new(year, month, day)
    }

    /// `12:34:56.789+01:00`; also `24:00:00`, and then the day is the next one.
    pub(super) fn time(&mut self) -> Option<(Time, bool)> {
        let hour = self.two_digits()?;
        self.eat(b':').then_some(())?;
        let minute = self.two_digits()?;
        self.eat(b':').then_some(())?;
        let second = self.two_digits()?;
        let nanos = if self.eat(b'.') { nanos(self.digits())? } else { 0 };
        let zone = self.zone()?;
        let is_end_of_day = (hour, minute, second, nanos) == (24, 0, 0, 0);
        let hour = if is_end_of_day { 0 } else { hour };
        Some((Time::new(hour, minute, second, nanos, zone)?, is_end_of_day))
    }

    fn zone(&mut self) -> Option<Zone> {
        let sign = match self.peek() {
            None => return Some(Zone::Local),
            Some(b'Z') => {
                self.at += 1;
                return Some(Zone::UTC);
            }
            Some(b'@') => {
                let name = &self.text[self.at + 1..];
                self.at = self.text.len();
                return Zone::from_name(name);
            }
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(_) => return None,
        };
        self.at += 1;
        let hours = self.two_digits()?;
        self.eat(b':').then_some(())?;
        let minutes = self.two_digits()?;
        let seconds = if self.eat(b':') { self.two_digits()? } else { 0 };
        if minutes > 59 || seconds > 59 {
            return None;
        }
        Zone::from_offset(sign * (hours * 3_600 + minutes * 60 + seconds))
    }

    pub(super) fn years_duration(mut self) -> Option<YearsDuration> {
        let sign = self.duration_sign()?;
        let (years, months) = (self.part(b'Y')?, self.part(b'M')?);
        if !self.at_end() || (years.is_none() && months.is_none()) {
            return None;
        }
        let months = years.unwrap_or(0).checked_mul(12)?.checked_add(months.unwrap_or(0))?;
        Some(YearsDuration::from_months(sign * months))
    }

    pub(super) fn days_duration(mut self) -> Option<DaysDuration> {
        let sign = self.duration_sign()?;
        let days = self.part(b'D')?;
        let mut seconds = i128::from(days.unwrap_or(0)) * i128::from(DAY_SECONDS);
        let mut fraction = 0;
        if self.eat(b'T') {
            let (hours, minutes) = (self.part(b'H')?, self.part(b'M')?);
            seconds += i128::from(hours.unwrap_or(0)) * 3_600;
            seconds += i128::from(minutes.unwrap_or(0)) * 60;
            let digits = self.digits();
            if digits.is_empty() {
                (hours.is_some() || minutes.is_some()).then_some(())?;
            } else {
                seconds += i128::from(digits.parse::<i64>().ok()?);
                if self.eat(b'.') {
                    fraction = nanos(self.digits()).unwrap_or(0);
                }
                self.eat(b'S').then_some(())?;
            }
        } else {
            days?;
        }
        if !self.at_end() {
            return None;
        }
        let nanos = seconds.checked_mul(SECOND_NANOS.into())? + i128::from(fraction);
        DaysDuration::from_nanos(i128::from(sign) * nanos)
    }

    fn duration_sign(&mut self) -> Option<i64> {
        let sign = if self.eat(b'-') { -1 } else { 1 };
        self.eat(b'P').then_some(sign)
    }

    /// A number with this unit; `Some(None)` where another one comes first.
    #[expect(clippy::option_option, reason = "a part can be malformed, absent or there")]
    fn part(&mut self, unit: u8) -> Option<Option<i64>> {
        let start = self.at;
        let digits = self.digits();
        if !digits.is_empty() && self.eat(unit) {
            return digits.parse().ok().map(Some);
        }
        self.at = start;
        Some(None)
    }
}

/// The digits of a fraction of a second. Those beyond the nanosecond are dropped.
fn nanos(digits: &str) -> Option<i64> {
    let digits = digits.get(..9).unwrap_or(digits);
    let number: i64 = digits.parse().ok()?;
    Some(number * 10_i64.pow(9 - u32::try_from(digits.len()).ok()?))
}
