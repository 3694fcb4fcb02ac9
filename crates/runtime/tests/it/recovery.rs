//! Reading a log without views takes no more memory than the engine may have.

use std::sync::{Arc, Mutex};

use travertine_runtime::{
    Engine, Opening, Settings, Shard, Timestamp,
    engine::{Options, Progress},
};
use travertine_store::{
    Claim, Deployment, Error as StoreError, Layer, Mail, MailId, MemoryStore, Seq, ShardId, Store,
    view::{Key, Row, Table},
};

use crate::world::{file, reset_views};

const PROCESS: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="u"/><userTask id="u"/>
    <sequenceFlow id="f3" sourceRef="u" targetRef="e"/><endEvent id="e"/></process>"#;

/// A store with a hundred instances that have changed more than once, and no views.
fn without_views() -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(1));
    let engine = Engine::on(&store, Options::default()).expect("it opens");
    engine.deploy(&[file("model.bpmn", PROCESS)]).expect("is fine");
    let all: Vec<_> =
        (0..100).map(|it| engine.start("p").variable("x", it).wait().expect("starts")).collect();
    for id in all.iter().step_by(3) {
        engine.suspend(*id).wait().expect("it runs");
    }
    for id in all.iter().step_by(7) {
        engine.cancel(*id).wait().expect("it runs");
    }
    engine.shutdown().expect("nothing has failed");
    reset_views(&*store);
    store
}

#[test]
fn instances_leave_memory_while_a_log_is_read() {
    let store = without_views();
    let settings = Settings { instances_max: 10, ..Settings::default() };
    let (definitions, functions) = {
        let engine = Engine::on(&store, Options::default()).expect("it opens");
        let both = (engine.definitions(), Arc::new(engine.functions().clone()));
        engine.shutdown().expect("nothing has failed");
        both
    };
    reset_views(&*store);
    let opening = Opening {
        store: Arc::clone(&store),
        definitions,
        functions,
        board: Arc::default(),
        settings,
        now: Timestamp::from_millis(0),
    };
    let claim = store.take(ShardId(0), "a test").expect("it can be claimed");
    let (mut shard, found) = Shard::recover(claim, opening, &mut |_, _| {}).expect("it opens");
    assert!(shard.len() <= 20, "{}", shard.len());
    assert!(found.entries > 100);
    if let Some(checkpoint) = shard.checkpoint() {
        checkpoint.store(&*store, &shard.claim()).expect("there is room");
        shard.stored(checkpoint.upto);
    }
    assert_eq!(shard.verify(&mut |_, _| {}).expect("it can be read").differences, []);
}

#[test]
fn a_verification_tells_how_far_it_is_and_compares_every_instance() {
    let store = without_views();
    let engine = Engine::on(&store, Options::default()).expect("it opens");
    let progress = Progress(Arc::new(|_, done, total| assert!(done <= total)));
    let verified = engine.verify_told(&progress).expect("it can be read");
    assert_eq!(verified.differences, []);
    assert_eq!(verified.instances, 100);
}

/// A store with a row that cannot be read until its shard's views are thrown away.
#[derive(Debug)]
struct Hurt {
    inner: Arc<dyn Store>,
    shard: ShardId,
    forgotten: Mutex<Vec<ShardId>>,
}

impl Layer for Hurt {
    fn behind(&self) -> &dyn Store {
        &*self.inner
    }

    fn forget_views(&self, claim: &Claim) -> Result<(), StoreError> {
        self.forgotten.lock().expect("nobody has failed").push(claim.shard);
        self.inner.forget_views(claim)
    }

    fn reset_views(&self, _claims: &[Claim]) -> Result<(), StoreError> {
        panic!("the views of all shards are thrown away");
    }

