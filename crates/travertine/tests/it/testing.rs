//! The environment for tests of functions, with functions as people write them.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use expect_test::expect;
use serde::{Deserialize, Serialize};
use travertine::{
    ActivityContext, Context, Event, Failure, Flow, RunError, RunStatus, activity, select,
    testing::{self, Setup, TestEngine},
    workflow,
};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// What activities change.
#[derive(Default)]
struct World {
    /// Charges by their keys.
    charged: Mutex<BTreeSet<String>>,
    refunded: AtomicU32,
    /// Counted at each call, whatever its key.
    stamps: AtomicU64,
}

impl World {
    fn charged(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.charged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Event, Serialize, Deserialize)]
#[event(name = "order.cancel", delivery = "after_create")]
struct CancelOrder {
    reason: String,
}

#[activity(retry = exponential("1m", 2.0, max = 5))]
async fn charge(cx: ActivityContext, cents: u64) -> Result<String, Failure> {
    if cx.attempt() < 3 {
        return Err(Failure::new("503", "the bank is busy"));
    }
    cx.get::<Arc<World>>()?.charged().insert(cx.idempotency_key().to_owned());
    Ok(format!("charge of {cents}"))
}

#[activity]
async fn refund(cx: ActivityContext, charge: String) -> Result<(), Failure> {
    let world = cx.get::<Arc<World>>()?;
    world.charged().clear();
    world.refunded.fetch_add(1, Ordering::SeqCst);
    let _: String = charge;
    Ok(())
}

#[activity(retry = never, timeout = "1h")]
async fn ship(address: String) -> Result<String, Failure> {
    match address.as_str() {
        "nowhere" => Err(Failure::terminal("address", "nobody lives there")),
        other => Ok(format!("parcel to {other}")),
    }
}

#[activity]
async fn stamp(cx: ActivityContext) -> Result<(), Failure> {
    cx.get::<Arc<World>>()?.stamps.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

#[workflow]
async fn order(cx: Context, cents: u64, address: String) -> Flow<String> {
    let mut saga = cx.saga();
    let body = async {
        saga.step(cx.call(charge(cents)), refund).await?;
        Ok(select! { cx;
            cancel = cx.event::<CancelOrder>() => {
                return Err(Failure::terminal("cancelled", cancel?.reason).into());
            },
            slept = cx.sleep(2 * DAY) => { slept?; cx.call(ship(address)).await? },
        })
    }
    .await;
    saga.finish(body).await
}

#[workflow]
async fn both(cx: Context) -> Flow<String> {
    let (first, second) =
        (cx.call(ship("Ann".into())).start(), cx.call(ship("Ben".into())).start());
    Ok(format!("{} and {}", first.await?, second.await?))
}

#[workflow]
async fn stamped(cx: Context) -> Flow<()> {
    cx.call(stamp()).await?;
    cx.sleep(HOUR).await?;
    Ok(())
}

static FLIPS: AtomicU64 = AtomicU64::new(0);

/// It decides by something that is not in its journal.
#[workflow]
async fn flipping(cx: Context) -> Flow<()> {
    cx.call(stamp()).await?;
    let address =
        if FLIPS.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) { "Ann" } else { "Ben" };
    cx.call(ship(address.into())).await?;
    Ok(())
}

#[workflow]
async fn parent(cx: Context, times: u32) -> Flow<String> {
    cx.sleep(HOUR).await?;
    if times > 0 {
        return cx.continue_as(parent(times - 1));
    }
    Ok(cx.child(order(5, "Ann".into())).await?)
}

fn world() -> (Arc<World>, Setup) {
    let world = Arc::<World>::default();
    (Arc::clone(&world), Setup::new().dependency(world))
}

