//! Events.

use std::sync::Arc;

use serde::Deserialize;
use travertine_kernel::{self as kernel, FlowId, LayerId, NodeId, PostId, TokenId, WaitId};
use travertine_value::time::Timestamp;

use super::{
    Fault,
    failure::{Ending, Incident},
    journal::JournalEntry,
    place::Destination,
    puts,
    scope::{Failing, ScopeKind},
    token::{Cue, Reads, Role, State},
    value::{Assignments, Value},
    wait::{Catches, Post, Slot, WaitFor},
};

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) enum Event<'a> {
    Started {
        at_ms: i64,
        start: Vec<u32>,
        caller: Option<Catches<'a>>,
    },
    TokenCreated {
        token: u64,
        node: u32,
        scope: Option<u64>,
        via: Option<u32>,
        role: Role,
        layer: Reads,
        status: Option<Assignments<'a>>,
    },
    TokenMoved {
        token: u64,
        via: Option<u32>,
        to: u32,
    },
    TokenState {
        token: u64,
        state: State,
    },
    TokenParked {
        token: u64,
        inclusive: bool,
    },
    TokenCued {
        token: u64,
        cue: Cue,
    },
    TokenUncued {
        token: u64,
    },
    TokenPromoted {
        token: u64,
    },
    TokenRetired {
        token: u64,
    },
    TokenRecalled {
        token: u64,
        scope: u64,
    },
    TokenGone {
        token: u64,
        state: State,
    },
    StatusSet {
        token: u64,
        status: Option<Assignments<'a>>,
    },
    LayerOpened {
        token: u64,
        layer: u64,
    },
    LayerClosed {
        token: u64,
    },
    VariableSet {
        layer: u64,
        name: &'a str,
        value: Value<'a>,
    },
    VariableRemoved {
        layer: u64,
        name: &'a str,
    },
    ScopeOpened {
        scope: u64,
        node: u32,
        kind: ScopeKind<'a>,
        census: bool,
    },
    ScopeFailing {
        scope: u64,
        cause: Failing<'a>,
    },
    ScopeClosed {
        scope: u64,
    },
    CompensationsMoved {
        from: u64,
        to: u64,
    },
    CompensationQueued {
        scope: u64,
        tokens: Vec<u64>,
    },
    RoundChanged {
        scope: u64,
        node: u32,
        flows: Vec<u32>,
    },
    RunEnded {
        scope: u64,
        index: u32,
        output: Option<Value<'a>>,
    },
    BranchArrived {
        token: u64,
    },
    PerformerTaken {
        scope: u64,
        token: u64,
    },
    PerformerAwaited {
        scope: u64,
        token: u64,
    },
    PerformerLeft {
        scope: u64,
        token: u64,
    },
    WaitOpened {
        wait: u64,
        token: u64,
        slot: Slot,
        on: WaitFor<'a>,
    },
    RetriesSet {
        wait: u64,
        retries: u32,
    },
    WaitClosed {
        wait: u64,
    },
    Posted {
        post: u64,
        what: Post<'a>,
    },
    PostDelivered {
        post: u64,
    },
    IncidentRaised {
        token: u64,
        incident: Incident<'a>,
    },
    IncidentResolved {
        token: u64,
    },
    Finished {
        ending: Ending<'a>,
    },
    StatusForgotten {
        scope: u64,
    },
    TokenBound {
        token: u64,
        to: Vec<Destination<'a>>,
    },
    Migrated {
        nodes: Vec<(u32, u32)>,
        flows: Vec<(u32, u32)>,
        counting: Vec<u64>,
    },
    FunctionBegan {
        token: u64,
        at_ms: i64,
    },
    Journaled {
        entry: JournalEntry<'a>,
    },
    FunctionThought {
        token: u64,
    },
    UpdateAnswered {
        id: &'a str,
        said: Value<'a>,
    },
    UpdateRefused {
        message: &'a str,
    },
    WorkFailed {
        wait: u64,
        retries: u32,
        message: &'a str,
    },
    RunTerminated {
        scope: u64,
        index: u32,
    },
    DecisionMade {
        token: u64,
        decision: &'a str,
        version: u32,
    },
}

