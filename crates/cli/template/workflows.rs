//! Workflows. After a restart they run again from their beginning, and what they have done already is not done
//! again but answered from their journal. So they ask their context for everything that could differ.
#![warn(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use travertine::{Context, Flow, workflow};

use crate::activities::{charge, ship};

#[derive(Serialize, Deserialize)]
pub struct Order {
    pub item: String,
    pub cents: u64,
}

#[workflow]
pub async fn order(cx: Context, order: Order) -> Flow<String> {
    let receipt = cx.call(charge(order.cents)).await?;
    cx.sleep(Duration::from_secs(10)).await?;
    let parcel = cx.call(ship(order.item)).await?;
    Ok(format!("{parcel}, {receipt}"))
}
