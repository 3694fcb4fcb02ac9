//! What can go wrong with a store.

use std::{fmt, time::Duration};

use crate::{
    Seq, ShardId,
    view::{Key, Table},
};

/// Why a store did not do what was asked.
///
/// ```
/// # use travertine_store::Error;
/// let in_use = Error::InUse { store: "orders".into(), holder: Some("process 12".into()) };
/// assert!(in_use.to_string().contains("orders"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Another process has it open.
    InUse {
        /// The store, as it was named.
        store: String,
        /// Who has it, where that is known.
        holder: Option<String>,
    },
    /// Another owner has claimed the shard since. Nothing was written.
    Stale {
        /// The shard.
        shard: ShardId,
    },
    /// There is no room left. Nothing was written, and writing may be tried again.
    Full {
        /// What the system says.
        reason: String,
    },
    /// It cannot be written: the medium or the rights do not allow it.
    ReadOnly {
        /// What the system says.
        reason: String,
    },
    /// The store cannot be reached. Nothing was written, and it may be tried again.
    Away {
        /// What the system says.
        reason: String,
    },
    /// Nobody knows whether it was written. Claiming the shard [again](crate::Claiming::Again) tells.
    Unknown {
        /// What the system says.
        reason: String,
    },
    /// Writing has failed in a way after which nothing this store says about durability can be
    /// believed. It must be opened again. What was being written then may or may not be there.
    Poisoned {
        /// What the system said then.
        reason: String,
    },
    /// Two deployments wanted the same version of a definition. Nothing was written.
    Conflict {
        /// What was there already.
        what: String,
    },
    /// What was read is not what can have been written.
    Corrupt {
        /// Where.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Entries that were acknowledged are not in the log any more: it is an older one, or a part of it is gone.
    Lost {
        /// The log.
        place: String,
        /// What is missing, and how that is known.
        reason: String,
    },
    /// The views cannot be read or written. They can be made again from the log.
    DamagedViews {
        /// Where.
        place: String,
        /// What is wrong with them.
        reason: String,
    },
    /// A row of the views cannot be read. The log says what it should say.
    DamagedRow {
        /// Its table.
        table: Table,
        /// Which one.
        key: Key,
        /// What is wrong with it.
        reason: String,
    },
    /// It was made by a newer version, or is no store at all.
    Foreign {
        /// The store, as it was named.
        store: String,
        /// What was found.
        reason: String,
    },
    /// There is no store where one was to be opened.
    Missing {
        /// The store, as it was named.
        store: String,
    },
    /// The log has no such entry.
    NoSuchEntry {
        /// The shard.
        shard: ShardId,
        /// Which one.
        seq: Seq,
    },
    /// An entry was to be written where it cannot stand. Nothing was written.
    Misplaced {
        /// The shard.
        shard: ShardId,
        /// Where it was to stand.
        seq: Seq,
        /// The entry it had to follow on, or to take the place of.
        last: Seq,
    },
    /// The question makes no sense.
    BadQuery {
        /// Why.
        reason: String,
    },
    /// The question makes sense, but too many rows would have to be looked at for the answer.
    TooBroad {
        /// What would narrow it.
        reason: String,
    },
    /// Reading or opening failed.
    Failed {
        /// What the system says.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { store, holder: Some(holder) } => {
                write!(f, "{store} is in use by {holder}")
            }
            Self::InUse { store, holder: None } => write!(f, "{store} is in use"),
            Self::Stale { shard } => write!(f, "shard {shard} has another owner now"),
            Self::ReadOnly { reason } => write!(f, "the store cannot be written: {reason}"),
            Self::Full { reason } => write!(f, "the store has no room left: {reason}"),
            Self::Away { reason } => write!(f, "the store cannot be reached: {reason}"),
            Self::Unknown { reason } => {
                write!(f, "nobody knows whether the store has written it: {reason}")
            }
            Self::Poisoned { reason } => {
                write!(f, "the store has failed and must be opened again: {reason}")
            }
            Self::Conflict { what } => write!(f, "someone else has deployed {what} meanwhile"),
            Self::Corrupt { place, reason } | Self::DamagedViews { place, reason } => {
                write!(f, "{place} is damaged: {reason}")
            }
            Self::Lost { place, reason } => write!(
                f,
                "{place} has lost entries that were acknowledged: {reason}; bring back the log.db and \
                 log.db-wal that belong together, or a backup"
            ),
            Self::DamagedRow { table, key, reason } => {
                write!(f, "row {} of {table} is damaged: {reason}", key.instance)
            }
            Self::Foreign { store, reason } => write!(f, "{store} cannot be opened: {reason}"),
            Self::Missing { store } => write!(f, "{store} cannot be opened: there is no store"),
            Self::NoSuchEntry { shard, seq } => {
                write!(f, "the log of shard {shard} has no entry {seq}")
            }
            Self::Misplaced { shard, seq, last } => {
                write!(f, "entry {seq} of shard {shard} cannot stand after or in place of {last}")
            }
            Self::BadQuery { reason } | Self::TooBroad { reason } | Self::Failed { reason } => {
                f.write_str(reason)
            }
        }
    }
}

