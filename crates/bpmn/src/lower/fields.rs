//! Lists of named expressions, and the fields of user tasks.

use std::sync::Arc;

use travertine_value::{EvalError, Evaluate, Limits, Name, Outcome, Program, Value, Variables};

use super::Lowering;
use crate::{
    dialect::Dialect,
    expression::Text,
    xml::{Node, Ns},
};

/// What a user task may say about who does it until when.
const USER_FIELDS: &[&str] = &[
    "assignee",
    "candidateUsers",
    "candidateGroups",
    "dueDate",
    "followUpDate",
    "priority",
    "form",
    "formKey",
    "formRef",
];

impl<'a> Lowering<'a> {
    /// Our extension elements of that name: `<tv:payload name="x">EXPR</tv:payload>`.
    pub(super) fn named(&self, node: Node<'a>, element: &'a str) -> Vec<(Name, Program)> {
        self.keyed(node, element, "name")
    }

    /// Our extension elements of that name, with the attribute that names each.
    pub(super) fn keyed(
        &self,
        node: Node<'a>,
        element: &'a str,
        key: &str,
    ) -> Vec<(Name, Program)> {
        node.extensions(&Ns::Travertine, element)
            .filter_map(|it| {
                let Some(name) = it.attr(key).filter(|it| !it.is_empty()) else {
                    let message = format!("tv:{element} of {} has no {key}", node.title());
                    self.error("TV0704", it, message, "add the attribute");
                    return None;
                };
                Some((Name::from(name), self.compiler.expression(Text::of(it))))
            })
            .collect()
    }

    /// Assignee, due date and so on of a user task, by our attributes or Camunda 7's.
    pub(super) fn user_fields(&self, node: Node<'a>) -> Vec<(Name, Program)> {
        let mut fields = Vec::new();
        for &field in USER_FIELDS {
            let ours = Text::ext(node, &Ns::Travertine, field);
            if ours.is_none() && self.dialect == Dialect::Fleans {
                fields.extend(super::fleans::people(node, field));
                continue;
            }
            let text = ours.or_else(|| Text::ext(node, &Ns::Camunda, field));
            if let Some(text) = text {
                let name = if ["formKey", "formRef"].contains(&field) { "form" } else { field };
                let program = if field == "priority" {
                    self.priority(node, text)
                } else {
                    self.compiler.text(text)
                };
                fields.push((Name::from(name), program));
            }
        }
        self.roles(node, &mut fields);
        fields
    }

    /// How pressing a user task is: a whole number, or an expression for one.
    pub(super) fn priority(&self, node: Node<'a>, text: Text<'a>) -> Program {
        let range = match self.dialect {
            Dialect::Native | Dialect::Camunda7 | Dialect::Fleans => None,
            Dialect::Camunda8 => Some((0, 100)),
        };
        let program = self.compiler.text(text);
        if !text.is_marked()
            && let Err(wrong) = whole(&Value::from(text.source), range)
        {
            let message = format!("the priority of {} {wrong}", node.title());
            self.error("TV0727", node, message, "write a number such as 50, or an expression");
        }
        Program::new(program.source(), Arc::new(Priority { program: program.clone(), range }))
    }

    /// The standard's own way to name people. `user(x)` and `group(x)` are Camunda's words for
    /// which of the two is meant.
    fn roles(&self, node: Node<'a>, fields: &mut Vec<(Name, Program)>) {
        for role in node.children().filter(|it| it.is_any(&["humanPerformer", "potentialOwner"])) {
            let Some(expression) = role.child("resourceAssignmentExpression").and_then(|it| {
                it.children().find(|it| it.is_any(&["formalExpression", "expression"]))
            }) else {
                continue;
            };
            let text = Text::of(expression);
            if role.is("humanPerformer") {
                add(fields, "assignee", self.compiler.text(text));
                continue;
            }
            let (mut users, mut groups) = (Vec::new(), Vec::new());
            for part in text.source.split(',').map(str::trim) {
                let inner = |word: &str| {
                    part.strip_prefix(word)?.trim().strip_prefix('(')?.strip_suffix(')')
                };
                match inner("user") {
                    Some(user) => users.push(user.trim()),
                    None => groups.push(inner("group").unwrap_or(part).trim()),
                }
            }
            for (field, names) in [("candidateUsers", users), ("candidateGroups", groups)] {
                if !names.is_empty() {
                    let joined = names.join(",");
                    add(fields, field, self.compiler.text(Text { source: &joined, ..text }));
                }
            }
        }
    }
}

/// A program for a priority.
#[derive(Debug)]
struct Priority {
    program: Program,
    /// The least and the greatest that there may be.
    range: Option<(i64, i64)>,
}

impl Evaluate for Priority {
    fn run(&self, variables: &dyn Variables, limits: &Limits) -> Result<Outcome, EvalError> {
        let value = self.program.value(variables, limits)?;
        let value = whole(&value, self.range)
            .map_err(|wrong| EvalError::Failed(format!("the priority {wrong}")))?;
        Ok(Outcome { value: value.into(), writes: Vec::new() })
    }

    fn reads(&self) -> Option<&[Name]> {
        self.program.reads()
    }
}

/// A whole number, which may be written as a text, or what is wrong with it.
fn whole(value: &Value, range: Option<(i64, i64)>) -> Result<i64, String> {
    let number = value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
    match (number, range) {
        (None, _) => Err(format!("is {value}, not a whole number")),
        (Some(it), Some((least, most))) if it < least || it > most => {
            Err(format!("is {it}, not between {least} and {most}"))
        }
        (Some(it), _) => Ok(it),
    }
}

/// Adds a field unless an attribute has given it already.
fn add(fields: &mut Vec<(Name, Program)>, name: &str, program: Program) {
    if !fields.iter().any(|(it, _)| &**it == name) {
        fields.push((Name::from(name), program));
    }
}
