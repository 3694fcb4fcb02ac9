//! What workflows do to the world. Activities may use clocks, files and networks, which workflows may not.

use travertine::{ActivityContext, Failure, activity};

/// Tried again, with growing pauses, while it fails. `?` takes any error, and `Failure::terminal` one that trying
/// again cannot help.
#[activity(retry = exponential("200ms", 2.0, max = 10), timeout = "30s")]
pub async fn charge(cx: ActivityContext, cents: u64) -> Result<String, Failure> {
    if cx.attempt() < 3 {
        println!("  the bank is busy (attempt {})", cx.attempt());
        return Err(Failure::new("busy", "the bank is busy"));
    }
    // An attempt that was not acknowledged before a crash is made again, with the same key: a bank that knows
    // the key charges once.
    println!("  charged {cents} cents, key {}", cx.idempotency_key());
    Ok(format!("{cents} cents paid"))
}

#[activity]
pub async fn ship(item: String) -> Result<String, Failure> {
    println!("  shipped a {item}");
    Ok(format!("a {item} is on its way"))
}
