//! Batches: one operation on each of many instances, and the worker that does it.
//!
//! One thread does the jobs of all batches, on an executor of its own, so that neither the caller's executor nor the
//! shards wait for it. It asks the shards for a few instances at a time, like any client: whoever else asks for
//! something waits behind those few.
//!
//! A job that was under way when the process was killed is done again. What of it was done before is found out by
//! what the batch has written into the log since the job was offered; so nothing is done twice.

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
use travertine_kernel::{
    Assignments, Destination, Mapping, Modification, NodeId, Rejection, TokenId, Which,
};
use travertine_store::view::{Filter, InstanceRow, InstanceState, Row, Table};
use travertine_value::{Name, Value, typed};

use super::{Engine, Job, Run, Target};
use crate::{
    Error, InstanceId, Named, Timestamp,
    batch::{
        self, BATCH, BATCH_MAX, Batch, BatchCause, BatchItem, BatchOutcome, BatchPage, BatchStep,
        BatchWork, Items, Order, Report,
    },
    request::{By, Look, Outcome},
};

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

/// What is done with one instance.
struct One {
    /// It writes down who began the batch, and which one it is.
    engine: Engine,
    work: BatchWork,
    by: Arc<By>,
    /// Since when this may have been done before, where it may.
    since: Option<Timestamp>,
    guard: Asked,
}

impl One {
    /// Whether whoever began the batch may do this with the instance now.
    async fn allowed(&self, instance: InstanceId) -> Result<(), No> {
        let Some(guard) = &self.guard else { return Ok(()) };
        let Some(Row::Instance(row)) = self.engine.row(Named::Instance(instance)).await? else {
            return Err(Error::NoSuchInstance(instance).into());
        };
        guard.may(&self.by.who, &self.work, &row).map_err(|it| no("forbidden", it))
    }

