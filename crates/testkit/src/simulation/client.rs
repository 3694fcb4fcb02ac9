//! Those who ask: clients, workers, people and operators. They remember what they were told.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use travertine_kernel::{
    Assignments, Command, Destination, Mapping, Modification, NodeId, Reach, TokenId, WaitFor,
    Which, plan::WorkKind,
};
use travertine_runtime::{
    Address, Begin, Consume, Delivery, Edit, Error, InstanceId, Lease, Live, Message, Receipt,
    TaskChange,
    request::{
        Ask, ChangeTaskRequest, ClaimTaskRequest, CommandRequest, CompleteRequest, DiscardRequest,
        ExtendRequest, FinishJobRequest, FireTimerRequest, LeaseRequest, MigrateRequest,
        MoveTimerRequest, Needs, Outcome, PublishRequest, PutBackRequest, Relay, ReplayRequest,
        Reply, ReplyTo, ResumeRequest, RetryRequest, SignalRequest, StartRequest, SuspendRequest,
    },
};
use travertine_store::ShardId;
use travertine_value::{Name, Value};

use super::{journal::Journal, models, world::World};

/// What clients have asked, and what they were told.
#[derive(Debug, Default)]
pub(super) struct Clients {
    asked: Vec<(u16, Asked)>,
    /// Those without an answer.
    open: BTreeSet<usize>,
    answers: Answers,
    names: BTreeMap<(String, String), InstanceId>,
    acknowledged: BTreeMap<(u64, &'static str), u32>,
    pub(super) messages: Vec<Sent>,
    /// Jobs that workers have, and whether the worker lives in the engine's process.
    pub(super) hands: Vec<(Address, bool)>,
    /// Jobs whose outcome workers of the process tell, by the number of the request.
    finishing: BTreeMap<usize, Address>,
    /// Jobs whose outcome could not be heard.
    unheard: Vec<Address>,
    /// Variables that were not set, as whoever asked was told.
    refused: BTreeSet<String>,
    values: u64,
    pub(super) acknowledgements: u64,
}

/// What came back, by the number of the request.
type Answers = Arc<Mutex<Vec<(usize, Result<Answer, Error>)>>>;

/// A message that was sent, perhaps several times.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) message: Message,
    /// What its sender was told first.
    pub(super) receipt: Option<Receipt>,
}

/// What someone asked, as far as the answer promises something.
#[derive(Clone, Debug)]
enum Asked {
    Start(String, Option<String>),
    /// A wait is over then.
    Close(Address),
    /// A variable of that name is set then.
    Set(String),
    /// There is one more record of that kind.
    Record(InstanceId, &'static str),
    /// The instance has ended then.
    End(InstanceId),
    Publish(usize),
    /// Whether for a worker in the process.
    Lease(Address, bool),
    Other,
}

#[derive(Clone, Debug)]
enum Answer {
    Done,
    Started(InstanceId),
    Receipt(Receipt),
    /// Whether there was a job.
    Leased(bool),
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Start((id, _)) => Self::Started(id),
            Reply::Publish(receipt) | Reply::Replay(receipt) => Self::Receipt(receipt),
            Reply::Lease(given) => Self::Leased(given.is_some()),
            _ => Self::Done,
        }
    }
}

/// Takes note of an answer.
#[derive(Debug)]
struct Told {
    number: usize,
    answers: Answers,
}

impl Relay for Told {
    fn relay(self: Box<Self>, reply: Result<Reply, Error>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push((self.number, reply.map(Answer::from)));
    }
}

impl Clients {
    /// The variable that tells that a message was received.
    pub(super) fn mark(message: usize) -> String {
        format!("m{message}")
    }

