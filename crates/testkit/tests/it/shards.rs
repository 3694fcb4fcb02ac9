//! Shards of an engine that fail alone and come again, and shards that share a lane.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use travertine_func::Retry;
use travertine_runtime::{
    Engine, Error, InstanceId, RequestOutcome, Settings,
    engine::{File, JobAsk, Options, Pending},
};
use travertine_store::{
    Append, Error as StoreError, InstanceId as Id, Layer, MemoryStore, ShardId, SqliteStore, Store,
    codec::record::decode_records, record::Record, sqlite, view::Table,
};
use travertine_testkit::faulty::{Fault, Faulty, ReadFault, Write};

/// A process `p` that waits for somebody, and `j`, which has a job.
const MODEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:tv="urn:travertine:bpmn:1" targetNamespace="t">
    <process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>
    <process id="j" isExecutable="true"><startEvent id="js"/>
    <sequenceFlow id="g1" sourceRef="js" targetRef="jt"/><serviceTask id="jt" tv:jobType="work"/>
    <sequenceFlow id="g2" sourceRef="jt" targetRef="je"/><endEvent id="je"/></process>
    </definitions>"#;

/// The shard that fails.
const ONE: ShardId = ShardId(1);
const SHARDS: u16 = 3;

fn model() -> File {
    File { name: "m.bpmn".to_owned(), body: MODEL.into() }
}

fn options() -> Options {
    let initial = Duration::from_millis(1);
    let storage_retry = Retry { initial, max_delay: Duration::from_millis(20), ..Retry::DEFAULT };
    Options { storage_retry, ..Options::default() }
}

fn engine_on<S: Store + 'static>(store: &Arc<S>, options: Options) -> Engine {
    let store = Arc::clone(store) as Arc<dyn Store>;
    let engine = Engine::on(&store, options).expect("it opens");
    if engine.definitions().find("p").is_none() {
        engine.deploy(&[model()]).expect("it can run");
    }
    engine
}

fn in_memory() -> Arc<Faulty<MemoryStore>> {
    Arc::new(Faulty::new(MemoryStore::new(SHARDS), |_| None))
}

fn shard_of(instance: InstanceId) -> ShardId {
    ShardId::of(instance.0, SHARDS)
}

/// Waits until something is so.
fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_mins(2), "it never comes about: {what}");
        thread::yield_now();
    }
}

