//! What a run of a function goes through, and what is stored of it.
//!
//! The source design has a coordinator that owns all state and offers operations by name; here a shard
//! does, and the operations are its commands: `start`, what ends a turn, `Cancel`, what is due, `recover`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use travertine_func::{
    Activity, ActivityDefinition, ActivityOptions, Dependencies, Event, Failure, Functions,
    Workflow, WorkflowDefinition, encode, select,
};
use travertine_kernel::{Event as Happened, JournalEntry};
use travertine_runtime::{
    Engine, InstanceId, RunStatus,
    engine::{Options, RunError},
};
use travertine_store::{
    ShardId,
    codec::record::decode_records,
    record::Record,
    view::{Filter, InstanceRow, InstanceState, Row, Table},
};
use travertine_value::Value;

use crate::world::{World, rest, within};

const HOUR: Duration = Duration::from_hours(1);

#[derive(Serialize, Deserialize)]
struct Go {
    mark: String,
}

impl Event for Go {
    const NAME: &'static str = "go";
}

fn life(to: &str) -> Workflow<String> {
    Workflow::new("life", 1).argument("to", to)
}

fn count() -> Activity<u32> {
    Activity::new("count", ActivityOptions::DEFAULT)
}

/// Comes to rest where its argument says.
const LIFE: WorkflowDefinition = WorkflowDefinition {
    name: "life",
    version: 1,
    parameters: &["to"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let to: String = arguments.take("to")?;
            match &*to {
                "work" => cx.job::<()>("nobody does it").await?,
                "sleep" => cx.sleep(HOUR).await?,
                "event" => drop(cx.event::<Go>().await?),
                "child" => drop(cx.child(life("sleep")).await?),
                "fail" => return Err(Failure::terminal("broke", "no money").into()),
                "all" => {
                    select! { cx;
                        event = cx.event::<Go>() => drop(event?),
                        slept = cx.sleep(HOUR) => slept?,
                        child = cx.child(life("event")) => drop(child?),
                    }
                }
                "count" => {
                    let first = cx.call(count()).await?;
                    let second =
                        cx.call(count()).await.map_or_else(|it| it.code, |it| it.to_string());
                    cx.sleep(HOUR).await?;
                    return Ok(encode("life", &format!("{first} {second}"))?);
                }
                _ => {}
            }
            Ok(encode("life", &to)?)
        })
    },
};

/// Counts how often it is done; the second time it fails for good.
const COUNT: ActivityDefinition = ActivityDefinition {
    name: "count",
    parameters: &[],
    options: ActivityOptions::DEFAULT,
    run: |cx, _| {
        Box::pin(async move {
            match cx.get::<Arc<AtomicU32>>()?.fetch_add(1, Ordering::SeqCst) + 1 {
                2 => Err(Failure::terminal("enough", "no more")),
                times => encode("count", &times),
            }
        })
    },
};

fn options(counter: &Arc<AtomicU32>) -> Options {
    Options {
        shards: 2,
        functions: Functions::new().workflow(LIFE).activity(COUNT),
        dependencies: Dependencies::new().with(Arc::clone(counter)),
        ..Options::default()
    }
}

fn world() -> World {
    World::with(options(&Arc::default()))
}

async fn status(engine: &Engine, id: &str) -> Option<RunStatus> {
    rest(engine);
    engine.query_status(id).await.expect("it answers")
}

/// All that the log of a store says of an instance.
fn log(engine: &Engine, id: InstanceId) -> Vec<Record> {
    let store = engine.store();
    let shard = ShardId::of(id.0, store.shards());
    let entries = store.entries(shard, 0, usize::MAX).expect("it can be read");
    let own = entries.iter().filter(|it| it.instance == id);
    own.flat_map(|it| decode_records(&it.body).expect("it can be read")).collect()
}

