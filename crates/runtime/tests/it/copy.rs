//! Copies of a store, and two who want the same one.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use travertine_runtime::{Engine, Error, InstanceId, engine::Options};
use travertine_store::Error as StoreError;

use crate::world::{file, rest, within_now};

const PROCESS: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#;

#[test]
fn a_copy_made_under_load_has_all_that_was_acknowledged_before_and_agrees_with_itself() {
    let dir = tempfile::tempdir().expect("there is room");
    let options = Options { shards: 2, ..Options::default() };
    let engine = Engine::open_with(dir.path().join("data"), options).expect("it opens");
    engine.deploy(&[file("p.bpmn", PROCESS)]).expect("is fine");
    let (stop, begun) = (AtomicBool::new(false), Mutex::new(Vec::<InstanceId>::new()));
    let mut copies = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let id = engine.start("p").variable("x", "y".repeat(200).as_str()).wait();
                    let id = id.expect("starts");
                    begun.lock().expect("nobody fails").push(id);
                    if id.0.is_multiple_of(3) {
                        engine.cancel(id).wait().expect("it runs");
                    }
                }
            });
        }
        for number in 0..3 {
            let before = begun.lock().expect("nobody fails").len();
            within_now(|| begun.lock().expect("nobody fails").len() > before + 50);
            let acknowledged = begun.lock().expect("nobody fails").clone();
            let to = dir.path().join(format!("copy-{number}"));
            engine.store().backup(&to).expect("there is room");
            copies.push((to, acknowledged));
        }
        stop.store(true, Ordering::SeqCst);
    });
    for (to, acknowledged) in copies {
        let copy = Engine::open(to).expect("it opens like the original");
        rest(&copy);
        assert_eq!(copy.verify().expect("it can be read").differences, []);
        for id in acknowledged {
            copy.look(id).wait().expect("it is there");
        }
        let next = copy.start("p").wait().expect("it goes on");
        copy.cancel(next).wait().expect("it runs");
    }
}

#[test]
fn who_opens_a_store_twice_is_told_so_and_the_first_goes_on() {
    let dir = tempfile::tempdir().expect("there is room");
    let data = dir.path().join("data");
    let engine = Engine::open(&data).expect("it opens");
    let Err(Error::Store(again @ StoreError::InUse { .. })) = Engine::open(&data) else {
        panic!("it was opened twice");
    };
    let text = again.to_string();
    let ours = format!("this process, {}", std::process::id());
    assert!(text.contains("data is in use by") && text.contains(&ours), "{text}");
    engine.deploy(&[file("p.bpmn", PROCESS)]).expect("the first goes on");
    engine.shutdown().expect("nothing has failed");
    Engine::open(&data).expect("it is free again");
}