/// Asks again as long as it was not done and may be later. Says how often it was not.
fn insist<T>(mut ask: impl FnMut() -> Pending<T>) -> (T, usize) {
    for refused in 0.. {
        match ask().wait() {
            Ok(answer) => return (answer, refused),
            Err(error @ Error::Unavailable { shard: ONE, .. }) => {
                assert_eq!(error.outcome(), RequestOutcome::NotDone);
                assert!(error.retry_after().is_some());
            }
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("it comes again")
}

/// How many instances were created, as the logs say, and that each was once.
fn created(store: &dyn Store) -> BTreeSet<Id> {
    let mut found = BTreeSet::new();
    for shard in (0..store.shards()).map(ShardId) {
        for entry in store.entries(shard, 0, usize::MAX).expect("it can be read") {
            let records = decode_records(&entry.body).expect("it is whole");
            if records.iter().any(|it| matches!(it, Record::Created(_))) {
                assert!(found.insert(entry.instance), "{} was created twice", entry.instance);
            }
        }
    }
    found
}

/// Instances of `p`, two in each shard.
fn started(engine: &Engine) -> Vec<InstanceId> {
    (0..2 * SHARDS).map(|_| engine.start("p").wait().expect("it begins")).collect()
}

/// A store fails a shard so often, with others going on, and the shard comes again each time.
fn one_fails_and_comes_again<S: Store + 'static>(store: &Arc<Faulty<S>>, lanes: Option<u16>) {
    let engine = engine_on(store, Options { lanes, ..options() });
    let all = started(&engine);
    let mut left = 3;
    store.plan_for(ONE, move |it| {
        let fails = left > 0 && matches!(it, Write::Append | Write::Claim);
        left -= usize::from(fails);
        fails.then_some(Fault::Failed)
    });
    for id in &all {
        if shard_of(*id) == ONE {
            insist(|| engine.cancel(*id));
        } else {
            engine.cancel(*id).wait().expect("its shard serves");
        }
    }
    let metrics = engine.metrics();
    assert!(metrics.shards_lost > 0, "{metrics:?}");
    assert_eq!((metrics.shards_claimed_again, metrics.shards_away), (metrics.shards_lost, 0));
    let more = started(&engine);
    assert_eq!(engine.verify().expect("it can be read").differences, []);
    assert_eq!(engine.fault(), None);
    engine.shutdown().expect("nothing is lost");
    let expected: BTreeSet<Id> = all.iter().chain(&more).copied().collect();
    assert_eq!(created(&**store), expected);
}

#[test]
fn a_shard_whose_store_fails_comes_again_and_the_others_serve_on() {
    for lanes in [None, Some(1), Some(2)] {
        one_fails_and_comes_again(&in_memory(), lanes);
    }
}

#[test]
fn a_shard_of_an_embedded_store_that_fails_comes_again_and_the_others_serve_on() {
    for lanes in [None, Some(1)] {
        let dir = tempfile::tempdir().expect("there is room");
        let given = sqlite::Options { shards: SHARDS, ..sqlite::Options::default() };
        let sqlite = SqliteStore::open(dir.path(), &given).expect("it opens");
        let store = Arc::new(Faulty::new(sqlite, |_| None));
        one_fails_and_comes_again(&store, lanes);
        drop(store);
        let sqlite = Arc::new(SqliteStore::open(dir.path(), &given).expect("it opens again"));
        assert_eq!(sqlite.check().expect("it can be read"), Vec::<String>::new());
        let engine = engine_on(&sqlite, options());
        assert_eq!(engine.verify().expect("it can be read").differences, []);
        engine.shutdown().expect("nothing is lost");
    }
}

#[test]
fn who_asks_for_a_shard_that_stays_away_is_told_to_ask_again_and_it_goes_on_when_it_can() {
    let store = in_memory();
    let engine = engine_on(&store, Options { patience: Duration::ZERO, ..options() });
    let all = started(&engine);
    let jobs: Vec<InstanceId> =
        (0..SHARDS).map(|_| engine.start("j").wait().expect("it begins")).collect();
    let waits: Vec<_> = jobs.iter().map(|id| (shard_of(*id), engine.result(*id))).collect();
    assert_eq!(engine.metrics().jobs, 3);
    store.plan_for(ONE, |it| {
        matches!(it, Write::Append | Write::Claim | Write::Checkpoint).then_some(Fault::Failed)
    });
    let of_one = all.iter().copied().find(|it| shard_of(*it) == ONE).expect("there are two");
    for _ in 0..5 {
        let refused = engine.cancel(of_one).wait();
        assert!(matches!(refused, Err(Error::Unavailable { shard: ONE, .. })), "{refused:?}");
    }
    wait_until("its job is down", || engine.metrics().jobs == 2);
    assert_eq!(engine.metrics().shards_away, 1);
    // The others serve, whatever is asked of them.
    for id in all.iter().filter(|it| shard_of(**it) != ONE) {
        engine.cancel(*id).wait().expect("its shard serves");
    }
    for _ in 0..4 {
        assert_ne!(shard_of(engine.start("p").wait().expect("there is one left")), ONE);
    }
    // What is deployed meanwhile it knows when it comes.
    let text = MODEL.replace("id=\"p\"", "id=\"later\"");
    engine.deploy(&[File { name: "l.bpmn".to_owned(), body: text.into() }]).expect("it can run");
    assert_eq!(engine.fault(), None);
    store.plan(|_| None);
    wait_until("it comes again", || engine.metrics().shards_away == 0);
    insist(|| engine.cancel(of_one));
    wait_until("its job is up", || engine.metrics().jobs == 3);
    let later = (0..SHARDS).map(|_| engine.start("later").wait().expect("all know it"));
    assert!(later.map(shard_of).any(|it| it == ONE));
    // Who has waited for an end all the time hears of it.
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it can run");
    let ask = JobAsk { most: 3, ..JobAsk::new("work", "w") };
    let given = runtime.block_on(engine.jobs(ask)).expect("there are jobs");
    assert_eq!(given.len(), 3);
    for job in given {
        engine.complete(job.job, Vec::new()).wait().expect("it is done");
    }
    for (shard, ended) in waits {
        ended.wait().unwrap_or_else(|error| panic!("of shard {shard}: {error}"));
    }
    assert_eq!(engine.verify().expect("it can be read").differences, []);
    engine.shutdown().expect("nothing is lost");
}

#[test]
fn a_request_waits_for_a_shard_that_comes_again_soon() {
    let store = in_memory();
    let engine = engine_on(&store, options());
    let all = started(&engine);
    let of_one: Vec<InstanceId> = all.into_iter().filter(|it| shard_of(*it) == ONE).collect();
    let (fails, is_away) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let (away, seen) = (Arc::clone(&fails), Arc::clone(&is_away));
    store.plan_for(ONE, move |it| {
        seen.fetch_or(it == Write::Claim, Ordering::SeqCst);
        (away.load(Ordering::SeqCst) && it != Write::Checkpoint).then_some(Fault::Failed)
    });
    let lost = engine.cancel(of_one[0]).wait();
    assert!(matches!(lost, Err(Error::Unavailable { .. })), "{lost:?}");
    wait_until("it is to be claimed again", || is_away.load(Ordering::SeqCst));
    let waits = engine.cancel(of_one[1]);
    fails.store(false, Ordering::SeqCst);
    waits.wait().expect("it has waited");
    engine.shutdown().expect("nothing is lost");
}

#[test]
fn a_panic_outside_of_any_instance_costs_one_shard_what_it_was_at() {
    let store = in_memory();
    let engine = engine_on(&store, options());
    let all = started(&engine);
    let panics = Arc::new(AtomicUsize::new(2));
    let left = Arc::clone(&panics);
    store.plan_reads(move |shard| {
        let one_less = |it: usize| it.checked_sub(1).filter(|_| shard == ONE);
        let more = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        more.is_ok().then_some(ReadFault::Panics)
    });
    // Some of these names are kept by the shard.
    let name = |it: u32| insist(|| engine.start("p").id(&format!("n{it}")).begin()).0.0;
    let named: Vec<InstanceId> = (0..12).map(name).collect();
    assert!(named.iter().any(|it| shard_of(*it) == ONE));
    assert_eq!(panics.load(Ordering::SeqCst), 0);
    for id in all.iter().chain(&named) {
        engine.cancel(*id).wait().expect("all are there");
    }
    let metrics = engine.metrics();
    assert!(metrics.shards_claimed_again > 0, "{metrics:?}");
    assert_eq!(engine.verify().expect("it can be read").differences, []);
    engine.shutdown().expect("nothing is lost");
    assert_eq!(created(&*store), all.into_iter().chain(named).collect());
}

#[test]
fn what_cannot_be_read_now_is_not_done_and_ends_nothing() {
    for fault in [ReadFault::Away, ReadFault::Full, ReadFault::Forbidden, ReadFault::Failed] {
        let store = in_memory();
        // Nothing stays in memory that need not.
        let settings = Settings { instances_max: 0, ..Settings::default() };
        let engine = engine_on(&store, Options { settings, ..options() });
        let all = started(&engine);
        engine.flush_now().expect("rows are stored");
        let failed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&failed);
        store.plan_reads(move |shard| {
            let fails = shard == ONE && count.fetch_add(1, Ordering::SeqCst) < 4;
            fails.then_some(fault)
        });
        let refused: usize = all
            .iter()
            .map(|id| {
                let ((), refused) = insist(|| engine.cancel(*id));
                assert!(refused == 0 || shard_of(*id) == ONE, "{fault:?}");
                refused
            })
            .sum();
        assert!(refused > 0 && failed.load(Ordering::SeqCst) >= 4, "{fault:?}");
        assert_eq!(engine.fault(), None, "{fault:?}");
        assert_eq!(engine.verify().expect("it can be read").differences, [], "{fault:?}");
        engine.shutdown().expect("nothing is lost");
    }
}

