//! What may be asked of a shard, as data.
//!
//! A request is a value: it can be looked at, counted, routed and written down before anybody acts on it.
//! The table below names each one, with its fields and the type of its reply. Who is told the reply is
//! beside the request, never in it: [`ReplyTo`].
//!
//! To add a request: a line in the table, an arm in `shard/dispatch.rs`, and its way in
//! [`Request::route`]. The compiler asks for the last two, and for a place among what the testkit asks of engines that
//! it kills.

#![expect(
    missing_docs,
    reason = "each request says what it does; its fields are named after what they are"
)]

mod answer;
mod needs;
mod route;

use std::{fmt, sync::Arc};

use tokio::sync::oneshot;
use travertine_kernel::{
    Assignments, Command, Mapping, Migration, Reach, Reason, TokenId, plan::WorkKind,
};
use travertine_store::{Seq, record::Record, view::Table};
use travertine_value::{Name, Value};

pub use answer::{Description, Glance, Look, Outcome};
pub use needs::Needs;
pub use route::{Origin, Route};

pub use crate::shard::{AttemptOutcome, Candidate, How, Looked, Publishing, Rows, Unblocked};
use crate::{
    Activated, Address, Begin, DefinitionKey, Definitions, Ended, Error, Given, InstanceId,
    JobChange, JobFailure, Lease, Message, Published, Receipt, SignalReceipt, TaskChange,
    Timestamp, Verified,
};

/// Something that may be asked of a shard, and the type of what is answered to it.
pub trait Ask {
    /// What is answered.
    type Reply;

    /// Turns it into one of all requests.
    fn into_request(self) -> Request;

    /// What a reply to it says.
    fn reply(reply: Reply) -> Self::Reply;
}

