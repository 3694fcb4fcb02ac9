//! Engines on PostgreSQL whose database is away for a while, and whose shards share lanes.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use travertine_func::Retry;
use travertine_runtime::{
    Engine, Error, InstanceId, RequestOutcome, Settings,
    engine::{File, Options, Pending},
};
use travertine_store::{Append, PostgresStore, ShardId, Store, postgres, view::Table};
use travertine_testkit::{
    postgres::{own_server, server},
    store_suite::{SHARDS, batch, entry},
};

use super::postgres::{MODEL, listed, open_postgres};

/// An engine that reads whatever it is asked about, and does not wait for a database that is away.
fn hasty_engine(url: &str, lanes: u16) -> Engine {
    let given = postgres::Options {
        shards: 4,
        patience: Duration::from_millis(5),
        ..postgres::Options::default()
    };
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(url, &given).unwrap());
    let retry = Retry { initial: Duration::from_millis(1), ..Retry::DEFAULT };
    let options = Options {
        lanes: Some(lanes),
        settings: Settings { instances_max: 0, ..Settings::default() },
        storage_retry: Retry { max_delay: Duration::from_millis(50), ..retry },
        ..Options::default()
    };
    Engine::on(&store, options).unwrap()
}

/// Waits until something is so.
fn wait_until(engine: &Engine, mut is: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is() {
        let patience = Duration::from_mins(2);
        assert!(began.elapsed() < patience, "nothing goes on: {:?}", engine.metrics());
        thread::yield_now();
    }
}

/// Asks until there is an answer. What nobody knows is asked again, too: it does no harm twice.
fn insist<T>(mut ask: impl FnMut() -> Pending<T>) -> T {
    loop {
        match ask().wait() {
            Ok(answer) => return answer,
            Err(Error::Unavailable { .. }) => {}
            Err(error) => assert_eq!(error.outcome(), RequestOutcome::Unknown, "{error}"),
        }
    }
}

/// Starts instances, each under a name of its own, and ends some of them, until it is told to stop.
fn client(
    engine: &Engine,
    number: u64,
    stop: &AtomicBool,
    count: &AtomicU64,
) -> BTreeMap<String, InstanceId> {
    let mut started = BTreeMap::new();
    for nth in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let name = format!("{number}-{nth}");
        let (id, _) = insist(|| engine.start("p").id(&name).begin());
        // The one before is not in memory any more.
        if nth % 3 == 1 {
            let before: InstanceId = started[&format!("{number}-{}", nth - 1)];
            insist(|| engine.cancel(before));
        }
        started.insert(name, id);
        count.fetch_add(1, Ordering::SeqCst);
    }
    started
}

#[test]
fn a_database_that_is_away_for_a_while_ends_nothing() {
    let Some(server) = own_server() else { return };
    for (lanes, signals) in [(1, &["QUIT", "KILL"][..]), (4, &["KILL"])] {
        let url = server.url();
        let engine = hasty_engine(&url, lanes);
        engine.deploy(&[File { name: "p.bpmn".to_owned(), body: MODEL.into() }]).unwrap();
        let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
        let started: BTreeMap<String, InstanceId> = thread::scope(|scope| {
            let clients: Vec<_> = (0..4)
                .map(|it| {
                    scope.spawn({
                        let (engine, stop, count) = (engine.clone(), &stop, &count);
                        move || client(&engine, it, stop, count)
                    })
                })
                .collect();
            for signal in signals {
                let reached = count.load(Ordering::SeqCst) + 20;
                wait_until(&engine, || count.load(Ordering::SeqCst) >= reached);
                let stalls = engine.metrics().stalls;
                server.kill(signal);
                // The engine has asked for it again and again.
                wait_until(&engine, || engine.metrics().stalls >= stalls + 20);
                assert_eq!(engine.fault(), None);
                server.run();
            }
            let reached = count.load(Ordering::SeqCst) + 20;
            wait_until(&engine, || count.load(Ordering::SeqCst) >= reached);
            stop.store(true, Ordering::SeqCst);
            clients.into_iter().flat_map(|it| it.join().unwrap()).collect()
        });
        let check = |engine: &Engine| {
            wait_until(engine, || engine.metrics().shards_away == 0);
            engine.flush_now().unwrap();
            assert_eq!(listed(engine), started.values().map(|it| it.0).collect());
            assert_eq!(engine.verify().unwrap().differences, []);
            assert_eq!(engine.fault(), None);
        };
        check(&engine);
        engine.shutdown().unwrap();
        let engine = hasty_engine(&url, lanes);
        check(&engine);
        assert_eq!(engine.store().check().unwrap(), Vec::<String>::new());
        engine.shutdown().unwrap();
    }
}

#[test]
fn what_is_appended_to_several_shards_at_once_is_one_statement() {
    let Some(server) = server() else { return };
    let url = server.url();
    let store = open_postgres(&url, SHARDS);
    let batches = [batch(vec![entry(1, 1, 0), entry(2, 2, 0)])];
    let claims: Vec<_> = (0..SHARDS).map(|it| store.take(ShardId(it), "test").unwrap()).collect();
    let appends: Vec<_> =
        claims.iter().map(|claim| Append { claim: *claim, batches: &batches }).collect();
    assert!(store.append_all(&appends).iter().all(Result::is_ok));
    let schema = url.rsplit_once("schema=").unwrap().1;
    let count = |what: &str| server.sql(&format!("SELECT count({what}) FROM {schema}.log"));
    assert_eq!(count("*"), [(2 * SHARDS).to_string()]);
    assert_eq!(count("DISTINCT xmin::text"), ["1"]);
}

#[test]
fn an_engine_whose_shards_share_a_lane_does_what_any_other_does() {
    let Some(server) = server() else { return };
    let url = server.url();
    let engine = hasty_engine(&url, 1);
    engine.deploy(&[File { name: "p.bpmn".to_owned(), body: MODEL.into() }]).unwrap();
    let asked: Vec<_> = (0..200).map(|_| engine.start("p").begin()).collect();
    let ids: Vec<InstanceId> = asked.into_iter().map(|it| it.wait().unwrap().0).collect();
    let asked: Vec<_> = ids.iter().skip(100).map(|it| engine.cancel(*it)).collect();
    for it in asked {
        it.wait().unwrap();
    }
    let metrics = engine.metrics();
    assert!(metrics.batch_max > 4 && metrics.batches < 300, "{metrics:?}");
    engine.flush_now().unwrap();
    let mut tasks = 0;
    for shard in (0..4).map(ShardId) {
        let mut each = |_| {
            tasks += 1;
            Ok(())
        };
        engine.store().scan(shard, Table::Tasks, &mut each).unwrap();
    }
    assert_eq!(tasks, 100);
    assert_eq!(engine.verify().unwrap().differences, []);
    engine.shutdown().unwrap();
}
