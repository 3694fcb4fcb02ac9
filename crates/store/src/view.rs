//! The rows that are derived from the log, and the questions that can be asked about them.
//!
//! Values are kept as JSON text, for people and for queries. The exact value is in the log.

use travertine_kernel::{ElementKind, Part};
use travertine_value::{Name, time::Timestamp};

use crate::{DefinitionKey, Seq, ShardId};

/// A table of rows.
///
/// ```
/// # use travertine_store::view::{Query, Table};
/// assert!(Table::ALL.contains(&Table::Incidents));
/// let user_tasks =
///     Query { table: Table::Tasks, filters: vec![], descending: false, after: None, limit: 100 };
/// assert_eq!(user_tasks.table, Table::Tasks);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Instances, running and ended.
    Instances,
    /// Tokens: where running instances are.
    Elements,
    /// Variables of running instances.
    Variables,
    /// Work for workers.
    Jobs,
    /// Work for people.
    Tasks,
    /// What will happen when.
    Timers,
    /// Who waits for which messages and signals.
    Subscriptions,
    /// What someone must look at.
    Incidents,
    /// Messages that nobody has waited for yet, and dead letters.
    Messages,
    /// Work for workers that is over.
    PastJobs,
    /// Work for people that is over.
    PastTasks,
    /// What nobody must look at any more.
    PastIncidents,
}

impl Table {
    /// The tables of what is over. Their rows go with their instance, or when they are old.
    #[doc(hidden)] // For the engine and for stores.
    pub const PAST: [Self; 3] = [Self::PastJobs, Self::PastTasks, Self::PastIncidents];

    /// The tables that [`Change::Clear`] is about. Messages are numbered like instances, but are about
    /// none.
    pub(crate) const OF_INSTANCES: [Self; 6] =
        [Self::Elements, Self::Variables, Self::Jobs, Self::Tasks, Self::Timers, Self::Incidents];
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Instances,
        Self::Elements,
        Self::Variables,
        Self::Jobs,
        Self::Tasks,
        Self::Timers,
        Self::Subscriptions,
        Self::Incidents,
        Self::Messages,
        Self::PastJobs,
        Self::PastTasks,
        Self::PastIncidents,
    ];

    /// The table of what is over, where what was in this one is kept then.
    ///
    /// ```
    /// # use travertine_store::view::Table;
    /// assert_eq!(Table::Tasks.past(), Some(Table::PastTasks));
    /// assert_eq!(Table::Timers.past(), None);
    /// ```
    pub fn past(self) -> Option<Self> {
        match self {
            Self::Jobs => Some(Self::PastJobs),
            Self::Tasks => Some(Self::PastTasks),
            Self::Incidents => Some(Self::PastIncidents),
            Self::Instances
            | Self::Elements
            | Self::Variables
            | Self::Timers
            | Self::Subscriptions
            | Self::Messages
            | Self::PastJobs
            | Self::PastTasks
            | Self::PastIncidents => None,
        }
    }

    /// The table that has the same columns, and what is not over.
    ///
    /// ```
    /// # use travertine_store::view::Table;
    /// assert_eq!(Table::PastTasks.present(), Table::Tasks);
    /// assert_eq!(Table::Tasks.present(), Table::Tasks);
    /// ```
    #[must_use]
    pub fn present(self) -> Self {
        match self {
            Self::PastJobs => Self::Jobs,
            Self::PastTasks => Self::Tasks,
            Self::PastIncidents => Self::Incidents,
            Self::Instances
            | Self::Elements
            | Self::Variables
            | Self::Jobs
            | Self::Tasks
            | Self::Timers
            | Self::Subscriptions
            | Self::Incidents
            | Self::Messages => self,
        }
    }
}

