//! Which event definition may stand in which event, and what happens there.

use crate::{
    lower::is_true,
    xml::{Node, local_part},
};

/// Where an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A start event of a process.
    Start,
    /// The start event of an event sub-process.
    EventSubProcess,
    /// An intermediate catch event.
    Catch,
    /// A boundary event.
    Boundary,
    /// An intermediate throw event.
    Throw,
    /// An end event.
    End,
}

impl Position {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Start, Self::EventSubProcess, Self::Catch, Self::Boundary, Self::Throw, Self::End];

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Start => "start event of a process",
            Self::EventSubProcess => "start event of an event sub-process",
            Self::Catch => "intermediate catch event",
            Self::Boundary => "boundary event",
            Self::Throw => "intermediate throw event",
            Self::End => "end event",
        }
    }

    pub(crate) fn of(event: Node<'_>) -> Self {
        let triggered = || event.parent().is_some_and(|it| is_true(it, "triggeredByEvent", false));
        match event.name() {
            "startEvent" if triggered() => Self::EventSubProcess,
            "startEvent" => Self::Start,
            "intermediateCatchEvent" => Self::Catch,
            "boundaryEvent" => Self::Boundary,
            "endEvent" => Self::End,
            _ => Self::Throw,
        }
    }
}

/// An event definition that may stand in an event.
#[derive(Clone, Copy, Debug)]
pub struct EventRule {
    /// Its name, without `EventDefinition`.
    pub definition: &'static str,
    /// Where.
    pub position: Position,
    /// What happens.
    pub note: &'static str,
}

/// What may stand where. Everything else is rejected.
pub fn events() -> &'static [EventRule] {
    EVENTS
}

/// Whether a definition may stand there.
pub(crate) fn may_stand(definition: &str, position: Position) -> bool {
    let name = local_part(definition).trim_end_matches("EventDefinition");
    EVENTS.iter().any(|it| it.definition == name && it.position == position)
}

/// Definitions that always interrupt what they are about.
pub(crate) const INTERRUPTING: &[&str] = &["error", "compensate", "cancel"];

const fn rule(definition: &'static str, position: Position, note: &'static str) -> EventRule {
    EventRule { definition, position, note }
}

const EVENTS: &[EventRule] = &[
    rule("message", Position::Start, "a message of that name starts an instance"),
    rule("timer", Position::Start, "a date starts one instance, a cycle one each time"),
    rule("signal", Position::Start, "a signal starts an instance"),
    rule("conditional", Position::Start, "an instance starts when the condition holds"),
    rule("message", Position::EventSubProcess, "a message starts it while its scope runs"),
    rule(
        "timer",
        Position::EventSubProcess,
        "time starts it, again and again for a cycle that does not interrupt",
    ),
    rule("signal", Position::EventSubProcess, "a signal starts it while its scope runs"),
    rule(
        "conditional",
        Position::EventSubProcess,
        "it starts when a change of variables makes the condition true",
    ),
    rule(
        "error",
        Position::EventSubProcess,
        "catches an error raised in its scope, by code or all of them",
    ),
    rule(
        "escalation",
        Position::EventSubProcess,
        "catches an escalation raised in its scope, by code or all of them",
    ),
    rule("compensate", Position::EventSubProcess, "undoes its scope once that has completed"),
    rule("message", Position::Catch, "waits for a message that fits name and correlation"),
    rule("timer", Position::Catch, "waits for a date, a duration or the first time of a cycle"),
    rule("signal", Position::Catch, "waits for a signal"),
    rule("conditional", Position::Catch, "waits until the condition holds"),
    rule("link", Position::Catch, "goes on where the link of that name was thrown"),
    rule("message", Position::Boundary, "a message ends the activity, or leaves it alone"),
    rule(
        "timer",
        Position::Boundary,
        "time ends the activity, or leaves it alone, also again and again",
    ),
    rule("signal", Position::Boundary, "a signal ends the activity, or leaves it alone"),
    rule("conditional", Position::Boundary, "a condition ends the activity, or leaves it alone"),
    rule("error", Position::Boundary, "catches an error of the activity, by code or all of them"),
    rule(
        "escalation",
        Position::Boundary,
        "catches an escalation of the activity, by code or all of them",
    ),
    rule(
        "compensate",
        Position::Boundary,
        "its handler undoes the activity once that has completed",
    ),
    rule("cancel", Position::Boundary, "goes on when the transaction was cancelled and undone"),
    rule("message", Position::Throw, "sends a message and goes on"),
    rule("signal", Position::Throw, "sends a signal to all who wait for it"),
    rule(
        "escalation",
        Position::Throw,
        "raises an escalation and goes on, unless someone interrupts",
    ),
    rule(
        "compensate",
        Position::Throw,
        "undoes an activity, or all of the scope, and waits for that unless it says otherwise",
    ),
    rule("link", Position::Throw, "goes on at the link of that name"),
    rule("message", Position::End, "sends a message"),
    rule("signal", Position::End, "sends a signal to all who wait for it"),
    rule("error", Position::End, "raises an error for the scopes around it"),
    rule("escalation", Position::End, "raises an escalation for the scopes around it"),
    rule("compensate", Position::End, "undoes an activity, or all of the scope"),
    rule("cancel", Position::End, "cancels the transaction around it, which undoes what it did"),
    rule("terminate", Position::End, "ends everything else in its scope"),
];