fn done(log: &[Record]) -> Vec<Result<Value, String>> {
    let mut all = Vec::new();
    for record in log {
        let Record::Happened(events) = record else { continue };
        for event in events {
            if let Happened::Journaled { entry } = event
                && let JournalEntry::Done { outcome, .. } = &**entry
            {
                let of = |it: &travertine_kernel::Failure| it.message.clone();
                let first = outcome.as_ref().map_err(of);
                all.push(first.map(|it| it.first().map_or(Value::Null, |it| it.1.clone())));
            }
        }
    }
    all
}

// covers: ENGINE-12, ENGINE-13, ENGINE-14, ENGINE-15, ENGINE-23, ENGINE-24, ENGINE-26, ENGINE-27
// covers: ENGINE-59, ENGINE-60, ENGINE-61, ENGINE-74
// What the code returns and does not handle is its failure. A panic is a mistake in the code, which can be
// mended: an incident, from which the run goes on.
#[tokio::test]
async fn a_run_works_waits_and_ends_in_one_of_three_ways() {
    use RunStatus::{Cancelled, Failed, Running, Succeeded, Suspended};
    let mut world = world();
    assert_eq!(status(world.engine(), "work").await, None);
    assert!(!world.engine().cancel_run("work").await.unwrap());
    for (to, expected) in [
        ("work", Running),
        ("sleep", Suspended),
        ("event", Suspended),
        ("child", Suspended),
        ("done", Succeeded),
        ("fail", Failed),
    ] {
        world.engine().start(life(to)).id(to).await.unwrap();
        assert_eq!(status(world.engine(), to).await, Some(expected), "{to}");
        world.restart();
        assert_eq!(status(world.engine(), to).await, Some(expected), "{to}");
        let result = |engine: &Engine| {
            let engine = engine.clone();
            async move { engine.query_result::<String>(to).await.unwrap() }
        };
        let has = result(world.engine()).await;
        assert_eq!(has.as_deref(), (expected == Succeeded).then_some("done"), "{to}");
        let is_open = matches!(expected, Running | Suspended);
        assert_eq!(world.engine().cancel_run(to).await.unwrap(), is_open, "{to}");
        let now = if is_open { Cancelled } else { expected };
        assert!(!world.engine().cancel_run(to).await.unwrap(), "{to}");
        // Nothing leads out of an end, neither time nor an event.
        world.engine().send_event(Go { mark: "late".to_owned() }).to(to).await.unwrap();
        world.advance(7_200_000);
        world.restart();
        assert_eq!(status(world.engine(), to).await, Some(now), "{to}");
        assert_eq!(result(world.engine()).await, has, "{to}");
    }
    let run = world.engine().run::<String>("fail").await.unwrap().unwrap();
    let Err(RunError::Failed(failure)) = run.result().await else { panic!("it has failed") };
    assert_eq!((failure.code.as_str(), failure.message.as_str()), ("broke", "no money"));
}

