//! The engine: shards on threads, with a store behind them.
//!
//! Every call asks a shard for something and answers when that is durable. Answers are futures that
//! any executor can wait for; [`Pending::wait`] waits for them without one.

mod activity;
mod aside;
mod askers;
mod batch;
mod clock;
mod code;
#[cfg(feature = "postgres")]
mod connect;
mod decide;
mod deploy;
#[cfg(test)]
mod ended;
mod event;
mod feed;
mod function;
mod heal;
mod history;
mod job;
mod load;
mod message;
mod metrics;
mod open;
mod operate;
mod options;
mod pending;
mod poll;
mod query;
mod queue;
mod readers;
mod reclaim;
mod recovery;
mod retention;
mod router;
mod run;
mod schedule;
mod settle;
mod start;
mod tenure;
mod threads;
mod verify;
mod worker;

use std::{
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use travertine_func::Functions;
use travertine_store::Store;

pub use crate::{
    NUMBER,
    request::{Look, Outcome},
};
pub use askers::Asker;
pub use batch::BatchGuard;
pub use clock::{Clock, ManualClock, SystemClock, TestClock};
pub use code::{Preflight, RecoveryReport};
pub use decide::{
    Decided, DecisionOf, Evaluated, EvaluatedRule, EvaluatedValue, FailedDecision, MadeBy,
};
pub use deploy::{Deployment, File, Retired};
pub use event::Sending;
pub use feed::{BadPositions, Feed, Gap, News, Positions};
pub use function::StartingFunction;
pub use history::{History, Step};
pub use message::{MessageRequest, PublishOptions};
pub use metrics::Metrics;
pub use open::Opened;
pub use options::{Observer, Options, Progress};
pub use pending::Pending;
pub use poll::{JobAsk, JobStream};
pub use retention::{Retention, Swept};
pub use run::{Run, RunError, Updating};
pub use schedule::{Making, Scheduled, Scheduling};
pub use settle::{Rest, Settled};
pub use start::{Startable, Starting, Target};
pub use threads::Pace;
pub use verify::{Difference, Verified};
pub use worker::{Job, Worker, Workers};

use crate::{
    Definitions, Error,
    request::{Ask, By, FlushRequest, FollowRequest},
};
use activity::Performers;
use open::Threads;
use pending::block_on;
use readers::Readers;
use router::Router;
use threads::{Common, Input};

/// A durable workflow engine. Clones are the same engine.
///
/// ```no_run
/// # use travertine_func::Workflow;
/// # use travertine_runtime::{Engine, Error};
/// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
/// # fn example() -> Result<(), Error> {
/// let engine = Engine::open("data")?;
/// let run = engine.start(order(1_200)).id("order-1").wait()?;
/// println!("{:?}", run.wait());
/// engine.shutdown()?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Engine {
    inner: Arc<Inner>,
    /// What ends when nobody has the engine any more. Its own threads do not keep it open.
    threads: Option<Arc<Threads>>,
    /// Who asks, where that is known.
    by: Option<Arc<By>>,
}

#[derive(Debug)]
struct Inner {
    common: Arc<Common>,
    /// Who does what would block whoever asks for it.
    aside: Arc<aside::Aside>,
    /// What a decision that a program asks for may cost.
    decision_limits: travertine_value::Limits,
    /// Held while something is deployed.
    deploying: Mutex<()>,
    functions: Arc<Functions>,
    performers: Mutex<Performers>,
    readers: Arc<Readers>,
    /// Who asks for jobs.
    askers: askers::Askers,
    batches: batch::Batches,
    retention: Retention,
    event_retention: Duration,
    /// Whether nothing goes on by itself.
    at_rest: AtomicBool,
    recovered: Opened,
}

