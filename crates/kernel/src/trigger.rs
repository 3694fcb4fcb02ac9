//! Events that tokens wait for: catch events, boundary events, event-based gateways, event
//! sub-processes, conditions.

use std::{slice, sync::Arc};

use travertine_value::time::{self, Repeat};
use travertine_value::{Name, Value};

use crate::{
    element::Step,
    plan::{
        Boundary, Changes, Element, Events, Moment, Node, NodeId, Receivers, Start, Throw, Trigger,
    },
    run::Run,
    state::{Cue, Role, ScopeKind, State, Wait},
    vocabulary::{
        Assignments, Event, Failure, FailureKind, Part, Reads, Slot, TokenId, WaitFor, WaitId,
    },
};

/// A condition that holds and happens only when it begins to waits beyond the places of all triggers until it
/// does not hold.
pub(crate) const HELD: u16 = 1 << 15;

/// The start of an event sub-process, and what it waits for.
pub(crate) type Armed = (NodeId, Vec<(Slot, WaitFor)>);

impl<'a> Run<'a> {
    /// Opens a wait for each trigger that comes from outside: for all of them, or for none.
    pub(crate) fn open_triggers(
        &mut self,
        token: TokenId,
        triggers: &'a [Trigger],
    ) -> Result<(), Failure> {
        if let [trigger] = triggers {
            if let Some(on) = self.wait_for(token, trigger)? {
                self.open(token, Slot::Own(0), on);
            }
            return Ok(());
        }
        for (slot, on) in self.waits_for(token, triggers)? {
            self.open(token, slot, on);
        }
        Ok(())
    }

    /// What there is to wait for, as a token sees it.
    fn waits_for(
        &self,
        token: TokenId,
        triggers: &[Trigger],
    ) -> Result<Vec<(Slot, WaitFor)>, Failure> {
        let mut waits = Vec::new();
        for (slot, trigger) in (0..).map(Slot::Own).zip(triggers) {
            waits.extend(self.wait_for(token, trigger)?.map(|on| (slot, on)));
        }
        Ok(waits)
    }

    fn wait_for(&self, token: TokenId, trigger: &Trigger) -> Result<Option<WaitFor>, Failure> {
        Ok(match trigger {
            Trigger::Message(message) => {
                let name =
                    self.eval_name(token, &message.name).map_err(self.at(token, Part::Name))?;
                let mut correlation = self
                    .eval_all(token, &message.correlation)
                    .map_err(self.at(token, Part::Correlation))?;
                if self.plan.policy.receivers == Receivers::PerProcess {
                    check_keys(&name, &correlation).map_err(self.at(token, Part::Correlation))?;
                }
                self.agreed(&name, &mut correlation);
                let on = WaitFor::Message { name, correlation };
                self.check_alone(token, &on)?;
                Some(on)
            }
            Trigger::Signal { name } => {
                let name = self.eval_name(token, name).map_err(self.at(token, Part::Name))?;
                Some(WaitFor::Signal { name })
            }
            Trigger::Timer { kind, when } => {
                let element = &self.node_of(token).name;
                let value = self.eval(token, when).map_err(|it| it.at(Part::Timer, element))?;
                let wrong = |why: &dyn std::fmt::Display| {
                    let message = format!("the timer `{}` is no time: {why}", when.quoted());
                    Failure::new(FailureKind::Timer, message).at(Part::Timer, element)
                };
                let Value::String(text) = &value else { return Err(wrong(&value.kind())) };
                let due = time::due(*kind, text, self.now).map_err(|error| wrong(&error))?;
                Some(WaitFor::Timer { due: due.at, repeat: due.repeat })
            }
            Trigger::Condition { .. } => Some(WaitFor::Condition),
            Trigger::Error { .. }
            | Trigger::Escalation { .. }
            | Trigger::Compensation
            | Trigger::Cancel => None,
        })
    }

    /// Refuses a second wait for the same message, where only one may be.
    fn check_alone(&self, token: TokenId, on: &WaitFor) -> Result<(), Failure> {
        let is_same = |it: &Wait| *it.on == *on && it.token != token;
        if self.plan.policy.events == Events::Standard || !self.instance.waits.values().any(is_same)
        {
            return Ok(());
        }
        let name = &self.node_of(token).name;
        let message = format!("another element waits for the message of {name} with the same key");
        let code = Some("500".into());
        Err(Failure { code, ..Failure::new(FailureKind::Error, message) })
    }

