//! Branches that come together without a join, so that what follows runs once for each of them.

use std::collections::BTreeSet;

use travertine_kernel::plan::{Element, FlowId, Node, NodeId};

use super::{
    Subject,
    dominators::Dominators,
    scope::{Scope, reversed, synchronises},
};

const HELP: &str = "bring the branches together with a parallel gateway, or split exclusively";

/// A split with more branches is tried for neighbours only.
const BRANCHES_MAX: usize = 8;
/// How much may be spent on one scope, in nodes walked.
const STEPS_MAX: usize = 2_000_000;

pub(super) fn check(subject: Subject<'_, '_>, scope: &Scope) {
    let splits: Vec<_> = scope
        .members
        .iter()
        .map(|it| (*it, certain(subject, subject.plan().node(*it))))
        .filter(|(_, flows)| flows.len() > 1)
        .collect();
    if splits.is_empty() {
        return;
    }
    let back = reversed(&scope.own);
    let ends = Dominators::new(&back, &scope.own, scope.exit());
    let mut search = Search { subject, scope, ends, steps: 0, said: vec![false; scope.exit()] };
    for (split, flows) in splits {
        search.split(split, &flows);
    }
}

/// The flows by which tokens always leave a node, all of them.
fn certain(subject: Subject<'_, '_>, node: &Node) -> Vec<FlowId> {
    if matches!(node.element, Element::Exclusive | Element::EventBased | Element::FanOut) {
        return Vec::new();
    }
    let always =
        |it: &&FlowId| subject.plan().flow(**it).condition.is_none() && Some(**it) != node.default;
    node.outgoing.iter().filter(always).copied().collect()
}

struct Search<'s, 'a> {
    subject: Subject<'s, 'a>,
    scope: &'s Scope,
    /// What every way to the exit passes.
    ends: Dominators,
    steps: usize,
    /// Where branches come together and it has been said.
    said: Vec<bool>,
}

impl Search<'_, '_> {
    fn split(&mut self, split: NodeId, flows: &[FlowId]) {
        let plan = self.subject.plan();
        let targets: Vec<_> =
            flows.iter().map(|it| self.scope.position(plan.flow(*it).to)).collect();
        for (position, &a) in targets.iter().enumerate() {
            let others = if targets.len() > BRANCHES_MAX { 1 } else { targets.len() };
            for &b in targets[position + 1..].iter().take(others) {
                if self.steps > STEPS_MAX {
                    return;
                }
                self.pair(split, a, b);
            }
        }
    }

    fn pair(&mut self, split: NodeId, a: usize, b: usize) {
        let Some(merge) = self.ends.common(a, b).filter(|it| *it != self.scope.exit()) else {
            return;
        };
        let plan = self.subject.plan();
        if self.said[merge] || synchronises(plan, self.scope.node(merge)) {
            return;
        }
        let Some(repeated) = self.repeated(merge) else { return };
        if self.meets_before(split, a, b, merge) {
            return;
        }
        self.said[merge] = true;
        let from = |branch: usize| {
            let mut path = vec![split];
            if branch == merge {
                path.push(self.scope.node(merge));
            } else {
                path.extend(self.scope.path(branch, merge).unwrap_or_default());
            }
            self.subject.path(&path)
        };
        let message = format!(
            "{} runs once for each branch of {}, because {} does not wait for the others: {}, and {}",
            self.subject.title(repeated),
            self.subject.title(split),
            self.subject.title(self.scope.node(merge)),
            from(a),
            from(b)
        );
        self.subject.warn("TV0922", self.scope.node(merge), message, HELP);
    }

    /// The first thing that is certainly done behind a merge, before anything waits for others.
    fn repeated(&self, merge: usize) -> Option<NodeId> {
        let plan = self.subject.plan();
        let passed = std::iter::once(merge).chain(self.ends.above(merge));
        for at in passed {
            let node = self.scope.node(at);
            if synchronises(plan, node) {
                return None;
            }
            if plan.node(node).is_activity() {
                return Some(node);
            }
            let flows = certain(self.subject, plan.node(node));
            let mut branches = flows.into_iter().map(|it| plan.flow(it).to);
            if let Some(activity) = branches.find(|it| plan.node(*it).is_activity()) {
                return Some(activity);
            }
        }
        None
    }

    /// Whether two branches may wait for each other, or begin anew, before they come to the merge.
    fn meets_before(&mut self, split: NodeId, a: usize, b: usize, merge: usize) -> bool {
        let first = self.between(a, merge);
        let second = self.between(b, merge);
        let split = self.scope.position(split);
        let plan = self.subject.plan();
        first.contains(&split)
            || second.contains(&split)
            || first.intersection(&second).any(|it| {
                *it != merge && *it != self.scope.exit() && synchronises(plan, self.scope.node(*it))
            })
    }

    /// The nodes on all ways from one to another.
    fn between(&mut self, from: usize, to: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut todo = vec![from];
        while let Some(at) = todo.pop() {
            if seen.insert(at) && at != to {
                self.steps += 1;
                todo.extend(&self.scope.next[at]);
            }
        }
        seen
    }
}
