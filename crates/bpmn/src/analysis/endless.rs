//! Loops that a token goes round without ever waiting, and cannot leave.

use travertine_kernel::plan::{Element, FlowId, Gates, Node, NodeId, Repeat, Throw};

use super::{
    Subject,
    condition::{Variables, parse},
};

const HELP: &str = "let something on the way wait or change what the conditions ask for";

/// Looks for them everywhere but among what is never reached.
pub(super) fn check(subject: Subject<'_, '_>, lost: &[NodeId]) {
    let mut waits = waits(subject);
    for node in lost {
        waits[node.0 as usize] = true;
    }
    let next: Vec<Vec<usize>> = subject
        .nodes()
        .map(|id| {
            let automatic = |it: &NodeId| !waits[it.0 as usize];
            let targets = subject.plan().node(id).outgoing.iter();
            let targets = targets.map(|it| subject.plan().flow(*it).to);
            if automatic(&id) {
                targets.filter(automatic).map(|it| it.0 as usize).collect()
            } else {
                Vec::new()
            }
        })
        .collect();
    let circles = circles(&next);
    for members in circles.members {
        let circle = Circle { subject, all: &circles.of, members };
        if let Some(reason) = circle.reason() {
            circle.warn(&next, reason);
        }
    }
    for id in subject.nodes().filter(|it| !waits[it.0 as usize]) {
        repeats(subject, id);
    }
}

/// Which nodes a token may rest at. Where in doubt, it may.
fn waits(subject: Subject<'_, '_>) -> Vec<bool> {
    let plan = subject.plan();
    let mut waits: Vec<_> = plan.nodes.iter().map(may_wait).collect();
    // What is inside comes after what is around it.
    for position in (0..plan.nodes.len()).rev() {
        if let Some(parent) = plan.nodes[position].parent {
            waits[parent.0 as usize] |= waits[position];
        }
    }
    waits
}

fn may_wait(node: &Node) -> bool {
    let gated = node.extras.as_ref().is_some_and(|it| it.gates != Gates::default());
    gated
        || node.start_quantity > 1
        || match &node.element {
            Element::Parallel | Element::Inclusive => node.incoming.len() > 1,
            Element::Throw(throws) => throws.iter().any(|it| match it {
                Throw::Message(_) | Throw::Signal { .. } | Throw::Escalation { .. } => false,
                Throw::Error { .. }
                | Throw::Compensation { .. }
                | Throw::Cancel
                | Throw::Terminate => true,
            }),
            Element::Process(_)
            | Element::SubProcess(_)
            | Element::Transaction(_)
            | Element::Start(_)
            | Element::Pass
            | Element::Task
            | Element::Script { .. }
            | Element::BusinessRule(_)
            | Element::Exclusive => false,
            Element::EventSubProcess(_)
            | Element::AdHoc(_)
            | Element::Work(_)
            | Element::Send(_)
            | Element::Receive(_)
            | Element::Decision
            | Element::Function
            | Element::Catch(_)
            | Element::Boundary(_)
            | Element::Complex { .. }
            | Element::EventBased
            | Element::FanOut
            | Element::FanIn(_)
            | Element::Call(_)
            | Element::Gosub { .. } => true,
        }
}

/// Nodes that all lead to each other.
struct Circle<'s, 'a> {
    subject: Subject<'s, 'a>,
    /// The circle of every node.
    all: &'s [usize],
    members: Vec<usize>,
}

impl Circle<'_, '_> {
    fn contains(&self, node: NodeId) -> bool {
        self.all[node.0 as usize] == self.all[self.members[0]]
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.members.iter().map(|it| &self.subject.plan().nodes[*it])
    }

