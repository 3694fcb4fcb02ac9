//! Views that cannot be stored, or not now.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::Duration,
};

use travertine_runtime::{
    Engine, Error,
    engine::{Options, Pace},
};
use travertine_store::{Advance, Append, Error as StoreError, Layer, MemoryStore, Store};

use crate::world::file;

type Result<T> = std::result::Result<T, StoreError>;

/// A store that asks before it stores views.
#[derive(Debug)]
struct Gate {
    inner: MemoryStore,
    asked: Sender<()>,
    answers: Mutex<Receiver<Result<()>>>,
    /// Whether its log has no room.
    full: Arc<AtomicBool>,
}

impl Layer for Gate {
    fn behind(&self) -> &dyn Store {
        &self.inner
    }

    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<()>> {
        if self.full.load(Ordering::SeqCst) {
            let full = || Err(StoreError::Full { reason: "no room".to_owned() });
            return appends.iter().map(|_| full()).collect();
        }
        self.inner.append_all(appends)
    }

    fn checkpoint_all(&self, advances: &[Advance<'_>]) -> Vec<Result<()>> {
        let one = |it: &Advance<'_>| {
            // Once nobody looks on, everything is stored.
            if self.asked.send(()).is_ok() {
                let answers = self.answers.lock().expect("nobody has failed");
                answers.recv().unwrap_or(Ok(()))?;
            }
            self.inner.checkpoint(&it.claim, it.upto, it.state, it.changes)
        };
        advances.iter().map(one).collect()
    }
}

struct World {
    engine: Engine,
    asked: Receiver<()>,
    answer: Sender<Result<()>>,
    full: Arc<AtomicBool>,
}

/// An engine with an instance that is about to be stored.
fn storing(options: Options) -> World {
    let (asks, asked) = channel();
    let (answer, answers) = channel();
    let inner = MemoryStore::new(1);
    let full = Arc::<AtomicBool>::default();
    let answers = Mutex::new(answers);
    let store = Gate { inner, asked: asks, answers, full: Arc::clone(&full) };
    let store: Arc<dyn Store> = Arc::new(store);
    let engine = Engine::on(&store, options).expect("it opens");
    let process = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><userTask id="t"/>
        <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#;
    engine.deploy(&[file("model.bpmn", process)]).expect("is fine");
    engine.start("p").wait().expect("starts");
    asked.recv().expect("its rows are to be stored");
    World { engine, asked, answer, full }
}

fn pace(changed_max: usize) -> Pace {
    Pace { changed: 1, changed_max, ..Pace::default() }
}

#[test]
fn views_without_room_wait_for_it() {
    let world = storing(Options { pace: pace(10), ..Options::default() });
    let full = || Err(StoreError::Full { reason: "no room".to_owned() });
    world.answer.send(full()).expect("it waits");
    world.asked.recv().expect("it tries again");
    world.answer.send(Ok(())).expect("it waits");
    drop(world.answer);
    drop(world.asked);
    world.engine.flush_now().expect("there is room now");
    world.engine.shutdown().expect("nothing has failed");
}

#[test]
fn a_shard_whose_views_fail_is_claimed_again_and_goes_on_though_more_has_changed() {
    let world = storing(Options { pace: pace(10), ..Options::default() });
    let other = world.engine.start("p").wait().expect("the log goes on");
    let broken = StoreError::Corrupt { place: "views".to_owned(), reason: "broken".to_owned() };
    world.answer.send(Err(broken)).expect("it waits");
    drop(world.answer);
    drop(world.asked);
    while world.engine.metrics().shards_claimed_again == 0 {
        std::thread::yield_now();
    }
    world.engine.cancel(other).wait().expect("what was acknowledged is there");
    assert_eq!(world.engine.verify().expect("it can be read").differences, []);
    let metrics = world.engine.metrics();
    assert_eq!((metrics.shards_lost, metrics.shards_away), (1, 0));
    world.engine.shutdown().expect("nothing is lost");
}

#[test]
fn an_engine_that_is_shut_down_while_views_fail_says_so() {
    let world = storing(Options { pace: pace(10), ..Options::default() });
    world.engine.start("p").wait().expect("the log goes on");
    let shut_down = std::thread::spawn(move || world.engine.shutdown());
    let broken = StoreError::Corrupt { place: "views".to_owned(), reason: "broken".to_owned() };
    // However often it is tried.
    while world.answer.send(Err(broken.clone())).is_ok() && !shut_down.is_finished() {
        let _: std::result::Result<(), RecvTimeoutError> =
            world.asked.recv_timeout(Duration::from_millis(1));
    }
    let closed = shut_down.join().expect("it does not panic");
    assert!(matches!(closed, Err(Error::Store(_))), "{closed:?}");
}

#[test]
fn nothing_more_is_taken_on_while_views_are_too_far_behind() {
    let options = Options { pace: pace(1), requests_max: 4, ..Options::default() };
    let world = storing(options);
    world.engine.start("p").wait().expect("there is room for one more");
    let waits: Vec<_> = (0..4).map(|_| world.engine.start("p").begin()).collect();
    for _ in 0..100_000 {
        // Whoever would take one could do so now.
        std::thread::yield_now();
    }
    assert_eq!(world.engine.metrics().waiting, 4);
    let refused = world.engine.start("p").wait();
    assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
    drop(world.answer);
    drop(world.asked);
    for it in waits {
        it.wait().expect("rows are stored, and it goes on");
    }
    world.engine.shutdown().expect("nothing has failed");
}

#[test]
fn whoever_waits_for_rest_does_not_wait_longer_because_the_log_has_no_room() {
    let world = storing(Options::default());
    world.full.store(true, Ordering::SeqCst);
    let started = world.engine.start("p").begin();
    let (told, hears) = channel();
    let engine = world.engine.clone();
    std::thread::spawn(move || told.send(engine.settle(Duration::from_millis(1))));
    let rests = hears.recv_timeout(Duration::from_mins(2)).expect("it answers");
    assert_eq!(rests, Ok(false));
    world.full.store(false, Ordering::SeqCst);
    drop(world.answer);
    drop(world.asked);
    started.wait().expect("there is room now");
    assert_eq!(world.engine.settle(Duration::MAX), Ok(true));
    world.engine.shutdown().expect("nothing has failed");
}

#[test]
fn what_is_done_stays_done_though_its_rows_find_no_room() {
    let options = Options { pace: pace(10), waits_for_room: false, ..Options::default() };
    let world = storing(options);
    let full = StoreError::Full { reason: "no room".to_owned() };
    world.answer.send(Err(full.clone())).expect("it waits");
    drop(world.answer);
    let flushed = world.engine.flush_now();
    assert_eq!(flushed, Err(Error::Store(full.clone())));
    // It goes on: the log has room.
    let id = world.engine.start("p").wait().expect("the log has it");
    world.engine.look(id).wait().expect("it is there");
    assert_eq!(
        (world.engine.fault(), world.engine.views_fault()),
        (None, Some(full.clone().into()))
    );
    let store = Arc::clone(world.engine.store());
    assert_eq!(world.engine.shutdown(), Err(full.into()));
    // Whoever opens it next has everything.
    let engine = Engine::on(&store, Options::default()).expect("it opens");
    engine.look(id).wait().expect("it is there");
    assert_eq!(engine.verify().expect("it can be read").differences, []);
    engine.shutdown().expect("nothing has failed");
}
