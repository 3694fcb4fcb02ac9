//! Tests: what has ended, before its rows are stored.

use std::time::Duration;

use travertine_kernel::{Assignments, Ending, Instance, Rejection, WaitId};
use travertine_value::Value;

use crate::{
    Address, Engine, Error, InstanceId,
    engine::{Options, Pace, one_task},
    request::{GlanceRequest, IsInMemoryRequest, RetireRequest},
};

/// An engine that stores no rows of its own accord.
fn engine() -> Engine {
    let pace = Pace { interval: Duration::MAX, changed: usize::MAX, ..Pace::default() };
    let engine = Engine::in_memory(Options { shards: 1, pace, ..Options::default() }).unwrap();
    engine.deploy(&[one_task()]).unwrap();
    engine
}

fn brought() -> Assignments {
    vec![("n".into(), Value::from(1_i64))]
}

/// An instance that has ended.
fn end(engine: &Engine, name: &str) -> Address {
    let instance = engine.start("p").id(name).wait().unwrap();
    let wait: WaitId = *state(engine, instance).waits.keys().next().unwrap();
    engine.complete(Address { instance, wait }, brought()).wait().unwrap();
    Address { instance, wait }
}

fn is_in_memory(engine: &Engine, instance: InstanceId) -> bool {
    engine.ask(IsInMemoryRequest { instance }).wait().unwrap()
}

fn state(engine: &Engine, id: InstanceId) -> Instance {
    engine.look(id).wait().unwrap().state
}

#[test]
fn what_has_ended_gives_up_its_room_and_can_still_be_asked() {
    let engine = engine();
    let task = end(&engine, "mine");
    assert!(!is_in_memory(&engine, task.instance));
    assert!(engine.store().instance(task.instance).unwrap().is_none(), "no row is stored yet");
    let again = engine.complete(task, Vec::new()).wait();
    assert_eq!(again, Err(Error::Rejected(Rejection::Ended)));
    let ended = engine.result(task.instance).wait().unwrap();
    assert_eq!((ended.ending, ended.variables), (Ending::Completed, brought()));
    assert_eq!(engine.start("p").id("mine").wait(), Ok(task.instance));
}

#[test]
fn what_is_left_is_what_the_log_says() {
    let engine = engine();
    let (asked, other) = (end(&engine, "asked").instance, end(&engine, "other").instance);
    let before = state(&engine, asked);
    engine.flush_now().unwrap();
    assert_eq!(before, engine.history(asked).unwrap().state_at(u64::MAX));
    for id in [asked, other] {
        let row = engine.store().instance(id).unwrap().unwrap();
        assert_eq!(row.result.as_deref(), Some(r#"{"n":1}"#));
    }
    assert!(engine.verify().unwrap().differences.is_empty());
    // Names that are only in the views now are found there.
    assert_eq!(engine.start("p").id("other").wait(), Ok(other));
}

#[test]
fn what_is_forgotten_does_not_come_back_with_its_row() {
    let engine = engine();
    let instance = end(&engine, "mine").instance;
    let last = engine.ask(GlanceRequest {}).wait().unwrap().seq;
    assert_eq!(engine.ask(RetireRequest { instance, last }).wait(), Ok(true));
    engine.flush_now().unwrap();
    assert!(engine.store().instance(instance).unwrap().is_none());
}
