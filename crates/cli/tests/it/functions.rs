//! What people see of durable functions that a program has left in a store.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use travertine::{
    Context, Engine, Event, Failure, File, Flow, ManualClock, Options, RunStatus, Timestamp,
    activity, merge, select,
    view::{Query, Row, Table},
    workflow,
};
use travertine_value::Value;

use super::{
    process,
    store::{Store, fields, list, text},
};

#[derive(Event, Serialize, Deserialize)]
#[event(name = "order.paid")]
struct Paid {
    cents: u64,
}

#[activity(retry = exponential("1h", 2.0, max = 5))]
async fn charge(card: String) -> Result<u64, Failure> {
    Err(Failure::new("busy", format!("the bank of {card} is busy")))
}

#[activity]
async fn count(upto: u32) -> Result<u32, Failure> {
    Ok(upto)
}

#[workflow]
async fn nap(cx: Context, hours: u64) -> Flow<u64> {
    cx.sleep(Duration::from_hours(hours)).await?;
    Ok(hours)
}

#[workflow]
async fn payment(cx: Context, order: String) -> Flow<u64> {
    Ok(select! { cx;
        paid = cx.event::<Paid>().key(&order) => paid?.cents,
        slept = cx.sleep(Duration::from_hours(2)) => { slept?; 0 },
    })
}

#[workflow]
async fn retrying(cx: Context) -> Flow<u64> {
    Ok(cx.call(charge("Ann".into())).await?)
}

#[workflow]
async fn parent(cx: Context) -> Flow<u64> {
    Ok(cx.child(nap(7)).await?)
}

#[workflow]
async fn caller(cx: Context) -> Flow<()> {
    Ok(cx.process("p").await?)
}

#[workflow]
async fn counter(cx: Context, from: u32) -> Flow<u32> {
    let now = cx.call(count(from)).await?;
    if now < 3 {
        return cx.continue_as(counter(now + 1));
    }
    cx.sleep(Duration::from_hours(3)).await?;
    Ok(now)
}

#[workflow]
async fn tidy(cx: Context) -> Flow<u64> {
    let mut saga = cx.saga();
    let body = async {
        saga.step(cx.call(count(3)), |_: u32| charge("Bob".into())).await?;
        cx.sleep(Duration::from_hours(10)).await?;
        Ok(1)
    }
    .await;
    saga.finish(body).await
}

#[workflow]
async fn branches(cx: Context) -> Flow<Vec<u64>> {
    let both = [1_u64, 2].map(|hours| {
        async move |cx: Context| {
            cx.sleep(Duration::from_hours(hours)).await?;
            Ok(hours)
        }
    });
    cx.fan_out(both, merge::All).await
}

#[workflow]
async fn patient(cx: Context) -> Flow<()> {
    cx.until(|| false).await?;
    Ok(())
}

#[workflow]
async fn clumsy(_cx: Context) -> Flow<u32> {
    let none: Vec<u32> = Vec::new();
    Ok(none.into_iter().next().expect("there is one"))
}

/// A store that a program with functions has opened, and left.
pub(crate) fn store_with_functions(leave: impl AsyncFnOnce(&Engine)) -> Store {
    let store = Store::empty();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = Engine::open(store.data()).unwrap();
        leave(&engine).await;
        engine.shutdown().unwrap();
    });
    store
}

/// Waits until an activity has failed and is to be tried again later.
async fn until_paused(engine: &Engine) {
    let table = Table::Jobs;
    let jobs = Query { table, filters: Vec::new(), descending: false, after: None, limit: 9 };
    let paused = |it: &Row| matches!(it, Row::Job(it) if it.until.is_some());
    while !engine.query(jobs.clone()).await.unwrap().rows.iter().any(paused) {
        tokio::task::yield_now().await;
    }
}

/// Waits until a run waits for something that is not an activity.
async fn until_suspended(engine: &Engine, id: &str) {
    while engine.query_status(id).await.unwrap() != Some(RunStatus::Suspended) {
        tokio::task::yield_now().await;
    }
}

/// What `show` prints of an instance, without its points in time.
fn shown(store: &Store, instance: &str) -> String {
    super::docs::without_times(&store.text(&["show", instance]))
}

#[workflow]
async fn broke(_cx: Context) -> Flow<u32> {
    Err(Failure::new("no-money", "the purse is empty").into())
}

