//! What is connected with what in a process, found once, so that no rule has to search.

use std::collections::{HashMap, HashSet};

use crate::{
    files::Files,
    lower::is_true,
    schema,
    xml::{Node, Ns, local_part},
};

type Key = (usize, usize);

/// The connections of a process.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    incoming: HashMap<Key, Vec<Node<'a>>>,
    outgoing: HashMap<Key, Vec<Node<'a>>>,
    boundaries: HashMap<Key, Vec<Node<'a>>>,
    associated: HashMap<Key, Vec<Node<'a>>>,
    /// What associations lead to from compensation events.
    handlers: HashSet<Key>,
    /// Which nodes list which flows.
    listed: HashSet<(Key, &'a str)>,
    /// Containers in which any node does.
    listing: HashSet<Key>,
    /// Containers with a start event, and with an end event.
    started: HashSet<Key>,
    /// Containers in which a task or gateway starts instances.
    instantiated: HashSet<Key>,
    ended: HashSet<Key>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(process: Node<'a>, files: &Files<'a>) -> Self {
        let mut graph = Self::default();
        for node in process.descendants() {
            graph.add(node, files);
        }
        graph
    }

    fn add(&mut self, node: Node<'a>, files: &Files<'a>) {
        if is_true(node, "instantiate", false) {
            self.instantiated.extend(node.parent().map(Node::key));
        }
        let mut connect = |name, to: fn(&mut Self) -> &mut HashMap<Key, Vec<Node<'a>>>, what| {
            if let Some(end) = node.attr(name).and_then(|it| files.resolve(node, it)) {
                to(self).entry(end.key()).or_default().push(what);
            }
        };
        match (node.ns(), node.name()) {
            (Ns::Bpmn, "sequenceFlow") => {
                connect("sourceRef", |it| &mut it.outgoing, node);
                connect("targetRef", |it| &mut it.incoming, node);
            }
            (Ns::Bpmn, "boundaryEvent") => {
                connect("attachedToRef", |it| &mut it.boundaries, node);
            }
            (Ns::Bpmn, "association") => {
                let target = node.attr("targetRef").and_then(|it| files.resolve(node, it));
                let source = node.attr("sourceRef").and_then(|it| files.resolve(node, it));
                let undoes = source.is_some_and(|it| {
                    it.is("boundaryEvent")
                        && files.definition(it, "compensateEventDefinition").is_some()
                });
                if let Some(target) = target {
                    connect("sourceRef", |it| &mut it.associated, target);
                    if undoes {
                        self.handlers.insert(target.key());
                    }
                }
            }
            (Ns::Bpmn, "incoming" | "outgoing") => {
                if let Some(parent) = node.parent() {
                    self.listed.insert((parent.key(), local_part(node.text().trim())));
                    self.listing.extend(parent.parent().map(Node::key));
                }
            }
            (Ns::Bpmn, "startEvent") => {
                self.started.extend(node.parent().map(Node::key));
            }
            (Ns::Bpmn, "endEvent") => {
                self.ended.extend(node.parent().map(Node::key));
            }
            _ => {}
        }
    }

    /// The flows that arrive at a node.
    pub(super) fn incoming(&self, node: Node<'_>) -> &[Node<'a>] {
        self.incoming.get(&node.key()).map_or(&[], Vec::as_slice)
    }

    /// The flows that leave a node.
    pub(super) fn outgoing(&self, node: Node<'_>) -> &[Node<'a>] {
        self.outgoing.get(&node.key()).map_or(&[], Vec::as_slice)
    }

    /// The boundary events attached to an activity.
    pub(super) fn boundaries(&self, activity: Node<'_>) -> &[Node<'a>] {
        self.boundaries.get(&activity.key()).map_or(&[], Vec::as_slice)
    }

    /// What associations lead to from a node.
    pub(super) fn associated(&self, node: Node<'_>) -> &[Node<'a>] {
        self.associated.get(&node.key()).map_or(&[], Vec::as_slice)
    }

    /// Whether an association leads to an activity from a compensation event.
    pub(super) fn is_handler(&self, activity: Node<'_>) -> bool {
        self.handlers.contains(&activity.key())
    }

    /// Whether a node lists a flow as incoming or outgoing.
    pub(super) fn lists(&self, node: Node<'_>, flow: &str) -> bool {
        self.listed.contains(&(node.key(), flow))
    }

    /// Whether any node of a container lists its flows.
    pub(super) fn has_lists(&self, container: Node<'_>) -> bool {
        self.listing.contains(&container.key())
    }

    pub(super) fn has_start(&self, container: Node<'_>) -> bool {
        self.started.contains(&container.key())
    }

    /// Whether a task or a gateway starts instances in place of a start event.
    pub(super) fn is_instantiated(&self, container: Node<'_>) -> bool {
        self.instantiated.contains(&container.key())
    }

    pub(super) fn has_end(&self, container: Node<'_>) -> bool {
        self.ended.contains(&container.key())
    }
}

/// The node at one end of a flow.
pub(super) fn end<'a>(flow: Node<'a>, name: &str, files: &Files<'a>) -> Option<Node<'a>> {
    let node = files.resolve(flow, flow.attr(name)?)?;
    schema::is_a(node.name(), "flowNode").then_some(node)
}
