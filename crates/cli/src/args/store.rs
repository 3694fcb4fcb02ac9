//! What can be asked of a store.

use std::path::PathBuf;

use clap::{Subcommand, builder::NonEmptyStringValueParser};
use travertine_kernel::Assignments;
use travertine_runtime::{Address, Timestamp, engine::Positions};
use travertine_store::view::{Cursor, InstanceState, JobState};
use travertine_value::{Name, Value};

use super::{words, words::Whose};
use crate::{
    clock, pairs,
    shell::{DATA, DATA_VARIABLE},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Deploy(Deploy),
    Definitions(Definitions),
    Undeploy(Undeploy),
    Start(StartInstance),
    Instances(Instances),
    Show(Show),
    History(History),
    Jobs(Jobs),
    Tasks(Tasks),
    Complete(Complete),
    Fail(Fail),
    Claim(Claim),
    Unclaim(Unclaim),
    Retries(Retries),
    Message(Message),
    Messages(Messages),
    DeadLetters(DeadLetters),
    Signal(Signal),
    Conditions(Conditions),
    Subscriptions(Subscriptions),
    Set(Set),
    Timers(Timers),
    Schedules(super::schedule::Schedules),
    Batches(super::batch::Batches),
    Incidents(Incidents),
    Resolve(Resolve),
    Suspend(Suspend),
    Resume(Resume),
    Cancel(Cancel),
    Modify(Modify),
    Migrate(Migrate),
    Delete(Delete),
    Tail(Tail),
    Work(Work),
    Stats(Stats),
    Compact(Compact),
    Verify(Verify),
    Backup(Backup),
}

impl Command {
    /// The store of a command that the process which has it open can do for this one.
    pub(crate) fn place_to_share(&self) -> Option<&Place> {
        let shared = match self {
            // One holds a store itself, the other reads its files as they are.
            Self::Work(_) | Self::Backup(_) => return None,
            // It mends what nobody can open.
            Self::Verify(it) if it.accept_loss => return None,
            Self::Deploy(it) => &it.shared,
            Self::Definitions(it) => &it.shared,
            Self::Undeploy(it) => &it.shared,
            Self::Start(it) => &it.shared,
            Self::Instances(it) => &it.shared,
            Self::Show(it) => &it.shared,
            Self::History(it) => &it.shared,
            Self::Jobs(it) => &it.shared,
            Self::Tasks(it) => &it.shared,
            Self::Complete(it) => &it.shared,
            Self::Fail(it) => &it.shared,
            Self::Claim(it) => &it.shared,
            Self::Unclaim(it) => &it.shared,
            Self::Retries(it) => &it.shared,
            Self::Message(it) => &it.shared,
            Self::Messages(it) => &it.shared,
            Self::DeadLetters(it) => match &it.act {
                None => &it.list.shared,
                Some(DeadLetterAct::List(it)) => &it.shared,
                Some(DeadLetterAct::Replay(it) | DeadLetterAct::Discard(it)) => &it.shared,
            },
            Self::Signal(it) => &it.shared,
            Self::Conditions(it) => &it.shared,
            Self::Subscriptions(it) => &it.shared,
            Self::Set(it) => &it.shared,
            Self::Timers(it) => match &it.act {
                None => &it.list.shared,
                Some(TimerAct::List(it)) => &it.shared,
                Some(TimerAct::Move { shared, .. } | TimerAct::Fire { shared, .. }) => shared,
            },
            Self::Schedules(it) => it.shared(),
            Self::Batches(it) => it.shared(),
            Self::Incidents(it) => &it.shared,
            Self::Resolve(it) => &it.shared,
            Self::Suspend(it) => &it.several.shared,
            Self::Resume(it) => &it.several.shared,
            Self::Cancel(it) => &it.several.shared,
            Self::Delete(it) => &it.several.shared,
            Self::Modify(it) => &it.shared,
            Self::Migrate(it) => &it.shared,
            Self::Tail(it) => &it.shared,
            Self::Stats(it) => &it.shared,
            Self::Compact(it) => &it.shared,
            Self::Verify(it) => &it.shared,
        };
        Some(&shared.place)
    }
}

