//! Events that wait: start, intermediate catch and boundary events.

use travertine_kernel::plan::{Boundary, Catch, Changes, Element, Message, Start, Trigger};
use travertine_value::{Name, Program};

use super::{Lowering, is_true};
use crate::{
    dialect::Dialect,
    expression::{Text, literal},
    schema,
    xml::{Node, Ns, Severity},
};

impl<'a> Lowering<'a> {
    pub(super) fn start_event(&self, node: Node<'a>) -> Element {
        let (triggers, all) = self.triggers(node);
        Element::Start(Start { triggers, all, with: Vec::new() })
    }

    pub(super) fn catch_event(&self, node: Node<'a>) -> Element {
        if self.cx.files.definition(node, "linkEventDefinition").is_some() {
            return Element::Pass;
        }
        let (triggers, all) = self.triggers(node);
        if self.dialect == Dialect::Fleans && super::fleans::is_host(node) {
            return Element::Receive(Catch { triggers, all });
        }
        Element::Catch(Catch { triggers, all })
    }

    pub(super) fn boundary_event(&self, node: Node<'a>) -> Element {
        let Some(attached_to) = node.attr("attachedToRef").and_then(|it| self.target(node, it))
        else {
            return Element::Pass;
        };
        let (triggers, all) = self.triggers(node);
        let handler = self.compensation_handler(node).and_then(|it| self.places.get(&it.key()));
        Element::Boundary(Boundary {
            attached_to,
            triggers,
            all,
            interrupting: is_true(node, "cancelActivity", true),
            handler: handler.copied(),
        })
    }

