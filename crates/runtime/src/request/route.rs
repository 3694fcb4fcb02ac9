//! Where a request goes, and whether it may be refused.

use super::{
    AdoptRequest, AttemptBeginsRequest, AwaitRequest, BarrierRequest, BeginAttemptRequest,
    CalledIsStuckRequest, CancelRunRequest, ChangeTaskRequest, ClaimTaskRequest, CommandRequest,
    CompleteRequest, CompleteWorkRequest, DescribeRequest, DiscardRequest, EndAttemptRequest,
    EvaluateConditionsRequest, ExpectRequest, ExpirePastRequest, ExtendRequest, FailRequest,
    FindRunRequest, FindStuckRequest, FindVisitRequest, FinishJobRequest, FinishPublishRequest,
    FireTimerRequest, FlushRequest, FoldRequest, FollowRequest, GlanceRequest, HandBackRequest,
    HeartbeatRequest, IsInMemoryRequest, Kind, LeaseAllRequest, LeaseRequest, LookRequest,
    MatchVariablesRequest, MendRequest, MigrateRequest, MoveTimerRequest, PublishRequest,
    PutBackRequest, QueryFunctionRequest, ReleaseHaltedRequest, ReplayRequest, Request,
    ResolveRequest, ResultRequest, ResumeRequest, RetireRequest, RetryRequest, RowsRequest,
    SetRequest, SignalRequest, StartRequest, SuspendRequest, ThrowErrorRequest, TryCodeRequest,
    TryMigrationRequest, TryPublishRequest, UnblockRequest, UpdateFunctionRequest,
    UpdateJobRequest, VerifyRequest, WhyRequest,
};
use crate::{Address, InstanceId};

/// Which shard a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// The shard of an instance.
    Instance(InstanceId),
    /// The keeper of a name: of a business key, a message or a signal.
    Keeper(&'a str),
    /// The shard that has given this number to a message or a start timer.
    Number(u64),
    /// Any shard.
    Any,
    /// Each shard, by itself.
    Each,
}

/// From where a request comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client. It is refused where too much waits.
    Outside,
    /// Someone in this process who has what nobody else can have meanwhile, or asks whether much waits: too
    /// much that waits is no reason to refuse it.
    Inside,
    /// The engine itself. It is heard also while the engine is shut down.
    Engine,
}

