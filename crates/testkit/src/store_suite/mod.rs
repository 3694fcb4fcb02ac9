//! What every store promises, as tests that any store can be put through.

#![expect(clippy::unwrap_used, reason = "these are tests, for stores of all crates")]

mod claims;
mod deployments;
pub mod load;
mod log;
pub mod rows;
mod views;

use std::panic::{AssertUnwindSafe, catch_unwind};

use travertine_store::{Batch, Claim, Entry, InstanceId, Seq, ShardId, Store};

use rows::time;

/// A promise in words, and what holds a store of four shards, with nothing in it, to it.
pub type Promise = (&'static str, fn(&dyn Store));

/// How many shards the stores have that are put through the suite.
pub const SHARDS: u16 = 4;

/// All promises.
pub fn promises() -> Vec<Promise> {
    [log::PROMISES, claims::PROMISES, views::PROMISES, deployments::PROMISES].concat()
}

/// Holds stores to every promise. `make` gives a store of [`SHARDS`] shards with nothing in it each time.
/// Panics with the names of the promises that are not kept.
pub fn store_suite<S: Store>(make: impl Fn() -> S) {
    let mut broken = Vec::new();
    for (name, promise) in promises() {
        let store = make();
        assert_eq!(store.shards(), SHARDS, "the suite needs stores of {SHARDS} shards");
        if catch_unwind(AssertUnwindSafe(|| promise(&store))).is_err() {
            broken.push(name);
        }
    }
    assert!(broken.is_empty(), "broken promises: {broken:#?}");
}

/// An entry whose body tells its place.
pub fn entry(seq: Seq, instance: u64, previous: Seq) -> Entry {
    let body = format!("entry {seq} of {instance}").into_bytes();
    Entry {
        seq,
        instance: InstanceId(instance),
        previous,
        at: time(1_000 + i64::try_from(seq).unwrap_or(0)),
        body,
    }
}

/// A batch of entries without mails.
pub fn batch(entries: Vec<Entry>) -> Batch {
    Batch { entries, ..Batch::default() }
}

fn claim(store: &dyn Store, shard: u16) -> Claim {
    store.take(ShardId(shard), "suite").expect("a shard can be claimed")
}
