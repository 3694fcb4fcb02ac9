//! A world in memory, with a clock that moves only when told.
//!
//! Everything asked of it is carried through until all instances rest: nothing is left that could go
//! on without someone outside. What is to be done stands in one queue, so the order never depends on
//! anything but the order of what was asked.

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use travertine_kernel::{Assignments, Command, Effect, Event, Instance, Plan, Reach, TokenId};
use travertine_store::{MemoryStore, ShardId, Store, view::Table};
use travertine_value::Name;

use crate::{
    Address, At, Begin, Board, DecisionDefinition, DecisionModel, Definition, Definitions, Error,
    InstanceId, JobFailure, Live, Message, Opening, Receipt, Seen, Settings, Shard, SignalReceipt,
    Timestamp,
    request::{
        Ask, CommandRequest, CompleteRequest, EvaluateConditionsRequest, FailRequest,
        PublishRequest, ReplyTo, SignalRequest, StartRequest,
    },
};

/// How many events one request may cause, where nobody says otherwise.
const EVENTS_MAX: u64 = 10_000_000;

/// How many bytes may tell of them: all of that stays in memory, and the instances beside it.
const BYTES_MAX: u64 = 256 << 20;

/// What an entry or a letter takes besides what it says, with its share of an instance.
const ENTRY_BYTES: u64 = 512;

/// A world in memory, with a clock that moves only when told.
#[derive(Debug)]
pub struct Sandbox {
    store: Arc<dyn Store>,
    settings: Settings,
    definitions: Definitions,
    shard: Shard,
    events_max: u64,
    bytes_max: u64,
    /// How many bytes the request at hand has written.
    written: u64,
    restless: Option<Restless>,
}

/// Who is told of what does not come to rest, after how many events.
struct Restless {
    after: u64,
    tell: Box<dyn FnMut(u64, u64) + Send>,
}

impl fmt::Debug for Restless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Restless")
    }
}

/// One accepted command and what came of it, for those who look on.
#[derive(Clone, Copy, Debug)]
pub struct Turned<'a> {
    /// When.
    pub now: Timestamp,
    /// To which instance.
    pub instance: InstanceId,
    /// What it runs.
    pub definition: &'a Definition,
    /// What was asked of it.
    pub command: &'a Command,
    /// What happened.
    pub events: &'a [Event],
    /// What it asks for.
    pub effects: &'a [Effect],
    /// How it is now.
    pub state: &'a Instance,
}

/// What to start, and how.
#[derive(Clone, Debug, Default)]
pub struct Start<'a> {
    /// The id of the definition.
    pub definition: &'a str,
    /// The id of the start event that counts as triggered; the plain start where none is named.
    pub at: Option<&'a str>,
    /// What people call the instance.
    pub business_id: Option<Name>,
    /// What it begins with.
    pub variables: Assignments,
}

impl<'a> Start<'a> {
    /// A plain start without variables.
    pub fn of(definition: &'a str) -> Self {
        Self { definition, ..Self::default() }
    }

    /// Begins with these variables.
    #[must_use]
    pub fn with(self, variables: Assignments) -> Self {
        Self { variables, ..self }
    }
}

impl Sandbox {
    /// An empty world at that time.
    pub fn new(now: Timestamp) -> Self {
        // Nobody lists dead letters here, and its time should not have to pass for them.
        let settings = Settings {
            turns_max: u32::MAX,
            dead_for: Duration::ZERO,
            keeps_ended: true,
            ..Settings::default()
        };
        let world = Self::on(Arc::new(MemoryStore::new(1)), settings, now);
        world.expect("a new store in memory can be read")
    }

    /// An empty world at that time, on an empty store with one shard.
    pub fn on(store: Arc<dyn Store>, settings: Settings, now: Timestamp) -> Result<Self, Error> {
        let definitions = Definitions::default();
        let shard = open(&store, &definitions, &settings, now)?;
        Ok(Self {
            store,
            settings,
            definitions,
            shard,
            events_max: EVENTS_MAX,
            bytes_max: BYTES_MAX,
            written: 0,
            restless: None,
        })
    }

    /// Sets how many events one request may cause before it is given up as one that never rests.
    pub fn limit_events(&mut self, events_max: u64) {
        self.events_max = events_max;
    }

    /// Sets how many bytes may tell of what one request causes before it is given up.
    pub fn limit_bytes(&mut self, bytes_max: u64) {
        self.bytes_max = bytes_max;
    }

    /// How many bytes tell of what the last request has caused, with the starts that it had to wait for.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Has `tell` called once where one request has caused so many events and does not come to rest: with how many
    /// there are, and at how many it is given up.
    pub fn when_restless(&mut self, after: u64, tell: impl FnMut(u64, u64) + Send + 'static) {
        self.restless = Some(Restless { after, tell: Box::new(tell) });
    }

