//! The process under load.

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use travertine_func::Workflow;
use travertine_kernel::{Assignments, Command, Reach, plan::WorkKind};
use travertine_runtime::{
    Activated, Address, Edit, Engine, Error, InstanceId, JobChange, JobFailure, Message, Named,
    Published, Receipt, RequestOutcome, TaskChange, Timestamp,
    engine::{ManualClock, PublishOptions, Run, Target},
    request::Kind,
};
use travertine_store::view::InstanceState;
use travertine_value::{Name, Value};

use super::{
    super::{Random, at, load::block_on},
    Place, models, open, place,
};

/// For how long jobs are lent, and how far away timers are: longer than anything takes.
const LONG: Duration = Duration::from_millis(1 << 40);

/// How much greater the number of a message is that is not there.
const BEYOND: u64 = 1 << 40;

/// How often a client looks whether something has happened, before it does something else.
const LOOKS: u32 = 200;

/// Opens the store and asks for everything until it is killed, or `close_after` requests were made: then it closes the
/// store while clients go on asking. Numbers begin with `first`, which is the time, too. Instances carry `body` bytes.
pub fn load(dir: &Path, seed: u64, first: u64, close_after: u64, body: u64) -> Result<(), Error> {
    let clock = Arc::new(ManualClock::new(at(i64::try_from(first).expect("it is small"))));
    let engine = open(dir, &clock)?;
    engine.deploy(&[models::processes()])?;
    for (version, name) in (1..).zip(models::RESTS) {
        if engine.definitions().versions("rest").iter().all(|it| it.version != version) {
            engine.deploy(&[models::rests(name)])?;
        }
    }
    let shared = Arc::new(Shared {
        numbers: AtomicU64::new(first),
        is_closing: AtomicBool::new(false),
        close_at: first.saturating_add(close_after),
        body: "x".repeat(usize::try_from(body).expect("it fits into memory")).into(),
        main: thread::current(),
    });
    let clients: Vec<thread::JoinHandle<()>> = (0..models::CLIENTS)
        .map(|number| {
            let mut client = Client {
                number,
                engine: engine.clone(),
                clock: Arc::clone(&clock),
                random: Random(seed ^ (first << 8) ^ number),
                shared: Arc::clone(&shared),
                accepted: BTreeSet::new(),
                is_shut_out: false,
            };
            thread::spawn(move || {
                while !client.is_shut_out {
                    client.step();
                }
            })
        })
        .collect();
    while !shared.is_closing.load(Ordering::SeqCst) {
        thread::park();
    }
    engine.shutdown()?;
    for client in clients {
        // One that has failed has said so.
        let _: thread::Result<()> = client.join();
    }
    Ok(())
}

/// What all clients share.
#[derive(Debug)]
struct Shared {
    numbers: AtomicU64,
    is_closing: AtomicBool,
    /// The number at which the store is closed.
    close_at: u64,
    body: Name,
    /// Whoever closes it.
    main: thread::Thread,
}

impl Shared {
    fn close(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
        self.main.unpark();
    }
}

