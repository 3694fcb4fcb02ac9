//! What is written into instances from outside: by workers, by operators, and at the start.

use std::time::Duration;

use travertine_kernel::{Ending, Reach, Rejection, WaitId, plan::WorkKind};
use travertine_runtime::{
    Activated, Address, Engine, Error, InstanceId, JobChange, JobFailure, Named,
    engine::{File, JobAsk, Options, Target},
};
use travertine_store::{
    DefinitionKey,
    record::Record,
    search::{Condition, InstanceColumn, Search, Test},
    view::{Row, Table},
};
use travertine_value::Value;

use crate::world::{World, vars};

/// A model for Camunda 8.
fn zeebe(process: &str) -> File {
    let text = format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
            xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">{process}</definitions>"#
    );
    File { name: "model.bpmn".to_owned(), body: text.into_bytes() }
}

/// A task that works for `kind`, with extensions, between a start and another task of the kind `next`.
fn two_tasks(extensions: &str) -> File {
    zeebe(&format!(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
            <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
            <serviceTask id="t"><extensionElements><zeebe:taskDefinition type="work"/>{extensions}
            </extensionElements></serviceTask>
            <sequenceFlow id="f2" sourceRef="t" targetRef="n"/>
            <serviceTask id="n"><extensionElements><zeebe:taskDefinition type="next"/>
            </extensionElements></serviceTask>
            <sequenceFlow id="f3" sourceRef="n" targetRef="e"/><endEvent id="e"/></process>"#
    ))
}

/// A task inside a sub-process with a variable of its own, `inner`.
const NESTED: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="sub"/>
    <subProcess id="sub"><extensionElements><zeebe:ioMapping>
        <zeebe:input source="=1" target="inner"/></zeebe:ioMapping></extensionElements>
        <startEvent id="s2"/><sequenceFlow id="g1" sourceRef="s2" targetRef="t"/>
        <serviceTask id="t"><extensionElements><zeebe:taskDefinition type="work"/></extensionElements>
        </serviceTask><sequenceFlow id="g2" sourceRef="t" targetRef="t2"/>
        <serviceTask id="t2"><extensionElements><zeebe:taskDefinition type="next"/></extensionElements>
        </serviceTask></subProcess>
    <sequenceFlow id="f2" sourceRef="sub" targetRef="u"/>
    <serviceTask id="u"><extensionElements><zeebe:taskDefinition type="after"/></extensionElements>
    </serviceTask></process>"#;

const USER: &str = r#"<process id="u" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
    <userTask id="t"><extensionElements><zeebe:userTask/></extensionElements></userTask></process>"#;

fn engine(files: &[File]) -> Engine {
    let engine = Engine::in_memory(Options::default()).expect("it opens");
    engine.deploy(files).expect("it is deployed");
    engine
}

async fn job(engine: &Engine, job_type: &str) -> Activated {
    let ask = JobAsk { most: 1, ..JobAsk::new(job_type, "w") };
    let mut jobs = engine.jobs(ask).await.expect("it goes on");
    jobs.pop().unwrap_or_else(|| panic!("there is a job of type {job_type}"))
}

fn variable(engine: &Engine, instance: InstanceId, name: &str) -> Option<Value> {
    let look = engine.look(instance).wait().expect("it is there");
    look.variables.into_iter().find(|(it, _)| &**it == name).map(|(_, value)| value)
}

fn seen(job: &Activated, name: &str) -> Option<i64> {
    job.variables.iter().find(|(it, _)| &**it == name).and_then(|(_, value)| value.as_i64())
}

#[tokio::test]
async fn variables_of_a_failure_are_seen_by_the_next_try_and_die_with_the_task() {
    let engine = engine(&[two_tasks("")]);
    let instance = engine.start("p").variable("x", 1).await.expect("it starts");
    let first = job(&engine, "work").await;
    let failure = JobFailure {
        variables: vars(&[("x", 5.into()), ("note", 7.into())]),
        ..JobFailure::new("no")
    };
    engine.fail(first.job, failure).await.expect("it has the job");
    let again = job(&engine, "work").await;
    assert_eq!((seen(&again, "x"), seen(&again, "note"), again.retries), (Some(5), Some(7), 2));
    assert_eq!(variable(&engine, instance, "x"), Some(1.into()), "the process has its own");
    // What the task has of its own stays its own; what nobody has goes to the process.
    let brought = vars(&[("note", 8.into()), ("fresh", 9.into())]);
    engine.complete(again.job, brought).await.expect("it has the job");
    let next = job(&engine, "next").await;
    let all = ["x", "note", "fresh"].map(|it| seen(&next, it));
    assert_eq!(all, [Some(1), None, Some(9)]);
}

