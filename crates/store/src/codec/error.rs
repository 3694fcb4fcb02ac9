//! What can be wrong with what is to be stored, or with bytes.

use std::fmt;

use travertine_kernel::Unsound;
use travertine_value::NumberError;

use super::VALUE_DEPTH_MAX;

/// Why something has no stored form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// A value is nested deeper than [`VALUE_DEPTH_MAX`].
    TooDeep,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep => write!(f, "a value is nested deeper than {VALUE_DEPTH_MAX}"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// Why bytes are not what they should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// In which event, counted from 0; `None` before the first, after the last, and where there are
    /// no events.
    pub event: Option<usize>,
    /// How many bytes were read before it was noticed.
    pub offset: usize,
    /// What is wrong.
    pub flaw: Flaw,
}

/// What is wrong with bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// The format has a version that this program does not know.
    UnknownVersion(u8),
    /// They are not those that were written: their checksum is another one.
    Checksum,
    /// They end too early.
    CutShort,
    /// Something follows after the last event, or after a value.
    TrailingBytes,
    /// More things are announced than there are bytes for.
    TooMany(u64),
    /// An event, or a part of one, is of a kind that this program does not know.
    UnknownKind,
    /// A number of the format itself is too long, or a yes or no is neither.
    BadEncoding,
    /// A text is not UTF-8.
    NotText,
    /// A value is nested deeper than [`VALUE_DEPTH_MAX`].
    TooDeep,
    /// A number cannot be represented.
    Number(NumberError),
    /// A text is no cron expression.
    Cron,
    /// The parts of an instance do not fit together.
    Unsound(Unsound),
}

impl DecodeError {
    /// This error where `bytes` came before.
    pub(super) fn after(self, bytes: usize) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}", self.offset)?;
        if let Some(event) = self.event {
            write!(f, ", in event {event}")?;
        }
        write!(f, ": {}", self.flaw)
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVersion(version) => write!(f, "unknown format version: {version}"),
            Self::Checksum => f.write_str("the checksum is wrong"),
            Self::CutShort => f.write_str("the bytes end too early"),
            Self::TrailingBytes => f.write_str("something follows after the end"),
            Self::TooMany(count) => write!(f, "more is announced than there can be: {count}"),
            Self::UnknownKind => f.write_str("unknown kind of event, or of a part of one"),
            Self::BadEncoding => f.write_str("malformed number, option or boolean"),
            Self::NotText => f.write_str("a text is not UTF-8"),
            Self::TooDeep => write!(f, "a value is nested deeper than {VALUE_DEPTH_MAX}"),
            Self::Number(error) => error.fmt(f),
            Self::Cron => f.write_str("a text is no cron expression"),
            Self::Unsound(unsound) => unsound.fmt(f),
        }
    }
}

impl std::error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.flaw {
            Flaw::Number(error) => Some(error),
            Flaw::Unsound(unsound) => Some(unsound),
            Flaw::UnknownVersion(_)
            | Flaw::Checksum
            | Flaw::CutShort
            | Flaw::TrailingBytes
            | Flaw::TooMany(_)
            | Flaw::UnknownKind
            | Flaw::BadEncoding
            | Flaw::NotText
            | Flaw::TooDeep
            | Flaw::Cron => None,
        }
    }
}
