//! What happens on a page: the trace, without what a reader can do without.

use std::collections::BTreeMap;

use travertine_kernel::{Command, Event, LayerId, NodeId, Plan, ROOT, State, TokenId, WaitId};
use travertine_runtime::{InstanceId, Turned, trace};

/// How far the column of elements is to the right.
const COLUMN: usize = 44;

/// What has happened so far.
#[derive(Debug, Default)]
pub(super) struct Story {
    pub(super) text: String,
    /// Whether the step has caused something yet.
    begun: bool,
    places: BTreeMap<(InstanceId, TokenId), NodeId>,
    waits: BTreeMap<(InstanceId, WaitId), TokenId>,
    layers: BTreeMap<(InstanceId, LayerId), NodeId>,
}

/// What an event is about.
enum About {
    Node(NodeId),
    Instance,
    /// It is not worth a line.
    Nothing,
}

impl From<Option<NodeId>> for About {
    fn from(node: Option<NodeId>) -> Self {
        node.map_or(Self::Instance, Self::Node)
    }
}

impl Story {
    pub(super) fn say(&mut self, line: &str) {
        self.begun = !line.starts_with('>');
        self.text = format!("{}{}\n", self.text, line.trim_end());
    }

    /// One command and what came of it.
    pub(super) fn tell(&mut self, turned: &Turned<'_>) {
        let plan = &turned.definition.plan;
        let id = turned.instance;
        let mut lines = Vec::new();
        for event in turned.events {
            self.follow(id, event);
            let at = match self.about(id, event) {
                About::Node(at) => Some(at),
                About::Instance => None,
                About::Nothing => continue,
            };
            lines.push(line(plan, &trace::of_event(plan, event), event, at));
        }
        if lines.is_empty() && matches!(turned.command, Command::Delivered { .. }) {
            return;
        }
        if self.begun || id != InstanceId(1) {
            let command = trace::of_command(plan, turned.command);
            let line = format!("  {} {id}: {command}", turned.definition.id);
            self.say(&line);
        }
        self.begun = true;
        for line in lines {
            self.say(&line);
        }
    }

    fn follow(&mut self, id: InstanceId, event: &Event) {
        match event {
            Event::TokenCreated { token, node, .. } | Event::TokenMoved { token, to: node, .. } => {
                self.places.insert((id, *token), *node);
            }
            Event::LayerOpened { token, layer } => {
                let node = self.places[&(id, *token)];
                self.layers.insert((id, *layer), node);
            }
            Event::WaitOpened { wait, token, .. } => {
                self.waits.insert((id, *wait), *token);
            }
            _ => {}
        }
    }

    /// What an event is about.
    fn about(&self, id: InstanceId, event: &Event) -> About {
        let token = match event {
            Event::TokenState { state, .. } if !matches!(state, State::Failing | State::Failed) => {
                return About::Nothing;
            }
            Event::Started { .. }
            | Event::TokenCued { .. }
            | Event::TokenUncued { .. }
            | Event::LayerOpened { .. }
            | Event::LayerClosed { .. }
            | Event::WaitClosed { .. }
            | Event::PostDelivered { .. }
            | Event::FunctionThought { .. } => return About::Nothing,
            Event::VariableSet { layer, .. } | Event::VariableRemoved { layer, .. } => {
                return self.layers.get(&(id, *layer)).copied().into();
            }
            Event::RoundChanged { node, .. } => return About::Node(*node),
            Event::RetriesSet { wait, .. } | Event::WorkFailed { wait, .. } => {
                self.waits[&(id, *wait)]
            }
            other => match other.token() {
                Some(token) => token,
                None => return About::Instance,
            },
        };
        // The process itself begins and ends in every story.
        let told = !matches!(event, Event::IncidentRaised { .. } | Event::WaitOpened { .. });
        if token == ROOT && told {
            return About::Nothing;
        }
        self.places.get(&(id, token)).copied().into()
    }
}

fn line(plan: &Plan, text: &str, event: &Event, at: Option<NodeId>) -> String {
    let name = at.map(|it| &*plan.node(it).name).unwrap_or_default();
    let names = matches!(
        event,
        Event::TokenCreated { .. }
            | Event::TokenMoved { .. }
            | Event::ScopeOpened { .. }
            | Event::RoundChanged { .. }
    );
    if names && text.split(' ').any(|it| it == name) {
        return format!("  {text}");
    }
    format!("  {text:<COLUMN$}  {name}")
}