    fn scan(
        &self,
        shard: ShardId,
        table: Table,
        each: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let whole = !self.forgotten.lock().expect("nobody has failed").is_empty();
        if shard != self.shard || whole || table != Table::Jobs {
            return self.inner.scan(shard, table, each);
        }
        let key = Key::of_instance(4 + u64::from(shard.0));
        Err(StoreError::DamagedRow { table, key, reason: "it is torn".to_owned() })
    }
}

#[test]
fn views_of_one_shard_that_cannot_be_read_cost_no_other_shard_its_own() {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new(3));
    let engine = Engine::on(&inner, Options::default()).expect("it opens");
    engine.deploy(&[file("model.bpmn", PROCESS)]).expect("is fine");
    let all: Vec<_> = (0..9).map(|_| engine.start("p").wait().expect("starts")).collect();
    engine.shutdown().expect("nothing has failed");
    let hurt = Hurt { inner, shard: ShardId(1), forgotten: Mutex::default() };
    let hurt = Arc::new(hurt);
    let engine =
        Engine::on(&(Arc::clone(&hurt) as Arc<dyn Store>), Options::default()).expect("it opens");
    assert_eq!(*hurt.forgotten.lock().expect("nobody has failed"), [ShardId(1)]);
    let found = &engine.opened().shards;
    assert_eq!(found.iter().map(|it| it.instances).collect::<Vec<_>>(), [0, 3, 0]);
    for id in all {
        engine.cancel(id).wait().expect("it runs");
    }
    assert_eq!(engine.verify().expect("it can be asked").differences, []);
    engine.shutdown().expect("nothing has failed");
}

/// A store that notes when it is read although somebody else can still write a shard.
#[derive(Debug)]
struct Watched {
    inner: Arc<dyn Store>,
    former: Vec<Claim>,
    early: Mutex<Vec<&'static str>>,
}

impl Watched {
    fn read(&self, what: &'static str) -> &dyn Store {
        let held = self.inner.fence(&self.former).expect("it can be asked");
        if held.contains(&true) {
            self.early.lock().expect("nobody has failed").push(what);
        }
        &*self.inner
    }
}

impl Layer for Watched {
    fn behind(&self) -> &dyn Store {
        &*self.inner
    }

    fn deployments(&self, after: u64) -> Result<Vec<Deployment>, StoreError> {
        self.read("deployments").deployments(after)
    }

    fn checkpointed(&self, shard: ShardId) -> Result<(Seq, Vec<u8>), StoreError> {
        self.read("a checkpoint").checkpointed(shard)
    }

    fn last(&self, shard: ShardId) -> Result<Seq, StoreError> {
        self.read("a log").last(shard)
    }

    fn inbox(
        &self,
        shard: ShardId,
        after: &[MailId],
        limit: usize,
    ) -> Result<Vec<Mail>, StoreError> {
        self.read("an inbox").inbox(shard, after, limit)
    }
}

#[test]
fn nothing_is_read_before_nobody_else_can_write_anything() {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new(3));
    // It lives on, as a process does that has lost its lock and does not know it yet.
    let engine = Engine::on(&inner, Options::default()).expect("it opens");
    engine.deploy(&[file("model.bpmn", PROCESS)]).expect("is fine");
    let all: Vec<_> = (0..9).map(|_| engine.start("p").wait().expect("starts")).collect();
    let owners = (0..).map(ShardId).zip(inner.owners().expect("it can be asked"));
    let former = owners.map(|(shard, it)| Claim { shard, epoch: it.epoch }).collect();
    let watched = Arc::new(Watched { inner, former, early: Mutex::default() });
    let store: Arc<dyn Store> = Arc::clone(&watched) as _;
    let next = Engine::on(&store, Options::default()).expect("it opens");
    assert_eq!(*watched.early.lock().expect("nobody has failed"), [""; 0]);
    for id in all {
        next.cancel(id).wait().expect("it runs");
    }
    next.shutdown().expect("nothing has failed");
    engine.start("p").wait().expect_err("it has no shard any more");
}
