//! Fan-out and fan-in: branches with variables of their own, which become one again.

use std::{collections::BTreeMap, sync::Arc};

use travertine_value::{Map, Name, Value};

use crate::{
    element::Step,
    plan::{Element, Events, FlowId, Merge, Node},
    run::Run,
    state::{FanOut, Role, ScopeKind, State},
    status,
    vocabulary::{Assignments, Event, Failure, FailureKind, LayerId, Reads, TokenId},
};

impl<'a> Run<'a> {
    /// Sends a branch with variables of its own along each flow.
    pub(crate) fn fan_out(&mut self, token: TokenId, node: &'a Node) -> Result<Step, Failure> {
        let flows = self.choose(token, node)?;
        if flows.is_empty() {
            return Ok(Step::Leave);
        }
        self.open_fan(token, &flows);
        Ok(Step::Settled)
    }

    pub(crate) fn open_fan(&mut self, host: TokenId, flows: &[FlowId]) {
        let it = self.instance.token(host);
        let (node, layer, status) = (it.node, it.layer, it.status.clone());
        let count = u32::try_from(flows.len()).expect("a node has fewer than 2^32 flows");
        let kind = Box::new(ScopeKind::FanOut(FanOut { count, ..FanOut::default() }));
        let around = self.plan.node(node).parent.and_then(|it| self.plan.container(it));
        let census = around.is_some_and(|it| it.inclusive_joins);
        self.emit(Event::ScopeOpened { scope: host, node, kind, census });
        // A boundary event that has happened is busy with its ways already.
        if self.instance.token(host).state != State::Busy {
            self.emit(Event::TokenState { token: host, state: State::Waiting });
        }
        for (index, flow) in (0..).zip(flows) {
            let (to, via) = (self.plan.flow(*flow).to, Some(*flow));
            let (role, layer) = (Role::Branch(index), Reads::Own(Some(layer)));
            self.create_via(to, via, host, role, layer, status.clone());
        }
    }

    /// A branch has come to a fan-in.
    pub(crate) fn branch_arrives(&mut self, token: TokenId) -> Result<Step, Failure> {
        let at = self.instance.token(token).node;
        let wrong = |message: String| Err(Failure::new(FailureKind::FanIn, message));
        let (host, scope) = self.instance.scope_of(token);
        let name = &self.plan.node(at).name;
        let ScopeKind::FanOut(fan) = &scope.kind else {
            return wrong(format!("{name} is a fan-in, and no fan-out is open here"));
        };
        if let Some(expected) = fan.fan_in.filter(|it| *it != at) {
            let expected = &self.plan.node(expected).name;
            return wrong(format!("a branch came to {name}, the others end at {expected}"));
        }
        self.emit(Event::BranchArrived { token });
        self.settle(host);
        Ok(Step::Settled)
    }

    /// Every branch has come to the fan-in, or has ended before.
    pub(crate) fn fan_in(&mut self, host: TokenId) -> Result<(), Failure> {
        let ScopeKind::FanOut(fan) = &self.instance.scope(host).kind else {
            unreachable!("the caller has seen the kind")
        };
        let fan = fan.clone();
        let Some(at) = fan.fan_in else {
            // No branch came: all of them have ended on their own.
            self.take_merged_status(host);
            let node = self.node_of(host);
            self.merge_at_end(host)?;
            self.leave(host, node, &[]);
            return Ok(());
        };
        let node = self.plan.node(at);
        let Element::FanIn(rule) = &node.element else {
            unreachable!("branches arrive at fan-ins only")
        };
        let merged = self.merge_branches(&fan.branches, rule)?;
        let layer = self.instance.token(host).layer;
        self.write_all(layer, merged);
        if !self.plan.status.is_empty() {
            let statuses = fan.arrived.iter().map(|it| &self.instance.token(*it).status);
            let merged = status::merge(statuses);
            let status = status::settle(&merged, &self.instance.token(host).status);
            self.emit(Event::StatusSet { token: host, status });
        }
        let flows = self.choose(host, node)?;
        for token in fan.arrived {
            self.emit(Event::TokenGone { token, state: State::Departed });
        }
        let outer = self.instance_scope(host);
        if !self.instance.scope(host).compensations.is_empty() {
            self.emit(Event::CompensationsMoved { from: host, to: outer });
        }
        self.emit(Event::ScopeClosed { scope: host });
        let status = self.instance.token(host).status.clone();
        for flow in &*flows {
            self.send(*flow, outer, Reads::Shared(layer), status.clone());
        }
        self.emit(Event::TokenGone { token: host, state: State::Departed });
        self.settle(outer);
        Ok(())
    }

