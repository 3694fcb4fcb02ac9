//! What durable functions do against the disk itself, in one run.
//!
//! `cargo run --profile dist -p travertine-benches --bin functions [DIR] [PART]…`, where DIR is on the disk to be
//! measured and PART is one of `steps`, `latency`, `sleeping`; all where none is named.
//! `TRAVERTINE_BENCH_SCALE=0.01` makes everything smaller, to try it out, and
//! `TRAVERTINE_BENCH_AT_ONCE=256` leaves out all other loads.

use std::{
    collections::VecDeque,
    fs,
    io::Write as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::runtime::Runtime;
use travertine_benches::disk::{
    Outcome, is_wanted, measure, median, raw, reset_views, resident, say, scaled, settle, shards,
};
use travertine_func::{
    Activity, ActivityDefinition, ActivityOptions, Functions, Workflow, WorkflowDefinition,
};
use travertine_runtime::{
    Engine,
    engine::{Options, RunError},
};

// Linked for its allocator, in place of the system's.
use mimalloc as _;

/// How many steps a run has.
const STEPS: u32 = 10;

const STEP: ActivityDefinition = ActivityDefinition {
    name: "step",
    parameters: &["n"],
    options: ActivityOptions::DEFAULT,
    run: |_, mut arguments| {
        Box::pin(async move {
            let n: u32 = arguments.take("n")?;
            Ok((i64::from(n) + 1).into())
        })
    },
};

/// Ten activities, one after the other.
const STAIRS: WorkflowDefinition = WorkflowDefinition {
    name: "stairs",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            let mut n = 0_u32;
            for _ in 0..STEPS {
                let step = Activity::<u32>::new("step", ActivityOptions::DEFAULT).argument("n", &n);
                n = cx.call(step).await?;
            }
            Ok(i64::from(n).into())
        })
    },
};

/// A long sleep.
const SLEEPER: WorkflowDefinition = WorkflowDefinition {
    name: "sleeper",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.sleep(Duration::from_hours(24 * 365)).await?;
            Ok(0_i64.into())
        })
    },
};

fn main() -> Outcome {
    measure(&[("steps", steps), ("latency", latency), ("sleeping", sleeping)])
}

fn open(dir: &Path) -> Outcome<Engine> {
    let functions = Functions::new().workflow(STAIRS).workflow(SLEEPER).activity(STEP);
    let options =
        Options { shards: shards(), functions, activities_at_once: 8_192, ..Options::default() };
    Ok(Engine::open_with(dir, options)?)
}

fn stairs() -> Workflow<u32> {
    Workflow::new("stairs", 1)
}

/// Runs so many, so many of them at a time, from tasks of the program in which the activities are done.
fn climb(tasks: &Runtime, engine: &Engine, count: usize, at_once: usize) -> Outcome<Duration> {
    let began = Instant::now();
    let left = Arc::new(AtomicUsize::new(count));
    let climber = |_| {
        let (engine, left) = (engine.clone(), Arc::clone(&left));
        tasks.spawn(async move {
            let less = |it: usize| it.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
                assert_eq!(engine.start(stairs()).await?.result().await?, STEPS);
            }
            Ok::<(), RunError>(())
        })
    };
    let climbers: Vec<_> = (0..at_once).map(climber).collect();
    tasks.block_on(async {
        for it in climbers {
            it.await??;
        }
        Ok::<(), Box<dyn std::error::Error>>(())
    })?;
    Ok(began.elapsed())
}

