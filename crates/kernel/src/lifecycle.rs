//! What every node goes through: arrive, become ready, be entered, work, complete, exit, leave.
//!
//! A node's own behaviour is in `element`; it only answers with a [`Step`]. Gates, mappings, listeners,
//! status, restrictions, boundary events, compensation and the choice of flows are the same for all nodes
//! and are done here, once.

use std::{borrow::Cow, sync::Arc};

use crate::{
    element::Step,
    plan::{Call, Element, FlowId, Moment, Node, RestrictionScope, ScopeOutput, Write},
    run::Run,
    state::{Cue, ROOT, Role, State},
    vocabulary::{Assignments, Event, Failure, FailureKind, Gate, Reads, Slot, TokenId, WaitFor},
};

impl<'a> Run<'a> {
    /// A token stands at a new node.
    pub(crate) fn arrive(&mut self, token: TokenId) -> Result<(), Failure> {
        let node = self.node_of(token);
        // The main token consumes the ready event for all of its runs.
        let takes_gate = match self.instance.token(token).role {
            Role::Flow | Role::Branch(_) => true,
            Role::Run(_) | Role::Guard(_) | Role::Start | Role::Compensation => false,
        };
        // Who is sent inside by an operator needs nobody else.
        let gathers = node.start_quantity > 1 && !self.instance.bound.contains_key(&token);
        if takes_gate && gathers && !self.gather(token, node) {
            return Ok(());
        }
        if takes_gate && node.gates().ready {
            self.open(token, Slot::Gate(Gate::Ready), WaitFor::Gate(Gate::Ready));
            return Ok(());
        }
        if takes_gate { self.await_data(token) } else { self.ready(token) }
    }

    /// All that the token needs is known.
    pub(crate) fn ready(&mut self, token: TokenId) -> Result<(), Failure> {
        let node = self.node_of(token);
        let role = self.instance.token(token).role;
        if node.repeat.is_some() && !matches!(role, Role::Run(_)) {
            return self.listen(token, Moment::BeforeAll, 0);
        }
        if node.gates().entry && role != Role::Compensation {
            self.emit(Event::TokenState { token, state: State::Ready });
            self.open(token, Slot::Gate(Gate::Entry), WaitFor::Gate(Gate::Entry));
            return Ok(());
        }
        self.enter(token)
    }

    /// Someone decided that the token starts.
    pub(crate) fn enter(&mut self, token: TokenId) -> Result<(), Failure> {
        if token == ROOT {
            return self.enter_process();
        }
        if !self.take_performer(token) {
            return Ok(());
        }
        let node = self.node_of(token);
        if let Some(extras) = &node.extras {
            self.entered = Some((token, self.instance.token(token).status.clone()));
            if node.element.container().is_some() {
                self.operate(token, node, true)?;
            }
            if !extras.inputs.is_empty() {
                let inputs = self.eval_all(token, &extras.inputs)?;
                let own = self.own_layer(token);
                for (name, value) in inputs {
                    self.set(own, name, Some(value));
                }
            }
            self.declare(token, node)?;
            return self.listen(token, Moment::Start, 0);
        }
        self.begin(token)
    }

    /// The token sets to work, now that the listeners have been called.
    pub(crate) fn begin(&mut self, token: TokenId) -> Result<(), Failure> {
        let node = self.node_of(token);
        self.check_restrictions(token, RestrictionScope::Entry)?;
        if !node.boundary.is_empty() {
            self.watch(token, node)?;
        }
        // What comes in is applied before the operators of receive and decision tasks.
        let instant = matches!(node.element, Element::Send(_));
        let lasting = matches!(
            node.element,
            Element::Task
                | Element::Script { .. }
                | Element::BusinessRule(_)
                | Element::Work(_)
                | Element::Call(_)
        );
        if instant || lasting {
            self.operate(token, node, instant)?;
        }
        let step = self.enter_element(token, node)?;
        self.take_step(token, step)
    }

    /// Arms the boundary events of the activity, once for all of its runs.
    fn watch(&mut self, token: TokenId, node: &'a Node) -> Result<(), Failure> {
        let it = self.instance.token(token);
        match (it.role, it.scope) {
            (Role::Run(_), Some(main)) if self.instance.scope(main).watched => Ok(()),
            (Role::Run(_), Some(main)) => self.arm_boundary(main, node),
            _ => self.arm_boundary(token, node),
        }
    }

