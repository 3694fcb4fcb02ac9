//! Of a store behind a network, what a batch needs is read all at once.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use travertine_runtime::{Address, Engine, InstanceId, engine::Options};
use travertine_store::{
    Entry, Error as StoreError, Layer, Loaded, MemoryStore, Seq, ShardId, Store, view::InstanceRow,
};

use crate::world::file;

/// A store of which each read counts, as if it were far away.
#[derive(Debug)]
struct Far {
    store: MemoryStore,
    single: AtomicUsize,
    lots: AtomicUsize,
}

impl Far {
    fn count(&self, reads: &AtomicUsize) -> &MemoryStore {
        reads.fetch_add(1, Ordering::Relaxed);
        &self.store
    }

    fn take(&self) -> (usize, usize) {
        (self.single.swap(0, Ordering::Relaxed), self.lots.swap(0, Ordering::Relaxed))
    }
}

impl Layer for Far {
    fn behind(&self) -> &dyn Store {
        &self.store
    }

    fn is_near(&self) -> bool {
        false
    }

    fn instance(&self, id: InstanceId) -> Result<Option<InstanceRow>, StoreError> {
        self.count(&self.single).instance(id)
    }

    fn snapshot(&self, instance: InstanceId) -> Result<Option<(Seq, Vec<u8>)>, StoreError> {
        self.count(&self.single).snapshot(instance)
    }

    fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, StoreError> {
        self.count(&self.single).chain(shard, last, after)
    }

    fn named(&self, shard: ShardId, business_id: &str) -> Result<Vec<InstanceId>, StoreError> {
        self.count(&self.single).named(shard, business_id)
    }

    fn called(&self, call: Address) -> Result<Option<InstanceId>, StoreError> {
        self.count(&self.single).called(call)
    }

    fn load(&self, shard: ShardId, instances: &[InstanceId]) -> Vec<Loaded> {
        self.count(&self.lots).load(shard, instances)
    }

    fn named_many(
        &self,
        shard: ShardId,
        names: &[&str],
    ) -> Result<Vec<Vec<InstanceId>>, StoreError> {
        self.count(&self.lots).named_many(shard, names)
    }
}

#[test]
fn what_requests_need_of_a_store_far_away_is_read_in_lots() {
    let far = Arc::new(Far {
        store: MemoryStore::new(1),
        single: AtomicUsize::new(0),
        lots: AtomicUsize::new(0),
    });
    let store = Arc::<Far>::clone(&far) as Arc<dyn Store>;
    let engine = Engine::on(&store, Options::default()).unwrap();
    let task = r#"<startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="t"/><userTask id="t"/>"#;
    let process = format!(r#"<process id="p" isExecutable="true">{task}</process>"#);
    engine.deploy(&[file("p", &process)]).unwrap();
    let start = |engine: &Engine, name: &str| engine.start("p").id(name).wait();
    let ids: Vec<InstanceId> =
        (0..20).map(|it| start(&engine, &format!("n{it}")).unwrap()).collect();
    engine.shutdown().unwrap();

    let engine = Engine::on(&store, Options::default()).unwrap();
    far.take();
    let cancelled: Vec<_> = ids.iter().skip(1).map(|id| engine.cancel(*id)).collect();
    assert!(cancelled.into_iter().all(|it| it.wait().is_ok()));
    assert!(engine.cancel(InstanceId(1_000)).wait().is_err(), "there is no such instance");
    // Who is called so is asked for first, then what these are.
    assert_eq!(start(&engine, "n0").unwrap(), ids[0], "there is one of that name");
    let (single, lots) = far.take();
    assert_eq!(single, 0, "something was read by itself");
    assert!((2..=23).contains(&lots), "{lots}");
    engine.shutdown().unwrap();
}
