//! The server over real sockets.

#![expect(clippy::unwrap_used, reason = "what helpers of tests find wrong fails the test")]

mod access;
mod batches;
mod native;
mod play;
mod rest;
mod schema;
mod stage;
mod webhooks;
