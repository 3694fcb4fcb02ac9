//! Workers in the same process: async functions that do jobs.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::Context,
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{Notify, mpsc},
    task::JoinHandle,
};
use travertine_value::Name;

use super::{Engine, threads::Common};
use crate::{
    Activated, Address, Error, Lease,
    board::{AtWork, Crew, Handed},
    request::{FinishJobRequest, LeaseRequest, Outcome, PutBackRequest},
    shard::Given,
    wakes,
};

/// A job that a worker has been given.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::Job;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let painter = engine.worker("paint", |job: Job| async move {
///     println!("{} of {}", job.element, job.definition);
///     vec![("painted".into(), true.into())]
/// });
/// # Ok(()) }
/// ```
pub type Job = Activated;

type Work = Arc<dyn Fn(Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> + Send + Sync>;

/// A worker that is about to be started.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::Worker;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let painter: Worker = engine.worker("paint", |_| async { vec![("painted".into(), true.into())] });
/// let at_work = painter.at_once(4).variables(&["colour"]).start();
/// at_work.stop().await;
/// # Ok(()) }
/// ```
#[must_use = "a worker does nothing before it is started"]
pub struct Worker {
    engine: Engine,
    job_type: Name,
    names: Vec<Name>,
    at_once: usize,
    work: Work,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("job_type", &self.job_type).finish_non_exhaustive()
    }
}

/// A worker at work. Dropping it lets what it has begun come to its end, and no more.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::Workers;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let painters: Workers = engine.worker("paint", |_| async { vec![] }).start();
/// painters.stop().await;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Workers {
    stop: Arc<Stop>,
    task: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
pub(super) struct Stop {
    asked: AtomicBool,
    news: Notify,
}

impl Workers {
    /// Has `work` done until it is told to stop.
    pub(super) fn start<F: Future<Output = ()> + Send + 'static>(
        on: &Handle,
        work: impl FnOnce(Arc<Stop>) -> F,
    ) -> Self {
        let stop = Arc::new(Stop::default());
        let task = on.spawn(work(Arc::clone(&stop)));
        Self { stop, task: Some(task) }
    }

    /// Lets it finish what it has begun.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let painters = engine.worker("paint", |_| async { vec![] }).start();
    /// painters.stop().await;
    /// # Ok(()) }
    /// ```
    pub async fn stop(mut self) {
        self.ask();
        if let Some(task) = self.task.take() {
            // A worker whose task was ended by its executor has stopped, too.
            let _: Result<(), tokio::task::JoinError> = task.await;
        }
    }

    fn ask(&self) {
        self.stop.asked.store(true, Ordering::SeqCst);
        self.stop.news.notify_waiters();
        self.stop.news.notify_one();
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.ask();
    }
}

impl Engine {
    /// A worker for jobs of a type, in this process.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let painters = engine.worker("paint", |job| async move {
    ///     println!("{:?}", job.variables);
    ///     vec![("painted".into(), true.into())]
    /// });
    /// let painters = painters.start();
    /// # Ok(()) }
    /// ```
    pub fn worker<F, R>(
        &self,
        job_type: &str,
        work: impl Fn(Job) -> F + Send + Sync + 'static,
    ) -> Worker
    where
        F: Future<Output = R> + Send + 'static,
        R: Into<Outcome>,
    {
        let work: Work = Arc::new(move |job| {
            let doing = work(job);
            Box::pin(async move { doing.await.into() })
        });
        Worker {
            engine: self.clone(),
            job_type: job_type.into(),
            names: Vec::new(),
            at_once: 32,
            work,
        }
    }
}

impl Worker {
    /// How many jobs it does at once; 32 where nothing is said.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let painters = engine.worker("paint", |_| async { vec![] }).at_once(4).start();
    /// # Ok(()) }
    /// ```
    pub fn at_once(mut self, jobs: usize) -> Self {
        self.at_once = jobs.max(1);
        self
    }

    /// Which variables it wants to see; all where nothing is said.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let painters = engine.worker("paint", |_| async { vec![] }).variables(&["colour"]).start();
    /// # Ok(()) }
    /// ```
    pub fn variables(mut self, names: &[&str]) -> Self {
        self.names = names.iter().map(|it| Name::from(*it)).collect();
        self
    }

    /// Starts it, on the tokio runtime that the caller runs on.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let painters = engine.worker("paint", |_| async { vec![] }).start();
    /// # Ok(()) }
    /// ```
    pub fn start(self) -> Workers {
        Workers::start(&Handle::current(), |stop| run(self, stop))
    }
}

