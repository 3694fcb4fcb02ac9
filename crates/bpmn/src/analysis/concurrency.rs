//! Which places of a scope can hold tokens at the same time.
//!
//! The relation errs on one side: two places that are not in it never hold tokens together, whatever
//! the data; two that are in it may still never do so. Chains count as one place, and a scope that
//! is too wide is given up.

use std::collections::BTreeSet;

use travertine_kernel::plan::{Element, FlowId, NodeId, Plan};

use super::scope::{Scope, entries};

/// How much may be spent on one scope.
const STEPS_MAX: usize = 20_000_000;
const PLACES_MAX: usize = 8_000;

/// Which places of a scope can hold tokens at the same time.
#[derive(Debug)]
pub(super) struct Concurrency {
    place_of: Vec<(FlowId, usize)>,
    net: Net,
    /// A row of bits for each place.
    pairs: Vec<Vec<u64>>,
    marked: Vec<bool>,
    /// For each transition, how many pairs of its places are in the relation.
    ready: Vec<usize>,
    todo: Vec<(usize, usize)>,
    steps: usize,
}

#[derive(Debug, Default)]
struct Net {
    transitions: Vec<Transition>,
    /// The transitions that take from each place.
    takers: Vec<Vec<usize>>,
}

#[derive(Debug)]
struct Transition {
    from: Vec<usize>,
    to: Vec<usize>,
}

impl Concurrency {
    /// Works it out; `None` where that would cost too much.
    pub(super) fn of(plan: &Plan, scope: &Scope) -> Option<Self> {
        let mut build = Build::new(plan, scope);
        build.all(scope);
        let places = build.net.takers.len();
        if places > PLACES_MAX {
            return None;
        }
        let mut it = Self {
            place_of: build.place_of,
            pairs: vec![vec![0; places.div_ceil(64)]; places],
            marked: vec![false; places],
            ready: vec![0; build.net.transitions.len()],
            net: build.net,
            todo: Vec::new(),
            steps: 0,
        };
        for (first, together) in &build.begin {
            it.mark(*first);
            for other in together {
                it.mark(*other);
                it.pair(*first, *other);
            }
        }
        while let Some((x, y)) = it.todo.pop() {
            if it.steps > STEPS_MAX {
                return None;
            }
            it.moves(x, y);
            it.moves(y, x);
        }
        Some(it)
    }

    /// Whether two flows can hold tokens at the same time.
    pub(super) fn together(&self, a: FlowId, b: FlowId) -> bool {
        self.related(self.place(a), self.place(b))
    }

    /// Whether a flow can ever hold a token.
    pub(super) fn is_marked(&self, flow: FlowId) -> bool {
        self.marked[self.place(flow)]
    }

    fn place(&self, flow: FlowId) -> usize {
        let at = self.place_of.binary_search_by_key(&flow, |(flow, _)| *flow);
        self.place_of[at.expect("every flow of the scope has a place")].1
    }

    fn related(&self, x: usize, y: usize) -> bool {
        self.pairs[x][y / 64] >> (y % 64) & 1 == 1
    }

    fn mark(&mut self, place: usize) {
        // A place on its own is marked as one, not as a pair, so it waits in a list here.
        let mut todo = vec![place];
        while let Some(place) = todo.pop() {
            if std::mem::replace(&mut self.marked[place], true) {
                continue;
            }
            for taker in 0..self.net.takers[place].len() {
                let transition = self.net.takers[place][taker];
                if self.net.transitions[transition].from.len() == 1 {
                    self.fire(transition, &mut todo);
                }
            }
        }
    }

    /// What a transition puts out is there together.
    fn fire(&mut self, transition: usize, marked: &mut Vec<usize>) {
        let to = self.net.transitions[transition].to.clone();
        for (position, &place) in to.iter().enumerate() {
            marked.push(place);
            for &other in &to[position + 1..] {
                self.pair(place, other);
            }
        }
    }

    fn pair(&mut self, x: usize, y: usize) {
        self.steps += 1;
        if self.related(x, y) {
            return;
        }
        self.pairs[x][y / 64] |= 1 << (y % 64);
        self.pairs[y][x / 64] |= 1 << (x % 64);
        self.todo.push((x, y));
    }

    /// The token at `x` moves on, while another stays at `y`.
    fn moves(&mut self, x: usize, y: usize) {
        for taker in 0..self.net.takers[x].len() {
            let transition = self.net.takers[x][taker];
            let Transition { from, .. } = &self.net.transitions[transition];
            self.steps += from.len();
            if from.len() > 1 {
                let all = from.len() * (from.len() - 1);
                if x != y && from.contains(&y) {
                    self.ready[transition] += 1;
                    if self.ready[transition] == all {
                        self.enable(transition);
                    }
                }
                let from = &self.net.transitions[transition].from;
                if self.ready[transition] < all || !from.iter().all(|it| self.related(*it, y)) {
                    continue;
                }
            }
            for to in self.net.transitions[transition].to.clone() {
                self.pair(to, y);
            }
        }
    }

    /// A join can fire for the first time, beside everything that all of its places are beside.
    fn enable(&mut self, transition: usize) {
        let mut marked = Vec::new();
        self.fire(transition, &mut marked);
        for place in marked {
            self.mark(place);
        }
        let Transition { from, to } = &self.net.transitions[transition];
        let (from, to) = (from.clone(), to.clone());
        for y in 0..self.pairs.len() {
            self.steps += 1;
            if from.iter().all(|it| self.related(*it, y)) {
                for &to in &to {
                    self.pair(to, y);
                }
            }
        }
    }
}

