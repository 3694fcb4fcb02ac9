//! What can go wrong around the kernel.

use std::{fmt, sync::Arc};

use travertine_kernel::{FailureKind, Rejection, plan::WorkKind};
use travertine_value::Name;

use crate::{Address, InstanceId, Named, RequestOutcome, Timestamp};

/// Why something asked of the runtime was not done.
///
/// ```
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::Options;
/// let engine = Engine::in_memory(Options::default())?;
/// match engine.start("delivery").wait() {
///     Err(Error::NoSuchDefinition(id)) => assert_eq!(&*id, "delivery"),
///     other => println!("{other:?}"),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Nothing is deployed under that id.
    NoSuchDefinition(Name),
    /// The definition has no element of that id.
    NoSuchElement {
        /// The definition.
        definition: Name,
        /// The id.
        element: Name,
    },
    /// No instance has that id.
    NoSuchInstance(InstanceId),
    /// No token is on that visit of the instance: it has left the element, or never was there.
    NoSuchVisit {
        /// The instance.
        instance: InstanceId,
        /// The number of the visit.
        visit: u64,
    },
    /// It has no variables of its own that could be set.
    NoVariables(Named),
    /// No dead letter has that number.
    NoSuchDeadLetter(u64),
    /// No schedule has that name.
    NoSuchSchedule(Name),
    /// The schedule cannot be made.
    BadSchedule {
        /// Its name.
        schedule: Name,
        /// Why.
        reason: String,
    },
    /// What triggers a start event cannot be worked out.
    BadStart {
        /// The definition.
        definition: Name,
        /// The start event.
        start: Name,
        /// Why.
        reason: String,
    },
    /// The instance has refused.
    Rejected(Rejection),
    /// Someone has stopped the instance for a while.
    Suspended(InstanceId),
    /// The instance is not suspended.
    NotSuspended(InstanceId),
    /// The engine failed on the instance, which stands still until someone has looked.
    Halted {
        /// The instance.
        instance: InstanceId,
        /// What happened.
        reason: String,
    },
    /// The code of a function cannot go on: it panicked, or does not agree with its journal, or is not
    /// in this program. The run goes on when a program whose code can is started.
    Blocked {
        /// The instance.
        instance: InstanceId,
        /// What people call it.
        id: Name,
        /// What kind of fault it is.
        kind: FailureKind,
        /// What is wrong.
        reason: String,
    },
    /// The instance is not halted.
    NotHalted(InstanceId),
    /// The instance cannot go on by the other version. Nothing has changed.
    NotMigrated {
        /// The instance.
        instance: InstanceId,
        /// Why not.
        problems: Vec<String>,
    },
    /// The job is not with any worker.
    NotLeased(Address),
    /// The job has failed as often as it may.
    NoRetriesLeft(Address),
    /// It is work of another kind than what was asked is for.
    WrongKind {
        /// The job or the user task.
        work: Address,
        /// What it is.
        is: WorkKind,
    },
    /// Someone else does the user task.
    Claimed {
        /// The task.
        task: Address,
        /// Who does it.
        by: Name,
    },
    /// The message is to one instance, and several wait for it that could be meant. Nobody has it.
    SeveralReceivers {
        /// The name of the message.
        message: Name,
        /// The instances.
        instances: Vec<InstanceId>,
    },
    /// The message is to one instance, which does not wait for it, and it is not to be held. Nobody has it.
    NoReceiver {
        /// The name of the message.
        message: Name,
        /// Who does not wait for it, in words.
        reason: String,
    },
    /// It cannot be done now; later it may.
    Busy {
        /// Why.
        reason: String,
    },
    /// The shard that has it was lost, and is claimed again as soon as that can be done. It was not done; later it may.
    Unavailable {
        /// The shard.
        shard: travertine_store::ShardId,
        /// Why it was lost.
        reason: String,
    },
    /// The engine failed. Nothing has changed.
    Failed {
        /// What happened.
        reason: String,
    },
    /// The engine is closed, or has failed, and takes no more. It was not done.
    Closed {
        /// Why.
        reason: String,
    },
    /// The engine or a shard of it has failed, or was closed, before it could be told whether it was done, or all of it
    /// was. Nobody knows.
    Unknown {
        /// What happened.
        reason: String,
    },
    /// What was deployed cannot be read, or is refused.
    Refused {
        /// The diagnostics that say why.
        diagnostics: Vec<String>,
    },
    /// It is more than can be done at once.
    TooMany {
        /// How many, and what to do.
        reason: String,
    },
    /// Something else still needs it.
    InUse {
        /// What is needed, and by what.
        reason: String,
    },
    /// An instance cannot have such tags, or such a trace.
    BadLabel {
        /// Why.
        reason: String,
    },
    /// Something else goes by that id already.
    AlreadyExists {
        /// The id.
        id: Name,
        /// What goes by it.
        instance: InstanceId,
        /// What that is an instance of.
        definition: Name,
    },
    /// No instance can have that id: it is what instances are called by their numbers.
    ReservedId(Name),
    /// Nothing can have that id.
    BadId {
        /// The id.
        id: Name,
        /// Why.
        reason: BadId,
    },
    /// The code of a function says no.
    Function {
        /// The instance.
        instance: InstanceId,
        /// What it says.
        failure: travertine_func::Failure,
        /// Whether it has changed something in spite of that.
        outcome: RequestOutcome,
    },
    /// The store has failed.
    Store(travertine_store::Error),
    /// What the store has cannot be read.
    Damaged {
        /// The instance, where it is one.
        instance: Option<InstanceId>,
        /// What.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The views of a shard cannot be read. The log says the same, and more.
    DamagedViews {
        /// The shard.
        shard: travertine_store::ShardId,
        /// What is wrong with them.
        reason: String,
    },
    /// The process died again and again while this was started for the same reason.
    Deadly {
        /// What was to be started.
        definition: Name,
        /// How often.
        deaths: u32,
    },
    /// The clock does not go backwards.
    Backwards {
        /// The time it shows.
        now: Timestamp,
    },
    /// The instances have not come to rest after so many events. They are as they are then, and can
    /// go on.
    Restless {
        /// How many.
        events: u64,
        /// How many bytes tell of them.
        bytes: u64,
    },
}