/// Says a line, which is heard whole or not at all. Says whether anyone listens.
fn say(line: &str) -> bool {
    let mut out = io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Someone who asks for things, one after another.
#[derive(Debug)]
pub struct Client {
    number: u64,
    engine: Engine,
    clock: Arc<ManualClock>,
    random: Random,
    shared: Arc<Shared>,
    /// The kinds of requests that the engine has accepted so far.
    accepted: BTreeSet<&'static str>,
    /// Whether the engine is closed.
    is_shut_out: bool,
}

impl Drop for Client {
    fn drop(&mut self) {
        if thread::panicking() {
            say("a client has failed");
        }
    }
}

/// How something is told from everything else.
#[derive(Clone, Copy)]
enum By {
    /// By a variable, or by what else has the number of the ask.
    Number,
    /// By the instance.
    Instance,
    /// By a number of its own.
    Mark(u64),
}

/// What an answer says was done.
enum Did {
    Nothing,
    It,
    Start(InstanceId),
}

impl From<()> for Did {
    fn from((): ()) -> Self {
        Self::It
    }
}

impl From<bool> for Did {
    fn from(did: bool) -> Self {
        if did { Self::It } else { Self::Nothing }
    }
}

impl Client {
    /// Asks for something of a kind that is chosen by chance.
    fn step(&mut self) {
        let Some(kind) = self.random.of(&Kind::ALL) else { return };
        if let Place::Asked(step) = place(*kind) {
            let in_vain = self.random.below(4) == 0;
            step(self, in_vain);
        }
        for (kind, count) in self.engine.requests_by_kind() {
            if count > 0 && self.accepted.insert(kind) {
                say(&format!("accepted {kind}"));
            }
        }
    }

    /// Asks for something, and says so before and after.
    fn ask<T>(
        &mut self,
        kind: Kind,
        of: InstanceId,
        by: By,
        run: impl FnOnce(&Engine, u64) -> Result<T, Error>,
        did: impl FnOnce(&T) -> Did,
    ) -> Option<T> {
        let number = self.shared.numbers.fetch_add(1, Ordering::SeqCst);
        if number >= self.shared.close_at {
            self.shared.close();
        }
        let mark = match by {
            By::Number => number,
            By::Instance => 0,
            By::Mark(mark) => mark,
        };
        let is_heard = say(&format!("ask {number} {} {of} {mark}", kind.name()));
        self.is_shut_out |= !is_heard;
        match run(&self.engine, number) {
            Ok(it) => {
                match did(&it) {
                    Did::Nothing => say(&format!("not {number} nothing")),
                    Did::It => say(&format!("done {number}")),
                    Did::Start(id) => say(&format!("done {number} {id}")),
                };
                Some(it)
            }
            Err(error) => {
                let code = error.code();
                match error.outcome() {
                    RequestOutcome::Done => say(&format!("done {number}")),
                    RequestOutcome::NotDone => say(&format!("not {number} {code}")),
                    RequestOutcome::Unknown => say(&format!("unknown {number} {code}")),
                };
                self.is_shut_out |= matches!(error, Error::Closed { .. });
                None
            }
        }
    }

    /// Asks for something that is done where there is an answer, and says so before and after.
    fn ask_plainly<T>(
        &mut self,
        kind: Kind,
        of: InstanceId,
        by: By,
        run: impl FnOnce(&Engine, u64) -> Result<T, Error>,
    ) -> Option<T> {
        self.ask(kind, of, by, run, |_| Did::It)
    }

    fn start(&mut self, process: &str) -> Option<InstanceId> {
        self.start_as(process, None, Vec::new())
    }

    fn start_as(
        &mut self,
        process: &str,
        id: Option<&str>,
        mut more: Assignments,
    ) -> Option<InstanceId> {
        more.push(("body".into(), Name::clone(&self.shared.body).into()));
        self.ask(
            Kind::Start,
            InstanceId::NONE,
            By::Number,
            |engine, number| {
                let starting = engine.start(process).variables(marked(number, more));
                match id {
                    Some(id) => starting.id(id).unique().wait(),
                    None => starting.wait(),
                }
            },
            |id| Did::Start(*id),
        )
    }

    /// An instance that has ended, of which nothing can be asked any more.
    fn ended(&mut self) -> Option<InstanceId> {
        self.start("short")
    }

    /// An instance of a process, or one that has ended.
    fn start_or_ended(&mut self, process: &str, in_vain: bool) -> Option<InstanceId> {
        if in_vain { self.ended() } else { self.start(process) }
    }

    /// What an instance waits for that waits for one thing. Of one that has ended, nothing.
    fn wait_of(&self, instance: InstanceId) -> Option<Address> {
        let look = self.engine.look(instance).wait().ok()?;
        let wait = look.state.waits.keys().next().copied();
        Some(Address { instance, wait: wait.unwrap_or(travertine_kernel::WaitId(1)) })
    }

    /// What an instance of a process waits for, or one that has ended had waited for.
    fn wait_or_ended(&mut self, process: &str, in_vain: bool) -> Option<Address> {
        let instance = self.start_or_ended(process, in_vain)?;
        self.wait_of(instance)
    }

    pub(super) fn start_named(&mut self, in_vain: bool) {
        let id = format!("rest-{}", self.shared.numbers.fetch_add(1, Ordering::SeqCst));
        if self.start_as("rest", Some(&id), Vec::new()).is_some() && in_vain {
            // It is there.
            self.start_as("rest", Some(&id), Vec::new());
        }
    }

    pub(super) fn command(&mut self, in_vain: bool) {
        let Some(id) = self.start_or_ended("rest", in_vain) else { return };
        self.ask_plainly(Kind::Command, id, By::Number, |engine, number| {
            let variables = marked(number, Vec::new());
            let set = Command::Set { token: None, variables, reach: Reach::Layer };
            engine.command(id, set).wait()
        });
    }

    pub(super) fn set(&mut self, in_vain: bool) {
        let Some(id) = self.start_or_ended("rest", in_vain) else { return };
        self.ask_plainly(Kind::Set, id, By::Number, |engine, number| {
            let variables = marked(number, Vec::new());
            engine.set(Named::Instance(id), variables, Reach::Propagate).wait()
        });
    }

    fn run(&mut self, function: &'static str) -> Option<Run<Value>> {
        self.engine.start(Workflow::<Value>::new(function, 1)).wait().ok()
    }

    pub(super) fn cancel_run(&mut self, in_vain: bool) {
        let Some(run) = self.run(if in_vain { "brief" } else { "keeper" }) else { return };
        if in_vain && run.wait().is_err() {
            return;
        }
        let cancel = |_: &Engine, _| run.cancel().wait();
        self.ask(Kind::CancelRun, run.instance(), By::Instance, cancel, |did| (*did).into());
    }

    pub(super) fn update(&mut self, in_vain: bool) {
        let Some(run) = self.run("keeper") else { return };
        let name = if in_vain { "take" } else { "put" };
        self.ask_plainly(Kind::UpdateFunction, run.instance(), By::Number, |_, number| {
            run.update::<_, u64>(name, &number).wait()
        });
    }

    pub(super) fn suspend(&mut self, in_vain: bool) {
        let Some(id) = self.start_or_ended("rest", in_vain) else { return };
        self.ask_suspend(id);
    }

    fn ask_suspend(&mut self, id: InstanceId) -> Option<()> {
        self.ask_plainly(Kind::Suspend, id, By::Instance, |it, _| it.suspend(id).wait())
    }

    pub(super) fn resume(&mut self, in_vain: bool) {
        let Some(id) = self.start("rest") else { return };
        if in_vain || self.ask_suspend(id).is_some() {
            self.ask_plainly(Kind::Resume, id, By::Instance, |it, _| it.resume(id).wait());
        }
    }

    pub(super) fn release(&mut self, in_vain: bool) {
        let Some(id) = self.start_or_ended("spin", in_vain) else { return };
        let is_halted = |_| {
            let look = self.engine.look(id).wait();
            look.is_ok_and(|it| it.row.state == InstanceState::Halted)
        };
        if !in_vain && !(0..LOOKS).any(is_halted) {
            return;
        }
        self.ask_plainly(Kind::ReleaseHalted, id, By::Instance, |it, _| it.release(id));
    }

    /// An instance with an incident, which can go on if it is tried again.
    fn mended(&mut self) -> Option<InstanceId> {
        let id = self.start_as("stuck", None, vec![("ok".into(), false.into())])?;
        let ok = vec![("ok".into(), true.into())];
        self.engine.set_variables(id, None, ok).wait().ok()?;
        Some(id)
    }

    pub(super) fn retry(&mut self, in_vain: bool) {
        let found = if in_vain { self.start("rest") } else { self.mended() };
        let Some(id) = found else { return };
        let retry = |engine: &Engine, _| engine.retry(id, None).wait();
        self.ask(Kind::Retry, id, By::Instance, retry, |count| (*count > 0).into());
    }

    pub(super) fn resolve(&mut self, in_vain: bool) {
        let found = if in_vain { self.start("rest") } else { self.mended() };
        let Some(id) = found else { return };
        let Ok(look) = self.engine.look(id).wait() else { return };
        let incident = look.state.incidents.values().next().map_or(1, |it| it.number);
        let resolve = |engine: &Engine, _| engine.resolve(id, incident, false).wait();
        self.ask_plainly(Kind::Resolve, id, By::Instance, resolve);
    }

    pub(super) fn migrate(&mut self, in_vain: bool) {
        let Some(id) = self.start_or_ended("rest", in_vain) else { return };
        self.ask_plainly(Kind::Migrate, id, By::Instance, |engine, _| {
            let to = Target::Version("rest".into(), 1);
            engine.migrate(id, to, travertine_kernel::Mapping::default()).wait()
        });
    }

    /// An instance that waits for a message, and what it is told by.
    fn hearer(&mut self) -> Option<(InstanceId, Value)> {
        let number = self.shared.numbers.fetch_add(1, Ordering::SeqCst);
        let key = Value::from(format!("key-{number}"));
        let id = self.start_as("hear", None, vec![("key".into(), key.clone())])?;
        Some((id, key))
    }

    pub(super) fn publish(&mut self, in_vain: bool) {
        let Some((id, key)) = self.hearer() else { return };
        let key = if in_vain { "nobody".into() } else { key };
        self.ask(
            Kind::TryPublish,
            id,
            By::Number,
            |engine, number| {
                let message = Message {
                    correlation: vec![("key".into(), key)],
                    variables: marked(number, Vec::new()),
                    ttl: Some(Duration::ZERO),
                    ..Message::new("paid")
                };
                engine.publish(message).wait()
            },
            |receipt| (*receipt != Receipt::Dropped).into(),
        );
    }

    pub(super) fn publish_by_variables(&mut self, in_vain: bool) {
        let Some((id, key)) = self.hearer() else { return };
        let wanted = if in_vain { Value::from("nobody") } else { key.clone() };
        self.ask(
            Kind::FinishPublish,
            id,
            By::Number,
            |engine, number| {
                let message = engine.message("paid").where_variable("key", wanted);
                message.correlate("key", key).variables(marked(number, Vec::new())).wait()
            },
            |receipt| (*receipt != Receipt::Dropped).into(),
        );
    }

    /// The number of a message that nobody has taken in time.
    fn dead_letter(&mut self) -> Option<u64> {
        let number = self.shared.numbers.fetch_add(1, Ordering::SeqCst);
        let name = format!("lost-{number}");
        let message = Message { ttl: Some(Duration::from_millis(1)), ..Message::new(&name) };
        let sent = self.engine.publish_with(message, PublishOptions::default()).wait();
        let Ok(Published { number: Some(letter), .. }) = sent else { return None };
        self.clock.set(self.engine.now().after(Duration::from_millis(2)));
        self.engine.wake();
        let is_dead = |_| {
            let dead = self.engine.dead_letters(Some(&name), None, 1);
            dead.is_ok_and(|it| it.iter().any(|it| it.number == letter))
        };
        (0..LOOKS).any(is_dead).then_some(letter)
    }

    pub(super) fn replay(&mut self, in_vain: bool) {
        let Some(letter) = self.dead_letter() else { return };
        let letter = if in_vain { letter + BEYOND } else { letter };
        let replay = |engine: &Engine, _| engine.replay(letter).wait();
        self.ask_plainly(Kind::Replay, InstanceId::NONE, By::Mark(letter), replay);
    }

    pub(super) fn discard(&mut self, in_vain: bool) {
        let Some(letter) = self.dead_letter() else { return };
        let letter = if in_vain { letter + BEYOND } else { letter };
        let discard = |engine: &Engine, _| engine.discard(letter).wait();
        self.ask_plainly(Kind::Discard, InstanceId::NONE, By::Mark(letter), discard);
    }

    pub(super) fn signal(&mut self, in_vain: bool) {
        if self.start("listen").is_none() {
            return;
        }
        let name = if in_vain { "nobody" } else { "go" };
        self.ask(
            Kind::Signal,
            InstanceId::NONE,
            By::Number,
            |engine, number| engine.signal(name, marked(number, Vec::new())).wait(),
            |receipt| (receipt.received > 0).into(),
        );
    }

    pub(super) fn evaluate_conditions(&mut self, in_vain: bool) {
        self.ask(
            Kind::EvaluateConditions,
            InstanceId::NONE,
            By::Number,
            |engine, number| {
                let start = vec![("start".into(), (!in_vain).into())];
                engine.evaluate_conditions(marked(number, start)).wait()
            },
            |started| (!started.is_empty()).into(),
        );
    }

    pub(super) fn lease(&mut self, in_vain: bool) {
        self.lent(in_vain);
    }

    /// A job that it has, and as whom.
    fn lent(&mut self, in_vain: bool) -> Option<(Name, Activated)> {
        let job_type = format!("lent-{}", self.number);
        if !in_vain {
            self.start(&job_type)?;
        }
        let job_type = if in_vain { "nothing" } else { &job_type };
        let mut worker = Name::from("");
        let jobs = self.ask(
            Kind::LeaseAll,
            InstanceId::NONE,
            By::Number,
            |engine, number| {
                worker = mark(number);
                block_on(engine.activate(job_type, &worker, 1, LONG, &[]))
            },
            |jobs| (!jobs.is_empty()).into(),
        );
        let job = jobs?.pop()?;
        Some((worker, job))
    }

    pub(super) fn hand_back(&mut self, _in_vain: bool) {
        let Some((worker, job)) = self.lent(false) else { return };
        self.ask_plainly(Kind::HandBack, job.job.instance, By::Instance, |engine, _| {
            block_on(engine.hand_back(&worker, &[job]))
        });
    }

    pub(super) fn extend(&mut self, in_vain: bool) {
        let (worker, job) = if in_vain {
            // Nobody has it.
            let Some(job) = self.wait_or_ended("work", false) else { return };
            (0, job)
        } else {
            let Some((worker, job)) = self.lent(false) else { return };
            (number(&worker), job.job)
        };
        let extend = |engine: &Engine, _| engine.extend(job, 2 * LONG).wait();
        self.ask_plainly(Kind::Extend, job.instance, By::Mark(worker), extend);
    }

    pub(super) fn complete(&mut self, in_vain: bool) {
        let Some(job) = self.wait_or_ended("work", in_vain) else { return };
        self.ask_plainly(Kind::Complete, job.instance, By::Number, |engine, number| {
            engine.complete(job, marked(number, Vec::new())).wait()
        });
    }

    pub(super) fn complete_work(&mut self, in_vain: bool) {
        let Some(job) = self.wait_or_ended("work", false) else { return };
        let kind = if in_vain { WorkKind::User } else { WorkKind::Job };
        self.ask_plainly(Kind::CompleteWork, job.instance, By::Number, |engine, number| {
            engine.complete_work(job, kind, true, marked(number, Vec::new())).wait()
        });
    }

    pub(super) fn fail(&mut self, in_vain: bool) {
        let Some(job) = self.wait_or_ended("work", in_vain) else { return };
        self.ask_plainly(Kind::Fail, job.instance, By::Number, |engine, number| {
            let failure = JobFailure { retries: Some(3), ..JobFailure::new(&mark(number)) };
            engine.fail(job, failure).wait()
        });
    }

    pub(super) fn throw_error(&mut self, in_vain: bool) {
        let Some(job) = self.wait_or_ended("work", in_vain) else { return };
        self.ask_plainly(Kind::ThrowError, job.instance, By::Number, |engine, number| {
            engine.throw_job_error(job, "torn", "it is torn", marked(number, Vec::new())).wait()
        });
    }

    pub(super) fn update_job(&mut self, in_vain: bool) {
        let Some(job) = self.wait_or_ended("work", in_vain) else { return };
        self.ask_plainly(Kind::UpdateJob, job.instance, By::Number, |engine, number| {
            let retries = u32::try_from(number).ok();
            engine.update_job(job, JobChange { retries, ..JobChange::default() }).wait()
        });
    }

    /// A task that somebody has to do.
    fn task(&mut self, in_vain: bool) -> Option<Address> {
        let job = self.wait_or_ended("work", in_vain)?;
        if !in_vain {
            self.engine.complete(job, Vec::new()).wait().ok()?;
        }
        self.wait_of(job.instance)
    }

    pub(super) fn claim(&mut self, in_vain: bool) {
        let Some(task) = self.task(in_vain) else { return };
        self.ask_plainly(Kind::ClaimTask, task.instance, By::Number, |engine, number| {
            engine.claim(task, &mark(number)).wait()
        });
    }

    pub(super) fn change_task(&mut self, in_vain: bool) {
        let Some(task) = self.task(in_vain) else { return };
        self.ask_plainly(Kind::ChangeTask, task.instance, By::Number, |engine, number| {
            let due = Edit::Set(Timestamp::default().after(Duration::from_millis(number)));
            engine.change_task(task, TaskChange { due, ..TaskChange::default() }).wait()
        });
    }

    pub(super) fn move_timer(&mut self, in_vain: bool) {
        let Some(timer) = self.wait_or_ended("rest", in_vain) else { return };
        let more = self.shared.numbers.fetch_add(1, Ordering::SeqCst);
        let due = Timestamp::default().after(LONG + Duration::from_millis(more));
        let mark = By::Mark(due.as_millis().unsigned_abs());
        self.ask_plainly(Kind::MoveTimer, timer.instance, mark, |it, _| {
            it.move_timer(timer, due).wait()
        });
    }

    pub(super) fn fire_timer(&mut self, in_vain: bool) {
        let Some(timer) = self.wait_or_ended(if in_vain { "work" } else { "rest" }, false) else {
            return;
        };
        let fire = |engine: &Engine, _| engine.fire_timer(timer).wait();
        self.ask_plainly(Kind::FireTimer, timer.instance, By::Instance, fire);
    }

    pub(super) fn delete(&mut self, in_vain: bool) {
        let Some(id) = self.start(if in_vain { "rest" } else { "short" }) else { return };
        self.ask_plainly(Kind::Retire, id, By::Instance, |engine, _| engine.delete(id));
    }

    pub(super) fn deploy(&mut self, in_vain: bool) {
        self.ask_deploy(in_vain);
    }

    /// Says with which number it was deployed.
    fn ask_deploy(&mut self, in_vain: bool) -> Option<u64> {
        self.ask_plainly(Kind::Adopt, InstanceId::NONE, By::Number, |engine, number| {
            engine.deploy(&[models::deployable(number, !in_vain)]).map(|_| number)
        })
    }

    pub(super) fn undeploy(&mut self, in_vain: bool) {
        let Some(number) = self.ask_deploy(false) else { return };
        let version = if in_vain { 2 } else { 1 };
        self.ask_plainly(Kind::Expect, InstanceId::NONE, By::Mark(number), |engine, _| {
            engine.undeploy(&models::spare(number), version)
        });
    }
}

/// What has the number of an ask.
fn mark(number: u64) -> Name {
    format!("x{number}").into()
}

/// The number of the ask that something has its name from; 0 where it is not from an ask.
pub(super) fn number(name: &str) -> u64 {
    name.strip_prefix('x').and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// Variables, and one that only this ask sets.
fn marked(number: u64, mut more: Assignments) -> Assignments {
    more.push((mark(number), true.into()));
    more
}
