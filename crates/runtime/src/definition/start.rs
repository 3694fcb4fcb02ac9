//! What starts instances from outside: start events with their triggers.

use travertine_kernel::{
    Assignments, NodeId, Plan,
    plan::{Element, Receivers, Start, TO, Trigger},
};
use travertine_value::{Map, Name, Program, Value, time};

use super::Definition;
use crate::{Error, Timestamp, message::PROCESS};

/// One trigger of a start event.
#[derive(Clone, Debug)]
pub struct StartTrigger {
    /// The start event.
    pub node: NodeId,
    /// Which of its triggers.
    pub position: usize,
    /// What must happen.
    pub on: StartOn,
}

/// What starts an instance from outside.
#[derive(Clone, Debug)]
pub enum StartOn {
    /// A message of this name.
    Message(Name),
    /// A signal of this name.
    Signal(Name),
    /// A time.
    Timer(time::Due),
    /// A condition on variables that someone offers.
    Condition(Program),
}

impl Definition {
    /// What a message must say to be heard by a trigger of a start event, besides its name.
    pub(crate) fn wanted(&self, trigger: &StartTrigger) -> Assignments {
        let mut wanted = self.wanted_by_flows(trigger);
        let process = self.process_of_messages();
        if !process.is_empty() {
            wanted.push((PROCESS.into(), process.into()));
        }
        wanted
    }

    /// The process that has messages of its own; an empty id, where all have them together.
    pub(crate) fn process_of_messages(&self) -> Name {
        match self.plan.policy.receivers {
            Receivers::One => "".into(),
            Receivers::PerProcess => Name::clone(&self.id),
        }
    }

    fn wanted_by_flows(&self, trigger: &StartTrigger) -> Assignments {
        let triggers = self.start(trigger.node).map_or(&[][..], |it| &it.triggers);
        let Some(Trigger::Message(message)) = triggers.get(trigger.position) else {
            return Vec::new();
        };
        // Other properties are about variables, and there are none yet.
        let ends = message.correlation.iter().filter(|(name, _)| &**name == TO);
        let values = ends.filter_map(|(name, ends)| {
            Some((Name::clone(name), ends.value(&Map::new(), &self.plan.limits).ok()?))
        });
        values.collect()
    }

    pub(crate) fn start(&self, node: NodeId) -> Option<&Start> {
        match &self.plan.node(node).element {
            Element::Start(start) => Some(start),
            _ => None,
        }
    }
}

pub(crate) fn start_triggers(
    id: &Name,
    plan: &Plan,
    now: Timestamp,
) -> Result<Vec<StartTrigger>, Error> {
    let mut triggers = Vec::new();
    for &node in &plan.root().typed_starts {
        let Element::Start(start) = &plan.node(node).element else { continue };
        for (position, trigger) in start.triggers.iter().enumerate() {
            let on = start_on(plan, trigger, now).map_err(|reason| Error::BadStart {
                definition: Name::clone(id),
                start: Name::clone(&plan.node(node).name),
                reason,
            })?;
            triggers.extend(on.map(|on| StartTrigger { node, position, on }));
        }
    }
    Ok(triggers)
}

/// What a trigger waits for before there are any variables; `None` for one that only happens within.
fn start_on(plan: &Plan, trigger: &Trigger, now: Timestamp) -> Result<Option<StartOn>, String> {
    let text = |program: &Program| match program.value(&Map::new(), &plan.limits) {
        Ok(Value::String(text)) => Ok(text),
        Ok(other) => Err(format!("`{}` is {}, not a text", program.source(), other.kind())),
        Err(error) => Err(format!("`{}`: {error}", program.source())),
    };
    Ok(match trigger {
        Trigger::Message(message) => Some(StartOn::Message(text(&message.name)?)),
        Trigger::Signal { name } => Some(StartOn::Signal(text(name)?)),
        Trigger::Timer { kind, when } => {
            let text = text(when)?;
            let wrong = |error| format!("`{text}` is no time: {error}");
            Some(StartOn::Timer(time::due(*kind, &text, now).map_err(wrong)?))
        }
        Trigger::Condition { when, .. } => Some(StartOn::Condition(when.clone())),
        Trigger::Error { .. }
        | Trigger::Escalation { .. }
        | Trigger::Compensation
        | Trigger::Cancel => None,
    })
}
