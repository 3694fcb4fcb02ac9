//! What only the embedded store can be asked: damage, foreign files, copies, room.

use std::{cell::Cell, fs, path::Path};
use travertine_store::InstanceId;

use travertine_store::{
    Error, Fold, ShardId, SqliteStore, Store as _,
    sqlite::{self, Options},
    view::{Change, Row},
};
use travertine_testkit::store_suite::{
    batch, entry,
    load::{Acknowledged, run, verify},
    rows,
};

use super::open;

fn loaded(dir: &Path, batches: u64) -> Acknowledged {
    let mut acknowledged = Acknowledged::default();
    let mut hear = |what: &str, number: u64| acknowledged.hear(&format!("{what} {number}"));
    run(&open(dir), 300, batches, &mut hear).unwrap();
    acknowledged
}

#[test]
fn everything_is_there_when_it_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let first = loaded(dir.path(), 30);
    verify(&open(dir.path()), &first);
    let second = loaded(dir.path(), 30);
    assert_eq!(second.append, 2 * first.append);
    verify(&open(dir.path()), &second);
}

#[test]
fn a_store_keeps_its_number_of_shards_and_its_epochs() {
    let dir = tempfile::tempdir().unwrap();
    let options = |shards| Options { shards, ..Options::default() };
    let store = SqliteStore::open(dir.path(), &options(7)).unwrap();
    let first = store.take(ShardId(6), "a").unwrap();
    drop(store);
    let store = SqliteStore::open(dir.path(), &options(2)).unwrap();
    assert_eq!(store.shards(), 7);
    assert!(store.take(ShardId(6), "b").unwrap().epoch > first.epoch);
}

#[test]
fn the_end_of_the_log_is_known_although_its_entries_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let claim = store.take(ShardId(0), "a").unwrap();
    store.append(&claim, &[batch(vec![entry(1, 4, 0), entry(2, 4, 1)])]).unwrap();
    store.fold(&claim, &[Fold { last: 2, entry: None }]).unwrap();
    drop(store);
    assert_eq!(open(dir.path()).last(ShardId(0)).unwrap(), 2);
}

/// How much of a journal was written, in whole pages behind its head; the rest is room.
fn written(journal: &[u8]) -> u64 {
    const HEAD: usize = 32;
    const PAGE: usize = 24 + 4096;
    let Some(behind) = journal.get(HEAD..) else { return 0 };
    let last = behind.chunks(PAGE).rposition(|it| it != &[0; PAGE][..it.len()]);
    (HEAD + last.map_or(0, |it| it + 1) * PAGE) as u64
}

#[test]
fn a_torn_journal_gives_whole_batches_up_to_where_it_is_torn() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("store");
    let store = open(&from);
    let journal = from.join("log.db-wal");
    let ends = Cell::new(Vec::new());
    let mut hear = |what: &str, number: u64| {
        if what == "append" {
            let mut all = ends.take();
            all.push((number, written(&fs::read(&journal).unwrap())));
            ends.set(all);
        }
    };
    run(&store, 300, 14, &mut hear).unwrap();
    let ends = ends.take();
    let mut whole = fs::read(&journal).unwrap();
    let length = written(&whole);
    // Behind that it has room to go on.
    whole.truncate(usize::try_from(length).unwrap() + 10_000);
    let begin = ends[0].1;
    let to = dir.path().join("torn");
    let check = |torn: &[u8], good: u64, how: &str| {
        fs::create_dir_all(&to).unwrap();
        fs::copy(from.join("log.db"), to.join("log.db")).unwrap();
        fs::write(to.join("log.db-wal"), torn).unwrap();
        let acknowledged = ends.iter().rev().find(|it| it.1 <= good).unwrap().0;
        let torn = open(&to);
        verify(&torn, &Acknowledged { append: acknowledged, ..Acknowledged::default() });
        assert!(torn.last(ShardId(0)).unwrap() <= ends.last().unwrap().0);
        // It can be written again.
        run(&torn, 50, 2, &mut |_, _| {}).unwrap();
        drop(torn);
        fs::remove_dir_all(&to).unwrap();
        println!("{how} at {good}: {acknowledged}");
    };
    for cut in (begin..length).step_by(4_999).chain([length - 1, length, length + 9_000]) {
        let at = usize::try_from(cut).unwrap();
        check(&whole[..at], cut, "cut");
        let mut garbled = whole.clone();
        for byte in garbled.iter_mut().skip(at).take(13) {
            *byte = !*byte;
        }
        check(&garbled, cut, "garbled");
    }
}

