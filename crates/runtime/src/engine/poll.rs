//! Workers elsewhere wait for jobs, in turn: by polls that end with the first jobs, and by streams.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::time::Instant;
use travertine_value::Name;

use super::{Engine, Pending};
use crate::{
    Activated, Address, Error, Lease, Offer, Timestamp,
    request::{HandBackRequest, LeaseAllRequest},
};

/// What a worker elsewhere asks for.
///
/// ```
/// # use travertine_runtime::engine::JobAsk;
/// # use std::time::Duration;
/// let ask = JobAsk { most: 10, wait: Duration::from_secs(20), ..JobAsk::new("paint", "worker-1") };
/// assert_eq!(ask.lease, Duration::from_mins(5));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobAsk {
    /// The type of the jobs.
    pub job_type: Name,
    /// Who asks.
    pub worker: Name,
    /// How many at most.
    pub most: usize,
    /// How long the worker has them.
    pub lease: Duration,
    /// Only variables with these names are handed out, or all where none is named.
    pub variables: Vec<Name>,
    /// How many bytes all of them may have together, as JSON. A job that has more by itself becomes an
    /// incident; others wait for the next ask.
    pub bytes_max: Option<usize>,
    /// How long it waits where there is none; not at all at 0, for good at [`Duration::MAX`]. To wait needs an
    /// executor with a clock.
    pub wait: Duration,
}

impl JobAsk {
    /// Up to 32 jobs of that type, with all variables, for five minutes; at once or not at all.
    ///
    /// ```
    /// # use travertine_runtime::engine::JobAsk;
    /// assert_eq!(JobAsk::new("paint", "worker-1").most, 32);
    /// ```
    pub fn new(job_type: &str, worker: &str) -> Self {
        Self {
            job_type: job_type.into(),
            worker: worker.into(),
            most: 32,
            lease: Duration::from_mins(5),
            variables: Vec::new(),
            bytes_max: None,
            wait: Duration::ZERO,
        }
    }
}