    /// The activity that an association leads to from a compensation event.
    pub(super) fn compensation_handler(&self, node: Node<'a>) -> Option<Node<'a>> {
        self.cx.files.definition(node, "compensateEventDefinition")?;
        let id = node.id()?;
        self.associations
            .get(id)?
            .iter()
            .copied()
            .filter_map(|it| self.cx.files.resolve(it, it.attr("targetRef")?))
            .find(|it| schema::is_a(it.name(), "activity"))
    }

    /// What an event waits for, and whether it waits for all of it.
    fn triggers(&self, node: Node<'a>) -> (Vec<Trigger>, bool) {
        let definitions = self.definitions(node);
        let triggers = definitions.into_iter().filter_map(|it| self.trigger(node, it)).collect();
        (triggers, is_true(node, "parallelMultiple", false))
    }

    /// The event definitions of an event: those drawn in it, then those it refers to.
    pub(super) fn definitions(&self, node: Node<'a>) -> Vec<Node<'a>> {
        self.cx.files.definitions(node).collect()
    }

    fn trigger(&self, event: Node<'a>, definition: Node<'a>) -> Option<Trigger> {
        match definition.name() {
            "messageEventDefinition" => {
                let message = self.message_ref(event, definition);
                Some(Trigger::Message(self.awaited(message, definition, event)))
            }
            "signalEventDefinition" => {
                Some(Trigger::Signal { name: self.name_of_ref(definition, "signalRef") })
            }
            "timerEventDefinition" => self.timer(definition),
            "conditionalEventDefinition" => Some(self.condition(definition)),
            "errorEventDefinition" => {
                let code = self.code(definition, "errorRef", "errorCode");
                let code_variable = self.named_by(definition, "codeVariable", "errorCodeVariable");
                let message_variable =
                    self.named_by(definition, "messageVariable", "errorMessageVariable");
                Some(Trigger::Error { code, code_variable, message_variable })
            }
            "escalationEventDefinition" => {
                let code = self.code(definition, "escalationRef", "escalationCode");
                let code_variable =
                    self.named_by(definition, "codeVariable", "escalationCodeVariable");
                Some(Trigger::Escalation { code, code_variable })
            }
            "compensateEventDefinition" => Some(Trigger::Compensation),
            "cancelEventDefinition" => Some(Trigger::Cancel),
            // Links and terminations wait for nothing; validation says where they may stand.
            _ => None,
        }
    }

    /// A variable named by an attribute of ours, or of Camunda's.
    fn named_by(&self, definition: Node<'a>, native: &str, camunda: &str) -> Option<Name> {
        definition
            .ext(&Ns::Travertine, native)
            .or_else(|| self.camunda_ext(definition, camunda))
            .filter(|it| !it.is_empty())
            .map(Name::from)
    }

    fn condition(&self, definition: Node<'a>) -> Trigger {
        let when = match definition.child("condition") {
            Some(condition) => self.condition_of(Text::of(condition)),
            None => crate::expression::nothing(),
        };
        let filter = match self.dialect {
            Dialect::Fleans => None,
            Dialect::Native | Dialect::Camunda7 | Dialect::Camunda8 => {
                definition.extensions(&Ns::Zeebe, "conditionalFilter").next()
            }
        };
        let names = definition
            .ext(&Ns::Travertine, "variables")
            .or_else(|| self.camunda_ext(definition, "variableName"))
            .or_else(|| filter?.attr("variableNames"));
        let changes = definition
            .ext(&Ns::Travertine, "changes")
            .or_else(|| self.camunda_ext(definition, "variableEvents"))
            .or_else(|| filter?.attr("variableEvents"));
        let variables = words(names.unwrap_or_default()).map(Name::from).collect();
        Trigger::Condition { when, variables, changes: self.changes(definition, changes) }
    }

    /// Which changes of variables a condition is looked at for.
    fn changes(&self, definition: Node<'a>, text: Option<&str>) -> Changes {
        let mut changes = Changes::NONE;
        for word in words(text.unwrap_or_default()) {
            match word {
                "create" => changes.create = true,
                "update" => changes.update = true,
                "delete" => changes.delete = true,
                _ => {
                    let message = format!("a condition is looked at on '{word}' of variables");
                    self.error(
                        "TV0703",
                        definition,
                        message,
                        "write some of: create update delete",
                    );
                }
            }
        }
        if changes == Changes::NONE { Changes::ALL } else { changes }
    }

    /// The code of an error or escalation that is caught; none catches them all.
    fn code(&self, definition: Node<'a>, reference: &str, code: &str) -> Option<Name> {
        let reference = definition.attr(reference)?;
        match self.cx.files.resolve(definition, reference) {
            Some(target) => match target.attr(code) {
                Some(code) if !code.is_empty() => Some(Name::from(code)),
                // Camunda 7 catches everything then; elsewhere the definition speaks for itself.
                _ if self.dialect == Dialect::Camunda7 => None,
                _ => target.id().map(Name::from),
            },
            None => Some(Name::from(reference)),
        }
    }

    /// The code of an error or escalation that is thrown.
    pub(super) fn thrown_code(
        &self,
        definition: Node<'a>,
        reference: &str,
        code: &str,
    ) -> Option<Name> {
        let reference = definition.attr(reference)?;
        let target = self.cx.files.resolve(definition, reference);
        let code =
            target.and_then(|it| it.attr(code).filter(|it| !it.is_empty()).or_else(|| it.id()));
        Some(Name::from(code.unwrap_or(reference)))
    }

    /// The name of the message or signal that a reference means; its id where it has no name.
    pub(super) fn name_of_ref(&self, definition: Node<'a>, reference: &str) -> Program {
        let reference = definition.attr(reference).unwrap_or_default();
        match self.cx.files.resolve(definition, reference) {
            Some(target) => self.event_name(target),
            None => literal(reference),
        }
    }

    pub(super) fn event_name(&self, target: Node<'a>) -> Program {
        match target.attribute(&Ns::None, "name") {
            Some(name) if !name.value.is_empty() => {
                self.compiler.text(Text::attribute(target, name))
            }
            _ => literal(target.id().unwrap_or_default()),
        }
    }

    /// The message that an event means, as it is called in the model.
    pub(super) fn message_ref(&self, event: Node<'a>, definition: Node<'a>) -> &'a str {
        definition.attr("messageRef").unwrap_or_else(|| {
            let message = format!("{} does not say which message it means", event.title());
            let severity = match self.dialect {
                Dialect::Camunda7 => Severity::Warning,
                Dialect::Native | Dialect::Camunda8 | Dialect::Fleans => Severity::Error,
            };
            let help = if schema::is_a(event.name(), "throwEvent") {
                "refer to a message of the model, or say which workers send it"
            } else {
                "refer to a message of the model"
            };
            let place = definition.place();
            self.cx.sink.add(severity, "TV0442", definition, place, message, help);
            ""
        })
    }

    /// A message that is waited for.
    pub(super) fn awaited(
        &self,
        reference: &str,
        definition: Node<'a>,
        event: Node<'a>,
    ) -> Message {
        let mut message = self.message(reference, definition, event);
        self.subscribed(reference, event, &mut message);
        self.receive(reference, event, &mut message);
        message
    }

    /// A message that is sent.
    pub(super) fn sent(&self, reference: &str, definition: Node<'a>, event: Node<'a>) -> Message {
        let mut message = self.message(reference, definition, event);
        self.route(reference, event, &mut message);
        message
    }

    /// A message that is waited for or sent. What `definition` and `event` say about correlation
    /// adds to what the message itself says.
    fn message(&self, reference: &str, definition: Node<'a>, event: Node<'a>) -> Message {
        let target = self.cx.files.resolve_as(definition, reference, "message");
        let name = target.map_or_else(|| literal(reference), |it| self.event_name(it));
        let mut correlation = Vec::new();
        let mut places: Vec<_> = target.into_iter().collect();
        places.push(definition);
        if event != definition {
            places.push(event);
        }
        for place in places {
            correlation.extend(self.named(place, "correlation"));
            if self.dialect == Dialect::Camunda8 {
                correlation.extend(self.subscription(place));
            }
        }
        if self.dialect == Dialect::Fleans {
            correlation.extend(super::fleans::key(target, definition, event));
        }
        Message { name, correlation }
    }
}

/// Words with spaces or commas between.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', ',']).filter(|it| !it.is_empty())
}
