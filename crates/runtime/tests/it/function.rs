//! Durable functions on a real store.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use travertine_func::{
    Activity, ActivityDefinition, ActivityOptions, Consume, Delivery, Dependencies, Event,
    EventConfig, Failure, Functions, Workflow, WorkflowDefinition, encode, select,
};
use travertine_runtime::{
    Engine, Receipt, RunStatus, Timestamp,
    engine::{ManualClock, Options, RunError},
};

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Cancel {
    reason: String,
}

impl Event for Cancel {
    const NAME: &'static str = "order.cancel";
    const CONFIG: EventConfig =
        EventConfig { consume: Consume::One, delivery: Delivery::AfterCreate, expire_after: None };
}

#[derive(Default)]
struct Bank {
    charges: AtomicU32,
}

fn charge(cents: u64) -> Activity<String> {
    Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents)
}

const CHARGE: ActivityDefinition = ActivityDefinition {
    name: "charge",
    parameters: &["cents"],
    options: ActivityOptions::DEFAULT,
    run: |cx, mut arguments| {
        Box::pin(async move {
            let cents: u64 = arguments.take("cents")?;
            if cx.attempt() < 2 {
                return Err(Failure::new("503", "try again"));
            }
            let bank = cx.get::<Arc<Bank>>()?;
            bank.charges.fetch_add(1, Ordering::SeqCst);
            if cents == 13 {
                return Err(Failure::terminal("broke", "no money"));
            }
            encode("charge", &format!("ch-{cents} {}", cx.idempotency_key()))
        })
    },
};

pub(super) fn order(cents: u64) -> Workflow<String> {
    Workflow::new("order", 1).argument("cents", &cents)
}

const ORDER: WorkflowDefinition = WorkflowDefinition {
    name: "order",
    version: 1,
    parameters: &["cents"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let cents: u64 = arguments.take("cents")?;
            let charged = cx.call(charge(cents)).await?;
            let outcome: String = select! { cx;
                cancel = cx.event::<Cancel>() => format!("cancelled: {}", cancel?.reason),
                slept = cx.sleep(Duration::from_hours(48)) => { slept?; format!("shipped {charged}") },
            };
            Ok(encode("order", &outcome)?)
        })
    },
};

pub(super) fn countdown(left: u64) -> Workflow<u64> {
    Workflow::new("countdown", 1).argument("left", &left)
}

/// Begins anew until nothing is left.
const COUNTDOWN: WorkflowDefinition = WorkflowDefinition {
    name: "countdown",
    version: 1,
    parameters: &["left"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let left: u64 = arguments.take("left")?;
            cx.sleep(Duration::from_hours(1)).await?;
            if left > 0 {
                return cx.continue_as(countdown(left - 1));
            }
            Ok(encode("countdown", &cx.run())?)
        })
    },
};

pub(super) struct World {
    dir: tempfile::TempDir,
    pub(super) clock: Arc<ManualClock>,
    bank: Arc<Bank>,
}

impl World {
    pub(super) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)));
        Self {
            dir: tempfile::tempdir().expect("there is room for a directory"),
            clock,
            bank: Arc::default(),
        }
    }

    pub(super) fn open(&self) -> Engine {
        let functions = Functions::new().workflow(ORDER).workflow(COUNTDOWN).activity(CHARGE);
        self.open_with(functions)
    }

    pub(super) fn open_with(&self, functions: Functions) -> Engine {
        let options = Options {
            shards: 2,
            clock: Arc::clone(&self.clock) as Arc<_>,
            functions,
            dependencies: Dependencies::new().with(Arc::clone(&self.bank)),
            ..Options::default()
        };
        Engine::open_with(self.dir.path(), options).expect("the store opens")
    }

    /// Time passes, and whoever waits for it is told.
    pub(super) fn pass(&self, engine: &Engine, by: Duration) {
        use travertine_runtime::engine::Clock as _;
        let now = self.clock.now();
        self.clock.set(now.after(by));
        engine.wake();
    }

    /// Lets the clock go on to the pause of an activity, until the run waits for something else.
    async fn settle(&self, engine: &Engine, id: &str) {
        while engine.query_status(id).await.expect("it answers") == Some(RunStatus::Running) {
            self.pass(engine, Duration::from_millis(100));
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn an_order_is_charged_once_and_shipped_after_its_time_through_restarts() {
    let world = World::new();
    let engine = world.open();
    let run = engine.start(order(7)).id("order-1").await.unwrap();
    assert_eq!(run.id(), "order-1");
    world.settle(&engine, "order-1").await;
    assert_eq!(world.bank.charges.load(Ordering::SeqCst), 1);
    assert_eq!(engine.query_status("order-1").await.unwrap(), Some(RunStatus::Suspended));
    assert_eq!(engine.query_result::<String>("order-1").await.unwrap(), None);
    drop(run);
    drop(engine);

    let engine = world.open();
    world.pass(&engine, Duration::from_hours(49));
    let run = engine.run::<String>("order-1").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), "shipped ch-7 order-1/0/activity charge");
    assert_eq!(world.bank.charges.load(Ordering::SeqCst), 1);
    assert_eq!(engine.query_status("order-1").await.unwrap(), Some(RunStatus::Succeeded));
    assert_eq!(engine.query_status("nobody").await.unwrap(), None);
    assert!(!engine.cancel_run("order-1").await.unwrap());
}