#[test]
fn a_function_that_has_failed_says_its_code() {
    let store = store_with_functions(async |engine| {
        let run = engine.start(broke()).id("b").await.unwrap();
        let error = run.result().await.unwrap_err().to_string();
        assert_eq!(error, "the function failed: no-money: the purse is empty");
    });
    assert!(shown(&store, "b").contains("  no-money: the purse is empty\n"));
    let history = store.text(&["history", "b", "--events"]);
    assert!(history.contains("failed: no-money: the purse is empty"), "{history}");
}

#[test]
fn whoever_only_looks_does_not_wake_a_function_that_is_due() {
    let store = Store::empty();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // What was to be done hours after then is long due.
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000)));
    let options = Options { clock, ..Options::default() };
    runtime.block_on(async {
        let engine = Engine::open_with(store.data(), options).unwrap();
        engine.start(nap(7)).id("n").await.unwrap();
        engine.shutdown().unwrap();
    });
    for looks in [
        &["show", "n"][..],
        &["instances"],
        &["history", "n"],
        &["jobs"],
        &["tasks"],
        &["timers"],
        &["messages"],
        &["dead-letters"],
        &["subscriptions"],
        &["schedules"],
        &["definitions"],
        &["stats"],
        &["verify"],
    ] {
        store.text(looks);
        assert_eq!(store.text(&["incidents"]), "no incidents\n", "{looks:?}");
    }
    assert!(shown(&store, "n").contains("1-3 sleep waits until "));
    store.text(&["suspend", "n"]);
    store.text(&["resume", "n"]);
    let incidents = store.text(&["incidents"]);
    assert!(incidents.contains("nap"), "{incidents}");
    runtime.block_on(async {
        let engine = Engine::open(store.data()).unwrap();
        let run = engine.run::<u64>("n").await.unwrap().unwrap();
        run.result().await.unwrap();
        engine.shutdown().unwrap();
    });
}

#[test]
fn a_function_says_what_it_was_begun_with_and_what_it_waits_for() {
    let store = store_with_functions(async |engine| {
        engine.start(nap(7)).id("n").await.unwrap();
        engine.start(payment("o-7".into())).id("order-1").await.unwrap();
        engine.start(branches()).id("b").await.unwrap();
        engine.start(patient()).id("u").await.unwrap();
    });
    assert_eq!(
        shown(&store, "n"),
        "nap 1 \"n\", running\n  \
           function, version 1, started 2026-01-05T09:00:00Z\n\
         {\n  \"hours\": 7\n}\n  \
           1-3 sleep waits until 2026-01-05T09:00:00Z\n    travertine timers fire 1-3\n"
    );
    let payment = shown(&store, "order-1");
    assert!(
        payment.ends_with(
            "  2-3 event order.paid waits for message order.paid to order-1 with key = \"o-7\"\n    \
             travertine message order.paid --instance 2 --correlate key=o-7\n  \
             2-4 sleep waits until 2026-01-05T09:00:00Z\n    travertine timers fire 2-4\n"
        ),
        "{payment}"
    );
    let branches = shown(&store, "b");
    assert!(branches.contains("  3-4 fan_out[1]/sleep waits until "), "{branches}");
    assert!(shown(&store, "u").ends_with("{}\n  code waits for an update\n"));

    let waits = list(&store.json(&["show", "order-1"]), "waits");
    let waits: Vec<&Value> = waits.iter().filter(|it| text(it, "kind") != "scope").collect();
    let operations: Vec<String> = waits.iter().map(|it| text(it, "operation")).collect();
    assert_eq!(operations, ["event order.paid", "sleep"]);
    let timers = list(&store.json(&["timers"]), "timers");
    assert_eq!(
        fields(&timers, "element"),
        ["sleep", "sleep", "fan_out[0]/sleep", "fan_out[1]/sleep"]
    );
    // What the way out says is understood.
    let way_out = text(waits[0], "way_out");
    let args: Vec<&str> =
        way_out.split(' ').skip(1).map(|it| it.trim_matches('\'')).chain(["--id", "m"]).collect();
    assert_eq!(text(&store.json(&args), "outcome"), "received");
}

