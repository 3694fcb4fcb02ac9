//! How many may be there at once: connections, requests, those who wait, streams, and bytes.

use std::sync::{Arc, Mutex, PoisonError};

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
            | "/api/1/jobs/activate"
            | "/gateway_protocol.Gateway/ActivateJobs"
            | "/gateway_protocol.Gateway/CreateProcessInstanceWithResult" => Self::Poll,
            "/api/1/live"
            | "/gateway_protocol.Gateway/StreamActivatedJobs"
            | "/grpc.health.v1.Health/Watch" => Self::Stream,
            _ if is_of_run(path) => Self::Poll,
            _ => Self::Request,
        }
    }
}

/// Whether a path is of what a function comes to, or answers to an update.
fn is_of_run(path: &str) -> bool {
    let run = path.strip_prefix("/api/1/functions/runs/");
    let below = run.and_then(|it| it.split_once('/')).map(|it| it.1);
    below.is_some_and(|it| it == "result" || it.starts_with("update/"))
}

/// The place of a request, for as long as somebody has a clone.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    seats: Arc<Seats>,
    taken: Arc<Mutex<(Class, Seat)>>,
}

impl Place {
    /// A place of that class, where there is one.
    pub(super) fn take(seats: &Arc<Seats>, class: Class) -> Option<Self> {
        let seat = seats.request(class)?;
        Some(Self { seats: Arc::clone(seats), taken: Arc::new(Mutex::new((class, seat))) })
    }

    /// Takes a place among those who wait instead, for a request that says so only now. Says whether there was one.
    pub(crate) fn waits(&self) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.0 == Class::Request {
            let Some(seat) = self.seats.request(Class::Poll) else { return false };
            *taken = (Class::Poll, seat);
        }
        true
    }

    /// Whether it stays taken while the client reads the answer: what is done needs none any more, what goes on does.
    pub(super) fn stays(&self) -> bool {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).0 != Class::Request
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_has_a_place_among_those_who_wait() {
        for path in [
            "/api/1/jobs/activate",
            "/api/1/functions/runs/order-7/result",
            "/api/1/functions/runs/7/update/add",
        ] {
            assert_eq!(Class::of(path), Class::Poll, "{path}");
        }
        for path in ["/api/1/functions/runs/7", "/api/1/functions/runs/7/query/x", "/v2/topology"] {
            assert_eq!(Class::of(path), Class::Request, "{path}");
        }
        let limits = Limits { requests: 1, polls: 1, ..Limits::default() };
        let seats = Arc::new(Seats::new(&limits));
        let first = Place::take(&seats, Class::Request).expect("there is room");
        assert!(Place::take(&seats, Class::Request).is_none());
        assert!(first.waits() && first.waits() && first.stays());
        let second = Place::take(&seats, Class::Request).expect("there is room again");
        assert!(!second.waits() && !second.stays());
        drop(first);
        assert!(second.waits());
    }
}
