//! The gRPC protocol.

use axum::Router;
use tonic::service::Routes;
use tonic_health::{ServingStatus, server::HealthReporter};

use crate::{Options, desk::Desk};

/// What clients ask for the health of.
const SERVICES: [&str; 2] = ["", "gateway_protocol.Gateway"];

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
pub(crate) async fn routes(_desk: Desk, _options: &Options) -> (Router, Health) {
    let (reporter, health) = tonic_health::server::health_reporter();
    for service in SERVICES {
        reporter.set_service_status(service, ServingStatus::Serving).await;
    }
    (Routes::new(health).prepare().into_axum_router(), Health(reporter))
}
