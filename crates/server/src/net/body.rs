//! Bodies of requests, with limits on their size, their time and the sum of all.

use std::{
    error, fmt,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use super::{
    refusal::Refusal,
    seats::{Seat, Seats},
};

/// The body of a request, which ends with a fault where it goes beyond a limit.
pub(crate) struct Bounded {
    inner: Incoming,
    left: usize,
    /// Begins when the body is first waited for.
    deadline: Option<Pin<Box<Sleep>>>,
    time: Duration,
    seats: Arc<Seats>,
    room: Room,
    fault: Fault,
}

/// The room that the body of a request takes: for as long as somebody may still have what came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room(Arc<Mutex<Option<Seat>>>);

impl Room {
    fn add(&self, seat: Seat) {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *taken {
            Some(taken) => taken.merge(seat),
            none => *none = Some(seat),
        }
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

/// What went wrong with a body, for whoever answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fault(Arc<AtomicU8>);

impl Fault {
    const ALL: [Refusal; 4] = [Refusal::Body, Refusal::Slow, Refusal::Broken, Refusal::Full];

    fn set(&self, refusal: Refusal) -> Broken {
        let at = Self::ALL.iter().position(|it| *it == refusal).map_or(0, |it| it + 1);
        self.0.store(u8::try_from(at).unwrap_or(0), Ordering::Relaxed);
        Broken
    }

    pub(crate) fn get(&self) -> Option<Refusal> {
        let at = usize::from(self.0.load(Ordering::Relaxed));
        at.checked_sub(1).and_then(|it| Self::ALL.get(it)).copied()
    }
}

/// Says to readers of a body that it is not whole. Whoever answers knows why.
#[derive(Debug)]
pub(crate) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body of the request is not whole")
    }
}

impl error::Error for Broken {}

impl Bounded {
    /// Takes room for as much as the request announces. Says no where that is too much.
    pub(crate) fn new(
        inner: Incoming,
        max: usize,
        time: Duration,
        seats: &Arc<Seats>,
    ) -> Result<(Self, Fault, Room), Refusal> {
        let announced = inner.size_hint().exact().unwrap_or(0);
        let announced = usize::try_from(announced).unwrap_or(usize::MAX);
        if announced > max {
            return Err(Refusal::Body);
        }
        let (fault, room) = (Fault::default(), Room::default());
        if announced > 0 {
            room.add(seats.bytes(announced).ok_or(Refusal::Full)?);
        }
        let body = Self {
            inner,
            left: max,
            deadline: None,
            time,
            seats: Arc::clone(seats),
            room: room.clone(),
            fault: fault.clone(),
        };
        Ok((body, fault, room))
    }

    /// Takes room for a part whose size was not announced.
    fn take(&mut self, count: usize) -> Result<(), Refusal> {
        self.left = self.left.checked_sub(count).ok_or(Refusal::Body)?;
        if self.inner.size_hint().exact().is_some() && !self.room.is_empty() {
            return Ok(());
        }
        self.room.add(self.seats.bytes(count).ok_or(Refusal::Full)?);
        Ok(())
    }
}

impl Body for Bounded {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = &mut *self;
        match Pin::new(&mut this.inner).poll_frame(cx) {
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(Some(Err(_))) => Poll::Ready(Some(Err(this.fault.set(Refusal::Broken)))),
            Poll::Ready(Some(Ok(frame))) => {
                let count = frame.data_ref().map_or(0, Bytes::len);
                let taken = this.take(count);
                Poll::Ready(Some(taken.map(|()| frame).map_err(|it| this.fault.set(it))))
            }
            Poll::Pending => {
                let time = this.time;
                let deadline = this.deadline.get_or_insert_with(|| Box::pin(sleep(time)));
                match deadline.as_mut().poll(cx) {
                    Poll::Ready(()) => Poll::Ready(Some(Err(this.fault.set(Refusal::Slow)))),
                    Poll::Pending => Poll::Pending,
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
