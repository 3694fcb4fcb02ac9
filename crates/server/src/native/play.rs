//! Play: a process is run in memory, on the real engine, with a clock that moves only when told.
//!
//! A session is where it began and what was done in it since, as answers. So it goes back by doing all but the last
//! again, which gives exactly what was there before, and its answers are a file that `travertine run --answers` takes. Sessions
//! are in memory, belong to whoever began them, and have limits and an end.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use travertine_data::{
    journal::Journal,
    json,
    places::Places,
    report,
    run::{Act, Answer as Step, Outcome as Came, Record, Run, Unfit, choice, document, outcome_of},
    shell,
};
use travertine_draw::Marks;
use travertine_kernel::Assignments;
use travertine_runtime::{
    Error, InstanceId, Models, Sandbox, Start, Timestamp, engine::File, read_models, trace,
};
use travertine_value::{
    Map, Name, Value,
    time::{self, Timer},
};

use super::{
    call::{Answer, Call},
    definitions,
    files::Parts,
    picture,
    problem::Problem,
};
use crate::desk::{Outcome, Refusal, off_the_executor};

/// How many sessions there are at once, and how many of them are one person's.
const SESSIONS_MAX: usize = 200;
const OF_ONE_MAX: usize = 20;

/// How many steps a session has.
const STEPS_MAX: usize = 500;

/// How many events one step may cause, and how many bytes may tell of them.
const EVENTS_MAX: u64 = 50_000;
const BYTES_MAX: u64 = 16 << 20;

/// How many bytes may tell of all that has happened in a session: all of it stays in memory.
const SESSION_BYTES_MAX: u64 = 32 << 20;

/// How many bytes all sessions have together: their files, what was done in them, and what has happened.
const ALL_BYTES_MAX: u64 = 512 << 20;

/// How long a session is kept that nobody asks for.
const IDLE: Duration = Duration::from_mins(30);

/// How many commands a step tells of.
const TRACE_MAX: usize = 200;

/// All sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    all: Mutex<All>,
    bytes: Arc<AtomicU64>,
    bytes_max: u64,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { all: Mutex::default(), bytes: Arc::default(), bytes_max: ALL_BYTES_MAX }
    }
}

/// The part of a session in the bytes that all have.
#[derive(Debug)]
struct Share {
    all: Arc<AtomicU64>,
    most: u64,
    own: u64,
}

impl Share {
    /// Refuses more where all have so much already.
    fn more(&self) -> Result<(), Refusal> {
        if self.all.load(Ordering::Relaxed) < self.most {
            return Ok(());
        }
        let detail = format!(
            "all sessions together have more than {} MiB: end one, or wait until others have ended",
            self.most >> 20
        );
        Err(Refusal::new(Outcome::Overloaded, detail))
    }

    fn set(&mut self, bytes: u64) {
        self.all.fetch_add(bytes, Ordering::Relaxed);
        self.all.fetch_sub(self.own, Ordering::Relaxed);
        self.own = bytes;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[derive(Debug, Default)]
struct All {
    last: u64,
    sessions: BTreeMap<u64, Seat>,
}

/// A session, and whose it is.
#[derive(Clone, Debug)]
struct Seat {
    owner: Option<Name>,
    touched: Instant,
    session: Arc<Mutex<Session>>,
}

/// Where a session begins.
#[derive(Debug)]
struct Begin {
    files: Vec<File>,
    models: Models,
    /// Where the process stands among those of the report.
    process: usize,
    start: Option<String>,
    variables: Assignments,
    now: Timestamp,
}

/// A session.
#[derive(Debug)]
struct Session {
    begin: Begin,
    /// What was done, each with how many bytes that has.
    answers: Vec<(Value, u64)>,
    world: World,
    share: Share,
}

/// The world of a session.
struct World {
    sandbox: Sandbox,
    main: InstanceId,
    restless: Option<(u64, u64)>,
    journal: Journal,
    /// What the last step has caused.
    trace: Arc<Mutex<Vec<Value>>>,
    written: u64,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("main", &self.main).finish_non_exhaustive()
    }
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, All> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.sessions.retain(|_, it| it.touched.elapsed() < IDLE);
        all
    }

    /// The share of a session that is about to begin.
    fn share(&self) -> Result<Share, Refusal> {
        let share = Share { all: Arc::clone(&self.bytes), most: self.bytes_max, own: 0 };
        share.more()?;
        Ok(share)
    }

