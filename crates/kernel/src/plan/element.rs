//! The kinds of node and their settings, as data.

pub use travertine_value::time::Timer as TimerKind;
use travertine_value::{Name, Program};

use super::NodeId;

/// A kind of node and its settings.
#[derive(Clone, Debug)]
pub enum Element {
    /// The process itself, or one that is called as a gosub.
    Process(Container),
    /// Runs a process within the process.
    SubProcess(Container),
    /// A sub-process that can be cancelled as a whole.
    Transaction(Container),
    /// A sub-process that waits in its container for an event.
    EventSubProcess(EventSubProcess),
    /// A sub-process whose activities are entered in any order.
    AdHoc(AdHoc),
    /// Where a container starts.
    Start(Start),
    /// An event that only marks a place.
    Pass,
    /// A task without content: plain and manual tasks.
    Task,
    /// Runs a script, or an expression whose value is kept.
    Script {
        /// What to run.
        program: Program,
        /// The variable that takes the value.
        result: Option<Name>,
    },
    /// Makes a decision that is deployed apart from the process.
    BusinessRule(BusinessRule),
    /// Has a worker or a person do something.
    Work(Work),
    /// Has a message delivered, and waits for that.
    Send(Send),
    /// Waits for a message as an activity.
    Receive(Catch),
    /// Waits for a choice from outside.
    Decision,
    /// Is code, and waits for what that asks for.
    Function,
    /// Waits for an event.
    Catch(Catch),
    /// Waits beside an activity for an event.
    Boundary(Boundary),
    /// Makes events happen, one after the other.
    Throw(Vec<Throw>),
    /// Takes the first flow whose condition holds.
    Exclusive,
    /// Waits for all incoming flows, then takes all outgoing ones.
    Parallel,
    /// Waits for all tokens that can still come, then takes the flows whose condition holds.
    Inclusive,
    /// Waits until its condition holds, then takes the flows whose condition holds.
    Complex {
        /// When it goes on; sees `activationCount` and the number of tokens at each incoming flow.
        activation: Program,
    },
    /// Waits for the first of the events behind it.
    EventBased,
    /// Sends a branch with variables of its own along each outgoing flow.
    FanOut,
    /// Ends the branches of a fan-out.
    FanIn(Merge),
    /// Runs another definition as an instance of its own.
    Call(Call),
    /// Runs another process of the plan within this instance.
    Gosub {
        /// The called process.
        process: NodeId,
    },
}

/// What a container knows of its inside. Filled in by [`Plan::new`](super::Plan::new).
#[derive(Clone, Debug, Default)]
pub struct Container {
    /// Where tokens begin when it is entered.
    pub starts: Vec<NodeId>,
    /// The start events that wait for a trigger.
    pub typed_starts: Vec<NodeId>,
    /// The event sub-processes in it.
    pub events: Vec<NodeId>,
    pub(crate) none_starts: u32,
    pub(crate) unled: Vec<NodeId>,
    pub(crate) inclusive_joins: bool,
}

/// An event sub-process.
#[derive(Clone, Debug)]
pub struct EventSubProcess {
    /// Its inside.
    pub container: Container,
    /// Its start event.
    pub start: NodeId,
    /// Whether it ends everything else in its container.
    pub interrupting: bool,
}

/// An ad-hoc sub-process.
#[derive(Clone, Debug)]
pub struct AdHoc {
    /// Its inside.
    pub container: Container,
    /// What begins when it is entered.
    pub activation: Activation,
    /// Whether one activity runs at a time.
    pub sequential: bool,
    /// When it is done, asked each time an activity has ended.
    pub completion: Option<Program>,
    /// Whether what still runs is withdrawn then.
    pub cancel_remaining: bool,
    /// The ancestor that performs its activities, where it is not the ad-hoc sub-process itself.
    pub performer: Option<NodeId>,
}

