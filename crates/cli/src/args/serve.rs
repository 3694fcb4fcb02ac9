//! What can be asked of `travertine serve`.

use std::path::PathBuf;

/// Serve a store to clients elsewhere
///
/// REST and gRPC, for clients of Camunda 8 as they are. Everything is kept in the store in --data, which is made
/// where there is none. Programs of this machine may do everything, until there is a user or an API key: see
/// `travertine access`. To serve other machines there must be one.
/// Flags come before variables of the environment (`TRAVERTINE_LISTEN_REST` for listen.rest), these before the file
/// that --config names, or travertine.toml in this directory. SIGHUP has certificates, logins and rates read again.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  it was shut down in order: Ctrl-C and SIGTERM let requests under way finish, a second one does not
  1  a file to deploy is rejected
  2  it cannot listen or open the store, or the configuration makes no sense

Examples:
  travertine serve --sample
  travertine serve --data orders --deploy order.bpmn
  travertine serve --listen 0.0.0.0:8080 --config /etc/travertine.toml
  travertine serve --print-config > travertine.toml
  travertine access user add ann --grant admin   from now on nobody comes in without login
  travertine serve --new-key worker            an API key, and the line for the configuration")]
pub(crate) struct Serve {
    /// The directory of the store, or the URL of one on PostgreSQL
    #[arg(long, visible_alias = "store", value_name = "DIR", display_order = 1)]
    pub(crate) data: Option<PathBuf>,

    /// Where REST is served
    #[arg(long, value_name = "HOST:PORT", display_order = 2)]
    pub(crate) listen: Option<String>,

    /// Where gRPC is served; `off` leaves it to the other address, which serves both
    #[arg(long, value_name = "HOST:PORT", display_order = 3)]
    pub(crate) grpc_listen: Option<String>,

    /// Where health and metrics are; `off` for nowhere
    #[arg(long, value_name = "HOST:PORT", display_order = 4)]
    pub(crate) manage: Option<String>,

    /// A name under which clients reach the server, such as that of a proxy; may be given again
    #[arg(long = "host", value_name = "NAME", display_order = 5)]
    pub(crate) hosts: Vec<String>,

    /// Deploy these files at first
    #[arg(long, value_name = "FILE", num_args = 1.., display_order = 6)]
    pub(crate) deploy: Vec<PathBuf>,

    /// Deploy a small process to try things with
    #[arg(long, display_order = 7)]
    pub(crate) sample: bool,

    /// The configuration
    #[arg(long, value_name = "FILE", env = "TRAVERTINE_CONFIG", display_order = 8)]
    pub(crate) config: Option<PathBuf>,

    /// Set anything that the configuration can: `limits.body=32MiB`; may be given again
    #[arg(long, value_name = "KEY=VALUE", display_order = 9)]
    pub(crate) set: Vec<String>,

    /// Serve other machines without login, so that everybody there can do everything
    #[arg(long, display_order = 10)]
    pub(crate) insecure: bool,

    /// Let clients set the clock, by PUT /v2/clock: for tests only
    #[arg(long, display_order = 10)]
    pub(crate) test_clock: bool,

    /// Print the configuration that holds, without secrets, and end
    #[arg(long, display_order = 11)]
    pub(crate) print_config: bool,

    /// Say whether the configuration is right, and end
    #[arg(long, display_order = 12)]
    pub(crate) check_config: bool,

    /// Read a password from standard input, print its hash for the configuration, and end
    #[arg(long, display_order = 13)]
    pub(crate) hash_password: bool,

    /// Draw an API key with this id, print it once with the line for the configuration, and end
    #[arg(long, value_name = "ID", display_order = 14)]
    pub(crate) new_key: Option<String>,
}