// covers: ENGINE-25, ENGINE-63, ENGINE-21, ENGINE-49, ENGINE-5
#[tokio::test]
async fn what_a_run_waits_for_is_registered_by_kind_and_any_of_it_lets_it_go_on() {
    let world = world();
    let engine = world.engine();
    let instances = |filters: Vec<Filter>| -> Vec<InstanceRow> {
        let rows = world.rows(Table::Instances, filters).into_iter();
        rows.filter_map(|it| if let Row::Instance(it) = it { Some(it) } else { None }).collect()
    };
    let active = || instances(vec![Filter::State(vec![InstanceState::Running])]);
    for id in ["a", "b", "c"] {
        engine.start(life("all")).id(id).await.unwrap();
    }
    rest(engine);
    // Three runs and the child of each: one question lists all that has not ended.
    assert_eq!(active().len(), 6);
    for row in active().iter().filter(|it| it.parent.is_none()) {
        let own = |it: &Row| it.key().instance == row.id;
        assert_eq!((&*row.definition, row.version, row.ended), ("life", 1, None));
        assert_eq!(row.started, engine.now());
        assert!(row.business_id.is_some() && row.last > 0);
        let timers = world.rows(Table::Timers, Vec::new());
        assert_eq!(timers.iter().filter(|it| own(it)).count(), 1);
        let events = world.rows(Table::Subscriptions, Vec::new());
        assert_eq!(events.iter().filter(|it| own(it)).count(), 1);
        let is_child = |it: &&InstanceRow| it.parent.is_some_and(|(id, _)| id == row.id);
        assert_eq!(active().iter().filter(is_child).count(), 1);
    }
    let child_of_b = {
        let all = active();
        let b = all.iter().find(|it| it.business_id.as_deref() == Some("b")).unwrap().id;
        all.iter().find(|it| it.parent.is_some_and(|(id, _)| id == b)).unwrap().id
    };
    // An event, a child that ends, a time.
    engine.send_event(Go { mark: String::new() }).to("a").await.unwrap();
    engine.send_event(Go { mark: String::new() }).to(&child_of_b.to_string()).await.unwrap();
    for (id, expected) in
        [("a", RunStatus::Succeeded), ("b", RunStatus::Succeeded), ("c", RunStatus::Suspended)]
    {
        assert_eq!(status(engine, id).await, Some(expected), "{id}");
    }
    assert_eq!(active().len(), 2);
    world.advance(3_600_000);
    assert_eq!(status(engine, "c").await, Some(RunStatus::Succeeded));
    // Whatever did not win is not waited for any more, and children have ended with their parents.
    assert_eq!(active().len(), 0);
    assert_eq!(world.rows(Table::Timers, Vec::new()), []);
    assert_eq!(world.rows(Table::Subscriptions, Vec::new()), []);
}

// covers: ENGINE-7, ENGINE-8, ENGINE-9, ENGINE-52, ENGINE-56
#[tokio::test]
async fn arguments_and_results_are_stored_before_anyone_is_told_and_nothing_is_done_twice() {
    let counter: Arc<AtomicU32> = Arc::default();
    let mut world = World::with(options(&counter));
    let run = world.engine().start(life("count")).id("mine").await.unwrap();
    // The store has it when the start is answered: what it is, and with what it began.
    let stored = log(world.engine(), run.instance());
    let Some(Record::Created(created)) = stored.first() else { panic!("{stored:?}") };
    assert_eq!(created.business_id.as_deref(), Some("mine"));
    let Some(Record::Happened(events)) = stored.get(1) else { panic!("{stored:?}") };
    let given = |it: &Happened| matches!(it, Happened::VariableSet { name, .. } if &**name == "to");
    assert!(events.iter().any(given), "{events:?}");
    assert_eq!(run.id(), "mine");
    let unnamed = world.engine().start(life("done")).await.unwrap();
    assert_eq!(unnamed.id(), format!("number:{}", unnamed.instance()));
    assert_eq!(status(world.engine(), unnamed.id()).await, Some(RunStatus::Succeeded));

    // Results and failures of activities are in the same store.
    within(async {
        while status(world.engine(), "mine").await != Some(RunStatus::Suspended) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let outcomes = done(&log(world.engine(), run.instance()));
    assert_eq!(outcomes, [Ok(1.into()), Err("no more".to_owned())]);
    drop(run);
    drop(unnamed);
    world.restart();
    world.advance(3_600_000);
    let run = world.engine().run::<String>("mine").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), "1 enough");
    assert_eq!(counter.load(Ordering::SeqCst), 2);
    drop(run);
}

// covers: ENGINE-18, ENGINE-19
#[tokio::test]
async fn engines_on_different_stores_do_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let in_memory = Engine::in_memory(options(&Arc::default())).unwrap();
    let on_disk = Engine::open_with(dir.path(), options(&Arc::default())).unwrap();
    for engine in [in_memory, on_disk] {
        let run = engine.start(life("done")).id("x").await.unwrap();
        assert_eq!(run.result().await.unwrap(), "done");
        assert_eq!(engine.query_status("x").await.unwrap(), Some(RunStatus::Succeeded));
    }
}
