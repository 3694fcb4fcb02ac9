//! The whole runtime on a virtual clock with a faulty store: one seed decides everything.
//!
//! Several shards run random work side by side. A scheduler that only knows the seed says who goes on
//! next, when batches are sealed and written, when rows are stored, when mails arrive, what fails, and
//! who crashes when. Clients ask for everything that can be asked, and repeat what they had no answer
//! to. Meanwhile and at the end the promises of the runtime are checked against a journal of all that
//! was ever durable:
//!
//! - what was acknowledged is in the log, and nothing is there twice;
//! - a message is received at most once, and once if it was acknowledged and someone waits;
//! - no job is lost, every timer fires, callers and what they called agree;
//! - the views say what the log says, and reading either again gives the same shard.
//!
//! ```
//! let figures = travertine_testkit::simulation::simulate(7, 100).unwrap();
//! assert!(figures.steps >= 100);
//! ```

mod check;
mod client;
mod functions;
mod journal;
mod models;
mod world;

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use world::World;

/// What happened in simulations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// How many simulations.
    pub seeds: u64,
    /// How many times something was chosen to happen.
    pub steps: u64,
    /// What clients asked.
    pub requests: u64,
    /// How many of those were acknowledged.
    pub acknowledged: u64,
    /// Instances that began.
    pub instances: u64,
    /// Entries that were written.
    pub entries: u64,
    /// Mails between shards that arrived.
    pub mails: u64,
    /// Rows that were stored.
    pub checkpoints: u64,
    /// Crashes of all shards at once.
    pub crashes: u64,
    /// Shards that were taken over by another owner.
    pub takeovers: u64,
    /// Calls of the store that failed.
    pub faults: u64,
    /// How often an owner claimed its shard again and went on with what it had in memory.
    pub claimed_again: u64,
    /// Shards that were lost alone, with all they had in memory, and claimed again while others went on.
    pub lost: u64,
}

impl Figures {
    /// Adds those of other simulations.
    pub fn add(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.steps += other.steps;
        self.requests += other.requests;
        self.acknowledged += other.acknowledged;
        self.instances += other.instances;
        self.entries += other.entries;
        self.mails += other.mails;
        self.checkpoints += other.checkpoints;
        self.crashes += other.crashes;
        self.takeovers += other.takeovers;
        self.faults += other.faults;
        self.claimed_again += other.claimed_again;
        self.lost += other.lost;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} seeds, {} steps: {} requests, {} acknowledged; {} instances, {} entries, {} mails, \
             {} checkpoints; {} crashes, {} takeovers, {} faults of the store, {} claimed again, {} lost",
            self.seeds,
            self.steps,
            self.requests,
            self.acknowledged,
            self.instances,
            self.entries,
            self.mails,
            self.checkpoints,
            self.crashes,
            self.takeovers,
            self.faults,
            self.claimed_again,
            self.lost
        )
    }
}

/// A promise that was broken.
#[derive(Clone, Debug)]
pub struct Broken {
    /// In which simulation.
    pub seed: u64,
    /// How long that was to be.
    pub steps: u64,
    /// What was found.
    pub what: String,
    /// All that happened, line by line.
    pub trace: Vec<String>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, steps, what, .. } = self;
        writeln!(f, "seed {seed}: {what}")?;
        write!(
            f,
            "again: cargo run -p travertine-testkit --bin simulate -- --from {seed} --seeds 1 \
             --steps {steps} --trace"
        )
    }
}

/// Runs one simulation of so many steps, and brings it to rest. The same seed gives the same run: one
/// that breaks a promise is run again to tell what happened.
pub fn simulate(seed: u64, steps: u64) -> Result<Figures, Box<Broken>> {
    let what = match run(seed, steps, &Trace::default()) {
        Ok(figures) => return Ok(figures),
        Err(what) => what,
    };
    let trace = Trace { lines: Some(Arc::default()) };
    let again = run(seed, steps, &trace).err();
    assert_eq!(again.as_ref(), Some(&what), "the same seed gives the same run");
    Err(Box::new(Broken { seed, steps, what, trace: trace.take() }))
}

fn run(seed: u64, steps: u64, trace: &Trace) -> Result<Figures, String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut world = World::new(seed, trace.clone());
        for _ in 0..steps {
            world.step()?;
        }
        world.finish()
    }));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("a panic: {}", text.unwrap_or("without a text")))
    })
}

/// What happened, where anyone wants to know.
#[derive(Clone, Debug, Default)]
struct Trace {
    lines: Option<Arc<Mutex<Vec<String>>>>,
}

impl Trace {
    fn say(&self, line: impl FnOnce() -> String) {
        if let Some(lines) = &self.lines {
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line());
        }
    }

    fn take(&self) -> Vec<String> {
        let lines = self.lines.as_ref();
        lines.map_or_else(Vec::new, |it| {
            std::mem::take(&mut *it.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}
