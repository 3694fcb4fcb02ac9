//! Why an instance waits, for people: one call, a reason for each token that rests.

use std::fmt;

use travertine_value::{Name, time::Timestamp};

use crate::{
    plan::{Element, FlowId, NodeId, Plan, Trigger, WorkKind},
    state::{Instance, ROOT, Role, Scope, ScopeKind, State, Token},
    tree::progress,
    trigger::HELD,
    vocabulary::{Assignments, Failure, Gate, Post, Slot, TokenId, WaitFor, WaitId},
};

/// Why a token rests.
///
/// ```
/// # use travertine_kernel::{Reason, Role, TokenId, WaitId, Why};
/// let reason = Reason {
///     token: TokenId(3),
///     element: "pay".into(),
///     label: Some("Wait for the money".into()),
///     operation: None,
///     role: Role::Flow,
///     depth: 0,
///     why: Why::Signal { wait: WaitId(7), name: "paid".into() },
/// };
/// assert_eq!(reason.to_string(), "Wait for the money (pay) waits for signal paid");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// The token.
    pub token: TokenId,
    /// The id of its element.
    pub element: Name,
    /// What people call the element.
    pub label: Option<Name>,
    /// What the code of a function calls what it has asked for.
    pub operation: Option<Name>,
    /// What the token is there for.
    pub role: Role,
    /// How many scopes it is in.
    pub depth: u32,
    /// What it waits for.
    pub why: Why,
}

/// What a token waits for.
///
/// ```
/// # use travertine_kernel::Why;
/// let why = Why::Gather { has: 1, needs: 3 };
/// assert_eq!(why.to_string(), "has 1 of the 3 tokens it needs");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// An operator.
    Incident {
        /// What went wrong.
        failure: Failure,
        /// Since when.
        since: Timestamp,
    },
    /// A worker, or a person.
    Work {
        /// The wait.
        wait: WaitId,
        /// For whom.
        kind: WorkKind,
        /// Which workers can do it.
        job_type: Name,
        /// How often it may still fail.
        retries: u32,
        /// How often it may be tried in all, where it was asked for with that.
        attempts: Option<u32>,
        /// Whether whoever does it is to bring one value, its result.
        brings_result: bool,
        /// From when on it is tried again, where that is not now.
        again: Option<Timestamp>,
        /// What went wrong when it was last tried.
        failure: Option<Name>,
    },
    /// A time.
    Timer {
        /// The wait.
        wait: WaitId,
        /// When it comes.
        due: Timestamp,
        /// Whether another one follows.
        repeats: bool,
    },
    /// A message.
    Message {
        /// The wait.
        wait: WaitId,
        /// Its name.
        name: Name,
        /// What it must agree with.
        correlation: Assignments,
    },
    /// A signal.
    Signal {
        /// The wait.
        wait: WaitId,
        /// Its name.
        name: Name,
    },
    /// A condition to hold.
    Condition {
        /// The wait.
        wait: WaitId,
        /// Its text.
        text: String,
    },
    /// Variables to have a value.
    Data {
        /// The wait.
        wait: WaitId,
        /// Those that are missing.
        missing: Vec<Name>,
    },
    /// Something sent to arrive.
    Delivery {
        /// The wait.
        wait: WaitId,
        /// What was sent.
        what: String,
    },
    /// A called instance to end.
    Child {
        /// The wait.
        wait: WaitId,
        /// What it is an instance of.
        definition: Name,
    },
    /// A decision at a gate.
    Gate {
        /// The wait.
        wait: WaitId,
        /// Which gate.
        gate: Gate,
    },
    /// A choice from outside.
    Choice {
        /// The wait.
        wait: WaitId,
    },
    /// The tokens of other flows, at a join.
    Join {
        /// The flows by which none has come, each with the element it leaves.
        misses: Vec<(Name, Name)>,
    },
    /// Tokens that may still come to an inclusive join.
    Others {
        /// The tokens, each with its element.
        tokens: Vec<(TokenId, Name)>,
    },
    /// A complex join's condition to hold.
    Activation {
        /// Its text.
        text: String,
    },
    /// More tokens, at an activity that needs several to begin.
    Gather {
        /// How many have come.
        has: usize,
        /// How many it needs.
        needs: u32,
    },
    /// The other branches of a fan-out.
    Branches {
        /// How many have not come yet.
        missing: usize,
    },
    /// Its turn, where one activity is performed at a time.
    Performer {
        /// The token that is worked on.
        busy: Option<TokenId>,
    },
    /// The tokens inside it.
    Inside {
        /// What it hosts, in one word.
        what: &'static str,
        /// How many tokens are inside.
        tokens: usize,
        /// How far a multi-instance activity, a batch or a fan-out is.
        progress: Option<String>,
    },
    /// The first of the events behind it.
    Race,
    /// An error, an escalation, a cancellation, or a compensation, raised inside.
    Inner,
    /// Compensation, should it come.
    Undo,
    /// Someone who changes what a function has in hand.
    Update,
    /// Nothing: it has work to do once the instance goes on.
    Next,
    /// Nothing that the kernel knows of.
    Unknown,
}

