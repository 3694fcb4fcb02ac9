//! What steps do.

use std::time::Duration;

use travertine_bpmn::CORRELATION_KEY;
use travertine_kernel::{Assignments, Role, View, WaitFor, plan::Element};
use travertine_runtime::{Address, Error, InstanceId, Live, Message, Receipt, Start, StartOn};
use travertine_value::{Map, Value, Variables};

use super::{
    format::{Action, MessageStep},
    world::{World, assignments},
};
use crate::clock;

impl World<'_> {
    /// Does it, or says why it was refused.
    pub(super) fn act(&mut self, action: &Action, instance: Option<&str>) -> Result<(), String> {
        match action {
            Action::Start { variables, process, name, business_key } => {
                let Some(definition) = process.as_deref().or(self.case.process.as_deref()) else {
                    return Err("no process is named".to_owned());
                };
                let at = self.only_start(definition);
                let started = self.sandbox.start(Start {
                    definition,
                    at: at.as_deref(),
                    business_id: business_key.as_deref().map(Into::into),
                    variables: with_times(variables)?,
                });
                let id = started.map_err(text)?;
                self.names.extend(name.clone().map(|name| (name, id)));
                Ok(())
            }
            Action::Complete { element, variables, filter } => {
                let to = self.wait_at(element, filter, instance)?;
                self.sandbox.complete(to, assignments(variables)).map_err(text)
            }
            Action::ThrowError { element, code, message, variables } => {
                let to = self.wait_at(element, &Map::new(), instance)?;
                self.sandbox.raise(to, code, message, assignments(variables)).map_err(text)
            }
            Action::Escalate { element, code, variables } => {
                let to = self.wait_at(element, &Map::new(), instance)?;
                self.sandbox.escalate(to, code, assignments(variables)).map_err(text)
            }
            Action::Fail { element, retries, message } => {
                let to = self.wait_at(element, &Map::new(), instance)?;
                self.sandbox.fail(to, *retries, message).map_err(text)
            }
            Action::Message(message) => self.send(message, instance),
            Action::Signal { name, variables } => {
                self.sandbox.signal(name, &assignments(variables)).map(drop).map_err(text)
            }
            Action::Advance(duration) => {
                let to = clock::after(self.sandbox.now(), duration)?;
                self.sandbox.advance(to).map_err(text)
            }
            Action::SetVars(variables) => {
                let Some(record) = self.root(instance) else {
                    return Err("there is no instance".to_owned());
                };
                let id = record.id;
                self.sandbox.set_variables(id, None, assignments(variables)).map_err(text)
            }
            Action::EvaluateConditions(variables) => {
                self.sandbox.evaluate_conditions(&assignments(variables)).map(drop).map_err(text)
            }
            Action::Cancel => {
                let meant = self.meant(instance);
                let roots = self.sandbox.instances().filter(|it| !it.is_called());
                let roots = roots.filter(|it| meant(it.id) && it.state.is_running());
                let roots: Vec<InstanceId> = roots.map(|it| it.id).collect();
                roots.into_iter().try_for_each(|it| self.sandbox.cancel(it)).map_err(text)
            }
            Action::Restart => self.sandbox.restart().map_err(text),
        }
    }

    /// The start event of a process that has one, which waits for a trigger. Someone who starts such
    /// a process means it.
    fn only_start(&self, definition: &str) -> Option<String> {
        let plan = &self.sandbox.definitions().find(definition)?.plan;
        match (plan.root().starts.as_slice(), plan.root().typed_starts.as_slice()) {
            ([], [only]) => Some(plan.node(*only).name.to_string()),
            _ => None,
        }
    }

    /// What waits at an element: work before anything else, what flows before what stands beside.
    fn wait_at(
        &self,
        element: &str,
        filter: &Map,
        instance: Option<&str>,
    ) -> Result<Address, String> {
        let meant = self.meant(instance);
        let mut found: Vec<(u8, Address)> = Vec::new();
        for record in self.sandbox.instances().filter(|it| meant(it.id)) {
            for (wait, it) in &record.state.waits {
                let token = &record.state.tokens[&it.token];
                if &*record.plan().node(token.node).name != element {
                    continue;
                }
                let view = View::new(record.plan(), &record.state, it.token);
                if !filter.iter().all(|(name, value)| view.get(name).as_ref() == Some(value)) {
                    continue;
                }
                let rank = match (&*it.on, token.role) {
                    (WaitFor::Work(_), _) => 0,
                    (_, Role::Guard(_) | Role::Start) => 2,
                    _ => 1,
                };
                found.push((rank, Address { instance: record.id, wait: *wait }));
            }
        }
        found.sort();
        let first = found.first().map(|(_, address)| *address);
        first.ok_or_else(|| format!("nothing waits at {element}, but {:?}", self.active(None)))
    }

    fn send(&mut self, step: &MessageStep, instance: Option<&str>) -> Result<(), String> {
        let anyone = step.element.is_none()
            && step.business_key.is_none()
            && step.correlate.is_empty()
            && !step.all
            && instance.is_none();
        let variables = assignments(&step.variables);
        if anyone {
            // Camunda 7 leaves it to the sender to say who is meant.
            if self.is_camunda() && self.receivers(step, None).len() > 1 {
                return Err(format!("several wait for message {}", step.name));
            }
            let key = step.key.clone().map(|key| (CORRELATION_KEY.into(), key));
            let mut message = Message::new(&step.name);
            message.correlation = key.into_iter().collect();
            message.variables = variables;
            // Camunda 7 holds no messages.
            message.ttl = self.is_camunda().then_some(Duration::ZERO);
            return match self.sandbox.publish(message).map_err(text)? {
                Receipt::Dropped => Err(format!("nobody waits for message {}", step.name)),
                Receipt::Received(_)
                | Receipt::Shared(_)
                | Receipt::Started(_)
                | Receipt::Noted
                | Receipt::Held
                | Receipt::Known => Ok(()),
            };
        }
        let mut waits = self.receivers(step, instance);
        let mut starts = if instance.is_none() { self.starts(step) } else { Vec::new() };
        if !step.all {
            waits.truncate(1);
            starts.truncate(usize::from(waits.is_empty()));
        }
        if waits.is_empty() && starts.is_empty() {
            return Err(format!("nobody waits for message {}", step.name));
        }
        for to in waits {
            self.sandbox.complete(to, variables.clone()).map_err(text)?;
        }
        for (definition, at) in starts {
            let start = Start {
                definition: &definition,
                at: Some(&at),
                business_id: step.business_key.as_deref().map(Into::into),
                variables: variables.clone(),
            };
            self.sandbox.start(start).map_err(text)?;
        }
        Ok(())
    }

    /// The waits that a message is meant for.
    fn receivers(&self, step: &MessageStep, instance: Option<&str>) -> Vec<Address> {
        let meant = self.meant(instance);
        let mut receivers = Vec::new();
        for record in self.sandbox.instances().filter(|it| meant(it.id) && self.fits(it, step)) {
            for (wait, it) in &record.state.waits {
                let WaitFor::Message { name, correlation } = &*it.on else { continue };
                let node = record.plan().node(record.state.tokens[&it.token].node);
                let key = correlation.iter().find(|(name, _)| &**name == CORRELATION_KEY);
                let same_key = match (&step.key, key) {
                    (Some(wanted), Some((_, key))) => wanted == key,
                    _ => true,
                };
                let at = |element: &str| {
                    &*node.name == element
                        || matches!(node.element, Element::Start(_))
                            && node
                                .parent
                                .is_some_and(|it| &*record.plan().node(it).name == element)
                };
                if **name == *step.name && same_key && step.element.as_deref().is_none_or(at) {
                    receivers.push(Address { instance: record.id, wait: *wait });
                }
            }
        }
        receivers
    }

    /// Whether an instance is one that a message is meant for.
    fn fits(&self, record: &Live, step: &MessageStep) -> bool {
        let mut root = record;
        while let Some(caller) = root.caller().and_then(|it| self.sandbox.instance(it.instance)) {
            root = caller;
        }
        let key = record.business_id().or_else(|| root.business_id());
        let has = |(name, value): (&travertine_value::Name, &Value)| {
            record.variables().any(|(it, known)| it == name && known == value)
        };
        step.business_key.as_deref().is_none_or(|it| key == Some(it))
            && step.correlate.iter().all(has)
    }

    /// The start events that a message triggers: definition and start event.
    fn starts(&self, step: &MessageStep) -> Vec<(String, String)> {
        let mut starts = Vec::new();
        for definition in self.sandbox.definitions().latest() {
            for trigger in &definition.starts {
                let StartOn::Message(name) = &trigger.on else { continue };
                let at = &definition.plan.node(trigger.node).name;
                if **name == *step.name && step.element.as_deref().is_none_or(|it| it == &**at) {
                    starts.push((definition.id.to_string(), at.to_string()));
                }
            }
        }
        starts
    }
}

/// Start variables, with times relative to the start of the case worked out.
fn with_times(variables: &Map) -> Result<Assignments, String> {
    let mut all = assignments(variables);
    for (_, value) in &mut all {
        if let Some(after) = value.field("$now_plus").and_then(Value::as_str) {
            *value = clock::local(clock::after(clock::DAWN, after)?).into();
        }
    }
    Ok(all)
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where an error is mapped")]
fn text(error: Error) -> String {
    error.to_string()
}