#[tokio::test]
async fn time_skips_over_pauses_and_sleeps_to_the_end() {
    let (world, setup) = world();
    let env = setup.open();
    let began = env.now();
    let run = env.start("order-1", order(7, "Ann".into())).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "parcel to Ann");
    assert_eq!(env.now().since(began), 2 * DAY + Duration::from_mins(3));
    assert_eq!(world.charged().len(), 1);
    let charges = env.calls("charge");
    assert_eq!(charges.iter().map(|it| it.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(charges[0].argument::<u64>("cents"), 7);
    assert_eq!(env.calls("ship")[0].outcome, Some(Ok("parcel to Ann".into())));
    assert_eq!(env.calls("refund"), []);
    expect![[r#"
        began
        asks for activity charge
        activity charge done result="charge of 7"
        asks for event order.cancel
        asks for sleep
        sleep done
        event order.cancel called off
        asks for activity ship
        activity ship done result="parcel to Ann"
        completed result="parcel to Ann""#]]
    .assert_eq(&env.journal("order-1").join("\n"));
    env.check_replay("order-1").unwrap();
}

#[tokio::test]
async fn an_event_wins_over_the_sleep_and_what_was_done_is_undone() {
    let (world, setup) = world();
    let env = setup.open();
    let run = env.start("order-1", order(7, "Ann".into())).await.unwrap();
    env.settle().await.unwrap();
    assert_eq!(env.calls("charge").len(), 1, "the pause before the next try is not over");
    env.advance(HOUR).await.unwrap();
    assert_eq!(run.status().await.unwrap(), RunStatus::Suspended);
    env.send_event(CancelOrder { reason: "changed my mind".into() }).to("order-1").await.unwrap();
    let Err(RunError::Failed(failure)) = run.result().await else { panic!("it fails") };
    assert_eq!(failure.to_string(), "cancelled: changed my mind");
    assert_eq!(world.refunded.load(Ordering::SeqCst), 1);
    expect![[r#"
        began
        asks for activity charge
        activity charge done result="charge of 7"
        asks for event order.cancel
        asks for sleep
        event order.cancel done reason="changed my mind"
        sleep called off
        asks for activity refund
        activity refund done result=null
        failed: changed my mind"#]]
    .assert_eq(&env.journal("order-1").join("\n"));
    env.check_replay("order-1").unwrap();
}

#[tokio::test]
async fn closures_stand_in_for_activities() {
    let env = Setup::new()
        .activity("charge", |cents: u64| async move {
            if testing::context().attempt() == 1 {
                return Err(Failure::new("503", "once more"));
            }
            Ok(format!("{cents} for {}", testing::context().idempotency_key()))
        })
        .activity("ship", |_: String| async move {
            testing::sleep(Duration::from_mins(59)).await;
            Ok("late")
        })
        .open();
    let run = env.start("a", order(1, "nowhere".into())).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "late");
    let outcome = env.calls("charge")[1].outcome.clone().unwrap().unwrap();
    assert_eq!(outcome, "1 for a/0/activity charge".into());
}

#[tokio::test]
async fn an_activity_that_hangs_runs_out_of_time() {
    let (world, setup) = world();
    let env = setup
        .activity("ship", |_: String| async move {
            testing::hang().await;
            Ok(())
        })
        .open();
    let run = env.start("a", order(1, "Ann".into())).await.unwrap();
    let Err(RunError::Failed(failure)) = run.result().await else { panic!("it fails") };
    assert!(failure.is_timeout(), "{failure}");
    assert_eq!(world.refunded.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn activities_at_once_end_in_the_order_of_their_time() {
    let env = Setup::new()
        .activity("ship", |address: String| async move {
            let minutes = if address == "Ann" { 20 } else { 10 };
            testing::sleep(Duration::from_mins(minutes)).await;
            Ok(address)
        })
        .open();
    let began = env.now();
    let run = env.start("a", both()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "Ann and Ben");
    assert_eq!(env.now(), began.after(Duration::from_mins(20)));
    let done: Vec<String> = env.journal("a").into_iter().filter(|it| it.contains("done")).collect();
    assert_eq!(
        done,
        [r#"activity ship#2 done result="Ben""#, r#"activity ship done result="Ann""#]
    );
}

#[tokio::test]
async fn a_run_that_waits_for_the_test_says_so() {
    #[workflow]
    async fn waiting(cx: Context) -> Flow<String> {
        Ok(cx.event::<CancelOrder>().await?.reason)
    }
    let env = TestEngine::open();
    let run = env.start("w", waiting()).await.unwrap();
    let error = run.result().await.unwrap_err().to_string();
    assert!(
        error.contains("`w` does not go on by itself: it waits for message order.cancel"),
        "{error}"
    );
    env.crash();
    env.send_event(CancelOrder { reason: "now".into() }).to("w").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "now");
    let error = env.run::<()>("nobody").result().await.unwrap_err().to_string();
    assert!(error.contains("there is no run `nobody`"), "{error}");
}

#[tokio::test]
async fn code_that_is_not_deterministic_is_caught() {
    let (_, setup) = world();
    let env = setup.open();
    let run = env.start("f", flipping()).await.unwrap();
    let error = run.result().await.unwrap_err().to_string();
    assert!(error.contains("its code is not deterministic"), "{error}");

    // Without the engine looking, the journal still tells.
    let (_, setup) = world();
    let env = setup.options(|it| it.settings.functions.shadow_every = 0).open();
    FLIPS.store(0, Ordering::SeqCst);
    env.start("f", flipping()).await.unwrap().result().await.unwrap();
    FLIPS.store(1, Ordering::SeqCst);
    let error = env.check_replay("f").unwrap_err();
    expect![[r#"f: after `activity stamp done result=null` the journal has `asks for activity ship` where the code decides `asks for activity ship, work ship with {"address":"Ben"}` when it is run again"#]].assert_eq(&error);
}

#[tokio::test]
async fn an_order_comes_to_the_same_through_all_crashes() {
    let report = TestEngine::crash_everywhere(async |setup: Setup| {
        let world = Arc::<World>::default();
        let env = setup.dependency(Arc::clone(&world)).open();
        let run = env.start("order-1", order(7, "Ann".into())).await.unwrap();
        let other = env.start("order-2", order(8, "Ben".into())).await.unwrap();
        env.advance(HOUR).await.unwrap();
        env.send_event(CancelOrder { reason: "late".into() }).to("order-2").await.unwrap();
        let results = (run.result().await, other.result().await);
        let journals = (env.journal("order-1"), env.journal("order-2"));
        (results, journals)
    })
    .await;
    assert!(report.crashes > 10, "{}", report.crashes);
    assert!(report.repeated.iter().any(|it| it.activity == "charge"), "{:?}", report.repeated);
    let ((first, second), _) = report.assert_same();
    assert_eq!(first.unwrap(), "parcel to Ann");
    assert!(matches!(second, Err(RunError::Failed(_))), "{second:?}");
}

#[tokio::test]
async fn children_and_new_beginnings_come_through_all_crashes() {
    let report = TestEngine::crash_everywhere(async |setup: Setup| {
        let env = setup.dependency(Arc::<World>::default()).open();
        let result = env.start("p", parent(2)).await.unwrap().result().await.unwrap();
        (result, env.journal("p"))
    })
    .await;
    let (result, journal) = report.assert_same();
    assert_eq!(result, "parcel to Ann");
    expect![[r#"
        began
        asks for sleep
        sleep done
        began
        asks for sleep
        sleep done
        began
        asks for sleep
        sleep done
        asks for child order
        child order done result="parcel to Ann"
        completed result="parcel to Ann""#]]
    .assert_eq(&journal.join("\n"));
}

#[tokio::test]
async fn work_that_is_not_the_same_when_done_twice_is_reported() {
    let report = TestEngine::crash_everywhere(async |setup: Setup| {
        let world = Arc::<World>::default();
        let env = setup.dependency(Arc::clone(&world)).open();
        env.start("s", stamped()).await.unwrap().result().await.unwrap();
        world.stamps.load(Ordering::SeqCst)
    })
    .await;
    assert_eq!(report.result, 1);
    assert_eq!(report.repeated.len(), report.problems.len());
    expect!["crash before it is written that s: activity stamp done result=null; s: asks for sleep: it comes to 2, not 1; activity stamp has done its work 2 times for `s/0/activity stamp`, the first time without its outcome being durable: what it does must be the same when it is done twice (give its `cx.idempotency_key()` to whoever does it)"].assert_eq(&report.problems.join("\n"));
}

#[test]
#[should_panic(
    expected = "no activity `chrage` to stand in for; the activities are: charge, refund"
)]
fn a_stand_in_for_nobody_is_told() {
    drop(Setup::new().activity("chrage", || async { Ok(()) }));
}

#[activity(retry = fixed("1m", max = 100), deadline = "5m")]
async fn try_in_vain() -> Result<(), Failure> {
    Err(Failure::new("busy", "the bank is busy"))
}

#[activity(retry = fixed("1m", max = 100), timeout = "1h", deadline = "5m")]
async fn wait_in_vain() -> Result<(), Failure> {
    testing::hang().await;
    Ok(())
}

#[workflow]
async fn late(cx: Context, hangs: bool) -> Flow<()> {
    let activity = if hangs { wait_in_vain() } else { try_in_vain() };
    Ok(cx.call(activity).await?)
}

#[tokio::test]
async fn an_activity_is_not_tried_beyond_its_deadline() {
    for (hangs, activity, attempts) in [(false, "try_in_vain", 5), (true, "wait_in_vain", 1)] {
        let env = Setup::new().open();
        let began = env.now();
        let run = env.start("late", late(hangs)).await.unwrap();
        let Err(RunError::Failed(failure)) = run.result().await else { panic!("it is late") };
        assert_eq!(failure.code, Failure::TIMEOUT, "{failure}");
        assert!(failure.message.contains("deadline"), "{failure}");
        assert_eq!(env.calls(activity).len(), attempts);
        assert!(env.now() <= began.after(Duration::from_mins(5)));
    }
}
