//! Files that are read together, and how they find things in each other.

use std::collections::HashSet;

use crate::{
    dialect::Dialect,
    schema,
    xml::{Document, Node, Ns, local_part},
};

/// Files that are read together.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    pub(crate) documents: Vec<(&'a Document, Dialect)>,
}

impl<'a> Files<'a> {
    /// The dialect of the file that `node` stands in.
    pub(crate) fn dialect(&self, node: Node<'_>) -> Dialect {
        let found = self.documents.iter().find(|(it, _)| std::ptr::eq(*it, node.document()));
        found.map_or(Dialect::Native, |(_, dialect)| *dialect)
    }

    /// What a reference written at `from` means: an element of the same file, else of another.
    pub(crate) fn resolve(&self, from: Node<'a>, reference: &str) -> Option<Node<'a>> {
        let reference = reference.trim();
        let own = |document: &'a Document| {
            document.by_id(reference).or_else(|| document.by_id(local_part(reference)))
        };
        own(from.document()).or_else(|| self.documents.iter().find_map(|(it, _)| own(it)))
    }

    /// What a reference written at `from` means, where it is of that kind.
    pub(crate) fn resolve_as(
        &self,
        from: Node<'a>,
        reference: &str,
        kind: &str,
    ) -> Option<Node<'a>> {
        self.resolve(from, reference).filter(|it| schema::is_a(it.name(), kind))
    }

    /// The process or global task that a call activity calls. Other elements may well have the
    /// same id as a process of another file.
    pub(crate) fn callable(&self, call: Node<'a>) -> Option<Node<'a>> {
        let called = local_part(call.attr("calledElement")?.trim());
        let own = std::iter::once(call.document());
        let documents = own.chain(self.documents.iter().map(|(it, _)| *it));
        documents
            .filter_map(|it| it.by_id(called))
            .find(|it| schema::is_a(it.name(), "callableElement"))
    }

    /// The event definitions of an event: those drawn in it, then those it refers to.
    pub(crate) fn definitions(&self, event: Node<'a>) -> impl Iterator<Item = Node<'a>> {
        let is_definition =
            |it: &Node<'a>| *it.ns() == Ns::Bpmn && schema::is_a(it.name(), "eventDefinition");
        let referred = event
            .all("eventDefinitionRef")
            .filter_map(|it| self.resolve_as(it, it.text(), "eventDefinition"));
        event.children().filter(is_definition).chain(referred)
    }

    /// Its definition of a kind, where it has one.
    pub(crate) fn definition(&self, event: Node<'a>, kind: &str) -> Option<Node<'a>> {
        self.definitions(event).find(|it| it.is(kind))
    }

    /// Every process of every file.
    pub(crate) fn processes(&self) -> impl Iterator<Item = Node<'a>> {
        self.documents.iter().flat_map(|(it, _)| it.root().all("process"))
    }

    /// What call activities call.
    pub(crate) fn called(&self) -> HashSet<(usize, usize)> {
        let nodes = self.documents.iter().flat_map(|(it, _)| it.nodes());
        let calls = nodes.filter(|it| it.is("callActivity"));
        calls.filter_map(|it| Some(self.callable(it)?.key())).collect()
    }
}