    /// Puts a token at each boundary event of the activity, or at none of them.
    pub(crate) fn arm_boundary(&mut self, token: TokenId, node: &'a Node) -> Result<(), Failure> {
        if !self.instance.token(token).guards.is_empty() {
            // A retried entry finds them in place.
            return Ok(());
        }
        for boundary in &node.boundary {
            let Element::Boundary(it) = &self.plan.node(*boundary).element else {
                unreachable!("only boundary events are attached")
            };
            self.arm_guard(token, *boundary, &it.triggers)?;
        }
        Ok(())
    }

    /// Puts a guard at an event. Where it cannot wait there, the others go too: whoever tries again arms all.
    fn arm_guard(
        &mut self,
        of: TokenId,
        event: NodeId,
        triggers: &'a [Trigger],
    ) -> Result<(), Failure> {
        let guard = self.guard(of, event);
        let armed = self.open_triggers(guard, triggers);
        if armed.is_err() {
            self.withdraw_guards(of);
        }
        armed
    }

    /// A token beside `of`, in the same scope and with the same view of it.
    pub(crate) fn guard(&mut self, of: TokenId, node: NodeId) -> TokenId {
        let scope = self.instance_scope(of);
        let layer = Reads::Shared(self.base_layer(of));
        let status = self.instance.token(of).status.clone();
        let guard = self.create(node, scope, Role::Guard(of), layer, status);
        self.emit(Event::TokenState { token: guard, state: State::Busy });
        guard
    }

    /// The event-based gateway: a token at each event behind it, of which the first wins.
    pub(crate) fn race(&mut self, token: TokenId, node: &'a Node) -> Result<Step, Failure> {
        // One that is tried again waits already.
        if self.instance.token(token).state != State::Waiting {
            self.emit(Event::TokenState { token, state: State::Waiting });
        }
        for flow in &node.outgoing {
            let to = self.plan.flow(*flow).to;
            self.arm_guard(token, to, self.plan.node(to).element.triggers())?;
        }
        Ok(Step::Settled)
    }

    /// Puts a token at the start of an event sub-process of the scope.
    pub(crate) fn arm_event_sub_process(
        &mut self,
        scope: TokenId,
        event: NodeId,
    ) -> Result<(), Failure> {
        let waits = self.awaited_by(scope, slice::from_ref(&event))?;
        self.arm_event_sub_processes(scope, waits);
        Ok(())
    }

    /// What event sub-processes wait for in the scope that a token hosts, or will. None is armed before that is
    /// known of all.
    pub(crate) fn awaited_by(
        &self,
        host: TokenId,
        events: &[NodeId],
    ) -> Result<Vec<Armed>, Failure> {
        let starts = events.iter().map(|event| self.start_of(*event));
        let called = starts.filter(|(_, it)| !matches!(it.triggers[..], [Trigger::Compensation]));
        called.map(|(start, it)| Ok((start, self.waits_for(host, &it.triggers)?))).collect()
    }

    /// Puts a token at the start of each of these event sub-processes of the scope.
    pub(crate) fn arm_event_sub_processes(&mut self, scope: TokenId, events: Vec<Armed>) {
        for (start, waits) in events {
            let host = self.instance.token(scope);
            let (layer, status) = (Reads::Shared(host.layer), host.status.clone());
            let token = self.create(start, scope, Role::Start, layer, status);
            self.emit(Event::TokenState { token, state: State::Busy });
            for (slot, on) in waits {
                self.open(token, slot, on);
            }
        }
    }

    pub(crate) fn start_of(&self, event: NodeId) -> (NodeId, &'a Start) {
        let Element::EventSubProcess(it) = &self.plan.node(event).element else {
            unreachable!("only event sub-processes are listed as such")
        };
        let Element::Start(start) = &self.plan.node(it.start).element else {
            unreachable!("event sub-processes begin at start events")
        };
        (it.start, start)
    }

