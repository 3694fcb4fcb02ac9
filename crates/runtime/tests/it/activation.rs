//! Jobs that workers elsewhere ask for.

use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use travertine_kernel::{Command, WaitId, Why};
use travertine_runtime::{
    Activated, Address, Board, Engine, Error, InstanceId, JobFailure, Lease, Opening, Settings,
    Shard, Timestamp,
    engine::{Options, Outcome},
    request::{
        Ask, BeginAttemptRequest, CommandRequest, CompleteRequest, EndAttemptRequest, LeaseRequest,
        PutBackRequest, ReplyTo,
    },
};
use travertine_store::{
    MemoryStore, ShardId, Store,
    view::{Row, Table},
};
use travertine_value::{Map, Value};

use crate::world::{World, file, vars, within};

const PROCESS: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
    <serviceTask id="t" tv:jobType="work" tv:priority="urgency"><extensionElements>
    <tv:header key="priority">-urgency</tv:header></extensionElements></serviceTask>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#;

async fn activate(engine: &Engine, most: usize) -> Vec<Activated> {
    engine.activate("work", "w", most, Duration::from_mins(1), &[]).await.expect("it goes on")
}

fn instances(jobs: &[Activated]) -> Vec<InstanceId> {
    jobs.iter().map(|it| it.job.instance).collect()
}

#[tokio::test]
async fn the_most_pressing_jobs_of_all_shards_come_first_and_of_those_the_oldest() {
    for restarts in [false, true] {
        let mut world = World::new(3);
        world.deploy(PROCESS);
        let mut begun = Vec::new();
        for urgency in [0, 5, 0, 9, 5, 0, 9, 0, 5] {
            let variables = vars(&[("urgency", urgency.into())]);
            let id = world.engine().start("p").variables(variables).wait().expect("starts");
            begun.push((urgency, id));
            world.advance(1);
        }
        let shards: std::collections::BTreeSet<u64> =
            begun.iter().map(|(_, id)| id.0 % 3).collect();
        assert_eq!(shards.len(), 3, "they are spread");
        // The order is that of time within one urgency.
        let mut expected = begun.clone();
        expected.sort_by_key(|(urgency, _)| -urgency);
        let expected: Vec<InstanceId> = expected.into_iter().map(|(_, id)| id).collect();
        if restarts {
            world.restart();
        }
        let mut given = Vec::new();
        for most in [1, 4, 2, 10] {
            let jobs = activate(world.engine(), most).await;
            assert!(jobs.len() <= most);
            given.extend(instances(&jobs));
        }
        assert_eq!(given, expected);
        assert_eq!(activate(world.engine(), 10).await, []);
        world.restart();
        assert_eq!(activate(world.engine(), 10).await, [], "leases hold after a restart");
        world.advance(60_001);
        assert_eq!(instances(&activate(world.engine(), 10).await), expected, "they are over");
    }
}

#[tokio::test]
async fn a_worker_keeps_its_job_for_longer_where_it_says_so_in_time() {
    let mut world = World::new(1);
    world.deploy(PROCESS);
    world.engine().start("p").variable("urgency", 0).wait().expect("starts");
    let job = activate(world.engine(), 1).await[0].job;
    world.advance(50_000);
    world.engine().extend(job, Duration::from_mins(1)).wait().expect("it has the job");
    world.restart();
    world.advance(50_000);
    assert_eq!(activate(world.engine(), 1).await, [], "its lease holds");
    world.advance(20_000);
    assert_eq!(
        world.engine().extend(job, Duration::from_mins(1)).wait(),
        Err(Error::NotLeased(job))
    );
    assert_eq!(activate(world.engine(), 1).await.len(), 1, "another one has it");
}

#[tokio::test]
async fn a_worker_elsewhere_keeps_its_job_where_more_tries_are_allowed() {
    let mut world = World::new(1);
    world.deploy(PROCESS);
    world.engine().start("p").variable("urgency", 0).wait().expect("starts");
    let job = activate(world.engine(), 1).await[0].job;
    world.engine().set_retries(job, 7).wait().expect("it is there");
    assert_eq!(activate(world.engine(), 1).await, [], "its lease holds");
    world.restart();
    assert_eq!(activate(world.engine(), 1).await, [], "and after a restart");
    world.advance(60_001);
    let [again] = &activate(world.engine(), 1).await[..] else { panic!("the lease is over") };
    assert_eq!((again.job, again.retries), (job, 7));
    // Nobody has it after it has failed, whether or not the worker says why.
    for message in ["", "broken"] {
        world.engine().fail(job, JobFailure::new(message)).wait().expect("it has the job");
        assert_eq!(activate(world.engine(), 1).await.len(), 1);
    }
    // One that waits for its next try is offered at once.
    world
        .engine()
        .fail(job, JobFailure { backoff: Duration::from_mins(1), ..JobFailure::new("") })
        .wait()
        .expect("it has the job");
    assert_eq!(activate(world.engine(), 1).await, []);
    world.engine().set_retries(job, 2).wait().expect("it is there");
    assert_eq!(activate(world.engine(), 1).await.len(), 1);
    world.check();
}

