//! A run of a process that somebody goes along with: what waits in it, what can be done about that, and how far it is.
//!
//! `travertine run` has such runs in memory or in a store, and the server has them for its page. What is done in them can be
//! written down as answers, and given again.

mod answer;
pub mod choice;
mod outcome;
pub mod pending;
mod record;

use travertine_kernel::{Assignments, TokenId};
use travertine_runtime::{Address, Error, InstanceId, Message, Timestamp};
use travertine_value::Name;

pub use answer::{Answer, Unfit, advance, tries_left};
pub use outcome::{Outcome, document, outcome_of, rejected};
pub use pending::Pending;
pub use record::Record;

/// Something that is done in a run.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "its fields are named after what they are")]
pub enum Act {
    /// What a token waits for has happened.
    Complete { to: Address, variables: Assignments },
    /// Work has raised an error for the model to catch.
    Raise { to: Address, code: String, message: String, variables: Assignments },
    /// Work has escalated.
    Escalate { to: Address, code: String, variables: Assignments },
    /// Work has failed for a technical reason.
    Fail { to: Address, retries: u32, message: String },
    /// Variables are set.
    Set { instance: InstanceId, token: Option<TokenId>, variables: Assignments },
    /// What has an incident is tried again.
    Retry { instance: InstanceId, token: TokenId },
    /// An instance is cancelled.
    Cancel(InstanceId),
    /// A message is published.
    Publish(Box<Message>),
    /// A signal is sent.
    Signal { name: Name, variables: Assignments },
    /// Time passes.
    Advance(Timestamp),
}

/// A run.
pub trait Run {
    /// Does something, and all that follows from it.
    fn act(&mut self, act: Act) -> Result<(), Error>;

    /// The instance that was asked for.
    fn main_id(&self) -> InstanceId;

    /// All instances, oldest first.
    fn instances(&self) -> Box<dyn Iterator<Item = Record<'_>> + '_>;

    /// The names of the messages that are held.
    fn held(&self) -> Vec<Name>;

    /// The time.
    fn now(&self) -> Timestamp;

    /// When the next timer is due.
    fn next_due(&self) -> Option<Timestamp>;

    /// How many events there were when it was given up, and how many bytes they are.
    fn restless(&self) -> Option<(u64, u64)>;

    /// The instance that was asked for.
    fn main(&self) -> Record<'_> {
        let main = self.main_id();
        self.instances().find(|it| it.id == main).expect("instances are kept")
    }

    /// Everything that waits, the most pressing first.
    fn pending(&self) -> Vec<Pending> {
        let mut all: Vec<Pending> = self.instances().flat_map(pending::of).collect();
        all.sort_by_key(Pending::kind);
        all
    }

    /// The variables that a token sees.
    fn visible(&self, pending: &Pending) -> Assignments {
        let found = self.instances().find(|it| it.id == pending.instance);
        let Some(record) = found else { return Vec::new() };
        travertine_kernel::View::new(record.plan(), record.state, pending.token).all()
    }
}
