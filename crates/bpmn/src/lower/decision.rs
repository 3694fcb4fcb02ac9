//! Business rule tasks that name a decision.

use travertine_kernel::plan::{BusinessRule, Element};
use travertine_value::Name;

use super::Lowering;
use crate::{
    expression::{Text, nothing},
    xml::{Node, Ns},
};

impl<'a> Lowering<'a> {
    /// The decision that a business rule task names; `None` where it names none. Which version it makes is
    /// found out when it is entered.
    pub(super) fn decision(&self, node: Node<'a>) -> Option<Element> {
        let rule = self.own_decision(node).or_else(|| self.called_decision(node))?;
        Some(Element::BusinessRule(rule))
    }

    /// By our own word for it, or Camunda 7's.
    fn own_decision(&self, node: Node<'a>) -> Option<BusinessRule> {
        let ns = [&Ns::Travertine, &Ns::Camunda];
        let (ns, text) =
            ns.into_iter().find_map(|ns| Some((ns, Text::ext(node, ns, "decisionRef")?)))?;
        if text.source.is_empty() {
            self.unnamed(node, "write the id of a decision into decisionRef");
        } else if !text.is_marked() {
            self.look_up(node, text.source);
        }
        // Camunda 7 hands over a list of results unless it is told otherwise.
        let listed = match node.ext(&Ns::Camunda, "mapDecisionResult") {
            Some("resultList") => true,
            Some(_) | None => false,
        };
        Some(BusinessRule {
            decision: self.compiler.text(text),
            binding: self.binding(node, "decisionRef"),
            result: node.ext(ns, "resultVariable").map(Name::from),
            listed,
        })
    }

    /// By Camunda 8's word for it.
    fn called_decision(&self, node: Node<'a>) -> Option<BusinessRule> {
        let called = node.extensions(&Ns::Zeebe, "calledDecision").next()?;
        let id = called.attribute(&Ns::None, "decisionId").filter(|it| !it.value.is_empty());
        let decision = if let Some(id) = id {
            let text = Text::attribute(called, id);
            if !text.source.starts_with('=') {
                self.look_up(node, text.source);
            }
            self.feel_or_text(text)
        } else {
            self.unnamed(node, "add decisionId to zeebe:calledDecision");
            nothing()
        };
        Some(BusinessRule {
            decision,
            binding: self.zeebe_binding(node, called),
            result: called.attr("resultVariable").map(Name::from),
            listed: false,
        })
    }

    fn unnamed(&self, node: Node<'a>, help: &str) {
        let message = format!("{} does not say which decision it makes", node.title());
        self.error("TV0721", node, message, help);
    }

    /// Says so where nobody knows the decision. It may be deployed later.
    fn look_up(&self, node: Node<'a>, decision: &str) {
        let known = &self.cx.options.decisions;
        if known.names.contains(decision) {
            return;
        }
        let title = node.title();
        let (message, help) = if known.deployed {
            (
                format!("no decision '{decision}' is deployed yet, and {title} makes it"),
                "deploy its DMN file too; until then the task becomes an incident",
            )
        } else {
            (
                format!("no decision '{decision}' is in these files, and {title} makes it"),
                "give its DMN file along with the model; one that is deployed counts too",
            )
        };
        self.warn("TV0720", node, message, help);
    }
}
