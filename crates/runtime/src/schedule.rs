//! Schedules: processes and functions that are started again and again.
//!
//! A schedule is itself a durable function, so it survives what functions survive, is listed among the
//! instances, and says why it waits.

use std::{cell::RefCell, rc::Rc, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use travertine_func::{
    Arguments, Context, Failure, Flow, LocalBoxFuture, Operation, Workflow, WorkflowDefinition,
    select,
};
use travertine_kernel::Assignments;
use travertine_value::{
    Name, Value,
    time::{self, Timer, Timestamp},
};

use crate::millis;

/// The function that every schedule is a run of.
pub const SCHEDULE: &str = "travertine.schedule";

/// How it is called: each run has its own id.
pub(crate) const DEFINITION: WorkflowDefinition =
    WorkflowDefinition { name: SCHEDULE, version: 1, parameters: &["schedule"], run };

/// After how many firings and wishes it begins anew, so that its journal stays small.
const STEPS_MAX: u32 = 100;

/// When something is started.
///
/// ```
/// # use std::time::Duration;
/// # use travertine_runtime::{Timestamp, When};
/// let quarter = When::Every { span: Duration::from_mins(15), from: Timestamp::default() };
/// let workdays = When::Cron("CRON_TZ=Europe/Vienna 0 9 * * MON-FRI".into());
/// assert_ne!(quarter, workdays);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    /// As a cron expression says, in the zone that it names.
    Cron(String),
    /// Whenever so much time has passed, counted from a point in time.
    Every {
        /// What lies between two firings.
        #[serde(rename = "millis", with = "millis::span")]
        span: Duration,
        /// One of the firings.
        #[serde(with = "millis::time")]
        from: Timestamp,
    },
}

/// What to do when the last one still runs.
///
/// ```
/// # use travertine_runtime::Overlap;
/// assert_eq!(Overlap::default(), Overlap::Skip);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Overlap {
    /// Start nothing this time.
    #[default]
    Skip,
    /// Start one as soon as the last has ended. More than one does not wait.
    Queue,
    /// End the last one and start another.
    Replace,
    /// Start another beside it.
    Allow,
}

/// A schedule as it is now.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error, Schedule};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// for it in engine.schedules().await? {
///     let Schedule { definition, started, failed, .. } = it.schedule;
///     println!("{definition}: {failed} of {started} have failed");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// What it starts: the id of a process or the name of a function.
    pub definition: String,
    /// What that begins with, as JSON.
    pub variables: String,
    /// When.
    pub when: When,
    /// How late a firing may come, by chance, so that not everything happens at once.
    #[serde(with = "millis::span")]
    pub jitter: Duration,
    /// What to do when the last one still runs.
    pub overlap: Overlap,
    /// Whether it starts nothing for now.
    pub paused: bool,
    /// How many were started.
    pub started: u64,
    /// How many were not started because the last one still ran.
    pub skipped: u64,
    /// How many of those that it has waited for have failed.
    pub failed: u64,
    /// When one was last started.
    #[serde(default, with = "millis::maybe_time")]
    pub last: Option<Timestamp>,
    /// When the next is due.
    #[serde(default, with = "millis::maybe_time")]
    pub next: Option<Timestamp>,
    /// Whether it is removed, and only waits for the last one that it has started.
    #[serde(default)]
    pub removed: bool,
}

impl Schedule {
    /// Takes over what another one does and when. What has happened, and whether it is paused, stays.
    pub(crate) fn change(&mut self, to: Self) {
        if self.removed {
            self.paused = to.paused;
        }
        if !self.does_as(&to) {
            let Self { definition, variables, when, jitter, overlap, .. } = to;
            // Who asks for the same rhythm again does not mean another beat.
            if !self.when.has_rhythm(&when) {
                self.when = when;
            }
            (self.definition, self.variables) = (definition, variables);
            (self.jitter, self.overlap, self.next) = (jitter, overlap, None);
        }
        self.removed = false;
    }

    /// Whether it does the same as another one, and is there to do it.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        !self.removed && self.does_as(other)
    }

    fn does_as(&self, other: &Self) -> bool {
        let what = |it: &Self| (it.definition.clone(), it.variables.clone(), it.jitter, it.overlap);
        what(self) == what(other) && self.when.has_rhythm(&other.when)
    }
}

