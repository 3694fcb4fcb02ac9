//! Functions on an engine whose store fails, and on one that is shut down.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use travertine_func::{
    Activity, ActivityDefinition, ActivityOptions, Dependencies, Functions, Retry, Workflow,
    WorkflowDefinition, encode,
};
use travertine_runtime::{
    Engine, RunStatus,
    engine::{ManualClock, Options, RunError},
};
use travertine_store::{MemoryStore, ShardId, Store};
use travertine_testkit::faulty::{Fault, Faulty, Write};
use travertine_value::time::Timestamp;

/// What goes wrong when the first attempt is over, and how many there were.
struct Plan {
    next: Mutex<Option<Fault>>,
    armed: Mutex<Option<Fault>>,
    attempts: AtomicU32,
}

const WORK: ActivityDefinition = ActivityDefinition {
    name: "work",
    parameters: &[],
    options: ActivityOptions::DEFAULT,
    run: |cx, _| {
        Box::pin(async move {
            let plan = cx.get::<Arc<Plan>>()?;
            let fault = plan.armed.lock().unwrap_or_else(PoisonError::into_inner).take();
            *plan.next.lock().unwrap_or_else(PoisonError::into_inner) = fault;
            encode("work", &(plan.attempts.fetch_add(1, Ordering::SeqCst) + 1))
        })
    },
};

/// Works, and sleeps.
const RUN: WorkflowDefinition = WorkflowDefinition {
    name: "run",
    version: 1,
    parameters: &["hours"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let hours: u64 = arguments.take("hours")?;
            let times = cx.call(Activity::<u32>::new("work", ActivityOptions::DEFAULT)).await?;
            if hours > 0 {
                cx.sleep(Duration::from_hours(hours)).await?;
            }
            Ok(encode("run", &times)?)
        })
    },
};

fn run(hours: u64) -> Workflow<u32> {
    Workflow::new("run", 1).argument("hours", &hours)
}

fn plan(armed: Option<Fault>) -> Arc<Plan> {
    let (next, armed) = (Mutex::default(), Mutex::new(armed));
    Arc::new(Plan { next, armed, attempts: AtomicU32::new(0) })
}

fn store(plan: &Arc<Plan>) -> Arc<Faulty<MemoryStore>> {
    let plan = Arc::clone(plan);
    Arc::new(Faulty::new(MemoryStore::new(1), move |write| {
        let mut next = plan.next.lock().unwrap_or_else(PoisonError::into_inner);
        if write == Write::Append { next.take() } else { None }
    }))
}

fn open(store: &Arc<Faulty<MemoryStore>>, plan: &Arc<Plan>, clock: &Arc<ManualClock>) -> Engine {
    open_with(store, options(plan, clock))
}

fn open_with(store: &Arc<Faulty<MemoryStore>>, options: Options) -> Engine {
    Engine::on(&(Arc::clone(store) as Arc<dyn Store>), options).expect("the store opens")
}

fn options(plan: &Arc<Plan>, clock: &Arc<ManualClock>) -> Options {
    Options {
        shards: 1,
        clock: Arc::clone(clock) as Arc<_>,
        storage_retry: Retry { initial: Duration::from_millis(1), ..Retry::DEFAULT },
        functions: Functions::new().workflow(RUN).activity(WORK),
        dependencies: Dependencies::new().with(Arc::clone(plan)),
        ..Options::default()
    }
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)))
}

// covers: ENGINE-77
// What an activity brought and the store could not keep counts for nothing. A run does not fail of it: the
// engine stops before it tells anyone something that is not stored, and the run goes on from what is.
#[test]
fn what_the_store_could_not_keep_of_an_activity_is_not_taken_for_done() {
    for (fault, attempts) in [(Fault::Lost, 2), (Fault::PoisonedLost, 2), (Fault::Kept, 1)] {
        let (plan, clock) = (plan(Some(fault)), clock());
        let store = store(&plan);
        let engine = open(&store, &plan, &clock);
        let begun = engine.start(run(0)).id("a").wait().unwrap();
        let told = begun.wait();
        assert!(matches!(told, Err(RunError::Engine(_))), "{fault:?}: {told:?}");
        assert!(engine.start(run(0)).wait().is_err());
        assert!(engine.shutdown().is_err());
        drop(begun);
        store.reopen();
        let engine = open(&store, &plan, &clock);
        let begun = engine.start(run(0)).id("a").wait().unwrap();
        assert_eq!(begun.wait(), Ok(attempts), "{fault:?}");
        assert_eq!(plan.attempts.load(Ordering::SeqCst), attempts);
    }
}

// covers: ENGINE-78
#[test]
fn a_store_without_room_is_asked_again_and_nobody_notices() {
    let (plan, clock) = (plan(Some(Fault::Full)), clock());
    let store = store(&plan);
    let engine = open(&store, &plan, &clock);
    let begun = engine.start(run(0)).wait().unwrap();
    assert_eq!(begun.wait(), Ok(1));
    assert_eq!(*plan.next.lock().unwrap(), None);
    assert_eq!(plan.attempts.load(Ordering::SeqCst), 1);
    assert_eq!(engine.metrics().stalls, 1);
    drop(begun);
    engine.shutdown().unwrap();
}

#[test]
fn who_does_not_want_to_wait_for_room_is_told_and_nothing_is_done() {
    let (plan, clock) = (plan(None), clock());
    let store = store(&plan);
    let engine = open_with(&store, Options { waits_for_room: false, ..options(&plan, &clock) });
    let last = store.last(ShardId(0)).unwrap();
    *plan.next.lock().unwrap() = Some(Fault::Full);
    let refused = engine.start(run(0)).id("a").wait().map(|it| it.instance());
    assert!(refused.is_err_and(|it| it.to_string().contains("no room left")));
    assert_eq!(engine.metrics().stalls, 0);
    engine.shutdown().unwrap_err();
    assert_eq!(store.last(ShardId(0)).unwrap(), last);
    let engine = open(&store, &plan, &clock);
    assert_eq!(engine.start(run(0)).id("a").wait().unwrap().wait(), Ok(1));
}

// covers: ENGINE-17
#[test]
fn nothing_rings_after_a_shutdown_and_nothing_is_lost_by_it() {
    let (plan, clock) = (plan(None), clock());
    let store = store(&plan);
    let engine = open(&store, &plan, &clock);
    let begun = engine.start(run(1)).id("a").wait().unwrap();
    while begun.status().wait() != Ok(RunStatus::Suspended) {
        std::thread::yield_now();
    }
    drop(begun);
    engine.shutdown().unwrap();
    let last = store.last(ShardId(0)).unwrap();
    clock.set(Timestamp::from_millis(1_000_000).after_millis(7_200_000));
    assert_eq!(store.last(ShardId(0)).unwrap(), last);
    let engine = open(&store, &plan, &clock);
    let begun = engine.start(run(1)).id("a").wait().unwrap();
    assert_eq!(begun.wait(), Ok(1));
    assert_eq!(plan.attempts.load(Ordering::SeqCst), 1);
}
