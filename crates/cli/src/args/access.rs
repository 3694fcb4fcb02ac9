//! What can be asked about who may use a server.

use clap::Subcommand;
use travertine_runtime::Timestamp;
use travertine_server::{Grant, Subject};

use super::store::Shared;
use crate::clock;

/// Say who may log in to the server of a store, and what they may do
///
/// Users, groups and API keys are kept in `server.db`, in the directory of the store, which only its owner can read. A
/// server that runs notices changes within a moment. As long as there is nobody, programs of this machine may do
/// everything; once there is somebody, nobody comes in without login any more.
///
/// What is granted is a role or a permission, for everything or for what a pattern names: `operator`, `viewer:order-*`,
/// `start:order`. In a pattern * stands for any characters and ? for one. It is matched against ids of definitions; for
/// `work` against types of jobs, for `message` against names of messages and signals, for `decide` against ids of
/// decisions.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine access user add ann --grant admin
  travertine access user add bob --grant user --group clerks
  travertine access key add mailer --grant 'worker:mail-*' --expires 2027-01-31T00:00:00Z
  travertine access role give group:clerks viewer:order
  travertine access role list
  travertine access bindings
  travertine access audit --limit 20")]
pub(crate) struct Access {
    #[command(subcommand)]
    pub(crate) act: Act,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// People who log in with a password
    #[command(subcommand)]
    User(UserAct),
    /// Groups of users: what is granted to a group is granted to all in it, and tasks can be offered to it
    #[command(subcommand)]
    Group(GroupAct),
    /// API keys for programs
    #[command(subcommand)]
    Key(KeyAct),
    /// What is granted to whom
    #[command(subcommand)]
    Role(RoleAct),
    /// List what is granted to whom
    Bindings(Listing),
    /// Show logins, refusals, and what was changed here, the newest first
    Audit(AuditArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserAct {
    /// List users
    List(Listing),
    /// Add a user; the password is asked for, or read from standard input
    Add(UserAdd),
    /// Give a user another password, which is asked for, or read from standard input
    Password(Named),
    /// Keep users from logging in
    Disable(NamedMany),
    /// Let users log in again
    Enable(NamedMany),
    /// Remove users, with all that was granted to them
    Remove(NamedMany),
}

#[derive(Debug, Subcommand)]
pub(crate) enum GroupAct {
    /// List groups
    List(Listing),
    /// Put users into a group
    Add(Members),
    /// Take users out of a group; without users, remove the group with all that was granted to it
    Remove(Members),
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyAct {
    /// List keys
    List(Listing),
    /// Draw a key, and show it once
    Add(KeyAdd),
    /// Remove keys: nobody comes in with them any more
    Remove(NamedMany),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RoleAct {
    /// List roles, and what they may do
    List(Listing),
    /// Grant something
    Give(Granting),
    /// Take back what was granted
    Take(Granting),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Listing {
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UserAdd {
    /// What the user is called
    pub(crate) name: String,

    /// What they may do: a role or a permission, and behind a colon for what; may be given again
    #[arg(long = "grant", value_name = "GRANT")]
    pub(crate) grants: Vec<Grant>,

    /// A group that they are in; may be given again
    #[arg(long = "group", value_name = "GROUP")]
    pub(crate) groups: Vec<String>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct KeyAdd {
    /// What the key is called: letters, digits and hyphens
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// What whoever has it may do: a role or a permission, and behind a colon for what; may be given again
    #[arg(long = "grant", value_name = "GRANT", required = true)]
    pub(crate) grants: Vec<Grant>,

    /// Until when it is good
    #[arg(long, value_name = "TIME", value_parser = clock::date)]
    pub(crate) expires: Option<Timestamp>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Named {
    /// What it is called
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct NamedMany {
    /// What they are called
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Members {
    /// The group
    pub(crate) group: String,

    /// The users
    #[arg(value_name = "USER")]
    pub(crate) users: Vec<String>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Granting {
    /// To whom: a user, `group:NAME` or `key:ID`
    #[arg(value_name = "WHO", value_parser = subject)]
    pub(crate) who: Subject,

    /// A role or a permission, and behind a colon for what: `operator:order-*`
    #[arg(value_name = "GRANT", required = true)]
    pub(crate) grants: Vec<Grant>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    /// How many at most
    #[arg(long, value_name = "COUNT", default_value = "50")]
    pub(crate) limit: u32,

    /// Only those before the one with this number
    #[arg(long, value_name = "NUMBER")]
    pub(crate) before: Option<u64>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

fn subject(text: &str) -> Result<Subject, String> {
    match text.split_once(':') {
        None | Some(("", _)) if text.is_empty() => Err("write a user, group:NAME or key:ID".into()),
        None => Ok(Subject::User(text.into())),
        Some(("user", name)) => Ok(Subject::User(name.into())),
        Some(("group", name)) => Ok(Subject::Group(name.into())),
        Some(("key", id)) => Ok(Subject::Key(id.into())),
        Some((kind, _)) => {
            Err(format!("there is no kind {kind}; write a user, group:NAME or key:ID"))
        }
    }
}
