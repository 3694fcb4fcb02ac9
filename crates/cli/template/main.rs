//! An order that goes on where it was, whatever happens to this program.

mod activities;

use std::{error::Error, time::Duration};

use serde::{Deserialize, Serialize};
use travertine::{Context, Engine, Flow, workflow};

use activities::{charge, ship};

#[derive(Serialize, Deserialize)]
struct Order {
    item: String,
    cents: u64,
}

/// The workflow. After a restart it runs again from its beginning, and what it has done already is not done
/// again but answered from its journal. So it asks its context for everything that could differ.
#[workflow]
async fn order(cx: Context, order: Order) -> Flow<String> {
    let receipt = cx.call(charge(order.cents)).await?;
    cx.sleep(Duration::from_secs(10)).await?;
    let parcel = cx.call(ship(order.item)).await?;
    Ok(format!("{parcel}, {receipt}"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Everything durable is in this directory. Workflows and activities find themselves.
    let engine = Engine::open("data")?;
    let teapot = Order { item: "teapot".into(), cents: 1_200 };
    // Whoever starts an order again gets the one that is there.
    let run = engine.start(order(teapot)).id("order-1").await?;
    println!("order-1 is under way; kill this program and run it again");
    println!("order-1: {}", run.result().await?);
    engine.shutdown()?;
    Ok(())
}
