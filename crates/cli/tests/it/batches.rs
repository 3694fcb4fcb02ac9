//! `travertine batches`: the same with many instances, also through kills of whoever does it.
//!
//! `TRAVERTINE_BATCH` says how many instances the killed one has, and `TRAVERTINE_KILLS` how often it is killed.

use std::env;

use travertine_runtime::{
    Engine, InstanceId,
    engine::{File, Options},
};
use travertine_store::record::Record;
use travertine_value::Value;

use super::{
    killed::Serves,
    model,
    store::{Store, list, text},
};

fn setting(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

const WAIT: &str = r#"<process id="wait" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="a" sourceRef="s" targetRef="it"/>
    <userTask id="it"/><sequenceFlow id="b" sourceRef="it" targetRef="then"/>
    <userTask id="then"/></process>"#;

/// A store with so many instances, of which each hundredth is suspended.
fn filled(count: u64, shards: u16) -> (Store, Vec<InstanceId>) {
    let store = Store::empty();
    let engine = Engine::open_with(store.data(), Options { shards, ..Options::default() });
    let engine = engine.unwrap();
    let body = model(WAIT).into_bytes();
    engine.deploy(&[File { name: "wait.bpmn".to_owned(), body }]).unwrap();
    let begun: Vec<_> = (0..count).map(|_| engine.start("wait").begin()).collect();
    let all: Vec<InstanceId> = begun.into_iter().map(|it| it.wait().unwrap().0).collect();
    for id in all.iter().step_by(100) {
        engine.suspend(*id).wait().unwrap();
    }
    engine.shutdown().unwrap();
    (store, all)
}

fn number(of: &Value, field: &str) -> i64 {
    of.field(field).and_then(Value::as_i64).unwrap_or_else(|| panic!("{field} in {of}"))
}

#[test]
fn a_batch_is_counted_done_and_told_of() {
    let (store, _) = filled(120, 1);
    let counted = store.json(&["batches", "begin", "suspend", "--definition", "wait", "--dry-run"]);
    assert_eq!(number(&counted, "count"), 120);
    let said = store.text(&[
        "batches",
        "begin",
        "set",
        "--definition",
        "wait",
        "--state",
        "running",
        "--var",
        "a=7",
    ]);
    assert_eq!(said, "batch 121, set: completed, 118 of 118: 118 done, 0 refused, 0 gone\n");
    let called = store.call(&["batch", "begin", "suspend", "--definition", "wait"]);
    assert_eq!(called.status, 1, "{}{}", called.out, called.err);
    assert!(called.out.contains("118 done, 2 refused"), "{}", called.out);
    assert!(called.out.contains("is suspended, resume it first"), "{}", called.out);
    let all = list(&store.json(&["batches"]), "batches");
    assert_eq!(all.iter().map(|it| text(it, "batch")).collect::<Vec<_>>(), ["122", "121"]);
    let shown = store.json(&["batches", "show", "122", "--outcome", "refused"]);
    assert_eq!(list(&shown, "items").len(), 2);
    // What is paused can be ended, and forgotten then.
    store.text(&["batches", "begin", "resume", "--definition", "wait", "--paused"]);
    let why = store.refusal(&["batches", "forget", "123"]);
    assert!(why.contains("cancel it first"), "{why}");
    let paused = store.text(&["batches", "show", "123", "--limit", "1"]);
    assert!(paused.starts_with("batch 123, resume: paused, 0 of 120"), "{paused}");
    store.text(&["batches", "cancel", "123"]);
    store.text(&["batches", "forget", "123"]);
    assert_eq!(list(&store.json(&["batches"]), "batches").len(), 2);
    let listed = list(&store.json(&["instances", "--limit", "200"]), "instances");
    assert_eq!(listed.len(), 120, "batches are not among the instances");
    for (args, says) in [
        (&["cancel"][..], "--all means all"),
        (&["cancel", "--all", "--var", "a=1"], "--var is not for this operation"),
        (&["migrate", "--definition", "wait"], "--to VERSION"),
        (&["migrate", "--definition", "wait", "--to", "9"], "wait version 9"),
        (&["delete", "--definition", "wait"], "no instance matches"),
    ] {
        let why = store.refusal(&[&["batches", "begin"][..], args].concat());
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn a_batch_survives_kills_does_nothing_twice_and_reports_each_failure() {
    let (count, kills) = (setting("TRAVERTINE_BATCH", 300), setting("TRAVERTINE_KILLS", 3));
    let (store, all) = filled(count, 2);
    let mut serves = Serves::on(&store.data());
    // A job is done at once, and told of when its share of a second is over: a kill is nearly always in between.
    let pace = (count / 2).to_string();
    let begun = store.json(&[
        "batches",
        "begin",
        "modify",
        "--definition",
        "wait",
        "--move",
        "it:then",
        "--per-second",
        &pace,
    ]);
    let batch = text(&begun, "batch");
    let show =
        || store.json(&["batches", "show", &batch, "--outcome", "refused", "--limit", "10000"]);
    let mut seen = 0;
    for _ in 0..kills {
        while seen < i64::try_from(count).unwrap() {
            let now = number(&show(), "seen");
            if std::mem::replace(&mut seen, now) < now {
                break;
            }
        }
        drop(serves);
        serves = Serves::on(&store.data());
    }
    let over = loop {
        let found = show();
        if found.field("ended").is_some_and(|it| !matches!(it, Value::Null)) {
            break found;
        }
    };
    drop(serves);
    let suspended = count.div_ceil(100);
    let is = |field: &str| u64::try_from(number(&over, field)).unwrap();
    assert_eq!((is("total"), is("done"), is("refused")), (count, count - suspended, suspended));
    assert_eq!(list(&over, "items").len() as u64, suspended.min(10_000));
    let engine = Engine::open(store.data()).unwrap();
    let by = Record::By { who: format!("batch {batch}").into() };
    for (at, id) in all.iter().enumerate() {
        let history = engine.history(*id).unwrap();
        let records = history.steps.iter().flat_map(|it| &it.records);
        let times = records.filter(|it| **it == by).count();
        assert_eq!(times, usize::from(at % 100 > 0), "instance {id}");
    }
    assert_eq!(engine.verify().unwrap().differences, []);
    engine.shutdown().unwrap();
}
