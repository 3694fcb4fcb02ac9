//! Call activities.

use travertine_expr::Name;
use travertine_kernel::plan::{Call, Element};

use super::{Lowering, camunda7::camunda_all, is_true_ext};
use crate::{
    dialect::Dialect,
    expression::{Text, literal},
    schema,
    xml::{Node, Ns, local_part},
};

impl<'a> Lowering<'a> {
    pub(super) fn call(&mut self, node: Node<'a>) -> Element {
        if self.dialect == Dialect::Camunda8
            && let Some(call) = self.called_element(node)
        {
            return Element::Call(call);
        }
        let Some(called) =
            node.attribute(&Ns::None, "calledElement").filter(|it| !it.value.is_empty())
        else {
            let message = format!("{} does not say what it calls", node.title());
            self.error("TV0430", node, message, "add calledElement with the id of a process");
            return Element::Task;
        };
        let text = Text::attribute(node, called);
        let target = self.cx.files.callable(node);
        let task = target.filter(|it| schema::is_a(it.name(), "globalTask"));
        if is_true_ext(node, &Ns::Travertine, "gosub") == Some(true) || task.is_some() {
            return self.gosub(node, text.source, target);
        }
        let definition = if text.is_marked() {
            self.compiler.expression(text)
        } else {
            literal(local_part(text.source))
        };
        Element::Call(Call {
            definition,
            binding: binding(node),
            all_in: self.all_in(node),
            all_out: self.all_out(node),
        })
    }

    fn gosub(&mut self, node: Node<'a>, called: &str, target: Option<Node<'a>>) -> Element {
        if let Some(process) = target {
            Element::Gosub { process: self.callable(process) }
        } else {
            let message = format!("{} calls '{called}', which is no process", node.title());
            let help = "give the file of that process too: a gosub must know it beforehand";
            self.error("TV0431", node, message, help);
            Element::Task
        }
    }

    /// Without a word about variables the called process sees them all, as it would in place.
    fn all_in(&self, node: Node<'a>) -> bool {
        is_true_ext(node, &Ns::Travertine, "allIn").unwrap_or_else(|| match self.dialect {
            Dialect::Camunda7 => camunda_all(node, "in"),
            Dialect::Native | Dialect::Camunda8 => {
                node.extensions(&Ns::Travertine, "input").next().is_none()
                    && !self.has_data(node, "dataInput")
            }
        })
    }

    /// Without a word about results all of them come back: a call is for something.
    fn all_out(&self, node: Node<'a>) -> bool {
        is_true_ext(node, &Ns::Travertine, "allOut").unwrap_or_else(|| match self.dialect {
            Dialect::Camunda7 => camunda_all(node, "out"),
            Dialect::Native | Dialect::Camunda8 => {
                node.extensions(&Ns::Travertine, "output").next().is_none()
                    && !self.has_data(node, "dataOutput")
            }
        })
    }
}

fn binding(node: Node<'_>) -> Option<Name> {
    if let Some(binding) = node.ext(&Ns::Travertine, "binding") {
        return Some(Name::from(binding));
    }
    let binding = node.ext(&Ns::Camunda, "calledElementBinding")?;
    let detail = match binding {
        "version" => node.ext(&Ns::Camunda, "calledElementVersion"),
        "versionTag" => node.ext(&Ns::Camunda, "calledElementVersionTag"),
        _ => None,
    };
    match binding {
        "latest" => None,
        _ => Some(Name::from(detail.unwrap_or(binding))),
    }
}
