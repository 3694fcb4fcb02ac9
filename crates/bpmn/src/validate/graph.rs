//! Which sequence flows arrive at and leave each node.

use std::collections::HashMap;

use crate::{files::Files, schema, xml::Node};

/// The sequence flows of a process, by the nodes they connect.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    incoming: HashMap<(usize, usize), Vec<Node<'a>>>,
    outgoing: HashMap<(usize, usize), Vec<Node<'a>>>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(process: Node<'a>, files: &Files<'a>) -> Self {
        let mut graph = Self::default();
        for flow in process.descendants().filter(|it| it.is("sequenceFlow")) {
            if let Some(source) = end(flow, "sourceRef", files) {
                graph.outgoing.entry(source.key()).or_default().push(flow);
            }
            if let Some(target) = end(flow, "targetRef", files) {
                graph.incoming.entry(target.key()).or_default().push(flow);
            }
        }
        graph
    }

    /// The flows that arrive at a node.
    pub(super) fn incoming(&self, node: Node<'_>) -> &[Node<'a>] {
        self.incoming.get(&node.key()).map_or(&[], Vec::as_slice)
    }

    /// The flows that leave a node.
    pub(super) fn outgoing(&self, node: Node<'_>) -> &[Node<'a>] {
        self.outgoing.get(&node.key()).map_or(&[], Vec::as_slice)
    }
}

/// The node at one end of a flow.
pub(super) fn end<'a>(flow: Node<'a>, name: &str, files: &Files<'a>) -> Option<Node<'a>> {
    let node = files.resolve(flow, flow.attr(name)?)?;
    schema::is_a(node.name(), "flowNode").then_some(node)
}
