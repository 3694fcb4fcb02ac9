//! Embedded stores made by every version can be opened by this one.
//!
//! A store is kept as the SQL that makes its databases: SQLite promises to read its own files for ever, so
//! the tables are what is ours. `TRAVERTINE_GOLDEN=write` writes a format that is still new.

#![expect(clippy::unwrap_used, reason = "these are helpers of tests")]

use std::{fmt::Write as _, fs, path::PathBuf};
use travertine_store::InstanceId;

use rusqlite::Connection;
use travertine_store::{
    Batch, DefinitionKey, Deployed, Deployment, Entry, Fold, Mail, MailId, Resource, ShardId,
    SqliteStore, Store, sqlite::Options,
};
use travertine_value::{Name, time::Timestamp};

const VERSIONS: [&str; 3] = ["v1", "v2", "v3"];
/// The tables of the newest views, which are made again where they are older.
const VIEWS: &str = "views-v5";

fn golden(version: &str) -> PathBuf {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stores");
    PathBuf::from(dir).join(format!("{version}.sql"))
}

fn entry(seq: u64, instance: u64, previous: u64) -> Entry {
    Entry {
        seq,
        instance: InstanceId(instance),
        previous,
        at: Timestamp::from_millis(1_790_000_000_000),
        body: vec![1, 2, 255],
    }
}

fn mail(number: u64) -> Mail {
    Mail { id: MailId { from: ShardId(1), number }, to: ShardId(0), body: vec![7] }
}

fn deployment() -> Deployment {
    let definition = |key: u64, id: &str| Deployed {
        key: DefinitionKey(key),
        id: Name::from(id),
        version: 1,
        tag: Some(Name::from("stable")),
        resource: 0,
        removed: false,
        retired: false,
    };
    Deployment {
        number: 1,
        at: Timestamp::from_millis(5),
        resources: vec![Resource { name: String::from("a.bpmn"), body: b"<a/>".to_vec() }],
        definitions: vec![definition(1, "order"), definition(2, "refund")],
    }
}

fn fill(store: &dyn Store) {
    let zero = store.take(ShardId(0), "zero").unwrap();
    let one = store.take(ShardId(1), "one").unwrap();
    let entries = vec![entry(1, 2, 0), entry(2, 2, 1), entry(3, 4, 0)];
    let write = |claim, entries, sent, taken| {
        store.append(&claim, &[Batch { entries, sent, taken }]).unwrap();
    };
    write(zero, entries, vec![], vec![]);
    write(one, vec![entry(1, 3, 0)], vec![mail(1), mail(2)], vec![]);
    write(zero, vec![], vec![], vec![mail(1).id]);
    store.fold(&zero, &[Fold { last: 3, entry: None }]).unwrap();
    store.deploy(&deployment()).unwrap();
    store.undeploy(&[DefinitionKey(2)]).unwrap();
}

fn check(store: &dyn Store) {
    assert_eq!(store.shards(), 2);
    let entries = |shard| store.entries(ShardId(shard), 0, 99).unwrap();
    assert_eq!(entries(0), [entry(1, 2, 0), entry(2, 2, 1)]);
    assert_eq!(entries(1), [entry(1, 3, 0)]);
    assert_eq!(store.last(ShardId(0)).unwrap(), 3);
    assert_eq!(store.inbox(ShardId(0), &[], usize::MAX).unwrap(), [mail(2)]);
    let mut expected = deployment();
    expected.definitions[1].removed = true;
    assert_eq!(store.deployments(0).unwrap(), [expected]);
    assert_eq!(store.mailed().unwrap(), [0, 2]);
    assert_eq!(store.take(ShardId(0), "next").unwrap().epoch, 2);
}

