//! Travertine as a server: REST and gRPC over one engine.

#![forbid(unsafe_code)]

pub mod c8;
pub mod desk;
