//! Failure, escalation and cancellation: who hears of it, and what is cleaned up before.
//!
//! One search, nearest first: the error boundary of the activity, the error event sub-process of the
//! scope, then the same for the scope's host, up to the process. Nothing is taken down unless someone
//! up there has a handler: an error that nobody catches stays where it happened, as an incident.

use std::{collections::BTreeMap, sync::Arc};

use travertine_value::{Name, Value};

use crate::{
    plan::{
        Boundary, CompensateOnError, Element, Events, Node, NodeId, ScopeOutput, Trigger,
        UnhandledError,
    },
    run::Run,
    state::{Cue, Failing, ROOT, Role, ScopeKind, State, Status},
    trigger::matches_code,
    vocabulary::{
        Assignments, Catches, Ending, Event, Failure, FailureKind, Post, Slot, TokenId, WaitFor,
    },
};

/// The handler of an error.
#[derive(Clone, Copy, Debug)]
enum Handler {
    /// A boundary event, by its token.
    Boundary(TokenId),
    /// An event sub-process, by the token at its start.
    EventSubProcess(TokenId),
    /// A boundary event without a token yet, because the activity could not be entered.
    Unarmed(NodeId),
}

/// How well a handler fits what was raised. Of two the better one handles it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It catches anything.
    Any,
    /// It names the very code.
    Exact,
}

impl<'a> Run<'a> {
    /// A token has failed; `redo` is what an operator can have tried again.
    pub(crate) fn fail(&mut self, token: TokenId, failure: Failure, redo: Cue) {
        if self.instance.tokens.contains_key(&token) {
            self.fail_with(token, failure, Vec::new(), redo);
        }
    }

    /// A token has failed, with variables for whoever handles it; `redo` is what can be tried again.
    pub(crate) fn fail_with(
        &mut self,
        token: TokenId,
        failure: Failure,
        variables: Assignments,
        redo: Cue,
    ) {
        // What an operator must look at is no error of the model.
        let technical =
            matches!(failure.kind, FailureKind::Steps | FailureKind::Work | FailureKind::Budget(_));
        let caught = self.is_caught(token, &failure)
            || self.plan.policy.unhandled_error == UnhandledError::Fail
            || self.instance.caller.as_ref().is_some_and(|it| it.catch(&failure));
        if technical || !caught {
            self.incident(token, failure, redo);
        } else if self.instance.scopes.contains_key(&token) {
            self.bring_down(token, failure, variables);
        } else {
            self.raise(token, failure, variables);
        }
    }

    fn is_caught(&self, token: TokenId, failure: &Failure) -> bool {
        let mut next = Some(token);
        while let Some(at) = next {
            if self.handler(at, failure).is_some() {
                return true;
            }
            next = self.instance.token(at).scope;
        }
        false
    }

    /// Whoever handles a failure of this token without a look at its scope's host.
    fn handler(&self, token: TokenId, failure: &Failure) -> Option<Handler> {
        let it = self.instance.token(token);
        let guards = it.guards.iter().copied().map(Handler::Boundary).chain(self.unarmed(token));
        let scope = it.scope.map(|scope| self.instance.scope(scope));
        let starts =
            scope.iter().flat_map(|it| it.starts.values().copied()).map(Handler::EventSubProcess);
        let code = failure.code.as_ref();
        let fit = |handler| {
            self.triggers(handler).iter().filter_map(|it| fit(error_code(it)?, code)).max()
        };
        best(guards, fit).or_else(|| best(starts, fit))
    }