    /// What was asked of these shards will not be answered any more.
    pub(super) fn lost(&mut self, gone: impl Fn(u16) -> bool, shards: u16) {
        let asked = &self.asked;
        self.open.retain(|it| !gone(asked[*it].0));
        self.hands
            .retain(|(job, process)| !process || !gone(ShardId::of(job.instance.0, shards).0));
        self.finishing.retain(|number, _| !gone(asked[*number].0));
        self.unheard.retain(|job| !gone(ShardId::of(job.instance.0, shards).0));
    }

    /// Whether what was acknowledged is durable.
    pub(super) fn check(&mut self, journal: &Journal) -> Result<(), String> {
        let answers =
            std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner));
        for (number, answer) in answers {
            if !self.open.remove(&number) {
                return Err(format!("request {number} was answered although its owner is gone"));
            }
            self.acknowledgements += 1;
            let job = self.finishing.remove(&number);
            if !matches!(answer, Ok(_) | Err(Error::Rejected(_))) {
                self.unheard.extend(job);
            }
            if let (Err(Error::Unavailable { .. }), Asked::Set(name)) =
                (&answer, &self.asked[number].1)
            {
                self.refused.insert(name.clone());
            }
            let Ok(answer) = answer else { continue };
            let asked = self.asked[number].1.clone();
            self.believe(&asked, &answer, journal)
                .map_err(|what| format!("{what}, but {asked:?} was acknowledged: {answer:?}"))?;
        }
        if let Some(name) = self.refused.iter().find(|it| journal.is_set(it)) {
            return Err(format!("{name} was set, although who asked was told that it was not"));
        }
        for number in 0..self.messages.len() {
            let mark = Self::mark(number);
            let times = journal.received(&mark);
            match self.messages[number].message.consume {
                Consume::One if times > 1 => {
                    return Err(format!("message {number} was received {times} times"));
                }
                Consume::All if journal.has_come_again(&mark) => {
                    return Err(format!("message {number} has come to an instance again"));
                }
                Consume::One | Consume::All => {}
            }
        }
        Ok(())
    }

    fn believe(&mut self, asked: &Asked, answer: &Answer, journal: &Journal) -> Result<(), String> {
        match (asked, answer) {
            (Asked::Start(definition, name), Answer::Started(id)) => {
                if !journal.created.contains_key(&id.0) {
                    return Err("there is no such instance".to_owned());
                }
                if let Some(name) = name {
                    let key = (definition.clone(), name.clone());
                    let known = *self.names.entry(key).or_insert(*id);
                    if known != *id {
                        return Err(format!("it was instance {known} before"));
                    }
                }
            }
            (Asked::Close(at), _) if !journal.is_closed(at.instance.0, at.wait.0) => {
                return Err("the wait is still open".to_owned());
            }
            (Asked::Set(name), _) if !journal.is_set(name) => {
                return Err("it was never set".to_owned());
            }
            (Asked::Record(instance, what), _) => {
                let key = (instance.0, *what);
                let count = self.acknowledged.entry(key).or_default();
                *count += 1;
                if journal.counted(instance.0, what) < *count {
                    return Err("the log has fewer".to_owned());
                }
            }
            (Asked::End(id), _)
                if !journal.ended.contains(&id.0) && !journal.cancelled.contains(&id.0) =>
            {
                return Err("the instance goes on".to_owned());
            }
            (Asked::Publish(number), Answer::Receipt(receipt)) => {
                let sent = &mut self.messages[*number];
                // What nobody has received may be sent again.
                let may_be_lost = sent.receipt == Some(Receipt::Dropped)
                    || sent.message.delivery == Delivery::AfterWait;
                if let (Some(_), false, false) =
                    (sent.receipt, *receipt == Receipt::Known, may_be_lost)
                {
                    return Err("it was acknowledged before and is not recognised".to_owned());
                }
                sent.receipt.get_or_insert(*receipt);
                if let Receipt::Started(id) = receipt
                    && !journal.created.contains_key(&id.0)
                {
                    return Err("there is no such instance".to_owned());
                }
            }
            (Asked::Lease(job, process), Answer::Leased(true)) => {
                self.hands.push((*job, *process));
            }
            _ => {}
        }
        Ok(())
    }

    /// A variable that nobody else sets.
    fn value(&mut self) -> (String, Assignments) {
        self.values += 1;
        let name = format!("v{}", self.values);
        (name.clone(), vec![(name.as_str().into(), 1.into())])
    }
}

