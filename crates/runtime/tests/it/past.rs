//! What is over: found by the same searches as what is there, after the instance has gone on or ended.

use std::{sync::Arc, time::Duration};

use travertine_kernel::{WaitId, plan::WorkKind};
use travertine_runtime::{
    Engine, InstanceId, JobFailure, Kept, KeptHistory, Settings,
    engine::{File, JobAsk, ManualClock, Options},
};
use travertine_store::{
    search::{Condition, Era, IncidentColumn, JobColumn, Search, TaskColumn, Test},
    view::{IncidentRow, JobRow, JobState, Row, Table, TaskRow, TaskState},
};

use crate::world::{World, vars};

fn history() -> KeptHistory {
    KeptHistory { jobs: Kept::WithInstance, ..KeptHistory::default() }
}

fn world(history: KeptHistory) -> World {
    let settings = Settings { history, ..Settings::default() };
    World::with(Options { shards: 1, settings, ..Options::default() })
}

/// A job whose error `oops` is caught, then a task with a timer of an hour beside it.
const MODEL: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="work"/>
    <serviceTask id="work"><extensionElements><zeebe:taskDefinition type="work"/></extensionElements></serviceTask>
    <boundaryEvent id="caught" attachedToRef="work"><errorEventDefinition errorRef="oops"/></boundaryEvent>
    <sequenceFlow id="f2" sourceRef="work" targetRef="ask"/>
    <sequenceFlow id="f3" sourceRef="caught" targetRef="ask"/>
    <userTask id="ask" name="Ask"><extensionElements><zeebe:userTask/>
        <zeebe:assignmentDefinition assignee="bob"/></extensionElements></userTask>
    <boundaryEvent id="late" attachedToRef="ask"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>
    <sequenceFlow id="f4" sourceRef="late" targetRef="e"/>
    <sequenceFlow id="f5" sourceRef="ask" targetRef="e"/><endEvent id="e"/></process>
    <error id="oops" errorCode="oops"/>"#;

fn model() -> File {
    let text = format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
            xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">{MODEL}</definitions>"#
    );
    File { name: "model.bpmn".to_owned(), body: text.into_bytes() }
}

async fn found(engine: &Engine, table: Table, era: Era) -> Vec<Row> {
    engine.search(Search::of(table).of_era(era)).await.expect("it makes sense").rows
}

fn jobs(rows: Vec<Row>) -> Vec<JobRow> {
    rows.into_iter().filter_map(|it| if let Row::Job(it) = it { Some(it) } else { None }).collect()
}

fn tasks(rows: Vec<Row>) -> Vec<TaskRow> {
    rows.into_iter().filter_map(|it| if let Row::Task(it) = it { Some(it) } else { None }).collect()
}

fn incidents(rows: Vec<Row>) -> Vec<IncidentRow> {
    let only = |it| if let Row::Incident(it) = it { Some(it) } else { None };
    rows.into_iter().filter_map(only).collect()
}

async fn job(engine: &Engine) -> travertine_runtime::Activated {
    let mut found = engine.jobs(JobAsk::new("work", "w")).await.expect("there is one");
    found.pop().expect("there is one")
}

fn failure(message: &str) -> JobFailure {
    JobFailure { retries: Some(0), message: message.to_owned(), ..JobFailure::default() }
}

async fn task(engine: &Engine, instance: InstanceId) -> TaskRow {
    let one = Condition::of(TaskColumn::Instance, Test::eq(instance.0));
    let rows =
        engine.search(Search::of(Table::Tasks).with(one)).await.expect("it makes sense").rows;
    tasks(rows).pop().expect("there is one")
}

fn address(it: &TaskRow) -> travertine_runtime::Address {
    let (instance, wait) = (InstanceId(it.instance), WaitId(it.wait));
    travertine_runtime::Address { instance, wait }
}