    /// What a token waited for has happened.
    pub(crate) fn met(
        &mut self,
        wait: &Wait,
        position: u16,
        variables: Assignments,
    ) -> Result<(), Failure> {
        let token = wait.token;
        let repeat = if let WaitFor::Timer { repeat: Some(repeat), due } = &*wait.on {
            repeat.next_after(*due, self.now)
        } else {
            None
        };
        let node = self.node_of(token);
        let is_bare =
            self.plan.policy.events == Events::Strict && matches!(*wait.on, WaitFor::Signal { .. });
        let variables = if is_bare { Vec::new() } else { variables };
        let variables = self.content(node, usize::from(position), variables);
        let misses_some = node.element.needs_all() && !self.instance.token(token).waits.is_empty();
        match self.instance.token(token).role {
            _ if misses_some => {
                self.take_results(token, variables);
                Ok(())
            }
            Role::Guard(of) => {
                if let Element::Boundary(boundary) = &node.element {
                    self.trigger_boundary(token, of, boundary, variables, repeat.as_ref());
                    Ok(())
                } else {
                    self.win(token, of, variables)
                }
            }
            Role::Start => {
                self.start_event_sub_process(token, variables, repeat.as_ref());
                Ok(())
            }
            Role::Flow | Role::Run(_) | Role::Branch(_) | Role::Compensation => {
                // The clock's time counts, unless whoever did the work knows better.
                self.stamp(token);
                if matches!(*wait.on, WaitFor::Child { .. }) {
                    self.take_child_results(token, variables);
                } else {
                    self.take_results(token, variables);
                }
                if matches!(node.element, Element::Receive(_) | Element::Decision) {
                    self.operate(token, node, true)?;
                }
                if let Some(due) = repeat.filter(|_| matches!(node.element, Element::Catch(_))) {
                    return self.tick(token, position, due);
                }
                self.close_waits(token);
                self.work_done(token)
            }
        }
    }

    /// A catch event with a cycle lets a token go each time, and itself the last time.
    fn tick(&mut self, token: TokenId, position: u16, due: time::Due) -> Result<(), Failure> {
        let node = self.node_of(token);
        let flows = self.choose(token, node)?;
        let on = WaitFor::Timer { due: due.at, repeat: due.repeat };
        self.open(token, Slot::Own(position), on);
        let it = self.instance.token(token);
        let (layer, status) = (Reads::Shared(it.layer), it.status.clone());
        let scope = self.instance_scope(token);
        for flow in &*flows {
            self.send(*flow, scope, layer, status.clone());
        }
        Ok(())
    }

    /// One event behind an event-based gateway has happened first.
    fn win(
        &mut self,
        token: TokenId,
        gateway: TokenId,
        variables: Assignments,
    ) -> Result<(), Failure> {
        self.emit(Event::TokenPromoted { token });
        self.withdraw(gateway, State::Departed);
        self.take_results(token, variables);
        self.close_waits(token);
        self.listen(token, Moment::Start, 0)
    }

    /// A boundary event happens.
    pub(crate) fn trigger_boundary(
        &mut self,
        guard: TokenId,
        activity: TokenId,
        boundary: &'a Boundary,
        variables: Assignments,
        next: Option<&time::Due>,
    ) {
        let state = State::Withdrawn;
        self.emit(Event::TokenPromoted { token: guard });
        if boundary.interrupting {
            self.withdraw(activity, state);
        } else {
            self.rearm_boundary(guard, activity, boundary, next);
        }
        if self.goes_apart(guard) {
            // It becomes the host of its ways, which see this and nobody else does.
            self.set_own(guard, variables);
        } else {
            self.take_results(guard, variables);
        }
        self.close_waits(guard);
        self.go_on(guard);
    }