/// A change of the views.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The row is this now.
    Put(Row),
    /// The row is gone.
    Delete(Table, Key),
    /// All variables of a layer of an instance are gone.
    DeleteLayer(u64, u64),
    /// All rows about an instance are gone, except that in [`Table::Instances`], those in
    /// [`Table::Subscriptions`] and those of what is over; its snapshot too.
    Clear(u64),
    /// The instance itself is gone, with all rows about it but those in [`Table::Subscriptions`].
    Remove(u64),
    /// Of a table of what is over all rows of the shard that ended before that time are gone.
    Expire(Table, Timestamp),
    /// The instance has a new snapshot.
    Snapshot {
        /// The instance.
        instance: u64,
        /// The entry after which it was taken.
        seq: Seq,
        /// Its bytes.
        body: Vec<u8>,
    },
}

/// What names a row within its table.
///
/// ```
/// # use travertine_store::view::Key;
/// // The variable `town` of the process itself, in instance 12.
/// let key = Key { instance: 12, number: 1, name: "town".into() };
/// assert!(Key { instance: 11, ..key.clone() } < key);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The instance; for what belongs to no instance the shard's own number space.
    pub instance: u64,
    /// The token, wait or layer; the number of an incident, of a message or of a start timer.
    pub number: u64,
    /// The name of a variable; empty elsewhere.
    pub name: Name,
}

impl Key {
    /// Of a row in [`Table::Instances`]; the first that a row about the instance can have.
    #[doc(hidden)] // Only the engine and stores know where the rows about an instance begin.
    pub fn of_instance(instance: u64) -> Self {
        Self { instance, number: 0, name: Name::from("") }
    }
}

/// A row of any table.
///
/// ```
/// # use travertine_store::view::{MessageRow, Row};
/// # use travertine_value::time::Timestamp;
/// fn in_words(row: &Row) -> String {
///     match row {
///         Row::Job(it) => format!("{} waits for a worker", it.element),
///         Row::Task(it) => format!("{} waits for a person", it.element),
///         other => format!("{:?}", other.key()),
///     }
/// }
/// let message = MessageRow {
///     id: 4,
///     name: "paid".into(),
///     message_id: None,
///     correlation: "{}".into(),
///     body: vec![],
///     published: Timestamp::default(),
///     expires: None,
///     dead: None,
///     reason: None,
/// };
/// assert!(in_words(&Row::Message(message)).contains("instance: 4"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// Of [`Table::Instances`].
    Instance(InstanceRow),
    /// Of [`Table::Elements`].
    Element(ElementRow),
    /// Of [`Table::Variables`].
    Variable(VariableRow),
    /// Of [`Table::Jobs`], or [`Table::PastJobs`].
    Job(JobRow),
    /// Of [`Table::Tasks`], or [`Table::PastTasks`].
    Task(TaskRow),
    /// Of [`Table::Timers`].
    Timer(TimerRow),
    /// Of [`Table::Subscriptions`].
    Subscription(SubscriptionRow),
    /// Of [`Table::Incidents`], or [`Table::PastIncidents`].
    Incident(IncidentRow),
    /// Of [`Table::Messages`].
    Message(MessageRow),
}

/// How far an instance is.
///
/// ```
/// # use travertine_store::view::{Filter, InstanceState};
/// let ended = [InstanceState::Completed, InstanceState::Failed, InstanceState::Cancelled];
/// let filter = Filter::State(ended.to_vec());
/// assert_eq!(filter, Filter::State(ended.into()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstanceState {
    /// It has tokens.
    Running,
    /// It runs, and someone has stopped it for a while.
    Suspended,
    /// The engine failed on it. It stands still until someone has looked.
    Halted,
    /// All its tokens are done.
    Completed,
    /// An error went through to the top.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// An instance.
///
/// ```
/// # use travertine_store::view::InstanceRow;
/// # use std::time::Duration;
/// fn took(it: &InstanceRow) -> Option<Duration> {
///     Some(it.ended?.since(it.started))
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceRow {
    /// Its number.
    pub id: u64,
    /// What people call it.
    pub business_id: Option<Name>,
    /// The key of what it runs.
    pub definition_key: DefinitionKey,
    /// The id of what it runs.
    pub definition: Name,
    /// What the model calls that.
    pub definition_name: Option<Name>,
    /// The version of that.
    pub version: u32,
    /// What people call this version.
    pub version_tag: Option<Name>,
    /// How far it is.
    pub state: InstanceState,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// The instance that called it, and the wait there.
    pub parent: Option<(u64, u64)>,
    /// The outermost caller; itself where nobody called it.
    pub root: u64,
    /// How many incidents it has.
    pub incidents: u32,
    /// Why it failed or is halted.
    pub reason: Option<Name>,
    /// Its variables at the end, as a JSON object; the variables of one that runs are rows of their own.
    pub result: Option<Name>,
    /// Its tags, as a JSON list of texts, where it has any.
    pub tags: Option<Name>,
    /// The last entry about it.
    pub last: Seq,
}