/// What begins when an ad-hoc sub-process is entered.
#[derive(Clone, Debug)]
pub enum Activation {
    /// Everything that no flow leads to.
    All,
    /// What a list of ids names; nothing where there is none. Where that is nothing it stays open, and
    /// where it has a completion condition, until that holds: someone may activate more.
    Chosen(Option<Program>),
}

/// A start event.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// What starts it; nothing for a plain one.
    pub triggers: Vec<Trigger>,
    /// Whether all triggers are needed, not one.
    pub all: bool,
    /// The other events of the same instance: whichever comes first starts it, and it waits for them.
    pub with: Vec<NodeId>,
}

/// An intermediate catch event.
#[derive(Clone, Debug)]
pub struct Catch {
    /// What it waits for.
    pub triggers: Vec<Trigger>,
    /// Whether all triggers are needed, not one.
    pub all: bool,
}

/// A boundary event.
#[derive(Clone, Debug)]
pub struct Boundary {
    /// The activity it watches.
    pub attached_to: NodeId,
    /// What it waits for.
    pub triggers: Vec<Trigger>,
    /// Whether all triggers are needed, not one.
    pub all: bool,
    /// Whether it ends the activity.
    pub interrupting: bool,
    /// The activity that undoes, for compensation.
    pub handler: Option<NodeId>,
}

/// What can happen to a waiting token.
#[derive(Clone, Debug)]
pub enum Trigger {
    /// A message comes.
    Message(Message),
    /// A signal is sent.
    Signal {
        /// Its name.
        name: Program,
    },
    /// A time comes.
    Timer {
        /// How to read `when`.
        kind: TimerKind,
        /// The date, duration or cycle.
        when: Program,
    },
    /// A condition becomes true.
    Condition {
        /// What must hold.
        when: Program,
        /// The variables whose change is worth a look. Where none is named: those it reads, or all where
        /// only some changes are.
        variables: Vec<Name>,
        /// Which of their changes are.
        changes: Changes,
    },
    /// An error is raised within.
    Error {
        /// Its code; any where there is none.
        code: Option<Name>,
        /// The variable that takes the code.
        code_variable: Option<Name>,
        /// The variable that takes the message.
        message_variable: Option<Name>,
    },
    /// An escalation is raised within.
    Escalation {
        /// Its code; any where there is none.
        code: Option<Name>,
        /// The variable that takes the code.
        code_variable: Option<Name>,
    },
    /// Something that was completed must be undone.
    Compensation,
    /// The transaction is cancelled.
    Cancel,
}

/// Which changes of variables count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changes {
    /// A variable that was not there.
    pub create: bool,
    /// Another value.
    pub update: bool,
    /// It is gone.
    pub delete: bool,
}

impl Changes {
    /// All of them.
    pub const ALL: Self = Self { create: true, update: true, delete: true };

    /// None of them.
    pub const NONE: Self = Self { create: false, update: false, delete: false };

    /// Whether one of these is one of those.
    pub(crate) fn meet(self, other: Self) -> bool {
        self.create && other.create || self.update && other.update || self.delete && other.delete
    }
}

/// Which messages are meant.
#[derive(Clone, Debug)]
pub struct Message {
    /// The name.
    pub name: Program,
    /// Named properties that must match where both sides define them.
    pub correlation: Vec<(Name, Program)>,
}

/// The property of a message that says where message flows lead it. Unlike others it must be defined
/// by a receiver of a message that has it, and the two lists must have something in common.
pub const TO: &str = "@to";