    /// The boundary events of the token's activity that have no token. Those of runs are the main
    /// token's.
    fn unarmed(&self, token: TokenId) -> impl Iterator<Item = Handler> {
        let it = self.instance.token(token);
        let boundary: &'a [NodeId] = match it.role {
            Role::Run(_) => &[],
            Role::Flow | Role::Branch(_) | Role::Guard(_) | Role::Start | Role::Compensation => {
                &self.plan.node(it.node).boundary
            }
        };
        let armed = |node: NodeId| it.guards.iter().any(|it| self.instance.token(*it).node == node);
        boundary.iter().copied().filter(move |it| !armed(*it)).map(Handler::Unarmed)
    }

    /// What a handler waits for.
    fn triggers(&self, handler: Handler) -> &'a [Trigger] {
        self.place(handler).element.triggers()
    }

    fn place(&self, handler: Handler) -> &'a Node {
        match handler {
            Handler::Boundary(token) | Handler::EventSubProcess(token) => self.node_of(token),
            Handler::Unarmed(node) => self.plan.node(node),
        }
    }

    /// Takes an error to its handler, scope by scope. Someone above has one, or the instance fails.
    fn raise(&mut self, token: TokenId, failure: Failure, variables: Assignments) {
        if token == ROOT {
            self.end_process(Ending::Failed(failure), State::Failed);
            return;
        }
        if let Some(handler) = self.handler(token, &failure) {
            self.handle_error(token, handler, &failure, variables);
            return;
        }
        let host = self.instance_scope(token);
        let status = self.instance.token(token).status.clone();
        self.copy_status(host, status);
        self.withdraw(token, State::Failed);
        self.bring_down(host, failure, variables);
    }

    /// A scope fails: it is cleared, compensates if it must, and only then is it failed.
    fn bring_down(&mut self, host: TokenId, failure: Failure, variables: Assignments) {
        self.drain(host);
        if let ScopeKind::FanOut(_) = self.instance.scope(host).kind {
            self.join_fan(host);
        }
        self.begin_failing(host, Failing::Error(failure.clone(), variables.clone()));
        if self.compensates_on_error(host) {
            let all = self.instance.scope(host).compensations.clone();
            self.emit(Event::CompensationQueued { scope: host, tokens: all });
            self.settle(host);
        } else {
            self.failed(host, failure, variables);
        }
    }

    fn begin_failing(&mut self, host: TokenId, cause: Failing) {
        self.close_waits(host);
        self.emit(Event::TokenState { token: host, state: State::Failing });
        self.emit(Event::ScopeFailing { scope: host, cause: Box::new(cause) });
    }

    fn compensates_on_error(&self, host: TokenId) -> bool {
        let scope = self.instance.scope(host);
        !scope.compensations.is_empty()
            && match self.plan.policy.compensate_on_error {
                CompensateOnError::Never => false,
                CompensateOnError::Transaction => scope.kind == ScopeKind::Transaction,
                CompensateOnError::Always => true,
            }
    }

    /// A scope has failed and is cleaned up; now its host's world hears of it.
    pub(crate) fn failed(&mut self, host: TokenId, failure: Failure, variables: Assignments) {
        self.cancel_scope(host);
        self.raise(host, failure, variables);
    }

    fn handle_error(
        &mut self,
        token: TokenId,
        handler: Handler,
        failure: &Failure,
        mut variables: Assignments,
    ) {
        let triggers = self.triggers(handler).iter().enumerate();
        let trigger = best(triggers, |(_, it)| fit(error_code(it)?, failure.code.as_ref()));
        if let Some((position, Trigger::Error { code_variable, message_variable, .. })) = trigger {
            variables = self.content(self.place(handler), position, variables);
            if let Some(name) = code_variable {
                let code = failure.code.clone().map_or(Value::Null, Value::String);
                variables.push((Arc::clone(name), code));
            }
            if let Some(name) = message_variable {
                variables.push((Arc::clone(name), failure.message.as_str().into()));
            }
        }
        let status = self.instance.token(token).status.clone();
        let handler = match handler {
            Handler::Unarmed(node) => Handler::Boundary(self.guard(token, node)),
            armed @ (Handler::Boundary(_) | Handler::EventSubProcess(_)) => armed,
        };
        match handler {
            Handler::Unarmed(_) => unreachable!("it has just been armed"),
            Handler::Boundary(guard) => {
                self.copy_status(guard, status);
                self.emit(Event::TokenPromoted { token: guard });
                self.withdraw(token, State::Failed);
                self.take_results(guard, variables);
                self.close_waits(guard);
                self.go_on(guard);
            }
            Handler::EventSubProcess(start) => {
                self.copy_status(start, status);
                self.start_event_sub_process(start, variables, None);
            }
        }
    }

    fn copy_status(&mut self, token: TokenId, status: Status) {
        if status.is_some() && self.instance.token(token).status != status {
            self.emit(Event::StatusSet { token, status });
        }
    }

    /// What is caught around a token, for instances that it calls.
    pub(crate) fn catches(&self, token: TokenId) -> Catches {
        let mut catches = self.instance.caller.clone().unwrap_or_default();
        let mut next = Some(token);
        while let Some(at) = next {
            let it = self.instance.token(at);
            let scope = it.scope.map(|scope| self.instance.scope(scope));
            let starts = scope.iter().flat_map(|it| it.starts.values().copied());
            let handlers = it.guards.iter().copied().map(Handler::Boundary);
            for handler in handlers.chain(starts.map(Handler::EventSubProcess)) {
                for code in self.triggers(handler).iter().filter_map(error_code) {
                    match code {
                        None => catches.all = true,
                        Some(code) => catches.codes.push(Arc::clone(code)),
                    }
                }
                for code in self.ending_escalations(handler).iter().filter_map(escalation_code) {
                    match code {
                        None => catches.ended_by_all = true,
                        Some(code) => catches.ended_by.push(Arc::clone(code)),
                    }
                }
            }
            next = it.scope;
        }
        for codes in [&mut catches.codes, &mut catches.ended_by] {
            codes.sort();
            codes.dedup();
        }
        catches
    }

    /// An escalation goes up from a token until someone takes it. Nobody need. Answers whether the
    /// token must wait, because its caller will end it.
    pub(crate) fn escalate(
        &mut self,
        token: TokenId,
        code: Option<Name>,
        variables: Assignments,
    ) -> bool {
        let mut at = token;
        loop {
            if let Some((guard, boundary)) = self.escalation_boundary(at, code.as_ref()) {
                let status = self.instance.token(token).status.clone();
                self.copy_status(guard, status);
                let mut seen = self.seen_inside(token, at);
                seen.extend(variables);
                let variables = self.with_code(guard, code.as_ref(), seen);
                self.trigger_boundary(guard, at, boundary, variables, None);
                return false;
            }
            let it = self.instance.token(at);
            let (from, Some(scope)) = (it.node, it.scope) else { break };
            if let Some(start) = self.escalation_start(scope, from, code.as_ref()) {
                let status = self.instance.token(token).status.clone();
                self.copy_status(start, status);
                let variables = self.with_code(start, code.as_ref(), variables);
                self.start_event_sub_process(start, variables, None);
                return false;
            }
            let status = self.instance.token(token).status.clone();
            self.copy_status(scope, status);
            at = scope;
        }
        let Some(caller) = &self.instance.caller else { return false };
        let ends = caller.ended_by_all || code.iter().any(|it| caller.ended_by.contains(it));
        let own = self.instance.variables().into_iter().flatten();
        let variables = own.map(|(name, value)| (Arc::clone(name), value.clone())).collect();
        let post = Post::Escalation { code, variables };
        if ends {
            self.open(token, Slot::Own(0), WaitFor::Delivery(post));
        } else {
            self.post(post);
        }
        ends
    }

    /// The variables of a token that those around an activity do not see, where they go with an escalation.
    fn seen_inside(&self, token: TokenId, activity: TokenId) -> Assignments {
        let mut seen = BTreeMap::new();
        let outer = self.base_layer(activity);
        let mut layer = self.instance.token(token).layer;
        while self.plan.policy.events == Events::Strict && layer != outer {
            let it = &self.instance.layers[&layer];
            for (name, value) in &it.variables {
                seen.entry(Arc::clone(name)).or_insert_with(|| value.clone());
            }
            let Some(parent) = it.parent else { break };
            layer = parent;
        }
        seen.into_iter().collect()
    }

    /// What a called process says of itself before its end is mapped as at its end. What it has not
    /// made yet cannot be mapped and is not missed: the error or escalation is what counts.
    pub(crate) fn hear_from_child(&mut self, token: TokenId, variables: Assignments) {
        let node = self.node_of(token);
        self.take_child_results(token, variables);
        let _: Result<(), Failure> = self.hand_over(token, node);
    }

    /// The escalations that make a handler end what raised them.
    fn ending_escalations(&self, handler: Handler) -> &'a [Trigger] {
        let node = self.place(handler);
        let around = node.parent.map(|it| &self.plan.node(it).element);
        let interrupting = if let Element::Boundary(it) = &node.element {
            it.interrupting
        } else if let Some(Element::EventSubProcess(it)) = around {
            it.interrupting
        } else {
            false
        };
        if interrupting { node.element.triggers() } else { &[] }
    }

    fn with_code(
        &self,
        token: TokenId,
        code: Option<&Name>,
        mut variables: Assignments,
    ) -> Assignments {
        let node = self.node_of(token);
        let triggers = node.element.triggers().iter().enumerate();
        let trigger = best(triggers, |(_, it)| fit(escalation_code(it)?, code));
        if let Some((position, Trigger::Escalation { code_variable, .. })) = trigger {
            variables = self.content(node, position, variables);
            if let Some(name) = code_variable {
                let code = code.cloned().map_or(Value::Null, Value::String);
                variables.push((Arc::clone(name), code));
            }
        }
        variables
    }

    fn escalation_boundary(
        &self,
        token: TokenId,
        code: Option<&Name>,
    ) -> Option<(TokenId, &'a Boundary)> {
        let guards = self.instance.token(token).guards.iter().filter_map(|guard| {
            let Element::Boundary(it) = &self.node_of(*guard).element else { return None };
            Some((*guard, it))
        });
        best(guards, |(_, it)| escalation_fit(&it.triggers, code))
    }

    fn escalation_start(
        &self,
        scope: TokenId,
        from: NodeId,
        code: Option<&Name>,
    ) -> Option<TokenId> {
        // What an event sub-process raises itself is for those around it.
        let starts = self.instance.scope(scope).starts.iter();
        let others = starts.filter(|(node, _)| self.plan.node(**node).parent != Some(from));
        let found = best(others, |(node, _)| {
            escalation_fit(self.plan.node(*node).element.triggers(), code)
        });
        found.map(|(_, token)| *token)
    }

    /// A cancel end event: the transaction undoes what it did, then its cancel boundary happens.
    pub(crate) fn cancel_transaction(&mut self, token: TokenId) {
        let mut host = self.instance.container_scope(token);
        while self.instance.scope(host).kind != ScopeKind::Transaction && host != ROOT {
            host = self.instance.container_scope(host);
        }
        if self.plan.policy.events == Events::Strict && self.has_failed_inside(host) {
            self.fail_undone(token, host);
            return;
        }
        self.emit(Event::TokenGone { token, state: State::Done });
        self.drain(host);
        self.begin_failing(host, Failing::Cancelled);
        let all = self.instance.scope(host).compensations.clone();
        if !all.is_empty() {
            self.emit(Event::CompensationQueued { scope: host, tokens: all });
        }
        self.settle(host);
    }

    /// Whether something in a transaction within this one has failed, and nobody has seen to it.
    fn has_failed_inside(&self, host: TokenId) -> bool {
        self.instance.incidents.keys().any(|token| {
            let mut is_inside = false;
            let mut next = self.instance.token(*token).scope;
            while let Some(at) = next {
                if at == host {
                    return is_inside;
                }
                is_inside |= self.instance.scope(at).kind == ScopeKind::Transaction;
                next = self.instance.token(at).scope;
            }
            false
        })
    }

    /// A transaction cannot be cancelled: it fails, and nothing is undone.
    fn fail_undone(&mut self, token: TokenId, host: TokenId) {
        let name = &self.node_of(host).name;
        let message = format!("a transaction in {name} has failed, so {name} cannot be cancelled");
        let code = Some("503".into());
        let failure = Failure { code, ..Failure::new(FailureKind::Error, message) };
        if self.is_caught(host, &failure) {
            self.drain(host);
            self.begin_failing(host, Failing::Error(failure.clone(), Vec::new()));
            self.failed(host, failure, Vec::new());
        } else {
            self.incident(token, failure, Cue::Enter);
        }
    }

    /// A cancelled transaction has undone what it did.
    pub(crate) fn cancelled(&mut self, host: TokenId) {
        let policy = self.plan.policy;
        let is_run = matches!(self.instance.token(host).role, Role::Run(_));
        if policy.events == Events::Strict
            && policy.scope_output == ScopeOutput::All
            && host != ROOT
            && !is_run
        {
            let layer = &self.instance.layers[&self.instance.token(host).layer];
            let all = layer.variables.iter();
            let inside = all.map(|(name, value)| (Arc::clone(name), value.clone())).collect();
            let outer = self.base_layer(host);
            self.write_all(outer, inside);
        }
        self.cancel_scope(host);
        if host == ROOT {
            self.end_process(Ending::Cancelled, State::Failed);
            return;
        }
        // Boundary events watch the main token, not the runs.
        let activity = if let Role::Run(_) = self.instance.token(host).role {
            self.instance_scope(host)
        } else {
            host
        };
        let guards = &self.instance.token(activity).guards;
        let handler = guards.iter().copied().find(|guard| {
            let mut triggers = self.node_of(*guard).element.triggers().iter();
            triggers.any(|it| matches!(it, Trigger::Cancel))
        });
        let scope = self.instance_scope(host);
        if let Some(guard) = handler {
            self.emit(Event::TokenPromoted { token: guard });
            self.withdraw(activity, State::Failed);
            self.go_on(guard);
        } else {
            match (self.instance.token(host).role, &self.instance.scope(scope).kind) {
                (Role::Run(index), ScopeKind::Each(_)) => {
                    self.skip_run(host, index, State::Failed);
                }
                _ => self.withdraw(host, State::Failed),
            }
            self.settle(scope);
        }
    }
}

