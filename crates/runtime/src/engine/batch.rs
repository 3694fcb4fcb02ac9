//! Batches: one operation on each of many instances, and the worker that does it.
//!
//! One thread does the jobs of all batches, on an executor of its own, so that neither the caller's executor nor the
//! shards wait for it. It asks the shards for a few instances at a time, like any client: whoever else asks for
//! something waits behind those few.
//!
//! A job that was under way when the process was killed is done again. What of it was done before is found out by
//! what the batch has written into the log since the job was offered; so nothing is done twice.

mod one;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::{
    sync::{Notify, Semaphore, watch},
    task::{JoinSet, spawn_blocking},
    time::{Instant, sleep, sleep_until},
};
use travertine_kernel::Rejection;
use travertine_store::view::{Filter, InstanceRow, InstanceState, Row, Table};
use travertine_value::typed;

use super::{Engine, Job, Run};
use crate::{
    Error, InstanceId, Named,
    batch::{
        self, BATCH, BATCH_MAX, Batch, BatchItem, BatchOutcome, BatchPage, BatchWork, Items, Order,
        Report,
    },
    request::{By, Outcome},
};
use one::One;

/// How many instances are asked something at once.
const AT_ONCE: usize = 16;

/// How often what is busy is tried again, and how long apart.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Says whether somebody may do something with an instance, at the moment at which a batch comes to it.
pub trait BatchGuard: fmt::Debug + Send + Sync {
    /// Whether they may; or why not, in words.
    fn may(&self, who: &str, work: &BatchWork, of: &InstanceRow) -> Result<(), String>;
}

/// The batches that this process works on.
#[derive(Debug)]
pub(super) struct Batches {
    worker: Mutex<Option<Thread>>,
    /// The guard of batches; `None` as long as the program has not said which.
    guard: watch::Sender<Option<Asked>>,
    /// Those that were running before this process worked on any, and of which it has done nothing yet: another process
    /// may have left the first of their jobs half done.
    inherited: Mutex<BTreeSet<InstanceId>>,
}

/// The guard that is asked; `None` where everybody may.
type Asked = Option<Arc<dyn BatchGuard>>;

#[derive(Debug)]
struct Thread {
    stop: Arc<Notify>,
    thread: JoinHandle<()>,
}

impl Default for Batches {
    fn default() -> Self {
        Self {
            worker: Mutex::default(),
            guard: watch::Sender::new(None),
            inherited: Mutex::default(),
        }
    }
}

impl Batches {
    /// Has the worker stop where it is. What it had under way is done again.
    pub(super) fn stop(&self) {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Thread { stop, thread }) = worker {
            stop.notify_one();
            // It catches what happens in its jobs, and nobody needs it any more.
            let _: thread::Result<()> = thread.join();
        }
    }

    /// Whether another process may have begun this job of a batch. That is so once.
    fn takes_over(&self, batch: InstanceId) -> bool {
        self.inherited.lock().unwrap_or_else(PoisonError::into_inner).remove(&batch)
    }
}

impl Engine {
    /// Begins a batch, which does one thing with each of these instances and goes on after a restart where it was.
    /// Instances that begin later are not in it.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Batch, BatchWork, Engine, Error, InstanceId};
    /// # async fn example(engine: Engine, all: Vec<InstanceId>) -> Result<(), Error> {
    /// let batch = engine.begin_batch(Batch::new(BatchWork::Suspend), all).await?;
    /// println!("{:?}", engine.find_batch(batch).await?);
    /// # Ok(()) }
    /// ```
    pub async fn begin_batch(
        &self,
        batch: Batch,
        mut instances: Vec<InstanceId>,
    ) -> Result<InstanceId, Error> {
        instances.sort_unstable();
        instances.dedup();
        if instances.len() > BATCH_MAX {
            let count = instances.len();
            let reason = format!(
                "a batch has at most {BATCH_MAX} instances, and these are {count}: narrow the filter"
            );
            return Err(Error::TooMany { reason });
        }
        let begin = |engine: &Self| {
            engine.deploy_own(&batch::DEFINITION)?;
            engine.work_on_batches()
        };
        self.spawn_blocking(begin).await?;
        let who = self.by.as_ref().map(|it| it.who.to_string()).or(batch.who);
        let batch = Batch { who, ..batch };
        Ok(self.start(batch::call(&batch, &instances)).begin().await?.0)
    }

