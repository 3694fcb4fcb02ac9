//! Of a store behind a network, what a batch needs is read all at once.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use travertine_func::Retry;
use travertine_runtime::{
    Address, Engine, InstanceId, Timestamp,
    engine::{File, ManualClock, Options, Retention},
};
use travertine_store::{
    Advance, Append, Claim, Entry, Error as StoreError, Fold, Layer, Loaded, MemoryStore, Seq,
    ShardId, Store, view::InstanceRow,
};

use crate::world::file;

/// A store of which each read counts, as if it were far away.
#[derive(Debug)]
struct Far {
    store: MemoryStore,
    single: AtomicUsize,
    lots: AtomicUsize,
    /// Of how many instances all that there is was asked for.
    loaded: AtomicUsize,
    /// How many folds there were with each statement.
    folded: Mutex<Vec<usize>>,
    /// How often it cannot be reached when it is asked for lots.
    away: AtomicUsize,
    /// Whether all that was written was written by threads with nothing else to do.
    written_aside: AtomicBool,
}

impl Far {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            store: MemoryStore::new(1),
            single: AtomicUsize::new(0),
            lots: AtomicUsize::new(0),
            loaded: AtomicUsize::new(0),
            folded: Mutex::default(),
            away: AtomicUsize::new(0),
            written_aside: AtomicBool::new(true),
        })
    }

    fn reach(&self) -> Result<(), StoreError> {
        let left = |it: usize| it.checked_sub(1);
        match self.away.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left) {
            Ok(_) => Err(StoreError::Away { reason: "nobody answers".to_owned() }),
            Err(_) => Ok(()),
        }
    }

    fn write(&self) -> &MemoryStore {
        let decides = thread::current().name().is_some_and(|it| it.starts_with("lane"));
        self.written_aside.fetch_and(!decides, Ordering::Relaxed);
        &self.store
    }

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
        if let Err(error) = self.reach() {
            let of = |error: &StoreError| Loaded {
                row: Err(error.clone()),
                snapshot: Err(error.clone()),
                chain: Err(error.clone()),
            };
            return instances.iter().map(|_| of(&error)).collect();
        }
        self.loaded.fetch_add(instances.len(), Ordering::Relaxed);
        self.count(&self.lots).load(shard, instances)
    }

    fn named_many(
        &self,
        shard: ShardId,
        names: &[&str],
    ) -> Result<Vec<Vec<InstanceId>>, StoreError> {
        self.reach()?;
        self.count(&self.lots).named_many(shard, names)
    }

    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<(), StoreError>> {
        self.write().append_all(appends)
    }

    fn checkpoint_all(&self, advances: &[Advance<'_>]) -> Vec<Result<(), StoreError>> {
        self.write().checkpoint_all(advances)
    }

    fn fold(&self, claim: &Claim, folds: &[Fold]) -> Result<(), StoreError> {
        self.folded.lock().expect("nobody fails").push(folds.len());
        self.write().fold(claim, folds)
    }
}

fn open(far: &Arc<Far>) -> (Arc<dyn Store>, Engine) {
    let store = Arc::<Far>::clone(far) as Arc<dyn Store>;
    let storage_retry = Retry { initial: Duration::from_millis(1), ..Retry::DEFAULT };
    let options = Options { storage_retry, ..Options::default() };
    let engine = Engine::on(&store, options).expect("it opens");
    (store, engine)
}

/// A process that waits for somebody.
fn waits() -> File {
    let task = r#"<startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="t"/><userTask id="t"/>"#;
    file("p", &format!(r#"<process id="p" isExecutable="true">{task}</process>"#))
}

#[test]
fn what_requests_need_of_a_store_far_away_is_read_in_lots() {
    let far = Far::new();
    let (store, engine) = open(&far);
    engine.deploy(&[waits()]).unwrap();
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

#[test]
fn a_batch_that_needs_what_cannot_be_read_now_is_not_begun_before_it_can() {
    let far = Far::new();
    let (store, engine) = open(&far);
    engine.deploy(&[waits()]).unwrap();
    let (one, other) = (engine.start("p").wait().unwrap(), engine.start("p").wait().unwrap());
    engine.shutdown().unwrap();
    drop(store);

    let (_, engine) = open(&far);
    far.take();
    far.away.store(3, Ordering::Relaxed);
    engine.cancel(one).wait().unwrap();
    assert_eq!(engine.metrics().stalls, 3);
    far.away.store(2, Ordering::Relaxed);
    let named = engine.start("p").id("n").wait().unwrap();
    assert_eq!(engine.start("p").id("n").wait(), Ok(named));
    engine.cancel(other).wait().unwrap();
    assert_eq!((engine.fault(), far.take().0), (None, 0), "nothing was read by itself");
    engine.shutdown().unwrap();
}

#[test]
fn however_much_waits_little_more_is_read_beforehand_than_is_done() {
    const MANY: usize = 2_000;
    let far = Far::new();
    let (store, engine) = open(&far);
    engine.deploy(&[waits()]).unwrap();
    let started: Vec<_> = (0..MANY).map(|_| engine.start("p").begin()).collect();
    let ids: Vec<InstanceId> = started.into_iter().map(|it| it.wait().unwrap().0).collect();
    engine.shutdown().unwrap();
    drop(store);

    let (_, engine) = open(&far);
    far.take();
    far.loaded.store(0, Ordering::Relaxed);
    let cancelled: Vec<_> = ids.iter().map(|id| engine.cancel(*id)).collect();
    assert!(cancelled.into_iter().all(|it| it.wait().is_ok()));
    assert_eq!(far.take().0, 0, "something was read by itself");
    let loaded = far.loaded.load(Ordering::Relaxed);
    assert!((MANY..=4 * MANY).contains(&loaded), "{loaded}");
    engine.shutdown().unwrap();
}

#[test]
fn nothing_is_written_to_a_store_far_away_by_the_thread_that_decides() {
    let far = Far::new();
    let clock = Arc::new(ManualClock::default());
    let options = Options { clock: Arc::clone(&clock) as Arc<_>, ..Options::default() };
    let engine = Engine::on(&(Arc::<Far>::clone(&far) as Arc<dyn Store>), options).unwrap();
    engine.deploy(&[waits()]).unwrap();
    let ids: Vec<InstanceId> = (0..3).map(|_| engine.start("p").wait().unwrap()).collect();
    for id in &ids {
        engine.cancel(*id).wait().unwrap();
    }
    clock.set(Timestamp::from_millis(1_000));
    let at_once = Retention { history: Some(Duration::ZERO), ..Retention::default() };
    let swept = engine.sweep_with(&at_once).unwrap();
    assert_eq!(swept.folded, 3);
    assert_eq!(*far.folded.lock().unwrap(), [3], "all of them at once");
    let last = engine.store().last(ShardId(0)).unwrap();
    for id in &ids {
        let row = engine.store().instance(*id).unwrap().unwrap();
        let chain = engine.store().chain(ShardId(0), row.last, 0).unwrap();
        assert_eq!(chain.len(), 1, "{id} has {chain:?} of {last}");
    }
    engine.delete(ids[0]).unwrap();
    assert_eq!(engine.verify().unwrap().differences, []);
    engine.shutdown().unwrap();
    assert!(far.written_aside.load(Ordering::Relaxed));
}
