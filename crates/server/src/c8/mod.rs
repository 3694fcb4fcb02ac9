//! The protocols of Camunda 8, for clients that speak them already.

pub(crate) mod grpc;
pub mod rest;