// Which store. No doc comments on these: they would become the help text of the commands.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// The directory of the store, or the URL of one on PostgreSQL
    #[arg(
        long,
        visible_alias = "store",
        value_name = "DIR",
        env = DATA_VARIABLE,
        hide_env_values = true,
        default_value = DATA,
        display_order = 90
    )]
    pub(crate) data: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Shared {
    #[command(flatten)]
    pub(crate) place: Place,

    /// Give everything as one JSON document
    #[arg(long, display_order = 91)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Paging {
    /// How many at most
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = clap::value_parser!(u32).range(1..), display_order = 80)]
    pub(crate) limit: u32,

    /// Go on after this one: what the page before gives as its end
    #[arg(long, value_name = "CURSOR", value_parser = words::cursor, display_order = 81)]
    pub(crate) after: Option<Cursor>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Variables {
    /// A variable: JSON where the value is JSON, otherwise text
    #[arg(short = 'v', long = "var", value_name = "NAME=VALUE", value_parser = pairs::pair)]
    pub(crate) vars: Vec<(Name, Value)>,

    /// Variables as a JSON object: the object itself, or a file; `-` is standard input
    #[arg(long = "vars", value_name = "JSON|FILE")]
    pub(crate) object: Option<String>,
}

impl Variables {
    pub(crate) fn is_given(&self) -> bool {
        !self.vars.is_empty() || self.object.is_some()
    }

    /// The variables. Single ones go before those of the object.
    pub(crate) fn given(&self) -> anyhow::Result<Assignments> {
        pairs::given("--vars", self.object.as_deref(), &self.vars)
    }
}

/// Deploy models to a store
///
/// All files together, or none. Makes the store where there is none. What has not changed since it was
/// last deployed keeps its version, whatever its file is called. A decision that is deployed alone takes
/// effect at once: business rule tasks make the latest, unless they say otherwise.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  deployed, or all of it was before
  1  a file is rejected; the report says why
  2  anything else is wrong

Examples:
  travertine deploy order.bpmn
  travertine deploy order.bpmn routing.dmn --data /var/lib/orders")]
pub(crate) struct Deploy {
    /// The models
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Refuse whatever breaks a rule of the BPMN standard, also where nothing depends on it
    #[arg(long)]
    pub(crate) strict: bool,

    /// How many cores may work on instances at once, for a store that is made; it keeps that number. 1 where nothing is
    /// said, 64 on PostgreSQL
    #[arg(long, value_name = "COUNT")]
    pub(crate) shards: Option<u16>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// List what is deployed: processes, functions and decisions
#[derive(Debug, clap::Args)]
pub(crate) struct Definitions {
    /// Only this one, with all its versions
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Remove a version of a definition that has no instances, or of a decision
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true)]
pub(crate) struct Undeploy {
    /// The definition
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Its version
    #[arg(value_name = "VERSION")]
    pub(crate) version: u32,

    /// The decision, where a process has that id too
    #[arg(long, conflicts_with = "process")]
    pub(crate) decision: bool,

    /// The process, where a decision has that id too
    #[arg(long)]
    pub(crate) process: bool,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Start an instance
///
/// Of the latest version, unless another is named. With --id it is started once: where an instance of the
/// same definition has that business key already, that one is shown instead.
#[derive(Debug, clap::Args)]
#[command(
    disable_version_flag = true,
    after_help = "\
Exit status, with --wait:
  0  it has completed
  3  it waits for someone else: a person, a worker, a message
  4  it has an incident
  5  it failed or was cancelled
Without --wait: 0 where it is started or, with the same variables, exists; 2 where it cannot be.
In any case:
  6  an instance with this --id exists, with other variables; nothing was started

Examples:
  travertine start order --id ORD-7 --var amount=250
  travertine start order --version 3 --vars order.json
  travertine start order --at pack --vars '{\"shelf\": \"B7\"}'
  travertine start report --wait --json"
)]
pub(crate) struct StartInstance {
    /// The definition
    #[arg(value_name = "DEFINITION")]
    pub(crate) definition: String,

