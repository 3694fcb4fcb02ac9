//! Cron expressions: at which minutes of which days something happens.
//!
//! Five fields are minute, hour, day of the month, month and day of the week; six begin with the
//! second; seven end with the year. Where both days are restricted, five fields ask for either of
//! them, as Unix does, and more fields for both.
//!
//! Clocks that are put forward skip times and clocks that are put back repeat them. What falls into
//! the hour that is skipped happens when it is over; what falls into the one that is repeated happens
//! once, unless it happens in every hour.

use std::{fmt, sync::Arc};

use jiff::{
    civil,
    tz::{AmbiguousOffset, Offset, TimeZone},
};

use super::Timestamp;

/// A cron expression that was understood.
#[derive(Clone)]
pub struct Cron {
    text: Arc<str>,
    fields: Arc<Fields>,
}

/// How the days of a week are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weekdays {
    /// Sunday is 0, and 7.
    From0,
    /// Sunday is 1, as Quartz has it.
    From1,
}

#[derive(Debug)]
struct Fields {
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: Days,
    months: u64,
    weekdays: WeekDays,
    years: Vec<Range>,
    /// Whether one of both kinds of day is enough.
    either_day: bool,
}

/// Which days of a month.
#[derive(Debug, Default)]
struct Days {
    any: bool,
    set: u64,
    /// So many days before the last.
    before_last: Vec<i8>,
    /// The weekday nearest to that day.
    nearest: Vec<i8>,
    nearest_to_last: bool,
}

/// Which days of a week, counted from Sunday as 0.
#[derive(Debug, Default)]
struct WeekDays {
    any: bool,
    set: u64,
    /// The last one of its kind in a month.
    last: u64,
    /// The nth one of its kind in a month.
    nth: Vec<(i8, i8)>,
}

#[derive(Debug)]
struct Range {
    from: i16,
    to: i16,
    step: i16,
}

/// What a field may contain.
struct Unit {
    name: &'static str,
    min: u8,
    max: u8,
    names: &'static [&'static str],
}