#[expect(clippy::cast_precision_loss, reason = "rates need not be exact")]
fn steps(dir: &Path) -> Outcome {
    let tasks = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let _within = tasks.enter();
    say(
        "\nsteps: runs of ten activities; the raw log takes as many entries of the same size, by as many at",
    );
    say("a time, in the same run");
    say("  at once   steps/s  entries/s  raw entries/s  ratio  entries a step  bytes a step");
    for (at_once, count) in [(1, 100), (16, 2_000), (256, 8_000), (4_096, 20_000)] {
        if !is_wanted(at_once) {
            continue;
        }
        let count = scaled(count).max(at_once);
        let mut rounds = Vec::new();
        for round in 0..3 {
            let engine = open(&dir.join(format!("steps-{at_once}-{round}")))?;
            let before = engine.metrics();
            let took = climb(&tasks, &engine, count, at_once)?;
            let after = engine.metrics();
            engine.shutdown()?;
            let entries = after.entries - before.entries;
            let (bytes, batches) = (after.bytes - before.bytes, after.batches - before.batches);
            let raw = raw(&dir.join(format!("raw-{at_once}-{round}")), entries, bytes, batches)?;
            let steps = (count * STEPS as usize) as f64;
            let rate = entries as f64 / took.as_secs_f64();
            let each = (entries as f64 / steps, bytes as f64 / steps);
            rounds.push((rate / raw, steps / took.as_secs_f64(), rate, raw, each));
        }
        rounds.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (ratio, steps, rate, raw, (entries, bytes)) = rounds[rounds.len() / 2];
        say(&format!(
            "  {at_once:>7}  {steps:>8.0}  {rate:>9.0}  {raw:>13.0}  {ratio:>5.2}  {entries:>14.2}  {bytes:>12.0}"
        ));
    }
    Ok(())
}

fn latency(dir: &Path) -> Outcome {
    let count = scaled(500);
    say(&format!(
        "\nlatency: {count} runs of ten activities, one at a time, against ten syncs of the disk"
    ));
    let engine = open(&dir.join("latency"))?;
    let mut file = fs::File::create(dir.join("latency-file"))?;
    let (mut runs, mut syncs) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let began = Instant::now();
        engine.start(stairs()).wait()?.wait()?;
        runs.push(began.elapsed().as_secs_f64() * 1000.0);
        let began = Instant::now();
        for _ in 0..STEPS {
            file.write_all(&[7; 4096])?;
            file.sync_data()?;
        }
        syncs.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    let (run, sync) = (median(runs), median(syncs));
    say(&format!(
        "  p50: run {run:.2} ms   ten syncs {sync:.2} ms   ratio {:.2} (at most 1.5 is wanted)",
        run / sync
    ));
    engine.shutdown()?;
    Ok(())
}

fn sleeping(dir: &Path) -> Outcome {
    let many = scaled(1_000_000);
    say(&format!("\nsleeping: {many} runs that sleep"));
    let place = dir.join("sleeping");
    let engine = open(&place)?;
    let before = resident();
    let began = Instant::now();
    let mut flight = VecDeque::new();
    for _ in 0..many {
        if flight.len() >= 1_024 {
            let first: travertine_runtime::engine::Pending<_> =
                flight.pop_front().expect("something is on its way");
            first.wait()?;
        }
        flight.push_back(engine.start(Workflow::<i64>::new("sleeper", 1)).begin());
    }
    for pending in flight {
        pending.wait()?;
    }
    settle(&engine)?;
    let each = resident().saturating_sub(before) / u64::try_from(many)?;
    say(&format!(
        "  started in {:.1} s, {each} bytes of memory each",
        began.elapsed().as_secs_f64()
    ));
    engine.shutdown()?;
    let before = resident();
    let began = Instant::now();
    let engine = open(&place)?;
    let took = began.elapsed().as_secs_f64();
    let memory = resident().saturating_sub(before) / u64::try_from(many)?;
    let found = engine.opened().shards[0].timers;
    say(&format!("  opened again in {took:.1} s, {found} timers, {memory} bytes of memory each"));
    let store = Arc::clone(engine.store());
    engine.shutdown()?;
    reset_views(&*store)?;
    drop(store);
    let began = Instant::now();
    let engine = open(&place)?;
    say(&format!("  from the log alone in {:.1} s", began.elapsed().as_secs_f64()));
    engine.shutdown()?;
    Ok(())
}
