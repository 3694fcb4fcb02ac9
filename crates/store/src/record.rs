//! What the entries of the log and the mails between shards say.
//!
//! These are the types of today. What they look like in bytes is the business of the [`codec`](crate::codec), which
//! has types of its own for that.

use std::time::Duration;

use travertine_kernel::{Assignments, Catches, Ending, Event, Failure, PostId, WaitId};
pub use travertine_kernel::{Consume, Delivery};
use travertine_value::{
    Name,
    time::{Repeat, Timestamp},
};

use crate::{Address, DefinitionKey, InstanceId};

/// One thing that an entry tells. An entry about an instance tells of it, in order; an entry about no
/// instance tells of its shard.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The instance has been made.
    Created(Created),
    /// Something happened in it.
    Happened(Vec<Event>),
    /// It stands still until it is resumed.
    Suspended,
    /// It goes on.
    Resumed,
    /// The engine failed on it. It stands still until it is released.
    Halted(String),
    /// It may be tried again.
    Released,
    /// It is told this as soon as it can hear it.
    Deferred(Letter),
    /// It has been told what was deferred.
    Recalled,
    /// A worker has a job.
    Leased {
        /// The job's wait.
        wait: WaitId,
        /// Who has it.
        worker: Name,
        /// Until when.
        until: Timestamp,
    },
    /// A job is offered again from then on.
    Paused {
        /// The job's wait.
        wait: WaitId,
        /// From when; at once where it is past.
        until: Timestamp,
    },
    /// Someone has changed a user task.
    TaskChanged {
        /// The task's wait.
        wait: WaitId,
        /// What is different now.
        change: TaskChange,
    },
    /// Someone has moved a timer.
    TimerMoved {
        /// The timer's wait.
        wait: WaitId,
        /// When it is due now.
        due: Timestamp,
    },
    /// It runs another version from now on.
    Migrated {
        /// The key of its definition.
        definition: DefinitionKey,
    },
    /// It has ended, and this is all that is kept of it.
    Folded(Box<Folded>),
    /// A message is held.
    Held(Held),
    /// A message is not held any more: received, expired, or withdrawn.
    Gone {
        /// The message.
        message: u64,
    },
    /// A message of this name was accepted, whoever it is for; the same again is recognised until then.
    /// Only read: `Recognised` says for whom.
    Known {
        /// A number for that.
        number: u64,
        /// The name of the message.
        name: Name,
        /// What its sender calls it.
        id: Name,
        /// Until when.
        until: Timestamp,
    },
    /// An instance of another shard waits for messages or signals that this one finds receivers for.
    Subscribed(Subscription),
    /// It does not any more.
    Unsubscribed {
        /// The instance.
        instance: InstanceId,
        /// The wait.
        wait: WaitId,
    },
    /// One of several triggers of a start event has happened.
    Noted {
        /// The start event.
        start: StartKey,
        /// What it brought.
        variables: Assignments,
    },
    /// All triggers of a start event have happened, and count no more.
    Unnoted {
        /// The start event; its position counts for nothing.
        start: StartKey,
    },
    /// A timer that starts instances.
    StartTimer(StartTimer),
    /// The instance has had messages of a name that many receive, and does not get them again.
    Heard {
        /// The name.
        name: Name,
        /// All of them up to this number count as had.
        after: u64,
        /// Those with greater numbers that it has had, in order.
        had: Vec<u64>,
    },
    /// The function that is folded with this began as another one.
    BeganAs {
        /// The id of that.
        definition: Name,
    },
    /// Someone has ended it while it was halted. What was true of it before counts no more.
    Ended(Box<Folded>),
    /// A message of this name for this receiver was accepted; the same again is recognised until then.
    Recognised {
        /// A number for that.
        number: u64,
        /// The name of the message.
        name: Name,
        /// For whom it is: its properties, as text.
        receiver: Name,
        /// What its sender calls it.
        id: Name,
        /// Until when.
        until: Timestamp,
    },
    /// What the starter of the instance says of it.
    Labelled(Box<Labels>),
    /// Numbers of messages and signals up to this one may have been given, counted by this shard alone.
    Numbered {
        /// How many.
        messages: u64,
    },
    /// Its starter wants the instance to end once one of these elements is over.
    EndsAfter {
        /// Their ids in the model.
        elements: Vec<Name>,
    },
    /// Who has asked for what else stands in the entry.
    By {
        /// Whom they log in as.
        who: Name,
    },
    /// Which batch has asked for what else stands in the entry, and who has begun it.
    ByBatch {
        /// Whom they log in as.
        who: Name,
        /// The batch.
        batch: InstanceId,
    },
}

