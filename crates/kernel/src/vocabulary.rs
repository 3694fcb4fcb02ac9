//! The words spoken at the kernel's edge: commands in, events and refusals out.

mod failure;
mod job;
mod modification;
mod rejection;

use std::sync::Arc;

use travertine_value::time::{Repeat, Timestamp};
use travertine_value::{Name, Value};

use crate::{
    journal::{Decision, JournalEntry},
    plan::{FlowId, Moment, NodeId},
    state::{Cue, Failing, Role, ScopeKind, State, Status},
    table::Key,
};
pub use failure::{Failure, FailureKind, Part, Place};
pub use job::{Backoff, Job, JobOptions};
pub use modification::{Destination, Modification, Which};
pub use rejection::Rejection;

/// A token's name within its instance. It is never used twice.
///
/// ```
/// # use travertine_kernel::TokenId;
/// let token = TokenId(3);
/// assert!(token < TokenId(4), "ids are in the order in which tokens came to be");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub u64);

/// A wait's name within its instance. It is never used twice.
///
/// ```
/// # use travertine_kernel::WaitId;
/// let wait = WaitId(7);
/// assert_eq!(wait.0, 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitId(pub u64);

/// A layer's name within its instance. It is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerId(pub u64);

/// The name of a thing sent, within its instance. It is never used twice.
///
/// ```
/// # use travertine_kernel::{PostId, Rejection};
/// let refused = Rejection::NoSuchPost(PostId(2));
/// assert_eq!(refused.to_string(), "nothing to deliver: 2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PostId(pub u64);

impl Key for TokenId {
    fn number(self) -> u64 {
        self.0
    }
}

impl Key for WaitId {
    fn number(self) -> u64 {
        self.0
    }
}

impl Key for LayerId {
    fn number(self) -> u64 {
        self.0
    }
}

impl Key for PostId {
    fn number(self) -> u64 {
        self.0
    }
}

/// Names and values.
///
/// ```
/// # use travertine_kernel::Assignments;
/// let variables: Assignments = vec![("town".into(), "Rome".into()), ("cents".into(), 1_200.into())];
/// assert_eq!(variables[0].1.as_str(), Some("Rome"));
/// ```
pub type Assignments = Vec<(Name, Value)>;

/// A request to change an instance. It may be refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Begin.
    Start {
        /// The elements to begin at: the start event that was triggered, or any others, also inside
        /// containers, which are then entered. The plain starts where none is named.
        at: Vec<NodeId>,
        /// The variables it begins with.
        variables: Assignments,
        /// What its caller catches, where it has one.
        caller: Option<Catches>,
    },
    /// What `wait` waits for has happened.
    Complete {
        /// The wait.
        wait: WaitId,
        /// The variables it brings.
        variables: Assignments,
    },
    /// The work that `wait` waits for has raised an error for the model to catch.
    Raise {
        /// The wait.
        wait: WaitId,
        /// The error's code.
        code: Option<Name>,
        /// What it says to people.
        message: String,
        /// The variables it brings.
        variables: Assignments,
    },
    /// The work that `wait` waits for has raised an escalation, and may go on.
    Escalate {
        /// The wait.
        wait: WaitId,
        /// The escalation's code.
        code: Option<Name>,
        /// The variables it brings.
        variables: Assignments,
    },
    /// The work that `wait` waits for has failed for a technical reason.
    Fail {
        /// The wait.
        wait: WaitId,
        /// How often it may be tried again. At 0 someone must look at it.
        retries: u32,
        /// What went wrong.
        message: String,
        /// Variables for the next try. They are the element's own.
        variables: Assignments,
    },
    /// The work that `wait` waits for cannot be given to anyone: someone must look at it.
    NotGiven {
        /// The wait.
        wait: WaitId,
        /// Why.
        failure: Box<Failure>,
    },
    /// Let work be tried so often, without any failure.
    SetRetries {
        /// The wait for it.
        wait: WaitId,
        /// How often it may still fail, at least once.
        retries: u32,
    },
    /// Set variables.
    Set {
        /// From which token on; that of the process where none is named.
        token: Option<TokenId>,
        /// The variables.
        variables: Assignments,
        /// In which layer.
        reach: Reach,
    },
    /// Try again what ended in an incident.
    Retry {
        /// The token that has the incident.
        token: TokenId,
    },
    /// Take tokens away and put tokens elsewhere, all of it or nothing. See [`Modification`].
    Modify {
        /// What to do, in this order.
        steps: Vec<Modification>,
    },
    /// What was posted has been taken over by someone else.
    Delivered {
        /// What.
        post: PostId,
    },
    /// Go on where the last turn stopped.
    Continue,
    /// End everything. A function is told first, and ends when its code has cleared up; told again,
    /// it ends at once.
    Cancel,
    /// The code of a function has thought about its journal, and decided this.
    Decide {
        /// What, in this order.
        decisions: Vec<Decision>,
        /// What it has answered to updates, by their ids.
        answers: Assignments,
    },
    /// What `wait` has called cannot begin, or has ended without an outcome: someone must look at it.
    NotCalled {
        /// The wait.
        wait: WaitId,
        /// Why.
        failure: Box<Failure>,
    },
    /// The code of a function cannot go on: someone must look at it.
    Block {
        /// Why.
        failure: Box<Failure>,
    },
    /// Change what the code of a function has in hand.
    Update {
        /// What the code calls such changes.
        name: Name,
        /// What is given to it.
        input: Value,
        /// What its sender calls it. Whether it was answered before is for the caller to see.
        id: Option<Name>,
    },
    /// The code of a function cannot do what it was told last, an update: it was never told that.
    RefuseUpdate {
        /// Why.
        message: String,
    },
}

