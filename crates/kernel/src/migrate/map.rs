//! Where everything that an instance refers to lies in another plan.

use std::collections::{BTreeMap, BTreeSet};

use travertine_value::Name;

use super::{Change, Fate, Mapping, Problem, same};
use crate::{
    plan::{Element, FlowId, NodeId, Plan},
    state::{Instance, Role, Scope, ScopeKind, State, Token},
    vocabulary::TokenId,
};

/// What becomes of what.
#[derive(Debug)]
pub(super) struct Map<'a> {
    old: &'a Plan,
    new: &'a Plan,
    instance: &'a Instance,
    mapping: &'a Mapping,
    names: BTreeMap<&'a str, NodeId>,
    flow_names: BTreeMap<&'a str, FlowId>,
    /// The nodes that the instance refers to.
    pub(super) nodes: BTreeMap<NodeId, NodeId>,
    /// The flows that the instance refers to and that are still there.
    pub(super) flows: BTreeMap<FlowId, FlowId>,
    /// The scopes that count their tokens by node.
    pub(super) counting: Vec<TokenId>,
    /// Tokens at events that are not there any more.
    pub(super) gone: Vec<TokenId>,
    /// Tokens that wait for what is defined differently, with their old node.
    pub(super) stale: Vec<(TokenId, NodeId)>,
    /// Events that nobody waits for yet, by the token beside which or in whose scope they are.
    pub(super) fresh: Vec<(TokenId, NodeId)>,
    pub(super) changes: Vec<Change>,
    pub(super) problems: Vec<Problem>,
}

impl<'a> Map<'a> {
    pub(super) fn of(
        old: &'a Plan,
        new: &'a Plan,
        instance: &'a Instance,
        mapping: &'a Mapping,
    ) -> Self {
        let mut map = Self {
            old,
            new,
            instance,
            mapping,
            names: by_name((0..).map(NodeId).zip(new.nodes.iter().map(|it| &it.name))),
            flow_names: by_name((0..).map(FlowId).zip(new.flows.iter().map(|it| &it.name))),
            nodes: BTreeMap::new(),
            flows: BTreeMap::new(),
            counting: Vec::new(),
            gone: Vec::new(),
            stale: Vec::new(),
            fresh: Vec::new(),
            changes: Vec::new(),
            problems: Vec::new(),
        };
        map.check_whole();
        if map.problems.is_empty() {
            map.map_tokens();
            map.map_scopes();
            map.map_ways();
        }
        map
    }

    fn check_whole(&mut self) {
        if !self.instance.is_running() {
            self.problems.push(Problem::NotRunning);
            return;
        }
        if self.instance.is_unfinished() {
            self.problems.push(Problem::Unfinished);
        }
        let attributes = |plan: &Plan| -> BTreeSet<Name> {
            plan.status.iter().map(|(name, _)| Name::clone(name)).collect()
        };
        if attributes(self.old) != attributes(self.new) {
            self.problems.push(Problem::Status);
        }
        let old_names: BTreeSet<&str> = (self.old.nodes.iter().map(|it| &*it.name))
            .chain(self.old.flows.iter().map(|it| &*it.name))
            .collect();
        for (from, to) in self.mapping {
            if !old_names.contains(&**from) {
                self.problems.push(Problem::NotInOld(Name::clone(from)));
            }
            if !self.names.contains_key(&**to) && !self.flow_names.contains_key(&**to) {
                self.problems.push(Problem::NotInNew(Name::clone(to)));
            }
        }
    }

    /// What the element becomes.
    fn target(&self, node: NodeId) -> Option<NodeId> {
        if node == NodeId(0) {
            return Some(node);
        }
        let it = self.old.node(node);
        // An event sub-process has one start, whatever it is called.
        if let Some(event) = it.parent
            && let Element::EventSubProcess(around) = &self.old.node(event).element
            && around.start == node
            && let Element::EventSubProcess(around) = &self.new.node(self.target(event)?).element
        {
            return Some(around.start);
        }
        let name = self.mapping.get(&it.name).unwrap_or(&it.name);
        self.names.get(&**name).copied()
    }

    fn flow_target(&self, flow: FlowId) -> Option<FlowId> {
        let it = self.old.flow(flow);
        let to = self.target(it.to)?;
        let name = self.mapping.get(&it.name).unwrap_or(&it.name);
        let named = self.flow_names.get(&**name).copied();
        if let Some(named) = named.filter(|it| self.new.flow(*it).to == to) {
            return Some(named);
        }
        // A flow that was drawn anew between the same elements is as good.
        let from = self.target(it.from)?;
        let mut between =
            self.new.node(to).incoming.iter().filter(|it| self.new.flow(**it).from == from);
        match (between.next(), between.next()) {
            (Some(only), None) => Some(*only),
            _ => None,
        }
    }

