//! Events.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use travertine_expr::time::Timestamp;
use travertine_kernel::{self as kernel, FlowId, LayerId, NodeId, PostId, TokenId, WaitId};

use super::{
    Fault,
    failure::{Ending, Incident},
    journal::JournalEntry,
    place::Destination,
    scope::{Failing, ScopeKind},
    token::{Cue, Reads, Role, State},
    value::{Assignments, Value},
    wait::{Catches, Post, Slot, WaitFor},
};

/// Events one after the other, written like a list of [`Event`] and never held as one.
pub(super) struct Events<'a>(pub(super) &'a [kernel::Event]);

impl Serialize for Events<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Event::of))
    }
}

#[derive(Debug, Serialize, Deserialize)]
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
}

impl<'a> Event<'a> {
    pub(super) fn of(event: &'a kernel::Event) -> Self {
        use kernel::Event as Plain;
        match event {
            Plain::Started { at, start, caller } => Self::Started {
                at_ms: at.as_millis(),
                start: start.iter().map(|it| it.0).collect(),
                caller: caller.as_ref().map(Catches::of),
            },
            Plain::TokenCreated { token, node, scope, via, role, layer, status } => {
                Self::TokenCreated {
                    token: token.0,
                    node: node.0,
                    scope: scope.map(|it| it.0),
                    via: via.map(|it| it.0),
                    role: Role::of(*role),
                    layer: Reads::of(*layer),
                    status: Assignments::of_status(status),
                }
            }
            Plain::TokenMoved { token, via, to } => {
                Self::TokenMoved { token: token.0, via: via.map(|it| it.0), to: to.0 }
            }
            Plain::TokenState { token, state } => {
                Self::TokenState { token: token.0, state: State::of(*state) }
            }
            Plain::TokenParked { token, inclusive } => {
                Self::TokenParked { token: token.0, inclusive: *inclusive }
            }
            Plain::TokenCued { token, cue } => {
                Self::TokenCued { token: token.0, cue: Cue::of(*cue) }
            }
            Plain::TokenUncued { token } => Self::TokenUncued { token: token.0 },
            Plain::TokenPromoted { token } => Self::TokenPromoted { token: token.0 },
            Plain::TokenRetired { token } => Self::TokenRetired { token: token.0 },
            Plain::TokenRecalled { token, scope } => {
                Self::TokenRecalled { token: token.0, scope: scope.0 }
            }
            Plain::TokenGone { token, state } => {
                Self::TokenGone { token: token.0, state: State::of(*state) }
            }
            Plain::StatusSet { token, status } => {
                Self::StatusSet { token: token.0, status: Assignments::of_status(status) }
            }
            Plain::LayerOpened { token, layer } => {
                Self::LayerOpened { token: token.0, layer: layer.0 }
            }
            Plain::LayerClosed { token } => Self::LayerClosed { token: token.0 },
            Plain::VariableSet { layer, name, value } => {
                Self::VariableSet { layer: layer.0, name, value: Value::Plain(value) }
            }
            Plain::VariableRemoved { layer, name } => {
                Self::VariableRemoved { layer: layer.0, name }
            }
            Plain::ScopeOpened { scope, node, kind, census } => Self::ScopeOpened {
                scope: scope.0,
                node: node.0,
                kind: ScopeKind::of(kind),
                census: *census,
            },
            Plain::ScopeFailing { scope, cause } => {
                Self::ScopeFailing { scope: scope.0, cause: Failing::of(cause) }
            }
            Plain::ScopeClosed { scope } => Self::ScopeClosed { scope: scope.0 },
            Plain::StatusForgotten { scope } => Self::StatusForgotten { scope: scope.0 },
            Plain::CompensationsMoved { from, to } => {
                Self::CompensationsMoved { from: from.0, to: to.0 }
            }
            Plain::CompensationQueued { scope, tokens } => Self::CompensationQueued {
                scope: scope.0,
                tokens: tokens.iter().map(|it| it.0).collect(),
            },
            Plain::RoundChanged { scope, node, flows } => Self::RoundChanged {
                scope: scope.0,
                node: node.0,
                flows: flows.iter().map(|it| it.0).collect(),
            },
            Plain::RunEnded { scope, index, output } => Self::RunEnded {
                scope: scope.0,
                index: *index,
                output: output.as_ref().map(Value::Plain),
            },
            Plain::BranchArrived { token } => Self::BranchArrived { token: token.0 },
            Plain::PerformerTaken { scope, token } => {
                Self::PerformerTaken { scope: scope.0, token: token.0 }
            }
            Plain::PerformerAwaited { scope, token } => {
                Self::PerformerAwaited { scope: scope.0, token: token.0 }
            }
            Plain::PerformerLeft { scope, token } => {
                Self::PerformerLeft { scope: scope.0, token: token.0 }
            }
            Plain::WaitOpened { wait, token, slot, on } => Self::WaitOpened {
                wait: wait.0,
                token: token.0,
                slot: Slot::of(*slot),
                on: WaitFor::of(on),
            },
            Plain::RetriesSet { wait, retries } => {
                Self::RetriesSet { wait: wait.0, retries: *retries }
            }
            Plain::WaitClosed { wait } => Self::WaitClosed { wait: wait.0 },
            Plain::Posted { post, what } => Self::Posted { post: post.0, what: Post::of(what) },
            Plain::PostDelivered { post } => Self::PostDelivered { post: post.0 },
            Plain::IncidentRaised { token, incident } => {
                Self::IncidentRaised { token: token.0, incident: Incident::of(incident) }
            }
            Plain::IncidentResolved { token } => Self::IncidentResolved { token: token.0 },
            Plain::TokenBound { token, to } => {
                Self::TokenBound { token: token.0, to: to.iter().map(Destination::of).collect() }
            }
            Plain::Migrated { nodes, flows, counting } => Self::Migrated {
                nodes: nodes.iter().map(|(from, to)| (from.0, to.0)).collect(),
                flows: flows.iter().map(|(from, to)| (from.0, to.0)).collect(),
                counting: counting.iter().map(|it| it.0).collect(),
            },
            Plain::FunctionBegan { token, at } => {
                Self::FunctionBegan { token: token.0, at_ms: at.as_millis() }
            }
            Plain::Journaled { entry } => Self::Journaled { entry: JournalEntry::of(entry) },
            Plain::FunctionThought { token } => Self::FunctionThought { token: token.0 },
            Plain::UpdateAnswered { id, said } => {
                Self::UpdateAnswered { id, said: Value::Plain(said) }
            }
            Plain::UpdateRefused { message } => Self::UpdateRefused { message },
            Plain::WorkFailed { wait, retries, message } => {
                Self::WorkFailed { wait: wait.0, retries: *retries, message }
            }
            Plain::Finished { ending } => Self::Finished { ending: Ending::of(ending) },
        }
    }

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
            Self::Journaled { entry } => Plain::Journaled { entry: Box::new(entry.lift()?) },
            Self::FunctionThought { token } => Plain::FunctionThought { token: TokenId(token) },
            Self::UpdateAnswered { id, said } => {
                Plain::UpdateAnswered { id: id.into(), said: said.lift()? }
            }
            Self::UpdateRefused { message } => Plain::UpdateRefused { message: message.to_owned() },
            Self::WorkFailed { wait, retries, message } => {
                Plain::WorkFailed { wait: WaitId(wait), retries, message: message.into() }
            }
            Self::Finished { ending } => Plain::Finished { ending: ending.lift() },
        })
    }
}
