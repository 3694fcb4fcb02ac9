//! Files that are older than they should be, cut, swapped or garbled. Whatever is done to them, the store
//! has all that was acknowledged, or says that it has not.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use travertine_runtime::{
    Engine, Error as EngineError, InstanceId, Settings,
    engine::{File, Options as EngineOptions},
};
use travertine_store::{
    Error, ShardId, SqliteStore, Store as _,
    sqlite::{self, Options},
    view::{Query, Row, Table},
};
use travertine_testkit::store_suite::{batch, entry, load::run};

use super::open;

const PAGE: usize = 4096;

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit as u64).unwrap()
    }
}

/// Fails where something takes for ever.
fn within<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, answer) = mpsc::channel();
    let worker = thread::spawn(move || done.send(work()));
    match answer.recv_timeout(Duration::from_mins(2)) {
        Ok(answer) => answer,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: it does not end"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let panic = worker.join().err().unwrap();
            let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            panic!("{what}: {text}")
        }
    }
}

fn copy(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).unwrap();
    }
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

fn refused(dir: &Path) -> Error {
    SqliteStore::open(dir, &Options::default()).expect_err("it is refused")
}

/// Two directories, `from` with an open store of so many entries, and `to` for copies of it.
fn store_of(entries: u64) -> (tempfile::TempDir, PathBuf, PathBuf, SqliteStore) {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    let store = open(&from);
    let claim = store.take(ShardId(0), "a").unwrap();
    for seq in 1..=entries {
        store.append(&claim, &[batch(vec![entry(seq, seq * 4, 0)])]).unwrap();
    }
    (dir, from, to, store)
}

#[test]
fn a_log_that_is_older_than_its_views_is_refused_and_nothing_is_thrown_away() {
    let (dir, from, to, store) = store_of(10);
    drop(store);
    let old = dir.path().join("old");
    copy(&from, &old);
    let store = open(&from);
    let claim = store.take(ShardId(0), "a").unwrap();
    store.append(&claim, &[batch(vec![entry(11, 44, 0), entry(12, 48, 0)])]).unwrap();
    store.checkpoint(&claim, 12, b"", &[]).unwrap();
    drop(store);
    // With its end mark, and without.
    for with_mark in [true, false] {
        copy(&from, &to);
        fs::copy(old.join("log.db"), to.join("log.db")).unwrap();
        if !with_mark {
            fs::copy(old.join("end"), to.join("end")).unwrap();
        }
        let views = fs::read(to.join("views.db")).unwrap();
        let told = refused(&to);
        assert!(matches!(told, Error::Lost { .. }), "{told:?}");
        let words = told.to_string();
        assert!(words.contains("entry 10") && words.contains("2 missing"), "{words}");
        assert_eq!(fs::read(to.join("views.db")).unwrap(), views);
        // The right log is put back, and all is well.
        fs::copy(from.join("log.db"), to.join("log.db")).unwrap();
        assert_eq!(open(&to).last(ShardId(0)).unwrap(), 12);
    }
}

#[test]
fn a_store_whose_log_is_gone_or_empty_is_not_taken_for_none() {
    let (dir, from, to, store) = store_of(10);
    drop(store);
    let backup = dir.path().join("backup");
    for (without, is_gone, left) in [
        (&[][..], true, "views.db"),
        (&[], false, "views.db"),
        (&["views.db", "views.db-wal", "views.db-shm"], true, "end"),
        (&["views.db", "views.db-wal", "views.db-shm"], false, "end"),
    ] {
        copy(&from, &to);
        for name in without.iter().chain(&["log.db", "log.db-wal", "log.db-shm"]) {
            let _: std::io::Result<()> = fs::remove_file(to.join(name));
        }
        if !is_gone {
            fs::write(to.join("log.db"), b"").unwrap();
        }
        for create in [false, true] {
            let told = SqliteStore::open(&to, &Options { create, ..Options::default() });
            let told = told.expect_err("it is refused");
            assert!(matches!(told, Error::Lost { .. }), "{told:?}");
            assert!(told.to_string().contains(&format!("{left} beside it is not")), "{told}");
        }
        if is_gone {
            assert!(matches!(sqlite::backup(&to, &backup), Err(Error::Lost { .. })));
            assert!(matches!(SqliteStore::look(&to), Err(Error::Lost { .. })));
        }
        assert!(to.join(left).exists());
        // Someone takes it for none.
        let lost = sqlite::accept_loss(&to).unwrap();
        assert!(lost.len() == 1 && lost[0].contains("nothing is there"), "{lost:?}");
        assert!(matches!(sqlite::accept_loss(&to), Err(Error::Missing { .. })));
        assert_eq!(open(&to).last(ShardId(0)).unwrap(), 0);
    }
}

