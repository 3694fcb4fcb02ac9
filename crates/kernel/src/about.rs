//! Which token an event is about.

use crate::vocabulary::{Event, TokenId};

impl Event {
    /// The token that it names: of several the one that it happens to, of a scope its host. What is about
    /// a wait, a layer, a node or the whole instance names none.
    pub fn token(&self) -> Option<TokenId> {
        match self {
            Self::TokenCreated { token, .. }
            | Self::TokenMoved { token, .. }
            | Self::TokenState { token, .. }
            | Self::TokenParked { token, .. }
            | Self::TokenCued { token, .. }
            | Self::TokenUncued { token }
            | Self::TokenPromoted { token }
            | Self::TokenRetired { token }
            | Self::TokenRecalled { token, .. }
            | Self::TokenGone { token, .. }
            | Self::StatusSet { token, .. }
            | Self::LayerOpened { token, .. }
            | Self::LayerClosed { token }
            | Self::BranchArrived { token }
            | Self::PerformerTaken { token, .. }
            | Self::PerformerAwaited { token, .. }
            | Self::PerformerLeft { token, .. }
            | Self::WaitOpened { token, .. }
            | Self::IncidentRaised { token, .. }
            | Self::IncidentResolved { token }
            | Self::TokenBound { token, .. }
            | Self::FunctionBegan { token, .. }
            | Self::FunctionThought { token }
            | Self::DecisionMade { token, .. }
            | Self::ScopeOpened { scope: token, .. }
            | Self::ScopeFailing { scope: token, .. }
            | Self::ScopeClosed { scope: token }
            | Self::StatusForgotten { scope: token }
            | Self::CompensationQueued { scope: token, .. }
            | Self::CompensationsMoved { to: token, .. }
            | Self::RunEnded { scope: token, .. }
            | Self::RunTerminated { scope: token, .. } => Some(*token),
            Self::Started { .. }
            | Self::RoundChanged { .. }
            | Self::RetriesSet { .. }
            | Self::WorkFailed { .. }
            | Self::WaitClosed { .. }
            | Self::Migrated { .. }
            | Self::VariableSet { .. }
            | Self::VariableRemoved { .. }
            | Self::Posted { .. }
            | Self::PostDelivered { .. }
            | Self::Journaled { .. }
            | Self::UpdateAnswered { .. }
            | Self::UpdateRefused { .. }
            | Self::Finished { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::WaitId;

    #[test]
    fn a_scope_is_named_by_its_host_and_a_wait_names_no_token() {
        let (one, two) = (TokenId(1), TokenId(2));
        assert_eq!(Event::ScopeClosed { scope: one }.token(), Some(one));
        assert_eq!(Event::PerformerLeft { scope: one, token: two }.token(), Some(two));
        assert_eq!(Event::CompensationsMoved { from: one, to: two }.token(), Some(two));
        assert_eq!(Event::WaitClosed { wait: WaitId(3) }.token(), None);
    }
}
