//! The runner: takes one function through its journal and says what it decides next.

use std::{
    collections::VecDeque,
    fmt,
    rc::Rc,
    sync::Arc,
    task::{Poll, Waker},
    time::Duration,
};

use travertine_kernel::{Decision, Journal, JournalEntry};
use travertine_value::{Name, Value, time::Timestamp};

use crate::{
    context::Context,
    core::{Chapter, Core, WAY_OUT},
    definition::{Arguments, Continuation, LocalBoxFuture, WorkflowDefinition},
    entry::{Brought, Said, Told},
    error::{Blocked, Failure, Flow, Stop},
    panics,
    wake::Alarm,
};

/// How often code may wake itself before it counts as a loop.
const ROUNDS_MAX: u32 = 10_000;

/// Which instance a session runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The id of the instance.
    pub id: Name,
    /// What its random numbers come from.
    pub seed: u64,
    /// How often it has begun anew.
    pub run: u32,
}

/// How sessions run.
///
/// ```
/// # use travertine_func::SessionSettings;
/// let settings = SessionSettings { propagate_child_failures: false, ..SessionSettings::default() };
/// assert_eq!(settings.operations_max, 100_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    /// Whether a spawned child that fails interrupts its parent.
    pub propagate_child_failures: bool,
    /// How many operations code may ask for before it waits for one.
    pub operations_max: usize,
    /// The shortest time that a sleep takes, unless it is over at once.
    pub timer_resolution: Duration,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            propagate_child_failures: true,
            operations_max: 100_000,
            timer_resolution: Duration::from_millis(100),
        }
    }
}

/// One function, kept in memory between two things that it is told.
///
/// A session can be dropped at any time, which decides nothing, and made again from the journal.
///
/// ```
/// use std::time::Duration;
/// use travertine_func::{Arguments, Identity, Session, SessionSettings, WorkflowDefinition};
/// use travertine_kernel::{Decision, Journal, JournalEntry, TokenId, time::Timestamp};
///
/// let nap = WorkflowDefinition {
///     name: "nap",
///     version: 1,
///     parameters: &[],
///     run: |cx, _| Box::pin(async move {
///         cx.sleep(Duration::from_secs(3600)).await?;
///         Ok("rested".into())
///     }),
/// };
/// let identity = Identity { id: "nap-1".into(), seed: 1, run: 0 };
/// let mut session = Session::new(&nap, identity, Arguments::new("nap", vec![]), SessionSettings::default());
///
/// let began = JournalEntry::Began { at: Timestamp::from_millis(0) };
/// let journal = Journal::of(TokenId(0), 0, vec![began], true);
/// let advance = session.advance(&journal).unwrap();
/// assert!(matches!(&advance.decisions[..], [Decision::Ask { key, .. }] if &**key == "sleep"));
/// ```
pub struct Session {
    core: Rc<Core>,
    alarm: Arc<Alarm>,
    function: &'static str,
    future: Option<LocalBoxFuture<'static, Flow<Value>>>,
    /// How many entries were read.
    seen: usize,
    blocked: Option<Blocked>,
}

/// What came of telling a function something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advance {
    /// What the code decided, in order. The last one may be an end.
    pub decisions: Vec<Decision>,
    /// What updates were answered with.
    pub answers: Vec<Answer>,
}

/// What an update was answered with.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Which entry of the journal it was.
    pub entry: usize,
    /// Which update.
    pub name: Name,
    /// The answer.
    pub result: Result<Value, Failure>,
}

impl Session {
    /// A function that has not begun. The first [`advance`](Self::advance) begins it.
    pub fn new(
        definition: &WorkflowDefinition,
        identity: Identity,
        arguments: Arguments,
        settings: SessionSettings,
    ) -> Self {
        let alarm = Arc::<Alarm>::default();
        let core = Core::new(identity, settings, Waker::from(Arc::clone(&alarm)));
        let cx = Context::new(&core);
        let run = definition.run;
        // The code must not run before it is polled, whatever it looks like.
        let future: LocalBoxFuture<'static, _> = Box::pin(async move { run(cx, arguments).await });
        Self {
            core,
            alarm,
            function: definition.name,
            future: Some(future),
            seen: 0,
            blocked: None,
        }
    }

