//! Processes and functions that are started again and again.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
};

use serde::Serialize;
use travertine_func::Workflow;
use travertine_kernel::{Assignments, Reason, Rejection, Why};
use travertine_store::view::{Filter, InstanceState, Row, Table};
use travertine_value::{
    Name,
    time::{Cron, whole_millis},
    typed,
};

use super::{Engine, Run};
use crate::{
    Error, InstanceId, is_own,
    schedule::{self, Overlap, SCHEDULE, Schedule, When},
};

/// A schedule that is about to be made. Awaiting it makes it.
///
/// ```no_run
/// # use std::time::Duration;
/// # use travertine_runtime::{Engine, Error, Overlap};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let sync = engine.schedule("sync").every(Duration::from_mins(15)).jitter(Duration::from_mins(1));
/// sync.overlap(Overlap::Queue).process("import", Vec::new()).await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "nothing is scheduled before it is awaited"]
pub struct Scheduling<'a> {
    engine: &'a Engine,
    name: Name,
    schedule: Result<Schedule, Error>,
}

impl Engine {
    /// Starts a function or a process again and again, under a name for the schedule. A program may
    /// say this each time it starts: what is there already stays, or is changed.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Overlap};
    /// # async fn f(engine: Engine) -> Result<(), travertine_runtime::Error> {
    /// let nightly = engine.schedule("nightly").cron("CRON_TZ=Europe/Vienna 0 2 * * *");
    /// nightly.overlap(Overlap::Queue).process("cleanup", Vec::new()).await?;
    /// engine.pause_schedule("nightly").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn schedule(&self, name: &str) -> Scheduling<'_> {
        let schedule = Schedule {
            definition: String::new(),
            variables: "{}".to_owned(),
            when: schedule::every(Duration::from_hours(1), self.now()),
            jitter: Duration::ZERO,
            overlap: Overlap::default(),
            paused: false,
            started: 0,
            skipped: 0,
            failed: 0,
            last: None,
            next: None,
            removed: false,
        };
        Scheduling { engine: self, name: name.into(), schedule: Ok(schedule) }
    }

    /// The schedules that there are, by name.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Error, Overlap};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// for it in engine.schedules().await? {
    ///     println!("{} starts {}", it.name, it.schedule.definition);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn schedules(&self) -> Result<Vec<Scheduled>, Error> {
        let filters = vec![
            Filter::Definition(SCHEDULE.into()),
            Filter::State(vec![
                InstanceState::Running,
                InstanceState::Suspended,
                InstanceState::Halted,
            ]),
        ];
        let mut found = Vec::new();
        self.each_row(Table::Instances, &filters, |row| {
            if let Row::Instance(row) = row {
                found.push(InstanceId(row.id));
            }
            Ok(())
        })?;
        let mut all = Vec::new();
        for instance in found {
            all.extend(self.scheduled(instance).await?);
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// The schedule of that name, where there is one.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// if let Some(it) = engine.find_schedule("nightly").await? {
    ///     println!("{} times, next at {:?}", it.schedule.started, it.schedule.next);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn find_schedule(&self, name: &str) -> Result<Option<Scheduled>, Error> {
        match self.run::<()>(name).await? {
            Some(run) => self.scheduled(run.instance()).await,
            None => Ok(None),
        }
    }

    /// Has a schedule start nothing until it is resumed.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.pause_schedule("nightly").await?;
    /// # Ok(()) }
    /// ```
    pub async fn pause_schedule(&self, name: &str) -> Result<(), Error> {
        self.tell_schedule(name, "pause", &true).await
    }

    /// Lets a paused schedule go on. What it has missed is not made up for.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.resume_schedule("nightly").await?;
    /// # Ok(()) }
    /// ```
    pub async fn resume_schedule(&self, name: &str) -> Result<(), Error> {
        self.tell_schedule(name, "pause", &false).await
    }

    /// Has a schedule start one now, also when it is paused. What it does when the last one still
    /// runs holds for this one, too.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Error, Overlap};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.trigger_schedule("nightly").await?;
    /// # Ok(()) }
    /// ```
    pub async fn trigger_schedule(&self, name: &str) -> Result<(), Error> {
        self.tell_schedule(name, "start", &()).await
    }

    /// Removes a schedule. What it has started last may come to its end.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.remove_schedule("nightly").await?;
    /// # Ok(()) }
    /// ```
    pub async fn remove_schedule(&self, name: &str) -> Result<(), Error> {
        self.tell_schedule(name, "remove", &()).await
    }

    async fn tell_schedule<I: Serialize>(
        &self,
        name: &str,
        wish: &str,
        input: &I,
    ) -> Result<(), Error> {
        let Some(found) = self.find_schedule(name).await? else {
            return Err(Error::NoSuchSchedule(name.into()));
        };
        found.run(self).update(wish, input).await
    }

    /// What an instance says as a schedule; nothing where it is none, or has ended.
    async fn scheduled(&self, instance: InstanceId) -> Result<Option<Scheduled>, Error> {
        let look = match self.look(instance).await {
            // It may have been removed meanwhile.
            Err(Error::NoSuchInstance(_)) => return Ok(None),
            look => look?,
        };
        if &*look.definition.id != SCHEDULE || look.row.ended.is_some() {
            return Ok(None);
        }
        let run: Run<()> = Run::of(self, look.row.business_id.as_ref(), instance);
        let (name, mut problem) = (Name::from(run.id()), look.row.reason.map(|it| it.to_string()));
        problem = problem.or_else(|| look.reasons.iter().find_map(incident));
        let mut schedule: Schedule = match run.query("state", &()).await {
            Err(Error::Rejected(Rejection::Ended)) => return Ok(None),
            Ok(schedule) => schedule,
            // It cannot speak for itself: this is what it began with.
            Err(error) => {
                problem.get_or_insert_with(|| error.to_string());
                let begun = look.variables.into_iter().find(|(name, _)| &**name == "schedule");
                let (_, begun) = begun.ok_or(error)?;
                let place = || format!("schedule {name}");
                typed::from_value(&begun).map_err(|it| Error::damaged(place(), &it))?
            }
        };
        if problem.is_some() {
            schedule.next = None;
        }
        Ok(Some(Scheduled { name, instance, state: look.row.state, schedule, problem }))
    }
}

