//! Rules about events: which definitions may stand where.

use super::{Rules, formal::Tally};
use crate::{
    dialect::Dialect,
    lower::is_true,
    report::Sink,
    schema::{self, Position},
    xml::{Node, Severity},
};

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
            if !schema::may_stand(name, Position::of(event)) && !blank_sub_process_start {
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
        match definition.name() {
            "signalEventDefinition" if definition.attr("signalRef").is_none() => {
                let message = format!("{} does not say which signal it means", event.title());
                self.error("TV0442", definition, message, "refer to a signal of the model");
            }
            "errorEventDefinition" if schema::is_a(event.name(), "throwEvent") => {
                self.check_code(event, definition, "errorRef", "errorCode");
            }
            "escalationEventDefinition" if schema::is_a(event.name(), "throwEvent") => {
                self.check_code(event, definition, "escalationRef", "escalationCode");
            }
            _ => {}
        }
    }

    /// What is thrown has a code, or nobody could catch it by one.
    fn check_code(&self, event: Node<'a>, definition: Node<'a>, reference: &str, code: &str) {
        let target = definition.attr(reference).map(|it| self.files.resolve(definition, it));
        let severity = match target {
            // The standard asks for a code, but a catch-all catches what has none, and models use
            // that. Camunda 7 takes a definition without a code for a mistake.
            None => Severity::Warning,
            Some(Some(target)) if target.attr(code).is_none_or(is_blank) => match self.dialect {
                Dialect::Camunda7 => Severity::Error,
                Dialect::Native | Dialect::Camunda8 | Dialect::Fleans => Severity::Warning,
            },
            // A dangling reference is reported as such, where it is not the code itself.
            Some(_) => return,
        };
        let message = format!("{} throws something without {code}", event.title());
        let help = format!("refer to something that has one, by {reference}");
        self.sink.add(severity, "TV0447", definition, definition.place(), message, &help);
    }

    /// What always ends what it interrupts cannot be drawn as not interrupting.
    fn check_interrupting(&self, event: Node<'a>, names: &[&str]) {
        let attribute = match event.name() {
            "boundaryEvent" => "cancelActivity",
            "startEvent" => "isInterrupting",
            _ => return,
        };
        let always = names.iter().find(|it| schema::INTERRUPTING.contains(it));
        if let Some(name) = always
            && !is_true(event, attribute, true)
        {
            let message =
                format!("{} waits for a {name} event and does not interrupt", event.title());
            let help = "let it interrupt";
            // Camunda 7 ignores it for compensation, where nothing is left to interrupt.
            match (*name, self.dialect) {
                ("compensate", Dialect::Camunda7) => self.standard("TV0443", event, message, help),
                ("compensate", Dialect::Fleans) if event.is("boundaryEvent") => {
                    self.harmless("TV0443", event, message, help);
                }
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

    /// What may be attached to an activity.
    pub(super) fn check_boundaries(&self, activity: Node<'a>) {
        let boundaries = self.graph.boundaries(activity);
        if is_true(activity, "triggeredByEvent", false)
            && let [boundary, ..] = boundaries
        {
            let message = format!("{} is attached to an event sub-process", boundary.title());
            self.error("TV0448", *boundary, message, "attach it to an activity");
        }
        for boundary in boundaries.iter().filter(|it| it.parent() != activity.parent()) {
            let message = format!("{} lies in another scope than its activity", boundary.title());
            self.error("TV0402", *boundary, message, "move it beside the activity");
        }
        let mut cancels =
            boundaries.iter().filter(|it| it.child("cancelEventDefinition").is_some()).skip(1);
        if let Some(second) = cancels.next() {
            let message = format!("{} has a second cancel event", activity.title());
            self.error("TV0449", *second, message, "keep one of them");
        }
    }

    /// What a loop throws for those that run, itself or by a definition that it refers to.
    pub(super) fn check_behavior(&self, activity: Node<'a>) {
        let Some(several) = activity.child("multiInstanceLoopCharacteristics") else { return };
        for complex in several.all("complexBehaviorDefinition") {
            complex.all("event").for_each(|it| self.check_event(it));
        }
        for name in ["oneBehaviorEventRef", "noneBehaviorEventRef"] {
            let definition = several
                .attr(name)
                .and_then(|it| self.files.resolve_as(several, it, "eventDefinition"));
            let Some(definition) = definition else { continue };
            if !schema::may_stand(definition.name(), Position::Throw) {
                let message =
                    format!("{name} of {} means {}", activity.title(), definition.title());
                self.error("TV0440", several, message, "refer to what can be thrown");
            }
            if definition.parent().is_some_and(|it| !it.is("definitions")) {
                let message = format!(
                    "{name} of {} means {}, which belongs to an event",
                    activity.title(),
                    definition.title()
                );
                self.harmless("TV0445", several, message, "move it to the definitions");
            }
        }
    }

    /// A definition that others refer to stands outside all events.
    fn check_references(&self, event: Node<'a>) {
        let mut named = Vec::new();
        for reference in event.all("eventDefinitionRef") {
            let target = self.files.resolve_as(reference, reference.text(), "eventDefinition");
            if named.contains(&target) && target.is_some() {
                let message =
                    format!("{} refers to '{}' twice", event.title(), reference.text().trim());
                self.harmless("TV0445", reference, message, "refer to it once");
            }
            named.push(target);
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
        super::definitions(event, self.files)
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Workers send messages and others receive them, whatever operation that is called.
pub(super) fn check_operations(root: Node<'_>, dialect: Dialect, sink: &Sink) {
    let mut silent = Tally::new(dialect);
    let executed = || root.all("process").filter(|it| !sink.is_drawing(*it));
    // Those that events refer to stand outside of all processes.
    let is_any_executed = executed().next().is_some();
    let shared = root.all("messageEventDefinition").filter(|_| is_any_executed);
    let drawn = executed().flat_map(Node::descendants).filter(|it| it.is("messageEventDefinition"));
    for definition in shared.chain(drawn) {
        if definition.child("operationRef").is_none() {
            silent.add(definition);
        }
    }
    silent.report(sink, "TV0425", |first, count| {
        let event = first.parent().filter(|it| schema::is_a(it.name(), "anyEvent"));
        let event = event.unwrap_or(first).title();
        match count {
            1 if first.id().is_some() => format!("{} names no operation", first.title()),
            1 => format!("the message definition of {event} names no operation"),
            _ => format!(
                "the message definitions of {event} and {} others name no operation",
                count - 1
            ),
        }
    });
}