/// All that makes a database what it is, as SQL.
fn dump(connection: &Connection, with_rows: bool) -> String {
    let mut sql = String::new();
    for name in ["page_size", "auto_vacuum", "application_id", "user_version"] {
        let value: i64 = connection.pragma_query_value(None, name, |row| row.get(0)).unwrap();
        writeln!(sql, "PRAGMA {name} = {value};").unwrap();
    }
    let objects: Vec<(String, String, String)> = connection
        .prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for (kind, name, text) in objects {
        let words: Vec<&str> = text.split_whitespace().collect();
        writeln!(sql, "{};", words.join(" ")).unwrap();
        if kind == "table" && with_rows {
            let statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
            let places: Vec<String> =
                statement.column_names().map(|column| format!("quote({column})")).collect();
            let text = format!("SELECT {} FROM {name}", places.join(" || ', ' || "));
            let mut statement = connection.prepare(&text).unwrap();
            let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            for row in rows {
                writeln!(sql, "INSERT INTO {name} VALUES({});", row.unwrap()).unwrap();
            }
        }
    }
    sql
}

#[test]
fn stores_of_every_version_are_opened() {
    if std::env::var("TRAVERTINE_GOLDEN").is_ok_and(|it| it == "write") {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { shards: 2, ..Options::default() };
        fill(&SqliteStore::open(dir.path(), &options).unwrap());
        let connection = Connection::open(dir.path().join("log.db")).unwrap();
        let newest = VERSIONS.last().unwrap();
        fs::write(golden(newest), dump(&connection, true)).unwrap();
    }
    for version in VERSIONS {
        let dir = tempfile::tempdir().unwrap();
        let connection = Connection::open(dir.path().join("log.db")).unwrap();
        connection.pragma_update(None, "synchronous", "off").unwrap();
        connection.execute_batch(&fs::read_to_string(golden(version)).unwrap()).unwrap();
        drop(connection);
        let options = Options { create: false, ..Options::default() };
        let store = SqliteStore::open(dir.path(), &options).unwrap();
        check(&store);
        let claim = store.take(ShardId(0), "writes").unwrap();
        let batch = Batch { entries: vec![entry(4, 2, 2)], ..Batch::default() };
        store.append(&claim, &[batch]).unwrap();
    }
}

#[test]
fn a_new_store_has_the_tables_of_its_version() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { shards: 2, ..Options::default() };
    drop(SqliteStore::open(dir.path(), &options).unwrap());
    let newest = VERSIONS.last().unwrap();
    let connect = |name: &str| Connection::open(dir.path().join(name)).unwrap();
    let views = dump(&connect("views.db"), false);
    if std::env::var("TRAVERTINE_GOLDEN").is_ok_and(|it| it == "write") {
        fs::write(golden(VIEWS), views).unwrap();
        return;
    }
    let old = connect("golden.db");
    old.pragma_update(None, "synchronous", "off").unwrap();
    old.execute_batch(&fs::read_to_string(golden(newest)).unwrap()).unwrap();
    // Whoever changes a table gives the format a new number.
    assert_eq!(dump(&connect("log.db"), false), dump(&old, false));
    assert_eq!(views, fs::read_to_string(golden(VIEWS)).unwrap());
}

#[test]
fn a_deployment_that_is_lost_whole_is_missed() {
    for lost in [
        &["DELETE FROM deployments WHERE number = 2"][..],
        &[
            "DELETE FROM deployments WHERE number = 2",
            "DELETE FROM resources WHERE deployment = 2",
            "DELETE FROM definitions WHERE deployment = 2",
        ],
        &["DELETE FROM deployments WHERE number = 3"],
    ] {
        let dir = tempfile::tempdir().unwrap();
        let open = || SqliteStore::open(dir.path(), &Options::default()).unwrap();
        let store = open();
        for number in 1..=3 {
            let mut it = deployment();
            it.number = number;
            for definition in &mut it.definitions {
                definition.key.0 += number * 10;
                definition.version = u32::try_from(number).unwrap();
            }
            store.deploy(&it).unwrap();
        }
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
        store.undeploy(&[DefinitionKey(11), DefinitionKey(12)]).unwrap();
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
        drop(store);
        let log = Connection::open(dir.path().join("log.db")).unwrap();
        for it in lost {
            log.execute(it, []).unwrap();
        }
        drop(log);
        let found = open().check().unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("was stored and is not there"), "{found:?}");
    }
}
