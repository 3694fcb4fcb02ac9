//! Processes and functions that are started again and again.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
};

use travertine_expr::Name;
use travertine_func::Workflow;
use travertine_kernel::Assignments;
use travertine_store::view::{Filter, InstanceState, Row, Table};

use super::{Engine, Run};
use crate::{
    Error,
    schedule::{self, Overlap, SCHEDULE, Schedule, When},
};

/// A schedule that is about to be made. Awaiting it makes it.
#[derive(Debug)]
#[must_use = "nothing is scheduled before it is awaited"]
pub struct Scheduling<'a> {
    engine: &'a Engine,
    name: Name,
    schedule: Result<Schedule, Error>,
}

impl Engine {
    /// Starts a function or a process again and again, under a name for the schedule.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use travertine_runtime::{Engine, Overlap};
    /// # async fn f(engine: Engine) -> Result<(), travertine_runtime::Error> {
    /// let nightly = engine.schedule("nightly").cron("0 2 * * *").overlap(Overlap::Skip);
    /// let nightly = nightly.process("cleanup", Vec::new()).await?;
    /// nightly.update::<_, ()>("pause", &true).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn schedule(&self, name: &str) -> Scheduling<'_> {
        let schedule = Schedule {
            definition: String::new(),
            variables: "{}".to_owned(),
            when: schedule::every(Duration::from_hours(1), self.now()),
            jitter: 0,
            overlap: Overlap::default(),
            paused: false,
            started: 0,
            skipped: 0,
            failed: 0,
            last: None,
            next: None,
        };
        Scheduling { engine: self, name: name.into(), schedule: Ok(schedule) }
    }

    /// The schedules that there are, by name.
    pub async fn schedules(&self) -> Result<Vec<(Name, Schedule)>, Error> {
        let filters = vec![
            Filter::Definition(SCHEDULE.into()),
            Filter::State(vec![InstanceState::Running, InstanceState::Suspended]),
        ];
        let mut names = Vec::new();
        self.each_row(Table::Instances, &filters, |row| {
            if let Row::Instance(row) = row {
                names.extend(row.business_id);
            }
            Ok(())
        })?;
        let mut all = Vec::new();
        for name in names {
            // It may have been removed meanwhile.
            if let Some(run) = self.run::<()>(&name).await?
                && let Ok(schedule) = run.query("state", &()).await
            {
                all.push((name, schedule));
            }
        }
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(all)
    }
}

impl<'a> Scheduling<'a> {
    fn change(mut self, change: impl FnOnce(&mut Schedule)) -> Self {
        if let Ok(schedule) = &mut self.schedule {
            change(schedule);
        }
        self
    }

    /// As a cron expression says.
    pub fn cron(self, text: &str) -> Self {
        let when = When::Cron(text.to_owned());
        if let Err(failure) = when.next(self.engine.now()) {
            let schedule = Err(Error::Failed { reason: failure.message });
            return Self { schedule, ..self };
        }
        self.change(|it| it.when = when)
    }

    /// Every so much time, from now on.
    pub fn every(self, period: Duration) -> Self {
        if period.is_zero() {
            let reason = "a schedule needs time between two firings".to_owned();
            return Self { schedule: Err(Error::Failed { reason }), ..self };
        }
        let when = schedule::every(period, self.engine.now());
        self.change(|it| it.when = when)
    }

    /// Late by up to so much, by chance.
    pub fn jitter(self, most: Duration) -> Self {
        self.change(|it| it.jitter = u64::try_from(most.as_millis()).unwrap_or(u64::MAX))
    }

    /// What to do when the last one still runs; nothing is started then where nothing is said.
    pub fn overlap(self, overlap: Overlap) -> Self {
        self.change(|it| it.overlap = overlap)
    }

    /// Makes the schedule, of a function.
    pub fn function<O>(self, call: Workflow<O>) -> Making<'a> {
        let name = call.name().to_owned();
        match call.into_arguments() {
            Ok(arguments) => self.process(&name, arguments),
            Err(failure) => {
                let reason = failure.to_string();
                Self { schedule: Err(Error::Failed { reason }), ..self }.process(&name, Vec::new())
            }
        }
    }

    /// Makes the schedule, of a process or of any definition by its id. The same schedule under the
    /// same name is made once.
    pub fn process(self, id: &str, variables: Assignments) -> Making<'a> {
        if self.schedule.is_ok() && self.engine.definitions().find(id).is_none() {
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
#[derive(Debug)]
#[must_use = "nothing is scheduled before it is awaited"]
pub struct Making<'a>(Scheduling<'a>);

impl<'a> IntoFuture for Making<'a> {
    type Output = Result<Run<()>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self(Scheduling { engine, name, schedule }) = self;
        Box::pin(async move {
            engine.deploy_own(&schedule::DEFINITION)?;
            engine.start(schedule::call(&schedule?)).id(&name).await
        })
    }
}