    async fn once(&self, instance: InstanceId) -> Result<(), No> {
        self.allowed(instance).await?;
        // What has failed is asked for by itself: it may have been the half of it.
        let is_asked = matches!(self.work, BatchWork::Resolve { .. });
        if !is_asked && self.was_done(instance).await? {
            return Ok(());
        }
        let mut tries = 0;
        loop {
            match self.act(instance).await {
                Err(Failed::Engine(error)) if error.retry_after().is_some() && tries < TRIES => {
                    tries += 1;
                    sleep(PAUSE).await;
                }
                // It is done again by whoever opens the store next.
                Err(Failed::Engine(Error::Closed { .. } | Error::Unknown { .. }))
                    if self.engine.is_closing() =>
                {
                    std::future::pending::<()>().await;
                }
                Err(Failed::Engine(error)) => return Err(error.into()),
                Err(Failed::No(no)) => return Err(no),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Whether it was done before the process was killed.
    async fn was_done(&self, instance: InstanceId) -> Result<bool, No> {
        let Some(since) = self.since else { return Ok(false) };
        let (engine, ours) = (self.engine.clone(), self.by.record());
        let history = match aside(move || engine.history(instance)).await {
            // What is forgotten has no history.
            Err(Error::NoSuchInstance(_)) => return Ok(false),
            found => found?,
        };
        let steps = history.steps.iter().rev().take_while(|it| it.at >= since);
        Ok(steps.flat_map(|it| &it.records).any(|it| *it == ours))
    }

    async fn act(&self, instance: InstanceId) -> Result<(), Failed> {
        let engine = &self.engine;
        match &self.work {
            BatchWork::Cancel => engine.cancel(instance).await?,
            BatchWork::Suspend => engine.suspend(instance).await?,
            BatchWork::Resume => engine.resume(instance).await?,
            BatchWork::Resolve { only, variables } => {
                self.resolve(instance, only, assignments(variables)?).await?;
            }
            BatchWork::Set { variables } => {
                let variables = assignments(variables)?;
                engine.set_variables(instance, None, variables).await?;
            }
            BatchWork::Migrate { definition, version, mapping } => {
                let to = Target::Version(definition.as_str().into(), *version);
                let mapping: Mapping = mapping
                    .iter()
                    .map(|(from, to)| (Name::from(from.as_str()), Name::from(to.as_str())))
                    .collect();
                engine.migrate(instance, to, mapping).await?;
            }
            BatchWork::Modify { steps } => {
                let steps = self.steps(instance, steps).await?;
                engine.modify(instance, steps).await?;
            }
            // All of them are forgotten together.
            BatchWork::Delete => {}
        }
        Ok(())
    }

    async fn resolve(
        &self,
        instance: InstanceId,
        only: &BatchCause,
        variables: Assignments,
    ) -> Result<(), Failed> {
        let engine = &self.engine;
        if *only == BatchCause::default() {
            let is_set = !variables.is_empty();
            if is_set {
                let row = engine.look(instance).await?.row;
                if row.incidents == 0 && row.state != InstanceState::Halted {
                    return self.resolved(instance).await;
                }
                engine.set_variables(instance, None, variables).await?;
            }
            return match engine.retry(instance, None).await {
                // What was set has let it go on.
                Ok(0) | Err(Error::Rejected(Rejection::Ended)) if is_set => Ok(()),
                Ok(0) => self.resolved(instance).await,
                Ok(_) => Ok(()),
                Err(Error::Halted { .. }) => {
                    let engine = engine.clone();
                    Ok(aside(move || engine.release(instance)).await?)
                }
                Err(error) => Err(error.into()),
            };
        }
        let found = meant(&engine.look(instance).await?, only);
        if found.is_empty() {
            return self.resolved(instance).await;
        }
        for (token, number, _) in found {
            if !variables.is_empty() {
                engine.set_variables(instance, Some(token), variables.clone()).await?;
            }
            match engine.resolve(instance, number, false).await {
                // What was set has let it go on, or it went away with another one.
                Ok(()) | Err(Error::Rejected(Rejection::NoSuchIncident(_) | Rejection::Ended)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match meant(&engine.look(instance).await?, only).pop() {
            Some((_, _, why)) => Err(Failed::No(no("failed_again", why))),
            None => Ok(()),
        }
    }

    /// There is no incident: it was resolved before the process was killed, or there was none.
    async fn resolved(&self, instance: InstanceId) -> Result<(), Failed> {
        if self.was_done(instance).await.map_err(Failed::No)? {
            return Ok(());
        }
        Err(Failed::No(no("no_incident", format!("instance {instance} has no such incident"))))
    }

    async fn steps(
        &self,
        instance: InstanceId,
        steps: &[BatchStep],
    ) -> Result<Vec<Modification>, Failed> {
        let look = self.engine.look(instance).await?;
        let definition = &look.definition;
        let node = |id: &str| -> Result<NodeId, Failed> {
            definition.element(id).ok_or_else(|| {
                Failed::Engine(Error::NoSuchElement {
                    definition: Name::clone(&definition.id),
                    element: id.into(),
                })
            })
        };
        let mut all = Vec::new();
        for step in steps {
            all.push(match step {
                BatchStep::Move { from, to } => Modification::Move {
                    which: Which::At(node(from)?),
                    to: Destination::before(node(to)?),
                },
                BatchStep::Add { element } => {
                    Modification::Add { to: Destination::before(node(element)?), scope: None }
                }
                BatchStep::Withdraw { element } => {
                    Modification::Withdraw(Which::At(node(element)?))
                }
            });
        }
        Ok(all)
    }
}

/// The incidents with that cause: where they are, their numbers, and what they say.
fn meant(look: &Look, only: &BatchCause) -> Vec<(TokenId, u64, String)> {
    let is = |wanted: &Option<String>, found: Option<&str>| {
        wanted.as_deref().is_none_or(|it| found == Some(it))
    };
    let mut all = Vec::new();
    for (token, it) in &look.state.incidents {
        let node = look.state.tokens.get(token).map(|it| it.node);
        let element = node.map(|it| &*look.definition.plan.node(it).name);
        let failure = &it.failure;
        if is(&only.element, element)
            && is(&only.kind, Some(failure.kind.name()))
            && is(&only.code, failure.code.as_deref())
        {
            all.push((*token, it.number, failure.message.clone()));
        }
    }
    all
}

/// Why it was not done: the engine says no, or there was nothing to do.
enum Failed {
    Engine(Error),
    No(No),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

fn assignments(json: &str) -> Result<Assignments, Failed> {
    match Value::parse_json(json) {
        Ok(Value::Map(map)) => {
            Ok(map.iter().map(|(name, it)| (Name::clone(name), it.clone())).collect())
        }
        _ => Err(Failed::No(no("bad_variables", "its variables are no JSON object".to_owned()))),
    }
}