    /// Reads what the journal has beyond what was read before, and says what the code decides.
    ///
    /// A blocked session stays blocked; a new one, with other code, may not be.
    pub fn advance(&mut self, journal: &Journal) -> Result<Advance, Blocked> {
        let advance = self.try_advance(journal);
        if let Err(blocked) = &advance {
            self.blocked = Some(blocked.clone());
            self.core.close();
        }
        advance
    }

    fn try_advance(&mut self, journal: &Journal) -> Result<Advance, Blocked> {
        if let Some(blocked) = &self.blocked {
            return Err(blocked.clone());
        }
        self.check_wakes()?;
        self.confirm(journal)?;
        let entries = &journal.entries;
        let mut advance = Advance::default();
        while self.seen < entries.len() && self.future.is_some() {
            let chapter = self.read_chapter(journal)?;
            let (told, next, is_last) = (chapter.told, chapter.next, chapter.is_last);
            self.core.begin_chapter(chapter.chapter);
            for at in told.clone() {
                let end = self.step(at, &entries[at], &mut advance.answers)?;
                let Some(end) = end else { continue };
                self.core.end_chapter();
                self.check()?;
                if !is_last || !journal.due {
                    let place = match self.core.goes_on() {
                        Some(told) => format!("the journal goes on with {told}"),
                        None => "it waited when it ran before".into(),
                    };
                    let message = format!("the code has ended where {place}; {WAY_OUT}");
                    return Err(Blocked::nondeterministic(message));
                }
                self.finish(end);
                break;
            }
            self.core.end_chapter();
            self.check()?;
            self.seen = next;
        }
        advance.decisions = self.core.take_decisions();
        Ok(advance)
    }

    /// The journal must have what was decided last.
    fn confirm(&mut self, journal: &Journal) -> Result<(), Blocked> {
        let identity = &self.core.identity;
        if journal.run != identity.run {
            let message = format!(
                "the journal is of run {}, the session of run {}",
                journal.run, identity.run
            );
            return Err(Blocked::new(message));
        }
        let unread = journal.entries.get(self.seen..).unwrap_or_default();
        let Some(confirmed) = self.core.confirm(unread) else {
            let message = "the journal does not have what the code decided last; \
                           begin again with a new session";
            return Err(Blocked::new(message));
        };
        self.seen += confirmed;
        Ok(())
    }

    /// What is told next, and what was then decided.
    fn read_chapter(&self, journal: &Journal) -> Result<Reading, Blocked> {
        let entries = &journal.entries;
        let start = self.seen;
        let told_end = start + entries[start..].iter().take_while(|it| it.is_told()).count();
        let said: VecDeque<_> = entries[told_end..].iter().map_while(|it| Said::of(it)).collect();
        if told_end == start {
            let message = format!(
                "the journal has {} where nothing was told; begin again with a new session",
                self.core.describe(&said[0])
            );
            return Err(Blocked::new(message));
        }
        let next = told_end + said.len();
        let goes_on = entries.get(next).and_then(|it| Told::of(it));
        let is_last = goes_on.is_none();
        let chapter = Chapter { expected: said, goes_on, due: is_last && journal.due };
        Ok(Reading { told: start..told_end, next, is_last, chapter })
    }