/// A token.
///
/// ```
/// # use travertine_store::view::ElementRow;
/// fn in_words(it: &ElementRow) -> String {
///     let name = it.label.as_ref().unwrap_or(&it.element);
///     format!("{name} is {}", it.state)
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ElementRow {
    /// The instance.
    pub instance: u64,
    /// The token.
    pub token: u64,
    /// The number of its stay at the element, which no other stay in the instance has.
    pub visit: u64,
    /// The element's id in the model.
    pub element: Name,
    /// What the model calls it.
    pub label: Option<Name>,
    /// What kind of element.
    pub kind: ElementKind,
    /// The token's state.
    pub state: Name,
    /// The token that hosts its scope.
    pub scope: Option<u64>,
    /// The visit of that token; 0 for the process itself.
    pub scope_visit: u64,
    /// The number of its incident, where it has one.
    pub incident: Option<u64>,
    /// Since when it is there.
    pub since: Timestamp,
}

/// A variable.
///
/// ```
/// # use travertine_store::view::VariableRow;
/// let (name, value) = ("town".into(), r#""Rome""#.into());
/// let town = VariableRow { instance: 12, layer: 1, name, value, number: 3, visit: 0 };
/// assert_eq!(&*town.value, "\"Rome\"", "values are JSON");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VariableRow {
    /// The instance.
    pub instance: u64,
    /// The layer; 1 is the process itself.
    pub layer: u64,
    /// Its name.
    pub name: Name,
    /// Its value, as JSON.
    pub value: Name,
    /// Its number, which no other variable of the instance has.
    pub number: u64,
    /// The visit that it belongs to; 0 for the process itself.
    pub visit: u64,
}

/// How it stands with a job.
///
/// ```
/// # use travertine_store::view::{Filter, JobState};
/// let failed = Filter::JobState(JobState::Failed);
/// assert_ne!(failed, Filter::JobState(JobState::Leased));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobState {
    /// A worker may have it; after [`JobRow::until`], where that says something.
    Available,
    /// A worker has it until [`JobRow::until`].
    Leased,
    /// It has failed too often.
    Failed,
    /// It is done.
    Completed,
    /// Nobody wants it any more.
    Cancelled,
    /// It has raised an error that somebody has caught.
    Raised,
}

/// Work for a worker.
///
/// ```
/// # use travertine_store::view::{JobRow, JobState};
/// # use travertine_value::time::Timestamp;
/// fn is_due(it: &JobRow, now: Timestamp) -> bool {
///     it.state == JobState::Available && it.until.is_none_or(|until| until <= now)
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    /// The instance.
    pub instance: u64,
    /// The wait.
    pub wait: u64,
    /// The token.
    pub token: u64,
    /// The visit that it belongs to.
    pub visit: u64,
    /// The element's id in the model.
    pub element: Name,
    /// Which workers can do it.
    pub job_type: Name,
    /// How it stands.
    pub state: JobState,
    /// How often it may still fail.
    pub retries: u32,
    /// Greater comes first.
    pub priority: i64,
    /// The end of the lease, or of the pause before the next try.
    pub until: Option<Timestamp>,
    /// Who has it.
    pub worker: Option<Name>,
    /// Its headers, as a JSON object.
    pub headers: Name,
    /// What it is called on, where it is the job of a listener: `start`, `end`, `creating`…
    pub listener: Option<Name>,
    /// What went wrong when it was last tried.
    pub error: Option<Name>,
    /// The code of the error that it has raised and that nobody catches.
    pub error_code: Option<Name>,
    /// Since when it waits.
    pub created: Timestamp,
    /// When it was over; nothing as long as it is not.
    pub ended: Option<Timestamp>,
    /// Who has ended it, where whoever asked was known.
    pub by: Option<Name>,
}

