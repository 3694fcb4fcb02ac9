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
    Engine, InstanceId, RunStatus,
    engine::{File, ManualClock, Options, RunError},
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
    for (fault, attempts) in [(Fault::PoisonedLost, 2), (Fault::PoisonedKept, 1)] {
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
    clock.set(Timestamp::from_millis(1_000_000).after(Duration::from_hours(2)));
    assert_eq!(store.last(ShardId(0)).unwrap(), last);
    let engine = open(&store, &plan, &clock);
    let begun = engine.start(run(1)).id("a").wait().unwrap();
    assert_eq!(begun.wait(), Ok(1));
    assert_eq!(plan.attempts.load(Ordering::SeqCst), 1);
}

// Whether an append was kept is found out by claiming the shard again; the run goes on from memory.
#[test]
fn an_append_that_nobody_knows_of_is_found_out_about_and_no_run_notices() {
    for fault in [Fault::Lost, Fault::Kept, Fault::Away] {
        let (plan, clock) = (plan(Some(fault)), clock());
        let store = store(&plan);
        let engine = open(&store, &plan, &clock);
        let begun = engine.start(run(0)).id("a").wait().unwrap();
        assert_eq!(begun.wait(), Ok(1), "{fault:?}");
        assert_eq!(plan.attempts.load(Ordering::SeqCst), 1, "{fault:?}");
        drop(begun);
        engine.shutdown().unwrap();
    }
}

const WAITS: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    targetNamespace="t"><process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process></definitions>"#;

/// An engine of three shards that have two instances each.
fn three_shards(store: &Arc<Faulty<MemoryStore>>) -> (Engine, Vec<InstanceId>) {
    let engine = open_with(store, options(&plan(None), &clock()));
    engine.deploy(&[File { name: "p.bpmn".into(), body: WAITS.into() }]).expect("it can run");
    let all = (0..6).map(|_| engine.start("p").wait().expect("it begins")).collect();
    (engine, all)
}

fn shard_of(instance: InstanceId) -> ShardId {
    ShardId::of(instance.0, 3)
}

#[test]
fn a_shard_that_is_lost_ends_alone_and_says_so() {
    const ONE: ShardId = ShardId(1);
    let store = Arc::new(Faulty::new(MemoryStore::new(3), |_| None));
    let (engine, all) = three_shards(&store);
    store.plan_for(ONE, |it| (it == Write::Append).then_some(Fault::Stolen));
    for id in &all {
        let cancelled = engine.cancel(*id).wait();
        if shard_of(*id) == ONE {
            let error = cancelled.unwrap_err().to_string();
            assert!(error.contains("shard 1"), "{error}");
        } else {
            cancelled.unwrap();
        }
    }
    assert_eq!(engine.fault(), None);
    // What belongs nowhere yet goes to the others.
    for _ in 0..6 {
        assert_ne!(shard_of(engine.start("p").wait().unwrap()), ONE);
    }
    assert!(engine.shutdown().is_err());
    // Nothing is lost by that.
    store.plan(|_| None);
    let engine = open_with(&store, options(&plan(None), &clock()));
    for id in all.into_iter().filter(|it| shard_of(*it) == ONE) {
        engine.cancel(id).wait().unwrap();
    }
    assert_eq!(engine.verify().unwrap().differences, []);
    engine.shutdown().unwrap();
}

#[test]
fn shards_that_do_not_know_what_was_written_go_on_and_do_nothing_twice() {
    for fault in [Fault::Lost, Fault::Kept, Fault::Away] {
        let store = Arc::new(Faulty::new(MemoryStore::new(3), |_| None));
        let (engine, all) = three_shards(&store);
        let mut writes = 0;
        store.plan(move |it| {
            writes += u32::from(matches!(it, Write::Append | Write::Checkpoint));
            (writes % 3 == 0 && it != Write::Claim).then_some(fault)
        });
        for id in all {
            engine.cancel(id).wait().unwrap();
        }
        let mut more: Vec<_> = (0..12).map(|_| engine.start("p").wait().unwrap()).collect();
        more.sort_unstable();
        more.dedup();
        assert_eq!(more.len(), 12, "{fault:?}");
        store.plan(|_| None);
        assert_eq!(engine.verify().unwrap().differences, [], "{fault:?}");
        assert_eq!(engine.fault(), None, "{fault:?}");
        engine.shutdown().unwrap();
    }
}

#[test]
fn a_shard_that_is_lost_while_nobody_knows_what_was_written_ends_alone_too() {
    let store = Arc::new(Faulty::new(MemoryStore::new(3), |_| None));
    let (engine, all) = three_shards(&store);
    // The shard is stolen when it is claimed again.
    store.plan_for(ShardId(2), |it| match it {
        Write::Append => Some(Fault::Kept),
        Write::Claim => Some(Fault::Stolen),
        _ => None,
    });
    for id in all {
        assert_eq!(engine.cancel(id).wait().is_err(), shard_of(id) == ShardId(2));
    }
    assert_eq!(engine.fault(), None);
    engine.shutdown().unwrap_err();
}
