//! Tokens move: gateways, throw events, and the ends of paths.

use std::{collections::BTreeMap, sync::Arc};

use travertine_value::Name;

use super::{
    Cue, Done, Failed, Simulation,
    state::{Merged, Role, State, TokenId},
};
use crate::model::{FlowId, Kind, Throw};

impl Simulation {
    /// A token has come to a node.
    pub(super) fn arrive(&mut self, token: TokenId) -> Done {
        let model = Arc::clone(&self.model);
        let node = &model.nodes[self.token(token).node];
        if node.is_activity() {
            return self.arrive_at_activity(token, State::Arrived);
        }
        self.mark(token, State::Arrived)?;
        match &node.kind {
            Kind::Parallel if node.incoming.len() > 1 => self.join(token),
            Kind::Parallel => {
                self.mark(token, State::Entered)?;
                self.depart(token, &node.outgoing)
            }
            Kind::Exclusive => {
                self.mark(token, State::Entered)?;
                match self.first_open(token)? {
                    Some(flow) => self.depart(token, &[flow]),
                    None if node.outgoing.is_empty() => self.end_path(token),
                    None => self.fail(token),
                }
            }
            Kind::EventBased => self.offer(token),
            Kind::Catch(_) => {
                self.mark(token, State::Entered)?;
                self.await_event(token)
            }
            Kind::Throw(throw) => {
                self.mark(token, State::Entered)?;
                self.throw(token, throw)
            }
            _ => unreachable!("nothing leads there"),
        }
    }

    fn throw(&mut self, token: TokenId, throw: &Throw) -> Done {
        match throw {
            Throw::None => {}
            Throw::Message => self.send(token, false),
            Throw::Signal { name, content } => {
                let content: BTreeMap<Name, _> = content
                    .iter()
                    .map(|(key, attribute)| (Name::clone(key), self.read(token, attribute)))
                    .collect();
                self.broadcast(name, &content)?;
            }
            Throw::Error => return self.fail(token),
            Throw::Escalation => self.escalate(token)?,
            Throw::Compensation => return self.compensate(token),
            Throw::Terminate => {
                let scope = self.token(token).scope.expect("an end event is in a scope");
                self.clear(scope, Some(token))?;
            }
        }
        if self.tokens.contains_key(&token) { self.leave(token) } else { Ok(()) }
    }

    /// One token of each flow goes on as one. A second one of the same flow stays for the next round.
    fn join(&mut self, token: TokenId) -> Done {
        self.mark(token, State::Waiting)?;
        let model = Arc::clone(&self.model);
        let at = self.token(token);
        let (node, scope) = (at.node, at.scope.expect("a gateway is in a scope"));
        let mut first: BTreeMap<Option<FlowId>, TokenId> = BTreeMap::new();
        for id in &self.scopes[&scope].live {
            let it = self.token(*id);
            if it.node == node && it.state == State::Waiting {
                first.entry(it.from).or_insert(*id);
            }
        }
        if first.len() < model.nodes[node].incoming.len() {
            return Ok(());
        }
        let mut merged = Merged::default();
        for id in first.values() {
            merged.add(&self.token(*id).status);
            if *id != token {
                self.scope_mut(scope).live.remove(id);
                self.tokens.remove(id);
            }
        }
        if let Some(status) = merged.status() {
            self.token_mut(token).status = Arc::new(status);
        }
        self.mark(token, State::Entered)?;
        self.depart(token, &model.nodes[node].outgoing)
    }

    fn opens(&self, token: TokenId, flow: FlowId) -> Result<bool, Failed> {
        for it in &self.model.flows[flow].gatekeepers {
            if !self.holds(token, it)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The first flow that opens, else the default flow.
    fn first_open(&self, token: TokenId) -> Result<Option<FlowId>, Failed> {
        let node = self.node_of(token);
        for flow in node.outgoing.iter().filter(|it| node.default != Some(**it)) {
            if self.opens(token, *flow)? {
                return Ok(Some(*flow));
            }
        }
        Ok(node.default)
    }

    /// The token goes on by the flows of its node that are open, or has come to an end.
    pub(super) fn leave(&mut self, token: TokenId) -> Done {
        let model = Arc::clone(&self.model);
        let node = &model.nodes[self.token(token).node];
        if node.outgoing.is_empty() {
            return self.end_path(token);
        }
        let mut open = Vec::new();
        for flow in node.outgoing.iter().filter(|it| node.default != Some(**it)) {
            if self.opens(token, *flow)? {
                open.push(*flow);
            }
        }
        if open.is_empty() {
            open.extend(node.default);
        }
        if open.is_empty() { self.fail(token) } else { self.depart(token, &open) }
    }

    /// One token goes by each flow.
    pub(super) fn depart(&mut self, token: TokenId, flows: &[FlowId]) -> Done {
        let Some((last, others)) = flows.split_last() else { return self.end_path(token) };
        let mut gone = Vec::new();
        for flow in others {
            let at = self.token(token).clone();
            let status = Arc::clone(&at.status);
            let copy = self.make(at.node, at.scope, at.instance, at.label, status, Role::Flow);
            let scope = at.scope.expect("what departs is in a scope");
            self.scope_mut(scope).live.insert(copy);
            gone.push((copy, *flow));
        }
        gone.push((token, *last));
        for (token, flow) in gone {
            self.mark(token, State::Departed)?;
            let to = self.model.flows[flow].to;
            let at = self.token_mut(token);
            at.from = Some(flow);
            at.node = to;
            at.role = Role::Flow;
            at.number = 1;
            at.ticket = 0;
            self.agenda.push_back((token, Cue::Arrive));
        }
        Ok(())
    }

    /// No flow leaves the node.
    pub(super) fn end_path(&mut self, token: TokenId) -> Done {
        self.mark(token, State::Done)?;
        let gone = self.tokens.remove(&token).expect("the token is there");
        let scope = gone.scope.expect("what has come to an end is in a scope");
        let ad_hoc = matches!(self.model.nodes[self.scopes[&scope].node].kind, Kind::AdHoc { .. });
        let around = self.scope_mut(scope);
        around.live.remove(&token);
        // Children of an ad-hoc sub-process share data, and hand nothing over.
        if !ad_hoc {
            around.merged.add(&gone.status);
        }
        self.settle(scope)
    }
}
