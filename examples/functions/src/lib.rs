//! What the examples share: how they open their engine, and the outside world that their activities
//! change, which is a file of lines.
//!
//! Each program takes a directory, says what it does, and can be killed at any moment (`kill -9`). Run it
//! again on the same directory and it goes on where it was:
//!
//! ```sh
//! cargo run -p durable-functions --bin order -- /tmp/orders
//! ```

#![expect(clippy::print_stdout, reason = "this is what they are for")]

use std::{
    error::Error,
    fmt,
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
};

use travertine::{ActivityContext, Dependencies, Engine, Failure, Options};

/// Opens the engine in the directory that the program was given, with its ledger for activities.
///
/// The workflows and activities of a program find themselves; nobody has to list them.
pub fn open() -> Result<Engine, Box<dyn Error>> {
    // What the engine has to say: above all, of a workflow that cannot go on.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .init();
    let dir = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: PROGRAM DIR")?;
    std::fs::create_dir_all(&dir)?;
    let ledger = Ledger::new(&dir);
    let dependencies = Dependencies::new().with(ledger);
    Ok(Engine::open_with(dir, Options { dependencies, ..Options::default() })?)
}

/// Says how a run has ended.
pub fn ended(id: &str, how: &dyn fmt::Display) {
    println!("{id} ended: {how}");
}

/// The outside world: a file with a line for each thing that activities have done to it.
///
/// Whoever is killed after such a line and before the engine has heard of it does the thing again,
/// under the same key. A real service recognises it by that key; this one writes it twice, so that you
/// can see it.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// In this directory.
    pub fn new(dir: &Path) -> Self {
        Self { path: dir.join("ledger") }
    }

    /// Adds a line: the key of the activity, which attempt it was, and what it did.
    pub fn write(&self, cx: &ActivityContext, what: &str) -> Result<(), Failure> {
        println!("  {what} (attempt {})", cx.attempt());
        let line = format!("{}\t{}\t{what}\n", cx.idempotency_key(), cx.attempt());
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        // One call, so that nobody ever finds half a line.
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(|error| Failure::new("ledger", error.to_string()))
    }
}