    fn map_tokens(&mut self) {
        let mut taken = BTreeSet::new();
        for (id, token) in &self.instance.tokens {
            let listens = matches!(token.role, Role::Guard(_) | Role::Start);
            let element = self.old.name(token.node);
            let to = if listens { self.event(token) } else { self.target(token.node) };
            let Some(to) = to else {
                if listens {
                    self.gone.push(*id);
                    self.changes.push(Change { token: *id, element, fate: Fate::Disarmed });
                } else {
                    self.problems.push(Problem::NoSuchElement { token: *id, element });
                }
                continue;
            };
            let of = match token.role {
                Role::Guard(of) => Some(of),
                Role::Start => token.scope,
                Role::Flow | Role::Run(_) | Role::Branch(_) | Role::Compensation => None,
            };
            if let Some(of) = of
                && !taken.insert((of, to))
            {
                self.problems.push(Problem::Twice { token: *id, element: self.new.name(to) });
            }
            self.check_token(*id, token, to);
            self.map_via(*id, token);
            let name = self.new.name(to);
            let fate = if name == element { Fate::Kept } else { Fate::Moved(name) };
            self.changes.push(Change { token: *id, element, fate });
            self.nodes.insert(token.node, to);
            if self.is_stale(token, to) {
                self.stale.push((*id, token.node));
            }
            self.find_fresh(*id, token, to);
        }
    }

    /// What the event becomes that a token listens for, where that still belongs to what it did.
    fn event(&self, token: &Token) -> Option<NodeId> {
        let to = self.target(token.node)?;
        let fits = match token.role {
            Role::Guard(of) => {
                let host = self.target(self.instance.token(of).node)?;
                if let Element::Boundary(it) = &self.new.node(to).element {
                    it.attached_to == host && !it.is_compensation()
                } else {
                    self.behind(host).any(|it| it == to)
                }
            }
            Role::Start => {
                let event = self.target(self.old.node(token.node).parent?)?;
                let scope = self.instance.scope(token.scope?);
                let container = self.new.container(self.target(scope.node)?)?;
                container.events.contains(&event)
            }
            Role::Flow | Role::Run(_) | Role::Branch(_) | Role::Compensation => true,
        };
        (fits && same::kind(self.old.node(token.node), self.new.node(to))).then_some(to)
    }

    fn behind(&self, gateway: NodeId) -> impl Iterator<Item = NodeId> {
        self.new.node(gateway).outgoing.iter().map(|flow| self.new.flow(*flow).to)
    }

    fn check_token(&mut self, token: TokenId, it: &Token, to: NodeId) {
        let (old, new) = (self.old.node(it.node), self.new.node(to));
        let (element, name) = (self.old.name(it.node), self.new.name(to));
        if !same::kind(old, new) {
            self.problems.push(Problem::OtherKind { token, element, to: name });
            return;
        }
        if new.parent != old.parent.and_then(|it| self.target(it)) {
            self.problems.push(Problem::OtherParent { token, element, to: name });
            return;
        }
        let begun = it.state > State::Ready || self.instance.scopes.contains_key(&token);
        if begun && !same::repeat(old, new) {
            self.problems.push(Problem::OtherRepeat { token, element });
        }
        if let (Element::Boundary(old), Element::Boundary(new)) = (&old.element, &new.element)
            && it.role == Role::Compensation
            && (self.target(old.attached_to) != Some(new.attached_to) || new.handler.is_none())
        {
            let (element, to) = (self.old.name(it.node), self.new.name(to));
            self.problems.push(Problem::OtherParent { token, element, to });
        }
    }

    fn map_via(&mut self, token: TokenId, it: &Token) {
        let Some(via) = it.via else { return };
        let counts = self.old.node(it.node).waits_for_flows();
        match self.flow_target(via) {
            Some(to) => {
                self.flows.insert(via, to);
            }
            None if counts => {
                let flow = Name::clone(&self.old.flow(via).name);
                self.problems.push(Problem::NoSuchFlow { token, flow });
            }
            // How it got there is of no consequence.
            None => {}
        }
    }

    /// Whether a token waits for something that is defined differently.
    fn is_stale(&self, token: &Token, to: NodeId) -> bool {
        let listens = matches!(token.role, Role::Guard(_) | Role::Start);
        let waits = token
            .waits
            .keys()
            .any(|it| matches!(self.instance.waits[it].slot, crate::vocabulary::Slot::Own(_)));
        let (old, new) = (&self.old.node(token.node).element, &self.new.node(to).element);
        let renewable = matches!(
            new,
            Element::Work(_)
                | Element::Send(_)
                | Element::Receive(_)
                | Element::Catch(_)
                | Element::Boundary(_)
                | Element::Start(_)
        );
        (listens || waits) && renewable && !same::waits(old, new)
    }

