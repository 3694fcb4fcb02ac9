//! What comes to a function at a bad moment.

use std::{
    cell::Cell,
    collections::BTreeSet,
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::sync::Semaphore;
use travertine_func::{
    Activity, ActivityDefinition, ActivityOptions, Dependencies, Failure, Functions, Retry,
    Workflow, WorkflowDefinition, encode, select,
};
use travertine_runtime::{
    Address, Engine, Error, RunStatus, Timestamp,
    engine::{Clock as _, ManualClock, Options, RunError},
};

use crate::world::{PATIENCE, within};

/// Which jobs panic once they were poked.
static BROKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn set_broken(what: &str, broken: bool) {
    let mut all = BROKEN.lock().expect("nobody panics with it");
    if broken {
        all.insert(what.to_owned());
    } else {
        all.remove(what);
    }
}

fn is_broken(what: &str) -> bool {
    BROKEN.lock().expect("nobody panics with it").contains(what)
}

/// What tests and the code of their functions share.
#[derive(Default)]
struct Hands {
    calls: AtomicU32,
    go: Option<Semaphore>,
}

fn work(what: &str) -> Activity<String> {
    let options = ActivityOptions { retry: Retry::default(), ..ActivityOptions::DEFAULT };
    Activity::new("work", options).argument("what", &what)
}

const WORK: ActivityDefinition = ActivityDefinition {
    name: "work",
    parameters: &["what"],
    options: ActivityOptions::DEFAULT,
    run: |cx, mut arguments| {
        Box::pin(async move {
            let what: String = arguments.take("what")?;
            let hands = cx.get::<Arc<Hands>>()?;
            let before = hands.calls.fetch_add(1, Ordering::SeqCst);
            match &*what {
                "much" => return encode("work", &"x".repeat(17 << 20)),
                "never" | "silent" => std::future::pending().await,
                "never at first" if before == 0 => std::future::pending().await,
                "fails at first" if before < 3 => return Err(Failure::new("busy", "not now")),
                _ => {}
            }
            if let Some(go) = &hands.go {
                go.acquire().await.expect("it is never closed").forget();
            }
            encode("work", &what)
        })
    },
};

fn job(what: &str) -> Workflow<String> {
    Workflow::new("job", 1).argument("what", &what)
}

const JOB: WorkflowDefinition = WorkflowDefinition {
    name: "job",
    version: 1,
    parameters: &["what"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let what: String = arguments.take("what")?;
            cx.on_query("what", {
                let what = what.clone();
                move |(): ()| what.clone()
            });
            let poked = Rc::new(Cell::new(false));
            cx.on_update("poke", |(): &()| Ok(()), {
                let poked = Rc::clone(&poked);
                move |(): ()| -> Result<(), Failure> {
                    poked.set(true);
                    Ok(())
                }
            });
            let call = cx.call(work(&what));
            let call = match &*what {
                "never" => call.deadline(Duration::from_secs(10)),
                // No other attempt would begin in time.
                "silent" => {
                    call.deadline(Duration::from_millis(11_001)).heartbeat(Duration::from_secs(10))
                }
                "never at first" => call.timeout(Duration::from_secs(10)),
                "fails at first" => call.retry(Retry {
                    attempts: 4,
                    initial: Duration::from_secs(7),
                    factor: 3.0,
                    max_delay: Duration::from_secs(15),
                }),
                // It is done, with more than can be kept.
                "all" => return Ok("x".repeat(17 << 20).into()),
                _ => call,
            };
            let stumbles = cx.until(|| {
                assert!(!poked.get() || !is_broken(&what), "it is broken");
                false
            });
            let done: String = select! { cx;
                done = call => done?,
                stumbled = stumbles => { stumbled?; String::new() },
            };
            Ok(encode("job", &done)?)
        })
    },
};

/// Waits for ever; where someone ends that, it clears up.
const TIDY: WorkflowDefinition = WorkflowDefinition {
    name: "tidy",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            let slept = cx.sleep(Duration::from_hours(1)).await;
            cx.shield(cx.call(work("tidy"))).await?;
            slept?;
            Ok("never so far".into())
        })
    },
};

struct World {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    hands: Arc<Hands>,
    engine: Engine,
}