const SECOND: Unit = Unit { name: "second", min: 0, max: 59, names: &[] };
const MINUTE: Unit = Unit { name: "minute", min: 0, max: 59, names: &[] };
const HOUR: Unit = Unit { name: "hour", min: 0, max: 23, names: &[] };
const DAY: Unit = Unit { name: "day of the month", min: 1, max: 31, names: &[] };
const MONTH: Unit = Unit {
    name: "month",
    min: 1,
    max: 12,
    names: &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
const WEEKDAY: Unit = Unit { name: "day of the week", min: 0, max: 6, names: WEEKDAYS };
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const MACROS: &[(&str, &str)] = &[
    ("@yearly", "0 0 0 1 1 *"),
    ("@annually", "0 0 0 1 1 *"),
    ("@monthly", "0 0 0 1 * *"),
    ("@weekly", "0 0 0 * * SUN"),
    ("@daily", "0 0 0 * * *"),
    ("@midnight", "0 0 0 * * *"),
    ("@hourly", "0 0 * * * *"),
];

const YEARS: std::ops::RangeInclusive<i16> = 1970..=9998;

/// Each part of a field is looked at for each year, so that there must not be any number of them.
const TEXT_BYTES_MAX: usize = 1_000;

/// The calendar repeats itself after so many years: what has not happened by then never will.
const CALENDAR_YEARS: i16 = 400;

impl Cron {
    /// Whether a text is meant to be one, well formed or not.
    pub fn is_meant(text: &str) -> bool {
        let (_, text) = split_zone(text);
        text.starts_with('@') || (5..=7).contains(&text.split_whitespace().count())
    }

    /// Understands a text, or says what is wrong with it.
    pub fn parse(text: &str, weekdays: Weekdays) -> Result<Self, String> {
        let text = text.trim();
        if text.starts_with('@') {
            let known = MACROS.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
            return match known {
                Some((_, meaning)) => Self::parse(meaning, Weekdays::From0),
                None => Err(format!("there is no {text}; write one of {}", macros())),
            };
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(format!("it has more than {TEXT_BYTES_MAX} characters"));
        }
        let mut parts: Vec<String> = text.split_whitespace().map(str::to_ascii_uppercase).collect();
        if !(5..=7).contains(&parts.len()) {
            return Err(format!("it has {} fields, not 5, 6 or 7", parts.len()));
        }
        let weekday = if parts.len() == 5 { 4 } else { 5 };
        parts[weekday] = in_names(&parts[weekday], weekdays)?;
        let fields = Fields::parse(&parts)?;
        Ok(Self { text: parts.join(" ").into(), fields: Arc::new(fields) })
    }

    /// The expression, with weekdays by name, so that it needs no further explanation.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first time after that point, by the clocks of the zone; `None` where it never comes.
    pub(super) fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let after = jiff::Timestamp::from_millisecond(after.as_millis()).ok()?;
        let local = zone.to_datetime(after);
        let mut from = second_after(local)?;
        let found = loop {
            let candidate = self.fields.next(from)?;
            if let Some(at) = self.resolve(candidate, after, zone) {
                break at;
            }
            from = second_after(candidate)?;
        };
        let found = self.repeated(after, found, zone).unwrap_or(found);
        Some(Timestamp::from_millis(found.as_millisecond()))
    }

    /// When the clocks show that time, where that is later than `after`.
    fn resolve(
        &self,
        local: civil::DateTime,
        after: jiff::Timestamp,
        zone: &TimeZone,
    ) -> Option<jiff::Timestamp> {
        let at = |offset: Offset| offset.to_timestamp(local).ok();
        let found = match zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => at(offset),
            // The clocks were put forward: when that happened.
            AmbiguousOffset::Gap { before, .. } => {
                let shown = at(before)?;
                Some(zone.preceding(shown).next().map_or(shown, |it| it.timestamp()))
            }
            AmbiguousOffset::Fold { before, after: later } => at(before)
                .filter(|it| *it > after)
                .or_else(|| if self.is_hourly() { at(later) } else { None }),
        };
        found.filter(|it| *it > after)
    }

    /// What happens in every hour happens in one that is repeated too: the first time after the
    /// clocks were put back, where that is before `found`.
    fn repeated(
        &self,
        after: jiff::Timestamp,
        found: jiff::Timestamp,
        zone: &TimeZone,
    ) -> Option<jiff::Timestamp> {
        if !self.is_hourly() {
            return None;
        }
        let change = zone.following(after).next()?;
        if change.timestamp() >= found {
            return None;
        }
        let local = self.fields.next(change.offset().to_datetime(change.timestamp()))?;
        change.offset().to_timestamp(local).ok().filter(|it| *it < found && *it > after)
    }

    fn is_hourly(&self) -> bool {
        self.fields.hours.count_ones() == 24
    }
}

impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Cron {}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cron({})", self.text)
    }
}

impl Fields {
    fn parse(parts: &[String]) -> Result<Self, String> {
        let (seconds, rest) = match parts {
            rest if rest.len() == 5 => ("0", rest),
            [seconds, rest @ ..] => (seconds.as_str(), rest),
            [] => unreachable!("fields are counted before they are read"),
        };
        let [minutes, hours, days, months, weekdays, years @ ..] = rest else {
            unreachable!("fields are counted before they are read")
        };
        let days = Days::parse(days)?;
        let weekdays = WeekDays::parse(weekdays)?;
        Ok(Self {
            seconds: set(seconds, &SECOND)?,
            minutes: set(minutes, &MINUTE)?,
            hours: set(hours, &HOUR)?,
            months: set(months, &MONTH)?,
            years: years.first().map_or_else(|| Ok(Vec::new()), |it| parse_years(it))?,
            either_day: parts.len() == 5 && !days.any && !weekdays.any,
            days,
            weekdays,
        })
    }

