//! Runs definitions: the world around the kernel.
//!
//! The kernel says what it wants from outside; here someone sees to it: timers fire, messages and
//! signals find who waits for them, called definitions become instances that report back.
//!
//! [`Sandbox`] is such a world in memory, with a clock that moves only when told. It is for trying a
//! model out and for tests: the same input gives the same run, always.

#![forbid(unsafe_code)]

mod alarm;
mod definition;
mod error;
mod message;
mod sandbox;
pub mod trace;

pub use alarm::Timestamp;
pub use definition::{Definition, Definitions, StartOn, StartTrigger};
pub use error::Error;
pub use message::{Message, Receipt, correlates};
pub use sandbox::{Address, InstanceId, Record, Sandbox, Start, Trouble, Turned};
