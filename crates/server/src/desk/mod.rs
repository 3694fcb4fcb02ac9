//! The application layer: one function per command and query, in our words. Every façade calls only this,
//! so that a rule of the server is kept once, whatever protocol asks.

mod cluster;
mod decision;
mod deploy;
mod expression;
mod instance;
mod job;
mod key;
mod message;
mod operate;
mod outcome;
mod search;
mod stay;
mod stream;
mod task;
mod variable;

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use travertine_runtime::Engine;

use crate::Options;

pub use cluster::Topology;
pub use decision::Which;
pub use expression::Evaluated;
pub use instance::{Create, Created};
pub use job::{Ask, Failure};
pub use message::Publish;
pub use operate::{Arrival, Spot, Step};
pub use outcome::{Outcome, Refusal};
pub use search::Seen;
pub use stay::{Stay, StayState, Way};
pub use stream::Jobs;
pub(crate) use task::form_of;

/// What façades ask. Clones are the same desk.
#[derive(Clone, Debug)]
pub struct Desk {
    engine: Engine,
    /// Says to those who wait for jobs that it is time to go.
    ends: CancellationToken,
    /// How long a poll for jobs waits where nobody says.
    poll: Duration,
    /// How long the result of an instance is waited for where nobody says.
    result: Duration,
}

impl Desk {
    /// A desk in front of an engine.
    pub fn new(engine: Engine) -> Self {
        let Options { poll_default: poll, result_default: result, .. } = Options::default();
        Self { engine, ends: CancellationToken::new(), poll, result }
    }

    /// The same, with the times that a server has for those who wait. They get nothing any more once `ends` says so.
    #[must_use]
    pub(crate) fn waiting(self, options: &Options, ends: CancellationToken) -> Self {
        let (poll, result) = (options.poll_default, options.result_default);
        Self { ends, poll, result, ..self }
    }

    /// The engine behind it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}