fn incident(reason: &Reason) -> Option<String> {
    match &reason.why {
        Why::Incident { failure, .. } => Some(failure.to_string()),
        _ => None,
    }
}

/// A schedule that is there.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// for it in engine.schedules().await? {
///     println!("{}: {}", it.name, it.problem.as_deref().unwrap_or("fine"));
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// Its name.
    pub name: Name,
    /// The instance that keeps it.
    pub instance: InstanceId,
    /// How it is with that instance; one that someone has suspended starts nothing.
    pub state: InstanceState,
    /// What it does, and has done.
    pub schedule: Schedule,
    /// Why it cannot go on, where it cannot.
    pub problem: Option<String>,
}

impl Scheduled {
    fn run(&self, engine: &Engine) -> Run<()> {
        Run::of(engine, Some(&self.name), self.instance)
    }
}

impl<'a> Scheduling<'a> {
    fn change(mut self, change: impl FnOnce(&mut Schedule)) -> Self {
        if let Ok(schedule) = &mut self.schedule {
            change(schedule);
        }
        self
    }

    fn wrong(self, reason: String) -> Self {
        let schedule = Err(Error::BadSchedule { schedule: Name::clone(&self.name), reason });
        Self { schedule, ..self }
    }

    /// Starts as a cron expression says: in UTC, or by the clocks of the zone that it names, as
    /// `CRON_TZ=Europe/Vienna 0 9 * * MON-FRI` does.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.schedule("nightly").cron("CRON_TZ=Europe/Vienna 0 2 * * *").function(order(1)).await?;
    /// # Ok(()) }
    /// ```
    pub fn cron(self, text: &str) -> Self {
        if !Cron::is_meant(text) {
            return self.wrong(format!("not a cron expression such as 0 9 * * MON-FRI: {text}"));
        }
        let when = When::Cron(text.to_owned());
        match when.next(self.engine.now()) {
            Err(failure) => self.wrong(failure.message),
            Ok(_) => self.change(|it| it.when = when),
        }
    }