    fn add(&self, owner: Option<&Name>, session: Session) -> Result<u64, Refusal> {
        let mut all = self.lock();
        let of_one = all.sessions.values().filter(|it| it.owner.as_ref() == owner).count();
        let few = if owner.is_some() { of_one < OF_ONE_MAX } else { true };
        if !few || all.sessions.len() >= SESSIONS_MAX {
            let count = if few { SESSIONS_MAX } else { OF_ONE_MAX };
            let minutes = IDLE.as_secs() / 60;
            let detail = format!(
                "there are {count} sessions already: end one, or wait until one has not been asked for {minutes} minutes"
            );
            return Err(Refusal::new(Outcome::Overloaded, detail));
        }
        all.last += 1;
        let id = all.last;
        let session = Arc::new(Mutex::new(session));
        all.sessions.insert(id, Seat { owner: owner.cloned(), touched: Instant::now(), session });
        Ok(id)
    }

    /// The session, where it is theirs.
    fn find(&self, id: u64, owner: Option<&Name>) -> Option<Arc<Mutex<Session>>> {
        let mut all = self.lock();
        let seat = all.sessions.get_mut(&id).filter(|it| it.owner.as_ref() == owner)?;
        seat.touched = Instant::now();
        Some(Arc::clone(&seat.session))
    }
}

impl World {
    fn begin(begin: &Begin) -> Result<Self, Refusal> {
        let mut sandbox = Sandbox::new(begin.now);
        sandbox.limit_events(EVENTS_MAX);
        sandbox.limit_bytes(BYTES_MAX);
        let (journal, trace) = (Journal::default(), Arc::<Mutex<Vec<Value>>>::default());
        let (notes, told) = (journal.clone(), Arc::clone(&trace));
        let mut places = Places::default();
        sandbox.observe(move |it| {
            let plan = &it.definition.plan;
            notes.note(it.instance, plan, it.events);
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let is_told = told.len() < TRACE_MAX;
            let mut events = Vec::new();
            for event in it.events {
                places.follow(it.instance, event);
                if is_told {
                    let node = places.of_event(it.instance, event);
                    let element = node.map(|it| Name::clone(&plan.node(it).name));
                    events.push(json::object([
                        ("event", trace::of_event(plan, event).into()),
                        ("element", element.into()),
                    ]));
                }
                places.forget(it.instance, event);
            }
            if is_told {
                told.push(json::object([
                    ("time", it.now.to_string().into()),
                    ("instance", json::key(it.instance.0)),
                    ("process", Name::clone(&it.definition.id).into()),
                    ("command", trace::of_command(plan, it.command).into()),
                    ("events", events.into()),
                ]));
            }
        });
        let mut world =
            Self { sandbox, main: InstanceId(0), restless: None, journal, trace, written: 0 };
        let report = &begin.models.report;
        let all: Vec<_> = report
            .processes
            .iter()
            .map(|it| (Name::from(it.id.as_str()), Arc::clone(&it.plan)))
            .collect();
        let id = report.processes[begin.process].id.as_str();
        world.does(|it| {
            it.deploy_decisions(&begin.models.decisions)?;
            it.deploy(&all).map(drop)
        })?;
        let at = begin.start.as_deref();
        let variables = begin.variables.clone();
        world.does(|it| it.start(Start { at, ..Start::of(id).with(variables) }).map(drop))?;
        let main =
            world.sandbox.instances().find(|it| &*it.definition.id == id && it.caller().is_none());
        world.main = main.map(|it| it.id).ok_or_else(|| {
            Refusal::invalid(format!("{id} has not begun: it does not come to rest"))
        })?;
        Ok(world)
    }

    /// Does something. What never rests is no fault of whoever asked: it is remembered, and nothing more can be done.
    fn does(&mut self, what: impl FnOnce(&mut Sandbox) -> Result<(), Error>) -> Result<(), Error> {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let done = what(&mut self.sandbox).and_then(|()| self.sandbox.start_throttled());
        self.written = self.written.saturating_add(self.sandbox.written());
        match done {
            Err(Error::Restless { events, bytes }) => {
                self.restless = Some((events, bytes));
                Ok(())
            }
            other => other,
        }
    }
}

impl Run for World {
    fn act(&mut self, act: Act) -> Result<(), Error> {
        self.does(|it| match act {
            Act::Complete { to, variables } => it.complete(to, variables),
            Act::Raise { to, code, message, variables } => it.raise(to, &code, &message, variables),
            Act::Escalate { to, code, variables } => it.escalate(to, &code, variables),
            Act::Fail { to, retries, message } => it.fail(to, retries, &message),
            Act::Set { instance, token, variables } => it.set_variables(instance, token, variables),
            Act::Retry { instance, token } => it.retry(instance, token),
            Act::Cancel(instance) => it.cancel(instance),
            Act::Publish(message) => it.publish(*message).map(drop),
            Act::Signal { name, variables } => it.signal(&name, &variables).map(drop),
            Act::Advance(to) => it.advance(to),
        })
    }

