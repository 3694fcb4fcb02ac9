//! Where the tokens of instances are, as events tell.

use std::collections::BTreeMap;

use travertine_kernel::{Event, NodeId, TokenId, WaitId};
use travertine_runtime::InstanceId;

/// Where the tokens of instances are, and whose each wait is.
#[derive(Debug, Default)]
pub struct Places {
    tokens: BTreeMap<(InstanceId, TokenId), NodeId>,
    waits: BTreeMap<(InstanceId, WaitId), TokenId>,
}

impl Places {
    /// Remembers where tokens are.
    pub fn follow(&mut self, instance: InstanceId, event: &Event) {
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
    pub fn forget(&mut self, instance: InstanceId, event: &Event) {
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
    pub fn of_event(&self, instance: InstanceId, event: &Event) -> Option<NodeId> {
        if let Event::RoundChanged { node, .. } = event {
            return Some(*node);
        }
        if let Event::RetriesSet { wait, .. }
        | Event::WorkFailed { wait, .. }
        | Event::WaitClosed { wait } = event
        {
            return self.of_wait(instance, *wait);
        }
        self.of_token(instance, event.token()?)
    }

    /// The node where a token is.
    pub fn of_token(&self, instance: InstanceId, token: TokenId) -> Option<NodeId> {
        self.tokens.get(&(instance, token)).copied()
    }

    /// The node where something waits.
    pub fn of_wait(&self, instance: InstanceId, wait: WaitId) -> Option<NodeId> {
        self.of_token(instance, *self.waits.get(&(instance, wait))?)
    }
}
