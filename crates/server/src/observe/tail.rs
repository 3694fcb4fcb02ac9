//! The end of a request: how it was answered, in metrics and in the log, and the place it had.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{body::Body, extract::MatchedPath};
use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use http_body::{Frame, SizeHint};
use tokio::time::Instant;
use tonic::Code;

use super::Observed;
use crate::{
    c8::grpc::is_call,
    net::{Place, RequestId, Wire},
};

/// Takes note of a request when it has ended.
#[derive(Debug)]
pub(crate) struct Tail {
    observed: Arc<Observed>,
    began: Instant,
    wire: Wire,
    method: Method,
    route: Arc<str>,
    id: RequestId,
    code: &'static str,
    place: Option<Place>,
}

impl Tail {
    #[expect(clippy::too_many_arguments, reason = "it is all that is known about a request, once")]
    pub(crate) fn new(
        observed: &Arc<Observed>,
        began: Instant,
        wire: Wire,
        method: &Method,
        path: &str,
        id: RequestId,
        response: &Response<Body>,
        place: Option<Place>,
    ) -> Self {
        let route = match (wire, response.extensions().get::<MatchedPath>()) {
            (Wire::Http, Some(matched)) => Arc::from(matched.as_str()),
            (Wire::Grpc, _) if is_call(path) => Arc::from(path),
            // Paths that strangers choose are no labels.
            _ => Arc::from("other"),
        };
        let code = match wire {
            Wire::Http => http_code(response.status().as_u16()),
            Wire::Grpc => grpc_code(response.headers()).unwrap_or(UNFINISHED),
        };
        Self {
            observed: Arc::clone(observed),
            began,
            wire,
            method: method.clone(),
            route,
            id,
            code,
            place,
        }
    }

    /// Ends with the response.
    pub(crate) fn follow(self, response: Response<Body>) -> Response<Body> {
        // Nothing that happens to a body that is there already is of interest.
        if self.place.is_none() && self.code != UNFINISHED {
            return response;
        }
        response.map(|inner| Body::new(Followed { inner, tail: self }))
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        let protocol = match self.wire {
            Wire::Http => "http",
            Wire::Grpc => "grpc",
        };
        self.observed.metrics.answered(protocol, &self.route, self.code, took);
        let (route, code, id, method) = (&*self.route, self.code, &self.id, &self.method);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(protocol, %method, route, code, micros, request = %id, "request");
    }
}

/// What a call is said to have come to when the client left before it ended.
const UNFINISHED: &str = "CANCELLED";

fn grpc_code(headers: &HeaderMap) -> Option<&'static str> {
    let code = Code::from_bytes(headers.get("grpc-status")?.as_bytes());
    Some(match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    })
}

fn http_code(status: u16) -> &'static str {
    match status {
        200 => "200",
        201 => "201",
        204 => "204",
        400 => "400",
        401 => "401",
        403 => "403",
        404 => "404",
        405 => "405",
        408 => "408",
        409 => "409",
        413 => "413",
        415 => "415",
        429 => "429",
        431 => "431",
        500 => "500",
        502 => "502",
        503 => "503",
        504 => "504",
        other => ["1xx", "2xx", "3xx", "4xx"]
            .get(usize::from(other / 100).wrapping_sub(1))
            .unwrap_or(&"5xx"),
    }
}

/// A body whose end is taken note of.
struct Followed {
    inner: Body,
    tail: Tail,
}

impl http_body::Body for Followed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(trailers) = frame.trailers_ref()
            && let Some(code) = grpc_code(trailers)
        {
            self.tail.code = code;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
