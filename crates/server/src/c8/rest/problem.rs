//! Refusals on the wire: `application/problem+json`.

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header};

use super::write::Json;
use crate::desk::{Outcome, Refusal};

/// The answer that tells a refusal.
pub(crate) fn response(refusal: &Refusal, path: &str) -> Response {
    let (code, title) = status(refusal.outcome);
    let body = Json::object(|it| {
        it.text("type", "about:blank");
        it.text("title", title);
        it.int("status", code.as_u16());
        it.text("detail", &refusal.detail);
        it.text("instance", path);
    });
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    if let Some(after) = refusal.retry_after {
        // Whole seconds, at least one.
        let seconds = after.as_millis().div_ceil(1_000).max(1);
        if let Ok(seconds) = HeaderValue::from_str(&seconds.to_string()) {
            headers.insert(header::RETRY_AFTER, seconds);
        }
    }
    response
}

/// The status of a refusal, and its title.
pub(crate) fn status(outcome: Outcome) -> (StatusCode, &'static str) {
    match outcome {
        Outcome::NotFound => (StatusCode::NOT_FOUND, "NOT_FOUND"),
        Outcome::Invalid => (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT"),
        Outcome::InvalidState => (StatusCode::CONFLICT, "INVALID_STATE"),
        Outcome::AlreadyExists => (StatusCode::CONFLICT, "ALREADY_EXISTS"),
        Outcome::Unauthenticated => (StatusCode::UNAUTHORIZED, "UNAUTHENTICATED"),
        Outcome::Forbidden => (StatusCode::FORBIDDEN, "PERMISSION_DENIED"),
        Outcome::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE"),
        Outcome::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "RESOURCE_EXHAUSTED"),
        Outcome::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
        Outcome::Unknown => (StatusCode::BAD_GATEWAY, "ABORTED"),
        Outcome::TimedOut => (StatusCode::GATEWAY_TIMEOUT, "DEADLINE_EXCEEDED"),
        Outcome::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"),
    }
}
