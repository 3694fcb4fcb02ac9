//! Durable functions: what they are written against, and the runner that takes them through their
//! journals.

#![forbid(unsafe_code)]

mod activity;
mod context;
mod definition;
mod error;
mod event;
mod registry;
mod retry;
mod typed;

pub use activity::{ActivityContext, Attempt, Dependencies, Heart};
pub use context::Context;
pub use definition::{
    Activity, ActivityDefinition, ActivityOptions, Arguments, BoxFuture, Continuation,
    LocalBoxFuture, Workflow, WorkflowDefinition, encode,
};
pub use error::{Blocked, Failure, Flow, Stop};
pub use event::{Consume, Delivery, Event, EventConfig};
pub use registry::{ACTIVITIES, DuplicateFunction, Functions, RunnableActivity, WORKFLOWS};
pub use retry::{Retry, parse_duration};

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
