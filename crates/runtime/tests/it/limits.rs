//! Limits: how much of the same is done at once, and how often it begins.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::sync::oneshot;
use travertine_func::{
    Activity, ActivityDefinition, ActivityOptions, Dependencies, Failure, Functions, Retry,
    Workflow, WorkflowDefinition, encode,
};
use travertine_runtime::{
    Activated, Engine, InstanceId, JobFailure, Limit, RunStatus, Timestamp,
    engine::{Clock as _, File, ManualClock, Options},
};
use travertine_value::Name;

use super::world::within;

const SECOND: Duration = Duration::from_secs(1);

/// How a call that is at work is ended.
type End = oneshot::Sender<Result<(), Failure>>;

/// The calls that are at work, by the name of each.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<BTreeMap<String, End>>>);

impl Calls {
    fn names(&self) -> Vec<String> {
        let mut calls = self.0.lock().expect("nobody panics with it");
        calls.retain(|_, it| !it.is_closed());
        calls.keys().cloned().collect()
    }

    fn end(&self, name: &str, how: Result<(), Failure>) {
        let call = self.0.lock().expect("nobody panics with it").remove(name);
        let told = call.expect("it is at work").send(how);
        assert!(told.is_ok(), "{name} is called off");
    }
}

const OPTIONS: ActivityOptions = ActivityOptions {
    timeout: Some(Duration::from_hours(1)),
    limit: Some("bank"),
    ..ActivityOptions::DEFAULT
};

const CHARGE: ActivityDefinition = ActivityDefinition {
    name: "charge",
    parameters: &["name"],
    options: OPTIONS,
    run: |cx, mut arguments| {
        Box::pin(async move {
            let name: String = arguments.take("name")?;
            let (end, ended) = oneshot::channel();
            cx.get::<Calls>()?.0.lock().expect("nobody panics with it").insert(name.clone(), end);
            ended.await.map_err(|_| Failure::new("lost", "nobody ends it"))??;
            encode("charge", &name)
        })
    },
};

/// Charges by a name such as `ann-1`: what comes before the dash is the customer, where there is one.
fn order(name: &str) -> Workflow<String> {
    Workflow::new("order", 1).argument("name", name)
}

const ORDER: WorkflowDefinition = WorkflowDefinition {
    name: "order",
    version: 1,
    parameters: &["name"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let name: String = arguments.take("name")?;
            let charge = Activity::<String>::new("charge", OPTIONS).argument("name", &name);
            let call = cx.call(charge).retry(Retry::every("10s").max(2));
            let call = match name.split_once('-') {
                Some((customer, _)) => call.limit("customer", customer),
                None => call,
            };
            Ok(encode("order", &call.await?)?)
        })
    },
};

struct World {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    calls: Calls,
    limits: BTreeMap<Name, Limit>,
}

impl World {
    fn new(customer: Limit, bank: Limit) -> Self {
        Self {
            dir: tempfile::tempdir().expect("there is room for a directory"),
            clock: Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000))),
            calls: Calls::default(),
            limits: [("customer".into(), customer), ("bank".into(), bank)].into(),
        }
    }

    fn open(&self) -> Engine {
        let options = Options {
            shards: 3,
            clock: Arc::clone(&self.clock) as Arc<_>,
            functions: Functions::new().workflow(ORDER).activity(CHARGE),
            dependencies: Dependencies::new().with(self.calls.clone()),
            limits: self.limits.clone(),
            ..Options::default()
        };
        Engine::open_with(self.dir.path(), options).expect("it opens")
    }

    fn pass(&self, engine: &Engine, by: Duration) {
        let now = self.clock.now();
        self.clock.set(now.after(by));
        engine.wake();
        rest(engine);
    }

    /// The calls that are at work once nothing more begins by itself.
    async fn at_work(&self, engine: &Engine) -> Vec<String> {
        within(async {
            loop {
                let rest = engine.rest().await.expect("it goes on");
                let names = self.calls.names();
                if rest.jobs.is_empty() && rest.at_work == names.len() {
                    return names;
                }
                // Someone is about to take it, or to notice that it has ended.
                tokio::task::yield_now().await;
            }
        })
        .await
    }
}

fn rest(engine: &Engine) {
    assert!(engine.settle(Duration::from_mins(1)).expect("it goes on"));
}

