//! What has ended is kept for a while, then shortened, then forgotten.

use std::time::Duration;

use travertine_store::{
    Error as StoreError, Seq, ShardId,
    view::{Filter, InstanceRow, InstanceState, Query, Row, Table},
};

use travertine_value::Name;

use super::{Engine, Pending, queue::Taken};
use crate::{
    Error, InstanceId, Timestamp,
    request::{DescribeRequest, ExpirePastRequest, FoldRequest, RetireRequest},
};

/// How long ended instances are kept. What was called is kept as long as what called it.
///
/// ```
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::{Options, Retention};
/// # use std::time::Duration;
/// let week = Duration::from_hours(7 * 24);
/// let retention = Retention { ended: Some(week), ..Retention::default() };
/// let engine = Engine::in_memory(Options { retention, ..Options::default() })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// How long after its end the history of an instance is kept; then only how it began and ended, and
    /// its variables. For good where nothing is said.
    pub history: Option<Duration>,
    /// How long after its end an instance is kept at all; for good where nothing is said.
    pub ended: Option<Duration>,
    /// How many ended instances are kept, the latest; all where nothing is said.
    pub ended_max: Option<u64>,
}

/// What retention has done.
///
/// ```
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::{Options, Swept};
/// let engine = Engine::in_memory(Options::default())?;
/// assert_eq!(engine.sweep()?, Swept { folded: 0, removed: 0 });
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Instances whose history was shortened.
    pub folded: u64,
    /// Instances that were forgotten.
    pub removed: u64,
}

const PAGE: u32 = 1_000;

impl Engine {
    /// Shortens and forgets what has ended long enough ago, as the engine was told when it was opened. It
    /// does so by itself now and then.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let swept = engine.sweep()?;
    /// println!("{} forgotten", swept.removed);
    /// # Ok(()) }
    /// ```
    pub fn sweep(&self) -> Result<Swept, Error> {
        self.sweep_with(&self.inner.retention)
    }

    /// Sweeps whenever so much time has gone by since then, until the engine ends.
    pub(super) fn sweep_now_and_then(&self, since: Timestamp, every: Duration) {
        let common = &self.inner.common;
        let mut next = since.after(every);
        let mut woken = [Taken::default()];
        while common.goes_on() {
            let left = next.since(self.now());
            if !left.is_zero() {
                let nap = common.clock.runs().then_some(left);
                common.naps.take(&mut woken, nap);
                woken[0].signals.clear();
                continue;
            }
            next = self.now().after(every);
            match self.sweep() {
                Ok(swept) => tracing::debug!(?swept, "swept"),
                Err(error) if common.goes_on() => tracing::warn!(%error, "cannot sweep"),
                Err(_) => {}
            }
        }
    }

    /// Shortens and forgets what has ended long enough ago by these limits.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Retention;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.sweep_with(&Retention { ended_max: Some(1_000), ..Retention::default() })?;
    /// # Ok(()) }
    /// ```
    pub fn sweep_with(&self, retention: &Retention) -> Result<Swept, Error> {
        self.flush_now()?;
        let mut swept = Swept::default();
        match self.sweep_into(&mut swept, retention) {
            Err(error) if swept != Swept::default() => Err(error.after_a_part()),
            done => done.map(|()| swept),
        }
    }

    fn sweep_into(&self, swept: &mut Swept, retention: &Retention) -> Result<(), Error> {
        let Swept { folded, removed } = swept;
        if let Some(age) = retention.ended {
            self.each_ended(Some(self.now().before(age)), u64::MAX, false, removed)?;
        }
        if let Some(most) = retention.ended_max {
            self.each_ended(None, most, true, removed)?;
        }
        if let Some(age) = retention.history {
            self.fold_ended(self.now().before(age), folded)?;
        }
        self.router().ask_each(&ExpirePastRequest {}).into_iter().try_for_each(Pending::wait)
    }

