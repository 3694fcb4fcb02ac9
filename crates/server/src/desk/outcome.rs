//! Why something was not done: one table for every façade.

use std::{fmt, time::Duration};

use travertine_kernel::Rejection;
use travertine_runtime::{Error, RequestOutcome};
use travertine_value::brief::{abridged, abridged_lines};

/// How much of what is wrong is told: in a line, which may repeat a name of any length, and in all lines together.
pub(crate) const LINE_BYTES_MAX: usize = 1_000;
const DETAIL_BYTES_MAX: usize = 32_000;

/// What kind of answer a refusal is. Protocols have a code for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// What was asked for is not there, or is there no more.
    NotFound,
    /// It can never be done as it was asked.
    Invalid,
    /// It cannot be done in the state that things are in.
    InvalidState,
    /// It is there already.
    AlreadyExists,
    /// Nobody said who asks, or the proof is wrong.
    Unauthenticated,
    /// Who asks may not.
    Forbidden,
    /// It is too large for the server.
    TooLarge,
    /// The server has too much to do. Nothing was done.
    Overloaded,
    /// The engine takes nothing now. Nothing was done.
    Unavailable,
    /// The engine cannot tell whether it was done.
    Unknown,
    /// It has not come about in the time that was given for it.
    TimedOut,
    /// It is the server's fault.
    Internal,
}

impl Outcome {
    /// The word for it where nothing finer is known.
    fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Invalid => "invalid",
            Self::InvalidState => "invalid_state",
            Self::AlreadyExists => "already_exists",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::TooLarge => "too_large",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
            Self::Unknown => "unknown",
            Self::TimedOut => "timed_out",
            Self::Internal => "internal",
        }
    }
}

/// Why something was not done, for a program and for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What kind of answer it is.
    pub outcome: Outcome,
    /// What is wrong, and the way out.
    pub detail: String,
    /// A word for it that stays as it is, finer than the kind of answer.
    pub code: &'static str,
    /// When it makes sense to ask again.
    pub retry_after: Option<Duration>,
    /// Whether it was done in spite of that.
    pub done: RequestOutcome,
}

impl Refusal {
    /// A refusal of this kind.
    pub fn new(outcome: Outcome, detail: impl Into<String>) -> Self {
        let done = match outcome {
            Outcome::Unknown | Outcome::TimedOut | Outcome::Internal => RequestOutcome::Unknown,
            _ => RequestOutcome::NotDone,
        };
        let detail = detail.into();
        let detail = abridged(&abridged_lines(&detail, LINE_BYTES_MAX), DETAIL_BYTES_MAX).into();
        Self { outcome, detail, code: outcome.code(), retry_after: None, done }
    }

    /// This refusal of what was asked once something was done: nobody must take that for not done.
    pub(crate) fn once_done(self) -> Self {
        let detail = format!("it was done, but what came of it cannot be told: {}", self.detail);
        Self { done: RequestOutcome::Done, ..Self::new(Outcome::Unknown, detail) }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Outcome::Invalid, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(Outcome::NotFound, detail)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Refusal {}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let outcome = outcome(&error);
        let detail = match outcome {
            // What is inside is for the log of the server, not for whoever asks.
            Outcome::Internal => {
                tracing::error!(error = %error, code = error.code(), "the engine failed");
                "the server failed; its log says more".to_owned()
            }
            _ => error.to_string(),
        };
        let (code, retry_after, done) = (error.code(), error.retry_after(), error.outcome());
        Self { code, retry_after, done, ..Self::new(outcome, detail) }
    }
}

fn outcome(error: &Error) -> Outcome {
    match error {
        Error::NoSuchDefinition(_)
        | Error::NoSuchInstance(_)
        | Error::NoSuchDeadLetter(_)
        | Error::NoSuchSchedule(_)
        | Error::NoReceiver { .. }
        | Error::NoSuchVisit { .. }
        | Error::NoVariables(_)
        // A key of another kind: a job's where a user task's was asked for.
        | Error::WrongKind { .. } => Outcome::NotFound,
        Error::NoSuchElement { .. }
        | Error::BadSchedule { .. }
        | Error::BadStart { .. }
        | Error::Refused { .. }
        | Error::ReservedId(_)
        | Error::BadId { .. }
        | Error::BadLabel { .. }
        | Error::TooMany { .. }
        | Error::Backwards { .. }
        | Error::Store(travertine_store::Error::BadQuery { .. }) => Outcome::Invalid,
        Error::Suspended(_)
        | Error::NotSuspended(_)
        | Error::Halted { .. }
        | Error::Blocked { .. }
        | Error::NotHalted(_)
        | Error::NotMigrated { .. }
        | Error::NotLeased(_)
        | Error::NoRetriesLeft(_)
        | Error::Claimed { .. }
        | Error::SeveralReceivers { .. }
        | Error::InUse { .. }
        | Error::Function { .. } => Outcome::InvalidState,
        Error::AlreadyExists { .. } => Outcome::AlreadyExists,
        Error::Rejected(rejection) => rejected(rejection),
        Error::Busy { .. } => Outcome::Overloaded,
        Error::Closed { .. } | Error::Unavailable { .. } => Outcome::Unavailable,
        Error::Unknown { .. } => Outcome::Unknown,
        Error::Store(_) if error.outcome() == RequestOutcome::Unknown => Outcome::Unknown,
        Error::Store(_) if error.retry_after().is_some() => Outcome::Overloaded,
        _ => Outcome::Internal,
    }
}

fn rejected(rejection: &Rejection) -> Outcome {
    match rejection {
        Rejection::Ended
        | Rejection::NoSuchWait(_)
        | Rejection::NoSuchToken(_)
        | Rejection::NoSuchVisit(_)
        | Rejection::NoIncident(_)
        | Rejection::NoSuchIncident(_)
        | Rejection::NoSuchPost(_)
        // A key of another kind: a job's where a user task's was asked for.
        | Rejection::WrongWait { .. } => Outcome::NotFound,
        Rejection::NoRetries(_)
        | Rejection::NoSuchElement(_)
        | Rejection::NoTokenAt(_)
        | Rejection::Incomplete { .. }
        | Rejection::TooMuch { .. }
        | Rejection::OverBudget(_) => Outcome::Invalid,
        // Also what is added to these: it cannot be done as things stand.
        _ => Outcome::InvalidState,
    }
}
