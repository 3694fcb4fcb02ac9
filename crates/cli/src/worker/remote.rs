//! Jobs of a server.
//!
//! As many jobs are asked for as commands are free, and the server answers when it has some. Each is held for as long
//! as its command may take. What came of it is told until the server has heard it: telling twice does no harm, because
//! a job that is done is not there any more.

use std::{
    path::Path,
    sync::{Arc, mpsc},
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, bail};
use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio::{sync::Semaphore, time};
use travertine_kernel::Assignments;
use travertine_runtime::engine::Outcome;
use travertine_value::Value;

use super::command::{self, GRACE, Program, Running, Settings};
use crate::{args::worker::Worker, json, screen::Screen, status::Status};

/// How long the server may keep us waiting for a job.
const POLL: Duration = Duration::from_secs(20);

/// How long an answer may take beyond that.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a job is held beyond the time that its command has.
const SLACK: Duration = Duration::from_secs(15);

/// How long to wait before a server is asked again that does not answer, at first and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));

/// An answer larger than this is none of ours.
const ANSWER_BYTES_MAX: usize = 64 << 20;

pub(super) fn work(args: &Worker, server: &str, out: &Screen, err: &Screen) -> Result<Status> {
    let (stop, stopped) = mpsc::channel();
    ctrlc::set_handler(move || {
        // Whoever hears it may be gone.
        let _: Result<(), mpsc::SendError<()>> = stop.send(());
    })
    .context("Ctrl-C cannot be heard")?;
    let server = Arc::new(Server::at(server, args)?);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("the worker cannot be started")?;
    let running = Arc::new(Running::default());
    let says = |text: String| {
        if !args.quiet {
            err.line(err.paint.dim(text));
        }
    };
    let Server { url, .. } = &*server;
    says(format!(
        "jobs of type {} at {url} are done by: {}",
        args.job_type,
        args.command.join(" ")
    ));
    let worker = Polls {
        server: Arc::clone(&server),
        job_type: args.job_type.clone(),
        name: args.name.clone(),
        settings: Arc::new(Settings {
            program: Program::Words(args.command.clone()),
            timeout: args.job_timeout,
            backoff: args.backoff,
        }),
        at_once: args.at_once,
        until_idle: args.until_idle,
        out: (!args.quiet).then(|| out.clone()),
        err: err.clone(),
        running: Arc::clone(&running),
    };
    let (told, hears) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        // It ends with the process where nobody stops it.
        if stopped.recv().is_ok() {
            let _: Result<(), ()> = told.send(());
        }
    });
    let done = runtime.block_on(async {
        tokio::select! {
            done = worker.run() => done,
            () = async { if hears.await.is_err() { std::future::pending::<()>().await } } => Ok(()),
        }
    });
    running.stop();
    running.end();
    runtime.block_on(worker.give_back());
    runtime.shutdown_timeout(GRACE);
    done.map(|()| Status::Done)
}

/// The worker.
struct Polls {
    server: Arc<Server>,
    job_type: String,
    name: String,
    settings: Arc<Settings>,
    at_once: u16,
    until_idle: bool,
    out: Option<Screen>,
    err: Screen,
    running: Arc<Running>,
}

impl Polls {
    async fn run(&self) -> Result<()> {
        let free = Arc::new(Semaphore::new(self.at_once.into()));
        let mut pause = AGAIN.0;
        let mut was_there = true;
        loop {
            let first = Arc::clone(&free).acquire_owned().await?;
            let count = free.available_permits() + 1;
            drop(first);
            let jobs = match self.poll(count).await {
                Ok(jobs) => jobs,
                Err(Fault::Refused(why)) => bail!("{} gives out no jobs: {why}", self.server.url),
                Err(Fault::Later(why)) => {
                    if was_there {
                        let url = &self.server.url;
                        self.err.line(format!("{url} does not answer, trying again: {why}"));
                    }
                    was_there = false;
                    time::sleep(pause).await;
                    pause = (pause * 2).min(AGAIN.1);
                    continue;
                }
            };
            if !was_there {
                self.err.line(format!("{} answers again", self.server.url));
            }
            (was_there, pause) = (true, AGAIN.0);
            if jobs.is_empty() && self.until_idle {
                // Those that are under way may be the cause of others.
                let all = u32::from(self.at_once);
                let was_busy = free.available_permits() < usize::from(self.at_once);
                drop(free.acquire_many(all).await?);
                if !was_busy {
                    return Ok(());
                }
            }
            for job in jobs {
                let permit = Arc::clone(&free).acquire_owned().await?;
                let doing = self.doing(job);
                tokio::spawn(async move {
                    doing.await;
                    drop(permit);
                });
            }
        }
    }

