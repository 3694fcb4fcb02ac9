//! What is true of one instance now, and all that can change it.
//!
//! The fields of an [`Instance`] are private to this module. Inside of it, `apply` makes events true,
//! `parts` puts an instance together that was taken apart, and `remains` does so with one that has ended.
//! Everyone else reads.

mod apply;
mod check;
mod parts;
mod past;
mod remains;
mod variables;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Deref,
    sync::Arc,
};

use travertine_value::time::Timestamp;
use travertine_value::{Name, Value};

use crate::{
    answer::Answers,
    journal::Journal,
    plan::{FlowId, Moment, NodeId},
    table::Table,
    vocabulary::{
        Assignments, Catches, Destination, Ending, Failure, Incident, LayerId, Post, PostId, Slot,
        TokenId, WaitFor, WaitId,
    },
};

pub use self::{
    apply::{apply, replay},
    check::{check, check_at_rest},
    parts::{Parts, ScopePart, TokenPart, Unsound},
    past::{Past, Wanted},
    remains::Remains,
    variables::{VariableIter, Variables},
};

/// The token of the process itself, which hosts the outermost scope.
pub const ROOT: TokenId = TokenId(1);

/// The layer of the process itself.
pub const ROOT_LAYER: LayerId = LayerId(1);

/// Who an instance is, for those who ask from within. The world knows that and no event tells it, so
/// it is no part of what makes two instances equal. The world says it before a turn and takes it back after it.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// The number that the world has given it.
    pub id: Option<u64>,
    /// What people call it.
    pub business_key: Option<Name>,
}

impl PartialEq for Identity {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// One run of a plan.
///
/// It can be read as its [`InstanceState`], and changes only by events: [`apply`] makes one true of it.
///
/// ```compile_fail,E0594
/// let mut instance = travertine_kernel::Instance::default();
/// instance.steps += 1;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    /// Written by this module and those inside it, and by no other.
    state: InstanceState,
}

impl Deref for Instance {
    type Target = InstanceState;

    #[inline]
    fn deref(&self) -> &InstanceState {
        &self.state
    }
}

impl Instance {
    /// Tells it who it is, before a turn; the default takes that back. No event does, because it is
    /// nothing that happens to it.
    pub fn introduce(&mut self, identity: Identity) {
        self.state.identity = identity;
    }
}

/// What is true of an instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstanceState {
    /// Who it is.
    pub identity: Identity,
    /// How far it is.
    pub phase: Phase,
    /// When it began.
    pub started: Option<Timestamp>,
    /// The elements it begins at; the plain starts where there is none.
    pub start: Vec<NodeId>,
    /// What its caller catches, where it has one.
    pub caller: Option<Catches>,
    /// Its tokens, oldest first.
    pub tokens: Table<TokenId, Token>,
    /// Its scopes, by host.
    pub scopes: BTreeMap<TokenId, Box<Scope>>,
    /// Its variables.
    pub layers: Table<LayerId, Layer>,
    /// What its tokens wait for.
    pub waits: Table<WaitId, Wait>,
    /// Tokens that need an operator.
    pub incidents: BTreeMap<TokenId, Raised>,
    /// Where inside their container tokens go that an operator has sent there.
    pub bound: BTreeMap<TokenId, Vec<Destination>>,
    /// What a function has asked for and been told.
    pub journal: Option<Box<Journal>>,
    /// What a function has answered to updates that have an id.
    pub answers: Answers,
    /// What must be sent and is not known to have arrived.
    pub posts: Table<PostId, Arc<Post>>,
    /// How many nodes were run since the start, or since someone resolved a step-limit incident.
    pub steps: u64,
    /// Tokens that must be looked at, in that order.
    pub(crate) agenda: Table<u64, TokenId>,
    /// Tokens that must be looked at once no other must.
    pub(crate) late: Table<u64, TokenId>,
    /// The waits for signals, by name.
    pub(crate) signals: BTreeMap<Name, BTreeSet<WaitId>>,
    /// The waits for conditions and data.
    pub(crate) conditions: BTreeSet<WaitId>,
    /// Joins of the inclusive kind that have tokens.
    pub(crate) inclusive: BTreeSet<(TokenId, NodeId)>,
    /// How many incidents say that it has too much of something.
    pub(crate) over: u32,
    /// How many names have been given out.
    pub(crate) names: u64,
    /// How many cues have been given.
    pub(crate) cues: u64,
    /// How many visits, variables and incidents have been numbered.
    pub(crate) numbers: u64,
    /// What is over, where somebody wants that.
    past: past::Trail,
}

