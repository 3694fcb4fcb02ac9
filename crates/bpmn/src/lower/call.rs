//! Call activities.

use std::sync::Arc;

use travertine_kernel::plan::{Call, Element};
use travertine_value::{EvalError, Evaluate, Limits, Name, Outcome, Program, Value, Variables};

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
        let computed = self.computed_binding(node);
        Element::Call(Call {
            definition,
            binding: if computed.is_some() { None } else { self.binding(node, "calledElement") },
            computed,
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
            Dialect::Fleans => super::fleans::passes(node, "propagateAllParentVariables"),
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
            Dialect::Fleans => super::fleans::passes(node, "propagateAllChildVariables"),
            Dialect::Native | Dialect::Camunda8 => {
                node.extensions(&Ns::Travertine, "output").next().is_none()
                    && !self.has_data(node, "dataOutput")
            }
        })
    }

    /// Which version is called, where an expression says the number or the tag, as in Camunda 7.
    fn computed_binding(&self, node: Node<'a>) -> Option<Program> {
        let parts = [
            ("version", "calledElementVersion", "version:"),
            ("versionTag", "calledElementVersionTag", "versionTag:"),
        ];
        if node.ext(&Ns::Travertine, "binding").is_some() {
            return None;
        }
        let said = self.camunda_ext(node, "calledElementBinding")?;
        let (_, attribute, prefix) = parts.into_iter().find(|(it, _, _)| *it == said)?;
        let text = Text::ext(node, &Ns::Camunda, attribute).filter(Text::is_marked)?;
        let program = self.compiler.expression(text);
        let source = program.source().to_owned();
        Some(Program::new(&source, Arc::new(Bound { prefix, program })))
    }

    /// Which version of a definition or a decision is meant: what `tv:binding` says, or what Camunda 7 says by
    /// attributes that begin with `what`; the latest where nothing is said.
    pub(super) fn binding(&self, node: Node<'a>, what: &str) -> Option<Name> {
        if let Some(binding) = node.ext(&Ns::Travertine, "binding") {
            return Some(binding).filter(|it| !it.is_empty() && *it != "latest").map(Name::from);
        }
        let said = |part: &str| self.camunda_ext(node, &format!("{what}{part}"));
        match said("Binding")? {
            "" | "latest" => None,
            "deployment" => Some("deployment".into()),
            "version" => {
                let version = said("Version").and_then(|it| it.trim().parse::<u32>().ok());
                if version.is_none() {
                    let help = format!("add camunda:{what}Version with the number of a version");
                    self.unversioned(node, node, &help);
                }
                version.map(|it| format!("version:{it}").into())
            }
            "versionTag" => {
                let tag = said("VersionTag").filter(|it| !it.is_empty());
                if tag.is_none() {
                    self.unversioned(node, node, &format!("add camunda:{what}VersionTag"));
                }
                tag.map(tagged)
            }
            _ => {
                let help = "a binding is latest, deployment, version or versionTag";
                self.unversioned(node, node, help);
                None
            }
        }
    }

    pub(super) fn unversioned(&self, node: Node<'a>, at: Node<'a>, help: &str) {
        let message = format!("{} does not say which version it means", node.title());
        self.error("TV0719", at, message, help);
    }
}

/// A tag as a binding, which would mean something else where it looks like one.
pub(super) fn tagged(tag: &str) -> Name {
    let is_plain = tag.parse::<u32>().is_err()
        && !matches!(tag, "latest" | "deployment")
        && !tag.starts_with("version:")
        && !tag.starts_with("versionTag:");
    if is_plain { Name::from(tag) } else { format!("versionTag:{tag}").into() }
}

/// A binding that is worked out when the call is made.
#[derive(Debug)]
struct Bound {
    prefix: &'static str,
    program: Program,
}

impl Evaluate for Bound {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let value = match self.program.value(variables, limits)? {
            Value::String(text) => text.to_string(),
            other => other.to_string(),
        };
        let value = format!("{}{value}", self.prefix).into();
        Ok(Outcome { value, writes: Vec::new() })
    }

    fn reads(&self) -> Option<&[Name]> {
        self.program.reads()
    }
}
