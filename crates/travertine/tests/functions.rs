//! What a program that has nothing but this crate writes.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};
use travertine::{
    ActivityContext, Context, Event, Failure, Flow, Functions, Workflow, activity, workflow,
};

#[derive(Clone, Serialize, Deserialize)]
struct Order {
    cents: u64,
}

/// The customer does not want it any more.
#[derive(Serialize, Deserialize, Event)]
struct CancelOrder {
    reason: String,
}

/// Takes money.
#[activity(retry = exponential("100ms", 2.0, max = 5))]
async fn charge(cx: ActivityContext, cents: u64) -> Result<String, Failure> {
    Ok(format!("{}: {cents}", cx.idempotency_key()))
}

/// Takes an order.
#[workflow]
async fn order(_cx: Context, order: Order) -> Flow<u64> {
    Ok(order.cents)
}

#[test]
fn functions_are_found_by_their_names() {
    let order: Workflow<u64> = order(Order { cents: 5 });
    let functions = Functions::linked();
    assert_eq!(functions.check(), Ok(()));
    assert!(functions.find_activity("charge").is_some());
    assert_eq!(
        (order.name(), charge(5).name(), CancelOrder::NAME),
        ("order", "charge", "cancel-order")
    );
}
