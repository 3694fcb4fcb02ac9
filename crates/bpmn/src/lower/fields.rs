//! Lists of named expressions, and the fields of user tasks.

use travertine_expr::{Name, Program};

use super::Lowering;
use crate::{
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
            let text = Text::ext(node, &Ns::Travertine, field)
                .or_else(|| Text::ext(node, &Ns::Camunda, field));
            if let Some(text) = text {
                let name = if ["formKey", "formRef"].contains(&field) { "form" } else { field };
                fields.push((Name::from(name), self.compiler.text(text)));
            }
        }
        self.roles(node, &mut fields);
        fields
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

/// Adds a field unless an attribute has given it already.
fn add(fields: &mut Vec<(Name, Program)>, name: &str, program: Program) {
    if !fields.iter().any(|(it, _)| &**it == name) {
        fields.push((Name::from(name), program));
    }
}
