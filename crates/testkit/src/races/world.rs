//! Three shards on a store, and the steps that they can take.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::Arc,
};

use travertine_func::Functions;
use travertine_kernel::{Command, Event, JournalEntry, Plan};
use travertine_runtime::{
    Address, Begin, Board, Definitions, Error, Given, InstanceId, Live, Opening, Shard,
    request::{
        Ask, BeginAttemptRequest, CommandRequest, DescribeRequest, EndAttemptRequest,
        FindRunRequest, PublishRequest, ReplyTo, ResumeRequest, StartRequest, SuspendRequest,
        UpdateFunctionRequest,
    },
};
use travertine_store::{
    Batch, Mail, MemoryStore, ShardId, Store,
    codec::record::{decode_letter, decode_records},
    record::{Created, Record},
};
use travertine_value::{Name, time::Timestamp};

use super::{Answer, Conditions, FOR_EVER, Request, Scenario};
use crate::clock::DAWN;

/// How many shards there are.
pub(super) const SHARDS: u16 = 3;

/// One thing that can happen next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// An actor asks for what it wants next.
    Ask(usize),
    /// An actor asks for what it wants next, but everything crashes before it hears of it.
    AskInVain(usize),
    /// The next mail from one shard to another arrives.
    Deliver(u16, u16),
    /// A shard does what is due, or what it has left to do.
    Work(u16),
    /// Time goes by until something is due.
    Wait,
    /// An attempt at an activity begins.
    Begin(Address),
    /// An attempt comes to its end.
    End(Address),
    /// Everything crashes and is opened again.
    Crash,
}

/// Three shards on a store.
pub struct World {
    store: Arc<MemoryStore>,
    board: Arc<Board>,
    definitions: Arc<Definitions>,
    functions: Arc<Functions>,
    conditions: Conditions,
    pub(super) shards: Vec<Shard>,
    now: Timestamp,
    actors: Vec<VecDeque<Request>>,
    outcome: fn(&Given) -> Result<travertine_value::Value, travertine_func::Failure>,
    pub(super) check: fn(&mut Self) -> Result<(), String>,
    /// What actors were told, in the order in which they were.
    pub answers: Vec<(Request, Answer)>,
    /// Mails on their way, by sender and receiver.
    mails: BTreeMap<(u16, u16), VecDeque<Mail>>,
    /// Jobs that a worker may begin.
    offered: BTreeSet<Address>,
    /// Attempts that are being made.
    attempts: BTreeMap<Address, Arc<Given>>,
    crashes: u32,
    /// Those that were started under an id.
    named: BTreeMap<Name, InstanceId>,
    /// All instances there ever were.
    pub instances: BTreeSet<InstanceId>,
    /// What has become true, in the order in which it was written, by instance.
    pub happened: Vec<(InstanceId, Event)>,
    /// How those ended that did, and what was written of them last.
    pub(super) endings: BTreeMap<InstanceId, String>,
    pub(super) trace: Option<Vec<String>>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("now", &self.now).finish_non_exhaustive()
    }
}

impl World {
    pub(super) fn new(scenario: &Scenario, conditions: &Conditions) -> Self {
        let mut definitions = Definitions::default();
        let functions = scenario.functions.workflows();
        let mut all: Vec<(Name, Arc<Plan>)> =
            functions.map(|it| (it.name.into(), Arc::new(Plan::function(it.name)))).collect();
        all.extend(scenario.processes.iter().cloned());
        definitions.add(&all, DAWN).expect("they can be deployed");
        let mut world = Self {
            store: Arc::new(MemoryStore::new(SHARDS)),
            board: Arc::default(),
            definitions: Arc::new(definitions),
            functions: Arc::new(scenario.functions.clone()),
            conditions: conditions.clone(),
            shards: Vec::new(),
            now: DAWN,
            actors: scenario.actors.iter().map(|it| it.iter().cloned().collect()).collect(),
            outcome: scenario.outcome,
            check: scenario.check,
            answers: Vec::new(),
            mails: BTreeMap::new(),
            offered: BTreeSet::new(),
            attempts: BTreeMap::new(),
            crashes: scenario.crashes,
            named: BTreeMap::new(),
            instances: BTreeSet::new(),
            happened: Vec::new(),
            endings: BTreeMap::new(),
            trace: None,
        };
        world.open();
        world
    }

    fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    /// Opens everything, as after a crash.
    pub(super) fn open(&mut self) {
        self.board = Arc::default();
        self.mails.clear();
        self.offered.clear();
        self.attempts.clear();
        self.shards.clear();
        for shard in (0..SHARDS).map(ShardId) {
            let opening = Opening {
                store: Arc::clone(&self.store) as Arc<dyn Store>,
                definitions: Arc::clone(&self.definitions),
                functions: Arc::clone(&self.functions),
                board: Arc::clone(&self.board),
                settings: self.conditions.settings.clone(),
                now: self.now,
            };
            let claim = self.store.take(shard, "race").expect("a store in memory does not fail");
            let opened = Shard::recover(claim, opening, &mut |_, _| {});
            self.shards.push(opened.expect("what was written can be read").0);
        }
        self.look_at_board();
    }

    /// All that can happen next.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (number, asks) in self.actors.iter().enumerate() {
            if let Some(next) = asks.front() {
                steps.push(Step::Ask(number));
                if self.crashes > 0 && next.can_be_repeated() {
                    steps.push(Step::AskInVain(number));
                }
            }
        }
        steps.extend(self.mails.keys().map(|(from, to)| Step::Deliver(*from, *to)));
        for shard in &self.shards {
            if shard.is_busy() || shard.next_due().is_some_and(|it| it <= self.now) {
                steps.push(Step::Work(shard.id().0));
            }
        }
        steps.extend(self.offered.iter().copied().map(Step::Begin));
        steps.extend(self.attempts.keys().copied().map(Step::End));
        if self.next_due().is_some() {
            steps.push(Step::Wait);
        }
        // At the end of an order everything is opened again anyway.
        if self.crashes > 0 && !steps.is_empty() {
            steps.push(Step::Crash);
        }
        steps
    }

    fn next_due(&self) -> Option<Timestamp> {
        let end = DAWN.after(FOR_EVER);
        let dues = self.shards.iter().filter_map(Shard::next_due);
        dues.filter(|it| *it > self.now && *it < end).min()
    }

    pub(super) fn take_all(&mut self, order: &[usize]) -> Result<(), String> {
        for number in order {
            let steps = self.steps();
            let step = steps.get(*number).ok_or("there is no such step")?;
            self.take(step)?;
        }
        Ok(())
    }

    /// One thing happens.
    pub(super) fn take(&mut self, step: &Step) -> Result<(), String> {
        self.say(|| format!("{step:?}"));
        match step {
            Step::Ask(actor) => self.ask(*actor, true)?,
            Step::AskInVain(actor) => {
                self.ask(*actor, false)?;
                self.crash();
            }
            Step::Deliver(from, to) => {
                let way = (*from, *to);
                let queue = self.mails.get_mut(&way).ok_or("nothing is on its way")?;
                let mail = queue.pop_front().ok_or("nothing is on its way")?;
                if queue.is_empty() {
                    self.mails.remove(&way);
                }
                self.say(|| format!("  {:?}", decode_letter(&mail.body)));
                self.shard(ShardId(*to)).receive(&mail);
                self.write(ShardId(*to))?;
            }
            Step::Work(shard) => {
                self.shard(ShardId(*shard)).work();
                self.write(ShardId(*shard))?;
            }
            Step::Wait => self.now = self.next_due().ok_or("nothing is due")?,
            Step::Begin(job) => {
                for (kind, _) in self.board.counts() {
                    for offer in self.board.take(&kind, usize::MAX, self.now) {
                        if offer.job != *job {
                            self.board.offer(&offer);
                        }
                    }
                }
                let id = ShardId::of(job.instance.0, SHARDS);
                let given = self.request(id, BeginAttemptRequest { job: *job })?;
                let given = given.map_err(|error| error.to_string())?;
                self.attempts.extend(given.map(|it| (*job, it)));
            }
            Step::End(job) => {
                let given = self.attempts.remove(job).ok_or("there is no such attempt")?;
                let outcome = (self.outcome)(&given).map_err(|it| Box::new((it, None)));
                let id = ShardId::of(job.instance.0, SHARDS);
                // Whether it could be told shows in what is written.
                let _: Result<(), Error> =
                    self.request(id, EndAttemptRequest { given, outcome })?;
            }
            Step::Crash => self.crash(),
        }
        Ok(())
    }

    fn crash(&mut self) {
        self.crashes -= 1;
        self.open();
    }

    fn shard(&mut self, id: ShardId) -> &mut Shard {
        let shard = &mut self.shards[usize::from(id.0)];
        shard.tick(self.now);
        shard
    }

    /// Writes what a shard has to write, and lets out what waited for that.
    fn write(&mut self, id: ShardId) -> Result<(), String> {
        let nth = usize::from(id.0);
        while let Some(sealed) = self.shards[nth].seal() {
            let batch = std::slice::from_ref(&sealed.batch);
            let claim = self.shards[nth].claim();
            self.store.append(&claim, batch).map_err(|error| error.to_string())?;
            self.note(&sealed.batch)?;
            for mail in sealed.release(&self.board) {
                self.mails.entry((mail.id.from.0, mail.to.0)).or_default().push_back(mail);
            }
        }
        if self.conditions.checkpoints {
            let rows = self.shards[nth].checkpoint();
            if let Some(rows) = rows {
                rows.store(&*self.store, &self.shards[nth].claim())
                    .map_err(|error| error.to_string())?;
                self.shards[nth].stored(rows.upto);
            }
        }
        self.look_at_board();
        self.shards[nth].fault().map_or(Ok(()), |it| Err(format!("shard {id} has failed: {it}")))
    }

    /// Takes note of what is durable now.
    fn note(&mut self, batch: &Batch) -> Result<(), String> {
        for entry in &batch.entries {
            let records = decode_records(&entry.body).map_err(|error| error.to_string())?;
            for record in records {
                self.say(|| format!("  {} {record:?}", entry.instance));
                match record {
                    Record::Created(Created { business_id: Some(name), .. }) => {
                        self.named.insert(name, entry.instance);
                    }
                    Record::Happened(events) => {
                        let id = entry.instance;
                        self.instances.insert(id);
                        self.happened.extend(events.into_iter().map(|it| (id, it)));
                    }
                    Record::Halted(why) => {
                        return Err(format!("instance {} is halted: {why}", entry.instance));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn look_at_board(&mut self) {
        let mut offers = Vec::new();
        for (kind, _) in self.board.counts() {
            offers.extend(self.board.take(&kind, usize::MAX, self.now));
        }
        for offer in &offers {
            self.board.offer(offer);
        }
        self.offered = offers.into_iter().map(|it| it.job).collect();
    }

    /// An actor asks; whoever is not to hear of it asks again later.
    fn ask(&mut self, actor: usize, hears: bool) -> Result<(), String> {
        let request = self.actors[actor].front().cloned().ok_or("it has nothing to ask")?;
        self.say(|| format!("  {request:?}"));
        let name = match &request {
            Request::Start { id, .. }
            | Request::Cancel(id)
            | Request::Update { id, .. }
            | Request::Suspend(id)
            | Request::Resume(id) => Name::clone(id),
            Request::Send(message) => Name::clone(&message.name),
        };
        let keeper = self.shards[0].keeper(&name);
        let answer = self.act(keeper, request.clone())?;
        let answer = answer.unwrap_or_else(|it| Answer::Refused(it.to_string()));
        self.say(|| format!("  {answer:?}"));
        if hears {
            self.actors[actor].pop_front();
            self.answers.push((request, answer));
        }
        Ok(())
    }

    /// Asks a shard, and writes what comes of it.
    fn request<A: Ask>(&mut self, id: ShardId, ask: A) -> Result<Result<A::Reply, Error>, String> {
        let (to, mut receiver) = ReplyTo::caller();
        self.shard(id).request(ask.into_request(), to);
        self.write(id)?;
        let reply = receiver.try_recv().map_err(|_| "an actor has no answer")?;
        Ok(reply.map(A::reply))
    }

    /// The run of that name, which is at the shard that keeps it.
    fn find(&mut self, keeper: ShardId, name: &Name) -> Result<Result<InstanceId, Error>, String> {
        let found = self.request(keeper, FindRunRequest { name: Name::clone(name) })?;
        // Processes have no names that are all their own.
        let known = || self.named.get(name).copied();
        Ok(found.and_then(|it| it.or_else(known).ok_or(Error::NoSuchInstance(InstanceId(0)))))
    }

    /// Does what an actor asks.
    fn act(&mut self, keeper: ShardId, request: Request) -> Result<Result<Answer, Error>, String> {
        let instance = match &request {
            Request::Start { .. } | Request::Send(_) => InstanceId(0),
            Request::Cancel(id)
            | Request::Update { id, .. }
            | Request::Suspend(id)
            | Request::Resume(id) => match self.find(keeper, id)? {
                Ok(instance) => instance,
                Err(_) if matches!(request, Request::Cancel(_)) => {
                    return Ok(Ok(Answer::Cancelled(false)));
                }
                Err(error) => return Ok(Err(error)),
            },
        };
        Ok(match request {
            Request::Start { definition, id, arguments: variables } => {
                let definition =
                    self.definitions.find(&definition).map(|it| it.key).unwrap_or_default();
                let begin =
                    Begin { definition, business_id: Some(id), variables, ..Begin::default() };
                let started = self.request(keeper, StartRequest { begin })?;
                started.map(|(id, known)| Answer::Started(id, known))
            }
            Request::Send(message) => {
                self.request(keeper, PublishRequest { message })?.map(Answer::Sent)
            }
            Request::Cancel(_) => match self.request(keeper, DescribeRequest { instance })? {
                Err(error) => Err(error),
                Ok(found) if found.has_ended => Ok(Answer::Cancelled(false)),
                Ok(_) => {
                    let cancel = CommandRequest { instance, command: Command::Cancel };
                    self.request(keeper, cancel)?.map(|()| Answer::Cancelled(true))
                }
            },
            Request::Update { name, input, sent_as, .. } => {
                let update = UpdateFunctionRequest { instance, name, input, id: sent_as };
                self.request(keeper, update)?.map(Answer::Updated)
            }
            Request::Suspend(_) => {
                self.request(keeper, SuspendRequest { instance })?.map(|()| Answer::Done)
            }
            Request::Resume(_) => {
                self.request(keeper, ResumeRequest { instance })?.map(|()| Answer::Done)
            }
        })
    }

    /// All that what happens next depends on.
    pub(super) fn fingerprint(&mut self) -> Result<u64, String> {
        let mut hasher = DefaultHasher::new();
        for line in self.inventory()?.into_iter().flatten() {
            // Where it stands in the log makes no difference.
            line.split(", last entry").next().hash(&mut hasher);
        }
        for (way, queue) in &self.mails {
            way.hash(&mut hasher);
            for mail in queue {
                mail.body.hash(&mut hasher);
            }
        }
        for (job, given) in &self.attempts {
            (job.instance.0, job.wait.0, given.number, given.is_off()).hash(&mut hasher);
        }
        for job in &self.offered {
            (job.instance.0, job.wait.0).hash(&mut hasher);
        }
        for actor in &self.actors {
            actor.len().hash(&mut hasher);
        }
        let mut answers: Vec<String> = self.answers.iter().map(|it| format!("{it:?}")).collect();
        answers.sort();
        answers.hash(&mut hasher);
        self.received().hash(&mut hasher);
        (self.now.as_millis(), self.crashes).hash(&mut hasher);
        Ok(hasher.finish())
    }

    pub(super) fn inventory(&mut self) -> Result<Vec<Vec<String>>, String> {
        let mut all = Vec::new();
        for shard in &mut self.shards {
            let own = |it: &&InstanceId| ShardId::of(it.0, SHARDS) == shard.id();
            let ids: Vec<InstanceId> = self.instances.iter().filter(own).copied().collect();
            all.push(shard.inventory(&ids).map_err(|error| error.to_string())?);
        }
        Ok(all)
    }

    /// How often an instance has received an event, by its `mark`.
    pub(super) fn received(&self) -> BTreeMap<(String, u64), u32> {
        let mut received = BTreeMap::new();
        for (id, event) in &self.happened {
            let brought = match event {
                Event::Journaled { entry } => match &**entry {
                    JournalEntry::Done { outcome: Ok(brought), .. } => brought,
                    _ => continue,
                },
                _ => continue,
            };
            let mark = brought.iter().find(|(name, _)| &**name == "mark");
            if let Some(mark) = mark.and_then(|(_, it)| it.as_str()) {
                *received.entry((mark.to_owned(), id.0)).or_default() += 1;
            }
        }
        received
    }

    /// An instance as it is now.
    pub fn look(&mut self, id: InstanceId) -> Result<&Live, String> {
        let shard = &mut self.shards[usize::from(ShardId::of(id.0, SHARDS).0)];
        shard.look(id).map_err(|error| error.to_string())
    }

    /// The run of that id.
    pub fn run(&mut self, id: &str) -> Result<&Live, String> {
        let keeper = self.shards[0].keeper(id);
        let found = self.request(keeper, FindRunRequest { name: id.into() })?;
        let found = found.map_err(|error| error.to_string())?;
        self.look(found.ok_or_else(|| format!("there is no {id}"))?)
    }

    /// What an actor was told who asked for such a thing, where anyone did and heard.
    pub fn answer(&self, is_it: impl Fn(&Request) -> bool) -> Option<&Answer> {
        self.answers.iter().find(|(it, _)| is_it(it)).map(|(_, answer)| answer)
    }
}
