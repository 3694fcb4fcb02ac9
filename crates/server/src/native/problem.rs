//! Refusals on the wire: `application/problem+json`, with a code that stays as it is.

use axum::{body::Body, response::Response};
use http::{HeaderValue, header};
use travertine_runtime::Error;
use travertine_value::{Name, Value};

use crate::{
    c8::rest::status,
    desk::{Outcome, Refusal},
};

/// Why something was not done, with what there is to say about it besides.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    refusal: Refusal,
    more: Vec<(&'static str, Value)>,
}

impl Problem {
    /// With another field.
    pub(super) fn with(mut self, name: &'static str, value: Value) -> Self {
        self.more.push((name, value));
        self
    }

    /// Whether nobody knows if it was done.
    pub(super) fn is_unknown(&self) -> bool {
        self.refusal.outcome == Outcome::Unknown
    }

    /// The answer that tells it.
    pub(super) fn response(&self, path: &str) -> Response {
        let (status, title) = status(self.refusal.outcome);
        let outcome = if self.is_unknown() { "unknown" } else { "not_done" };
        let retry =
            self.refusal.retry_after.map(|it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX));
        let first = [
            ("type", "about:blank".into()),
            ("title", title.into()),
            ("status", u32::from(status.as_u16()).into()),
            ("detail", self.refusal.detail.as_str().into()),
            ("instance", path.into()),
            ("code", self.refusal.code.into()),
            ("outcome", outcome.into()),
            ("retry_after_ms", retry.into()),
        ];
        let body: Value = first
            .into_iter()
            .chain(self.more.iter().cloned())
            .map(|(name, value): (&str, Value)| (Name::from(name), value))
            .collect();
        let mut response = Response::new(Body::from(body.to_json()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(after) = self.refusal.retry_after {
            let seconds = after.as_millis().div_ceil(1_000).max(1);
            if let Ok(seconds) = HeaderValue::from_str(&seconds.to_string()) {
                headers.insert(header::RETRY_AFTER, seconds);
            }
        }
        response
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, more: Vec::new() }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let more = match &error {
            Error::Refused { diagnostics } => {
                let all: Value = diagnostics.iter().map(|it| Value::from(it.as_str())).collect();
                vec![("reasons", all)]
            }
            _ => Vec::new(),
        };
        Self { refusal: error.into(), more }
    }
}
