//! Parallel joins that can never complete.

use travertine_kernel::plan::{Element, FlowId, NodeId};

use super::{
    Subject,
    concurrency::Concurrency,
    dominators::Dominators,
    scope::{Scope, reversed},
};

const HELP: &str =
    "merge alternatives with an exclusive gateway, or split with a parallel or inclusive one";

pub(super) fn check(subject: Subject<'_, '_>, scope: &Scope) {
    let plan = subject.plan();
    let is_join = |it: &&NodeId| {
        let node = plan.node(**it);
        matches!(node.element, Element::Parallel) && node.incoming.len() > 1
    };
    let joins: Vec<_> = scope.members.iter().filter(is_join).copied().collect();
    if joins.is_empty() {
        return;
    }
    let Some(concurrency) = Concurrency::of(plan, scope) else { return };
    let stuck = |join: &NodeId| missing(&concurrency, &plan.node(*join).incoming);
    let found: Vec<_> = joins.iter().filter_map(|it| Some((*it, stuck(it)?))).collect();
    if found.is_empty() {
        return;
    }
    let dominators = Dominators::new(&scope.next, &reversed(&scope.next), 0);
    for (join, missing) in found {
        let report = Report { subject, scope, dominators: &dominators, join };
        match missing {
            Missing::Never(flow) => report.never(flow),
            Missing::Together(a, b) => report.alternatives(a, b),
        }
    }
}

/// What a join lacks.
enum Missing {
    /// No token ever comes by this flow.
    Never(FlowId),
    /// Tokens come by both, but never in the same run.
    Together(FlowId, FlowId),
}

fn missing(concurrency: &Concurrency, incoming: &[FlowId]) -> Option<Missing> {
    // A join that nothing reaches is a matter of what lies before it.
    if !incoming.iter().any(|it| concurrency.is_marked(*it)) {
        return None;
    }
    if let Some(flow) = incoming.iter().find(|it| !concurrency.is_marked(**it)) {
        return Some(Missing::Never(*flow));
    }
    incoming.iter().enumerate().find_map(|(position, a)| {
        let rest = &incoming[position + 1..];
        let b = rest.iter().find(|b| !concurrency.together(*a, **b))?;
        Some(Missing::Together(*a, *b))
    })
}

struct Report<'s, 'a> {
    subject: Subject<'s, 'a>,
    scope: &'s Scope,
    dominators: &'s Dominators,
    join: NodeId,
}

impl Report<'_, '_> {
    fn flow(&self, flow: FlowId) -> &str {
        &self.subject.plan().flow(flow).name
    }

    fn source(&self, flow: FlowId) -> usize {
        self.scope.position(self.subject.plan().flow(flow).from)
    }

    /// A way to a flow and on to the join.
    fn way(&self, from: usize, flow: FlowId) -> String {
        let source = self.source(flow);
        let mut path = if from == source {
            vec![self.scope.node(source)]
        } else {
            self.scope.path(from, source).unwrap_or_default()
        };
        path.push(self.join);
        self.subject.path(&path)
    }

    fn warn(&self, reason: &str) {
        let message = format!("{} can never complete: {reason}", self.subject.title(self.join));
        self.subject.warn("TV0921", self.join, message, HELP);
    }

    /// No token comes by a flow: because it lies behind the join, or nothing leads to it. What lies
    /// behind another stuck join is a matter of that one.
    fn never(&self, flow: FlowId) {
        let (join, source) = (self.scope.position(self.join), self.source(flow));
        let is_behind = source == join || self.dominators.above(source).any(|it| it == join);
        if is_behind {
            let way = self.way(join, flow);
            self.warn(&format!(
                "it waits for flow '{}', which only it leads to: {way}",
                self.flow(flow)
            ));
        } else if self.dominators.common(source, source).is_none() {
            let way = self.way(source, flow);
            self.warn(&format!("nothing ever comes by flow '{}': {way}", self.flow(flow)));
        }
    }

    fn alternatives(&self, a: FlowId, b: FlowId) {
        let Some(split) = self.dominators.common(self.source(a), self.source(b)) else { return };
        let names = format!("flows '{}' and '{}'", self.flow(a), self.flow(b));
        let (first, second) = (self.way(split, a), self.way(split, b));
        let cause = if split == 0 {
            "a run begins at one start event".to_owned()
        } else {
            format!("one run takes one way from {}", self.subject.title(self.scope.node(split)))
        };
        self.warn(&format!("it waits for {names}, but {cause}: either {first}, or {second}"));
    }
}