impl World {
    /// Someone asks for something.
    pub(super) fn request(&mut self) {
        self.put_back();
        match self.random.below(100) {
            0..18 => self.start(),
            18..32 => self.publish(),
            32..38 => self.signal(),
            38..54 => self.take_job(),
            54..70 => self.do_job(),
            70..82 => self.do_task(),
            82..86 => self.stop_and_go(),
            86..88 => self.operate(Operation::Cancel),
            88..91 => self.operate(Operation::Set),
            91..93 => self.operate(Operation::Retry),
            93..96 => self.operate(Operation::Timer),
            96 => self.operate(Operation::Migrate),
            97 => self.operate(Operation::Modify),
            _ => self.operate(Operation::Retries),
        }
    }

    fn ask(&mut self, shard: ShardId, asked: Asked, ask: impl Ask) -> usize {
        let seat = usize::from(shard.0);
        if !self.is_lost(seat) {
            if self.seats[seat].shard.is_full() {
                self.seal(seat);
            }
            self.tick(seat);
        }
        self.figures.requests += 1;
        let number = self.clients.asked.len();
        self.say(|| format!("request {number} to shard {shard}: {asked:?}"));
        self.clients.asked.push((shard.0, asked));
        if self.is_lost(seat) {
            self.say(|| format!("request {number} is refused"));
            return number;
        }
        self.clients.open.insert(number);
        let told = Told { number, answers: Arc::clone(&self.clients.answers) };
        let to = ReplyTo::Relay(Box::new(told));
        let (shard, request) = (&mut self.seats[seat].shard, ask.into_request());
        // Whether it is read beforehand makes no difference.
        if number.is_multiple_of(3) {
            let mut needs = Needs::default();
            needs.note_request(&request);
            // What cannot be read now is asked for again when it is needed.
            drop(shard.fetch(needs));
        }
        shard.request(request, to);
        shard.forget_fetched();
        number
    }

    fn ask_at(&mut self, instance: InstanceId, asked: Asked, ask: impl Ask) -> usize {
        self.ask(ShardId::of(instance.0, self.shards()), asked, ask)
    }

    fn start(&mut self) {
        let id = models::startable(&mut self.random);
        // There are few names, so that some are used again.
        let name = self.random.percent(50).then(|| format!("b{}", self.random.below(30)));
        let shard = match &name {
            Some(name) => self.seats[0].shard.keeper(name),
            None => ShardId(u16::try_from(self.random.position(self.seats.len())).expect("few")),
        };
        let order = i64::try_from(self.random.below(3)).expect("it is small");
        let variables = vec![("order".into(), Value::from(order)), ("ok".into(), false.into())];
        let latest = self.definitions.find(&id).expect("it is deployed").key;
        let definition = if id == "order" { self.older } else { latest };
        let business_id = name.as_deref().map(Name::from);
        let begin = Begin { definition, business_id, variables, ..Begin::default() };
        let asked = Asked::Start(id, name);
        self.ask(shard, asked, StartRequest { begin });
    }

    /// Someone sends a dead letter again, or drops it. Says whether there was one.
    fn bring_back(&mut self) -> bool {
        let dead = self.seats.iter().flat_map(|it| it.shard.dead_letters());
        let dead: Vec<u64> = dead.map(|it| it.number).collect();
        let Some(number) = self.random.pick(&dead).copied() else { return false };
        let shard = ShardId::of(number, self.shards());
        if self.random.percent(80) {
            self.ask(shard, Asked::Other, ReplayRequest { dead_letter: number });
        } else {
            self.ask(shard, Asked::Other, DiscardRequest { dead_letter: number });
        }
        true
    }

