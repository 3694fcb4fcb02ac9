//! Boxed expressions of all kinds but tables.

use std::collections::HashSet;

use travertine_lang::feel::Names;
use travertine_value::Name;
use travertine_xml::Node;

use super::{Compiler, nothing, reads::Reads};
use crate::{
    logic::{Boxed, Conditional, Entry, Filter, Invocation, Logic, Loop},
    model::{FunctionOf, Variable},
    name, source,
    text::Text,
    types::TypeId,
};

const EXPRESSIONS: [&str; 12] = [
    "literalExpression",
    "decisionTable",
    "context",
    "invocation",
    "list",
    "relation",
    "functionDefinition",
    "conditional",
    "filter",
    "for",
    "some",
    "every",
];

/// The expression in a node.
pub(super) fn find(node: Node<'_>) -> Option<Node<'_>> {
    node.children().find(|it| it.is_any(&EXPRESSIONS))
}

impl<'a> Compiler<'a> {
    /// Compiles an expression whose value becomes one of type `whole`, as far as the table that it
    /// may be wants to know.
    pub(super) fn boxed(
        &mut self,
        node: Node<'a>,
        names: &mut Names,
        whole: TypeId,
        reads: &mut Reads,
    ) -> Boxed {
        let of = self.type_ref(node);
        let logic = match node.name() {
            "literalExpression" => self.literal(node, names, reads),
            "decisionTable" => {
                let whole = if of == TypeId::ANY { whole } else { of };
                Logic::Table(Box::new(self.table(node, names, whole, reads)))
            }
            "context" => self.context(node, names, reads),
            "invocation" => self.invocation(node, names, reads),
            "list" => Logic::List(self.all_in(node, names, reads)),
            "relation" => self.relation(node, names, reads),
            "functionDefinition" => {
                Logic::Function(self.function(node, &boxed_name(node), names, reads).into())
            }
            "conditional" => Logic::Conditional(Box::new(Conditional {
                condition: self.part(node, "if", names, reads),
                then: self.part(node, "then", names, reads),
                otherwise: self.part(node, "else", names, reads),
            })),
            "filter" => self.filter(node, names, reads),
            "for" => Logic::For(Box::new(self.loop_over(node, "return", names, reads))),
            "some" => Logic::Some(Box::new(self.loop_over(node, "satisfies", names, reads))),
            _ => Logic::Every(Box::new(self.loop_over(node, "satisfies", names, reads))),
        };
        Boxed { of, spot: source::spot(node), logic }
    }

    fn all_in(&mut self, node: Node<'a>, names: &mut Names, reads: &mut Reads) -> Vec<Boxed> {
        let expressions = node.children().filter(|it| it.is_any(&EXPRESSIONS));
        expressions.map(|it| self.boxed(it, names, TypeId::ANY, reads)).collect()
    }

    /// The expression in a node, which ought to be there.
    fn inside(&mut self, node: Node<'a>, names: &mut Names, reads: &mut Reads) -> Boxed {
        match find(node) {
            Some(found) => self.boxed(found, names, TypeId::ANY, reads),
            None => nothing(node, format!("{} has no expression", node.title())),
        }
    }

    /// The expression in the child of that name.
    fn part(&mut self, node: Node<'a>, name: &str, names: &mut Names, reads: &mut Reads) -> Boxed {
        let Some(child) = node.child(name) else {
            let message = format!("{} has no {name}", node.title());
            self.sink.error("TV2110", node, message.clone(), "");
            return nothing(node, message);
        };
        let mut inside = self.inside(child, names, reads);
        if inside.of == TypeId::ANY {
            inside.of = self.type_ref(child);
        }
        inside
    }

    fn literal(&mut self, node: Node<'a>, names: &mut Names, reads: &mut Reads) -> Logic {
        if let Some(language) = self.foreign_language(node) {
            let message = format!("the expression language '{language}' is not supported");
            // What to do about it is said once for the whole file.
            return Logic::Nothing(message);
        }
        let text = node.child("text").filter(|it| !it.text().trim().is_empty());
        let Some(text) = text else { return Logic::Nothing("there is no expression".to_owned()) };
        match self.text(text, names, reads) {
            Some(text) => Logic::Literal(text),
            None => Logic::Nothing("this is not FEEL".to_owned()),
        }
    }

    /// The language that an expression or its model names, where it is not FEEL.
    fn foreign_language(&self, node: Node<'a>) -> Option<&'a str> {
        let root = self.files.all[self.files.index_of(node)].root;
        let language =
            node.attr("expressionLanguage").or_else(|| root.attr("expressionLanguage"))?;
        let language = language.trim();
        let is_feel = language.is_empty() || language.to_lowercase().contains("feel");
        (!is_feel).then_some(language)
    }

    /// Compiles an expression and notes what it reads.
    pub(super) fn text(&self, node: Node<'a>, names: &Names, reads: &mut Reads) -> Option<Text> {
        let text = source::expression(node, names, self.sink)?;
        reads.add(text.compiled.reads(), text.compiled.needs());
        Some(text)
    }

    fn context(&mut self, node: Node<'a>, names: &mut Names, reads: &mut Reads) -> Logic {
        let outside = names.mark();
        let mut entries = Vec::new();
        let mut own = HashSet::new();
        for entry in node.all("contextEntry") {
            let variable = entry.child("variable").map(|it| self.variable(it));
            let whole = variable.as_ref().map_or(TypeId::ANY, |it| it.of);
            let mut inner = Reads::default();
            let value = match find(entry) {
                Some(found) => self.boxed(found, names, whole, &mut inner),
                None => nothing(entry, "the entry has no expression".to_owned()),
            };
            reads.add_from(inner, |it| own.contains(it));
            if let Some(variable) = &variable {
                names.add(&variable.name);
                own.insert(Name::clone(&variable.name));
            }
            entries.push(Entry { variable, value });
        }
        names.back_to(outside);
        Logic::Context(entries)
    }

    fn variable(&mut self, node: Node<'_>) -> Variable {
        let name = name::tidy(node.attr("name").unwrap_or_default()).into();
        Variable { name, of: self.type_ref(node) }
    }

    fn invocation(&mut self, node: Node<'a>, names: &mut Names, reads: &mut Reads) -> Logic {
        let callee = self.inside(node, names, reads);
        let mut bindings = Vec::new();
        for binding in node.all("binding") {
            let parameter = binding.child("parameter").and_then(|it| it.attr("name"));
            let parameter = name::tidy(parameter.unwrap_or_default()).into();
            bindings.push((parameter, self.inside(binding, names, reads)));
        }
        Logic::Invocation(Box::new(Invocation { callee, bindings }))
    }

    fn relation(&mut self, node: Node<'a>, names: &mut Names, reads: &mut Reads) -> Logic {
        let columns: Vec<_> = node.all("column").map(|it| self.variable(it)).collect();
        let mut rows = Vec::new();
        for row in node.all("row") {
            let cells = self.all_in(row, names, reads);
            if cells.len() != columns.len() {
                let (cells, columns) = (cells.len(), columns.len());
                let message = format!("the row has {cells} expressions for {columns} columns");
                self.sink.error("TV2111", row, message, "give each column one expression");
            }
            rows.push(cells);
        }
        Logic::Relation { columns, rows }
    }

    pub(super) fn function(
        &mut self,
        node: Node<'a>,
        name: &Name,
        names: &mut Names,
        reads: &mut Reads,
    ) -> FunctionOf {
        let parameters: Vec<_> = node.all("formalParameter").map(|it| self.variable(it)).collect();
        let outside = names.mark();
        for parameter in &parameters {
            names.add(&parameter.name);
        }
        let kind = node.attr("kind").unwrap_or("FEEL");
        let mut inner = Reads::default();
        let body = if kind.eq_ignore_ascii_case("FEEL") {
            self.inside(node, names, &mut inner)
        } else {
            let reason = format!("functions in {kind} are not supported");
            self.sink.warn(
                "TV2112",
                node,
                format!("this is always null: {reason}"),
                "write it in FEEL",
            );
            nothing(node, reason)
        };
        names.back_to(outside);
        let is_parameter = |it: &Name| parameters.iter().any(|known| known.name == *it);
        reads.add_from(inner, is_parameter);
        FunctionOf { name: Name::clone(name), parameters, result: TypeId::ANY, body }
    }

    /// The condition sees `item` and its entries.
    fn filter(&mut self, node: Node<'a>, names: &mut Names, reads: &mut Reads) -> Logic {
        let domain = self.part(node, "in", names, reads);
        let outside = names.mark();
        names.add("item");
        names.enter_filter();
        let mut inner = Reads::default();
        let condition = self.part(node, "match", names, &mut inner);
        names.back_to(outside);
        reads.add_from_filter(inner);
        Logic::Filter(Box::new(Filter { domain, condition }))
    }

    fn loop_over(
        &mut self,
        node: Node<'a>,
        body: &str,
        names: &mut Names,
        reads: &mut Reads,
    ) -> Loop {
        let variable: Name = name::tidy(node.attr("iteratorVariable").unwrap_or_default()).into();
        let domain = self.part(node, "in", names, reads);
        let outside = names.mark();
        names.add(&variable);
        names.add("partial");
        let mut inner = Reads::default();
        let body = self.part(node, body, names, &mut inner);
        names.back_to(outside);
        let reads_partial = inner.has("partial");
        let is_own = |it: &Name| *it == variable || &**it == "partial";
        reads.add_from(inner, is_own);
        Loop { variable, domain, body, reads_partial }
    }
}

/// What people call a boxed function: the entry of a context that it is, or the decision.
fn boxed_name(node: Node<'_>) -> Name {
    node.parent().map(super::title).unwrap_or_default().into()
}
