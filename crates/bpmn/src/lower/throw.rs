//! Events that make something happen: intermediate throw and end events.

use travertine_kernel::plan::{Element, Send, Throw};

use super::{Lowering, is_true};
use crate::{dialect::Dialect, xml::Node};

impl<'a> Lowering<'a> {
    pub(super) fn throw_event(&self, node: Node<'a>) -> Element {
        let definitions = self.definitions(node);
        if let [definition] = definitions[..]
            && definition.is("messageEventDefinition")
            && let Some(work) = self.implementation(definition, node)
        {
            return work;
        }
        let throws: Vec<_> =
            definitions.into_iter().filter_map(|it| self.throw(node, it)).collect();
        if throws.is_empty() { Element::Pass } else { Element::Throw(throws) }
    }

    pub(super) fn throw(&self, event: Node<'a>, definition: Node<'a>) -> Option<Throw> {
        let payload = || {
            let mut payload = self.named(event, "payload");
            payload.extend(self.named(definition, "payload"));
            if self.dialect == Dialect::Camunda7 {
                payload.extend(self.camunda_in(definition));
            }
            self.payload(payload, self.thrown_input(event, definition))
        };
        match definition.name() {
            "messageEventDefinition" => {
                let reference = self.message_ref(event, definition);
                let messages = vec![self.sent(reference, definition, event)];
                Some(Throw::Message(Send { messages, payload: payload() }))
            }
            "signalEventDefinition" => {
                let name = self.name_of_ref(definition, "signalRef");
                Some(Throw::Signal { name, payload: payload() })
            }
            "escalationEventDefinition" => {
                let code = self.thrown_code(definition, "escalationRef", "escalationCode");
                Some(Throw::Escalation { code, payload: payload() })
            }
            "errorEventDefinition" => Some(Throw::Error {
                code: self.thrown_code(definition, "errorRef", "errorCode"),
                message: self.error_message(definition),
                payload: payload(),
            }),
            "compensateEventDefinition" => Some(Throw::Compensation {
                activity: definition.attr("activityRef").and_then(|it| self.target(definition, it)),
                wait: is_true(definition, "waitForCompletion", true),
            }),
            "cancelEventDefinition" => Some(Throw::Cancel),
            "terminateEventDefinition" => Some(Throw::Terminate),
            // A link is lowered as a flow.
            _ => None,
        }
    }
}
