//! One process or sub-process as a graph: where tokens begin, where they go, where they end.

use std::collections::VecDeque;

use travertine_kernel::plan::{Boundary, Element, NodeId, Plan};

use super::node_id;

/// The nodes directly in a container. They are counted from 1; 0 is the entry, and the position
/// after the last is the exit.
#[derive(Debug)]
pub(super) struct Scope {
    /// The container.
    pub(super) host: NodeId,
    pub(super) members: Vec<NodeId>,
    /// Where a token can go from each node.
    pub(super) next: Vec<Vec<usize>>,
    /// The ways of which a token takes one from each node: those of `next`, without the boundary events
    /// that leave their activity alone.
    pub(super) own: Vec<Vec<usize>>,
}

impl Scope {
    /// Every container of a plan.
    pub(super) fn all(plan: &Plan) -> Vec<Self> {
        let mut members = vec![Vec::new(); plan.nodes.len()];
        let mut local = vec![0; plan.nodes.len()];
        for (position, node) in plan.nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                let siblings: &mut Vec<NodeId> = &mut members[parent.0 as usize];
                siblings.push(node_id(position));
                local[position] = siblings.len();
            }
        }
        let containers = (0..plan.nodes.len()).filter(|it| !members[*it].is_empty());
        let containers: Vec<_> = containers.collect();
        containers
            .into_iter()
            .map(|it| Self::new(plan, node_id(it), std::mem::take(&mut members[it]), &local))
            .collect()
    }

    fn new(plan: &Plan, host: NodeId, members: Vec<NodeId>, local: &[usize]) -> Self {
        let exit = members.len() + 1;
        let at = |it: NodeId| local[it.0 as usize];
        let entry: Vec<_> = entries(plan, host).into_iter().map(at).collect();
        let (mut next, mut own) = (vec![entry.clone()], vec![entry]);
        for &member in &members {
            let node = plan.node(member);
            let flows = node.outgoing.iter().map(|it| at(plan.flow(*it).to));
            let mut ways: Vec<_> = flows.collect();
            if ways.is_empty() {
                ways.push(exit);
            }
            let interrupting = |it: &&NodeId| interrupts(plan, **it);
            let mut one = ways.clone();
            one.extend(node.boundary.iter().filter(interrupting).map(|it| at(*it)));
            ways.extend(node.boundary.iter().map(|it| at(*it)));
            own.push(one);
            next.push(ways);
        }
        next.push(Vec::new());
        own.push(Vec::new());
        Self { host, members, next, own }
    }

    pub(super) fn exit(&self) -> usize {
        self.members.len() + 1
    }

    /// The node at a position that is neither the entry nor the exit.
    pub(super) fn node(&self, local: usize) -> NodeId {
        self.members[local - 1]
    }

    /// The position of a member.
    pub(super) fn position(&self, node: NodeId) -> usize {
        self.members.binary_search(&node).expect("members are in order") + 1
    }

    /// The nodes on a shortest way, with both ends but without entry and exit.
    pub(super) fn path(&self, from: usize, to: usize) -> Option<Vec<NodeId>> {
        let mut before = vec![usize::MAX; self.next.len()];
        let mut todo = VecDeque::from([from]);
        while let Some(at) = todo.pop_front() {
            for &next in &self.next[at] {
                if before[next] == usize::MAX {
                    before[next] = at;
                    todo.push_back(next);
                }
            }
            if before[to] != usize::MAX {
                break;
            }
        }
        if before[to] == usize::MAX {
            return None;
        }
        let mut path = vec![to];
        let mut at = before[to];
        while at != from {
            path.push(at);
            at = before[at];
        }
        path.push(from);
        path.reverse();
        let inner = path.into_iter().filter(|it| *it != 0 && *it != self.exit());
        Some(inner.map(|it| self.node(it)).collect())
    }

    /// Everything that can be reached along `next` from some nodes, without going on at `stop`.
    pub(super) fn reached(next: &[Vec<usize>], from: &[usize], stop: Option<usize>) -> Vec<bool> {
        let mut seen = vec![false; next.len()];
        let mut todo = from.to_vec();
        while let Some(at) = todo.pop() {
            if !std::mem::replace(&mut seen[at], true) && Some(at) != stop {
                todo.extend(&next[at]);
            }
        }
        seen
    }
}

/// The edges, turned around.
pub(super) fn reversed(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut back = vec![Vec::new(); next.len()];
    for (from, ways) in next.iter().enumerate() {
        for &to in ways {
            back[to].push(from);
        }
    }
    back
}

/// Where tokens begin in a container.
pub(super) fn entries(plan: &Plan, host: NodeId) -> Vec<NodeId> {
    let element = &plan.node(host).element;
    if let Element::EventSubProcess(event) = element {
        return vec![event.start];
    }
    let Some(container) = element.container() else { return Vec::new() };
    container.starts.iter().chain(&container.typed_starts).copied().collect()
}

fn interrupts(plan: &Plan, boundary: NodeId) -> bool {
    matches!(&plan.node(boundary).element, Element::Boundary(Boundary { interrupting: true, .. }))
}

/// Whether tokens wait at a node for each other.
pub(super) fn synchronises(plan: &Plan, node: NodeId) -> bool {
    let node = plan.node(node);
    node.start_quantity > 1
        || match node.element {
            Element::Complex { .. } | Element::FanIn(_) => true,
            Element::Parallel | Element::Inclusive => node.incoming.len() > 1,
            _ => false,
        }
}
