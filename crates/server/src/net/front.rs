//! What every request goes through: its id, where it comes from, who asks, and whether there is room for it.

use std::{
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{Router, body::Body};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use tokio::{net::TcpListener, time::Instant};
use tower::Service as _;

use super::{
    body::Bounded,
    rates::Rates,
    refusal::{Refusal, Wire},
    seats::{Class, Place, Seats},
};
use crate::{
    Limits, Options,
    access::{Gate, Guard, Principal},
    assets,
    observe::{Observed, Tail},
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What stands between connections and façades.
#[derive(Debug)]
pub(crate) struct Front {
    guard: Guard,
    /// What paths begin with that a proxy hands on whole.
    base_path: String,
    /// Health and metrics are for everybody who reaches their port.
    gate: Option<Arc<Gate>>,
    limits: Limits,
    seats: Arc<Seats>,
    rates: Arc<Rates>,
    observed: Arc<Observed>,
    rest: Router,
    /// What gRPC clients call, where they may.
    calls: Option<Router>,
}

/// What a request is called in answers and logs.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(HeaderValue);

impl RequestId {
    const MAX: usize = 128;

    /// The id that the client gives, or one of ours.
    fn of(headers: &HeaderMap) -> Self {
        let is_plain = |it: &&HeaderValue| {
            let bytes = it.as_bytes();
            let plain = |it: &u8| it.is_ascii_alphanumeric() || b"-_.:/+=".contains(it);
            !bytes.is_empty() && bytes.len() <= Self::MAX && bytes.iter().all(plain)
        };
        let given = headers.get(REQUEST_ID).filter(is_plain).cloned();
        Self(given.unwrap_or_else(Self::draw))
    }

    /// Unlike those of other servers, and of this one before it was started again.
    fn draw() -> HeaderValue {
        static BEGAN: AtomicU64 = AtomicU64::new(0);
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if BEGAN.load(Ordering::Relaxed) == 0 {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
            let _ = BEGAN.compare_exchange(0, millis, Ordering::Relaxed, Ordering::Relaxed);
        }
        let (began, next) = (BEGAN.load(Ordering::Relaxed), NEXT.fetch_add(1, Ordering::Relaxed));
        HeaderValue::try_from(format!("{began:x}-{next:x}"))
            .unwrap_or_else(|_| HeaderValue::from_static("none"))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.to_str().unwrap_or("?"))
    }
}

impl Front {
    pub(crate) fn new(
        options: &Options,
        listeners: &[TcpListener],
        gate: Option<&Arc<Gate>>,
        (seats, rates): (&Arc<Seats>, &Arc<Rates>),
        observed: &Arc<Observed>,
        rest: Router,
        calls: Option<Router>,
    ) -> Self {
        Self {
            guard: Guard::new(&options.hosts, listeners),
            base_path: options.base_path.clone(),
            gate: gate.map(Arc::clone),
            limits: options.limits.clone(),
            seats: Arc::clone(seats),
            rates: Arc::clone(rates),
            observed: Arc::clone(observed),
            rest,
            calls,
        }
    }

    pub(super) fn seats(&self) -> &Seats {
        &self.seats
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The page is, and what leads to it.
    fn is_public(&self, path: &str) -> bool {
        assets::is_asset(path) || (path == self.base_path && !path.is_empty())
    }

    /// Answers a request.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let began = Instant::now();
        let id = RequestId::of(request.headers());
        let is_call = self.calls.is_some() && is_grpc(request.headers());
        let wire = if is_call { Wire::Grpc } else { Wire::Http };
        let request = below(&self.base_path, request);
        let path = request.uri().path().to_owned();
        let method = request.method().clone();
        let answered = self.pass(request, wire, &path, &id).await;
        let (mut response, place) = answered.unwrap_or_else(|it| (it.answer(wire, &path), None));
        response.headers_mut().insert(REQUEST_ID, id.0.clone());
        response
            .headers_mut()
            .insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        let tail = Tail::new(&self.observed, began, wire, &method, &path, id, &response, place);
        tail.follow(response)
    }

    /// Lets a request pass to a façade, or not.
    async fn pass(
        &self,
        request: Request<Incoming>,
        wire: Wire,
        path: &str,
        id: &RequestId,
    ) -> Result<(Response<Body>, Option<Place>), Refusal> {
        let headers = request.headers();
        let size: usize =
            headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if size + path.len() > self.limits.headers {
            return Err(Refusal::Headers);
        }
        self.guard.check(&request)?;
        let principal = match &self.gate {
            Some(gate) if !self.is_public(path) => {
                let principal = gate.who(headers).await?;
                self.rates.take(principal.name.as_ref(), Instant::now())?;
                principal
            }
            _ => Principal::stranger(),
        };
        let place = Place::take(&self.seats, Class::of(path)).ok_or(Refusal::Full)?;
        let max = match wire {
            // Five bytes before each message say how long it is.
            Wire::Grpc => self.limits.message + 5,
            Wire::Http if is_multipart(headers) => self.limits.multipart,
            Wire::Http => self.limits.body,
        };
        let (mut parts, body) = request.into_parts();
        let (body, fault, room) = Bounded::new(body, max, self.limits.body_time, &self.seats)?;
        // What goes on where the client has gone has them as well.
        parts.extensions.insert(room.clone());
        parts.extensions.insert(place.clone());
        parts.extensions.insert(principal);
        parts.extensions.insert(id.clone());
        let request = Request::from_parts(parts, Body::new(body));
        let mut routes = match wire {
            Wire::Grpc => self.calls.clone().unwrap_or_default(),
            Wire::Http => self.rest.clone(),
        };
        let answered = Caught(routes.call(request)).await;
        drop(room);
        let Some(answered) = answered else {
            return Err(fault.get().unwrap_or(Refusal::Ours));
        };
        let Ok(response) = answered;
        // Whatever a façade has made of a body that was not whole, this is why it was not.
        match fault.get() {
            Some(refusal) => Err(refusal),
            None => Ok((response, Some(place).filter(Place::stays))),
        }
    }
}

/// The request without what its path begins with because of where a proxy has put us.
fn below<B>(base: &str, mut request: Request<B>) -> Request<B> {
    let uri = request.uri();
    let rest = uri.path().strip_prefix(base).filter(|it| it.starts_with('/'));
    let (false, Some(rest)) = (base.is_empty(), rest) else { return request };
    let rest = uri.query().map_or_else(|| rest.to_owned(), |query| format!("{rest}?{query}"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = rest.parse().ok();
    if let Ok(uri) = http::Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    request
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let content = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    content.is_some_and(|it| it.starts_with(b"application/grpc"))
}

fn is_multipart(headers: &HeaderMap) -> bool {
    let content = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    content.is_some_and(|it| it.len() > 10 && it[..10].eq_ignore_ascii_case(b"multipart/"))
}

/// A future that is over when it panics: then there is no answer, and the connection goes on.
struct Caught<F>(F);

impl<F: Future + Unpin> Future for Caught<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| pin!(&mut self.0).poll(cx)));
        match polled {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    }
}
