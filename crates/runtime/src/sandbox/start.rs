//! How instances begin: asked for, called, or triggered from outside.

use std::{collections::BTreeMap, sync::Arc};

use travertine_expr::Name;
use travertine_kernel::{Assignments, Catches, Command, Instance, NodeId};

use super::{
    Sandbox,
    record::{Address, InstanceId, Record},
    settle::Todo,
};
use crate::{Definition, Error, Receipt, StartOn, alarm::Alarm};

/// A start event of a definition.
pub(super) type Place = (Name, NodeId);

/// What to start, and how.
#[derive(Clone, Debug, Default)]
pub struct Start<'a> {
    /// The id of the definition.
    pub definition: &'a str,
    /// The id of the start event that counts as triggered; the plain start where none is named.
    pub at: Option<&'a str>,
    /// What people call the instance.
    pub business_key: Option<Name>,
    /// What it begins with.
    pub variables: Assignments,
}

impl<'a> Start<'a> {
    /// A plain start without variables.
    pub fn of(definition: &'a str) -> Self {
        Self { definition, ..Self::default() }
    }

    /// The same with these variables.
    #[must_use]
    pub fn with(self, variables: Assignments) -> Self {
        Self { variables, ..self }
    }
}

impl Sandbox {
    pub(super) fn begin(&mut self, start: Start<'_>) -> Result<InstanceId, Error> {
        let Some(definition) = self.definitions.find(start.definition).map(Arc::clone) else {
            return Err(Error::no_such_definition(start.definition));
        };
        let at = match start.at {
            None => None,
            Some(name) => Some(typed_start(&definition, name)?),
        };
        let id = self.record(definition, None);
        self.instances.get_mut(&id).expect("it is recorded").business_key = start.business_key;
        let at = at.into_iter().collect();
        let command = Command::Start { at, variables: start.variables, caller: None };
        if let Err(rejection) = self.turn(id, command) {
            self.instances.remove(&id);
            return Err(rejection.into());
        }
        Ok(id)
    }

    /// A new instance, not begun yet.
    pub(super) fn record(
        &mut self,
        definition: Arc<Definition>,
        caller: Option<Address>,
    ) -> InstanceId {
        self.names += 1;
        let id = InstanceId(self.names);
        let record = Record {
            id,
            definition,
            caller,
            business_key: None,
            state: Instance::default(),
            stuck: BTreeMap::new(),
            called: BTreeMap::new(),
            deferred: Vec::new(),
        };
        self.instances.insert(id, record);
        id
    }

    /// Has what a new definition waits for started it, instead of its versions before.
    pub(super) fn arm_starts(&mut self, definition: &Definition) {
        let is_old = |it: &Alarm| match it {
            Alarm::Start { definition: id, .. } => *id == definition.id,
            Alarm::Wait(_) => false,
        };
        self.alarms.unset_where(is_old);
        self.cycles.retain(|it, _| !is_old(it));
        self.noted.retain(|(id, _), _| *id != definition.id);
        for trigger in &definition.starts {
            let place = (Name::clone(&definition.id), trigger.node);
            match &trigger.on {
                StartOn::Timer(due) => {
                    let alarm = Alarm::Start {
                        definition: Name::clone(&definition.id),
                        node: trigger.node,
                        position: trigger.position,
                    };
                    self.alarms.set(due.at, alarm.clone());
                    if let Some(repeat) = &due.repeat {
                        self.cycles.insert(alarm, repeat.clone());
                    }
                }
                StartOn::Message(name) => {
                    while let Some(message) = self.held.take(name, &Vec::new(), self.now) {
                        self.trigger_start(&place, trigger.position, message.variables);
                    }
                }
                StartOn::Signal(_) | StartOn::Condition(_) => {}
            }
        }
    }

    /// Triggers every start event for which `happens`.
    pub(super) fn trigger_starts(
        &mut self,
        happens: impl Fn(&Definition, &StartOn) -> bool,
        variables: &Assignments,
    ) -> Vec<InstanceId> {
        let places: Vec<(Place, usize)> = self
            .definitions
            .latest()
            .flat_map(|it| it.starts.iter().map(move |trigger| (it, trigger)))
            .filter(|(it, trigger)| happens(it, &trigger.on))
            .map(|(it, trigger)| ((Name::clone(&it.id), trigger.node), trigger.position))
            .collect();
        let mut started = Vec::new();
        for (place, position) in places {
            match self.trigger_start(&place, position, variables.clone()) {
                Receipt::Started(id) => started.push(id),
                Receipt::Received(_) | Receipt::Noted | Receipt::Held | Receipt::Dropped => {}
            }
        }
        started
    }

    /// One trigger of a start event has happened. Where all are needed, the last of them starts an
    /// instance with what all of them brought.
    pub(super) fn trigger_start(
        &mut self,
        place: &Place,
        position: usize,
        variables: Assignments,
    ) -> Receipt {
        let (id, node) = place;
        let definition = self.definitions.find(id).expect("only what is deployed is armed");
        let definition = Arc::clone(definition);
        let start = definition.start(*node).expect("only start events are armed");
        let variables = if start.all {
            let noted = self.noted.entry(place.clone()).or_default();
            noted.insert(position, variables);
            if noted.len() < start.triggers.len() {
                return Receipt::Noted;
            }
            self.noted.remove(place).into_iter().flatten().flat_map(|(_, it)| it).collect()
        } else {
            variables
        };
        let id = self.record(definition, None);
        self.todo.push_back(Todo::Begin { id, at: Some(*node), variables, caller: None });
        Receipt::Started(id)
    }

    /// A call becomes an instance, unless there is nothing to call.
    pub(super) fn call(
        &mut self,
        from: Address,
        id: &Name,
        binding: Option<&Name>,
        variables: &Assignments,
        catches: &Catches,
    ) {
        let caller = &self.instances[&from.instance];
        if caller.called.contains_key(&from.wait) {
            return;
        }
        let binding = binding.map(|it| &**it);
        let Some(definition) = self.definitions.bound(id, binding, &caller.definition).cloned()
        else {
            let reason = match binding {
                None => Error::no_such_definition(id).to_string(),
                Some(version) => format!("no such version of definition {id}: {version}"),
            };
            let caller = self.instances.get_mut(&from.instance).expect("it has just called");
            caller.stuck.insert(from.wait, reason);
            return;
        };
        let child = self.record(definition, Some(from));
        let caller = self.instances.get_mut(&from.instance).expect("it has just called");
        caller.stuck.remove(&from.wait);
        caller.called.insert(from.wait, child);
        self.todo.push_back(Todo::Begin {
            id: child,
            at: None,
            variables: variables.clone(),
            caller: Some(catches.clone()),
        });
    }
}

fn typed_start(definition: &Definition, name: &str) -> Result<NodeId, Error> {
    let starts = &definition.plan.root().typed_starts;
    let found = starts.iter().find(|it| &*definition.plan.node(**it).name == name);
    found.copied().ok_or_else(|| Error::NoSuchStart {
        definition: Name::clone(&definition.id),
        start: name.into(),
    })
}
