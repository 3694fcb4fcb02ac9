//! Each kind of request, asked of an engine once, and answered in kind.

use std::{sync::Arc, time::Duration};

use travertine_func::{Functions, Workflow, WorkflowDefinition};
use travertine_kernel::{Command, Reach, WaitId, plan::WorkKind};
use travertine_store::view::Table;

use crate::{
    Address, Begin, Edit, Engine, Error, InstanceId, JobChange, JobFailure, Lease, Message,
    Receipt, RunStatus, TaskChange,
    engine::{File, Options, Outcome},
    request::{
        AdoptRequest, AttemptBeginsRequest, AwaitRequest, BarrierRequest, BeginAttemptRequest,
        CalledIsStuckRequest, CancelRunRequest, ChangeTaskRequest, ClaimTaskRequest,
        CommandRequest, CompleteRequest, CompleteWorkRequest, DescribeRequest, DiscardRequest,
        EndAttemptRequest, EvaluateConditionsRequest, ExpectRequest, ExpirePastRequest,
        ExtendRequest, FailRequest, FindRunRequest, FindStuckRequest, FindVisitRequest,
        FinishJobRequest, FinishPublishRequest, FireTimerRequest, FlushRequest, FoldRequest,
        FollowRequest, GlanceRequest, HandBackRequest, HeartbeatRequest, How, IsInMemoryRequest,
        Kind, LeaseAllRequest, LeaseRequest, LookRequest, Looked, MatchVariablesRequest,
        MendRequest, MigrateRequest, MoveTimerRequest, Origin, PublishRequest, Publishing,
        PutBackRequest, QueryFunctionRequest, ReleaseHaltedRequest, ReplayRequest, ResolveRequest,
        ResultRequest, ResumeRequest, RetireRequest, RetryRequest, Rows, RowsRequest, SetRequest,
        SignalRequest, StartRequest, SuspendRequest, ThrowErrorRequest, TryCodeRequest,
        TryMigrationRequest, TryPublishRequest, UnblockRequest, Unblocked, UpdateFunctionRequest,
        UpdateJobRequest, VerifyRequest, WhyRequest,
    },
};

/// Sleeps for so many hours.
const NAP: WorkflowDefinition = WorkflowDefinition {
    name: "nap",
    version: 1,
    parameters: &["hours"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let hours: u64 = arguments.take("hours")?;
            if hours > 0 {
                cx.sleep(Duration::from_hours(hours)).await?;
            }
            Ok(hours.into())
        })
    },
};