impl Command {
    /// The variables that it brings.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &(Name, Value)> + Clone {
        let (plain, steps): (&[_], &[Modification]) = match self {
            Self::Start { variables, .. }
            | Self::Complete { variables, .. }
            | Self::Raise { variables, .. }
            | Self::Escalate { variables, .. }
            | Self::Fail { variables, .. }
            | Self::Set { variables, .. } => (variables, &[]),
            Self::Modify { steps } => (&[], steps),
            Self::NotGiven { .. }
            | Self::SetRetries { .. }
            | Self::Retry { .. }
            | Self::Delivered { .. }
            | Self::Continue
            | Self::Cancel
            | Self::Decide { .. }
            | Self::NotCalled { .. }
            | Self::Block { .. }
            | Self::Update { .. }
            | Self::RefuseUpdate { .. } => (&[], &[]),
        };
        let places = steps.iter().filter_map(|it| match it {
            Modification::Add { to, .. }
            | Modification::AddWithin { to, .. }
            | Modification::Move { to, .. } => Some(to),
            Modification::Withdraw(_) => None,
        });
        plain.iter().chain(places.flat_map(|it| it.variables.iter().flat_map(|(_, it)| it)))
    }
}

/// In which layer variables are set from outside.
///
/// ```
/// # use travertine_kernel::Reach;
/// assert_eq!(Reach::default(), Reach::Layer);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// In the layer that the token reads first.
    #[default]
    Layer,
    /// Each in the nearest layer that has the name, from the token's on; in the process where none has.
    Propagate,
    /// In a layer of the element's own, which goes with it.
    Local,
}

/// The errors a caller has a handler for, and the escalations that would make it end the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catches {
    /// Whether it catches every error.
    pub all: bool,
    /// The codes it catches.
    pub codes: Vec<Name>,
    /// Whether every escalation ends what raised it.
    pub ended_by_all: bool,
    /// The codes of escalations that end what raised them.
    pub ended_by: Vec<Name>,
}

