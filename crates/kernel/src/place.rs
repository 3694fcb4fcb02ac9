//! Tokens that begin where an operator says: any element, however deep inside.
//!
//! A container on the way that is not open is entered by a token that is *bound* for the element:
//! gates, mappings, boundary events and event sub-processes are seen to as for any token, and only
//! then, in place of its starts, the container begins with tokens on their way further in.

use travertine_value::Name;

use crate::{
    plan::{Element, FlowId, Node, NodeId, Plan, Trigger},
    run::Run,
    state::Role,
    vocabulary::{Destination, Event, LayerId, Reads, Rejection, TokenId},
};

impl Run<'_> {
    /// Puts a token where `to` says, which lies in the scope or deeper.
    pub(crate) fn put(&mut self, scope: TokenId, to: Destination) {
        let inside = self.instance.scope(scope).node;
        let next = self.plan.step_toward(inside, to.at);
        let host = self.instance.token(scope);
        let (layer, status) = (Reads::Shared(host.layer), host.status.clone());
        if next == to.at {
            let via = to.via.or_else(|| self.missing_flow(scope, to.at));
            self.create_via(to.at, via, scope, Role::Flow, layer, status);
            return;
        }
        let on_the_way = self.instance.bound.iter().find(|(token, _)| {
            let it = self.instance.token(**token);
            it.node == next && it.scope == Some(scope)
        });
        let (token, mut all) = match on_the_way {
            Some((token, all)) => (*token, all.clone()),
            None => (self.create(next, scope, Role::Flow, layer, status), Vec::new()),
        };
        all.push(to);
        self.emit(Event::TokenBound { token, to: all });
    }

    /// Begins a scope that has just been opened where operators want it to.
    pub(crate) fn begin_inside(&mut self, scope: TokenId, own: LayerId, bound: Vec<Destination>) {
        let node = self.instance.scope(scope).node;
        for mut to in bound {
            // They come after what is mapped, so that the operator has the last word.
            for (_, variables) in to.variables.extract_if(.., |(of, _)| *of == node) {
                for (name, value) in variables {
                    self.set(own, name, Some(value));
                }
            }
            self.put(scope, to);
        }
    }

    /// The first flow by which no token has come to a node that counts them by flow.
    pub(crate) fn missing_flow(&self, scope: TokenId, at: NodeId) -> Option<FlowId> {
        let node = self.plan.node(at);
        if !node.waits_for_flows() {
            return None;
        }
        let live = self.instance.scope(scope).live.iter().map(|it| self.instance.token(*it));
        let taken: Vec<FlowId> = live.filter(|it| it.node == at).filter_map(|it| it.via).collect();
        let mut missing = node.incoming.iter().filter(|it| !taken.contains(it));
        missing.next().or_else(|| node.incoming.first()).copied()
    }
}

impl Node {
    /// Whether a token here may have to wait for others, which is recorded by flow.
    pub(crate) fn waits_for_flows(&self) -> bool {
        let joins = matches!(
            self.element,
            Element::Parallel | Element::Inclusive | Element::Complex { .. }
        );
        joins && self.incoming.len() > 1 || self.start_quantity > 1
    }
}

impl Plan {
    /// The node inside a container by which one comes to a node that lies in it or deeper.
    fn step_toward(&self, container: NodeId, node: NodeId) -> NodeId {
        self.way(node)
            .find(|it| self.node(*it).parent == Some(container))
            .expect("the caller has seen that it lies in the container")
    }

    /// A node and the containers around it, innermost first.
    pub(crate) fn way(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(node), |it| self.node(*it).parent)
    }

    /// Whether a token can be put before `at`, where `from` is open and nothing inside it need be.
    pub(crate) fn check_way(&self, at: NodeId, from: NodeId) -> Result<(), Rejection> {
        if at.0 as usize >= self.nodes.len() {
            return Err(Rejection::NoSuchElement(at));
        }
        let refuse = |why: String| Err(Rejection::CannotAdd { at: self.name(at), why });
        let node = self.node(at);
        if let Element::Boundary(boundary) = &node.element {
            let activity = self.name(boundary.attached_to);
            return refuse(format!("it stands beside {activity}; name the element behind it"));
        }
        if node.parent.is_none() {
            return refuse("it is a process; name an element in it".to_owned());
        }
        if node.start_quantity > 1 && node.incoming.is_empty() {
            return refuse("it needs several tokens, and no flow leads to it".to_owned());
        }
        for id in self.way(at).take_while(|it| *it != from) {
            let it = self.node(id);
            let name = &it.name;
            let undoes = if let Element::EventSubProcess(event) = &it.element {
                matches!(self.node(event.start).element.triggers(), [Trigger::Compensation])
            } else {
                it.for_compensation
            };
            if undoes {
                return refuse(format!("{name} is reached only by compensation"));
            }
            if it.parent.is_none() {
                return refuse(format!("the called process {name} is not running"));
            }
            if id != at && it.repeat.is_some() {
                return refuse(format!(
                    "{name} runs several times; name the scope of one of its runs, or put a token before {name}"
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn name(&self, node: NodeId) -> Name {
        Name::clone(&self.node(node).name)
    }
}