#[tokio::test]
async fn variables_of_a_failure_can_be_mapped_out_of_the_task() {
    let mapped =
        r#"<zeebe:ioMapping><zeebe:output source="=note" target="kept"/></zeebe:ioMapping>"#;
    let engine = engine(&[two_tasks(mapped)]);
    engine.start("p").await.expect("it starts");
    let first = job(&engine, "work").await;
    let failure = JobFailure { variables: vars(&[("note", 7.into())]), ..JobFailure::new("no") };
    engine.fail(first.job, failure).await.expect("it has the job");
    let again = job(&engine, "work").await;
    engine.complete(again.job, vars(&[("lost", 1.into())])).await.expect("it has the job");
    let next = job(&engine, "next").await;
    assert_eq!(["kept", "note", "lost"].map(|it| seen(&next, it)), [Some(7), None, None]);
}

#[tokio::test]
async fn variables_of_the_last_failure_are_there_when_the_incident_is_resolved() {
    let mut world = World::new(1);
    world.engine().deploy(&[two_tasks("")]).expect("it is deployed");
    let instance = world.engine().start("p").wait().expect("it starts");
    let first = job(world.engine(), "work").await;
    let variables = vars(&[("note", 7.into())]);
    let failure = JobFailure { retries: Some(0), variables, ..JobFailure::new("no") };
    world.engine().fail(first.job, failure).wait().expect("it has the job");
    world.restart();
    world.engine().retry(instance, None).wait().expect("it has an incident");
    assert_eq!(seen(&job(world.engine(), "work").await, "note"), Some(7));
    world.check();
}

#[tokio::test]
async fn what_a_job_brings_stays_with_the_task_where_an_input_has_made_it_its_own() {
    let mapped = r#"<zeebe:ioMapping><zeebe:input source="=1" target="x"/></zeebe:ioMapping>"#;
    let engine = engine(&[two_tasks(mapped)]);
    let instance = engine.start("p").variable("y", 2).await.expect("it starts");
    let work = job(&engine, "work").await;
    assert_eq!(seen(&work, "x"), Some(1));
    let brought = vars(&[("x", 5.into()), ("y", 6.into()), ("z", 7.into())]);
    engine.complete(work.job, brought).await.expect("it has the job");
    let next = job(&engine, "next").await;
    assert_eq!(["x", "y", "z"].map(|it| seen(&next, it)), [None, Some(6), Some(7)]);
    assert_eq!(variable(&engine, instance, "z"), Some(7.into()));
}

#[tokio::test]
async fn a_write_that_propagates_goes_to_who_has_the_name_else_to_the_process() {
    let engine = engine(&[zeebe(NESTED)]);
    let instance = engine.start("p").variable("outer", 1).await.expect("it starts");
    let work = job(&engine, "work").await;
    let at = Named::Visit(instance, work.visit);
    let variables = vars(&[("inner", 2.into()), ("outer", 3.into()), ("fresh", 4.into())]);
    engine.set(at, variables, Reach::Propagate).await.expect("it is there");
    let all = ["inner", "outer", "fresh"].map(|it| variable(&engine, instance, it));
    assert_eq!(all, [None, Some(3.into()), Some(4.into())]);
    engine.complete(work.job, Vec::new()).await.expect("it has the job");
    let next = job(&engine, "next").await;
    assert_eq!(seen(&next, "inner"), Some(2), "the sub-process has it");
    engine.complete(next.job, Vec::new()).await.expect("it has the job");
    let after = job(&engine, "after").await;
    assert_eq!((seen(&after, "inner"), seen(&after, "fresh")), (None, Some(4)));
}