#[tokio::test]
async fn an_event_wins_over_the_timer_and_a_failure_is_told() {
    let world = World::new();
    let engine = world.open();
    let run = engine.start(order(7)).id("a").await.unwrap();
    world.settle(&engine, "a").await;
    let receipt = engine.send_event(Cancel { reason: "mind".into() }).to("a").await.unwrap();
    assert!(matches!(receipt, Receipt::Received(_)), "{receipt:?}");
    assert_eq!(run.result().await.unwrap(), "cancelled: mind");

    let run = engine.start(order(13)).await.unwrap();
    world.settle(&engine, run.id()).await;
    let Err(RunError::Failed(failure)) = run.result().await else { panic!("it fails") };
    assert_eq!((failure.code.as_str(), failure.message.as_str()), ("broke", "no money"));
    let again = engine.start(order(8)).id("a").await.unwrap_err();
    assert!(again.to_string().contains("a is instance"), "{again}");
    assert_eq!(
        engine.start(order(7)).id("a").await.unwrap().result().await.unwrap(),
        "cancelled: mind"
    );
}

#[tokio::test]
async fn whoever_starts_again_what_has_begun_anew_gets_it_also_when_it_has_ended() {
    let world = World::new();
    let engine = world.open();
    let run = engine.start(countdown(2)).id("c").await.unwrap();
    while run.status().await.unwrap() != RunStatus::Succeeded {
        let again = engine.start(countdown(2)).id("c").await.unwrap();
        assert_eq!(again.instance(), run.instance());
        world.pass(&engine, Duration::from_hours(1));
    }
    assert_eq!(run.result().await.unwrap(), 2);
    drop(run);
    drop(engine);

    let engine = world.open();
    let again = engine.start(countdown(2)).id("c").await.unwrap();
    assert_eq!(again.result().await.unwrap(), 2);
    engine.start(order(7)).id("c").await.unwrap_err();
    // One that has not begun anew is still held to what it was started with.
    let run = engine.start(countdown(0)).id("d").await.unwrap();
    world.pass(&engine, Duration::from_hours(1));
    assert_eq!(run.result().await.unwrap(), 0);
    engine.start(countdown(0)).id("d").await.unwrap();
    engine.start(countdown(1)).id("d").await.unwrap_err();
}

/// The order as someone has rewritten it: it does not charge any more.
const REWRITTEN: WorkflowDefinition = WorkflowDefinition {
    run: |cx, _| {
        Box::pin(async move {
            cx.sleep(Duration::from_hours(1)).await?;
            Ok(encode("order", "nothing")?)
        })
    },
    ..ORDER
};

#[tokio::test]
async fn code_that_does_not_agree_with_open_runs_is_refused_before_it_takes_over() {
    let world = World::new();
    let engine = world.open();
    engine.start(order(7)).id("order-1").await.unwrap();
    world.settle(&engine, "order-1").await;
    assert_eq!(engine.preflight().unwrap().problems, []);
    drop(engine);

    let options = |preflight| Options {
        shards: 2,
        clock: Arc::clone(&world.clock) as Arc<_>,
        functions: Functions::new().workflow(REWRITTEN),
        preflight,
        ..Options::default()
    };
    let refused = Engine::open_with(world.dir.path(), options(true)).unwrap_err().to_string();
    assert!(refused.contains("activity charge") && refused.contains("sleep"), "{refused}");

    // Who does not ask finds the run blocked, and nothing else harmed.
    let engine = Engine::open_with(world.dir.path(), options(false)).unwrap();
    let report = engine.preflight().unwrap();
    assert_eq!((report.tried, report.problems.len()), (1, 1));
    world.pass(&engine, Duration::from_hours(49));
    let run = engine.run::<String>("order-1").await.unwrap().unwrap();
    let why = engine.why(run.instance()).await.unwrap();
    assert!(why.iter().any(|it| it.to_string().contains("activity charge")), "{why:?}");
    drop((run, engine));

    // With the code of before it goes on.
    let engine = world.open();
    let run = engine.run::<String>("order-1").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), "shipped ch-7 order-1/0/activity charge");
}

