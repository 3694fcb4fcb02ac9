//! What is refused, and what can be done about it.

use std::fmt;

use travertine_value::{Excess, Name};

use super::{PostId, TokenId, WaitId};
use crate::{budget::Over, plan::NodeId};

/// Why a command was refused. Nothing has changed.
///
/// ```
/// # use travertine_kernel::{Rejection, TokenId};
/// let refused = Rejection::NoSuchToken(TokenId(4));
/// assert_eq!(refused.to_string(), "no such token: 4");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// The instance has been started before.
    AlreadyStarted,
    /// The instance has not been started.
    NotRunning,
    /// The instance has ended.
    Ended,
    /// The process has no plain start.
    NoSuchStart,
    /// The wait is closed, or never was.
    NoSuchWait(WaitId),
    /// The token is gone, or never was.
    NoSuchToken(TokenId),
    /// The token that was on the visit has moved on or is gone, or there never was such a visit.
    NoSuchVisit(u64),
    /// The token has no incident.
    NoIncident(TokenId),
    /// The incident of this number is over, or never was.
    NoSuchIncident(u64),
    /// The work that has an incident may not be tried again: it has no retries.
    Exhausted(WaitId),
    /// What was posted is delivered, or never was.
    NoSuchPost(PostId),
    /// This cannot happen to such a wait.
    WrongWait {
        /// The wait.
        wait: WaitId,
        /// What was asked of it.
        asked: &'static str,
    },
    /// The performer works on something else.
    PerformerBusy {
        /// The wait for the decision to enter.
        wait: WaitId,
        /// What it works on.
        with: TokenId,
    },
    /// What completes the work does not bring all that is expected of it.
    Incomplete {
        /// The wait for the work.
        wait: WaitId,
        /// What is missing.
        missing: Vec<Name>,
    },
    /// The token has an incident, which comes first.
    HasIncident(TokenId),
    /// Work that may not fail even once would never be offered.
    NoRetries(WaitId),
    /// The plan has no node of this number.
    NoSuchElement(NodeId),
    /// No token is at the element.
    NoTokenAt(Name),
    /// A token cannot be put there.
    CannotAdd {
        /// Before this element.
        at: Name,
        /// Why not, and what can be done.
        why: String,
    },
    /// A token cannot be taken away or moved.
    CannotWithdraw {
        /// The token.
        token: TokenId,
        /// Why not, and what can be done.
        why: String,
    },
    /// A variable that comes with the command cannot be kept.
    TooMuch {
        /// The variable.
        name: Name,
        /// Why.
        why: Excess,
    },
    /// The variables that come with the command are more than an instance may have.
    OverBudget(Over),
    /// It is a process, and what was asked is for functions.
    NotAFunction,
    /// The last thing that the function was told is no update.
    NoUpdate,
    /// It is a function, and what was asked is for processes.
    NotAProcess,
    /// Several scopes are open that the token could be in.
    Ambiguous {
        /// The element it shall stand before.
        at: Name,
        /// The scopes.
        scopes: Vec<TokenId>,
    },
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyStarted => f.write_str("the instance has been started before"),
            Self::NotRunning => f.write_str("the instance has not been started"),
            Self::Ended => f.write_str("the instance has ended"),
            Self::NoSuchStart => {
                f.write_str("the process has no plain start: name the element to begin at")
            }
            Self::NoSuchWait(wait) => write!(f, "no such wait: {}", wait.0),
            Self::NoSuchToken(token) => write!(f, "no such token: {}", token.0),
            Self::NoSuchVisit(visit) => {
                write!(f, "no token is on visit {visit}: it has moved on, or never was")
            }
            Self::NoIncident(token) => write!(f, "token {} has no incident", token.0),
            Self::NoSuchIncident(number) => {
                write!(f, "no such incident: {number} is resolved, or never was")
            }
            Self::Exhausted(wait) => {
                write!(f, "wait {} has no retries left: set its retries first", wait.0)
            }
            Self::NoSuchPost(post) => write!(f, "nothing to deliver: {}", post.0),
            Self::WrongWait { wait, asked } => write!(f, "wait {} cannot {asked}", wait.0),
            Self::PerformerBusy { wait, with } => {
                write!(f, "wait {} must wait: the performer is busy with token {}", wait.0, with.0)
            }
            Self::Incomplete { wait, missing } => {
                let missing = missing.join(", ");
                write!(f, "wait {} is complete only with {missing}: bring that too", wait.0)
            }
            Self::HasIncident(token) => {
                write!(f, "token {} has an incident, resolve it first", token.0)
            }
            Self::NoRetries(wait) => {
                write!(f, "wait {} needs at least one try: to stop the work, fail it", wait.0)
            }
            Self::NoSuchElement(node) => write!(f, "no such element: {}", node.0),
            Self::TooMuch { name, why } => write!(f, "the value of {name} is {why}"),
            Self::OverBudget(over) => write!(f, "it is too much for an instance: {over}"),
            Self::NoTokenAt(name) => write!(f, "no token is at {name}"),
            Self::CannotAdd { at, why } => write!(f, "no token can be put before {at}: {why}"),
            Self::CannotWithdraw { token, why } => {
                write!(f, "token {} cannot be taken away: {why}", token.0)
            }
            Self::NotAFunction => f.write_str("the instance is a process, not a function"),
            Self::NoUpdate => f.write_str("what it was told last is no update"),
            Self::NotAProcess => f.write_str(
                "the instance is a function: only its code moves it and changes what it has; \
                 send it an event or an update",
            ),
            Self::Ambiguous { at, scopes } => {
                let scopes: Vec<String> = scopes.iter().map(|it| it.0.to_string()).collect();
                write!(f, "{at} lies in several open scopes: name one of {}", scopes.join(", "))
            }
        }
    }
}

