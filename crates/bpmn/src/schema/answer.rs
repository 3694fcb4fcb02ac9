//! A verdict on every element of a file, and on the extensions it uses.

use std::collections::{BTreeSet, HashMap};

use super::{Content, find};
use crate::{
    dialect::{Dialect, FLEANS},
    extension,
    report::{Answer, Sink, Verdict},
    schema,
    xml::{Attribute, Document, Node, Ns, Place, Severity},
};

/// Answers for every element of a file. Extensions that nobody honoured are warned about here,
/// because only now, after lowering, is that known.
pub(crate) fn answers(document: &Document, dialect: Dialect, sink: &Sink) -> Vec<Answer> {
    let mut ignored = Ignored::default();
    ignored.look(document.root());
    ignored.report(sink);
    let rejected = sink.rejected();
    let mut answers = Vec::new();
    collect(document.root(), dialect, &rejected, &mut answers);
    answers
}

/// What becomes of an element of BPMN, and what there is to say about that.
fn verdict(node: Node<'_>, dialect: Dialect) -> (Verdict, &'static str) {
    let Some(kind) = find(node.name()) else { return (Verdict::Rejected, "") };
    if dialect.is_camunda() && super::is_native(kind.name) {
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
        kind: format!("{}{}", prefix(node), node.name()),
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
            kind: format!("@{}{}", node.prefix_of(&attribute.ns), attribute.name),
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

fn prefix(node: Node<'_>) -> String {
    if *node.ns() == Ns::Bpmn { String::new() } else { node.prefix_of(node.ns()) }
}

fn is_extension(ns: &Ns) -> bool {
    match ns {
        Ns::Dmn | Ns::Travertine | Ns::Camunda | Ns::Zeebe | Ns::Other(_) => true,
        Ns::None | Ns::Bpmn | Ns::Modeler | Ns::Xsi | Ns::Tool => false,
    }
}

/// Extensions of one kind that have no effect.
struct Idle<'a> {
    severity: Severity,
    /// The first of them.
    at: Node<'a>,
    place: Place,
    message: String,
    help: &'static str,
    count: usize,
}

/// What has no effect, one for each kind, in the order in which they come first.
#[derive(Default)]
struct Ignored<'a> {
    all: Vec<Idle<'a>>,
    /// Where they are in the list, by what they are called.
    places: HashMap<(&'a Ns, &'a str, bool), usize>,
}

impl<'a> Ignored<'a> {
    fn add(&mut self, key: (&'a Ns, &'a str, bool), idle: impl FnOnce() -> Idle<'a>) {
        // One of ours is a mistake, and each must be found.
        let known = self.places.get(&key).filter(|_| *key.0 != Ns::Travertine);
        if let Some(known) = known {
            self.all[*known].count += 1;
            return;
        }
        self.places.insert(key, self.all.len());
        self.all.push(idle());
    }

    fn report(self, sink: &Sink) {
        for Idle { severity, at, place, message, help, count } in self.all {
            let message = match count {
                1 => message,
                _ => {
                    format!("{message}; there are {count} of this kind, of which this is the first")
                }
            };
            sink.add(severity, "TV0702", at, place, message, help);
        }
    }

    fn look(&mut self, node: Node<'a>) {
        let stray = is_stray(node);
        if *node.ns() != Ns::Bpmn || stray {
            if is_extension(node.ns()) || *node.ns() == Ns::None || stray {
                self.element(node);
            }
            if !node.is_seen() {
                return;
            }
        }
        // The attributes of an extension that is honoured belong to it.
        let own = *node.ns() != Ns::Bpmn;
        let counts = |it: &Attribute| is_extension(&it.ns) || own && it.ns == Ns::None;
        for attribute in node.attributes().iter().filter(|it| counts(it) && !it.is_seen()) {
            self.attribute(node, attribute);
        }
        if !is_opaque(node) {
            for child in node.children() {
                self.look(child);
            }
        }
    }

    fn element(&mut self, node: Node<'a>) {
        if node.is_seen() || extension::note(node.ns(), node.name()).is_some() {
            return;
        }
        self.add((node.ns(), node.name(), false), || Idle {
            severity: severity(node.ns()),
            at: node,
            place: node.place(),
            message: format!("{}{} has no effect here", node.prefix_of(node.ns()), node.name()),
            help: extension::help(node.ns(), node.name()),
            count: 1,
        });
    }

    fn attribute(&mut self, node: Node<'a>, attribute: &'a Attribute) {
        let Attribute { ns, name, .. } = attribute;
        if extension::note(ns, name).is_some() {
            return;
        }
        self.add((ns, name, true), || Idle {
            severity: severity(ns),
            at: node,
            place: attribute.place,
            message: format!("{}{name} has no effect on {}", node.prefix_of(ns), node.title()),
            help: extension::help(ns, name),
            count: 1,
        });
    }
}

/// Parts of the namespaces of engines whose extensions say how a model is executed there.
const ENGINES: &[&str] = &[
    "jboss.org/drools",
    "jbpm.org",
    "kie.org",
    "bonitasoft",
    "oracle.com",
    "ibm.com",
    "tibco.com",
    "sap.com",
    "activiti.org",
    "flowable.org",
    "camunda",
    "spiffworkflow.org",
    "processmaker",
    "imixs.org",
    "telematique.eu",
];

/// A misspelt extension of ours would silently do something else than it says. What is written for
/// tools that no engine knows of means nothing to engines.
fn severity(ns: &Ns) -> Severity {
    match ns {
        Ns::Travertine => Severity::Error,
        Ns::Camunda | Ns::Zeebe => Severity::Warning,
        Ns::Other(uri) if FLEANS.contains(&uri.as_str()) => Severity::Warning,
        Ns::Other(uri) if ENGINES.iter().any(|it| uri.contains(it)) => Severity::Warning,
        Ns::None | Ns::Bpmn | Ns::Dmn | Ns::Modeler | Ns::Xsi | Ns::Tool | Ns::Other(_) => {
            Severity::Note
        }
    }
}
