//! What activities and processes go through, from READY to where they leave.

use std::{collections::BTreeMap, sync::Arc};

use travertine_lang::bpmnos::Formula;
use travertine_value::{Name, Number, Value};

use super::{
    Cue, DecisionKind, Done, Failed, Outcome, Simulation,
    state::{Copies, Merged, Performer, Role, Scope, ScopeId, ScopeKind, State, Status, TokenId},
};
use crate::model::{
    AttributeKind, Kind, NodeId, Repeat, Restriction, RestrictionAt, Start, TIMESTAMP, Trigger,
    names_in,
};

/// More copies are not made of one activity.
const COPIES_MAX: i64 = 100_000;

impl Simulation {
    /// A token has come to an activity.
    pub(super) fn arrive_at_activity(&mut self, token: TokenId, state: State) -> Done {
        self.mark(token, state)?;
        // Its own attributes, which may say the number of copies, may not be known yet.
        if self.makes_copies(token) && !self.counts_by_own(token) {
            return self.copy(token);
        }
        self.await_ready(token);
        Ok(())
    }

    /// Whether copies of the token do the work.
    fn makes_copies(&self, token: TokenId) -> bool {
        matches!(self.node_of(token).repeat, Some(Repeat::Each { .. }))
            && self.token(token).role == Role::Flow
    }

    fn counts_by_own(&self, token: TokenId) -> bool {
        let node = self.node_of(token);
        let Some(Repeat::Each { cardinality: Some(cardinality), .. }) = &node.repeat else {
            return false;
        };
        let mut read = names_in(cardinality).filter_map(|it| node.names.get(it));
        read.any(|it| node.status.contains(it))
    }

    /// It becomes ready when all that concerns it is disclosed.
    fn await_ready(&mut self, token: TokenId) {
        let at = self.token(token);
        let disclosed = &self.scenario.instances[at.instance].disclosed;
        let times = self.model.around(at.node).filter_map(|it| disclosed.get(&it).copied());
        let since = times.fold(Number::ZERO, Number::max);
        let ticket = self.ticket(token);
        self.ready.insert((since, ticket, token));
    }

    /// The token waits anew.
    pub(super) fn ticket(&mut self, token: TokenId) -> u64 {
        let ticket = self.number();
        self.token_mut(token).ticket = ticket;
        ticket
    }

    /// Makes the copies of a multi-instance activity.
    fn copy(&mut self, main: TokenId) -> Done {
        let model = Arc::clone(&self.model);
        let node = self.token(main).node;
        let Some(Repeat::Each { sequential, cardinality, index }) = &model.nodes[node].repeat
        else {
            return Ok(());
        };
        let messages = i64::try_from(model.nodes[node].messages.len()).unwrap_or(i64::MAX);
        let count = match cardinality {
            Some(cardinality) => self.number_of_copies(main, cardinality)?,
            None => messages,
        };
        // One message is that of all copies.
        if messages > 1 && messages != count {
            let message =
                format!("there are {messages} messages, and the number of copies is {count}");
            return Err(self.failed(main, &message));
        }
        self.mark(main, State::Waiting)?;
        let at = self.token(main).clone();
        let base = format!("{}^{}#", at.label, model.nodes[node].id);
        let mut copies = Copies::default();
        for number in 1..=count {
            let label = Name::from(format!("{base}{number}"));
            let status = Arc::clone(&at.status);
            let copy = self.make(node, at.scope, at.instance, label, status, Role::Copy(main));
            self.token_mut(copy).number = usize::try_from(number).unwrap_or(usize::MAX);
            copies.open.insert(copy);
            copies.next.push_back(copy);
        }
        let made = copies.next.clone();
        self.token_mut(main).copies = Some(copies);
        for copy in &made {
            self.set_index(*copy, index.as_ref())?;
            self.mark(*copy, State::Created)?;
        }
        if *sequential {
            self.next_copy(main);
        } else {
            if let Some(copies) = &mut self.token_mut(main).copies {
                copies.next.clear();
            }
            for copy in made {
                self.await_ready(copy);
            }
        }
        Ok(())
    }