    /// Acts on what an element answered.
    pub(crate) fn take_step(&mut self, token: TokenId, step: Step) -> Result<(), Failure> {
        match step {
            Step::Wait => {
                self.emit(Event::TokenState { token, state: State::Busy });
                Ok(())
            }
            Step::Settled => Ok(()),
            Step::Leave => {
                // What the work wrote may have made a condition beside it true.
                if !self.instance.token(token).guards.is_empty() {
                    self.weigh_conditions();
                }
                if self.instance.tokens.contains_key(&token) {
                    self.work_done(token)?;
                }
                Ok(())
            }
        }
    }

    /// Applies the operators of the node to the token's status.
    pub(crate) fn operate(
        &mut self,
        token: TokenId,
        node: &Node,
        instant: bool,
    ) -> Result<(), Failure> {
        let Some(extras) = &node.extras else { return Ok(()) };
        for (attribute, program) in &extras.operators {
            let value = self.eval(token, program)?;
            self.set_status(token, attribute, value, instant)?;
        }
        Ok(())
    }

    pub(crate) fn check_restrictions(
        &self,
        token: TokenId,
        at: RestrictionScope,
    ) -> Result<(), Failure> {
        if !self.plan.restricted {
            return Ok(());
        }
        let own = self.instance.token(token).node;
        let mut next = Some(own);
        while let Some(id) = next {
            let node = self.plan.node(id);
            let restrictions = node.extras.iter().flat_map(|it| &it.restrictions);
            for restriction in restrictions {
                let applies = match restriction.scope {
                    RestrictionScope::Full => true,
                    scope if id != own => scope == RestrictionScope::Full,
                    RestrictionScope::Entry => at == RestrictionScope::Entry,
                    RestrictionScope::Exit => at == RestrictionScope::Exit,
                    RestrictionScope::Completion => at != RestrictionScope::Entry,
                };
                if applies && !self.holds(token, &restriction.condition)? {
                    let message = format!("restriction {} is violated", restriction.name);
                    return Err(Failure::new(FailureKind::Restriction, message));
                }
            }
            // What undoes and what handles errors must be possible where the work was not.
            next = if self.plan.stands_alone(id) { None } else { node.parent };
        }
        Ok(())
    }

    /// The token's work is done.
    pub(crate) fn work_done(&mut self, token: TokenId) -> Result<(), Failure> {
        if self.node_of(token).extras.is_none() {
            return self.exit(token);
        }
        self.check_restrictions(token, RestrictionScope::Completion)?;
        self.listen(token, Moment::Completion, 0)
    }

    /// The listeners that come before the output mappings have been called.
    pub(crate) fn completed(&mut self, token: TokenId) -> Result<(), Failure> {
        let node = self.node_of(token);
        if !node.listeners(Moment::End).is_empty() && token != ROOT {
            self.hand_over(token, node)?;
        }
        self.listen(token, Moment::End, 0)
    }

    /// All that can be done in the node is done.
    pub(crate) fn ask_to_leave(&mut self, token: TokenId) -> Result<(), Failure> {
        let it = self.instance.token(token);
        if self.node_of(token).gates().exit && it.role != Role::Compensation {
            if it.state != State::Completed {
                self.emit(Event::TokenState { token, state: State::Completed });
            }
            self.open(token, Slot::Gate(Gate::Exit), WaitFor::Gate(Gate::Exit));
            return Ok(());
        }
        self.exit(token)
    }

    /// Someone decided that the token leaves.
    pub(crate) fn exit(&mut self, token: TokenId) -> Result<(), Failure> {
        let node = self.node_of(token);
        self.check_restrictions(token, RestrictionScope::Exit)?;
        // Chosen before anything is taken down, so that a failure leaves all in place.
        let flows = match self.instance.token(token).role {
            Role::Flow | Role::Branch(_) | Role::Guard(_) => self.choose(token, node)?,
            Role::Run(_) | Role::Start | Role::Compensation => Cow::Borrowed(&[][..]),
        };
        // End listeners have seen what was handed over.
        if node.listeners(Moment::End).is_empty() {
            self.hand_over(token, node)?;
        }
        let enough = self.ad_hoc_is_complete(token, node)?;
        self.hand_back(token);
        self.release_performer(token);
        self.withdraw_guards(token);
        match self.instance.token(token).role {
            Role::Run(index) => self.run_ended(token, index),
            Role::Compensation => {
                let scope = self.instance_scope(token);
                self.withdraw(token, State::Done);
                self.settle(scope);
                Ok(())
            }
            Role::Flow | Role::Branch(_) | Role::Guard(_) | Role::Start => {
                let scope = self.instance_scope(token);
                self.leave(token, node, if enough { &[] } else { &flows });
                if enough {
                    self.complete_ad_hoc(scope);
                }
                Ok(())
            }
        }
    }

