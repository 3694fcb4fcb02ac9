//! Orders, in a program with its own workers: `embedded-order DIR [ORDERS]`.
//!
//! Kill it at any moment (`kill -9`) and run it again on the same directory: it goes on where it was.
//! An order that was taken is never lost and never taken twice; a job whose outcome was not
//! acknowledged is done again, so a worker gives others the order's id to recognise it by.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::{env, error::Error};

use travertine::{Engine, File, Job, Outcome, vars};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let dir = args.next().ok_or("usage: embedded-order DIR [ORDERS]")?;
    let orders: u32 = args.next().map_or(Ok(20), |it| it.parse())?;

    let engine = Engine::open(dir)?;
    let jobs: u64 = engine.opened().shards.iter().map(|it| it.jobs).sum();
    println!("open: {jobs} jobs wait");
    // The same file again is the same version.
    let body = include_bytes!("../order.bpmn").to_vec();
    engine.deploy(&[File { name: "order.bpmn".into(), body }])?;

    let workers = [
        engine.worker("reserve", |job| async move { done(&job, "reserved") }).start(),
        engine.worker("charge", |job| async move { charge(&job) }).start(),
        engine.worker("ship", |job| async move { done(&job, "shipped") }).start(),
        engine.worker("release", |job| async move { done(&job, "released") }).start(),
    ];

    let mut started = Vec::new();
    for number in 1..=orders {
        // Whoever asks for an order again gets the one that is there.
        let id = format!("order-{number}");
        let amount = i64::from(number) * 10;
        let order = engine.start("order").id(&id).variable("amount", amount).await?;
        println!("{id} is instance {order}");
        started.push((id, order));
    }
    for (id, order) in started {
        let ended = engine.result(order).await?;
        let shipped = ended.variables.iter().any(|(name, _)| &**name == "shipped");
        println!("{id} is {}", if shipped { "shipped" } else { "cancelled" });
    }

    for worker in workers {
        worker.stop().await;
    }
    engine.shutdown()?;
    Ok(())
}

/// Work that always succeeds.
fn done(job: &Job, what: &str) -> Outcome {
    println!("{what} {}", job.business_id.as_deref().unwrap_or("an order"));
    vars([(what, true.into())]).into()
}

/// Cards have a limit.
fn charge(job: &Job) -> Outcome {
    let amount = job.variables.iter().find(|(name, _)| &**name == "amount");
    if amount.and_then(|(_, it)| it.as_i64()).is_some_and(|it| it % 70 == 0) {
        let (code, message) = ("card-refused".into(), "the card was refused".into());
        return Outcome::Error { code, message, variables: vars([]) };
    }
    done(job, "charged")
}
