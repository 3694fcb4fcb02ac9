//! What is kept of the instances, and in which form.
//!
//! So far that is the [`codec`]: events to bytes and back. The kernel's types know no wire format;
//! every version of the format lives here and is lifted to today's events when it is read.

#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

pub mod codec;