    /// The first time that fits, from that one on.
    fn next(&self, from: civil::DateTime) -> Option<civil::DateTime> {
        let first = from.date();
        let last = first.year().saturating_add(CALENDAR_YEARS).min(*YEARS.end());
        let latest = self.years.iter().map(|it| it.to).max();
        for year in first.year()..=latest.unwrap_or(last).min(*YEARS.end()) {
            if !(self.years.is_empty() || self.years.iter().any(|it| it.has(year))) {
                continue;
            }
            for month in (1..=12).filter(|it| has(self.months, *it)) {
                let mut day = civil::Date::new(year, month, 1).ok()?;
                let end = day.last_of_month();
                if end < first {
                    continue;
                }
                day = day.max(first);
                loop {
                    if self.has_day(day) {
                        let earliest =
                            if day == first { from.time() } else { civil::Time::midnight() };
                        if let Some(time) = self.time_from(earliest) {
                            return Some(day.to_datetime(time));
                        }
                    }
                    if day == end {
                        break;
                    }
                    day = day.tomorrow().ok()?;
                }
            }
        }
        None
    }

    fn has_day(&self, day: civil::Date) -> bool {
        let (by_month, by_week) = (self.days.has(day), self.weekdays.has(day));
        if self.either_day { by_month || by_week } else { by_month && by_week }
    }

    /// The first time of a day, from that one on.
    fn time_from(&self, from: civil::Time) -> Option<civil::Time> {
        let first = |set: u64, least: i8, most: i8| (least..=most).find(|it| has(set, *it));
        let (mut minute, mut second) = (from.minute(), from.second());
        let mut hour = first(self.hours, from.hour(), 23)?;
        if hour > from.hour() {
            (minute, second) = (0, 0);
        }
        loop {
            // Within the hour, then within the minute; otherwise from the start of the next one.
            if let Some(found) = first(self.minutes, minute, 59) {
                if found > minute {
                    second = 0;
                }
                minute = found;
                if let Some(second) = first(self.seconds, second, 59) {
                    return civil::Time::new(hour, minute, second, 0).ok();
                }
                (minute, second) = (minute + 1, 0);
                if minute < 60 {
                    continue;
                }
            }
            hour = first(self.hours, hour + 1, 23)?;
            (minute, second) = (0, 0);
        }
    }
}

impl Days {
    fn parse(text: &str) -> Result<Self, String> {
        if is_any(text) {
            return Ok(Self { any: true, ..Self::default() });
        }
        let mut days = Self::default();
        for part in text.split(',') {
            if part == "LW" {
                days.nearest_to_last = true;
            } else if let Some(rest) = part.strip_prefix('L') {
                let before = if rest.is_empty() {
                    0
                } else {
                    let digits = rest.strip_prefix('-').ok_or_else(|| wrong(part, &DAY))?;
                    number(digits, &Unit { min: 0, max: 30, ..DAY })?
                };
                days.before_last.push(before.cast_signed());
            } else if let Some(day) = part.strip_suffix('W') {
                days.nearest.push(number(day, &DAY)?.cast_signed());
            } else {
                days.set |= range(part, &DAY)?;
            }
        }
        Ok(days)
    }

    fn has(&self, date: civil::Date) -> bool {
        let last = date.days_in_month();
        self.any
            || has(self.set, date.day())
            || self.before_last.iter().any(|it| date.day() == last - it)
            || self.nearest.iter().any(|it| *it <= last && date == nearest_weekday(date, *it))
            || self.nearest_to_last && date == nearest_weekday(date, last)
    }
}

