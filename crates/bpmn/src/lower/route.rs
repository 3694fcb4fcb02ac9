//! Where message flows lead. A message that is sent along flows goes to their ends and nowhere else.
//!
//! An end is written `process/element`, or `process` for a flow that leads to a participant as a whole.
//! Both sides of a flow carry it as a property of the message, [`TO`]; so whoever matches messages
//! needs to know nothing else. A flow to a participant that is not among the files restricts nothing,
//! and neither does one to where nobody waits for the message.

use std::collections::{HashMap, HashSet};

use travertine_kernel::plan::{Message, TO};
use travertine_value::{Name, Program, Value};

use super::{Lowering, conversation::message_name};
use crate::{
    files::Files,
    report::Sink,
    schema,
    xml::{Node, Ns},
};

/// A flow node and the name of a message that it sends or waits for.
type Place<'a> = ((usize, usize), &'a str);

/// Where message flows lead.
#[derive(Debug, Default)]
pub(crate) struct Routes<'a> {
    /// The ends of the flows that begin at a place.
    from: HashMap<Place<'a>, Vec<String>>,
    /// The ends that a place is.
    at: HashMap<Place<'a>, Vec<String>>,
}

impl<'a> Routes<'a> {
    pub(crate) fn new(files: &Files<'a>, sink: &Sink) -> Self {
        let mut routes = Self::default();
        let mut waiting: HashMap<(usize, usize), Waiting<'a>> = HashMap::new();
        for (document, _) in files.documents.iter().filter(|(_, it)| !it.is_camunda()) {
            let collaborations =
                document.root().children().filter(|it| schema::is_a(it.name(), "collaboration"));
            for flow in collaborations.flat_map(|it| it.all("messageFlow").collect::<Vec<_>>()) {
                let end = |name| files.resolve(flow, flow.attr(name)?);
                let (Some(source), Some(target)) = (end("sourceRef"), end("targetRef")) else {
                    continue;
                };
                let Some(process) = process_of(target, files).filter(|it| !sink.is_drawing(*it))
                else {
                    continue;
                };
                let inside = waiting
                    .entry(process.key())
                    .or_insert_with(|| Waiting::of(awaited_in(process, files)));
                for message in messages(source, files) {
                    routes.add(source, target, process, message, inside);
                }
            }
        }
        routes
    }

    fn add(
        &mut self,
        source: Node<'a>,
        target: Node<'a>,
        process: Node<'a>,
        message: &'a str,
        inside: &mut Waiting<'a>,
    ) {
        let (Some(id), Some(all)) = (process.id(), inside.by_message.get(message)) else { return };
        let from = self.from.entry((source.key(), message)).or_default();
        match target.id() {
            Some(element) if inside.all.contains(&(target.key(), message)) => {
                let end = format!("{id}/{element}");
                add(self.at.entry((target.key(), message)).or_default(), &end);
                add(from, &end);
            }
            _ => {
                add(from, id);
                // All of them hear it, which is to be said once.
                if inside.told.insert(message) {
                    for it in all {
                        add(self.at.entry((it.key(), message)).or_default(), id);
                    }
                }
            }
        }
    }
}

fn add(list: &mut Vec<String>, end: &str) {
    if !list.iter().any(|it| it == end) {
        list.push(end.to_owned());
    }
}

/// Who waits for messages in a process.
#[derive(Default)]
struct Waiting<'a> {
    by_message: HashMap<&'a str, Vec<Node<'a>>>,
    all: HashSet<Place<'a>>,
    /// The messages that flows bring to the process as a whole.
    told: HashSet<&'a str>,
}

impl<'a> Waiting<'a> {
    fn of(inside: Vec<(Node<'a>, &'a str)>) -> Self {
        let mut waiting = Self::default();
        for (node, message) in inside {
            waiting.by_message.entry(message).or_default().push(node);
            waiting.all.insert((node.key(), message));
        }
        waiting
    }
}

impl<'a> Lowering<'a> {
    /// Sends a message along the flows that begin at a node.
    pub(super) fn route(&self, reference: &str, node: Node<'a>, message: &mut Message) {
        self.add_ends(&self.cx.routes.from, reference, node, message);
    }

    /// Has a node hear what comes along the flows that lead to it.
    pub(super) fn receive(&self, reference: &str, node: Node<'a>, message: &mut Message) {
        self.add_ends(&self.cx.routes.at, reference, node, message);
    }

    fn add_ends(
        &self,
        ends: &HashMap<Place<'a>, Vec<String>>,
        reference: &str,
        node: Node<'a>,
        message: &mut Message,
    ) {
        let target = self.cx.files.resolve_as(node, reference, "message");
        let Some(name) = target.and_then(message_name) else { return };
        if let Some(ends) = ends.get(&(node.key(), name)) {
            let list: Vec<Value> = ends.iter().map(|it| it.as_str().into()).collect();
            message.correlation.push((Name::from(TO), Program::constant(list.into())));
        }
    }
}

/// The process that a flow leads to or into.
fn process_of<'a>(target: Node<'a>, files: &Files<'a>) -> Option<Node<'a>> {
    let process = if target.is("participant") {
        files.resolve_as(target, target.attr("processRef")?, "process")
    } else {
        target.ancestors().find(|it| it.is("process"))
    };
    process.filter(|it| !files.dialect(*it).is_camunda())
}

/// The flow nodes of a process that wait for messages.
fn awaited_in<'a>(process: Node<'a>, files: &Files<'a>) -> Vec<(Node<'a>, &'a str)> {
    let waits = |it: &Node<'a>| {
        *it.ns() == Ns::Bpmn && (it.is("receiveTask") || schema::is_a(it.name(), "catchEvent"))
    };
    let nodes = process.descendants().filter(waits);
    nodes.flat_map(|it| messages(it, files).into_iter().map(move |name| (it, name))).collect()
}

/// The names of the messages that a task or an event is about.
fn messages<'a>(node: Node<'a>, files: &Files<'a>) -> Vec<&'a str> {
    let definitions = node.children().filter(|it| it.is("messageEventDefinition"));
    let referred = node
        .all("eventDefinitionRef")
        .filter_map(|it| files.resolve_as(it, it.text(), "messageEventDefinition"));
    let own = std::iter::once(node).chain(definitions).chain(referred);
    let found = own.filter_map(|it| files.resolve_as(it, it.attr("messageRef")?, "message"));
    found.filter_map(message_name).collect()
}
