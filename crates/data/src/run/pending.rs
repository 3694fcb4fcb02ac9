//! What an instance waits for, and why.

use std::{fmt, sync::Arc};

use travertine_kernel::{
    Failure, FailureKind, Gate, NodeId, Over, Plan, Role, Slot, State, TokenId, Wait, WaitFor,
    WaitId, address,
    plan::{Element, Trigger, WorkKind},
};
use travertine_runtime::{Address, InstanceId, Timestamp};
use travertine_value::{Name, Value};

use super::Record;
use crate::{json, text};

/// A token that goes on only when something happens.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The instance.
    pub instance: InstanceId,
    /// The token.
    pub token: TokenId,
    /// The id of its element in the model.
    pub element: Name,
    /// The name of its element, for people.
    pub label: Option<Name>,
    /// Where it is in the tree of scopes.
    pub place: String,
    /// The run that it is, of several of the same element.
    run: Option<u32>,
    /// The id of the element that it stands beside.
    beside: Option<Name>,
    /// What must happen.
    pub what: What,
}

/// What must happen.
#[derive(Clone, Debug)]
pub enum What {
    /// Someone must see to an incident.
    Incident(Failure),
    /// What a wait is for.
    Wait(WaitId, Arc<WaitFor>),
    /// A condition must become true.
    Condition(String),
    /// Other tokens must come.
    Tokens,
    /// The first of the events behind a gateway must happen.
    Events,
}

/// What kind of thing waits, the most pressing first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "they are named after what waits")]
pub enum Kind {
    Incident,
    Call,
    UserTask,
    Job,
    Decision,
    Gate,
    Data,
    Message,
    Signal,
    Timer,
    Condition,
    Tokens,
    Events,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Incident => "incident",
            Self::Call => "call",
            Self::UserTask => "user task",
            Self::Job => "job",
            Self::Decision => "decision",
            Self::Gate => "gate",
            Self::Data => "data",
            Self::Message => "message",
            Self::Signal => "signal",
            Self::Timer => "timer",
            Self::Condition => "condition",
            Self::Tokens => "tokens",
            Self::Events => "events",
        })
    }
}

/// Everything that an instance waits for.
pub fn of(record: Record<'_>) -> Vec<Pending> {
    let state = &record.state;
    if !state.is_running() || record.halted.is_some() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (token, incident) in &state.incidents {
        let what = What::Incident(incident.failure.clone());
        all.extend(pending(record, *token, what));
    }
    for (id, wait) in &state.waits {
        if !state.incidents.contains_key(&wait.token) {
            let what = waits_for(record, *id, wait);
            all.extend(what.and_then(|it| pending(record, wait.token, it)));
        }
    }
    for (id, token) in &state.tokens {
        // Main tokens of repeated activities wait for what they host, which is listed itself.
        if token.state == State::Waiting
            && token.waits.is_empty()
            && !state.scopes.contains_key(id)
            && !state.incidents.contains_key(id)
        {
            // Its events stand beside it, and are listed themselves.
            let what = if token.guards.is_empty() { What::Tokens } else { What::Events };
            all.extend(pending(record, *id, what));
        }
    }
    all
}

fn waits_for(record: Record<'_>, id: WaitId, wait: &Wait) -> Option<What> {
    match &*wait.on {
        // The called instance is listed itself, and delivering is nobody's work.
        WaitFor::Child { .. } | WaitFor::Delivery(_) => None,
        WaitFor::Condition => {
            let node = record.state.tokens.get(&wait.token)?.node;
            Some(What::Condition(condition(record.plan(), node, wait.slot)))
        }
        WaitFor::Work(_)
        | WaitFor::Timer { .. }
        | WaitFor::Message { .. }
        | WaitFor::Signal { .. }
        | WaitFor::Gate(_)
        | WaitFor::Choice
        | WaitFor::Data { .. } => Some(What::Wait(id, Arc::clone(&wait.on))),
    }
}

/// The text of a condition that is waited for.
fn condition(plan: &Plan, node: NodeId, slot: Slot) -> String {
    let triggers = match &plan.node(node).element {
        Element::Catch(it) | Element::Receive(it) => &it.triggers[..],
        Element::Boundary(it) => &it.triggers,
        Element::Start(it) => &it.triggers,
        _ => &[],
    };
    let Slot::Own(position) = slot else { return String::new() };
    match triggers.get(usize::from(position)) {
        Some(Trigger::Condition { when, .. }) => when.source().to_owned(),
        Some(_) | None => String::new(),
    }
}