impl WeekDays {
    fn parse(text: &str) -> Result<Self, String> {
        if is_any(text) {
            return Ok(Self { any: true, ..Self::default() });
        }
        let mut days = Self::default();
        for part in text.split(',') {
            if let Some((day, nth)) = part.split_once('#') {
                let nth = number(nth, &Unit { name: "week", min: 1, max: 5, names: &[] })?;
                days.nth.push((number(day, &WEEKDAY)?.cast_signed(), nth.cast_signed()));
            } else if part == "L" {
                days.set |= 1 << 6;
            } else if let Some(day) = part.strip_suffix('L') {
                days.last |= 1 << number(day, &WEEKDAY)?;
            } else {
                days.set |= range(part, &WEEKDAY)?;
            }
        }
        Ok(days)
    }

    fn has(&self, date: civil::Date) -> bool {
        let weekday = date.weekday().to_sunday_zero_offset();
        self.any
            || has(self.set, weekday)
            || has(self.last, weekday) && date.day() > date.days_in_month() - 7
            || self.nth.iter().any(|(it, nth)| *it == weekday && (date.day() - 1) / 7 + 1 == *nth)
    }
}

impl Range {
    fn has(&self, year: i16) -> bool {
        (self.from..=self.to).contains(&year) && (year - self.from) % self.step == 0
    }
}

/// The working day nearest to a day, within its month.
fn nearest_weekday(month: civil::Date, day: i8) -> civil::Date {
    let Ok(date) = civil::Date::new(month.year(), month.month(), day) else { return month };
    let last = date.days_in_month();
    let shift = match date.weekday() {
        civil::Weekday::Saturday if day == 1 => 2,
        civil::Weekday::Saturday => -1,
        civil::Weekday::Sunday if day == last => -2,
        civil::Weekday::Sunday => 1,
        civil::Weekday::Monday
        | civil::Weekday::Tuesday
        | civil::Weekday::Wednesday
        | civil::Weekday::Thursday
        | civil::Weekday::Friday => 0,
    };
    civil::Date::new(month.year(), month.month(), day + shift).unwrap_or(date)
}

fn second_after(local: civil::DateTime) -> Option<civil::DateTime> {
    let time = civil::Time::new(local.hour(), local.minute(), local.second(), 0).ok()?;
    local.date().to_datetime(time).checked_add(jiff::SignedDuration::from_secs(1)).ok()
}

fn has(set: u64, number: i8) -> bool {
    set >> number & 1 == 1
}

fn is_any(text: &str) -> bool {
    text == "*" || text == "?"
}

/// A list of ranges.
fn set(text: &str, unit: &Unit) -> Result<u64, String> {
    text.split(',').try_fold(0, |set, part| Ok(set | range(part, unit)?))
}

/// `*`, `5`, `5-9`, and any of them with a step, such as `*/5` or `5/10`.
fn range(text: &str, unit: &Unit) -> Result<u64, String> {
    let (text, step) = match text.split_once('/') {
        Some((text, step)) => {
            let step: usize = step.parse().ok().filter(|it| *it > 0).ok_or_else(|| {
                format!("the step '{step}' of a {} is no whole number above 0", unit.name)
            })?;
            (text, Some(step))
        }
        None => (text, None),
    };
    let (from, to) = if is_any(text) {
        (unit.min, unit.max)
    } else if let Some((from, to)) = text.split_once('-') {
        (number(from, unit)?, number(to, unit)?)
    } else {
        let from = number(text, unit)?;
        (from, if step.is_some() { unit.max } else { from })
    };
    let mut set = 0;
    let step = step.unwrap_or(1);
    if from <= to {
        (from..=to).step_by(step).for_each(|it| set |= 1 << it);
    } else {
        // From Friday to Monday, or from 22 to 4 o'clock.
        (from..=unit.max).chain(unit.min..=to).step_by(step).for_each(|it| set |= 1 << it);
    }
    Ok(set)
}

