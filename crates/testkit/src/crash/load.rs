//! The process under load.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use travertine_kernel::{Assignments, Destination, Modification, WaitId, Which};
use travertine_runtime::{
    Address, Engine, Error, InstanceId, JobFailure, Message, Receipt,
    engine::{ManualClock, Retention},
};
use travertine_store::view::{Filter, InstanceState, Query, Row, Table};
use travertine_value::{Name, Value};

use super::{Act, Random, at, models, open};

/// How many ask at the same time.
const CLIENTS: u64 = 3;

/// Opens the store and asks for a mix of everything until it is killed, or `asks` were made by each
/// client. Numbers begin with `first`, the time is `now`, instances carry `body` bytes. First of all it
/// asks `again` for what others were acknowledged.
pub fn load(
    dir: &Path,
    seed: u64,
    first: u64,
    now: i64,
    asks: u64,
    body: usize,
    again: &[Act],
) -> Result<(), Error> {
    let clock = Arc::new(ManualClock::new(at(now)));
    let engine = open(dir, &clock)?;
    say("open");
    engine.deploy(&[models::processes()])?;
    let numbers = Arc::new(AtomicU64::new(first));
    let clients: Vec<thread::JoinHandle<()>> = (0..CLIENTS)
        .map(|client| {
            let mut client = Client {
                name: format!("client-{client}"),
                engine: engine.clone(),
                clock: Arc::clone(&clock),
                random: Random(seed ^ (first << 8) ^ client),
                numbers: Arc::clone(&numbers),
                known: BTreeMap::new(),
                spares: Vec::new(),
                body: "x".repeat(body).into(),
            };
            let again = again.to_vec();
            thread::spawn(move || {
                for act in again {
                    client.again(act);
                }
                for _ in 0..asks {
                    if UNHEARD.load(Ordering::Relaxed) {
                        break;
                    }
                    client.step();
                }
            })
        })
        .collect();
    for client in clients {
        if client.join().is_err() {
            say("wrong: a client has failed");
        }
    }
    engine.shutdown()
}

/// Whether whoever listened has gone, so that there is no point in going on.
static UNHEARD: AtomicBool = AtomicBool::new(false);

/// Says a line, which is heard whole or not at all.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    if out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).is_err() {
        UNHEARD.store(true, Ordering::Relaxed);
    }
}

struct Client {
    name: String,
    engine: Engine,
    clock: Arc<ManualClock>,
    random: Random,
    numbers: Arc<AtomicU64>,
    /// Instances that it has started or met, by kind, with what people call them.
    known: BTreeMap<&'static str, Vec<(u64, String)>>,
    spares: Vec<u32>,
    body: Name,
}

impl Client {
    fn step(&mut self) {
        match self.random.below(100) {
            0..25 => self.start(),
            25..45 => self.jobs(),
            45..52 => self.tasks(),
            52..64 => self.publish(),
            64..67 => self.signal(),
            67..72 => self.set(),
            72..75 => self.cancel(),
            75..79 => self.stand_still(),
            79..82 => self.move_tokens(),
            82..85 => self.retry(),
            85..87 => self.deploy(),
            87..89 => self.undeploy(),
            89..92 => self.pass_time(),
            92..94 => self.ring(),
            94..95 => self.sweep(),
            95..96 => self.delete(),
            96..97 => self.poison(),
            97..98 => self.look_back(),
            _ => self.look(),
        }
    }

    /// Asks for something, and says so before and after.
    fn ask<T>(
        &mut self,
        act: impl FnOnce(u64) -> Act,
        run: impl FnOnce(&Engine, u64) -> Result<T, Error>,
        answer: impl FnOnce(&T) -> String,
    ) -> Option<T> {
        let number = self.numbers.fetch_add(1, Ordering::SeqCst);
        say(&format!("ask {number} {}", act(number)));
        match run(&self.engine, number) {
            Ok(it) => {
                say(&format!("ok {number} {}", answer(&it)).replace("  ", " "));
                Some(it)
            }
            Err(error) => {
                say(&format!("no {number} {error}").replace('\n', " "));
                check(&error);
                None
            }
        }
    }

    fn again(&mut self, act: Act) {
        if let Act::Start(kind, id) = act {
            let kind = models::KINDS.iter().find(|it| **it == kind).expect("it is a kind");
            self.start_as(kind, id);
        } else if let Act::Publish(key, id) = act {
            self.send(&key, &id);
        }
    }