    /// What the cardinality is. Attributes of the activity itself can be read, but only its copies carry them.
    fn number_of_copies(&mut self, main: TokenId, cardinality: &Formula) -> Result<i64, Failed> {
        let before = Arc::clone(&self.token(main).status);
        self.add_own(main);
        self.work_out_status(main)?;
        let count = self.value_of(main, cardinality)?;
        self.token_mut(main).status = before;
        let count = count.as_number().and_then(Number::to_i64);
        count.filter(|it| (1..=COPIES_MAX).contains(it)).ok_or_else(|| {
            let message = format!(
                "`{}` is no number of copies: it must be whole, and from 1 to {COPIES_MAX}",
                cardinality.source()
            );
            self.failed(main, &message)
        })
    }

    /// The next copy may begin, where one comes after the other.
    fn next_copy(&mut self, main: TokenId) {
        let copies = self.token_mut(main).copies.as_mut();
        if let Some(next) = copies.and_then(|it| it.next.pop_front()) {
            self.await_ready(next);
        }
    }

    /// Tells a token which copy or round it is.
    fn set_index(&mut self, token: TokenId, index: Option<&Name>) -> Done {
        let at = self.token(token);
        let Some(id) = index.and_then(|it| self.named(token, it)) else { return Ok(()) };
        let attribute = &self.model.attributes[id];
        // Data of the activity itself is there once that is let in.
        let later = attribute.kind == AttributeKind::Data
            && attribute.owner == Some(at.node)
            && at.inner.is_none();
        if later { Ok(()) } else { self.write(token, id, at.number.into()) }
    }

    /// All that the token needs is known.
    pub(super) fn become_ready(&mut self, token: TokenId) -> Done {
        if self.makes_copies(token) {
            return self.copy(token);
        }
        self.add_own(token);
        let scenario = Arc::clone(&self.scenario);
        let at = self.token(token);
        if let Some(given) = scenario.instances[at.instance].ready.get(&at.node) {
            self.given(token, given, "READY")?;
        }
        self.mark(token, State::Ready)?;
        self.ask(token, DecisionKind::Entry);
        Ok(())
    }

    /// The token is let in.
    pub(super) fn let_in(&mut self, token: TokenId) -> Done {
        self.token_mut(token).remembered = false;
        let model = Arc::clone(&self.model);
        let node = &model.nodes[self.token(token).node];
        if node.is_scope() {
            self.open(token)?;
        }
        if let Some(Repeat::Loop { index, .. } | Repeat::Each { index, .. }) = &node.repeat {
            self.set_index(token, index.as_ref())?;
        }
        self.work_out(token)?;
        self.mark(token, State::Entered)?;
        self.guard(token)?;
        if !self.restrictions_hold(token, RestrictionAt::Entry)? {
            self.close_unbegun(token);
            return self.fail(token);
        }
        self.begin(token)
    }

    /// A scope in which nothing has begun is taken away.
    fn close_unbegun(&mut self, token: TokenId) {
        if let Some(inner) = self.token_mut(token).inner.take() {
            self.keep_result(token, inner);
            self.scopes.remove(&inner);
        }
    }

    /// What it is to do begins.
    fn begin(&mut self, token: TokenId) -> Done {
        let model = Arc::clone(&self.model);
        let node = &model.nodes[self.token(token).node];
        match node.kind {
            Kind::Process | Kind::SubProcess | Kind::AdHoc { .. } => {
                self.mark(token, State::Busy)?;
                self.begin_inside(token)
            }
            Kind::Task => {
                self.operate(token)?;
                self.mark(token, State::Busy)?;
                let outcome = self.final_status(token)?;
                let due = outcome.get(&TIMESTAMP).and_then(Value::as_number);
                self.token_mut(token).outcome = Some(outcome);
                let ticket = self.ticket(token);
                self.busy.insert((due.unwrap_or(self.now), ticket, token));
                Ok(())
            }
            Kind::Send => {
                self.operate(token)?;
                self.mark(token, State::Busy)?;
                self.send(token, true);
                Ok(())
            }
            Kind::Receive => {
                self.mark(token, State::Busy)?;
                self.receive(token);
                Ok(())
            }
            Kind::Decision => {
                self.mark(token, State::Busy)?;
                if node.choices.is_empty() {
                    self.operate(token)?;
                    return self.work_done(token);
                }
                self.ask(token, DecisionKind::Choice);
                Ok(())
            }
            _ => unreachable!("only activities and processes are let in"),
        }
    }