#[tokio::test]
async fn a_local_write_is_the_elements_own_and_goes_with_it() {
    let mut world = World::new(1);
    world.engine().deploy(&[zeebe(NESTED)]).expect("it is deployed");
    let instance = world.engine().start("p").variable("x", 1).wait().expect("it starts");
    let work = job(world.engine(), "work").await;
    let at = Named::Visit(instance, work.visit);
    let local = vars(&[("x", 2.into())]);
    world.engine().set(at, local, Reach::Local).wait().expect("it is there");
    world.engine().hand_back("w", &[work]).await.expect("it has the job");
    world.restart();
    let work = job(world.engine(), "work").await;
    assert_eq!(seen(&work, "x"), Some(2));
    assert_eq!(variable(world.engine(), instance, "x"), Some(1.into()));
    // A write that propagates finds it there.
    let variables = vars(&[("x", 3.into())]);
    world.engine().set(at, variables, Reach::Propagate).wait().expect("it is there");
    assert_eq!(variable(world.engine(), instance, "x"), Some(1.into()));
    world.engine().complete(work.job, Vec::new()).wait().expect("it has the job");
    assert_eq!(seen(&job(world.engine(), "next").await, "x"), Some(1));
    let left = world.engine().set(at, Vec::new(), Reach::Local).wait();
    assert_eq!(left, Err(Error::NoSuchVisit { instance, visit: work.visit }));
    // The process itself, by its own key and by that of its instance.
    for at in [Named::Instance(instance), Named::Visit(instance, 0)] {
        for reach in [Reach::Local, Reach::Propagate] {
            let variables = vars(&[("x", 9.into())]);
            world.engine().set(at, variables, reach).wait().expect("it is there");
            assert_eq!(variable(world.engine(), instance, "x"), Some(9.into()));
        }
    }
    let wait = Named::Wait(work.job);
    let refused = world.engine().set(wait, Vec::new(), Reach::Local).wait();
    assert_eq!(refused, Err(Error::NoVariables(wait)));
    world.check();
}

#[tokio::test]
async fn jobs_and_user_tasks_are_told_apart() {
    let engine = engine(&[two_tasks(""), File { name: "u.bpmn".into(), ..zeebe(USER) }]);
    engine.start("p").await.expect("it starts");
    let user = engine.start("u").await.expect("it starts");
    let job = job(&engine, "work").await.job;
    let state = engine.look(user).await.expect("it is there").state;
    let wait = *state.waits.keys().next().expect("the task is open");
    let task = Address { instance: user, wait };
    let is_user = Err(Error::WrongKind { work: task, is: WorkKind::User });
    let is_job = Err(Error::WrongKind { work: job, is: WorkKind::Job });
    assert_eq!(engine.complete_work(task, WorkKind::Job, true, Vec::new()).await, is_user);
    assert_eq!(engine.fail(task, JobFailure::new("no")).await, is_user);
    assert_eq!(engine.throw_job_error(task, "c", "no", Vec::new()).await, is_user);
    let change = JobChange { retries: Some(3), ..JobChange::default() };
    assert_eq!(engine.update_job(task, change).await, is_user);
    assert_eq!(engine.complete_work(job, WorkKind::User, true, Vec::new()).await, is_job);
    engine.complete_work(task, WorkKind::User, true, Vec::new()).await.expect("it is open");
    engine.complete_work(job, WorkKind::Job, true, Vec::new()).await.expect("it is open");
    let again = engine.complete_work(job, WorkKind::Job, true, Vec::new()).await;
    assert_eq!(again, Err(Rejection::NoSuchWait(job.wait).into()));
}

#[tokio::test]
async fn a_strict_caller_does_not_complete_a_job_without_retries() {
    let engine = engine(&[two_tasks("")]);
    engine.start("p").await.expect("it starts");
    let job = job(&engine, "work").await.job;
    let failure = JobFailure { retries: Some(0), ..JobFailure::new("no") };
    engine.fail(job, failure).await.expect("it has the job");
    let complete = |strict| engine.complete_work(job, WorkKind::Job, strict, Vec::new());
    assert_eq!(complete(true).await, Err(Error::NoRetriesLeft(job)));
    complete(false).await.expect("who knows that it is done may say so");
}