/// Makes the net of a scope.
struct Build<'p> {
    plan: &'p Plan,
    net: Net,
    place_of: Vec<(FlowId, usize)>,
    /// Places that get a token at the beginning, and those that get one with it.
    begin: Vec<(usize, Vec<usize>)>,
}

impl<'p> Build<'p> {
    fn new(plan: &'p Plan, scope: &Scope) -> Self {
        let mut it = Self { plan, net: Net::default(), place_of: Vec::new(), begin: Vec::new() };
        let mut flows: Vec<_> =
            scope.members.iter().flat_map(|it| plan.node(*it).outgoing.iter().copied()).collect();
        flows.sort_unstable();
        it.place_of = flows.iter().map(|flow| (*flow, usize::MAX)).collect();
        for flow in flows {
            it.assign(flow);
        }
        it
    }

    /// A flow is the same place as the one before it, where a token just passes between them.
    fn assign(&mut self, flow: FlowId) {
        let mut chain = Vec::new();
        let mut at = flow;
        let place = loop {
            let slot = self.slot(at);
            if self.place_of[slot].1 != usize::MAX {
                break self.place_of[slot].1;
            }
            if chain.contains(&slot) {
                break self.place();
            }
            chain.push(slot);
            match self.before(at) {
                // Long chains are assigned from their beginning, mostly, so this is short.
                Some(before) if chain.len() < 64 => at = before,
                _ => break self.place(),
            }
        };
        for slot in chain {
            self.place_of[slot].1 = place;
        }
    }

    /// The flow that a token came by, where it can only pass.
    fn before(&self, flow: FlowId) -> Option<FlowId> {
        let node = self.plan.node(self.plan.flow(flow).from);
        let ([only], [_]) = (&node.incoming[..], &node.outgoing[..]) else { return None };
        let passes = node.boundary.is_empty()
            && node.completion_quantity == 1
            && !matches!(node.element, Element::Start(_) | Element::Boundary(_));
        passes.then_some(*only)
    }

    fn slot(&self, flow: FlowId) -> usize {
        let at = self.place_of.binary_search_by_key(&flow, |(flow, _)| *flow);
        at.expect("every flow of the scope has a slot")
    }

    fn place(&mut self) -> usize {
        self.net.takers.push(Vec::new());
        self.net.takers.len() - 1
    }

    fn transition(&mut self, from: Vec<usize>, to: Vec<usize>) {
        for &place in &from {
            self.net.takers[place].push(self.net.transitions.len());
        }
        self.net.transitions.push(Transition { from, to });
    }

    fn flows(&self, flows: &[FlowId]) -> Vec<usize> {
        flows.iter().map(|it| self.place_of[self.slot(*it)].1).collect()
    }

    fn all(&mut self, scope: &Scope) {
        let entries: BTreeSet<_> = entries(self.plan, scope.host).into_iter().collect();
        let host = &self.plan.node(scope.host).element;
        let mut places = Vec::new();
        for &member in &scope.members {
            let begins = entries.contains(&member).then(|| self.place());
            places.extend(begins.map(|it| (member, it)));
            self.node(member, begins);
        }
        let starts = host.container().map_or(&[][..], |it| &it.starts);
        let starts: BTreeSet<_> = starts.iter().copied().collect();
        let many = matches!(host, Element::AdHoc(_));
        for (position, (node, place)) in places.iter().enumerate() {
            let mut others: Vec<_> = places[position + 1..]
                .iter()
                .filter(|(other, _)| starts.contains(node) && starts.contains(other))
                .map(|(_, place)| *place)
                .collect();
            // The activities of an ad-hoc sub-process are begun as often as someone likes.
            others.extend(many.then_some(*place));
            self.begin.push((*place, others));
        }
    }

    fn node(&mut self, id: NodeId, begins: Option<usize>) {
        let node = self.plan.node(id);
        let mut from = self.flows(&node.incoming);
        from.extend(begins);
        let mut to = self.flows(&node.outgoing);
        if node.completion_quantity > 1 {
            to.extend(to.clone());
        }
        match node.element {
            // What a boundary event does is a matter of its activity.
            Element::Boundary(_) => {}
            _ if from.len() == 1 && from == to && node.boundary.is_empty() => {}
            Element::Parallel if from.len() > 1 => self.transition(from, to),
            Element::Exclusive | Element::EventBased => {
                let through = self.merge(from);
                for way in to {
                    self.transition(vec![through], vec![way]);
                }
            }
            _ => {
                let active = self.merge(from);
                self.transition(vec![active], to);
                for &boundary in &node.boundary {
                    self.boundary(boundary, active);
                }
            }
        }
    }

    /// One place that all of these lead to, each on its own.
    fn merge(&mut self, from: Vec<usize>) -> usize {
        let through = self.place();
        for place in from {
            self.transition(vec![place], vec![through]);
        }
        through
    }

    fn boundary(&mut self, boundary: NodeId, active: usize) {
        let node = self.plan.node(boundary);
        let Element::Boundary(it) = &node.element else { return };
        let mut to = self.flows(&node.outgoing);
        if !it.interrupting {
            to.push(active);
        }
        self.transition(vec![active], to);
    }
}