    fn start(&mut self) {
        let kind = *self.random.of(&models::KINDS).expect("there are kinds");
        let again = self.random.below(4) == 0;
        let repeated = self.random.of(self.known.get(kind).map_or(&[], Vec::as_slice)).cloned();
        let nameless = kind == "job" && self.random.below(4) == 0;
        let number = self.numbers.fetch_add(1, Ordering::SeqCst);
        let id = match repeated {
            Some((_, id)) if again => Some(id),
            _ => (!nameless).then(|| format!("{kind}-{number}")),
        };
        self.start_as(kind, id);
    }

    fn start_as(&mut self, kind: &'static str, id: Option<String>) {
        let body = Name::clone(&self.body);
        let named = id.clone();
        let started = self.ask(
            |_| Act::Start(kind.to_owned(), id.clone()),
            |engine, number| {
                let starting = engine.start(kind).variables(mark(number)).variable("body", body);
                match named {
                    Some(id) => starting.variable("key", id.as_str()).id(&id).begin().wait(),
                    None => starting.begin().wait(),
                }
            },
            |(instance, known)| format!("{instance} {}", if *known { "known" } else { "new" }),
        );
        if let (Some((instance, _)), Some(id)) = (started, id) {
            self.known.entry(kind).or_default().push((instance.0, id));
        }
    }

    /// Starts what would take the store with it. Somebody may stop it at once, or nobody before the end.
    fn poison(&mut self) {
        let kind = *self.random.of(&models::HOSTILE).expect("there are kinds");
        let started = self.ask(
            |_| Act::Start(kind.to_owned(), None),
            |engine, number| engine.start(kind).variables(mark(number)).begin().wait(),
            |(instance, _)| format!("{instance} new"),
        );
        if let Some((id, _)) = started
            && self.random.below(2) == 0
        {
            let done = |(): &()| String::new();
            self.ask(|_| Act::Cancel(id.0), |engine, _| engine.cancel(id).wait(), done);
        }
    }

    fn jobs(&mut self) {
        let job_type = *self.random.of(&["work", "work", "first", "second"]).expect("not empty");
        let most = usize::try_from(1 + self.random.below(6)).expect("it is small");
        let lease = Duration::from_millis(1 + self.random.below(8_000));
        let given = block_on(self.engine.activate(job_type, &self.name, most, lease, &[]));
        let given = match given {
            Ok(given) => given,
            Err(error) => return check(&error),
        };
        for it in &given {
            let until = it.until.map_or(0, travertine_runtime::Timestamp::as_millis);
            say(&format!("lease {} {until} {}", it.job, self.engine.now().as_millis()));
        }
        for job in given {
            let job = job.job;
            match self.random.below(20) {
                // Nobody hears of it again before the lease is over.
                0..2 => {}
                2..5 => {
                    let backoff = Duration::from_millis(self.random.below(3_000));
                    self.fail(job, None, backoff);
                }
                5 => self.fail(job, Some(0), Duration::ZERO),
                _ => self.complete(job),
            }
        }
    }

    fn complete(&mut self, at: Address) {
        self.ask(
            |_| Act::Complete(at),
            |engine, number| engine.complete(at, mark(number)).wait(),
            |()| String::new(),
        );
    }

    fn fail(&mut self, job: Address, retries: Option<u32>, backoff: Duration) {
        self.ask(
            |_| Act::Fail(job),
            |engine, _| {
                let failure = JobFailure { retries, backoff, ..JobFailure::new("oops") };
                engine.fail(job, failure).wait()
            },
            |()| String::new(),
        );
    }

    fn tasks(&mut self) {
        let tasks = self.rows(Table::Tasks, Vec::new());
        let Some(Row::Task(task)) = self.random.of(&tasks) else { return };
        let at = Address { instance: InstanceId(task.instance), wait: WaitId(task.wait) };
        let who = self.name.clone();
        let claimed = self.ask(
            |_| Act::Claim(at, who.clone()),
            |engine, _| engine.claim(at, &who).wait(),
            |()| String::new(),
        );
        if claimed.is_some() && self.random.below(3) > 0 {
            self.complete(at);
        }
    }