    /// Why a token never leaves; `None` where it may.
    fn reason(&self) -> Option<&'static str> {
        // What fails may be caught, and goes on elsewhere.
        if self.nodes().any(|it| !it.boundary.is_empty()) {
            return None;
        }
        if !self.nodes().any(|it| self.may_leave(it)) {
            return Some("no way leads out of it");
        }
        let fixed = self.nodes().all(|it| changes_nothing(it) && self.is_understood(it));
        fixed.then_some("nothing in it changes what its conditions ask for")
    }

    /// Whether a token that comes to the node may take a way that leads out, and no other.
    fn may_leave(&self, node: &Node) -> bool {
        let plan = self.subject.plan();
        let stays = |it: &&FlowId| self.contains(plan.flow(**it).to);
        let free = |it: &FlowId| plan.flow(*it).condition.is_none() && Some(*it) != node.default;
        let leads_out = !node.outgoing.iter().all(|it| stays(&it));
        let exclusive = matches!(node.element, Element::Exclusive);
        leads_out && (exclusive || !node.outgoing.iter().filter(stays).any(free))
    }

    fn is_understood(&self, node: &Node) -> bool {
        node.outgoing.iter().all(|it| {
            let flow = self.subject.plan().flow(*it);
            let text = self.subject.flow_source(*it).child("conditionExpression");
            flow.condition.is_none()
                || text.is_some_and(|it| parse(it.text(), &mut Variables::default()).is_some())
        })
    }

    fn warn(&self, next: &[Vec<usize>], reason: &str) {
        let first = self.members[0];
        let mut path = around(first, next, |it| self.all[it] == self.all[first]);
        path.push(first);
        let path: Vec<_> = path.into_iter().map(super::node_id).collect();
        let message = format!(
            "{} is part of a loop that never waits and never ends, because {reason}: {}",
            self.subject.title(path[0]),
            self.subject.path(&path)
        );
        self.subject.warn("TV0925", path[0], message, HELP);
    }
}

/// Whether the node leaves all variables as they are.
fn changes_nothing(node: &Node) -> bool {
    node.extras.is_none()
        && matches!(
            node.element,
            Element::Start(_)
                | Element::Pass
                | Element::Task
                | Element::Exclusive
                | Element::Parallel
                | Element::Inclusive
        )
}

/// A shortest way from a node back to itself, without the last step.
fn around(first: usize, next: &[Vec<usize>], inside: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut before = std::collections::BTreeMap::new();
    let mut todo = std::collections::VecDeque::from([first]);
    'search: while let Some(at) = todo.pop_front() {
        for &to in next[at].iter().filter(|it| inside(**it)) {
            if before.contains_key(&to) {
                continue;
            }
            before.insert(to, at);
            if to == first {
                break 'search;
            }
            todo.push_back(to);
        }
    }
    let mut path = vec![before[&first]];
    while path.last() != Some(&first) {
        path.push(before[&path[path.len() - 1]]);
    }
    path.reverse();
    path
}

/// An activity that repeats itself as long as something holds that always does.
fn repeats(subject: Subject<'_, '_>, id: NodeId) {
    let Some(Repeat::Loop(it)) = subject.plan().node(id).repeat.as_deref() else { return };
    let source = subject.source(id);
    let condition =
        source.child("standardLoopCharacteristics").and_then(|it| it.child("loopCondition"));
    let always = condition
        .and_then(|it| parse(it.text(), &mut Variables::default()))
        .and_then(|it| it.constant());
    if it.maximum.is_none() && always == Some(true) {
        let message = format!(
            "{} repeats without waiting and never ends: its loop condition is always true",
            source.title()
        );
        subject.warn("TV0925", id, message, "set loopMaximum, or correct the condition");
    }
}

/// The circles of a graph.
struct Circles {
    /// The circle of every node.
    of: Vec<usize>,
    /// The nodes of each circle that really goes round, in order.
    members: Vec<Vec<usize>>,
}

/// Tarjan's strongly connected components, without recursion.
fn circles(next: &[Vec<usize>]) -> Circles {
    const NEW: usize = usize::MAX;
    let (mut number, mut low) = (vec![NEW; next.len()], vec![NEW; next.len()]);
    let (mut of, mut members) = (vec![NEW; next.len()], Vec::new());
    let (mut count, mut found) = (0, 0);
    let mut open = Vec::new();
    for root in 0..next.len() {
        if number[root] != NEW {
            continue;
        }
        let mut walk = vec![(root, 0)];
        while let Some((node, way)) = walk.last_mut() {
            let node = *node;
            if *way == 0 {
                (number[node], low[node]) = (count, count);
                count += 1;
                open.push(node);
            }
            if let Some(&to) = next[node].get(*way) {
                *way += 1;
                if number[to] == NEW {
                    walk.push((to, 0));
                } else if of[to] == NEW {
                    low[node] = low[node].min(number[to]);
                }
                continue;
            }
            walk.pop();
            if let Some((parent, _)) = walk.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == number[node] {
                let at = open.iter().rposition(|it| *it == node).expect("it was opened");
                let mut circle = open.split_off(at);
                for &it in &circle {
                    of[it] = found;
                }
                found += 1;
                if circle.len() > 1 || next[node].contains(&node) {
                    circle.sort_unstable();
                    members.push(circle);
                }
            }
        }
    }
    Circles { of, members }
}
