//! An order that goes on where it was, whatever happens to this program.

// These lints are for workflows, which must do the same whenever they run again; `workflows` turns them on.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

mod activities;
mod workflows;

use anyhow::Result;
use tracing_subscriber::filter::LevelFilter;
use travertine::Engine;

use workflows::{Order, order};

#[tokio::main]
async fn main() -> Result<()> {
    // What the engine has to say: above all, of a workflow that cannot go on.
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(LevelFilter::WARN).init();
    println!("kill this program at any moment and run it again: the order goes on where it was");
    // Everything durable is in this directory. Workflows and activities find themselves.
    let engine = Engine::open("data")?;
    let teapot = Order { item: "teapot".into(), cents: 1_200 };
    // Whoever starts an order again gets the one that is there.
    let run = engine.start(order(teapot)).id("order-1").await?;
    // Where the workflow fails, or its code must be corrected, that is the error, and the program ends with it.
    println!("order-1: {}", run.result().await?);
    engine.shutdown()?;
    Ok(())
}
