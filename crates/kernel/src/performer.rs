//! Ad-hoc sub-processes: one activity at a time where they are sequential, and when they are
//! complete.

use std::collections::BTreeMap;

use travertine_value::Value;

use crate::{
    plan::{Activation, AdHoc, Element, Node, NodeId, Plan},
    run::Run,
    state::{Cue, ScopeKind, State},
    vocabulary::{Event, Failure, FailureKind, Part, TokenId},
};

impl Run<'_> {
    /// The scope whose host performs the activity that the token is in; `None` where it needs none.
    pub(crate) fn performer_of(&self, token: TokenId) -> Option<TokenId> {
        let scope_id = self.instance.token(token).scope?;
        let scope = self.instance.scope(scope_id);
        if !matches!(scope.kind, ScopeKind::AdHoc) || !self.node_of(token).is_activity() {
            return None;
        }
        let Element::AdHoc(ad_hoc) = &self.plan.node(scope.node).element else { return None };
        if !ad_hoc.sequential {
            return None;
        }
        let performer = ad_hoc.performer.unwrap_or(scope.node);
        std::iter::successors(Some(scope_id), |it| self.instance.scope(*it).parent)
            .find(|it| self.instance.scope(*it).node == performer)
    }

    /// Whether the token may be entered as far as its performer goes; if not, it waits its turn.
    pub(crate) fn take_performer(&mut self, token: TokenId) -> bool {
        let Some(scope) = self.performer_of(token) else { return true };
        let performer = &self.instance.scope(scope).performer;
        match performer.busy {
            Some(busy) if busy == token => true,
            Some(_) => {
                if !performer.waiting.contains(&token) {
                    self.emit(Event::PerformerAwaited { scope, token });
                }
                if self.instance.token(token).state < State::Ready {
                    self.emit(Event::TokenState { token, state: State::Ready });
                }
                false
            }
            None => {
                self.emit(Event::PerformerTaken { scope, token });
                let status = self.instance.token(scope).status.clone();
                if status.is_some() {
                    self.emit(Event::StatusSet { token, status });
                }
                true
            }
        }
    }

    /// A performer takes over the status of what it has done.
    pub(crate) fn hand_back(&mut self, token: TokenId) {
        let Some(scope) = self.performer_of(token) else { return };
        let status = self.instance.token(token).status.clone();
        if status.is_some() {
            self.emit(Event::StatusSet { token: scope, status });
        }
    }

    /// The token needs its performer no more, and the next one may.
    pub(crate) fn release_performer(&mut self, token: TokenId) {
        let Some(scope) = self.performer_of(token) else { return };
        let performer = &self.instance.scope(scope).performer;
        let was_busy = performer.busy == Some(token);
        if !was_busy && !performer.waiting.contains(&token) {
            return;
        }
        self.emit(Event::PerformerLeft { scope, token });
        let next = self.instance.scope(scope).performer.waiting.front().copied();
        if let Some(next) = next.filter(|_| was_busy) {
            self.emit(Event::TokenCued { token: next, cue: Cue::Enter });
        }
    }

    /// Whether the host's status is kept current by what it performs.
    pub(crate) fn performs(&self, host: TokenId) -> bool {
        self.node_of(host).performs
    }

    /// What an ad-hoc sub-process begins with, where that is not everything.
    pub(crate) fn begins_with(
        &self,
        token: TokenId,
        node: NodeId,
    ) -> Result<Option<Vec<NodeId>>, Failure> {
        let at = self.plan.node(node);
        let Element::AdHoc(AdHoc { container, activation, .. }) = &at.element else {
            return Ok(None);
        };
        let program = match activation {
            Activation::All => return Ok(None),
            Activation::Chosen(None) => return Ok(Some(Vec::new())),
            Activation::Chosen(Some(program)) => program,
        };
        let known: BTreeMap<&str, NodeId> =
            container.starts.iter().map(|it| (&*self.plan.node(*it).name, *it)).collect();
        let bad = |what: String| {
            let known: Vec<&str> = known.keys().copied().collect();
            let message = format!(
                "{}: the list of activities to begin with, `{}`, {what}; it can name {}",
                at.name,
                program.quoted(),
                known.join(", ")
            );
            Err(Failure::new(FailureKind::AdHoc, message).at(Part::Activation, &at.name))
        };
        let value = self.eval(token, program).map_err(|it| it.at(Part::Activation, &at.name))?;
        let Value::List(items) = &value else {
            return bad(format!("is {}, not a list of ids", value.kind()));
        };
        let mut chosen = Vec::with_capacity(items.len());
        for item in &**items {
            let Some(id) = item.as_str() else {
                return bad(format!("has {item} in it, which is no id"));
            };
            match known.get(id) {
                Some(start) => chosen.push(*start),
                None if self.plan.is_inside(node, id) => {
                    return bad(format!("names {id}, which nothing can begin with"));
                }
                None => return bad(format!("names {id}, which is not in it")),
            }
        }
        Ok(Some(chosen))
    }

    /// Whether a scope without tokens goes on waiting: that of an ad-hoc sub-process in which activities
    /// are chosen, until its completion condition holds.
    pub(crate) fn stays_open(&self, scope: TokenId) -> bool {
        let it = self.instance.scope(scope);
        let Element::AdHoc(ad_hoc) = &self.plan.node(it.node).element else { return false };
        if !matches!(it.kind, ScopeKind::AdHoc) || !ad_hoc.stays_open() {
            return false;
        }
        // What has interrupted all of it ends it too.
        let interrupted = ad_hoc.container.events.iter().any(|event| {
            matches!(&self.plan.node(*event).element, Element::EventSubProcess(event)
                if event.interrupting && !it.starts.contains_key(&event.start))
        });
        let undoes = it.failing.is_some() || !it.queue.is_empty() || self.is_retired(scope);
        !interrupted && !undoes
    }

    /// Whether the end of this activity makes its ad-hoc sub-process complete.
    pub(crate) fn ad_hoc_is_complete(&self, token: TokenId, node: &Node) -> Result<bool, Failure> {
        let Some(scope) = self.instance.token(token).scope else { return Ok(false) };
        let scope = self.instance.scope(scope);
        if !matches!(scope.kind, ScopeKind::AdHoc) || !node.is_activity() {
            return Ok(false);
        }
        if let Element::AdHoc(it) = &self.plan.node(scope.node).element
            && let Some(condition) = &it.completion
        {
            self.holds(token, condition)
        } else {
            Ok(false)
        }
    }

    /// The completion condition holds: what runs is withdrawn, or only what has not begun.
    pub(crate) fn complete_ad_hoc(&mut self, scope: TokenId) {
        let Element::AdHoc(it) = &self.plan.node(self.instance.scope(scope).node).element else {
            return;
        };
        if it.cancel_remaining {
            self.drain(scope);
        } else {
            let idle: Vec<TokenId> = self
                .instance
                .scope(scope)
                .live
                .iter()
                .copied()
                .filter(|it| self.instance.token(*it).state <= State::Ready)
                .collect();
            for token in idle {
                self.withdraw(token, State::Withdrawn);
            }
        }
        self.settle_now(scope);
    }
}

impl AdHoc {
    fn stays_open(&self) -> bool {
        matches!(self.activation, Activation::Chosen(_)) && self.completion.is_some()
    }
}

impl Plan {
    /// Whether a node of that name lies directly in a container.
    fn is_inside(&self, container: NodeId, name: &str) -> bool {
        self.nodes.iter().any(|it| it.parent == Some(container) && &*it.name == name)
    }
}
