//! What events wait for, and what happens when they fire.

use std::{collections::BTreeMap, sync::Arc};

use travertine_value::{Name, Number, Value};

use super::{
    Cue, Done, Failed, Simulation,
    state::{Role, ScopeId, ScopeKind, State, Status, TokenId},
};
use crate::model::{
    AttributeKind, Kind, NodeId, OBJECTIVE, RestrictionAt, Start, TIMESTAMP, Trigger,
};

impl Simulation {
    /// A token is at work at an event: it waits.
    pub(super) fn await_event(&mut self, token: TokenId) -> Done {
        self.mark(token, State::Busy)?;
        let model = Arc::clone(&self.model);
        let Some(trigger) = model.nodes[self.token(token).node].trigger() else { return Ok(()) };
        match trigger {
            Trigger::Message => {
                self.receive(token);
                Ok(())
            }
            Trigger::Signal { name, .. } => {
                let ticket = self.ticket(token);
                self.listeners.entry(Name::clone(name)).or_default().insert(ticket, token);
                Ok(())
            }
            Trigger::Timer(formula) => {
                let due = match formula {
                    Some(formula) => self.value_of(token, formula)?.as_number(),
                    None => None,
                };
                let ticket = self.ticket(token);
                self.timers.insert((due.unwrap_or(Number::ZERO), ticket, token));
                Ok(())
            }
            Trigger::Condition => {
                self.ticket(token);
                for id in self.condition_reads(token) {
                    self.conditions.entry(id).or_default().insert(token);
                }
                self.weigh(token)
            }
            Trigger::Error | Trigger::Escalation | Trigger::Compensation => Ok(()),
        }
    }

    /// The data and globals that a condition depends on.
    fn condition_reads(&self, token: TokenId) -> Vec<usize> {
        let node = self.node_of(token);
        let uses = node.restrictions.iter().map(|it| it.formula.uses());
        let names = uses.flat_map(|it| it.reads.iter().chain(&it.asks));
        let ids = names.filter_map(|it| node.names.get(it).copied());
        ids.filter(|it| {
            self.model.attributes[*it].kind != AttributeKind::Status || *it == OBJECTIVE
        })
        .collect()
    }

    /// Looks at the conditions that read what has changed.
    pub(super) fn weigh_conditions(&mut self) -> Done {
        let touched = std::mem::take(&mut self.touched);
        let mut due: Vec<TokenId> = Vec::new();
        for id in touched {
            let Some(waiting) = self.conditions.get_mut(&id) else { continue };
            waiting.retain(|it| self.tokens.get(it).is_some_and(|it| it.ticket > 0));
            due.extend(waiting.iter());
        }
        due.sort_unstable();
        due.dedup();
        for token in due {
            self.weigh(token)?;
        }
        // What could not be chosen perhaps can be now.
        let stuck = std::mem::take(&mut self.stuck);
        self.requests.extend(stuck);
        Ok(())
    }

    fn weigh(&mut self, token: TokenId) -> Done {
        let model = Arc::clone(&self.model);
        let mut all = true;
        for it in &model.nodes[self.token(token).node].restrictions {
            all &= self.holds(token, &it.formula)?;
        }
        if !all {
            self.token_mut(token).must_fall = false;
        } else if !self.token(token).must_fall && self.token(token).ticket > 0 {
            self.token_mut(token).ticket = 0;
            self.agenda.push_back((token, Cue::Fire));
        }
        Ok(())
    }

    /// Everybody who waits for a signal now has it.
    pub(super) fn broadcast(&mut self, name: &Name, content: &BTreeMap<Name, Value>) -> Done {
        let listeners = self.listeners.remove(name).unwrap_or_default();
        let model = Arc::clone(&self.model);
        for (ticket, token) in listeners {
            let Some(at) = self.tokens.get(&token).filter(|it| it.ticket == ticket) else {
                continue;
            };
            if let Some(Trigger::Signal { content: wanted, .. }) = model.nodes[at.node].trigger() {
                self.take_content(token, wanted, content)?;
            }
            self.token_mut(token).ticket = 0;
            self.agenda.push_back((token, Cue::Fire));
        }
        Ok(())
    }