    /// Has `look` called after each accepted command.
    pub fn observe(&mut self, mut look: impl FnMut(Turned<'_>) + Send + 'static) {
        self.shard.observe(move |Seen { now, live, command, events, effects }| {
            let (instance, definition, state) = (live.id, &*live.definition, &live.state);
            look(Turned { now, instance, definition, command, events, effects, state });
        });
    }

    /// Adds a version of each definition. Only the latest version of a definition is started by
    /// messages, signals, times and conditions.
    pub fn deploy(&mut self, all: &[(Name, Arc<Plan>)]) -> Result<Vec<Arc<Definition>>, Error> {
        let added = self.definitions.add(all, self.now())?;
        self.shard.adopt(&Arc::new(self.definitions.clone()));
        self.settle()?;
        Ok(added)
    }

    /// Adds a version of each decision that has changed.
    pub fn deploy_decisions(
        &mut self,
        models: &[Arc<DecisionModel>],
    ) -> Result<Vec<Arc<DecisionDefinition>>, Error> {
        let all = self.definitions.add_decisions(models);
        self.shard.adopt(&Arc::new(self.definitions.clone()));
        self.settle()?;
        Ok(all)
    }

    /// Starts an instance of the latest version: at its plain start, or as if the start event that
    /// `start` names had been triggered.
    pub fn start(&mut self, start: Start<'_>) -> Result<InstanceId, Error> {
        let Some(definition) = self.definitions.find(start.definition) else {
            return Err(Error::no_such_definition(start.definition));
        };
        let begin = Begin {
            definition: definition.key,
            business_id: start.business_id,
            at: start.at.map_or(At::Start, |it| At::Elements(vec![it.into()])),
            variables: start.variables,
            ..Begin::default()
        };
        self.ask(StartRequest { begin }).map(|(id, _)| id)
    }

    /// What a token waits for has happened: work is done, a decision is made.
    pub fn complete(&mut self, to: Address, variables: Assignments) -> Result<(), Error> {
        self.ask(CompleteRequest { to, variables })
    }

    /// The work that a token waits for has raised an error for the model to catch.
    pub fn raise(
        &mut self,
        to: Address,
        code: &str,
        message: &str,
        variables: Assignments,
    ) -> Result<(), Error> {
        let (code, message) = (Some(code.into()), message.to_owned());
        self.tell(to.instance, Command::Raise { wait: to.wait, code, message, variables })
    }

    /// The work that a token waits for has raised an escalation, and may go on.
    pub fn escalate(
        &mut self,
        to: Address,
        code: &str,
        variables: Assignments,
    ) -> Result<(), Error> {
        let code = Some(code.into());
        self.tell(to.instance, Command::Escalate { wait: to.wait, code, variables })
    }

    /// The work that a token waits for has failed for a technical reason. At no retries left it
    /// becomes an incident.
    pub fn fail(&mut self, to: Address, retries: u32, message: &str) -> Result<(), Error> {
        let failure = JobFailure { retries: Some(retries), ..JobFailure::new(message) };
        self.ask(FailRequest { job: to, failure: Box::new(failure), kind: None })
    }

    /// Sets variables of the process, or in the layer of one of its tokens.
    pub fn set_variables(
        &mut self,
        instance: InstanceId,
        token: Option<TokenId>,
        variables: Assignments,
    ) -> Result<(), Error> {
        self.tell(instance, Command::Set { token, variables, reach: Reach::Layer })
    }

    /// Tries again what ended in an incident.
    pub fn retry(&mut self, instance: InstanceId, token: TokenId) -> Result<(), Error> {
        self.tell(instance, Command::Retry { token })
    }

    /// Ends the instance and all that it has called.
    pub fn cancel(&mut self, instance: InstanceId) -> Result<(), Error> {
        self.tell(instance, Command::Cancel)
    }

    /// Sends a message to one receiver: who has waited longest, else a start event, else whoever
    /// comes to wait for it before it expires.
    pub fn publish(&mut self, message: Message) -> Result<Receipt, Error> {
        self.ask(PublishRequest { message })
    }

    /// Sends a signal to all that wait for it now, and to the start events it triggers.
    pub fn signal(&mut self, name: &str, variables: &Assignments) -> Result<SignalReceipt, Error> {
        self.ask(SignalRequest { name: name.into(), variables: variables.clone() })
    }

    /// Offers variables to the conditional start events. Answers with what they started.
    pub fn evaluate_conditions(
        &mut self,
        variables: &Assignments,
    ) -> Result<Vec<InstanceId>, Error> {
        self.ask(EvaluateConditionsRequest { variables: variables.clone() })
    }

    /// Moves the clock to `to`. What falls due on the way happens in its order, each at its time.
    pub fn advance(&mut self, to: Timestamp) -> Result<(), Error> {
        if to < self.now() {
            return Err(Error::Backwards { now: self.now() });
        }
        self.written = 0;
        while let Some(due) = self.shard.next_due().filter(|it| *it <= to) {
            self.shard.tick(due);
            self.settle()?;
        }
        self.shard.tick(to);
        self.settle()
    }

    /// Moves the clock by so much.
    pub fn advance_by(&mut self, span: Duration) -> Result<(), Error> {
        self.advance(self.now().after(span))
    }

    /// Forgets everything and reads it again, as after a crash.
    pub fn restart(&mut self) -> Result<(), Error> {
        let hook = self.shard.take_hook();
        self.shard = open(&self.store, &self.definitions, &self.settings, self.now())?;
        self.shard.set_hook(hook);
        self.load_all()?;
        self.settle()
    }

    /// Brings the views up to date. A restart after that reads them instead of the log.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        if let Some(checkpoint) = self.shard.checkpoint() {
            checkpoint.store(&*self.store, &self.shard.claim())?;
            self.shard.stored(checkpoint.upto);
        }
        self.load_all()
    }

    /// Has all instances in memory, where people look for them.
    fn load_all(&mut self) -> Result<(), Error> {
        let mut stored = Vec::new();
        self.store.scan(self.shard.id(), Table::Instances, &mut |row| {
            stored.push(InstanceId(row.key().instance));
            Ok(())
        })?;
        stored.into_iter().try_for_each(|id| self.shard.look(id).map(drop))
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.shard.now()
    }

    /// When the next timer is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.shard.next_due()
    }

    /// What is deployed.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// All instances there have been, oldest first.
    pub fn instances(&self) -> impl Iterator<Item = &Live> {
        self.shard.in_memory().into_iter()
    }

    /// The instance of that id.
    pub fn instance(&self, id: InstanceId) -> Option<&Live> {
        self.shard.in_memory_at(id)
    }

    /// The messages that are held, oldest first.
    pub fn held(&self) -> impl Iterator<Item = &Message> {
        self.shard.held().map(|it| &it.message)
    }

    /// The definitions of which starts wait, since more would begin than may in a second, and how many. They
    /// begin as time passes.
    pub fn throttled(&self) -> Vec<(Name, u64)> {
        self.shard.throttled()
    }

    /// Lets the seconds pass that such starts wait for. What they write counts for the request that has caused them.
    pub fn start_throttled(&mut self) -> Result<(), Error> {
        let mut events = 0;
        while let Some(due) = self.next_due().filter(|_| !self.throttled().is_empty()) {
            self.shard.tick(due);
            events += self.come_to_rest()?;
            let bytes = self.written;
            if events > self.events_max || bytes > self.bytes_max {
                return Err(Error::Restless { events, bytes });
            }
        }
        Ok(())
    }

    fn tell(&mut self, instance: InstanceId, command: Command) -> Result<(), Error> {
        self.ask(CommandRequest { instance, command })
    }

    fn ask<A: Ask>(&mut self, ask: A) -> Result<A::Reply, Error> {
        self.written = 0;
        let (to, mut receiver) = ReplyTo::caller();
        self.shard.request(ask.into_request(), to);
        let settled = self.settle();
        let reply = receiver.try_recv().expect("an answer is let out with its batch")?;
        settled.map(|()| A::reply(reply))
    }

    /// Does what is to be done until nothing is left, and nothing is due.
    fn settle(&mut self) -> Result<(), Error> {
        self.come_to_rest().map(drop)
    }

    /// Says how many events that took.
    fn come_to_rest(&mut self) -> Result<u64, Error> {
        let mut events = self.shard.take_events();
        loop {
            let busy = self.shard.work();
            self.write()?;
            if !busy {
                return Ok(events);
            }
            events += self.shard.take_events();
            if let Some(mut it) = self.restless.take_if(|it| events > it.after) {
                (it.tell)(events, self.events_max);
            }
            let bytes = self.written;
            if events > self.events_max || bytes > self.bytes_max {
                return Err(Error::Restless { events, bytes });
            }
        }
    }

    fn write(&mut self) -> Result<(), Error> {
        let Some(sealed) = self.shard.seal() else { return Ok(()) };
        let bodies = sealed.batch.entries.iter().map(|it| &it.body);
        let bodies = bodies.chain(sealed.batch.sent.iter().map(|it| &it.body));
        self.written += bodies.map(|it| it.len() as u64 + ENTRY_BYTES).sum::<u64>();
        self.store.append(&self.shard.claim(), std::slice::from_ref(&sealed.batch))?;
        for mail in sealed.release(self.shard.board()) {
            self.shard.receive(&mail);
        }
        Ok(())
    }
}

fn open(
    store: &Arc<dyn Store>,
    definitions: &Definitions,
    settings: &Settings,
    now: Timestamp,
) -> Result<Shard, Error> {
    let opening = Opening {
        functions: Arc::default(),
        store: Arc::clone(store),
        definitions: Arc::new(definitions.clone()),
        board: Arc::new(Board::default()),
        settings: settings.clone(),
        now,
    };
    let claim = store.take(ShardId(0), "sandbox")?;
    let (shard, _) = Shard::recover(claim, opening, &mut |_, _| {})?;
    Ok(shard)
}
