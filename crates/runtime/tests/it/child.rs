//! Functions that call functions: on several shards, through restarts.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use travertine_func::{
    Consume, Delivery, Event, EventConfig, Failure, Functions, Workflow, WorkflowDefinition, encode,
};
use travertine_kernel::Ending;
use travertine_runtime::{
    InstanceId, Receipt,
    engine::{Options, Run},
};
use travertine_store::view::{Filter, InstanceRow, InstanceState, Row, Table};

use crate::world::World;

/// What lets a function go on.
#[derive(Serialize, Deserialize, Debug)]
struct Go {
    how: String,
}

impl Event for Go {
    const NAME: &'static str = "go";
    const CONFIG: EventConfig =
        EventConfig { consume: Consume::One, delivery: Delivery::AfterCreate, expire_after: None };
}

fn worker(name: &str) -> Workflow<String> {
    Workflow::new("worker", 1).argument("name", name)
}

/// Waits to be told how to end.
const WORKER: WorkflowDefinition = WorkflowDefinition {
    name: "worker",
    version: 1,
    parameters: &["name"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let name: String = arguments.take("name")?;
            let go = cx.event::<Go>().key(&name).await?;
            if go.how == "fail" {
                return Err(Failure::terminal("spoilt", format!("{name} is spoilt")).into());
            }
            Ok(encode("worker", &format!("{name} {}", go.how))?)
        })
    },
};

/// What a parent says of how its child ended.
fn told(outcome: Result<String, Failure>) -> Result<String, Failure> {
    match outcome {
        Err(failure) if failure.is_cancelled() => Err(failure),
        Err(failure) => Ok(format!("{failure}")),
        ok => ok,
    }
}

fn parent(kind: &str) -> Workflow<String> {
    Workflow::new("parent", 1).argument("kind", kind)
}

const PARENT: WorkflowDefinition = WorkflowDefinition {
    name: "parent",
    version: 1,
    parameters: &["kind"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let kind: String = arguments.take("kind")?;
            let go = || cx.event::<Go>().key("parent");
            let outcome = match kind.as_str() {
                "awaits" => told(cx.child(worker("a")).await)?,
                "awaits all" => {
                    let all: Vec<_> =
                        ["a", "b", "c", "d"].map(|it| cx.child(worker(it)).start()).into();
                    let mut outcomes = Vec::new();
                    for child in all {
                        outcomes.push(told(child.await)?);
                    }
                    outcomes.join(", ")
                }
                "spawns" => {
                    let child = cx.spawn(worker("a"));
                    match go().await {
                        Ok(go) => {
                            drop(child);
                            go.how
                        }
                        Err(failure) if failure.is_cancelled() => return Err(failure.into()),
                        Err(failure) => format!("interrupted: {failure}"),
                    }
                }
                "spawns isolated" => {
                    let child = cx.spawn(worker("a")).isolated();
                    let how = go().await?.how;
                    format!("{how}, {}", told(child.await)?)
                }
                "spawns and ends" => {
                    drop(cx.spawn(worker("a")));
                    go().await?.how
                }
                "drops" => {
                    let child = cx.child(worker("a")).start();
                    go().await?;
                    drop(child);
                    go().await?.how
                }
                "starts" => cx.start(worker("a")).await?,
                other => return Err(Failure::terminal("kind", other).into()),
            };
            Ok(encode("parent", &outcome)?)
        })
    },
};

fn napper() -> Workflow<String> {
    Workflow::new("napper", 1)
}

const NAPPER: WorkflowDefinition = WorkflowDefinition {
    name: "napper",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.sleep(Duration::from_hours(1)).await?;
            Ok("rested".into())
        })
    },
};

const NURSE: WorkflowDefinition = WorkflowDefinition {
    name: "nurse",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            let first = cx.child(napper()).start();
            let second = cx.child(napper()).start();
            Ok(format!("{} {}", first.await?, second.await?).into())
        })
    },
};