#[test]
fn a_loss_that_is_accepted_is_told_once_and_its_places_stay_unused() {
    let (dir, from, _, store) = store_of(10);
    drop(store);
    assert_eq!(sqlite::accept_loss(&from).unwrap(), Vec::<String>::new());
    let old = dir.path().join("old");
    copy(&from, &old);
    let store = open(&from);
    let claim = store.take(ShardId(0), "a").unwrap();
    store.append(&claim, &[batch(vec![entry(11, 44, 0), entry(12, 48, 0)])]).unwrap();
    drop(store);
    fs::copy(old.join("log.db"), from.join("log.db")).unwrap();
    let lost = sqlite::accept_loss(&from).unwrap();
    assert!(lost.len() == 1 && lost[0].contains("2 missing"), "{lost:?}");
    assert_eq!(sqlite::accept_loss(&from).unwrap(), Vec::<String>::new());
    let store = open(&from);
    assert_eq!(store.entries(ShardId(0), 0, 99).unwrap().len(), 10);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    let claim = store.take(ShardId(0), "a").unwrap();
    assert!(store.append(&claim, &[batch(vec![entry(11, 44, 0)])]).is_err());
    store.append(&claim, &[batch(vec![entry(13, 52, 0)])]).unwrap();
}

#[test]
fn a_journal_that_was_deleted_or_garbled_after_a_crash_is_noticed_without_views() {
    let (_dir, from, to, store) = store_of(20);
    // What a killed process leaves.
    for damage in 0..3 {
        copy(&from, &to);
        for name in ["views.db", "views.db-wal", "views.db-shm", "log.db-shm"] {
            fs::remove_file(to.join(name)).unwrap();
        }
        let journal = to.join("log.db-wal");
        let mut bytes = fs::read(&journal).unwrap();
        match damage {
            0 => fs::remove_file(&journal).unwrap(),
            1 => fs::write(&journal, &bytes[..bytes.len() / 40]).unwrap(),
            _ => {
                bytes[32 + 24 + 100] ^= 1;
                fs::write(&journal, bytes).unwrap();
            }
        }
        let told = SqliteStore::open(&to, &Options { create: false, ..Options::default() });
        let told = told.expect_err("it is refused");
        assert!(matches!(told, Error::Lost { .. } | Error::Foreign { .. }), "{told:?}");
    }
    drop(store);
}

#[test]
fn entries_that_are_deleted_changed_or_added_behind_its_back_are_noticed() {
    for (how, sql) in [
        ("one is gone", "DELETE FROM log_0 WHERE seq = 4"),
        ("the last is gone", "DELETE FROM log_0 WHERE seq = 10"),
        (
            "one is new",
            "INSERT INTO log_0 SELECT 99, instance, previous, at, sum, body FROM log_0 WHERE seq = 3",
        ),
        ("one is another", "UPDATE log_0 SET body = x'00', sum = 7 WHERE seq = 4"),
        ("it moved", "UPDATE log_0 SET seq = 77 WHERE seq = 10"),
    ] {
        let (_dir, from, _, store) = store_of(10);
        drop(store);
        let connection = rusqlite::Connection::open(from.join("log.db")).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        let told = refused(&from);
        assert!(matches!(told, Error::Lost { .. }), "{how}: {told:?}");
    }
}

#[test]
fn a_file_that_is_damaged_is_not_written_anew_as_if_it_were_whole() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    run(&store, 100, 6, &mut |_, _| {}).unwrap();
    drop(store);
    let log = || rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    log().execute_batch("UPDATE resources SET body = CAST('torn' AS BLOB)").unwrap();
    let store = open(dir.path());
    let key = store.deployments(0).unwrap()[0].definitions[0].key;
    for done in [store.retire(&[key]), store.undeploy(&[key])] {
        let told = done.unwrap_err();
        let is_told = |reason: &str| reason.contains("a file of deployment 1");
        assert!(matches!(&told, Error::Corrupt { reason, .. } if is_told(reason)), "{told:?}");
    }
    drop(store);
    let body = log().query_row("SELECT body FROM resources", [], |it| it.get::<_, Vec<u8>>(0));
    assert_eq!(body.unwrap(), b"torn");
}

#[test]
fn entries_missing_from_the_middle_of_a_long_log_are_found_by_a_check() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let claim = store.take(ShardId(0), "a").unwrap();
    let all = (1..=9_000).map(|seq| entry(seq, seq * 4, 0)).collect();
    store.append(&claim, &[batch(all)]).unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    drop(store);
    let connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    connection.execute_batch("DELETE FROM log_0 WHERE seq = 400").unwrap();
    drop(connection);
    let store = open(dir.path());
    let found = store.check().unwrap();
    assert!(found.len() == 1 && found[0].contains("8999 entries are there"), "{found:?}");
}

