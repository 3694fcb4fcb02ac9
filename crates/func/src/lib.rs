//! Durable functions: what they are written against, and the runner that takes them through their
//! journals.

#![forbid(unsafe_code)]

mod activity;
mod combine;
mod context;
mod core;
mod definition;
mod error;
mod event;
mod handler;
pub mod merge;
mod operation;
mod panics;
mod random;
mod registry;
mod retry;
mod saga;
mod session;
mod wake;

pub use activity::{ActivityContext, Attempt, Dependencies, Heart};
pub use combine::{Arm, Arms};
pub use context::Context;
pub use definition::{
    Activity, ActivityDefinition, ActivityOptions, Arguments, BoxFuture, Continuation,
    LocalBoxFuture, Workflow, WorkflowDefinition, encode,
};
pub use error::{Blocked, Failure, Flow, Stop};
pub use event::{Consume, Delivery, Event, EventConfig};
pub use operation::{
    Call, Child, EventWait, JobCall, Operation, Posted, ProcessCall, SendEvent, Sleep, Spawned,
    Start,
};
pub use random::Random;
pub use registry::{ACTIVITIES, DuplicateFunction, Functions, RunnableActivity, WORKFLOWS};
pub use retry::{Retry, parse_duration};
pub use saga::Saga;
pub use session::{Advance, Answer, Identity, Outcome, Session, Settings, run};

/// What the attributes of functions write in place of them; nothing for people.
#[doc(hidden)]
pub mod __macros {
    pub use linkme;

    pub use crate::{
        definition::{ActivityDefinition, ActivityOptions, WorkflowDefinition, encode},
        error::Flow,
        event::{Consume, Delivery, EventConfig},
        registry::{ACTIVITIES, WORKFLOWS},
        retry::Retry,
    };
}