    /// Forgets an instance that has ended, or cannot be read.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.delete(InstanceId(12))?;
    /// # Ok(()) }
    /// ```
    pub fn delete(&self, instance: InstanceId) -> Result<(), Error> {
        self.flush_now()?;
        let row = self.stored_row(instance)?.ok_or(Error::NoSuchInstance(instance))?;
        if row.ended.is_none() && !self.is_damaged(instance)? {
            return Err(Error::InUse { reason: format!("instance {instance} has not ended") });
        }
        let mut removed = 0;
        self.remove(&[(instance, row.last)], &mut removed).map_err(partly(removed))?;
        if removed == 0 {
            let reason = format!("what instance {instance} has sent is on its way; try again");
            return Err(Error::Busy { reason });
        }
        Ok(())
    }

    /// Forgets instances that have ended. What is stored is brought up to date once for all of them.
    pub(super) fn delete_all(&self, instances: &[InstanceId]) -> Vec<Result<(), Error>> {
        if let Err(error) = self.flush_now() {
            return instances.iter().map(|_| Err(error.clone())).collect();
        }
        let forget = |instance: InstanceId| {
            let row = self.stored_row(instance)?.ok_or(Error::NoSuchInstance(instance))?;
            if row.ended.is_none() && !self.is_damaged(instance)? {
                return Err(Error::InUse { reason: format!("instance {instance} has not ended") });
            }
            if !self.ask(RetireRequest { instance, last: row.last }).wait()? {
                let reason = format!("what instance {instance} has sent is on its way; try again");
                return Err(Error::Busy { reason });
            }
            Ok(())
        };
        let mut all: Vec<Result<(), Error>> = instances.iter().map(|it| forget(*it)).collect();
        if let Err(error) = self.flush_now() {
            let error = error.after_a_part();
            all.iter_mut().filter(|it| it.is_ok()).for_each(|it| *it = Err(error.clone()));
        }
        all
    }

    fn is_damaged(&self, instance: InstanceId) -> Result<bool, Error> {
        match self.ask(DescribeRequest { instance }).wait() {
            Err(Error::Damaged { .. }) => Ok(true),
            found => found.map(|_| false),
        }
    }