    /// Its version, instead of the latest
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<u32>,

    /// The version with this tag
    #[arg(long, value_name = "TAG", conflicts_with = "version")]
    pub(crate) tag: Option<String>,

    /// The business key of the instance: what you call it
    #[arg(long, visible_alias = "business-key", value_name = "KEY")]
    pub(crate) id: Option<String>,

    /// Begin at this element instead of the plain start; may be given again
    #[arg(long, value_name = "ELEMENT")]
    pub(crate) at: Vec<String>,

    #[command(flatten)]
    pub(crate) variables: Variables,

    /// Wait until it ends, or goes on only when someone else does something
    #[arg(long)]
    pub(crate) wait: bool,

    /// Wait no longer than this, such as 30s or PT1H
    #[arg(long, value_name = "TIME", value_parser = words::span, requires = "wait")]
    pub(crate) timeout: Option<std::time::Duration>,

    /// Show values in full, however large they are
    #[arg(long)]
    pub(crate) full: bool,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// List instances, the latest first
#[derive(Debug, clap::Args)]
#[command(
    disable_version_flag = true,
    after_help = "\
Examples:
  travertine instances
  travertine instances --definition order --state running,halted
  travertine instances --var customer=4711 --json
  travertine instances --incidents --limit 200"
)]
pub(crate) struct Instances {
    /// Only instances of this definition
    #[arg(long, value_name = "ID")]
    pub(crate) definition: Option<String>,

    /// Only instances of this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<u32>,

    /// Only instances in one of these states: running, suspended, halted, completed, failed, cancelled
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = words::state)]
    pub(crate) state: Vec<InstanceState>,

    /// Only the instance with this business key
    #[arg(long, visible_alias = "business-key", value_name = "KEY")]
    pub(crate) id: Option<String>,

    /// Only running instances that have this variable
    #[arg(short = 'v', long = "var", value_name = "NAME=VALUE", value_parser = pairs::pair)]
    pub(crate) vars: Vec<(Name, Value)>,

    /// Only instances that have incidents
    #[arg(long)]
    pub(crate) incidents: bool,

    /// Only instances that this one has called
    #[arg(long, value_name = "INSTANCE")]
    pub(crate) caller: Option<Whose>,

    /// Only instances that nobody has called
    #[arg(long, conflicts_with = "caller")]
    pub(crate) top: bool,

    /// Only instances that began at this time or after it
    #[arg(long, value_name = "TIME", value_parser = clock::date)]
    pub(crate) since: Option<Timestamp>,

    /// The oldest first
    #[arg(long)]
    pub(crate) oldest: bool,

    /// Schedules and batches too, which `travertine schedules` and `travertine batches` list
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) paging: Paging,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Show an instance: where it is, what it has, and why it waits
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine show 12
  travertine show 12 --json | jq '.waits'")]
pub(crate) struct Show {
    /// The instance: its business key, or its number; `number:N` is always its number
    #[arg(value_name = "INSTANCE")]
    pub(crate) instance: Whose,

    /// Show values in full, however large they are
    #[arg(long)]
    pub(crate) full: bool,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Show what has happened to an instance
///
/// When each activity started and ended, how long it took, who did it and what it brought. --events shows what
/// the engine did instead: each entry of the log with its number and its time, and the events in it. --at
/// shows the instance as it was after an entry. --json has both as data.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine history 12
  travertine history 12 --events
  travertine history 12 --at 40
  travertine history 12 --json | jq '.activities[] | {element, outcome, duration_ms}'")]
pub(crate) struct History {
    /// The instance: its business key, or its number; `number:N` is always its number
    #[arg(value_name = "INSTANCE")]
    pub(crate) instance: Whose,