/// Processes that wait for a message and processes that send it, each of a name of its own.
fn correspondents(names: usize) -> File {
    let one = |it: usize| {
        format!(
            r#"<message id="m{it}" name="news{it}"/>
            <process id="hears{it}" isExecutable="true"><startEvent id="hs{it}"/>
            <sequenceFlow id="h1{it}" sourceRef="hs{it}" targetRef="ht{it}"/>
            <receiveTask id="ht{it}" messageRef="m{it}"/>
            <sequenceFlow id="h2{it}" sourceRef="ht{it}" targetRef="he{it}"/><endEvent id="he{it}"/></process>
            <process id="tells{it}" isExecutable="true"><startEvent id="ts{it}"/>
            <sequenceFlow id="t1{it}" sourceRef="ts{it}" targetRef="tt{it}"/>
            <intermediateThrowEvent id="tt{it}"><messageEventDefinition messageRef="m{it}"/></intermediateThrowEvent>
            <sequenceFlow id="t2{it}" sourceRef="tt{it}" targetRef="te{it}"/><endEvent id="te{it}"/></process>"#
        )
    };
    let all: String = (0..names).map(one).collect();
    let (head, rest) = MODEL.split_once('>').expect("it is a model");
    let (_, tail) = rest.rsplit_once("</process>").expect("it has processes");
    File { name: "c.bpmn".to_owned(), body: format!("{head}>{all}{tail}").into_bytes() }
}

