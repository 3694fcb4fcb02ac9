//! What has happened in a case: which elements were entered, which completed, and in what order.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use travertine_kernel::{
    Event, NodeId, Plan, ROOT, Role, State, TokenId,
    plan::{Element, Throw},
};
use travertine_runtime::{InstanceId, Turned, trace::trace};
use travertine_value::Name;

/// A trace longer than this says nothing to anyone.
const TRACE_BYTES_MAX: usize = 200_000;

/// What has happened so far.
#[derive(Debug, Default)]
pub(super) struct Journal {
    tokens: BTreeMap<(InstanceId, TokenId), Seen>,
    entered: BTreeSet<(InstanceId, Name)>,
    completed: Vec<(InstanceId, Name)>,
    failed: BTreeSet<(InstanceId, Name)>,
    pub(super) trace: String,
}

/// What is known of a token.
#[derive(Debug)]
struct Seen {
    node: NodeId,
    /// Whether its node is completed when it goes. Not so for the main token of several runs, for
    /// what only waits to be triggered, and for what stays behind for compensation.
    counts: bool,
    /// Whether it has come there by a flow and nothing has been heard of it since: it may still be
    /// taken away before it enters.
    arriving: bool,
    parked: bool,
}

impl Journal {
    pub(super) fn entered(&self, of: impl Fn(InstanceId) -> bool) -> BTreeSet<&str> {
        self.entered.iter().filter(|(id, _)| of(*id)).map(|(_, name)| &**name).collect()
    }

    pub(super) fn completed(&self, of: impl Fn(InstanceId) -> bool) -> Vec<&str> {
        self.completed.iter().filter(|(id, _)| of(*id)).map(|(_, name)| &**name).collect()
    }

    pub(super) fn has_failed_at(&self, element: &str) -> bool {
        self.failed.iter().any(|(_, name)| &**name == element)
    }

    pub(super) fn note(&mut self, turned: Turned<'_>) {
        let plan = &turned.definition.plan;
        if self.trace.len() < TRACE_BYTES_MAX {
            let text = trace(plan, turned.command, turned.events, turned.effects);
            let Turned { instance, now, .. } = turned;
            write!(self.trace, "[{instance} {} at {now}] {text}", turned.definition.id)
                .expect("a string takes every text");
        }
        for event in turned.events {
            self.note_event(turned.instance, plan, event);
        }
    }

    fn note_event(&mut self, id: InstanceId, plan: &Plan, event: &Event) {
        if let Some(token) = enters(event)
            && let Some(seen) = self.tokens.get_mut(&(id, token))
            && std::mem::take(&mut seen.arriving)
        {
            let node = seen.node;
            self.enter(id, plan, node);
        }
        match event {
            Event::TokenCreated { token, node, role, .. } => {
                let (arriving, counts) = match role {
                    // The main token of several runs only waits for them.
                    Role::Flow | Role::Branch(_) => {
                        let single = plan.node(*node).repeat.is_none();
                        (single, single)
                    }
                    Role::Run(_) => (true, true),
                    Role::Guard(_) => (false, true),
                    Role::Start | Role::Compensation => (false, false),
                };
                let counts = counts && *token != ROOT;
                let seen = Seen { node: *node, counts, arriving, parked: false };
                self.tokens.insert((id, *token), seen);
            }
            Event::TokenPromoted { token } => {
                let node = self.tokens[&(id, *token)].node;
                self.enter(id, plan, node);
            }
            Event::TokenParked { token, .. } => {
                self.tokens.get_mut(&(id, *token)).expect("it was created").parked = true;
            }
            Event::TokenMoved { token, to, .. } => {
                let seen = &self.tokens[&(id, *token)];
                let recalled = matches!(plan.node(seen.node).element, Element::Boundary(_));
                if seen.counts || recalled {
                    self.complete(id, plan, seen.node);
                }
                let single = plan.node(*to).repeat.is_none();
                let seen = Seen { node: *to, counts: single, arriving: single, parked: false };
                self.tokens.insert((id, *token), seen);
            }
            Event::TokenRetired { token } => {
                let seen = self.tokens.get_mut(&(id, *token)).expect("it was created");
                let (node, counted) = (seen.node, std::mem::take(&mut seen.counts));
                if counted {
                    self.complete(id, plan, node);
                }
            }
            Event::TokenGone { token, state } => {
                let Some(seen) = self.tokens.remove(&(id, *token)) else { return };
                match state {
                    // Of the tokens that a join takes together only one goes on.
                    State::Departed if seen.parked => {}
                    State::Departed | State::Done if seen.counts => {
                        self.complete(id, plan, seen.node);
                    }
                    State::Failed => {
                        if raises_errors(plan, seen.node) {
                            self.complete(id, plan, seen.node);
                        }
                        self.failed.insert((id, Name::clone(&plan.node(seen.node).name)));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, id: InstanceId, plan: &Plan, node: NodeId) {
        self.entered.insert((id, Name::clone(&plan.node(node).name)));
    }

    fn complete(&mut self, id: InstanceId, plan: &Plan, node: NodeId) {
        self.completed.push((id, Name::clone(&plan.node(node).name)));
    }
}

/// The token that does something at its node by this, and so has entered it.
fn enters(event: &Event) -> Option<TokenId> {
    match event {
        Event::TokenGone { state: State::Withdrawn, .. } => None,
        Event::TokenGone { token, .. }
        | Event::TokenState { token, .. }
        | Event::TokenMoved { token, .. }
        | Event::TokenParked { token, .. }
        | Event::TokenRetired { token }
        | Event::LayerOpened { token, .. }
        | Event::WaitOpened { token, .. }
        | Event::IncidentRaised { token, .. } => Some(*token),
        _ => None,
    }
}

/// Whether failing is what the node is there for.
fn raises_errors(plan: &Plan, node: NodeId) -> bool {
    match &plan.node(node).element {
        Element::Throw(throws) => throws.iter().any(|it| matches!(it, Throw::Error { .. })),
        _ => false,
    }
}
