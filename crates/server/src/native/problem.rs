//! Refusals on the wire: `application/problem+json`, with a code that stays as it is.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use travertine_runtime::{Error, RequestOutcome};
use travertine_value::{Name, Value, brief::abridged};

use super::call::Answer;
use crate::{
    c8::rest::status,
    desk::{LINE_BYTES_MAX, Refusal},
};

/// The type of the answer.
pub(super) const KIND: &str = "application/problem+json";

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

    /// Whether it was done in spite of that.
    pub(super) fn done(&self) -> RequestOutcome {
        self.refusal.done
    }

    /// This problem of what was asked once something was done: nobody must take that for not done.
    pub(super) fn once_done(self) -> Self {
        Self { refusal: self.refusal.once_done(), ..self }
    }

    /// Its status, and the text that tells it.
    pub(super) fn parts(&self, path: &str) -> (StatusCode, String) {
        let (status, title) = status(self.refusal.outcome);
        let retry =
            self.refusal.retry_after.map(|it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX));
        let first = [
            ("type", "about:blank".into()),
            ("title", title.into()),
            ("status", u32::from(status.as_u16()).into()),
            ("detail", self.refusal.detail.as_str().into()),
            ("instance", path.into()),
            ("code", self.refusal.code.into()),
            ("outcome", self.refusal.done.name().into()),
            ("retry_after_ms", retry.into()),
        ];
        let body: Value = first
            .into_iter()
            .chain(self.more.iter().map(|(name, value)| (*name, told(value))))
            .map(|(name, value): (&str, Value)| (Name::from(name), value))
            .collect();
        (status, body.to_json())
    }

    /// The answer that tells it.
    pub(super) fn response(&self, path: &str) -> Response {
        let (status, body) = self.parts(path);
        let mut response = Answer::whole(status, KIND, body.into());
        let headers = response.headers_mut();
        if let Some(after) = self.refusal.retry_after {
            let seconds = after.as_millis().div_ceil(1_000).max(1);
            if let Ok(seconds) = HeaderValue::from_str(&seconds.to_string()) {
                headers.insert(header::RETRY_AFTER, seconds);
            }
        }
        response
    }
}

/// What there is to say, with as much of the texts of others as of those in the detail.
fn told(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(&*abridged(text, LINE_BYTES_MAX)),
        Value::List(all) => all.iter().map(told).collect(),
        Value::Map(map) => map
            .iter()
            .map(|(name, value)| (Name::from(&*abridged(name, LINE_BYTES_MAX)), told(value)))
            .collect(),
        other => other.clone(),
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

/// What was asked once something was done, and may fail without anybody taking that for not done.
pub(super) fn once_done<T>(asked: Result<T, impl Into<Problem>>) -> Result<T, Problem> {
    asked.map_err(|it| it.into().once_done())
}