async fn start(engine: &Engine, names: &[&str]) {
    for name in names {
        engine.start(order(name)).id(name).await.expect("it starts");
    }
}

#[tokio::test]
async fn each_key_has_so_many_at_once_over_all_shards() {
    let world = World::new(Limit::at_once(2), Limit::at_once(1));
    let engine = world.open();
    start(&engine, &["ann-1", "ann-2", "ann-3", "ann-4", "bob-1", "one", "two"]).await;
    assert_eq!(world.at_work(&engine).await.len(), 4);
    let mut most = BTreeMap::<String, usize>::new();
    let mut done = Vec::new();
    while let Some(first) = world.at_work(&engine).await.first() {
        let mut now = BTreeMap::<String, usize>::new();
        for name in world.calls.names() {
            let key = name.split_once('-').map_or("bank", |(customer, _)| customer);
            *now.entry(key.to_owned()).or_default() += 1;
        }
        for (key, count) in now {
            let most = most.entry(key).or_default();
            *most = count.max(*most);
        }
        world.calls.end(first, Ok(()));
        done.push(engine.run::<String>(first).await.unwrap().unwrap().result().await.unwrap());
    }
    done.sort_unstable();
    assert_eq!(done, ["ann-1", "ann-2", "ann-3", "ann-4", "bob-1", "one", "two"]);
    let most: Vec<_> = most.iter().map(|(key, count)| (&**key, *count)).collect();
    assert_eq!(most, [("ann", 2), ("bank", 1), ("bob", 1)]);
}

#[tokio::test]
async fn an_attempt_that_fails_takes_too_long_or_is_called_off_gives_its_place_free() {
    let world = World::new(Limit::at_once(1), Limit::at_once(1));
    let engine = world.open();
    start(&engine, &["ann-1"]).await;
    assert_eq!(world.at_work(&engine).await, ["ann-1"]);
    start(&engine, &["ann-2"]).await;
    assert_eq!(world.at_work(&engine).await, ["ann-1"]);
    // It pauses, and the other begins.
    world.calls.end("ann-1", Err(Failure::new("503", "not now")));
    assert_eq!(world.at_work(&engine).await, ["ann-2"]);
    // Its pause is over, but the place is not free until the other takes too long.
    world.pass(&engine, 20 * SECOND);
    assert_eq!(world.at_work(&engine).await, ["ann-2"]);
    world.pass(&engine, Duration::from_hours(1));
    assert_eq!(world.at_work(&engine).await, ["ann-1"]);
    world.pass(&engine, 20 * SECOND);
    assert_eq!(world.at_work(&engine).await, ["ann-1"]);
    assert!(engine.cancel_run("ann-1").await.unwrap());
    assert_eq!(world.at_work(&engine).await, ["ann-2"]);
    // The last attempt.
    world.calls.end("ann-2", Err(Failure::terminal("broke", "no money")));
    start(&engine, &["ann-3"]).await;
    assert_eq!(world.at_work(&engine).await, ["ann-3"]);
    assert_eq!(engine.query_status("ann-2").await.unwrap(), Some(RunStatus::Failed));
}

#[tokio::test]
async fn no_more_begin_in_a_time_span_than_the_rate_allows_and_time_alone_lets_the_next_begin() {
    let world = World::new(Limit::default(), Limit::rate(2, 10 * SECOND));
    let engine = world.open();
    start(&engine, &["a", "b", "c", "d", "e"]).await;
    let end_all = |names: Vec<String>| {
        for name in &names {
            world.calls.end(name, Ok(()));
        }
        names.len()
    };
    assert_eq!(end_all(world.at_work(&engine).await), 2);
    assert_eq!(end_all(world.at_work(&engine).await), 0);
    world.pass(&engine, Duration::from_millis(9_999));
    assert_eq!(end_all(world.at_work(&engine).await), 0);
    world.pass(&engine, Duration::from_millis(1));
    assert_eq!(end_all(world.at_work(&engine).await), 2);
    world.pass(&engine, 9 * SECOND);
    assert_eq!(end_all(world.at_work(&engine).await), 0);
    world.pass(&engine, SECOND);
    assert_eq!(end_all(world.at_work(&engine).await), 1);
}

