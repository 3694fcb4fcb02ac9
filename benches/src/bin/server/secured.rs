//! What logging in and encrypting cost: an API key against none, and TLS against raw axum with TLS.

use std::{fs, net::SocketAddr, path::Path, sync::Arc, time::Instant};

use axum::body::Bytes;
use http::{Method, Request, header};
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use travertine_benches::disk::{Outcome, median, rate, say, scaled};
use travertine_server::{Access, ApiKey, Options, Tls};

use super::{
    AT_ONCE, Both, Fault, ROUNDS, answered, both_with, create_body, plain, raw_routes, request,
};

/// How a client connects, and what it logs in with.
#[derive(Clone)]
struct Client {
    at: SocketAddr,
    key: Option<String>,
    tls: Option<TlsConnector>,
}

impl Client {
    async fn connected(&self) -> Result<SendRequest<Full<Bytes>>, Fault> {
        let stream = TcpStream::connect(self.at).await?;
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else {
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            return Ok(sender);
        };
        let stream = tls.connect(ServerName::try_from("localhost")?, stream).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    fn create(&self) -> Result<Request<Full<Bytes>>, Fault> {
        let mut it = request(self.at, Method::POST, "/v2/process-instances", create_body())?;
        if let Some(key) = &self.key {
            it.headers_mut().insert(header::AUTHORIZATION, format!("Bearer {key}").parse()?);
        }
        Ok(it)
    }

    /// How many instances it creates a second, over as many connections as usual.
    async fn creates(self, count: usize) -> Result<f64, Fault> {
        let mut senders = Vec::new();
        for _ in 0..AT_ONCE {
            senders.push(self.connected().await?);
        }
        let began = Instant::now();
        let mut tasks = JoinSet::new();
        for mut sender in senders {
            let client = self.clone();
            tasks.spawn(async move {
                for _ in 0..count / AT_ONCE {
                    answered(&mut sender, client.create()?).await?;
                }
                Ok::<_, Fault>(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        Ok(rate(count / AT_ONCE * AT_ONCE, began.elapsed()))
    }
}

pub(super) fn secured(dir: &Path) -> Outcome {
    let Both { runtime, engine, ours: open, .. } =
        both_with(&dir.join("open"), Options::default())?;
    let (key, text) = ApiKey::draw("bench");
    let access = Access::default().key("bench", key, None);
    let locked = both_with(&dir.join("locked"), Options { access, ..Options::default() })?;
    let certificate = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let files = Tls { cert: dir.join("cert.pem"), key: dir.join("key.pem") };
    fs::write(&files.cert, certificate.cert.pem())?;
    fs::write(&files.key, certificate.signing_key.serialize_pem())?;
    let tls = Some(files.clone());
    let encrypted = both_with(&dir.join("encrypted"), Options { tls, ..Options::default() })?;
    let raw = runtime.block_on(raw_encrypted(&files)).map_err(plain)?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.der().clone())?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tls = Some(TlsConnector::from(Arc::new(config)));
    let plainly = |at| Client { at, key: None, tls: None };
    let clients = [
        plainly(open),
        Client { key: Some(text), ..plainly(locked.ours) },
        Client { tls: tls.clone(), ..plainly(encrypted.ours) },
        Client { tls, ..plainly(raw) },
    ];
    let mut rates = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        for (client, rates) in clients.iter().zip(&mut rates) {
            let load = client.clone().creates(scaled(40_000));
            rates.push(runtime.block_on(load).map_err(plain)?);
        }
    }
    let [open, locked_rate, encrypted_rate, raw] = rates.map(median);
    say(&format!(
        "create, REST, with an API key  {locked_rate:>8.0}/s, without {open:>8.0}/s, ratio {:.2}",
        locked_rate / open
    ));
    say(&format!(
        "create, REST, with TLS         {encrypted_rate:>8.0}/s, raw     {raw:>8.0}/s, ratio {:.2}",
        encrypted_rate / raw
    ));
    for it in [Both { runtime, engine, ours: clients[0].at, raw: clients[0].at }, locked, encrypted]
    {
        it.runtime.shutdown_background();
        it.engine.shutdown()?;
    }
    Ok(())
}

/// Raw axum with the same TLS.
async fn raw_encrypted(files: &Tls) -> Result<SocketAddr, Fault> {
    let chain = CertificateDer::pem_file_iter(&files.cert)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(&files.key)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = listener.local_addr()?;
    let service = TowerToHyperService::new(raw_routes());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, service) = (acceptor.clone(), service.clone());
            tokio::spawn(async move {
                drop(stream.set_nodelay(true));
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let builder = auto::Builder::new(TokioExecutor::new());
                drop(builder.serve_connection(TokioIo::new(stream), service).await);
            });
        }
    });
    Ok(at)
}