/// Why nothing can have an id.
///
/// ```
/// # use travertine_runtime::{BadId, Engine, Error};
/// # use travertine_runtime::engine::Options;
/// let engine = Engine::in_memory(Options::default())?;
/// # let body = br#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="x">
/// #   <process id="delivery" isExecutable="true"><startEvent id="start"/></process>
/// # </definitions>"#.to_vec();
/// # engine.deploy(&[travertine_runtime::engine::File { name: "delivery.bpmn".into(), body }])?;
/// let refused = engine.start("delivery").id("").wait();
/// assert!(matches!(refused, Err(Error::BadId { reason: BadId::Empty, .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadId {
    /// It is empty.
    Empty,
    /// It has nothing but white space, or what nobody sees.
    Blank,
    /// It has more bytes than an id may have.
    TooLong {
        /// How many an id may have.
        max: usize,
    },
    /// It has a character that is not shown but does something: a line break, an escape, a turn of the direction
    /// in which one reads.
    Control(char),
    /// The engine keeps it for itself.
    Reserved,
}

impl BadId {
    fn tell(self, id: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("an id cannot be empty; choose one, or give none"),
            Self::Blank => write!(
                f,
                "an id cannot be blank, and \"{}\" has nothing to see; choose one, or give none",
                id.escape_default()
            ),
            Self::TooLong { max } => {
                write!(f, "an id has at most {max} bytes, and this one has {}", id.len())
            }
            Self::Control(letter) => write!(
                f,
                "an id has no control characters, and \"{}\" has {}",
                id.escape_debug(),
                letter.escape_unicode()
            ),
            Self::Reserved => {
                write!(f, "{id} is a name that the engine keeps for itself; choose another one")
            }
        }
    }
}

impl Error {
    pub(crate) fn no_such_definition(id: &str) -> Self {
        Self::NoSuchDefinition(Arc::from(id))
    }

    pub(crate) fn damaged(place: String, error: &dyn fmt::Display) -> Self {
        Self::Damaged { instance: None, place, reason: error.to_string() }
    }

