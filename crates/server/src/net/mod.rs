//! Connections, and what every request goes through before a façade sees it.

mod body;
mod connection;
mod front;
mod rates;
mod refusal;
mod seats;
pub(crate) mod tls;

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, lookup_host},
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::Error;
pub(crate) use front::{Front, RequestId};
pub(crate) use rates::Rates;
pub(crate) use refusal::{Refusal, Wire};
pub(crate) use seats::{Place, Seats};

/// Takes all addresses that a text stands for. Those that other machines can reach must be `guarded`.
pub(crate) async fn listen(address: &str, guarded: bool) -> Result<Vec<TcpListener>, Error> {
    let fault = |source| Error::Listen { address: address.to_owned(), source };
    let found: Vec<SocketAddr> = lookup_host(address).await.map_err(fault)?.collect();
    if found.is_empty() {
        return Err(fault(io::Error::new(io::ErrorKind::NotFound, "no such host")));
    }
    if !guarded && found.iter().any(|it| !it.ip().is_loopback()) {
        return Err(Error::Open { address: address.to_owned() });
    }
    let mut listeners: Vec<TcpListener> = Vec::new();
    for mut at in found {
        // A port that the system chooses is the same for all addresses of a name.
        if at.port() == 0
            && let Some(first) = listeners.first()
        {
            at.set_port(first.local_addr().map_err(fault)?.port());
        }
        match TcpListener::bind(at).await {
            Ok(listener) => listeners.push(listener),
            // A machine without IPv6 still calls ::1 localhost.
            Err(error)
                if error.kind() == io::ErrorKind::AddrNotAvailable && !listeners.is_empty() => {}
            Err(source) => return Err(fault(source)),
        }
    }
    Ok(listeners)
}

/// The doors through which clients come, and how they are closed.
#[derive(Debug)]
pub(crate) struct Doors {
    /// No more connections; those who wait get what there is.
    pub(crate) draining: CancellationToken,
    /// Connections end now.
    ending: CancellationToken,
    /// Every connection has a clone, so that all of them can be waited for.
    alive: mpsc::Sender<Infallible>,
    gone: mpsc::Receiver<Infallible>,
}

/// What a connection is told by its door.
#[derive(Clone, Debug)]
struct Door {
    draining: CancellationToken,
    ending: CancellationToken,
    _alive: mpsc::Sender<Infallible>,
}

impl Doors {
    pub(crate) fn new() -> Self {
        let (alive, gone) = mpsc::channel(1);
        let (draining, ending) = (CancellationToken::new(), CancellationToken::new());
        Self { draining, ending, alive, gone }
    }

    /// Lets clients in.
    pub(crate) fn open(
        &self,
        listeners: Vec<TcpListener>,
        front: &Arc<Front>,
        tls: Option<&TlsAcceptor>,
    ) {
        for listener in listeners {
            let door = Door {
                draining: self.draining.clone(),
                ending: self.ending.clone(),
                _alive: self.alive.clone(),
            };
            tokio::spawn(accept(listener, Arc::clone(front), tls.cloned(), door));
        }
    }

    /// Closes them. What is not finished in time is ended.
    pub(crate) async fn close(self, drain: Duration) {
        let Self { draining, ending, alive, mut gone } = self;
        draining.cancel();
        drop(alive);
        if timeout(drain, gone.recv()).await.is_err() {
            ending.cancel();
            gone.recv().await;
        }
    }
}

/// Takes connections until the door is closed.
async fn accept(listener: TcpListener, front: Arc<Front>, tls: Option<TlsAcceptor>, door: Door) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = door.draining.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) if is_of_one_connection(&error) => continue,
            Err(error) => {
                // No more files, most likely: others must close some first.
                tracing::warn!(%error, "cannot accept connections");
                sleep(PAUSE).await;
                continue;
            }
        };
        // Beyond the limit a connection is closed at once: that costs nothing, and who is in stays in.
        let Some(seat) = front.seats().connection() else { continue };
        let (front, tls, door) = (Arc::clone(&front), tls.clone(), door.clone());
        tokio::spawn(async move {
            connection::serve(stream, tls, &front, &door).await;
            drop(seat);
        });
    }
}

/// How long to wait where connections cannot be accepted.
const PAUSE: Duration = Duration::from_millis(100);

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