puts!(enum kernel::Event {
    Started { at, start, caller },
    TokenCreated { token, node, scope, via, role, layer, status },
    TokenMoved { token, via, to },
    TokenState { token, state },
    TokenParked { token, inclusive },
    TokenCued { token, cue },
    TokenUncued { token },
    TokenPromoted { token },
    TokenRetired { token },
    TokenRecalled { token, scope },
    TokenGone { token, state },
    StatusSet { token, status },
    LayerOpened { token, layer },
    LayerClosed { token },
    VariableSet { layer, name, value },
    VariableRemoved { layer, name },
    ScopeOpened { scope, node, kind, census },
    ScopeFailing { scope, cause },
    ScopeClosed { scope },
    CompensationsMoved { from, to },
    CompensationQueued { scope, tokens },
    RoundChanged { scope, node, flows },
    RunEnded { scope, index, output },
    BranchArrived { token },
    PerformerTaken { scope, token },
    PerformerAwaited { scope, token },
    PerformerLeft { scope, token },
    WaitOpened { wait, token, slot, on },
    RetriesSet { wait, retries },
    WaitClosed { wait },
    Posted { post, what },
    PostDelivered { post },
    IncidentRaised { token, incident },
    IncidentResolved { token },
    Finished { ending },
    StatusForgotten { scope },
    TokenBound { token, to },
    Migrated { nodes, flows, counting },
    FunctionBegan { token, at },
    Journaled { entry },
    FunctionThought { token },
    UpdateAnswered { id, said },
    UpdateRefused { message },
    WorkFailed { wait, retries, message },
    RunTerminated { scope, index },
    DecisionMade { token, decision, version },
});

