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
pub use linkme;
pub use registry::{ACTIVITIES, DuplicateFunction, Functions, RunnableActivity, WORKFLOWS};
pub use retry::{Retry, parse_duration};
