//! Batches: one operation on each of many instances.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use travertine_kernel::{Assignments, Rejection, WaitId, plan::WorkKind};
use travertine_runtime::{
    Address, BadId, Batch, BatchCause, BatchOutcome, BatchStep, BatchWork, Engine, Error,
    InstanceId, JobChange, JobFailure, Message,
    batch::BATCH,
    engine::{BatchGuard, File},
};
use travertine_store::{
    ShardId,
    record::Record,
    view::{Filter, InstanceRow, InstanceState, Row, Table},
};
use travertine_value::{Value, typed};

use crate::world::{World, block_on, file, vars, within, within_now};

const TWO: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="u"/><userTask id="u"/></process>"#;

fn world() -> World {
    let world = World::new(2);
    world.deploy(TWO);
    world
}

fn started(world: &World, count: usize) -> Vec<InstanceId> {
    let asked: Vec<_> = (0..count).map(|_| world.engine().start("p").begin()).collect();
    asked.into_iter().map(|it| it.wait().expect("it is started").0).collect()
}

fn begin(engine: &Engine, batch: Batch, instances: Vec<InstanceId>) -> InstanceId {
    block_on(engine.begin_batch(batch, instances)).expect("the batch begins")
}

fn state(engine: &Engine, batch: InstanceId) -> Batch {
    block_on(engine.find_batch(batch)).expect("it answers").expect("it is there")
}

fn over(engine: &Engine, batch: InstanceId) -> Batch {
    block_on(within(async {
        loop {
            let found = engine.find_batch(batch).await.expect("it answers");
            let found = found.expect("it is there");
            if found.ended.is_some() {
                return found;
            }
            tokio::task::yield_now().await;
        }
    }))
}

fn codes(engine: &Engine, batch: InstanceId, only: BatchOutcome) -> Vec<(u64, String)> {
    let page = block_on(engine.batch_items(batch, 0, 10_000, Some(only)));
    let page = page.expect("it answers").expect("it is there");
    let code = |it: &Option<String>| it.clone().unwrap_or_default();
    page.items.iter().map(|it| (it.instance, code(&it.code))).collect()
}

fn rows(world: &World, state: InstanceState) -> usize {
    let filters = vec![Filter::Definition("p".into()), Filter::State(vec![state])];
    world.rows(Table::Instances, filters).len()
}

#[test]
fn a_batch_does_the_same_with_each_and_tells_what_became_of_each() {
    let world = world();
    let all = started(&world, 150);
    let engine = world.engine();
    engine.cancel(all[3]).wait().unwrap();
    engine.suspend(all[7]).wait().unwrap();
    let batch = Batch { filter: "def:p".into(), ..Batch::new(BatchWork::Suspend) };
    let twice = all.iter().chain(&all).copied().collect();
    let batch = begin(engine, batch, twice);
    let found = over(engine, batch);
    assert_eq!((found.total, found.seen, found.done), (150, 150, 148));
    assert_eq!((found.refused, found.gone), (1, 1));
    assert_eq!(found.filter, "def:p");
    assert_eq!(codes(engine, batch, BatchOutcome::Refused), [(all[7].0, "suspended".to_owned())]);
    assert_eq!(codes(engine, batch, BatchOutcome::Gone), [(all[3].0, "ended".to_owned())]);
    assert_eq!(codes(engine, batch, BatchOutcome::Done).len(), 148);
    assert_eq!(rows(&world, InstanceState::Suspended), 149);
    assert_eq!(
        block_on(engine.batches()).unwrap().iter().map(|(id, _)| *id).collect::<Vec<_>>(),
        [batch]
    );
    // Whatever it has done, histories say which batch it was.
    let history = engine.history(all[0]).unwrap();
    let by = Record::By { who: format!("batch {batch}").into() };
    assert!(history.steps.iter().any(|it| it.records.contains(&by)), "{history:?}");

    block_on(engine.forget_batch(batch)).unwrap();
    assert_eq!(block_on(engine.find_batch(batch)).unwrap(), None);
    assert_eq!(block_on(engine.pause_batch(batch, true)), Err(Error::NoSuchInstance(batch)));
    world.check();
}