impl When {
    /// The time zone whose clocks it means, where it names one; otherwise it is UTC.
    ///
    /// ```
    /// # use travertine_runtime::When;
    /// let nine = When::Cron("CRON_TZ=Europe/Vienna 0 9 * * MON-FRI".into());
    /// assert_eq!(nine.zone(), Some("Europe/Vienna"));
    /// ```
    pub fn zone(&self) -> Option<&str> {
        match self {
            Self::Cron(text) => time::split_zone(text).0,
            Self::Every { .. } => None,
        }
    }

    /// Whether both have the same rhythm, be it counted from another time.
    fn has_rhythm(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Cron(one), Self::Cron(other)) => one == other,
            (Self::Every { span: one, .. }, Self::Every { span: other, .. }) => one == other,
            (Self::Cron(_) | Self::Every { .. }, _) => false,
        }
    }

    /// The first firing after that time. Firings that were missed are not made up for.
    ///
    /// ```
    /// # use travertine_runtime::{Timestamp, When};
    /// let hourly = When::Cron("0 * * * *".into());
    /// assert_eq!(hourly.next(Timestamp::from_millis(1)).unwrap(), Timestamp::from_millis(3_600_000));
    /// ```
    pub fn next(&self, after: Timestamp) -> Result<Timestamp, Failure> {
        match self {
            Self::Cron(text) => {
                let due = time::due(Timer::Cycle, text, after);
                due.map(|it| it.at)
                    .map_err(|error| Failure::terminal("schedule", error.to_string()))
            }
            Self::Every { span, from } => {
                let (span, from) = (time::millis(*span).max(1), from.as_millis());
                let since = after.as_millis().saturating_sub(from);
                let passed = since.div_euclid(span).saturating_add(1).max(0);
                let next = from.saturating_add(passed.saturating_mul(span));
                Ok(Timestamp::from_millis(next))
            }
        }
    }
}

fn run(cx: Context, mut arguments: Arguments) -> LocalBoxFuture<'static, Flow<Value>> {
    Box::pin(async move {
        let schedule: Schedule = arguments.take("schedule")?;
        keep(cx, schedule).await
    })
}

/// A described call of the function.
pub(crate) fn call(schedule: &Schedule) -> Workflow<()> {
    Workflow::new(SCHEDULE, 1).argument("schedule", schedule)
}

/// What people have asked of a schedule since it last looked.
#[derive(Default)]
struct Wishes {
    changed: bool,
    now: u32,
}

enum Woken {
    Due,
    Told,
    Ended(Result<(), Failure>),
}

async fn keep(cx: Context, schedule: Schedule) -> Flow<Value> {
    let schedule = Rc::new(RefCell::new(schedule));
    let wishes = Rc::new(RefCell::new(Wishes::default()));
    listen(&cx, &schedule, &wishes);
    let mut running: Option<Operation<()>> = None;
    let mut queued = false;
    let mut steps = 0;
    loop {
        // What it has started may come to its end.
        if schedule.borrow().removed && running.is_none() {
            return Ok(Value::Null);
        }
        if steps >= STEPS_MAX && running.is_none() {
            let now = schedule.borrow().clone();
            return cx.continue_as(call(&now));
        }
        let due = due(&cx, &schedule)?;
        let ended = async {
            match &mut running {
                Some(last) => last.await,
                None => std::future::pending().await,
            }
        };
        let told = cx.until(|| std::mem::take(&mut wishes.borrow_mut().changed));
        let woken = match due {
            Some(due) => select! { cx;
                slept = cx.sleep_until(due) => { slept?; Woken::Due },
                told = told => { told?; Woken::Told },
                outcome = ended => Woken::Ended(outcome),
            },
            None => select! { cx;
                told = told => { told?; Woken::Told },
                outcome = ended => Woken::Ended(outcome),
            },
        };
        let mut wanted = std::mem::take(&mut wishes.borrow_mut().now);
        match woken {
            Woken::Due => wanted += 1,
            Woken::Told => steps += 1,
            Woken::Ended(outcome) => {
                running = None;
                // A cancelled schedule ends; what it started is its own affair.
                if cx.is_cancelled() {
                    return Err(
                        Failure::terminal(Failure::CANCELLED, "the schedule was ended").into()
                    );
                }
                note_end(&schedule, &outcome);
                wanted += u32::from(std::mem::take(&mut queued) && !schedule.borrow().removed);
            }
        }
        for _ in 0..wanted {
            steps += 1;
            fire(&cx, &schedule, &mut running, &mut queued).await?;
        }
    }
}

