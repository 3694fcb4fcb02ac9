//! An open store at which someone asks for something, and the way out of what can go wrong.

use std::{
    fmt::{self, Display},
    io::{self, IsTerminal as _, Write as _},
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use travertine_kernel::Rejection;
use travertine_runtime::{
    Engine, Error, InstanceId, KeptHistory, RequestOutcome, Settings, Timestamp,
    engine::{Clock, Look, NUMBER, Observer, Options, Progress},
    schedule::SCHEDULE,
};
use travertine_store::{
    self as store,
    view::{Filter, Page, Query, Row, Table},
};
use travertine_value::{Name, Value, brief::abridged_lines};

use crate::{
    LINE_BYTES_MAX,
    args::{store::Place, words::Whose},
    control::Served,
    json, place,
    screen::Screen,
    shell::{self, DATA_VARIABLE},
    status::Status,
};

/// How long a command waits for what it has caused.
const SETTLE: Duration = Duration::from_secs(10);

/// How long it waits where others use the engine, too.
const SETTLE_SERVED: Duration = Duration::from_millis(500);

/// How long reading a store may take before people want to know.
const PATIENCE: Duration = Duration::from_millis(500);

/// An open store at which someone asks for something.
pub(crate) struct Desk<'a> {
    pub(crate) engine: Engine,
    pub(crate) data: &'a Path,
    pub(crate) json: bool,
    pub(crate) out: &'a Screen,
    pub(crate) err: &'a Screen,
    /// The engine goes on after this command, for others.
    served: Option<&'a Served>,
}

/// Someone who asks for something at a store: how they are told, and the engine that this process has open
/// already, where it does what another one asks for.
#[derive(Clone, Copy)]
pub(crate) struct Front<'a> {
    pub(crate) served: Option<&'a Served>,
    pub(crate) out: &'a Screen,
    pub(crate) err: &'a Screen,
}

/// Whether a store must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Known,
    /// Where it is not, one is made, with so many shards where somebody says so.
    New(Option<u16>),
}

/// What becomes of something for which the store has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// Whoever asked is told.
    Fails,
    Waits,
}