    /// Tells the code one thing and lets it think. Answers how it ended, where it did.
    fn step(
        &mut self,
        index: usize,
        entry: &Arc<JournalEntry>,
        answers: &mut Vec<Answer>,
    ) -> Result<Option<Flow<Value>>, Blocked> {
        // Positions count from 1: a race that has seen nothing has seen 0.
        let position = u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1);
        let alarm = Arc::clone(&self.alarm);
        let core = Rc::clone(&self.core);
        core.begin_step(position, told_at(entry));
        let told = alarm.inside(|| tell(&core, index, entry)).and_then(|it| {
            self.check()?;
            Ok(it)
        });
        answers.extend(told.map_err(|it| match &**entry {
            JournalEntry::Updated { name, .. } => it.in_update(name, index),
            _ => it,
        })?);
        self.think()
    }

    fn think(&mut self) -> Result<Option<Flow<Value>>, Blocked> {
        let Self { core, alarm, future, .. } = self;
        let Some(running) = future else { return Ok(None) };
        let mut cx = std::task::Context::from_waker(&core.waker);
        for round in 0..ROUNDS_MAX {
            let progress = alarm.inside(|| core.begin_round());
            alarm.take_woken();
            let polled = alarm.inside(|| panics::catch(|| running.as_mut().poll(&mut cx)));
            if alarm.is_foreign() {
                return Err(Blocked::new(FOREIGN_WAKE));
            }
            if let Some(blocked) = core.blocked() {
                return Err(blocked);
            }
            match polled {
                Err(message) => return Err(Blocked::panicked(message)),
                Ok(Poll::Ready(end)) => return Ok(Some(end)),
                Ok(Poll::Pending) => {}
            }
            let conditions_may_be_true = round == 0 || core.progress() != progress;
            if alarm.take_woken() || (core.has_conditions() && conditions_may_be_true) {
                continue;
            }
            if !core.waits() {
                return Err(Blocked::new(FOREIGN_AWAIT));
            }
            return Ok(None);
        }
        Err(Blocked::new(FOREIGN_AWAIT))
    }

    fn finish(&mut self, end: Flow<Value>) {
        // Whatever the code still holds goes with it, and that decides nothing.
        self.core.close();
        self.future = None;
        self.core.end(match end {
            Ok(value) => Decision::Complete { variables: vec![("result".into(), value)] },
            Err(Stop::Failed(failure)) => Decision::Fail(failure.into()),
            Err(Stop::Cancelled) => Decision::Cancel,
            Err(Stop::ContinueAs(Continuation { definition, arguments })) => {
                Decision::ContinueAs { definition, variables: arguments }
            }
        });
    }

    fn check(&self) -> Result<(), Blocked> {
        self.core.blocked().map_or(Ok(()), Err)
    }

    fn check_wakes(&self) -> Result<(), Blocked> {
        if self.alarm.is_foreign() {
            return Err(Blocked::new(FOREIGN_WAKE));
        }
        Ok(())
    }

    /// Looks into the function, by a handler that it has registered. Nothing changes.
    pub fn query(&self, name: &str, input: &Value) -> Result<Value, Failure> {
        let query = self.core.handlers.borrow().query(name)?;
        self.read(name, || query(input))
    }

    /// Asks the function whether it would take an update. Nothing changes.
    pub fn validate_update(&self, name: &str, input: &Value) -> Result<(), Failure> {
        let validate = self.core.handlers.borrow().validate(name)?;
        self.read(name, || validate(input))
    }

    fn read<T>(&self, name: &str, read: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let answer = self.core.read_only(|| panics::catch(read));
        match (self.core.take_misuse(), answer) {
            (Some(misuse), _) | (None, Err(misuse)) => {
                Err(Failure::terminal("handler", format!("handler of `{name}`: {misuse}")))
            }
            (None, Ok(answer)) => answer,
        }
    }

    /// What the function waits for: the keys of its open operations, in the order they were asked.
    pub fn waits(&self) -> Vec<Name> {
        self.core.open()
    }

    #[cfg(test)]
    pub(crate) fn core(&self) -> std::rc::Weak<Core> {
        Rc::downgrade(&self.core)
    }

    /// Whether the code has ended.
    pub fn is_ended(&self) -> bool {
        self.future.is_none()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.core.close();
        let future = self.future.take();
        // Handlers hold the context, which holds them.
        let handlers = self.core.handlers.take();
        // What the code drops is the user's too, and nobody is left to hear of its panics.
        let _ = panics::catch(move || drop((future, handlers)));
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("function", &self.function)
            .field("identity", &self.core.identity)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

const FOREIGN_AWAIT: &str = "the code waits, but for no durable operation: nobody would ever wake it. \
    Functions wait only for operations of their context; everything else (files, network, other \
    timers, channels, tasks) belongs into an activity, called with `cx.call(…)`";

const FOREIGN_WAKE: &str = "the code was woken by something that is no durable operation, so it would \
    not do the same again. Functions wait only for operations of their context; everything else \
    (files, network, other timers, channels, tasks) belongs into an activity, called with `cx.call(…)`";

/// A part of the journal: what was told, and what was then decided.
struct Reading {
    told: std::ops::Range<usize>,
    next: usize,
    is_last: bool,
    chapter: Chapter,
}

fn told_at(entry: &JournalEntry) -> Timestamp {
    match entry {
        JournalEntry::Began { at }
        | JournalEntry::Done { at, .. }
        | JournalEntry::Cancelled { at }
        | JournalEntry::Updated { at, .. } => *at,
        JournalEntry::Asked { .. }
        | JournalEntry::Recorded { .. }
        | JournalEntry::Sent { .. }
        | JournalEntry::Dropped { .. } => Timestamp::default(),
    }
}

/// Gives the code what one entry says.
fn tell(core: &Core, index: usize, entry: &Arc<JournalEntry>) -> Result<Option<Answer>, Blocked> {
    match &**entry {
        JournalEntry::Began { .. } if index > 0 => Err(Blocked::new("the journal begins twice")),
        JournalEntry::Done { operation, outcome, .. } => {
            let outcome = match outcome {
                Ok(_) => Ok(Brought::by(entry)),
                Err(failure) => Err(Failure::of_kernel(failure)),
            };
            core.finish(*operation, outcome).map_err(Blocked::new)?;
            Ok(None)
        }
        JournalEntry::Cancelled { .. } => {
            core.cancel();
            Ok(None)
        }
        JournalEntry::Updated { name, input, .. } => {
            let apply = core.handlers.borrow().apply(name);
            let result = match apply {
                Ok(apply) => panics::catch(|| apply(input)).map_err(Blocked::panicked)?,
                Err(failure) => Err(failure),
            };
            Ok(Some(Answer { entry: index, name: Name::clone(name), result }))
        }
        JournalEntry::Began { .. }
        | JournalEntry::Asked { .. }
        | JournalEntry::Recorded { .. }
        | JournalEntry::Sent { .. }
        | JournalEntry::Dropped { .. } => Ok(None),
    }
}

/// What one run over a journal came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is done.
    Completed(Value),
    /// It waits.
    Suspended {
        /// What it decided beyond the journal.
        decisions: Vec<Decision>,
        /// The keys of the operations that it waits for, in the order they were asked.
        waits: Vec<Name>,
    },
    /// It has failed.
    Failed(Failure),
    /// It ended because it was cancelled.
    Cancelled,
    /// It begins anew.
    ContinueAs(Continuation),
}

