//! What can be asked of `travertine`, and the help for it.

#[cfg(feature = "serve")]
pub(crate) mod access;
pub(crate) mod batch;
pub(crate) mod bench;
mod mistyped;
pub(crate) mod schedule;
#[cfg(feature = "postgres")]
pub(crate) mod schema;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod store;
#[cfg(feature = "serve")]
pub(crate) mod webhooks;
pub(crate) mod words;
pub(crate) mod worker;

use std::path::PathBuf;

use clap::{ColorChoice, CommandFactory as _, Parser, Subcommand};
use travertine_runtime::Timestamp;
use travertine_value::{Name, Number, Value};

use crate::{clock, pairs};

/// Runs BPMN 2.0 models, durably or to try them out; evaluates expressions, makes DMN decisions
#[derive(Debug, Parser)]
#[command(
    name = "travertine",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  travertine check order.bpmn                  what becomes of every element
  travertine run order.bpmn --var amount=250   run it in memory, asking you what it waits for
  travertine draw order.bpmn -o order.svg      a picture of it
  travertine eval 'sum([1, 2, 3])'             what an expression gives
  travertine decide dish.dmn --var guests=8    what a decision gives, and by which rules
  travertine new shop                          a project with a workflow in Rust

On a store, in the directory that --data or TRAVERTINE_DATA names:
  travertine deploy order.bpmn                 make it known
  travertine start order --id ORD-7            start an instance
  travertine show 1                            where it is, and what it waits for
  travertine complete 1-3 --var ok=true        complete what waits
  travertine schedules add daily report --cron '0 6 * * *'   start it again and again
  travertine work                              keep it running, so that timers fire
  travertine serve                             the same, for clients over REST and gRPC

  travertine help COMMAND                      all about one of them"
)]
pub(crate) struct Args {
    /// When to use colours; `NO_COLOR` is respected
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", display_order = 100)]
    pub(crate) color: ColorChoice,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// What was asked. Where that makes no sense the process ends with the reason.
    pub(crate) fn of_process() -> Self {
        Self::try_parse().unwrap_or_else(|error| {
            let words: Vec<String> =
                std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
            mistyped::told(error, &Self::command(), &words).exit()
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(Check),
    Run(Run),
    Draw(Draw),
    Eval(Eval),
    Decide(Decide),
    New(New),
    #[cfg(feature = "serve")]
    Serve(serve::Serve),
    #[cfg(feature = "serve")]
    Access(access::Access),
    #[cfg(feature = "serve")]
    Webhooks(webhooks::Webhooks),
    Bench(bench::Bench),
    #[cfg(feature = "postgres")]
    Schema(schema::Schema),
    Completions(Completions),
    Man(Man),
    Worker(worker::Worker),
    #[command(flatten)]
    Store(store::Command),
}

/// Begin a project with a workflow in Rust
///
/// Makes a directory of that name with a small program: one workflow, two activities, lints for workflows.
/// It goes on where it was when it is killed and run again. It uses the Travertine of the checkout that
/// --path names, that you are in, or that this command was built in; where there is none, that of a
/// repository on the network: the one that --git names, or ours.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  the project is there
  2  the name cannot be used or is taken, or a file cannot be written

Examples:
  travertine new shop && cd shop && cargo run
  travertine new shop --path ~/src/travertine
  travertine new shop --git https://git.example.com/travertine")]
pub(crate) struct New {
    /// What the project is called, and its directory
    pub(crate) name: String,

    /// A checkout of Travertine to use
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,

    /// A repository of Travertine to use
    #[arg(long, value_name = "URL", conflicts_with = "path")]
    pub(crate) git: Option<String>,
}

/// Print a script that completes commands and options in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine completions bash > ~/.local/share/bash-completion/completions/travertine
  travertine completions zsh > ~/.zfunc/_travertine    with ~/.zfunc in fpath
  travertine completions fish > ~/.config/fish/completions/travertine.fish")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual, or write a page for each command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine man | man -l -
  travertine man --dir ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// A directory for the pages of all commands; it is made where it is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// Say what becomes of every element of a model
///
/// Each element is executed, has no effect on execution (documentation, diagrams, lanes), or is
/// rejected with place, reason and way out. Files given together are read as deployed together, so
/// that they may refer to each other.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  the files can run
  1  they cannot; the report says why
  2  a file cannot be read, or the arguments make no sense

Examples:
  travertine check order.bpmn
  travertine check --all order.bpmn billing.bpmn
  travertine check --json order.bpmn | jq '.diagnostics[].message'")]
pub(crate) struct Check {
    /// The models
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// List every element and all that is said of them
    #[arg(long)]
    pub(crate) all: bool,

    /// Refuse whatever breaks a rule of the BPMN standard, also where nothing depends on it
    #[arg(long)]
    pub(crate) strict: bool,

    /// Give the whole report as one JSON document
    #[arg(long, conflicts_with = "all")]
    pub(crate) json: bool,
}

/// Run a process in memory
///
/// Deploys the files together, starts an instance and drives it until nothing is left that could go
/// on by itself. Time is virtual: it passes only when you say so. What then waits is answered from
/// --answers, or asked for at a terminal; otherwise it is printed and the run ends. Nothing is
/// stored, unless --data says where: then time is real, a killed run loses nothing, and the same
/// command goes on with the instance that it finds.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  completed
  1  the model is rejected
  2  the arguments make no sense, a file cannot be read, or an answer does not fit
  3  it still waits for something
  4  it has an incident
  5  it failed, was cancelled, or never comes to rest

Examples:
  travertine run hello.bpmn --var name=Ann
  travertine run order.bpmn --var 'items=[\"pen\",\"ink\"]' --trace
  travertine run order.bpmn --vars order.json --answers order.answers.json --json
  travertine run shop.bpmn --process order --tree
  travertine run order.bpmn --data orders      keep it, and go on with it
  travertine run shop.bpmn --scenario monday.csv --states")]
pub(crate) struct Run {
    /// The models
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The process to start, where the files hold several
    #[arg(short, long, value_name = "ID")]
    pub(crate) process: Option<String>,

    #[command(flatten)]
    pub(crate) start: Start,

    /// Show every event, a line each
    #[arg(short, long)]
    pub(crate) trace: bool,

    /// Show the tree of scopes and tokens after each command
    #[arg(long)]
    pub(crate) tree: bool,

    /// Give everything as one JSON document, and ask nothing
    #[arg(long)]
    pub(crate) json: bool,

    /// Show values in full, however large they are
    #[arg(long)]
    pub(crate) full: bool,

    /// Ask nothing, even at a terminal
    #[arg(long)]
    pub(crate) until_idle: bool,

    /// Keep everything in the store in this directory or at this URL, and go on with what runs there
    #[arg(long, visible_alias = "store", value_name = "DIR", conflicts_with = "now")]
    pub(crate) data: Option<PathBuf>,

    /// Start another instance, whatever runs in the store
    #[arg(long, requires = "data")]
    pub(crate) new: bool,

    #[command(flatten)]
    pub(crate) scenario: Scenario,
}

// A run of a scenario. No doc comment: it would become the help text of the commands that have it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Scenarios of models made for BPMNOS")]
pub(crate) struct Scenario {
    /// Run a scenario: which instances there are, and their data
    #[arg(
        long = "scenario",
        value_name = "FILE",
        conflicts_with_all = ["process", "event", "vars", "object", "now", "trace", "tree", "data", "new"]
    )]
    pub(crate) file: Option<PathBuf>,

    /// Where the lookup tables of the model are, if not beside the scenario
    #[arg(long, value_name = "DIR", requires = "file")]
    pub(crate) tables: Option<PathBuf>,

    /// Stop the clock at this time
    #[arg(long, value_name = "T", requires = "file")]
    pub(crate) until: Option<Number>,

    /// Who decides when to enter and to leave, what to choose, and who gets a message
    #[arg(long, value_name = "HOW", requires = "file", default_value = "first")]
    pub(crate) decide: Decider,

    /// Show every state of every token, a line each
    #[arg(long, requires = "file")]
    pub(crate) states: bool,

    /// What random numbers of the scenario follow from
    #[arg(long, value_name = "N", requires = "file", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// Who decides in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Decider {
    /// All is granted in the order in which it was asked for; the first choice that can be made is
    First,
    /// All is granted in the order in which it was asked for; the choice that is best for the objective is made
    Best,
    /// The answers in --answers; what is left open is printed
    Ask,
}

// How an instance begins. No doc comment: it would become the help text of the commands that have it.
#[derive(Debug, clap::Args)]
pub(crate) struct Start {
    /// The start event that counts as triggered, where it is not the plain one
    #[arg(long = "start", value_name = "ID")]
    pub(crate) event: Option<String>,