impl<'a> Front<'a> {
    /// Opens a store for something and closes it again.
    pub(crate) fn at(
        self,
        place: &'a Place,
        store: Store,
        json: bool,
        act: impl FnOnce(&Desk<'a>) -> Result<Status>,
    ) -> Result<Status> {
        self.watched_at(place, store, json, None, act)
    }

    /// Opens a store for something, with someone who looks on, and closes it again.
    pub(crate) fn watched_at(
        self,
        place: &'a Place,
        store: Store,
        json: bool,
        observer: Option<Observer>,
        act: impl FnOnce(&Desk<'a>) -> Result<Status>,
    ) -> Result<Status> {
        match self.served {
            Some(served) => {
                served.lookers.with(observer, || self.on_served(served, place, json, act))
            }
            None => self.with(open(&place.data, store, Full::Fails, observer)?, place, json, act),
        }
    }

    /// Opens a store at rest, for someone who only looks or who comes before all that is due, and closes it
    /// again. Nothing goes on but what follows from what was asked, once that is waited for.
    pub(crate) fn at_rest(
        self,
        place: &'a Place,
        json: bool,
        act: impl FnOnce(&Desk<'a>) -> Result<Status>,
    ) -> Result<Status> {
        match self.served {
            Some(served) => self.on_served(served, place, json, act),
            None => self.with(open_to_look(&place.data)?, place, json, act),
        }
    }

    /// Opens a store at rest for someone who only looks, and closes it again. Where it cannot be written, or has no
    /// room for the rows that are to be looked at, a copy is looked at.
    pub(crate) fn look_at(
        self,
        place: &'a Place,
        json: bool,
        mut act: impl FnMut(&Desk<'a>) -> Result<Status>,
    ) -> Result<Status> {
        if let Some(served) = self.served {
            return self.on_served(served, place, json, act);
        }
        let data = &place.data;
        if place::is_url(data) {
            return self.with(open_to_look(data)?, place, json, act);
        }
        let opened = if store::sqlite::is_full(data) {
            Err(store::Error::Full { reason: format!("{}: no space left", data.display()) }.into())
        } else {
            open_told(resting(), |options| Engine::open_with(data, options))
        };
        let why = match opened {
            Ok(engine) => {
                let looker = engine.clone();
                let looked = self.with(engine, place, json, &mut act);
                match (looked, looker.views_fault()) {
                    (Err(_), Some(Error::Store(why @ store::Error::Full { .. }))) => why,
                    (looked, _) => return looked,
                }
            }
            Err(Error::Store(
                why @ (store::Error::Full { .. } | store::Error::ReadOnly { .. }),
            )) => why,
            Err(error) => return Err(Told::of(&error, data, None, json)),
        };
        let engine = open_told(resting(), |options| {
            let copy: Arc<dyn store::Store> = Arc::new(store::SqliteStore::look(data)?);
            Engine::on(&copy, options)
        });
        let engine = engine.map_err(|error| Told::of(&error, data, None, json))?;
        self.err.line(format!("note: {why}; this is what a copy of it shows"));
        self.with(engine, place, json, act)
    }

    /// Opens a store for something that makes room in it, and closes it again.
    pub(crate) fn make_room_at(
        self,
        place: &'a Place,
        options: Options,
        json: bool,
        act: impl FnOnce(&Desk<'a>) -> Result<Status>,
    ) -> Result<Status> {
        if let Some(served) = self.served {
            return self.on_served(served, place, json, act);
        }
        let data = &place.data;
        if place::is_url(data) {
            return self.with(
                open_with(data, Options { create: false, ..options })?,
                place,
                json,
                act,
            );
        }
        let room = store::sqlite::Options {
            create: false,
            makes_room: true,
            ..store::sqlite::Options::default()
        };
        let engine = open_told(options, |options| {
            let store: Arc<dyn store::Store> = Arc::new(store::SqliteStore::open(data, &room)?);
            Engine::on(&store, options)
        });
        let engine = engine.map_err(|error| Told::of(&error, data, None, json))?;
        self.with(engine, place, json, act)
    }

    fn desk(self, engine: Engine, place: &'a Place, json: bool) -> Desk<'a> {
        let Self { served, out, err } = self;
        Desk { engine, data: &place.data, json, out, err, served }
    }

    /// Asks the engine that is open already, which stays so.
    fn on_served(
        self,
        served: &Served,
        place: &'a Place,
        json: bool,
        act: impl FnOnce(&Desk<'a>) -> Result<Status>,
    ) -> Result<Status> {
        act(&self.desk(served.engine.clone(), place, json))
    }

    fn with(
        self,
        engine: Engine,
        place: &'a Place,
        json: bool,
        act: impl FnOnce(&Desk<'a>) -> Result<Status>,
    ) -> Result<Status> {
        // Whoever can open the store may do everything with it.
        engine.guard_batches(None);
        let desk = self.desk(engine, place, json);
        let done = act(&desk);
        note_rebuilt(&desk.engine, self.err);
        let closed = desk.engine.clone().shutdown();
        let status = done?;
        match closed {
            Err(Error::Store(store::Error::Full { .. })) if desk.engine.fault().is_none() => self.err.line(
                "note: it is done, but there was no room for the rows that lists show; they follow when there is",
            ),
            closed => desk.ok(closed)?,
        }
        Ok(status)
    }
}

impl Desk<'_> {
    /// What came of something, or why it did not and what to do about it.
    pub(crate) fn ok<T>(&self, outcome: Result<T, Error>) -> Result<T> {
        outcome.map_err(|error| Told::of(&error, self.data, Some(&self.engine), self.json))
    }

    /// Waits for an answer.
    pub(crate) fn wait<T>(&self, asked: impl Future<Output = Result<T, Error>>) -> Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        self.ok(runtime.block_on(asked))
    }

    pub(crate) fn query(&self, query: &Query) -> Result<Page> {
        self.ok(self.engine.query_now(query))
    }

    pub(crate) fn look(&self, instance: InstanceId) -> Result<Look> {
        self.ok(self.engine.look(instance).wait())
    }

    /// The instance that someone means.
    pub(crate) fn instance(&self, whose: &Whose) -> Result<InstanceId> {
        let name = match whose {
            Whose::Number(id) => return Ok(*id),
            Whose::Called(name) => name,
        };
        let page = self.query(&Query {
            table: Table::Instances,
            filters: vec![Filter::BusinessId(Name::clone(name))],
            descending: true,
            after: None,
            limit: 10,
        })?;
        // A schedule that was removed leaves its name to the next one of that name.
        let is_schedule = |it: &Row| matches!(it, Row::Instance(it) if &*it.definition == SCHEDULE);
        if let [newest, ..] = &page.rows[..]
            && page.rows.iter().all(is_schedule)
        {
            return Ok(InstanceId(newest.key().instance));
        }
        let number = name.parse::<InstanceId>().ok();
        match (&page.rows[..], number) {
            ([only], _) => {
                let only = InstanceId(only.key().instance);
                self.note_number(name, only, number.filter(|it| *it != only));
                Ok(only)
            }
            ([], Some(number)) => Ok(number),
            ([], None) => bail!(
                "no instance has the number or the id {name}; {} lists them",
                self.command(&["instances"])
            ),
            (several, _) => {
                let all: Vec<String> =
                    several.iter().map(|it| format!("{NUMBER}{}", it.key().instance)).collect();
                bail!(
                    "several instances have the business key {name}; say which one: {}",
                    all.join(", ")
                )
            }
        }
    }

    /// Says how the instance of that number is named, where another one has the number as its id.
    fn note_number(&self, name: &Name, called: InstanceId, number: Option<InstanceId>) {
        let Some(number) = number.filter(|it| self.engine.look(*it).wait().is_ok()) else { return };
        self.err.line(format!(
            "note: instance {called} has the id {name}; {NUMBER}{number} is the instance of that number"
        ));
    }

    /// The instance that someone means, where one does.
    pub(crate) fn instance_of(&self, whose: Option<&Whose>) -> Result<Option<InstanceId>> {
        whose.map(|it| self.instance(it)).transpose()
    }

    /// Waits for what a command has caused, as long as people do.
    pub(crate) fn settle(&self) -> Result<()> {
        self.settle_for(None)
    }

    /// Waits for what a command to an instance has caused. Others that do not come to rest are not waited for.
    pub(crate) fn settle_for(&self, instance: Option<InstanceId>) -> Result<()> {
        // An engine that others use may never come to rest.
        let patience = if self.served.is_some() { SETTLE_SERVED } else { SETTLE };
        if self.served.is_none() {
            self.ok(self.engine.follow())?;
        }
        let is_other = |all: &[InstanceId]| instance.is_none_or(|it| !all.contains(&it));
        let settled = self.ok(self.engine.settle_but_restless(patience, is_other))?;
        restless(&settled.restless, self.data, self.err);
        throttled(&settled.throttled, self.data, self.err);
        let is_told = !settled.restless.is_empty() || !settled.throttled.is_empty();
        // Where others use the engine, it goes on.
        if !settled.rests && !is_told && self.served.is_none() {
            let work = self.command(&["work"]);
            self.err.line(format!("note: not all of it is done yet; {work} goes on with it"));
        }
        Ok(())
    }

    /// Whether others use the engine, too, who may take it further.
    pub(crate) fn is_shared(&self) -> bool {
        self.served.is_some()
    }

    /// Whether nobody waits for the answer any more.
    pub(crate) fn is_left(&self) -> bool {
        self.served.is_some_and(Served::is_gone)
    }

    /// Shows people how far something is that takes long, where that is at a terminal of this process.
    pub(crate) fn progress(
        &self,
        doing: &'static str,
    ) -> (Option<Progress>, impl FnOnce() + use<>) {
        progress(doing, self.served.is_none())
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.engine.now()
    }

    /// A command on this store, as it stands in a sentence.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        shell::named(words, self.data)
    }

    /// Says the same as data or to people.
    pub(crate) fn tell(&self, data: impl FnOnce() -> Value, text: impl FnOnce(&Screen)) {
        if self.json {
            self.out.json(&data());
        } else {
            text(self.out);
        }
    }
}

/// Says why the views were made again, where they were.
pub(crate) fn note_rebuilt(engine: &Engine, err: &Screen) {
    if let Some(why) = engine.opened().rebuilt.clone().or_else(|| engine.store().rebuilt()) {
        err.line(format!("note: the views were made again from the log: {why}"));
    }
}

/// Opens a store.
pub(crate) fn open(
    data: &Path,
    store: Store,
    full: Full,
    observer: Option<Observer>,
) -> Result<Engine> {
    let waits_for_room = full == Full::Waits;
    let options = match store {
        Store::Known => known(),
        Store::New(shards) => {
            Options { create: true, shards: place::shards(data, shards), ..known() }
        }
    };
    open_with(data, Options { observer, waits_for_room, ..options })
}

/// Opens a store for a server, whose engine goes by this clock, where there is one.
pub(crate) fn serve(
    data: &Path,
    shards: u16,
    history: KeptHistory,
    observer: Observer,
    clock: Option<Arc<dyn Clock>>,
) -> Result<Engine> {
    let mut known = known();
    if let Some(clock) = clock {
        known.clock = clock;
    }
    let settings = Settings { history, ..known.settings };
    let observer = Some(observer);
    let options =
        Options { create: true, shards, settings, observer, waits_for_room: true, ..known };
    open_with(data, options)
}

/// How a store that is there is opened at rest.
pub(crate) fn resting() -> Options {
    let mut options = known();
    options.settings.at_rest = true;
    options
}

/// How a store that is there is opened.
pub(crate) fn known() -> Options {
    let mut options = Options { create: false, waits_for_room: false, ..Options::default() };
    // Commands say themselves what stands still.
    options.settings.functions.prints_incidents = false;
    options
}

/// Opens a store for someone who only looks.
pub(crate) fn open_to_look(data: &Path) -> Result<Engine> {
    open_with(data, resting())
}

/// Opens a store. People at a terminal are told how far that is, where it takes long.
fn open_with(data: &Path, options: Options) -> Result<Engine> {
    let opened = open_told(options, |options| place::open(data, options));
    opened.map_err(|error| Told::of(&error, data, None, false))
}

fn open_told(
    options: Options,
    open: impl FnOnce(Options) -> Result<Engine, Error>,
) -> Result<Engine, Error> {
    let (progress, clear) = progress("reading", true);
    let opened = open(Options { progress, ..options });
    clear();
    opened
}

/// A line at a terminal that says how far something is, and what takes it away again.
fn progress(doing: &'static str, is_here: bool) -> (Option<Progress>, impl FnOnce() + use<>) {
    let line = (is_here && io::stderr().is_terminal()).then(|| Arc::new(Mutex::new(Line::new())));
    let shown = line.clone();
    let progress = shown.map(|line| {
        Progress(Arc::new(move |shard, done, total| {
            line.lock().expect("nobody fails while showing").show(doing, shard, done, total);
        }))
    });
    let clear = move || {
        if let Some(line) = line {
            line.lock().expect("nobody fails while showing").clear();
        }
    };
    (progress, clear)
}

/// Says that instances do not come to rest, and how to stop them.
pub(crate) fn restless(instances: &[InstanceId], data: &Path, err: &Screen) {
    const FEW: usize = 5;
    for it in instances.iter().take(FEW) {
        let number = it.to_string();
        err.line(err.paint.red(format!(
            "instance {it} does not come to rest; {} stops it, {} ends it",
            shell::named(&["suspend", &number], data),
            shell::named(&["cancel", &number], data)
        )));
    }
    if instances.len() > FEW {
        let more = instances.len() - FEW;
        err.line(err.paint.red(format!("neither do {more} others")));
    }
}

/// Says that more instances of definitions would begin than may in a second, and how to stop that.
pub(crate) fn throttled(definitions: &[(Name, u64)], data: &Path, err: &Screen) {
    for (definition, count) in definitions {
        err.line(err.paint.red(format!(
            "definition {definition} does not come to rest: more instances begin than may in a second, and {} \
             on the way; {} lists them",
            match count {
                1 => "1 start is".to_owned(),
                count => format!("{count} starts are"),
            },
            shell::named(&["instances", "--definition", definition], data)
        )));
    }
}

/// That the engine has closed because its store has no room, where it has.
fn without_room(engine: &Engine) -> Option<Error> {
    engine.fault().filter(|it| matches!(it, Error::Store(store::Error::Full { .. })))
}

/// A line at a terminal that says how far something is.
struct Line {
    began: Instant,
    last: Option<Instant>,
}

impl Line {
    fn new() -> Self {
        Self { began: Instant::now(), last: None }
    }

    fn show(&mut self, doing: &str, shard: store::ShardId, done: u64, total: u64) {
        let now = Instant::now();
        let is_due = self.last.unwrap_or(self.began) + PATIENCE <= now;
        if is_due && total > 0 {
            self.last = Some(now);
            let percent = done.saturating_mul(100) / total;
            write(&format!(
                "\r\x1b[K{doing} the store: shard {shard}, {done} of {total} entries, {percent} %"
            ));
        }
    }

    fn clear(&mut self) {
        if self.last.take().is_some() {
            write("\r\x1b[K");
        }
    }
}

fn write(text: &str) {
    let mut err = io::stderr();
    // Nobody is told of a terminal that went away.
    let _: io::Result<()> = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// What the engine says is wrong: in words, with the way out, and as data.
#[derive(Debug)]
pub(crate) struct Told {
    words: String,
    code: &'static str,
    outcome: RequestOutcome,
    retry_after: Option<Duration>,
    /// Who has the store open, where that is what is wrong.
    holder: Option<String>,
    json: bool,
}

impl Told {
    /// Who has the store open, as far as is known, where that is what is wrong.
    pub(crate) fn holder(error: &anyhow::Error) -> Option<&str> {
        error.downcast_ref::<Self>()?.holder.as_deref()
    }

    /// Whoever asked for data, `json`, is told so in data.
    pub(crate) fn of(
        error: &Error,
        data: &Path,
        engine: Option<&Engine>,
        json: bool,
    ) -> anyhow::Error {
        anyhow::Error::new(Self {
            words: abridged_lines(&explain(error, data, engine), LINE_BYTES_MAX).into_owned(),
            code: error.code(),
            outcome: error.outcome(),
            retry_after: error.retry_after(),
            holder: match error {
                Error::Store(store::Error::InUse { holder, .. }) => {
                    Some(holder.clone().unwrap_or_default())
                }
                _ => None,
            },
            json,
        })
    }

    /// What stands on standard error in place of the words, where data was asked for.
    pub(crate) fn data(&self) -> Option<Value> {
        let pause = self.retry_after.map(|it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX));
        let error = json::object([
            ("code", self.code.into()),
            ("outcome", self.outcome.name().into()),
            ("retry_after_ms", pause.into()),
            ("message", self.words.as_str().into()),
        ]);
        self.json.then(|| json::object([("error", error)]))
    }

    /// The exit status.
    pub(crate) fn status(&self) -> Status {
        match self.outcome {
            RequestOutcome::Unknown => Status::Unknown,
            RequestOutcome::Done | RequestOutcome::NotDone => Status::Usage,
        }
    }
}

impl Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for Told {}

/// What went wrong, and the way out.
pub(crate) fn explain(error: &Error, data: &Path, engine: Option<&Engine>) -> String {
    let run = |words: &[&str]| shell::named(words, data);
    let of = |word: &str, whose: &dyn Display| shell::named(&[word, &whose.to_string()], data);
    if let (Error::Closed { .. } | Error::Unknown { .. }, Some(full)) =
        (error, engine.and_then(without_room))
    {
        return format!(
            "{full}; make room and try again, {} shows what was done",
            run(&["instances"])
        );
    }
    match error {
        Error::Store(store::Error::InUse { .. }) => format!(
            "{error}; one process at a time has a store, and this command cannot go through that one. End it \
             first, or look at a copy: {}",
            run(&["backup", "DIR"])
        ),
        Error::Store(store::Error::Missing { .. }) => {
            let data = data.display();
            format!(
                "there is no store in {data}; `travertine deploy FILE --data {}` makes one, --data or \
                 {DATA_VARIABLE} names another",
                shell::quoted(&data.to_string())
            )
        }
        Error::Store(store::Error::Lost { .. }) if !place::is_url(data) => {
            format!("{error}, or accept the loss with {}", run(&["verify", "--accept-loss"]))
        }
        Error::Store(store::Error::Away { .. }) if place::is_url(data) => format!(
            "{}: {error}; look whether PostgreSQL runs there and lets this user in, with a password from PGPASSWORD \
             or ~/.pgpass where it wants one",
            data.display()
        ),
        Error::Store(store::Error::Failed { .. }) if place::is_url(data) => {
            format!("{}: {error}", data.display())
        }
        Error::Store(store::Error::Full { .. }) if place::is_url(data) => {
            format!("{error}; make room where PostgreSQL keeps its files and try again")
        }
        Error::Store(store::Error::ReadOnly { .. }) if place::is_url(data) => error.to_string(),
        Error::Store(store::Error::Full { .. }) => format!(
            "{error}; make room and try again, `travertine delete` and `travertine compact` do so in the store"
        ),
        Error::Store(store::Error::ReadOnly { .. }) => {
            format!("{error}; only a user who may write there can change it; others can look at it")
        }
        Error::NoSuchDefinition(_) => {
            let all: Vec<String> = engine.map(Engine::definitions).map_or_else(Vec::new, |it| {
                let all = it.latest().filter(|it| !travertine_runtime::is_own(&it.id));
                let all = all.map(|it| format!("{} (version {})", it.id, it.version));
                let decisions = it.decisions();
                let decisions =
                    decisions.map(|it| format!("decision {} (version {})", it.id, it.version));
                all.chain(decisions).collect()
            });
            if all.is_empty() {
                format!("{error}; nothing is deployed, {} does that", run(&["deploy", "FILE"]))
            } else {
                format!("{error}; there is {}", all.join(", "))
            }
        }
        Error::NoSuchInstance(_) => format!("{error}; {} lists them", run(&["instances"])),
        Error::NoReceiver { .. } => format!(
            "{error}; {} says what is waited for, --ttl 1h holds it for an hour",
            run(&["subscriptions"])
        ),
        Error::SeveralReceivers { .. } => format!("{error}; --instance says which one"),
        Error::NoSuchSchedule(_) => format!("{error}; {} lists them", run(&["schedules"])),
        Error::Rejected(Rejection::NoSuchWait(_)) => {
            format!("{error}; {} lists what waits", run(&["show", "INSTANCE"]))
        }
        Error::Rejected(Rejection::HasIncident(_)) => {
            format!("{error}; {} says what is wrong", run(&["incidents"]))
        }
        Error::Rejected(Rejection::Ended) => {
            format!("{error}; {} says how", run(&["show", "INSTANCE"]))
        }
        Error::Rejected(Rejection::NoSuchStart) => format!(
            "{error}; --at ELEMENT says where to begin, `travertine message` or `signal` triggers \
             its start events"
        ),
        Error::Halted { instance, .. } => {
            format!(
                "{error}; {} has it tried again, {} ends it",
                of("resolve", instance),
                of("cancel", instance)
            )
        }
        Error::Suspended(instance) => {
            format!("instance {instance} is suspended; {} lets it go on", of("resume", instance))
        }
        Error::NoRetriesLeft(job) => {
            let (job, instance) = (job.to_string(), job.instance.to_string());
            format!(
                "job {job} has failed as often as it may, and has an incident; {} gives it one try more, {} then has \
                 it tried again",
                run(&["retries", &job, "1"]),
                run(&["resolve", &instance])
            )
        }
        Error::Claimed { task, .. } => format!("{error}; {} takes it away", of("unclaim", task)),
        Error::InUse { .. } => format!(
            "{error}; {} lists them, {} forgets ended ones",
            run(&["instances"]),
            run(&["delete", "INSTANCE"])
        ),
        Error::Damaged { instance: Some(instance), .. } => {
            format!(
                "{error}; bring back from a backup what cannot be read, and {} has it tried again; {} \
                 ends it, {} forgets it",
                of("resolve", instance),
                of("cancel", instance),
                of("delete", instance)
            )
        }
        Error::Damaged { .. }
        | Error::Store(store::Error::Corrupt { .. } | store::Error::DamagedRow { .. }) => {
            format!(
                "{error}; {} looks at all of it, and a backup has what cannot be read",
                run(&["verify"])
            )
        }
        _ => error.to_string(),
    }
}
