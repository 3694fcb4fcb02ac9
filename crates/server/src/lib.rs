//! Travertine as a server: REST and gRPC over one engine.
//!
//! [`Server`] serves an engine that the program has opened, so that functions which are compiled into the
//! program run beside it. `travertine serve` is such a program.
//!
//! A request comes through `net` (connections, TLS, limits), `access` (who asks, and from where) and one of the
//! façades in `c8`, which know a protocol each. These call `desk`, where everything is said in words of the
//! engine. `observe` has health, metrics and logs.

#![forbid(unsafe_code)]

mod access;
mod assets;
pub mod c8;
mod config;
pub mod desk;
mod error;
mod hooks;
#[cfg(test)]
mod matrix;
pub mod native;
mod net;
mod observe;
mod options;
mod outbound;
mod server;

pub use access::{
    Access, AccountError, Accounts, ApiKey, Audited, BadGrant, BadSecret, Grant, Group, KeyInfo,
    Password, Permission, Role, Subject, UnknownWord, User,
};
pub use config::{BadConfig, Config};
pub use error::Error;
pub use hooks::{HookError, HookSettings, HookState, Hooks, KINDS, Webhook};
pub use observe::log;
pub use options::{Limits, Options, Rate, Tls};
pub use outbound::{Network, check_url};
pub use server::{Addresses, Listening, Reload, Server};
