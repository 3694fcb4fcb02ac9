//! Things as people type them.

use std::{convert::Infallible, str::FromStr, time::Duration};

use travertine_runtime::{Address, InstanceId, Timestamp, engine::NUMBER};
use travertine_store::view::{Cursor, InstanceState, JobState, Key};
use travertine_value::Name;

use crate::clock;

/// An instance that someone means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// By its number and nothing else.
    Number(InstanceId),
    /// By what people call it; by its number, where nothing is called so.
    Called(Name),
}

impl FromStr for Whose {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let number = text.strip_prefix(NUMBER).and_then(|it| it.parse().ok());
        Ok(number.map_or_else(|| Self::Called(text.into()), Self::Number))
    }
}

/// Work that someone means: by its own name, or as the only one of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    At(Address),
    Only(Whose),
}

impl FromStr for Work {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        match text.parse() {
            Ok(address) => Ok(Self::At(address)),
            Err(_) => text.parse().map(Self::Only),
        }
    }
}

const STATES: [(&str, InstanceState); 6] = [
    ("running", InstanceState::Running),
    ("suspended", InstanceState::Suspended),
    ("halted", InstanceState::Halted),
    ("completed", InstanceState::Completed),
    ("failed", InstanceState::Failed),
    ("cancelled", InstanceState::Cancelled),
];

pub(crate) fn state(text: &str) -> Result<InstanceState, String> {
    pick(text, &STATES)
}

pub(crate) fn of_state(state: InstanceState) -> &'static str {
    STATES.iter().find(|(_, it)| *it == state).map_or("", |(word, _)| word)
}

const JOB_STATES: [(&str, JobState); 3] = [
    ("available", JobState::Available),
    ("leased", JobState::Leased),
    ("failed", JobState::Failed),
];

pub(crate) fn job_state(text: &str) -> Result<JobState, String> {
    pick(text, &JOB_STATES)
}

pub(crate) fn of_job_state(state: JobState) -> &'static str {
    JOB_STATES.iter().find(|(_, it)| *it == state).map_or("", |(word, _)| word)
}

fn pick<T: Copy>(text: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(word, _)| *word == text).map(|(_, it)| *it);
    found.ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|(word, _)| *word).collect();
        format!("no such state: {text}; there are {}", words.join(", "))
    })
}

/// A span of time: `90d`, `30s`, or a duration of ISO 8601.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, u64); 6] = [
        ("ms", 1),
        ("s", 1_000),
        ("min", 60_000),
        ("h", 3_600_000),
        ("d", 86_400_000),
        ("w", 604_800_000),
    ];
    let digits = text.trim_end_matches(|it: char| it.is_ascii_alphabetic());
    let unit = UNITS.iter().find(|(unit, _)| *unit == &text[digits.len()..]);
    if let (Ok(count), Some((_, millis))) = (digits.parse::<u64>(), unit) {
        let millis = count.checked_mul(*millis).ok_or_else(|| format!("{text} is too long"))?;
        return Ok(Duration::from_millis(millis));
    }
    let zero = Timestamp::default();
    let wrong = |_| format!("no span of time: {text}; write it like 30s, 5min, 2h, 90d or PT1H");
    let end = clock::after(zero, text).map_err(wrong)?;
    u64::try_from(end.as_millis()).map(Duration::from_millis).map_err(|_| format!("{text} is past"))
}

/// `FROM:TO`.
pub(crate) fn both(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok((from.into(), to.into())),
        Some(_) | None => Err(format!("`{text}` does not say from where to where; write FROM:TO")),
    }
}

/// `TYPE=COMMAND`.
pub(crate) fn worker(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((of, by)) if !of.is_empty() && !by.trim().is_empty() => Ok((of.into(), by.into())),
        Some(_) | None => {
            Err(format!("`{text}` does not say which jobs a command does; write TYPE=COMMAND"))
        }
    }
}

/// `OLD=NEW`.
pub(crate) fn mapping(text: &str) -> Result<(Name, Name), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.into(), new.into())),
        Some(_) | None => Err(format!("`{text}` does not say what becomes what; write OLD=NEW")),
    }
}

/// The place after which a page begins, as [`of_cursor`] writes it.
pub(crate) fn cursor(text: &str) -> Result<Cursor, String> {
    let mut parts = text.splitn(3, '-');
    let mut number = || parts.next().map(str::parse).transpose();
    let wrong = |_| format!("no end of a page: {text}; take it from the page before");
    let instance = number().map_err(wrong)?.unwrap_or_default();
    let number = number().map_err(wrong)?.unwrap_or_default();
    let name = parts.next().unwrap_or_default().into();
    Ok(Cursor(Key { instance, number, name }))
}

pub(crate) fn of_cursor(Cursor(key): &Cursor) -> String {
    let Key { instance, number, name } = key;
    match (number, name.is_empty()) {
        (0, true) => instance.to_string(),
        (_, true) => format!("{instance}-{number}"),
        (_, false) => format!("{instance}-{number}-{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_in_both_ways() {
        assert_eq!(span("90d"), Ok(Duration::from_hours(90 * 24)));
        assert_eq!(span("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(span("PT1H"), Ok(Duration::from_hours(1)));
        assert_eq!(span("0s"), Ok(Duration::ZERO));
        assert!(span("soon").unwrap_err().contains("like 30s"));
    }

    #[test]
    fn what_does_not_say_that_it_is_a_number_may_be_what_people_call_it() {
        let at = Work::At("12-7".parse().unwrap());
        assert_eq!("12-7".parse(), Ok(at));
        assert_eq!("12".parse(), Ok(Work::Only(Whose::Called("12".into()))));
        assert_eq!("number:12".parse(), Ok(Work::Only(Whose::Number(InstanceId(12)))));
        assert_eq!("number:x".parse(), Ok(Work::Only(Whose::Called("number:x".into()))));
        assert_eq!("ORD-7".parse(), Ok(Work::Only(Whose::Called("ORD-7".into()))));
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for text in ["12", "12-7", "12-7-some-name"] {
            assert_eq!(of_cursor(&cursor(text).unwrap()), text);
        }
        assert!(cursor("x").unwrap_err().contains("page before"));
    }
}