#[tokio::test]
async fn a_worker_of_this_process_keeps_its_job_where_more_tries_are_allowed() {
    let world = World::new(1);
    world.deploy(PROCESS);
    let (began, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (begins, goes) = (Arc::clone(&began), Arc::clone(&go));
    let workers = world.engine().worker("work", move |_| {
        let (began, go) = (Arc::clone(&begins), Arc::clone(&goes));
        async move {
            began.add_permits(1);
            go.acquire().await.expect("it stays open").forget();
            Outcome::Done(Vec::new())
        }
    });
    let workers = workers.at_once(2).start();
    let id = world.engine().start("p").variable("urgency", 0).wait().expect("starts");
    within(began.acquire()).await.expect("it stays open").forget();
    let row = world.jobs().remove(0);
    let job = Address { instance: id, wait: WaitId(row.wait) };
    world.engine().set_retries(job, 7).wait().expect("it is there");
    let rest = world.engine().rest().await.expect("it answers");
    assert_eq!((rest.jobs, rest.at_work), (Vec::new(), 1), "nobody else is to do it");
    go.add_permits(1);
    within(world.engine().result(id)).await.expect("it has ended");
    workers.stop().await;
    assert_eq!(began.available_permits(), 0, "it was done once");
}

#[tokio::test]
async fn a_job_that_raises_an_error_nobody_catches_is_an_incident_with_its_code() {
    let world = World::new(1);
    world.deploy(PROCESS);
    let id = world.engine().start("p").variable("urgency", 0).wait().expect("starts");
    let job = activate(world.engine(), 1).await[0].job;
    let thrown = world.engine().throw_error(job, "no-stock", "the shelf is empty", vars(&[]));
    thrown.wait().expect("it has the job");
    let why = world.engine().why(id).wait().expect("it can say why");
    assert!(why.iter().any(|it| it.to_string().contains("the shelf is empty")), "{why:?}");
    let rows = world.rows(Table::Incidents, Vec::new());
    assert!(
        matches!(&rows[..], [Row::Incident(it)] if it.code.as_deref() == Some("no-stock")),
        "{rows:?}"
    );
}

/// A shard with one job, which is taken off its board.
fn shard_with_job() -> (Shard, Arc<Board>, Address) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(1));
    let engine = Engine::on(&store, Options::default()).expect("it opens");
    engine.deploy(&[file("model.bpmn", PROCESS)]).expect("is fine");
    engine.start("p").variables(vars(&[("urgency", 0.into())])).wait().expect("starts");
    let definitions = engine.definitions();
    engine.shutdown().expect("nothing has failed");
    let (board, now) = (Arc::<Board>::default(), Timestamp::from_millis(0));
    let claim = store.take(ShardId(0), "a test").expect("it can be claimed");
    let opening = Opening {
        store,
        definitions,
        functions: Arc::default(),
        board: Arc::clone(&board),
        settings: Settings::default(),
        now,
    };
    let (shard, _) = Shard::recover(claim, opening, &mut |_, _| {}).expect("it opens");
    let job = board.take(&"work".into(), 1, now)[0].job;
    (shard, board, job)
}

/// Asks a shard. What is answered can be had once its batch is released.
fn ask<A: Ask>(shard: &mut Shard, ask: A) -> impl FnOnce() -> Result<A::Reply, Error> + use<A> {
    let (to, mut receiver) = ReplyTo::caller();
    shard.request(ask.into_request(), to);
    move || receiver.try_recv().expect("it is released").map(A::reply)
}

