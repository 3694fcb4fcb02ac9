//! Many rows, some at a time, and then several things at once. `import DIR`.
//!
//! Slices that were imported before a kill are not imported again.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::error::Error;

use durable_functions::{Ledger, ended, open};
use travertine::{ActivityContext, Context, Failure, Flow, activity, merge, workflow};

#[activity]
async fn import_rows(cx: ActivityContext, rows: Vec<u32>) -> Result<u32, Failure> {
    cx.get::<Ledger>()?.write(&cx, &format!("import {rows:?}"))?;
    Ok(rows.iter().sum())
}

#[activity]
async fn publish(cx: ActivityContext, place: String, total: u32) -> Result<String, Failure> {
    cx.get::<Ledger>()?.write(&cx, &format!("publish {total} on the {place}"))?;
    Ok(place)
}

#[workflow]
async fn import(cx: Context, rows: u32) -> Flow<String> {
    let sums =
        cx.batch(1..=rows, 4, 2, async |cx, slice| Ok(cx.call(import_rows(slice)).await?)).await?;
    let total = sums.into_iter().sum();
    let places = ["wall", "web"]
        .map(|place| async move |cx: Context| Ok(cx.call(publish(place.into(), total)).await?));
    let places = cx.fan_out(places, merge::All).await?;
    Ok(format!("{total}, on {}", places.join(" and ")))
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = open()?;
    let run = engine.start(import(14)).id("import").await?;
    println!("14 rows are imported");
    ended(run.id(), &run.result().await?);
    engine.shutdown()?;
    Ok(())
}
