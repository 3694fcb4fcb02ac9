//! What instances have done, by the ids of the model.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use travertine_draw::Marks;
use travertine_kernel::{Event, FlowId, Instance, NodeId, Plan, ROOT, Role, TokenId};
use travertine_runtime::InstanceId;

/// Looks on while instances run. Shared by whoever looks on and whoever wants to know.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    marks: Marks,
    tokens: BTreeMap<(InstanceId, TokenId), Seen>,
}

/// Where a token is.
#[derive(Clone, Copy, Debug)]
struct Seen {
    node: NodeId,
    /// Whether it waits at a join. Of the tokens that a join takes together only one counts.
    parked: bool,
    /// Whether it counts as having entered its node.
    counts: bool,
}

impl Journal {
    /// Notes what an instance does.
    pub fn note(&self, instance: InstanceId, plan: &Plan, events: &[Event]) {
        let noted = &mut *self.0.lock().expect("nobody fails while looking on");
        for event in events {
            noted.note(instance, plan, event);
        }
    }

    /// Notes that an instance goes on by another plan: whoever stands at a node has entered the one that
    /// it became.
    pub fn migrate(&self, instance: InstanceId, plans: (&Plan, &Plan), nodes: &[(NodeId, NodeId)]) {
        let noted = &mut *self.0.lock().expect("nobody fails while looking on");
        let nodes: BTreeMap<NodeId, NodeId> = nodes.iter().copied().collect();
        for ((_, _), seen) in noted.tokens.iter_mut().filter(|((it, _), _)| *it == instance) {
            let Some(new) = nodes.get(&seen.node).copied() else { continue };
            let (from, to) = (&plans.0.node(seen.node).name, &plans.1.node(new).name);
            seen.node = new;
            if seen.counts && from != to {
                let before = noted.marks.nodes.entry(from.to_string()).or_default();
                before.visits = before.visits.saturating_sub(1);
                noted.marks.nodes.entry(to.to_string()).or_default().visits += 1;
            }
        }
    }

    /// What was noted, and where tokens are now.
    pub fn marks<'a>(&self, instances: impl Iterator<Item = (&'a Plan, &'a Instance)>) -> Marks {
        let mut marks = self.0.lock().expect("nobody fails while looking on").marks.clone();
        for (plan, state) in instances {
            for (id, token) in &state.tokens {
                // Whoever hosts others is where they are; whoever stands beside waits only in case.
                let flows = match token.role {
                    Role::Flow | Role::Run(_) | Role::Branch(_) => true,
                    Role::Guard(_) | Role::Start | Role::Compensation => false,
                };
                if flows && *id != ROOT && !state.scopes.contains_key(id) {
                    let name = plan.node(token.node).name.to_string();
                    marks.nodes.entry(name).or_default().tokens += 1;
                }
            }
            for token in state.incidents.keys() {
                if let Some(token) = state.tokens.get(token) {
                    let name = plan.node(token.node).name.to_string();
                    marks.nodes.entry(name).or_default().incidents += 1;
                }
            }
        }
        marks
    }
}

impl Noted {
    fn note(&mut self, instance: InstanceId, plan: &Plan, event: &Event) {
        match event {
            Event::TokenCreated { token, node, role, via, .. } => {
                self.take(plan, *via);
                let single = plan.node(*node).repeat.is_none();
                let counts = match role {
                    // The main token of several runs only waits for them.
                    Role::Flow | Role::Branch(_) => single && *token != ROOT,
                    Role::Run(_) => true,
                    Role::Guard(_) | Role::Start | Role::Compensation => false,
                };
                if counts {
                    self.visit(plan, *node);
                }
                let seen = Seen { node: *node, parked: false, counts };
                self.tokens.insert((instance, *token), seen);
            }
            Event::TokenMoved { token, via, to } => {
                self.take(plan, *via);
                let counts = plan.node(*to).repeat.is_none();
                let seen = Seen { node: *to, parked: false, counts };
                let before = self.tokens.insert((instance, *token), seen);
                if let Some(before) = before.filter(|it| it.parked) {
                    self.visit(plan, before.node);
                }
                if counts {
                    self.visit(plan, *to);
                }
            }
            Event::TokenPromoted { token } => {
                if let Some(seen) = self.tokens.get_mut(&(instance, *token)) {
                    seen.counts = true;
                    let node = seen.node;
                    self.visit(plan, node);
                }
            }
            Event::TokenParked { token, .. } => {
                if let Some(seen) = self.tokens.get_mut(&(instance, *token))
                    && !std::mem::replace(&mut seen.parked, true)
                {
                    let name = plan.node(seen.node).name.to_string();
                    let mark = self.marks.nodes.entry(name).or_default();
                    mark.visits = mark.visits.saturating_sub(1);
                }
            }
            Event::TokenGone { token, .. } => {
                self.tokens.remove(&(instance, *token));
            }
            _ => {}
        }
    }

    fn visit(&mut self, plan: &Plan, node: NodeId) {
        let name = plan.node(node).name.to_string();
        self.marks.nodes.entry(name).or_default().visits += 1;
    }

    fn take(&mut self, plan: &Plan, flow: Option<FlowId>) {
        if let Some(flow) = flow {
            *self.marks.flows.entry(plan.flow(flow).name.to_string()).or_default() += 1;
        }
    }
}
