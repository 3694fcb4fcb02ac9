//! What can be asked about webhooks.

use clap::Subcommand;

use super::store::Shared;

/// Say who is told what happens
///
/// A webhook is told by the server of a store, as `CloudEvents`: in order, at least once. Webhooks are kept in
/// `webhooks.db`, in the directory of the store; a server that runs notices changes within a second.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  travertine webhooks add orders https://sink.example/orders --definition order --kind ended
  travertine webhooks list
  travertine webhooks resume orders")]
pub(crate) struct Webhooks {
    #[command(subcommand)]
    pub(crate) act: Act,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// List webhooks, how far each is, and what is wrong with it
    List(Listing),
    /// Add a webhook, or change the one of that name; a new one's secret is shown once
    Add(Add),
    /// Tell a webhook nothing until it is resumed
    Pause(One),
    /// Let a webhook go on from where it is, also one that was given up
    Resume(One),
    /// Remove a webhook
    Remove(One),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Listing {
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct One {
    /// Its name
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Add {
    /// Its name
    pub(crate) name: String,

    /// Where it is told
    pub(crate) url: String,

    /// Only what instances of this definition do; may be said several times
    #[arg(long = "definition", value_name = "ID")]
    pub(crate) definitions: Vec<String>,

    /// Only events of this kind; may be said several times
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<String>,

    #[command(flatten)]
    pub(crate) shared: Shared,
}
