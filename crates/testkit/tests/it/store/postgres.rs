//! The store on PostgreSQL: its promises, who may open it, and what is left when it or its server is killed.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    os::unix::process::ExitStatusExt as _,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use travertine_runtime::{
    Engine,
    engine::{File, Options as EngineOptions},
};
use travertine_store::{
    CRASH_POINTS, Claiming, Error, Fold, InstanceId, PostgresStore, ShardId, SqliteStore, Store,
    postgres::{self, Options, Standing},
    sqlite,
    view::{Query, Table},
};
use travertine_testkit::{
    postgres::{Server, own_server, server},
    store_suite::{
        SHARDS, batch, entry,
        load::{Acknowledged, run, verify},
        store_suite,
    },
};

const PROCESS: &str = env!("CARGO_BIN_EXE_store_process");

pub(super) fn open_postgres(url: &str, shards: u16) -> PostgresStore {
    PostgresStore::open(url, &Options { shards, ..Options::default() }).unwrap()
}

#[test]
fn the_store_on_postgresql_keeps_every_promise() {
    if let Some(server) = server() {
        store_suite(|| open_postgres(&server.url(), SHARDS));
    }
}

#[test]
fn a_process_killed_at_any_point_loses_nothing_acknowledged_on_postgresql() {
    let Some(server) = server() else { return };
    let url = server.url();
    let mut acknowledged = Acknowledged::default();
    let not_here = ["append.inserted", "wal."];
    for point in CRASH_POINTS.iter().filter(|it| !not_here.iter().any(|no| it.starts_with(no))) {
        let mut command = Command::new(PROCESS);
        command.env("TRAVERTINE_CRASH", format!("{point}:2")).args(["write", &url, "300", "40"]);
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        told.lines().for_each(|line| acknowledged.hear(line));
        assert_eq!(output.status.signal(), Some(9), "{point} was not passed: {told}");
        let store = open_postgres(&url, SHARDS);
        verify(&store, &acknowledged);
        assert_eq!(store.check().unwrap(), Vec::<String>::new(), "{point}");
    }
    assert!(acknowledged.append > 50);
}

#[test]
fn a_store_on_postgresql_is_opened_by_one_process_at_a_time() {
    let Some(server) = server() else { return };
    let url = server.url();
    let mut holder = Command::new(PROCESS)
        .args(["hold", &url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "open\n");
    let refused = PostgresStore::open(&url, &Options::default()).unwrap_err();
    let by = format!("process {}", holder.id());
    assert!(
        matches!(&refused, Error::InUse { holder: Some(it), .. } if it.contains(&by)),
        "{refused:?}"
    );
    // It is free at once when the process is gone, however it went.
    holder.kill().unwrap();
    holder.wait().unwrap();
    let store = open_postgres(&url, SHARDS);
    assert!(matches!(PostgresStore::open(&url, &Options::default()), Err(Error::InUse { .. })));
    drop(store);
    open_postgres(&url, SHARDS);
}

/// Writes while the server is killed and comes back, and answers with what was acknowledged.
fn write_until_killed(server: &Server, url: &str, after: u64, signal: &str) -> Acknowledged {
    let store = open_postgres(url, SHARDS);
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut acknowledged = Acknowledged::default();
            let mut many = 0;
            let done = run(&store, 300, after + 40, &mut |what, number| {
                acknowledged.hear(&format!("{what} {number}"));
                many += 1;
                if many == after {
                    tell.send(()).unwrap();
                }
            });
            // Whoever only reads just then waits, and goes on.
            let is_right = matches!(done, Ok(()) | Err(Error::Away { .. } | Error::Unknown { .. }));
            assert!(is_right, "{done:?}");
            acknowledged
        });
        told.recv().unwrap();
        server.kill(signal);
        server.run();
        writer.join().unwrap()
    })
}