#[test]
fn a_log_of_limited_size_is_full_and_takes_more_when_something_goes() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { log_bytes_max: Some(300_000), ..Options::default() };
    let store = SqliteStore::open(dir.path(), &options).unwrap();
    let claim = store.take(ShardId(0), "a").unwrap();
    let big = |seq| {
        let mut it = entry(seq, seq * 4, 0);
        it.body = vec![9; 50_000];
        batch(vec![it])
    };
    let full =
        (1..20).find_map(|seq| store.append(&claim, &[big(seq)]).err().map(|error| (seq, error)));
    let (seq, error) = full.unwrap();
    assert!(matches!(error, Error::Full { .. }), "{error:?}");
    assert_eq!(store.last(ShardId(0)).unwrap(), seq - 1);
    assert!(matches!(store.append(&claim, &[big(seq)]), Err(Error::Full { .. })));
    assert_eq!(store.entries(ShardId(0), 0, 99).unwrap().len() as u64, seq - 1);
    store.fold(&claim, &[Fold { last: 1, entry: None }]).unwrap();
    store.append(&claim, &[big(seq)]).unwrap();
}

#[test]
fn what_no_column_can_hold_is_refused_and_does_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let claim = store.take(ShardId(0), "a").unwrap();
    let refused = store.append(&claim, &[batch(vec![entry(1, 4, 0), entry(2, u64::MAX, 0)])]);
    assert!(matches!(refused, Err(Error::Failed { .. })), "{refused:?}");
    store.append(&claim, &[batch(vec![entry(1, 4, 0)])]).unwrap();
    assert_eq!(store.entries(ShardId(0), 0, 9).unwrap(), [entry(1, 4, 0)]);
}

