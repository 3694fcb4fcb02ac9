//! How fast the embedded store appends, against the disk itself: a plain file that takes the same bytes
//! and is synced as often, in the same run and on the same file system.
//!
//! `cargo run --profile dist -p travertine-benches --bin store [DIR]`, where DIR is on the disk to be measured.

use std::{
    env,
    error::Error,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use travertine_store::{
    Batch, Claim, Entry, InstanceId, ShardId, SqliteStore, Store as _, sqlite::Options,
};
use travertine_value::time::Timestamp;

/// The bytes of an entry.
const BODY: usize = 300;
/// How often the two take turns, so that a busy moment hits both.
const ROUNDS: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = env::args_os().nth(1).map_or_else(env::temp_dir, PathBuf::from);
    let dir = dir.join(format!("travertine-bench-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    let measured = measure(&dir);
    fs::remove_dir_all(&dir)?;
    measured
}

fn measure(dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout();
    writeln!(out, "entries of {BODY} bytes, appended and synced by K; medians of {ROUNDS} rounds")?;
    writeln!(out, "   K   store/s    file/s  ratio  worst ms  cpu µs/entry")?;
    for (k, batches) in [(1, 200), (16, 200), (256, 100)] {
        let options = Options { shards: 1, ..Options::default() };
        let store = SqliteStore::open(dir.join(format!("store-{k}")), &options)?;
        let mut appender = Appender { claim: store.take(ShardId(0), "bench")?, store, seq: 0 };
        let mut file = File::create(dir.join(format!("file-{k}")))?;
        let mut rates = Vec::new();
        let (mut worst, mut cpu) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..ROUNDS {
            let before = cpu_time();
            let start = Instant::now();
            for _ in 0..batches {
                let begin = Instant::now();
                appender.append(k)?;
                worst = worst.max(begin.elapsed());
            }
            let store = rate(k * batches, start);
            cpu += cpu_time().saturating_sub(before);
            let start = Instant::now();
            for _ in 0..batches {
                file.write_all(&vec![7; BODY * k])?;
                file.sync_data()?;
            }
            rates.push((store, rate(k * batches, start)));
        }
        let median = |mut of: Vec<f64>| {
            of.sort_by(f64::total_cmp);
            of[of.len() / 2]
        };
        let store = median(rates.iter().map(|it| it.0).collect());
        let plain = median(rates.iter().map(|it| it.1).collect());
        let ratio = median(rates.iter().map(|it| it.0 / it.1).collect());
        let cpu = cpu.as_secs_f64() * 1e6 / as_f64(k * batches * ROUNDS);
        let worst = worst.as_secs_f64() * 1e3;
        writeln!(out, "{k:>4} {store:>9.0} {plain:>9.0} {ratio:>6.2} {worst:>9.1} {cpu:>13.1}")?;
    }
    Ok(())
}

struct Appender {
    store: SqliteStore,
    claim: Claim,
    seq: u64,
}

impl Appender {
    fn append(&mut self, count: usize) -> Result<(), travertine_store::Error> {
        let entries = (0..count).map(|_| {
            self.seq += 1;
            let (seq, body) = (self.seq, vec![7; BODY]);
            let (instance, at) = (InstanceId(seq), Timestamp::from_millis(1_790_000_000_000));
            Entry { seq, instance, previous: 0, at, body }
        });
        let entries = entries.collect();
        let batch = Batch { entries, ..Batch::default() };
        self.store.append(&self.claim, &[batch])
    }
}

fn rate(count: usize, since: Instant) -> f64 {
    as_f64(count) / since.elapsed().as_secs_f64()
}

fn as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("no bench does so much"))
}

/// What this thread has used of the processor, where the system tells.
fn cpu_time() -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent = told.split_whitespace().next().and_then(|it| it.parse().ok());
    Duration::from_nanos(spent.unwrap_or(0))
}