/// How it stands with a task.
///
/// ```
/// # use travertine_store::view::TaskState;
/// assert_eq!(TaskState::Open.name(), "open");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskState {
    /// It waits for somebody.
    Open,
    /// It is done.
    Completed,
    /// Nobody wants it any more.
    Cancelled,
}

/// Work for a person.
///
/// ```
/// # use travertine_store::view::TaskRow;
/// # use travertine_value::time::Timestamp;
/// fn most_urgent(tasks: &mut [TaskRow]) {
///     tasks.sort_by_key(|it| (-it.priority, it.due.unwrap_or(Timestamp::MAX)));
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRow {
    /// The instance.
    pub instance: u64,
    /// The wait.
    pub wait: u64,
    /// The token.
    pub token: u64,
    /// The visit that it belongs to.
    pub visit: u64,
    /// The element's id in the model.
    pub element: Name,
    /// What the model calls it.
    pub label: Option<Name>,
    /// Who does it.
    pub assignee: Option<Name>,
    /// Who may do it, as a JSON list.
    pub candidate_users: Name,
    /// Which groups may do it, as a JSON list.
    pub candidate_groups: Name,
    /// By when it should be done.
    pub due: Option<Timestamp>,
    /// When someone wants to look at it again.
    pub follow_up: Option<Timestamp>,
    /// Greater comes first.
    pub priority: i64,
    /// The form, by reference.
    pub form: Option<Name>,
    /// Everything else that the model says of it, as a JSON object.
    pub fields: Name,
    /// Since when it waits.
    pub created: Timestamp,
    /// How it stands.
    pub state: TaskState,
    /// When it was over; nothing as long as it is not.
    pub ended: Option<Timestamp>,
    /// Who has ended it, where whoever asked was known.
    pub by: Option<Name>,
}

/// Something that will happen.
///
/// ```
/// # use travertine_store::view::TimerRow;
/// fn next(timers: &[TimerRow]) -> Option<&TimerRow> {
///     timers.iter().min_by_key(|it| it.due)
/// }
/// assert_eq!(next(&[]), None);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TimerRow {
    /// The instance; 0 for one that starts instances.
    pub instance: u64,
    /// The wait; a number of its own for one that starts instances.
    pub wait: u64,
    /// The definition.
    pub definition: Name,
    /// The element's id in the model.
    pub element: Name,
    /// The visit that it belongs to: that of the activity for a boundary event, 0 for the process itself
    /// and for one that starts instances.
    pub visit: u64,
    /// When.
    pub due: Timestamp,
    /// What is needed to set it again, as the codec writes it; for one that starts instances.
    pub body: Vec<u8>,
}

/// What a subscription is for.
///
/// ```
/// # use travertine_store::view::{Filter, SubscriptionKind};
/// let signals = Filter::Kind(SubscriptionKind::Signal);
/// assert_ne!(signals, Filter::Kind(SubscriptionKind::Message));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubscriptionKind {
    /// A message.
    Message,
    /// A signal.
    Signal,
}

/// A wait for messages or signals of a name.
///
/// ```
/// # use travertine_store::view::{SubscriptionKind, SubscriptionRow};
/// fn in_words(it: &SubscriptionRow) -> String {
///     match it.kind {
///         SubscriptionKind::Message => format!("message {} with {}", it.name, it.correlation),
///         SubscriptionKind::Signal => format!("signal {}", it.name),
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SubscriptionRow {
    /// The instance.
    pub instance: u64,
    /// The wait.
    pub wait: u64,
    /// The shard that finds receivers for what has this name. The row belongs to it.
    #[doc(hidden)] // Where it is kept is the business of the engine.
    pub keeper: ShardId,
    /// What it is for.
    pub kind: SubscriptionKind,
    /// The name.
    pub name: Name,
    /// The element's id in the model.
    pub element: Name,
    /// What must match, as a JSON object.
    pub correlation: Name,
    /// What must match, as the codec writes it.
    pub body: Vec<u8>,
    /// Since when.
    pub created: Timestamp,
}

