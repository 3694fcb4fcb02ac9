//! The server: what it listens at, how it begins and ends.

use std::{future::Future, net::SocketAddr, sync::Arc};

use axum::Router;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use travertine_runtime::Engine;

use crate::{
    Error, Options,
    access::Gate,
    c8::{grpc, rest},
    desk::Desk,
    net::{self, Doors, Front, Seats},
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
    rest: Vec<TcpListener>,
    grpc: Vec<TcpListener>,
    manage: Vec<TcpListener>,
    tls: Option<Arc<rustls::ServerConfig>>,
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
        let tls = options.tls.as_ref().map(net::tls::config).transpose()?;
        let guarded = !options.access.is_open() || options.insecure;
        let rest = net::listen(&options.listen, guarded).await?;
        let grpc = match &options.grpc_listen {
            Some(address) => net::listen(address, guarded).await?,
            None => Vec::new(),
        };
        let manage = match &options.manage {
            Some(address) => net::listen(address, true).await?,
            None => Vec::new(),
        };
        Ok(Listening { engine, options: Arc::new(options), rest, grpc, manage, tls })
    }
}

impl Listening {
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
        let Self { engine, options, rest, grpc, manage, tls } = self;
        let tls = tls.map(TlsAcceptor::from);
        let doors = Doors::new();
        let seats = Arc::new(Seats::new(&options.limits));
        let observed = Arc::new(Observed::new(&engine, &seats, doors.draining.clone()));
        let desk = Desk::new(engine).waiting(&options, doors.draining.clone());
        let port = grpc.first().or_else(|| rest.first()).and_then(|it| it.local_addr().ok());
        let port = port.map_or(0, |it| it.port());
        let (calls, health) = grpc::routes(desk.clone(), &options, port).await;
        let gate = Arc::new(Gate::new(&options.access));
        let front = |listeners: &[TcpListener], routes, calls: Option<Router>| {
            let gate = calls.is_some().then_some(&gate);
            Arc::new(Front::new(&options, listeners, gate, &seats, &observed, routes, calls))
        };
        let routes = observe::named(rest::routes(desk));
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
        Ok(())
    }
}

#[cfg(test)]
mod tests;