#[tokio::test]
async fn work_that_is_over_is_found_with_how_it_was_when_and_by_whom() {
    let world = world(history());
    let engine = world.engine();
    engine.deploy(&[model()]).expect("it is deployed");
    let done = engine.start("p").await.expect("it starts");
    let given = job(engine).await;
    engine.by("worker").complete(given.job, Vec::new()).await.expect("it has it");
    let raised = engine.start("p").await.expect("it starts");
    let given = job(engine).await;
    engine.throw_error(given.job, "oops", "no", Vec::new()).await.expect("it has it");
    let gone = engine.start("p").await.expect("it starts");
    engine.by("ann").cancel(gone).await.expect("it runs");

    world.advance(60_000);
    let open = task(engine, done).await;
    engine
        .by("bob")
        .complete_work(address(&open), WorkKind::User, true, vars(&[]))
        .await
        .expect("it is open");
    // The timer takes the other one away.
    world.advance(3_600_000);
    world.rest();

    let past = jobs(found(engine, Table::Jobs, Era::Past).await);
    let seen: Vec<_> = past
        .iter()
        .map(|it| (it.instance, it.state, it.worker.as_deref(), it.by.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            (done.0, JobState::Completed, Some("w"), Some("worker")),
            (raised.0, JobState::Raised, Some("w"), None),
            (gone.0, JobState::Cancelled, None, Some("ann")),
        ]
    );
    assert_eq!(found(engine, Table::Jobs, Era::Present).await, []);
    let past = tasks(found(engine, Table::Tasks, Era::Past).await);
    let seen: Vec<_> = past
        .iter()
        .map(|it| (it.instance, it.state, it.assignee.as_deref(), it.by.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            (done.0, TaskState::Completed, Some("bob"), Some("bob")),
            (raised.0, TaskState::Cancelled, Some("bob"), None),
        ]
    );
    assert_eq!(past[0].label.as_deref(), Some("Ask"));
    assert_eq!(past[0].created, open.created);
    assert_eq!(past[0].ended, Some(open.created.after(Duration::from_mins(1))));
    assert_eq!(past[0].visit, open.visit);
    // By what it is an instance of, and how it was over.
    let search = Search::of(Table::Tasks)
        .with(Condition::of(TaskColumn::State, Test::eq(TaskState::Completed)))
        .with(Condition::of(travertine_store::search::InstanceColumn::Definition, Test::eq("p")))
        .of_era(Era::Both)
        .counted();
    let one = engine.search(search).await.expect("it makes sense");
    assert_eq!(one.total.map(|it| it.count), Some(1));
    world.check();
}

#[tokio::test]
async fn incidents_that_were_resolved_are_found_each_by_its_number() {
    let world = world(history());
    let engine = world.engine();
    engine.deploy(&[model()]).expect("it is deployed");
    let id = engine.start("p").await.expect("it starts");
    for round in 0..2 {
        let given = job(engine).await;
        let failure = failure(&format!("no {round}"));
        engine.fail(given.job, failure).await.expect("it has it");
        assert_eq!(found(engine, Table::Incidents, Era::Present).await.len(), 1);
        engine.by("ann").retry(id, None).await.expect("there is one");
    }
    let past = incidents(found(engine, Table::Incidents, Era::Past).await);
    let said: Vec<_> = past.iter().map(|it| (&*it.message, it.by.as_deref())).collect();
    assert_eq!(said, [("no 0", Some("ann")), ("no 1", Some("ann"))]);
    assert_ne!(past[0].number, past[1].number);
    assert_eq!(past[0].wait, past[1].wait, "they are of the same job");
    assert!(past[0].wait.is_some());
    assert_eq!(found(engine, Table::Incidents, Era::Both).await.len(), 2);
    // One that goes with its token is over, too.
    let given = job(engine).await;
    engine.fail(given.job, failure("no")).await.expect("it has it");
    engine.cancel(id).await.expect("it runs");
    let by_number = Search::of(Table::Incidents)
        .with(Condition::of(IncidentColumn::Instance, Test::eq(id.0)))
        .of_era(Era::Both);
    let all = incidents(engine.search(by_number).await.expect("it makes sense").rows);
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|it| it.ended.is_some() && it.wait == past[0].wait));
    world.check();
}

