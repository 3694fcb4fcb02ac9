//! Being built.
pub mod plan;
