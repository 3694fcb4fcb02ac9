//! The parts of events about what went wrong.

use serde::Deserialize;
use travertine_kernel as kernel;
use travertine_value::time::Timestamp;

use super::{Out, Put, puts, token::Cue};

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Incident<'a> {
    failure: Failure<'a>,
    redo: Cue,
    since_ms: i64,
}

puts!(struct kernel::Incident { failure, redo, since });

impl Incident<'_> {
    pub(super) fn lift(self) -> kernel::Incident {
        kernel::Incident {
            failure: self.failure.lift(),
            redo: self.redo.lift(),
            since: Timestamp::from_millis(self.since_ms),
        }
    }
}

/// The parts of elements, in their order.
macro_rules! parts {
    ($($part:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug, Deserialize)]
        enum Part { $($part),* }

        impl Put for kernel::Part {
            fn put(&self, out: &mut Out) {
                let part = match self {
                    $(Self::$part => Part::$part,)*
                };
                out.variant(part as u8, ());
            }
        }

        impl Part {
            fn lift(self) -> kernel::Part {
                match self {
                    $(Self::$part => kernel::Part::$part),*
                }
            }
        }
    };
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    kind: FailureKind<'a>,
    code: Option<&'a str>,
    message: &'a str,
}

impl Put for kernel::Failure {
    fn put(&self, out: &mut Out) {
        let Self { kind, code, message, place } = self;
        match (plain(kind), place) {
            (Some(position), None) => out.variant(position, ()),
            (_, place) => out.variant(SPECIFIC, (place.as_deref(), kind)),
        }
        (code, message).put(out);
    }
}

impl Failure<'_> {
    pub(super) fn lift(self) -> kernel::Failure {
        let (place, kind) = self.kind.lift();
        kernel::Failure {
            kind,
            code: self.code.map(Into::into),
            message: self.message.to_owned(),
            place: place.map(Box::new),
        }
    }
}

/// A kind as the first failures had it, without data and place; in the end all others.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
enum FailureKind<'a> {
    Error,
    Script,
    NoFlow,
    Restriction,
    Operator,
    Repeat,
    Timer,
    FanIn,
    Work,
    Steps,
    Depth,
    Code,
    AdHoc,
    Budget,
    Specific(Option<Place<'a>>, Kind<'a>),
}

/// The position of what has a place or data.
const SPECIFIC: u8 = 14;

/// The position of a kind that can stand without data.
fn plain(kind: &kernel::FailureKind) -> Option<u8> {
    use kernel::FailureKind as Kind;
    Some(match kind {
        Kind::Error => 0,
        Kind::Script => 1,
        Kind::NoFlow => 2,
        Kind::Restriction => 3,
        Kind::Operator => 4,
        Kind::Repeat => 5,
        Kind::Timer => 6,
        Kind::FanIn => 7,
        Kind::Work => 8,
        Kind::Steps => 9,
        Kind::Depth => 10,
        Kind::Code => 11,
        Kind::AdHoc => 12,
        Kind::Budget(None) => 13,
        Kind::Budget(Some(_))
        | Kind::Call
        | Kind::Panic
        | Kind::Nondeterminism
        | Kind::MissingCode { .. }
        | Kind::MissingDefinition { .. }
        | Kind::MissingDecision { .. }
        | Kind::Oversized { .. } => return None,
    })
}

impl FailureKind<'_> {
    fn lift(self) -> (Option<kernel::Place>, kernel::FailureKind) {
        use kernel::FailureKind as Plain;
        let kind = match self {
            Self::Error => Plain::Error,
            Self::Script => Plain::Script,
            Self::NoFlow => Plain::NoFlow,
            Self::Restriction => Plain::Restriction,
            Self::Operator => Plain::Operator,
            Self::Repeat => Plain::Repeat,
            Self::Timer => Plain::Timer,
            Self::FanIn => Plain::FanIn,
            Self::Work => Plain::Work,
            Self::Steps => Plain::Steps,
            Self::Depth => Plain::Depth,
            Self::Code => Plain::Code,
            Self::AdHoc => Plain::AdHoc,
            Self::Budget => Plain::Budget(None),
            Self::Specific(place, kind) => return (place.map(Place::lift), kind.lift()),
        };
        (None, kind)
    }
}

/// A kind with all that it knows.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
enum Kind<'a> {
    Error,
    Script,
    NoFlow,
    Restriction,
    Operator,
    Repeat,
    Timer,
    FanIn,
    Work,
    Steps,
    Depth,
    Code,
    AdHoc,
    Budget(Option<Over>),
    Call,
    Panic,
    Nondeterminism,
    MissingCode { function: &'a str, version: u32 },
    MissingDefinition { definition: &'a str, version: Option<&'a str> },
    MissingDecision { decision: &'a str, version: Option<&'a str> },
    Oversized { bytes: u64, max: u64 },
}