impl Engine {
    /// What was found when it was opened.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options { shards: 2, ..Options::default() })?;
    /// assert_eq!(engine.opened().shards.len(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn opened(&self) -> &Opened {
        &self.inner.recovered
    }

    /// The engine for somebody who is known by name: what they do is written down with who did it.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// assert!(engine.by("ann").cancel(InstanceId(12)).wait().is_err(), "there is no such instance");
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn by(&self, who: &str) -> Self {
        self.on_behalf_of(Arc::new(By { who: who.into(), batch: None }))
    }

    fn on_behalf_of(&self, by: Arc<By>) -> Self {
        Self { by: Some(by), ..self.clone() }
    }

    /// What is deployed.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// assert!(engine.definitions().find("order").is_none());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn definitions(&self) -> Arc<Definitions> {
        self.inner.common.current().now()
    }

    /// The functions and activities that it has: those it was given, and its own.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for it in engine.functions().workflows() {
    ///     println!("{} version {}", it.name, it.version);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn functions(&self) -> &Functions {
        &self.inner.functions
    }

    /// What it has counted since it was opened.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// assert_eq!(engine.metrics().waiting, 0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        let common = &self.inner.common;
        let waiting = common.lanes.iter().map(|it| it.len() as u64).sum();
        let jobs = common.board.counts().iter().map(|(_, count)| *count as u64).sum();
        let shards_away = common.claims.lost() as u64;
        Metrics { shards_away, waiting, jobs, ..common.counters.read() }
    }

    /// How often each kind of request was accepted since it was opened, those of the engine itself included.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// for (kind, count) in engine.requests_by_kind() {
    ///     println!("{kind}: {count}");
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn requests_by_kind(&self) -> Vec<(&'static str, u64)> {
        self.inner
            .common
            .counters
            .requests
            .all()
            .map(|(kind, count)| (kind.name(), count))
            .collect()
    }

    /// Why it takes no more, if it does not.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// assert_eq!(engine.fault(), None);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn fault(&self) -> Option<Error> {
        self.inner.common.fault.get().cloned()
    }

    /// Why the rows that queries see are not brought up to date any more, if they are not: there is no room
    /// for them, and the engine does not wait for room. Nothing is lost by that.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// assert_eq!(engine.views_fault(), None);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn views_fault(&self) -> Option<Error> {
        self.inner.common.views_fault.get().cloned()
    }

    /// The store it runs on.
    #[doc(hidden)] // Programs ask the engine; `query` and `look` read the store for them.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.common.store
    }

    /// The time, as the engine sees it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// let tomorrow = engine.now().after(Duration::from_hours(24));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn now(&self) -> crate::Timestamp {
        self.inner.common.clock.now()
    }

    /// Has shards look at the clock, after one that does not go by itself was set.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error, Timestamp};
    /// # use travertine_runtime::engine::{ManualClock, Options};
    /// # use std::sync::Arc;
    /// let clock = Arc::new(ManualClock::default());
    /// let options = Options { clock: Arc::<ManualClock>::clone(&clock), ..Options::default() };
    /// let engine = Engine::in_memory(options)?;
    /// clock.set(Timestamp::from_millis(60_000));
    /// engine.wake(); // Timers that are due now ring.
    /// # Ok::<(), Error>(())
    /// ```
    pub fn wake(&self) {
        for way in self.inner.common.queues() {
            // One that is lost looks at the clock when it comes again.
            drop(way.tell(Input::Wake));
        }
        self.inner.common.naps.way(0).signal(());
    }

    /// Does everything that was asked, brings the views up to date and closes the store. Clones of the
    /// engine, and runs of functions, can do no more after that; the store can be opened again when
    /// they are gone.
    ///
    /// ```
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// let engine = Engine::in_memory(Options::default())?;
    /// let clone = engine.clone();
    /// engine.shutdown()?;
    /// assert!(clone.start(order(1_200)).wait().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shutdown(self) -> Result<(), Error> {
        if let Some(threads) = &self.threads {
            threads.stop();
        }
        let lost = || self.inner.common.claims.any_loss();
        self.fault().or_else(lost).or_else(|| self.views_fault()).map_or(Ok(()), Err)
    }

    fn router(&self) -> Router<'_> {
        Router::new(&self.inner.common).by(self.by.as_ref())
    }

    /// Asks the shard that a request is for.
    fn ask<A: Ask>(&self, ask: A) -> Pending<A::Reply> {
        self.router().ask(ask)
    }

    fn shards(&self) -> u16 {
        self.inner.common.store.shards()
    }

    /// Lets what was asked of an engine at rest take its course. What was due or left to do when it was opened
    /// stays as it is: an operator comes before that.
    #[doc(hidden)] // For the command line.
    pub fn follow(&self) -> Result<(), Error> {
        if !self.inner.at_rest.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        self.router().ask_each(&FollowRequest {}).into_iter().try_for_each(Pending::wait)
    }

    /// Answers when the views have everything that was acknowledged before.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.start(order(1_200)).await?;
    /// engine.flush().await?; // Whoever reads the store from elsewhere sees it now.
    /// # Ok(()) }
    /// ```
    pub fn flush(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let waits: Vec<Pending<()>> = self.flushing();
        async move {
            for wait in waits {
                wait.await?;
            }
            Ok(())
        }
    }

    /// Waits until the views have everything that was acknowledged before, on a thread that may be blocked.
    ///
    /// ```
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// let engine = Engine::in_memory(Options::default())?;
    /// engine.flush_now()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn flush_now(&self) -> Result<(), Error> {
        self.flushing().into_iter().try_for_each(Pending::wait)
    }

    fn flushing(&self) -> Vec<Pending<()>> {
        self.router().ask_each(&FlushRequest {})
    }
}

/// A process `p` with one task, for tests.
#[cfg(test)]
fn one_task() -> File {
    let model = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
        targetNamespace="t"><process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
        <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>
        </definitions>"#;
    File { name: "p.bpmn".to_owned(), body: model.into() }
}