impl<'a> Event<'a> {
    pub(super) fn lift(self) -> Result<kernel::Event, Fault<'a>> {
        use kernel::Event as Plain;
        Ok(match self {
            Self::Started { at_ms, start, caller } => Plain::Started {
                at: Timestamp::from_millis(at_ms),
                start: start.into_iter().map(NodeId).collect(),
                caller: caller.map(Catches::lift),
            },
            Self::TokenCreated { token, node, scope, via, role, layer, status } => {
                Plain::TokenCreated {
                    token: TokenId(token),
                    node: NodeId(node),
                    scope: scope.map(TokenId),
                    via: via.map(FlowId),
                    role: role.lift(),
                    layer: layer.lift(),
                    status: Assignments::lift_status(status)?,
                }
            }
            Self::TokenMoved { token, via, to } => {
                Plain::TokenMoved { token: TokenId(token), via: via.map(FlowId), to: NodeId(to) }
            }
            Self::TokenState { token, state } => {
                Plain::TokenState { token: TokenId(token), state: state.lift() }
            }
            Self::TokenParked { token, inclusive } => {
                Plain::TokenParked { token: TokenId(token), inclusive }
            }
            Self::TokenCued { token, cue } => {
                Plain::TokenCued { token: TokenId(token), cue: cue.lift() }
            }
            Self::TokenUncued { token } => Plain::TokenUncued { token: TokenId(token) },
            Self::TokenPromoted { token } => Plain::TokenPromoted { token: TokenId(token) },
            Self::TokenRetired { token } => Plain::TokenRetired { token: TokenId(token) },
            Self::TokenRecalled { token, scope } => {
                Plain::TokenRecalled { token: TokenId(token), scope: TokenId(scope) }
            }
            Self::TokenGone { token, state } => {
                Plain::TokenGone { token: TokenId(token), state: state.lift() }
            }
            Self::StatusSet { token, status } => Plain::StatusSet {
                token: TokenId(token),
                status: Assignments::lift_status(status)?,
            },
            Self::LayerOpened { token, layer } => {
                Plain::LayerOpened { token: TokenId(token), layer: LayerId(layer) }
            }
            Self::LayerClosed { token } => Plain::LayerClosed { token: TokenId(token) },
            Self::VariableSet { layer, name, value } => Plain::VariableSet {
                layer: LayerId(layer),
                name: name.into(),
                value: value.lift()?,
            },
            Self::VariableRemoved { layer, name } => {
                Plain::VariableRemoved { layer: LayerId(layer), name: name.into() }
            }
            Self::ScopeOpened { scope, node, kind, census } => Plain::ScopeOpened {
                scope: TokenId(scope),
                node: NodeId(node),
                kind: Box::new(kind.lift()?),
                census,
            },
            Self::ScopeFailing { scope, cause } => {
                Plain::ScopeFailing { scope: TokenId(scope), cause: Box::new(cause.lift()?) }
            }
            Self::ScopeClosed { scope } => Plain::ScopeClosed { scope: TokenId(scope) },
            Self::StatusForgotten { scope } => Plain::StatusForgotten { scope: TokenId(scope) },
            Self::CompensationsMoved { from, to } => {
                Plain::CompensationsMoved { from: TokenId(from), to: TokenId(to) }
            }
            Self::CompensationQueued { scope, tokens } => Plain::CompensationQueued {
                scope: TokenId(scope),
                tokens: tokens.into_iter().map(TokenId).collect(),
            },
            Self::RoundChanged { scope, node, flows } => Plain::RoundChanged {
                scope: TokenId(scope),
                node: NodeId(node),
                flows: flows.into_iter().map(FlowId).collect(),
            },
            Self::RunEnded { scope, index, output } => Plain::RunEnded {
                scope: TokenId(scope),
                index,
                output: output.map(Value::lift).transpose()?,
            },
            Self::BranchArrived { token } => Plain::BranchArrived { token: TokenId(token) },
            Self::PerformerTaken { scope, token } => {
                Plain::PerformerTaken { scope: TokenId(scope), token: TokenId(token) }
            }
            Self::PerformerAwaited { scope, token } => {
                Plain::PerformerAwaited { scope: TokenId(scope), token: TokenId(token) }
            }
            Self::PerformerLeft { scope, token } => {
                Plain::PerformerLeft { scope: TokenId(scope), token: TokenId(token) }
            }
            Self::WaitOpened { wait, token, slot, on } => Plain::WaitOpened {
                wait: WaitId(wait),
                token: TokenId(token),
                slot: slot.lift(),
                on: Arc::new(on.lift()?),
            },
            Self::RetriesSet { wait, retries } => Plain::RetriesSet { wait: WaitId(wait), retries },
            Self::WaitClosed { wait } => Plain::WaitClosed { wait: WaitId(wait) },
            Self::Posted { post, what } => {
                Plain::Posted { post: PostId(post), what: Arc::new(what.lift()?) }
            }
            Self::PostDelivered { post } => Plain::PostDelivered { post: PostId(post) },
            Self::IncidentRaised { token, incident } => {
                Plain::IncidentRaised { token: TokenId(token), incident: Box::new(incident.lift()) }
            }
            Self::IncidentResolved { token } => Plain::IncidentResolved { token: TokenId(token) },
            Self::TokenBound { token, to } => Plain::TokenBound {
                token: TokenId(token),
                to: to.into_iter().map(Destination::lift).collect::<Result<_, _>>()?,
            },
            Self::Migrated { nodes, flows, counting } => Plain::Migrated {
                nodes: nodes.into_iter().map(|(from, to)| (NodeId(from), NodeId(to))).collect(),
                flows: flows.into_iter().map(|(from, to)| (FlowId(from), FlowId(to))).collect(),
                counting: counting.into_iter().map(TokenId).collect(),
            },
            Self::FunctionBegan { token, at_ms } => {
                Plain::FunctionBegan { token: TokenId(token), at: Timestamp::from_millis(at_ms) }
            }
            Self::Journaled { entry } => Plain::Journaled { entry: Arc::new(entry.lift()?) },
            Self::FunctionThought { token } => Plain::FunctionThought { token: TokenId(token) },
            Self::UpdateAnswered { id, said } => {
                Plain::UpdateAnswered { id: id.into(), said: said.lift()? }
            }
            Self::UpdateRefused { message } => Plain::UpdateRefused { message: message.to_owned() },
            Self::WorkFailed { wait, retries, message } => {
                Plain::WorkFailed { wait: WaitId(wait), retries, message: message.into() }
            }
            Self::RunTerminated { scope, index } => {
                Plain::RunTerminated { scope: TokenId(scope), index }
            }
            Self::DecisionMade { token, decision, version } => {
                Plain::DecisionMade { token: TokenId(token), decision: decision.into(), version }
            }
            Self::Finished { ending } => Plain::Finished { ending: ending.lift() },
        })
    }
}
