//! One connection: its handshake, its HTTP, and how long a client may be silent.

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_rustls::TlsAcceptor;

use super::{Door, Front};
use crate::Limits;

/// How HTTP/2 begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Serves a connection until one side ends it.
pub(super) async fn serve(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    front: &Arc<Front>,
    door: &Door,
) {
    // Answers are small, and somebody waits for them.
    let _ = stream.set_nodelay(true);
    match tls {
        None => http(stream, front, door).await,
        Some(tls) => {
            let shaken = tokio::select! {
                () = door.draining.cancelled() => return,
                shaken = timeout(front.limits().handshake_time, tls.accept(stream)) => shaken,
            };
            if let Ok(Ok(stream)) = shaken {
                http(stream, front, door).await;
            }
        }
    }
}

async fn http(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    front: &Arc<Front>,
    door: &Door,
) {
    let limits = front.limits();
    let watch = Arc::new(Watch::new());
    let io = TokioIo::new(Watched { inner: stream, watch: Arc::clone(&watch) });
    let service = {
        let (front, watch) = (Arc::clone(front), Arc::clone(&watch));
        service_fn(move |request| {
            let (front, busy) = (Arc::clone(&front), Busy::new(&watch));
            async move {
                let response = front.answer(request).await;
                drop(busy);
                Ok::<_, Infallible>(response)
            }
        })
    };
    let builder = builder(limits);
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut asked_to_end = false;
    let mut look = interval(limits.header_time.min(limits.write_time) / 4);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = door.ending.cancelled() => return,
            () = door.draining.cancelled(), if !asked_to_end => {
                asked_to_end = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = look.tick() => if watch.is_late(limits) {
                return;
            }
        }
    }
}

fn builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_time)
        .max_headers(100)
        // Reading bodies needs more room than headers may have; `Front` looks at the size of these.
        .max_buf_size(64 << 10);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_per_connection)
        .max_header_list_size(u32::try_from(limits.headers).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(100)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

/// What a connection has been doing, and since when, in milliseconds since it began. 0 is never.
#[derive(Debug)]
struct Watch {
    began: Instant,
    /// A request is on its way, and not here yet.
    reading: AtomicU64,
    /// The client does not take what is written.
    writing: AtomicU64,
    /// Requests that are being answered.
    answering: AtomicUsize,
    /// It is HTTP/2, which looks after its own requests.
    is_http2: AtomicBool,
    /// How many bytes have come that HTTP/2 begins with.
    preface: AtomicUsize,
}

/// A request is being answered.
struct Busy(Arc<Watch>);

impl Busy {
    fn new(watch: &Arc<Watch>) -> Self {
        watch.answering.fetch_add(1, Ordering::Relaxed);
        watch.reading.store(0, Ordering::Relaxed);
        Self(Arc::clone(watch))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Watch {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            reading: AtomicU64::new(1),
            writing: AtomicU64::new(0),
            answering: AtomicUsize::new(0),
            is_http2: AtomicBool::new(false),
            preface: AtomicUsize::new(0),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// Whether the client takes too long to send the headers of a request, or to read an answer.
    fn is_late(&self, limits: &Limits) -> bool {
        let now = self.now();
        let late = |since: &AtomicU64, max: Duration| {
            let since = since.load(Ordering::Relaxed);
            since != 0 && u128::from(now.saturating_sub(since)) > max.as_millis()
        };
        late(&self.reading, limits.header_time) || late(&self.writing, limits.write_time)
    }

    fn read(&self, bytes: &[u8]) {
        if bytes.is_empty() || self.is_http2.load(Ordering::Relaxed) {
            return;
        }
        let had = self.preface.load(Ordering::Relaxed);
        if had < PREFACE.len() {
            let due = &PREFACE[had..];
            let same = due.len().min(bytes.len());
            if due[..same] == bytes[..same] {
                self.preface.store(had + same, Ordering::Relaxed);
                if had + same == PREFACE.len() {
                    self.is_http2.store(true, Ordering::Relaxed);
                    self.reading.store(0, Ordering::Relaxed);
                }
                return;
            }
            // It is HTTP/1, for good.
            self.preface.store(usize::MAX, Ordering::Relaxed);
        }
        if self.answering.load(Ordering::Relaxed) == 0 {
            let now = self.now();
            let _ = self.reading.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    fn wrote<T>(&self, polled: &Poll<T>) {
        if polled.is_ready() {
            self.writing.store(0, Ordering::Relaxed);
        } else {
            let now = self.now();
            let _ = self.writing.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// A stream of bytes that somebody watches.
struct Watched<I> {
    inner: I,
    watch: Arc<Watch>,
}

impl<I: AsyncRead + Unpin> AsyncRead for Watched<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        self.watch.read(&buf.filled()[before..]);
        polled
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Watched<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.watch.wrote(&polled);
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, bytes);
        self.watch.wrote(&polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