fn listen(cx: &Context, schedule: &Rc<RefCell<Schedule>>, wishes: &Rc<RefCell<Wishes>>) {
    let shown = Rc::clone(schedule);
    cx.on_query("state", move |()| shown.borrow().clone());
    let it = Rc::clone(schedule);
    update(cx, "pause", wishes, move |_, paused| it.borrow_mut().paused = paused);
    let it = Rc::clone(schedule);
    update(cx, "change", wishes, move |_, to: Schedule| it.borrow_mut().change(to));
    let it = Rc::clone(schedule);
    update(cx, "remove", wishes, move |_, ()| it.borrow_mut().removed = true);
    update(cx, "start", wishes, |told, ()| told.now += 1);
}

/// Something that people may ask of a schedule.
fn update<T: DeserializeOwned + 'static>(
    cx: &Context,
    name: &str,
    wishes: &Rc<RefCell<Wishes>>,
    act: impl Fn(&mut Wishes, T) + 'static,
) {
    let told = Rc::clone(wishes);
    let done = move |input: T| {
        let mut told = told.borrow_mut();
        told.changed = true;
        act(&mut told, input);
        Ok(())
    };
    cx.on_update(name, |_: &T| Ok(()), done);
}

/// When it fires next, a little late by chance.
fn due(cx: &Context, schedule: &Rc<RefCell<Schedule>>) -> Result<Option<Timestamp>, Failure> {
    let mut schedule = schedule.borrow_mut();
    if schedule.paused || schedule.removed {
        schedule.next = None;
        return Ok(None);
    }
    // Whoever is told something before a firing that is late does not forget it.
    if let Some(next) = schedule.next.filter(|it| *it > cx.now()) {
        return Ok(Some(next));
    }
    let next = schedule.when.next(cx.now())?;
    let most = time::millis(schedule.jitter).unsigned_abs();
    let late = if most > 0 { cx.random().below(most + 1) } else { 0 };
    let due = next.after(Duration::from_millis(late));
    schedule.next = Some(due);
    Ok(Some(due))
}

fn note_end(schedule: &Rc<RefCell<Schedule>>, outcome: &Result<(), Failure>) {
    if outcome.is_err() {
        schedule.borrow_mut().failed += 1;
    }
}

async fn fire(
    cx: &Context,
    schedule: &Rc<RefCell<Schedule>>,
    running: &mut Option<Operation<()>>,
    queued: &mut bool,
) -> Flow<()> {
    let overlap = schedule.borrow().overlap;
    if running.is_some() && overlap != Overlap::Allow {
        match overlap {
            Overlap::Queue if !*queued => {
                *queued = true;
                return Ok(());
            }
            // Dropped, it is called off.
            Overlap::Replace => *running = None,
            Overlap::Skip | Overlap::Queue | Overlap::Allow => {
                schedule.borrow_mut().skipped += 1;
                return Ok(());
            }
        }
    }
    let (definition, variables) = {
        let mut it = schedule.borrow_mut();
        it.started += 1;
        it.last = Some(cx.now());
        (it.definition.clone(), variables(&it.variables)?)
    };
    let call = cx.process::<()>(&definition).variables(variables);
    if overlap == Overlap::Allow {
        call.detached().await?;
    } else {
        *running = Some(call.start());
    }
    Ok(())
}

fn variables(json: &str) -> Result<Assignments, Failure> {
    let wrong = |why: String| Failure::terminal("schedule", format!("its variables: {why}"));
    match Value::parse_json(json).map_err(|error| wrong(error.to_string()))? {
        Value::Map(map) => {
            Ok(map.iter().map(|(name, it)| (Name::clone(name), it.clone())).collect())
        }
        other => Err(wrong(format!("{other} is no object"))),
    }
}

/// Variables as JSON.
pub(crate) fn json(variables: Assignments) -> String {
    let map: travertine_value::Map = variables.into_iter().collect();
    Value::from(map).to_json()
}

/// A schedule of every so much time from now on.
pub(crate) fn every(period: Duration, now: Timestamp) -> When {
    When::Every { span: time::whole_millis(period), from: now }
}