    /// The events beside a token, behind it and in its scope that the old plan has not.
    fn find_fresh(&mut self, id: TokenId, token: &Token, to: NodeId) {
        let (old, new) = (self.old.node(token.node), self.new.node(to));
        if self.instance.is_watched(id) {
            let known: Vec<_> = old.boundary.iter().map(|it| self.target(*it)).collect();
            let fresh = new.boundary.iter().filter(|it| !known.contains(&Some(**it)));
            self.fresh.extend(fresh.map(|it| (id, *it)));
        }
        if let Element::EventBased = old.element
            && token.state == State::Waiting
        {
            let behind = old.outgoing.iter().map(|flow| self.old.flow(*flow).to);
            let known: Vec<_> = behind.map(|it| self.target(it)).collect();
            let fresh: Vec<NodeId> =
                self.behind(to).filter(|it| !known.contains(&Some(*it))).collect();
            let left = token.guards.iter().any(|it| self.event(self.instance.token(*it)).is_some());
            if !left && fresh.is_empty() {
                let element = self.old.name(token.node);
                self.problems.push(Problem::NothingLeft { token: id, element });
            }
            self.fresh.extend(fresh.into_iter().map(|it| (id, it)));
        }
    }

    fn map_scopes(&mut self) {
        for (id, scope) in &self.instance.scopes {
            let Some(to) = self.target(scope.node) else {
                // Only a called process is not where its host is, and that has been seen to.
                let element = self.old.name(scope.node);
                self.problems.push(Problem::NoSuchElement { token: *id, element });
                continue;
            };
            self.nodes.insert(scope.node, to);
            if let Element::Gosub { process } = self.old.node(self.instance.token(*id).node).element
                && process == scope.node
                && !self.calls(*id, to)
            {
                let (element, to) = (self.old.name(scope.node), self.new.name(to));
                self.problems.push(Problem::OtherKind { token: *id, element, to });
                continue;
            }
            if self.counts(scope, to) {
                self.counting.push(*id);
            }
            self.map_state(*id, scope);
            self.find_fresh_starts(*id, scope, to);
        }
    }

    /// Whether the token calls this process by the new plan, too.
    fn calls(&self, token: TokenId, called: NodeId) -> bool {
        let at = self.target(self.instance.token(token).node);
        at.is_some_and(|it| {
            matches!(self.new.node(it).element, Element::Gosub { process } if process == called)
        })
    }

    fn counts(&self, scope: &Scope, to: NodeId) -> bool {
        let container = if let ScopeKind::FanOut(_) = scope.kind {
            self.new.node(to).parent.and_then(|it| self.new.container(it))
        } else if scope.kind.is_container() {
            self.new.container(to)
        } else {
            None
        };
        container.is_some_and(|it| it.inclusive_joins)
    }

    /// What a scope keeps in mind of nodes where no token need be.
    fn map_state(&mut self, id: TokenId, scope: &Scope) {
        if let ScopeKind::FanOut(fan) = &scope.kind
            && let Some(at) = fan.fan_in
        {
            match self.target(at) {
                Some(to) if same::kind(self.old.node(at), self.new.node(to)) => {
                    self.nodes.insert(at, to);
                }
                _ => {
                    let element = self.old.name(at);
                    self.problems.push(Problem::NoSuchElement { token: id, element });
                }
            }
        }
        for (at, flows) in &scope.rounds {
            let Some(to) = self.target(*at) else { continue };
            self.nodes.insert(*at, to);
            for flow in flows {
                if let Some(to) = self.flow_target(*flow) {
                    self.flows.insert(*flow, to);
                }
            }
        }
    }

    fn find_fresh_starts(&mut self, id: TokenId, scope: &Scope, to: NodeId) {
        let closing = scope.live.len() == scope.events as usize;
        let undone = self.instance.token(id).role == Role::Compensation;
        if !scope.kind.is_container() || scope.failing.is_some() || closing || undone {
            return;
        }
        let (Some(old), Some(new)) = (self.old.container(scope.node), self.new.container(to))
        else {
            return;
        };
        let known: Vec<_> = old.events.iter().map(|it| self.target(*it)).collect();
        let fresh = new.events.iter().filter(|it| !known.contains(&Some(**it)));
        self.fresh.extend(fresh.map(|it| (id, *it)));
    }

    /// Where tokens are on their way to, and where the process begins should it be entered again.
    fn map_ways(&mut self) {
        for (token, places) in &self.instance.bound {
            for place in places {
                let around = place.variables.iter().map(|(node, _)| *node);
                for node in std::iter::once(place.at).chain(around) {
                    let element = self.old.name(node);
                    match self.target(node) {
                        Some(to) => {
                            self.nodes.insert(node, to);
                            if self.new.check_way(to, NodeId(0)).is_err() && node == place.at {
                                let to = self.new.name(to);
                                self.problems.push(Problem::OtherKind {
                                    token: *token,
                                    element,
                                    to,
                                });
                            }
                        }
                        None => {
                            self.problems.push(Problem::NoSuchElement { token: *token, element });
                        }
                    }
                }
                if let Some(via) = place.via
                    && let Some(to) = self.flow_target(via)
                {
                    self.flows.insert(via, to);
                }
            }
        }
        for start in &self.instance.start {
            if let Some(to) = self.target(*start) {
                self.nodes.insert(*start, to);
            }
        }
    }
}

/// An index by name. Of several things with one name the first counts.
fn by_name<'a, K>(all: impl Iterator<Item = (K, &'a Name)>) -> BTreeMap<&'a str, K> {
    let mut index = BTreeMap::new();
    for (key, name) in all {
        index.entry(&**name).or_insert(key);
    }
    index
}
