//! What is in a store, and whether it agrees with itself, as data.

use std::collections::BTreeMap;

use travertine_runtime::{
    Verified,
    engine::{Metrics, Opened},
};
use travertine_store::view::InstanceState;
use travertine_value::{Name, Value};

use crate::{json, words};

/// The states that are counted, in this order.
pub const STATES: [InstanceState; 6] = [
    InstanceState::Running,
    InstanceState::Suspended,
    InstanceState::Halted,
    InstanceState::Completed,
    InstanceState::Failed,
    InstanceState::Cancelled,
];

/// How many instances of a version are in each state.
pub type Counts = BTreeMap<(Name, u32), [u64; 6]>;

/// The place of a state among those that are counted.
pub fn place(state: InstanceState) -> Option<usize> {
    STATES.iter().position(|it| *it == state)
}

/// What cannot be read of a store.
pub fn damaged(opened: &Opened) -> impl Iterator<Item = &String> {
    opened.unreadable.iter().chain(opened.shards.iter().flat_map(|it| &it.damaged))
}

/// What is in a store.
pub fn stats(
    counts: &Counts,
    waiting: &[(&str, u64)],
    starts: &[(Name, u64)],
    store: Value,
    metrics: &Metrics,
) -> Value {
    let total = |place: usize| counts.values().map(|it| it[place]).sum::<u64>();
    let states = STATES.iter().enumerate();
    let instances: Value =
        states.map(|(n, it)| (Name::from(words::of_state(*it)), total(n).into())).collect();
    let definitions = counts.iter().map(|((id, version), all)| {
        let states = STATES.iter().zip(all);
        let states = states.map(|(it, count)| (Name::from(words::of_state(*it)), (*count).into()));
        json::object([
            ("definition", Name::clone(id).into()),
            ("version", (*version).into()),
            ("instances", states.collect()),
        ])
    });
    let waiting = waiting.iter().map(|(it, count)| (Name::from(*it), (*count).into()));
    let starts = starts.iter().map(|(it, count)| (Name::clone(it), (*count).into()));
    json::object([
        ("instances", instances),
        ("definitions", definitions.collect()),
        ("waiting", waiting.collect()),
        ("starts", starts.collect()),
        ("store", store),
        ("metrics", metrics_data(metrics)),
    ])
}

fn metrics_data(it: &Metrics) -> Value {
    json::object([
        ("requests", it.requests.into()),
        ("refused", it.refused.into()),
        ("events", it.events.into()),
        ("batches", it.batches.into()),
        ("entries", it.entries.into()),
        ("bytes", it.bytes.into()),
        ("batch_max", it.batch_max.into()),
        ("append_nanos", it.append_nanos.into()),
        ("append_nanos_max", it.append_nanos_max.into()),
        ("checkpoints", it.checkpoints.into()),
        ("rows", it.rows.into()),
        ("checkpoint_nanos", it.checkpoint_nanos.into()),
        ("view_lag", it.view_lag.into()),
        ("stalls", it.stalls.into()),
        ("shards_lost", it.shards_lost.into()),
        ("shards_claimed_again", it.shards_claimed_again.into()),
        ("shards_away", it.shards_away.into()),
        ("waiting", it.waiting.into()),
        ("in_memory", it.in_memory.into()),
        ("jobs", it.jobs.into()),
    ])
}

/// What came of comparing the log with the views.
pub fn verified(it: &Verified) -> Value {
    let differences = it.differences.iter().map(|it| {
        json::object([
            ("instance", json::key(it.instance.0)),
            ("difference", it.what.as_str().into()),
        ])
    });
    json::object([
        ("agrees", it.differences.is_empty().into()),
        ("entries", it.entries.into()),
        ("instances", it.instances.into()),
        ("rows", it.rows.into()),
        ("differences", differences.collect()),
    ])
}
