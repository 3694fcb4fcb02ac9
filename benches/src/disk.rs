//! What the programs that measure the disk have in common.

use std::{
    env,
    error::Error as StdError,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use travertine_runtime::{Engine, Timestamp};
use travertine_store::{Batch, Claim, Entry, InstanceId, ShardId, SqliteStore, Store, sqlite};

/// What came of measuring.
pub type Outcome<T = ()> = Result<T, Box<dyn StdError>>;

/// Something that is measured in a directory, by its name.
pub type Part = (&'static str, fn(&Path) -> Outcome);

/// Measures the parts that the arguments of the program name, all where they name none. An argument before
/// them is the directory on the disk to be measured.
pub fn measure(parts: &[Part]) -> Outcome {
    let find = |name: &str| parts.iter().find(|(it, _)| *it == name);
    let mut args = env::args().skip(1).peekable();
    let dir = args.next_if(|it| find(it).is_none());
    let wanted = args.map(|it| {
        let known = || parts.iter().map(|(it, _)| *it).collect::<Vec<_>>().join(", ");
        find(&it).ok_or_else(|| format!("there is no part {it}, but {}", known()))
    });
    let wanted = wanted.collect::<Result<Vec<_>, _>>()?;
    let dir = dir.map_or_else(env::temp_dir, PathBuf::from);
    let dir = dir.join(format!("travertine-bench-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    let mut chosen = if wanted.is_empty() { parts.iter().collect() } else { wanted }.into_iter();
    let measured = chosen.try_for_each(|(_, measure)| measure(&dir));
    fs::remove_dir_all(&dir)?;
    measured
}

/// How many shards engines have.
pub fn shards() -> u16 {
    env::var("TRAVERTINE_BENCH_SHARDS").ok().and_then(|it| it.parse().ok()).unwrap_or(1)
}

/// Whether a load of so many at once is to be measured.
pub fn is_wanted(at_once: usize) -> bool {
    env::var("TRAVERTINE_BENCH_AT_ONCE").map_or(true, |it| it == at_once.to_string())
}

/// A number of things to do, smaller where someone only tries it out.
pub fn scaled(count: usize) -> usize {
    let scale: f64 =
        env::var("TRAVERTINE_BENCH_SCALE").ok().and_then(|it| it.parse().ok()).unwrap_or(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a number of things to do, which need not be exact"
    )]
    let count = (count as f64 * scale) as usize;
    count.max(100)
}

/// Says a line.
pub fn say(line: &str) {
    // Nobody is left to tell when standard output is gone.
    drop(writeln!(io::stdout(), "{line}"));
}

/// How many a second.
#[expect(clippy::cast_precision_loss, reason = "a rate need not be exact")]
pub fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

/// Appends as many entries of the same size, by as many at a time, as the engine did.
pub fn raw(dir: &Path, entries: u64, bytes: u64, batches: u64) -> Outcome<f64> {
    let store =
        SqliteStore::open(dir, &sqlite::Options { shards: 1, ..sqlite::Options::default() })?;
    let claim = store.take(ShardId(0), "bench")?;
    let size = usize::try_from(bytes / entries.max(1))?;
    let k = entries.div_ceil(batches.max(1));
    // As large as the numbers of the engine's entries: every other one is the second of its instance.
    let at = Timestamp::from_millis(1_800_000_000_000);
    let began = Instant::now();
    let mut seq = 0;
    while seq < entries {
        let now = k.min(entries - seq);
        let batch: Vec<Entry> = (1..=now)
            .map(|it| Entry {
                seq: seq + it,
                instance: InstanceId(seq + it),
                previous: if it % 2 == 0 { seq } else { 0 },
                at,
                body: vec![7; size],
            })
            .collect();
        seq += now;
        store.append(&claim, &[Batch { entries: batch, ..Batch::default() }])?;
    }
    Ok(rate(usize::try_from(entries)?, began.elapsed()))
}

/// The one in the middle.
pub fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Waits until the views are up to date, so that their work is not in the way of what comes next.
pub fn settle(engine: &Engine) -> Outcome {
    engine.query_now(&travertine_store::view::Query {
        table: travertine_store::view::Table::Messages,
        filters: Vec::new(),
        descending: false,
        after: None,
        limit: 1,
    })?;
    Ok(())
}

/// Throws the views of a store away that nobody has open, so that they are made again.
pub fn reset_views(store: &dyn Store) -> Outcome {
    let take = |it| store.take(ShardId(it), "a benchmark");
    let claims: Vec<Claim> = (0..store.shards()).map(take).collect::<Result<_, _>>()?;
    Ok(store.reset_views(&claims)?)
}

/// The memory that this process has, in bytes.
pub fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = pages.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    pages * 4096
}
