//! The application layer: one function per command and query, in our words. Every façade calls only this,
//! so that a rule of the server is kept once, whatever protocol asks.

mod admit;
mod batch;
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
mod subscription;
mod task;
mod variable;

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use travertine_runtime::{Engine, Timestamp, engine::TestClock};

use crate::{Options, access::Gate, hooks::Teller, native::Sessions};

pub(crate) use admit::{ANONYMOUS, Needs};
pub(crate) use batch::{Rights, batch_key, few_enough, number};
pub use cluster::Topology;
pub use decision::Which;
pub(crate) use deploy::off_the_executor;
pub use expression::Evaluated;
pub(crate) use expression::run as run_expression;
pub use instance::{Create, Created};
pub use job::{Ask, Failure};
pub use message::Publish;
pub use operate::{Arrival, Spot, Step};
pub(crate) use outcome::LINE_BYTES_MAX;
pub use outcome::{Outcome, Refusal};
pub use search::Seen;
pub use stay::{Stay, StayState, Way};
pub use stream::Jobs;
pub(crate) use subscription::{STARTS, subscription};
pub(crate) use task::form_of;
pub use variable::Shadowed;

/// How long anybody waits for something at most, whatever they say.
pub(crate) const WAIT_MAX: Duration = Duration::from_hours(1);

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
    /// Who tells others what happens, where there is a server.
    teller: Option<Arc<Teller>>,
    /// Processes that are played.
    sessions: Arc<Sessions>,
    /// The clock of the engine, where it may be set.
    clock: Option<Arc<TestClock>>,
    /// Who knows whether what somebody may still holds, where that can change.
    gate: Option<Arc<Gate>>,
    /// For whom it acts; for the program itself, where there is nobody.
    caller: Option<Arc<admit::Caller>>,
}

impl Desk {
    /// A desk in front of an engine, for the program itself, which may do everything.
    pub fn new(engine: Engine) -> Self {
        let Options { poll_default: poll, result_default: result, .. } = Options::default();
        Self {
            engine,
            ends: CancellationToken::new(),
            poll,
            result,
            teller: None,
            sessions: Arc::default(),
            clock: None,
            gate: None,
            caller: None,
        }
    }

    /// Sets the times that a server has for those who wait. They get nothing any more once `ends` says so.
    #[must_use]
    pub(crate) fn waiting(self, options: &Options, ends: CancellationToken) -> Self {
        let (poll, result) = (options.poll_default, options.result_default);
        Self { ends, poll, result, clock: options.test_clock.clone(), ..self }
    }

    /// Processes that are played.
    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Stops the clock of the engine at this time, or lets it go on from there.
    pub(crate) fn set_clock(&self, to: Option<Timestamp>) -> Result<(), Refusal> {
        self.may_all()?;
        let Some(clock) = &self.clock else {
            let detail =
                "the clock of this server is that of its machine: start it with --test-clock";
            return Err(Refusal::new(Outcome::InvalidState, detail));
        };
        match to {
            Some(to) => clock.pin(to)?,
            None => clock.release(),
        }
        self.engine.wake();
        Ok(())
    }

    /// Has this one tell others what happens.
    #[must_use]
    pub(crate) fn telling(self, teller: Arc<Teller>) -> Self {
        Self { teller: Some(teller), ..self }
    }

    /// Who tells others what happens, for whoever may look after that: it is told of everything.
    pub(crate) fn teller(&self) -> Result<&Arc<Teller>, Refusal> {
        self.may_all()?;
        let missing =
            || Refusal::new(Outcome::NotFound, "there is no server that could tell anybody");
        self.teller.as_ref().ok_or_else(missing)
    }

    /// Has this gate say whether what somebody may still holds.
    #[must_use]
    pub(crate) fn guarded(self, gate: Arc<Gate>) -> Self {
        Self { gate: Some(gate), ..self }
    }

    /// Ends when the server does, or when whoever asks must log in anew.
    pub(crate) async fn is_over(&self) {
        tokio::select! {
            () = self.ends.cancelled() => {}
            () = self.is_outdated() => {}
        }
    }

    /// The engine behind it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}