#[tokio::test]
async fn what_is_over_is_made_again_from_the_log() {
    let mut world = world(history());
    world.engine().deploy(&[model()]).expect("it is deployed");
    for _ in 0..3 {
        world.engine().start("p").await.expect("it starts");
        let given = job(world.engine()).await;
        world.engine().complete(given.job, Vec::new()).await.expect("it has it");
    }
    let first = world.engine().start("p").await.expect("it starts");
    world.engine().cancel(first).await.expect("it runs");
    let before = found(world.engine(), Table::Jobs, Era::Both).await;
    assert_eq!(before.len(), 4);
    world.restart();
    assert_eq!(found(world.engine(), Table::Jobs, Era::Both).await, before);
    world.restart_after(|data| {
        for name in ["views.db", "views.db-wal", "views.db-shm"] {
            let _ = std::fs::remove_file(data.join(name));
        }
    });
    assert_eq!(found(world.engine(), Table::Jobs, Era::Both).await, before);
    world.check();
}

#[tokio::test]
async fn rows_of_what_is_over_go_when_they_are_old_and_with_their_instance() {
    let hour = Duration::from_hours(1);
    let world = world(KeptHistory { jobs: Kept::For(hour), ..history() });
    let engine = world.engine();
    engine.deploy(&[model()]).expect("it is deployed");
    let id = engine.start("p").await.expect("it starts");
    let given = job(engine).await;
    engine.complete(given.job, Vec::new()).await.expect("it has it");
    engine.sweep().expect("it is there");
    assert_eq!(found(engine, Table::Jobs, Era::Past).await.len(), 1);
    world.advance(3_600_001);
    world.rest();
    engine.sweep().expect("it is there");
    assert_eq!(found(engine, Table::Jobs, Era::Past).await, []);
    // The timer has taken the task away, and its row goes with the instance.
    assert_eq!(found(engine, Table::Tasks, Era::Past).await.len(), 1);
    world.check();
    engine.delete(id).expect("it has ended");
    assert_eq!(found(engine, Table::Tasks, Era::Past).await, []);
    world.check();
}

#[tokio::test]
async fn of_work_that_is_over_only_what_is_wanted_is_kept() {
    for (jobs, tasks) in [(Kept::WithInstance, Kept::No), (Kept::No, Kept::WithInstance)] {
        let world = world(KeptHistory { jobs, tasks, ..KeptHistory::default() });
        let engine = world.engine();
        engine.deploy(&[model()]).expect("it is deployed");
        let id = engine.start("p").await.expect("it starts");
        let given = job(engine).await;
        engine.complete(given.job, Vec::new()).await.expect("it has it");
        let task = task(engine, id).await;
        engine.complete(address(&task), Vec::new()).await.expect("it is there");
        let kept = |it: Kept| usize::from(it == Kept::WithInstance);
        assert_eq!(found(engine, Table::Jobs, Era::Past).await.len(), kept(jobs));
        assert_eq!(found(engine, Table::Tasks, Era::Past).await.len(), kept(tasks));
    }
}

#[tokio::test]
async fn nothing_is_kept_of_what_nobody_wants() {
    let clock = Arc::new(ManualClock::default());
    let options = Options { shards: 1, clock, ..Options::default() };
    let engine = Engine::in_memory(options).expect("it opens");
    engine.deploy(&[model()]).expect("it is deployed");
    engine.start("p").await.expect("it starts");
    let given = job(&engine).await;
    engine.complete(given.job, Vec::new()).await.expect("it has it");
    let wanted = Condition::of(JobColumn::State, Test::eq(JobState::Completed));
    let search = Search::of(Table::Jobs).with(wanted).of_era(Era::Both);
    assert_eq!(engine.search(search).await.expect("it makes sense").rows, []);
    assert_eq!(engine.verify().expect("it can be read").differences, []);
}