/// A fact. It has happened and cannot be refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The instance has begun.
    Started {
        /// When.
        at: Timestamp,
        /// The elements it begins at; the plain starts where there is none.
        start: Vec<NodeId>,
        /// What its caller catches, where it has one.
        caller: Option<Catches>,
    },
    /// A token stands at a node.
    TokenCreated {
        /// Its name.
        token: TokenId,
        /// Where it stands.
        node: NodeId,
        /// The scope it is in; `None` for the token of the process itself.
        scope: Option<TokenId>,
        /// How it got there.
        via: Option<FlowId>,
        /// What it is there for.
        role: Role,
        /// The layer it reads.
        layer: Reads,
        /// Its status attributes.
        status: Status,
    },
    /// A token has departed from its node and arrived at another.
    TokenMoved {
        /// Its name.
        token: TokenId,
        /// The flow; `None` where compensation sends it to its handler.
        via: Option<FlowId>,
        /// Where it stands now.
        to: NodeId,
    },
    /// A token has come to a state and rests there.
    TokenState {
        /// Its name.
        token: TokenId,
        /// The state.
        state: State,
    },
    /// A token waits at a join for others.
    TokenParked {
        /// Its name.
        token: TokenId,
        /// Whether the join waits for whoever can still come, not for every flow.
        inclusive: bool,
    },
    /// A token must be looked at again.
    TokenCued {
        /// Its name.
        token: TokenId,
        /// Why.
        cue: Cue,
    },
    /// A token needs no look any more.
    TokenUncued {
        /// Its name.
        token: TokenId,
    },
    /// A token that stood beside an activity goes its own way.
    TokenPromoted {
        /// Its name.
        token: TokenId,
    },
    /// A token has completed its activity and stays for its compensation.
    TokenRetired {
        /// Its name.
        token: TokenId,
    },
    /// A token that stayed for compensation is sent to work.
    TokenRecalled {
        /// Its name.
        token: TokenId,
        /// The scope that it now works in.
        scope: TokenId,
    },
    /// A token is gone.
    TokenGone {
        /// Its name.
        token: TokenId,
        /// The state it ended in.
        state: State,
    },
    /// A token's status attributes have changed.
    StatusSet {
        /// Its name.
        token: TokenId,
        /// All of them.
        status: Status,
    },
    /// A token has a layer of variables of its own, over the one it had.
    LayerOpened {
        /// Its name.
        token: TokenId,
        /// The layer's name.
        layer: LayerId,
    },
    /// A token has gone back to the layer around its own, which is gone.
    LayerClosed {
        /// Its name.
        token: TokenId,
    },
    /// A variable has a new value.
    VariableSet {
        /// The layer.
        layer: LayerId,
        /// The variable.
        name: Name,
        /// The value.
        value: Value,
    },
    /// A variable is gone from a layer.
    VariableRemoved {
        /// The layer.
        layer: LayerId,
        /// The variable.
        name: Name,
    },
    /// A token hosts a scope.
    ScopeOpened {
        /// The host, whose name is the scope's too.
        scope: TokenId,
        /// The node whose inside it is.
        node: NodeId,
        /// What kind of scope.
        kind: Box<ScopeKind>,
        /// Whether it counts its tokens by node, for inclusive joins.
        census: bool,
    },
    /// A scope is on its way to failure or cancellation.
    ScopeFailing {
        /// The scope.
        scope: TokenId,
        /// Why.
        cause: Box<Failing>,
    },
    /// A scope is gone.
    ScopeClosed {
        /// The scope.
        scope: TokenId,
    },
    /// What the tokens that are done in a scope agreed on does not count any more.
    StatusForgotten {
        /// The scope.
        scope: TokenId,
    },
    /// What stayed for compensation in one scope belongs to another now.
    CompensationsMoved {
        /// From here.
        from: TokenId,
        /// To here.
        to: TokenId,
    },
    /// These tokens will be recalled, the last one first.
    CompensationQueued {
        /// The scope that they will work in.
        scope: TokenId,
        /// The tokens.
        tokens: Vec<TokenId>,
    },
    /// A complex join has gone on, or has taken another token of the same round.
    RoundChanged {
        /// The scope.
        scope: TokenId,
        /// The join.
        node: NodeId,
        /// The flows whose token it has had; none once the round is over.
        flows: Vec<FlowId>,
    },
    /// One run of a multi-instance activity is complete.
    RunEnded {
        /// The scope of the activity.
        scope: TokenId,
        /// Which run.
        index: u32,
        /// What it adds to the list of results.
        output: Option<Value>,
    },
    /// One run of a multi-instance activity was taken away before it was complete.
    RunTerminated {
        /// The scope of the activity.
        scope: TokenId,
        /// Which run.
        index: u32,
    },
    /// A branch has come to its fan-in.
    BranchArrived {
        /// The token.
        token: TokenId,
    },
    /// A performer works on a token.
    PerformerTaken {
        /// The scope of the performer.
        scope: TokenId,
        /// The token.
        token: TokenId,
    },
    /// A token waits for a performer.
    PerformerAwaited {
        /// The scope of the performer.
        scope: TokenId,
        /// The token.
        token: TokenId,
    },
    /// A token needs its performer no more.
    PerformerLeft {
        /// The scope of the performer.
        scope: TokenId,
        /// The token.
        token: TokenId,
    },
    /// A token waits for something outside.
    WaitOpened {
        /// Its name.
        wait: WaitId,
        /// Who waits.
        token: TokenId,
        /// Which of the token's waits this is.
        slot: Slot,
        /// What for.
        on: Arc<WaitFor>,
    },
    /// A wait for work has another number of tries left.
    RetriesSet {
        /// The wait.
        wait: WaitId,
        /// The tries.
        retries: u32,
    },
    /// Work has failed, and is to be tried again.
    WorkFailed {
        /// The wait for it.
        wait: WaitId,
        /// How often it may still fail.
        retries: u32,
        /// What went wrong.
        message: Name,
    },
    /// A wait is over, met or abandoned.
    WaitClosed {
        /// Its name.
        wait: WaitId,
    },
    /// Something must be sent.
    Posted {
        /// Its name.
        post: PostId,
        /// What.
        what: Arc<Post>,
    },
    /// It has been sent.
    PostDelivered {
        /// Its name.
        post: PostId,
    },
    /// A token cannot go on until an operator helps.
    IncidentRaised {
        /// The token.
        token: TokenId,
        /// What is wrong.
        incident: Box<Incident>,
    },
    /// The operator has helped.
    IncidentResolved {
        /// The token.
        token: TokenId,
    },
    /// An operator sends a token to elements inside the container that it stands at.
    TokenBound {
        /// Its name.
        token: TokenId,
        /// All places inside that it begins at, in place of the container's starts.
        to: Vec<Destination>,
    },
    /// The instance goes on by another plan. What comes after this is about that one.
    Migrated {
        /// The new number of each node that is in use.
        nodes: Vec<(NodeId, NodeId)>,
        /// The new number of each flow that is in use and still there.
        flows: Vec<(FlowId, FlowId)>,
        /// The scopes that count their tokens by node from now on.
        counting: Vec<TokenId>,
    },
    /// The code of a function is run, from its beginning and with an empty journal.
    FunctionBegan {
        /// The token that stands at it.
        token: TokenId,
        /// When.
        at: Timestamp,
    },
    /// A function has asked for something, or was told something.
    Journaled {
        /// What.
        entry: Arc<JournalEntry>,
    },
    /// The code of a function has thought about all that it was told.
    FunctionThought {
        /// The token that stands at it.
        token: TokenId,
    },
    /// The code of a function has answered an update that has an id.
    UpdateAnswered {
        /// What the sender of the update calls it.
        id: Name,
        /// The answer, as whoever runs the code writes it.
        said: Value,
    },
    /// A function was told of an update that its code cannot do: it was not told of it after all.
    UpdateRefused {
        /// Why.
        message: String,
    },
    /// A business rule task has made a decision. What came of it follows.
    DecisionMade {
        /// The token that stands at the task.
        token: TokenId,
        /// The id of the decision.
        decision: Name,
        /// Which version of it.
        version: u32,
    },
    /// No token is left.
    Finished {
        /// How it ended.
        ending: Ending,
    },
}

