//! The parts of events about what went wrong.

use serde::{Deserialize, Serialize};
use travertine_expr::time::Timestamp;
use travertine_kernel as kernel;

use super::token::Cue;

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Incident<'a> {
    failure: Failure<'a>,
    redo: Cue,
    since_ms: i64,
}

impl<'a> Incident<'a> {
    pub(super) fn of(incident: &'a kernel::Incident) -> Self {
        let kernel::Incident { failure, redo, since } = incident;
        Self { failure: Failure::of(failure), redo: Cue::of(*redo), since_ms: since.as_millis() }
    }

    pub(super) fn lift(self) -> kernel::Incident {
        kernel::Incident {
            failure: self.failure.lift(),
            redo: self.redo.lift(),
            since: Timestamp::from_millis(self.since_ms),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    kind: FailureKind,
    code: Option<&'a str>,
    message: &'a str,
}

impl<'a> Failure<'a> {
    pub(super) fn of(failure: &'a kernel::Failure) -> Self {
        let kernel::Failure { kind, code, message } = failure;
        Self { kind: FailureKind::of(*kind), code: code.as_deref(), message }
    }

    pub(super) fn lift(self) -> kernel::Failure {
        kernel::Failure {
            kind: self.kind.lift(),
            code: self.code.map(Into::into),
            message: self.message.to_owned(),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
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
}

impl FailureKind {
    fn of(kind: kernel::FailureKind) -> Self {
        match kind {
            kernel::FailureKind::Error => Self::Error,
            kernel::FailureKind::Script => Self::Script,
            kernel::FailureKind::NoFlow => Self::NoFlow,
            kernel::FailureKind::Restriction => Self::Restriction,
            kernel::FailureKind::Operator => Self::Operator,
            kernel::FailureKind::Repeat => Self::Repeat,
            kernel::FailureKind::Timer => Self::Timer,
            kernel::FailureKind::FanIn => Self::FanIn,
            kernel::FailureKind::Work => Self::Work,
            kernel::FailureKind::Steps => Self::Steps,
            kernel::FailureKind::Depth => Self::Depth,
            kernel::FailureKind::Code => Self::Code,
        }
    }

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
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) enum Ending<'a> {
    Completed,
    Failed(Failure<'a>),
    Cancelled,
}

impl<'a> Ending<'a> {
    pub(super) fn of(ending: &'a kernel::Ending) -> Self {
        match ending {
            kernel::Ending::Completed => Self::Completed,
            kernel::Ending::Failed(failure) => Self::Failed(Failure::of(failure)),
            kernel::Ending::Cancelled => Self::Cancelled,
        }
    }

    pub(super) fn lift(self) -> kernel::Ending {
        match self {
            Self::Completed => kernel::Ending::Completed,
            Self::Failed(failure) => kernel::Ending::Failed(failure.lift()),
            Self::Cancelled => kernel::Ending::Cancelled,
        }
    }
}