#[test]
fn what_a_shard_has_sent_while_nobody_knew_whether_it_was_written_arrives_once() {
    const NAMES: usize = 6;
    let store = in_memory();
    let engine = engine_on(&store, options());
    engine.deploy(&[correspondents(NAMES)]).expect("it can run");
    for name in 0..NAMES {
        let (hears, tells) = (format!("hears{name}"), format!("tells{name}"));
        let all: Vec<InstanceId> =
            (0..SHARDS).map(|_| engine.start(hears.as_str()).wait().expect("it begins")).collect();
        assert!(engine.settle(Duration::MAX).expect("it goes on"), "all wait");
        let lost = engine.metrics().shards_lost;
        // It is written, but nobody says so, and nobody can find out at once.
        let (mut kept, mut claimed) = (false, false);
        store.plan_for(ONE, move |it| match it {
            Write::Append if !std::mem::replace(&mut kept, true) => Some(Fault::Kept),
            Write::Claim if !std::mem::replace(&mut claimed, true) => Some(Fault::Failed),
            _ => None,
        });
        for _ in 0..SHARDS {
            match engine.start(tells.as_str()).wait() {
                Ok(_) => {}
                Err(error) => assert_eq!(error.outcome(), RequestOutcome::Unknown, "{error}"),
            }
        }
        for id in all {
            engine.result(id).wait().expect("it has heard");
        }
        wait_until("it comes again", || engine.metrics().shards_away == 0);
        assert!(engine.metrics().shards_lost > lost);
    }
    store.plan(|_| None);
    assert!(engine.settle(Duration::MAX).expect("it goes on"));
    assert_eq!(engine.verify().expect("it can be read").differences, []);
    // Each was received by one, so that none is held.
    let mut held = 0;
    for shard in (0..SHARDS).map(ShardId) {
        let mut each = |_| {
            held += 1;
            Ok(())
        };
        engine.store().scan(shard, Table::Messages, &mut each).expect("they can be read");
    }
    assert_eq!(held, 0);
    engine.shutdown().expect("nothing is lost");
    assert_eq!(created(&*store).len(), 2 * NAMES * usize::from(SHARDS));
}

