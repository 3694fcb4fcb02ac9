//! Leaving a node: which flows are taken, and what goes along them.

use std::borrow::Cow;

use crate::{
    plan::{Element, Flow, FlowId, Node},
    run::Run,
    state::{Role, State, Status},
    vocabulary::{Event, Failure, FailureKind, Part, Reads, TokenId},
};

impl<'a> Run<'a> {
    /// The flows by which a token leaves, where there is room for all that leave.
    pub(crate) fn choose(
        &self,
        token: TokenId,
        node: &'a Node,
    ) -> Result<Cow<'a, [FlowId]>, Failure> {
        let flows = self.choose_any(token, node)?;
        let leaving = flows.len().saturating_mul(node.completion_quantity as usize);
        if leaving > 1 {
            self.room_for(leaving - 1, &node.name)?;
        }
        Ok(flows)
    }

    fn choose_any(&self, token: TokenId, node: &'a Node) -> Result<Cow<'a, [FlowId]>, Failure> {
        let no_flow = || {
            let message = format!("no flow that leaves {} can be taken", node.name);
            Failure::new(FailureKind::NoFlow, message)
        };
        if matches!(node.element, Element::Exclusive) && !node.outgoing.is_empty() {
            for flow in &node.outgoing {
                if Some(*flow) != node.default && self.may_take(token, *flow)? {
                    return Ok(Cow::Borrowed(std::slice::from_ref(flow)));
                }
            }
            return node
                .default
                .as_ref()
                .map(|flow| Cow::Borrowed(std::slice::from_ref(flow)))
                .ok_or_else(no_flow);
        }
        if !node.conditional {
            return Ok(Cow::Borrowed(&node.outgoing));
        }
        let mut chosen = Vec::new();
        let mut by_condition = false;
        for flow in &node.outgoing {
            if Some(*flow) != node.default && self.may_take(token, *flow)? {
                by_condition |= self.plan.flow(*flow).condition.is_some();
                chosen.push(*flow);
            }
        }
        // BPMN 2.0, 13.2.1: what leaves an activity by no condition says nothing about the default.
        let is_gateway = matches!(
            node.element,
            Element::Inclusive | Element::FanOut | Element::FanIn(_) | Element::Complex { .. }
        );
        if chosen.is_empty() || !by_condition && !is_gateway {
            chosen.extend(node.default);
        }
        if chosen.is_empty() { Err(no_flow()) } else { Ok(Cow::Owned(chosen)) }
    }

    fn may_take(&self, token: TokenId, flow: FlowId) -> Result<bool, Failure> {
        let Flow { condition, name, .. } = self.plan.flow(flow);
        let Some(condition) = condition else { return Ok(true) };
        self.holds(token, condition).map_err(|it| it.at(Part::Condition, name))
    }

    /// The token goes along `flows`; where there is none, its path ends.
    pub(crate) fn leave(&mut self, token: TokenId, node: &'a Node, flows: &[FlowId]) {
        if !flows.is_empty() && self.goes_apart(token) {
            self.open_fan(token, flows);
            return;
        }
        let stays = self.keep_for_compensation(token, node);
        let scope = self.instance_scope(token);
        let layer = Reads::Shared(self.base_layer(token));
        let status = self.instance.token(token).status.clone();
        let flows: Cow<'_, [FlowId]> = match node.completion_quantity {
            1 => Cow::Borrowed(flows),
            times => Cow::Owned(flows.repeat(times as usize)),
        };
        let Some((first, others)) = flows.split_first() else {
            if !stays {
                self.cancel_scope(token);
                self.emit(Event::TokenGone { token, state: State::Done });
            }
            self.settle(scope);
            return;
        };
        // A token that has hosted a scope has given it its name, so another one goes on.
        let moves = !stays && !node.hosts();
        if moves {
            self.close_layers(token);
            let to = self.plan.flow(*first).to;
            self.emit(Event::TokenMoved { token, via: Some(*first), to });
        } else {
            self.send(*first, scope, layer, status.clone());
        }
        for flow in others {
            self.send(*flow, scope, layer, status.clone());
        }
        if !moves && !stays {
            self.cancel_scope(token);
            self.emit(Event::TokenGone { token, state: State::Departed });
        }
    }

    /// Whether the token stands at a boundary event whose ways have variables of their own.
    pub(crate) fn goes_apart(&self, token: TokenId) -> bool {
        self.node_of(token).extras.as_ref().is_some_and(|it| it.apart)
    }

    pub(crate) fn send(&mut self, flow: FlowId, scope: TokenId, layer: Reads, status: Status) {
        let to = self.plan.flow(flow).to;
        self.create_via(to, Some(flow), scope, Role::Flow, layer, status);
    }

    pub(crate) fn instance_scope(&self, token: TokenId) -> TokenId {
        self.instance.token(token).scope.expect("only the process's token is in no scope")
    }
}