    /// What a task will carry when its work is done, which may tell when that is.
    fn final_status(&mut self, token: TokenId) -> Result<Arc<Status>, Failed> {
        let before = Arc::clone(&self.token(token).status);
        self.complete_as_given(token)?;
        Ok(std::mem::replace(&mut self.token_mut(token).status, before))
    }

    /// What the scenario says about the end of a task.
    fn complete_as_given(&mut self, token: TokenId) -> Done {
        let scenario = Arc::clone(&self.scenario);
        let at = self.token(token);
        let Some(given) = scenario.instances[at.instance].completion.get(&at.node) else {
            return Ok(());
        };
        self.given(token, given, "COMPLETION")
    }

    /// Applies the operators of the token's node.
    pub(super) fn operate(&mut self, token: TokenId) -> Done {
        let model = Arc::clone(&self.model);
        for operator in &model.nodes[self.token(token).node].operators {
            self.assign(token, operator)?;
        }
        Ok(())
    }

    /// Opens the scope that a token hosts.
    fn open(&mut self, host: TokenId) -> Done {
        let at = self.token(host);
        let (node, parent) = (at.node, at.scope);
        let scope = self.make_scope(node, host, parent, ScopeKind::Plain);
        self.token_mut(host).inner = Some(scope);
        self.declare(host, scope);
        self.count_given(host)
    }

    pub(super) fn make_scope(
        &mut self,
        node: NodeId,
        host: TokenId,
        parent: Option<ScopeId>,
        kind: ScopeKind,
    ) -> ScopeId {
        let id = self.number();
        let scope = Scope {
            node,
            host,
            parent,
            kind,
            data: BTreeMap::new(),
            live: std::collections::BTreeSet::new(),
            merged: Merged::default(),
            armed: Vec::new(),
            handlers: Vec::new(),
            undo: Vec::new(),
            performer: Performer::default(),
            armings: BTreeMap::new(),
            beginning: false,
            failing: false,
            kept: false,
        };
        self.scopes.insert(id, scope);
        id
    }

    /// Tokens come to where a scope begins.
    fn begin_inside(&mut self, host: TokenId) -> Done {
        let model = Arc::clone(&self.model);
        let at = self.token(host).clone();
        let scope = at.inner.expect("a scope was opened on entry");
        let mut armed = false;
        self.scope_mut(scope).beginning = true;
        for start in &model.nodes[at.node].starts {
            let status = Arc::clone(&at.status);
            let label = Name::clone(&at.label);
            let token = self.make(*start, Some(scope), at.instance, label, status, Role::Flow);
            self.scope_mut(scope).live.insert(token);
            let is_start = matches!(model.nodes[*start].kind, Kind::Start(_));
            if is_start {
                self.mark(token, State::Entered)?;
            }
            // What begins without a start event may need them at once.
            if !std::mem::replace(&mut armed, true) {
                self.arm_handlers(scope)?;
            }
            if is_start {
                self.leave(token)?;
            } else if model.nodes[*start].is_activity() {
                self.arrive_at_activity(token, State::Created)?;
            } else {
                self.arrive(token)?;
            }
            // What has failed on the way, or handles that, has taken everything with it.
            if !self.scopes.get(&scope).is_some_and(|it| it.beginning) {
                return Ok(());
            }
        }
        if !armed {
            self.arm_handlers(scope)?;
        }
        self.scope_mut(scope).beginning = false;
        self.settle(scope)
    }

    /// The work of an activity is done.
    pub(super) fn work_done(&mut self, token: TokenId) -> Done {
        match self.token_mut(token).outcome.take() {
            Some(outcome) => self.token_mut(token).status = outcome,
            None => self.complete_as_given(token)?,
        }
        self.mark(token, State::Completed)?;
        self.remember(token)?;
        if !self.restrictions_hold(token, RestrictionAt::Completion)? {
            return self.refuse(token);
        }
        if let Role::Undoes(undoing) = self.token(token).role {
            self.count_own(token)?;
            self.withdraw_guards(token)?;
            self.forget_scope(token);
            self.tokens.remove(&token);
            return self.undo_next(undoing);
        }
        self.ask(token, DecisionKind::Exit);
        Ok(())
    }