/// What a throw event makes happen.
#[derive(Clone, Debug)]
pub enum Throw {
    /// Sends a message, and does not wait for it.
    Message(Send),
    /// Sends a signal to everyone.
    Signal {
        /// Its name.
        name: Program,
        /// What goes with it.
        payload: Payload,
    },
    /// Tells the scopes around it.
    Escalation {
        /// Its code.
        code: Option<Name>,
        /// What goes with it.
        payload: Payload,
    },
    /// Fails the scope.
    Error {
        /// Its code.
        code: Option<Name>,
        /// What it says to people.
        message: Option<Program>,
        /// What goes with it.
        payload: Payload,
    },
    /// Undoes what was completed.
    Compensation {
        /// The activity to undo; all of the scope where none is named.
        activity: Option<NodeId>,
        /// Whether the flow waits for it.
        wait: bool,
    },
    /// Cancels the transaction.
    Cancel,
    /// Ends every other token of the scope.
    Terminate,
}

/// A message to send.
#[derive(Clone, Debug)]
pub struct Send {
    /// The messages: one, or one for each run of a multi-instance send task.
    pub messages: Vec<Message>,
    /// What goes with it.
    pub payload: Payload,
}

/// What goes with something that is sent or raised.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    /// Named values.
    pub named: Vec<(Name, Program)>,
    /// All of it as one value: the fields of an object, or anything else under this name.
    pub content: Option<(Name, Program)>,
}

impl From<Vec<(Name, Program)>> for Payload {
    fn from(named: Vec<(Name, Program)>) -> Self {
        Self { named, content: None }
    }
}

/// Work for someone outside.
#[derive(Clone, Debug)]
pub struct Work {
    /// For whom.
    pub kind: WorkKind,
    /// Which workers can do it.
    pub job_type: Program,
    /// How often it may fail before someone must look at it.
    pub retries: Option<Program>,
    /// Headers of a job; assignee, due date and so on of a user task.
    pub fields: Vec<(Name, Program)>,
}

/// Whether work is for a worker or a person.
///
/// ```
/// # use travertine_kernel::{Why, plan::WorkKind};
/// fn is_user_task(why: &Why) -> bool {
///     matches!(why, Why::Work { kind: WorkKind::User, .. })
/// }
/// assert!(!is_user_task(&Why::Race));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// A worker.
    Job,
    /// A person.
    User,
}

/// A call of another definition.
#[derive(Clone, Debug)]
pub struct Call {
    /// The id of the definition.
    pub definition: Program,
    /// Which version, as the runtime understands it: `deployment`, `version:` and a number, `versionTag:` and
    /// a tag, or a tag or number alone; the latest where none is named.
    pub binding: Option<Name>,
    /// Which version, where that is worked out when the call is made.
    pub computed: Option<Program>,
    /// Whether the child gets all visible variables, besides what is mapped.
    pub all_in: bool,
    /// Whether all of the child's variables come back, besides what is mapped.
    pub all_out: bool,
}

/// A decision that a business rule task makes.
#[derive(Clone, Debug)]
pub struct BusinessRule {
    /// The id of the decision.
    pub decision: Program,
    /// Which version: as [`Call::binding`]; the latest, when the task is entered, where none is named.
    pub binding: Option<Name>,
    /// The variable that takes the result.
    pub result: Option<Name>,
    /// Whether the result is handed over as the only item of a list.
    pub listed: bool,
}

/// How the branches of a fan-out become one set of variables again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Branch by branch, later ones win.
    Last,
    /// A name keeps its value where all branches that set it agree, and is null otherwise.
    Agree,
    /// Each branch's variables become one entry of the list of this name.
    Append(Name),
    /// Two branches that set a name to different values are an error.
    Conflict,
}

/// Runs an activity several times.
#[derive(Clone, Debug)]
pub enum Repeat {
    /// Once for each of several, known before the first.
    Each(Each),
    /// As long as a condition holds.
    Loop(Loop),
}

/// Once for each of several.
#[derive(Clone, Debug)]
pub struct Each {
    /// Whether one runs at a time.
    pub sequential: bool,
    /// How many.
    pub count: Count,
    /// The variable that takes the item.
    pub item: Option<Name>,
    /// The variable that counts from 1.
    pub index: Option<Name>,
    /// The variable that takes the list of results, and what each run adds to it.
    pub output: Option<(Name, OutputItem)>,
    /// When the rest is not needed any more.
    pub completion: Option<Program>,
    /// What becomes of nothing to do.
    pub on_empty: OnEmpty,
    /// Slices of so many items, and how many slices run at a time.
    pub batch: Option<(Program, Program)>,
    /// What happens as runs end.
    pub behavior: Vec<(When, Throw)>,
}

