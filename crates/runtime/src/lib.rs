//! Runs definitions: the world around the kernel.
//!
//! The kernel says what it wants from outside; here someone sees to it: timers fire, messages and
//! signals find who waits for them, called definitions become instances that report back.
//!
//! A [`Shard`] does all of that for a slice of the instances, on a store, without threads.
//! [`Sandbox`] is a shard in memory, with a clock that moves only when told. It is for trying a model
//! out and for tests: the same input gives the same run, always.

#![forbid(unsafe_code)]

mod awaited;
pub mod batch;
mod board;
mod decision;
mod definition;
mod deployed;
mod descendants;
pub mod engine;
mod error;
mod id;
mod index;
mod key;
mod label;
mod limit;
mod message;
mod millis;
mod model;
mod outcome;
pub mod request;
mod sandbox;
pub mod schedule;
mod shard;
pub mod trace;
mod wakes;

pub use batch::{Batch, BatchCause, BatchItem, BatchOutcome, BatchPage, BatchStep, BatchWork};
pub use board::{Board, Offer};
pub use decision::{DecisionDefinition, DecisionModel};
pub use definition::{Definition, Definitions, StartOn, StartTrigger};
pub use deployed::{Deployed, DeployedKind};
pub use engine::Engine;
pub use error::{BadId, Error};
pub use key::{Key, Named};
pub use label::is_trace;
pub use limit::Limit;
pub use message::{
    Consume, Correlated, DeadLetter, Delivery, INSTANCE, Message, Published, Receipt,
    SignalReceipt, WHERE, correlates, is_for,
};
pub use model::{Models, OtherFile, is_decision, kind_of, read_models};
pub use outcome::RequestOutcome;
pub use sandbox::{Sandbox, Start, Turned};
pub use schedule::{Overlap, Schedule, When};
pub use shard::{
    Activated, At, Begin, Checkpoint, Difference, Edit, Ended, FunctionSettings, Given, JobChange,
    JobFailure, Kept, KeptHistory, Lease, Live, Opening, Recovered, Remains, RunStatus, Sealed,
    Seen, Settings, Shard, TaskChange, Trouble, Verified,
};
pub use travertine_store::{Address, DefinitionKey, InstanceId, NUMBER};
pub use travertine_value::time::Timestamp;

/// Whether something is a function that every engine has: its instances are kept by the engine for people, and listed
/// by what they are.
///
/// ```
/// assert!(travertine_runtime::is_own("travertine.schedule"));
/// assert!(!travertine_runtime::is_own("order"));
/// ```
pub fn is_own(definition: &str) -> bool {
    OWN.contains(&definition)
}

/// The functions that every engine has.
pub const OWN: [&str; 2] = [schedule::SCHEDULE, batch::BATCH];
