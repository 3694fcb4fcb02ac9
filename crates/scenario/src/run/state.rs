//! What is true of a run: tokens, scopes, messages.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    sync::Arc,
};

use travertine_value::{Name, Number, Value};

use super::decide::DecisionKind;
use crate::model::{AttributeId, FlowId, NodeId, TIMESTAMP};

pub(super) type TokenId = u64;
pub(super) type ScopeId = u64;
pub(super) type MessageId = u64;

/// The attributes that a token carries. What is undefined is not in it.
pub(super) type Status = BTreeMap<AttributeId, Value>;

/// The state of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It begins where nothing leads to.
    Created,
    /// It has come by a flow.
    Arrived,
    /// It waits for others.
    Waiting,
    /// All that it needs is known.
    Ready,
    /// It has been let in.
    Entered,
    /// It is at work.
    Busy,
    /// Its work is done.
    Completed,
    /// It has been let out.
    Exiting,
    /// It has gone on by a flow.
    Departed,
    /// It has come to an end.
    Done,
    /// Something is wrong inside, and is being handled.
    Failing,
    /// It has failed.
    Failed,
    /// It was taken away.
    Withdrawn,
}

impl State {
    /// What it is called wherever it is data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::Arrived => "ARRIVED",
            Self::Waiting => "WAITING",
            Self::Ready => "READY",
            Self::Entered => "ENTERED",
            Self::Busy => "BUSY",
            Self::Completed => "COMPLETED",
            Self::Exiting => "EXITING",
            Self::Departed => "DEPARTED",
            Self::Done => "DONE",
            Self::Failing => "FAILING",
            Self::Failed => "FAILED",
            Self::Withdrawn => "WITHDRAWN",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thread of execution.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) node: NodeId,
    /// The scope that it is in; none for the token of a process.
    pub(super) scope: Option<ScopeId>,
    pub(super) instance: usize,
    /// What messages know the instance by, which is longer in copies.
    pub(super) label: Name,
    pub(super) state: State,
    pub(super) status: Arc<Status>,
    pub(super) role: Role,
    /// The scope that it hosts.
    pub(super) inner: Option<ScopeId>,
    /// Tokens at its boundary events, or at the events behind its event-based gateway.
    pub(super) guards: Vec<TokenId>,
    /// The flow by which it has come.
    pub(super) from: Option<FlowId>,
    /// Since when it waits for what it waits for, as a number that only grows; 0 while it does not.
    pub(super) ticket: u64,
    pub(super) asks: Option<DecisionKind>,
    /// The message that it has sent and that has not been delivered.
    pub(super) message: Option<MessageId>,
    /// The header of the message that it waits for.
    pub(super) header: BTreeMap<Name, Value>,
    /// Which round or copy it is, from 1.
    pub(super) number: usize,
    pub(super) copies: Option<Copies>,
    /// What it was placed with at its boundary event, and the next one will be.
    pub(super) placed_with: Option<Arc<Status>>,
    /// Its condition must have been false before it fires.
    pub(super) must_fall: bool,
    /// What it will carry when its work is done, where the scenario says more of that.
    pub(super) outcome: Option<Arc<Status>>,
    /// What it has done since it was let in can be undone.
    pub(super) remembered: bool,
}

/// What a token is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It flows.
    Flow,
    /// It does one copy of the activity of another.
    Copy(TokenId),
    /// It stands at a boundary event of another.
    Guard(TokenId),
    /// It stands behind the event-based gateway of another.
    Behind(TokenId),
    /// It stands at the start event of an event sub-process that is armed.
    Armed,
    /// It remembers what can be undone.
    Memory,
    /// It undoes something, as part of so many undoings.
    Undoes(u64),
}

/// The copies of a multi-instance activity.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    pub(super) open: BTreeSet<TokenId>,
    /// Those that have not been READY, where one comes after the other.
    pub(super) next: VecDeque<TokenId>,
    pub(super) merged: Merged,
}

