//! How a shard behaves.

use std::time::Duration;

use travertine_kernel::{Budgets, Wanted};
use travertine_store::view::Table;

use super::FunctionSettings;
use crate::Timestamp;

/// How a shard behaves.
///
/// ```
/// # use travertine_runtime::{Engine, Error, Settings};
/// # use travertine_runtime::engine::Options;
/// let settings = Settings { call_depth_max: 16, ..Settings::default() };
/// let engine = Engine::in_memory(Options { settings, ..Options::default() })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many instances it keeps in memory, besides those that have changed lately.
    pub instances_max: usize,
    /// How many entries make a batch full.
    pub batch_entries: usize,
    /// How many bytes make a batch full.
    pub batch_bytes: usize,
    /// How many callers an instance may have, one around the other.
    pub call_depth_max: u32,
    /// How many instances may be open under one that nobody has called, besides those that it has called
    /// itself, for each shard.
    pub descendants_max: u32,
    /// How many instances may start one another by messages and signals, each within a second.
    pub generations_max: u32,
    /// How many instances of a definition may begin in a second by messages and signals of other instances, by
    /// timers, calls and functions, for each shard; as many as come where it is 0. Beyond it starts wait.
    /// `tv:startLimit` says otherwise for one process.
    pub starts_per_second: u32,
    /// How many timers in a row may ring for an instance that were due when they were set.
    pub instant_timers_max: u32,
    /// How long a message is recognised when it is sent again, if it is not held longer.
    pub known_for: Duration,
    /// How many messages of a name are held before those that nobody waits for are refused. What
    /// instances send is always held.
    pub pending_max: usize,
    /// How long a message for one receiver that nobody has taken before it expired is kept as a dead
    /// letter; zero for not at all.
    pub dead_for: Duration,
    /// How many turns in a row an instance may take without coming to rest.
    pub turns_max: u32,
    /// How many bytes of entries an instance gathers before it gets a snapshot.
    pub snapshot_bytes: usize,
    /// Whether instances stay in memory after their end until their rows are stored, where people look
    /// for them.
    pub keeps_ended: bool,
    /// How much an instance may have, and what one turn may write.
    pub budgets: Budgets,
    /// What is kept of what is over in instances.
    pub history: KeptHistory,
    /// How functions behave.
    pub functions: FunctionSettings,
    /// Whether nothing goes on by itself: no timer rings, nothing that is on its way arrives, no function
    /// thinks, and no activity begins. For those who only look. What someone asks for all the same is
    /// written, and what follows from it happens when the store is opened otherwise.
    pub at_rest: bool,
}

/// What is kept of what is over in instances, as rows that can be searched. The log has all of it anyway, as long as
/// the instance is kept.
///
/// ```
/// # use travertine_runtime::{Kept, KeptHistory, Settings};
/// # use std::time::Duration;
/// let month = Kept::For(Duration::from_hours(30 * 24));
/// let history = KeptHistory { jobs: month, ..KeptHistory::default() };
/// let settings = Settings { history, ..Settings::default() };
/// assert_eq!(settings.history.tasks, Kept::WithInstance);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptHistory {
    /// Work for workers that is over.
    pub jobs: Kept,
    /// Work for people that is over.
    pub tasks: Kept,
    /// Incidents that are resolved.
    pub incidents: Kept,
}

/// How long a kind of rows about what is over is kept.
///
/// ```
/// # use travertine_runtime::Kept;
/// assert_ne!(Kept::No, Kept::WithInstance);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Not at all.
    No,
    /// So long after it was over, and no longer than its instance.
    For(Duration),
    /// As long as its instance.
    WithInstance,
}

impl Default for KeptHistory {
    fn default() -> Self {
        // Workers do much, and each job that is kept costs a row.
        Self { jobs: Kept::No, tasks: Kept::WithInstance, incidents: Kept::WithInstance }
    }
}

impl KeptHistory {
    /// What instances are to keep for it.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            jobs: self.jobs != Kept::No,
            tasks: self.tasks != Kept::No,
            incidents: self.incidents != Kept::No,
        }
    }

    /// Of which table rows are kept how long.
    pub(crate) fn tables(&self) -> [(Table, Kept); 3] {
        [
            (Table::PastJobs, self.jobs),
            (Table::PastTasks, self.tasks),
            (Table::PastIncidents, self.incidents),
        ]
    }
}

impl Kept {
    /// What was over before that time is not kept any more; nothing where that is no question of time.
    pub(crate) fn horizon(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::No | Self::WithInstance => None,
            Self::For(age) => Some(now.before(age)),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            instances_max: 50_000,
            batch_entries: 4_096,
            batch_bytes: 4 << 20,
            call_depth_max: 256,
            descendants_max: 100_000,
            generations_max: 1_000,
            starts_per_second: 50_000,
            instant_timers_max: 100_000,
            known_for: Duration::from_hours(1),
            pending_max: 10_000,
            dead_for: Duration::from_hours(7 * 24),
            turns_max: 1_000,
            snapshot_bytes: 16 << 10,
            keeps_ended: false,
            budgets: Budgets::default(),
            history: KeptHistory::default(),
            functions: FunctionSettings::default(),
            at_rest: false,
        }
    }
}
