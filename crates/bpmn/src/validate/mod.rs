//! The rules of the standard that no schema can state.

use crate::{files::Files, report::Sink};

/// Checks all files.
pub(crate) fn validate(_files: &Files<'_>, _sink: &Sink) {}