/// Runs a function over a journal: a pure function of its arguments.
///
/// ```
/// use travertine_func::{Arguments, Identity, Outcome, WorkflowDefinition, run};
/// use travertine_kernel::{Journal, JournalEntry, TokenId, time::Timestamp};
///
/// let adder = WorkflowDefinition {
///     name: "adder",
///     version: 1,
///     parameters: &["n"],
///     run: |_, mut arguments| Box::pin(async move {
///         let n: i64 = arguments.take("n")?;
///         Ok((n + 1).into())
///     }),
/// };
/// let identity = Identity { id: "a".into(), seed: 1, run: 0 };
/// let arguments = Arguments::new("adder", vec![("n".into(), 41.into())]);
/// let began = JournalEntry::Began { at: Timestamp::from_millis(0) };
/// let journal = Journal::of(TokenId(0), 0, vec![began], true);
/// assert_eq!(run(&adder, identity, arguments, &journal), Ok(Outcome::Completed(42.into())));
/// ```
pub fn run(
    definition: &WorkflowDefinition,
    identity: Identity,
    arguments: Arguments,
    journal: &Journal,
) -> Result<Outcome, Blocked> {
    let mut session = Session::new(definition, identity, arguments, SessionSettings::default());
    let mut decisions = session.advance(journal)?.decisions;
    Ok(match decisions.pop() {
        Some(Decision::Complete { variables }) => {
            Outcome::Completed(variables.into_iter().next().map_or(Value::Null, |(_, it)| it))
        }
        Some(Decision::Fail(failure)) => Outcome::Failed(Failure::of_kernel(&failure)),
        Some(Decision::Cancel) => Outcome::Cancelled,
        Some(Decision::ContinueAs { definition, variables: arguments }) => {
            Outcome::ContinueAs(Continuation { definition, arguments })
        }
        Some(
            last @ (Decision::Ask { .. }
            | Decision::Record { .. }
            | Decision::Post { .. }
            | Decision::Drop { .. }),
        ) => {
            decisions.push(last);
            Outcome::Suspended { decisions, waits: session.waits() }
        }
        None => Outcome::Suspended { decisions, waits: session.waits() },
    })
}