fn pending(record: Record<'_>, token: TokenId, what: What) -> Option<Pending> {
    let it = record.state.tokens.get(&token)?;
    let node = record.plan().node(it.node);
    let (run, beside) = match it.role {
        Role::Run(index) => (Some(index), None),
        Role::Guard(of) => {
            let beside = record.state.tokens.get(&of).map(|it| record.plan().node(it.node));
            (None, beside.map(|it| Name::clone(&it.name)))
        }
        Role::Flow | Role::Branch(_) | Role::Start | Role::Compensation => (None, None),
    };
    Some(Pending {
        instance: record.id,
        token,
        element: Name::clone(&node.name),
        label: node.label.clone(),
        place: address(record.plan(), record.state, &record.definition.id, token),
        run,
        beside,
        what,
    })
}

impl Pending {
    /// Its wait, where someone outside can end it.
    pub fn address(&self) -> Option<Address> {
        match self.what {
            What::Wait(wait, _) => Some(Address { instance: self.instance, wait }),
            What::Incident(_) | What::Condition(_) | What::Tokens | What::Events => None,
        }
    }

    /// Whether someone can do something about just this.
    pub fn is_askable(&self) -> bool {
        match &self.what {
            What::Incident(_) | What::Wait(..) | What::Condition(_) => true,
            What::Tokens | What::Events => false,
        }
    }

    /// Whether a person or a worker has something to do.
    pub fn is_work(&self) -> bool {
        matches!(self.kind(), Kind::UserTask | Kind::Job)
    }

    /// What kind of thing it is.
    pub fn kind(&self) -> Kind {
        match &self.what {
            What::Incident(_) => Kind::Incident,
            What::Condition(_) => Kind::Condition,
            What::Tokens => Kind::Tokens,
            What::Events => Kind::Events,
            What::Wait(_, on) => match &**on {
                WaitFor::Work(job) => match job.kind {
                    WorkKind::User => Kind::UserTask,
                    WorkKind::Job => Kind::Job,
                },
                WaitFor::Timer { .. } => Kind::Timer,
                WaitFor::Message { .. } => Kind::Message,
                WaitFor::Signal { .. } => Kind::Signal,
                WaitFor::Gate(_) => Kind::Gate,
                WaitFor::Choice => Kind::Decision,
                WaitFor::Data { .. } => Kind::Data,
                WaitFor::Condition => Kind::Condition,
                WaitFor::Delivery(_) | WaitFor::Child { .. } => Kind::Call,
            },
        }
    }

    /// The element, as people call it.
    pub fn title(&self) -> String {
        let run = self.run.map_or_else(String::new, |it| format!("#{it}"));
        let label = self.label.as_ref().map_or_else(String::new, |it| format!(" \"{it}\""));
        format!("{}{run}{label}", self.element)
    }

    /// What must happen, in a sentence without its subject.
    pub fn why(&self, now: Timestamp) -> String {
        let text = match &self.what {
            What::Incident(failure) => failure.uncaught(),
            What::Condition(text) => format!("waits until {text} holds"),
            What::Tokens => "waits for other tokens".to_owned(),
            What::Events => "waits for the first of the events behind it".to_owned(),
            What::Wait(_, on) => waits(on, now),
        };
        match &self.beside {
            Some(beside) => format!("{text}, beside {beside}"),
            None => text,
        }
    }

    /// The way out.
    pub fn way_out(&self) -> Option<&'static str> {
        match &self.what {
            What::Incident(failure) => Some(way_out(failure)),
            What::Tokens => Some("let the other branches arrive, or correct the join"),
            What::Events => Some("let one of its events happen"),
            What::Wait(..) | What::Condition(_) => None,
        }
    }

    /// It as data.
    pub fn data(&self, now: Timestamp, visible: &[(Name, Value)]) -> Value {
        let kind = self.kind().to_string().replace(' ', "_");
        let wait = self.address().map(|it| json::key(it.wait.0));
        let (name, fields) = match &self.what {
            What::Wait(_, on) => match &**on {
                WaitFor::Work(job) => (Some(&job.job_type), &job.fields[..]),
                WaitFor::Message { name, correlation } => (Some(name), &correlation[..]),
                WaitFor::Signal { name } => (Some(name), &[][..]),
                WaitFor::Timer { .. }
                | WaitFor::Condition
                | WaitFor::Delivery(_)
                | WaitFor::Child { .. }
                | WaitFor::Gate(_)
                | WaitFor::Choice
                | WaitFor::Data { .. } => (None, &[][..]),
            },
            What::Incident(_) | What::Condition(_) | What::Tokens | What::Events => (None, &[][..]),
        };
        let due = self.due().map(|it| it.to_string());
        json::object([
            ("kind", kind.into()),
            ("element", Name::clone(&self.element).into()),
            ("label", self.label.clone().into()),
            ("instance", json::key(self.instance.0)),
            ("token", json::key(self.token.0)),
            ("wait", wait.into()),
            ("place", self.place.as_str().into()),
            ("beside", self.beside.clone().into()),
            ("name", name.cloned().into()),
            ("fields", fields.iter().cloned().collect()),
            ("due", due.into()),
            ("why", self.why(now).into()),
            ("way_out", self.way_out().into()),
            ("visible", visible.iter().cloned().collect()),
        ])
    }

    /// When it is due, where it waits for a time.
    pub fn due(&self) -> Option<Timestamp> {
        match &self.what {
            What::Wait(_, on) => match &**on {
                WaitFor::Timer { due, .. } => Some(*due),
                _ => None,
            },
            What::Incident(_) | What::Condition(_) | What::Tokens | What::Events => None,
        }
    }
}

