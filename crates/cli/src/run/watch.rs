//! Shows what happens: every event in a line, and the tree of scopes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use travertine_expr::{Name, Value};
use travertine_kernel::{Command, Event, NodeId, Plan, TokenId, WaitId, tree};
use travertine_runtime::{InstanceId, Turned, trace};

use crate::{json, screen::Screen};

/// How far the column of elements is to the right.
const COLUMN: usize = 44;

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) trace: bool,
    pub(crate) tree: bool,
}

/// Looks on, and shows or notes down what it sees.
pub(crate) struct Watch {
    shown: Shown,
    to: To,
    places: BTreeMap<(InstanceId, TokenId), NodeId>,
    waits: BTreeMap<(InstanceId, WaitId), TokenId>,
}

/// What was noted down. Empty where it was shown at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noted(Arc<Mutex<Vec<Value>>>);

enum To {
    Screen(Screen),
    Note(Noted),
}

impl Noted {
    pub(crate) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.0.lock().expect("nobody fails while looking on"))
    }
}

impl Watch {
    /// Shows on the screen, or notes down for later.
    pub(crate) fn new(shown: Shown, later: bool, screen: Screen) -> Self {
        let to = if later { To::Note(Noted::default()) } else { To::Screen(screen) };
        Self { shown, to, places: BTreeMap::new(), waits: BTreeMap::new() }
    }

    /// Where things are noted down.
    pub(crate) fn record(&self) -> Noted {
        match &self.to {
            To::Note(noted) => noted.clone(),
            To::Screen(_) => Noted::default(),
        }
    }

    pub(crate) fn is_needed(&self) -> bool {
        self.shown.trace || self.shown.tree
    }

    /// One command and what came of it.
    pub(crate) fn see(&mut self, turned: Turned<'_>) {
        let plan = &turned.definition.plan;
        let command = trace::of_command(plan, turned.command);
        let at = self.of_command(turned.instance, turned.command);
        let mut events = Vec::new();
        for event in turned.events {
            self.follow(turned.instance, event);
            if self.shown.trace {
                events.push((trace::of_event(plan, event), self.of_event(turned.instance, event)));
            }
            self.forget(turned.instance, event);
        }
        let tree = if self.shown.tree { tree(plan, turned.state) } else { None };
        let tree = tree.map(|it| it.to_string()).unwrap_or_default();
        match &self.to {
            To::Note(noted) => {
                let events = events.iter().map(|(text, node)| {
                    let element = node.map(|it| Name::clone(&plan.node(it).name));
                    json::object([("event", text.as_str().into()), ("element", element.into())])
                });
                noted.0.lock().expect("nobody fails while looking on").push(json::object([
                    ("time", turned.now.to_string().into()),
                    ("instance", json::key(turned.instance.0)),
                    ("process", Name::clone(&turned.definition.id).into()),
                    ("command", command.into()),
                    ("events", events.collect()),
                    ("tree", tree.lines().map(Value::from).collect()),
                ]));
            }
            To::Screen(screen) => {
                let at = at.map_or_else(String::new, |it| format!("  {}", title(plan, it)));
                let whose =
                    format!("  ({} {}, {})", turned.definition.id, turned.instance, turned.now);
                let (bold, dim) =
                    (screen.paint.bold(format!("> {command}{at}")), screen.paint.dim(whose));
                screen.line(format!("{bold}{dim}"));
                for (text, node) in &events {
                    screen.line(line(plan, text, *node, screen));
                }
                for line in tree.lines() {
                    screen.line(format!("    {}", screen.paint.cyan(line)));
                }
            }
        }
    }

    /// Remembers where tokens are.
    fn follow(&mut self, instance: InstanceId, event: &Event) {
        match event {
            Event::TokenCreated { token, node, .. } | Event::TokenMoved { token, to: node, .. } => {
                self.places.insert((instance, *token), *node);
            }
            Event::Migrated { nodes, .. } => {
                for ((of, _), at) in &mut self.places {
                    let to = nodes.iter().find(|(from, _)| *of == instance && from == at);
                    *at = to.map_or(*at, |(_, to)| *to);
                }
            }
            Event::WaitOpened { wait, token, .. } => {
                self.waits.insert((instance, *wait), *token);
            }
            _ => {}
        }
    }