/// Asks for a charge as for any job, whose answer is variables.
const ANY_WORKER: WorkflowDefinition = WorkflowDefinition {
    name: "any-worker",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            #[derive(Deserialize)]
            struct Charged {
                result: String,
            }
            let job = cx.job::<Charged>("charge").variable("cents", &7).start();
            Ok(encode("any-worker", &job.await?.result)?)
        })
    },
};

#[tokio::test]
async fn a_job_of_a_function_can_be_done_by_an_activity_of_the_same_program() {
    let world = World::new();
    let options = Options {
        clock: Arc::clone(&world.clock) as Arc<_>,
        functions: Functions::new().workflow(ANY_WORKER).activity(CHARGE),
        dependencies: Dependencies::new().with(Arc::clone(&world.bank)),
        ..Options::default()
    };
    let engine = Engine::open_with(world.dir.path(), options).unwrap();
    let run = engine.start(Workflow::<String>::new("any-worker", 1)).await.unwrap();
    world.settle(&engine, run.id()).await;
    assert!(run.result().await.unwrap().starts_with("ch-7"));
}

/// Sleeps for a moment, for no time, and until a time that has passed.
const NAPS: WorkflowDefinition = WorkflowDefinition {
    name: "naps",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            let began = cx.now();
            cx.sleep(Duration::ZERO).await?;
            cx.sleep_until(began.before(Duration::from_secs(5))).await?;
            let at_once = cx.now().as_millis() - began.as_millis();
            cx.sleep(Duration::from_millis(1)).await?;
            let slept = cx.now().as_millis() - began.as_millis();
            Ok(encode("naps", &(at_once, slept))?)
        })
    },
};

/// covers: ENGINE-18, ENGINE-38, ENGINE-39, ENGINE-40, ENGINE-80, ENGINE-85
#[tokio::test]
async fn a_sleep_takes_the_resolution_of_timers_at_least_and_past_times_are_over_at_once() {
    let world = World::new();
    let options = Options {
        clock: Arc::clone(&world.clock) as Arc<_>,
        functions: Functions::new().workflow(NAPS),
        ..Options::default()
    };
    assert_eq!(options.settings.functions.session.timer_resolution, Duration::from_millis(100));
    let engine = Engine::open_with(world.dir.path(), options).unwrap();
    let run = engine.start(Workflow::<(i64, i64)>::new("naps", 1)).await.unwrap();
    world.pass(&engine, Duration::from_millis(99));
    engine.flush().await.unwrap();
    assert_eq!(run.status().await.unwrap(), RunStatus::Suspended);
    world.pass(&engine, Duration::from_millis(1));
    assert_eq!(run.result().await.unwrap(), (0, 100));
}

/// covers: ENGINE-16, ENGINE-53, ENGINE-55, ENGINE-58, ENGINE-76
#[tokio::test]
async fn recovery_is_told_and_asked_for_again_runs_nothing_twice() {
    let world = World::new();
    let engine = world.open();
    engine.start(order(7)).id("a").await.unwrap();
    world.settle(&engine, "a").await;
    drop(engine);
    let engine = world.open();
    let report = engine.recover().unwrap();
    assert_eq!((report.timers, report.subscriptions, report.jobs, report.resumed), (1, 1, 0, 0));
    for _ in 0..3 {
        assert_eq!(engine.recover().unwrap(), report);
    }
    assert_eq!(world.bank.charges.load(Ordering::SeqCst), 1);
    world.pass(&engine, Duration::from_hours(49));
    let run = engine.run::<String>("a").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), "shipped ch-7 a/0/activity charge");
    assert_eq!(world.bank.charges.load(Ordering::SeqCst), 1);
}

/// covers: ENGINE-18, ENGINE-79, ENGINE-81, ENGINE-82, ENGINE-83
#[test]
fn the_settings_have_the_defaults_that_people_expect() {
    let options = Options::default();
    assert_eq!(options.storage_retry.delay(1), Duration::from_millis(100));
    assert_eq!(options.storage_retry.delay(2), Duration::from_millis(200));
    assert_eq!(options.storage_retry.delay(99), Duration::from_secs(5));
    assert!(options.settings.functions.session.propagate_child_failures);
    assert_eq!(options.settings.pending_max, 10_000);
    assert_eq!(options.event_retention, Duration::from_hours(7 * 24));
}