impl Request {
    /// Which shard it is for.
    pub fn route(&self) -> Route<'_> {
        match self {
            Self::Start(StartRequest { begin }) => {
                // Whoever uses the same name must come to the same shard.
                begin.business_id.as_deref().map_or(Route::Any, Route::Keeper)
            }
            Self::EvaluateConditions(EvaluateConditionsRequest { variables: _ }) => Route::Any,
            Self::Command(CommandRequest { instance, .. })
            | Self::CancelRun(CancelRunRequest { instance })
            | Self::Suspend(SuspendRequest { instance })
            | Self::Resume(ResumeRequest { instance })
            | Self::ReleaseHalted(ReleaseHaltedRequest { instance })
            | Self::Retry(RetryRequest { instance, .. })
            | Self::Resolve(ResolveRequest { instance, .. })
            | Self::Set(SetRequest { instance, .. })
            | Self::Migrate(MigrateRequest { instance, .. })
            | Self::TryMigration(TryMigrationRequest { instance, .. })
            | Self::Await(AwaitRequest { instance, .. })
            | Self::Describe(DescribeRequest { instance })
            | Self::Look(LookRequest { instance })
            | Self::Rows(RowsRequest { instance, .. })
            | Self::Why(WhyRequest { instance })
            | Self::Result(ResultRequest { instance })
            | Self::QueryFunction(QueryFunctionRequest { instance, .. })
            | Self::UpdateFunction(UpdateFunctionRequest { instance, .. })
            | Self::TryCode(TryCodeRequest { instance })
            | Self::Unblock(UnblockRequest { instance })
            | Self::Mend(MendRequest { instance })
            | Self::Retire(RetireRequest { instance, .. })
            | Self::Fold(FoldRequest { instance, .. })
            | Self::IsInMemory(IsInMemoryRequest { instance }) => Route::Instance(*instance),
            Self::FindRun(FindRunRequest { name }) | Self::Signal(SignalRequest { name, .. }) => {
                Route::Keeper(name)
            }
            Self::Publish(PublishRequest { message })
            | Self::TryPublish(TryPublishRequest { message, .. })
            | Self::FinishPublish(FinishPublishRequest { message, .. }) => {
                Route::Keeper(&message.name)
            }
            Self::MatchVariables(MatchVariablesRequest { candidates }) => {
                let first = candidates.first().map(|(it, _)| it.instance);
                first.map_or(Route::Any, Route::Instance)
            }
            Self::LeaseAll(LeaseAllRequest { jobs, .. }) => {
                jobs.first().map_or(Route::Any, |it| Route::Instance(it.instance))
            }
            Self::HandBack(HandBackRequest { jobs, .. }) => {
                jobs.first().map_or(Route::Any, |(it, _)| Route::Instance(it.instance))
            }
            Self::Replay(ReplayRequest { dead_letter })
            | Self::Discard(DiscardRequest { dead_letter }) => Route::Number(*dead_letter),
            Self::FindVisit(FindVisitRequest { wait: job })
            | Self::Lease(LeaseRequest { job, .. })
            | Self::Complete(CompleteRequest { to: job, .. })
            | Self::CompleteWork(CompleteWorkRequest { work: job, .. })
            | Self::Fail(FailRequest { job, .. })
            | Self::ThrowError(ThrowErrorRequest { job, .. })
            | Self::UpdateJob(UpdateJobRequest { job, .. })
            | Self::FinishJob(FinishJobRequest { job, .. })
            | Self::Extend(ExtendRequest { job, .. })
            | Self::PutBack(PutBackRequest { job })
            | Self::ClaimTask(ClaimTaskRequest { task: job, .. })
            | Self::ChangeTask(ChangeTaskRequest { task: job, .. })
            | Self::BeginAttempt(BeginAttemptRequest { job }) => Route::Instance(job.instance),
            Self::MoveTimer(MoveTimerRequest { timer, .. })
            | Self::FireTimer(FireTimerRequest { timer }) => match *timer {
                Address { instance: InstanceId(0), wait } => Route::Number(wait.0),
                Address { instance, .. } => Route::Instance(instance),
            },
            Self::AttemptBegins(AttemptBeginsRequest { given })
            | Self::Heartbeat(HeartbeatRequest { given, .. })
            | Self::EndAttempt(EndAttemptRequest { given, .. }) => {
                Route::Instance(given.job.instance)
            }
            // Where the call was started.
            Self::FindStuck(FindStuckRequest { caller, run }) => {
                Route::Number(caller.instance.0 + u64::from(*run))
            }
            Self::CalledIsStuck(CalledIsStuckRequest { caller, .. }) => {
                Route::Instance(caller.instance)
            }
            Self::Verify(VerifyRequest {})
            | Self::ExpirePast(ExpirePastRequest {})
            | Self::Flush(FlushRequest {})
            | Self::Barrier(BarrierRequest {})
            | Self::Glance(GlanceRequest {})
            | Self::Follow(FollowRequest {})
            | Self::Expect(ExpectRequest { .. })
            | Self::Adopt(AdoptRequest { .. }) => Route::Each,
        }
    }
}

impl Kind {
    /// From where such requests come.
    pub fn origin(self) -> Origin {
        match self {
            Self::Start
            | Self::Command
            | Self::CancelRun
            | Self::Suspend
            | Self::Resume
            | Self::ReleaseHalted
            | Self::Retry
            | Self::Resolve
            | Self::FindVisit
            | Self::Set
            | Self::Migrate
            | Self::TryMigration
            | Self::Await
            | Self::Describe
            | Self::Look
            | Self::Rows
            | Self::Why
            | Self::Result
            | Self::FindRun
            | Self::QueryFunction
            | Self::UpdateFunction
            | Self::TryCode
            | Self::Unblock
            | Self::Publish
            | Self::TryPublish
            | Self::Replay
            | Self::Discard
            | Self::Signal
            | Self::EvaluateConditions
            | Self::Complete
            | Self::CompleteWork
            | Self::Fail
            | Self::ThrowError
            | Self::UpdateJob
            | Self::Extend
            | Self::ClaimTask
            | Self::ChangeTask
            | Self::MoveTimer
            | Self::FireTimer
            | Self::Mend
            | Self::Retire
            | Self::Fold
            | Self::Verify
            | Self::IsInMemory => Origin::Outside,
            Self::Lease
            | Self::LeaseAll
            | Self::HandBack
            | Self::FinishJob
            | Self::PutBack
            | Self::BeginAttempt
            | Self::Barrier
            | Self::Glance
            | Self::Follow => Origin::Inside,
            Self::FindStuck
            | Self::CalledIsStuck
            | Self::MatchVariables
            | Self::FinishPublish
            | Self::AttemptBegins
            | Self::Heartbeat
            | Self::EndAttempt
            | Self::ExpirePast
            | Self::Flush
            | Self::Expect
            | Self::Adopt => Origin::Engine,
        }
    }
}
