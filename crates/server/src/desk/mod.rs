//! The application layer: one function per command and query, in our words. Every façade calls only this,
//! so that a rule of the server is kept once, whatever protocol asks.

mod cluster;
mod deploy;
mod instance;
mod job;
mod key;
mod message;
mod outcome;
mod task;

use travertine_runtime::Engine;

pub use cluster::Topology;
pub use instance::{Create, Created};
pub use job::{Ask, Failure};
pub use message::Publish;
pub use outcome::{Outcome, Refusal};

/// What façades ask. Clones are the same desk.
#[derive(Clone, Debug)]
pub struct Desk {
    engine: Engine,
}

impl Desk {
    /// A desk in front of an engine.
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }

    /// The engine behind it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}