#[test]
fn each_kind_of_work_is_done() {
    let world = world();
    let all = started(&world, 5);
    let engine = world.engine();
    let done = |work: BatchWork, of: &[InstanceId]| {
        let batch = begin(engine, Batch::new(work), of.to_vec());
        over(engine, batch);
        let page = block_on(engine.batch_items(batch, 0, 100, None)).unwrap().unwrap();
        page.items.into_iter().map(|it| it.code.unwrap_or_default()).collect::<Vec<_>>()
    };
    let ok = |count: usize| vec![String::new(); count];
    assert_eq!(done(BatchWork::Set { variables: r#"{"a": 7}"#.into() }, &all), ok(5));
    assert_eq!(engine.look(all[2]).wait().unwrap().variables, vars(&[("a", 7.into())]));
    let moved = |from: &str, to: &str| BatchWork::Modify {
        steps: vec![BatchStep::Move { from: from.into(), to: to.into() }],
    };
    assert_eq!(done(moved("t", "u"), &all[..3]), ok(3));
    let again = done(moved("t", "u"), &all);
    assert_eq!(&again[3..], ok(2));
    assert!(again[..3].iter().all(|it| it == "no_token_at"), "{again:?}");
    assert_eq!(done(moved("x", "u"), &all[..1]), ["no_such_element"]);
    assert_eq!(done(BatchWork::resolve(), &all[..1]), ["no_incident"]);
    assert_eq!(done(BatchWork::Resume, &all[..1]), ["not_suspended"]);
    assert_eq!(done(BatchWork::Suspend, &all), ok(5));
    assert_eq!(done(BatchWork::Resume, &all), ok(5));
    world.deploy(&TWO.replace(r#"<userTask id="u"/>"#, r#"<userTask id="u" name="new"/>"#));
    let migrate =
        |version| BatchWork::Migrate { definition: "p".into(), version, mapping: Vec::new() };
    assert_eq!(done(migrate(2), &all), ok(5));
    assert_eq!(engine.look(all[0]).wait().unwrap().row.version, 2);
    assert_eq!(done(migrate(9), &all[..1]), ["no_such_definition"]);
    assert_eq!(done(BatchWork::Delete, &all[..1]), ["in_use"]);
    assert_eq!(done(BatchWork::Cancel, &all[..4]), ok(4));
    let mut deleted = done(BatchWork::Delete, &all);
    assert_eq!(deleted.pop().unwrap(), "in_use");
    assert_eq!(deleted, ok(4));
    assert_eq!(done(BatchWork::Cancel, &all[..1]), ["no_such_instance"]);
    world.check();
}

#[test]
fn only_incidents_with_that_cause_are_resolved() {
    let world = World::new(2);
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="a"/><sequenceFlow id="f2" sourceRef="s" targetRef="b"/>
        <serviceTask id="a" tv:jobType="a"/><serviceTask id="b" tv:jobType="b"/></process>"#,
    );
    let id = started(&world, 1)[0];
    for job in world.jobs() {
        let job = Address { instance: id, wait: WaitId(job.wait) };
        let failure = JobFailure { retries: Some(0), ..JobFailure::new("no") };
        world.engine().fail(job, failure).wait().unwrap();
    }
    let left = || -> Vec<String> {
        let rows = world.rows(Table::Incidents, Vec::new()).into_iter();
        let element =
            |it| if let Row::Incident(it) = it { it.element.to_string() } else { panic!() };
        rows.map(element).collect()
    };
    assert_eq!(left(), ["a", "b"]);
    let cause = |element: &str, kind: &str, code: Option<&str>| BatchCause {
        element: Some(element.into()),
        kind: Some(kind.into()),
        code: code.map(str::to_owned),
    };
    let resolve = |only| {
        let work = BatchWork::Resolve { only, variables: "{}".into() };
        let batch = begin(world.engine(), Batch::new(work), vec![id]);
        over(world.engine(), batch).done
    };
    for other in
        [cause("c", "work", None), cause("b", "no_flow", None), cause("b", "work", Some("E"))]
    {
        assert_eq!(resolve(other), 0);
    }
    assert_eq!(left(), ["a", "b"]);
    assert_eq!(resolve(cause("b", "work", None)), 1);
    assert_eq!(left(), ["a"]);
}

#[test]
fn what_is_kept_by_a_shard_that_is_lost_is_refused_and_the_batch_goes_on() {
    let world = world();
    let all = started(&world, 6);
    let engine = world.engine();
    let batch =
        begin(engine, Batch { paused: true, ..Batch::new(BatchWork::Suspend) }, all.clone());
    world.rest();
    let shard = |it: InstanceId| ShardId::of(it.0, 2);
    let lost = ShardId(1 - shard(batch).0);
    engine.store().take(lost, "another process").unwrap();
    block_on(engine.pause_batch(batch, false)).unwrap();
    let gone: Vec<u64> = all.iter().filter(|it| shard(**it) == lost).map(|it| it.0).collect();
    assert!(!gone.is_empty() && gone.len() < all.len());
    let found = over(engine, batch);
    assert_eq!((found.done, found.refused), (6 - gone.len() as u64, gone.len() as u64));
    let refused = codes(engine, batch, BatchOutcome::Refused);
    assert_eq!(refused.iter().map(|(id, _)| *id).collect::<Vec<_>>(), gone);
}

#[test]
fn a_batch_can_be_paused_and_resumed_across_restarts_and_ended_early() {
    let mut world = world();
    let all = started(&world, 300);
    let batch = Batch { paused: true, ..Batch::new(BatchWork::Cancel) };
    let batch = begin(world.engine(), batch, all);
    world.rest();
    world.restart();
    assert_eq!(state(world.engine(), batch).seen, 0);
    assert_eq!(rows(&world, InstanceState::Running), 300);
    assert!(matches!(block_on(world.engine().forget_batch(batch)), Err(Error::InUse { .. })));
    // What begins later is not in it.
    let later = started(&world, 1);
    let resumed = block_on(world.engine().pause_batch(batch, false)).unwrap();
    assert!(!resumed.paused);
    assert_eq!(over(world.engine(), batch).done, 300);
    assert_eq!(rows(&world, InstanceState::Running), 1);
    world.restart();
    assert_eq!(state(world.engine(), batch).done, 300, "it can be asked about when it is over");
    let late = block_on(world.engine().cancel_batch(batch)).unwrap();
    assert!(!late.cancelled, "it was over by itself");

    let paused = Batch { paused: true, ..Batch::new(BatchWork::Cancel) };
    let second = begin(world.engine(), paused, later.clone());
    let cancelled = block_on(world.engine().cancel_batch(second)).unwrap();
    assert!(cancelled.cancelled);
    over(world.engine(), second);
    let again = block_on(world.engine().cancel_batch(second)).unwrap();
    assert!(again.cancelled, "it was ended once");
    assert_eq!(codes(world.engine(), second, BatchOutcome::Skipped), [(later[0].0, String::new())]);
    assert_eq!(rows(&world, InstanceState::Running), 1);
}

/// Holds the thread of a batch once it comes to an instance, until it is told to go on.
#[derive(Debug)]
struct Holding {
    at: InstanceId,
    comes: mpsc::Sender<()>,
    goes: Mutex<mpsc::Receiver<()>>,
}

impl BatchGuard for Holding {
    fn may(&self, _: &str, _: &BatchWork, of: &InstanceRow) -> Result<(), String> {
        if of.id == self.at.0 {
            self.comes.send(()).expect("the test waits for it");
            // Nobody tells it more than once.
            let _: Result<(), mpsc::RecvError> =
                self.goes.lock().expect("one thread has it").recv();
        }
        Ok(())
    }
}

/// Restarts an engine in the middle of a job of ann's, after something else has happened. Answers with the batch and
/// whether it was interrupted, which it is not where the rest of the job is quicker than the end of the engine.
fn restarted(
    world: &mut World,
    work: &BatchWork,
    all: &[InstanceId],
    meanwhile: impl FnOnce(&Engine, InstanceId),
) -> (InstanceId, bool) {
    let (comes, came) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let guard = Holding { at: all[40], comes, goes: Mutex::new(goes) };
    world.engine().guard_batches(Some(Arc::new(guard)));
    let ann = world.engine().by("ann");
    let batch = begin(&ann, Batch::new(work.clone()), all.to_vec());
    came.recv().expect("it comes to the instance");
    meanwhile(&ann, batch);
    drop(ann);
    let shuts = std::thread::scope(|scope| {
        let restarts = scope.spawn(|| world.restart());
        // The engine waits for its thread, and that for us.
        drop(go);
        restarts.join()
    });
    shuts.expect("it is opened again");
    (batch, state(world.engine(), batch).seen == 0)
}

/// How often a batch of ann's has done something with an instance.
fn done_by(engine: &Engine, batch: InstanceId, instance: InstanceId) -> usize {
    let by = Record::ByBatch { who: "ann".into(), batch };
    let history = engine.history(instance).expect("it is there");
    history.steps.iter().flat_map(|it| &it.records).filter(|it| **it == by).count()
}

/// Whether a job was interrupted, after which all of it was done once.
fn is_interrupted(work: &BatchWork) -> bool {
    let mut world = world();
    let all = started(&world, 64);
    let meanwhile = |ann: &Engine, batch: InstanceId| {
        let touched = || all.iter().filter(|it| done_by(ann, batch, **it) > 0).count();
        // Those before it are asked for, and done soon.
        within_now(|| touched() >= 20);
        assert!(touched() < 64, "some are left");
        for id in &all {
            // What has ended takes no more.
            drop(ann.set_variables(*id, None, vars(&[("seen", 1.into())])).wait());
        }
    };
    let (batch, is_interrupted) = restarted(&mut world, work, &all, meanwhile);
    // Nobody may do anything before it is said who says so.
    world.engine().guard_batches(None);
    let found = over(world.engine(), batch);
    assert_eq!((found.done, found.refused, found.gone), (64, 0, 0), "{work:?}");
    for id in all {
        assert_eq!(done_by(world.engine(), batch, id), 1, "{work:?} of {id}");
    }
    world.check();
    is_interrupted
}

#[test]
fn what_was_done_when_a_job_was_interrupted_is_not_done_again() {
    let works = [
        BatchWork::Cancel,
        BatchWork::Suspend,
        BatchWork::Modify { steps: vec![BatchStep::Add { element: "u".into() }] },
    ];
    for work in works {
        assert!((0..50).any(|_| is_interrupted(&work)), "{work:?} was never interrupted");
    }
}

/// Whether a job that deletes was interrupted, after which nothing counts as gone that may have gone with it.
fn is_deleting_interrupted() -> bool {
    let mut world = world();
    let all = started(&world, 64);
    for id in &all {
        world.engine().cancel(*id).wait().expect("it runs");
    }
    let some =
        |ann: &Engine, _| all[..10].iter().for_each(|it| ann.delete(*it).expect("it has ended"));
    let (batch, is_interrupted) = restarted(&mut world, &BatchWork::Delete, &all, some);
    world.engine().guard_batches(Some(Arc::new(Anybody)));
    let found = over(world.engine(), batch);
    if is_interrupted {
        assert_eq!((found.done, found.refused, found.gone), (64, 0, 0));
    }
    assert_eq!(rows(&world, InstanceState::Cancelled), 0);
    is_interrupted
}

/// Lets everybody do everything.
#[derive(Debug)]
struct Anybody;

impl BatchGuard for Anybody {
    fn may(&self, _: &str, _: &BatchWork, _: &InstanceRow) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn what_was_deleted_when_a_job_was_interrupted_is_done() {
    assert!((0..50).any(|_| is_deleting_interrupted()), "it was never interrupted");
}

/// Lets those pass whose variable says so.
#[derive(Debug)]
struct Only(Mutex<BTreeSet<u64>>);

impl BatchGuard for Only {
    fn may(&self, who: &str, work: &BatchWork, of: &InstanceRow) -> Result<(), String> {
        assert_eq!((who, work.name(), &*of.definition), ("ann", "cancel", "p"));
        let is_allowed = self.0.lock().expect("one thread has it").contains(&of.id);
        if is_allowed { Ok(()) } else { Err(format!("{who} may not")) }
    }
}

#[test]
fn whoever_began_it_must_have_the_right_when_it_comes_to_an_instance() {
    let world = world();
    let all = started(&world, 3);
    let engine = world.engine();
    let ann = engine.by("ann");
    let batch = begin(&ann, Batch::new(BatchWork::Cancel), all.clone());
    world.rest();
    assert_eq!(state(engine, batch).seen, 0, "nobody says yet what ann may");
    engine.guard_batches(Some(Arc::new(Only(Mutex::new(BTreeSet::from([all[1].0]))))));
    let found = over(engine, batch);
    assert_eq!(found.who.as_deref(), Some("ann"));
    assert_eq!((found.done, found.refused), (1, 2));
    let no = |it: InstanceId| (it.0, "forbidden".to_owned());
    assert_eq!(codes(engine, batch, BatchOutcome::Refused), [no(all[0]), no(all[2])]);
}

#[test]
fn too_many_are_refused_and_none_are_no_work() {
    let world = world();
    let engine = world.engine();
    let many = (1..=1_000_001).map(InstanceId).collect();
    let refused = block_on(engine.begin_batch(Batch::new(BatchWork::Cancel), many));
    assert!(matches!(refused, Err(Error::TooMany { .. })), "{refused:?}");
    let none = begin(engine, Batch::new(BatchWork::Cancel), Vec::new());
    assert_eq!(over(engine, none).total, 0);
    let variables: Assignments = Vec::new();
    let other = engine.start("p").variables(variables).begin().wait().unwrap().0;
    assert_eq!(block_on(engine.find_batch(other)).unwrap(), None, "it is no batch");
    assert!(engine.definitions().find(BATCH).is_some());
    let row = world.rows(Table::Instances, vec![Filter::Definition(BATCH.into())]);
    assert!(matches!(&row[..], [Row::Instance(_)]));
}

/// A file with a process that says what only batches may say, and one that calls what only the engine starts.
fn forged() -> File {
    let model = format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
          xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
        <process id="says" isExecutable="true"><startEvent id="s"/>
          <sequenceFlow id="f" sourceRef="s" targetRef="t"/>
          <serviceTask id="t"><extensionElements><zeebe:taskDefinition type="{BATCH}"/></extensionElements></serviceTask></process>
        <process id="calls" isExecutable="true"><startEvent id="s2"/>
          <sequenceFlow id="f2" sourceRef="s2" targetRef="t2"/>
          <callActivity id="t2"><extensionElements><zeebe:calledElement processId="{BATCH}"/></extensionElements></callActivity></process>
        </definitions>"#
    );
    File { name: "forged.bpmn".into(), body: model.into() }
}

#[test]
fn nobody_has_a_batch_done_but_who_begins_one() {
    let world = world();
    let engine = world.engine();
    let meant = started(&world, 1)[0];
    let none = begin(engine, Batch::new(BatchWork::Cancel), Vec::new());
    over(engine, none);
    engine.deploy(&[forged()]).unwrap();
    let json = |it: &str| Value::parse_json(it).unwrap();
    let order = json(&format!(
        r#"{{"work": "cancel", "who": null, "per_second": null, "instances": [{}], "at": 0}}"#,
        meant.0
    ));
    let says = engine.start("says").variables(vars(&[("order", order)])).begin().wait().unwrap().0;
    let batch = typed::to_value(&Batch::new(BatchWork::Cancel)).unwrap();
    let packed = Value::from(format!("{} ", meant.0));
    let arguments = vars(&[("batch", batch), ("instances", packed)]);
    let calls = engine.start("calls").variables(arguments.clone()).begin().wait().unwrap().0;
    world.rest();
    for (instance, why) in [(says, "for batches alone"), (calls, "no such definition")] {
        // Who does batches comes to it by and by.
        within_now(|| format!("{:?}", engine.why(instance).wait().unwrap()).contains(why));
    }
    let scheduled = engine.schedule("s").every(Duration::from_hours(1)).process(BATCH, arguments);
    assert!(matches!(block_on(scheduled.into_future()), Err(Error::NoSuchDefinition(_))));
    let start =
        Message { correlation: vars(&[("definition", BATCH.into())]), ..Message::new("$start") };
    let refused = engine.publish(start).wait();
    assert!(matches!(refused, Err(Error::BadId { reason: BadId::Reserved, .. })), "{refused:?}");
    assert_eq!(rows(&world, InstanceState::Running), 1, "nothing was done with it");
    let taken = TWO.replace("\"p\"", &format!("\"{BATCH}\""));
    let refused = World::new(1).engine().deploy(&[file("taken.bpmn", &taken)]);
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
}

#[test]
fn nobody_says_what_came_of_a_batch_but_the_engine() {
    let world = world();
    let all = started(&world, 1);
    let engine = world.engine();
    // Nobody says yet what ann may, so its job stays open.
    let batch = begin(&engine.by("ann"), Batch::new(BatchWork::Cancel), all);
    world.rest();
    let job = world.jobs().pop().expect("there is its job");
    let job = Address { instance: batch, wait: WaitId(job.wait) };
    let none = || vars(&[("others", Vec::<Value>::new().into())]);
    let refused = [
        engine.complete(job, none()).wait(),
        engine.complete_work(job, WorkKind::Job, false, none()).wait(),
        engine.fail(job, JobFailure::new("no")).wait(),
        engine.throw_job_error(job, "no", "", none()).wait(),
        engine.update_job(job, JobChange { retries: Some(1), ..JobChange::default() }).wait(),
    ];
    for it in refused {
        let wrong = |it: &_| matches!(it, Err(Error::Rejected(Rejection::WrongWait { .. })));
        assert!(wrong(&it), "{it:?}");
    }
    assert_eq!(state(engine, batch).seen, 0);
}