/// What the starter of an instance says of it, besides its business id.
///
/// ```
/// # use travertine_store::record::Labels;
/// let labels = Labels { tags: vec!["urgent".into()], ..Labels::default() };
/// assert_eq!(labels.trace, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Its tags.
    pub tags: Vec<Name>,
    /// The trace that it was started in, as a W3C `traceparent`.
    pub trace: Option<Name>,
}

/// How an instance came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The key of what it runs.
    pub definition: DefinitionKey,
    /// What people call it.
    pub business_id: Option<Name>,
    /// The call that it answers: instance and wait.
    pub caller: Option<Address>,
    /// The outermost caller; 0 where it is the instance itself.
    pub root: InstanceId,
    /// How many callers there are.
    pub depth: u32,
}

/// A change of something that need not be there.
///
/// ```
/// # use travertine_store::record::{Edit, TaskChange};
/// let change =
///     TaskChange { assignee: Edit::Set("ann".into()), due: Edit::Remove, ..TaskChange::default() };
/// assert_eq!(change.follow_up, Edit::Keep);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Edit<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is gone.
    Remove,
    /// It is this.
    Set(T),
}

impl<T> Edit<T> {
    /// What is there after the change, where `old` was there before.
    ///
    /// ```
    /// # use travertine_store::record::Edit;
    /// assert_eq!(Edit::Set(2).apply(|| Some(1)), Some(2));
    /// assert_eq!(Edit::Keep.apply(|| Some(1)), Some(1));
    /// assert_eq!(Edit::Remove.apply(|| Some(1)), None);
    /// ```
    pub fn apply(self, old: impl FnOnce() -> Option<T>) -> Option<T> {
        match self {
            Self::Keep => old(),
            Self::Remove => None,
            Self::Set(new) => Some(new),
        }
    }

    fn merge(&mut self, newer: Self) {
        if !matches!(newer, Self::Keep) {
            *self = newer;
        }
    }
}

/// What someone has changed of a user task. `None` leaves it as it is.
///
/// ```
/// # use travertine_store::record::{Edit, TaskChange};
/// let change = TaskChange { priority: Some(80), due: Edit::Remove, ..TaskChange::default() };
/// assert_eq!(change.assignee, Edit::Keep);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskChange {
    /// Who does it.
    pub assignee: Edit<Name>,
    /// Who may do it.
    pub candidate_users: Option<Vec<Name>>,
    /// Which groups may do it.
    pub candidate_groups: Option<Vec<Name>>,
    /// By when.
    pub due: Edit<Timestamp>,
    /// When to look again.
    pub follow_up: Edit<Timestamp>,
    /// Greater comes first.
    pub priority: Option<i64>,
}

/// What is kept of an ended instance once its history is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// How it came to be.
    pub created: Created,
    /// When it began.
    pub started: Timestamp,
    /// How it ended.
    pub ending: Ending,
    /// Its variables at the end.
    pub variables: Assignments,
}

/// A held message.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// Its number.
    pub number: u64,
    /// What it is.
    pub message: Message,
    /// When it came.
    pub published: Timestamp,
    /// When it is dropped.
    pub expires: Option<Timestamp>,
    /// Why nobody will receive it any more.
    pub dead: Option<Dead>,
}

/// What became of a message that nobody has received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dead {
    /// Since when.
    pub at: Timestamp,
    /// Why.
    pub reason: Name,
}

/// A message.
///
/// ```
/// # use std::time::Duration;
/// # use travertine_store::record::Message;
/// let paid = Message {
///     correlation: vec![("order".into(), 12.into())],
///     variables: vec![("cents".into(), 1_200.into())],
///     ttl: Some(Duration::from_mins(1)), // Should nobody wait for it yet.
///     ..Message::new("paid")
/// };
/// assert_eq!(paid.variables[0].1.as_i64(), Some(1_200));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its name.
    pub name: Name,
    /// Named properties that must match where both sides define them.
    pub correlation: Assignments,
    /// What it brings.
    pub variables: Assignments,
    /// What its sender calls it.
    pub id: Option<Name>,
    /// How long it is held for a receiver that does not wait yet; for good where nothing is said.
    pub ttl: Option<Duration>,
    /// Who receives it.
    pub consume: Consume,
    /// Which waits it is for.
    pub delivery: Delivery,
}