/// How far an instance is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not started.
    #[default]
    New,
    /// It has tokens.
    Running,
    /// It had tokens.
    Ended(Ending),
}

/// A token's status attributes. `None` where the plan has none.
pub type Status = Option<Arc<BTreeMap<Name, Value>>>;

/// A point of control.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Where it stands.
    pub node: NodeId,
    /// The number of its stay there, which no other stay has. 0 for the token of the process itself.
    pub visit: u64,
    /// How it got there.
    pub via: Option<FlowId>,
    /// The scope it is in; `None` for the token of the process itself.
    pub scope: Option<TokenId>,
    /// How far it is with its node.
    pub state: State,
    /// What it is there for.
    pub role: Role,
    /// The layer its reads begin at.
    pub layer: LayerId,
    /// Its status attributes.
    pub status: Status,
    /// What it waits for, oldest first.
    pub waits: Table<WaitId, ()>,
    /// The tokens that stand beside it: boundary events of its activity, events of its gateway.
    pub guards: Vec<TokenId>,
    pub(crate) cue: Option<(u64, Cue)>,
    /// Whether its scope counts it by node.
    pub(crate) counted: bool,
}

/// What a token is there for.
///
/// ```
/// # use travertine_kernel::Role;
/// let second = Role::Run(1);
/// assert!(matches!(second, Role::Run(index) if index > 0), "runs are counted from 0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It flows.
    Flow,
    /// It is one run of a multi-instance activity or of a loop, counted from 0.
    Run(u32),
    /// It is the first of a branch of a fan-out, counted from 0.
    Branch(u32),
    /// It stands beside this token, at a boundary event or behind an event-based gateway.
    Guard(TokenId),
    /// It stands at the start event of an event sub-process.
    Start,
    /// It stays to undo what was completed.
    Compensation,
}

/// How far a token is with its node.
///
/// ```
/// # use travertine_kernel::State;
/// assert_eq!(State::Busy.to_string(), "busy");
/// assert!(State::Arrived < State::Completed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It is new and came by no flow.
    Created,
    /// It came by a flow.
    Arrived,
    /// All that it needs is known.
    Ready,
    /// Someone decided that it starts.
    Entered,
    /// It is at work.
    Busy,
    /// The work is done.
    Completed,
    /// Someone decided that it leaves.
    Exiting,
    /// It went on to the next node.
    Departed,
    /// It waits for other tokens: at a join, or as the main token of a multi-instance activity.
    Waiting,
    /// Its path has ended.
    Done,
    /// It failed and is cleaning up.
    Failing,
    /// It failed.
    Failed,
    /// It was taken away.
    Withdrawn,
}

/// Why a token must be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cue {
    /// It stands at a new node.
    Arrive,
    /// It may be entered.
    Enter,
    /// It goes on opening its runs.
    Spawn,
    /// The last token of its scope is gone.
    Childless,
    /// Its work is done.
    Complete,
    /// It may leave.
    Exit,
    /// It makes its events happen, now that all others rest.
    Throw,
    /// Its work is offered again.
    Offer,
    /// It goes on with its listeners, from this position on.
    Listen(Moment, u16),
    /// Its code thinks again.
    Think,
}