/// Something that someone must look at.
///
/// ```
/// # use travertine_store::view::IncidentRow;
/// # use travertine_value::time::Timestamp;
/// let incident = IncidentRow {
///     instance: 12,
///     token: 3,
///     number: 9,
///     visit: 4,
///     element: "pack".into(),
///     kind: "work".into(),
///     part: None,
///     wait: Some(7),
///     listener: None,
///     code: None,
///     message: "there are no lamps".into(),
///     since: Timestamp::default(),
///     ended: None,
///     by: None,
/// };
/// assert_eq!(&*incident.message, "there are no lamps");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct IncidentRow {
    /// The instance.
    pub instance: u64,
    /// The token.
    pub token: u64,
    /// Its number, which no other incident of the instance has.
    pub number: u64,
    /// The visit that it belongs to.
    pub visit: u64,
    /// The element's id in the model.
    pub element: Name,
    /// What kind of fault.
    pub kind: Name,
    /// The part of the model that failed, where there is one.
    pub part: Option<Part>,
    /// The wait for the work that failed, where it is that.
    pub wait: Option<u64>,
    /// What the work is called on, where it is the job of a listener.
    pub listener: Option<Name>,
    /// The error's code.
    pub code: Option<Name>,
    /// What it says to people.
    pub message: Name,
    /// Since when.
    pub since: Timestamp,
    /// When it was resolved, or gone with its token; nothing as long as it is there.
    pub ended: Option<Timestamp>,
    /// Who has ended it, where whoever asked was known.
    pub by: Option<Name>,
}

/// A message that nobody has waited for yet.
///
/// ```
/// # use travertine_store::view::MessageRow;
/// fn in_words(it: &MessageRow) -> String {
///     match &it.reason {
///         Some(reason) => format!("{} is a dead letter: {reason}", it.name),
///         None => format!("{} is held", it.name),
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MessageRow {
    /// Its number: [`ShardId::instance`] of the shard that keeps it, so that numbers are unique.
    pub id: u64,
    /// Its name.
    pub name: Name,
    /// What its sender calls it, for recognising it when it is sent again.
    pub message_id: Option<Name>,
    /// What must match, as a JSON object.
    pub correlation: Name,
    /// All of it, as the codec writes it; nothing for one that is not held any more, and only
    /// recognised when it is sent again.
    pub body: Vec<u8>,
    /// When it came.
    pub published: Timestamp,
    /// When it is dropped.
    pub expires: Option<Timestamp>,
    /// Since when it is a dead letter, which nobody receives; `None` for one that is held.
    pub dead: Option<Timestamp>,
    /// Why it is one.
    pub reason: Option<Name>,
}

/// A question about the rows of one table. A filter that its table has no column for is refused.
///
/// ```
/// # use travertine_store::view::{Cursor, Filter, Key, Query, Table};
/// let mut query = Query {
///     table: Table::Incidents,
///     filters: vec![Filter::Definition("order".into())],
///     descending: true,
///     after: None,
///     limit: 20,
/// };
/// // The page after that which ended at token 3 of instance 12.
/// query.after = Some(Cursor(Key { instance: 12, number: 3, name: "".into() }));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The table.
    pub table: Table,
    /// All of these must hold.
    pub filters: Vec<Filter>,
    /// The newest first, not the oldest.
    pub descending: bool,
    /// Where the last page ended.
    pub after: Option<Cursor>,
    /// The most rows of a page.
    pub limit: u32,
}