fn number(text: &str, unit: &Unit) -> Result<u8, String> {
    if let Some(position) = unit.names.iter().position(|it| *it == text) {
        return Ok(unit.min + u8::try_from(position).expect("there are few names"));
    }
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|it| is_number && (unit.min..=unit.max).contains(it))
        .ok_or_else(|| wrong(text, unit))
}

fn wrong(text: &str, unit: &Unit) -> String {
    let Unit { name, min, max, names } = unit;
    if let (Some(first), Some(last)) = (names.first(), names.last()) {
        format!("'{text}' is no {name} ({first} to {last}, or a number)")
    } else {
        format!("'{text}' is no {name} ({min} to {max})")
    }
}

fn parse_years(text: &str) -> Result<Vec<Range>, String> {
    if is_any(text) {
        return Ok(Vec::new());
    }
    let year = |text: &str| {
        let year = text.parse::<i16>().ok().filter(|it| YEARS.contains(it));
        year.ok_or_else(|| format!("'{text}' is no year ({} to {})", YEARS.start(), YEARS.end()))
    };
    let range = |part: &str| {
        let (range, step) = part.split_once('/').map_or((part, None), |(a, b)| (a, Some(b)));
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (year(from)?, year(to)?),
            None if is_any(range) => (*YEARS.start(), *YEARS.end()),
            None => (year(range)?, step.map_or_else(|| year(range), |_| Ok(*YEARS.end()))?),
        };
        let step = step.map_or(Some(1), |it| it.parse().ok().filter(|it| *it > 0));
        let step =
            step.ok_or_else(|| format!("'{part}' has no whole number above 0 as its step"))?;
        Ok(Range { from, to, step })
    };
    text.split(',').map(range).collect()
}

/// The field of weekdays with each number replaced by a name.
fn in_names(field: &str, weekdays: Weekdays) -> Result<String, String> {
    let name = |digits: &str| {
        let named = match (digits.parse::<usize>(), weekdays) {
            (Ok(day @ 0..=7), Weekdays::From0) => Some(WEEKDAYS[day % 7]),
            (Ok(day @ 1..=7), Weekdays::From1) => Some(WEEKDAYS[day - 1]),
            _ => None,
        };
        let counted = match weekdays {
            Weekdays::From0 => "0 to 7, from Sunday to Sunday",
            Weekdays::From1 => "1 to 7, from Sunday to Saturday",
        };
        named.ok_or_else(|| format!("'{digits}' is no day of the week ({counted})"))
    };
    let part = |part: &str| {
        // What follows these counts something else than days.
        let end = part.find(['/', '#']).unwrap_or(part.len());
        let (days, rest) = part.split_at(end);
        // Names may end in digits only by mistake, which is found out later.
        let days: Result<Vec<String>, String> = days
            .split('-')
            .map(|day| {
                let digits = day.trim_end_matches('L');
                let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
                let last = &day[digits.len()..];
                Ok(if is_number { format!("{}{last}", name(digits)?) } else { day.to_owned() })
            })
            .collect();
        // From Sunday to Sunday is every day.
        let days = days?.join("-");
        let days = if days == "SUN-SUN" { "*".to_owned() } else { days };
        Ok(format!("{days}{rest}"))
    };
    let parts: Result<Vec<String>, String> = field.split(',').map(part).collect();
    Ok(parts?.join(","))
}

/// The time zone that a text names, and the rest: `CRON_TZ=Europe/Berlin 0 9 * * *` or
/// `0 9 * * * [Europe/Berlin]`.
pub fn split_zone(text: &str) -> (Option<&str>, &str) {
    let text = text.trim();
    let before = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ="));
    if let Some((zone, rest)) = before.and_then(|it| it.split_once(char::is_whitespace)) {
        return (Some(zone), rest.trim());
    }
    if let Some((rest, zone)) = text.strip_suffix(']').and_then(|it| it.split_once('[')) {
        return (Some(zone), rest.trim());
    }
    (None, text)
}

fn macros() -> String {
    MACROS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}
