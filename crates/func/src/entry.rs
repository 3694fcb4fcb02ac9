//! The entries of a journal, as a session holds the code against them.

use std::sync::Arc;

use travertine_kernel::{Assignments, Digest, JournalEntry};
use travertine_value::{Name, Value};

/// An entry that the code has decided.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    Asked(Name, Option<Digest>),
    Recorded(Name, Value),
    Sent(Name, Option<Digest>),
    Dropped(u32),
}

/// The beginnings of keys that may be gone from the code: they are only marks.
const PATCH: &str = "patch ";
const VERSION: &str = "version ";

impl Said {
    /// What an entry says, where the code has decided it.
    pub(crate) fn of(entry: &JournalEntry) -> Option<Self> {
        match entry {
            JournalEntry::Asked { key, input } => Some(Self::Asked(Name::clone(key), *input)),
            JournalEntry::Recorded { key, value } => {
                Some(Self::Recorded(Name::clone(key), value.clone()))
            }
            JournalEntry::Sent { key, input } => Some(Self::Sent(Name::clone(key), *input)),
            JournalEntry::Dropped { operation } => Some(Self::Dropped(*operation)),
            JournalEntry::Began { .. }
            | JournalEntry::Done { .. }
            | JournalEntry::Cancelled { .. }
            | JournalEntry::Updated { .. } => None,
        }
    }

    /// Whether this is what an entry says.
    pub(crate) fn is_written(&self, entry: &JournalEntry) -> bool {
        match (self, entry) {
            (Self::Asked(key, input), JournalEntry::Asked { key: written, input: was })
            | (Self::Sent(key, input), JournalEntry::Sent { key: written, input: was }) => {
                key == written && input == was
            }
            (Self::Recorded(key, value), JournalEntry::Recorded { key: written, value: kept }) => {
                key == written && value == kept
            }
            (Self::Dropped(number), JournalEntry::Dropped { operation }) => number == operation,
            (Self::Asked(..) | Self::Recorded(..) | Self::Sent(..) | Self::Dropped(_), _) => false,
        }
    }

    /// Whether the code does what the journal has. What is kept may differ: the journal's counts.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            // Journals from before there were digests say of what was sent only that it was.
            (Self::Asked(one, _), Self::Asked(other, _))
            | (Self::Recorded(one, _), Self::Recorded(other, _) | Self::Sent(other, _))
            | (Self::Sent(one, _), Self::Sent(other, _)) => one == other,
            (Self::Dropped(one), Self::Dropped(other)) => one == other,
            (Self::Asked(..) | Self::Recorded(..) | Self::Sent(..) | Self::Dropped(_), _) => false,
        }
    }

    /// Whether it is the same but for what it was asked with, where both know that.
    pub(crate) fn has_other_input(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Asked(_, Some(one)), Self::Asked(_, Some(other)))
            | (Self::Sent(_, Some(one)), Self::Sent(_, Some(other))) => one != other,
            (Self::Asked(..) | Self::Recorded(..) | Self::Sent(..) | Self::Dropped(_), _) => false,
        }
    }

    /// The id and answer of a mark that the code may leave out.
    pub(crate) fn marker(&self) -> Option<(&str, u32)> {
        let Self::Recorded(key, value) = self else { return None };
        if !key.starts_with(PATCH) && !key.starts_with(VERSION) {
            return None;
        }
        let answer = value.as_i64().and_then(|it| u32::try_from(it).ok())?;
        Some((key, answer))
    }
}

/// An entry that tells the code something, as far as messages name it.
pub(crate) enum Told {
    Began,
    Done(u32),
    Cancelled,
    Updated(Name),
}

impl Told {
    /// What an entry tells, where it tells something.
    pub(crate) fn of(entry: &JournalEntry) -> Option<Self> {
        match entry {
            JournalEntry::Began { .. } => Some(Self::Began),
            JournalEntry::Done { operation, .. } => Some(Self::Done(*operation)),
            JournalEntry::Cancelled { .. } => Some(Self::Cancelled),
            JournalEntry::Updated { name, .. } => Some(Self::Updated(Name::clone(name))),
            JournalEntry::Asked { .. }
            | JournalEntry::Recorded { .. }
            | JournalEntry::Sent { .. }
            | JournalEntry::Dropped { .. } => None,
        }
    }
}

/// What an operation that is done has brought: the entry that says so.
pub(crate) struct Brought(Arc<JournalEntry>);

impl Brought {
    /// What the entry of an operation that is done says it has brought.
    pub(crate) fn by(entry: &Arc<JournalEntry>) -> Self {
        Self(Arc::clone(entry))
    }

    pub(crate) fn variables(&self) -> &Assignments {
        let JournalEntry::Done { outcome: Ok(variables), .. } = &*self.0 else {
            unreachable!("only an operation that is done brings something");
        };
        variables
    }
}
