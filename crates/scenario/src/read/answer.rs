//! What becomes of every element of a file.

use std::collections::BTreeSet;

use travertine_xml::{Diagnostic, Document, Node, Ns, Place, Severity};

use super::{EXECUTED, is_hint, is_leftover, is_ours};

/// An element of a file, and what becomes of it.
#[derive(Clone, Debug)]
pub struct Element {
    /// Its id, where it has one.
    pub id: Option<String>,
    /// What it is called, with the prefix of whose it is.
    pub kind: String,
    /// Where it begins.
    pub place: Place,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is executed.
    Executed,
    /// It changes nothing.
    NoEffect,
    /// The model is refused because of it.
    Rejected,
}

/// Elements of BPMN that are executed by what refers to them or is in them.
const REFERRED: &[&str] =
    &["definitions", "message", "signal", "dataStoreReference", "dataObjectReference"];

/// All of them but drawings, in the order of the file.
pub(super) fn elements(document: &Document, found: &[Diagnostic]) -> Vec<Element> {
    let errors = found.iter().filter(|it| it.severity == Severity::Error);
    let rejected: BTreeSet<(u32, u32)> = errors.map(|it| (it.line, it.column)).collect();
    let answered = document.nodes().filter(|it| *it.ns() != Ns::Tool);
    answered
        .map(|node| {
            let place = node.place();
            let prefix = match node.ns() {
                Ns::Bpmn => String::new(),
                other => node.prefix_of(other),
            };
            let fate = if rejected.contains(&(place.line, place.column)) {
                Fate::Rejected
            } else if is_executed(node) {
                Fate::Executed
            } else {
                Fate::NoEffect
            };
            let kind = format!("{prefix}{}", node.name());
            Element { id: node.id().map(str::to_owned), kind, place, fate }
        })
        .collect()
}

fn is_executed(node: Node<'_>) -> bool {
    if is_ours(node.ns()) {
        let is_idle = is_hint(node) || node.name() == "parameter" && is_leftover(node);
        return !is_idle;
    }
    node.is_any(EXECUTED) || node.is_any(REFERRED)
}