    /// Sends a message, or one again that may not have arrived.
    fn publish(&mut self) {
        if self.random.percent(10) && self.bring_back() {
            return;
        }
        let again = self.random.percent(25);
        let old: Vec<usize> = (0..self.clients.messages.len())
            .filter(|it| {
                let Message { id, ttl, .. } = &self.clients.messages[*it].message;
                id.is_some() && ttl.is_none()
            })
            .collect();
        let number = match self.random.pick(&old) {
            Some(number) if again => *number,
            _ => {
                let number = self.clients.messages.len();
                let name = models::MESSAGES[self.random.position(models::MESSAGES.len())];
                let mut message = Message::new(name);
                if name == "paid" && self.random.percent(80) {
                    let order = i64::try_from(self.random.below(3)).expect("it is small");
                    message.correlation = vec![("order".into(), order.into())];
                }
                message.variables = vec![(Clients::mark(number).as_str().into(), 1.into())];
                message.id = self.random.percent(70).then(|| format!("id{number}").into());
                message.ttl = self
                    .random
                    .percent(30)
                    .then(|| Duration::from_millis(self.random.below(1_200_000)));
                if self.random.percent(30) {
                    message.consume = Consume::All;
                }
                message.delivery = match self.random.below(10) {
                    0..2 => Delivery::AfterCreate,
                    2 => Delivery::AfterWait,
                    _ => Delivery::All,
                };
                self.clients.messages.push(Sent { message, receipt: None });
                number
            }
        };
        let message = self.clients.messages[number].message.clone();
        let keeper = self.seats[0].shard.keeper(&message.name);
        self.ask(keeper, Asked::Publish(number), PublishRequest { message });
    }

    fn signal(&mut self) {
        let mut names: Vec<Name> = models::SIGNALS.iter().map(|it| Name::from(*it)).collect();
        // Those of random processes.
        if let Some(id) = self.any_instance() {
            for (_, on) in self.waits(id) {
                if let WaitFor::Signal { name } = &*on {
                    names.push(Name::clone(name));
                }
            }
        }
        let name = Name::clone(&names[self.random.position(names.len())]);
        let keeper = self.seats[0].shard.keeper(&name);
        self.ask(keeper, Asked::Other, SignalRequest { name, variables: Vec::new() });
    }

    fn take_job(&mut self) {
        let types = self.board.counts();
        let Some((job_type, _)) = self.random.pick(&types).cloned() else { return };
        for offer in self.board.take(&job_type, 1, self.now) {
            let process = self.random.percent(30);
            let lease = if process {
                Lease::Process
            } else {
                let span = Duration::from_millis(1 + self.random.below(900_000));
                let until = self.now.after(span);
                Lease::Until { worker: "w".into(), until }
            };
            let job = offer.job;
            let lease = LeaseRequest { job, lease, names: Vec::new() };
            self.ask_at(job.instance, Asked::Lease(job, process), lease);
        }
    }

    fn do_job(&mut self) {
        if self.clients.hands.is_empty() {
            return;
        }
        let nth = self.random.position(self.clients.hands.len());
        let (job, process) = self.clients.hands.swap_remove(nth);
        let (_, variables) = self.clients.value();
        match self.random.below(20) {
            0..10 => {
                self.finish_job(job, process, Asked::Close(job), Outcome::Done(variables));
            }
            10..14 => {
                let backoff = Duration::from_mins(self.random.below(3));
                let failed = Outcome::Failed { message: "no".to_owned(), backoff };
                self.finish_job(job, process, Asked::Other, failed);
            }
            14..16 => {
                let (code, message) = ("BAD".to_owned(), "bad".to_owned());
                let raised = Outcome::Error { code, message, variables };
                self.finish_job(job, process, Asked::Other, raised);
            }
            _ if process => {
                self.ask_at(job.instance, Asked::Other, PutBackRequest { job });
            }
            16..18 => {
                let until = self.now.after(Duration::from_secs(1_000));
                let asked = Asked::Record(job.instance, "leased");
                self.ask_at(job.instance, asked, ExtendRequest { job, until });
                self.clients.hands.push((job, process));
            }
            // The worker dies.
            _ => {}
        }
    }

