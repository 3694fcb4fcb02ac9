//! A request, and what answers it.

use axum::{
    body::Body,
    extract::{FromRequestParts as _, RawPathParams, Request},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use travertine_value::Name;

use super::write::{Fields, Json};
use crate::{
    access::Principal,
    c8::trace_of,
    desk::{Desk, Needs, Outcome, Refusal},
    net::Place,
};

/// How large a JSON text may be: as large as a value.
const JSON_BYTES_MAX: usize = 16 << 20;

/// A request.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) desk: Desk,
    pub(super) parts: Parts,
    body: Body,
    /// What stands in the path where the table has a name.
    named: Option<String>,
}

impl Call {
    /// A request of whoever may do what needs this.
    pub(super) async fn new(desk: &Desk, needs: Needs, request: Request) -> Result<Self, Refusal> {
        let (mut parts, body) = request.into_parts();
        let desk = match parts.extensions.get::<Principal>() {
            Some(principal) => desk.admit(principal, needs)?,
            None => return Err(Refusal::new(Outcome::Unauthenticated, "nobody says who asks")),
        };
        let named = RawPathParams::from_request_parts(&mut parts, &()).await;
        let named = named.map_err(|_| Refusal::invalid("the path is not UTF-8"))?;
        let named = named.iter().next().map(|(_, it)| it.to_owned());
        Ok(Self { desk, parts, body, named })
    }

    /// The key in the path.
    pub(super) fn key(&self) -> Result<i64, Refusal> {
        let text = self.named.as_deref().unwrap_or_default();
        text.parse().map_err(|_| Refusal::invalid(format!("{text:?} is no key: a key is a number")))
    }

    /// Takes a place among those who wait.
    pub(super) fn waits(&self) -> Result<(), Refusal> {
        if self.parts.extensions.get::<Place>().is_none_or(Place::waits) {
            return Ok(());
        }
        let detail = "too many wait already; nothing was done, try again later";
        Err(Refusal::new(Outcome::Overloaded, detail))
    }

    /// The trace that the request is part of. One that is none is ignored, as the standard wants it.
    pub(super) fn trace(&self) -> Option<Name> {
        trace_of(&self.parts.headers)
    }

    /// The body, where it is JSON.
    pub(super) async fn body(&mut self) -> Result<Bytes, Refusal> {
        let body = std::mem::take(&mut self.body);
        let read = Limited::new(body, JSON_BYTES_MAX).collect().await;
        read.map(http_body_util::Collected::to_bytes).map_err(|error| {
            if error.is::<LengthLimitError>() {
                let most = JSON_BYTES_MAX >> 20;
                let detail = format!("the body is larger than {most} MiB: send less at once");
                Refusal::new(Outcome::TooLarge, detail)
            } else {
                Refusal::invalid("the body did not come to its end")
            }
        })
    }

    /// The request again, for whoever reads it as a stream.
    pub(super) fn into_request(self) -> Request {
        Request::from_parts(self.parts, self.body)
    }
}

/// What answers a request.
#[derive(Debug)]
pub(super) enum Answer {
    /// There is nothing to say: it is done.
    Done,
    /// A JSON text.
    Json(String),
    /// Another text, with its type.
    Text(&'static str, Bytes),
}

impl Answer {
    pub(super) fn object(write: impl FnOnce(&mut Fields<'_>)) -> Self {
        Self::Json(Json::object(write))
    }

    pub(super) fn array<T>(all: &[T], write: impl FnMut(&mut Fields<'_>, &T)) -> Self {
        Self::Json(Json::array(all, write))
    }

    pub(super) fn into_response(self) -> Response {
        let (kind, body) = match self {
            Self::Done => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                return response;
            }
            Self::Json(text) => ("application/json", Body::from(text)),
            Self::Text(kind, text) => (kind, Body::from(text)),
        };
        let mut response = Response::new(body);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }
}