#[test]
fn a_server_killed_at_any_moment_loses_nothing_acknowledged() {
    let Some(server) = own_server() else { return };
    let url = server.url();
    for (after, signal) in
        [(1, "KILL"), (7, "QUIT"), (12, "KILL"), (23, "QUIT"), (40, "KILL"), (61, "QUIT")]
    {
        let acknowledged = write_until_killed(&server, &url, after, signal);
        let store = open_postgres(&url, SHARDS);
        // What is not durable at once may be that of before.
        let loose = Acknowledged { checkpoint: 0, fold: 0, ..acknowledged };
        verify(&store, &loose);
        assert_eq!(store.check().unwrap(), Vec::<String>::new(), "{after} {signal}");
    }
}

#[test]
fn tables_that_are_not_ours_or_newer_are_refused_and_left_alone() {
    let Some(server) = server() else { return };
    let url = server.url();
    assert_eq!(postgres::check_schema(&url), Ok(Standing::Missing));
    let known = Options { create: false, ..Options::default() };
    let missing = PostgresStore::open(&url, &known);
    assert!(matches!(missing, Err(Error::Missing { .. })), "{missing:?}");
    drop(open_postgres(&url, 3));
    assert_eq!(postgres::check_schema(&url), Ok(Standing::Ready));
    let schema = url.rsplit('=').next().unwrap();
    // The number of shards stays.
    assert_eq!(open_postgres(&url, 7).shards(), 3);
    server.sql(&format!("UPDATE {schema}.meta SET value = '99' WHERE name = 'format'"));
    let newer = PostgresStore::open(&url, &Options::default());
    assert!(
        matches!(&newer, Err(Error::Foreign { reason, .. }) if reason.contains("99")),
        "{newer:?}"
    );
    let nobody = PostgresStore::open("postgres://x@%2Fnowhere/y", &Options::default());
    assert!(matches!(nobody, Err(Error::Away { .. })), "{nobody:?}");
}

#[test]
fn views_of_another_version_are_made_again() {
    let Some(server) = server() else { return };
    let url = server.url();
    let store = open_postgres(&url, 1);
    let claim = store.take(ShardId(0), "a").unwrap();
    store.append(&claim, &[batch(vec![entry(1, 4, 0)])]).unwrap();
    store.checkpoint(&claim, 1, b"s", &[]).unwrap();
    drop(store);
    let schema = url.rsplit('=').next().unwrap();
    server.sql(&format!(
        "UPDATE {schema}.meta SET value = 'old' WHERE name = 'views'; DROP TABLE {schema}.jobs"
    ));
    assert_eq!(postgres::check_schema(&url), Ok(Standing::OtherViews));
    let store = open_postgres(&url, 1);
    assert!(store.rebuilt().is_some());
    assert_eq!(store.checkpointed(ShardId(0)).unwrap(), (0, vec![]));
    assert_eq!(store.last(ShardId(0)).unwrap(), 1);
    store.check_views().unwrap();
    // Also those that go while it is open.
    server.sql(&format!("DROP TABLE {schema}.instances"));
    assert!(matches!(store.instance(InstanceId(4)), Err(Error::DamagedViews { .. })));
    store.reset_views(&[store.take(ShardId(0), "a").unwrap()]).unwrap();
    assert_eq!(store.instance(InstanceId(4)), Ok(None));
}

#[test]
fn whoever_makes_the_views_again_takes_the_shards_from_those_who_count_on_them() {
    let Some(server) = server() else { return };
    let url = url_of_role(server, &[]);
    let schema = url.rsplit('=').next().unwrap();
    let role = format!("role_{schema}");
    let former = open_postgres(&url, 2);
    let claims = [0, 1].map(|it| former.take(ShardId(it), "a").unwrap());
    former.append(&claims[0], &[batch(vec![entry(1, 4, 0)])]).unwrap();
    former.checkpoint(&claims[0], 1, b"s", &[]).unwrap();
    assert_eq!(former.fence(&claims), Ok(vec![true, true]));
    // It loses its lock and cannot take it again, and all its other connections are there.
    server.sql(&format!(
        "ALTER ROLE {role} NOLOGIN; UPDATE {schema}.meta SET value = 'old' WHERE name = 'views';
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE usename = '{role}' AND application_name LIKE '%lock'"
    ));
    let store = open_postgres(&url.replace(&role, "travertine"), 2);
    assert!(store.rebuilt().is_some());
    let stale = Err(Error::Stale { shard: ShardId(0) });
    assert_eq!(former.checkpoint(&claims[0], 1, b"s", &[]), stale);
    assert_eq!(former.reset_views(&claims), stale);
    assert_eq!(former.fence(&claims), Ok(vec![false, false]));
    assert_eq!(store.checkpointed(ShardId(0)).unwrap(), (0, vec![]));
    assert_eq!(store.owners().unwrap()[1].name, None);
}

