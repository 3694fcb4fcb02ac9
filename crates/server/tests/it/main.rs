//! The server over real sockets.

mod rest;
mod schema;
mod stage;
