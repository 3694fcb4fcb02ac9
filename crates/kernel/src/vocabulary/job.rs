//! Work to be done outside, and how it is done where a function has asked for it.

use std::{sync::Arc, time::Duration};

use travertine_value::{Map, Name, time::Timestamp};

use super::Assignments;

/// Work to be done outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// For whom.
    pub kind: crate::plan::WorkKind,
    /// Which workers can do it.
    #[expect(clippy::struct_field_names, reason = "people call it the job type")]
    pub job_type: Name,
    /// How often it may still fail. At 0 it is not offered.
    pub retries: u32,
    /// Headers of a job; assignee, due date and so on of a user task. They are the model's: none of them says
    /// how long an attempt may take, or how it is tried again.
    pub fields: Assignments,
    /// What the function that has asked for it says of it. A model says nothing.
    pub options: Option<Box<JobOptions>>,
    /// What went wrong when it was last tried, where it was.
    pub failure: Option<Name>,
}

/// What a function says of work that it asks for. Spans of time are whole milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct JobOptions {
    /// What it is called with.
    pub input: Arc<Map>,
    /// The key that all attempts of one call share.
    pub idempotency_key: Name,
    /// How often it is tried at most.
    pub attempts: u32,
    /// The pauses between attempts, where they are not the usual ones.
    pub backoff: Option<Backoff>,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// When all attempts must be done.
    pub deadline: Option<Timestamp>,
    /// How long an attempt may be silent.
    pub heartbeat: Option<Duration>,
    /// What is higher is done first.
    pub priority: Option<i64>,
    /// The limit that it keeps: a class, and a key after a slash.
    pub limit: Option<Name>,
    /// Whether it brings variables; otherwise it brings one value, its result.
    pub brings_variables: bool,
}

/// The pauses between attempts, in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The first one.
    pub initial: Duration,
    /// How many times longer each further one is.
    pub factor: f64,
    /// The longest one.
    pub max: Duration,
}