impl Why {
    /// The wait that it is about.
    ///
    /// ```
    /// # use travertine_kernel::{WaitId, Why};
    /// assert_eq!(Why::Choice { wait: WaitId(7) }.wait(), Some(WaitId(7)));
    /// assert_eq!(Why::Race.wait(), None);
    /// ```
    pub fn wait(&self) -> Option<WaitId> {
        match self {
            Self::Work { wait, .. }
            | Self::Timer { wait, .. }
            | Self::Message { wait, .. }
            | Self::Signal { wait, .. }
            | Self::Condition { wait, .. }
            | Self::Data { wait, .. }
            | Self::Delivery { wait, .. }
            | Self::Child { wait, .. }
            | Self::Gate { wait, .. }
            | Self::Choice { wait } => Some(*wait),
            Self::Incident { .. }
            | Self::Join { .. }
            | Self::Others { .. }
            | Self::Activation { .. }
            | Self::Gather { .. }
            | Self::Branches { .. }
            | Self::Performer { .. }
            | Self::Inside { .. }
            | Self::Race
            | Self::Inner
            | Self::Undo
            | Self::Update
            | Self::Next
            | Self::Unknown => None,
        }
    }
}

/// Why each token of an instance rests, in the order of the context tree: a token, what stands beside
/// it, then what is inside it. A token that waits for several things has several reasons.
pub fn why(plan: &Plan, instance: &Instance) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if instance.tokens.contains_key(&ROOT) {
        Teller { plan, instance, reasons: &mut reasons }.tell(ROOT, 0);
    }
    reasons
}

struct Teller<'a> {
    plan: &'a Plan,
    instance: &'a Instance,
    reasons: &'a mut Vec<Reason>,
}