    fn main_id(&self) -> InstanceId {
        self.main
    }

    fn instances(&self) -> Box<dyn Iterator<Item = Record<'_>> + '_> {
        Box::new(self.sandbox.instances().map(Record::of))
    }

    fn held(&self) -> Vec<Name> {
        self.sandbox.held().map(|it| Name::clone(&it.name)).collect()
    }

    fn now(&self) -> Timestamp {
        self.sandbox.now()
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.sandbox.next_due()
    }

    fn restless(&self) -> Option<(u64, u64)> {
        self.restless
    }
}

impl Session {
    fn begin(begin: Begin, share: Share) -> Result<Self, Refusal> {
        let world = World::begin(&begin)?;
        let mut session = Self { begin, answers: Vec::new(), world, share };
        session.weigh();
        Ok(session)
    }

    /// How many bytes tell of what was done and what has happened.
    fn told(&self) -> u64 {
        self.answers.iter().map(|(_, bytes)| bytes).sum::<u64>() + self.world.written
    }

    /// Takes note of how many bytes it has.
    fn weigh(&mut self) {
        let files: u64 = self.begin.files.iter().map(|it| it.body.len() as u64).sum();
        self.share.set(files + self.told());
    }

    /// Does one step more. What is refused is no step.
    fn step(&mut self, item: &Value) -> Result<(), Refusal> {
        if self.answers.len() >= STEPS_MAX {
            return Err(too_much(&format!("a session has at most {STEPS_MAX} steps")));
        }
        if self.told() >= SESSION_BYTES_MAX {
            let most = SESSION_BYTES_MAX >> 20;
            return Err(too_much(&format!("what has happened in this session has {most} MiB")));
        }
        if self.world.restless.is_some() {
            return Err(too_much("it does not come to rest"));
        }
        self.share.more()?;
        let step = Step::read(item).map_err(Refusal::invalid)?;
        match step.give(&mut self.world, None) {
            Ok(()) => {
                self.answers.push((item.clone(), item.to_json().len() as u64));
                self.weigh();
            }
            Err(unfit) => {
                // It may have done the half of it: what was there before is made again.
                self.rewind(self.answers.len())?;
                return Err(match unfit {
                    Unfit::Text(text) => Refusal::new(Outcome::InvalidState, text),
                    Unfit::Engine(error) => error.into(),
                });
            }
        }
        Ok(())
    }

    /// Goes back to where so many steps were done.
    fn rewind(&mut self, steps: usize) -> Result<(), Refusal> {
        let mut world = World::begin(&self.begin)?;
        self.answers.truncate(steps);
        for (item, _) in &self.answers {
            let again = Step::read(item).map_err(Refusal::invalid)?;
            again.give(&mut world, None).map_err(|it| Refusal::invalid(it.to_string()))?;
        }
        self.world = world;
        self.weigh();
        Ok(())
    }

    fn items(&self) -> Value {
        self.answers.iter().map(|(item, _)| item.clone()).collect()
    }

    fn document(&self, id: u64) -> Value {
        let Begin { models, process, start, variables, now, files } = &self.begin;
        let outcome = outcome_of(self.world.main(), &self.world);
        let trace = self.world.trace.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let it = document(&self.world, exit_status(&self.world, outcome), &models.report, trace);
        let mut fields = it.as_map().cloned().unwrap_or_default();
        let id_of = models.report.processes[*process].id.as_str();
        let vars: Map = variables.iter().cloned().collect();
        let vars = Value::from(vars);
        let mut words = vec!["travertine".to_owned(), "run".to_owned()];
        words.extend(files.iter().map(|it| it.name.clone()));
        words.extend(["--process".to_owned(), id_of.to_owned()]);
        words.extend(start.iter().flat_map(|it| ["--start".to_owned(), it.clone()]));
        if !variables.is_empty() {
            words.extend(["--vars".to_owned(), vars.to_json()]);
        }
        words.extend(["--now".to_owned(), now.to_string()]);
        words.extend(["--answers".to_owned(), "answers.json".to_owned()]);
        let words: Vec<String> = words.iter().map(|it| shell::quoted(it)).collect();
        let due = self.world.next_due().map(|it| it.to_string());
        let names = files.iter().map(|it| Value::from(it.name.as_str()));
        for (name, value) in [
            ("session", json::key(id)),
            ("files", names.collect()),
            ("began", now.to_string().into()),
            ("start", start.as_deref().into()),
            ("given", vars),
            ("steps", (self.answers.len() as u64).into()),
            ("steps_max", (STEPS_MAX as u64).into()),
            ("next_due", due.into()),
            ("answers", self.items()),
            ("command", words.join(" ").into()),
        ] {
            fields.insert(name.into(), value);
        }
        fields.into()
    }
}