    /// The batches that there are, the latest first. One that is over is kept for thirty days, unless it is forgotten.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for (instance, it) in engine.batches().await? {
    ///     println!("{instance}: {} of {}", it.seen, it.total);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn batches(&self) -> Result<Vec<(InstanceId, Batch)>, Error> {
        let mut all = Vec::new();
        for instance in self.spawn_blocking(Self::running_batches).await?.into_iter().rev() {
            all.extend(self.find_batch(instance).await?.map(|it| (instance, it)));
        }
        Ok(all)
    }

    /// A batch; `None` where the instance is none, or is forgotten.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// println!("{:?}", engine.find_batch(InstanceId(12)).await?);
    /// # Ok(()) }
    /// ```
    pub async fn find_batch(&self, batch: InstanceId) -> Result<Option<Batch>, Error> {
        let Some(run) = self.batch(batch).await? else { return Ok(None) };
        match run.query("state", &()).await {
            Err(Error::Rejected(Rejection::Ended)) => Ok(None),
            found => found.map(Some),
        }
    }

    /// What became of the instances of a batch: a page of them, behind the first `after`. `None` where there is no such batch.
    ///
    /// ```no_run
    /// # use travertine_runtime::{BatchOutcome, Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let page = engine.batch_items(InstanceId(12), 0, 100, Some(BatchOutcome::Refused)).await?;
    /// for it in page.unwrap_or_default().items {
    ///     println!("{}: {:?}", it.instance, it.reason);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn batch_items(
        &self,
        batch: InstanceId,
        after: u64,
        limit: u64,
        only: Option<BatchOutcome>,
    ) -> Result<Option<BatchPage>, Error> {
        let Some(run) = self.batch(batch).await? else { return Ok(None) };
        match run.query("items", &Items { after, limit, only }).await {
            Err(Error::Rejected(Rejection::Ended)) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Has a batch stand still until it is resumed, or go on. What is under way is finished first.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.pause_batch(InstanceId(12), true).await?;
    /// # Ok(()) }
    /// ```
    pub async fn pause_batch(&self, batch: InstanceId, paused: bool) -> Result<Batch, Error> {
        self.tell_batch(batch, "pause", &paused).await
    }

    /// Ends a batch. What was done stays, and what came of each instance can be asked as before.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.cancel_batch(InstanceId(12)).await?;
    /// # Ok(()) }
    /// ```
    pub async fn cancel_batch(&self, batch: InstanceId) -> Result<Batch, Error> {
        self.tell_batch(batch, "cancel", &()).await
    }

    /// Forgets a batch that is over.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.forget_batch(InstanceId(12)).await?;
    /// # Ok(()) }
    /// ```
    pub async fn forget_batch(&self, batch: InstanceId) -> Result<Batch, Error> {
        let found = self.find_batch(batch).await?.ok_or(Error::NoSuchInstance(batch))?;
        if found.ended.is_none() {
            let reason = format!("batch {batch} is not over; cancel it first");
            return Err(Error::InUse { reason });
        }
        self.tell_batch(batch, "forget", &()).await
    }

    async fn tell_batch(
        &self,
        batch: InstanceId,
        wish: &str,
        input: &(impl serde::Serialize + Sync),
    ) -> Result<Batch, Error> {
        let missing = || Error::NoSuchInstance(batch);
        let run = self.batch(batch).await?.ok_or_else(missing)?;
        match run.update(wish, input).await {
            Err(Error::Rejected(Rejection::Ended)) => Err(missing()),
            other => other,
        }
    }

    async fn batch(&self, batch: InstanceId) -> Result<Option<Run<()>>, Error> {
        let row = self.row(Named::Instance(batch)).await?;
        let Some(Row::Instance(row)) = row else { return Ok(None) };
        let is_batch = &*row.definition == BATCH && row.ended.is_none();
        Ok(is_batch.then(|| Run::of(self, row.business_id.as_ref(), batch)))
    }

    fn running_batches(&self) -> Result<Vec<InstanceId>, Error> {
        if self.definitions().find(BATCH).is_none() {
            return Ok(Vec::new());
        }
        let states = [InstanceState::Running, InstanceState::Suspended, InstanceState::Halted];
        let filters = [Filter::Definition(BATCH.into()), Filter::State(states.to_vec())];
        let mut found = Vec::new();
        self.each_row(Table::Instances, &filters, |row| {
            if let Row::Instance(row) = row {
                found.push(InstanceId(row.id));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Says who decides, before a batch comes to an instance, whether the one who began it may do that; with `None` all
    /// is allowed. Until this is said, batches wait whose beginner is known.
    ///
    /// ```no_run
    /// # use travertine_runtime::Engine;
    /// # fn example(engine: Engine) {
    /// engine.guard_batches(None);
    /// # }
    /// ```
    pub fn guard_batches(&self, guard: Option<Arc<dyn BatchGuard>>) {
        self.inner.batches.guard.send_replace(Some(guard));
    }

    /// Goes on with batches that are there, where there are any.
    pub(super) fn resume_batches(&self) -> Result<(), Error> {
        // The log is not read through for it: what is deployed tells whether there has ever been one.
        if self.definitions().find(BATCH).is_none() || self.running_batches()?.is_empty() {
            return Ok(());
        }
        self.work_on_batches()
    }

    /// Has batches worked on, where that is not so already. One that is opened to look only does not do so by itself.
    #[doc(hidden)] // For the command line, which opens engines at rest.
    pub fn work_on_batches(&self) -> Result<(), Error> {
        let mut worker = self.inner.batches.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_some() {
            return Ok(());
        }
        // Before there is a worker, this process has begun none.
        *self.inner.batches.inherited.lock().unwrap_or_else(PoisonError::into_inner) =
            self.running_batches()?.into_iter().collect();
        let failed = |error| Error::Failed { reason: format!("batches cannot be done: {error}") };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(failed)?;
        let stop = Arc::new(Notify::new());
        let (engine, stopped) = (self.unkept(), Arc::clone(&stop));
        let serve = move || {
            runtime.block_on(async {
                let worker = engine.worker(BATCH, {
                    let engine = engine.clone();
                    move |job| work(engine.clone(), job)
                });
                // A few batches side by side; each has one job at a time.
                let workers = worker.at_once(4).variables(&["order"]).start();
                stopped.notified().await;
                drop(workers);
            });
        };
        let thread = thread::Builder::new().name("batches".into()).spawn(serve).map_err(failed)?;
        *worker = Some(Thread { stop, thread });
        Ok(())
    }

    fn is_closing(&self) -> bool {
        !self.inner.common.goes_on()
    }

    /// This engine for a thread of its own, which does not keep it open.
    fn unkept(&self) -> Self {
        Self { threads: None, by: None, ..self.clone() }
    }
}

/// Does a job of a batch. Whatever else offers jobs of this type is no batch: nobody was asked whether it may do that.
async fn work(engine: Engine, job: Job) -> Outcome {
    let definitions = engine.definitions();
    let of = definitions.get(job.definition_key);
    if !of.is_some_and(|it| it.is_function() && &*it.id == BATCH) {
        let message = format!("jobs of the type {BATCH} are for batches alone");
        return Outcome::Incident { message };
    }
    let order = job.variables.iter().find(|(name, _)| &**name == "order");
    let order: Order = match order.map(|(_, it)| typed::from_value(it)) {
        Some(Ok(order)) => order,
        _ => return Outcome::Incident { message: "this is no job of a batch".into() },
    };
    let began = Instant::now();
    let batch = job.job.instance;
    let guard = match &order.who {
        Some(_) => guard(&engine).await,
        None => None,
    };
    let by = Arc::new(match order.who.as_deref() {
        Some(who) => By { who: who.into(), batch: Some(batch) },
        None => By { who: format!("batch {batch}").into(), batch: None },
    });
    let since = engine.inner.batches.takes_over(batch).then_some(order.at);
    let engine = engine.on_behalf_of(Arc::clone(&by));
    let one = Arc::new(One { engine, work: order.work.clone(), by, since, guard });
    let mut others = match &order.work {
        BatchWork::Delete => delete(&one, &order.instances).await,
        _ => each(&one, &order.instances).await,
    };
    others.retain(|it| it.outcome != BatchOutcome::Done);
    others.sort_by_key(|it| it.instance);
    if let Some(per_second) = order.per_second {
        let share = Duration::from_secs(1) * u32::try_from(order.instances.len()).unwrap_or(1);
        sleep_until(began + share / per_second.max(1)).await;
    }
    match typed::to_assignments(&Report { others }) {
        Ok(report) => Outcome::Done(report),
        Err(error) => Outcome::Incident { message: error.to_string() },
    }
}

/// Waits until the program has said which guard is asked.
async fn guard(engine: &Engine) -> Asked {
    let mut guard = engine.inner.batches.guard.subscribe();
    let found = guard.wait_for(Option::is_some).await.ok().map(|it| it.clone().flatten());
    match found {
        Some(found) => found,
        // The engine is gone, and this with it.
        None => std::future::pending().await,
    }
}

/// Does the same with each, a few at once.
async fn each(one: &Arc<One>, instances: &[u64]) -> Vec<BatchItem> {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let (mut all, mut doing) = (Vec::new(), JoinSet::new());
    for id in instances {
        let (one, room, instance) = (Arc::clone(one), Arc::clone(&room), InstanceId(*id));
        doing.spawn(async move {
            let _one = room.acquire_owned().await;
            (instance, one.once(instance).await)
        });
    }
    let mut seen = BTreeSet::new();
    while let Some(done) = doing.join_next().await {
        let Ok((instance, outcome)) = done else { continue };
        seen.insert(instance.0);
        all.push(item(instance, outcome));
    }
    // Whoever panics says nothing.
    for id in instances.iter().filter(|it| !seen.contains(it)) {
        let reason = "the engine failed on it; its log says why".to_owned();
        all.push(item(InstanceId(*id), Err(Error::Failed { reason }.into())));
    }
    all
}

/// Forgets instances all at once: what is stored is brought up to date once for all of them.
async fn delete(one: &Arc<One>, instances: &[u64]) -> Vec<BatchItem> {
    let (mut all, mut may) = (Vec::new(), Vec::new());
    for instance in instances.iter().map(|it| InstanceId(*it)) {
        match one.allowed(instance).await {
            Ok(()) => may.push(instance),
            // Whoever was killed in the middle of it does not know what it has done.
            Err(No { outcome: BatchOutcome::Gone, .. }) if one.since.is_some() => {}
            Err(no) => all.push(item(instance, Err(no))),
        }
    }
    let mut tries = 0;
    while !may.is_empty() {
        let (engine, asked) = (one.engine.clone(), may.clone());
        let deleted = aside(move || engine.delete_all(&asked)).await;
        let mut busy = Vec::new();
        for (instance, deleted) in may.drain(..).zip(deleted) {
            match deleted {
                Err(error) if error.retry_after().is_some() && tries < TRIES => busy.push(instance),
                Err(Error::NoSuchInstance(_)) if one.since.is_some() => {}
                Err(Error::InUse { .. }) => {
                    let reason = format!("instance {instance} has not ended; cancel it first");
                    all.push(item(instance, Err(Error::InUse { reason }.into())));
                }
                other => all.push(item(instance, other.map_err(No::from))),
            }
        }
        may = busy;
        tries += 1;
        if !may.is_empty() {
            sleep(PAUSE).await;
        }
    }
    all
}

/// Has something done where it may block.
async fn aside<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(act).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Why nothing was done.
struct No {
    outcome: BatchOutcome,
    code: String,
    reason: String,
}

impl From<Error> for No {
    fn from(error: Error) -> Self {
        let outcome = match error {
            Error::NoSuchInstance(_) | Error::Rejected(Rejection::Ended) => BatchOutcome::Gone,
            _ => BatchOutcome::Refused,
        };
        Self { outcome, code: error.code().to_owned(), reason: error.to_string() }
    }
}

fn no(code: &str, reason: String) -> No {
    No { outcome: BatchOutcome::Refused, code: code.to_owned(), reason }
}

fn item(instance: InstanceId, outcome: Result<(), No>) -> BatchItem {
    let instance = instance.0;
    match outcome {
        Ok(()) => BatchItem::of(instance, BatchOutcome::Done),
        Err(No { outcome, code, reason }) => {
            let (code, reason) = (Some(code), Some(reason));
            BatchItem { code, reason, ..BatchItem::of(instance, outcome) }
        }
    }
}
