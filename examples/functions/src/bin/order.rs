//! Orders with a saga: what was done is undone when the rest fails. `order DIR`.
//!
//! The bank is busy at first and is tried again; the second order cannot be shipped, so it is refunded and
//! its goods go back.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::{error::Error, time::Duration};

use durable_functions::{Ledger, ended, open};
use serde::{Deserialize, Serialize};
use travertine::{ActivityContext, Context, Failure, Flow, RunError, activity, workflow};

#[derive(Clone, Serialize, Deserialize)]
struct Order {
    item: String,
    cents: u64,
    address: String,
}

#[activity]
async fn reserve(cx: ActivityContext, item: String) -> Result<String, Failure> {
    cx.get::<Ledger>()?.write(&cx, &format!("reserve a {item} for {}", cx.instance()))?;
    Ok(item)
}

#[activity]
async fn release(cx: ActivityContext, item: String) -> Result<(), Failure> {
    cx.get::<Ledger>()?.write(&cx, &format!("release the {item} of {}", cx.instance()))
}

#[activity(retry = exponential("10ms", 2.0, max = 5))]
async fn charge(cx: ActivityContext, cents: u64) -> Result<u64, Failure> {
    let ledger = cx.get::<Ledger>()?;
    if cx.attempt() < 3 {
        ledger.write(&cx, &format!("find the bank busy for {}", cx.instance()))?;
        return Err(Failure::new("busy", "the bank is busy"));
    }
    ledger.write(&cx, &format!("charge {} {cents} cents", cx.instance()))?;
    Ok(cents)
}

#[activity]
async fn refund(cx: ActivityContext, cents: u64) -> Result<(), Failure> {
    cx.get::<Ledger>()?.write(&cx, &format!("refund {} {cents} cents", cx.instance()))
}

#[activity]
async fn ship(cx: ActivityContext, item: String, address: String) -> Result<String, Failure> {
    if address.is_empty() {
        return Err(Failure::terminal("no-address", "nobody knows where to"));
    }
    cx.get::<Ledger>()?.write(&cx, &format!("ship the {item} of {}", cx.instance()))?;
    Ok(format!("a {item} is on its way to {address}"))
}

#[workflow]
async fn order(cx: Context, order: Order) -> Flow<String> {
    let mut saga = cx.saga();
    let body = async {
        saga.step(cx.call(reserve(order.item.clone())), release).await?;
        saga.step(cx.call(charge(order.cents)), refund).await?;
        cx.sleep(Duration::from_millis(50)).await?; // Packing takes its time.
        Ok(cx.call(ship(order.item, order.address)).await?)
    }
    .await;
    saga.finish(body).await
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = open()?;
    let mut runs = Vec::new();
    for (id, item, address) in [("order-1", "teapot", "Rome"), ("order-2", "lamp", "")] {
        let it = Order { item: item.into(), cents: 1_200, address: address.into() };
        // Whoever starts an order again gets the one that is there.
        runs.push(engine.start(order(it)).id(id).await?);
        println!("{id} is taken");
    }
    for run in runs {
        match run.result().await {
            Ok(shipped) => ended(run.id(), &shipped),
            Err(RunError::Failed(failure)) => ended(run.id(), &failure),
            Err(error) => return Err(error.into()),
        }
    }
    engine.shutdown()?;
    Ok(())
}
