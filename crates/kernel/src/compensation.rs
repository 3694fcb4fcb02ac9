//! Compensation: tokens that stay behind completed activities, and what recalls them.
//!
//! An activity with a compensation boundary event leaves a token there when it completes. A
//! sub-process that has something to undo inside stays itself, with its variables as they were.
//! Whoever compensates hosts a scope with a queue of such tokens and recalls one at a time, the
//! youngest first.

use std::collections::BTreeSet;

use travertine_value::Name;

use crate::{
    plan::{Boundary, Element, LOOP_COUNTER, Node, NodeId, Repeat, Trigger},
    run::Run,
    state::{Cue, Role, Scope, ScopeKind, State},
    vocabulary::{Event, Reads, TokenId},
};

impl<'a> Run<'a> {
    /// Leaves something behind for the compensation of a completed activity. Answers whether that
    /// is the token itself.
    pub(crate) fn keep_for_compensation(&mut self, token: TokenId, node: &'a Node) -> bool {
        let role = self.instance.token(token).role;
        if node.for_compensation || role == Role::Compensation {
            return false;
        }
        if let Some(boundary) = node.compensation {
            // A handler that runs as often as the activity undoes all of it; any other undoes one
            // run at a time.
            let is_run = matches!(role, Role::Run(_));
            let of_runs = node.repeat.is_some() && !self.handler_repeats(boundary);
            if is_run == of_runs {
                // What undoes a run waits with the main token until all of them are complete.
                let scope = self.instance_scope(token);
                let main = if is_run { scope } else { token };
                let layer = Reads::Shared(self.base_layer(main));
                let status = self.instance.token(token).status.clone();
                self.create(boundary, scope, Role::Compensation, layer, status);
            }
            return false;
        }
        let Some(scope) = self.instance.scopes.get(&token) else { return false };
        let undoes = self.compensation_event(scope).is_some();
        if !undoes && scope.compensations.is_empty() || scope.kind == ScopeKind::Compensation {
            return false;
        }
        if let Role::Run(_) = role {
            self.keep_own_of_run(token, node);
        }
        self.emit(Event::TokenRetired { token });
        true
    }

    /// A run that stays to be undone is none any more: what it has by being one becomes variables of it.
    fn keep_own_of_run(&mut self, run: TokenId, node: &Node) {
        let layer = self.base_layer(run);
        let mut names = vec![Name::from(LOOP_COUNTER)];
        if let Some(Repeat::Each(each)) = node.repeat.as_deref() {
            names.extend(each.index.iter().chain(&each.item).cloned());
        }
        for name in names {
            let own = !self.instance.layers[&layer].variables.contains_key(&name);
            if let Some(value) = self.view(run).of_run(run, &name).filter(|_| own) {
                self.set(layer, name, Some(value));
            }
        }
    }

    fn handler_repeats(&self, boundary: NodeId) -> bool {
        if let Element::Boundary(Boundary { handler: Some(handler), .. }) =
            self.plan.node(boundary).element
        {
            self.plan.node(handler).repeat.is_some()
        } else {
            false
        }
    }

    /// The event sub-process that undoes the container.
    fn compensation_event(&self, scope: &Scope) -> Option<NodeId> {
        // The scope of several runs is not the inside of the activity; those of the runs are.
        if matches!(scope.kind, ScopeKind::Each(_) | ScopeKind::Loop { .. }) {
            return None;
        }
        let events = &self.plan.container(scope.node)?.events;
        events.iter().copied().find(|event| {
            let (_, start) = self.start_of(*event);
            matches!(start.triggers[..], [Trigger::Compensation])
        })
    }

    /// A compensation throw event. Answers whether there is anything to undo that it waits for.
    pub(crate) fn throw_compensation(
        &mut self,
        token: TokenId,
        activity: Option<NodeId>,
        wait: bool,
    ) -> bool {
        let mut scope = self.instance.container_scope(token);
        let mut scopes = vec![scope];
        // An event sub-process speaks for the container it is in, too.
        while self.instance.scope(scope).kind == ScopeKind::EventSubProcess {
            scope = self.instance.container_scope(scope);
            scopes.push(scope);
        }
        let mut tokens: Vec<TokenId> = scopes
            .into_iter()
            .rev()
            .flat_map(|it| &self.instance.scope(it).compensations)
            .copied()
            .filter(|it| activity.is_none_or(|wanted| self.undoes(*it) == wanted))
            .collect();
        if !tokens.is_empty() {
            // What someone else is about to undo is not undone twice.
            let queues = self.instance.scopes.values().flat_map(|it| &it.queue);
            let queued: BTreeSet<TokenId> = queues.copied().collect();
            tokens.retain(|it| !queued.contains(it));
        }
        if tokens.is_empty() {
            return false;
        }
        let host = if wait { token } else { self.stand_in(token) };
        let node = self.instance.token(host).node;
        let kind = Box::new(ScopeKind::Compensation);
        self.emit(Event::ScopeOpened { scope: host, node, kind, census: false });
        self.emit(Event::CompensationQueued { scope: host, tokens });
        self.emit(Event::TokenState { token: host, state: State::Busy });
        self.settle(host);
        wait
    }

    /// The activity that a token which stays for compensation undoes.
    fn undoes(&self, token: TokenId) -> NodeId {
        let at = self.instance.token(token).node;
        if let Element::Boundary(boundary) = &self.plan.node(at).element {
            boundary.attached_to
        } else {
            at
        }
    }

    /// A token that sees to the compensation while the thrower goes on.
    fn stand_in(&mut self, token: TokenId) -> TokenId {
        let scope = self.instance_scope(token);
        let it = self.instance.token(token);
        let (node, layer, status) = (it.node, Reads::Shared(it.layer), it.status.clone());
        let host = self.create(node, scope, Role::Compensation, layer, status);
        self.emit(Event::TokenRecalled { token: host, scope });
        host
    }

    /// Sends a token that stayed for compensation to work in `scope`.
    pub(crate) fn recall(&mut self, token: TokenId, scope: TokenId) {
        self.emit(Event::TokenRecalled { token, scope });
        let Some(inside) = self.instance.scopes.get(&token) else {
            let Element::Boundary(boundary) = &self.node_of(token).element else {
                unreachable!("what stays and hosts no scope stands at a boundary event")
            };
            let to = boundary.handler.expect("readers see to it that there is a handler");
            self.emit(Event::TokenMoved { token, via: None, to });
            return;
        };
        let (event, all) = (self.compensation_event(inside), inside.compensations.clone());
        self.emit(Event::TokenState { token, state: State::Busy });
        if let Some(event) = event {
            let it = self.instance.token(token);
            let (layer, status) = (Reads::Shared(it.layer), it.status.clone());
            let host = self.create(event, token, Role::Flow, layer, status);
            if let Err(failure) = self.enter(host) {
                self.fail(host, failure, Cue::Enter);
            }
        } else {
            self.emit(Event::CompensationQueued { scope: token, tokens: all });
            self.settle(token);
        }
    }

    /// Whether the token is one that stayed for compensation with its scope.
    pub(crate) fn is_retired(&self, token: TokenId) -> bool {
        self.instance.token(token).role == Role::Compensation
            && !self.node_of(token).for_compensation
    }

    /// What the token stayed for has been done.
    pub(crate) fn undone(&mut self, token: TokenId) {
        let scope = self.instance_scope(token);
        self.withdraw(token, State::Done);
        self.settle(scope);
    }
}
