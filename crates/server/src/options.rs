//! How a server behaves.

use std::{num::NonZeroU32, path::PathBuf, sync::Arc, time::Duration};

use travertine_runtime::engine::TestClock;

use crate::{access::Access, outbound::Network};

/// How a server behaves.
///
/// ```
/// # use travertine_server::Options;
/// let options = Options { listen: "127.0.0.1:0".to_owned(), ..Options::default() };
/// assert!(options.access.is_open());
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// Where REST is served, as `HOST:PORT`. All protocols are served at each address.
    pub listen: String,
    /// Where gRPC is served as well, at the port that its clients expect.
    pub grpc_listen: Option<String>,
    /// Where health and metrics are served, without login.
    pub manage: Option<String>,
    /// The names under which clients reach the server, besides those of this machine's loopback.
    pub hosts: Vec<String>,
    /// The path below which a proxy has put the server, such as `/flow`, if the proxy hands it on.
    pub base_path: String,
    /// The certificate and its key. Without them connections are not encrypted.
    pub tls: Option<Tls>,
    /// Who may log in. Where nobody is named, everybody may do everything.
    pub access: Access,
    /// The file of accounts, which need not be there: who else may log in, and the audit.
    pub accounts: Option<PathBuf>,
    /// Whether to serve other machines without login.
    pub insecure: bool,
    /// How much clients may ask for at once, and how long they may take.
    pub limits: Limits,
    /// How many requests each user and each key may send; as many as they like, where nothing is said. Where nobody
    /// need log in, all share one rate.
    pub rate: Option<Rate>,
    /// How long a poll for jobs waits where the client does not say.
    pub poll_default: Duration,
    /// How long someone waits for the result of an instance where the client does not say.
    pub result_default: Duration,
    /// Where the server keeps what it must know after a restart, beside the store; in memory where there is none.
    pub directory: Option<PathBuf>,
    /// Networks that are not public, to which webhooks may go all the same.
    pub connect_allow: Vec<Network>,
    /// How long requests under way may take when the server is shut down.
    pub drain: Duration,
    /// The clock of the engine, where clients may set it: for tests only.
    pub test_clock: Option<Arc<TestClock>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".to_owned(),
            grpc_listen: Some("127.0.0.1:26500".to_owned()),
            manage: Some("127.0.0.1:9600".to_owned()),
            hosts: Vec::new(),
            base_path: String::new(),
            tls: None,
            access: Access::default(),
            accounts: None,
            insecure: false,
            limits: Limits::default(),
            rate: None,
            poll_default: Duration::from_secs(10),
            result_default: Duration::from_secs(20),
            directory: None,
            connect_allow: Vec::new(),
            drain: Duration::from_secs(30),
            test_clock: None,
        }
    }
}

/// A certificate and its key, as files in PEM format.
///
/// ```
/// # use travertine_server::Tls;
/// let tls = Tls { cert: "server.pem".into(), key: "server.key".into() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificate, and those that lead to a root.
    pub cert: PathBuf,
    /// The private key of the first of them.
    pub key: PathBuf,
}

/// How many requests somebody may send.
///
/// ```
/// # use std::num::NonZeroU32;
/// # use travertine_server::Rate;
/// # use std::time::Duration;
/// let per = Duration::from_secs(1);
/// let rate = NonZeroU32::new(100).map(|it| Rate { requests: it, per, burst: it });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many requests there may be in that time.
    pub requests: NonZeroU32,
    /// In how long.
    pub per: Duration,
    /// How many there may be at once, after a while without any.
    pub burst: NonZeroU32,
}

/// How much clients may ask for at once, and how long they may take.
///
/// ```
/// # use travertine_server::Limits;
/// let limits = Limits { connections: 100, ..Limits::default() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the body of a request.
    pub body: usize,
    /// Bytes of a request that brings files.
    pub multipart: usize,
    /// Bytes of a gRPC message, in and out.
    pub message: usize,
    /// Bytes of all headers of a request.
    pub headers: usize,
    /// Connections.
    pub connections: usize,
    /// Requests under way in one HTTP/2 connection.
    pub streams_per_connection: u32,
    /// Requests under way, those that wait for jobs or results not counted.
    pub requests: usize,
    /// Requests that wait for jobs or results.
    pub polls: usize,
    /// Streams of jobs.
    pub streams: usize,
    /// Bytes of the bodies of all requests under way.
    pub bytes: usize,
    /// How long the headers of a request may take.
    pub header_time: Duration,
    /// How long the body of a request may take.
    pub body_time: Duration,
    /// How long the handshake of TLS may take.
    pub handshake_time: Duration,
    /// How long a client may leave an answer unread.
    pub write_time: Duration,
    /// How long an HTTP/1 connection stays open without a request.
    pub idle_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: usize = 1 << 20;
        Self {
            body: 16 * MIB,
            multipart: 64 * MIB,
            message: 4 * MIB,
            headers: 16 << 10,
            connections: 10_000,
            streams_per_connection: 200,
            requests: 4_096,
            polls: 20_000,
            streams: 5_000,
            bytes: 256 * MIB,
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            handshake_time: Duration::from_secs(5),
            write_time: Duration::from_mins(1),
            idle_time: Duration::from_secs(75),
        }
    }
}