    fn publish(&mut self) {
        let known = self.known.get("message").map_or(&[][..], Vec::as_slice);
        let waiting = self.random.of(known).map(|(_, id)| id.clone());
        let number = self.numbers.fetch_add(1, Ordering::SeqCst);
        let early = self.random.below(3) == 0;
        let key = waiting.filter(|_| !early).unwrap_or_else(|| format!("message-{number}"));
        let id = format!("m-{number}");
        let first = self.send(&key, &id);
        if self.random.below(4) == 0 {
            let again = self.send(&key, &id);
            if first.is_some() && again.is_some_and(|it| it != Receipt::Known) {
                say(&format!("wrong: message {id} was not recognised"));
            }
        }
        if key == format!("message-{number}") {
            self.start_as("message", Some(key));
        }
    }

    fn send(&mut self, key: &str, id: &str) -> Option<Receipt> {
        self.ask(
            |_| Act::Publish(key.to_owned(), id.to_owned()),
            |engine, number| {
                let message = Message {
                    correlation: vec![("key".into(), key.into())],
                    variables: mark(number),
                    id: Some(id.into()),
                    ..Message::new("paid")
                };
                engine.publish(message).wait()
            },
            |receipt| match receipt {
                Receipt::Received(at) => format!("received {at}"),
                Receipt::Held => "held".to_owned(),
                Receipt::Known => "known".to_owned(),
                Receipt::Shared(_) | Receipt::Started(_) | Receipt::Noted | Receipt::Dropped => {
                    "wrong".to_owned()
                }
            },
        )
    }

    fn signal(&mut self) {
        self.ask(
            |_| Act::Signal,
            |engine, number| engine.signal("go", mark(number)).wait(),
            |_| String::new(),
        );
    }