/// Whether messages or signals are meant.
///
/// ```
/// # use travertine_store::record::SubscriptionKind;
/// assert!(SubscriptionKind::Message < SubscriptionKind::Signal);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubscriptionKind {
    /// Messages.
    Message,
    /// Signals.
    Signal,
}

/// A wait for messages or signals.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscription {
    /// The instance.
    pub instance: InstanceId,
    /// The wait.
    pub wait: WaitId,
    /// For what.
    pub kind: SubscriptionKind,
    /// The name.
    pub name: Name,
    /// What must match.
    pub correlation: Assignments,
    /// The element that waits, for people.
    pub element: Name,
    /// Since when.
    pub since: Timestamp,
    /// Its place among those who wait, given by the shard that finds receivers; 0 before that.
    pub place: u64,
    /// When the instance began.
    pub created: Timestamp,
    /// Messages for many with numbers up to this one are not for it: the instance has had them.
    pub after: u64,
    /// Those with greater numbers that it has had, in order.
    pub had: Vec<u64>,
}

/// One trigger of a start event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StartKey {
    /// The key of the definition.
    pub definition: DefinitionKey,
    /// The start event's node.
    pub node: u32,
    /// Which of its triggers.
    pub position: u32,
}

/// A timer that starts instances.
#[derive(Clone, Debug, PartialEq)]
pub struct StartTimer {
    /// The start event.
    pub start: StartKey,
    /// When it is due; never again where that is `None`.
    pub due: Option<Timestamp>,
    /// How it goes on after that.
    pub repeat: Option<Repeat>,
}

/// What one shard asks of another, or of itself later.
#[derive(Clone, Debug, PartialEq)]
pub enum Letter {
    /// Start what an instance calls.
    Call(Call),
    /// What was called has ended.
    Ended {
        /// The call: instance and wait.
        to: Address,
        /// What was called.
        child: InstanceId,
        /// How it ended.
        ending: Ending,
        /// Its variables.
        variables: Assignments,
    },
    /// What was called cannot be started, as it was said before failures had kinds here. Only read.
    NotCalled {
        /// The call: instance and wait.
        to: Address,
        /// Why.
        reason: String,
    },
    /// A call is not needed any more.
    Uncall {
        /// The call: instance and wait.
        from: Address,
    },
    /// What was called has raised an escalation that it does not catch.
    Escalated {
        /// The call: instance and wait.
        to: Address,
        /// The escalation's code.
        code: Option<Name>,
        /// The variables of what raised it.
        variables: Assignments,
        /// What raised it waits to hear this, once the caller knows.
        confirm: Box<Self>,
    },
    /// Something that an instance sent has arrived.
    Delivered {
        /// The instance.
        instance: InstanceId,
        /// What it calls what it sent.
        post: PostId,
    },
    /// A wait for messages or signals has begun.
    Subscribe(Subscription),
    /// It is over.
    Unsubscribe {
        /// The instance.
        instance: InstanceId,
        /// The wait.
        wait: WaitId,
    },
    /// Find a receiver for a message.
    Publish {
        /// The message.
        message: Message,
        /// Whether a receiver has had it before and did not want it after all.
        again: bool,
        /// When it was published, for such a one.
        published: Timestamp,
        /// When it is dropped, for such a one; for good where nothing is said.
        expires: Option<Timestamp>,
    },
    /// A message is there for a wait.
    Deliver {
        /// Its receiver: instance and wait.
        to: Address,
        /// The message.
        message: Message,
        /// When it was published.
        published: Timestamp,
        /// When it is dropped.
        expires: Option<Timestamp>,
        /// What its receiver remembers, where many receive it.
        shared: Option<Shared>,
    },
    /// Tell all who wait for a signal.
    Broadcast {
        /// The signal's name.
        name: Name,
        /// What it brings.
        variables: Assignments,
        /// The instance that sent it, which has heard of it already.
        from: Option<InstanceId>,
    },
    /// A signal is there for a wait.
    Signal {
        /// Its receiver: instance and wait.
        to: Address,
        /// What it brings.
        variables: Assignments,
    },
    /// A timer has come due.
    Ring {
        /// Whose: instance and wait.
        to: Address,
    },
    /// End an instance that nobody needs any more.
    Cancel {
        /// The instance.
        instance: InstanceId,
    },
    /// Start something that goes its own way.
    Start {
        /// What it runs, in its latest version.
        definition: Name,
        /// What people call it.
        id: Name,
        /// What it begins with.
        variables: Assignments,
    },
    /// One of several triggers of a start event has happened.
    Trigger {
        /// The start event.
        start: StartKey,
        /// What it brought.
        variables: Assignments,
    },
    /// Make a dead letter of a message that its receiver cannot take.
    Bury {
        /// The message.
        message: Message,
        /// When it was published.
        published: Timestamp,
        /// When it would have been dropped.
        expires: Option<Timestamp>,
        /// Why it cannot be taken.
        reason: Name,
    },
    /// Say which of these variables a wait sees.
    AskVariables {
        /// The wait, of an instance.
        of: Address,
        /// The names of the variables.
        names: Vec<Name>,
    },
    /// A wait sees these variables.
    Variables {
        /// The wait, of an instance.
        of: Address,
        /// The variables.
        values: Assignments,
    },
    /// What was called cannot begin, or has ended without an outcome.
    CallFailed {
        /// The call: instance and wait.
        to: Address,
        /// Why.
        failure: Failure,
    },
    /// A letter that may start instances, and how many have started one another up to those.
    Chained {
        /// How many.
        generation: u32,
        /// The letter.
        letter: Box<Self>,
    },
}