#[test]
fn an_activity_that_is_tried_again_says_when_and_why() {
    let store = store_with_functions(async |engine| {
        engine.start(retrying()).id("r").await.unwrap();
        until_paused(engine).await;
    });
    let waits = "1-3 activity charge waits for a worker of type charge, attempt 2 of 5 from \
                 2026-01-05T09:00:00Z on; it failed last: busy: the bank of Ann is busy\n    \
                 travertine complete 1-3 --var result=VALUE\n";
    let retrying = shown(&store, "r");
    assert!(retrying.ends_with(waits), "{retrying}");
    let jobs = store.text(&["jobs"]);
    assert!(jobs.contains("1-3  activity charge  charge  paused  4"), "{jobs}");
    let history = store.text(&["history", "r", "--events"]);
    let failed = "wait 3 failed, 4 retries left: busy: the bank of Ann is busy";
    assert!(history.contains(failed), "{history}");
    let told = store.text(&["history", "r"]);
    let (_, again) =
        told.split_once("failed, 4 retries left, tried again at ").expect("it says so");
    let (when, why) = again.split_once(": busy: the bank of Ann is busy").expect("it says why");
    assert!(when.starts_with("20") && when.ends_with('Z') && why.starts_with('\n'), "{told}");
    // It is kept when the views are made again, and the log is all there is.
    std::fs::remove_file(format!("{}/views.db", store.data())).unwrap();
    assert!(shown(&store, "r").ends_with(waits));
    assert_eq!(store.json(&["verify"]).field("agrees"), Some(&true.into()));
}

#[test]
fn children_new_beginnings_and_clearing_up_show() {
    let store = store_with_functions(async |engine| {
        let task = process(r#"<userTask id="it"/>"#).into_bytes();
        engine.deploy(&[File { name: "p.bpmn".into(), body: task }]).unwrap();
        engine.start(parent()).id("parent").await.unwrap();
        engine.start(caller()).id("caller").await.unwrap();
        engine.start(counter(0)).id("counter").await.unwrap();
        let tidy = engine.start(tidy()).id("tidy").await.unwrap();
        until_suspended(engine, "counter").await;
        until_suspended(engine, "tidy").await;
        tidy.cancel().await.unwrap();
        until_paused(engine).await;
    });
    let parent = shown(&store, "parent");
    assert!(
        parent.contains("child nap waits for the instance of nap that it called\n"),
        "{parent}"
    );
    assert!(parent.contains("  called nap "), "{parent}");
    let caller = shown(&store, "caller");
    assert!(caller.contains("process p waits for the instance of p that it called\n"), "{caller}");
    let counter = shown(&store, "counter");
    assert!(counter.contains("started 2026-01-05T09:00:00Z, begun anew 3 times\n"), "{counter}");
    let tidy = shown(&store, "tidy");
    assert!(tidy.contains("\n  someone has cancelled it; its code clears up\n"), "{tidy}");
    assert!(tidy.contains("it failed last: busy: the bank of Bob is busy"), "{tidy}");
    let history = store.text(&["history", "tidy", "--events"]);
    assert!(history.contains("  activity count done result=3\n"), "{history}");
    assert!(history.contains("  sleep called off\n"), "{history}");
}

#[test]
fn a_function_that_stands_still_says_what_helps() {
    let store = store_with_functions(async |engine| {
        engine.start(clumsy()).id("c").await.unwrap();
        engine.start(nap(1)).id("n").await.unwrap();
    });
    let clumsy = shown(&store, "c");
    assert!(clumsy.contains("has an incident since"), "{clumsy}");
    assert!(clumsy.contains(": there is one\n    travertine resolve 1 --token 2\n"), "{clumsy}");
    // The command line has no code of functions: what happens meanwhile waits for a program.
    store.text(&["timers", "fire", "2-3"]);
    let nap = shown(&store, "n");
    assert!(
        nap.ends_with(
            "this program has no function nap version 1\n    \
             it goes on when a program that has it opens the store\n"
        ),
        "{nap}"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = Engine::open(store.data()).unwrap();
        let run = engine.run::<u64>("n").await.unwrap().unwrap();
        assert_eq!(run.result().await.unwrap(), 1);
        drop(run);
        engine.shutdown().unwrap();
    });
}

#[test]
fn functions_have_no_picture_and_are_told_from_processes() {
    let store = store_with_functions(async |engine| {
        engine.start(nap(1)).id("n").await.unwrap();
    });
    assert_eq!(
        store.refusal(&["draw", "--instance", "n"]),
        "error: instance 1 is of nap, a function, which has no picture; `travertine show 1` says \
         what it waits for, `travertine history 1` what it did\n"
    );
    let definitions = list(&store.json(&["definitions", "nap"]), "definitions");
    assert_eq!(fields(&definitions, "kind"), ["function"]);
}
