//! A world in memory, with a clock that moves only when told.
//!
//! Everything asked of it is carried through until all instances rest: nothing is left that could go
//! on without someone outside. What is to be done stands in one queue, so the order never depends on
//! anything but the order of what was asked.

mod record;
mod settle;
mod start;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::Arc,
};

use travertine_expr::{Map, Name, time::Repeat};
use travertine_kernel::{
    Assignments, Command, Effect, Event, Instance, Plan, TokenId, outstanding,
};

pub use record::{Address, InstanceId, Record, Trouble};
pub use start::Start;

use crate::{
    Definition, Definitions, Error, Message, Receipt, StartOn, Timestamp,
    alarm::{Alarm, Alarms},
    message::{Held, Waiting},
};
use settle::Todo;

/// How many events one request may cause, where nobody says otherwise.
const EVENTS_MAX: u64 = 10_000_000;

/// A world in memory, with a clock that moves only when told.
#[derive(Debug)]
pub struct Sandbox {
    now: Timestamp,
    definitions: Definitions,
    instances: BTreeMap<InstanceId, Record>,
    alarms: Alarms,
    /// The cycles of start timers.
    cycles: BTreeMap<Alarm, Repeat>,
    messages: Waiting,
    signals: Waiting,
    held: Held,
    /// What has happened so far to start events that need several triggers.
    noted: BTreeMap<start::Place, BTreeMap<usize, Assignments>>,
    todo: VecDeque<Todo>,
    names: u64,
    events_max: u64,
    /// The events of this request so far.
    events: u64,
    hook: Option<Hook>,
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

struct Hook(Box<dyn FnMut(Turned<'_>)>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

impl Sandbox {
    /// An empty world at that time.
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            definitions: Definitions::default(),
            instances: BTreeMap::new(),
            alarms: Alarms::default(),
            cycles: BTreeMap::new(),
            messages: Waiting::default(),
            signals: Waiting::default(),
            held: Held::default(),
            noted: BTreeMap::new(),
            todo: VecDeque::new(),
            names: 0,
            events_max: EVENTS_MAX,
            events: 0,
            hook: None,
        }
    }

    /// Sets how many events one request may cause before it is given up as one that never rests.
    pub fn limit_events(&mut self, events_max: u64) {
        self.events_max = events_max;
    }

    /// Has `look` called after each accepted command.
    pub fn observe(&mut self, look: impl FnMut(Turned<'_>) + 'static) {
        self.hook = Some(Hook(Box::new(look)));
    }

    /// Adds a version of each definition. Only the latest version of a definition is started by
    /// messages, signals, times and conditions.
    pub fn deploy(&mut self, all: &[(Name, Arc<Plan>)]) -> Result<Vec<Arc<Definition>>, Error> {
        let added = self.definitions.add(all, self.now)?;
        for definition in &added {
            self.arm_starts(definition);
        }
        self.retry_calls();
        self.settle()?;
        Ok(added)
    }

    /// Starts an instance of the latest version: at its plain start, or as if the start event that
    /// `start` names had been triggered.
    pub fn start(&mut self, start: Start<'_>) -> Result<InstanceId, Error> {
        let id = self.begin(start)?;
        self.settle()?;
        Ok(id)
    }

    /// What a token waits for has happened: work is done, a decision is made.
    pub fn complete(&mut self, to: Address, variables: Assignments) -> Result<(), Error> {
        self.ask(to.instance, Command::Complete { wait: to.wait, variables })
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
        self.ask(to.instance, Command::Raise { wait: to.wait, code, message, variables })
    }

    /// The work that a token waits for has raised an escalation, and may go on.
    pub fn escalate(
        &mut self,
        to: Address,
        code: &str,
        variables: Assignments,
    ) -> Result<(), Error> {
        self.ask(
            to.instance,
            Command::Escalate { wait: to.wait, code: Some(code.into()), variables },
        )
    }

    /// The work that a token waits for has failed for a technical reason. At no retries left it
    /// becomes an incident.
    pub fn fail(&mut self, to: Address, retries: u32, message: &str) -> Result<(), Error> {
        let message = message.to_owned();
        self.ask(to.instance, Command::Fail { wait: to.wait, retries, message })
    }

    /// Sets variables of the process, or in the layer of one of its tokens.
    pub fn set_variables(
        &mut self,
        instance: InstanceId,
        token: Option<TokenId>,
        variables: Assignments,
    ) -> Result<(), Error> {
        self.ask(instance, Command::Set { token, variables })
    }

    /// Tries again what ended in an incident.
    pub fn retry(&mut self, instance: InstanceId, token: TokenId) -> Result<(), Error> {
        self.ask(instance, Command::Retry { token })
    }

    /// Ends the instance and all that it has called.
    pub fn cancel(&mut self, instance: InstanceId) -> Result<(), Error> {
        self.ask(instance, Command::Cancel)
    }

    /// Sends a message to one receiver: who has waited longest, else a start event, else whoever
    /// comes to wait for it before it expires.
    pub fn publish(&mut self, message: Message) -> Result<Receipt, Error> {
        let receipt = self.route(message);
        self.settle()?;
        Ok(receipt)
    }

    /// Sends a signal to all that wait for it now, and to the start events it triggers.
    pub fn signal(&mut self, name: &str, variables: &Assignments) -> Result<(), Error> {
        self.broadcast(None, name, variables);
        self.settle()
    }

    /// Offers variables to the conditional start events. Answers with what they started.
    pub fn evaluate_conditions(
        &mut self,
        variables: &Assignments,
    ) -> Result<Vec<InstanceId>, Error> {
        let offered: Map = variables.iter().cloned().collect();
        let holds = |definition: &Definition, on: &StartOn| match on {
            StartOn::Condition(when) => {
                let value = when.value(&offered, &definition.plan.limits);
                value.is_ok_and(|it| it.as_bool() == Some(true))
            }
            StartOn::Message(_) | StartOn::Signal(_) | StartOn::Timer(_) => false,
        };
        let started = self.trigger_starts(holds, variables);
        self.settle()?;
        Ok(started)
    }

    /// Moves the clock to `to`. What falls due on the way happens in its order, each at its time.
    pub fn advance(&mut self, to: Timestamp) -> Result<(), Error> {
        if to < self.now {
            return Err(Error::Backwards { now: self.now });
        }
        while let Some(due) = self.alarms.next().filter(|it| *it <= to) {
            self.now = self.now.max(due);
            self.settle()?;
        }
        self.now = to;
        self.held.expire(to);
        self.settle()
    }

    /// Moves the clock by so many milliseconds.
    pub fn advance_by(&mut self, ms: i64) -> Result<(), Error> {
        self.advance(self.now.after_millis(ms))
    }

    /// Forgets everything that instances wait for and asks them again, as after a crash.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.alarms.unset_where(|it| matches!(it, Alarm::Wait(_)));
        self.messages = Waiting::default();
        self.signals = Waiting::default();
        let instances: Vec<InstanceId> = self.instances.keys().copied().collect();
        for id in instances {
            for effect in outstanding(&self.instances[&id].state) {
                self.act(id, effect);
            }
        }
        self.settle()
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// When the next timer is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.alarms.next()
    }

    /// What is deployed.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// All instances there have been, oldest first.
    pub fn instances(&self) -> impl Iterator<Item = &Record> {
        self.instances.values()
    }

    /// The instance of that id.
    pub fn instance(&self, id: InstanceId) -> Option<&Record> {
        self.instances.get(&id)
    }

    /// The messages that are held, oldest first.
    pub fn held(&self) -> impl Iterator<Item = &Message> {
        self.held.iter()
    }

    fn ask(&mut self, id: InstanceId, command: Command) -> Result<(), Error> {
        if !self.instances.contains_key(&id) {
            return Err(Error::NoSuchInstance(id));
        }
        self.turn(id, command)?;
        self.settle()
    }
}