impl World {
    fn new(go: Option<Semaphore>) -> Self {
        Self::with(go, Options::default())
    }

    fn with(go: Option<Semaphore>, options: Options) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)));
        let dir = tempfile::tempdir().expect("there is room for a directory");
        let hands = Arc::new(Hands { go, ..Hands::default() });
        let engine = Self::open(&dir, &clock, &hands, options);
        Self { dir, clock, hands, engine }
    }

    fn open(
        dir: &tempfile::TempDir,
        clock: &Arc<ManualClock>,
        hands: &Arc<Hands>,
        options: Options,
    ) -> Engine {
        let options = Options {
            shards: 2,
            clock: Arc::clone(clock) as Arc<_>,
            functions: Functions::new().workflow(JOB).workflow(TIDY).activity(WORK),
            dependencies: Dependencies::new().with(Arc::clone(hands)),
            ..options
        };
        Engine::open_with(dir.path(), options).expect("the store opens")
    }

    fn pass(&self, by: Duration) {
        self.clock.set(self.clock.now().after(by));
        self.engine.wake();
    }

    /// Waits until the activity was begun so often.
    async fn begun(&self, times: u32) {
        within(async {
            while self.hands.calls.load(Ordering::SeqCst) < times {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Lets time pass until what it has begun with takes too long. Whose clock does not run would wait for ever.
    async fn pass_its_time(&self) {
        let rest = self.engine.rest().await.expect("it answers");
        assert_eq!(
            rest.due,
            Some(self.clock.now().after(Duration::from_secs(10))),
            "its time runs"
        );
        self.pass(Duration::from_secs(11));
    }

    /// Waits until nobody of this process is at work. A test fails here where someone is for ever.
    async fn idle(&self) {
        let idle = async {
            while self.engine.rest().await.expect("it answers").at_work > 0 {
                tokio::task::yield_now().await;
            }
        };
        let idle = tokio::time::timeout(PATIENCE, idle).await;
        idle.expect("whoever is at work comes to an end, or was told that nobody needs it");
    }
}

#[tokio::test]
async fn an_activity_that_brings_too_much_fails() {
    let world = World::new(None);
    let run = world.engine.start(job("much")).await.expect("it starts");
    let Err(RunError::Failed(failure)) = run.result().await else { panic!("it cannot be kept") };
    assert_eq!(failure.code, Failure::ENCODE);
    assert_eq!(world.hands.calls.load(Ordering::SeqCst), 1, "it would bring as much again");
}

#[tokio::test]
async fn all_attempts_together_take_no_longer_than_they_may() {
    let world = World::new(None);
    let run = world.engine.start(job("never")).await.expect("it starts");
    world.begun(1).await;
    world.pass_its_time().await;
    let Err(RunError::Failed(failure)) = run.result().await else { panic!("it never ends") };
    assert_eq!(failure.code, Failure::TIMEOUT);
    assert!(failure.message.ends_with("the attempt took too long"), "{failure}");
    assert_eq!(world.hands.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_pause_before_an_activity_is_tried_again_is_what_its_call_says() {
    let world = World::new(None);
    let run = world.engine.start(job("fails at first")).await.expect("it starts");
    for (tries, pause) in [(1, 7), (2, 15), (3, 15)] {
        world.begun(tries).await;
        world.idle().await;
        let due = world.engine.rest().await.expect("it answers").due;
        let pause = Duration::from_secs(pause);
        assert_eq!(due, Some(world.clock.now().after(pause)), "{tries}");
        world.pass(pause);
    }
    assert_eq!(within(run.result()).await.expect("it works now"), "fails at first");
}

#[tokio::test]
async fn an_activity_that_is_not_heard_of_for_too_long_is_told_from_one_that_takes_too_long() {
    let world = World::new(None);
    let run = world.engine.start(job("silent")).await.expect("it starts");
    world.begun(1).await;
    world.pass_its_time().await;
    let ended = within(run.result()).await;
    let Err(RunError::Failed(failure)) = ended else { panic!("it never ends") };
    assert_eq!(failure.code, Failure::TIMEOUT);
    let why = "the activity has not been heard of for too long";
    assert!(failure.message.ends_with(why), "{failure}");
}

#[tokio::test]
async fn what_takes_too_long_while_its_function_stands_still_is_tried_again_later() {
    let world = World::new(None);
    let run = world.engine.start(job("never at first")).await.expect("it starts");
    world.begun(1).await;
    world.engine.suspend(run.instance()).await.expect("it runs");
    world.pass_its_time().await;
    world.idle().await;
    world.engine.resume(run.instance()).await.expect("it is suspended");
    // It hears of the failure now, and makes a pause.
    world.engine.rest().await.expect("it answers");
    world.pass(Duration::from_secs(1));
    assert_eq!(run.result().await.expect("it works now"), "never at first");
}

#[tokio::test]
async fn what_goes_up_only_when_it_is_tried_again_comes_down_with_its_function() {
    let options = Options { activities_at_once: 1, ..Options::default() };
    let world = World::with(Some(Semaphore::new(0)), options);
    let ready = async || world.engine.rest().await.expect("it answers").jobs;
    let first = world.engine.start(job("never at first")).await.expect("it starts");
    world.begun(1).await;
    let other = world.engine.start(job("long")).await.expect("it starts");
    assert_eq!(ready().await, [("work".into(), 1)], "the other one waits for its turn");
    world.pass_its_time().await;
    world.begun(2).await;
    assert_eq!(ready().await, [], "it has its turn, and the first one makes a pause");
    world.pass(Duration::from_secs(1));
    assert_eq!(ready().await, [("work".into(), 1)], "now the first one waits");
    assert!(first.cancel().await.expect("it has not ended"));
    assert_eq!(within(first.result()).await, Err(RunError::Cancelled));
    assert_eq!(ready().await, [], "nobody needs it any more");
    world.hands.go.as_ref().expect("there is one").add_permits(1);
    assert_eq!(within(other.result()).await.expect("it is done"), "long");
}

#[tokio::test]
async fn what_is_done_while_its_function_is_suspended_is_not_done_again() {
    let world = World::new(Some(Semaphore::new(0)));
    let run = world.engine.start(job("long")).await.expect("it starts");
    world.begun(1).await;
    world.engine.suspend(run.instance()).await.expect("it runs");
    world.hands.go.as_ref().expect("there is one").add_permits(1);
    world.idle().await;
    world.engine.resume(run.instance()).await.expect("it is suspended");
    assert_eq!(run.result().await.expect("it is done"), "long");
    assert_eq!(world.hands.calls.load(Ordering::SeqCst), 1);
}

// covers: ENGINE-14, ENGINE-26
#[tokio::test]
async fn a_function_that_is_suspended_clears_up_and_ends_where_someone_cancels_it() {
    for again in [false, true] {
        let world = World::new(again.then(|| Semaphore::new(0)));
        let run = world.engine.start(Workflow::<String>::new("tidy", 1)).await.expect("it starts");
        if !again {
            world.engine.suspend(run.instance()).await.expect("it runs");
        }
        assert!(run.cancel().await.expect("it has not ended"));
        if let Some(go) = &world.hands.go {
            // Someone has it stand still in the middle of that.
            world.begun(1).await;
            world.engine.suspend(run.instance()).await.expect("it runs");
            assert!(run.cancel().await.expect("it has not ended"));
            go.add_permits(1);
        }
        let ended = within(run.result()).await;
        assert_eq!(ended, Err(RunError::Cancelled));
        assert_eq!(world.hands.calls.load(Ordering::SeqCst), 1, "it has cleared up");
    }
}

#[tokio::test]
async fn an_attempt_goes_on_where_more_of_them_are_allowed() {
    let world = World::new(Some(Semaphore::new(0)));
    let run = world.engine.start(job("long")).await.expect("it starts");
    world.begun(1).await;
    let look = world.engine.look(run.instance()).await.expect("it answers");
    let wait = *look.state.waits.keys().next().expect("it waits for an activity");
    let job = Address { instance: run.instance(), wait };
    world.engine.set_retries(job, 7).await.expect("it is there");
    let rest = world.engine.rest().await.expect("it answers");
    assert_eq!((rest.jobs, rest.at_work), (Vec::new(), 1), "nobody else is to do it");
    world.hands.go.as_ref().expect("there is one").add_permits(1);
    assert_eq!(run.result().await.expect("it is done"), "long");
    assert_eq!(world.hands.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn draining_lets_what_has_begun_end_and_begins_no_more() {
    let world = World::new(Some(Semaphore::new(0)));
    let first = world.engine.start(job("first")).await.expect("it starts");
    world.begun(1).await;
    let go = world.hands.go.as_ref().expect("there is one");
    let ((), second) = tokio::join!(world.engine.drain(), async {
        let second = world.engine.start(job("second")).await.expect("it starts");
        // It may have begun, too.
        go.add_permits(2);
        second
    });
    assert_eq!(first.result().await.expect("it is done"), "first");
    let third = world.engine.start(job("third")).await.expect("it starts");
    let rest = world.engine.rest().await.expect("it answers");
    let begun = world.hands.calls.load(Ordering::SeqCst);
    assert_eq!(rest.at_work, 0);
    let ids = [second.id().to_owned(), third.id().to_owned()];
    drop((first, second, third));
    let World { dir, clock, hands, engine } = world;
    engine.shutdown().expect("it can be closed");
    let engine = World::open(&dir, &clock, &hands, Options::default());
    hands.go.as_ref().expect("there is one").add_permits(9);
    for (id, what) in ids.iter().zip(["second", "third"]) {
        let run = engine.run::<String>(id).await.expect("it answers").expect("it is there");
        assert_eq!(run.result().await.expect("it is done"), what);
    }
    let all = hands.calls.load(Ordering::SeqCst);
    assert_eq!(all, 3, "{begun} had begun before, and none is done twice");
}

#[tokio::test]
async fn what_is_done_while_its_function_is_blocked_is_not_lost() {
    let world = World::new(Some(Semaphore::new(0)));
    let run = world.engine.start(job("gate")).await.expect("it starts");
    world.begun(1).await;
    set_broken("gate", true);
    let refused: Result<(), Error> = run.update("poke", &()).await;
    assert!(refused.is_err());
    let go = world.hands.go.as_ref().expect("there is one");
    go.add_permits(1);
    world.idle().await;
    set_broken("gate", false);
    // It may be looked at before it goes on.
    let what: String = run.query("what", &()).await.expect("it answers");
    assert_eq!(what, "gate");
    assert_eq!(world.engine.retry(run.instance(), None).await.expect("it is blocked"), 1);
    assert_eq!(run.result().await.expect("it works now"), "gate");
    assert_eq!(world.hands.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_function_that_is_looked_at_while_it_is_blocked_goes_on() {
    let world = World::new(None);
    let run = world.engine.start(job("all")).await.expect("it starts");
    // What cannot be kept blocks it, and nothing else.
    assert_eq!(run.status().await.expect("it answers"), RunStatus::Blocked);
    let instance = run.instance();
    let what: String = run.query("what", &()).await.expect("it answers");
    assert_eq!(what, "all");
    assert_eq!(world.engine.retry(instance, None).await.expect("it is blocked"), 1);
    let why = format!("{:?}", world.engine.why(instance).await.expect("it answers"));
    assert!(why.contains("`the end` brings too much: the value of result"), "{why}");
    // What it was begun with is what its journal follows from.
    let variables = vec![("what".into(), "gate".into())];
    assert!(world.engine.set_variables(instance, None, variables).await.is_err());
}

#[tokio::test]
async fn an_attempt_goes_on_while_its_function_is_blocked() {
    let world = World::new(Some(Semaphore::new(0)));
    let run = world.engine.start(job("long")).await.expect("it starts");
    world.begun(1).await;
    set_broken("long", true);
    let refused: Result<(), Error> = run.update("poke", &()).await;
    assert!(refused.is_err());
    set_broken("long", false);
    assert_eq!(world.engine.retry(run.instance(), None).await.expect("it is blocked"), 1);
    let rest = world.engine.rest().await.expect("it answers");
    assert_eq!((rest.jobs, rest.at_work), (Vec::new(), 1), "nobody else is to do it");
    world.hands.go.as_ref().expect("there is one").add_permits(1);
    assert_eq!(run.result().await.expect("it works now"), "long");
    assert_eq!(world.hands.calls.load(Ordering::SeqCst), 1);
}
