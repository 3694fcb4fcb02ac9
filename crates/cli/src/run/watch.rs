//! Shows what happens: every event in a line, and the tree of scopes.

use std::sync::{Arc, Mutex};

use travertine_kernel::{Command, NodeId, Plan, tree};
use travertine_runtime::{InstanceId, Turned, trace};
use travertine_value::{Name, Value};

use travertine_data::places::Places;

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
    places: Places,
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
        Self { shown, to, places: Places::default() }
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
            self.places.follow(turned.instance, event);
            if self.shown.trace {
                events.push((
                    trace::of_event(plan, event),
                    self.places.of_event(turned.instance, event),
                ));
            }
            self.places.forget(turned.instance, event);
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
                    screen.line(line(plan, &json::brief(text), *node, screen));
                }
                for line in tree.lines() {
                    screen.line(format!("    {}", screen.paint.cyan(line)));
                }
            }
        }
    }

    fn of_command(&self, instance: InstanceId, command: &Command) -> Option<NodeId> {
        match command {
            Command::Complete { wait, .. }
            | Command::Raise { wait, .. }
            | Command::Escalate { wait, .. }
            | Command::Fail { wait, .. }
            | Command::NotGiven { wait, .. }
            | Command::SetRetries { wait, .. } => self.places.of_wait(instance, *wait),
            Command::Retry { token } => self.places.of_token(instance, *token),
            Command::Start { .. }
            | Command::Set { .. }
            | Command::Modify { .. }
            | Command::Delivered { .. }
            | Command::Continue
            | Command::Cancel
            | Command::Decide { .. }
            | Command::NotCalled { .. }
            | Command::Block { .. }
            | Command::Update { .. }
            | Command::RefuseUpdate { .. } => None,
        }
    }
}

pub(crate) fn line(plan: &Plan, text: &str, node: Option<NodeId>, screen: &Screen) -> String {
    let Some(node) = node else { return format!("  {text}") };
    let title = screen.paint.dim(title(plan, node));
    let width = COLUMN.max(text.chars().count());
    format!("  {text:<width$}  {title}")
}

pub(crate) fn title(plan: &Plan, node: NodeId) -> String {
    let node = plan.node(node);
    match &node.label {
        Some(label) => format!("{} \"{label}\"", node.name),
        None => node.name.to_string(),
    }
}
