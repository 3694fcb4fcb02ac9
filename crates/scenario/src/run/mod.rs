//! A run: instances, tokens and a clock that moves only when nothing can happen now.
//!
//! Within one instant what is disclosed comes first, then timers, then what becomes ready, tasks that are
//! done, and decisions; each thing that happens is followed to where it rests before the next. `life` is
//! what activities go through, `flow` moves tokens, `event` and `message` are what they wait for, `failure`
//! and `undo` what goes wrong, `decide` who decides.

mod decide;
mod event;
mod failure;
mod flow;
mod life;
mod message;
mod state;
mod undo;
mod value;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    sync::Arc,
};

use travertine_value::{Name, Number, Rounding, Value};

pub use decide::{Answer, Decision, DecisionKind, Effect};
pub use state::State;
pub(crate) use value::typed;

use crate::{
    model::{AttributeId, Kind, Model, Node, NodeId, TIMESTAMP, Trigger},
    scenario::Scenario,
    tables::Tables,
};
use state::{Message, MessageId, Role, Scope, ScopeId, Status, Token, TokenId, Undoing};

/// How a run behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who decides.
    pub mode: Mode,
    /// What random numbers follow from.
    pub seed: u64,
    /// When the clock stops, at the latest.
    pub until: Option<Number>,
    /// Whether every state of every token is kept.
    pub states: bool,
    /// How much may happen within one instant.
    pub steps_max: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { mode: Mode::First, seed: 0, until: None, states: false, steps_max: 1_000_000 }
    }
}

/// Who decides when to enter, to leave, what to choose, and who gets a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nobody has to: all is granted in the order in which it was asked for, and the first choice that can be
    /// made is.
    First,
    /// Nobody has to: all is granted as with `First`, and the choice that is best for the objective is made, as
    /// far as that shows at once.
    Best,
    /// Somebody outside, by [`Simulation::decide`].
    Ask,
}

/// Why a run cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The instance, where it is about one.
    pub instance: Option<Name>,
    /// The node.
    pub node: Option<Name>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(instance), Some(node)) = (&self.instance, &self.node) {
            write!(f, "{instance}, {node}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failed {}

/// A token has come to a state.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When.
    pub time: Number,
    /// The instance.
    pub instance: Name,
    /// What messages know it by, where that is longer: in copies, and in handlers that do not interrupt.
    pub label: Name,
    /// The node.
    pub node: Name,
    /// The state.
    pub state: State,
    /// What the token carried.
    status: Arc<Status>,
}

/// How far an instance has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its time has not come.
    Announced,
    /// It is under way.
    Running,
    /// It is done.
    Completed,
    /// It has failed.
    Failed,
}

impl Outcome {
    /// What it is called wherever it is data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Announced => "announced",
            Self::Running => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// An instance of the scenario.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its id.
    pub id: Name,
    /// Its process.
    pub process: Name,
    /// How far it has come.
    pub outcome: Outcome,
    token: Option<TokenId>,
    status: Arc<Status>,
    data: BTreeMap<AttributeId, Value>,
}

/// What a token waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The instance.
    pub instance: Name,
    /// What messages know it by, which tells copies apart.
    pub label: Name,
    /// The node.
    pub node: Name,
    /// For what: `disclosure`, `timer`, `message`, `delivery`, `signal`, `condition`, `entry`, `exit`, `choice`,
    /// `time` or `tokens`.
    pub what: &'static str,
    /// What the message or signal is called, where it is one.
    pub name: Option<Name>,
    /// Until when, where that is known.
    pub due: Option<Number>,
}

/// What is next for a token.
#[derive(Clone, Copy, Debug)]
enum Cue {
    /// It has come to another node.
    Arrive,
    /// Its event has happened.
    Fire,
}