/// Which ends of runs make something happen.
#[derive(Clone, Debug)]
pub enum When {
    /// Each.
    Each,
    /// The first.
    First,
    /// Those after which a condition holds.
    If(Program),
}

/// How many runs.
#[derive(Clone, Debug)]
pub enum Count {
    /// So many.
    Cardinality(Program),
    /// One for each item.
    Collection(Program),
    /// One for each of the messages a send or receive task names.
    Messages,
}

/// What a run adds to the list of results.
#[derive(Clone, Debug)]
pub enum OutputItem {
    /// The variable of this name in the run's own layer, and nowhere above it.
    Variable(Name),
    /// A value worked out in the run's layer.
    Expression(Program),
}

/// What becomes of nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnEmpty {
    /// It is an incident.
    Error,
    /// The activity is complete, with an empty list of results.
    Complete,
}

/// A loop that goes on as long as a condition holds.
#[derive(Clone, Debug)]
pub struct Loop {
    /// What must hold for another run.
    pub condition: Option<Program>,
    /// Whether it is asked before the first run too.
    pub test_before: bool,
    /// The most runs.
    pub maximum: Option<Program>,
}

impl Element {
    /// The container this is.
    pub fn container(&self) -> Option<&Container> {
        match self {
            Self::Process(it) | Self::SubProcess(it) | Self::Transaction(it) => Some(it),
            Self::EventSubProcess(it) => Some(&it.container),
            Self::AdHoc(it) => Some(&it.container),
            Self::Start(_)
            | Self::Pass
            | Self::Task
            | Self::Script { .. }
            | Self::BusinessRule(_)
            | Self::Work(_)
            | Self::Send(_)
            | Self::Receive(_)
            | Self::Decision
            | Self::Function
            | Self::Catch(_)
            | Self::Boundary(_)
            | Self::Throw(_)
            | Self::Exclusive
            | Self::Parallel
            | Self::Inclusive
            | Self::Complex { .. }
            | Self::EventBased
            | Self::FanOut
            | Self::FanIn(_)
            | Self::Call(_)
            | Self::Gosub { .. } => None,
        }
    }

    pub(super) fn container_mut(&mut self) -> Option<&mut Container> {
        if let Self::Process(it) | Self::SubProcess(it) | Self::Transaction(it) = self {
            Some(it)
        } else if let Self::EventSubProcess(EventSubProcess { container, .. })
        | Self::AdHoc(AdHoc { container, .. }) = self
        {
            Some(container)
        } else {
            None
        }
    }

    /// What a token here waits for, where it waits for events.
    #[doc(hidden)] // Readers look at what they have made.
    pub fn triggers(&self) -> &[Trigger] {
        if let Self::Start(Start { triggers, .. })
        | Self::Catch(Catch { triggers, .. })
        | Self::Receive(Catch { triggers, .. })
        | Self::Boundary(Boundary { triggers, .. }) = self
        {
            triggers
        } else {
            &[]
        }
    }

    /// Whether a token here needs all of its events, not one.
    pub(crate) fn needs_all(&self) -> bool {
        if let Self::Start(Start { all, .. })
        | Self::Catch(Catch { all, .. })
        | Self::Receive(Catch { all, .. })
        | Self::Boundary(Boundary { all, .. }) = self
        {
            *all
        } else {
            false
        }
    }
}

impl Boundary {
    /// Whether it waits for compensation. Such an event is armed when the activity has completed,
    /// not while it runs.
    pub fn is_compensation(&self) -> bool {
        matches!(self.triggers[..], [Trigger::Compensation])
    }
}