/// The layer a new token reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// One that is there.
    Shared(LayerId),
    /// A new one, over this one; over none for the process. Its name is the token's number.
    Own(Option<LayerId>),
}

/// Which of a token's waits is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// What its element waits for, by position.
    Own(u16),
    /// A decision at a gate.
    Gate(Gate),
    /// A listener, by when it is called and its position.
    Listener(Moment, u16),
    /// An operation of a function, by its number.
    Operation(u32),
}

/// Where a decision is asked for.
///
/// ```
/// # use travertine_kernel::Gate;
/// let asked = match Gate::Entry {
///     Gate::Ready | Gate::Data => "may it get ready?",
///     Gate::Entry => "may it begin?",
///     Gate::Exit => "may it go on?",
/// };
/// assert_eq!(asked, "may it begin?");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Before the activity is ready.
    Ready,
    /// Before it is entered.
    Entry,
    /// Before it is left.
    Exit,
    /// Before it is ready, until the data it needs is there. The kernel decides that itself, but
    /// may be overruled.
    Data,
}

/// What a token can wait for.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitFor {
    /// A worker or a person to do something.
    Work(Job),
    /// A time to come.
    Timer {
        /// When.
        due: Timestamp,
        /// What comes after that.
        repeat: Option<Repeat>,
    },
    /// A message to come.
    Message {
        /// Its name.
        name: Name,
        /// Named properties that must match where both sides define them.
        correlation: Assignments,
    },
    /// A signal to be sent.
    Signal {
        /// Its name.
        name: Name,
    },
    /// A condition to become true. The kernel sees to that itself.
    Condition,
    /// A message to be taken over.
    Delivery(Post),
    /// An instance of another definition to end.
    Child {
        /// The definition.
        definition: Name,
        /// Which version.
        binding: Option<Name>,
        /// What it begins with.
        variables: Assignments,
        /// What is caught here if it fails.
        catches: Catches,
    },
    /// A decision at a gate.
    Gate(Gate),
    /// A choice that a decision task asks for.
    Choice,
    /// Data to become available. The kernel sees to that itself.
    Data {
        /// The variables that are missing of the first set of inputs.
        missing: Vec<Name>,
    },
}