fn waits(on: &WaitFor, now: Timestamp) -> String {
    let with = |all: &[(Name, Value)]| {
        if all.is_empty() { String::new() } else { format!(" ({})", text::pairs(all)) }
    };
    match on {
        WaitFor::Work(job) => match job.kind {
            WorkKind::User => format!("waits for a person{}", with(&job.fields)),
            WorkKind::Job => format!(
                "waits for a worker of type {}, {} left{}",
                job.job_type,
                if job.retries == 1 {
                    "1 retry".to_owned()
                } else {
                    format!("{} retries", job.retries)
                },
                with(&job.fields)
            ),
        },
        WaitFor::Timer { due, .. } => {
            format!("waits until {}, in {}", *due, text::between(now, *due))
        }
        WaitFor::Message { name, correlation } => {
            format!("waits for message {name}{}", with(correlation))
        }
        WaitFor::Signal { name } => format!("waits for signal {name}"),
        WaitFor::Gate(Gate::Ready) => "waits for the decision that it is ready".to_owned(),
        WaitFor::Gate(Gate::Entry) => "waits for the decision to enter".to_owned(),
        WaitFor::Gate(Gate::Exit) => "waits for the decision to leave".to_owned(),
        WaitFor::Gate(Gate::Data) => "waits for data".to_owned(),
        WaitFor::Choice => "waits for a choice".to_owned(),
        WaitFor::Data { missing } => format!("waits for data: {}", missing.join(", ")),
        WaitFor::Condition => "waits for a condition".to_owned(),
        WaitFor::Delivery(_) => "waits for its message to be taken".to_owned(),
        WaitFor::Child { definition, .. } => format!("waits for {definition}"),
    }
}

fn way_out(failure: &Failure) -> &'static str {
    match failure.kind {
        FailureKind::Error => "catch it with an error boundary event or an error event sub-process",
        FailureKind::Script => {
            "set the variables it needs and retry, or correct the expression or script"
        }
        FailureKind::NoFlow => {
            "set the variables its conditions need and retry, or give it a default flow"
        }
        FailureKind::Restriction => {
            "set the variables it needs and retry, or correct the restriction"
        }
        FailureKind::Operator => "set the variables it needs and retry, or correct the operator",
        FailureKind::Repeat => {
            "set the collection or number it needs and retry; tv:onEmpty=\"complete\" allows nothing"
        }
        FailureKind::Timer => {
            "set the variables its time is made of and retry, or correct the time"
        }
        FailureKind::FanIn => "let every branch of the fan-out end at the same fan-in",
        FailureKind::Work => "retry, which offers the work again",
        FailureKind::Steps => "retry grants as many steps again; tv:stepLimit sets how many",
        FailureKind::Depth => "correct the call or sub-process that contains itself",
        FailureKind::AdHoc => {
            "set the variables that name its activities and retry, or correct the model"
        }
        FailureKind::Budget(Some(Over::Descendants(_))) => {
            "cancel what called it, or correct the call that never ends; retry calls it again"
        }
        FailureKind::Budget(_) => {
            "make it less and retry; tv:tokenLimit and tv:dataLimit on the process allow more"
        }
        FailureKind::Call => "retry, which calls it again",
        FailureKind::Code | FailureKind::Panic | FailureKind::Nondeterminism => {
            "mend the function's code, then retry"
        }
        FailureKind::MissingCode { .. } => "give the program that function, then retry",
        FailureKind::MissingDefinition { .. } => "give the file that has it too, then retry",
        FailureKind::Oversized { .. } => "make its variables smaller, then retry",
        FailureKind::MissingDecision { .. } => "give the DMN file that has it too, then retry",
    }
}
