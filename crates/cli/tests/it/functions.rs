//! What people see of durable functions that a program has left in a store.

use std::time::Duration;

use travertine::{Context, Engine, Flow, workflow};

use super::store::Store;

#[workflow]
async fn nap(cx: Context, hours: u64) -> Flow<u64> {
    cx.sleep(Duration::from_hours(hours)).await?;
    Ok(hours)
}

/// A store that a program with functions has opened, and left.
pub(crate) fn store_with_functions(leave: impl AsyncFnOnce(&Engine)) -> Store {
    let store = Store::empty();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = Engine::open(store.data()).unwrap();
        leave(&engine).await;
        engine.shutdown().unwrap();
    });
    store
}

#[test]
fn what_a_function_was_begun_with_is_shown() {
    let store = store_with_functions(async |engine| {
        engine.start(nap(7)).id("n").await.unwrap();
    });
    let shown = store.text(&["show", "n"]);
    assert!(shown.contains("{\n  \"hours\": 7\n}"), "{shown}");
}
