//! What can be measured.

use std::{path::PathBuf, time::Duration};

use clap::Subcommand;

use super::words;

/// Measure an engine on this machine
#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Debug, Subcommand)]
pub(crate) enum What {
    Soak(Soak),
    #[command(hide = true)]
    Load(Load),
}

/// Hold a rate while the engine is killed and started again
///
/// Instances of one job each are started at a steady rate in a process of its own, which is killed every
/// now and then. What it does is written down second by second, as a table and as a picture. All lines
/// should be flat.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine bench soak --data soak --rate 2000 --for 10min --kill-every 30s")]
pub(crate) struct Soak {
    /// Instances a second
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) rate: u64,

    /// How long
    #[arg(long = "for", value_name = "SPAN", default_value = "1min", value_parser = words::span)]
    pub(crate) time: Duration,

    /// How long the process has, once it has opened the store, before it is killed
    #[arg(long, value_name = "SPAN", default_value = "15s", value_parser = words::span)]
    pub(crate) kill_every: Duration,

    /// How long ended instances are kept
    #[arg(long, value_name = "SPAN", default_value = "10s", value_parser = words::span)]
    pub(crate) keep: Duration,

    /// The directory for the store and the results: soak.csv and soak.svg
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
}

/// The process that is killed
#[derive(Debug, clap::Args)]
pub(crate) struct Load {
    #[arg(long)]
    pub(crate) rate: u64,
    #[arg(long, value_parser = words::span)]
    pub(crate) keep: Duration,
    #[arg(long)]
    pub(crate) data: PathBuf,
}