fn options(shards: u16) -> Options {
    let functions =
        Functions::new().workflow(WORKER).workflow(PARENT).workflow(NAPPER).workflow(NURSE);
    Options { shards, functions, ..Options::default() }
}

/// A test, with one shard and with several, and with a restart whenever it says so.
fn each(test: impl Fn(&mut World, &dyn Fn(&mut World))) {
    for shards in [1, 3] {
        for restarts in [false, true] {
            let mut world = World::with(options(shards));
            test(&mut world, &|world| {
                world.rest();
                if restarts {
                    world.restart();
                    world.rest();
                }
            });
            world.check();
        }
    }
}

fn start(world: &World, kind: &str) -> InstanceId {
    let run: Run<String> =
        world.engine().start(parent(kind)).id("parent").wait().expect("the engine does so");
    world.rest();
    run.instance()
}

fn go(world: &World, key: &str, how: &str) {
    let sent = world
        .engine()
        .send_event(Go { how: how.into() })
        .key(key)
        .wait()
        .expect("the engine does so");
    assert!(matches!(sent, Receipt::Received(_)), "{key} does not wait: {sent:?}");
    world.rest();
}

/// What a run has to say at its end.
fn result(world: &World, id: InstanceId) -> String {
    let ended = world.ended(id);
    assert_eq!(ended.ending, Ending::Completed, "{ended:?}");
    let [(name, value)] = &ended.variables[..] else { panic!("{ended:?}") };
    assert_eq!(&**name, "result");
    value.as_str().expect("it is a text").to_owned()
}

fn workers(world: &World) -> Vec<InstanceRow> {
    let rows = world.rows(Table::Instances, vec![Filter::Definition("worker".into())]);
    rows.into_iter().map(|it| if let Row::Instance(it) = it { it } else { panic!() }).collect()
}

fn states(world: &World) -> Vec<InstanceState> {
    workers(world).into_iter().map(|it| it.state).collect()
}

// covers: ENGINE-42, ENGINE-43, ENGINE-44, ENGINE-46
#[test]
fn a_parent_gets_the_result_of_its_child_or_its_failure() {
    each(|world, again| {
        let id = start(world, "awaits");
        again(world);
        go(world, "a", "done");
        again(world);
        assert_eq!(result(world, id), "a done");
    });
    each(|world, again| {
        let id = start(world, "awaits");
        again(world);
        go(world, "a", "fail");
        again(world);
        assert_eq!(result(world, id), "child failed: spoilt: a is spoilt");
        assert_eq!(states(world), [InstanceState::Failed]);
    });
}

// covers: ENGINE-44
#[test]
fn a_parent_is_told_that_its_child_was_cancelled() {
    each(|world, again| {
        let id = start(world, "awaits");
        again(world);
        let child = InstanceId(workers(world)[0].id);
        world.engine().cancel(child).wait().expect("the engine does so");
        again(world);
        let text = result(world, id);
        assert!(text.starts_with("child failed: cancelled: "), "{text}");
        assert_eq!(states(world), [InstanceState::Cancelled]);
    });
}

// covers: ENGINE-43, ENGINE-48, ENGINE-73
#[test]
fn children_run_beside_each_other_on_all_shards_and_may_end_in_any_order() {
    each(|world, again| {
        let id = start(world, "awaits all");
        let shards = u64::from(world.engine().store().shards());
        let places: std::collections::BTreeSet<u64> =
            workers(world).iter().map(|it| it.id % shards).collect();
        assert_eq!(places.len() as u64, shards.min(4), "they are spread");
        for (key, how) in [("d", "4"), ("b", "fail"), ("a", "1"), ("c", "3")] {
            again(world);
            go(world, key, how);
        }
        again(world);
        assert_eq!(result(world, id), "a 1, child failed: spoilt: b is spoilt, c 3, d 4");
    });
}