/// A run of a scenario.
#[derive(Clone, Debug)]
pub struct Simulation {
    model: Arc<Model>,
    scenario: Arc<Scenario>,
    tables: Arc<Tables>,
    settings: Settings,
    now: Number,
    instances: Vec<Instance>,
    tokens: BTreeMap<TokenId, Token>,
    scopes: BTreeMap<ScopeId, Scope>,
    undoings: BTreeMap<u64, Undoing>,
    globals: BTreeMap<AttributeId, Value>,
    objective: Number,
    /// The number of whatever is made next: tokens, scopes, messages, tickets.
    next: u64,
    agenda: VecDeque<(TokenId, Cue)>,
    /// Instances whose time has not come.
    starts: BTreeSet<(Number, usize)>,
    timers: BTreeSet<(Number, u64, TokenId)>,
    /// Activities that become ready once their data is disclosed.
    ready: BTreeSet<(Number, u64, TokenId)>,
    /// Tasks that are at work until then.
    busy: BTreeSet<(Number, u64, TokenId)>,
    /// Entry, exit and choice, in the order in which they were asked for.
    requests: BTreeMap<u64, TokenId>,
    /// Choices that could not be made; tried again when something has changed.
    stuck: BTreeMap<u64, TokenId>,
    /// Who waits for messages of a name, in order.
    receivers: BTreeMap<Name, BTreeMap<u64, TokenId>>,
    messages: BTreeMap<Name, BTreeMap<MessageId, Message>>,
    /// Names of which something is new.
    unmatched: BTreeSet<Name>,
    listeners: BTreeMap<Name, BTreeMap<u64, TokenId>>,
    /// Conditional events, by what they read.
    conditions: BTreeMap<AttributeId, BTreeSet<TokenId>>,
    touched: BTreeSet<AttributeId>,
    trace: Trace,
    steps: u64,
    /// How often something has failed.
    failures: u64,
    failed: Option<Failed>,
}

/// What is kept of states. A copy of a run tries things that nobody reads about.
#[derive(Debug, Default)]
struct Trace(Vec<Entry>);

impl Clone for Trace {
    fn clone(&self) -> Self {
        Self::default()
    }
}

type Done = Result<(), Failed>;

impl Simulation {
    /// A run at time 0.
    pub fn new(
        model: Arc<Model>,
        scenario: Scenario,
        tables: Arc<Tables>,
        settings: Settings,
    ) -> Self {
        let instances: Vec<Instance> = scenario
            .instances
            .iter()
            .map(|it| Instance {
                id: Name::clone(&it.id),
                process: Name::clone(&model.nodes[it.process].id),
                outcome: Outcome::Announced,
                token: None,
                status: Arc::default(),
                data: BTreeMap::new(),
            })
            .collect();
        let starts = scenario.instances.iter().enumerate().map(|(position, it)| {
            let time = it.values.get(&TIMESTAMP).and_then(Value::as_number).unwrap_or(Number::ZERO);
            let disclosed = it.disclosed.get(&it.process).copied().unwrap_or(Number::ZERO);
            (time.max(disclosed).max(Number::ZERO), position)
        });
        let starts = starts.collect();
        let mut run = Self {
            now: Number::ZERO,
            instances,
            tokens: BTreeMap::new(),
            scopes: BTreeMap::new(),
            undoings: BTreeMap::new(),
            globals: scenario.globals.clone(),
            objective: Number::ZERO,
            next: 1,
            agenda: VecDeque::new(),
            starts,
            timers: BTreeSet::new(),
            ready: BTreeSet::new(),
            busy: BTreeSet::new(),
            requests: BTreeMap::new(),
            stuck: BTreeMap::new(),
            receivers: BTreeMap::new(),
            messages: BTreeMap::new(),
            unmatched: BTreeSet::new(),
            listeners: BTreeMap::new(),
            conditions: BTreeMap::new(),
            touched: BTreeSet::new(),
            trace: Trace::default(),
            steps: 0,
            failures: 0,
            failed: None,
            model,
            scenario: Arc::new(scenario),
            tables,
            settings,
        };
        let begun = run.set_globals();
        run.failed = begun.err();
        run
    }