    async fn poll(&self, count: usize) -> Result<Vec<Value>, Fault> {
        let millis = |it: Duration| i64::try_from(it.as_millis()).unwrap_or(i64::MAX);
        // A negative time asks for what is there, and waits for nothing.
        let wait = if self.until_idle { -1 } else { millis(POLL) };
        let asked = json::object([
            ("type", self.job_type.as_str().into()),
            ("worker", self.name.as_str().into()),
            ("timeout", millis(self.settings.timeout + SLACK).into()),
            ("maxJobsToActivate", (count as u64).into()),
            ("requestTimeout", wait.into()),
        ]);
        let answer = self.server.call(Method::POST, "/jobs/activation", &asked).await?;
        match answer.field("jobs") {
            Some(Value::List(jobs)) => Ok(jobs.to_vec()),
            _ => Err(Fault::Refused("it answers without jobs".to_owned())),
        }
    }

    /// Does a job, and tells what came of it.
    fn doing(&self, job: Value) -> impl Future<Output = ()> + Send + use<> {
        let (settings, running) = (Arc::clone(&self.settings), Arc::clone(&self.running));
        let (server, out, err) = (Arc::clone(&self.server), self.out.clone(), self.err.clone());
        async move {
            let key = text(&job, "jobKey");
            server.hold(&key);
            let input = input(&job);
            let (name, stopping) = (key.clone(), Arc::clone(&running));
            let done = tokio::task::spawn_blocking(move || {
                command::run(&settings, &name, &input, &running)
            });
            let outcome = done.await;
            if stopping.is_stopping() {
                // It was ended with the worker, which is nobody's failure.
                return;
            }
            let outcome = outcome.unwrap_or_else(|error| Outcome::Failed {
                message: format!("the worker failed: {error}"),
                backoff: Duration::ZERO,
            });
            let said = server.tell(&key, retries(&job), &outcome).await;
            server.let_go(&key);
            match (said, out) {
                (Err(why), _) => err.line(format!("what came of job {key} was not heard: {why}")),
                (Ok(()), Some(out)) => out.line(format!("job {key} {}", word(&outcome, &out))),
                (Ok(()), None) => {}
            }
        }
    }

    /// Gives back the jobs that were not done.
    async fn give_back(&self) {
        for key in self.server.held() {
            // At once is as good as never held.
            let at_once = json::object([("changeset", json::object([("timeout", 1.into())]))]);
            let path = format!("/jobs/{key}");
            // Otherwise it is free when its time is over.
            let _: Result<Value, Fault> = self.server.call(Method::PATCH, &path, &at_once).await;
        }
    }
}

fn word(outcome: &Outcome, out: &Screen) -> String {
    match outcome {
        Outcome::Done(_) => out.paint.green("completed"),
        Outcome::Failed { message, .. } => out.paint.red(format!("failed: {message}")),
        Outcome::Incident { message } => out.paint.red(format!("is an incident: {message}")),
        Outcome::Error { code, .. } => format!("raised error {code}"),
    }
}

