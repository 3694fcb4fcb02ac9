//! What can be asked of a worker.

use std::{path::PathBuf, time::Duration};

use super::{store::Place, words};

/// Have jobs done by a command, in any language
///
/// Polls a server for jobs of a type and calls the command for each: it reads the job as JSON on standard input, with
/// its variables, and prints the variables that it brings as a JSON object. Any server will do that speaks REST
/// version 2 of Camunda 8, this one among them.
///
/// Without --server it does the jobs of the store in --data: through the `travertine serve` that has it open, or, where
/// nobody has, as `travertine work` does.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What the command says of its job:
  exit status 0     done; standard output is empty, or a JSON object of variables
  exit status 100   a BPMN error for the model to catch; standard output is
                    {\"code\": \"no-stock\", \"message\": \"…\", \"variables\": {…}}
  exit status 101   an incident, with what it wrote to standard error: it is no use to try again
  any other         failed, with what it wrote to standard error; one retry less is left
TRAVERTINE_JOB has the key of the job, which stays the same for each retry.

Exit status:
  0  ended by Ctrl-C, or nothing is left to do
  2  the server refuses to give out jobs, or the arguments make no sense

Examples:
  travertine worker charge -- ./charge.sh
  travertine worker charge --server http://localhost:8080 -- python3 charge.py
  travertine worker charge --server https://flow.example --ca own-ca.pem -- ./charge.sh
  travertine worker greet --until-idle -- jq '{greeting: .variables.name}'")]
pub(crate) struct Worker {
    /// The type of the jobs
    #[arg(value_name = "TYPE")]
    pub(crate) job_type: String,

    /// The program that is called for each job, and its arguments; no shell is between
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<String>,

    /// The server
    #[arg(long, value_name = "URL", env = "TRAVERTINE_SERVER", conflicts_with = "data")]
    pub(crate) server: Option<String>,

    /// An API key for the server
    #[arg(
        long,
        value_name = "KEY",
        env = "TRAVERTINE_API_KEY",
        hide_env_values = true,
        conflicts_with = "user"
    )]
    pub(crate) api_key: Option<String>,

    /// A user of the server, with the password
    #[arg(long, value_name = "NAME:PASSWORD", env = "TRAVERTINE_USER", hide_env_values = true)]
    pub(crate) user: Option<String>,

    /// Certificates in PEM format that vouch for the server, besides those that this machine trusts
    #[arg(long, value_name = "FILE", env = "TRAVERTINE_CA")]
    pub(crate) ca: Option<PathBuf>,

    /// What the worker is called
    #[arg(long, value_name = "NAME", default_value = "travertine")]
    pub(crate) name: String,

    /// How many jobs are done at once
    #[arg(long, value_name = "COUNT", default_value = "4", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) at_once: u16,

    /// How long a job may take, such as 30s or PT5M; then its command is ended, and it has failed
    #[arg(long, value_name = "TIME", default_value = "5min", value_parser = words::span)]
    pub(crate) job_timeout: Duration,

    /// How long to wait before the next try of a job that has failed
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = words::span)]
    pub(crate) backoff: Duration,

    /// End when there are no jobs
    #[arg(long)]
    pub(crate) until_idle: bool,

    /// Say nothing about what happens
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) place: Place,
}
