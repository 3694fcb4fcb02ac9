//! What the durable engine does against the disk itself, in one run.
//!
//! `cargo run --profile dist -p travertine-benches --bin engine [DIR] [PART]…`, where DIR is on the disk to be
//! measured and PART is one of `throughput`, `parked`, `jobs`, `latency`, `recovery`; all where none is
//! named. `TRAVERTINE_BENCH_SCALE=0.01` makes everything smaller, to try it out, and
//! `TRAVERTINE_BENCH_AT_ONCE=256` leaves out all other loads.

use std::{
    collections::VecDeque,
    fs,
    io::Write as _,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use travertine_benches::disk::{
    Outcome, is_wanted, measure, median, rate, raw, reset_views, resident, say, scaled, settle,
    shards,
};
use travertine_kernel::WaitId;
use travertine_runtime::{
    Address, Engine, InstanceId, Timestamp,
    engine::{File, Options, Pending},
};
use travertine_store::{Batch, Entry, ShardId, SqliteStore, Store, sqlite};

// Linked for its allocator, in place of the system's.
use mimalloc as _;

/// How many requests are on their way at a time, where nothing else is said.
const FLIGHT: usize = 1_024;

fn main() -> Outcome {
    measure(&[
        ("throughput", throughput),
        ("parked", parked),
        ("jobs", jobs),
        ("latency", latency),
        ("recovery", recovery),
    ])
}

/// One task, and a process with as many at once as its variable `n` says.
const MODEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:tv="urn:travertine:bpmn:1" targetNamespace="bench">
  <process id="one" isExecutable="true">
    <startEvent id="start"/><sequenceFlow id="in" sourceRef="start" targetRef="task"/>
    <serviceTask id="task" tv:jobType="work"/>
    <sequenceFlow id="out" sourceRef="task" targetRef="end"/><endEvent id="end"/>
  </process>
  <process id="many" isExecutable="true">
    <startEvent id="start2"/><sequenceFlow id="in2" sourceRef="start2" targetRef="tasks"/>
    <serviceTask id="tasks" tv:jobType="work"><multiInstanceLoopCharacteristics>
      <loopCardinality>n</loopCardinality></multiInstanceLoopCharacteristics></serviceTask>
    <sequenceFlow id="out2" sourceRef="tasks" targetRef="end2"/><endEvent id="end2"/>
  </process></definitions>"#;

fn open(dir: &Path) -> Outcome<Engine> {
    let options = Options { shards: shards(), ..Options::default() };
    let engine = Engine::open_with(dir, options)?;
    engine.deploy(&[File { name: "bench.bpmn".into(), body: MODEL.into() }])?;
    Ok(engine)
}

/// Asks for things, so many at a time, and hands on the answers in order.
fn flood<T>(
    count: usize,
    at_once: usize,
    mut ask: impl FnMut(usize) -> Pending<T>,
    mut answer: impl FnMut(usize, T) -> Outcome,
) -> Outcome {
    let mut flight: VecDeque<Pending<T>> = VecDeque::new();
    let mut answered = 0;
    for at in 0..count {
        if flight.len() >= at_once {
            let first = flight.pop_front().expect("something is on its way");
            answer(answered, first.wait()?)?;
            answered += 1;
        }
        flight.push_back(ask(at));
    }
    for pending in flight {
        answer(answered, pending.wait()?)?;
        answered += 1;
    }
    Ok(())
}

/// Starts instances.
fn start(engine: &Engine, count: usize) -> Outcome<Vec<InstanceId>> {
    let mut ids = Vec::with_capacity(count);
    flood(
        count,
        FLIGHT,
        |_| engine.start("one").begin(),
        |_, (id, _)| {
            ids.push(id);
            Ok(())
        },
    )?;
    Ok(ids)
}

/// The wait of the only task of an instance of `one`.
fn job_of(engine: &Engine) -> Outcome<WaitId> {
    let id = engine.start("one").wait()?;
    let state = engine.history(id)?.state_at(u64::MAX);
    let wait = state.waits.keys().next().copied().ok_or("the instance waits")?;
    engine.cancel(id).wait()?;
    Ok(wait)
}

/// Starts instances and completes their task, all at once; commands a second.
fn load(engine: &Engine, wait: WaitId, count: usize, at_once: usize) -> Outcome<f64> {
    let began = Instant::now();
    let mut done: VecDeque<Pending<()>> = VecDeque::new();
    flood(
        count,
        at_once / 2,
        |_| engine.start("one").begin(),
        |_, (instance, _)| {
            done.push_back(engine.complete(Address { instance, wait }, Vec::new()));
            if done.len() > at_once / 2 {
                done.pop_front().expect("something is on its way").wait()?;
            }
            Ok(())
        },
    )?;
    for pending in done {
        pending.wait()?;
    }
    Ok(rate(2 * count, began.elapsed()))
}

fn throughput(dir: &Path) -> Outcome {
    say(
        "\nthroughput: instances of one task, started and completed; the raw log takes as many entries of",
    );
    say("the same size, by as many at a time, in the same run");
    say("  at once  commands/s  raw entries/s  ratio  entries a batch  bytes an entry");
    for (at_once, count) in [(64, 10_000), (256, 40_000), (1_024, 100_000), (8_192, 200_000)] {
        if !is_wanted(at_once) {
            continue;
        }
        let count = scaled(count);
        let mut rounds = Vec::new();
        for round in 0..5 {
            let place = dir.join(format!("throughput-{at_once}-{round}"));
            let engine = open(&place)?;
            let wait = job_of(&engine)?;
            let before = engine.metrics();
            let commands = load(&engine, wait, count, at_once)?;
            let after = engine.metrics();
            engine.shutdown()?;
            let entries = after.entries - before.entries;
            let (bytes, batches) = (after.bytes - before.bytes, after.batches - before.batches);
            let raw = raw(&dir.join(format!("raw-{at_once}-{round}")), entries, bytes, batches)?;
            rounds.push((commands / raw, commands, raw, entries / batches.max(1), bytes / entries));
        }
        rounds.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (ratio, commands, raw, batch, size) = rounds[rounds.len() / 2];
        say(&format!(
            "  {at_once:>7}  {commands:>10.0}  {raw:>13.0}  {ratio:>5.2}  {batch:>15}  {size:>14}"
        ));
    }
    Ok(())
}

fn parked(dir: &Path) -> Outcome {
    let (few, many) = (scaled(1_000), scaled(1_000_000));
    let count = scaled(100_000);
    say(&format!("\nparked: the same load with {few} and with {many} instances waiting"));
    let small = open(&dir.join("parked-few"))?;
    let large = open(&dir.join("parked-many"))?;
    let wait = job_of(&small)?;
    start(&small, few)?;
    let before = resident();
    start(&large, many)?;
    settle(&large)?;
    let each = resident().saturating_sub(before) / u64::try_from(many)?;
    let mut ratios = Vec::new();
    for _ in 0..5 {
        let a = load(&small, wait, count, FLIGHT)?;
        settle(&small)?;
        let b = load(&large, wait, count, FLIGHT)?;
        settle(&large)?;
        say(&format!("  {few}: {a:>9.0}/s   {many}: {b:>9.0}/s   ratio {:.2}", b / a));
        ratios.push(b / a);
    }
    say(&format!("  median ratio {:.2} (at least 0.9 is wanted)", median(ratios)));
    say(&format!("  memory: {each} bytes for each parked instance (under 1024 is wanted)"));
    small.shutdown()?;
    large.shutdown()?;
    Ok(())
}

fn jobs(dir: &Path) -> Outcome {
    let count = scaled(100_000);
    say(&format!("\njobs: one instance with {count} jobs, and {count} instances with one"));
    let engine = open(&dir.join("jobs"))?;
    let wait = job_of(&engine)?;
    let ids = start(&engine, count)?;
    let began = Instant::now();
    flood(
        count,
        FLIGHT,
        |at| engine.complete(Address { instance: ids[at], wait }, Vec::new()),
        |_, ()| Ok(()),
    )?;
    let singles = rate(count, began.elapsed());
    let began = Instant::now();
    let id = engine.start("many").variable("n", i64::try_from(count)?).wait()?;
    let waits: Vec<WaitId> = loop {
        let state = engine.history(id)?.state_at(u64::MAX);
        if state.waits.len() == count {
            break state.waits.keys().copied().collect();
        }
    };
    say(&format!("  opened in {:.1} s", began.elapsed().as_secs_f64()));
    let began = Instant::now();
    flood(
        count,
        FLIGHT,
        |at| engine.complete(Address { instance: id, wait: waits[at] }, Vec::new()),
        |_, ()| Ok(()),
    )?;
    let one = rate(count, began.elapsed());
    engine.result(id).wait()?;
    say(&format!(
        "  {count} instances: {singles:>9.0} jobs/s   one instance: {one:>9.0} jobs/s   ratio {:.2} (at least 0.5 is wanted)",
        one / singles
    ));
    engine.shutdown()?;
    Ok(())
}

fn latency(dir: &Path) -> Outcome {
    let count = scaled(2_000);
    say(&format!("\nlatency: {count} commands, one at a time, against one sync of the disk each"));
    let engine = open(&dir.join("latency"))?;
    let store = SqliteStore::open(dir.join("latency-raw"), &sqlite::Options::default())?;
    let claim = store.take(ShardId(0), "bench")?;
    let mut file = fs::File::create(dir.join("latency-file"))?;
    let (mut commands, mut syncs, mut appends) = (Vec::new(), Vec::new(), Vec::new());
    for seq in 1..=count as u64 {
        let began = Instant::now();
        engine.start("one").wait()?;
        commands.push(began.elapsed());
        let began = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        syncs.push(began.elapsed());
        let began = Instant::now();
        let (instance, at, body) = (InstanceId(seq), Timestamp::default(), vec![7; 300]);
        let entry = Entry { seq, instance, previous: 0, at, body };
        store.append(&claim, &[Batch { entries: vec![entry], ..Batch::default() }])?;
        appends.push(began.elapsed());
    }
    let at = |all: &mut Vec<Duration>, share: usize| {
        all.sort();
        all[(all.len() * share / 100).min(all.len() - 1)].as_secs_f64() * 1000.0
    };
    for share in [50, 99] {
        let (command, sync, append) =
            (at(&mut commands, share), at(&mut syncs, share), at(&mut appends, share));
        say(&format!(
            "  p{share}: command {command:.2} ms   sync of a file {sync:.2} ms   append to the log {append:.2} ms   \
             ratio to a sync {:.2}{}",
            command / sync,
            if share == 99 { " (at most 2 is wanted)" } else { "" },
        ));
    }
    engine.shutdown()?;
    Ok(())
}

fn recovery(dir: &Path) -> Outcome {
    let many = scaled(1_000_000);
    say(&format!("\nrecovery: {many} instances that wait"));
    let place = dir.join("recovery");
    let engine = open(&place)?;
    start(&engine, many)?;
    engine.shutdown()?;
    let before = resident();
    let began = Instant::now();
    let engine = Engine::open_with(&place, Options { shards: 1, ..Options::default() })?;
    let took = began.elapsed();
    let memory = resident().saturating_sub(before);
    let found = &engine.opened().shards[0];
    say(&format!(
        "  from the views: {:.1} s, {} jobs found, {} bytes of memory for each instance",
        took.as_secs_f64(),
        found.jobs,
        memory / u64::try_from(many)?,
    ));
    let store = Arc::clone(engine.store());
    engine.shutdown()?;
    reset_views(&*store)?;
    drop(store);
    let began = Instant::now();
    let engine = Engine::open_with(&place, Options { shards: 1, ..Options::default() })?;
    say(&format!(
        "  from the log alone: {:.1} s, {} entries read",
        began.elapsed().as_secs_f64(),
        engine.opened().shards[0].entries,
    ));
    engine.shutdown()?;
    Ok(())
}