    /// What came is put where the receiver wants it. What the sender did not send becomes undefined.
    pub(super) fn take_content(
        &mut self,
        token: TokenId,
        wanted: &[(Name, Name)],
        content: &BTreeMap<Name, Value>,
    ) -> Done {
        for (key, attribute) in wanted {
            let Some(id) = self.named(token, attribute) else { continue };
            self.write(token, id, content.get(key).cloned().unwrap_or_default())?;
        }
        Ok(())
    }

    /// The event of a token has happened.
    pub(super) fn fire(&mut self, token: TokenId) -> Done {
        let role = self.token(token).role;
        match role {
            Role::Guard(host) => self.fire_guard(token, host),
            Role::Armed => self.fire_handler(token),
            Role::Behind(gateway) => {
                self.mark(token, State::Completed)?;
                self.token_mut(token).role = Role::Flow;
                self.mark(gateway, State::Completed)?;
                let others = std::mem::take(&mut self.token_mut(gateway).guards);
                for other in others.into_iter().filter(|it| *it != token) {
                    self.withdraw(other)?;
                }
                let scope = self.token(gateway).scope.expect("a gateway is in a scope");
                self.scope_mut(scope).live.insert(token);
                self.drop_token(gateway);
                self.leave(token)
            }
            Role::Flow | Role::Copy(_) | Role::Memory | Role::Undoes(_) => {
                self.mark(token, State::Completed)?;
                self.leave(token)
            }
        }
    }

    /// An event-based gateway offers its events.
    pub(super) fn offer(&mut self, token: TokenId) -> Done {
        self.mark(token, State::Entered)?;
        self.mark(token, State::Busy)?;
        let model = Arc::clone(&self.model);
        let at = self.token(token).clone();
        let mut offered = Vec::new();
        for flow in &model.nodes[at.node].outgoing {
            let (status, label) = (Arc::clone(&at.status), Name::clone(&at.label));
            let role = Role::Behind(token);
            let event = self.make(at.node, at.scope, at.instance, label, status, role);
            self.mark(event, State::Departed)?;
            let to = model.flows[*flow].to;
            self.token_mut(event).node = to;
            self.token_mut(event).from = Some(*flow);
            offered.push(event);
        }
        self.token_mut(token).guards.clone_from(&offered);
        for event in offered {
            self.mark(event, State::Arrived)?;
            self.mark(event, State::Entered)?;
            self.await_event(event)?;
        }
        Ok(())
    }

    /// Tokens stand at the boundary events of an activity, once for all of its copies and rounds.
    pub(super) fn guard(&mut self, token: TokenId) -> Done {
        let host = match self.token(token).role {
            Role::Copy(main) => main,
            _ => token,
        };
        let model = Arc::clone(&self.model);
        let at = self.token(token).clone();
        let boundary = &model.nodes[at.node].boundary;
        if boundary.is_empty() || !self.token(host).guards.is_empty() {
            return Ok(());
        }
        for event in boundary {
            let parent = model.nodes[*event].parent.expect("an event is in a scope");
            let status = self.trimmed(&self.token(host).status, parent);
            self.place_guard(*event, host, Arc::new(status), false)?;
        }
        Ok(())
    }

    fn place_guard(
        &mut self,
        event: NodeId,
        host: TokenId,
        status: Arc<Status>,
        again: bool,
    ) -> Done {
        let at = self.token(host);
        let (scope, instance, label) = (at.scope, at.instance, Name::clone(&at.label));
        let role = Role::Guard(host);
        let guard = self.make(event, scope, instance, label, Arc::clone(&status), role);
        self.token_mut(guard).must_fall = again;
        self.token_mut(guard).placed_with = Some(status);
        self.token_mut(host).guards.push(guard);
        self.mark(guard, State::Entered)?;
        self.await_event(guard)
    }

