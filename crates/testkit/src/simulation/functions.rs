//! Functions that run in a simulation: activities, sleeps, events, children, beginning anew.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use travertine_func::{
    Activity, ActivityOptions, Arguments, Context, Event, Failure, Flow, Functions, Workflow,
    WorkflowDefinition, select,
};

/// Functions that a client starts.
pub(super) const STARTED: [&str; 4] = ["f-order", "f-parent", "f-loop", "f-mixed"];

/// What clients send by this name: the mark by which the message is known.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Note(BTreeMap<String, i64>);

impl Event for Note {
    const NAME: &'static str = "note";
}

/// What clients and functions send by this name.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Ping(BTreeMap<String, i64>);

impl Event for Ping {
    const NAME: &'static str = "ping";
}

fn work(kind: &'static str) -> Activity<()> {
    Activity::new(kind, ActivityOptions::DEFAULT)
}

fn minutes(count: u64) -> Duration {
    Duration::from_mins(count)
}

/// It goes on, whatever came of something.
fn whatever<T>(_: Result<T, Failure>) {}

/// Something is done, then an event or a time comes first; clears up where it is told to end.
async fn order(cx: Context, _: Arguments) -> Flow<()> {
    let paid = cx.call(work("pay")).await;
    let told = select! { cx;
        note = cx.event::<Note>() => note.map(drop),
        slept = cx.sleep(minutes(20)) => slept,
    };
    if paid.is_err() || told.is_err() {
        whatever(cx.shield(async { cx.call(work("undo")).await }).await);
    }
    cx.send(Ping(BTreeMap::new())).await?;
    cx.event::<Ping>().await?;
    Ok(told?)
}

/// Is called, and does not wait for ever.
async fn child(cx: Context, _: Arguments) -> Flow<()> {
    cx.call(work("work")).await?;
    whatever(cx.timeout(minutes(15), cx.event::<Note>()).await);
    Ok(())
}

/// Calls others, functions and processes, and starts one that goes its own way.
async fn parent(cx: Context, _: Arguments) -> Flow<()> {
    let call = || Workflow::<()>::new("f-child", 1);
    cx.start(call()).await?;
    let (a, b) = cx.join(cx.child(call()), cx.child(call())).await;
    // What they fail with is theirs.
    if a.is_ok() && b.is_ok() {
        whatever(cx.timeout(minutes(30), cx.process::<BTreeMap<String, i64>>("child")).await);
    }
    Ok(())
}

/// Begins anew whenever it has heard something.
async fn again(cx: Context, mut arguments: Arguments) -> Flow<()> {
    let order: i64 = arguments.take("order")?;
    if order > 3 {
        return Ok(());
    }
    let _: Option<usize> = select! { cx;
        note = cx.event::<Note>() => Some(note?.0.len()),
        slept = cx.sleep(minutes(25)) => { slept?; None },
    };
    cx.continue_as(Workflow::<()>::new("f-loop", 1).argument("order", &(order + 1)))
}

/// Waits for the first of many things, and calls off the others.
async fn mixed(cx: Context, _: Arguments) -> Flow<()> {
    select! { cx;
        note = cx.event::<Ping>() => { note?; },
        slept = cx.sleep(minutes(10)) => slept?,
        done = cx.call(work("look")) => whatever(done),
        child = cx.child(Workflow::<()>::new("f-child", 1)) => whatever(child),
    }
    whatever(cx.job::<BTreeMap<String, i64>>("mail").await);
    Ok(())
}

macro_rules! definition {
    ($name:literal, $function:ident) => {
        WorkflowDefinition {
            name: $name,
            version: 1,
            parameters: &[],
            run: |cx, arguments| {
                Box::pin(async move {
                    $function(cx, arguments).await?;
                    Ok(travertine_value::Value::Null)
                })
            },
        }
    };
}

/// All of them.
pub(super) fn functions() -> Functions {
    [
        definition!("f-order", order),
        definition!("f-child", child),
        definition!("f-parent", parent),
        definition!("f-loop", again),
        definition!("f-mixed", mixed),
    ]
    .into_iter()
    .fold(Functions::new(), Functions::workflow)
}
