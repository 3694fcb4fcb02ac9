//! Code that walks over something in another order after a restart.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
};

use travertine::{Context, Failure, Flow, RunStatus, activity, testing::Setup, workflow};

#[activity]
async fn write_label(key: String) -> Result<String, Failure> {
    Ok(format!("label of {key}"))
}

static TURNED: AtomicBool = AtomicBool::new(false);

/// As a hash map does it, in another order after a restart; only that it always does.
fn keys() -> Vec<String> {
    let mut keys: Vec<String> = (0..4).map(|it| format!("k{it}")).collect();
    if TURNED.load(Ordering::SeqCst) {
        keys.reverse();
    }
    keys
}

#[workflow]
async fn labels(cx: Context) -> Flow<Vec<String>> {
    let mut labels = Vec::new();
    for key in keys() {
        labels.push(format!("{key}={}", cx.call(write_label(key.clone())).await?));
        cx.sleep(std::time::Duration::from_hours(1)).await?;
    }
    Ok(labels)
}

#[tokio::test]
async fn a_loop_that_turns_after_a_restart_is_stopped_and_goes_on_when_it_turns_back() {
    let env = Setup::new().open();
    let run = env.start("l", labels()).await.unwrap();
    env.advance(std::time::Duration::from_mins(90)).await.unwrap();
    TURNED.store(true, Ordering::SeqCst);
    env.crash();
    env.advance(std::time::Duration::from_hours(1)).await.unwrap();
    assert_eq!(run.status().await.unwrap(), RunStatus::Blocked);
    let error = run.result().await.unwrap_err().to_string();
    let expected =
        "the code asks for `activity write_label` with other arguments than the journal has";
    assert!(error.contains(expected), "{error}");
    TURNED.store(false, Ordering::SeqCst);
    env.crash();
    let labels = run.result().await.unwrap();
    assert_eq!(labels.len(), 4);
    assert!(
        labels.iter().all(|it| {
            let (key, label) = it.split_once('=').unwrap();
            label.ends_with(key)
        }),
        "{labels:?}"
    );
}

#[workflow]
async fn tagged(cx: Context) -> Flow<String> {
    // The order of its fields differs, and nothing else.
    let tags: HashMap<String, u32> = (0..20).map(|it| (format!("t{it}"), it)).collect();
    cx.call(tag(tags)).await?;
    cx.sleep(std::time::Duration::from_hours(1)).await?;
    Ok("tagged".into())
}

#[activity]
async fn tag(tags: HashMap<String, u32>) -> Result<usize, Failure> {
    Ok(tags.len())
}

#[tokio::test]
async fn an_argument_may_be_a_hash_map() {
    let env = Setup::new().open();
    let run = env.start("t", tagged()).await.unwrap();
    env.settle().await.unwrap();
    env.crash();
    assert_eq!(run.result().await.unwrap(), "tagged");
}