    /// Whether an event that does not interrupt can happen again.
    fn recurs(&self, node: NodeId) -> bool {
        !matches!(self.model.nodes[node].trigger(), Some(Trigger::Timer(_)) | None)
    }

    fn fire_guard(&mut self, guard: TokenId, host: TokenId) -> Done {
        let node = self.token(guard).node;
        let interrupting =
            matches!(self.model.nodes[node].kind, Kind::Boundary { interrupting: true, .. });
        self.mark(guard, State::Completed)?;
        let scope = self.token(guard).scope.expect("an activity is in a scope");
        self.token_mut(guard).role = Role::Flow;
        self.scope_mut(scope).live.insert(guard);
        self.token_mut(host).guards.retain(|it| *it != guard);
        if interrupting {
            self.withdraw(host)?;
        } else if self.recurs(node)
            && let Some(status) = self.token_mut(guard).placed_with.take()
        {
            // What the host does meanwhile, which may be ahead of the clock, is its own.
            self.place_guard(node, host, status, true)?;
        }
        self.leave(guard)
    }

    /// Arms the event sub-processes of a scope.
    pub(super) fn arm_handlers(&mut self, scope: ScopeId) -> Done {
        let model = Arc::clone(&self.model);
        for handler in &model.nodes[self.scopes[&scope].node].handlers {
            self.arm(*handler, scope, false)?;
        }
        Ok(())
    }

    fn arm(&mut self, handler: NodeId, scope: ScopeId, again: bool) -> Done {
        let model = Arc::clone(&self.model);
        let Kind::EventSubProcess { start } = model.nodes[handler].kind else { return Ok(()) };
        let Kind::Start(Start { interrupting, .. }) = model.nodes[start].kind else {
            return Ok(());
        };
        let host = self.scopes[&scope].host;
        let at = self.token(host).clone();
        let label = if interrupting {
            at.label
        } else {
            let armings = self.scope_mut(scope).armings.entry(handler).or_default();
            *armings += 1;
            format!("{}^{}#{armings}", at.label, model.nodes[handler].id).into()
        };
        let kind = ScopeKind::Handler { interrupting };
        let inner = self.make_scope(handler, host, Some(scope), kind);
        let token = self.make(start, Some(inner), at.instance, label, at.status, Role::Armed);
        self.scope_mut(scope).armed.push(token);
        self.own_of_handler(token, handler, inner);
        self.token_mut(token).must_fall = again;
        self.mark(token, State::Entered)?;
        self.await_event(token)
    }

    /// What is given of the attributes of an event sub-process, with which its start event begins.
    pub(super) fn own_of_handler(&mut self, token: TokenId, handler: NodeId, inner: ScopeId) {
        self.as_handler(token, handler, |run| {
            run.add_own(token);
            run.declare(token, inner);
        });
    }

    /// Does something as if the token at the start event of an event sub-process stood at that itself.
    fn as_handler<T>(
        &mut self,
        token: TokenId,
        handler: NodeId,
        what: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let start = std::mem::replace(&mut self.token_mut(token).node, handler);
        let done = what(self);
        self.token_mut(token).node = start;
        done
    }

    fn fire_handler(&mut self, token: TokenId) -> Done {
        let inner = self.token(token).scope.expect("a handler has a scope");
        let handler = self.scopes[&inner].node;
        let around = self.scopes[&inner].parent.expect("a handler is in a scope");
        let start = self.token(token).node;
        let again = !matches!(self.scopes[&inner].kind, ScopeKind::Handler { interrupting: true });
        self.enter_handler(token, handler)?;
        self.mark(token, State::Completed)?;
        self.token_mut(token).role = Role::Flow;
        self.scope_mut(inner).live.insert(token);
        self.scope_mut(around).armed.retain(|it| *it != token);
        if again {
            self.scope_mut(around).handlers.push(inner);
            if self.recurs(start) {
                self.arm(handler, around, true)?;
            }
        } else {
            self.clear(around, None)?;
            self.scope_mut(around).merged = super::state::Merged::default();
            self.scope_mut(around).handlers.push(inner);
        }
        if !self.handler_holds(token, handler, RestrictionAt::Entry)? {
            return self.fail(token);
        }
        self.arm_handlers(inner)?;
        self.leave(token)
    }

