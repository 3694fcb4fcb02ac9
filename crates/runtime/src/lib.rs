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
mod board;
mod decision;
mod definition;
mod deployed;
pub mod engine;
mod error;
mod id;
mod index;
mod key;
mod label;
mod limit;
mod message;
mod model;
mod outcome;
pub mod request;
mod sandbox;
pub mod schedule;
mod shard;
pub mod trace;
mod wakes;

pub use board::{Board, Offer};
pub use decision::{DecisionDefinition, DecisionModel};
pub use definition::{Definition, Definitions, StartOn, StartTrigger};
pub use deployed::{Deployed, DeployedKind};
pub use engine::Engine;
pub use error::{BadId, Error};
pub use id::{Address, InstanceId};
pub use key::{Key, Named};
pub use limit::Limit;
pub use message::{
    Consume, Correlated, DeadLetter, Delivery, INSTANCE, Message, Published, Receipt,
    SignalReceipt, WHERE, correlates, is_for,
};
pub use model::{Models, OtherFile, is_decision, read_models};
pub use outcome::RequestOutcome;
pub use sandbox::{Sandbox, Start, Turned};
pub use schedule::{Overlap, Schedule, When};
pub use shard::{
    Activated, At, Begin, Checkpoint, Difference, Edit, Ended, FunctionSettings, Given, JobChange,
    JobFailure, Lease, Live, Opening, Recovered, RunStatus, Sealed, Seen, Settings, Shard,
    TaskChange, Trouble, Verified,
};
pub use travertine_value::time::Timestamp;