#[test]
fn what_is_no_store_of_ours_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |dir: &Path, create| {
        let options = Options { create, ..Options::default() };
        match SqliteStore::open(dir, &options) {
            Err(Error::Foreign { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    let nowhere = dir.path().join("nowhere");
    let options = Options { create: false, ..Options::default() };
    let missing = SqliteStore::open(&nowhere, &options);
    assert!(matches!(missing, Err(Error::Missing { .. })), "{missing:?}");
    assert!(!nowhere.exists());

    let text = dir.path().join("text");
    fs::create_dir(&text).unwrap();
    fs::write(text.join("log.db"), "this is not a database, but a text of some length").unwrap();
    assert_eq!(refused(&text, true), "it is not a database");

    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    let connection = rusqlite::Connection::open(other.join("log.db")).unwrap();
    connection.execute_batch("CREATE TABLE theirs(a)").unwrap();
    drop(connection);
    assert_eq!(refused(&other, true), "it is a database of something else");

    let newer = dir.path().join("newer");
    drop(open(&newer));
    let connection = rusqlite::Connection::open(newer.join("log.db")).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    assert!(refused(&newer, true).contains("format 99"));
}

#[test]
fn damaged_pages_are_told() {
    let dir = tempfile::tempdir().unwrap();
    loaded(dir.path(), 300);
    let path = dir.path().join("log.db");
    let mut bytes = fs::read(&path).unwrap();
    // All but the first pages, which say what the database is.
    for byte in bytes.iter_mut().skip(30 * 4096) {
        *byte = 0x5a;
    }
    fs::write(&path, bytes).unwrap();
    let found = SqliteStore::open(dir.path(), &Options::default())
        .and_then(|store| store.entries(ShardId(0), 0, usize::MAX));
    assert!(matches!(found, Err(Error::Corrupt { .. })), "{found:?}");
}

#[test]
fn views_that_cannot_be_used_are_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let views = dir.path().join("views.db");
    let with_row = || {
        let store = open(dir.path());
        let claim = store.take(ShardId(0), "a").unwrap();
        let upto = store.last(ShardId(0)).unwrap();
        let row = Change::Put(Row::Instance(rows::instance(4)));
        store.checkpoint(&claim, upto, b"x", &[row]).unwrap();
    };
    let empty = || {
        let store = open(dir.path());
        store.instance(InstanceId(4)).unwrap().is_none()
            && store.checkpointed(ShardId(0)).unwrap().0 == 0
    };
    loaded(dir.path(), 3);
    with_row();
    assert!(!empty());
    // Damaged ones.
    fs::write(&views, "nothing that makes sense, but long enough to look like something").unwrap();
    assert!(empty());
    // None at all.
    with_row();
    fs::remove_file(&views).unwrap();
    assert!(empty());
    // Those of another version.
    with_row();
    let connection = rusqlite::Connection::open(&views).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    assert!(empty());
    // Those of another store, and those that know more than the log.
    with_row();
    let other = tempfile::tempdir().unwrap();
    loaded(other.path(), 9);
    fs::copy(&views, other.path().join("views.db")).unwrap();
    assert!(open(other.path()).instance(InstanceId(4)).unwrap().is_none());
    let connection = rusqlite::Connection::open(&views).unwrap();
    connection.execute("UPDATE checkpoints SET upto = 1000", []).unwrap();
    drop(connection);
    assert!(empty());
}

#[test]
fn a_copy_opens_like_the_original_and_goes_its_own_way() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    let acknowledged = loaded(&from, 30);
    let store = open(&from);
    store.backup(&to).unwrap();
    let copy = open(&to);
    verify(&copy, &Acknowledged { checkpoint: 0, ..acknowledged });
    assert_eq!(copy.checkpointed(ShardId(0)).unwrap().0, 0);
    run(&copy, 300, 5, &mut |_, _| {}).unwrap();
    verify(&store, &acknowledged);
    // Nothing is overwritten, and nothing is copied from nowhere.
    assert!(matches!(store.backup(&to), Err(Error::Failed { .. })));
    let nowhere = sqlite::backup(&dir.path().join("nowhere"), &dir.path().join("copy"));
    assert!(matches!(nowhere, Err(Error::Missing { .. })));
}

#[test]
fn room_that_nothing_uses_is_told_and_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let claim = store.take(ShardId(0), "a").unwrap();
    let mut big = entry(1, 4, 0);
    big.body = vec![1; 2_000_000];
    store.append(&claim, &[batch(vec![big, entry(2, 8, 0)])]).unwrap();
    store.fold(&claim, &[Fold { last: 1, entry: None }]).unwrap();
    let (_, free) = store.size().unwrap();
    assert!(free > 1_900_000, "{free}");
    store.compact().unwrap();
    let (size, free) = store.size().unwrap();
    assert_eq!(free, 0);
    assert!(size < 500_000, "{size}");
    assert_eq!(store.entries(ShardId(0), 0, 9).unwrap(), [entry(2, 8, 0)]);
}

#[test]
fn the_journal_has_room_ahead_of_what_is_written_also_after_it_was_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let claim = store.take(ShardId(0), "a").unwrap();
    let room = || {
        let journal = fs::read(dir.path().join("log.db-wal")).unwrap();
        journal.len() as u64 - written(&journal)
    };
    let append = |seqs: std::ops::Range<u64>| {
        for seq in seqs {
            store.append(&claim, &[batch(vec![entry(seq, seq * 4, 0)])]).unwrap();
            assert!(room() > 100_000, "after entry {seq}");
        }
    };
    append(1..600);
    store.compact().unwrap();
    append(600..650);
}

#[test]
fn the_journal_of_a_busy_log_stays_short() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    run(&store, 100_000, 400, &mut |_, _| {}).unwrap();
    let journal = fs::metadata(dir.path().join("log.db-wal")).unwrap().len();
    let log = fs::metadata(dir.path().join("log.db")).unwrap().len();
    // It begins anew while it is written: without that it would be as long as everything together.
    assert!(journal < 60_000_000 && log > 60_000_000, "{journal} {log}");
}