    fn finish_job(&mut self, job: Address, process: bool, asked: Asked, outcome: Outcome) {
        let number = self.ask_at(job.instance, asked, FinishJobRequest { job, outcome });
        if process {
            self.clients.finishing.insert(number, job);
        }
    }

    /// Workers of the process put up again what they could not tell of.
    fn put_back(&mut self) {
        for job in std::mem::take(&mut self.clients.unheard) {
            self.ask_at(job.instance, Asked::Other, PutBackRequest { job });
        }
    }

    /// Someone does, takes or changes a user task, or decides at a gate.
    fn do_task(&mut self) {
        let Some(id) = self.any_instance() else { return };
        let waits: Vec<(Address, bool)> = self
            .waits(id)
            .into_iter()
            .filter_map(|(at, on)| match &*on {
                WaitFor::Work(work) if work.kind == WorkKind::User => Some((at, true)),
                WaitFor::Gate(_) | WaitFor::Choice => Some((at, false)),
                _ => None,
            })
            .collect();
        let Some((task, is_task)) = self.random.pick(&waits).copied() else { return };
        let who = Name::from(["ann", "bob"][self.random.position(2)]);
        match self.random.below(10) {
            0..2 if is_task => {
                self.ask_at(id, Asked::Record(id, "changed"), ClaimTaskRequest { task, who });
            }
            2..4 if is_task => {
                let change = TaskChange {
                    assignee: if self.random.percent(50) { Edit::Set(who) } else { Edit::Remove },
                    ..TaskChange::default()
                };
                let change = ChangeTaskRequest { task, change: Box::new(change) };
                self.ask_at(id, Asked::Record(id, "changed"), change);
            }
            _ => {
                let (_, variables) = self.clients.value();
                self.ask_at(id, Asked::Close(task), CompleteRequest { to: task, variables });
            }
        }
    }

    fn stop_and_go(&mut self) {
        let Some(id) = self.any_instance() else { return };
        let suspended = self.seat_of(id).shard.look(id).is_ok_and(|it| it.suspended);
        if suspended {
            self.ask_at(id, Asked::Record(id, "resumed"), ResumeRequest { instance: id });
        } else {
            self.ask_at(id, Asked::Record(id, "suspended"), SuspendRequest { instance: id });
        }
    }