    /// Show the events of the engine, an entry of the log at a time
    #[arg(long, conflicts_with = "at")]
    pub(crate) events: bool,

    /// Show how it was after this entry
    #[arg(long, value_name = "ENTRY", conflicts_with_all = ["limit", "after"])]
    pub(crate) at: Option<u64>,

    /// How many entries at most
    #[arg(long, value_name = "COUNT", display_order = 80)]
    pub(crate) limit: Option<usize>,

    /// Only what came after this entry
    #[arg(long, value_name = "ENTRY", display_order = 81)]
    pub(crate) after: Option<u64>,

    /// Show values in full, however large they are
    #[arg(long)]
    pub(crate) full: bool,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// List jobs: work that waits for workers
#[derive(Debug, clap::Args)]
pub(crate) struct Jobs {
    /// Only those of this instance
    #[arg(long, value_name = "INSTANCE")]
    pub(crate) instance: Option<Whose>,

    /// Only those of instances of this definition
    #[arg(long, value_name = "ID")]
    pub(crate) definition: Option<String>,

    /// Only jobs of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) job_type: Option<String>,

    /// Only jobs in this state: available, leased, failed; completed, cancelled, raised
    #[arg(long, value_name = "STATE", value_parser = words::job_state)]
    pub(crate) state: Option<JobState>,

    /// Only what is over, as far as it is kept
    #[arg(long)]
    pub(crate) past: bool,

    #[command(flatten)]
    pub(crate) paging: Paging,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// List user tasks: work that waits for people
#[derive(Debug, clap::Args)]
pub(crate) struct Tasks {
    /// Only those of this instance
    #[arg(long, value_name = "INSTANCE")]
    pub(crate) instance: Option<Whose>,

    /// Only those of instances of this definition
    #[arg(long, value_name = "ID")]
    pub(crate) definition: Option<String>,

    /// Only tasks that this person has claimed or was assigned
    #[arg(long, value_name = "WHO")]
    pub(crate) assignee: Option<String>,

    /// Only tasks that nobody has claimed or was assigned
    #[arg(long, conflicts_with = "assignee")]
    pub(crate) unassigned: bool,

    /// Only tasks that this person is a candidate for
    #[arg(long, value_name = "WHO")]
    pub(crate) user: Option<String>,

    /// Only tasks that this group is a candidate for
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,

    /// Only what is over, as far as it is kept
    #[arg(long)]
    pub(crate) past: bool,

    #[command(flatten)]
    pub(crate) paging: Paging,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Complete a job, a user task or a decision
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine complete 12-7 --var approved=true
  travertine complete 12                       where only one thing waits in instance 12")]
pub(crate) struct Complete {
    /// What is done, such as 12-7; or an instance in which only one thing can be
    #[arg(value_name = "JOB")]
    pub(crate) work: words::Work,

    #[command(flatten)]
    pub(crate) variables: Variables,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Say that a job has failed
///
/// One retry less is left, unless --retries says how many. Without retries it becomes an incident. With
/// --error the job raises an error for the model to catch, with --escalate an escalation.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine fail 12-7 --message 'the printer is out of paper' --backoff PT5M
  travertine fail 12-7 --error no-stock --var left=0")]
pub(crate) struct Fail {
    /// What has failed, such as 12-7; or an instance in which only one thing can
    #[arg(value_name = "JOB")]
    pub(crate) work: words::Work,

    /// What went wrong
    #[arg(short, long, value_name = "TEXT", default_value = "")]
    pub(crate) message: String,

    /// How often it may still be tried
    #[arg(long, value_name = "COUNT")]
    pub(crate) retries: Option<u32>,

    /// How long to wait before the next try, such as 30s or PT5M
    #[arg(long, value_name = "TIME", value_parser = words::span)]
    pub(crate) backoff: Option<std::time::Duration>,