/// Makes, of each line, a request with its fields, its kind, and its place among requests and replies.
macro_rules! requests {
    ($(
        $(#[$doc:meta])*
        $kind:ident: $name:ident { $($field:ident: $type:ty),* $(,)? } -> $reply:ty;
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug)]
            pub struct $name { $(pub $field: $type),* }

            impl Ask for $name {
                type Reply = $reply;

                fn into_request(self) -> Request {
                    Request::$kind(self)
                }

                fn reply(reply: Reply) -> $reply {
                    match reply {
                        Reply::$kind(it) => it,
                        other => other.is_not_for(Kind::$kind),
                    }
                }
            }
        )*

        /// A request to a shard.
        #[derive(Clone, Debug)]
        pub enum Request { $($(#[$doc])* $kind($name)),* }

        /// The reply of a shard to a request.
        #[derive(Debug)]
        pub enum Reply { $($kind($reply)),* }

        /// The kind of a request, without its fields.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind { $($kind),* }

        impl Request {
            /// The kind of the request.
            pub fn kind(&self) -> Kind {
                match self { $(Self::$kind(_) => Kind::$kind),* }
            }
        }

        impl Reply {
            /// The kind of the request that it answers.
            pub fn kind(&self) -> Kind {
                match self { $(Self::$kind(_) => Kind::$kind),* }
            }
        }

        impl Kind {
            /// All kinds, in the order of their numbers.
            pub const ALL: [Self; [$(stringify!($kind)),*].len()] = [$(Self::$kind),*];

            /// Its name, for traces and metrics.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind)),* }
            }
        }
    };
}

requests! {
    // Instances.

    /// Starts an instance. Answers whether it was there already, too.
    Start: StartRequest { begin: Begin } -> (InstanceId, bool);
    /// Has an instance handle a command of the kernel.
    Command: CommandRequest { instance: InstanceId, command: Command } -> ();
    /// Asks an instance to end; code may clear up first, and asking again does not disturb that. Says
    /// whether it was still running.
    CancelRun: CancelRunRequest { instance: InstanceId } -> bool;
    /// Has an instance stand still until it is resumed.
    Suspend: SuspendRequest { instance: InstanceId } -> ();
    /// Lets a suspended instance go on.
    Resume: ResumeRequest { instance: InstanceId } -> ();
    /// Lets a halted instance be tried again.
    ReleaseHalted: ReleaseHaltedRequest { instance: InstanceId } -> ();
    /// Retries what ended in an incident, at one token or everywhere. Says how many incidents there were.
    Retry: RetryRequest { instance: InstanceId, token: Option<TokenId> } -> usize;
    /// Retries what one incident is about. A strict caller is refused while its work has no retries; any
    /// other gives it one.
    Resolve: ResolveRequest { instance: InstanceId, incident: u64, strict: bool } -> ();
    /// The visit that a wait of an instance belongs to, where it is open.
    FindVisit: FindVisitRequest { wait: Address } -> Option<u64>;
    /// Sets variables of an instance, or from one of its element instances on.
    Set: SetRequest { instance: InstanceId, visit: u64, variables: Assignments, reach: Reach } -> ();
    /// Lets an instance go on by another version of its definition.
    Migrate: MigrateRequest { instance: InstanceId, to: DefinitionKey, mapping: Mapping } -> ();
    /// What would happen if an instance went on by another version of its definition.
    TryMigration: TryMigrationRequest { instance: InstanceId, to: DefinitionKey, mapping: Mapping } -> Migration;
    /// How an instance ended, as soon as it has; or that it stands still, unless one waits through
    /// incidents. It is answered then, not now.
    Await: AwaitRequest { instance: InstanceId, through_incidents: bool } -> Ended;
    /// What an instance is, in short.
    Describe: DescribeRequest { instance: InstanceId } -> Description;
    /// An instance in full.
    Look: LookRequest { instance: InstanceId } -> Box<Look>;
    /// The rows of an instance in some tables, as they are now.
    Rows: RowsRequest { instance: InstanceId, tables: Vec<Table> } -> Rows;
    /// Why the tokens of an instance rest.
    Why: WhyRequest { instance: InstanceId } -> Vec<Reason>;
    /// The variables of a function at its end, where it has succeeded.
    Result: ResultRequest { instance: InstanceId } -> Option<Assignments>;

    // Functions.

    /// The function that goes by a name.
    FindRun: FindRunRequest { name: Name } -> Option<InstanceId>;
    /// Asks the code of a function about what it has in hand.
    QueryFunction: QueryFunctionRequest { instance: InstanceId, name: Name, input: Value } -> Value;
    /// Has the code of a function change what it has in hand. The same id again is answered as before.
    UpdateFunction: UpdateFunctionRequest {
        instance: InstanceId,
        name: Name,
        input: Value,
        id: Option<Name>,
    } -> Value;
    /// Whether the code that is here agrees with the journal of an instance, or why it does not.
    TryCode: TryCodeRequest { instance: InstanceId } -> Result<(), String>;
    /// Lets a function go on that its code has blocked, where the code that is here can.
    Unblock: UnblockRequest { instance: InstanceId } -> Unblocked;
    /// Whether what this wait has called stands still, or what that has called: whoever waits for the caller is told.
    FindStuck: FindStuckRequest { caller: Address, run: u32 } -> ();
    /// What this wait has called stands still, or what that has called.
    CalledIsStuck: CalledIsStuckRequest { caller: Address, error: Box<Error> } -> ();

    // Messages.

    /// Publishes a message. Where it depends on variables of other shards, it is held until they have
    /// answered.
    Publish: PublishRequest { message: Message } -> Receipt;
    /// Publishes a message, unless variables of other shards decide who has it.
    TryPublish: TryPublishRequest { message: Message, how: How } -> Publishing;
    /// Those of a shard's waits that see the variables a message wants.
    MatchVariables: MatchVariablesRequest { candidates: Vec<Candidate> } -> Vec<Address>;
    /// Publishes a message once the variables that decide who has it were looked at.
    FinishPublish: FinishPublishRequest { message: Message, looked: Box<Looked>, how: How } -> Published;
    /// Publishes a dead letter again.
    Replay: ReplayRequest { dead_letter: u64 } -> Receipt;
    /// Drops a dead letter.
    Discard: DiscardRequest { dead_letter: u64 } -> ();
    /// Sends a signal to all that wait for it.
    Signal: SignalRequest { name: Name, variables: Assignments } -> SignalReceipt;
    /// Offers variables to the conditional start events. Answers with what they started.
    EvaluateConditions: EvaluateConditionsRequest { variables: Assignments } -> Vec<InstanceId>;

    // Jobs, tasks and timers.

    /// Gives a job to a worker, unless it is gone.
    Lease: LeaseRequest { job: Address, lease: Lease, names: Vec<Name> } -> Option<Box<Activated>>;
    /// Gives jobs of one shard to a worker elsewhere, in their order, as long as they have no more bytes than
    /// that together. Those that are gone are left out.
    LeaseAll: LeaseAllRequest {
        jobs: Vec<Address>,
        lease: Lease,
        names: Arc<[Name]>,
        bytes_max: Option<usize>,
    } -> Vec<Activated>;
    /// Puts jobs of one shard up again that a worker has been given, until then, and will not do.
    HandBack: HandBackRequest { worker: Name, jobs: Vec<(Address, Timestamp)> } -> ();
    /// What a token waits for has happened: work is done, a decision is made.
    Complete: CompleteRequest { to: Address, variables: Assignments } -> ();
    /// A job, or a user task, is done; what is neither is refused. A strict caller does not complete a job that
    /// may not be tried any more.
    CompleteWork: CompleteWorkRequest {
        work: Address,
        kind: WorkKind,
        strict: bool,
        variables: Assignments,
    } -> ();
    /// A job has failed. What is of another kind is refused, where one is named.
    Fail: FailRequest { job: Address, failure: Box<JobFailure>, kind: Option<WorkKind> } -> ();
    /// A job has raised an error for the model to catch. A user task is refused, and so is what may not be tried any more.
    ThrowError: ThrowErrorRequest {
        job: Address,
        code: Name,
        message: String,
        variables: Assignments,
    } -> ();
    /// Changes a job: all of it, or nothing.
    UpdateJob: UpdateJobRequest { job: Address, change: JobChange } -> ();
    /// A worker of this process has done a job. What brings too much counts as failed.
    FinishJob: FinishJobRequest { job: Address, outcome: Outcome } -> ();
    /// Lets a worker have its job for longer.
    Extend: ExtendRequest { job: Address, until: Timestamp } -> ();
    /// Puts a job up again that a worker of this process does not do after all.
    PutBack: PutBackRequest { job: Address } -> ();
    /// Someone takes a user task, and nobody else can.
    ClaimTask: ClaimTaskRequest { task: Address, who: Name } -> ();
    /// Changes who does a user task, and until when.
    ChangeTask: ChangeTaskRequest { task: Address, change: Box<TaskChange> } -> ();
    /// Has a timer ring at another time. Those that start instances are of instance 0.
    MoveTimer: MoveTimerRequest { timer: Address, due: Timestamp } -> ();
    /// Has a timer ring now.
    FireTimer: FireTimerRequest { timer: Address } -> ();

    // Attempts at activities, by workers of this process.

    /// Gives a job to a worker of this process, who begins with it at once.
    BeginAttempt: BeginAttemptRequest { job: Address } -> Option<Arc<Given>>;
    /// A worker begins with an attempt that it was handed: its time runs from now on.
    AttemptBegins: AttemptBeginsRequest { given: Arc<Given> } -> ();
    /// A worker is alive, and this far.
    Heartbeat: HeartbeatRequest { given: Arc<Given>, details: Value } -> ();
    /// A worker has made an attempt.
    EndAttempt: EndAttemptRequest { given: Arc<Given>, outcome: AttemptOutcome } -> ();

    // The store.

    /// Makes the row of an instance again.
    Mend: MendRequest { instance: InstanceId } -> ();
    /// Forgets an instance that has ended. Says whether it could.
    Retire: RetireRequest { instance: InstanceId, last: Seq } -> bool;
    /// Shortens the history of an instance that has ended. Says whether it could.
    Fold: FoldRequest { instance: InstanceId, last: Seq } -> bool;
    /// Forgets rows of what was over too long ago.
    ExpirePast: ExpirePastRequest {} -> ();
    /// Replays the log and compares it with the views. How far it is goes to [`ReplyTo::progress`].
    Verify: VerifyRequest {} -> Verified;
    /// Answers when the views have everything that was acknowledged before. Whoever drives the shard sees
    /// to that.
    Flush: FlushRequest {} -> ();

    // The shard itself.

    /// Answers when everything that was asked before is durable.
    Barrier: BarrierRequest {} -> ();
    /// How it stands with the shard.
    Glance: GlanceRequest {} -> Glance;
    /// Whether an instance is in memory.
    IsInMemory: IsInMemoryRequest { instance: InstanceId } -> bool;
    /// Lets what was asked of a shard at rest take its course.
    Follow: FollowRequest {} -> ();
    /// Something will be deployed in a moment, and other shards may ask for it already.
    Expect: ExpectRequest { definitions: Arc<Definitions> } -> ();
    /// Something is deployed.
    Adopt: AdoptRequest { definitions: Arc<Definitions> } -> ();
}

impl Reply {
    /// The dispatcher has answered something else than it was asked.
    fn is_not_for(&self, asked: Kind) -> ! {
        panic!("{} was answered to {}", self.kind().name(), asked.name())
    }
}

/// Where the reply to a request goes. Nobody hears anything before that is durable.
#[derive(Debug)]
pub enum ReplyTo {
    /// Someone in this process, who may not wait any more.
    Caller(Caller),
    /// Someone who goes on with the reply.
    Relay(Box<dyn Relay>),
    /// Nobody. What cannot be done is logged.
    Nobody,
}

/// Someone in this process who waits for a reply. Where nobody ever begins with the request, that is the
/// reply: it was not done. Where someone has begun with it and no reply comes, nobody knows.
#[derive(Debug)]
pub struct Caller {
    sender: Option<oneshot::Sender<Result<Reply, Error>>>,
    has_begun: bool,
    /// Who that is, where it is known.
    by: Option<Arc<By>>,
}

/// Somebody who is known by name. What they ask for is written down with that.
#[derive(Clone, Debug)]
pub(crate) struct By {
    /// Whom they log in as.
    pub(crate) who: Name,
    /// The batch that asks for them.
    pub(crate) batch: Option<InstanceId>,
}

impl By {
    /// What is written down.
    pub(crate) fn record(&self) -> Record {
        let who = Name::clone(&self.who);
        match self.batch {
            None => Record::By { who },
            Some(batch) => Record::ByBatch { who, batch },
        }
    }
}

impl Caller {
    /// Someone for whom something has been done already.
    pub(crate) fn begun(sender: oneshot::Sender<Result<Reply, Error>>) -> Self {
        Self { sender: Some(sender), has_begun: true, by: None }
    }

    fn send(mut self, reply: Result<Reply, Error>) {
        if let Some(sender) = self.sender.take() {
            // Whoever asked may not wait any more.
            let _: Result<(), Result<Reply, Error>> = sender.send(reply);
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take().filter(|_| !self.has_begun) {
            let reason = "it was closed before it could begin with this".to_owned();
            let _: Result<(), Result<Reply, Error>> = sender.send(Err(Error::Closed { reason }));
        }
    }
}

/// Someone who goes on with a reply: passes it on to another place, or asks for more.
pub trait Relay: fmt::Debug + Send {
    /// The reply is here.
    fn relay(self: Box<Self>, reply: Result<Reply, Error>);

    /// So much of all that is to be read for the reply was read.
    fn progress(&self, _read: u64, _all: u64) {}
}

impl ReplyTo {
    /// A caller in this process, and where it is told.
    pub fn caller() -> (Self, oneshot::Receiver<Result<Reply, Error>>) {
        Self::caller_by(None)
    }

    /// A caller in this process, and where it is told; who that is, where it is known.
    pub(crate) fn caller_by(
        by: Option<Arc<By>>,
    ) -> (Self, oneshot::Receiver<Result<Reply, Error>>) {
        let (sender, receiver) = oneshot::channel();
        (Self::Caller(Caller { sender: Some(sender), has_begun: false, by }), receiver)
    }

    /// Tells the reply.
    pub fn send(self, reply: Result<Reply, Error>) {
        match self {
            Self::Caller(caller) => caller.send(reply),
            Self::Relay(relay) => relay.relay(reply),
            Self::Nobody => {}
        }
    }

    /// A shard begins with the request. Answers who the caller is, where that is known.
    pub(crate) fn begin(&mut self) -> Option<Arc<By>> {
        let Self::Caller(caller) = self else { return None };
        caller.has_begun = true;
        caller.by.take()
    }

    /// Says how far it is.
    pub fn progress(&self, read: u64, all: u64) {
        if let Self::Relay(relay) = self {
            relay.progress(read, all);
        }
    }

    /// Whether whoever asked does not wait any more.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Caller(caller) => caller.sender.as_ref().is_none_or(oneshot::Sender::is_closed),
            Self::Relay(_) => false,
            Self::Nobody => true,
        }
    }
}
