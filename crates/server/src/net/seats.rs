//! How many may be there at once: connections, requests, those who wait, streams, and bytes.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Limits;

/// A place that is taken until it is dropped.
pub(crate) type Seat = OwnedSemaphorePermit;

/// The places that there are. Nobody waits for one: who finds none is told so at once.
#[derive(Debug)]
pub(crate) struct Seats {
    connections: Arc<Semaphore>,
    requests: Arc<Semaphore>,
    polls: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    limits: Limits,
}

/// What a request needs a place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It is answered as soon as it is done.
    Request,
    /// It waits for jobs, or for a result.
    Poll,
    /// It gets jobs until it ends.
    Stream,
}

impl Class {
    /// The class of a request, by its path.
    pub(crate) fn of(path: &str) -> Self {
        match path {
            "/v2/jobs/activation"
            | "/gateway_protocol.Gateway/ActivateJobs"
            | "/gateway_protocol.Gateway/CreateProcessInstanceWithResult" => Self::Poll,
            "/api/1/live"
            | "/gateway_protocol.Gateway/StreamActivatedJobs"
            | "/grpc.health.v1.Health/Watch" => Self::Stream,
            _ => Self::Request,
        }
    }
}

impl Seats {
    pub(crate) fn new(limits: &Limits) -> Self {
        let of = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self {
            connections: of(limits.connections),
            requests: of(limits.requests),
            polls: of(limits.polls),
            streams: of(limits.streams),
            bytes: of(limits.bytes),
            limits: limits.clone(),
        }
    }

    pub(crate) fn connection(&self) -> Option<Seat> {
        Arc::clone(&self.connections).try_acquire_owned().ok()
    }

    pub(crate) fn request(&self, class: Class) -> Option<Seat> {
        let seats = match class {
            Class::Request => &self.requests,
            Class::Poll => &self.polls,
            Class::Stream => &self.streams,
        };
        Arc::clone(seats).try_acquire_owned().ok()
    }

    pub(crate) fn bytes(&self, count: usize) -> Option<Seat> {
        let count = u32::try_from(count).ok()?;
        Arc::clone(&self.bytes).try_acquire_many_owned(count).ok()
    }

    /// How many places are taken: connections, requests, polls, streams, bytes.
    pub(crate) fn taken(&self) -> [(&'static str, usize); 5] {
        let of = |max: usize, seats: &Semaphore| {
            max.min(Semaphore::MAX_PERMITS).saturating_sub(seats.available_permits())
        };
        [
            ("connections", of(self.limits.connections, &self.connections)),
            ("requests", of(self.limits.requests, &self.requests)),
            ("polls", of(self.limits.polls, &self.polls)),
            ("streams", of(self.limits.streams, &self.streams)),
            ("bytes", of(self.limits.bytes, &self.bytes)),
        ]
    }
}