impl std::error::Error for Error {}

/// What each is called wherever it is data.
macro_rules! codes {
    ($($error:pat => $code:literal,)*) => {
        impl Error {
            /// All codes.
            #[doc(hidden)] // For the table in the docs.
            pub const CODES: &[&'static str] = &[$($code),*];

            /// What it is called wherever it is data. That never changes.
            ///
            /// ```
            /// # use travertine_store::Error;
            /// assert_eq!(Error::Full { reason: "no space".into() }.code(), "store_full");
            /// ```
            pub fn code(&self) -> &'static str {
                match self {
                    $($error => $code,)*
                }
            }
        }
    };
}

codes! {
    Self::InUse { .. } => "store_in_use",
    Self::Stale { .. } => "store_stale",
    Self::Full { .. } => "store_full",
    Self::ReadOnly { .. } => "store_read_only",
    Self::Away { .. } => "store_away",
    Self::Unknown { .. } => "store_unknown",
    Self::Poisoned { .. } => "store_poisoned",
    Self::Conflict { .. } => "store_conflict",
    Self::Corrupt { .. } => "store_corrupt",
    Self::Lost { .. } => "store_lost",
    Self::DamagedViews { .. } => "store_damaged_views",
    Self::DamagedRow { .. } => "store_damaged_row",
    Self::Foreign { .. } => "store_foreign",
    Self::Missing { .. } => "store_missing",
    Self::NoSuchEntry { .. } => "store_no_such_entry",
    Self::Misplaced { .. } => "store_misplaced",
    Self::BadQuery { .. } => "store_bad_query",
    Self::TooBroad { .. } => "store_too_broad",
    Self::Failed { .. } => "store_failed",
}

impl Error {
    /// Whether nobody knows if what was asked has been written. Otherwise it has not.
    ///
    /// ```
    /// # use travertine_store::Error;
    /// assert!(Error::Unknown { reason: "no answer".into() }.is_unknown());
    /// assert!(!Error::Full { reason: "no space".into() }.is_unknown());
    /// ```
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Poisoned { .. })
    }

    /// How long to wait before the same is asked again. `None` where that would be no use before someone has
    /// looked.
    ///
    /// ```
    /// # use travertine_store::Error;
    /// assert!(Error::Full { reason: "no space".into() }.retry_after().is_some());
    /// ```
    pub fn retry_after(&self) -> Option<Duration> {
        let passes = matches!(self, Self::InUse { .. } | Self::Full { .. } | Self::Away { .. });
        let at_once = matches!(self, Self::Conflict { .. });
        if passes { Some(Duration::from_secs(1)) } else { at_once.then_some(Duration::ZERO) }
    }
}
