//! What can go wrong around the kernel.

use std::{fmt, sync::Arc};

use travertine_expr::Name;
use travertine_kernel::Rejection;

use crate::{Timestamp, sandbox::InstanceId};

/// Why something asked of the runtime was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Nothing is deployed under that id.
    NoSuchDefinition(Name),
    /// The definition has no start event of that id that something can trigger.
    NoSuchStart {
        /// The definition.
        definition: Name,
        /// The id.
        start: Name,
    },
    /// No instance has that id.
    NoSuchInstance(InstanceId),
    /// What triggers a start event cannot be worked out.
    BadStart {
        /// The definition.
        definition: Name,
        /// The start event.
        start: Name,
        /// Why.
        reason: String,
    },
    /// The instance has refused.
    Rejected(Rejection),
    /// The clock does not go backwards.
    Backwards {
        /// The time it shows.
        now: Timestamp,
    },
    /// The instances have not come to rest after so many events. They are as they are then, and can
    /// go on.
    Restless {
        /// How many.
        events: u64,
    },
}

impl Error {
    pub(crate) fn no_such_definition(id: &str) -> Self {
        Self::NoSuchDefinition(Arc::from(id))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchDefinition(id) => write!(f, "no such definition: {id}"),
            Self::NoSuchStart { definition, start } => {
                write!(f, "no such start event in {definition}: {start}")
            }
            Self::NoSuchInstance(id) => write!(f, "no such instance: {id}"),
            Self::BadStart { definition, start, reason } => {
                write!(f, "the start event {start} of {definition} cannot be triggered: {reason}")
            }
            Self::Rejected(rejection) => rejection.fmt(f),
            Self::Backwards { .. } => f.write_str("the clock does not go backwards"),
            Self::Restless { events } => {
                write!(f, "the instances have not come to rest after {events} events")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Rejected(rejection) => Some(rejection),
            Self::NoSuchDefinition(_)
            | Self::NoSuchStart { .. }
            | Self::NoSuchInstance(_)
            | Self::BadStart { .. }
            | Self::Backwards { .. }
            | Self::Restless { .. } => None,
        }
    }
}

impl From<Rejection> for Error {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}
