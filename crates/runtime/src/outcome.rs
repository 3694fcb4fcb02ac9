//! What whoever asks again must know of an error: its code, whether it was done, and when to ask again.

use std::time::Duration;

use crate::Error;

/// Whether what was asked was done.
///
/// ```
/// # use travertine_runtime::{Error, RequestOutcome};
/// let busy = Error::Busy { reason: "many ask".into() };
/// assert_eq!(busy.outcome(), RequestOutcome::NotDone);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// It was done; the error is its answer. Asking again does it again.
    Done,
    /// It was not done, and never will be. It can be asked again.
    NotDone,
    /// Nobody knows, or only a part was done. Look before you ask again, or ask for something that does
    /// no harm twice: a start with an id, a message with an id.
    Unknown,
}

impl RequestOutcome {
    /// What it is called wherever it is data.
    ///
    /// ```
    /// # use travertine_runtime::RequestOutcome;
    /// assert_eq!(RequestOutcome::NotDone.name(), "not_done");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::NotDone => "not_done",
            Self::Unknown => "unknown",
        }
    }
}

/// What each error is called wherever it is data. Those of the kernel and of the store have their own.
macro_rules! codes {
    ($($error:pat => $code:literal,)*) => {
        impl Error {
            /// All codes but those of the kernel and of the store.
            #[doc(hidden)] // For the table in the docs.
            pub const CODES: &[&'static str] = &[$($code),*];

            /// What it is called wherever it is data. That never changes.
            ///
            /// ```
            /// # use travertine_runtime::Error;
            /// assert_eq!(Error::NoSuchDefinition("order".into()).code(), "no_such_definition");
            /// ```
            pub fn code(&self) -> &'static str {
                match self {
                    Self::Rejected(rejection) => rejection.code(),
                    Self::Store(error) => error.code(),
                    $($error => $code,)*
                }
            }
        }
    };
}

codes! {
    Self::NoSuchDefinition(_) => "no_such_definition",
    Self::NoSuchElement { .. } => "no_such_element",
    Self::NoSuchInstance(_) => "no_such_instance",
    Self::NoSuchVisit { .. } => "no_such_visit",
    Self::NoVariables(_) => "no_variables",
    Self::NoSuchDeadLetter(_) => "no_such_dead_letter",
    Self::NoSuchSchedule(_) => "no_such_schedule",
    Self::BadSchedule { .. } => "bad_schedule",
    Self::BadStart { .. } => "bad_start",
    Self::Suspended(_) => "suspended",
    Self::NotSuspended(_) => "not_suspended",
    Self::Halted { .. } => "halted",
    Self::Blocked { .. } => "blocked",
    Self::NotHalted(_) => "not_halted",
    Self::NotMigrated { .. } => "not_migrated",
    Self::NotLeased(_) => "not_leased",
    Self::NoRetriesLeft(_) => "no_retries_left",
    Self::WrongKind { .. } => "wrong_kind",
    Self::Claimed { .. } => "claimed",
    Self::SeveralReceivers { .. } => "several_receivers",
    Self::NoReceiver { .. } => "no_receiver",
    Self::Busy { .. } => "busy",
    Self::Unavailable { .. } => "unavailable",
    Self::Failed { .. } => "failed",
    Self::Closed { .. } => "closed",
    Self::Unknown { .. } => "unknown",
    Self::Refused { .. } => "refused",
    Self::TooMany { .. } => "too_many",
    Self::InUse { .. } => "in_use",
    Self::AlreadyExists { .. } => "already_exists",
    Self::ReservedId(_) => "reserved_id",
    Self::BadId { .. } => "bad_id",
    Self::BadLabel { .. } => "bad_label",
    Self::Function { .. } => "function",
    Self::Damaged { .. } => "damaged",
    Self::DamagedViews { .. } => "damaged_views",
    Self::Deadly { .. } => "deadly",
    Self::Backwards { .. } => "backwards",
    Self::Restless { .. } => "restless",
}

impl Error {
    /// Whether what was asked was done.
    ///
    /// ```
    /// # use travertine_runtime::{Error, RequestOutcome};
    /// let closed = Error::Closed { reason: "it was shut down".into() };
    /// assert_eq!(closed.outcome(), RequestOutcome::NotDone);
    /// let unknown = Error::Unknown { reason: "the disk is gone".into() };
    /// assert_eq!(unknown.outcome(), RequestOutcome::Unknown);
    /// ```
    pub fn outcome(&self) -> RequestOutcome {
        match self {
            Self::Function { outcome, .. } => *outcome,
            Self::Store(error) if error.is_unknown() => RequestOutcome::Unknown,
            // The last thing that it did may be what halted it. What did not come to rest has begun.
            Self::Unknown { .. } | Self::Halted { .. } | Self::Restless { .. } => {
                RequestOutcome::Unknown
            }
            _ => RequestOutcome::NotDone,
        }
    }

    /// This error where a part was done before: nobody knows how much is.
    pub(crate) fn after_a_part(self) -> Self {
        match self.outcome() {
            RequestOutcome::NotDone => Self::Unknown { reason: self.to_string() },
            RequestOutcome::Done | RequestOutcome::Unknown => self,
        }
    }

    /// How long to wait before the same is asked again. `None` where that would be no use before something
    /// else has happened: someone must look, or what is asked for must change.
    ///
    /// ```
    /// # use travertine_runtime::Error;
    /// assert!(Error::Busy { reason: "many ask".into() }.retry_after().is_some());
    /// assert_eq!(Error::NoSuchDefinition("order".into()).retry_after(), None);
    /// ```
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { .. } => Some(Duration::from_millis(100)),
            Self::Unavailable { .. } => Some(Duration::from_secs(1)),
            Self::Store(error) => error.retry_after(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_part_was_done_nobody_says_that_nothing_was() {
        let busy = Error::Busy { reason: "many ask".into() }.after_a_part();
        assert_eq!(busy, Error::Unknown { reason: "many ask".into() });
        let halted = Error::Halted { instance: crate::InstanceId(1), reason: "it failed".into() };
        assert_eq!(halted.clone().after_a_part(), halted);
    }
}