impl Engine {
    /// Gives jobs to a worker elsewhere: the most pressing first, of those the oldest. Where there are none,
    /// it waits in turn with all others who wait for jobs of that type, and answers with the first that come;
    /// with none when its time is over. The worker has them for as long as it says, also after a restart.
    ///
    /// Dropping the future gives back what it has taken.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::JobAsk;
    /// # use std::time::Duration;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let ask = JobAsk { wait: Duration::from_secs(20), ..JobAsk::new("paint", "worker-1") };
    /// for job in engine.jobs(ask).await? {
    ///     engine.complete(job.job, vec![("painted".into(), true.into())]).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn jobs(&self, ask: JobAsk) -> Result<Vec<Activated>, Error> {
        self.poll_jobs(&ask).await
    }

    pub(super) async fn poll_jobs(&self, ask: &JobAsk) -> Result<Vec<Activated>, Error> {
        if ask.most == 0 {
            return Ok(Vec::new());
        }
        let until = match ask.wait {
            Duration::ZERO | Duration::MAX => None,
            wait => Instant::now().checked_add(wait),
        };
        let _asks = self.inner.askers.asks(&ask.job_type, &ask.worker, self.now());
        let board = &self.inner.common.board;
        let mut turn = board.turn(&ask.job_type);
        loop {
            let offers = board.take_in_turn(&turn, ask.most, self.now());
            if !offers.is_empty() {
                let given = self.lease(ask, offers).await?;
                if !given.is_empty() {
                    return Ok(given);
                }
                // They were gone, or somebody must look at them: its turn is not over.
                continue;
            }
            let came = match until {
                None if ask.wait == Duration::ZERO => false,
                None => {
                    turn.come().await;
                    true
                }
                Some(until) => tokio::time::timeout_at(until, turn.come()).await.is_ok(),
            };
            if !came {
                return Ok(Vec::new());
            }
            self.goes_on()?;
        }
    }

    /// Gives jobs to a worker elsewhere as they come, for as long as it takes them: at most `credit` of them
    /// are taken that nobody has asked the stream for. It stands in line only while it is asked. What it has
    /// taken and not given out goes back when it is dropped.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::JobAsk;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let mut jobs = engine.job_stream(JobAsk::new("paint", "worker-1"), 32);
    /// while let Some(job) = jobs.next().await? {
    ///     engine.complete(job.job, vec![("painted".into(), true.into())]).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn job_stream(&self, ask: JobAsk, credit: usize) -> JobStream {
        let ask = JobAsk { most: ask.most.min(credit).max(1), wait: Duration::MAX, ..ask };
        JobStream { engine: self.clone(), ask, taken: VecDeque::new() }
    }

    /// Gives jobs back that a worker has been given and will not do. Others may have them at once, with as many
    /// tries as before. Those that somebody else has by now stay there.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let jobs = engine.activate("paint", "worker-1", 10, Duration::from_mins(1), &[]).await?;
    /// engine.hand_back("worker-1", &jobs).await?; // The worker is gone.
    /// # Ok(()) }
    /// ```
    pub async fn hand_back(&self, worker: &str, jobs: &[Activated]) -> Result<(), Error> {
        let worker = Name::from(worker);
        let (mut failed, mut any) = (Ok(()), false);
        for told in self.tell_back(&worker, jobs) {
            let told = told.await;
            any |= told.is_ok();
            failed = failed.and(told);
        }
        failed.map_err(|error| if any { error.after_a_part() } else { error })
    }

    fn tell_back(&self, worker: &Name, jobs: &[Activated]) -> Vec<Pending<()>> {
        let leased = jobs.iter().filter_map(|it| Some((it.job, it.until?)));
        let shards = self.by_shard(leased, |it| it.0);
        let ask = |jobs| self.ask(HandBackRequest { worker: Name::clone(worker), jobs });
        shards.into_iter().map(ask).collect()
    }

    /// Leases jobs: one ask for each shard that has some.
    async fn lease(&self, ask: &JobAsk, offers: Vec<Offer>) -> Result<Vec<Activated>, Error> {
        let until = self.now().after(ask.lease);
        let names: Arc<[Name]> = ask.variables.as_slice().into();
        let mut held = Held { engine: self, worker: &ask.worker, jobs: Vec::new() };
        held.jobs.extend(offers.iter().map(|it| (it.job, until)));
        let shards = self.by_shard(offers.iter().map(|it| it.job), |it| *it);
        let asked: Vec<_> = shards
            .into_iter()
            .map(|jobs| {
                let lease = Lease::Until { worker: Name::clone(&ask.worker), until };
                let (names, bytes_max) = (Arc::clone(&names), ask.bytes_max);
                self.ask(LeaseAllRequest { jobs, lease, names, bytes_max })
            })
            .collect();
        let (mut given, mut failed) = (Vec::new(), None);
        for shard in asked {
            match shard.await {
                Ok(jobs) => given.extend(jobs),
                // Its jobs are gone, and come again with it.
                Err(Error::Unavailable { .. }) => {}
                Err(error) => failed = Some(error),
            }
        }
        let place = |job: Address| offers.iter().position(|it| it.job == job);
        given.sort_by_key(|it| place(it.job));
        // What does not fit goes back.
        let (mut left, mut count) = (ask.bytes_max.unwrap_or(usize::MAX), 0);
        while let Some(rest) = given.get(count).and_then(|it| left.checked_sub(it.bytes)) {
            (left, count) = (rest, count + 1);
        }
        held.jobs = given.drain(count..).map(|it| (it.job, until)).collect();
        match failed {
            Some(error) if given.is_empty() => Err(error),
            _ => Ok(given),
        }
    }

    /// Groups things by the shard of their jobs, and keeps their order.
    fn by_shard<T>(
        &self,
        all: impl IntoIterator<Item = T>,
        job: impl Fn(&T) -> Address,
    ) -> Vec<Vec<T>> {
        let router = self.router();
        let mut shards: Vec<(_, Vec<T>)> = Vec::new();
        for it in all {
            let shard = router.shard_of(job(&it).instance);
            match shards.iter_mut().find(|(of, _)| *of == shard) {
                Some((_, jobs)) => jobs.push(it),
                None => shards.push((shard, vec![it])),
            }
        }
        shards.into_iter().map(|(_, jobs)| jobs).collect()
    }

    /// Says why nobody need wait for anything any more, where that is so.
    fn goes_on(&self) -> Result<(), Error> {
        let common = &self.inner.common;
        if common.goes_on() {
            return Ok(());
        }
        let fault = common.fault.get().map(ToString::to_string);
        let reason = fault.unwrap_or_else(|| "it is shut down".to_owned());
        Err(Error::Closed { reason })
    }
}

/// Jobs that may have been leased and that nobody has been given. They go back.
struct Held<'a> {
    engine: &'a Engine,
    worker: &'a Name,
    jobs: Vec<(Address, Timestamp)>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for jobs in self.engine.by_shard(self.jobs.drain(..), |it| it.0) {
            let worker = Name::clone(self.worker);
            drop(self.engine.ask(HandBackRequest { worker, jobs }));
        }
    }
}

/// Jobs for a worker elsewhere, as they come.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::{JobAsk, JobStream};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let mut jobs: JobStream = engine.job_stream(JobAsk::new("paint", "worker-1"), 32);
/// let first = jobs.next().await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct JobStream {
    engine: Engine,
    ask: JobAsk,
    /// What was taken at once and not given out yet.
    taken: VecDeque<Activated>,
}

impl JobStream {
    /// The next job; `None` once the engine is shut down. Nothing is lost where nobody waits for it to the end.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::JobAsk;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let mut jobs = engine.job_stream(JobAsk::new("paint", "worker-1"), 32);
    /// if let Some(job) = jobs.next().await? {
    ///     println!("{}", job.job);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn next(&mut self) -> Result<Option<Activated>, Error> {
        loop {
            self.give_up_late();
            if let Some(job) = self.taken.pop_front() {
                return Ok(Some(job));
            }
            match self.engine.poll_jobs(&self.ask).await {
                Ok(given) => self.taken.extend(given),
                Err(Error::Closed { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Forgets jobs whose lease was over before anyone asked for them. Others have them, or will.
    fn give_up_late(&mut self) {
        let now = self.engine.now();
        self.taken.retain(|it| it.until.is_none_or(|until| until > now));
    }
}

impl Drop for JobStream {
    fn drop(&mut self) {
        self.taken.make_contiguous();
        drop(self.engine.tell_back(&self.ask.worker, self.taken.as_slices().0));
    }
}