    fn operate(&mut self, operation: Operation) {
        let Some(id) = self.any_instance() else { return };
        let (name, mut variables) = self.clients.value();
        match operation {
            Operation::Cancel => {
                self.command(id, Asked::End(id), Command::Cancel);
            }
            Operation::Set => {
                variables.push(("ok".into(), true.into()));
                let set = Command::Set { token: None, variables, reach: Reach::Layer };
                self.command(id, Asked::Set(name), set);
            }
            Operation::Retry => {
                self.ask_at(id, Asked::Other, RetryRequest { instance: id, token: None });
            }
            Operation::Retries => {
                let jobs: Vec<Address> = self
                    .waits(id)
                    .into_iter()
                    .filter(|(_, on)| matches!(**on, WaitFor::Work(_)))
                    .map(|(at, _)| at)
                    .collect();
                let Some(job) = self.random.pick(&jobs).copied() else { return };
                let set = Command::SetRetries { wait: job.wait, retries: 2 };
                self.command(id, Asked::Other, set);
            }
            Operation::Timer => {
                let timers: Vec<Address> = self
                    .waits(id)
                    .into_iter()
                    .filter(|(_, on)| matches!(**on, WaitFor::Timer { .. }))
                    .map(|(at, _)| at)
                    .collect();
                let Some(timer) = self.random.pick(&timers).copied() else { return };
                if self.random.percent(30) {
                    self.ask_at(id, Asked::Close(timer), FireTimerRequest { timer });
                } else {
                    let span = Duration::from_millis(self.random.below(7_200_000));
                    let due = self.now.after(span);
                    let asked = Asked::Record(id, "moved");
                    self.ask_at(id, asked, MoveTimerRequest { timer, due });
                }
            }
            Operation::Migrate => {
                let older = self.older;
                let is_older = |it: &&Live| it.definition.key == older && !it.has_ended();
                let all = self.seats.iter().flat_map(|it| it.shard.in_memory());
                let all: Vec<InstanceId> = all.filter(is_older).map(|it| it.id).collect();
                let Some(id) = self.random.pick(&all).copied() else { return };
                let to = self.definitions.find("order").expect("it is deployed").key;
                let mapping: Mapping = [("ship".into(), "deliver".into())].into_iter().collect();
                let migrate = MigrateRequest { instance: id, to, mapping };
                self.ask_at(id, Asked::Record(id, "migrated"), migrate);
            }
            Operation::Modify => {
                let Some(step) = self.modification(id) else { return };
                let modify = Command::Modify { steps: vec![step] };
                self.command(id, Asked::Other, modify);
            }
        }
    }

    fn command(&mut self, instance: InstanceId, asked: Asked, command: Command) {
        self.ask_at(instance, asked, CommandRequest { instance, command });
    }

    fn modification(&mut self, id: InstanceId) -> Option<Modification> {
        let (tokens, nodes) = {
            let live = self.seat_of(id).shard.look(id).ok()?;
            let tokens: Vec<TokenId> = live.state.tokens.keys().copied().collect();
            (tokens, live.plan().nodes.len())
        };
        let token = *self.random.pick(&tokens)?;
        let node = NodeId(u32::try_from(self.random.position(nodes)).expect("plans are small"));
        let to = Destination::before(node);
        Some(match self.random.below(3) {
            0 => Modification::Withdraw(Which::Token(token)),
            1 => Modification::Add { to, scope: None },
            _ => Modification::Move { which: Which::Token(token), to },
        })
    }

    /// An instance that someone could know of, and that may still run.
    fn any_instance(&mut self) -> Option<InstanceId> {
        let ended = &self.journal.ended;
        let ids: Vec<u64> =
            self.journal.created.keys().copied().filter(|it| !ended.contains(it)).collect();
        self.random.pick(&ids).map(|it| InstanceId(*it))
    }

    fn waits(&mut self, id: InstanceId) -> Vec<(Address, Arc<WaitFor>)> {
        let Ok(live) = self.seat_of(id).shard.look(id) else { return Vec::new() };
        let waits = live.state.waits.iter();
        waits
            .map(|(wait, it)| (Address { instance: id, wait: *wait }, Arc::clone(&it.on)))
            .collect()
    }

    /// Whoever has a job in the process puts it back, and what stands still goes on.
    pub(super) fn let_go(&mut self) {
        let hands = std::mem::take(&mut self.clients.hands);
        for (job, _) in hands.into_iter().filter(|(_, process)| *process) {
            self.ask_at(job.instance, Asked::Other, PutBackRequest { job });
        }
        self.put_back();
        let ended = self.journal.ended.clone();
        let ids: Vec<u64> = self.journal.created.keys().copied().collect();
        for id in ids.into_iter().filter(|it| !ended.contains(it)).map(InstanceId) {
            if self.seat_of(id).shard.look(id).is_ok_and(|it| it.suspended) {
                self.ask_at(id, Asked::Record(id, "resumed"), ResumeRequest { instance: id });
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Operation {
    Cancel,
    Set,
    Retry,
    Retries,
    Timer,
    Modify,
    Migrate,
}