    /// What was done must not leave. What was completed inside is undone first.
    fn refuse(&mut self, token: TokenId) -> Done {
        self.unremember(token)?;
        let inner = self.token(token).inner;
        if inner.is_some_and(|it| self.scopes.get(&it).is_some_and(|it| !it.undo.is_empty())) {
            return self.fail_host(token);
        }
        self.forget_scope(token);
        self.fail(token)
    }

    /// The token is let out.
    pub(super) fn let_out(&mut self, token: TokenId) -> Done {
        self.mark(token, State::Exiting)?;
        if !self.restrictions_hold(token, RestrictionAt::Exit)? {
            return self.refuse(token);
        }
        if self.goes_round(token)? {
            self.forget_scope(token);
            self.token_mut(token).number += 1;
            return self.let_in(token);
        }
        self.forget_scope(token);
        self.release(token);
        self.withdraw_guards(token)?;
        self.drop_own(token)?;
        match self.token(token).role {
            Role::Copy(main) => self.copy_done(main, token),
            _ => self.leave(token),
        }
    }

    fn goes_round(&self, token: TokenId) -> Result<bool, Failed> {
        let Some(Repeat::Loop { condition, maximum, .. }) = &self.node_of(token).repeat else {
            return Ok(false);
        };
        if let Some(maximum) = maximum {
            let round = Number::from(self.token(token).number);
            let most = self.value_of(token, maximum)?;
            if most.as_number().is_none_or(|most| round >= most) {
                return Ok(false);
            }
        }
        let asks = |it: &Formula| self.holds(token, it);
        condition.as_ref().map_or(Ok(true), asks)
    }

    fn copy_done(&mut self, main: TokenId, copy: TokenId) -> Done {
        self.mark(copy, State::Done)?;
        let copy_of = self.tokens.remove(&copy).expect("the copy is there");
        let copies = self.token_mut(main).copies.as_mut().expect("a main token has copies");
        copies.open.remove(&copy);
        copies.merged.add(&copy_of.status);
        if !copies.open.is_empty() {
            self.next_copy(main);
            return Ok(());
        }
        if let Some(status) = copies.merged.status() {
            self.token_mut(main).status = Arc::new(status);
        }
        self.token_mut(main).copies = None;
        self.withdraw_guards(main)?;
        self.leave(main)
    }

    /// Everything in a scope may have ended.
    pub(super) fn settle(&mut self, id: ScopeId) -> Done {
        let Some(scope) = self.scopes.get(&id) else { return Ok(()) };
        if !scope.live.is_empty() || scope.beginning || scope.failing {
            return Ok(());
        }
        // A handler whose event has happened is as good as at work.
        let happened =
            |(token, cue): &(TokenId, Cue)| matches!(cue, Cue::Fire) && scope.armed.contains(token);
        if self.agenda.iter().any(happened) {
            return Ok(());
        }
        for token in std::mem::take(&mut self.scope_mut(id).armed) {
            self.withdraw(token)?;
        }
        let scope = &self.scopes[&id];
        if !scope.handlers.is_empty() {
            return Ok(());
        }
        let merged = scope.merged.status();
        let (host, node, kind, parent) = (scope.host, scope.node, scope.kind, scope.parent);
        if kind != ScopeKind::Plain {
            if !self.handler_ends_well(id, merged.as_ref())? {
                return Ok(());
            }
            if let Some(status) = &merged {
                self.count_status(host, node, status)?;
            }
        }
        match kind {
            ScopeKind::Plain => {
                if let Some(status) = merged {
                    let status = self.trimmed(&status, node);
                    self.token_mut(host).status = Arc::new(status);
                }
                if let Kind::Process = self.model.nodes[node].kind {
                    return self.process_done(host);
                }
                self.work_done(host)
            }
            ScopeKind::Handler { interrupting } => {
                let parent = parent.expect("a handler is in a scope");
                self.scopes.remove(&id);
                let around = self.scope_mut(parent);
                around.handlers.retain(|it| *it != id);
                if let Some(status) = merged.filter(|_| interrupting) {
                    around.merged = Merged::default();
                    around.merged.add(&status);
                }
                self.settle(parent)
            }
            ScopeKind::Undoes(undoing) => {
                self.scopes.remove(&id);
                self.undo_next(undoing)
            }
        }
    }