fn text(of: &Value, field: &str) -> String {
    of.field(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn retries(job: &Value) -> i64 {
    job.field("retries").and_then(Value::as_i64).unwrap_or_default()
}

/// What a command reads: the same as from a store, where the server says it.
fn input(job: &Value) -> Value {
    let of = |field: &str| job.field(field).cloned().unwrap_or(Value::Null);
    json::object([
        ("job", of("jobKey")),
        ("type", of("type")),
        ("instance", of("processInstanceKey")),
        ("business_id", of("businessId")),
        ("definition", of("processDefinitionId")),
        ("version", of("processDefinitionVersion")),
        ("element", of("elementId")),
        ("retries", of("retries")),
        ("headers", of("customHeaders")),
        ("idempotency_key", Value::Null),
        ("variables", of("variables")),
    ])
}

/// Why the server has not answered as hoped.
#[derive(Debug)]
enum Fault {
    /// It makes no sense to ask again.
    Refused(String),
    /// It may answer later.
    Later(String),
}

/// The server.
struct Server {
    url: String,
    login: Option<String>,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// The jobs that commands have under way.
    holds: std::sync::Mutex<std::collections::BTreeSet<String>>,
}

impl Server {
    fn at(url: &str, args: &Worker) -> Result<Self> {
        let trimmed = url.trim_end_matches('/').trim_end_matches("/v2").to_owned();
        let parsed: Uri = trimmed.parse().map_err(|_| anyhow!("`{url}` is no URL"))?;
        let roots = match parsed.scheme_str() {
            Some("http") if parsed.host().is_some() => RootCertStore::empty(),
            Some("https") if parsed.host().is_some() => trusted(args.ca.as_deref())?,
            _ => bail!("`{url}` is no URL of a server; it looks like http://localhost:8080"),
        };
        let login = match (&args.api_key, &args.user) {
            (Some(key), _) => Some(format!("Bearer {key}")),
            (None, Some(user)) => Some(format!("Basic {}", base64(user.as_bytes()))),
            (None, None) => None,
        };
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .context("TLS cannot be used")?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { url: trimmed, login, client, holds: std::sync::Mutex::default() })
    }

    fn holds(&self) -> std::sync::MutexGuard<'_, std::collections::BTreeSet<String>> {
        self.holds.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn hold(&self, key: &str) {
        self.holds().insert(key.to_owned());
    }

    fn let_go(&self, key: &str) {
        self.holds().remove(key);
    }

    fn held(&self) -> Vec<String> {
        self.holds().iter().cloned().collect()
    }

    /// Tells what came of a job, until the server has heard it.
    async fn tell(&self, key: &str, retries: i64, outcome: &Outcome) -> Result<(), String> {
        let variables = |all: &Assignments| all.iter().cloned().collect::<Value>();
        let fail = |retries: i64, message: &str, backoff: Duration| {
            let backoff = i64::try_from(backoff.as_millis()).unwrap_or(i64::MAX);
            json::object([
                ("retries", retries.max(0).into()),
                ("errorMessage", message.into()),
                ("retryBackOff", backoff.into()),
            ])
        };
        let (what, asked) = match outcome {
            Outcome::Done(all) => ("completion", json::object([("variables", variables(all))])),
            Outcome::Failed { message, backoff } => {
                ("failure", fail(retries - 1, message, *backoff))
            }
            Outcome::Incident { message } => ("failure", fail(0, message, Duration::ZERO)),
            Outcome::Error { code, message, variables: all } => (
                "error",
                json::object([
                    ("errorCode", code.as_str().into()),
                    ("errorMessage", message.as_str().into()),
                    ("variables", variables(all)),
                ]),
            ),
        };
        let path = format!("/jobs/{key}/{what}");
        let mut pause = AGAIN.0;
        loop {
            match self.call(Method::POST, &path, &asked).await {
                Ok(_) => return Ok(()),
                Err(Fault::Refused(why)) => return Err(why),
                Err(Fault::Later(_)) => {
                    time::sleep(pause).await;
                    pause = (pause * 2).min(AGAIN.1);
                }
            }
        }
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value, Fault> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}/v2{path}", self.url))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json");
        if let Some(login) = &self.login {
            request = request.header(header::AUTHORIZATION, login);
        }
        let request = request.body(Full::new(Bytes::from(body.to_json())));
        let request = request.map_err(|it| Fault::Refused(it.to_string()))?;
        let later = |it: &dyn std::fmt::Display| Fault::Later(it.to_string());
        let answered = time::timeout(POLL + PATIENCE, self.client.request(request)).await;
        let answer = answered.map_err(|_| later(&"it takes too long"))?;
        let answer = answer.map_err(|error| match distrust(&error) {
            Some(why) => Fault::Refused(format!(
                "{why}; name the certificates that vouch for it with --ca FILE"
            )),
            None => later(&root_cause(&error)),
        })?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect();
        let body = time::timeout(PATIENCE, body).await.map_err(|_| later(&"it takes too long"))?;
        let body = body.map_err(|error| later(&error))?.to_bytes();
        let body = String::from_utf8_lossy(&body);
        let value = Value::parse_json(&body).unwrap_or(Value::Null);
        if status.is_success() {
            return Ok(value);
        }
        let why = value.field("detail").and_then(Value::as_str);
        let why = why.map_or_else(|| format!("it answers {status}"), str::to_owned);
        let is_busy = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
        Err(if is_busy || status.is_server_error() {
            Fault::Later(why)
        } else {
            Fault::Refused(why)
        })
    }
}

/// Who may vouch for a server: those that this machine trusts, and those that a file names.
fn trusted(file: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    // What cannot be used is of no use to others, either.
    roots.add_parsable_certificates(found.certs);
    if let Some(file) = file {
        let name = file.display();
        let own = CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .with_context(|| format!("cannot read certificates from {name}"))?;
        if own.is_empty() {
            bail!("{name} has no certificate in PEM format");
        }
        for it in own {
            roots.add(it).with_context(|| format!("a certificate in {name} cannot be used"))?;
        }
    }
    if roots.is_empty() {
        bail!("this machine trusts no certificates: name the server's with --ca FILE");
    }
    Ok(roots)
}

/// Why a server's certificate is not trusted, where that is the fault.
fn distrust(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(it) = cause {
        if let Some(rustls::Error::InvalidCertificate(why)) = it.downcast_ref() {
            return Some(format!("its certificate is not trusted ({why})"));
        }
        let inner = it.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        // What an I/O error holds is not its source.
        cause = inner.map_or_else(|| it.source(), |it| Some(it));
    }
    None
}

/// What is at the bottom of a fault.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// As basic authentication wants it.
fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
