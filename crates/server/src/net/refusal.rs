//! Requests that no façade sees, and the answers to them in the words of each protocol.

use std::time::Duration;

use axum::body::Body;
use http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use tonic::{Code, Status};

/// Why a request is not answered by a façade. Nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The request names a host that is not ours.
    Host,
    /// A page of another site sends it.
    Origin,
    /// It must say who asks.
    Login,
    /// Its headers are too large.
    Headers,
    /// Its body is too large.
    Body,
    /// Its body comes too slowly.
    Slow,
    /// Its body broke off.
    Broken,
    /// There are too many requests under way.
    Full,
    /// Whoever sends it has sent as many as they may; in so long they may send another one.
    Rate(Duration),
    /// It has failed for a reason that is ours.
    Ours,
}

/// The two ways of answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Http,
    Grpc,
}

impl Refusal {
    fn parts(self) -> (StatusCode, &'static str, Code, &'static str) {
        match self {
            Self::Host => (
                StatusCode::FORBIDDEN,
                "FORBIDDEN",
                Code::PermissionDenied,
                "this server is not known under the name that the request has in Host; say `--host NAME`, or \
                 list it under `hosts` in [listen]",
            ),
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "FORBIDDEN",
                Code::PermissionDenied,
                "a page of another site has sent this request, which is not allowed",
            ),
            Self::Login => (
                StatusCode::UNAUTHORIZED,
                "UNAUTHORIZED",
                Code::Unauthenticated,
                "log in: with a user and a password (Basic), or with an API key (Bearer tvk_…)",
            ),
            Self::Headers => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "INVALID_ARGUMENT",
                Code::InvalidArgument,
                "the headers of the request are too large",
            ),
            Self::Body => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "INVALID_ARGUMENT",
                Code::InvalidArgument,
                "the body of the request is too large; send less at once",
            ),
            Self::Slow => (
                StatusCode::REQUEST_TIMEOUT,
                "INVALID_ARGUMENT",
                Code::InvalidArgument,
                "the body of the request did not come in time",
            ),
            Self::Broken => (
                StatusCode::BAD_REQUEST,
                "INVALID_ARGUMENT",
                Code::InvalidArgument,
                "the body of the request broke off",
            ),
            Self::Full => (
                StatusCode::SERVICE_UNAVAILABLE,
                "RESOURCE_EXHAUSTED",
                Code::ResourceExhausted,
                "too much is under way; nothing was done, try again later",
            ),
            Self::Rate(_) => (
                StatusCode::TOO_MANY_REQUESTS,
                "RESOURCE_EXHAUSTED",
                Code::ResourceExhausted,
                "you have sent as many requests as you may; nothing was done, send fewer",
            ),
            Self::Ours => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "INTERNAL",
                Code::Internal,
                "the server has failed; its log says more under the id of this request",
            ),
        }
    }

    /// The answer.
    pub(crate) fn answer(self, wire: Wire, path: &str) -> Response<Body> {
        let (status, title, code, detail) = self.parts();
        let mut response = match wire {
            Wire::Grpc => Status::new(code, detail).into_http(),
            Wire::Http => problem(status, title, detail, path),
        };
        let headers = response.headers_mut();
        let after = match self {
            Self::Full => Some(1),
            // Whole seconds, at least one.
            Self::Rate(after) => Some(after.as_millis().div_ceil(1_000).max(1)),
            _ => None,
        };
        let after = after.and_then(|it| HeaderValue::try_from(it.to_string()).ok());
        if let Some(after) = after.filter(|_| wire == Wire::Http) {
            headers.insert(header::RETRY_AFTER, after);
        }
        if self == Self::Login {
            let basic = HeaderValue::from_static("Basic realm=\"travertine\", charset=\"UTF-8\"");
            headers.insert(header::WWW_AUTHENTICATE, basic);
        }
        response
    }
}

#[derive(Serialize)]
struct Problem<'a> {
    r#type: &'a str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    instance: &'a str,
}

fn problem(status: StatusCode, title: &str, detail: &str, path: &str) -> Response<Body> {
    let problem =
        Problem { r#type: "about:blank", title, status: status.as_u16(), detail, instance: path };
    let body = serde_json::to_vec(&problem).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