    /// Checks what an event sub-process itself asks for at its end; whether it has not failed by that.
    fn handler_ends_well(&mut self, id: ScopeId, merged: Option<&Status>) -> Result<bool, Failed> {
        let model = Arc::clone(&self.model);
        let scope = &self.scopes[&id];
        let (node, host) = (scope.node, scope.host);
        let counts =
            |it: &Restriction| matches!(it.at, RestrictionAt::Completion | RestrictionAt::Full);
        if !model.nodes[node].restrictions.iter().any(counts) {
            return Ok(true);
        }
        let at = self.token(host);
        let status = merged.map_or_else(|| Arc::clone(&at.status), |it| Arc::new(it.clone()));
        let (instance, label) = (at.instance, Name::clone(&at.label));
        let token = self.make(node, Some(id), instance, label, status, Role::Flow);
        if self.restrictions_hold(token, RestrictionAt::Completion)? {
            self.tokens.remove(&token);
            return Ok(true);
        }
        self.scope_mut(id).live.insert(token);
        self.fail(token)?;
        Ok(false)
    }

    fn process_done(&mut self, token: TokenId) -> Done {
        self.mark(token, State::Completed)?;
        if !self.restrictions_hold(token, RestrictionAt::Completion)? {
            return self.fail_host(token);
        }
        self.count_own(token)?;
        self.mark(token, State::Done)?;
        self.end_instance(token, Outcome::Completed);
        Ok(())
    }

    /// An instance has ended.
    pub(super) fn end_instance(&mut self, token: TokenId, outcome: Outcome) {
        if let Some(inner) = self.token(token).inner {
            self.keep_result(token, inner);
        }
        self.forget_scope(token);
        let token = self.tokens.remove(&token).expect("the token of the process is there");
        let instance = &mut self.instances[token.instance];
        instance.outcome = outcome;
        instance.token = None;
        instance.status = token.status;
        let id = Name::clone(&instance.id);
        self.withdraw_messages_to(&id);
    }

    /// The data of a process stays known when it has ended.
    fn keep_result(&mut self, token: TokenId, scope: ScopeId) {
        let at = self.token(token);
        if at.scope.is_none()
            && let Some(scope) = self.scopes.get(&scope)
        {
            let instance = at.instance;
            self.instances[instance].data = scope.data.clone();
        }
    }

    /// The scope of a token is not needed any more, unless what is in it can be undone.
    pub(super) fn forget_scope(&mut self, token: TokenId) {
        let Some(inner) = self.token_mut(token).inner.take() else { return };
        if self.scopes.get(&inner).is_some_and(|it| !it.kept) {
            self.drop_scope(inner);
        }
    }

    /// Whether all restrictions of the token's node hold, and of those around it that count there.
    pub(super) fn restrictions_hold(
        &self,
        token: TokenId,
        at: RestrictionAt,
    ) -> Result<bool, Failed> {
        let own = self.token(token).node;
        for id in self.model.around(own) {
            let node = &self.model.nodes[id];
            for it in &node.restrictions {
                let counts = it.at == RestrictionAt::Full || id == own && it.at == at;
                if counts && !self.holds(token, &it.formula)? {
                    return Ok(false);
                }
            }
            if self.stands_alone(id) {
                break;
            }
        }
        Ok(true)
    }

    /// What undoes and what handles errors must be possible where the work was not.
    fn stands_alone(&self, node: NodeId) -> bool {
        match &self.model.nodes[node].kind {
            Kind::EventSubProcess { start } => matches!(
                &self.model.nodes[*start].kind,
                Kind::Start(Start { trigger: Some(Trigger::Error | Trigger::Compensation), .. })
            ),
            _ => self.model.nodes[node].for_compensation,
        }
    }
}