    /// Starts every so much time, from now on.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # use std::time::Duration;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.schedule("sync").every(Duration::from_mins(15)).function(order(1)).await?;
    /// # Ok(()) }
    /// ```
    pub fn every(self, period: Duration) -> Self {
        if period.is_zero() {
            return self.wrong("there must be time between two firings".to_owned());
        }
        let when = schedule::every(period, self.engine.now());
        self.change(|it| it.when = when)
    }

    /// Starts late by up to so much, by chance, so that not everything happens at once.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # use std::time::Duration;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let sync = engine.schedule("sync").every(Duration::from_mins(15)).jitter(Duration::from_mins(1));
    /// sync.function(order(1)).await?;
    /// # Ok(()) }
    /// ```
    pub fn jitter(self, most: Duration) -> Self {
        self.change(|it| it.jitter = whole_millis(most))
    }

    /// What to do when the last one still runs; nothing is started then where nothing is said.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error, Overlap};
    /// # use std::time::Duration;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let sync = engine.schedule("sync").every(Duration::from_mins(15)).overlap(Overlap::Replace);
    /// sync.function(order(1)).await?;
    /// # Ok(()) }
    /// ```
    pub fn overlap(self, overlap: Overlap) -> Self {
        self.change(|it| it.overlap = overlap)
    }

    /// Pauses it from the beginning, so that it starts nothing before someone resumes it.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # use std::time::Duration;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.schedule("sync").every(Duration::from_mins(15)).paused().function(order(1)).await?;
    /// engine.resume_schedule("sync").await?;
    /// # Ok(()) }
    /// ```
    pub fn paused(self) -> Self {
        self.change(|it| it.paused = true)
    }

    /// Makes the schedule, of a function.
    ///
    /// ```no_run
    /// # use travertine_func::Workflow;
    /// # use travertine_runtime::{Engine, Error};
    /// # use std::time::Duration;
    /// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.schedule("sync").every(Duration::from_mins(15)).function(order(1)).await?;
    /// # Ok(()) }
    /// ```
    pub fn function<O>(self, call: Workflow<O>) -> Making<'a> {
        let name = call.name().to_owned();
        match call.into_arguments() {
            Ok(arguments) => self.process(&name, arguments),
            Err(failure) => self.wrong(failure.to_string()).process(&name, Vec::new()),
        }
    }

    /// Makes the schedule, of a process or of any definition by its id. A schedule that has the name
    /// already is changed where it does something else; what it has done, and whether it is paused,
    /// stays.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use std::time::Duration;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let towns = vec![("town".into(), "Rome".into())];
    /// engine.schedule("sync").every(Duration::from_mins(15)).process("delivery", towns).await?;
    /// # Ok(()) }
    /// ```
    pub fn process(self, id: &str, variables: Assignments) -> Making<'a> {
        let is_there = self.engine.definitions().find(id).is_some() && !is_own(id);
        if self.schedule.is_ok() && !is_there {
            let schedule = Err(Error::no_such_definition(id));
            return Making(Self { schedule, ..self });
        }
        Making(self.change(|it| {
            id.clone_into(&mut it.definition);
            it.variables = schedule::json(variables);
        }))
    }
}

/// A schedule that is made when this is awaited.
///
/// ```no_run
/// # use travertine_func::Workflow;
/// # use travertine_runtime::{Engine, Error};
/// # use std::time::Duration;
/// # fn order(cents: u64) -> Workflow<String> { Workflow::new("order", 1).argument("cents", &cents) }
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let making = engine.schedule("sync").every(Duration::from_mins(15)).function(order(1));
/// let run = making.await?;
/// assert_eq!(run.id(), "sync");
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "nothing is scheduled before it is awaited"]
pub struct Making<'a>(Scheduling<'a>);

impl<'a> IntoFuture for Making<'a> {
    type Output = Result<Run<()>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self(Scheduling { engine, name, schedule }) = self;
        Box::pin(async move {
            let schedule = schedule?;
            if let Some(known) = engine.find_schedule(&name).await? {
                let run = known.run(engine);
                if !known.schedule.is_as(&schedule) {
                    run.update::<_, ()>("change", &schedule).await?;
                }
                return Ok(run);
            }
            engine.spawn_blocking(|it| it.deploy_own(&schedule::DEFINITION)).await?;
            engine.start(schedule::call(&schedule)).id(&name).await
        })
    }
}
