//! What functions have asked for and been told.

use serde::Deserialize;
use travertine_kernel::{self as kernel, TokenId};
use travertine_value::{Name, time::Timestamp};

use super::{
    Fault, Out, Put,
    failure::Failure,
    puts,
    value::{Assignments, Value},
};

#[derive(Debug, Deserialize)]
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
    AskedWith { key: &'a str, input: [u8; 8] },
    Sent { key: &'a str, input: Option<[u8; 8]> },
}

impl Put for kernel::JournalEntry {
    fn put(&self, out: &mut Out) {
        match self {
            Self::Began { at } => out.variant(0, at),
            Self::Asked { key, input: None } => out.variant(1, key),
            Self::Recorded { key, value } => out.variant(2, (key, value)),
            Self::Done { operation, at, outcome: Ok(result) } => {
                out.variant(3, (operation, at, result));
            }
            Self::Done { operation, at, outcome: Err(failure) } => {
                out.variant(4, (operation, at, failure));
            }
            Self::Dropped { operation } => out.variant(5, operation),
            Self::Cancelled { at } => out.variant(6, at),
            Self::Updated { at, name, input, id: None } => out.variant(7, (at, name, input)),
            Self::Updated { at, name, input, id: Some(id) } => {
                out.variant(8, (at, name, input, id));
            }
            Self::Asked { key, input: Some(input) } => out.variant(9, (key, input)),
            Self::Sent { key, input } => out.variant(10, (key, input)),
        }
    }
}

impl<'a> JournalEntry<'a> {
    pub(super) fn lift(self) -> Result<kernel::JournalEntry, Fault<'a>> {
        use kernel::JournalEntry as Plain;
        let at = Timestamp::from_millis;
        Ok(match self {
            Self::Began { at_ms } => Plain::Began { at: at(at_ms) },
            Self::Asked { key } => Plain::Asked { key: key.into(), input: None },
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
            Self::AskedWith { key, input } => {
                Plain::Asked { key: key.into(), input: Some(digest(input)) }
            }
            Self::Sent { key, input } => Plain::Sent { key: key.into(), input: input.map(digest) },
        })
    }
}

impl Put for kernel::Digest {
    // All numbers are as likely, so the form that is short for small ones is of no use.
    fn put(&self, out: &mut Out) {
        out.raw(&self.0.to_le_bytes());
    }
}

fn digest(bytes: [u8; 8]) -> kernel::Digest {
    kernel::Digest(u64::from_le_bytes(bytes))
}

/// All but the entries, which follow as a list.
#[derive(Debug, Deserialize)]
pub(super) struct Journal {
    token: u64,
    run: u32,
    due: bool,
    operations: u32,
}

impl Put for kernel::Journal {
    fn put(&self, out: &mut Out) {
        let operations = self.operations();
        let Self { token, run, due, entries, .. } = self;
        (token, run, due, operations).put(out);
        entries.put(out);
    }
}

impl Journal {
    /// Nothing where it counts other operations than there are.
    pub(super) fn lift(self, entries: Vec<kernel::JournalEntry>) -> Option<kernel::Journal> {
        let Self { token, run, due, operations } = self;
        let journal = kernel::Journal::of(TokenId(token), run, entries, due);
        (journal.operations() == operations).then_some(journal)
    }
}

/// What an update with an id was answered with.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Answer<'a> {
    id: &'a str,
    number: u64,
    said: Value<'a>,
}

puts!(struct kernel::Answer { number, said });

impl<'a> Answer<'a> {
    pub(super) fn lift(self) -> Result<(Name, kernel::Answer), Fault<'a>> {
        let Self { id, number, said } = self;
        Ok((id.into(), kernel::Answer { number, said: said.lift()? }))
    }
}
