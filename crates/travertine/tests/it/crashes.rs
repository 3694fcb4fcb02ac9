//! What functions can do, through all crashes, on one shard and on several.

use std::{
    cell::Cell,
    fmt::Debug,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use travertine::{
    ActivityContext, Context, Event, Failure, Flow, RunError, activity, select,
    testing::{self, Setup, TestEngine},
    workflow,
};

const HOUR: Duration = Duration::from_hours(1);

async fn through_all_crashes<T: PartialEq + Debug>(scenario: impl AsyncFn(Setup) -> T) -> T {
    let report = TestEngine::crash_everywhere(&scenario).await;
    assert!(report.crashes > 2, "{}", report.crashes);
    let one = report.assert_same();
    let on_three = async |setup: Setup| scenario(setup.options(|it| it.shards = 3)).await;
    let three = TestEngine::crash_everywhere(on_three).await.assert_same();
    assert_eq!(one, three);
    one
}

#[derive(Event, Serialize, Deserialize)]
#[event(name = "ball", expire_after = "1d")]
struct Ball {
    hits: u32,
}

#[workflow]
async fn server(cx: Context) -> Flow<u32> {
    cx.start(receiver(cx.id().to_owned())).id("receiver").await?;
    let mut hits = 0;
    while hits < 6 {
        cx.send(Ball { hits: hits + 1 }).to("receiver").await?;
        hits = cx.event::<Ball>().await?.hits;
    }
    Ok(hits)
}

#[workflow]
async fn receiver(cx: Context, server: String) -> Flow<u32> {
    let mut seen = 0;
    loop {
        let hits = cx.event::<Ball>().await?.hits;
        seen += 1;
        cx.send(Ball { hits: hits + 1 }).to(server.as_str()).await?;
        if hits >= 5 {
            return Ok(seen);
        }
    }
}

#[tokio::test]
async fn events_between_functions_come_once() {
    let results = through_all_crashes(async |setup: Setup| {
        let env = setup.open();
        let run = env.start("server", server()).await.unwrap();
        let result = run.result().await.unwrap();
        let other = env.run::<u32>("receiver").result().await.unwrap();
        (result, other, env.journal("server"), env.journal("receiver"))
    })
    .await;
    assert_eq!((results.0, results.1), (6, 3));
}

#[derive(Default)]
struct Shelf(Mutex<Vec<String>>);

impl Shelf {
    fn put(&self, key: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.iter().any(|it| it == key) {
            all.push(key.to_owned());
        }
    }

    fn take(&self, key: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|it| it != key);
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[activity]
async fn reserve(cx: ActivityContext) -> Result<String, Failure> {
    cx.get::<Arc<Shelf>>()?.put(cx.idempotency_key());
    Ok(cx.idempotency_key().to_owned())
}

#[activity]
async fn release(cx: ActivityContext, key: String) -> Result<(), Failure> {
    cx.get::<Arc<Shelf>>()?.take(&key);
    Ok(())
}

#[workflow]
async fn holiday(cx: Context) -> Flow<()> {
    let mut saga = cx.saga();
    let body = async {
        saga.step(cx.call(reserve()), release).await?;
        saga.step(cx.call(reserve()), release).await?;
        cx.sleep(HOUR).await?;
        Ok(())
    }
    .await;
    saga.finish(body).await
}

#[tokio::test]
async fn what_is_cancelled_is_undone() {
    let (result, left, _) = through_all_crashes(async |setup: Setup| {
        let shelf = Arc::<Shelf>::default();
        let env = setup.dependency(Arc::clone(&shelf)).open();
        let run = env.start("h", holiday()).await.unwrap();
        env.settle().await.unwrap();
        assert_eq!(shelf.len(), 2);
        run.cancel().await.unwrap();
        (run.result().await, shelf.len(), env.journal("h"))
    })
    .await;
    assert_eq!((result, left), (Err(RunError::Cancelled), 0));
}

#[activity(timeout = "10m", heartbeat = "1m", retry = fixed("1m", max = 3))]
async fn slow(cx: ActivityContext) -> Result<u32, Failure> {
    match cx.attempt() {
        1 => testing::hang().await,
        2 => {
            for step in 0..60_u32 {
                cx.heartbeat(&step)?;
                testing::sleep(Duration::from_secs(30)).await;
            }
        }
        _ => {}
    }
    Ok(cx.attempt())
}

#[workflow]
async fn patient(cx: Context) -> Flow<(u32, i64)> {
    let began = cx.now();
    let attempt = cx.call(slow()).await?;
    Ok((attempt, (cx.now().as_millis() - began.as_millis()) / 60_000))
}

#[tokio::test]
async fn attempts_that_hang_or_take_too_long_are_made_again() {
    let env = TestEngine::open();
    // Silent for a minute, a pause, ten minutes at work, a pause.
    assert_eq!(env.start("p", patient()).await.unwrap().result().await, Ok((3, 13)));
    let attempts = through_all_crashes(async |setup: Setup| {
        let env = setup.open();
        env.start("p", patient()).await.unwrap().result().await.unwrap().0
    })
    .await;
    assert_eq!(attempts, 3);
}

#[workflow]
async fn counter(cx: Context) -> Flow<u32> {
    let count = Rc::new(Cell::new(0));
    let (seen, changed) = (Rc::clone(&count), Rc::clone(&count));
    cx.on_query("count", move |()| seen.get());
    let small = |to: &u32| match to {
        0..5 => Ok(()),
        _ => Err(Failure::terminal("much", "too much at once")),
    };
    cx.on_update("add", small, move |more: u32| {
        changed.set(changed.get() + more);
        assert!(more != 3, "not three");
        Ok(changed.get())
    });
    let here = Rc::clone(&count);
    cx.until(move || here.get() >= 4).await?;
    cx.sleep(HOUR).await?;
    Ok(count.get())
}

#[tokio::test]
async fn updates_are_there_once_after_a_crash() {
    let report = TestEngine::crash_everywhere(async |setup: Setup| {
        let env = setup.open();
        let run = env.start("c", counter()).await.unwrap();
        let much = run.update::<_, u32>("add", &7).await.unwrap_err();
        assert!(much.to_string().contains("too much at once"), "{much}");
        for sum in 1..=4 {
            assert_eq!(run.update::<_, u32>("add", &1).await.unwrap(), sum);
            let broken = run.update::<_, u32>("add", &3).await.unwrap_err();
            assert!(broken.to_string().contains("not three"), "{broken}");
            assert_eq!(run.query::<_, u32>("count", &()).await.unwrap(), sum);
        }
        env.crash();
        let count = run.query::<_, u32>("count", &()).await.unwrap();
        (count, run.result().await.unwrap())
    })
    .await;
    assert_eq!(report.assert_same(), (4, 4));
}

#[workflow]
async fn leaf(cx: Context, number: u32) -> Flow<u32> {
    if number == 3 {
        return Err(Failure::terminal("three", "not this one").into());
    }
    cx.sleep(HOUR * number).await?;
    Ok(number * 10)
}

#[workflow]
async fn tree(cx: Context) -> Flow<(Vec<u32>, String, u64, bool)> {
    let running: Vec<_> = (0..3).map(|it| cx.child(leaf(it)).start()).collect();
    let failed = cx.child(leaf(3)).await;
    let mut all = Vec::new();
    for child in running {
        all.push(child.await?);
    }
    let why = failed.err().map(|it| it.to_string()).unwrap_or_default();
    let raced = select! { cx;
        slow = cx.child(leaf(9)) => u64::from(slow?),
        slept = cx.sleep(HOUR) => { slept?; cx.record("kept", || 7_u64) },
    };
    Ok((all, why, raced, cx.patched("new")))
}

#[tokio::test]
async fn children_answer_once_and_are_called_off() {
    let (result, _) = through_all_crashes(async |setup: Setup| {
        let env = setup.open();
        let result = env.start("t", tree()).await.unwrap().result().await.unwrap();
        env.settle().await.unwrap();
        (result, env.journal("t").len())
    })
    .await;
    let why = "child failed: three: not this one".to_owned();
    assert_eq!(result, (vec![0, 10, 20], why, 7, true));
}