impl WaitFor {
    /// Whether it is over once variables have changed, which the kernel sees itself.
    pub(crate) fn is_inner(&self) -> bool {
        matches!(self, Self::Condition | Self::Data { .. })
    }
}

/// Something to be sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Post {
    /// A message, to one.
    Message {
        /// Its name.
        name: Name,
        /// Named properties that must match where both sides define them.
        correlation: Assignments,
        /// What goes with it.
        payload: Assignments,
    },
    /// A signal, to all.
    Signal {
        /// Its name.
        name: Name,
        /// What goes with it.
        payload: Assignments,
    },
    /// An escalation that nobody here caught, to the caller.
    Escalation {
        /// Its code.
        code: Option<Name>,
        /// The variables of the process that raised it.
        variables: Assignments,
    },
    /// A new instance, which goes its own way.
    Start {
        /// What it runs.
        definition: Name,
        /// What people call it.
        id: Name,
        /// What it begins with.
        variables: Assignments,
    },
}

/// Who receives a message.
///
/// ```
/// # use travertine_kernel::Consume;
/// fn is_taken_away(by: Consume) -> bool {
///     match by {
///         Consume::One => true,
///         Consume::All => false,
///     }
/// }
/// assert!(is_taken_away(Consume::One));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consume {
    /// One, who takes it away.
    One,
    /// All who wait for it, each instance once. It is kept for those who come to wait for it before
    /// it expires.
    All,
}

/// Which waits a message is for, by when it was sent.
///
/// ```
/// # use travertine_kernel::Delivery;
/// fn reaches_old_waits_only(delivery: Delivery) -> bool {
///     match delivery {
///         Delivery::AfterWait => true,
///         Delivery::AfterCreate | Delivery::All => false,
///     }
/// }
/// assert!(!reaches_old_waits_only(Delivery::All));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Those that had begun before.
    AfterWait,
    /// Those of instances that had begun by then.
    AfterCreate,
    /// All.
    All,
}

/// A fault in the process, not in the engine: an operator can repair it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// What went wrong.
    pub failure: Failure,
    /// What is tried again.
    pub redo: Cue,
    /// Since when.
    pub since: Timestamp,
}

impl Incident {
    /// Whether it says that the instance has too much of something.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.failure.kind, FailureKind::Budget(_))
    }
}

/// How an instance ended.
///
/// ```
/// # use travertine_kernel::Ending;
/// fn in_words(ending: &Ending) -> String {
///     match ending {
///         Ending::Completed => "done".into(),
///         Ending::Failed(failure) => format!("failed: {failure}"),
///         Ending::Cancelled => "cancelled".into(),
///     }
/// }
/// assert_eq!(in_words(&Ending::Cancelled), "cancelled");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All its tokens are done.
    Completed,
    /// An error went through to the top.
    Failed(Failure),
    /// It was cancelled.
    Cancelled,
}