/// An instance of something in which things happen.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) node: NodeId,
    /// The token that has it: that of the process, sub-process or, for what handles an event, of the scope
    /// around.
    pub(super) host: TokenId,
    pub(super) parent: Option<ScopeId>,
    pub(super) kind: ScopeKind,
    pub(super) data: BTreeMap<AttributeId, Value>,
    pub(super) live: BTreeSet<TokenId>,
    pub(super) merged: Merged,
    /// Tokens at the start events of event sub-processes.
    pub(super) armed: Vec<TokenId>,
    /// Event sub-processes at work.
    pub(super) handlers: Vec<ScopeId>,
    /// What can be undone, in the order of completion.
    pub(super) undo: Vec<Undo>,
    pub(super) performer: Performer,
    /// How many times each event sub-process was armed.
    pub(super) armings: BTreeMap<NodeId, usize>,
    /// Not all that begins in it by itself has begun, and will.
    pub(super) beginning: bool,
    /// Nothing in it goes on any more but what undoes.
    pub(super) failing: bool,
    /// It has ended, and what was done in it can be undone.
    pub(super) kept: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScopeKind {
    /// A process or a sub-process.
    Plain,
    /// An event sub-process.
    Handler { interrupting: bool },
    /// An event sub-process that undoes, as part of so many undoings.
    Undoes(u64),
}

/// Something that can be undone.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// The activity.
    pub(super) node: NodeId,
    /// The token that has done it.
    pub(super) of: TokenId,
    pub(super) by: UndoBy,
}

#[derive(Clone, Debug)]
pub(super) enum UndoBy {
    /// What the boundary event leads to that this token stands at.
    Activity(TokenId),
    /// The event sub-process at whose start event this token stands, in the scope that is kept.
    Handler(TokenId, ScopeId),
    /// What was completed in the scope that is kept.
    Inside(ScopeId),
}

/// One thing after the other is undone.
#[derive(Clone, Debug)]
pub(super) struct Undoing {
    pub(super) scope: ScopeId,
    pub(super) queue: VecDeque<Undo>,
    pub(super) then: Then,
    /// What undoes now.
    pub(super) current: Option<UndoneBy>,
}

/// What undoes something now.
#[derive(Clone, Copy, Debug)]
pub(super) enum UndoneBy {
    /// An activity.
    Activity(TokenId),
    /// An event sub-process.
    Handler(ScopeId),
}

/// What happens when all is undone.
#[derive(Clone, Copy, Debug)]
pub(super) enum Then {
    /// The event that asked for it goes on.
    Complete(TokenId),
    /// The scope of the token has failed.
    Fail(TokenId),
}

/// Who does the children of ad-hoc sub-processes, one at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Performer {
    pub(super) busy: Option<TokenId>,
    pub(super) waiting: VecDeque<TokenId>,
}

/// A message on its way.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) header: BTreeMap<Name, Value>,
    pub(super) content: BTreeMap<Name, Value>,
    /// The node that sent it.
    pub(super) from: NodeId,
    pub(super) sender: Name,
    /// The task that waits until it is delivered.
    pub(super) task: Option<TokenId>,
}

/// Several statuses as one: the latest timestamp, and what all agree on that define it.
#[derive(Clone, Debug, Default)]
pub(super) struct Merged {
    values: BTreeMap<AttributeId, Option<Value>>,
    any: bool,
}

impl Merged {
    pub(super) fn add(&mut self, status: &Status) {
        self.any = true;
        for (id, value) in status {
            match self.values.get_mut(id) {
                None => {
                    self.values.insert(*id, Some(value.clone()));
                }
                Some(known) if *id == TIMESTAMP => {
                    let time = |it: &Value| it.as_number().unwrap_or(Number::ZERO);
                    if known.as_ref().is_none_or(|it| time(it) < time(value)) {
                        *known = Some(value.clone());
                    }
                }
                Some(known) if known.as_ref() == Some(value) => {}
                Some(known) => *known = None,
            }
        }
    }

    /// The merged status; `None` where there was none to merge.
    pub(super) fn status(&self) -> Option<Status> {
        let defined = self.values.iter().filter_map(|(id, it)| Some((*id, it.clone()?)));
        self.any.then(|| defined.collect())
    }
}
