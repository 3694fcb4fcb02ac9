//! Sub-processes of all kinds.

use travertine_kernel::plan::{Activation, AdHoc, Container, Element, EventSubProcess, NodeId};

use super::{Lowering, is_true};
use crate::{dialect::Dialect, expression::Text, xml::Node};

impl<'a> Lowering<'a> {
    pub(super) fn sub_process(&self, node: Node<'a>) -> Element {
        let container = Container::default();
        if is_true(node, "triggeredByEvent", false) && !node.is("adHocSubProcess") {
            return self.event_sub_process(node, container);
        }
        match node.name() {
            "transaction" => Element::Transaction(container),
            "adHocSubProcess" => Element::AdHoc(AdHoc {
                container,
                activation: self.activation(node),
                sequential: node.attr("ordering") == Some("Sequential"),
                completion: node
                    .child("completionCondition")
                    .map(|it| self.compiler.expression(Text::of(it))),
                cancel_remaining: is_true(node, "cancelRemainingInstances", true),
                performer: self.performer(node),
            }),
            _ => Element::SubProcess(container),
        }
    }

    /// What an ad-hoc sub-process begins with. In Camunda 8 that is what a list names, and nothing begins
    /// by itself.
    fn activation(&self, node: Node<'a>) -> Activation {
        match self.dialect {
            Dialect::Native | Dialect::Camunda7 | Dialect::Fleans => Activation::All,
            Dialect::Camunda8 => Activation::Chosen(self.active_elements(node)),
        }
    }

    fn event_sub_process(&self, node: Node<'a>, container: Container) -> Element {
        let Some(start) = node.child("startEvent") else {
            // Reported by validation.
            return Element::SubProcess(container);
        };
        let interrupting = is_true(start, "isInterrupting", true);
        let start = self.places[&start.key()];
        Element::EventSubProcess(EventSubProcess { container, start, interrupting })
    }

    /// The nearest element around an ad-hoc sub-process that says it performs sequentially, unless
    /// another ad-hoc sub-process comes first.
    fn performer(&self, node: Node<'a>) -> Option<NodeId> {
        let is_performer = |it: Node<'a>| self.performers.contains(&it.key());
        if is_performer(node) {
            return None;
        }
        for ancestor in node.ancestors() {
            if is_performer(ancestor) {
                return self.places.get(&ancestor.key()).copied();
            }
            if ancestor.is("adHocSubProcess") {
                return None;
            }
        }
        None
    }
}
