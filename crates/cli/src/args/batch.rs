//! What can be asked of many instances at once.

use clap::{Subcommand, ValueEnum};
use travertine_runtime::{BatchOutcome, InstanceId, Timestamp, engine::NUMBER};
use travertine_store::view::InstanceState;
use travertine_value::{Name, Value};

use super::{
    store::{Shared, Variables},
    words::{self, Whose},
};
use crate::{clock, pairs};

/// Do the same with many instances: cancel, resolve, suspend, resume, migrate, modify, set, delete
///
/// What a filter finds is counted, stays what it is, and is worked through one part after the other beside everything
/// else. A batch goes on after a crash where it was, and tells what became of each instance. While nobody has the store open,
/// `begin` stays until it is over.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "batch",
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  travertine batches begin cancel --definition order --dry-run
  travertine batches begin cancel --definition order --where amount=0
  travertine batches begin migrate --definition order --version 2 --to 3 --per-second 100
  travertine batches
  travertine batches show 12 --outcome refused
  travertine batches pause 12"
)]
pub(crate) struct Batches {
    #[command(subcommand)]
    pub(crate) act: Option<BatchAct>,

    #[command(flatten)]
    pub(crate) list: BatchList,
}

impl Batches {
    pub(crate) fn shared(&self) -> &Shared {
        match &self.act {
            None => &self.list.shared,
            Some(BatchAct::List(it)) => &it.shared,
            Some(BatchAct::Begin(it)) => &it.shared,
            Some(BatchAct::Show(it)) => &it.shared,
            Some(
                BatchAct::Pause(it)
                | BatchAct::Resume(it)
                | BatchAct::Cancel(it)
                | BatchAct::Forget(it),
            ) => &it.shared,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum BatchAct {
    /// List batches, the latest first
    List(BatchList),
    Begin(Box<BeginBatch>),
    Show(ShowBatch),
    /// Have a batch stand still until it is resumed; what is under way is finished
    Pause(OneBatch),
    /// Let a paused batch go on
    Resume(OneBatch),
    /// End a batch; what was done stays
    Cancel(OneBatch),
    /// Forget a batch that is over
    Forget(OneBatch),
}

#[derive(Debug, clap::Args)]
pub(crate) struct BatchList {
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OneBatch {
    /// Its number
    #[arg(value_name = "BATCH")]
    pub(crate) batch: InstanceId,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Show a batch, and what became of each instance
#[derive(Debug, clap::Args)]
pub(crate) struct ShowBatch {
    /// Its number
    #[arg(value_name = "BATCH")]
    pub(crate) batch: InstanceId,

    /// Only instances with this outcome: waiting, done, refused, gone, skipped
    #[arg(long, value_name = "OUTCOME", value_parser = outcome)]
    pub(crate) outcome: Option<BatchOutcome>,

    /// How many at most
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) limit: u64,

    /// Pass over so many
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) after: u64,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

fn outcome(text: &str) -> Result<BatchOutcome, String> {
    let found = BatchOutcome::ALL.into_iter().find(|it| it.name() == text);
    found.ok_or_else(|| {
        let all = BatchOutcome::ALL.map(BatchOutcome::name).join(", ");
        format!("an outcome is one of {all}")
    })
}

/// What is done with each instance.
#[derive(Clone, Copy, Debug, ValueEnum, PartialEq, Eq)]
pub(crate) enum Operation {
    Cancel,
    Resolve,
    Suspend,
    Resume,
    Migrate,
    Modify,
    Set,
    Delete,
}

/// Begin a batch with the instances that match now
///
/// Those with which nothing could be done are left out: ended ones, and for delete those that run. Without any filter all
/// are meant, which --all must say.
#[derive(Debug, clap::Args)]
#[command(
    disable_version_flag = true,
    after_help = "\
Exit status:
  0  it is over, or goes on
  1  it is over, and some instances have refused
  2  anything else is wrong; nothing was done"
)]
pub(crate) struct BeginBatch {
    /// What is done with each
    #[arg(value_name = "OPERATION", value_enum)]
    pub(crate) operation: Operation,

    #[command(flatten)]
    pub(crate) filter: BatchFilter,

    #[command(flatten)]
    pub(crate) variables: Variables,

    /// migrate: the version to migrate to
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<u32>,

    /// migrate: another definition, whose version it is
    #[arg(long, value_name = "ID", requires = "to")]
    pub(crate) to_definition: Option<String>,

    /// migrate: what an element becomes
    #[arg(long = "map", value_name = "OLD=NEW", value_parser = words::mapping)]
    pub(crate) map: Vec<(Name, Name)>,

    /// modify: move the tokens at an element before another one
    #[arg(long = "move", value_name = "FROM:TO", value_parser = words::both)]
    pub(crate) moves: Vec<(String, String)>,

    /// modify: put a token before an element
    #[arg(long, value_name = "ELEMENT")]
    pub(crate) add: Vec<String>,

    /// modify: take the tokens at an element away
    #[arg(long, value_name = "ELEMENT")]
    pub(crate) withdraw: Vec<String>,

    /// Only say how many instances there are
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// How many instances in a second, at most
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) per_second: Option<u32>,

    /// Begin with nothing before it is resumed
    #[arg(long)]
    pub(crate) paused: bool,

    /// Stay until it is over
    #[arg(long, conflicts_with = "paused")]
    pub(crate) wait: bool,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Which instances are meant.
#[derive(Debug, clap::Args)]
pub(crate) struct BatchFilter {
    /// Instances of this definition
    #[arg(long, value_name = "ID")]
    pub(crate) definition: Option<String>,

    /// Instances of this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<u32>,

    /// Instances in one of these states: running, suspended, halted, completed, failed, cancelled
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = words::state)]
    pub(crate) state: Vec<InstanceState>,

    /// Running instances that have this variable
    #[arg(long = "where", value_name = "NAME=VALUE", value_parser = pairs::pair)]
    pub(crate) holds: Vec<(Name, Value)>,

    /// Instances that have incidents
    #[arg(long)]
    pub(crate) incidents: bool,

    /// Instances that this one has called
    #[arg(long, value_name = "INSTANCE")]
    pub(crate) caller: Option<Whose>,

    /// Instances that nobody has called
    #[arg(long, conflicts_with = "caller")]
    pub(crate) top: bool,

    /// Instances that began at this time or after it
    #[arg(long, value_name = "TIME", value_parser = clock::date)]
    pub(crate) since: Option<Timestamp>,

    /// All instances, where nothing else says which
    #[arg(long)]
    pub(crate) all: bool,
}

impl BatchFilter {
    /// How it reads, as it was typed.
    pub(crate) fn words(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.definition.as_ref().map(|it| format!("definition={it}")));
        words.extend(self.version.map(|it| format!("version={it}")));
        if !self.state.is_empty() {
            let all: Vec<&str> =
                self.state.iter().map(|it| travertine_data::words::of_state(*it)).collect();
            words.push(format!("state={}", all.join(",")));
        }
        words.extend(self.holds.iter().map(|(name, it)| format!("{name}={}", it.to_json())));
        words.extend(self.incidents.then(|| "incidents=true".to_owned()));
        words.extend(self.caller.as_ref().map(|it| match it {
            Whose::Number(id) => format!("caller={NUMBER}{id}"),
            Whose::Called(name) => format!("caller={name}"),
        }));
        words.extend(self.top.then(|| "top=true".to_owned()));
        words.extend(self.since.map(|it| format!("since={it}")));
        words.join(" ")
    }
}
