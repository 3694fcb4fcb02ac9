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

fn order(cents: u64) -> Workflow<String> {
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

struct World {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    bank: Arc<Bank>,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)));
        Self { dir: tempfile::tempdir().unwrap(), clock, bank: Arc::default() }
    }

    fn open(&self) -> Engine {
        let options = Options {
            shards: 2,
            clock: Arc::clone(&self.clock) as Arc<_>,
            functions: Functions::new().workflow(ORDER).activity(CHARGE),
            dependencies: Dependencies::new().with(Arc::clone(&self.bank)),
            ..Options::default()
        };
        Engine::open_with(self.dir.path(), options).unwrap()
    }

    /// Time passes, and whoever waits for it is told.
    fn pass(&self, engine: &Engine, by: Duration) {
        use travertine_runtime::engine::Clock as _;
        let now = self.clock.now();
        self.clock.set(now.after_millis(i64::try_from(by.as_millis()).unwrap()));
        engine.wake();
    }

    /// Lets the clock go on to the pause of an activity, until the run waits for something else.
    async fn settle(&self, engine: &Engine, id: &str) {
        while engine.query_status(id).await.unwrap() == Some(RunStatus::Running) {
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
