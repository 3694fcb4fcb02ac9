//! The protocols of Camunda 8, for clients that speak them already.

pub(crate) mod grpc;
#[cfg(test)]
mod matrix;
pub mod rest;

use std::{borrow::Cow, time::Duration};

use axum::{Extension, Router};
use http::HeaderMap;
use travertine_runtime::{Activated, Engine, is_trace};
use travertine_value::{Name, Value};

use crate::{Options, access::Principal, desk::Desk};

/// The header with the trace that something is part of, by the W3C.
const TRACE: &str = "traceparent";

/// Both protocols, for whoever asks, without connections and their limits.
#[doc(hidden)] // Fuzzing goes through it.
pub async fn for_anybody(engine: Engine) -> Router {
    let desk = Desk::new(engine);
    let (calls, _) = grpc::routes(desk.clone(), &Options::default(), 0).await;
    rest::routes(desk).merge(calls).layer(Extension(Principal::anybody()))
}

/// So many milliseconds; none where a client says that there are fewer.
fn span(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// The trace that a request is part of. A header that is none is ignored, as the standard wants it.
fn trace_of(headers: &HeaderMap) -> Option<Name> {
    let trace = headers.get(TRACE)?.to_str().ok()?;
    is_trace(trace).then(|| trace.into())
}

/// What a job is handed besides its variables: what the model says, and the trace of its instance.
fn headers_of(job: &Activated) -> Cow<'_, [(Name, Value)]> {
    let says_itself = || job.headers.iter().any(|(it, _)| &**it == TRACE);
    match &job.trace {
        Some(trace) if !says_itself() => {
            let trace = (TRACE.into(), Name::clone(trace).into());
            job.headers.iter().cloned().chain([trace]).collect()
        }
        _ => Cow::Borrowed(&job.headers),
    }
}
