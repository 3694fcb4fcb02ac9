//! What functions have asked for and been told.

use serde::{Deserialize, Serialize};
use travertine_expr::{Name, time::Timestamp};
use travertine_kernel::{self as kernel, TokenId};

use super::{
    Fault,
    failure::Failure,
    value::{Assignments, Value},
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) enum JournalEntry<'a> {
    Began { at_ms: i64 },
    Asked { key: &'a str },
    Recorded { key: &'a str, value: Value<'a> },
    Done { operation: u32, at_ms: i64, result: Assignments<'a> },
    Failed { operation: u32, at_ms: i64, failure: Failure<'a> },
    Dropped { operation: u32 },
    Cancelled { at_ms: i64 },
    Updated { at_ms: i64, name: &'a str, input: Value<'a> },
    UpdatedOnce { at_ms: i64, name: &'a str, input: Value<'a>, id: &'a str },
}

impl<'a> JournalEntry<'a> {
    pub(super) fn of(entry: &'a kernel::JournalEntry) -> Self {
        use kernel::JournalEntry as Plain;
        match entry {
            Plain::Began { at } => Self::Began { at_ms: at.as_millis() },
            Plain::Asked { key } => Self::Asked { key },
            Plain::Recorded { key, value } => Self::Recorded { key, value: Value::Plain(value) },
            Plain::Done { operation, at, outcome } => {
                let (operation, at_ms) = (*operation, at.as_millis());
                match outcome {
                    Ok(result) => Self::Done { operation, at_ms, result: Assignments::of(result) },
                    Err(failure) => {
                        Self::Failed { operation, at_ms, failure: Failure::of(failure) }
                    }
                }
            }
            Plain::Dropped { operation } => Self::Dropped { operation: *operation },
            Plain::Cancelled { at } => Self::Cancelled { at_ms: at.as_millis() },
            Plain::Updated { at, name, input, id } => {
                let (at_ms, input) = (at.as_millis(), Value::Plain(input));
                match id {
                    None => Self::Updated { at_ms, name, input },
                    Some(id) => Self::UpdatedOnce { at_ms, name, input, id },
                }
            }
        }
    }

    pub(super) fn lift(self) -> Result<kernel::JournalEntry, Fault<'a>> {
        use kernel::JournalEntry as Plain;
        let at = Timestamp::from_millis;
        Ok(match self {
            Self::Began { at_ms } => Plain::Began { at: at(at_ms) },
            Self::Asked { key } => Plain::Asked { key: key.into() },
            Self::Recorded { key, value } => {
                Plain::Recorded { key: key.into(), value: value.lift()? }
            }
            Self::Done { operation, at_ms, result } => {
                Plain::Done { operation, at: at(at_ms), outcome: Ok(result.lift()?) }
            }
            Self::Failed { operation, at_ms, failure } => {
                Plain::Done { operation, at: at(at_ms), outcome: Err(failure.lift()) }
            }
            Self::Dropped { operation } => Plain::Dropped { operation },
            Self::Cancelled { at_ms } => Plain::Cancelled { at: at(at_ms) },
            Self::Updated { at_ms, name, input } => {
                Plain::Updated { at: at(at_ms), name: name.into(), input: input.lift()?, id: None }
            }
            Self::UpdatedOnce { at_ms, name, input, id } => Plain::Updated {
                at: at(at_ms),
                name: name.into(),
                input: input.lift()?,
                id: Some(id.into()),
            },
        })
    }
}

/// All but the entries, which follow as a list.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    token: u64,
    run: u32,
    due: bool,
    operations: u32,
}

impl Journal {
    pub(super) fn of(journal: &kernel::Journal) -> Self {
        let (token, operations) = (journal.token.0, journal.operations());
        Self { token, run: journal.run, due: journal.due, operations }
    }

    /// Nothing where it counts other operations than there are.
    pub(super) fn lift(self, entries: Vec<kernel::JournalEntry>) -> Option<kernel::Journal> {
        let Self { token, run, due, operations } = self;
        let journal = kernel::Journal::of(TokenId(token), run, entries, due);
        (journal.operations() == operations).then_some(journal)
    }
}

/// What an update with an id was answered with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Answer<'a> {
    id: &'a str,
    number: u64,
    said: Value<'a>,
}

impl<'a> Answer<'a> {
    pub(super) fn of((id, answer): &'a (Name, kernel::Answer)) -> Self {
        let kernel::Answer { number, said } = answer;
        Self { id, number: *number, said: Value::Plain(said) }
    }

    pub(super) fn lift(self) -> Result<(Name, kernel::Answer), Fault<'a>> {
        let Self { id, number, said } = self;
        Ok((id.into(), kernel::Answer { number, said: said.lift()? }))
    }
}
