//! Rules about expressions and scripts, whoever has them.

use travertine_value::Number;

use crate::{
    dialect::Dialect,
    files::Files,
    report::Sink,
    schema,
    xml::{Node, Ns, Severity, local_part},
};

/// Expressions that the schema itself calls formal.
const FORMAL: &[&str] = &["formalExpression", "transformation", "messagePath", "dataPath"];

/// Checks everything in a file.
pub(super) fn check(root: Node<'_>, files: &Files<'_>, sink: &Sink) {
    let dialect = files.dialect(root);
    let mut informal = Tally::new(dialect);
    for node in root.descendants().filter(|it| *it.ns() == Ns::Bpmn) {
        match node.name() {
            "scriptTask" => format(node, "scriptFormat", sink),
            "globalScriptTask" => format(node, "scriptLanguage", sink),
            name if schema::is_a(name, "expression") => {
                decides(node, sink);
                if is_formal(node) {
                    body(node, dialect, sink);
                } else if runs(node, files, sink) {
                    informal.add(node);
                }
            }
            _ => {}
        }
    }
    informal.report(sink, "TV0520", |first, count| {
        let what = format!("{} of {}", first.name(), owner(first));
        match count {
            1 => format!("{what} is not a formal expression"),
            2 => format!("{what} and 1 other expression are not formal"),
            _ => format!("{what} and {} other expressions are not formal", count - 1),
        }
    });
}

/// Whether the text says, by its type, that it is more than prose.
fn is_formal(node: Node<'_>) -> bool {
    node.is_any(FORMAL)
        || node.ext(&Ns::Xsi, "type").is_some_and(|it| local_part(it.trim()) == "tFormalExpression")
}

/// Whether it stands in a process that is meant to be run, or where any may refer to it.
fn runs(node: Node<'_>, files: &Files<'_>, sink: &Sink) -> bool {
    match node.ancestors().find(|it| it.is("process")) {
        Some(process) => !sink.is_drawing(process),
        None => files.processes().any(|it| !sink.is_drawing(it)),
    }
}

fn body(node: Node<'_>, dialect: Dialect, sink: &Sink) {
    if !node.text().trim().is_empty() || node.children().next().is_some() {
        return;
    }
    let message = format!("{} has no text", node.title());
    // Models for Camunda do not mean all expressions to be evaluated.
    let severity = if dialect == Dialect::Native { Severity::Error } else { Severity::Warning };
    sink.add(severity, "TV0501", node, node.place(), message, "write an expression");
}

/// The expressions that are asked whether they hold.
const CONDITIONS: &[&str] = &[
    "conditionExpression",
    "condition",
    "completionCondition",
    "loopCondition",
    "activationCondition",
];

/// A number, a text or nothing never holds, and never does not.
fn decides(node: Node<'_>, sink: &Sink) {
    let text = node.text().trim();
    if !node.is_any(CONDITIONS) || !is_plain(text) {
        return;
    }
    let message = format!("{} of {} is {text}, neither true nor false", node.name(), owner(node));
    let help = "write an expression that is true or false";
    sink.warn("TV0506", node, message, help);
}

/// Whether a text is a number, a quoted text or null, in any of the languages.
fn is_plain(text: &str) -> bool {
    let braced = text.strip_prefix("${").or_else(|| text.strip_prefix("#{"));
    let text = braced.and_then(|it| it.strip_suffix('}')).unwrap_or(text);
    let text = text.strip_prefix('=').unwrap_or(text).trim();
    let quoted = ['"', '\''].iter().find_map(|it| text.strip_prefix(*it)?.strip_suffix(*it));
    match quoted {
        // Texts that say so count for it.
        Some(inner) => !inner.contains(['"', '\'']) && !["true", "false"].contains(&inner),
        None => text == "null" || text.parse::<Number>().is_ok(),
    }
}

/// A script is in some language, which is JavaScript where it does not say so.
fn format(task: Node<'_>, attribute: &str, sink: &Sink) {
    let is_named = task.attr(attribute).is_some_and(|it| !it.trim().is_empty());
    if task.child("script").is_some() && !is_named {
        let message = format!("{} does not say in which format its script is", task.title());
        let help = format!("it is read as JavaScript; add {attribute} to say so");
        sink.warn("TV0505", task, message, &help);
    }
}

fn owner(node: Node<'_>) -> String {
    let owner = node.ancestors().find(|it| it.id().is_some());
    owner.or_else(|| node.parent()).map(Node::title).unwrap_or_default()
}

/// Something that the standard asks for, and nothing depends on. Models for other engines do not mean to
/// keep it, and hear of it once a file.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    found: Vec<Node<'a>>,
    dialect: Dialect,
}

impl<'a> Tally<'a> {
    pub(super) const fn new(dialect: Dialect) -> Self {
        Self { found: Vec::new(), dialect }
    }

    pub(super) fn add(&mut self, node: Node<'a>) {
        self.found.push(node);
    }

    pub(super) fn report(
        self,
        sink: &Sink,
        code: &'static str,
        message: impl Fn(Node<'a>, usize) -> String,
    ) {
        let help = "nothing depends on it here; models that must conform say it";
        if self.dialect == Dialect::Native {
            for node in self.found {
                sink.warn(code, node, message(node, 1), help);
            }
        } else if let [first, ..] = self.found[..] {
            let message = message(first, self.found.len());
            sink.add(Severity::Note, code, first, first.place(), message, help);
        }
    }
}
