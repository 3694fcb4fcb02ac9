//! Words for states, spans and places in lists.

use std::time::Duration;

use travertine_runtime::Timestamp;
use travertine_store::view::{Cursor, InstanceState, JobState, Key};
use travertine_value::time::{self, Timer};

const STATES: [(&str, InstanceState); 6] = [
    ("running", InstanceState::Running),
    ("suspended", InstanceState::Suspended),
    ("halted", InstanceState::Halted),
    ("completed", InstanceState::Completed),
    ("failed", InstanceState::Failed),
    ("cancelled", InstanceState::Cancelled),
];

/// The state of an instance that a word means.
pub fn state(text: &str) -> Result<InstanceState, String> {
    pick(text, &STATES)
}

/// The word for the state of an instance.
pub fn of_state(state: InstanceState) -> &'static str {
    STATES.iter().find(|(_, it)| *it == state).map_or("", |(word, _)| word)
}

const JOB_STATES: [(&str, JobState); 6] = [
    ("available", JobState::Available),
    ("leased", JobState::Leased),
    ("failed", JobState::Failed),
    ("completed", JobState::Completed),
    ("cancelled", JobState::Cancelled),
    ("raised", JobState::Raised),
];

/// The state of a job that a word means.
pub fn job_state(text: &str) -> Result<JobState, String> {
    pick(text, &JOB_STATES)
}

/// The word for the state of a job.
pub fn of_job_state(state: JobState) -> &'static str {
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
pub fn span(text: &str) -> Result<Duration, String> {
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
    let end = time::due(Timer::Duration, text, zero).map(|it| it.at).map_err(wrong)?;
    u64::try_from(end.as_millis()).map(Duration::from_millis).map_err(|_| format!("{text} is past"))
}

/// The place after which a page begins, as [`of_cursor`] writes it.
pub fn cursor(text: &str) -> Result<Cursor, String> {
    let mut parts = text.splitn(3, '-');
    let mut number = || parts.next().map(str::parse).transpose();
    let wrong = |_| format!("no end of a page: {text}; take it from the page before");
    let instance = number().map_err(wrong)?.unwrap_or_default();
    let number = number().map_err(wrong)?.unwrap_or_default();
    let name = parts.next().unwrap_or_default().into();
    Ok(Cursor(Key { instance, number, name }))
}

/// The end of a page, for whoever asks for the next one.
pub fn of_cursor(Cursor(key): &Cursor) -> String {
    let Key { instance, number, name } = key;
    match (number, name.is_empty()) {
        (0, true) => instance.to_string(),
        (_, true) => format!("{instance}-{number}"),
        (_, false) => format!("{instance}-{number}-{name}"),
    }
}
