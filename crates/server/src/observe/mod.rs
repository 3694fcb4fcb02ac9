//! Health, metrics and logs.

mod log;
mod metrics;
mod tail;

use std::sync::Arc;

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::{StatusCode, header},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio_util::sync::CancellationToken;
use travertine_runtime::Engine;

use crate::net::Seats;
pub use log::log;
pub(crate) use metrics::Metrics;
pub(crate) use tail::Tail;

/// What is known about a server that runs.
#[derive(Debug)]
pub(crate) struct Observed {
    engine: Engine,
    seats: Arc<Seats>,
    draining: CancellationToken,
    pub(crate) metrics: Metrics,
}

impl Observed {
    pub(crate) fn new(engine: &Engine, seats: &Arc<Seats>, draining: CancellationToken) -> Self {
        let (engine, seats) = (engine.clone(), Arc::clone(seats));
        Self { engine, seats, draining, metrics: Metrics::new() }
    }

    /// Why requests should go elsewhere, if they should.
    fn unready(&self) -> Option<String> {
        if self.draining.is_cancelled() {
            return Some("shutting down".to_owned());
        }
        self.engine.fault().map(|it| it.to_string())
    }
}

/// Health and metrics, for the port without login.
pub(crate) fn routes(observed: Arc<Observed>) -> Router {
    Router::new()
        .route("/health/live", get(async || "live\n"))
        .route("/health/started", get(async || "started\n"))
        .route("/health/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(observed)
}

async fn ready(State(observed): State<Arc<Observed>>) -> Response {
    match observed.unready() {
        None => "ready\n".into_response(),
        Some(why) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")).into_response()
        }
    }
}

async fn metrics(State(observed): State<Arc<Observed>>) -> Response {
    let text = observed.metrics.text(&observed.engine, &observed.seats);
    let content = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content)], text).into_response()
}

/// Has each answer say which route it is of.
pub(crate) fn named(routes: Router) -> Router {
    routes.layer(from_fn(async |request: Request, next: Next| {
        let path = request.extensions().get::<MatchedPath>().cloned();
        let mut response = next.run(request).await;
        if let Some(path) = path {
            response.extensions_mut().insert(path);
        }
        response
    }))
}
