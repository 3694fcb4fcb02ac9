//! From where an inclusive join can still be reached.

use std::collections::BTreeMap;

use super::{Element, Flow, FlowId, Node, NodeId};

/// For each inclusive join and each node of its container: the incoming flows of the join that a
/// token at the node can come to by, without passing the join before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    joins: BTreeMap<NodeId, BTreeMap<NodeId, Vec<FlowId>>>,
}

impl Reach {
    pub(super) fn new(nodes: &[Node], flows: &[Flow]) -> Self {
        let mut joins = BTreeMap::new();
        for (id, node) in (0..).map(NodeId).zip(nodes) {
            if matches!(node.element, Element::Inclusive) && node.incoming.len() > 1 {
                joins.insert(id, sources(id, node, nodes, flows));
            }
        }
        Self { joins }
    }

    /// The incoming flows of `join` that a token at `node` can still come to by.
    pub(crate) fn flows(&self, join: NodeId, node: NodeId) -> &[FlowId] {
        self.joins.get(&join).and_then(|from| from.get(&node)).map_or(&[], Vec::as_slice)
    }
}

/// Walks back from each incoming flow of the join.
fn sources(
    join: NodeId,
    node: &Node,
    nodes: &[Node],
    flows: &[Flow],
) -> BTreeMap<NodeId, Vec<FlowId>> {
    let mut from: BTreeMap<NodeId, Vec<FlowId>> = BTreeMap::new();
    for &incoming in &node.incoming {
        let mut todo = vec![flows[incoming.0 as usize].from];
        while let Some(at) = todo.pop() {
            if at == join {
                continue;
            }
            let seen = from.entry(at).or_default();
            if seen.last() == Some(&incoming) {
                continue;
            }
            seen.push(incoming);
            let here = &nodes[at.index()];
            todo.extend(here.incoming.iter().map(|flow| flows[flow.0 as usize].from));
            if let Element::Boundary(boundary) = &here.element {
                todo.push(boundary.attached_to);
            }
        }
    }
    from
}