/// What the command line would end with.
fn exit_status(world: &World, main: Came) -> u8 {
    let all = world.instances().map(|it| (it.is_called(), outcome_of(it, world)));
    let all: Vec<Came> = all
        .filter(|(called, it)| !called || matches!(it, Came::Incident | Came::Waiting))
        .map(|(_, it)| it)
        .chain([main])
        .collect();
    let any = |wanted: &[Came]| all.iter().any(|it| wanted.contains(it));
    if world.restless.is_some() || any(&[Came::Failed, Came::Cancelled]) {
        5
    } else if any(&[Came::Incident]) {
        4
    } else if any(&[Came::Waiting]) {
        3
    } else {
        0
    }
}

fn too_much(why: &str) -> Refusal {
    let detail = format!("{why}: go back some steps, or begin anew");
    Refusal::new(Outcome::InvalidState, detail)
}

/// The session that the path means, where it is theirs.
fn found(call: &Call) -> Result<(u64, Arc<Mutex<Session>>), Problem> {
    let text = call.path("session");
    let missing = || Refusal::not_found(format!("there is no session {text}, or it has ended"));
    let id = text.parse().map_err(|_| missing())?;
    let session = call.desk.sessions().find(id, call.desk.who()).ok_or_else(missing)?;
    Ok((id, session))
}

/// Does something with the session that the path means, and answers how it then is.
async fn with(
    call: &Call,
    what: impl FnOnce(&mut Session) -> Result<(), Refusal> + Send + 'static,
) -> Result<Answer, Problem> {
    let document = asked(call, move |id, session| {
        what(session)?;
        Ok(session.document(id))
    });
    Ok(Answer::Document(document.await?))
}

/// Asks the session that the path means. Whoever does something in it may be long at it, so that is waited for where
/// threads may be blocked.
async fn asked<T: Send + 'static>(
    call: &Call,
    what: impl FnOnce(u64, &mut Session) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Problem> {
    let (id, session) = found(call)?;
    let asked = off_the_executor(move || {
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        what(id, &mut session)
    });
    Ok(asked.await?)
}

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let owner = call.desk.who().cloned();
    let all = call.desk.sessions().lock();
    let own = all.sessions.iter().filter(|(_, it)| it.owner == owner);
    let ids: Value = own.map(|(id, _)| json::key(*id)).collect();
    drop(all);
    Ok(Answer::Document(json::object([("sessions", ids)])))
}

pub(super) async fn begin(call: Call) -> Result<Answer, Problem> {
    let fields = ["files", "definition", "version", "process", "start", "variables", "now"];
    let parts = Parts::read_any(call, &fields).await?;
    let (desk, now) = (parts.desk.clone(), parts.desk.engine().now());
    let now = match parts.text("now") {
        None => now,
        Some(text) => {
            let due = time::due(Timer::Date, text, Timestamp::default());
            due.map_err(|error| Refusal::invalid(format!("the field now: {error}")))?.at
        }
    };
    let variables: Assignments = parts.object("variables")?.into_iter().collect();
    let (process, start) = (parts.text("process"), parts.text("start"));
    let (process, start) = (process.map(str::to_owned), start.map(str::to_owned));
    let (files, process) = match (parts.text("definition"), parts.files.is_empty()) {
        (None, false) => (parts.files, process),
        (Some(id), true) => {
            let version = parts.text("version");
            let wrong = |_| Refusal::invalid("the field version is a whole number");
            let version = version.map(str::parse::<u64>).transpose().map_err(wrong)?;
            let files = definitions::files_of(&desk, id, version).await?;
            (files, Some(process.unwrap_or_else(|| id.to_owned())))
        }
        (Some(_), false) => {
            let detail = "a session is of files or of a definition, not of both";
            return Err(Refusal::invalid(detail).into());
        }
        (None, true) => {
            let detail = "what is played? send parts called files, or say definition";
            return Err(Refusal::invalid(detail).into());
        }
    };
    let (engine, share) = (desk.engine().clone(), desk.sessions().share()?);
    let made = off_the_executor(move || {
        let pairs: Vec<(&str, &[u8])> =
            files.iter().map(|it| (it.name.as_str(), &it.body[..])).collect();
        let models = read_models(&pairs, Some(&*engine.definitions()), now);
        if models.report.is_rejected() {
            let names = files.iter().map(|it| it.name.as_str());
            return Ok(Err(report::report(&models.report, names, true)));
        }
        let found = choice::process(&models.report, process.as_deref(), "process");
        let found = found.map_err(Refusal::invalid)?;
        let start = choice::start(found, start.as_deref(), "start").map_err(Refusal::invalid)?;
        let start = start.map(str::to_owned);
        let same = |it: &travertine_bpmn::Process| it.id == found.id;
        let process = models.report.processes.iter().position(same).unwrap_or_default();
        let begin = Begin { files, models, process, start, variables, now };
        let session = Session::begin(begin, share)?;
        let document = session.document(0);
        Ok(Ok((session, document)))
    });
    let (session, document) = match made.await? {
        Ok(made) => made,
        Err(report) => {
            let refusal = Refusal::invalid("the model cannot run; the report says why");
            return Err(Problem::from(refusal).with("report", report));
        }
    };
    let id = desk.sessions().add(desk.who(), session)?;
    let mut fields = document.as_map().cloned().unwrap_or_default();
    fields.insert("session".into(), json::key(id));
    Ok(Answer::Made(fields.into()))
}

