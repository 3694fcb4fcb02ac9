//! The server: what it listens at, how it begins and ends.

use std::{future::Future, net::SocketAddr, sync::Arc};

use axum::Router;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use travertine_runtime::Engine;

use crate::{
    Error, Options,
    access::Gate,
    assets,
    c8::{grpc, rest},
    desk::{Desk, Rights},
    hooks::Teller,
    native::{self, Remembered},
    net::{self, Doors, Front, Rates, Seats, tls::Certificate},
    observe::{self, Observed},
};

/// An engine that is served to clients elsewhere.
///
/// ```no_run
/// # use travertine_runtime::Engine;
/// # use travertine_server::{Options, Server};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::open("data")?;
/// let listening = Server::new(engine.clone(), Options::default()).bind().await?;
/// println!("http://{}", listening.addresses().rest[0]);
/// listening.serve(async { let _ = tokio::signal::ctrl_c().await; }).await?;
/// engine.shutdown()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Server {
    engine: Engine,
    options: Options,
}

/// Where a server listens.
///
/// ```no_run
/// # use travertine_server::Server;
/// # async fn example(server: Server) -> Result<(), travertine_server::Error> {
/// let listening = server.bind().await?;
/// println!("{:?}", listening.addresses().grpc);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Where REST is served.
    pub rest: Vec<SocketAddr>,
    /// Where gRPC is served as well.
    pub grpc: Vec<SocketAddr>,
    /// Where health and metrics are.
    pub manage: Vec<SocketAddr>,
}

/// A server that has its addresses. Clients can connect, and are answered once it serves.
///
/// ```no_run
/// # use travertine_server::Server;
/// # async fn example(server: Server) -> Result<(), travertine_server::Error> {
/// let listening = server.bind().await?;
/// listening.serve(std::future::pending()).await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Listening {
    engine: Engine,
    options: Arc<Options>,
    gate: Arc<Gate>,
    rest: Vec<TcpListener>,
    grpc: Vec<TcpListener>,
    manage: Vec<TcpListener>,
    tls: Option<Arc<Certificate>>,
    rates: Arc<Rates>,
}

/// What gives a server other certificates, logins and rates while it serves.
///
/// ```no_run
/// # use travertine_server::{Error, Listening, Options};
/// # fn example(listening: &Listening, changed: &Options) -> Result<(), Error> {
/// let reload = listening.reload();
/// reload.apply(changed)?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Reload {
    gate: Arc<Gate>,
    tls: Option<Arc<Certificate>>,
    rates: Arc<Rates>,
    /// The first address that other machines reach.
    reached: Option<SocketAddr>,
}

impl Reload {
    /// Reads the certificate again, and takes over who may log in and how much everybody may send. Connections that are
    /// there stay. Whatever cannot be used changes nothing.
    ///
    /// ```no_run
    /// # use travertine_server::{Access, Error, Listening, Options, Password};
    /// # fn example(listening: &Listening) -> Result<(), Error> {
    /// let access = Access::default().user("ann", Password::hash("correct horse"));
    /// listening.reload().apply(&Options { access, ..Options::default() })?;
    /// # Ok(()) }
    /// ```
    pub fn apply(&self, options: &Options) -> Result<(), Error> {
        let certificate = match (&self.tls, &options.tls) {
            (Some(known), Some(tls)) => Some((known, Certificate::load(tls)?)),
            (None, None) => None,
            _ => {
                let reason = "whether there is a certificate is decided when the server begins";
                return Err(Error::Tls { reason: reason.to_owned() });
            }
        };
        // Who had to log in before must not find everything open because a file is gone.
        let may_be_open = options.insecure || (self.reached.is_none() && self.gate.is_open());
        if !self.gate.reload(&options.access, may_be_open)? {
            let open = |it: SocketAddr| Error::Open { address: it.to_string() };
            return Err(self.reached.map_or(Error::Opened, open));
        }
        if let Some((known, certificate)) = certificate {
            known.show(certificate);
        }
        self.rates.set(options.rate);
        Ok(())
    }
}

impl Server {
    /// A server of an engine, which stays the caller's to shut down.
    ///
    /// ```no_run
    /// # use travertine_runtime::Engine;
    /// # use travertine_server::{Options, Server};
    /// # fn example(engine: Engine) {
    /// let server = Server::new(engine, Options::default());
    /// # }
    /// ```
    pub fn new(engine: Engine, options: Options) -> Self {
        Self { engine, options }
    }

    /// Takes its addresses.
    ///
    /// ```no_run
    /// # use travertine_server::Server;
    /// # async fn example(server: Server) -> Result<(), travertine_server::Error> {
    /// let listening = server.bind().await?;
    /// # Ok(()) }
    /// ```
    pub async fn bind(self) -> Result<Listening, Error> {
        let Self { engine, options } = self;
        let tls = options.tls.as_ref().map(Certificate::read).transpose()?;
        let rates = Arc::new(Rates::new(options.rate));
        let gate = Arc::new(Gate::new(&options)?);
        let guarded = !gate.is_open() || options.insecure;
        let rest = net::listen(&options.listen, guarded).await?;
        let grpc = match &options.grpc_listen {
            Some(address) => net::listen(address, guarded).await?,
            None => Vec::new(),
        };
        let manage = match &options.manage {
            Some(address) => net::listen(address, true).await?,
            None => Vec::new(),
        };
        Ok(Listening { engine, options: Arc::new(options), gate, rest, grpc, manage, tls, rates })
    }
}