#[tokio::test]
async fn a_job_is_changed_all_at_once_or_not_at_all() {
    let mut world = World::new(1);
    world.engine().deploy(&[two_tasks("")]).expect("it is deployed");
    let [one, other] = [(); 2].map(|()| world.engine().start("p").wait().expect("it starts"));
    let first = job(world.engine(), "work").await;
    assert_eq!(first.job.instance, one);
    world.engine().hand_back("w", std::slice::from_ref(&first)).await.expect("it has the job");
    let change =
        JobChange { retries: Some(9), lease: Some(Duration::from_secs(1)), priority: Some(5) };
    let refused = world.engine().update_job(first.job, change.clone()).wait();
    assert_eq!(refused, Err(Error::NotLeased(first.job)));
    let none = JobChange { retries: Some(0), priority: Some(5), ..JobChange::default() };
    let refused = world.engine().update_job(first.job, none).wait();
    assert_eq!(refused, Err(Rejection::NoRetries(first.job.wait).into()));
    let first = job(world.engine(), "work").await;
    assert_eq!((first.job.instance, first.retries, first.priority), (one, 3, 0));
    // The other one has become more pressing, also after a restart.
    world.engine().hand_back("w", std::slice::from_ref(&first)).await.expect("it has the job");
    let second = world.jobs().into_iter().find(|it| it.instance == other.0).expect("it is open");
    let second = Address { instance: InstanceId(second.instance), wait: WaitId(second.wait) };
    let pressing = JobChange { priority: Some(5), ..JobChange::default() };
    world.engine().update_job(second, pressing).wait().expect("it is open");
    world.restart();
    let pressing = job(world.engine(), "work").await;
    assert_eq!((pressing.job, pressing.priority), (second, 5));
    world.engine().update_job(second, change).wait().expect("a worker has it");
    world.advance(1_001);
    let again = job(world.engine(), "work").await;
    assert_eq!((again.job, again.retries, again.priority), (second, 9, 5));
    assert_eq!(world.jobs().iter().map(|it| it.priority).max(), Some(5));
    world.check();
}

#[tokio::test]
async fn a_model_says_how_pressing_its_jobs_are_and_workers_see_no_header_of_it() {
    let pressing = r#"<zeebe:jobPriorityDefinition priority="=urgency * 2"/>
        <zeebe:taskHeaders><zeebe:header key="h" value="v"/></zeebe:taskHeaders>"#;
    let engine = engine(&[two_tasks(pressing)]);
    for urgency in [1, 3, 2] {
        engine.start("p").variable("urgency", urgency).await.expect("it starts");
    }
    let mut given = Vec::new();
    for _ in 0..3 {
        let job = job(&engine, "work").await;
        assert_eq!(job.headers, vars(&[("h", "v".into())]));
        given.push(job.priority);
    }
    assert_eq!(given, [6, 4, 2]);
}

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn tags_and_trace_of_a_start_are_kept_handed_to_jobs_and_found() {
    let mut world = World::new(2);
    world.engine().deploy(&[two_tasks("")]).expect("it is deployed");
    let tagged = world.engine().start("p").tag("urgent").tag("team:north").trace(TRACE).wait();
    let tagged = tagged.expect("it starts");
    world.engine().start("p").wait().expect("it starts");
    world.restart();
    let jobs = world.engine().jobs(JobAsk::new("work", "w")).await.expect("it goes on");
    let job = jobs.iter().find(|it| it.job.instance == tagged).expect("it is there");
    assert_eq!(job.tags, ["urgent", "team:north"].map(Into::into));
    assert_eq!(job.trace.as_deref(), Some(TRACE));
    assert!(jobs.iter().filter(|it| it.job.instance != tagged).all(|it| it.tags.is_empty()));
    let found = async |world: &World, tag: &str| {
        let search = Search::of(Table::Instances)
            .with(Condition::of(InstanceColumn::Id, Test::eq(tagged.0)))
            .with(Condition::of(InstanceColumn::Tag, Test::eq(tag)));
        let found = world.engine().search(search).await.expect("it makes sense");
        found.rows.iter().any(|it| matches!(it, Row::Instance(it) if it.id == tagged.0))
    };
    assert!(found(&world, "team:north").await);
    assert!(!found(&world, "north").await);
    for job in &jobs {
        world.engine().complete(job.job, Vec::new()).wait().expect("it has the job");
    }
    world.engine().cancel(tagged).wait().expect("it runs");
    world.flush();
    world.restart_after(|data| {
        std::fs::remove_file(data.join("views.db")).expect("the views are there");
    });
    assert!(found(&world, "urgent").await, "also once it has ended");
    world.check();
}