    pub(crate) fn damaged_instance(instance: InstanceId, error: &dyn fmt::Display) -> Self {
        let (place, reason) = (format!("instance {instance}"), error.to_string());
        Self::Damaged { instance: Some(instance), place, reason }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchDefinition(id) => write!(f, "no such definition: {id}"),
            Self::NoSuchElement { definition, element } => {
                write!(f, "no such element in {definition}: {element}")
            }
            Self::NoSuchInstance(id) => write!(f, "no such instance: {id}"),
            Self::NoSuchVisit { instance, visit } => write!(
                f,
                "no element instance {visit} is open in instance {instance}: it has ended, or never was"
            ),
            Self::NoVariables(it) => {
                write!(f, "{it} has no variables: name an instance or an element instance")
            }
            Self::NoSuchDeadLetter(number) => write!(f, "no such dead letter: {number}"),
            Self::NoSuchSchedule(name) => write!(f, "no such schedule: {name}"),
            Self::BadSchedule { schedule, reason } => write!(f, "schedule {schedule}: {reason}"),
            Self::BadStart { definition, start, reason } => {
                write!(f, "the start event {start} of {definition} cannot be triggered: {reason}")
            }
            Self::Rejected(rejection) => rejection.fmt(f),
            Self::Suspended(id) => write!(f, "instance {id} is suspended, resume it first"),
            Self::NotSuspended(id) => write!(f, "instance {id} is not suspended"),
            Self::Halted { instance, reason } => {
                write!(f, "instance {instance} is halted, resolve that first: {reason}")
            }
            Self::Blocked { id, reason, instance: _, kind: _ } => write!(
                f,
                "{id} cannot go on: {reason}. It is kept, and goes on when a program whose code can is \
                 started"
            ),
            Self::NotHalted(id) => write!(f, "instance {id} is not halted"),
            Self::NotMigrated { instance, problems } => {
                write!(f, "instance {instance} cannot be migrated: {}", problems.join("; "))
            }
            Self::NotLeased(job) => write!(f, "no worker has job {job}"),
            Self::NoRetriesLeft(job) => {
                write!(f, "job {job} has no retries left: give it some, then resolve its incident")
            }
            Self::WrongKind { work, is: WorkKind::User } => {
                write!(f, "{work} is a user task, not a job: what was asked is for jobs")
            }
            Self::WrongKind { work, is: WorkKind::Job } => {
                write!(f, "{work} is a job, not a user task: what was asked is for user tasks")
            }
            Self::Claimed { task, by } => write!(f, "{by} does task {task}"),
            Self::SeveralReceivers { message, instances } => {
                let all: Vec<String> = instances.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "message {message} is to one instance, and several that could be meant wait for it: {}; \
                     nobody has received it",
                    all.join(", ")
                )
            }
            Self::NoReceiver { message, reason } => {
                write!(f, "nobody has received message {message}: {reason}")
            }
            Self::Busy { reason }
            | Self::TooMany { reason }
            | Self::InUse { reason }
            | Self::BadLabel { reason } => f.write_str(reason),
            Self::Unavailable { shard, reason } => {
                write!(
                    f,
                    "shard {shard} is lost for now and will be claimed again: {reason}; try again"
                )
            }
            Self::Failed { reason } => write!(f, "the engine failed: {reason}"),
            Self::Closed { reason } => write!(f, "the engine is closed: {reason}"),
            Self::Unknown { reason } => {
                write!(f, "whether it was done is not known: {reason}")
            }
            Self::Refused { diagnostics } => f.write_str(&diagnostics.join("\n")),
            Self::AlreadyExists { id, instance, definition } => write!(
                f,
                "{id} is instance {instance} of {definition} already, which runs or was started with other arguments; \
                 choose another id"
            ),
            Self::ReservedId(id) => write!(
                f,
                "{id} is what the instance of that number is called where it has no id; choose another id"
            ),
            Self::BadId { id, reason } => reason.tell(id, f),
            Self::Function { instance, failure, outcome: _ } => {
                write!(f, "instance {instance}: {failure}")
            }
            Self::Store(error) => error.fmt(f),
            Self::Damaged { place, reason, instance: _ } => {
                write!(f, "{place} is damaged: {reason}")
            }
            Self::DamagedViews { shard, reason } => {
                write!(f, "the views of shard {shard}: {reason}")
            }
            Self::Deadly { definition, deaths } => write!(
                f,
                "the process died {deaths} times while {definition} was started for this, which is not done again \
                 by itself: find out what became of memory, stack or native code, then have it tried again"
            ),
            Self::Backwards { .. } => f.write_str("the clock does not go backwards"),
            Self::Restless { events, bytes } => write!(
                f,
                "the instances have not come to rest after {events} events, {} MiB of them",
                bytes >> 20
            ),
        }
    }
}

// What is inside says the same, so it is not the cause as well.
impl std::error::Error for Error {}

impl From<travertine_store::Error> for Error {
    fn from(error: travertine_store::Error) -> Self {
        Self::Store(error)
    }
}

impl From<Rejection> for Error {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}