/// A process whose job keeps a limit that the model says.
const PAY: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:tv="urn:travertine:bpmn:1" targetNamespace="t"><process id="pay" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
    <serviceTask id="t" tv:jobType="pay" tv:limit="customer/${customer}"><extensionElements>
      <tv:header key="customer">customer</tv:header>
      <tv:header key="limit">"other"</tv:header>
    </extensionElements></serviceTask>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process></definitions>"#;

async fn pay(engine: &Engine, customer: &str) -> InstanceId {
    engine.start("pay").variable("customer", customer).await.expect("it starts")
}

async fn activate(engine: &Engine) -> Vec<Activated> {
    rest(engine);
    engine.activate("pay", "w", 10, Duration::from_mins(1), &[]).await.expect("it goes on")
}

#[tokio::test]
async fn jobs_of_workers_outside_count_until_they_are_done_fail_or_their_lease_ends() {
    let world = World::new(Limit::at_once(1), Limit::default());
    let engine = world.open();
    engine.deploy(&[File { name: "pay.bpmn".to_owned(), body: PAY.into() }]).unwrap();
    for customer in ["ann", "ann", "ann", "ann", "bob"] {
        pay(&engine, customer).await;
    }
    let given = activate(&engine).await;
    assert_eq!(given.len(), 2, "one of each customer");
    let ann = given.iter().find(|it| it.headers[0].1.as_str() == Some("ann")).unwrap();
    assert_eq!(activate(&engine).await, []);
    // Done.
    engine.complete(ann.job, Vec::new()).await.unwrap();
    let [second] = &activate(&engine).await[..] else { panic!("one more has room") };
    // Failed; it may be tried again at once, and is older than the others.
    engine
        .fail(second.job, JobFailure { retries: Some(2), ..JobFailure::new("not now") })
        .await
        .unwrap();
    let [again] = &activate(&engine).await[..] else { panic!("one more has room") };
    assert_eq!(again.job, second.job);
    assert_eq!(activate(&engine).await, []);
    // The lease is still there after a restart, and ends.
    engine.flush_now().unwrap();
    engine.shutdown().unwrap();
    let engine = world.open();
    assert_eq!(activate(&engine).await, []);
    world.pass(&engine, Duration::from_mins(1));
    assert_eq!(activate(&engine).await.len(), 2, "one of each customer");
    assert_eq!(activate(&engine).await, []);
    // Whoever is cancelled does nothing any more.
    engine.cancel(again.job.instance).await.unwrap();
    assert_eq!(activate(&engine).await.len(), 1);
    assert_eq!(activate(&engine).await, []);
}

#[test]
fn a_limit_that_is_missing_or_lets_nothing_begin_is_an_error() {
    let error = |limits: BTreeMap<Name, Limit>| {
        let functions = Functions::new().activity(CHARGE);
        let options = Options { functions, limits, ..Options::default() };
        Engine::in_memory(options).unwrap_err().to_string()
    };
    let missing = error(BTreeMap::new());
    assert!(missing.contains("activity `charge` keeps the limit `bank`"), "{missing}");
    let bank = |limit: Limit| error([("bank".into(), limit)].into());
    assert!(bank(Limit::at_once(0)).contains("limit `bank`: it lets nothing begin"));
    assert!(bank(Limit::rate(0, SECOND)).contains("limit `bank`: it lets nothing begin"));
    assert!(bank(Limit::rate(1, Duration::ZERO)).contains("too short"));
    assert!(error([("a/b".into(), Limit::default())].into()).contains("limit `a/b`: its name"));
}

#[tokio::test]
async fn what_has_ended_still_counts_for_how_often_something_begins() {
    let hour = Duration::from_hours(1);
    let world = World::new(Limit::rate(1, hour), Limit::at_once(1));
    let engine = world.open();
    start(&engine, &["ann-1"]).await;
    assert_eq!(world.at_work(&engine).await, ["ann-1"]);
    world.calls.end("ann-1", Ok(()));
    within(async { engine.run::<String>("ann-1").await.unwrap().unwrap().result().await })
        .await
        .unwrap();
    start(&engine, &["ann-2"]).await;
    assert_eq!(world.at_work(&engine).await, [""; 0]);
    world.pass(&engine, hour);
    assert_eq!(world.at_work(&engine).await, ["ann-2"]);
}