/// Something that must hold for a row.
///
/// ```
/// # use travertine_store::view::Filter;
/// # use travertine_value::time::Timestamp;
/// // Ann's tasks that are late.
/// fn late(now: Timestamp) -> Vec<Filter> {
///     vec![Filter::Assignee("ann".into()), Filter::Due(None, Some(now))]
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// It is about this instance.
    Instance(u64),
    /// It is about the outermost caller with this number, or what that has called.
    Root(u64),
    /// Its instance was called by this one.
    Parent(u64),
    /// Its instance was called by nobody.
    TopLevel,
    /// Its instance runs a definition of this id.
    Definition(Name),
    /// Its instance runs a definition of another id.
    NotDefinition(Name),
    /// Its instance runs this version of its definition.
    Version(u32),
    /// Its instance is in one of these states.
    State(Vec<InstanceState>),
    /// People call its instance so.
    BusinessId(Name),
    /// Its instance began in this span: from, to (without).
    Started(Option<Timestamp>, Option<Timestamp>),
    /// Its instance ended in this span: from, to (without).
    Ended(Option<Timestamp>, Option<Timestamp>),
    /// Its instance has incidents, or has none.
    HasIncidents(bool),
    /// Its instance runs and has a variable of this name in any layer, with this value as JSON.
    Variable(Name, Name),
    /// It is about an element with this id.
    Element(Name),
    /// It has this name: of a variable, message, signal.
    Named(Name),
    /// It is a job of this type.
    JobType(Name),
    /// It is a job in this state.
    JobState(JobState),
    /// It is a task of this assignee.
    Assignee(Name),
    /// It is a task without an assignee.
    Unassigned,
    /// It is a task for this candidate.
    CandidateUser(Name),
    /// It is a task for this group.
    CandidateGroup(Name),
    /// It is due in this span: from, to (without).
    Due(Option<Timestamp>, Option<Timestamp>),
    /// It is a subscription of this kind.
    Kind(SubscriptionKind),
    /// It is a message that is a dead letter, or one that is none.
    Dead(bool),
}

/// A place between two rows of a table: the key of the last row seen. It stays meaningful when rows
/// come and go.
///
/// ```
/// # use travertine_store::view::{Cursor, Key};
/// let cursor = Cursor(Key { instance: 12, number: 3, name: "".into() });
/// assert_eq!(cursor.0.instance, 12);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(pub Key);

/// Rows, and where they go on.
///
/// ```
/// # use travertine_store::view::Page;
/// let page = Page::default();
/// assert!(page.rows.is_empty());
/// assert_eq!(page.next, None, "there is no further page");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The rows.
    pub rows: Vec<Row>,
    /// Where the next page begins; `None` where there is none.
    pub next: Option<Cursor>,
}

impl Table {
    /// The shard that a row with this key belongs to, where the key tells. Subscriptions are kept by name.
    #[doc(hidden)] // Where it is kept is the business of the engine.
    pub fn shard(self, key: &Key, shards: u16) -> Option<ShardId> {
        match self {
            Self::Subscriptions => None,
            // A timer that starts instances is numbered like an instance.
            Self::Timers if key.instance == 0 => Some(ShardId::of(key.number, shards)),
            Self::Instances
            | Self::Elements
            | Self::Variables
            | Self::Jobs
            | Self::Tasks
            | Self::Timers
            | Self::Incidents
            | Self::Messages
            | Self::PastJobs
            | Self::PastTasks
            | Self::PastIncidents => Some(ShardId::of(key.instance, shards)),
        }
    }
}

impl InstanceState {
    /// All of them.
    #[doc(hidden)] // For who reads a word.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Suspended,
        Self::Halted,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word for it, wherever it is data.
    ///
    /// ```
    /// # use travertine_store::view::InstanceState;
    /// assert_eq!(InstanceState::Running.name(), "running");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Halted => "halted",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl JobState {
    /// All of them.
    #[doc(hidden)] // For who reads a word.
    pub const ALL: [Self; 6] = [
        Self::Available,
        Self::Leased,
        Self::Failed,
        Self::Completed,
        Self::Cancelled,
        Self::Raised,
    ];

    /// The word for it, wherever it is data.
    ///
    /// ```
    /// # use travertine_store::view::JobState;
    /// assert_eq!(JobState::Leased.name(), "leased");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Leased => "leased",
            Self::Failed => "failed",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Raised => "raised",
        }
    }

    /// Whether it is over.
    ///
    /// ```
    /// # use travertine_store::view::JobState;
    /// assert!(JobState::Raised.is_past());
    /// assert!(!JobState::Failed.is_past());
    /// ```
    pub fn is_past(self) -> bool {
        match self {
            Self::Available | Self::Leased | Self::Failed => false,
            Self::Completed | Self::Cancelled | Self::Raised => true,
        }
    }
}

