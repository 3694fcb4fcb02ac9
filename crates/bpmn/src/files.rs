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

    /// What a reference written at `from` means: an element of the same file, else of another. Where its
    /// prefix stands for a namespace of these files, only of files of that namespace.
    pub(crate) fn resolve(&self, from: Node<'a>, reference: &str) -> Option<Node<'a>> {
        let reference = reference.trim();
        self.meant(from, reference)
            .find_map(|it| it.by_id(reference).or_else(|| it.by_id(local_part(reference))))
    }

    /// The files in which a reference written at `from` may mean something, nearest first.
    fn meant(&self, from: Node<'a>, reference: &str) -> impl Iterator<Item = &'a Document> {
        let namespace = reference.split_once(':').and_then(|(prefix, _)| from.namespace(prefix));
        let namespace = namespace.filter(|it| self.has_namespace(it));
        let all = std::iter::once(from.document()).chain(self.documents.iter().map(|(it, _)| *it));
        all.filter(move |it| namespace.is_none() || it.root().attr("targetNamespace") == namespace)
    }

    /// Whether what is in any of the files has that namespace.
    pub(crate) fn has_namespace(&self, namespace: &str) -> bool {
        self.documents.iter().any(|(it, _)| it.root().attr("targetNamespace") == Some(namespace))
    }

    /// Whether the prefix of a reference stands for the namespace of what is found by it.
    pub(crate) fn is_prefix_of(from: Node<'a>, reference: &str, found: Node<'a>) -> bool {
        reference.split_once(':').is_none_or(|(prefix, _)| {
            from.namespace(prefix) == found.document().root().attr("targetNamespace")
        })
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
        let called = call.attr("calledElement")?.trim();
        self.meant(call, called)
            .filter_map(|it| it.by_id(local_part(called)))
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
