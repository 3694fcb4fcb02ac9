//! Carrying everything through until all instances rest.

use std::sync::Arc;

use travertine_expr::Name;
use travertine_kernel::{
    Assignments, Catches, Command, Effect, Ending, Event, NodeId, Phase, Post, PostId, Rejection,
    WaitFor, WaitId, effects, handle,
};

use super::{
    Sandbox, Turned,
    record::{Address, InstanceId},
};
use crate::{Error, Message, Receipt, StartOn, Timestamp, alarm::Alarm};

/// Something to be done for an instance.
#[derive(Clone, Debug)]
pub(super) enum Todo {
    /// Begin.
    Begin { id: InstanceId, at: Option<NodeId>, variables: Assignments, caller: Option<Catches> },
    /// Go on where the last turn stopped.
    Continue(InstanceId),
    /// What a token waits for has happened. A message that it does not want any more goes back.
    Meet { to: Address, variables: Assignments, message: Option<Message> },
    /// An instance has ended; whoever called it should know.
    Ended(InstanceId),
    /// An instance is not needed any more.
    Cancel(InstanceId),
    /// Something that a token sends and waits for must be sent.
    Deliver(Address, Arc<WaitFor>),
    /// What was posted has been taken over.
    Delivered(InstanceId, PostId),
    /// A called instance has raised an escalation that it does not catch.
    Escalate { to: Address, command: Command },
}

