//! The engine as a whole. It is one binary, because linking takes longer than most of the tests; filters
//! choose among them: `cargo test -p travertine-testkit --test it laws`.
//!
//! What wants the machine for itself, `crash` and `hostile`, is apart.

mod armed;
mod budget;
mod camunda;
mod cases;
mod collaboration;
mod coverage;
mod covers;
mod data;
mod decisions;
mod dependencies;
mod documented;
mod elements;
mod faults;
mod feel_reference;
mod laws;
mod listeners;
mod migrate;
mod modify;
mod positions;
mod races;
mod requirements;
mod semantics;
mod settings;
mod shards;
mod simulation;
mod store;
mod tck;
mod texts;
mod why;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

/// The folder of the project.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Says that a test did nothing. The harness keeps what is printed to itself, so it goes past that.
fn skipped(why: &str) {
    let mut out = std::io::stderr().lock();
    writeln!(out, "SKIPPED: {why}").expect("whoever runs the tests can be told");
}