/// What is shared by the tokens that one token hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// The node whose inside it is.
    pub node: NodeId,
    /// The scope around it.
    pub parent: Option<TokenId>,
    /// How many scopes are around it.
    pub depth: u32,
    /// What kind of scope, with what only that kind has.
    pub kind: ScopeKind,
    /// The tokens it must wait for.
    pub live: BTreeSet<TokenId>,
    /// The start events of its event sub-processes that can still be triggered.
    pub starts: BTreeMap<NodeId, TokenId>,
    /// How many event sub-processes are running in it.
    pub events: u32,
    /// Whether the boundary events of its host have been armed.
    pub watched: bool,
    /// Tokens that stay to undo, oldest first.
    pub compensations: Vec<TokenId>,
    /// Tokens to be recalled, the last one first.
    pub queue: Vec<TokenId>,
    /// Why it is failing.
    pub failing: Option<Failing>,
    /// The token its performer works on, and those that wait for the performer.
    pub performer: Performer,
    /// The merged status of the tokens that are done.
    pub done: Merged,
    pub(crate) joins: BTreeMap<NodeId, BTreeMap<FlowId, VecDeque<TokenId>>>,
    /// Complex joins that have gone on and take the rest of their round, by the flows they have.
    pub(crate) rounds: BTreeMap<NodeId, BTreeSet<FlowId>>,
    pub(crate) census: Option<BTreeMap<NodeId, u32>>,
}

/// What kind of scope, with what only that kind has.
#[derive(Clone, Debug, PartialEq)]
pub enum ScopeKind {
    /// The process.
    Process,
    /// A sub-process.
    SubProcess,
    /// An event sub-process.
    EventSubProcess,
    /// A transaction.
    Transaction,
    /// An ad-hoc sub-process.
    AdHoc,
    /// A multi-instance activity; a batch where it has slices.
    Each(Each),
    /// A standard loop.
    Loop {
        /// How many runs have begun.
        runs: u32,
    },
    /// A fan-out.
    FanOut(FanOut),
    /// A called process within this instance.
    Gosub,
    /// The undoing of what was completed.
    Compensation,
}

/// The state of a multi-instance activity.
#[derive(Clone, Debug, PartialEq)]
pub struct Each {
    /// How many runs there will be.
    pub total: u32,
    /// How many may be open at a time.
    pub window: u32,
    /// What they run over; nothing where only their number is known.
    pub items: Option<Arc<Vec<Value>>>,
    /// How many items make a run, for a batch.
    pub batch_size: Option<u32>,
    /// How many have begun.
    pub begun: u32,
    /// How many are complete.
    pub completed: u32,
    /// How many were taken away before they were.
    pub terminated: u32,
    /// What they gave, by index.
    pub outputs: Vec<Value>,
}

/// The state of a fan-out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FanOut {
    /// How many branches there were.
    pub count: u32,
    /// The layer of each branch.
    pub branches: Vec<LayerId>,
    /// Where the branches end: where the first of them ended.
    pub fan_in: Option<NodeId>,
    /// The tokens that have arrived there.
    pub arrived: Vec<TokenId>,
}

/// Why a scope is failing.
#[derive(Clone, Debug, PartialEq)]
pub enum Failing {
    /// An error, with the variables it brings.
    Error(Failure, Assignments),
    /// The transaction is cancelled.
    Cancelled,
}

/// Who is worked on, and who waits for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Performer {
    /// The token being worked on.
    pub busy: Option<TokenId>,
    /// Those that wait, first come first.
    pub waiting: VecDeque<TokenId>,
}

/// The merged status of several tokens, in whatever order they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// For each attribute the value all agree on, or `None` where they do not.
    pub values: BTreeMap<Name, Option<Value>>,
}

/// Variables, over those of another layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The token whose end is its end; for a branch the host of the fan-out.
    pub owner: TokenId,
    /// The layer around it.
    pub parent: Option<LayerId>,
    /// Its own variables.
    pub variables: Variables,
    /// Whether writes pass through to the layer around it.
    pub transparent: bool,
    /// Whether its owner is a run, whose counters and item are visible here.
    pub run: bool,
}

/// An incident of an instance, by a number that no other one has. It reads as the incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Its number.
    pub number: u64,
    /// What is wrong.
    pub incident: Incident,
}

impl Deref for Raised {
    type Target = Incident;

    fn deref(&self) -> &Incident {
        &self.incident
    }
}

/// A token's claim on the outside world.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// Who waits.
    pub token: TokenId,
    /// Which of the token's waits this is.
    pub slot: Slot,
    /// What for.
    pub on: Arc<WaitFor>,
}