pub(super) async fn one(call: Call) -> Result<Answer, Problem> {
    with(&call, |_| Ok(())).await
}

pub(super) async fn step(call: Call) -> Result<Answer, Problem> {
    let item = call.given();
    with(&call, move |it| it.step(&item)).await
}

pub(super) async fn rewind(call: Call) -> Result<Answer, Problem> {
    let to = call.count("steps")?;
    with(&call, move |it| {
        let done = it.answers.len();
        let to = match to {
            Some(to) => usize::try_from(to).unwrap_or(usize::MAX),
            None => done.saturating_sub(1),
        };
        if to > done {
            let detail = format!("{done} steps were done, so it cannot go back to {to}");
            return Err(Refusal::invalid(detail));
        }
        it.rewind(to)
    })
    .await
}

pub(super) async fn end(call: Call) -> Result<Answer, Problem> {
    let (id, _) = found(&call)?;
    call.desk.sessions().lock().sessions.remove(&id);
    Ok(Answer::Document(json::object([("ended", json::key(id))])))
}

/// What was done, as a file for `travertine run --answers`.
pub(super) async fn answers(call: Call) -> Result<Answer, Problem> {
    Ok(Answer::Document(asked(&call, |_, session| Ok(session.items())).await?))
}

/// The model of a process of the session, with what was done.
pub(super) async fn drawn(call: Call) -> Result<Answer, Problem> {
    let how = picture::how(&call)?;
    let wanted = call.whole("instance")?;
    let (file, id, marks) = asked(&call, move |_, session| {
        let world = &session.world;
        let wanted = wanted.map_or(world.main, InstanceId);
        let missing = || Refusal::not_found(format!("the session has no instance {wanted}"));
        let record = world.instances().find(|it| it.id == wanted).ok_or_else(missing)?;
        let same = |it: &Record<'_>| it.definition.id == record.definition.id;
        let states = world.instances().filter(same).map(|it| (it.plan(), it.state));
        let marks: Marks = world.journal.marks(states);
        let id = record.definition.id.to_string();
        let file = session.begin.file_of(&id).ok_or_else(missing)?.clone();
        Ok((file, id, marks))
    })
    .await?;
    picture::drawn(file, Some(id), how, Some(marks)).await
}

impl Begin {
    /// The file that a process is in.
    fn file_of(&self, id: &str) -> Option<&File> {
        let report = &self.models.report;
        let named = report
            .processes
            .iter()
            .find(|it| it.id == id)
            .and_then(|it| self.files.iter().find(|file| file.name == it.file));
        named.or_else(|| self.files.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sessions_together_have_no_more_than_there_is_room_for() {
        let sessions = Sessions { bytes_max: 100, ..Sessions::default() };
        let (mut first, mut second) = (sessions.share().unwrap(), sessions.share().unwrap());
        first.set(60);
        second.set(39);
        assert!(first.more().is_ok());
        second.set(40);
        assert_eq!(first.more().unwrap_err().outcome, Outcome::Overloaded);
        assert!(sessions.share().is_err());
        // Who goes back some steps makes room, and who ends.
        first.set(10);
        assert!(second.more().is_ok());
        second.set(90);
        assert!(sessions.share().is_err());
        drop(second);
        assert!(sessions.share().is_ok());
        drop(first);
        assert_eq!(sessions.bytes.load(Ordering::Relaxed), 0);
    }
}
