//! The code of functions, as far as a shard knows it.

use std::sync::Arc;

use travertine_func::{Failure, Functions};
use travertine_value::Value;

/// The code of functions.
pub(super) struct Code {
    /// The functions that this process has.
    pub(super) functions: Arc<Functions>,
    /// What code has answered to an update last.
    pub(super) answer: Option<Result<Value, Failure>>,
    /// How often code has thought.
    pub(super) thoughts: u64,
}

impl Code {
    pub(super) fn new(functions: Arc<Functions>) -> Self {
        Self { functions, answer: None, thoughts: 0 }
    }
}