/// A store whose first append waits, and that counts of how many shards each is.
#[derive(Debug)]
struct Held {
    store: MemoryStore,
    is_near: bool,
    armed: AtomicBool,
    told: Mutex<mpsc::Sender<()>>,
    gate: Mutex<mpsc::Receiver<()>>,
    shards: Mutex<Vec<usize>>,
}

impl Layer for Held {
    fn behind(&self) -> &dyn Store {
        &self.store
    }

    fn is_near(&self) -> bool {
        self.is_near
    }

    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<(), StoreError>> {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner).push(appends.len());
        if self.armed.swap(false, Ordering::SeqCst) {
            self.told.lock().expect("nobody fails").send(()).expect("somebody listens");
            self.gate.lock().expect("nobody fails").recv().expect("it is opened");
        }
        self.store.append_all(appends)
    }
}

#[test]
fn what_all_shards_of_a_lane_decide_meanwhile_is_one_append() {
    for is_near in [true, false] {
        let (told, waits) = mpsc::channel();
        let (gate, opens) = mpsc::channel();
        let store = Arc::new(Held {
            store: MemoryStore::new(SHARDS),
            is_near,
            armed: AtomicBool::new(false),
            told: Mutex::new(told),
            gate: Mutex::new(opens),
            shards: Mutex::default(),
        });
        let engine = engine_on(&store, Options { lanes: Some(1), ..options() });
        let all = started(&engine);
        store.shards.lock().unwrap_or_else(PoisonError::into_inner).clear();
        store.armed.store(true, Ordering::SeqCst);
        let first = engine.cancel(all[0]);
        waits.recv().expect("it is being written");
        let others: Vec<_> = all[1..].iter().map(|id| engine.cancel(*id)).collect();
        if !is_near {
            // The lane goes on deciding while others write.
            wait_until("all is decided", || engine.metrics().waiting == 0);
        }
        gate.send(()).expect("it waits");
        first.wait().expect("it is done");
        for it in others {
            it.wait().expect("it is done");
        }
        let shards = store.shards.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(shards.contains(&usize::from(SHARDS)), "near: {is_near}, {shards:?}");
        assert!(shards.len() <= 4, "near: {is_near}, {shards:?}");
        assert_eq!(engine.verify().expect("it can be read").differences, []);
        engine.shutdown().expect("nothing is lost");
    }
}

#[test]
fn a_shard_that_somebody_else_has_now_stays_away_and_the_engine_says_so() {
    let store = in_memory();
    let engine = engine_on(&store, Options { lanes: Some(1), ..options() });
    let all = started(&engine);
    let job = (0..SHARDS).map(|_| engine.start("j").wait().expect("it begins"));
    let job = job.into_iter().find(|it| shard_of(*it) == ONE).expect("it is one of them");
    let waits = engine.result(job);
    store.inner().take(ONE, "somebody else").expect("it is in memory");
    let of_one: Vec<InstanceId> = all.iter().copied().filter(|it| shard_of(*it) == ONE).collect();
    for id in &of_one {
        let refused = engine.cancel(*id).wait();
        assert!(matches!(refused, Err(Error::Closed { .. })), "{refused:?}");
    }
    let told = waits.wait();
    assert!(matches!(told, Err(Error::Closed { .. })), "{told:?}");
    let metrics = engine.metrics();
    assert_eq!((metrics.shards_lost, metrics.shards_claimed_again, metrics.shards_away), (1, 0, 1));
    for id in all.iter().filter(|it| shard_of(**it) != ONE) {
        engine.cancel(*id).wait().expect("its shard serves");
    }
    let owner = Store::owners(&*store).expect("they can be read").swap_remove(1);
    assert_eq!(owner.name.as_deref(), Some("somebody else"));
    assert!(matches!(engine.shutdown(), Err(Error::Store(StoreError::Stale { shard: ONE }))));
}