/// Processes with one element that waits: `task`, `job` and `timer`.
fn models() -> [File; 3] {
    let model = |id: &str, element: &str| {
        let text = format!(
            r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
            xmlns:tv="urn:travertine:bpmn:1" targetNamespace="t">
            <process id="{id}" isExecutable="true"><startEvent id="s"/>
            <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>{element}
            <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>
            </definitions>"#
        );
        File { name: format!("{id}.bpmn"), body: text.into_bytes() }
    };
    let hour = "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>";
    [
        model("task", r#"<userTask id="t"/>"#),
        model("job", r#"<serviceTask id="t" tv:jobType="work"/>"#),
        model("timer", &format!("<intermediateCatchEvent id='t'>{hour}</intermediateCatchEvent>")),
    ]
}

struct World {
    engine: Engine,
}

impl World {
    fn new() -> Self {
        let functions = Functions::new().workflow(NAP);
        let options = Options { shards: 2, functions, ..Options::default() };
        let engine = Engine::in_memory(options).unwrap();
        engine.deploy(&models()).unwrap();
        Self { engine }
    }

    /// A new instance, and what it waits for.
    fn start(&self, id: &str) -> Address {
        let definition = self.engine.definitions().find(id).unwrap().key;
        let begin = Begin { definition, ..Begin::default() };
        let (instance, known) = self.engine.ask(StartRequest { begin }).wait().unwrap();
        assert!(!known);
        Address { instance, wait: self.wait_of(instance) }
    }

    fn wait_of(&self, instance: InstanceId) -> WaitId {
        let look = self.engine.ask(LookRequest { instance }).wait().unwrap();
        *look.state.waits.keys().next().unwrap()
    }

    fn nap(&self, hours: u64, id: &str) -> InstanceId {
        let call = Workflow::<u64>::new("nap", 1).argument("hours", &hours);
        self.engine.start(call).id(id).wait().unwrap().instance()
    }

    fn ask_about_instances(&self) {
        let engine = &self.engine;
        let task @ Address { instance, .. } = self.start("task");
        assert!(engine.ask(FindVisitRequest { wait: task }).wait().unwrap().is_some());
        let resolve = ResolveRequest { instance, incident: 1, strict: true };
        let refused = engine.ask(resolve).wait();
        assert_eq!(refused, Err(travertine_kernel::Rejection::NoSuchIncident(1).into()));
        let to = engine.definitions().find("task").unwrap().key;
        let mapping = travertine_kernel::Mapping::default();
        engine.ask(SuspendRequest { instance }).wait().unwrap();
        engine.ask(ResumeRequest { instance }).wait().unwrap();
        let released = engine.ask(ReleaseHaltedRequest { instance }).wait();
        assert_eq!(released, Err(Error::NotHalted(instance)));
        assert_eq!(engine.ask(RetryRequest { instance, token: None }).wait(), Ok(0));
        let (visit, variables, reach) = (0, Vec::new(), Reach::Propagate);
        engine.ask(SetRequest { instance, visit, variables, reach }).wait().unwrap();
        let migrate = TryMigrationRequest { instance, to, mapping: mapping.clone() };
        engine.ask(migrate).wait().unwrap();
        engine.ask(MigrateRequest { instance, to, mapping }).wait().unwrap();
        assert!(!engine.ask(WhyRequest { instance }).wait().unwrap().is_empty());
        let description = engine.ask(DescribeRequest { instance }).wait().unwrap();
        assert!(!description.has_ended && !description.is_function);
        assert_eq!(engine.ask(ResultRequest { instance }).wait(), Ok(None));
        assert_eq!(engine.ask(IsInMemoryRequest { instance }).wait(), Ok(true));
        let rows = RowsRequest { instance, tables: vec![Table::Tasks] };
        assert!(matches!(engine.ask(rows).wait(), Ok(Rows::Here { rows, .. }) if rows.len() == 2));
        engine.ask(MendRequest { instance }).wait().unwrap();
        let ended = engine.ask(AwaitRequest { instance, through_incidents: true });
        engine.ask(CommandRequest { instance, command: Command::Cancel }).wait().unwrap();
        assert_eq!(ended.wait().unwrap().ending, travertine_kernel::Ending::Cancelled);
        engine.flush_now().unwrap();
        let last = engine.store().instance(instance).unwrap().unwrap().last;
        assert_eq!(engine.ask(FoldRequest { instance, last }).wait(), Ok(true));
        engine.flush_now().unwrap();
        let last = engine.store().instance(instance).unwrap().unwrap().last;
        // Whoever has not seen its last entry does not know whether it may go.
        assert_eq!(engine.ask(RetireRequest { instance, last: last - 1 }).wait(), Ok(false));
        assert!(engine.ask(DescribeRequest { instance }).wait().unwrap().has_ended);
        assert_eq!(engine.ask(RetireRequest { instance, last }).wait(), Ok(true));
        assert_eq!(engine.ask(ExpirePastRequest {}).wait(), Ok(()));
    }

    fn ask_about_functions(&self) {
        let engine = &self.engine;
        let (ended, instance) = (self.nap(0, "short"), self.nap(9, "long"));
        let find = |name: &str| engine.ask(FindRunRequest { name: name.into() }).wait();
        assert_eq!((find("long"), find("none")), (Ok(Some(instance)), Ok(None)));
        let name = || "step".into();
        let query = QueryFunctionRequest { instance, name: name(), input: 1.into() };
        assert!(matches!(engine.ask(query).wait(), Err(Error::Function { .. })));
        let update = UpdateFunctionRequest { instance, name: name(), input: 1.into(), id: None };
        assert!(matches!(engine.ask(update).wait(), Err(Error::Function { .. })));
        assert_eq!(engine.ask(TryCodeRequest { instance }).wait(), Ok(Ok(())));
        let unblocked = engine.ask(UnblockRequest { instance }).wait();
        assert!(matches!(unblocked, Ok(Unblocked::IsNot)), "{unblocked:?}");
        // Nothing was called.
        let caller = Address { instance, wait: WaitId(1) };
        engine.ask(FindStuckRequest { caller, run: 0 }).wait().unwrap();
        let error = Box::new(Error::Suspended(instance));
        engine.ask(CalledIsStuckRequest { caller, error }).wait().unwrap();
        let result = engine.ask(ResultRequest { instance: ended }).wait().unwrap();
        assert!(result.is_some_and(|it| it.iter().any(|(name, _)| &**name == "result")));
        assert_eq!(engine.ask(CancelRunRequest { instance }).wait(), Ok(true));
        let status = engine.ask(DescribeRequest { instance }).wait().unwrap().status;
        assert_eq!(status, RunStatus::Cancelled);
    }

    fn ask_about_messages(&self) {
        let engine = &self.engine;
        let message =
            |ttl| Message { ttl: Some(Duration::from_millis(ttl)), ..Message::new("news") };
        let publish = |message| engine.ask(PublishRequest { message }).wait();
        assert_eq!(publish(message(0)), Ok(Receipt::Dropped));
        let how = How::default();
        let tried = engine.ask(TryPublishRequest { message: message(0), how }).wait();
        let Ok(Publishing::Done(tried)) = tried else { panic!("{tried:?}") };
        assert_eq!(tried.receipt, Receipt::Dropped);
        let matching = engine.ask(MatchVariablesRequest { candidates: Vec::new() }).wait();
        assert_eq!(matching, Ok(Vec::new()));
        let looked = Box::<Looked>::default();
        let finish = FinishPublishRequest { message: message(0), looked, how };
        let finished = engine.ask(finish).wait().unwrap();
        assert_eq!(finished.receipt, Receipt::Dropped);
        assert!(finished.number > tried.number);
        let dead_letter = 12;
        assert!(engine.ask(ReplayRequest { dead_letter }).wait().is_err());
        assert!(engine.ask(DiscardRequest { dead_letter }).wait().is_err());
        let signal = SignalRequest { name: "news".into(), variables: Vec::new() };
        assert_eq!(engine.ask(signal).wait().unwrap().received, 0);
        let started = engine.ask(EvaluateConditionsRequest { variables: Vec::new() }).wait();
        assert_eq!(started, Ok(Vec::new()));
    }

    fn ask_about_jobs(&self) {
        let engine = &self.engine;
        let lease = |job, lease| engine.ask(LeaseRequest { job, lease, names: Vec::new() }).wait();
        let until = engine.now().after(Duration::from_mins(1));
        let job = self.start("job");
        let leased = lease(job, Lease::Until { worker: "w".into(), until }).unwrap();
        assert_eq!(leased.map(|it| it.job), Some(job));
        engine
            .ask(ExtendRequest { job, until: until.after(Duration::from_millis(1)) })
            .wait()
            .unwrap();
        let failure = JobFailure { retries: Some(2), ..JobFailure::new("no") };
        let fail = FailRequest { job, failure: Box::new(failure), kind: None };
        engine.ask(fail).wait().unwrap();
        let (jobs, names) = (vec![job], Vec::new().into());
        let until = until.after(Duration::from_millis(2));
        let lease_all = Lease::Until { worker: "w".into(), until };
        let lease_all = LeaseAllRequest { jobs, lease: lease_all, names, bytes_max: Some(10_000) };
        assert_eq!(engine.ask(lease_all).wait().unwrap().len(), 1);
        let change = JobChange { priority: Some(3), ..JobChange::default() };
        engine.ask(UpdateJobRequest { job, change }).wait().unwrap();
        let hand_back = HandBackRequest { worker: "w".into(), jobs: vec![(job, until)] };
        engine.ask(hand_back).wait().unwrap();
        lease(job, Lease::Process).unwrap().unwrap();
        engine.ask(PutBackRequest { job }).wait().unwrap();
        lease(job, Lease::Process).unwrap().unwrap();
        let outcome = Outcome::Done(Vec::new());
        engine.ask(FinishJobRequest { job, outcome }).wait().unwrap();
        let job = self.start("job");
        let given = engine.ask(BeginAttemptRequest { job }).wait().unwrap().unwrap();
        engine.ask(AttemptBeginsRequest { given: Arc::clone(&given) }).wait().unwrap();
        let beat = HeartbeatRequest { given: Arc::clone(&given), details: 1.into() };
        engine.ask(beat).wait().unwrap();
        let end = EndAttemptRequest { given, outcome: Ok(travertine_value::Value::Null) };
        engine.ask(end).wait().unwrap();
        assert!(engine.ask(DescribeRequest { instance: job.instance }).wait().unwrap().has_ended);
    }

    fn ask_about_tasks_and_timers(&self) {
        let engine = &self.engine;
        let task = self.start("task");
        engine.ask(ClaimTaskRequest { task, who: "ann".into() }).wait().unwrap();
        let change = TaskChange { assignee: Edit::Remove, ..TaskChange::default() };
        engine.ask(ChangeTaskRequest { task, change: Box::new(change) }).wait().unwrap();
        let (code, message, variables) = ("no".into(), String::new(), Vec::new());
        let thrown = ThrowErrorRequest { job: task, code, message, variables };
        assert!(engine.ask(thrown).wait().is_err(), "it is no job");
        let (kind, strict, variables) = (WorkKind::Job, true, Vec::new());
        let as_job = CompleteWorkRequest { work: task, kind, strict, variables };
        assert!(engine.ask(as_job).wait().is_err(), "it is no job");
        let complete = CompleteRequest { to: task, variables: Vec::new() };
        engine.ask(complete).wait().unwrap();
        let timer = self.start("timer");
        let due = engine.now().after(Duration::from_hours(1));
        engine.ask(MoveTimerRequest { timer, due }).wait().unwrap();
        engine.ask(FireTimerRequest { timer }).wait().unwrap();
        assert!(engine.ask(DescribeRequest { instance: timer.instance }).wait().unwrap().has_ended);
    }

    fn ask_about_shards(&self) {
        let router = self.engine.router();
        for shard in router.shards() {
            let definitions = self.engine.definitions();
            router.ask_at(shard, BarrierRequest {}).wait().unwrap();
            router.ask_at(shard, FlushRequest {}).wait().unwrap();
            router.ask_at(shard, FollowRequest {}).wait().unwrap();
            let expect = ExpectRequest { definitions: Arc::clone(&definitions) };
            router.ask_at(shard, expect).wait().unwrap();
            router.ask_at(shard, AdoptRequest { definitions }).wait().unwrap();
            assert_eq!(router.ask_at(shard, GlanceRequest {}).wait().unwrap().watched, 0);
            let verified = router.ask_at(shard, VerifyRequest {}).wait().unwrap();
            assert_eq!(verified.differences, []);
        }
    }
}

#[test]
fn each_kind_of_request_is_answered_in_kind() {
    let world = World::new();
    world.ask_about_instances();
    world.ask_about_functions();
    world.ask_about_messages();
    world.ask_about_jobs();
    world.ask_about_tasks_and_timers();
    world.ask_about_shards();
    let counts = world.engine.requests_by_kind();
    let unasked: Vec<_> = counts.iter().filter(|(_, count)| *count == 0).collect();
    assert!(unasked.is_empty(), "nobody has asked for {unasked:?}");
    let of_engine: u64 = Kind::ALL
        .into_iter()
        .zip(&counts)
        .filter(|(kind, _)| kind.origin() == Origin::Engine)
        .map(|(_, (_, count))| count)
        .sum();
    let all: u64 = counts.iter().map(|(_, count)| count).sum();
    assert_eq!(world.engine.metrics().requests, all - of_engine);
}

#[test]
fn a_request_is_no_larger_than_it_must_be() {
    // It lies in the queue of its shard as it is, and its reply in what is let out.
    let sizes = [
        size_of::<crate::request::Request>(),
        size_of::<crate::request::Reply>(),
        size_of::<crate::engine::threads::Input>(),
    ];
    assert!(sizes.iter().all(|it| *it <= 192), "{sizes:?}");
}