    /// Globals that the scenario gives, and those that are worked out.
    fn set_globals(&mut self) -> Done {
        let failed = |message: String| Failed { instance: None, node: None, message };
        let model = Arc::clone(&self.model);
        // In the order of declaration, not of names.
        let all: BTreeSet<AttributeId> = model.globals.values().copied().collect();
        for id in &all {
            if let Some(formula) = &model.attributes[*id].formula {
                let mut around = value::Globals { run: self };
                let value = formula.value(&mut around).map_err(|it| failed(it.0))?;
                let value = typed(&model.attributes[*id], value).map_err(failed)?;
                self.globals.insert(*id, value);
            }
        }
        for (id, value) in self.globals.clone() {
            let by = value::number(&value).checked_mul(self.model.attributes[id].weight);
            let sum = by.and_then(|it| self.objective.checked_add(it));
            self.objective = sum.map_err(|it| failed(it.to_string()))?;
        }
        Ok(())
    }

    /// Goes on until nothing can happen by itself: all has ended, waits, needs a decision, or it is time to stop.
    pub fn run(&mut self) -> Result<(), Failed> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let run = self.go_on();
        self.failed = run.clone().err();
        run
    }

    fn go_on(&mut self) -> Done {
        loop {
            while self.step()? {
                self.steps += 1;
                if self.steps > self.settings.steps_max {
                    let message = format!(
                        "nothing has come to rest at time {} after {} steps: something goes round in a circle",
                        self.now, self.settings.steps_max
                    );
                    return Err(Failed { instance: None, node: None, message });
                }
            }
            let waits = self.settings.mode == Mode::Ask && !self.decisions_open().is_empty();
            let Some(next) = self.next_time().filter(|_| !waits) else { return Ok(()) };
            if self.settings.until.is_some_and(|until| next > until) {
                return Ok(());
            }
            self.now = next;
            self.steps = 0;
        }
    }

    /// The next whole time at which something happens by itself.
    fn next_time(&self) -> Option<Number> {
        let first = |of: &BTreeSet<(Number, u64, TokenId)>| of.first().map(|(time, ..)| *time);
        let start = self.starts.first().map(|(time, _)| *time);
        let times = [start, first(&self.timers), first(&self.ready), first(&self.busy)];
        let next = times.into_iter().flatten().min()?;
        // A time too large to be rounded is whole.
        Some(next.round(0, Rounding::Ceiling).unwrap_or(next))
    }

    /// One thing happens; whether there was one.
    fn step(&mut self) -> Result<bool, Failed> {
        if let Some((token, cue)) = self.agenda.pop_front() {
            if self.tokens.contains_key(&token) {
                match cue {
                    Cue::Arrive => self.arrive(token)?,
                    Cue::Fire => self.fire(token)?,
                }
            }
            return Ok(true);
        }
        if !self.touched.is_empty() {
            self.weigh_conditions()?;
            return Ok(true);
        }
        if let Some((time, position)) = self.starts.first().copied()
            && time <= self.now
        {
            self.starts.remove(&(time, position));
            self.start(position)?;
            return Ok(true);
        }
        if let Some(token) = self.due(|it| &mut it.timers) {
            self.agenda.push_back((token, Cue::Fire));
            return Ok(true);
        }
        if let Some(token) = self.due(|it| &mut it.ready) {
            self.become_ready(token)?;
            return Ok(true);
        }
        if let Some(token) = self.due(|it| &mut it.busy) {
            self.work_done(token)?;
            return Ok(true);
        }
        if self.settings.mode == Mode::Ask { Ok(false) } else { self.decide_one() }
    }

    /// The next that is due; those that have gone meanwhile are passed over.
    fn due(
        &mut self,
        of: impl Fn(&mut Self) -> &mut BTreeSet<(Number, u64, TokenId)>,
    ) -> Option<TokenId> {
        loop {
            let (time, ticket, token) = of(self).first().copied()?;
            let waits = self.tokens.get(&token).is_some_and(|it| it.ticket == ticket);
            if waits && time > self.now {
                return None;
            }
            of(self).remove(&(time, ticket, token));
            if waits {
                self.token_mut(token).ticket = 0;
                return Some(token);
            }
        }
    }

    fn start(&mut self, position: usize) -> Done {
        let given = &self.scenario.instances[position];
        let (process, label) = (given.process, Name::clone(&given.id));
        let token = self.make(process, None, position, label, Arc::default(), Role::Flow);
        self.instances[position].token = Some(token);
        self.instances[position].outcome = Outcome::Running;
        self.add_own(token);
        self.let_in(token)
    }

    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    fn make(
        &mut self,
        node: NodeId,
        scope: Option<ScopeId>,
        instance: usize,
        label: Name,
        status: Arc<Status>,
        role: Role,
    ) -> TokenId {
        let id = self.number();
        let token = Token {
            node,
            scope,
            instance,
            label,
            state: State::Created,
            status,
            role,
            inner: None,
            guards: Vec::new(),
            from: None,
            ticket: 0,
            asks: None,
            message: None,
            header: BTreeMap::new(),
            number: 1,
            copies: None,
            placed_with: None,
            must_fall: false,
            outcome: None,
            remembered: false,
        };
        self.tokens.insert(id, token);
        id
    }

    fn token(&self, id: TokenId) -> &Token {
        self.tokens.get(&id).expect("a token that is used is there")
    }

    fn token_mut(&mut self, id: TokenId) -> &mut Token {
        self.tokens.get_mut(&id).expect("a token that is used is there")
    }

    fn scope_mut(&mut self, id: ScopeId) -> &mut Scope {
        self.scopes.get_mut(&id).expect("a scope that is used is there")
    }

    fn node_of(&self, token: TokenId) -> &Node {
        &self.model.nodes[self.token(token).node]
    }

    fn failed(&self, token: TokenId, message: &str) -> Failed {
        let at = self.token(token);
        Failed {
            instance: Some(Name::clone(&self.instances[at.instance].id)),
            node: Some(Name::clone(&self.model.nodes[at.node].id)),
            message: message.to_owned(),
        }
    }

    /// A token comes to a state, which lifts its time to the present.
    fn mark(&mut self, token: TokenId, state: State) -> Done {
        let at = self.token(token);
        let known = at.status.get(&TIMESTAMP).and_then(Value::as_number);
        if known.is_none_or(|it| it < self.now) {
            let now = self.now.into();
            self.put(token, TIMESTAMP, now);
        } else if known > Some(self.now) {
            let works = state == State::Busy && matches!(self.node_of(token).kind, Kind::Task);
            let leaves = matches!(state, State::Withdrawn | State::Failed | State::Failing);
            if !works && !leaves {
                let message = format!(
                    "its timestamp, {}, is ahead of the clock, {}",
                    known.unwrap_or(self.now),
                    self.now
                );
                return Err(self.failed(token, &message));
            }
        }
        self.token_mut(token).state = state;
        if self.settings.states {
            let at = self.token(token);
            let entry = Entry {
                time: self.now,
                instance: Name::clone(&self.instances[at.instance].id),
                label: Name::clone(&at.label),
                node: Name::clone(&self.model.nodes[at.node].id),
                state,
                status: Arc::clone(&at.status),
            };
            self.trace.0.push(entry);
        }
        Ok(())
    }

    /// The time of the clock.
    pub fn now(&self) -> Number {
        self.now
    }

    /// What everything weighted adds up to.
    pub fn objective(&self) -> Number {
        self.objective
    }

    /// The instances of the scenario, in its order.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// The attributes of an instance: what its process's token carries or carried last, and its data.
    pub fn attributes(&self, instance: &Instance) -> BTreeMap<Name, Value> {
        let token = instance.token.and_then(|it| self.tokens.get(&it));
        let inner = token.and_then(|it| it.inner).and_then(|it| self.scopes.get(&it));
        let status = token.map_or(&instance.status, |it| &it.status);
        let data = inner.map_or(&instance.data, |it| &it.data);
        let mut all = self.spelt(data);
        all.extend(self.spelt(status));
        all
    }

    /// The attributes that all instances share.
    pub fn globals(&self) -> BTreeMap<Name, Value> {
        let mut all = self.spelt(&self.globals);
        let objective = &self.model.attributes[crate::model::OBJECTIVE].name;
        all.insert(Name::clone(objective), self.objective.into());
        all
    }

    /// The states of tokens since this was last asked, where they are kept.
    pub fn take_entries(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.trace.0)
    }

    /// What a token carried, under the names of the model.
    pub fn status(&self, entry: &Entry) -> BTreeMap<Name, Value> {
        self.spelt(&entry.status)
    }

    /// Names of messages that nobody has had, one for each message, in order.
    pub fn held(&self) -> Vec<Name> {
        let mut all: Vec<(&MessageId, &Name)> = self
            .messages
            .iter()
            .flat_map(|(name, of)| of.keys().map(move |it| (it, name)))
            .collect();
        all.sort_unstable();
        all.into_iter().map(|(_, name)| Name::clone(name)).collect()
    }

    /// What tokens wait for, in the order in which they were made.
    pub fn waiting(&self) -> Vec<Waiting> {
        let mut all = Vec::new();
        for (id, token) in &self.tokens {
            let Some((what, name, due)) = self.waits_for(*id, token) else { continue };
            all.push(Waiting {
                instance: Name::clone(&self.instances[token.instance].id),
                label: Name::clone(&token.label),
                node: Name::clone(&self.model.nodes[token.node].id),
                what,
                name,
                due,
            });
        }
        all
    }

    /// Whether other copies come before a copy.
    fn waits_for_turn(&self, id: TokenId, token: &Token) -> bool {
        let Role::Copy(main) = token.role else { return false };
        self.token(main).copies.as_ref().is_some_and(|it| it.next.contains(&id))
    }

    fn waits_for(
        &self,
        id: TokenId,
        token: &Token,
    ) -> Option<(&'static str, Option<Name>, Option<Number>)> {
        let node = &self.model.nodes[token.node];
        let due = |of: &BTreeSet<(Number, u64, TokenId)>| {
            of.iter().find(|(_, ticket, it)| *it == id && *ticket == token.ticket).map(|it| it.0)
        };
        let message = || self.text_of(id).map(|it| it.name);
        if matches!(token.role, Role::Memory) {
            return None;
        }
        if let Some(asked) = token.asks
            && asked != DecisionKind::Message
        {
            return Some((asked.name(), None, None));
        }
        match (token.state, &node.kind) {
            (State::Created, _) if self.waits_for_turn(id, token) => Some(("tokens", None, None)),
            (State::Arrived | State::Created, _) => Some(("disclosure", None, due(&self.ready))),
            (State::Waiting, Kind::Parallel) => Some(("tokens", None, None)),
            (State::Busy, Kind::Task) => Some(("time", None, due(&self.busy))),
            (State::Busy, Kind::Send) => Some(("delivery", message(), None)),
            (State::Busy, Kind::Receive) => Some(("message", message(), None)),
            (State::Busy, _) => match node.trigger()? {
                Trigger::Message => Some(("message", message(), None)),
                Trigger::Signal { name, .. } => Some(("signal", Some(Name::clone(name)), None)),
                Trigger::Timer(_) => Some(("timer", None, due(&self.timers))),
                Trigger::Condition => Some(("condition", None, None)),
                Trigger::Error | Trigger::Escalation | Trigger::Compensation => None,
            },
            _ => None,
        }
    }
}