/// What a receiver of a message that many receive remembers of it, so that it gets it once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The message.
    pub number: u64,
    /// Up to this number there is no message for many of that name that the receiver has not had, once
    /// it has had this one.
    pub upto: u64,
}

/// A call of a definition by an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The call: instance and wait.
    pub from: Address,
    /// The key of the definition.
    pub definition: DefinitionKey,
    /// What it begins with.
    pub variables: Assignments,
    /// What the caller catches.
    pub catches: Catches,
    /// The outermost caller.
    pub root: InstanceId,
    /// How many callers there are.
    pub depth: u32,
}

/// What a shard knows besides its instances, messages and subscriptions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShardState {
    /// How many instances it has made.
    pub instances: u64,
    /// How many messages it has held.
    pub messages: u64,
    /// Triggers of start events that wait for others, and what they brought.
    pub noted: Vec<Noted>,
    /// Timers that start instances.
    pub timers: Vec<StartTimer>,
    /// Instances that used up their turn.
    pub unfinished: Vec<InstanceId>,
}

/// A trigger of a start event that waits for others.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// The start event.
    pub start: StartKey,
    /// What it brought.
    pub variables: Assignments,
}

/// Everything about an instance, as a snapshot keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// How it came to be.
    pub created: Created,
    /// The key of what it runs now.
    pub definition: DefinitionKey,
    /// What is known of it outside the kernel, as records that make it so.
    pub records: Vec<Record>,
    /// Since when each of its waits for work has been open.
    pub since: Vec<(WaitId, Timestamp)>,
    /// The kernel's state, as [`encode_instance`](crate::codec::encode_instance) writes it.
    pub state: Vec<u8>,
}

impl Subscription {
    /// The wait that it is.
    pub fn address(&self) -> Address {
        Address { instance: self.instance, wait: self.wait }
    }
}

impl Message {
    /// A message of that name that brings nothing and is held for good.
    ///
    /// ```
    /// # use travertine_store::record::Message;
    /// let paid = Message::new("paid");
    /// assert_eq!((&*paid.name, paid.ttl), ("paid", None));
    /// ```
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            correlation: Vec::new(),
            variables: Vec::new(),
            id: None,
            ttl: None,
            consume: Consume::One,
            delivery: Delivery::All,
        }
    }
}

impl TaskChange {
    /// Takes over what `newer` changes.
    ///
    /// ```
    /// # use travertine_store::record::{Edit, TaskChange};
    /// let mut change = TaskChange { priority: Some(80), ..TaskChange::default() };
    /// change.merge(TaskChange { due: Edit::Remove, ..TaskChange::default() });
    /// assert_eq!((change.priority, change.due), (Some(80), Edit::Remove));
    /// ```
    pub fn merge(&mut self, newer: Self) {
        self.assignee.merge(newer.assignee);
        self.candidate_users = newer.candidate_users.or_else(|| self.candidate_users.take());
        self.candidate_groups = newer.candidate_groups.or_else(|| self.candidate_groups.take());
        self.due.merge(newer.due);
        self.follow_up.merge(newer.follow_up);
        self.priority = newer.priority.or(self.priority);
    }
}