    /// Ended instances, a page at a time, handed to `each`.
    fn ended(
        &self,
        before: Option<Timestamp>,
        of: &[Filter],
        mut each: impl FnMut(Vec<(InstanceId, u64)>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let states =
            vec![InstanceState::Completed, InstanceState::Failed, InstanceState::Cancelled];
        let mut filters = vec![Filter::State(states)];
        filters.extend(before.map(|it| Filter::Ended(None, Some(it))));
        filters.extend(of.iter().cloned());
        let mut after = None;
        loop {
            let query = Query {
                table: Table::Instances,
                filters: filters.clone(),
                descending: true,
                after: after.take(),
                limit: PAGE,
            };
            let page = self.read_views(|store| Ok(store.query(&query)?))?;
            let mut found = Vec::new();
            for row in page.rows {
                let Row::Instance(row) = row else { continue };
                if row.root != row.id && self.runs(InstanceId(row.root))? {
                    continue;
                }
                found.push((InstanceId(row.id), row.last));
            }
            each(found)?;
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Forgets the instances of a version that have ended. Says how many.
    pub(super) fn forget_ended(&self, id: &Name, version: u32) -> Result<u64, Error> {
        self.flush_now()?;
        let of = [Filter::Definition(Name::clone(id)), Filter::Version(version)];
        let mut removed = 0;
        let forgotten = self.ended(None, &of, |page| self.remove(&page, &mut removed));
        forgotten.map_err(partly(removed))?;
        Ok(removed)
    }

    fn stored_row(&self, instance: InstanceId) -> Result<Option<InstanceRow>, Error> {
        self.read_views(|store| Ok(store.instance(instance)?))
    }

    fn runs(&self, instance: InstanceId) -> Result<bool, Error> {
        Ok(self.stored_row(instance)?.is_some_and(|it| it.ended.is_none()))
    }

    fn each_ended(
        &self,
        before: Option<Timestamp>,
        keep: u64,
        count: bool,
        removed: &mut u64,
    ) -> Result<(), Error> {
        let mut seen = 0;
        self.ended(before, &[], |mut page| {
            if count {
                let spared = keep.saturating_sub(seen).min(page.len() as u64);
                seen += page.len() as u64;
                page.drain(..usize::try_from(spared).unwrap_or(usize::MAX));
            }
            self.remove(&page, removed)
        })
    }

    /// Forgets instances, and counts those that it could.
    fn remove(&self, gone: &[(InstanceId, u64)], removed: &mut u64) -> Result<(), Error> {
        for (instance, last) in gone.iter().copied() {
            *removed += u64::from(self.ask(RetireRequest { instance, last }).wait()?);
        }
        self.flush_now()
    }

    /// Whether there is nothing to shorten: an entry is the only one of its instance, or gone.
    fn is_short(&self, shard: ShardId, last: Seq) -> Result<bool, Error> {
        match self.store().chain(shard, last, last - 1) {
            Ok(chain) => Ok(chain.iter().all(|it| it.previous == 0)),
            Err(StoreError::NoSuchEntry { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn fold_ended(&self, before: Timestamp, folded: &mut u64) -> Result<(), Error> {
        self.ended(Some(before), &[], |page| {
            for (instance, last) in page {
                if self.is_short(self.router().shard_of(instance), last)? {
                    continue;
                }
                *folded += u64::from(self.ask(FoldRequest { instance, last }).wait()?);
            }
            Ok(())
        })?;
        self.flush_now()
    }
}

/// What went wrong after so many were seen to.
fn partly(done: u64) -> impl FnOnce(Error) -> Error {
    move |error| if done == 0 { error } else { error.after_a_part() }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, OnceLock, mpsc},
        thread,
    };

    use super::*;
    use crate::engine::{Clock, ManualClock, Options, one_task};

    /// An instance that has ended, with its row in the store.
    fn cancelled(engine: &Engine) -> InstanceId {
        engine.deploy(&[one_task()]).unwrap();
        let id = engine.start("p").wait().unwrap();
        engine.cancel(id).wait().unwrap();
        engine.flush_now().unwrap();
        id
    }

    #[test]
    fn what_someone_else_has_forgotten_meanwhile_is_not_shortened() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let id = cancelled(&engine);
        let last = engine.store().instance(id).unwrap().unwrap().last;
        engine.delete(id).unwrap();
        let folded = engine.ask(FoldRequest { instance: id, last }).wait();
        assert_eq!(folded, Ok(false));
        assert!(matches!(engine.history(id), Err(Error::NoSuchInstance(_))));
    }

    /// A clock that the sweeper reads late, as on a busy machine, and that says when it goes to sleep.
    #[derive(Debug)]
    struct Late {
        time: ManualClock,
        goes_on: OnceLock<()>,
        sleeps: mpsc::Sender<()>,
    }

    fn is_sweeper() -> bool {
        thread::current().name() == Some("sweeper")
    }

    impl Clock for Late {
        fn now(&self) -> Timestamp {
            if is_sweeper() {
                self.goes_on.wait();
            }
            self.time.now()
        }

        fn runs(&self) -> bool {
            if is_sweeper() {
                // At the end of the test nobody listens any more.
                let _: Result<(), mpsc::SendError<()>> = self.sleeps.send(());
            }
            false
        }
    }

    #[test]
    fn the_time_to_the_first_sweep_runs_from_the_opening() {
        let (sleeps, slept) = mpsc::channel();
        let clock =
            Arc::new(Late { time: ManualClock::default(), goes_on: OnceLock::new(), sleeps });
        let options = Options {
            clock: Arc::clone(&clock) as Arc<_>,
            retention: Retention { ended: Some(Duration::from_mins(1)), ..Retention::default() },
            sweep_every: Duration::from_mins(5),
            ..Options::default()
        };
        let engine = Engine::in_memory(options).unwrap();
        let id = cancelled(&engine);
        clock.time.set(Timestamp::from_millis(300_000));
        clock.goes_on.set(()).unwrap();
        slept.recv().unwrap();
        assert_eq!(engine.store().instance(id), Ok(None));
    }
}