async fn run(worker: Worker, stop: Arc<Stop>) {
    let Worker { engine, job_type, names, at_once, work } = worker;
    let common = Arc::downgrade(&engine.inner.common);
    let each = |job, _, at_work| {
        let (engine, work, names) = (engine.clone(), Arc::clone(&work), names.clone());
        async move {
            do_one(&engine, job, &names, &work).await;
            drop(at_work);
        }
    };
    let crew = engine.inner.common.board.crew(job_type, at_once);
    serve(common, crew, None, stop, each).await;
}

/// Takes jobs off the board, and out of the `hands` of a crew, and has `each` of them done in a task of
/// its own, until told to stop. It does not keep the engine open.
pub(super) async fn serve<F: Future<Output = ()> + Send + 'static>(
    common: Weak<Common>,
    crew: Crew,
    mut hands: Option<mpsc::UnboundedReceiver<Vec<Handed>>>,
    stop: Arc<Stop>,
    each: impl Fn(Address, Option<Arc<Given>>, AtWork) -> F,
) {
    let Some(mut turn) = common.upgrade().map(|it| it.board.turn(crew.job_type())) else { return };
    let begin = |job, given, at_work| drop(tokio::spawn(each(job, given, at_work)));
    let begin_all = |jobs: Vec<Handed>| {
        for (given, at_work) in jobs {
            begin(given.job, Some(given), at_work);
        }
    };
    while !stop.asked.load(Ordering::SeqCst) {
        let offers = {
            let Some(common) = common.upgrade().filter(|it| it.goes_on()) else { break };
            common.board.take_in_hand(&crew, &mut turn, common.clock.now())
        };
        if offers.is_empty() {
            let mut handed = None;
            tokio::select! {
                () = stop.news.notified() => {}
                it = next(&mut hands) => handed = it,
                () = turn.come(), if crew.free() > 0 => {}
                () = crew.one_free() => {}
            }
            while let Some(jobs) = handed {
                begin_all(jobs);
                handed = hands.as_mut().and_then(|it| it.try_recv().ok());
            }
        }
        if !offers.is_empty() {
            turn.leave();
        }
        for (offer, at_work) in offers {
            begin(offer.job, None, at_work);
        }
    }
    drop(turn);
    if let Some(common) = common.upgrade() {
        common.board.withdraw_hands(crew.job_type());
    }
    // What was meant for one of the hands when they were withdrawn still comes.
    if hands.is_some() {
        while let Some(jobs) = next(&mut hands).await {
            begin_all(jobs);
        }
    }
    crew.all_free().await;
}

/// What is put into one of the hands next; never anything where there are none.
async fn next(hands: &mut Option<mpsc::UnboundedReceiver<Vec<Handed>>>) -> Option<Vec<Handed>> {
    let Some(hands) = hands else { return std::future::pending().await };
    poll_fn(|cx| {
        let waker = wakes::after_all(cx.waker().clone());
        hands.poll_recv(&mut Context::from_waker(&waker))
    })
    .await
}

async fn do_one(engine: &Engine, job: Address, names: &[Name], work: &Work) {
    let lease = LeaseRequest { job, lease: Lease::Process, names: names.to_vec() };
    let given = match engine.ask(lease).await {
        Ok(Some(given)) => *given,
        // It is gone, or the engine is.
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%job, %error, "a job could not be taken");
            return;
        }
    };
    // Whoever runs the worker may end it in the middle.
    let mut held = Held { engine, job, told: false };
    let span = tracing::debug_span!("job", %job, job_type = %given.job_type);
    // A panic must not take the job with it.
    let doing = work(given);
    let outcome = match tokio::spawn(tracing::Instrument::instrument(doing, span)).await {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Failed {
            message: format!("the worker failed: {error}"),
            backoff: Duration::from_secs(1),
        },
    };
    let told = engine.ask(FinishJobRequest { job, outcome }).await;
    held.told = matches!(told, Ok(()) | Err(Error::Rejected(_)));
    match told {
        // It may have been withdrawn while it was done.
        Ok(()) | Err(Error::Rejected(_)) => {}
        Err(error) => tracing::warn!(%job, %error, "the outcome of a job could not be told"),
    }
}

/// A job that a worker has. It is put up again where no outcome of it was told.
struct Held<'a> {
    engine: &'a Engine,
    job: Address,
    told: bool,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !self.told {
            drop(self.engine.ask(PutBackRequest { job: self.job }));
        }
    }
}
