//! Business rule tasks that name a decision.

use travertine_expr::{Kind, Name, Program, Value};
use travertine_kernel::plan::Element;

use super::Lowering;
use crate::{
    expression::{Text, list_of, nothing},
    xml::{Node, Ns},
};

impl<'a> Lowering<'a> {
    /// The decision that a business rule task names, made in place; `None` where it names none, or
    /// where no decisions were given and workers of that dialect would do it.
    pub(super) fn decision(&self, node: Node<'a>) -> Option<Element> {
        let (text, result) = if let Some(text) = Text::ext(node, &Ns::Travertine, "decisionRef") {
            (text, node.ext(&Ns::Travertine, "resultVariable"))
        } else if let Some(text) = Text::ext(node, &Ns::Camunda, "decisionRef") {
            self.compiler.languages.find("dmn")?;
            (text, node.ext(&Ns::Camunda, "resultVariable"))
        } else {
            let called = node.extensions(&Ns::Zeebe, "calledDecision").next()?;
            self.compiler.languages.find("dmn")?;
            let id = called.attribute(&Ns::None, "decisionId")?;
            (Text::attribute(called, id), called.attr("resultVariable"))
        };
        let program = self.made(node, text);
        // Camunda 7 hands over a list of results unless it is told otherwise.
        let listed = match node.ext(&Ns::Camunda, "mapDecisionResult") {
            Some("resultList") => true,
            Some(_) | None => false,
        };
        let program = if listed { list_of(vec![program]) } else { program };
        Some(Element::Script { program, result: result.map(Name::from) })
    }

    fn made(&self, node: Node<'a>, text: Text<'a>) -> Program {
        if text.is_marked() {
            let message = format!(
                "the decision of {} is '{}', which is worked out only when it runs",
                node.title(),
                text.source
            );
            self.error("TV0721", node, message, "write the id of a decision");
            return nothing();
        }
        let Some(language) = self.compiler.languages.find("dmn") else {
            let message =
                format!("{} names the decision '{}', but there is none", node.title(), text.source);
            self.error("TV0720", node, message, "give the DMN file along with the model");
            return nothing();
        };
        language.compile(Kind::Expression, text.source).unwrap_or_else(|error| {
            let message = format!("{}: {}", node.title(), error.message);
            self.error("TV0720", node, message, "name one of them, or give its DMN file too");
            Program::constant(Value::Null)
        })
    }
}