impl Listening {
    /// Whether everybody may do everything.
    ///
    /// ```no_run
    /// # use travertine_server::Listening;
    /// # fn example(listening: &Listening) {
    /// if listening.is_open() {
    ///     println!("nobody need log in");
    /// }
    /// # }
    /// ```
    pub fn is_open(&self) -> bool {
        self.gate.is_open()
    }

    /// Where it listens.
    ///
    /// ```no_run
    /// # use travertine_server::Listening;
    /// # fn example(listening: &Listening) {
    /// println!("http://{}", listening.addresses().rest[0]);
    /// # }
    /// ```
    pub fn addresses(&self) -> Addresses {
        let of = |all: &[TcpListener]| all.iter().filter_map(|it| it.local_addr().ok()).collect();
        Addresses { rest: of(&self.rest), grpc: of(&self.grpc), manage: of(&self.manage) }
    }

    /// What gives it other certificates, logins and rates while it serves.
    ///
    /// ```no_run
    /// # use travertine_server::{Error, Listening, Options};
    /// # fn example(listening: &Listening, changed: &Options) -> Result<(), Error> {
    /// listening.reload().apply(changed)
    /// # }
    /// ```
    pub fn reload(&self) -> Reload {
        let mut all = self.rest.iter().chain(&self.grpc).filter_map(|it| it.local_addr().ok());
        Reload {
            gate: Arc::clone(&self.gate),
            tls: self.tls.clone(),
            rates: Arc::clone(&self.rates),
            reached: all.find(|it| !it.ip().is_loopback()),
        }
    }

    /// Serves until `shutdown`. Then no connection is taken, those who wait for jobs get none, and requests under
    /// way are finished, as long as [`Options::drain`] says.
    ///
    /// ```no_run
    /// # use travertine_server::Listening;
    /// # async fn example(listening: Listening) -> Result<(), travertine_server::Error> {
    /// listening.serve(async { let _ = tokio::signal::ctrl_c().await; }).await?;
    /// # Ok(()) }
    /// ```
    pub async fn serve(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), Error> {
        let Self { engine, options, gate, rest, grpc, manage, tls, rates } = self;
        let tls = tls.map(Certificate::config).transpose()?.map(TlsAcceptor::from);
        let doors = Doors::new();
        let seats = Arc::new(Seats::new(&options.limits));
        let observed = Arc::new(Observed::new(&engine, &seats, doors.draining.clone()));
        engine.guard_batches(Some(Arc::new(Rights(Arc::clone(&gate)))));
        let hooks = options.directory.as_ref().map(|it| it.join("webhooks.db"));
        let teller = Teller::open(hooks.as_deref(), &options.connect_allow)
            .map_err(|error| Error::Keep { reason: error.to_string() })?;
        let teller = Arc::new(teller);
        tokio::spawn(Arc::clone(&teller).run(engine.clone(), doors.draining.clone()));
        let desk = Desk::new(engine).waiting(&options, doors.draining.clone()).telling(teller);
        let desk = desk.guarded(Arc::clone(&gate));
        let port = grpc.first().or_else(|| rest.first()).and_then(|it| it.local_addr().ok());
        let port = port.map_or(0, |it| it.port());
        let (calls, health) = grpc::routes(desk.clone(), &options, port).await;
        let front = |listeners: &[TcpListener], routes, calls: Option<Router>| {
            let gate = calls.is_some().then_some(&gate);
            Arc::new(Front::new(
                &options,
                listeners,
                gate,
                (&seats, &rates),
                &observed,
                routes,
                calls,
            ))
        };
        let kept = options.directory.as_ref().map(|it| it.join("requests.db"));
        let kept = Remembered::open(kept.as_deref()).map_err(Error::kept)?;
        let native = native::routes(desk.clone(), &Arc::new(kept));
        let page = assets::routes(&options.base_path);
        let routes = observe::named(rest::routes(desk).merge(native).merge(page));
        for listeners in [rest, grpc] {
            let front = front(&listeners, routes.clone(), Some(calls.clone()));
            doors.open(listeners, &front, tls.as_ref());
        }
        let manage_front = front(&manage, observe::routes(Arc::clone(&observed)), None);
        let manage_doors = Doors::new();
        manage_doors.open(manage, &manage_front, None);
        shutdown.await;
        tracing::info!("shutting down");
        health.set_not_serving().await;
        doors.close(options.drain).await;
        manage_doors.close(std::time::Duration::ZERO).await;
        // The engine goes on asking the gate what batches may do, so it is not over with the last connection.
        if tokio::task::spawn_blocking(move || gate.flush()).await.is_err() {
            tracing::error!("the audit has failed");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