impl State {
    /// Whether a token can come from this state to that one, by the arrows of the life cycle. States
    /// that are granted at once are passed without a stop.
    #[doc(hidden)] // Only the kernel takes tokens from one to the next.
    pub fn leads_to(self, next: Self) -> bool {
        use State::{
            Arrived, Busy, Completed, Created, Departed, Done, Entered, Exiting, Failed, Failing,
            Ready, Waiting, Withdrawn,
        };
        match (self, next) {
            (Done | Failed | Departed | Withdrawn, _) => false,
            (_, Withdrawn) => true,
            (Created, it) => it != Created,
            (Arrived, it) => !matches!(it, Created | Arrived),
            (Ready, it) => !matches!(it, Created | Arrived | Ready),
            (Entered, it) => !matches!(it, Created | Arrived | Ready | Entered | Waiting),
            (Busy | Waiting, it) => {
                matches!(it, Completed | Exiting | Departed | Done | Failing | Failed)
            }
            (Completed, it) => matches!(it, Exiting | Departed | Done | Failing | Failed),
            (Exiting, it) => matches!(it, Departed | Done | Failing | Failed),
            (Failing, it) => matches!(it, Failed),
        }
    }
}

impl Scope {
    /// Whether nothing is left in it that it must wait for.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }
}

impl InstanceState {
    /// Whether it has begun and not ended.
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Whether there is work left that needs nothing from outside.
    pub fn is_unfinished(&self) -> bool {
        !self.agenda.is_empty() || !self.late.is_empty()
    }

    /// How the instance ended.
    pub fn ending(&self) -> Option<&Ending> {
        match &self.phase {
            Phase::Ended(ending) => Some(ending),
            Phase::New | Phase::Running => None,
        }
    }

    /// The process's own variables. They stay after the end.
    pub fn variables(&self) -> Option<&Variables> {
        self.layers.get(&ROOT_LAYER).map(|it| &it.variables)
    }

    /// The token that is on that visit still. 0 is the process itself. It looks at every token.
    pub fn token_on(&self, visit: u64) -> Option<TokenId> {
        self.tokens.iter().find(|(_, it)| it.visit == visit).map(|(id, _)| *id)
    }

    /// Whether so many visits, variables and incidents have been numbered: whether there was ever anything of
    /// that number.
    pub fn has_numbered(&self, number: u64) -> bool {
        (1..=self.numbers).contains(&number)
    }

    /// The numbers of all that has one now.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = u64> {
        let visits = self.tokens.iter().filter(|(id, _)| **id != ROOT).map(|(_, it)| it.visit);
        let variables = self.layers.iter().flat_map(|(_, it)| it.variables.numbers());
        visits.chain(variables).chain(self.incidents.values().map(|it| it.number))
    }

    /// The visit that what a token waits for belongs to: that of its host for a guard, that of the
    /// container for the start of an event sub-process, otherwise its own.
    pub fn visit_of(&self, token: TokenId) -> Option<u64> {
        let it = self.tokens.get(&token)?;
        let of = match it.role {
            Role::Guard(of) => of,
            Role::Start => it.scope?,
            Role::Flow | Role::Run(_) | Role::Branch(_) | Role::Compensation => token,
        };
        self.tokens.get(&of).map(|it| it.visit)
    }

    /// The layers that a token owns, innermost first.
    pub(crate) fn own_layers(&self, token: TokenId) -> impl Iterator<Item = (LayerId, &Layer)> {
        let first = self.token(token).layer;
        std::iter::successors(Some(first), |it| self.layers[it].parent)
            .map(|id| (id, &self.layers[&id]))
            .take_while(move |(_, layer)| layer.owner == token)
    }

    pub(crate) fn token(&self, id: TokenId) -> &Token {
        self.tokens.get(&id).expect("whoever names a token has seen it")
    }

    pub(crate) fn scope(&self, id: TokenId) -> &Scope {
        self.scopes.get(&id).expect("whoever names a scope has seen it")
    }

    /// The scope a token is in. The token of the process is in none.
    pub(crate) fn scope_of(&self, token: TokenId) -> (TokenId, &Scope) {
        let id = self.token(token).scope.expect("only the process's token is in no scope");
        (id, self.scope(id))
    }
}
