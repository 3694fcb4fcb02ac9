//! The files of a store: who may read them, links, and files that go while they are open.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use travertine_store::{
    Error, ShardId, SqliteStore, Store as _,
    sqlite::{self, Options},
};
use travertine_testkit::store_suite::{batch, entry};

use super::open;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn only_the_owner_can_read_a_store_and_its_backups() {
    let dir = tempfile::tempdir().unwrap();
    let (new, copy) = (dir.path().join("a/new"), dir.path().join("copy"));
    let store = open(&new);
    let claim = store.take(ShardId(0), "a").unwrap();
    store.append(&claim, &[batch(vec![entry(1, 4, 0)])]).unwrap();
    store.checkpoint(&claim, 1, b"", &[]).unwrap();
    store.backup(&copy).unwrap();
    for dir in [&new, &copy] {
        assert_eq!(mode(dir), 0o700);
        for file in fs::read_dir(dir).unwrap() {
            let path = file.unwrap().path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
    drop(store);
    // One with wider rights is narrowed. The directory was someone's choice.
    for name in ["log.db", "views.db", "lock"] {
        fs::set_permissions(new.join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    let _store = open(&new);
    assert_eq!(mode(&new), 0o755);
    for file in fs::read_dir(&new).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_lock_that_is_a_link_is_refused_and_its_target_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, target) = (dir.path().join("store"), dir.path().join("target"));
    drop(open(&store));
    fs::write(&target, "precious").unwrap();
    fs::remove_file(store.join("lock")).unwrap();
    symlink(&target, store.join("lock")).unwrap();
    assert!(SqliteStore::open(&store, &Options::default()).is_err());
    assert_eq!(fs::read(&target).unwrap(), b"precious");
}

#[test]
fn what_links_beside_the_log_point_to_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, target) = (dir.path().join("store"), dir.path().join("target"));
    drop(open(&store));
    fs::write(&target, "precious").unwrap();
    for name in ["end", "turns", "reserve"] {
        drop(fs::remove_file(store.join(name)));
        symlink(&target, store.join(name)).unwrap();
    }
    let opened = open(&store);
    let claim = opened.take(ShardId(0), "a").unwrap();
    opened.note(ShardId(0), b"a turn");
    opened.append(&claim, &[batch(vec![entry(1, 4, 0)])]).unwrap();
    drop(opened);
    assert_eq!(fs::read(&target).unwrap(), b"precious");
}

#[test]
fn a_directory_that_may_not_be_looked_into_is_not_said_to_have_no_store() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "text").unwrap();
    let look = |at: &Path| SqliteStore::open(at, &Options { create: false, ..Options::default() });
    assert!(matches!(look(&file.join("store")), Err(Error::Missing { .. })), "a file has no store");
    assert!(matches!(look(&dir.path().join("none")), Err(Error::Missing { .. })));
    // Nobody may be refused where tests run as root; a name that is too long is.
    let told = look(&dir.path().join("x".repeat(300))).unwrap_err();
    assert!(matches!(told, Error::Failed { .. }), "{told}");
}

#[test]
fn a_file_where_a_store_should_be_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "text").unwrap();
    for create in [true, false] {
        let told = SqliteStore::open(&file, &Options { create, ..Options::default() }).unwrap_err();
        assert!(told.to_string().contains("it is a file"), "{told}");
    }
}

#[test]
fn a_log_that_is_removed_or_replaced_while_it_is_open_takes_nothing_more() {
    for replaced in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let claim = store.take(ShardId(0), "a").unwrap();
        store.append(&claim, &[batch(vec![entry(1, 4, 0)])]).unwrap();
        let log = dir.path().join("log.db");
        fs::rename(&log, dir.path().join("away.db")).unwrap();
        if replaced {
            fs::write(&log, "").unwrap();
        }
        let told = store.append(&claim, &[batch(vec![entry(2, 4, 1)])]);
        assert!(matches!(told, Err(Error::Poisoned { .. })), "{told:?}");
    }
}

#[test]
fn a_copy_does_not_go_into_the_store_itself() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    for to in [dir.path().to_owned(), dir.path().join("copy"), dir.path().join("x/../y")] {
        let told = sqlite::backup(dir.path(), &to).unwrap_err();
        assert!(matches!(told, Error::Failed { .. }), "{told:?}");
        assert!(!dir.path().join("copy").exists() && !dir.path().join("y").exists());
    }
}

#[test]
fn a_store_can_be_looked_at_by_a_copy_that_goes_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let claim = store.take(ShardId(0), "a").unwrap();
    store.append(&claim, &[batch(vec![entry(1, 4, 0)])]).unwrap();
    // Someone else has it.
    assert!(matches!(SqliteStore::look(dir.path()), Err(Error::InUse { .. })));
    drop(store);
    let before = fs::read(dir.path().join("log.db")).unwrap();
    // The copy can be written, whatever rights the store has.
    for name in ["log.db", "views.db", "end"] {
        fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(0o400)).unwrap();
    }
    let mine = format!("travertine-look-{}-", std::process::id());
    let copies = || {
        let all = fs::read_dir(std::env::temp_dir()).unwrap().map(|it| it.unwrap().path());
        all.filter(|it| it.file_name().unwrap().to_string_lossy().starts_with(&mine))
    };
    let look = SqliteStore::look(dir.path()).unwrap();
    for file in copies().flat_map(|it| fs::read_dir(it).unwrap()) {
        let mode = file.unwrap().metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o600, 0o600, "{mode:o}");
    }
    assert_eq!(look.entries(ShardId(0), 0, 9).unwrap(), [entry(1, 4, 0)]);
    look.take(ShardId(0), "looks").unwrap();
    drop(look);
    assert_eq!(fs::read(dir.path().join("log.db")).unwrap(), before);
    assert_eq!(copies().count(), 0);
}

#[test]
fn a_backup_below_a_file_says_so() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(&dir.path().join("store")));
    fs::write(dir.path().join("file"), "text").unwrap();
    let to = dir.path().join("file/copy");
    let told = sqlite::backup(&dir.path().join("store"), &to).unwrap_err().to_string();
    assert!(told.contains("file is a file"), "{told}");
}
