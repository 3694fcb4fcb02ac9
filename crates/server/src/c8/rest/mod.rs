//! REST v2, for clients that speak it already.
//!
//! `ROUTES` is the table of all operations; each file has those of one resource, `read` and `write` are the
//! forms on the wire, `problem` is what a refusal looks like.

mod call;
mod cluster;
mod deploy;
mod instance;
mod job;
mod message;
mod problem;
mod read;
mod task;
mod write;

use std::{future::Future, pin::Pin};

use axum::{
    Router,
    extract::{Request, State},
    routing::{MethodFilter, on},
};
use http::Method;

use crate::desk::{Desk, Outcome, Refusal};
use call::{Answer, Call};

type Handled = Pin<Box<dyn Future<Output = Result<Answer, Refusal>> + Send>>;

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The method of HTTP.
    pub method: &'static str,
    /// The path below `/v2`.
    pub path: &'static str,
    /// What clients call it.
    pub operation: &'static str,
    handle: fn(Call) -> Handled,
}

macro_rules! routes {
    ($($method:ident $path:literal $operation:ident => $handle:path;)*) => {
        /// All operations.
        pub const ROUTES: &[Route] = &[$(Route {
            method: stringify!($method),
            path: $path,
            operation: stringify!($operation),
            handle: |call| Box::pin($handle(call)),
        }),*];
    };
}

routes! {
    GET "/topology" getTopology => cluster::topology;
    GET "/status" getStatus => cluster::status;
    GET "/license" getLicense => cluster::license;
    POST "/deployments" createDeployment => deploy::create;
    POST "/process-instances" createProcessInstance => instance::create;
    POST "/process-instances/{processInstanceKey}/cancellation" cancelProcessInstance => instance::cancel;
    POST "/jobs/activation" activateJobs => job::activate;
    POST "/jobs/{jobKey}/completion" completeJob => job::complete;
    POST "/jobs/{jobKey}/failure" failJob => job::fail;
    POST "/jobs/{jobKey}/error" throwJobError => job::throw_error;
    POST "/messages/publication" publishMessage => message::publish;
    POST "/messages/correlation" correlateMessage => message::correlate;
    POST "/signals/broadcast" broadcastSignal => message::broadcast;
    POST "/user-tasks/{userTaskKey}/assignment" assignUserTask => task::assign;
    DELETE "/user-tasks/{userTaskKey}/assignee" unassignUserTask => task::unassign;
    PATCH "/user-tasks/{userTaskKey}" updateUserTask => task::update;
    PATCH "/user-tasks/{userTaskKey}/update" updateUserTaskLegacy => task::update;
    POST "/user-tasks/{userTaskKey}/completion" completeUserTask => task::complete;
}

/// The routes of REST v2, below `/v2`.
pub fn routes(desk: Desk) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let handle = route.handle;
        let filter = Method::from_bytes(route.method.as_bytes())
            .ok()
            .and_then(|it| MethodFilter::try_from(it).ok())
            .expect("the table has methods of HTTP");
        let answer = move |State(desk): State<Desk>, request: Request| async move {
            let path = request.uri().path().to_owned();
            let answer = match Call::new(desk, request).await {
                Ok(call) => handle(call).await,
                Err(refusal) => Err(refusal),
            };
            match answer {
                Ok(answer) => answer.into_response(),
                Err(refusal) => problem::response(&refusal, &path),
            }
        };
        router = router.route(route.path, on(filter, answer));
    }
    let router = router.fallback(no_such_path).method_not_allowed_fallback(no_such_path);
    Router::new().nest("/v2", router.with_state(desk))
}

async fn no_such_path(request: Request) -> axum::response::Response {
    let path = request.uri().path();
    let detail = format!("there is no operation {} {path}", request.method());
    problem::response(&Refusal::new(Outcome::NotFound, detail), path)
}