    /// Lets the boundary events of a multi-instance activity hear that a run has ended. Answers
    /// whether one of them wanted to. However they are drawn they do not end the activity: the other
    /// runs are what it is about.
    pub(crate) fn tell_boundary(&mut self, host: TokenId, throw: &Throw) -> Result<bool, Failure> {
        let guards = self.instance.token(host).guards.clone();
        for guard in guards {
            let Element::Boundary(boundary) = &self.node_of(guard).element else { continue };
            for trigger in &boundary.triggers {
                if self.hears(host, trigger, throw)? {
                    self.emit(Event::TokenPromoted { token: guard });
                    self.rearm_boundary(guard, host, boundary, None);
                    self.close_waits(guard);
                    self.go_on(guard);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn hears(&self, token: TokenId, trigger: &Trigger, throw: &Throw) -> Result<bool, Failure> {
        Ok(match (trigger, throw) {
            (Trigger::Signal { name: wanted }, Throw::Signal { name, .. }) => {
                self.eval_name(token, wanted)? == self.eval_name(token, name)?
            }
            (Trigger::Message(wanted), Throw::Message(send)) => {
                self.eval_name(token, &wanted.name)?
                    == self.eval_name(token, &send.messages[0].name)?
            }
            (Trigger::Escalation { code: wanted, .. }, Throw::Escalation { code, .. }) => {
                matches_code(wanted.as_ref(), code.as_ref())
            }
            _ => false,
        })
    }

    /// Takes a token out of the event it stands at.
    pub(crate) fn go_on(&mut self, token: TokenId) {
        if let Err(failure) = self.listen(token, Moment::Start, 0) {
            self.fail(token, failure, Cue::Listen(Moment::Start, 0));
        }
    }

    fn rearm_boundary(
        &mut self,
        guard: TokenId,
        activity: TokenId,
        boundary: &'a Boundary,
        next: Option<&time::Due>,
    ) {
        let timers_only = boundary.triggers.iter().all(|it| matches!(it, Trigger::Timer { .. }));
        if timers_only && next.is_none() {
            return;
        }
        let node = self.instance.token(guard).node;
        let again = self.guard(activity, node);
        self.reopen(again, &boundary.triggers, next);
    }

    /// Opens waits for triggers that have happened before: a timer goes on with its cycle.
    fn reopen(&mut self, token: TokenId, triggers: &'a [Trigger], next: Option<&time::Due>) {
        for (position, trigger) in (0..).zip(triggers) {
            let slot = Slot::Own(position + self.held(token, trigger));
            let on = if let Trigger::Timer { .. } = trigger {
                next.map(timer)
            } else {
                // What could be worked out once can be worked out again, or waits no more.
                self.wait_for(token, trigger).ok().flatten()
            };
            if let Some(on) = on {
                let stale = on == WaitFor::Condition;
                self.open(token, slot, on);
                if stale {
                    // It has just been true: only the next change counts.
                    self.fresh.pop();
                }
            }
        }
    }

    /// How far beyond the place of its trigger a condition waits that has happened.
    fn held(&self, token: TokenId, trigger: &Trigger) -> u16 {
        let Trigger::Condition { when, .. } = trigger else { return 0 };
        let is_edge = self.plan.policy.events == Events::Strict;
        if is_edge && self.holds(self.viewer(token), when) == Ok(true) { HELD } else { 0 }
    }

    /// Who looks at the condition of a token: a boundary event sees what its activity sees.
    fn viewer(&self, token: TokenId) -> TokenId {
        if let Role::Guard(of) = self.instance.token(token).role { of } else { token }
    }

    /// The start of an event sub-process is triggered.
    pub(crate) fn start_event_sub_process(
        &mut self,
        start: TokenId,
        variables: Assignments,
        next: Option<&time::Due>,
    ) {
        let (scope, around) = self.instance.scope_of(start);
        let host = self.instance.token(scope);
        let open = around.kind == ScopeKind::AdHoc
            && host.cue.is_none()
            && !self.instance.incidents.contains_key(&scope);
        if around.is_empty() && !open {
            // The scope is about to complete: it is too late.
            self.withdraw(start, State::Withdrawn);
            return;
        }
        let start_node = self.instance.token(start).node;
        let event = self.plan.node(start_node).parent.expect("start events are in containers");
        let Element::EventSubProcess(it) = &self.plan.node(event).element else {
            unreachable!("pending starts are those of event sub-processes")
        };
        let status = self.instance.token(start).status.clone();
        let layer = Reads::Shared(self.instance.token(scope).layer);
        let host = self.create(event, scope, Role::Flow, layer, status);
        self.close_waits(start);
        self.emit(Event::TokenGone { token: start, state: State::Departed });
        if it.interrupting {
            self.join_fans(scope);
            let others: Vec<TokenId> =
                self.instance.scope(scope).live.iter().copied().filter(|it| *it != host).collect();
            for token in others {
                self.withdraw(token, State::Withdrawn);
            }
            self.withdraw_starts(scope);
            if !self.plan.status.is_empty() {
                self.emit(Event::StatusForgotten { scope });
            }
        } else {
            self.rearm_start(scope, event, next);
        }
        let own = self.own_layer(host);
        for (name, value) in variables {
            if self.is_status(&name) {
                self.keep_status(host, name, value);
            } else {
                self.write(own, name, Some(value));
            }
        }
        if let Err(failure) = self.enter(host) {
            self.fail(host, failure, Cue::Enter);
        }
    }

    fn rearm_start(&mut self, scope: TokenId, event: NodeId, next: Option<&time::Due>) {
        let (start, it) = self.start_of(event);
        let timers_only = it.triggers.iter().all(|it| matches!(it, Trigger::Timer { .. }));
        if timers_only && next.is_none() {
            return;
        }
        let host = self.instance.token(scope);
        let (layer, status) = (Reads::Shared(host.layer), host.status.clone());
        let token = self.create(start, scope, Role::Start, layer, status);
        self.emit(Event::TokenState { token, state: State::Busy });
        self.reopen(token, &it.triggers, next);
    }

    /// Looks at the conditions that changed variables may have made true, oldest first.
    pub(crate) fn weigh_conditions(&mut self) {
        while !self.fresh.is_empty() || !self.changed.is_empty() {
            let fresh = std::mem::take(&mut self.fresh);
            let changed = std::mem::take(&mut self.changed);
            let waits: Vec<WaitId> = self.instance.conditions.iter().copied().collect();
            for wait in waits {
                let is_new = fresh.contains(&wait);
                if is_new || !changed.is_empty() {
                    self.weigh(wait, is_new, &changed);
                }
            }
        }
    }

    fn weigh(&mut self, id: WaitId, is_new: bool, changed: &[(Name, Changes)]) {
        let Some(wait) = self.instance.waits.get(&id).cloned() else { return };
        if self.instance.incidents.contains_key(&wait.token) {
            return;
        }
        let Slot::Own(position) = wait.slot else {
            self.weigh_data(id, &wait);
            return;
        };
        let triggers = self.node_of(wait.token).element.triggers();
        let place = position % HELD;
        let Trigger::Condition { when, variables, changes } = &triggers[usize::from(place)] else {
            unreachable!("only conditions wait for conditions")
        };
        let matters = |name: &Name| {
            if variables.is_empty() && *changes != Changes::ALL {
                // Whoever asks for kinds of change and names no variable means all of them.
                true
            } else if variables.is_empty() {
                // A condition that reads nothing is as good as one that may read anything.
                when.reads().is_none_or(|reads| reads.is_empty() || reads.contains(name))
            } else {
                variables.contains(name)
            }
        };
        if !is_new && !changed.iter().any(|(name, how)| changes.meet(*how) && matters(name)) {
            return;
        }
        let viewer = self.viewer(wait.token);
        if position != place {
            if self.holds(viewer, when) != Ok(true) {
                self.emit(Event::WaitClosed { wait: id });
                self.open(wait.token, Slot::Own(place), WaitFor::Condition);
                self.fresh.pop();
            }
            return;
        }
        // A condition that cannot be worked out does not hold yet: a variable may come later.
        if self.holds(viewer, when) == Ok(true) {
            self.emit(Event::WaitClosed { wait: id });
            if let Err(failure) = self.met(&wait, position, Vec::new()) {
                self.fail(wait.token, failure, Cue::Complete);
            }
        }
    }
}

fn timer(due: &time::Due) -> WaitFor {
    let repeat: Option<Repeat> = due.repeat.clone();
    WaitFor::Timer { due: due.at, repeat }
}

/// Whether a code that was raised is one that is waited for.
pub(crate) fn matches_code(wanted: Option<&Name>, raised: Option<&Arc<str>>) -> bool {
    wanted.is_none_or(|wanted| raised == Some(wanted))
}

/// Keys tell receivers apart, so each must be something that can be told: whoever waited with none would have the messages
/// of all others.
fn check_keys(message: &Name, correlation: &Assignments) -> Result<(), Failure> {
    let is_key = |value: &Value| value.as_str().is_some() || value.as_number().is_some();
    match correlation.iter().find(|(_, value)| !is_key(value)) {
        None => Ok(()),
        Some((name, value)) => {
            let text = format!(
                "the {name} of message {message} is {}, and must be a text or a number: set the variables that it comes \
                 from, then try again",
                value.kind()
            );
            Err(Failure::new(FailureKind::Script, text))
        }
    }
}