/// The first of those that fit best.
fn best<T: Copy>(all: impl IntoIterator<Item = T>, fit: impl Fn(T) -> Option<Fit>) -> Option<T> {
    let mut any = None;
    for it in all {
        match fit(it) {
            Some(Fit::Exact) => return Some(it),
            Some(Fit::Any) if any.is_none() => any = Some(it),
            Some(Fit::Any) | None => {}
        }
    }
    any
}

fn fit(wanted: Option<&Name>, raised: Option<&Name>) -> Option<Fit> {
    match wanted {
        None => Some(Fit::Any),
        Some(wanted) => (raised == Some(wanted)).then_some(Fit::Exact),
    }
}

/// The code of the errors a trigger waits for, `Some(None)` for any; `None` where it waits for
/// something else.
#[expect(clippy::option_option, reason = "any code is not the same as no error")]
fn error_code(trigger: &Trigger) -> Option<Option<&Name>> {
    if let Trigger::Error { code, .. } = trigger { Some(code.as_ref()) } else { None }
}

/// The code of the escalations a trigger waits for, `Some(None)` for any; `None` where it waits for
/// something else.
#[expect(clippy::option_option, reason = "any code is not the same as no escalation")]
fn escalation_code(trigger: &Trigger) -> Option<Option<&Name>> {
    if let Trigger::Escalation { code, .. } = trigger { Some(code.as_ref()) } else { None }
}

fn escalation_fit(triggers: &[Trigger], code: Option<&Name>) -> Option<Fit> {
    triggers.iter().filter_map(|it| fit(escalation_code(it)?, code)).max()
}

impl Catches {
    /// Whether the failure is one of them.
    pub(crate) fn catch(&self, failure: &Failure) -> bool {
        self.all || self.codes.iter().any(|code| matches_code(Some(code), failure.code.as_ref()))
    }
}
