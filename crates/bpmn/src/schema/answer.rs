//! A verdict on every element of a file, and on the extensions it uses.

use std::collections::BTreeSet;

use super::{Content, find};
use crate::{
    dialect::Dialect,
    extension,
    report::{Answer, Sink, Verdict},
    schema,
    xml::{Attribute, Document, Node, Ns, Severity},
};

/// Answers for every element of a file. Extensions that nobody honoured are warned about here,
/// because only now, after lowering, is that known.
pub(crate) fn answers(document: &Document, dialect: Dialect, sink: &Sink) -> Vec<Answer> {
    warn(document.root(), sink);
    let rejected = sink.rejected();
    let mut answers = Vec::new();
    collect(document.root(), dialect, &rejected, &mut answers);
    answers
}

/// What becomes of an element of BPMN, and what there is to say about that.
fn verdict(node: Node<'_>, dialect: Dialect) -> (Verdict, &'static str) {
    let Some(kind) = find(node.name()) else { return (Verdict::Rejected, "") };
    if dialect != Dialect::Native && super::is_native(kind.name) {
        return (Verdict::NoEffect, "models made for Camunda do not mean it to do anything");
    }
    (kind.verdict, kind.note)
}

fn collect(
    node: Node<'_>,
    dialect: Dialect,
    rejected: &BTreeSet<(String, usize)>,
    answers: &mut Vec<Answer>,
) {
    let own = rejected.contains(&(node.document().file.clone(), node.position()));
    let (verdict, note) = match node.ns() {
        Ns::Tool => return,
        // Tools forget to give their extensions a namespace of their own.
        Ns::Bpmn if is_stray(node) => (Verdict::NoEffect, ""),
        Ns::Bpmn => verdict(node, dialect),
        _ if node.is_seen() => (Verdict::Executed, ""),
        ns => (Verdict::NoEffect, extension::note(ns, node.name()).unwrap_or_default()),
    };
    let verdict = if own { Verdict::Rejected } else { verdict };
    answers.push(Answer {
        file: node.document().file.clone(),
        id: node.id().map(str::to_owned),
        kind: format!("{}{}", prefix(node.ns()), node.name()),
        line: node.place().line,
        column: node.place().column,
        verdict,
        note: note.to_owned(),
    });
    idle_attributes(node, verdict, answers);
    for attribute in node.attributes().iter().filter(|it| is_extension(&it.ns)) {
        let note = extension::note(&attribute.ns, &attribute.name).unwrap_or_default();
        let verdict = if attribute.is_seen() { Verdict::Executed } else { Verdict::NoEffect };
        answers.push(Answer {
            file: node.document().file.clone(),
            id: node.id().map(str::to_owned),
            kind: format!("@{}{}", attribute.ns.prefix(), attribute.name),
            line: attribute.place.line,
            column: attribute.place.column,
            verdict,
            note: if attribute.is_seen() { String::new() } else { note.to_owned() },
        });
    }
    if is_opaque(node) {
        return;
    }
    for child in node.children() {
        collect(child, dialect, rejected, answers);
    }
}

/// Answers for the attributes that change nothing about an element that is executed.
fn idle_attributes(node: Node<'_>, verdict: Verdict, answers: &mut Vec<Answer>) {
    if *node.ns() != Ns::Bpmn || verdict != Verdict::Executed {
        return;
    }
    for it in node.attributes().iter().filter(|it| it.ns == Ns::None) {
        let rule = schema::attribute(node.name(), &it.name);
        if rule.is_some_and(|it| it.verdict == Verdict::NoEffect) {
            answers.push(Answer {
                file: node.document().file.clone(),
                id: node.id().map(str::to_owned),
                kind: format!("@{}", it.name),
                line: it.place.line,
                column: it.place.column,
                verdict: Verdict::NoEffect,
                note: String::new(),
            });
        }
    }
}

/// Whether an element is named like one of BPMN's, but is an extension, or lies in one.
fn is_stray(node: Node<'_>) -> bool {
    *node.ns() == Ns::Bpmn
        && node.ancestors().any(|it| *it.ns() == Ns::Bpmn && it.name() == "extensionElements")
}

/// Whether what is in it is for people only.
fn is_opaque(node: Node<'_>) -> bool {
    *node.ns() == Ns::Bpmn
        && node.name() != "extensionElements"
        && find(node.name()).is_some_and(|it| matches!(it.content, Content::Any))
        && !schema::is_a(node.name(), "expression")
}

fn prefix(ns: &Ns) -> &'static str {
    if *ns == Ns::Bpmn { "" } else { ns.prefix() }
}

fn is_extension(ns: &Ns) -> bool {
    match ns {
        Ns::Dmn | Ns::Travertine | Ns::Camunda | Ns::Zeebe | Ns::Other(_) => true,
        Ns::None | Ns::Bpmn | Ns::Modeler | Ns::Xsi | Ns::Tool => false,
    }
}

fn warn(node: Node<'_>, sink: &Sink) {
    let stray = is_stray(node);
    if *node.ns() != Ns::Bpmn || stray {
        if is_extension(node.ns()) || *node.ns() == Ns::None || stray {
            warn_element(node, sink);
        }
        if !node.is_seen() {
            return;
        }
    }
    // The attributes of an extension that is honoured belong to it.
    let own = *node.ns() != Ns::Bpmn;
    let counts = |it: &Attribute| is_extension(&it.ns) || own && it.ns == Ns::None;
    let ignored = node.attributes().iter().filter(|it| counts(it) && !it.is_seen());
    for attribute in ignored {
        warn_attribute(node, attribute, sink);
    }
    if !is_opaque(node) {
        for child in node.children() {
            warn(child, sink);
        }
    }
}

fn warn_element(node: Node<'_>, sink: &Sink) {
    if node.is_seen() || extension::note(node.ns(), node.name()).is_some() {
        return;
    }
    let message = format!("{}{} has no effect here", node.ns().prefix(), node.name());
    let help = extension::help(node.ns(), node.name());
    sink.add(severity(node.ns()), "TV0702", node, node.place(), message, help);
}

fn warn_attribute(node: Node<'_>, attribute: &Attribute, sink: &Sink) {
    let Attribute { ns, name, .. } = attribute;
    if extension::note(ns, name).is_some() {
        return;
    }
    let message = format!("{}{name} has no effect on {}", ns.prefix(), node.title());
    let help = extension::help(ns, name);
    sink.add(severity(ns), "TV0702", node, attribute.place, message, help);
}

/// A misspelt extension of ours would silently do something else than it says.
fn severity(ns: &Ns) -> Severity {
    if *ns == Ns::Travertine { Severity::Error } else { Severity::Warning }
}
