//! Rules about events: which definitions may stand where.

use super::Rules;
use crate::{
    dialect::Dialect,
    lower::is_true,
    schema,
    xml::{Node, Ns},
};

/// What may stand in an event, without `EventDefinition`.
fn allowed(event: Node<'_>) -> &'static [&'static str] {
    match event.name() {
        "startEvent" if event.parent().is_some_and(|it| is_true(it, "triggeredByEvent", false)) => {
            &["message", "timer", "conditional", "signal", "error", "escalation", "compensate"]
        }
        "startEvent" => &["message", "timer", "conditional", "signal"],
        "intermediateCatchEvent" => &["message", "timer", "conditional", "signal", "link"],
        "boundaryEvent" => &[
            "message",
            "timer",
            "conditional",
            "signal",
            "error",
            "escalation",
            "compensate",
            "cancel",
        ],
        "endEvent" => {
            &["message", "signal", "error", "escalation", "compensate", "cancel", "terminate"]
        }
        _ => &["message", "signal", "escalation", "compensate", "link"],
    }
}

impl<'a> Rules<'a> {
    pub(super) fn check_event(&self, event: Node<'a>) {
        let definitions = self.definitions(event);
        let names: Vec<_> =
            definitions.iter().map(|it| it.name().trim_end_matches("EventDefinition")).collect();
        let blank_sub_process_start = event.is("startEvent")
            && event.parent().is_some_and(|it| !it.is("process"))
            && !event.parent().is_some_and(|it| is_true(it, "triggeredByEvent", false));
        for (definition, name) in definitions.iter().zip(&names) {
            // What a sub-process may not wait for is said once, by the rules about containers.
            if !allowed(event).contains(name) && !blank_sub_process_start {
                let message =
                    format!("a {name} event definition cannot stand in {}", event.title());
                self.error("TV0440", *definition, message, "use another event");
            }
            self.check_definition(event, *definition);
            self.check_activity_ref(event, *definition);
        }
        if names.len() > 1 && names.contains(&"link") {
            let message = format!("{} has other definitions besides a link", event.title());
            self.error("TV0446", event, message, "keep the link alone");
        }
        if definitions.is_empty() && event.is_any(&["boundaryEvent", "intermediateCatchEvent"]) {
            let message = format!("{} waits for nothing", event.title());
            self.error("TV0441", event, message, "give it a trigger: a message, a timer, …");
        }
        self.check_interrupting(event, &names);
        self.check_cancel(event, &names);
        self.check_references(event);
    }

    fn check_definition(&self, event: Node<'a>, definition: Node<'a>) {
        let reference = match definition.name() {
            "signalEventDefinition" => "signalRef",
            "messageEventDefinition" if schema::is_a(event.name(), "catchEvent") => "messageRef",
            _ => return,
        };
        if definition.attr(reference).is_none() {
            let message = format!("{} does not say which {reference} it means", event.title());
            let help = "refer to a message or signal of the model";
            if reference == "signalRef" {
                self.error("TV0442", definition, message, help);
            } else {
                self.strict("TV0442", definition, message, help);
            }
        }
    }

    /// What always ends what it interrupts cannot be drawn as not interrupting.
    fn check_interrupting(&self, event: Node<'a>, names: &[&str]) {
        let attribute = match event.name() {
            "boundaryEvent" => "cancelActivity",
            "startEvent" => "isInterrupting",
            _ => return,
        };
        let always = names.iter().find(|it| ["error", "compensate", "cancel"].contains(it));
        if let Some(name) = always
            && !is_true(event, attribute, true)
        {
            let message =
                format!("{} waits for a {name} event and does not interrupt", event.title());
            let help = "let it interrupt";
            // Camunda 7 ignores it for compensation, where nothing is left to interrupt.
            match (*name, self.dialect) {
                ("compensate", Dialect::Camunda7) => self.strict("TV0443", event, message, help),
                _ => self.error("TV0443", event, message, help),
            }
        }
    }

    fn check_cancel(&self, event: Node<'a>, names: &[&str]) {
        if !names.contains(&"cancel") {
            return;
        }
        let fits = match event.name() {
            "boundaryEvent" => event
                .attr("attachedToRef")
                .and_then(|it| self.files.resolve(event, it))
                .is_none_or(|it| it.is("transaction")),
            "endEvent" => event.ancestors().any(|it| it.is("transaction")),
            _ => return,
        };
        if !fits {
            let message = format!("{} cancels, but there is no transaction", event.title());
            self.error("TV0444", event, message, "make the sub-process a transaction");
        }
    }

    /// A definition that others refer to stands outside all events.
    fn check_references(&self, event: Node<'a>) {
        for reference in event.all("eventDefinitionRef") {
            let target = self.files.resolve_as(reference, reference.text(), "eventDefinition");
            if let Some(target) = target
                && target.parent().is_some_and(|it| !it.is("definitions"))
            {
                let message = format!(
                    "{} refers to '{}', which belongs to another event",
                    event.title(),
                    reference.text().trim()
                );
                self.error("TV0445", reference, message, "move the definition to the definitions");
            }
        }
    }

    pub(super) fn definitions(&self, event: Node<'a>) -> Vec<Node<'a>> {
        let is_definition =
            |it: &Node<'a>| *it.ns() == Ns::Bpmn && schema::is_a(it.name(), "eventDefinition");
        let own = event.children().filter(is_definition);
        let referred = event
            .all("eventDefinitionRef")
            .filter_map(|it| self.files.resolve_as(it, it.text(), "eventDefinition"));
        own.chain(referred).collect()
    }
}
