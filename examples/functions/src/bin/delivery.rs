//! Functions and processes that call each other. `delivery DIR`.
//!
//! The function `sale` starts the process of `delivery.bpmn` and waits for it; that process calls the
//! function `quote`, and has an activity of this program pack the goods.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::error::Error;

use durable_functions::{Ledger, ended, open};
use serde::{Deserialize, Serialize};
use travertine::{ActivityContext, Context, Failure, File, Flow, activity, workflow};

/// What the process leaves behind.
#[derive(Deserialize)]
struct Delivered {
    price: u64,
    parcel: String,
}

/// What packing gives to the process, as variables.
#[derive(Serialize)]
struct Packed {
    parcel: String,
}

#[activity]
async fn look_up(cx: ActivityContext, town: String) -> Result<u64, Failure> {
    cx.get::<Ledger>()?.write(&cx, &format!("look up how far {town} is"))?;
    Ok(300)
}

/// A service task of the process asks for this.
#[activity]
async fn pack(cx: ActivityContext, town: String) -> Result<Packed, Failure> {
    cx.get::<Ledger>()?.write(&cx, &format!("pack for {town}"))?;
    Ok(Packed { parcel: format!("parcel to {town}") })
}

/// A call activity of the process calls this.
#[workflow]
async fn quote(cx: Context, town: String) -> Flow<u64> {
    Ok(cx.call(look_up(town)).await? * 2)
}

#[workflow]
async fn sale(cx: Context, town: String) -> Flow<String> {
    let delivered: Delivered = cx.process("delivery").variable("town", &town).await?;
    Ok(format!("{} for {} cents", delivered.parcel, delivered.price))
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = open()?;
    let body = include_bytes!("../../delivery.bpmn").to_vec();
    engine.deploy(&[File { name: "delivery.bpmn".into(), body }])?;
    let run = engine.start(sale("Rome".into())).id("sale-1").await?;
    println!("sale-1 is taken");
    ended(run.id(), &run.result().await?);
    engine.shutdown()?;
    Ok(())
}
