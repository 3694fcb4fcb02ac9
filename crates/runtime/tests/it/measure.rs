//! What the engine counts about itself, as data.

use std::time::Duration;

use travertine_runtime::{
    Engine, Error, Timestamp,
    engine::{ManualClock, Metrics, Options, Pace},
};

use crate::world::file;

const PROCESS: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><serviceTask id="t" tv:jobType="work"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#;

fn options() -> Options {
    // Rows are stored when someone asks, and not before.
    let pace = Pace { changed: 1_000, interval: Duration::from_hours(1), changed_max: 10_000 };
    let clock = std::sync::Arc::new(ManualClock::new(Timestamp::from_millis(1_000)));
    Options { shards: 1, pace, clock, ..Options::default() }
}

#[test]
fn each_count_changes_for_its_reason() {
    let engine = Engine::in_memory(options()).expect("it opens");
    engine.deploy(&[file("p.bpmn", PROCESS)]).expect("is fine");
    engine.flush_now().expect("there is room");
    let before = engine.metrics();
    let id = engine.start("p").variable("x", 1).wait().expect("starts");
    let started = engine.metrics();
    assert_eq!(started.requests, before.requests + 1);
    assert_eq!(started.entries, before.entries + 1, "a turn is one entry");
    assert_eq!(started.batches, before.batches + 1);
    assert!(started.events > before.events);
    assert!(started.bytes > before.bytes);
    assert!(started.batch_max >= 1);
    assert!(started.append_nanos >= before.append_nanos);
    assert!(started.append_nanos_max <= started.append_nanos);
    assert_eq!(started.view_lag, before.view_lag + 1, "its rows are not stored");
    assert_eq!((started.checkpoints, started.rows), (before.checkpoints, before.rows));
    assert_eq!((before.jobs, started.jobs), (0, 1));
    engine.flush_now().expect("there is room");
    let flushed = engine.metrics();
    assert_eq!(flushed.checkpoints, started.checkpoints + 1);
    assert!(flushed.rows > started.rows);
    assert_eq!(flushed.view_lag, 0);
    assert_eq!(flushed.in_memory, 1);
    assert!(flushed.checkpoint_nanos >= started.checkpoint_nanos);
    engine.why(id).wait().expect("it can say why");
    let asked = engine.metrics();
    assert_eq!(asked.requests, flushed.requests + 1);
    let unchanged = |it: Metrics| (it.entries, it.batches, it.bytes, it.events, it.checkpoints);
    assert_eq!(unchanged(asked), unchanged(flushed), "questions write nothing");
    engine.cancel(id).wait().expect("it runs");
    assert_eq!(engine.metrics().jobs, 0);
    assert_eq!((asked.refused, asked.stalls, asked.waiting), (0, 0, 0));
}

#[test]
fn what_is_refused_for_too_much_that_waits_is_counted() {
    let engine = Engine::in_memory(Options { requests_max: 0, ..options() }).expect("it opens");
    engine.deploy(&[file("p.bpmn", PROCESS)]).expect("is fine");
    let before = engine.metrics();
    let refused = engine.start("p").wait();
    assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
    let after = engine.metrics();
    assert_eq!((after.refused, after.requests), (before.refused + 1, before.requests));
}
