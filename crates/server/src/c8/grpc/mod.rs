//! gRPC, for clients that speak it already.
//!
//! `gateway` is generated from `proto/gateway.proto`; `service` has all calls, `convert` goes between their
//! messages and words of the desk.

mod convert;
mod decide;
pub(super) mod entrance;
#[rustfmt::skip]
#[expect(
    unused_qualifications,
    unreachable_pub,
    unnameable_types,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::clone_on_ref_ptr,
    clippy::empty_structs_with_brackets,
    clippy::pedantic,
    reason = "it is generated"
)]
pub(super) mod gateway;
mod service;
mod stream;
#[cfg(test)]
mod tests;

use axum::Router;
use tonic::{codec::CompressionEncoding, service::Routes};
use tonic_health::{ServingStatus, server::HealthReporter};

use self::{
    entrance::{Entrance, Rpc},
    gateway::gateway_server::GatewayServer,
    service::Service,
};
use crate::{Options, desk::Desk};

/// What clients ask for the health of.
const SERVICES: [&str; 2] = ["", "gateway_protocol.Gateway"];

/// What is called for it.
const HEALTH: [&str; 2] = ["/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"];

/// Whether a path is that of a call that there is.
pub(crate) fn is_call(path: &str) -> bool {
    let name = path.strip_prefix("/gateway_protocol.Gateway/");
    name.is_some_and(|name| Rpc::ALL.iter().any(|it| it.name() == name)) || HEALTH.contains(&path)
}

/// How much of a message is kept for what is around jobs in it.
const MARGIN: usize = 4 << 10;

/// What says whether calls are answered.
#[derive(Clone, Debug)]
pub(crate) struct Health(HealthReporter);

impl Health {
    /// Says that they are not, any more.
    pub(crate) async fn set_not_serving(&self) {
        for service in SERVICES {
            self.0.set_service_status(service, ServingStatus::NotServing).await;
        }
    }
}

/// All calls.
pub(crate) async fn routes(desk: Desk, options: &Options, port: u16) -> (Router, Health) {
    let (reporter, health) = tonic_health::server::health_reporter();
    for service in SERVICES {
        reporter.set_service_status(service, ServingStatus::Serving).await;
    }
    let max = options.limits.message;
    let service =
        Service { entrance: Entrance::new(desk), message_max: max.saturating_sub(MARGIN), port };
    // Who answers knows what clients can take in; what they send is limited before it is here.
    let gateway = GatewayServer::new(service)
        .accept_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(max)
        .max_encoding_message_size(usize::MAX);
    (Routes::new(gateway).add_service(health).prepare().into_axum_router(), Health(reporter))
}