    /// An instance that it knows, of any of these kinds.
    fn any(&mut self, kinds: &[&'static str]) -> Option<u64> {
        let kind = self.random.of(kinds)?;
        let known = self.known.get(kind).map_or(&[][..], Vec::as_slice);
        self.random.of(known).map(|(instance, _)| *instance)
    }

    fn set(&mut self) {
        let Some(id) = self.any(&models::KINDS) else { return };
        self.ask(
            |_| Act::Set(id),
            |engine, number| engine.set_variables(InstanceId(id), None, mark(number)).wait(),
            |()| String::new(),
        );
    }

    fn cancel(&mut self) {
        let Some(id) = self.any(&models::KINDS) else { return };
        let done = |(): &()| String::new();
        self.ask(|_| Act::Cancel(id), |engine, _| engine.cancel(InstanceId(id)).wait(), done);
    }

    fn stand_still(&mut self) {
        let Some(id) = self.any(&models::KINDS) else { return };
        let done = |(): &()| String::new();
        self.ask(|_| Act::Suspend(id), |engine, _| engine.suspend(InstanceId(id)).wait(), done);
        if self.random.below(3) > 0 {
            self.step();
            self.ask(|_| Act::Resume(id), |engine, _| engine.resume(InstanceId(id)).wait(), done);
        }
    }

    fn move_tokens(&mut self) {
        let Some(id) = self.any(&["move"]) else { return };
        let definitions = self.engine.definitions();
        let Some(definition) = definitions.find("move") else { return };
        let node = |name| definition.plan.find(name).expect("it is in the model");
        let steps = vec![Modification::Move {
            which: Which::At(node("first")),
            to: Destination::before(node("second")),
        }];
        self.ask(
            |_| Act::Move(id),
            |engine, _| engine.modify(InstanceId(id), steps).wait(),
            |()| String::new(),
        );
    }

    fn retry(&mut self) {
        let incidents = self.rows(Table::Incidents, Vec::new());
        let Some(Row::Incident(incident)) = self.random.of(&incidents) else { return };
        let id = incident.instance;
        self.ask(
            |_| Act::Retry(id),
            |engine, _| engine.retry(InstanceId(id), None).wait(),
            ToString::to_string,
        );
    }

    fn deploy(&mut self) {
        let version = self.ask(
            |_| Act::Deploy,
            |engine, number| {
                let deployed = engine.deploy(&[models::spare(number)])?;
                Ok(deployed.definitions.first().map_or(0, |it| it.version))
            },
            ToString::to_string,
        );
        self.spares.extend(version);
    }

    fn undeploy(&mut self) {
        if self.spares.len() < 2 {
            return;
        }
        let version = self.spares.remove(0);
        self.ask(
            |_| Act::Undeploy(version),
            |engine, _| engine.undeploy("spare", version),
            |()| String::new(),
        );
    }

    fn pass_time(&mut self) {
        let now = self.engine.now().after(Duration::from_millis(self.random.below(4_000)));
        say(&format!("time {}", now.as_millis()));
        self.clock.set(now);
        self.engine.wake();
    }

    /// Has a timer ring now, or at another time.
    fn ring(&mut self) {
        let timers = self.rows(Table::Timers, Vec::new());
        let Some(Row::Timer(timer)) = self.random.of(&timers) else { return };
        let at = Address { instance: InstanceId(timer.instance), wait: WaitId(timer.wait) };
        let outcome = if self.random.below(2) == 0 {
            self.engine.fire_timer(at).wait()
        } else {
            self.engine.move_timer(at, timer.due.before(Duration::from_secs(1))).wait()
        };
        outcome.unwrap_or_else(|error| check(&error));
    }

    fn sweep(&mut self) {
        let history = Some(Duration::from_secs(self.random.below(10)));
        let limits = Retention { history, ..Retention::default() };
        if let Err(error) = self.engine.sweep_with(&limits) {
            check(&error);
        }
    }

    fn delete(&mut self) {
        let Some(id) = self.any(&["job", "timer"]) else { return };
        let deleted = self.ask(
            |_| Act::Delete(id),
            |engine, _| engine.delete(InstanceId(id)),
            |()| String::new(),
        );
        if deleted.is_some() {
            // Its id may be used again.
            self.known.values_mut().for_each(|it| it.retain(|(known, _)| *known != id));
        }
    }

    /// What was acknowledged can be found.
    fn look_back(&mut self) {
        let Some(kind) = self.random.of(&models::KINDS).copied() else { return };
        let Some((id, name)) = self.random.of(self.known.get(kind).map_or(&[], Vec::as_slice))
        else {
            return;
        };
        let (id, name) = (*id, name.clone());
        let found = self.rows(Table::Instances, vec![Filter::BusinessId(name.as_str().into())]);
        let ids: Vec<u64> = found.iter().map(|it| it.key().instance).collect();
        let history = self.engine.history(InstanceId(id));
        let deletable = kind == "job" || kind == "timer";
        // Somebody else may have deleted it, and given its id to a new one.
        let gone = deletable && ids.len() <= 1;
        if ids != [id] && !gone {
            say(&format!("wrong: {name} is {id}, and {ids:?} were found"));
        }
        match history {
            Ok(history) if history.steps.is_empty() => say(&format!("wrong: {id} has no history")),
            Ok(_) => {}
            Err(Error::NoSuchInstance(_)) if deletable => {}
            Err(error) => say(&format!("wrong: the history of {id}: {error}")),
        }
    }

    /// Says what has ended, and meets instances of others.
    fn look(&mut self) {
        for row in self.rows(Table::Instances, Vec::new()) {
            let Row::Instance(row) = row else { continue };
            match row.state {
                InstanceState::Completed | InstanceState::Failed | InstanceState::Cancelled => {
                    say(&format!("ended {} {:?}", row.id, row.state));
                }
                InstanceState::Halted => {
                    say(&format!("wrong: {} is halted: {:?}", row.id, row.reason));
                }
                InstanceState::Running | InstanceState::Suspended => {
                    let kind = models::KINDS.iter().find(|it| **it == &*row.definition);
                    if let (Some(kind), Some(id)) = (kind, row.business_id) {
                        let known = self.known.entry(kind).or_default();
                        known.push((row.id, id.to_string()));
                    }
                    let why = self.engine.why(InstanceId(row.id)).wait();
                    why.map_or_else(|error| check(&error), drop);
                }
            }
        }
    }

    fn rows(&mut self, table: Table, filters: Vec<Filter>) -> Vec<Row> {
        let descending = self.random.below(2) == 0;
        let query = Query { table, filters, descending, after: None, limit: 30 };
        match self.engine.query_now(&query) {
            Ok(page) => page.rows,
            Err(error) => {
                check(&error);
                Vec::new()
            }
        }
    }
}

/// A variable that only this command sets.
pub(super) fn mark(number: u64) -> Assignments {
    vec![(format!("x{number}").into(), Value::from(true))]
}

/// Errors that are not an answer.
fn check(error: &Error) {
    let failed = matches!(
        error,
        Error::Store(_)
            | Error::Closed { .. }
            | Error::Unknown { .. }
            | Error::Failed { .. }
            | Error::Halted { .. }
    );
    if failed {
        say(&format!("wrong: {error}").replace('\n', " "));
    }
}

/// Waits for a future, on this thread.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime without threads needs nothing").block_on(future)
}