    #[command(flatten)]
    pub(crate) variables: store::Variables,

    /// What to answer when it waits, as a JSON list; `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,

    /// The time at which the run begins, instead of the time of this machine
    #[arg(long, value_name = "TIME", value_parser = clock::date)]
    pub(crate) now: Option<Timestamp>,
}

impl Start {
    /// Whether any of it says what to do with an instance, not only when.
    pub(crate) fn is_given(&self) -> bool {
        let Self { event, variables, answers, now: _ } = self;
        event.is_some() || variables.is_given() || answers.is_some()
    }
}

/// Draw a model
///
/// Where the model has diagram data, things are where its modeler put them; otherwise they are laid
/// out from left to right. With --run, or anything to run with, an instance is run in memory as
/// `travertine run` does, and the picture shows its tokens, how often each element was entered, the
/// flows it took, and incidents. With --instance the picture shows that of an instance in a store, and
/// the model is the one that it was deployed with.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  drawn
  1  the file is no XML, or the model is rejected and cannot be run for the picture
  2  the arguments make no sense, a file cannot be read or written, or an answer does not fit

Examples:
  travertine draw order.bpmn > order.svg
  travertine draw order.bpmn -o order.png
  travertine draw order.bpmn --answers order.answers.json -o order.svg
  travertine draw shop.bpmn --process order --layout -o order.svg
  travertine draw --instance 12 -o 12.svg")]
pub(crate) struct Draw {
    /// The model; further files are only deployed with it when it is run
    #[arg(required_unless_present = "instance", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Where to: a file that ends in .svg or .png; otherwise SVG goes to standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The process to draw, and to start, where the file holds several
    #[arg(short, long, value_name = "ID")]
    pub(crate) process: Option<String>,

