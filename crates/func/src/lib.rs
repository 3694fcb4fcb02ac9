//! Durable functions: what they are written against, and the runner that takes them through their
//! journals.
//!
//! ```text
//! journal ──> Session::advance ──> decisions          told: began, done, cancelled, updated
//!                   │                                 decided: ask, record, post, drop, end
//!                   ▼
//!             the user's code ──> Context ──> Core    holds what is asked against the journal
//! ```
//!
//! A function is an `async fn` over a [`Context`]. All that it asks of the world is an [`Operation`]
//! with a key: where it stands, its kind and name, and how often that came before. A [`Session`] feeds
//! the journal to the code entry by entry. What the code asks for must be what the journal has next;
//! beyond its end, it is decided. So the same code with the same journal decides the same, and a
//! session may be thrown away whenever nobody needs it. There is no clock, no thread and no engine
//! here; [`run`] is the whole of it as one pure function.
//!
//! Start reading at `session`, then `core`, then whatever you came for.

#![forbid(unsafe_code)]

mod activity;
mod combine;
mod context;
mod core;
mod definition;
mod digest;
mod entry;
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
mod scope;
mod session;
mod text;
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
#[doc(hidden)]
pub use panics::quietly;
pub use random::Random;
pub use registry::{ACTIVITIES, DuplicateFunction, Functions, RunnableActivity, WORKFLOWS};
pub use retry::{Retry, parse_duration};
pub use saga::Saga;
pub use session::{Advance, Answer, Identity, Outcome, Session, SessionSettings, run};

/// What the attributes of functions write in place of them; nothing for people.
#[doc(hidden)]
pub mod __macros {
    pub use linkme;

    pub use crate::{
        definition::{
            ActivityDefinition, ActivityOptions, AwaitedActivity, AwaitedWorkflow, Described,
            WorkflowDefinition, encode,
        },
        error::Flow,
        event::{Consume, Delivery, EventConfig},
        registry::{ACTIVITIES, WORKFLOWS},
        retry::Retry,
    };
}

#[cfg(test)]
mod tests;
