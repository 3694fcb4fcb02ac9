//! What Camunda 7's extensions mean.

use travertine_kernel::plan::Element;
use travertine_value::{Name, Program};

use super::Lowering;
use crate::{
    expression::{Text, list_of, map_of, nothing, variable_named},
    xml::{Node, Ns},
};

const NS: &Ns = &Ns::Camunda;

impl<'a> Lowering<'a> {
    /// What the implementation of a task or a throwing message event means.
    pub(super) fn camunda_task(&self, node: Node<'a>, owner: Node<'a>) -> Option<Element> {
        if let Some(expression) = Text::ext(node, NS, "expression") {
            let result = node.ext(NS, "resultVariable").map(Name::from);
            return Some(Element::Script { program: self.compiler.text(expression), result });
        }
        let kind = node.ext(NS, "type").map(str::trim).filter(|it| !it.is_empty());
        if let Some("external" | "external-worker") = kind {
            let job_type = if let Some(topic) = Text::ext(node, NS, "topic") {
                self.compiler.text(topic)
            } else {
                let message = format!("{} is external but has no topic", owner.title());
                self.error("TV0710", node, message, "add camunda:topic");
                nothing()
            };
            return Some(Element::Work(self.work_for(owner, job_type)));
        }
        if let Some(kind) = kind {
            let message = format!(
                "tasks of the type {kind}, such as {}, are not done here; workers do them, as jobs of that type",
                owner.title()
            );
            let help = "provide a worker, or use camunda:type=\"external\"";
            self.warn("TV0711", node, message, help);
            let job_type = crate::expression::literal(kind);
            return Some(Element::Work(self.work_for(owner, job_type)));
        }
        for name in ["class", "delegateExpression"] {
            let Some(text) = Text::ext(node, NS, name) else { continue };
            node.ext(NS, "resultVariable");
            let message = format!(
                "camunda:{name} of {} is not run here; workers do it, as jobs of the type '{}'",
                owner.title(),
                text.source
            );
            let help = "provide a worker, or use camunda:type=\"external\"";
            self.warn("TV0711", node, message, help);
            let job_type = crate::expression::literal(text.source);
            return Some(Element::Work(self.work_for(owner, job_type)));
        }
        None
    }

    /// How often a job may fail: `R5/PT5M` is five times, and a list of durations once for each.
    pub(super) fn camunda_retries(&self, node: Node<'a>) -> Option<Program> {
        let cycle = node.extensions(NS, "failedJobRetryTimeCycle").next()?;
        let text = Text::of(cycle);
        let count = match text.source.strip_prefix('R').and_then(|it| it.split_once('/')) {
            Some((count, _)) => count.parse().ok(),
            None => i64::try_from(text.source.split(',').count()).ok(),
        };
        if text.is_marked() || count.is_none() {
            let message =
                format!("how often {} may fail is not known: {}", node.title(), text.source);
            self.warn("TV0720", cycle, message, "write something like R3/PT5M, or use tv:retries");
            return None;
        }
        count.map(|it| Program::constant(it.into()))
    }

    /// Input or output parameters.
    pub(super) fn parameters(&self, node: Node<'a>, kind: &'a str) -> Vec<(Name, Program)> {
        let parameters = node.extensions(NS, "inputOutput").flat_map(|it| it.parts(kind));
        parameters
            .filter_map(|it| {
                let Some(name) = it.attr("name").filter(|it| !it.is_empty()) else {
                    let message = format!("a camunda:{kind} of {} has no name", node.title());
                    self.error("TV0712", it, message, "add the attribute name");
                    return None;
                };
                Some((Name::from(name), self.parameter(it)))
            })
            .collect()
    }

    /// The value of a parameter, an entry or an item.
    fn parameter(&self, node: Node<'a>) -> Program {
        if let Some(list) = node.parts("list").next() {
            let items = list.children().map(Node::mark).map(|it| self.parameter_item(it));
            return list_of(items.collect());
        }
        if let Some(map) = node.parts("map").next() {
            let entries = map.parts("entry").map(|it| {
                let key = it.attr("key").unwrap_or_default();
                (Name::from(key), self.parameter(it))
            });
            return map_of(entries.collect());
        }
        if let Some(script) = node.parts("script").next() {
            return self.camunda_script(script);
        }
        let text = Text::of(node);
        if text.source.is_empty() { nothing() } else { self.compiler.text(text) }
    }

    fn parameter_item(&self, node: Node<'a>) -> Program {
        match node.name() {
            "script" => self.camunda_script(node),
            "list" | "map" => {
                let message = format!("a {} lies in a list", node.name());
                self.error("TV0713", node, message, "build the value by an expression");
                nothing()
            }
            _ => self.parameter(node),
        }
    }

    pub(super) fn camunda_script(&self, script: Node<'a>) -> Program {
        if script.attr("resource").is_some() {
            let message = "a script lies outside the model".to_owned();
            self.error("TV0714", script, message, "write the script into the model");
            return nothing();
        }
        let text = Text::of(script).in_language(script.attr("scriptFormat"));
        self.check_script(text);
        self.compiler.script(text)
    }

    /// What `camunda:in` gives a called process, or sends with a signal.
    pub(super) fn camunda_in(&self, node: Node<'a>) -> Vec<(Name, Program)> {
        self.passed(node, "in")
    }

    /// What `camunda:out` takes back from a called process.
    pub(super) fn camunda_out(&self, node: Node<'a>) -> Vec<(Name, Program)> {
        self.passed(node, "out")
    }

    fn passed(&self, node: Node<'a>, kind: &'a str) -> Vec<(Name, Program)> {
        let mut passed = Vec::new();
        for it in node.extensions(NS, kind) {
            if it.attr("variables").is_some() {
                continue;
            }
            if it.attr("businessKey").is_some() {
                let message = "the business key of a called process is not set".to_owned();
                self.warn("TV0715", it, message, "pass it as a variable");
                continue;
            }
            let expression = it.attribute(&Ns::None, "sourceExpression");
            let program = match (it.attr("source"), expression) {
                (Some(source), _) if !source.is_empty() => Some(variable_named(source)),
                (_, Some(expression)) if !expression.value.is_empty() => {
                    Some(self.compiler.text(Text::attribute(it, expression)))
                }
                _ => None,
            };
            let target = it.attr("target").filter(|it| !it.is_empty());
            if let (Some(program), Some(target)) = (&program, target) {
                passed.push((Name::from(target), program.clone()));
                continue;
            }
            let missing = if program.is_none() { "source" } else { "target" };
            let message = format!("camunda:{kind} of {} has no {missing}", node.title());
            self.error("TV0716", it, message, "say which variable goes where");
        }
        passed
    }

    /// The message of an error, where its definition has one.
    pub(super) fn error_message(&self, definition: Node<'a>) -> Option<Program> {
        let reference = definition.attr("errorRef")?;
        let error = self.cx.files.resolve_as(definition, reference, "error")?;
        let text = Text::ext(error, NS, "errorMessage");
        match text {
            Some(text) => Some(self.compiler.text(text)),
            None => error.attr("name").map(crate::expression::literal),
        }
    }
}

/// Whether all variables are passed.
pub(super) fn camunda_all<'a>(node: Node<'a>, kind: &'a str) -> bool {
    node.extensions(NS, kind).any(|it| it.attr("variables") == Some("all"))
}