#[test]
fn a_job_that_is_offered_again_while_a_worker_takes_it_is_not_up_when_it_is_done() {
    let (mut shard, board, job) = shard_with_job();
    let again = Command::SetRetries { wait: job.wait, retries: 2 };
    let again = ask(&mut shard, CommandRequest { instance: job.instance, command: again });
    let lease = LeaseRequest { job, lease: Lease::Process, names: Vec::new() };
    let leased = ask(&mut shard, lease);
    let done = ask(&mut shard, CompleteRequest { to: job, variables: Vec::new() });
    shard.seal().expect("there is something to write").release(&board);
    again().expect("it waits for work");
    leased().expect("it can be asked").expect("nobody else has it");
    done().expect("it is done");
    assert_eq!(board.counts(), []);
}

#[test]
fn an_attempt_that_nobody_needs_any_more_is_called_off_and_counts_for_nothing() {
    let (mut shard, board, job) = shard_with_job();
    let begin = |shard: &mut Shard| {
        let given = ask(shard, BeginAttemptRequest { job });
        shard.seal().expect("there is an answer").release(&board);
        given().expect("it can be asked").expect("nobody else is at it")
    };
    let late = begin(&mut shard);
    assert!(!late.is_off());
    let back = ask(&mut shard, PutBackRequest { job });
    assert!(late.is_off(), "whoever has not begun with it need not");
    let next = begin(&mut shard);
    back().expect("it is here");
    let brings = |by: &str| Ok(Value::from(Map::from_iter([("by".into(), by.into())])));
    let unheard = EndAttemptRequest { given: late, outcome: brings("the late one") };
    let unheard = ask(&mut shard, unheard);
    assert!(!next.is_off());
    let done = ask(&mut shard, EndAttemptRequest { given: next, outcome: brings("the next one") });
    shard.seal().expect("there is something to write").release(&board);
    unheard().expect("nobody hears it");
    done().expect("it is done");
    let ended = shard.look(job.instance).expect("it is kept for a moment");
    let by = ended.variables().find(|(name, _)| &***name == "by").map(|(_, value)| value.clone());
    assert_eq!(by, Some("the next one".into()));
}

#[tokio::test]
async fn work_that_pauses_says_until_when() {
    let mut world = World::new(1);
    world.deploy(PROCESS);
    let id = world.engine().start("p").variable("urgency", 0).wait().expect("starts");
    let again = |world: &World| {
        let why = world.engine().why(id).wait().expect("it can say why");
        let work = why.iter().find_map(|it| match &it.why {
            Why::Work { again, .. } => Some(*again),
            _ => None,
        });
        work.expect("it waits for work")
    };
    assert_eq!(again(&world), None);
    let job = activate(world.engine(), 1).await[0].job;
    let until = world.engine().now().after(Duration::from_mins(1));
    world
        .engine()
        .fail(job, JobFailure { backoff: Duration::from_mins(1), ..JobFailure::new("busy") })
        .wait()
        .expect("it has the job");
    assert_eq!(again(&world), Some(until));
    world.restart();
    assert_eq!(again(&world), Some(until));
    world.advance(60_000);
    assert_eq!(activate(world.engine(), 1).await.len(), 1);
}

#[tokio::test]
async fn a_worker_of_a_model_made_for_fleans_has_the_inputs_and_nothing_else() {
    let task = |id: &str, more: &str| {
        format!(
            r#"<serviceTask id="{id}" type="work"><extensionElements>{more}</extensionElements></serviceTask>"#
        )
    };
    let inputs = r#"<f:ioMapping><f:input source="=order.sum" target="sum"/></f:ioMapping>"#;
    let world = World::new(1);
    world.deploy(&format!(
        r#"<process id="p" isExecutable="true" xmlns:f="https://fleans.io/schema/bpmn/1.0"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>{}
        <sequenceFlow id="f2" sourceRef="t" targetRef="u"/>{}
        <sequenceFlow id="f3" sourceRef="u" targetRef="e"/><endEvent id="e"/></process>"#,
        task("t", inputs),
        task("u", ""),
    ));
    let order = Value::parse_json(r#"{"sum": 7}"#).expect("it is JSON");
    let variables = vars(&[("order", order.clone())]);
    world.engine().start("p").variables(variables).wait().expect("it starts");
    let job = activate(world.engine(), 1).await.remove(0);
    assert_eq!(job.variables, vars(&[("sum", 7.into())]));
    world.engine().complete(job.job, Vec::new()).wait().expect("it is completed");
    let job = activate(world.engine(), 1).await.remove(0);
    assert_eq!(job.variables, vars(&[("order", order)]));
}