impl Put for kernel::FailureKind {
    fn put(&self, out: &mut Out) {
        match self {
            Self::Budget(over) => out.variant(13, over),
            Self::Call => out.variant(14, ()),
            Self::Panic => out.variant(15, ()),
            Self::Nondeterminism => out.variant(16, ()),
            Self::MissingCode { function, version } => out.variant(17, (function, version)),
            Self::MissingDefinition { definition, version } => {
                out.variant(18, (definition, version));
            }
            Self::MissingDecision { decision, version } => out.variant(19, (decision, version)),
            Self::Oversized { bytes, max } => out.variant(20, (bytes, max)),
            Self::Error => out.variant(0, ()),
            Self::Script => out.variant(1, ()),
            Self::NoFlow => out.variant(2, ()),
            Self::Restriction => out.variant(3, ()),
            Self::Operator => out.variant(4, ()),
            Self::Repeat => out.variant(5, ()),
            Self::Timer => out.variant(6, ()),
            Self::FanIn => out.variant(7, ()),
            Self::Work => out.variant(8, ()),
            Self::Steps => out.variant(9, ()),
            Self::Depth => out.variant(10, ()),
            Self::Code => out.variant(11, ()),
            Self::AdHoc => out.variant(12, ()),
        }
    }
}

impl Kind<'_> {
    fn lift(self) -> kernel::FailureKind {
        use kernel::FailureKind as Plain;
        match self {
            Self::Error => Plain::Error,
            Self::Script => Plain::Script,
            Self::NoFlow => Plain::NoFlow,
            Self::Restriction => Plain::Restriction,
            Self::Operator => Plain::Operator,
            Self::Repeat => Plain::Repeat,
            Self::Timer => Plain::Timer,
            Self::FanIn => Plain::FanIn,
            Self::Work => Plain::Work,
            Self::Steps => Plain::Steps,
            Self::Depth => Plain::Depth,
            Self::Code => Plain::Code,
            Self::AdHoc => Plain::AdHoc,
            Self::Budget(over) => Plain::Budget(over.map(Over::lift)),
            Self::Call => Plain::Call,
            Self::Panic => Plain::Panic,
            Self::Nondeterminism => Plain::Nondeterminism,
            Self::MissingCode { function, version } => {
                Plain::MissingCode { function: function.into(), version }
            }
            Self::MissingDefinition { definition, version } => Plain::MissingDefinition {
                definition: definition.into(),
                version: version.map(Into::into),
            },
            Self::MissingDecision { decision, version } => Plain::MissingDecision {
                decision: decision.into(),
                version: version.map(Into::into),
            },
            Self::Oversized { bytes, max } => Plain::Oversized { bytes, max },
        }
    }
}

#[derive(Debug, Deserialize)]
enum Over {
    Names(u64),
    NameBytes(u64),
    Bytes(u64),
    Tokens(u64),
    Descendants(u64),
    JournalEntries(u64),
    JournalBytes(u64),
}

impl Put for kernel::Over {
    fn put(&self, out: &mut Out) {
        let (position, max) = match *self {
            Self::Names(max) => (0, max),
            Self::NameBytes(max) => (1, max),
            Self::Bytes(max) => (2, max),
            Self::Tokens(max) => (3, max),
            Self::Descendants(max) => (4, max),
            Self::JournalEntries(max) => (5, max),
            Self::JournalBytes(max) => (6, max),
        };
        out.variant(position, u64::try_from(max).unwrap_or(u64::MAX));
    }
}

impl Over {
    fn lift(self) -> kernel::Over {
        let size = |max: u64| usize::try_from(max).unwrap_or(usize::MAX);
        match self {
            Self::Names(max) => kernel::Over::Names(size(max)),
            Self::NameBytes(max) => kernel::Over::NameBytes(size(max)),
            Self::Bytes(max) => kernel::Over::Bytes(size(max)),
            Self::Tokens(max) => kernel::Over::Tokens(size(max)),
            Self::Descendants(max) => kernel::Over::Descendants(size(max)),
            Self::JournalEntries(max) => kernel::Over::JournalEntries(size(max)),
            Self::JournalBytes(max) => kernel::Over::JournalBytes(size(max)),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Place<'a> {
    part: Part,
    element: &'a str,
}

puts!(struct kernel::Place { part, element });

impl Place<'_> {
    fn lift(self) -> kernel::Place {
        kernel::Place { part: self.part.lift(), element: self.element.into() }
    }
}

parts!(
    Condition,
    Script,
    Input,
    Output,
    Timer,
    Call,
    Decision,
    Listener,
    Name,
    Correlation,
    Payload,
    Work,
    Repeat,
    Data,
    Status,
    Restriction,
    Activation,
);

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) enum Ending<'a> {
    Completed,
    Failed(Failure<'a>),
    Cancelled,
}

puts!(enum kernel::Ending { Completed, Failed(failure), Cancelled });

impl Ending<'_> {
    pub(super) fn lift(self) -> kernel::Ending {
        match self {
            Self::Completed => kernel::Ending::Completed,
            Self::Failed(failure) => kernel::Ending::Failed(failure.lift()),
            Self::Cancelled => kernel::Ending::Cancelled,
        }
    }
}