    fn forget(&mut self, instance: InstanceId, event: &Event) {
        match event {
            Event::TokenGone { token, .. } => {
                self.places.remove(&(instance, *token));
            }
            Event::WaitClosed { wait } => {
                self.waits.remove(&(instance, *wait));
            }
            _ => {}
        }
    }

    fn of_command(&self, instance: InstanceId, command: &Command) -> Option<NodeId> {
        match command {
            Command::Complete { wait, .. }
            | Command::Raise { wait, .. }
            | Command::Escalate { wait, .. }
            | Command::Fail { wait, .. }
            | Command::SetRetries { wait, .. } => self.of_wait(instance, *wait),
            Command::Retry { token } => self.of_token(instance, *token),
            Command::Start { .. }
            | Command::Set { .. }
            | Command::Modify { .. }
            | Command::Delivered { .. }
            | Command::Continue
            | Command::Cancel => None,
        }
    }

    /// The node that an event is about.
    fn of_event(&self, instance: InstanceId, event: &Event) -> Option<NodeId> {
        match event {
            Event::TokenCreated { token, .. }
            | Event::TokenMoved { token, .. }
            | Event::TokenState { token, .. }
            | Event::TokenParked { token, .. }
            | Event::TokenCued { token, .. }
            | Event::TokenUncued { token }
            | Event::TokenPromoted { token }
            | Event::TokenRetired { token }
            | Event::TokenRecalled { token, .. }
            | Event::TokenGone { token, .. }
            | Event::StatusSet { token, .. }
            | Event::LayerOpened { token, .. }
            | Event::LayerClosed { token }
            | Event::BranchArrived { token }
            | Event::PerformerTaken { token, .. }
            | Event::PerformerAwaited { token, .. }
            | Event::PerformerLeft { token, .. }
            | Event::WaitOpened { token, .. }
            | Event::IncidentRaised { token, .. }
            | Event::IncidentResolved { token }
            | Event::TokenBound { token, .. }
            | Event::ScopeOpened { scope: token, .. }
            | Event::ScopeFailing { scope: token, .. }
            | Event::ScopeClosed { scope: token }
            | Event::StatusForgotten { scope: token }
            | Event::CompensationQueued { scope: token, .. }
            | Event::CompensationsMoved { to: token, .. }
            | Event::RunEnded { scope: token, .. } => self.of_token(instance, *token),
            Event::RoundChanged { node, .. } => Some(*node),
            Event::RetriesSet { wait, .. } | Event::WaitClosed { wait } => {
                self.of_wait(instance, *wait)
            }
            Event::Started { .. }
            | Event::Migrated { .. }
            | Event::VariableSet { .. }
            | Event::VariableRemoved { .. }
            | Event::Posted { .. }
            | Event::PostDelivered { .. }
            | Event::Finished { .. } => None,
        }
    }

    fn of_token(&self, instance: InstanceId, token: TokenId) -> Option<NodeId> {
        self.places.get(&(instance, token)).copied()
    }

    fn of_wait(&self, instance: InstanceId, wait: WaitId) -> Option<NodeId> {
        self.of_token(instance, *self.waits.get(&(instance, wait))?)
    }
}

fn line(plan: &Plan, text: &str, node: Option<NodeId>, screen: &Screen) -> String {
    let Some(node) = node else { return format!("  {text}") };
    let title = screen.paint.dim(title(plan, node));
    let width = COLUMN.max(text.chars().count());
    format!("  {text:<width$}  {title}")
}

fn title(plan: &Plan, node: NodeId) -> String {
    let node = plan.node(node);
    match &node.label {
        Some(label) => format!("{} \"{label}\"", node.name),
        None => node.name.to_string(),
    }
}
