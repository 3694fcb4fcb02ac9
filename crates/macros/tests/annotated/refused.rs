//! What the compiler refuses because of the types that stand in place of functions. Each line says how.
#![allow(unused)]

use travertine::{Context, Failure, Flow};
use travertine_macros::{Event, activity, workflow};

#[workflow]
async fn order(_cx: Context, cents: u64) -> Flow<u64> {
    Ok(cents)
}

#[activity]
async fn charge(cents: u64) -> Result<u64, Failure> {
    Ok(cents)
}

/// Calls are checked where they are described.
fn wrong_arguments() {
    let _ = order("five"); //~ mismatched types
    let _ = order(5, 6); //~ this function takes 1 argument but 2 arguments were supplied
    let _ = charge("five"); //~ mismatched types
    let _: travertine::Activity<String> = charge(5); //~ mismatched types
}

#[workflow]
async fn wrong_result(_cx: Context) -> Flow<u64> {
    Ok("five") //~ mismatched types
}

struct Card;

#[workflow]
async fn unstored_argument(_cx: Context, card: Card) -> Flow<()> {
    //~^ `Card: serde::Serialize` is not //~^ `Card: serde::de::DeserializeOwned` is not
    Ok(())
}

#[activity]
async fn unstored_result() -> Result<Card, Failure> {
    //~^ `Card: serde::Serialize` is not
    Ok(Card)
}

#[derive(Event)]
struct Paid; //~ `Paid: serde::Serialize` is not //~ `Paid: serde::Deserialize<'de>` is not

/// A context cannot be taken along by an argument.
struct Held {
    cx: Context,
}

#[activity]
async fn context_in_an_argument(held: Held) -> Result<(), Failure> {
    //~^ `Held: serde::Serialize` is not //~^ `Held: serde::de::DeserializeOwned` is not
    Ok(())
}

#[workflow]
async fn context_in_a_thread(cx: Context) -> Flow<()> {
    std::thread::spawn(move || drop(cx)); //~ cannot be sent between threads safely
    Ok(())
}

#[workflow]
async fn context_in_a_task(cx: Context) -> Flow<()> {
    tokio::spawn(async move { drop(cx) }); //~ future cannot be sent between threads safely
    Ok(())
}

/// What is recorded is made once, and a replay would miss what was asked for inside.
#[workflow]
async fn durable_call_in_a_record(cx: Context) -> Flow<u64> {
    let inner = cx.clone();
    Ok(cx.record("n", move || inner.run().into())) //~ cannot be sent between threads safely
}

/// An activity has no context of its workflow to call with.
#[activity]
async fn durable_call_in_an_activity(cx: travertine::ActivityContext) -> Result<u64, Failure> {
    cx.call(charge(5)).await //~ no method named `call` found for struct `ActivityContext`
}

#[workflow]
async fn activity_without_a_context(_cx: Context) -> Flow<u64> {
    Ok(charge(5).await?) //~ an activity is not awaited itself: write `cx.call(…).await`
}

#[workflow]
async fn workflow_without_a_context(_cx: Context) -> Flow<u64> {
    Ok(order(5).await?) //~ a workflow is not awaited itself: write `cx.child(…).await`
}

/// Any worker may run an activity.
#[activity]
async fn not_send(cents: u64) -> Result<u64, Failure> {
    //~^ future cannot be sent between threads safely
    let shared = std::rc::Rc::new(cents);
    std::future::ready(()).await;
    Ok(*shared)
}

fn main() {}