    /// What branches wrote that end apart goes to the layer around them, where the model's dialect has it so.
    fn merge_at_end(&mut self, host: TokenId) -> Result<(), Failure> {
        let ScopeKind::FanOut(fan) = &self.instance.scope(host).kind else {
            unreachable!("the caller has seen the kind")
        };
        if self.plan.policy.events == Events::Strict && !self.goes_apart(host) {
            let merged = self.merge_branches(&fan.branches, &Merge::Last)?;
            let layer = self.instance.token(host).layer;
            self.write_all(layer, merged);
        }
        Ok(())
    }

    /// The branches inside a scope are about to be taken away, innermost first: what they wrote and what they have left to
    /// undo stays.
    pub(crate) fn join_fans(&mut self, scope: TokenId) {
        let is_fan = |host: &TokenId| {
            let inner = self.instance.scopes.get(host);
            inner.is_some_and(|it| matches!(it.kind, ScopeKind::FanOut(_)))
        };
        let hosts: Vec<TokenId> =
            self.instance.scope(scope).live.iter().copied().filter(is_fan).collect();
        for host in hosts {
            self.join_fans(host);
            self.join_fan(host);
        }
    }

    /// The branches of one fan-out are about to be taken away: what they wrote and have left to undo stays.
    pub(crate) fn join_fan(&mut self, host: TokenId) {
        self.merge_at_end(host).expect("the last value is never in conflict");
        if !self.instance.scope(host).compensations.is_empty() {
            let to = self.instance_scope(host);
            self.emit(Event::CompensationsMoved { from: host, to });
        }
    }

    /// What the branches wrote, as one set of variables, by branch and never by arrival.
    fn merge_branches(&self, branches: &[LayerId], rule: &Merge) -> Result<Assignments, Failure> {
        let layers = branches.iter().map(|it| &self.instance.layers[it].variables);
        if let Merge::Append(path) = rule {
            let entries = layers.map(|variables| {
                let fields: Map =
                    variables.iter().map(|(k, v)| (Arc::clone(k), v.clone())).collect();
                Value::from(fields)
            });
            let all = entries.collect::<Vec<Value>>().into();
            self.check_value(&all).map_err(|why| {
                Failure::new(FailureKind::FanIn, format!("variable {path} would be {why}"))
            })?;
            return Ok(vec![(Arc::clone(path), all)]);
        }
        let mut merged: BTreeMap<Name, Option<Value>> = BTreeMap::new();
        for variables in layers {
            for (name, value) in variables {
                let known = merged.get_mut(name);
                match (rule, known) {
                    (_, None) => {
                        merged.insert(Arc::clone(name), Some(value.clone()));
                    }
                    (Merge::Last, Some(known)) => *known = Some(value.clone()),
                    (_, Some(known)) if known.as_ref() == Some(value) => {}
                    (Merge::Agree | Merge::Append(_), Some(known)) => *known = None,
                    (Merge::Conflict, Some(_)) => {
                        let message = format!("branches disagree about variable {name}");
                        return Err(Failure::new(FailureKind::FanIn, message));
                    }
                }
            }
        }
        Ok(merged.into_iter().map(|(name, value)| (name, value.unwrap_or_default())).collect())
    }
}
