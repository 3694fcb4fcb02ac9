//! Why a server cannot serve.

use std::{fmt, io};

/// Why a server cannot serve.
///
/// ```
/// # use travertine_server::Error;
/// let error = Error::Open { address: "0.0.0.0:8080".to_owned() };
/// assert!(error.to_string().contains("without login"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It cannot listen there.
    Listen {
        /// Where.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// Other machines could do everything without login.
    Open {
        /// Where it was to listen.
        address: String,
    },
    /// Everybody could do everything from now on, where somebody had to log in before.
    Opened,
    /// The certificate or its key cannot be used.
    Tls {
        /// What is wrong.
        reason: String,
    },
    /// The file of accounts cannot be used.
    Accounts {
        /// Why not.
        source: Box<crate::AccountError>,
    },
    /// What must be known after a restart cannot be kept.
    Keep {
        /// Why not.
        reason: String,
    },
    /// The engine could not be closed in order.
    Engine(travertine_runtime::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { address, source } if source.kind() == io::ErrorKind::AddrInUse => {
                write!(f, "cannot listen at {address}: another process does; choose another port")
            }
            Self::Listen { address, source } => write!(f, "cannot listen at {address}: {source}"),
            Self::Open { address } => write!(
                f,
                "{address} can be reached from other machines, and without login everybody there could do \
                 everything; add a user or an API key (travertine access), listen at 127.0.0.1, or say --insecure"
            ),
            Self::Opened => f.write_str(
                "the configuration names nobody any more, so everybody could do everything without login; name a user \
                 or an API key, or say --insecure",
            ),
            Self::Tls { reason } => write!(f, "cannot use TLS: {reason}"),
            Self::Accounts { source } => source.fmt(f),
            Self::Keep { reason } => {
                write!(f, "what must be known after a restart cannot be kept: {reason}")
            }
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl Error {
    #[expect(clippy::needless_pass_by_value, reason = "as errors are mapped")]
    pub(crate) fn kept(error: rusqlite::Error) -> Self {
        Self::Keep { reason: error.to_string() }
    }
}

// What is inside says the same, so it is not the cause as well.
impl std::error::Error for Error {}
