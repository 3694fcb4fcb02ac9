//! Schedules: what they start, when, and what people may ask of them.

use std::{collections::BTreeSet, time::Duration};

use travertine_func::{Failure, Functions, Workflow, WorkflowDefinition};
use travertine_runtime::{Engine, Overlap, RunStatus, Schedule, engine::Run};

use super::{
    function::{World, countdown, order},
    world::{file, within},
};

/// Waits until a schedule says something.
async fn until(
    world: &World,
    engine: &Engine,
    run: &Run<()>,
    wanted: impl Fn(&Schedule) -> bool,
) -> Schedule {
    within(async {
        loop {
            let schedule: Schedule = run.query("state", &()).await.expect("it answers");
            if wanted(&schedule) {
                return schedule;
            }
            world.pass(engine, Duration::ZERO);
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_schedule_starts_functions_again_and_again_through_restarts_and_pauses() {
    let world = World::new();
    let engine = world.open();
    let hourly = engine.schedule("hourly").every(Duration::from_hours(1)).overlap(Overlap::Skip);
    let hourly = hourly.function(order(7)).await.unwrap();
    world.pass(&engine, Duration::from_hours(1));
    until(&world, &engine, &hourly, |it| it.started == 1).await;
    // The order sleeps for two days: the next ones are skipped.
    world.pass(&engine, Duration::from_hours(1));
    until(&world, &engine, &hourly, |it| it.skipped == 1).await;
    drop((hourly, engine));

    let engine = world.open();
    let all = engine.schedules().await.unwrap();
    assert_eq!(
        all.iter().map(|it| (&*it.name, it.schedule.started)).collect::<Vec<_>>(),
        [("hourly", 1)]
    );
    let hourly = engine.run::<()>("hourly").await.unwrap().unwrap();
    engine.pause_schedule("hourly").await.unwrap();
    world.pass(&engine, Duration::from_hours(10));
    let paused: Schedule = hourly.query("state", &()).await.unwrap();
    assert_eq!((paused.started, paused.skipped, paused.next), (1, 1, None));
    engine.remove_schedule("hourly").await.unwrap();
    // It lets the order come to its end.
    assert_ne!(hourly.status().await.unwrap(), RunStatus::Succeeded);
    // It may not have begun to sleep yet.
    while hourly.status().await.unwrap() != RunStatus::Succeeded {
        world.pass(&engine, Duration::from_hours(1));
        tokio::task::yield_now().await;
    }

    let wrong = engine.schedule("x").cron("never").process("order", Vec::new()).await.unwrap_err();
    let said = "schedule x: not a cron expression such as 0 9 * * MON-FRI: never";
    assert_eq!(wrong.to_string(), said);
    let missing = engine.schedule("x").process("nothing", Vec::new()).await.unwrap_err();
    assert_eq!(missing.to_string(), "no such definition: nothing");
}

#[tokio::test]
async fn a_schedule_queues_replaces_or_allows_what_overlaps() {
    for (overlap, started, skipped) in
        [(Overlap::Queue, 1, 1), (Overlap::Replace, 3, 0), (Overlap::Allow, 3, 0)]
    {
        let world = World::new();
        let engine = world.open();
        let often = engine.schedule("often").cron("0 * * * *").overlap(overlap);
        let often = often.function(order(7)).await.unwrap();
        for firing in 1..=3 {
            world.pass(&engine, Duration::from_hours(1));
            let done = |it: &Schedule| match overlap {
                Overlap::Queue => it.started + it.skipped >= firing.min(1) && it.next.is_some(),
                _ => it.started == firing,
            };
            until(&world, &engine, &often, done).await;
        }
        let state =
            until(&world, &engine, &often, |it| it.started + it.skipped >= started + skipped).await;
        assert_eq!((state.started, state.skipped), (started, skipped), "{overlap:?}");
    }
}

/// The schedule as it is.
async fn state(engine: &Engine, name: &str) -> Schedule {
    engine.find_schedule(name).await.expect("it answers").expect("it is there").schedule
}

#[tokio::test]
async fn a_program_that_makes_its_schedules_each_time_it_starts_keeps_or_changes_them() {
    let world = World::new();
    let engine = world.open();
    let every = |engine: &Engine, hours| {
        let engine = engine.clone();
        async move {
            let it = engine.schedule("often").every(Duration::from_hours(hours));
            it.overlap(Overlap::Allow).function(countdown(0)).await.unwrap().instance()
        }
    };
    let first = every(&engine, 2).await;
    let next = state(&engine, "often").await.next;
    world.pass(&engine, Duration::from_hours(1));
    drop(engine);

    let engine = world.open();
    assert_eq!(every(&engine, 2).await, first);
    assert_eq!(state(&engine, "often").await.next, next, "it counts from where it began");
    world.pass(&engine, Duration::from_hours(1));
    let run = engine.run("often").await.unwrap().unwrap();
    until(&world, &engine, &run, |it| it.started == 1).await;
    assert_eq!(every(&engine, 5).await, first);
    let changed = state(&engine, "often").await;
    assert_eq!(
        (changed.started, changed.next.unwrap().since(next.unwrap())),
        (1, Duration::from_hours(5))
    );

    // One that is removed makes room for another of its name.
    engine.remove_schedule("often").await.unwrap();
    assert_eq!(engine.schedules().await.unwrap(), []);
    let gone = engine.pause_schedule("often").await.unwrap_err();
    assert_eq!(gone.to_string(), "no such schedule: often");
    let second = every(&engine, 2).await;
    assert_ne!(second, first);
    assert_eq!(every(&engine, 2).await, second);
    drop((run, engine));

    let engine = world.open();
    assert_eq!(every(&engine, 2).await, second);
    assert_eq!(engine.schedules().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_schedule_that_is_made_again_before_its_last_run_has_ended_goes_on() {
    let world = World::new();
    let engine = world.open();
    let make = || engine.schedule("s").every(Duration::from_hours(24)).function(order(7));
    let run = make().await.unwrap();
    engine.trigger_schedule("s").await.unwrap();
    until(&world, &engine, &run, |it| it.started == 1).await;
    engine.remove_schedule("s").await.unwrap();
    let removed = state(&engine, "s").await;
    assert_eq!((removed.removed, removed.next), (true, None));
    assert_eq!(make().await.unwrap().instance(), run.instance());
    let back = state(&engine, "s").await;
    assert!(!back.removed && back.next.is_some(), "{back:?}");
}

#[tokio::test]
async fn a_firing_that_is_late_by_chance_is_not_forgotten_when_something_happens_before_it() {
    let world = World::new();
    let engine = world.open();
    let late = engine.schedule("late").cron("0 * * * *").jitter(Duration::from_mins(50));
    let run = late.function(countdown(0)).await.unwrap();
    let next = state(&engine, "late").await.next.unwrap();
    let hour = 3_600_000;
    assert_ne!(next.as_millis() % hour, 0, "chance has it late");
    world.clock.set(next.before(Duration::from_millis(1)));
    engine.wake();
    engine.trigger_schedule("late").await.unwrap();
    assert_eq!(until(&world, &engine, &run, |it| it.started == 1).await.next, Some(next));
}

#[tokio::test]
async fn a_firing_is_late_by_as_much_as_it_may_be_at_most() {
    let world = World::new();
    let engine = world.open();
    let every = engine.schedule("s").cron("0 * * * *").jitter(Duration::from_millis(1));
    let run = every.overlap(Overlap::Allow).function(countdown(0)).await.unwrap();
    let mut late = BTreeSet::new();
    for fired in 1..=20 {
        let next = state(&engine, "s").await.next.unwrap();
        late.insert(next.as_millis() % 3_600_000);
        world.clock.set(next);
        engine.wake();
        let is_next = |it: &Schedule| it.next.is_some_and(|it| it > next);
        until(&world, &engine, &run, |it| it.started == fired && is_next(it)).await;
    }
    assert_eq!(late.into_iter().collect::<Vec<_>>(), [0, 1]);
}

#[tokio::test]
async fn a_schedule_that_cannot_go_on_is_listed_with_the_reason() {
    let world = World::new();
    let engine = world.open();
    let run = engine.schedule("s").every(Duration::from_hours(1)).function(countdown(0)).await;
    let instance = run.unwrap().instance();
    engine.suspend(instance).await.unwrap();
    drop(engine);

    let engine = world.open_with(Functions::new());
    let [suspended] = &engine.schedules().await.unwrap()[..] else { panic!("there is one") };
    assert_eq!((&*suspended.name, suspended.instance), ("s", instance));
    assert_eq!(suspended.state, travertine_store::view::InstanceState::Suspended);
    let refused = engine.trigger_schedule("s").await.unwrap_err();
    assert_eq!(refused, travertine_runtime::Error::Suspended(instance));
}

/// Fails whenever it is started.
const FAILS: WorkflowDefinition = WorkflowDefinition {
    name: "fails",
    version: 1,
    parameters: &[],
    run: |_, _| Box::pin(async move { Err(Failure::terminal("spoilt", "it is spoilt").into()) }),
};

#[tokio::test]
async fn those_that_have_failed_are_counted() {
    let world = World::new();
    let engine = world.open_with(Functions::new().workflow(FAILS));
    let often = engine.schedule("s").every(Duration::from_hours(1)).overlap(Overlap::Skip);
    let run = often.function(Workflow::<()>::new("fails", 1)).await.unwrap();
    for failed in 1..=2 {
        world.pass(&engine, Duration::from_hours(1));
        let state = until(&world, &engine, &run, |it| it.failed >= failed).await;
        assert_eq!((state.started, state.failed), (failed, failed));
    }
}

#[tokio::test]
async fn a_schedule_of_what_is_gone_is_listed_with_the_reason_until_that_is_back() {
    let world = World::new();
    let engine = world.open();
    let walk = || {
        let process = r#"<process id="walk" isExecutable="true"><startEvent id="s"/></process>"#;
        file("walk.bpmn", process)
    };
    engine.deploy(&[walk()]).unwrap();
    let every = engine.schedule("s").every(Duration::from_hours(1));
    let run = every.process("walk", Vec::new()).await.unwrap();
    engine.undeploy("walk", 1).unwrap();
    world.pass(&engine, Duration::from_hours(1));
    let stuck = within(async {
        loop {
            let found = engine.find_schedule("s").await.expect("it answers").expect("it is there");
            if found.problem.is_some() {
                return found;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let problem = "no such definition: walk; it goes on when that is deployed";
    assert_eq!((stuck.problem.as_deref(), stuck.schedule.next), (Some(problem), None));
    engine.deploy(&[walk()]).unwrap();
    until(&world, &engine, &run, |it| it.started == 1).await;
    assert_eq!(engine.find_schedule("s").await.unwrap().unwrap().problem, None);
}

#[tokio::test]
async fn a_schedule_that_is_made_again_as_it_is_hears_nothing_of_that() {
    let world = World::new();
    let engine = world.open();
    let make = || engine.schedule("s").every(Duration::from_hours(1)).function(countdown(0));
    let instance = make().await.unwrap().instance();
    let before = engine.history(instance).unwrap().steps.len();
    assert_eq!(make().await.unwrap().instance(), instance);
    assert_eq!(engine.history(instance).unwrap().steps.len(), before);
}

#[tokio::test]
async fn a_schedule_that_is_told_something_again_and_again_begins_anew_now_and_then() {
    let world = World::new();
    let engine = world.open();
    let run = engine.schedule("s").every(Duration::from_hours(1)).function(countdown(0)).await;
    let instance = run.unwrap().instance();
    for paused in 0..120 {
        if paused % 2 == 0 {
            engine.pause_schedule("s").await.unwrap();
        } else {
            engine.resume_schedule("s").await.unwrap();
        }
    }
    let look = engine.look(instance).await.unwrap();
    let journal = look.state.journal.as_ref().expect("it is a function");
    assert_eq!(journal.run, 1, "its journal does not grow for ever");
}

#[tokio::test]
async fn what_is_queued_starts_as_soon_as_the_one_before_has_ended() {
    let world = World::new();
    let engine = world.open();
    let often = engine.schedule("often").every(Duration::from_hours(20)).overlap(Overlap::Queue);
    let often = often.function(order(7)).await.unwrap();
    world.pass(&engine, Duration::from_hours(20));
    until(&world, &engine, &often, |it| it.started == 1).await;
    let passes_until = async |wanted: &dyn Fn(&Schedule) -> bool| {
        within(async {
            loop {
                let state: Schedule = often.query("state", &()).await.expect("it answers");
                if wanted(&state) {
                    return state;
                }
                world.pass(&engine, Duration::from_hours(1));
                tokio::task::yield_now().await;
            }
        })
        .await
    };
    // The order sleeps for two days: the next one is queued, and those after that are not needed.
    let queued = passes_until(&|it| it.skipped > 0).await;
    // From now on nothing but the end of an order can start another one.
    engine.pause_schedule("often").await.unwrap();
    passes_until(&|it| it.started > queued.started).await;
}

#[tokio::test]
async fn a_schedule_needs_time_between_two_firings() {
    let world = World::new();
    let engine = world.open();
    let wrong = engine.schedule("x").every(Duration::ZERO).function(order(7)).await.unwrap_err();
    assert_eq!(wrong.to_string(), "schedule x: there must be time between two firings");
    assert!(engine.schedules().await.unwrap().is_empty());
}
