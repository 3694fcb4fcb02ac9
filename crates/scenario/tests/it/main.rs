//! Models of every construct of the dialect, run as scenarios.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod activity;
mod build;
mod decide;
mod event;
mod failure;
mod law;
mod message;
mod refused;
mod token;