#[tokio::test]
async fn an_instance_ends_after_the_element_that_its_starter_names_also_after_a_restart() {
    let mut world = World::new(2);
    world.engine().deploy(&[two_tasks("")]).expect("it is deployed");
    let engine = world.engine();
    let done = engine.start("p").ends_after("t").wait().expect("it starts");
    let snapshot = engine.start("p").ends_after("n").ends_after("t").wait().expect("it starts");
    let error = engine.start("p").ends_after("nothing").wait().expect_err("there is none");
    assert!(matches!(error, Error::NoSuchElement { .. }), "{error}");
    let whole = engine.start("p").wait().expect("it starts");
    world.restart();
    let engine = world.engine();
    let jobs = engine.jobs(JobAsk { most: 9, ..JobAsk::new("work", "w") }).await.expect("they are");
    assert_eq!(jobs.len(), 3);
    for job in &jobs {
        engine.complete(job.job, Vec::new()).wait().expect("it has the job");
    }
    for ended in [done, snapshot] {
        assert_eq!(engine.result(ended).wait().expect("it is there").ending, Ending::Cancelled);
    }
    let next = engine.jobs(JobAsk { most: 9, ..JobAsk::new("next", "w") }).await.expect("it is");
    assert_eq!(next.iter().map(|it| it.job.instance).collect::<Vec<_>>(), [whole]);
    world.check();
}

#[tokio::test]
async fn an_instance_ends_after_an_element_that_was_cut_short_or_left_by_itself() {
    let engine = engine(&[zeebe(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
            <sequenceFlow id="f1" sourceRef="s" targetRef="sub"/>
            <subProcess id="sub"><startEvent id="s2"/><sequenceFlow id="g" sourceRef="s2" targetRef="t"/>
            <serviceTask id="t"><extensionElements><zeebe:taskDefinition type="work"/></extensionElements>
            </serviceTask></subProcess>
            <boundaryEvent id="b" attachedToRef="sub"><errorEventDefinition errorRef="err"/></boundaryEvent>
            <sequenceFlow id="f2" sourceRef="b" targetRef="n"/>
            <serviceTask id="n"><extensionElements><zeebe:taskDefinition type="next"/></extensionElements>
            </serviceTask></process><error id="err" errorCode="E"/>"#,
    )]);
    // The sub-process is taken down by the error, the start event was nothing but passed.
    for element in ["sub", "t", "s2"] {
        let instance = engine.start("p").ends_after(element).await.expect("it starts");
        if element != "s2" {
            let job = job(&engine, "work").await;
            engine.throw_error(job.job, "E", "no", Vec::new()).await.expect("it has the job");
        }
        assert_eq!(engine.result(instance).await.expect("it is there").ending, Ending::Cancelled);
    }
    // A boundary event that never happened was not there.
    let instance = engine.start("p").ends_after("b").await.expect("it starts");
    let job = job(&engine, "work").await;
    engine.complete(job.job, Vec::new()).await.expect("it has the job");
    assert_eq!(engine.result(instance).await.expect("it is there").ending, Ending::Completed);
}

#[tokio::test]
async fn labels_that_nothing_can_have_are_refused() {
    let engine = engine(&[two_tasks("")]);
    let refused = |error: &Error| matches!(error, Error::BadLabel { .. });
    let many = (0..11).fold(engine.start("p"), |it, n| it.tag(&format!("t{n}")));
    for start in [
        engine.start("p").tag("1st"),
        engine.start("p").tag(""),
        engine.start("p").tag("a").tag("a"),
        engine.start("p").trace("00-1-2-3"),
        many,
    ] {
        let error = start.await.expect_err("it is refused");
        assert!(refused(&error), "{error}");
    }
    (0..10).fold(engine.start("p"), |it, n| it.tag(&format!("t{n}"))).await.expect("ten are fine");
}