#[test]
fn an_entry_whose_checksum_is_wrong_is_not_given_out_and_the_others_are() {
    let (_dir, from, _, store) = store_of(10);
    drop(store);
    let connection = rusqlite::Connection::open(from.join("log.db")).unwrap();
    connection.execute_batch("UPDATE log_0 SET body = x'01' WHERE seq = 4").unwrap();
    drop(connection);
    let store = open(&from);
    let found = store.entries(ShardId(0), 0, 99).unwrap();
    for it in found {
        if it.seq == 4 {
            let error = travertine_store::codec::record::decode_records(&it.body).unwrap_err();
            assert!(error.to_string().contains("checksum"), "{error}");
        } else {
            assert_eq!(it, entry(it.seq, it.seq * 4, 0));
        }
    }
}

#[test]
fn pages_in_each_others_place_are_noticed_and_reading_ends() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    run(&open(&from), 400, 60, &mut |_, _| {}).unwrap();
    let whole = open(&from).entries(ShardId(0), 0, usize::MAX).unwrap();
    let bytes = fs::read(from.join("log.db")).unwrap();
    let pages = bytes.len() / PAGE;
    let mut numbers = Numbers(1);
    for _ in 0..150 {
        let (one, other) = (1 + numbers.below(pages - 1), 1 + numbers.below(pages - 1));
        copy(&from, &to);
        let mut swapped = bytes.clone();
        swapped[one * PAGE..(one + 1) * PAGE]
            .copy_from_slice(&bytes[other * PAGE..(other + 1) * PAGE]);
        swapped[other * PAGE..(other + 1) * PAGE]
            .copy_from_slice(&bytes[one * PAGE..(one + 1) * PAGE]);
        fs::write(to.join("log.db"), &swapped).unwrap();
        let (dir, whole) = (to.clone(), whole.clone());
        within(&format!("pages {one} and {other}"), move || {
            let Ok(store) = SqliteStore::open(&dir, &Options::default()) else { return };
            let told = store.check().map_or(true, |it| !it.is_empty());
            let mut found = Vec::new();
            let mut after = 0;
            loop {
                let Ok(page) = store.entries(ShardId(0), after, 7) else { return };
                let Some(last) = page.last() else { break };
                after = last.seq;
                found.extend(page);
            }
            assert!(told || found == whole, "{} of {} entries", found.len(), whole.len());
        });
    }
}

const MODEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    targetNamespace="t"><process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process></definitions>"#;

fn at_rest() -> EngineOptions {
    let settings = Settings { at_rest: true, ..Settings::default() };
    EngineOptions { settings, create: false, shards: 1, ..EngineOptions::default() }
}

/// Every instance with its state and its variable.
type Seen = BTreeMap<u64, String>;

fn see(engine: &Engine) -> Result<Seen, EngineError> {
    let mut seen = Seen::new();
    let all = Query {
        table: Table::Instances,
        filters: vec![],
        descending: false,
        after: None,
        limit: 1_000,
    };
    for row in engine.query_now(&all)?.rows {
        let Row::Instance(row) = row else { continue };
        let look = engine.look(InstanceId(row.id)).wait()?;
        seen.insert(row.id, format!("{:?} {:?} {:?}", row.state, look.row.state, look.variables));
    }
    Ok(seen)
}

/// An engine with sixty instances, of which some have ended.
fn sixty(dir: &Path) -> Engine {
    let engine =
        Engine::open_with(dir, EngineOptions { shards: 1, ..EngineOptions::default() }).unwrap();
    engine.deploy(&[File { name: "p.bpmn".to_owned(), body: MODEL.into() }]).unwrap();
    for number in 0..60 {
        let id = engine.start("p").variable("x", number).wait().unwrap();
        if number % 4 == 0 {
            engine.cancel(id).wait().unwrap();
        }
    }
    engine
}

/// Does something to a file, the same in every run.
fn garble(path: &Path, numbers: &mut Numbers) -> String {
    let mut bytes = fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    if bytes.is_empty() {
        return format!("{name} is empty");
    }
    let at = numbers.below(bytes.len());
    let page = at / PAGE * PAGE;
    let end = (page + PAGE).min(bytes.len());
    let how = match numbers.below(6) {
        0 => {
            bytes.truncate(at);
            "cut"
        }
        1 => {
            bytes[page..end].fill(0);
            "zeroed"
        }
        2 => {
            for byte in bytes.iter_mut().skip(at).take(40) {
                *byte = 0x5a;
            }
            "overwritten"
        }
        3 => {
            let other = numbers.below(bytes.len()) / PAGE * PAGE;
            let length = PAGE.min(bytes.len() - page.max(other));
            let kept = bytes[page..page + length].to_vec();
            bytes.copy_within(other..other + length, page);
            bytes[other..other + length].copy_from_slice(&kept);
            "swapped"
        }
        _ => {
            bytes[at] ^= 1 << numbers.below(8);
            "flipped"
        }
    };
    fs::write(path, bytes).unwrap();
    format!("{name} {how} at {at}")
}

