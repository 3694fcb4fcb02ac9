//! The promises of all stores.

use std::cell::RefCell;

use travertine_store::{MemoryStore, SqliteStore, sqlite::Options};
use travertine_testkit::store_suite::{SHARDS, store_suite};

#[test]
fn the_store_in_memory_keeps_every_promise() {
    store_suite(|| MemoryStore::new(SHARDS));
}

#[test]
fn the_embedded_store_keeps_every_promise() {
    let dirs = RefCell::new(Vec::new());
    store_suite(|| {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), &Options::default()).unwrap();
        dirs.borrow_mut().push(dir);
        store
    });
}
