//! Subscriptions that are billed month after month, for years if need be. `billing DIR`.
//!
//! Each month begins anew with an empty journal, so that the history of a subscription does not grow. Ann
//! stays for three months, Bob leaves at once, and the book is closed when both have said goodbye.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::{error::Error, time::Duration};

use durable_functions::{Ledger, ended, open};
use serde::{Deserialize, Serialize};
use travertine::{ActivityContext, Context, Event, Failure, Flow, activity, select, workflow};

/// The customer leaves.
#[derive(Event, Serialize, Deserialize)]
#[event(name = "subscription.cancel")]
struct Cancel;

/// A subscription is over.
#[derive(Event, Serialize, Deserialize)]
#[event(name = "subscription.over")]
struct Over {
    customer: String,
    cents: u64,
}

#[derive(Clone, Serialize, Deserialize)]
struct Plan {
    cents: u64,
    months: u32,
    month_ms: u64,
}

#[activity]
async fn bill(cx: ActivityContext, month: u32, cents: u64) -> Result<(), Failure> {
    let what = format!("bill {} {cents} cents for month {month}", cx.instance());
    cx.get::<Ledger>()?.write(&cx, &what)
}

#[workflow]
async fn subscription(cx: Context, plan: Plan, month: u32, paid: u64) -> Flow<u64> {
    let month_is_over = cx.sleep(Duration::from_millis(plan.month_ms));
    let stays = select! { cx;
        left = cx.event::<Cancel>() => { left?; false },
        slept = month_is_over => { slept?; true },
    };
    let mut paid = paid;
    if stays {
        cx.call(bill(month, plan.cents)).await?;
        paid += plan.cents;
        if month < plan.months {
            return cx.continue_as(subscription(plan, month + 1, paid));
        }
    }
    cx.send(Over { customer: cx.id().to_owned(), cents: paid }).to("book").await?;
    Ok(paid)
}

/// Waits until so many subscriptions are over.
#[workflow]
async fn book(cx: Context, subscriptions: u32) -> Flow<String> {
    let mut all = Vec::new();
    for _ in 0..subscriptions {
        let over = cx.event::<Over>().await?;
        all.push(format!("{} paid {}", over.customer, over.cents));
    }
    all.sort();
    Ok(all.join(", "))
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = open()?;
    let book = engine.start(book(2)).id("book").await?;
    let monthly = Plan { cents: 900, months: 3, month_ms: 20 };
    let yearly = Plan { cents: 9_900, months: 3, month_ms: 365 * 86_400_000 };
    let ann = engine.start(subscription(monthly, 1, 0)).id("ann").await?;
    let bob = engine.start(subscription(yearly, 1, 0)).id("bob").await?;
    println!("Ann and Bob have subscribed");
    // With an id of its own it is sent once, however often this program begins.
    engine.send_event(Cancel).to("bob").message_id("bob leaves").await?;
    println!("Bob leaves");
    for run in [ann, bob] {
        ended(run.id(), &run.result().await?);
    }
    ended(book.id(), &book.result().await?);
    engine.shutdown()?;
    Ok(())
}