impl TaskState {
    /// All of them.
    #[doc(hidden)] // For who reads a word.
    pub const ALL: [Self; 3] = [Self::Open, Self::Completed, Self::Cancelled];

    /// The word for it, wherever it is data.
    ///
    /// ```
    /// # use travertine_store::view::TaskState;
    /// assert_eq!(TaskState::Completed.name(), "completed");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl SubscriptionKind {
    /// All of them.
    #[doc(hidden)] // For who reads a word.
    pub const ALL: [Self; 2] = [Self::Message, Self::Signal];

    /// The word for it, wherever it is data.
    ///
    /// ```
    /// # use travertine_store::view::SubscriptionKind;
    /// assert_eq!(SubscriptionKind::Signal.name(), "signal");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Signal => "signal",
        }
    }
}

impl Row {
    /// The table it belongs to.
    ///
    /// ```
    /// # use travertine_store::view::{Row, Table, VariableRow};
    /// let (name, value) = ("town".into(), r#""Rome""#.into());
    /// let town = VariableRow { instance: 12, layer: 1, name, value, number: 3, visit: 0 };
    /// assert_eq!(Row::Variable(town).table(), Table::Variables);
    /// ```
    pub fn table(&self) -> Table {
        match self {
            Self::Instance(_) => Table::Instances,
            Self::Element(_) => Table::Elements,
            Self::Variable(_) => Table::Variables,
            Self::Job(it) if it.ended.is_some() => Table::PastJobs,
            Self::Job(_) => Table::Jobs,
            Self::Task(it) if it.ended.is_some() => Table::PastTasks,
            Self::Task(_) => Table::Tasks,
            Self::Timer(_) => Table::Timers,
            Self::Subscription(_) => Table::Subscriptions,
            Self::Incident(it) if it.ended.is_some() => Table::PastIncidents,
            Self::Incident(_) => Table::Incidents,
            Self::Message(_) => Table::Messages,
        }
    }

    /// What names it within its table.
    ///
    /// ```
    /// # use travertine_store::view::{Row, VariableRow};
    /// let (name, value) = ("town".into(), r#""Rome""#.into());
    /// let town = VariableRow { instance: 12, layer: 1, name, value, number: 3, visit: 0 };
    /// let key = Row::Variable(town).key();
    /// assert_eq!((key.instance, key.number, &*key.name), (12, 1, "town"));
    /// ```
    pub fn key(&self) -> Key {
        let plain = |instance, number| Key { instance, number, name: Name::from("") };
        match self {
            Self::Instance(it) => plain(it.id, 0),
            Self::Element(it) => plain(it.instance, it.token),
            Self::Variable(it) => {
                Key { instance: it.instance, number: it.layer, name: Name::clone(&it.name) }
            }
            Self::Job(it) => plain(it.instance, it.wait),
            Self::Task(it) => plain(it.instance, it.wait),
            Self::Timer(it) => plain(it.instance, it.wait),
            Self::Subscription(it) => plain(it.instance, it.wait),
            Self::Incident(it) => plain(it.instance, it.number),
            Self::Message(it) => plain(it.id, 0),
        }
    }

    /// When what it tells of was over, where that is so.
    #[doc(hidden)] // For the engine and for stores.
    pub fn ended(&self) -> Option<Timestamp> {
        match self {
            Self::Instance(it) => it.ended,
            Self::Job(it) => it.ended,
            Self::Task(it) => it.ended,
            Self::Incident(it) => it.ended,
            Self::Element(_)
            | Self::Variable(_)
            | Self::Timer(_)
            | Self::Subscription(_)
            | Self::Message(_) => None,
        }
    }

    /// The shard it belongs to.
    #[doc(hidden)] // Where it is kept is the business of the engine.
    pub fn shard(&self, shards: u16) -> ShardId {
        if let Self::Subscription(it) = self {
            return it.keeper;
        }
        self.table().shard(&self.key(), shards).expect("only subscriptions are kept by name")
    }
}