impl Sandbox {
    /// Does what is to be done until nothing is left, and nothing is due.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        self.events = 0;
        loop {
            if self.events > self.events_max {
                return Err(Error::Restless { events: self.events });
            }
            if let Some(todo) = self.todo.pop_front() {
                self.carry_out(todo);
            } else if let Some((due, alarm)) = self.alarms.take(self.now) {
                self.ring(due, &alarm);
            } else {
                return Ok(());
            }
        }
    }

    fn carry_out(&mut self, todo: Todo) {
        match todo {
            Todo::Begin { id, at, variables, caller } => {
                self.begin_recorded(id, at, variables, caller);
            }
            Todo::Continue(id) => self.tell(id, Command::Continue),
            Todo::Meet { to, variables, message } => self.meet(to, variables, message),
            Todo::Ended(id) => self.report_back(id),
            Todo::Cancel(id) => self.tell(id, Command::Cancel),
            Todo::Deliver(from, on) => self.deliver(from, &on),
            Todo::Delivered(id, post) => self.tell(id, Command::Delivered { post }),
            Todo::Escalate { to, command } => self.tell(to.instance, command),
        }
    }

    /// Has an instance handle a command, and sees to what it asks for.
    pub(super) fn turn(&mut self, id: InstanceId, command: Command) -> Result<(), Rejection> {
        let record = self.instances.get_mut(&id).expect("whoever names an instance has seen it");
        let seen = self.hook.is_some().then(|| command.clone());
        let turn = handle(&record.definition.plan, &mut record.state, self.now, command)?;
        self.events += turn.events.len() as u64 + 1;
        let wanted = effects(&turn.events);
        if let (Some(hook), Some(command)) = (&mut self.hook, seen) {
            (hook.0)(Turned {
                now: self.now,
                instance: id,
                definition: &record.definition,
                command: &command,
                events: &turn.events,
                effects: &wanted,
                state: &record.state,
            });
        }
        let repaired = turn.events.iter().any(|it| matches!(it, Event::IncidentResolved { .. }));
        if repaired {
            self.todo.extend(record.deferred.drain(..));
        }
        let ended = matches!(record.state.phase, Phase::Ended(_));
        for effect in wanted {
            self.act(id, effect);
        }
        if ended {
            self.todo.push_back(Todo::Ended(id));
        } else if turn.unfinished {
            self.todo.push_back(Todo::Continue(id));
        }
        Ok(())
    }

    /// Has an instance handle a command that it may refuse because it has gone on meanwhile.
    fn tell(&mut self, id: InstanceId, command: Command) {
        match self.turn(id, command) {
            // It wanted this once. What has become of it since has been seen to where it happened.
            Ok(()) | Err(_) => {}
        }
    }

    fn begin_recorded(
        &mut self,
        id: InstanceId,
        at: Option<NodeId>,
        variables: Assignments,
        caller: Option<Catches>,
    ) {
        let Some(record) = self.instances.get(&id) else { return };
        let from = record.caller;
        let at = at.into_iter().collect();
        let Err(rejection) = self.turn(id, Command::Start { at, variables, caller }) else {
            return;
        };
        // The only thing that can be wrong is a process without a plain start.
        let record = self.instances.remove(&id).expect("it has just refused");
        if let Some(from) = from
            && let Some(caller) = self.instances.get_mut(&from.instance)
        {
            caller.called.remove(&from.wait);
            caller.stuck.insert(from.wait, format!("{}: {rejection}", record.definition.id));
        }
    }

    fn meet(&mut self, to: Address, variables: Assignments, message: Option<Message>) {
        let again = variables.clone();
        match self.turn(to.instance, Command::Complete { wait: to.wait, variables }) {
            Ok(()) => {}
            Err(rejection) => match message {
                Some(message) => {
                    self.route(message);
                }
                None => self.defer(
                    to.instance,
                    &rejection,
                    Todo::Meet { to, variables: again, message: None },
                ),
            },
        }
    }

    /// What a token with an incident could not be told is told when the incident is resolved.
    fn defer(&mut self, id: InstanceId, rejection: &Rejection, todo: Todo) {
        if matches!(rejection, Rejection::HasIncident(_))
            && let Some(record) = self.instances.get_mut(&id)
        {
            record.deferred.push(todo);
        }
    }

    /// Tells the caller of an ended instance.
    fn report_back(&mut self, id: InstanceId) {
        let record = &self.instances[&id];
        let (Some(to), Phase::Ended(ending)) = (record.caller, &record.state.phase) else { return };
        let variables: Assignments =
            record.variables().map(|(name, value)| (Name::clone(name), value.clone())).collect();
        let wait = to.wait;
        let command = match ending {
            Ending::Completed => Command::Complete { wait, variables },
            Ending::Failed(failure) => Command::Raise {
                wait,
                code: failure.code.clone(),
                message: failure.message.clone(),
                variables,
            },
            Ending::Cancelled => {
                let reason = format!("the called instance {id} was cancelled");
                let caller = self.instances.get_mut(&to.instance).expect("callers are kept");
                if caller.state.waits.contains_key(&wait) {
                    caller.stuck.insert(wait, reason);
                }
                return;
            }
        };
        if let Err(rejection) = self.turn(to.instance, command) {
            self.defer(to.instance, &rejection, Todo::Ended(id));
        }
    }

    /// Sees to one thing that an instance asks for.
    pub(super) fn act(&mut self, id: InstanceId, effect: Effect) {
        match effect {
            Effect::Arm(wait, on) => self.arm(Address { instance: id, wait }, &on),
            Effect::Disarm(wait) => self.disarm(Address { instance: id, wait }),
            Effect::Send(post, what) => {
                self.send(id, &what);
                self.todo.push_back(Todo::Delivered(id, post));
            }
        }
    }

    fn arm(&mut self, at: Address, on: &Arc<WaitFor>) {
        match &**on {
            WaitFor::Timer { due, .. } => self.alarms.set(*due, Alarm::Wait(at)),
            WaitFor::Message { name, correlation } => {
                match self.held.take(name, correlation, self.now) {
                    Some(message) => self.todo.push_back(Todo::Meet {
                        to: at,
                        variables: message.variables.clone(),
                        message: Some(message),
                    }),
                    None => self.messages.add(at, name, correlation),
                }
            }
            WaitFor::Signal { name } => self.signals.add(at, name, &Vec::new()),
            // Those who have come to wait in the same turn should hear of it.
            WaitFor::Delivery(_) => self.todo.push_back(Todo::Deliver(at, Arc::clone(on))),
            WaitFor::Child { definition, binding, variables, catches } => {
                self.call(at, definition, binding.as_ref(), variables, catches);
            }
            // People and workers find work in the state; conditions are the kernel's own business.
            WaitFor::Work(_)
            | WaitFor::Gate(_)
            | WaitFor::Choice
            | WaitFor::Condition
            | WaitFor::Data { .. } => {}
        }
    }

    fn disarm(&mut self, at: Address) {
        self.alarms.unset(&Alarm::Wait(at));
        self.messages.remove(at);
        self.signals.remove(at);
        let record = self.instances.get_mut(&at.instance).expect("it has just asked");
        record.stuck.remove(&at.wait);
        let Some(child) = record.called.remove(&at.wait) else { return };
        match self.instances.get(&child).map(|it| &it.state.phase) {
            Some(Phase::New) => {
                self.instances.remove(&child);
            }
            // Before anything else happens to it.
            Some(Phase::Running) => self.todo.push_front(Todo::Cancel(child)),
            Some(Phase::Ended(_)) | None => {}
        }
    }

    fn deliver(&mut self, from: Address, on: &WaitFor) {
        let still = self.instances[&from.instance].state.waits.contains_key(&from.wait);
        if let (true, WaitFor::Delivery(post)) = (still, on) {
            self.send(from.instance, post);
            self.todo.push_back(Todo::Meet { to: from, variables: Vec::new(), message: None });
        }
    }

    fn send(&mut self, from: InstanceId, what: &Post) {
        match what {
            Post::Message { name, correlation, payload } => {
                self.route(Message {
                    name: Name::clone(name),
                    correlation: correlation.clone(),
                    variables: payload.clone(),
                    ttl_ms: None,
                });
            }
            // The sender has told its own tokens already.
            Post::Signal { name, payload } => self.broadcast(Some(from), name, payload),
            Post::Escalation { code, variables } => {
                let Some(to) = self.instances[&from].caller else { return };
                let command = Command::Escalate {
                    wait: to.wait,
                    code: code.clone(),
                    variables: variables.clone(),
                };
                self.todo.push_back(Todo::Escalate { to, command });
            }
        }
    }

    /// Finds the one receiver of a message.
    pub(super) fn route(&mut self, message: Message) -> Receipt {
        if let Some(to) = self.messages.take(&message.name, &message.correlation) {
            let variables = message.variables.clone();
            self.todo.push_back(Todo::Meet { to, variables, message: Some(message) });
            return Receipt::Received(to);
        }
        let place = self.definitions.latest().find_map(|it| {
            let wanted =
                |on: &StartOn| matches!(on, StartOn::Message(name) if *name == message.name);
            let trigger = it.starts.iter().find(|it| wanted(&it.on))?;
            Some(((Name::clone(&it.id), trigger.node), trigger.position))
        });
        if let Some((place, position)) = place {
            return self.trigger_start(&place, position, message.variables);
        }
        if message.ttl_ms.is_some_and(|it| it <= 0) {
            return Receipt::Dropped;
        }
        self.held.hold(message, self.now);
        Receipt::Held
    }

    /// Tells all that wait for a signal at this moment.
    pub(super) fn broadcast(
        &mut self,
        from: Option<InstanceId>,
        name: &str,
        variables: &Assignments,
    ) {
        let all = self.signals.all(name);
        for to in all.into_iter().filter(|it| Some(it.instance) != from) {
            self.signals.remove(to);
            let variables = variables.clone();
            self.todo.push_back(Todo::Meet { to, variables, message: None });
        }
        let wanted = |on: &StartOn| matches!(on, StartOn::Signal(it) if &**it == name);
        self.trigger_starts(|_, on| wanted(on), variables);
    }

    /// A timer rings.
    fn ring(&mut self, due: Timestamp, alarm: &Alarm) {
        match alarm {
            Alarm::Wait(to) => self.meet(*to, Vec::new(), None),
            Alarm::Start { definition, node, position } => {
                let place = (Name::clone(definition), *node);
                let next = self.cycles.remove(alarm).and_then(|it| it.next(due));
                if let Some(next) = next {
                    self.alarms.set(next.at, alarm.clone());
                    if let Some(repeat) = next.repeat {
                        self.cycles.insert(alarm.clone(), repeat);
                    }
                }
                self.trigger_start(&place, *position, Vec::new());
            }
        }
    }

    /// Tries the calls again for which there was nothing to call.
    pub(super) fn retry_calls(&mut self) {
        let mut calls: Vec<(Address, Arc<WaitFor>)> = Vec::new();
        for (id, record) in &self.instances {
            let stuck = record.stuck.keys().filter(|it| !record.called.contains_key(it));
            let waits =
                stuck.filter_map(|wait: &WaitId| Some((*wait, record.state.waits.get(wait)?)));
            calls.extend(
                waits.map(|(wait, it)| (Address { instance: *id, wait }, Arc::clone(&it.on))),
            );
        }
        for (at, on) in calls {
            self.arm(at, &on);
        }
    }
}