    /// Lay everything out anew, whatever the model says
    #[arg(long)]
    pub(crate) layout: bool,

    /// Run an instance and show what it does
    #[arg(long)]
    pub(crate) run: bool,

    /// Show this instance of a store
    #[arg(long, value_name = "INSTANCE", conflicts_with_all = ["files", "run", "process", "Start"])]
    pub(crate) instance: Option<words::Whose>,

    #[command(flatten)]
    pub(crate) place: store::Place,

    #[command(flatten)]
    pub(crate) start: Start,
}

/// Evaluate an expression
///
/// Prints what the expression gives. What became null on the way, and why, is told on standard error.
/// Without an expression, people at a terminal can type one after the other; otherwise it is read
/// from standard input.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  it has a value, be it null
  1  it is no expression of the language
  2  the arguments make no sense, or a file cannot be read
  5  it failed, ran into a limit, or with --strict something became null for a reason

Examples:
  travertine eval '1 + 1'
  travertine eval 'for i in items return i.price * 1.19' --context order.json
  travertine eval 'amount > 1000' --var amount=1200
  travertine eval --lang js 'items.length' --var 'items=[1,2]'
  travertine eval                              one after the other; :help lists what can be typed")]
pub(crate) struct Eval {
    /// The expression
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) expression: Option<String>,

    /// The language it is written in
    #[arg(short, long, value_enum, default_value = "feel")]
    pub(crate) lang: Lang,

    /// Variables as a JSON object: the object itself, or a file; `-` is standard input
    #[arg(short, long, visible_alias = "vars", value_name = "JSON|FILE")]
    pub(crate) context: Option<String>,

    /// A variable: JSON where the value is JSON, otherwise text
    #[arg(short = 'v', long = "var", value_name = "NAME=VALUE", value_parser = pairs::pair)]
    pub(crate) vars: Vec<(Name, Value)>,

    /// The time that `now()` and `today()` tell, instead of the time of this machine
    #[arg(long, value_name = "TIME", value_parser = clock::date)]
    pub(crate) now: Option<Timestamp>,

    /// Fail where something becomes null for a reason
    #[arg(long)]
    pub(crate) strict: bool,

    /// Print the value as JSON, whatever the language
    #[arg(long)]
    pub(crate) json: bool,
}

/// The languages of expressions
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Lang {
    /// The language of DMN
    Feel,
    /// JavaScript
    Js,
    /// `${…}`, as older models have it
    Juel,
}

/// Make a decision of a DMN model
///
/// Prints what the decision gives, and each decision table on the way with the rules that matched.
/// What became null and why is told on standard error. Inputs are known by their names; texts become
/// dates, times and durations where the model says so.
#[derive(Debug, clap::Args)]
#[command(
    disable_version_flag = true,
    after_help = "\
Exit status:
  0  it was decided, be it null
  1  the model is rejected
  2  the arguments make no sense, a file cannot be read, or an input is missing
  5  it ran into a limit, or with --strict something became null for a reason

Examples:
  travertine decide dish.dmn --var season=Winter --var guests=8
  travertine decide loan.dmn --decision Routing --input applicant.json
  travertine decide main.dmn imported.dmn --input - --json < input.json
  travertine decide dish --data travertine-data --var season=Winter --var guests=8"
)]
pub(crate) struct Decide {
    /// The model, and those that it imports; with --data the id of a decision instead
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Make the decision that is deployed in this store
    #[arg(long, visible_alias = "store", value_name = "DIR", conflicts_with = "decision")]
    pub(crate) data: Option<PathBuf>,

    /// Which version of it, where it is not the latest
    #[arg(long, value_name = "VERSION", requires = "data")]
    pub(crate) version: Option<u32>,

    /// The decision, decision service or business knowledge model, by id or name; where it is left
    /// out, the decision that no other one needs
    #[arg(short, long, value_name = "ID")]
    pub(crate) decision: Option<String>,

    /// Inputs as a JSON object: the object itself, or a file; `-` is standard input
    #[arg(short, long, visible_alias = "vars", value_name = "JSON|FILE")]
    pub(crate) input: Option<String>,

    /// An input: JSON where the value is JSON, otherwise text
    #[arg(short = 'v', long = "var", value_name = "NAME=VALUE", value_parser = pairs::pair)]
    pub(crate) vars: Vec<(Name, Value)>,

    /// The time that `now()` and `today()` tell, instead of the time of this machine
    #[arg(long, value_name = "TIME", value_parser = clock::date)]
    pub(crate) now: Option<Timestamp>,

    /// Fail where something becomes null for a reason
    #[arg(long)]
    pub(crate) strict: bool,

    /// Give everything as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }
}
