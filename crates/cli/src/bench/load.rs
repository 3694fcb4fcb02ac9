//! The process that is killed: instances at a steady rate, and what each second was like.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use travertine_kernel::Assignments;
use travertine_runtime::{
    Engine,
    engine::{File, Retention},
};

use super::Second;
use crate::{args::bench::Load, screen::Screen, status::Status};

const MODEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:tv="urn:travertine:bpmn:1" targetNamespace="t"><process id="soak" isExecutable="true">
  <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
  <serviceTask id="t" tv:jobType="work"/><sequenceFlow id="f2" sourceRef="t" targetRef="e"/>
  <endEvent id="e"/></process></definitions>"#;

/// How often instances are started.
const BEAT: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
struct Counts {
    started: AtomicU64,
    ended: Arc<AtomicU64>,
    took: Mutex<Vec<u64>>,
}

/// Starts instances until the process is killed.
pub(super) fn load(args: &Load, out: &Screen) -> anyhow::Result<Status> {
    let engine = Engine::open(&args.data)?;
    engine.deploy(&[File { name: "soak.bpmn".to_owned(), body: MODEL.into() }])?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let counts = Arc::new(Counts::default());
    let ended = Arc::clone(&counts.ended);
    let worker = engine.worker("work", move |_| {
        ended.fetch_add(1, Ordering::Relaxed);
        async { Assignments::new() }
    });
    let _worker = runtime.block_on(async { worker.at_once(4_096).start() });
    {
        let (engine, counts, rate) = (engine.clone(), Arc::clone(&counts), args.rate);
        let handle = runtime.handle().clone();
        thread::spawn(move || start(&engine, &counts, rate, &handle));
    }
    {
        let (engine, keep) = (engine.clone(), args.keep);
        thread::spawn(move || forget(&engine, keep));
    }
    out.line("open");
    while engine.fault().is_none() && !out.is_closed() {
        thread::sleep(Duration::from_secs(1));
        out.line(second(&counts, &args.data).line());
        out.finish()?;
    }
    Ok(Status::Failed)
}

/// Starts instances at a rate. Whoever is late catches up, so that waiting counts.
fn start(engine: &Engine, counts: &Arc<Counts>, rate: u64, handle: &tokio::runtime::Handle) {
    let began = Instant::now();
    let mut asked = 0;
    loop {
        let due =
            rate.saturating_mul(u64::try_from(began.elapsed().as_millis()).unwrap_or(0)) / 1_000;
        while asked < due {
            asked += 1;
            let since = Instant::now();
            let starting = engine.start("soak").variable("n", asked).begin();
            let counts = Arc::clone(counts);
            handle.spawn(async move {
                if starting.await.is_ok() {
                    counts.started.fetch_add(1, Ordering::Relaxed);
                    let took = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
                    counts.took.lock().unwrap_or_else(PoisonError::into_inner).push(took);
                }
            });
        }
        thread::sleep(BEAT);
    }
}

/// Forgets what has ended, so that the store stays as large as it is.
fn forget(engine: &Engine, keep: Duration) {
    let retention = Retention { ended: Some(keep), ..Retention::default() };
    while engine.sweep_with(&retention).is_ok() {
        thread::sleep(Duration::from_secs(1));
    }
}

fn second(counts: &Counts, dir: &Path) -> Second {
    let mut took = std::mem::take(&mut *counts.took.lock().unwrap_or_else(PoisonError::into_inner));
    took.sort_unstable();
    let at = |part: usize| took.get(took.len() * part / 100).copied().unwrap_or(0);
    Second {
        started: counts.started.swap(0, Ordering::Relaxed),
        ended: counts.ended.swap(0, Ordering::Relaxed),
        p50: at(50),
        p99: at(99),
        memory: memory(),
        disk: size(dir),
    }
}

/// What the system says this process has in memory; 0 where it does not say.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|it| it.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn size(dir: &Path) -> u64 {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    files.filter_map(|it| it.metadata().ok()).map(|it| it.len()).sum()
}