#[tokio::test]
async fn an_id_is_unique_among_what_runs_where_that_is_asked_for() {
    let mut world = World::new(3);
    world
        .engine()
        .deploy(&[two_tasks(""), File { name: "u.bpmn".into(), ..zeebe(USER) }])
        .expect("it is deployed");
    let start = |world: &World| world.engine().start("p").id("order-1").unique().wait();
    let first = start(&world).expect("nothing runs");
    for restarts in [false, true] {
        if restarts {
            world.restart();
        }
        let Err(Error::AlreadyExists { id, instance, definition }) = start(&world) else {
            panic!("the first one runs")
        };
        assert_eq!((&*id, instance, &*definition), ("order-1", first, "p"));
        assert_eq!(world.engine().start("p").id("order-1").wait(), Ok(first), "others find it");
    }
    world.engine().start("u").id("order-1").unique().wait().expect("it runs something else");
    world.engine().cancel(first).wait().expect("it runs");
    let second = start(&world).expect("the first one has ended");
    assert_ne!(second, first);
    world.engine().cancel(second).wait().expect("it runs");
    world.flush();
    world.restart();
    let third = start(&world).expect("both have ended");
    assert!(third > second && start(&world).is_err());
    world.check();
}

#[tokio::test]
async fn a_version_is_started_by_its_key() {
    let engine = engine(&[two_tasks("")]);
    let first = engine.definitions().find("p").expect("it is deployed").key;
    let changed =
        two_tasks(r#"<zeebe:taskHeaders><zeebe:header key="h" value="v"/></zeebe:taskHeaders>"#);
    engine.deploy(&[changed]).expect("it is deployed");
    engine.start(Target::Key(first)).await.expect("it starts");
    let given = job(&engine, "work").await;
    assert_eq!((given.definition_key, given.version, given.root), (first, 1, given.job.instance));
    let missing = engine.start(Target::Key(DefinitionKey(99_999))).await;
    assert!(matches!(missing, Err(Error::NoSuchDefinition(_))), "{missing:?}");
}

#[tokio::test]
async fn who_waits_for_a_result_no_longer_than_so_leaves_the_instance_alone() {
    let engine = engine(&[two_tasks("")]);
    let instance = engine.start("p").await.expect("it starts");
    let short = Duration::from_millis(1);
    assert_eq!(engine.result_within(instance, short).await, Ok(None));
    for job_type in ["work", "next"] {
        let job = job(&engine, job_type).await;
        engine.complete(job.job, vars(&[("n", 1.into())])).await.expect("it has the job");
    }
    let ended = engine.result_within(instance, Duration::MAX).await.expect("it is there");
    assert_eq!(ended.expect("it has ended").variables, vars(&[("n", 1.into())]));
}

/// Who did what, as the history of an instance tells it, entry by entry.
fn who(engine: &Engine, instance: InstanceId) -> Vec<Option<String>> {
    let steps = engine.history(instance).expect("it is kept").steps.into_iter();
    let who = |records: &[Record]| {
        records.iter().find_map(|it| match it {
            Record::By { who } => Some(who.to_string()),
            _ => None,
        })
    };
    steps.map(|it| who(&it.records)).collect()
}

#[tokio::test]
async fn what_somebody_did_is_written_down_with_their_name_and_what_follows_is_not() {
    let engine = engine(&[two_tasks(""), {
        let mut user = zeebe(USER);
        user.name = "user.bpmn".to_owned();
        user
    }]);
    let ann = engine.by("ann");
    let instance = ann.start("p").await.expect("it starts");
    let first = job(&engine.by("worker"), "work").await;
    engine.by("worker").complete(first.job, Vec::new()).await.expect("it has the job");
    engine.by("bob").suspend(instance).await.expect("it runs");
    // A program that says nothing is nobody.
    engine.resume(instance).await.expect("it is suspended");
    ann.cancel(instance).await.expect("it runs");
    let name = |it: &str| Some(it.to_owned());
    let worker = || name("worker");
    let expected = vec![name("ann"), worker(), worker(), name("bob"), None, name("ann")];
    assert_eq!(who(&engine, instance), expected);
    // Who is refused has done nothing.
    assert!(ann.cancel(instance).await.is_err());
    assert_eq!(who(&engine, instance).len(), 6);
}