impl Teller<'_> {
    fn tell(&mut self, id: TokenId, depth: u32) {
        let token = self.instance.token(id);
        let node = self.plan.node(token.node);
        for why in self.whys(id, token) {
            let (element, label) = (Name::clone(&node.name), node.label.clone());
            let operation = why.wait().and_then(|it| self.operation(it));
            let role = token.role;
            self.reasons.push(Reason { token: id, element, label, operation, role, depth, why });
        }
        for guard in &token.guards {
            self.tell(*guard, depth);
        }
        if let Some(scope) = self.instance.scopes.get(&id) {
            let inside = scope.starts.values().chain(&scope.live).chain(&scope.compensations);
            for token in inside {
                self.tell(*token, depth + 1);
            }
        }
    }

    /// What the code of a function calls what it waits for.
    fn operation(&self, wait: WaitId) -> Option<Name> {
        match self.instance.waits[&wait].slot {
            Slot::Operation(number) => self.instance.journal.as_ref()?.key(number).cloned(),
            Slot::Own(_) | Slot::Gate(_) | Slot::Listener(..) => None,
        }
    }

    fn whys(&self, id: TokenId, token: &Token) -> Vec<Why> {
        if let Some(incident) = self.instance.incidents.get(&id) {
            let (failure, since) = (incident.failure.clone(), incident.since);
            return vec![Why::Incident { failure, since }];
        }
        if token.cue.is_some() {
            return vec![Why::Next];
        }
        if token.role == Role::Compensation && !self.instance.is_live(id) {
            return vec![Why::Undo];
        }
        if !token.waits.is_empty() {
            return token.waits.keys().map(|it| self.wait(token, *it)).collect();
        }
        vec![self.unspoken(id, token)]
    }

    fn wait(&self, token: &Token, wait: WaitId) -> Why {
        let it = &self.instance.waits[&wait];
        match &*it.on {
            WaitFor::Work(job) => Why::Work {
                wait,
                kind: job.kind,
                job_type: Name::clone(&job.job_type),
                retries: job.retries,
                attempts: job.options.as_ref().map(|it| it.attempts),
                brings_result: job.options.as_ref().is_some_and(|it| !it.brings_variables),
                again: None,
                failure: job.failure.clone(),
            },
            WaitFor::Timer { due, repeat } => {
                Why::Timer { wait, due: *due, repeats: repeat.is_some() }
            }
            WaitFor::Message { name, correlation } => {
                let (name, correlation) = (Name::clone(name), correlation.clone());
                Why::Message { wait, name, correlation }
            }
            WaitFor::Signal { name } => Why::Signal { wait, name: Name::clone(name) },
            WaitFor::Condition => {
                let Slot::Own(position) = it.slot else {
                    unreachable!("only events wait for conditions")
                };
                let triggers = self.plan.node(token.node).element.triggers();
                let text = match triggers.get(usize::from(position % HELD)) {
                    Some(Trigger::Condition { when, .. }) => when.source().to_owned(),
                    _ => String::new(),
                };
                Why::Condition { wait, text }
            }
            WaitFor::Data { missing } => Why::Data { wait, missing: missing.clone() },
            WaitFor::Delivery(post) => Why::Delivery { wait, what: of_post(post) },
            WaitFor::Child { definition, .. } => {
                Why::Child { wait, definition: Name::clone(definition) }
            }
            WaitFor::Gate(gate) => Why::Gate { wait, gate: *gate },
            WaitFor::Choice => Why::Choice { wait },
        }
    }

    /// What a token waits for that waits for nothing outside.
    fn unspoken(&self, id: TokenId, token: &Token) -> Why {
        if let Some(scope) = self.instance.scopes.get(&id) {
            let (what, tokens) = (scope.kind.word(), scope.live.len());
            return Why::Inside { what, tokens, progress: progress(scope) };
        }
        if !token.guards.is_empty() && token.state == State::Waiting {
            return Why::Race;
        }
        if matches!(token.role, Role::Guard(_) | Role::Start) {
            return Why::Inner;
        }
        if let Some(journal) = self.instance.journal.as_ref().filter(|it| it.token == id) {
            return if journal.due { Why::Next } else { Why::Update };
        }
        let Some(around) = token.scope else { return Why::Unknown };
        let scope = self.instance.scope(around);
        if let Some(why) = self.at_join(token, around, scope) {
            return why;
        }
        if let ScopeKind::FanOut(fan) = &scope.kind
            && fan.arrived.contains(&id)
        {
            return Why::Branches { missing: scope.live.len() - fan.arrived.len() };
        }
        let mut scopes = std::iter::successors(Some(around), |it| self.instance.scope(*it).parent);
        let performer = scopes.find_map(|it| {
            let performer = &self.instance.scope(it).performer;
            performer.waiting.contains(&id).then_some(performer)
        });
        performer.map_or(Why::Unknown, |it| Why::Performer { busy: it.busy })
    }

    fn at_join(&self, token: &Token, around: TokenId, scope: &Scope) -> Option<Why> {
        let join = scope.joins.get(&token.node).filter(|_| token.state == State::Waiting)?;
        let node = self.plan.node(token.node);
        if node.start_quantity > 1 {
            let has = join.values().map(std::collections::VecDeque::len).sum();
            return Some(Why::Gather { has, needs: node.start_quantity });
        }
        if let Element::Complex { activation } = &node.element {
            return Some(Why::Activation { text: activation.source().to_owned() });
        }
        let empty = node.incoming.iter().filter(|it| !join.contains_key(it));
        if self.instance.inclusive.contains(&(around, token.node)) {
            return Some(Why::Others { tokens: self.on_the_way(token.node, scope) });
        }
        let misses = empty.map(|flow| {
            let flow = self.plan.flow(*flow);
            (Name::clone(&flow.name), self.plan.name(flow.from))
        });
        Some(Why::Join { misses: misses.collect() })
    }

    /// The tokens that keep an inclusive join from going on.
    fn on_the_way(&self, at: NodeId, scope: &Scope) -> Vec<(TokenId, Name)> {
        let join = &scope.joins[&at];
        let (marked, empty): (Vec<FlowId>, Vec<FlowId>) =
            self.plan.node(at).incoming.iter().partition(|flow| join.contains_key(flow));
        let to_empty = self.plan.sources(at, empty.into_iter());
        let to_marked = self.plan.sources(at, marked.into_iter());
        let live = scope.live.iter().map(|it| (*it, self.instance.token(*it).node));
        live.filter(|(_, node)| {
            let from = node.0 as usize;
            *node != at && to_empty[from] && !to_marked[from]
        })
        .map(|(token, node)| (token, self.plan.name(node)))
        .collect()
    }
}

fn of_post(post: &Post) -> String {
    match post {
        Post::Message { name, .. } => format!("message {name}"),
        Post::Signal { name, .. } => format!("signal {name}"),
        Post::Escalation { code: Some(code), .. } => format!("escalation {code}"),
        Post::Escalation { code: None, .. } => "escalation".to_owned(),
        Post::Start { definition, id, .. } => format!("start of {definition} as {id}"),
    }
}

