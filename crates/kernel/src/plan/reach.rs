//! From where an inclusive join can still be reached.
//!
//! Worked out each time it is asked: a table for all joins and nodes would be the square of the
//! model, and most joins are asked once or twice in the life of an instance.

use super::{Element, FlowId, NodeId, Plan};

impl Plan {
    /// The nodes from which a token can come to `join` by one of `flows` without passing the join
    /// before, by position.
    pub(crate) fn sources(&self, join: NodeId, flows: impl Iterator<Item = FlowId>) -> Vec<bool> {
        let mut seen = vec![false; self.nodes.len()];
        let mut todo: Vec<NodeId> = flows.map(|flow| self.flow(flow).from).collect();
        while let Some(at) = todo.pop() {
            if at == join || std::mem::replace(&mut seen[at.index()], true) {
                continue;
            }
            let node = self.node(at);
            todo.extend(node.incoming.iter().map(|flow| self.flow(*flow).from));
            if let Element::Boundary(boundary) = &node.element {
                todo.push(boundary.attached_to);
            }
        }
        seen
    }
}
