//! The parts of events about what went wrong.

use serde::Deserialize;
use travertine_kernel as kernel;
use travertine_value::time::Timestamp;

use super::{puts, token::Cue};

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

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    kind: FailureKind,
    code: Option<&'a str>,
    message: &'a str,
}

puts!(struct kernel::Failure { kind, code, message });

impl Failure<'_> {
    pub(super) fn lift(self) -> kernel::Failure {
        kernel::Failure {
            kind: self.kind.lift(),
            code: self.code.map(Into::into),
            message: self.message.to_owned(),
        }
    }
}

#[derive(Debug, Deserialize)]
enum FailureKind {
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
}

puts!(enum kernel::FailureKind {
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
});

impl FailureKind {
    fn lift(self) -> kernel::FailureKind {
        match self {
            Self::Error => kernel::FailureKind::Error,
            Self::Script => kernel::FailureKind::Script,
            Self::NoFlow => kernel::FailureKind::NoFlow,
            Self::Restriction => kernel::FailureKind::Restriction,
            Self::Operator => kernel::FailureKind::Operator,
            Self::Repeat => kernel::FailureKind::Repeat,
            Self::Timer => kernel::FailureKind::Timer,
            Self::FanIn => kernel::FailureKind::FanIn,
            Self::Work => kernel::FailureKind::Work,
            Self::Steps => kernel::FailureKind::Steps,
            Self::Depth => kernel::FailureKind::Depth,
            Self::Code => kernel::FailureKind::Code,
            Self::AdHoc => kernel::FailureKind::AdHoc,
            Self::Budget => kernel::FailureKind::Budget,
        }
    }
}

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