// covers: ENGINE-54, ENGINE-57
#[test]
fn children_whose_time_came_while_the_engine_was_down_wake_their_parent() {
    for shards in [1, 3] {
        let mut world = World::with(options(shards));
        let run = world
            .engine()
            .start(Workflow::<String>::new("nurse", 1))
            .wait()
            .expect("the engine does so");
        let id = run.instance();
        drop(run);
        world.rest();
        world.clock.set(world.engine().now().after(Duration::from_hours(2)));
        world.restart();
        assert_eq!(result(&world, id), "rested rested");
        world.check();
    }
}

// covers: ENGINE-26
#[test]
fn who_cancels_a_parent_cancels_its_children() {
    for kind in ["awaits", "awaits all", "spawns", "drops"] {
        each(|world, again| {
            let id = start(world, kind);
            again(world);
            world.engine().cancel(id).wait().expect("the engine does so");
            again(world);
            assert_eq!(world.ended(id).ending, Ending::Cancelled);
            world.rest();
            let states = states(world);
            assert!(!states.is_empty());
            assert!(states.iter().all(|it| *it == InstanceState::Cancelled), "{kind}: {states:?}");
        });
    }
}

#[test]
fn a_child_whose_operation_is_dropped_is_cancelled_and_its_parent_goes_on() {
    each(|world, again| {
        let id = start(world, "drops");
        again(world);
        go(world, "parent", "drop");
        again(world);
        assert_eq!(states(world), [InstanceState::Cancelled]);
        go(world, "parent", "on");
        assert_eq!(result(world, id), "on");
    });
}

// covers: ENGINE-47, ENGINE-75, ENGINE-81
#[test]
fn a_spawned_child_that_fails_interrupts_its_parent() {
    each(|world, again| {
        let id = start(world, "spawns");
        again(world);
        go(world, "a", "fail");
        again(world);
        let text = result(world, id);
        assert!(text.starts_with("interrupted: "), "{text}");
        assert!(text.ends_with("spoilt: a is spoilt"), "{text}");
    });
}

// covers: ENGINE-47, ENGINE-75
#[test]
fn an_isolated_child_that_fails_does_not_disturb_its_parent() {
    each(|world, again| {
        let id = start(world, "spawns isolated");
        again(world);
        go(world, "a", "fail");
        again(world);
        go(world, "parent", "calm");
        again(world);
        assert_eq!(result(world, id), "calm, child failed: spoilt: a is spoilt");
    });
}

// covers: ENGINE-47, ENGINE-81
#[test]
fn where_failures_are_not_to_spread_a_spawned_child_disturbs_nobody() {
    for restarts in [false, true] {
        let mut options = options(3);
        options.settings.functions.session.propagate_child_failures = false;
        let mut world = World::with(options);
        let id = start(&world, "spawns");
        go(&world, "a", "fail");
        if restarts {
            world.restart();
        }
        go(&world, "parent", "calm");
        assert_eq!(result(&world, id), "calm");
        world.check();
    }
}

#[test]
fn a_spawned_child_ends_with_its_parent() {
    each(|world, again| {
        let id = start(world, "spawns and ends");
        again(world);
        go(world, "parent", "bye");
        again(world);
        assert_eq!(result(world, id), "bye");
        assert_eq!(states(world), [InstanceState::Cancelled]);
    });
}

// covers: ENGINE-45
#[test]
fn what_a_function_starts_goes_its_own_way() {
    each(|world, again| {
        let id = start(world, "starts");
        again(world);
        let child = result(world, id);
        assert_eq!(child, "parent/0/start worker");
        assert_eq!(states(world), [InstanceState::Running]);
        again(world);
        go(world, "a", "fail");
        again(world);
        assert_eq!(states(world), [InstanceState::Failed]);
        assert_eq!(result(world, id), child);
        let run = InstanceId(workers(world)[0].id);
        let look = world.engine().look(run).wait().expect("the engine does so");
        assert_eq!(look.row.business_id.as_deref(), Some(&*child));
    });
}