#[test]
fn a_file_that_is_damaged_is_not_written_anew_as_if_it_were_whole() {
    let Some(server) = server() else { return };
    let url = server.url();
    let schema = url.rsplit('=').next().unwrap();
    let store = open_postgres(&url, 1);
    run(&store, 100, 6, &mut |_, _| {}).unwrap();
    let body = format!("SELECT encode(body, 'escape') FROM {schema}.resources ORDER BY deployment");
    server.sql(&format!("UPDATE {schema}.resources SET body = 'torn'"));
    let torn = server.sql(&body);
    let key = store.deployments(0).unwrap()[0].definitions[0].key;
    for done in [store.retire(&[key]), store.undeploy(&[key])] {
        let told = done.unwrap_err();
        assert!(
            matches!(&told, Error::Corrupt { reason, .. } if reason.contains("a file")),
            "{told:?}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(store.backup(&dir.path().join("copy")), Err(Error::Corrupt { .. })));
    assert_eq!(server.sql(&body), torn);
}

#[test]
fn what_is_changed_behind_its_back_is_noticed() {
    let Some(server) = server() else { return };
    for (sql, how) in [
        ("DELETE FROM {}.log WHERE seq = 4", "entries are there"),
        ("UPDATE {}.log SET sum = 7 WHERE seq = 4", "not those that were written"),
    ] {
        let url = server.url();
        let store = open_postgres(&url, 1);
        let claim = store.take(ShardId(0), "a").unwrap();
        let all = (1..=9).map(|seq| entry(seq, seq, 0)).collect();
        store.append(&claim, &[batch(all)]).unwrap();
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
        server.sql(&sql.replace("{}", url.rsplit('=').next().unwrap()));
        let found = store.check().unwrap();
        assert!(found.len() == 1 && found[0].contains(how), "{found:?}");
    }
}

#[test]
fn a_backup_is_an_embedded_store_that_opens_like_any_other() {
    let Some(server) = server() else { return };
    let dir = tempfile::tempdir().unwrap();
    let store = open_postgres(&server.url(), SHARDS);
    let mut acknowledged = Acknowledged::default();
    run(&store, 300, 40, &mut |what, number| acknowledged.hear(&format!("{what} {number}")))
        .unwrap();
    let to = dir.path().join("copy");
    store.backup(&to).unwrap();
    assert!(matches!(store.backup(&to), Err(Error::Failed { .. })), "it is not empty");
    let copy = SqliteStore::open(&to, &sqlite::Options::default()).unwrap();
    assert_eq!(copy.shards(), SHARDS);
    // The views are made again.
    verify(&copy, &Acknowledged { checkpoint: 0, ..acknowledged });
    assert_eq!(copy.check().unwrap(), Vec::<String>::new());
    assert_eq!(copy.revision().unwrap(), store.revision().unwrap());
    run(&copy, 100, 3, &mut |_, _| {}).unwrap();
}

#[test]
fn a_role_that_only_reads_and_writes_tables_is_enough_for_a_node() {
    let Some(server) = server() else { return };
    let url = server.url();
    let schema = url.rsplit('=').next().unwrap();
    drop(open_postgres(&url, 2));
    server.sql(&format!(
        "CREATE ROLE app_{schema} LOGIN;
         GRANT USAGE ON SCHEMA {schema} TO app_{schema};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO app_{schema}"
    ));
    let app = url.replace("travertine@", &format!("app_{schema}@"));
    let store = open_postgres(&app, 2);
    run(&store, 100, 12, &mut |_, _| {}).unwrap();
    let told = store.compact().unwrap_err();
    assert!(matches!(&told, Error::ReadOnly { reason } if reason.contains("VACUUM")), "{told:?}");
    drop(store);
    // What it may not do is told with who can.
    let other = format!("{app}_new");
    let told = PostgresStore::open(&other, &Options::default()).unwrap_err();
    assert!(told.to_string().contains("migrate_schema"), "{told}");
}

/// The URL of a store for a role with settings of its own.
fn url_of_role(server: &Server, settings: &[&str]) -> String {
    let url = server.url();
    let role = format!("role_{}", url.rsplit('=').next().unwrap());
    server.sql(&format!("CREATE ROLE {role} LOGIN SUPERUSER"));
    for it in settings {
        server.sql(&format!("ALTER ROLE {role} SET {it}"));
    }
    url.replace("travertine@", &format!("{role}@"))
}

/// Does something while somebody else holds all shards, until `meanwhile` is over, which is told the process that
/// holds them.
fn while_held<T: Send>(
    server: &Server,
    schema: &str,
    act: impl FnOnce() -> T + Send,
    meanwhile: impl FnOnce(&str),
) -> T {
    thread::scope(|scope| {
        let holder = server.session();
        let pid = holder.sql("SELECT pg_backend_pid()").remove(0);
        holder.sql(&format!("BEGIN; SELECT 1 FROM {schema}.shards FOR UPDATE"));
        let done = scope.spawn(act);
        meanwhile(&pid);
        holder.sql("COMMIT");
        done.join().unwrap()
    })
}

#[test]
fn settings_of_a_role_end_nothing_that_must_not_be_ended() {
    let Some(server) = server() else { return };
    let settings = ["lock_timeout = '20ms'", "idle_session_timeout = '2s'"];
    let url = url_of_role(server, &settings);
    let store = open_postgres(&url, 1);
    let schema = url.rsplit('=').next().unwrap();
    let role = format!("role_{schema}");
    let taken = while_held(
        server,
        schema,
        || store.take(ShardId(0), "a"),
        |_| {
            // Both wait for longer than that.
            for (duty, time) in [("control", "200 ms"), ("lock", "2200 ms")] {
                server.session().until(&format!(
                    "SELECT 1 FROM pg_stat_activity WHERE usename = '{role}' AND application_name LIKE '%{duty}'
                        AND clock_timestamp() - state_change > interval '{time}'"
                ));
            }
        },
    );
    taken.unwrap();
}

#[test]
fn what_an_administrator_cancels_is_not_written_and_can_be_tried_again() {
    let Some(server) = server() else { return };
    let url = server.url();
    let store = open_postgres(&url, 1);
    let schema = url.rsplit('=').next().unwrap();
    let claim = store.take(ShardId(0), "a").unwrap();
    let append = |seq| store.append(&claim, &[batch(vec![entry(seq, seq, 0)])]);
    append(1).unwrap();
    let fold = [Fold { last: 1, entry: None }];
    let blocked =
        |holder: &str| format!("FROM pg_stat_activity WHERE {holder} = ANY(pg_blocking_pids(pid))");
    let cancel = |holder: &str| {
        server.session().until(&format!("SELECT pg_cancel_backend(pid) {}", blocked(holder)));
    };
    let cancelled = |write: &(dyn Fn() -> Result<(), Error> + Sync)| {
        while_held(server, schema, write, |holder| {
            cancel(holder);
            // It does not wait any more.
            server
                .session()
                .until(&format!("SELECT 1 WHERE NOT EXISTS (SELECT {})", blocked(holder)));
        })
    };
    let is_away = |it: Result<(), Error>| matches!(it, Err(Error::Away { .. }));
    assert!(is_away(cancelled(&|| append(2))));
    append(2).unwrap();
    assert!(is_away(cancelled(&|| store.checkpoint(&claim, 2, b"", &[]))));
    assert_eq!(store.checkpointed(ShardId(0)).unwrap(), (0, vec![]));
    store.checkpoint(&claim, 2, b"", &[]).unwrap();
    assert!(is_away(cancelled(&|| store.fold(&claim, &fold))));
    store.fold(&claim, &fold).unwrap();
    // A claim is asked for again by itself.
    let again = || store.claim(ShardId(0), Claiming::Again(claim));
    while_held(server, schema, again, cancel).unwrap();
    assert_eq!(store.fence(&[claim]), Ok(vec![false]));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_database_that_cannot_keep_all_texts_is_refused() {
    let Some(server) = server() else { return };
    let url = server.url();
    let name = url.rsplit('=').next().unwrap();
    server.sql(&format!(
        "CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
    ));
    let refused = PostgresStore::open(&format!("{url}&dbname={name}"), &Options::default());
    server.sql(&format!("DROP DATABASE {name}"));
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("LATIN1") && told.contains("UTF8"), "{told}");
}

#[test]
fn compacting_gives_room_back_and_size_tells_it() {
    let Some(server) = server() else { return };
    let store = open_postgres(&server.url(), 1);
    run(&store, 2_000, 40, &mut |_, _| {}).unwrap();
    let (bytes, _) = store.size().unwrap();
    assert!(bytes > 40 * 3 * 2_000, "{bytes}");
    store.compact().unwrap();
    assert!(store.advice().unwrap().iter().any(|it| it.contains("fsync")));
}

pub(super) const MODEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    targetNamespace="t"><process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process></definitions>"#;

fn engine_on(url: &str) -> Engine {
    let store: Arc<dyn Store> = Arc::new(open_postgres(url, 2));
    Engine::on(&store, EngineOptions::default()).unwrap()
}

/// The instances that the views have.
pub(super) fn listed(engine: &Engine) -> BTreeSet<u64> {
    let mut query = Query {
        table: Table::Instances,
        filters: vec![],
        descending: false,
        after: None,
        limit: 1_000,
    };
    let mut found = BTreeSet::new();
    loop {
        let page = engine.query_now(&query).unwrap();
        found.extend(page.rows.iter().map(|it| it.key().instance));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return found,
        }
    }
}

#[test]
fn an_engine_goes_on_while_connections_are_ended_and_the_server_restarts() {
    let Some(server) = own_server() else { return };
    let url = server.url();
    let engine = engine_on(&url);
    engine.deploy(&[File { name: "p.bpmn".to_owned(), body: MODEL.into() }]).unwrap();
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let started: BTreeSet<u64> = thread::scope(|scope| {
        let client = |number: i64| {
            let (engine, stop, count) = (engine.clone(), &stop, &count);
            scope.spawn(move || {
                let mut ids = Vec::new();
                while !stop.load(Ordering::SeqCst) {
                    let id = engine.start("p").variable("client", number).wait().unwrap();
                    if ids.len() % 3 == 0 {
                        engine.cancel(id).wait().unwrap();
                    }
                    ids.push(id.0);
                    count.fetch_add(1, Ordering::SeqCst);
                }
                ids
            })
        };
        let clients: Vec<_> = (0..4).map(client).collect();
        for round in 0..8 {
            let reached = count.load(Ordering::SeqCst) + 20;
            let began = Instant::now();
            while count.load(Ordering::SeqCst) < reached {
                assert!(
                    began.elapsed() < Duration::from_mins(1),
                    "nothing goes on: {:?}",
                    engine.fault()
                );
                thread::sleep(Duration::from_millis(2));
            }
            if round % 4 == 3 {
                server.kill(if round == 3 { "QUIT" } else { "KILL" });
                server.run();
            } else {
                server.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                     WHERE application_name LIKE 'travertine%'",
                );
            }
        }
        stop.store(true, Ordering::SeqCst);
        clients.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    assert!(started.len() > 100, "{}", started.len());
    let check = |engine: &Engine| {
        engine.flush_now().unwrap();
        assert_eq!(listed(engine), started);
        assert_eq!(engine.verify().unwrap().differences, []);
    };
    check(&engine);
    engine.shutdown().unwrap();
    let engine = engine_on(&url);
    check(&engine);
    assert_eq!(engine.store().check().unwrap(), Vec::<String>::new());
    engine.shutdown().unwrap();
}