/// A sentence.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.operation, &self.label) {
            (Some(operation), _) => f.write_str(operation)?,
            (None, Some(label)) => write!(f, "{label} ({})", self.element)?,
            (None, None) => f.write_str(&self.element)?,
        }
        if let Role::Run(index) = self.role {
            write!(f, " #{index}")?;
        }
        write!(f, " {}", self.why)
    }
}

/// The rest of a sentence that begins with the element.
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |all: Vec<String>| all.join(", ");
        match self {
            Self::Incident { failure, since } => {
                write!(f, "has an incident since {since}: {}", failure.uncaught())
            }
            Self::Work { kind: WorkKind::User, .. } => f.write_str("waits for a person"),
            Self::Work { job_type, retries: 0, .. } => {
                write!(f, "waits for a worker of type {job_type}, but has no retries left")
            }
            Self::Work { job_type, retries, attempts, again, failure, .. } => {
                write!(f, "waits for a worker of type {job_type}, ")?;
                if let Some(failed) = attempts.and_then(|all| all.checked_sub(*retries)) {
                    write!(f, "attempt {} of {}", failed + 1, failed + *retries)?;
                } else {
                    let tries = if *retries == 1 { "retry" } else { "retries" };
                    write!(f, "{retries} {tries} left")?;
                }
                again.iter().try_for_each(|it| write!(f, " from {it} on"))?;
                failure.iter().try_for_each(|it| write!(f, "; it failed last: {it}"))
            }
            Self::Timer { due, repeats: false, .. } => write!(f, "waits until {due}"),
            Self::Timer { due, repeats: true, .. } => {
                write!(f, "waits until {due}, and then again")
            }
            Self::Message { name, correlation, .. } => {
                write!(f, "waits for message {name}")?;
                let is_to = |name: &Name| &**name == "$to";
                let to = correlation.iter().find(|(name, _)| is_to(name));
                to.and_then(|(_, it)| it.as_str())
                    .iter()
                    .try_for_each(|it| write!(f, " to {it}"))?;
                let keys = correlation.iter().filter(|(name, _)| !is_to(name));
                let keys: Vec<String> = keys.map(|(name, it)| format!("{name} = {it}")).collect();
                if keys.is_empty() { Ok(()) } else { write!(f, " with {}", list(keys)) }
            }
            Self::Signal { name, .. } => write!(f, "waits for signal {name}"),
            Self::Condition { text, .. } => write!(f, "waits until `{text}` holds"),
            Self::Data { missing, .. } => {
                let missing = missing.iter().map(ToString::to_string);
                write!(f, "waits for the data {}", list(missing.collect()))
            }
            Self::Delivery { what, .. } => write!(f, "waits until its {what} is delivered"),
            Self::Child { definition, .. } => {
                write!(f, "waits for the instance of {definition} that it called")
            }
            Self::Gate { gate, .. } => f.write_str(match gate {
                Gate::Ready => "waits for the decision that it is ready",
                Gate::Entry => "waits for the decision to enter it",
                Gate::Exit => "waits for the decision to leave it",
                Gate::Data => "waits for its data",
            }),
            Self::Choice { .. } => f.write_str("waits for a choice"),
            Self::Join { misses } => {
                let misses = misses.iter().map(|(flow, from)| format!("{from} (flow {flow})"));
                write!(f, "waits for tokens from {}", list(misses.collect()))
            }
            Self::Others { tokens } => {
                let tokens = tokens.iter().map(|(token, at)| format!("token {} at {at}", token.0));
                write!(f, "waits for whoever may still come: {}", list(tokens.collect()))
            }
            Self::Activation { text } => write!(f, "waits for more tokens, until `{text}` holds"),
            Self::Gather { has, needs } => write!(f, "has {has} of the {needs} tokens it needs"),
            Self::Branches { missing } => {
                write!(f, "waits for the other branches, of which {missing} have not come")
            }
            Self::Performer { busy: Some(busy) } => {
                write!(f, "waits for its turn, after token {}", busy.0)
            }
            Self::Performer { busy: None } => f.write_str("waits for its turn"),
            Self::Inside { tokens: 0, .. } => {
                f.write_str("is open, and waits for one of its activities to be activated")
            }
            Self::Inside { tokens, progress, .. } => {
                let plural = if *tokens == 1 { "" } else { "s" };
                write!(f, "waits for {tokens} token{plural} inside")?;
                progress.iter().try_for_each(|it| write!(f, ", {it}"))
            }
            Self::Race => f.write_str("waits for the first of the events behind it"),
            Self::Inner => f.write_str("waits for something raised inside"),
            Self::Undo => f.write_str("stays, should something complete have to be undone"),
            Self::Update => f.write_str("waits for an update"),
            Self::Next => f.write_str("goes on when the instance does"),
            Self::Unknown => f.write_str("waits"),
        }
    }
}