    /// Whether what an event sub-process asks for holds at its beginning or its end.
    pub(super) fn handler_holds(
        &mut self,
        token: TokenId,
        handler: NodeId,
        at: RestrictionAt,
    ) -> Result<bool, Failed> {
        self.as_handler(token, handler, |run| run.restrictions_hold(token, at))
    }

    /// An event sub-process is triggered: its data counts, its attributes are worked out, and its operators are
    /// applied.
    pub(super) fn enter_handler(&mut self, token: TokenId, handler: NodeId) -> Done {
        self.as_handler(token, handler, |run| {
            run.count_given(token)?;
            run.work_out(token)?;
            run.operate(token)
        })
    }

    /// An escalation looks for who handles it: event sub-process, boundary, then the scope around.
    pub(super) fn escalate(&mut self, token: TokenId) -> Result<(), Failed> {
        let status = Arc::clone(&self.token(token).status);
        let mut scope = self.token(token).scope;
        while let Some(id) = scope {
            if let Some(start) = self.armed_for(id, |it| matches!(it, Trigger::Escalation)) {
                self.hand_status(start, &status);
                return self.fire(start);
            }
            // What handles an event in a scope is not part of what that scope handles.
            let host = self.responsible(id);
            let main = match self.token(host).role {
                Role::Copy(main) => main,
                _ => host,
            };
            if let Some(guard) = self.guarded_for(main, |it| matches!(it, Trigger::Escalation)) {
                self.hand_status(guard, &status);
                return self.fire(guard);
            }
            self.hand_status(host, &status);
            scope = self.token(host).scope;
        }
        Ok(())
    }

    /// A token takes over a status, as far as it means something where it is.
    pub(super) fn hand_status(&mut self, token: TokenId, status: &Status) {
        let at = self.token(token);
        let mut taken = self.trimmed(status, at.node);
        for (id, value) in &*at.status {
            // What only the event sub-process has stays.
            if !taken.contains_key(id) && self.node_has(at.node, *id) {
                taken.insert(*id, value.clone());
            }
        }
        // Who has failed at work was perhaps ahead of the clock.
        if taken.get(&TIMESTAMP).and_then(Value::as_number) > Some(self.now) {
            taken.insert(TIMESTAMP, self.now.into());
        }
        self.token_mut(token).status = Arc::new(taken);
    }

    /// Whether an attribute belongs to the event sub-process that a node starts.
    fn node_has(&self, node: NodeId, id: usize) -> bool {
        let parent = self.model.nodes[node].parent;
        let handler =
            parent.filter(|it| matches!(self.model.nodes[*it].kind, Kind::EventSubProcess { .. }));
        handler.is_some_and(|it| self.model.nodes[it].status.contains(&id))
    }

    /// The armed start event of a scope that waits for something.
    pub(super) fn armed_for(
        &self,
        scope: ScopeId,
        wants: impl Fn(&Trigger) -> bool,
    ) -> Option<TokenId> {
        let fits = |it: &&TokenId| self.node_of(**it).trigger().is_some_and(&wants);
        self.scopes[&scope].armed.iter().find(fits).copied()
    }

    /// The boundary event of a host that waits for something.
    pub(super) fn guarded_for(
        &self,
        host: TokenId,
        wants: impl Fn(&Trigger) -> bool,
    ) -> Option<TokenId> {
        let fits = |it: &&TokenId| self.node_of(**it).trigger().is_some_and(&wants);
        self.token(host).guards.iter().find(fits).copied()
    }
}