    /// Output mappings: what the world around sees of what happened inside.
    pub(crate) fn hand_over(&mut self, token: TokenId, node: &Node) -> Result<(), Failure> {
        let outer = self.base_layer(token);
        let outputs = node.extras.as_ref().map_or(&[][..], |it| &it.outputs);
        let values = self.eval_all(token, outputs)?;
        let everything =
            node.element.container().is_some() && self.plan.policy.scope_output == ScopeOutput::All;
        let inside: Assignments = if everything {
            let variables = &self.instance.layers[&self.instance.token(token).layer].variables;
            let all =
                variables.iter().filter(|(it, _)| node.data().is_none_or(|own| !own.owns(it)));
            all.map(|(name, value)| (Arc::clone(name), value.clone())).collect()
        } else {
            Vec::new()
        };
        let data = self.eval_all(token, node.data().map_or(&[][..], |it| &it.outputs))?;
        self.write_all(outer, inside);
        self.write_all(outer, values);
        self.give_data(outer, data);
        Ok(())
    }

    /// What the work brought goes to where the activity's results belong.
    pub(crate) fn take_results(&mut self, token: TokenId, values: Assignments) {
        for (name, value) in values {
            self.take_result(token, name, Some(value));
        }
    }

    /// What a called process brought is there for the output mappings; the rest goes on only where
    /// the call says so.
    pub(crate) fn take_child_results(&mut self, token: TokenId, values: Assignments) {
        let own = self.own_layer(token);
        for (name, value) in &values {
            self.set(own, Arc::clone(name), Some(value.clone()));
        }
        if let Element::Call(Call { all_out: true, .. }) = self.node_of(token).element {
            let base = self.base_layer(token);
            self.write_all(base, values);
        }
    }

    pub(crate) fn take_result(
        &mut self,
        token: TokenId,
        name: travertine_value::Name,
        value: Option<travertine_value::Value>,
    ) {
        if self.is_status(&name) {
            self.keep_status(token, name, value.unwrap_or_default());
            return;
        }
        let node = self.node_of(token);
        if node.data().is_some_and(|it| it.owns(&name)) {
            let own = self.own_layer(token);
            self.set(own, name, value);
            return;
        }
        let mapped = node.extras.as_ref().is_some_and(|it| !it.outputs.is_empty())
            && self.plan.policy.write != Write::Propagate { mapped: true };
        if mapped {
            // What is mapped is mapped from here; the rest goes with the layer.
            let own = self.own_layer(token);
            self.set(own, name, value);
        } else {
            let base = self.base_layer(token);
            self.write(base, name, value);
        }
    }

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
        for flow in &node.outgoing {
            if Some(*flow) != node.default && self.may_take(token, *flow)? {
                chosen.push(*flow);
            }
        }
        if chosen.is_empty() {
            chosen.extend(node.default);
        }
        if chosen.is_empty() { Err(no_flow()) } else { Ok(Cow::Owned(chosen)) }
    }

    fn may_take(&self, token: TokenId, flow: FlowId) -> Result<bool, Failure> {
        let condition = &self.plan.flow(flow).condition;
        condition.as_ref().map_or(Ok(true), |it| self.holds(token, it))
    }

    /// The token goes along `flows`; where there is none, its path ends.
    pub(crate) fn leave(&mut self, token: TokenId, node: &'a Node, flows: &[FlowId]) {
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

    pub(crate) fn send(
        &mut self,
        flow: FlowId,
        scope: TokenId,
        layer: Reads,
        status: crate::state::Status,
    ) {
        let to = self.plan.flow(flow).to;
        self.create_via(to, Some(flow), scope, Role::Flow, layer, status);
    }

    pub(crate) fn instance_scope(&self, token: TokenId) -> TokenId {
        self.instance.token(token).scope.expect("only the process's token is in no scope")
    }

    /// Looks at a gate that has been decided.
    pub(crate) fn pass_gate(&mut self, token: TokenId, gate: Gate) -> Result<(), Failure> {
        match gate {
            Gate::Ready => self.await_data(token),
            Gate::Data => self.ready(token),
            Gate::Entry => self.enter(token),
            Gate::Exit => self.exit(token),
        }
    }

    /// Where to go on after a failure at this gate was repaired.
    pub(crate) fn cue_of(gate: Gate) -> Cue {
        match gate {
            Gate::Ready | Gate::Data => Cue::Arrive,
            Gate::Entry => Cue::Enter,
            Gate::Exit => Cue::Exit,
        }
    }
}