    /// The code of an error for the model to catch
    #[arg(long, value_name = "CODE", conflicts_with_all = ["retries", "backoff"])]
    pub(crate) error: Option<String>,

    /// The code of an escalation for the model to catch
    #[arg(long, value_name = "CODE", conflicts_with_all = ["retries", "backoff", "error"])]
    pub(crate) escalate: Option<String>,

    #[command(flatten)]
    pub(crate) variables: Variables,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Claim a user task, so that nobody else can
#[derive(Debug, clap::Args)]
pub(crate) struct Claim {
    /// The task, such as 12-7
    #[arg(value_name = "TASK")]
    pub(crate) task: Address,

    /// Who claims it
    #[arg(value_name = "WHO", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) who: String,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Give a user task back
#[derive(Debug, clap::Args)]
pub(crate) struct Unclaim {
    /// The task, such as 12-7
    #[arg(value_name = "TASK")]
    pub(crate) task: Address,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Set the retries of a job: how often it may still fail
#[derive(Debug, clap::Args)]
pub(crate) struct Retries {
    /// The job, such as 12-7
    #[arg(value_name = "JOB")]
    pub(crate) job: Address,

    /// How often
    #[arg(value_name = "COUNT")]
    pub(crate) count: u32,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Publish a message to one receiver, or to all
///
/// It is correlated with who has waited longest, else with a start event; else it is buffered for who comes to
/// wait for it. With --instance, --business-key or --where it is for one instance alone: it starts nothing, and is
/// refused where that instance does not wait for it, or several could be meant.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine message paid --instance ORD-7
  travertine message paid --where orderId=7
  travertine message paid --key ORD-7 --var amount=250
  travertine message paid --correlate order=7 --id pay-99 --ttl 1h")]
pub(crate) struct Message {
    /// Its name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// The correlation key, for models with one
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// A property that must agree with the receiver; a variable, for models made for Camunda 7
    #[arg(long, value_name = "NAME=VALUE", value_parser = pairs::pair)]
    pub(crate) correlate: Vec<(Name, Value)>,

    /// Only to this instance: its business key, or its number; `number:N` is always its number
    #[arg(long, value_name = "INSTANCE", conflicts_with = "all")]
    pub(crate) instance: Option<Whose>,

    /// Only to the instance with this business key, the id that it was started with
    #[arg(long, value_name = "KEY", conflicts_with_all = ["all", "instance"])]
    pub(crate) business_key: Option<String>,

    /// Only to the instance in which what waits for it sees this variable with this value
    #[arg(long = "where", value_name = "NAME=VALUE", value_parser = pairs::pair)]
    pub(crate) variable: Vec<(Name, Value)>,

    /// An id that its sender gives it: a message with the same id for the same receiver is not delivered twice
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    /// How long it is buffered where nobody waits for it, such as 1h; 0s for not at all. Without it: not at all, where it is to one instance, otherwise for good
    #[arg(long, value_name = "TIME", value_parser = words::span)]
    pub(crate) ttl: Option<std::time::Duration>,

    /// To all who wait for it, and to those who come to wait for it before it expires; with --where to all such
    #[arg(long)]
    pub(crate) all: bool,

    /// Which waits it is for: all, or those begun before it (after-wait), or those of instances begun before it (after-create)
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Delivery::All, hide_possible_values = true)]
    pub(crate) delivery: Delivery,

    #[command(flatten)]
    pub(crate) variables: Variables,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Which waits a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Delivery {
    AfterWait,
    AfterCreate,
    All,
}

/// List the messages that are buffered because nobody has waited for them yet
#[derive(Debug, clap::Args)]
pub(crate) struct Messages {
    /// Only those of this name
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) paging: Paging,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// List the messages that nobody has taken before they expired, send them again or drop them
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  travertine dead-letters --name paid
  travertine dead-letters replay 12
  travertine dead-letters discard 12 13"
)]
pub(crate) struct DeadLetters {
    #[command(subcommand)]
    pub(crate) act: Option<DeadLetterAct>,

