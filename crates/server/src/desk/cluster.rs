//! What the server is.

use super::{Desk, Outcome, Refusal};

/// The shards of the engine, which others call partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// How many there are.
    pub shards: u16,
    /// Whether the engine takes anything.
    pub is_healthy: bool,
}

impl Desk {
    /// How the engine is laid out.
    pub fn topology(&self) -> Topology {
        let is_healthy = self.engine.fault().is_none();
        Topology { shards: self.engine.store().shards(), is_healthy }
    }

    /// Whether the engine takes anything, or why not.
    pub fn status(&self) -> Result<(), Refusal> {
        match self.engine.fault() {
            None => Ok(()),
            Some(fault) => Err(Refusal::new(Outcome::Unavailable, fault.to_string())),
        }
    }
}