impl std::error::Error for Rejection {}

/// What each is called wherever it is data.
macro_rules! codes {
    ($($rejection:pat => $code:literal,)*) => {
        impl Rejection {
            /// All codes.
            #[doc(hidden)] // For the table in the docs.
            pub const CODES: &[&'static str] = &[$($code),*];

            /// What it is called wherever it is data. That never changes.
            ///
            /// ```
            /// # use travertine_kernel::{Rejection, TokenId};
            /// assert_eq!(Rejection::NoSuchToken(TokenId(4)).code(), "no_such_token");
            /// ```
            pub fn code(&self) -> &'static str {
                match self {
                    $($rejection => $code,)*
                }
            }
        }
    };
}

codes! {
    Self::AlreadyStarted => "already_started",
    Self::NotRunning => "not_running",
    Self::Ended => "ended",
    Self::NoSuchStart => "no_such_start",
    Self::NoSuchWait(_) => "no_such_wait",
    Self::NoSuchToken(_) => "no_such_token",
    Self::NoSuchVisit(_) => "no_such_visit",
    Self::NoIncident(_) => "no_incident",
    Self::NoSuchIncident(_) => "no_such_incident",
    Self::Exhausted(_) => "exhausted",
    Self::NoSuchPost(_) => "no_such_post",
    Self::WrongWait { .. } => "wrong_wait",
    Self::PerformerBusy { .. } => "performer_busy",
    Self::Incomplete { .. } => "incomplete",
    Self::HasIncident(_) => "has_incident",
    Self::NoRetries(_) => "no_retries",
    Self::NoSuchElement(_) => "no_such_element",
    Self::NoTokenAt(_) => "no_token_at",
    Self::CannotAdd { .. } => "cannot_add",
    Self::CannotWithdraw { .. } => "cannot_withdraw",
    Self::TooMuch { .. } => "too_much",
    Self::OverBudget(_) => "over_budget",
    Self::NotAFunction => "not_a_function",
    Self::NoUpdate => "no_update",
    Self::NotAProcess => "not_a_process",
    Self::Ambiguous { .. } => "ambiguous",
}
