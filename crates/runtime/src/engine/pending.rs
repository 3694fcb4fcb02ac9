//! Answers that have not come yet.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use tokio::sync::oneshot;
use travertine_value::patience::Patience;

use super::threads::Common;
use crate::{Error, request::Reply, wakes};

/// An answer that has not come yet.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error, InstanceId};
/// # use travertine_runtime::engine::Pending;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let cancelled: Pending<()> = engine.cancel(InstanceId(12));
/// // It was asked already. Whoever has an executor awaits the answer, others wait for it.
/// cancelled.await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Pending<T>(State<T>);

#[derive(Debug)]
enum State<T> {
    /// It does not keep the engine open.
    Waits(oneshot::Receiver<Result<Reply, Error>>, Weak<Common>, fn(Reply) -> T),
    /// Someone beside the shards sees to it.
    Aside(oneshot::Receiver<Result<T, Error>>, Weak<Common>),
    Refused(Option<Error>),
}

impl<T> Pending<T> {
    /// The answer that will come here, or what is wanted of it.
    pub(super) fn new(
        receiver: oneshot::Receiver<Result<Reply, Error>>,
        common: &Arc<Common>,
        wanted: fn(Reply) -> T,
    ) -> Self {
        Self(State::Waits(receiver, Arc::downgrade(common), wanted))
    }

    /// The answer of someone beside the shards.
    pub(super) fn aside(
        receiver: oneshot::Receiver<Result<T, Error>>,
        common: &Arc<Common>,
    ) -> Self {
        Self(State::Aside(receiver, Arc::downgrade(common)))
    }

    /// The answer to what nobody was asked, because it cannot be done.
    pub(super) fn refused(error: impl Into<Error>) -> Self {
        Self(State::Refused(Some(error.into())))
    }

    /// Waits for the answer, on a thread that may be blocked.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error, InstanceId};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// engine.cancel(InstanceId(12)).wait()?;
    /// # Ok(()) }
    /// ```
    pub fn wait(mut self) -> Result<T, Error> {
        // Most have come already where many are waited for, and nobody has to be woken then.
        if let Some(answer) = self.come() {
            return answer;
        }
        block_on(&mut self)
    }

    /// The answer, where it has come.
    fn come(&mut self) -> Option<Result<T, Error>> {
        match &mut self.0 {
            State::Waits(receiver, common, wanted) => match receiver.try_recv() {
                Ok(answer) => Some(answer.map(*wanted)),
                Err(oneshot::error::TryRecvError::Empty) => None,
                Err(oneshot::error::TryRecvError::Closed) => Some(Err(gone(common))),
            },
            State::Aside(receiver, common) => match receiver.try_recv() {
                Ok(answer) => Some(answer),
                Err(oneshot::error::TryRecvError::Empty) => None,
                Err(oneshot::error::TryRecvError::Closed) => Some(Err(gone(common))),
            },
            State::Refused(error) => Some(Err(error.take().unwrap_or_else(closed))),
        }
    }

    /// Waits for the answer for so long, on a thread that may be blocked; `None` where it has not come.
    pub(super) fn wait_for(mut self, patience: &mut Patience) -> Option<Result<T, Error>> {
        block_on_for(&mut self, Some(patience))
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(answer) = self.come() {
            return Poll::Ready(answer);
        }
        match &mut self.0 {
            State::Waits(receiver, common, wanted) => {
                let waker = wakes::after_all(cx.waker().clone());
                let polled = Pin::new(receiver).poll(&mut Context::from_waker(&waker));
                polled.map(|it| it.map_or_else(|_| Err(gone(common)), |answer| answer.map(*wanted)))
            }
            State::Aside(receiver, common) => {
                Pin::new(receiver).poll(cx).map(|it| it.unwrap_or_else(|_| Err(gone(common))))
            }
            State::Refused(_) => Poll::Pending,
        }
    }
}

impl<T> Unpin for Pending<T> {}

/// Polls a future on this thread until it is ready. A thread of an executor is blocked, not ended.
pub(super) fn block_on<F: Future + Unpin>(future: &mut F) -> F::Output {
    block_on_for(future, None).expect("it is waited for as long as it takes")
}

fn block_on_for<F: Future + Unpin>(
    future: &mut F,
    mut patience: Option<&mut Patience>,
) -> Option<F::Output> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut cx) {
            return Some(output);
        }
        match patience.as_mut().map(|it| it.look()) {
            Some(Duration::ZERO) => return None,
            Some(look) => thread::park_timeout(look),
            None => thread::park(),
        }
    }
}

/// Why no answer came to what a shard had begun with.
fn gone(common: &Weak<Common>) -> Error {
    let fault = common.upgrade().and_then(|it| it.why_silent());
    let reason = fault.map_or_else(|| "it was shut down".to_owned(), |it| it.to_string());
    Error::Unknown { reason }
}

fn closed() -> Error {
    Error::Closed { reason: "it was shut down".to_owned() }
}
