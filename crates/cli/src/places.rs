//! Where the tokens of instances are, as events tell.

use std::collections::BTreeMap;

use travertine_kernel::{Event, NodeId, TokenId, WaitId};
use travertine_runtime::InstanceId;

/// Where the tokens of instances are, and whose each wait is.
#[derive(Debug, Default)]
pub(crate) struct Places {
    tokens: BTreeMap<(InstanceId, TokenId), NodeId>,
    waits: BTreeMap<(InstanceId, WaitId), TokenId>,
}

impl Places {
    /// Remembers where tokens are.
    pub(crate) fn follow(&mut self, instance: InstanceId, event: &Event) {
        match event {
            Event::TokenCreated { token, node, .. } | Event::TokenMoved { token, to: node, .. } => {
                self.tokens.insert((instance, *token), *node);
            }
            Event::Migrated { nodes, .. } => {
                for ((of, _), at) in &mut self.tokens {
                    let to = nodes.iter().find(|(from, _)| *of == instance && from == at);
                    *at = to.map_or(*at, |(_, to)| *to);
                }
            }
            Event::WaitOpened { wait, token, .. } => {
                self.waits.insert((instance, *wait), *token);
            }
            _ => {}
        }
    }

    /// Forgets what an event has ended.
    pub(crate) fn forget(&mut self, instance: InstanceId, event: &Event) {
        match event {
            Event::TokenGone { token, .. } => {
                self.tokens.remove(&(instance, *token));
            }
            Event::WaitClosed { wait } => {
                self.waits.remove(&(instance, *wait));
            }
            _ => {}
        }
    }

    /// The node that an event is about.
    pub(crate) fn of_event(&self, instance: InstanceId, event: &Event) -> Option<NodeId> {
        match event {
            Event::TokenCreated { token, .. }
            | Event::TokenMoved { token, .. }
            | Event::TokenState { token, .. }
            | Event::TokenParked { token, .. }
            | Event::TokenCued { token, .. }
            | Event::TokenUncued { token }
            | Event::TokenPromoted { token }
            | Event::TokenRetired { token }
            | Event::TokenRecalled { token, .. }
            | Event::TokenGone { token, .. }
            | Event::StatusSet { token, .. }
            | Event::LayerOpened { token, .. }
            | Event::LayerClosed { token }
            | Event::BranchArrived { token }
            | Event::PerformerTaken { token, .. }
            | Event::PerformerAwaited { token, .. }
            | Event::PerformerLeft { token, .. }
            | Event::WaitOpened { token, .. }
            | Event::IncidentRaised { token, .. }
            | Event::IncidentResolved { token }
            | Event::TokenBound { token, .. }
            | Event::FunctionBegan { token, .. }
            | Event::FunctionThought { token }
            | Event::ScopeOpened { scope: token, .. }
            | Event::ScopeFailing { scope: token, .. }
            | Event::ScopeClosed { scope: token }
            | Event::StatusForgotten { scope: token }
            | Event::CompensationQueued { scope: token, .. }
            | Event::CompensationsMoved { to: token, .. }
            | Event::RunEnded { scope: token, .. } => self.of_token(instance, *token),
            Event::RoundChanged { node, .. } => Some(*node),
            Event::RetriesSet { wait, .. } | Event::WaitClosed { wait } => {
                self.of_wait(instance, *wait)
            }
            Event::Started { .. }
            | Event::Migrated { .. }
            | Event::VariableSet { .. }
            | Event::VariableRemoved { .. }
            | Event::Posted { .. }
            | Event::PostDelivered { .. }
            | Event::Journaled { .. }
            | Event::UpdateAnswered { .. }
            | Event::UpdateRefused { .. }
            | Event::Finished { .. } => None,
        }
    }

    pub(crate) fn of_token(&self, instance: InstanceId, token: TokenId) -> Option<NodeId> {
        self.tokens.get(&(instance, token)).copied()
    }

    pub(crate) fn of_wait(&self, instance: InstanceId, wait: WaitId) -> Option<NodeId> {
        self.of_token(instance, *self.waits.get(&(instance, wait))?)
    }
}
