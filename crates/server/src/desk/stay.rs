//! Where an instance was: its log, read as stays at elements and flows that were taken.

use std::{collections::BTreeMap, sync::Arc};

use travertine_kernel::{
    ElementKind, Event, FlowId, Instance, NodeId, Plan, Role, State, TokenId, apply,
};
use travertine_runtime::{Definitions, Error, InstanceId, Timestamp, engine::History};
use travertine_store::record::Record;
use travertine_value::Name;

use super::{Desk, Refusal, deploy::off_the_executor};

/// How a stay at an element is, or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StayState {
    /// It goes on.
    Active,
    /// It is over.
    Completed,
    /// It was cut short.
    Terminated,
}

/// A stay of an instance at an element.
#[derive(Clone, Debug)]
pub struct Stay {
    /// Its number in the instance.
    pub visit: u64,
    /// The element's id in the model.
    pub element: Name,
    /// What the model calls it.
    pub label: Option<Name>,
    /// What kind of element.
    pub kind: ElementKind,
    /// The stay around it; 0 for the process itself.
    pub scope: u64,
    /// When it began.
    pub since: Timestamp,
    /// When it was over.
    pub until: Option<Timestamp>,
    /// How it is, or was.
    pub state: StayState,
    /// Its open incident.
    pub incident: Option<u64>,
}

/// Where an instance was.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Its stays at elements, in the order in which they began.
    pub stays: Vec<Stay>,
    /// The flows that it has taken, each once, in the order in which that first happened.
    pub flows: Vec<Name>,
}

impl Desk {
    /// Where an instance was. It costs as much as the instance's log is long.
    pub async fn way(&self, instance: InstanceId) -> Result<Way, Refusal> {
        let engine = self.engine.clone();
        off_the_executor(move || match engine.history(instance) {
            Ok(history) => Ok(way(&history, &engine.definitions())),
            // Its log is shortened to its end.
            Err(Error::NoSuchDefinition(_)) => Ok(Way::default()),
            Err(error) => Err(error.into()),
        })
        .await
    }
}

struct Walk {
    state: Instance,
    plan: Arc<Plan>,
    way: Way,
    /// Where the stays that go on are in `way`, by token.
    open: BTreeMap<TokenId, usize>,
    at: Timestamp,
}

fn way(history: &History, definitions: &Definitions) -> Way {
    let plan = Arc::clone(&history.definition.plan);
    let mut walk = Walk {
        state: Instance::default(),
        plan,
        way: Way::default(),
        open: BTreeMap::new(),
        at: Timestamp::default(),
    };
    for step in &history.steps {
        if let Some(definition) = definitions.get(step.definition) {
            walk.plan = Arc::clone(&definition.plan);
        }
        walk.at = step.at;
        for record in &step.records {
            if let Record::Happened(events) = record {
                for event in events {
                    walk.event(event);
                }
            }
        }
    }
    walk.end()
}

impl Walk {
    fn event(&mut self, event: &Event) {
        match event {
            Event::TokenMoved { token, .. } | Event::TokenRetired { token } => {
                self.close(*token, StayState::Completed);
            }
            Event::TokenGone { token, state } => {
                let is_over = matches!(state, State::Done | State::Departed);
                self.close(
                    *token,
                    if is_over { StayState::Completed } else { StayState::Terminated },
                );
            }
            _ => {}
        }
        apply(&mut self.state, event);
        match event {
            Event::TokenCreated { token, node, via, role, .. } => {
                self.flow(*via);
                if !matches!(role, Role::Guard(_) | Role::Start) {
                    self.open(*token, *node);
                }
            }
            Event::TokenMoved { token, via, to } => {
                self.flow(*via);
                self.open(*token, *to);
            }
            Event::TokenPromoted { token } => {
                if let Some(node) = self.state.tokens.get(token).map(|it| it.node) {
                    self.open(*token, node);
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, token: TokenId, node: NodeId) {
        let Some(it) = self.state.tokens.get(&token) else { return };
        if it.visit == 0 || self.open.contains_key(&token) {
            return;
        }
        let scope = it.scope.and_then(|it| self.state.tokens.get(&it)).map_or(0, |it| it.visit);
        let at = self.plan.node(node);
        self.open.insert(token, self.way.stays.len());
        self.way.stays.push(Stay {
            visit: it.visit,
            element: Name::clone(&at.name),
            label: at.label.clone(),
            kind: at.kind,
            scope,
            since: self.at,
            until: None,
            state: StayState::Active,
            incident: None,
        });
    }

    fn close(&mut self, token: TokenId, state: StayState) {
        if let Some(stay) = self.open.remove(&token).and_then(|it| self.way.stays.get_mut(it)) {
            stay.until = Some(self.at);
            stay.state = state;
        }
    }

    fn flow(&mut self, via: Option<FlowId>) {
        let Some(flow) = via.and_then(|it| self.plan.flows.get(it.0 as usize)) else { return };
        if !self.way.flows.contains(&flow.name) {
            self.way.flows.push(Name::clone(&flow.name));
        }
    }

    fn end(mut self) -> Way {
        for (token, at) in &self.open {
            if let Some(stay) = self.way.stays.get_mut(*at) {
                stay.incident = self.state.incidents.get(token).map(|it| it.number);
            }
        }
        self.way
    }
}
