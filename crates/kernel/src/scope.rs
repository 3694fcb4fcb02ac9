//! Scopes: opening, the end of the last token, cancellation. The same for all kinds of scope.

use crate::{
    element::Step,
    plan::{Compensation, Element, Moment, NodeId, RestrictionScope},
    run::Run,
    state::{Cue, Failing, InstanceState, ROOT, Role, ScopeKind, State},
    status,
    vocabulary::{Ending, Event, Failure, FailureKind, Reads, TokenId},
};

/// Scopes nested deeper than this are a gosub that never returns.
pub(crate) const DEPTH_MAX: u32 = 512;

impl Run<'_> {
    /// Opens the inside of the container that the token stands at.
    pub(crate) fn open_container(
        &mut self,
        token: TokenId,
        kind: ScopeKind,
    ) -> Result<Step, Failure> {
        let node = self.instance.token(token).node;
        self.open_scope(token, node, kind)
    }

    pub(crate) fn open_gosub(&mut self, token: TokenId, process: NodeId) -> Result<Step, Failure> {
        self.declare(token, self.plan.node(process))?;
        self.open_scope(token, process, ScopeKind::Gosub)
    }

    fn open_scope(
        &mut self,
        token: TokenId,
        node: NodeId,
        kind: ScopeKind,
    ) -> Result<Step, Failure> {
        if self.instance.scope_of(token).1.depth >= DEPTH_MAX {
            let message = format!("scopes are nested deeper than {DEPTH_MAX}");
            return Err(Failure::new(FailureKind::Depth, message));
        }
        let container = self.plan.container(node).expect("only containers have an inside");
        let own = self.own_layer(token);
        let bound = self.instance.bound.get(&token).cloned().unwrap_or_default();
        let chosen = if bound.is_empty() { self.begins_with(token, node)? } else { None };
        let awaited = self.awaited_by(token, &container.events)?;
        let census = container.inclusive_joins;
        self.emit(Event::ScopeOpened { scope: token, node, kind: Box::new(kind), census });
        self.emit(Event::TokenState { token, state: State::Busy });
        self.arm_event_sub_processes(token, awaited);
        if !bound.is_empty() {
            self.begin_inside(token, own, bound);
        } else if let Element::EventSubProcess(it) = &self.plan.node(node).element {
            self.begin_at(token, it.start);
        } else {
            for start in chosen.as_ref().unwrap_or(&container.starts) {
                self.begin_at(token, *start);
            }
        }
        if chosen.is_none_or(|it| !it.is_empty()) {
            self.settle(token);
        }
        Ok(Step::Settled)
    }

    /// Puts a token at a start of the scope.
    pub(crate) fn begin_at(&mut self, scope: TokenId, start: NodeId) {
        let host = self.instance.token(scope);
        let (layer, status) = (Reads::Shared(host.layer), host.status.clone());
        self.create(start, scope, Role::Flow, layer, status);
    }

    /// Looks whether the scope still waits for anyone.
    pub(crate) fn settle(&mut self, scope: TokenId) {
        if !self.stays_open(scope) {
            self.settle_now(scope);
        }
    }

    /// Looks whether a scope that nobody keeps open still waits for anyone.
    pub(crate) fn settle_now(&mut self, scope: TokenId) {
        let it = self.instance.scope(scope);
        let settled = it.is_settled();
        // Once only event sub-processes are running, no other may begin.
        if !it.starts.is_empty() && it.live.len() == it.events as usize {
            self.withdraw_starts(scope);
        }
        if settled {
            self.emit(Event::TokenCued { token: scope, cue: Cue::Childless });
        }
    }

    /// The last token of the scope is gone.
    pub(crate) fn childless(&mut self, host: TokenId) -> Result<(), Failure> {
        let scope = self.instance.scope(host);
        if !scope.is_settled() {
            return Ok(());
        }
        if let Some(&next) = scope.queue.last() {
            match self.plan.policy.compensation {
                Compensation::InTurn => self.recall(next, host),
                Compensation::Together => {
                    for token in scope.queue.clone().into_iter().rev() {
                        self.recall(token, host);
                    }
                }
            }
            return Ok(());
        }
        if let Some(cause) = scope.failing.clone() {
            match cause {
                Failing::Error(failure, variables) => self.failed(host, failure, variables),
                Failing::Cancelled => self.cancelled(host),
            }
            return Ok(());
        }
        match scope.kind {
            ScopeKind::Process => {
                self.take_merged_status(host);
                self.check_restrictions(host, RestrictionScope::Exit)?;
                // While listeners are called nothing may begin any more.
                self.withdraw_starts(host);
                self.listen(host, Moment::Completion, 0)
            }
            ScopeKind::SubProcess
            | ScopeKind::EventSubProcess
            | ScopeKind::Transaction
            | ScopeKind::AdHoc
            | ScopeKind::Gosub => {
                if self.is_retired(host) {
                    self.undone(host);
                    return Ok(());
                }
                self.withdraw_starts(host);
                self.take_merged_status(host);
                self.work_done(host)
            }
            ScopeKind::Compensation => self.work_done(host),
            ScopeKind::FanOut(_) => self.fan_in(host),
            ScopeKind::Each(_) | ScopeKind::Loop { .. } => {
                if self.is_retired(host) {
                    self.undone(host);
                    return Ok(());
                }
                self.runs_done(host)
            }
        }
    }

    /// The host takes over what its tokens agree on.
    pub(crate) fn take_merged_status(&mut self, host: TokenId) {
        if self.plan.status.is_empty() || self.performs(host) {
            return;
        }
        let done = &self.instance.scope(host).done;
        if done.values.is_empty() {
            return;
        }
        let status = status::settle(done, &self.instance.token(host).status);
        self.emit(Event::StatusSet { token: host, status });
    }

    /// The process is complete.
    pub(crate) fn finish_process(&mut self) {
        self.end_process(Ending::Completed, State::Done);
    }

    /// Ends the instance with what is left of it.
    pub(crate) fn end_process(&mut self, ending: Ending, state: State) {
        self.close_waits(ROOT);
        self.cancel_scope(ROOT);
        self.forget_arguments();
        self.emit(Event::TokenGone { token: ROOT, state });
        self.emit(Event::Finished { ending });
    }

    /// Takes everything out of a scope, innermost first, and removes it. Does nothing where there is
    /// no such scope.
    pub(crate) fn cancel_scope(&mut self, scope: TokenId) {
        if self.instance.scopes.contains_key(&scope) {
            self.clear(scope);
            let staying = self.instance.scope(scope).compensations.clone();
            for token in staying.into_iter().rev() {
                self.withdraw(token, State::Withdrawn);
            }
            self.emit(Event::ScopeClosed { scope });
        }
    }

    /// Takes everything out of a scope but what stays for compensation, that of open branches among it.
    pub(crate) fn drain(&mut self, scope: TokenId) {
        self.join_fans(scope);
        self.clear(scope);
    }

    fn clear(&mut self, scope: TokenId) {
        let live: Vec<TokenId> = self.instance.scope(scope).live.iter().copied().collect();
        for token in live {
            self.withdraw(token, State::Withdrawn);
        }
        self.withdraw_starts(scope);
    }

    pub(crate) fn withdraw_starts(&mut self, scope: TokenId) {
        let starts: Vec<TokenId> = self.instance.scope(scope).starts.values().copied().collect();
        for token in starts {
            self.withdraw(token, State::Withdrawn);
        }
    }

    /// Takes a token away, with all that works for it and all it waits for.
    pub(crate) fn withdraw(&mut self, token: TokenId, state: State) {
        self.cancel_scope(token);
        self.withdraw_guards(token);
        self.close_waits(token);
        self.release_performer(token);
        self.emit(Event::TokenGone { token, state });
    }

    pub(crate) fn withdraw_guards(&mut self, token: TokenId) {
        while let Some(guard) = self.instance.token(token).guards.last().copied() {
            self.withdraw(guard, State::Withdrawn);
        }
    }

    pub(crate) fn close_waits(&mut self, token: TokenId) {
        while let Some(wait) = self.instance.token(token).waits.last().map(|(it, ())| *it) {
            self.emit(Event::WaitClosed { wait });
        }
    }

    /// Ends every token of the innermost container around the token, the token included.
    pub(crate) fn terminate(&mut self, token: TokenId) {
        let scope = self.instance.container_scope(token);
        self.emit(Event::TokenGone { token, state: State::Done });
        self.drain(scope);
        self.settle_now(scope);
    }
}

impl InstanceState {
    /// The innermost scope around a token that is the inside of a container.
    pub(crate) fn container_scope(&self, token: TokenId) -> TokenId {
        let (mut id, mut scope) = self.scope_of(token);
        while matches!(
            scope.kind,
            ScopeKind::FanOut(_)
                | ScopeKind::Each(_)
                | ScopeKind::Loop { .. }
                | ScopeKind::Compensation
        ) {
            (id, scope) = self.scope_of(id);
        }
        id
    }
}

impl crate::state::Scope {
    /// Whether all tokens it must wait for are gone, or have come to the fan-in.
    pub(crate) fn is_settled(&self) -> bool {
        match &self.kind {
            ScopeKind::FanOut(fan) => self.live.len() == fan.arrived.len(),
            ScopeKind::Process
            | ScopeKind::SubProcess
            | ScopeKind::EventSubProcess
            | ScopeKind::Transaction
            | ScopeKind::AdHoc
            | ScopeKind::Each(_)
            | ScopeKind::Loop { .. }
            | ScopeKind::Gosub
            | ScopeKind::Compensation => self.is_empty(),
        }
    }
}
