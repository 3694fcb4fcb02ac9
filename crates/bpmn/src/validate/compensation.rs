//! Rules about compensation.

use super::Rules;
use crate::{
    dialect::Dialect,
    lower::is_true,
    schema,
    xml::{Node, Ns},
};

impl<'a> Rules<'a> {
    /// Checks the compensation of an activity, and the compensation it throws from inside.
    pub(super) fn check_compensation(&self, activity: Node<'a>) {
        let boundaries = self.graph.boundaries(activity).iter().copied();
        let compensates =
            |it: &Node<'a>| self.files.definition(*it, "compensateEventDefinition").is_some();
        let boundaries = boundaries.filter(compensates);
        for boundary in boundaries {
            if is_true(activity, "isForCompensation", false) {
                let message =
                    format!("{} compensates, so it cannot be compensated", activity.title());
                self.error("TV0473", boundary, message, "remove its compensation event");
            }
            self.check_handler(activity, boundary);
        }
    }

    fn check_handler(&self, activity: Node<'a>, boundary: Node<'a>) {
        let associated = self.graph.associated(boundary).iter().copied();
        let handlers: Vec<_> = associated
            .filter(|it| *it.ns() == Ns::Bpmn && schema::is_a(it.name(), "activity"))
            .collect();
        let [handler] = handlers[..] else {
            let message = format!(
                "{} has {} compensation activities",
                boundary.title(),
                if handlers.is_empty() { "no" } else { "several" }
            );
            let help = "lead one association from the event to the activity that undoes";
            self.standard("TV0470", boundary, message, help);
            return;
        };
        if !is_true(handler, "isForCompensation", false) {
            let message = format!("{} undoes, but isForCompensation is not set", handler.title());
            let help = "set isForCompensation to true";
            match self.dialect {
                Dialect::Fleans => self.harmless("TV0471", handler, message, help),
                _ => self.error("TV0471", handler, message, help),
            }
        }
        if handler.is("callActivity") {
            let message =
                format!("{} undoes, and is neither task nor sub-process", handler.title());
            self.harmless("TV0475", handler, message, "put the call into a sub-process");
        }
        if loop_kind(activity) != loop_kind(handler) {
            let message =
                format!("{} repeats otherwise than {}", handler.title(), activity.title());
            self.standard("TV0472", handler, message, "give both the same loop characteristics");
        }
    }

    /// What is compensated must have been completed in the scope of the thrower, or in the scope
    /// around an event sub-process.
    pub(super) fn check_activity_ref(&self, event: Node<'a>, definition: Node<'a>) {
        let Some(reference) = definition.attr("activityRef") else { return };
        let Some(activity) = self.files.resolve_as(definition, reference, "activity") else {
            return;
        };
        let scopes = event.ancestors().scan(true, |reachable, it| {
            if !*reachable {
                return None;
            }
            *reachable = is_true(it, "triggeredByEvent", false);
            Some(it)
        });
        if !scopes.into_iter().any(|it| activity.parent() == Some(it)) {
            let message = format!("{} is out of reach for {}", activity.title(), event.title());
            let help = "compensate the sub-process it lies in";
            self.error("TV0474", definition, message, help);
        }
    }
}

/// How an activity repeats, as far as compensation must agree.
fn loop_kind(activity: Node<'_>) -> (bool, bool, bool) {
    let several = activity.child("multiInstanceLoopCharacteristics");
    (
        several.is_some(),
        several.is_some_and(|it| is_true(it, "isSequential", false)),
        activity.child("standardLoopCharacteristics").is_some(),
    )
}
