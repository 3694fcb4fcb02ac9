//! What is kept of the instances, and in which form.
//!
//! The log is the truth: entries, in order, written by one owner a shard. Views are rows derived from
//! it and stored behind it, at checkpoints; they can be thrown away and made again. [`Store`] is what
//! the runtime asks of a place that keeps both, and every such place must pass the same suite.
//!
//! The [`codec`] turns the kernel's types into bytes and back. The kernel knows no wire format; every
//! version of the format lives here and is lifted to today's types when it is read.

#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

pub mod codec;
mod crash;
mod error;
mod filter;
mod id;
mod layer;
mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod record;
pub mod search;
mod sql;
pub mod sqlite;
mod store;
mod sum;
pub mod view;

pub use crash::{CRASH_POINTS, crash_point};
pub use error::Error;
pub use id::{Address, DefinitionKey, InstanceId, NUMBER};
pub use layer::Layer;
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;
pub use store::{
    Advance, Append, Batch, Claim, Claimed, Claiming, Deployed, DeployedAs, Deployment, Entry,
    Fold, Loaded, Mail, MailId, Owner, Resource, Seq, ShardId, Store,
};
