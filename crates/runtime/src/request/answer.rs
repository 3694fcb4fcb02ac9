//! What requests bring and replies say that nothing else needs.

use std::{sync::Arc, time::Duration};

use travertine_kernel::{Assignments, Branch};
use travertine_store::{Seq, view::InstanceRow};
use travertine_value::Name;

use crate::{Definition, InstanceId, RunStatus, Timestamp};

/// What an instance is, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What people call it.
    pub business_id: Option<Name>,
    /// Whether it runs a function.
    pub is_function: bool,
    /// Whether it has ended.
    pub has_ended: bool,
    /// What it is doing, where it runs a function.
    pub status: RunStatus,
}

/// How it stands with a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Whether it has something to do.
    pub is_busy: bool,
    /// Its last entry.
    pub seq: Seq,
    /// When it has something to do.
    pub due: Option<Timestamp>,
    /// The instances that do not come to rest, where they are all there is to do.
    pub restless: Option<Vec<InstanceId>>,
    /// The definitions of which starts wait for another second, and how many.
    pub throttled: Vec<(Name, u64)>,
    /// How many mails in its inbox tell of such starts.
    pub waiting: usize,
    /// How many wait for instances to end, or have waited lately.
    pub watched: usize,
}

/// An instance in full.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error, InstanceId};
/// # use travertine_runtime::engine::Look;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let look: Look = engine.look(InstanceId(12)).await?;
/// println!("{} with {} variables", look.definition.id, look.variables.len());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Look {
    /// Its row.
    pub row: InstanceRow,
    /// Its scopes and tokens, where it has any.
    pub tree: Option<Branch>,
    /// Why its tokens rest.
    pub reasons: Vec<travertine_kernel::Reason>,
    /// The variables of the process; what a function was begun with, and its result.
    pub variables: Assignments,
    /// What it runs.
    pub definition: Arc<Definition>,
    /// The kernel's state.
    #[doc(hidden)] // For the command line; programs have its tree, reasons and variables.
    pub state: travertine_kernel::Instance,
}

/// What came of a job.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::Outcome;
/// # use std::time::Duration;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let painter = engine.worker("paint", |job| async move {
///     if job.retries > 1 {
///         return Outcome::Failed { message: "no paint left".into(), backoff: Duration::from_secs(5) };
///     }
///     Outcome::Error { code: "no-paint".into(), message: "none left".into(), variables: vec![] }
/// });
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is done, and brings these variables.
    Done(Assignments),
    /// It has failed. It is tried again as often as the model says, then someone must look at it.
    Failed {
        /// What went wrong.
        message: String,
        /// How long to wait before the next try.
        backoff: Duration,
    },
    /// It has failed, and it is no use to try it again: someone must look at it.
    Incident {
        /// What went wrong.
        message: String,
    },
    /// It has raised an error for the model to catch.
    Error {
        /// The error's code.
        code: String,
        /// What it says to people.
        message: String,
        /// The variables it brings.
        variables: Assignments,
    },
}

impl From<Assignments> for Outcome {
    fn from(variables: Assignments) -> Self {
        Self::Done(variables)
    }
}

impl<E: std::fmt::Display> From<Result<Assignments, E>> for Outcome {
    fn from(result: Result<Assignments, E>) -> Self {
        match result {
            Ok(variables) => Self::Done(variables),
            Err(error) => {
                Self::Failed { message: error.to_string(), backoff: Duration::from_secs(1) }
            }
        }
    }
}