    #[command(flatten)]
    pub(crate) list: DeadLetterList,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetterAct {
    /// List dead letters
    List(DeadLetterList),
    /// Send dead letters again, each with a new time to live
    Replay(SeveralLetters),
    /// Drop dead letters
    Discard(SeveralLetters),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SeveralLetters {
    /// Their numbers
    #[arg(value_name = "MESSAGE", required = true)]
    pub(crate) letters: Vec<u64>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DeadLetterList {
    /// Only those of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) paging: Paging,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Send a signal to everyone who waits for it
#[derive(Debug, clap::Args)]
pub(crate) struct Signal {
    /// Its name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) variables: Variables,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Offer variables to the conditional start events
#[derive(Debug, clap::Args)]
pub(crate) struct Conditions {
    #[command(flatten)]
    pub(crate) variables: Variables,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// List who waits for which messages and signals
#[derive(Debug, clap::Args)]
pub(crate) struct Subscriptions {
    /// For messages or signals of this name
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Only those of this instance
    #[arg(long, value_name = "INSTANCE")]
    pub(crate) instance: Option<Whose>,

    #[command(flatten)]
    pub(crate) paging: Paging,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Set variables of an instance
#[derive(Debug, clap::Args)]
pub(crate) struct Set {
    /// The instance: its business key, or its number; `number:N` is always its number
    #[arg(value_name = "INSTANCE")]
    pub(crate) instance: Whose,

    /// Where this token sees them, instead of in the process
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<u64>,

    #[command(flatten)]
    pub(crate) variables: Variables,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// List, move and fire timers
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  travertine timers --before 2026-02-01T00:00:00Z
  travertine timers move 12-7 2026-02-01T09:00:00Z
  travertine timers move 12-7 PT2H             two hours from now
  travertine timers fire 12-7"
)]
pub(crate) struct Timers {
    #[command(subcommand)]
    pub(crate) act: Option<TimerAct>,

    #[command(flatten)]
    pub(crate) list: TimerList,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TimerAct {
    /// List timers
    List(TimerList),
    /// Have a timer fire at another time
    Move {
        /// The timer, such as 12-7
        #[arg(value_name = "TIMER")]
        timer: Address,

        /// When: a point in time, or a time from now such as PT2H
        #[arg(value_name = "TIME")]
        to: String,

        #[command(flatten)]
        shared: Shared,
    },
    /// Fire a timer now
    Fire {
        /// The timer, such as 12-7
        #[arg(value_name = "TIMER")]
        timer: Address,

        #[command(flatten)]
        shared: Shared,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct TimerList {
    /// Only those of this instance
    #[arg(long, value_name = "INSTANCE")]
    pub(crate) instance: Option<Whose>,

    /// Only instances of this definition
    #[arg(long, value_name = "ID")]
    pub(crate) definition: Option<String>,

    /// Only timers that are due before this time
    #[arg(long, value_name = "TIME", value_parser = clock::date)]
    pub(crate) before: Option<Timestamp>,

    #[command(flatten)]
    pub(crate) paging: Paging,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// List incidents: what someone must look at
#[derive(Debug, clap::Args)]
pub(crate) struct Incidents {
    /// Only those of this instance
    #[arg(long, value_name = "INSTANCE")]
    pub(crate) instance: Option<Whose>,

    /// Only those of instances of this definition
    #[arg(long, value_name = "ID")]
    pub(crate) definition: Option<String>,

    /// Only what is over, as far as it is kept
    #[arg(long)]
    pub(crate) past: bool,

    #[command(flatten)]
    pub(crate) paging: Paging,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Resolve incidents: try again what ended in one
///
/// In an instance, at one of its tokens, or everywhere. An instance on which the engine itself has
/// failed is let go on, too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  tried again; nothing is wrong any more
  2  it cannot be tried
  4  an incident is there again, or still

Examples:
  travertine resolve 12 --var stock=5
  travertine resolve 12 --token 3
  travertine resolve --all --definition order")]
pub(crate) struct Resolve {
    /// The instance: its business key, or its number; `number:N` is always its number
    #[arg(value_name = "INSTANCE", required_unless_present = "all")]
    pub(crate) instance: Option<Whose>,

    /// Only at this token
    #[arg(long, value_name = "TOKEN", requires = "instance")]
    pub(crate) token: Option<u64>,

    /// In all instances
    #[arg(long, conflicts_with = "instance")]
    pub(crate) all: bool,

    /// In all instances of this definition
    #[arg(long, value_name = "ID", requires = "all")]
    pub(crate) definition: Option<String>,

    #[command(flatten)]
    pub(crate) variables: Variables,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Suspend instances until they are resumed
#[derive(Debug, clap::Args)]
pub(crate) struct Suspend {
    #[command(flatten)]
    pub(crate) several: Several,
}

/// Resume suspended instances
#[derive(Debug, clap::Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    pub(crate) several: Several,
}

/// Cancel instances, and all that they have called
#[derive(Debug, clap::Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(crate) several: Several,
}

/// Delete instances that have ended
#[derive(Debug, clap::Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    pub(crate) several: Several,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Several {
    /// The instances: their business keys, or their numbers; `number:N` is always a number
    #[arg(required = true, value_name = "INSTANCE")]
    pub(crate) instances: Vec<Whose>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Modify an instance: take tokens away, put tokens elsewhere
///
/// All of it happens at once, or nothing does. docs/operations.md says what it means.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine modify 12 --move approve:pay
  travertine modify 12 --withdraw remind --add pack
  travertine modify 12 --withdraw 7             token 7")]
pub(crate) struct Modify {
    /// The instance: its business key, or its number; `number:N` is always its number
    #[arg(value_name = "INSTANCE")]
    pub(crate) instance: Whose,

    /// Move the tokens at an element, or one token by its number, before another element
    #[arg(long = "move", value_name = "FROM:TO", value_parser = words::both)]
    pub(crate) moves: Vec<(String, String)>,

    /// Put a token before an element
    #[arg(long, value_name = "ELEMENT")]
    pub(crate) add: Vec<String>,

    /// Take the tokens at an element away, or one token by its number
    #[arg(long, value_name = "ELEMENT|TOKEN")]
    pub(crate) withdraw: Vec<String>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Migrate an instance to another version of its definition
///
/// docs/operations.md says what becomes of what is there.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  migrated, or it can be
  1  it cannot be migrated; nothing has changed
  2  anything else is wrong

Examples:
  travertine migrate 12 --to 3 --dry-run
  travertine migrate 12 --to 3 --map approve=approve-twice")]
pub(crate) struct Migrate {
    /// The instance: its business key, or its number; `number:N` is always its number
    #[arg(value_name = "INSTANCE")]
    pub(crate) instance: Whose,

    /// The version to migrate to
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: u32,

    /// Another definition, whose version it is
    #[arg(long, value_name = "ID")]
    pub(crate) definition: Option<String>,

    /// What an element becomes
    #[arg(long = "map", value_name = "OLD=NEW", value_parser = words::mapping)]
    pub(crate) map: Vec<(Name, Name)>,

    /// Only say what would become of each token
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Follow what happens, a line for each event
///
/// While `travertine work` or `serve` has the store open, events are shown as they become durable, until Ctrl-C. Otherwise
/// what has happened after a position is shown. With --json each line is a document, which names the position to go on from:
/// whoever does gets each event at least once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine tail
  travertine tail --definition order --json
  travertine tail --from-start --count 100
  travertine tail --after 812 --json")]
pub(crate) struct Tail {
    /// Only of this instance
    #[arg(long, value_name = "INSTANCE")]
    pub(crate) instance: Option<Whose>,

    /// Only of instances of this definition
    #[arg(long, value_name = "ID")]
    pub(crate) definition: Option<String>,

    /// Begin after this position, which the lines of --json name
    #[arg(long, value_name = "POSITION")]
    pub(crate) after: Option<Positions>,

    /// Begin with the first event that is kept
    #[arg(long, conflicts_with = "after")]
    pub(crate) from_start: bool,

    /// End after so many events
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Keep the engine running: timers fire, instances go on, jobs are done
///
/// In the foreground, with a line for each thing that happens, until Ctrl-C. The other commands run the
/// engine only as long as they take, so that timers fire late. Meanwhile the
/// other commands go through it, with the same text and data.
///
/// With --worker, jobs are done by commands of yours, in any language. Each job is a call of the command: it
/// reads the job as JSON on standard input, with its variables, and prints the variables that it brings as a
/// JSON object.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What a command says of its job:
  exit status 0     done; standard output is empty, or a JSON object of variables
  exit status 100   a BPMN error for the model to catch; standard output is
                    {\"code\": \"no-stock\", \"message\": \"…\", \"variables\": {…}}
  exit status 101   an incident, with what it wrote to standard error: it is no use to try again
  any other         failed, with what it wrote to standard error; one retry less is left
TRAVERTINE_JOB has the key of the job, which stays the same for each retry.

Examples:
  travertine work
  travertine work --until-idle                 only what is due now
  travertine work --worker charge=./charge.sh --worker 'mail=python3 mail.py'
  travertine work --worker 'greet=jq \"{greeting: (.variables.name + \\\"!\\\")}\"'")]
pub(crate) struct Work {
    /// Have jobs of a type done by a command, which a shell runs; may be given again
    #[arg(long = "worker", value_name = "TYPE=COMMAND", value_parser = words::worker)]
    pub(crate) workers: Vec<(String, String)>,

    /// How many jobs of each type are done at once
    #[arg(long, value_name = "COUNT", default_value = "4", value_parser = clap::value_parser!(u16).range(1..), requires = "workers")]
    pub(crate) at_once: u16,

    /// How long a job may take, such as 30s or PT5M; then its command is ended, and it has failed
    #[arg(long, value_name = "TIME", default_value = "5min", value_parser = words::span, requires = "workers")]
    pub(crate) job_timeout: std::time::Duration,

    /// How long to wait before the next try of a job that has failed
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = words::span, requires = "workers")]
    pub(crate) backoff: std::time::Duration,

    /// End when nothing can go on by itself any more
    #[arg(long)]
    pub(crate) until_idle: bool,

    /// Say nothing about what happens
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) place: Place,
}

/// Count what is in a store
#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Shorten and forget what has ended, and give its room back
///
/// Without limits nothing is forgotten, and only room that is free already is given back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine compact --history 30d --ended 90d
  travertine compact --keep 100000")]
pub(crate) struct Compact {
    /// Shorten the history of what ended longer ago, to how it began and ended and its variables
    #[arg(long, value_name = "TIME", value_parser = words::span)]
    pub(crate) history: Option<std::time::Duration>,

    /// Forget what ended longer ago
    #[arg(long, value_name = "TIME", value_parser = words::span)]
    pub(crate) ended: Option<std::time::Duration>,

    /// Of what has ended, keep only the latest so many
    #[arg(long, value_name = "COUNT")]
    pub(crate) keep: Option<u64>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Replay everything and compare it with what queries see
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  everything agrees
  1  something differs
  2  the store cannot be read")]
pub(crate) struct Verify {
    /// Go on with a log that has lost entries: take it as it is, and say what was lost
    #[arg(long)]
    pub(crate) accept_loss: bool,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Copy a store to a new directory, also while another process has it open
///
/// The copy is what the store was at one moment, and opens like it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine backup /backups/orders-2026-01-05
  travertine stats --data /backups/orders-2026-01-05")]
pub(crate) struct Backup {
    /// Where to: a directory that is new or empty
    #[arg(value_name = "DIR")]
    pub(crate) to: PathBuf,

    #[command(flatten)]
    pub(crate) shared: Shared,
}