#[test]
fn whatever_is_done_to_its_files_nothing_is_lost_in_silence() {
    let dir = tempfile::tempdir().unwrap();
    let (live, closed, killed) =
        (dir.path().join("live"), dir.path().join("closed"), dir.path().join("killed"));
    let engine = sixty(&live);
    let whole = see(&engine).unwrap();
    assert_eq!(whole.len(), 60);
    copy(&live, &killed);
    engine.shutdown().unwrap();
    copy(&live, &closed);
    let mut numbers = Numbers(7);
    let mut outcomes = BTreeMap::<&str, usize>::new();
    for (from, name) in [
        (&closed, "log.db"),
        (&closed, "views.db"),
        (&closed, "end"),
        (&killed, "log.db"),
        (&killed, "log.db-wal"),
        (&killed, "views.db-wal"),
    ] {
        for round in 0..30 {
            let to = dir.path().join("to");
            copy(from, &to);
            let how = garble(&to.join(name), &mut numbers);
            let whole = whole.clone();
            let outcome = within(&how.clone(), move || {
                let engine = match Engine::open_with(&to, at_rest()) {
                    Ok(engine) => engine,
                    // Views are made again, whatever has become of them.
                    Err(error) => {
                        assert!(name.starts_with("log.db"), "{error}");
                        return "refused";
                    }
                };
                match (see(&engine), engine.verify()) {
                    (Ok(seen), Ok(verified)) if seen == whole => {
                        let log = name.starts_with("log.db");
                        assert!(log || verified.differences.is_empty() || name == "views.db");
                        "the same"
                    }
                    (seen, verified) => {
                        assert!(name.starts_with("log.db"), "{seen:?} {verified:?}");
                        let told = verified.is_err() || seen.is_err();
                        assert!(
                            told || !verified.unwrap().differences.is_empty(),
                            "lost in silence"
                        );
                        "told"
                    }
                }
            });
            println!("{how} ({round}): {outcome}");
            *outcomes.entry(outcome).or_default() += 1;
        }
    }
    assert!(outcomes["the same"] > 90, "{outcomes:?}");
}

#[test]
fn views_that_are_damaged_are_made_again_by_whoever_meets_the_damage() {
    let dir = tempfile::tempdir().unwrap();
    let (base, to) = (dir.path().join("base"), dir.path().join("to"));
    let engine = sixty(&base);
    let whole = see(&engine).unwrap();
    engine.shutdown().unwrap();
    let pages = fs::read(base.join("views.db")).unwrap().len() / PAGE;
    for page in 1..pages {
        copy(&base, &to);
        let mut bytes = fs::read(to.join("views.db")).unwrap();
        bytes[page * PAGE..(page + 1) * PAGE].fill(0);
        fs::write(to.join("views.db"), bytes).unwrap();
        let options = EngineOptions { create: false, ..EngineOptions::default() };
        let engine = Engine::open_with(&to, options).unwrap();
        let id = engine.start("p").wait().unwrap();
        engine.flush_now().unwrap();
        let mut seen = see(&engine).unwrap();
        assert!(seen.remove(&id.0).is_some());
        assert_eq!(seen, whole, "page {page}");
        engine.shutdown().unwrap();
        let engine = Engine::open_with(&to, at_rest()).unwrap();
        // What nobody has met yet is found by who looks at all of it, and is made again by then.
        let _: Result<_, _> = engine.verify();
        assert_eq!(engine.verify().unwrap().differences, [], "page {page}");
    }
}

#[test]
fn views_that_go_while_the_engine_runs_are_made_again_and_it_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let engine = sixty(dir.path());
    let whole = see(&engine).unwrap();
    for round in 0..2 {
        let connection = rusqlite::Connection::open(dir.path().join("views.db")).unwrap();
        // The tables themselves go, and come back.
        connection.execute_batch("DROP TABLE instances").unwrap();
        drop(connection);
        let id = engine.start("p").wait().unwrap();
        let mut seen = see(&engine).unwrap();
        assert!(seen.remove(&id.0).is_some(), "round {round}");
        engine.cancel(id).wait().unwrap();
        for (id, state) in &whole {
            assert_eq!(seen.get(id), Some(state));
        }
    }
    assert!(engine.store().rebuilt().is_some());
    assert_eq!(engine.verify().unwrap().differences, []);
    engine.shutdown().unwrap();
}
