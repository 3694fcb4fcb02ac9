//! What the server does against raw axum and tonic, in one run.
//!
//! `cargo run --profile dist -p travertine-benches --bin server [DIR] [PART]…`, where DIR is on the disk that the store
//! is on and PART is one of `create`, `create-grpc`, `job-stream`, `job-poll`, `get`, `latency`, `waiting`, `overload`,
//! `secured`, `begin`; all where none is named. `waiting`, `overload` and `begin` measure the program `travertine`, which
//! must have been built beside this one (`-p travertine-cli`).
//! `TRAVERTINE_BENCH_SCALE=0.01` makes everything smaller, to try it out.
//!
//! The raw servers have the same connections and bodies, parse what they are sent and answer as much. Clients and
//! servers share the cores. Each ratio is between the rates in the middle of several rounds, which take turns.

use std::{
    collections::VecDeque,
    convert::Infallible,
    fs,
    future::{Future, Ready, ready},
    net::SocketAddr,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{Router, body::Bytes, extract, routing, serve::ListenerExt as _};
use http::{Method, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    sync::{Notify, Semaphore, mpsc},
    task::JoinSet,
};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{
    Status,
    body::Body,
    server::{Grpc, NamedService, ServerStreamingService, UnaryService},
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;
use travertine_benches::disk::{Outcome, measure, median, rate, say, scaled};
use travertine_runtime::{
    Engine,
    engine::{File, Options as EngineOptions},
};
use travertine_server::{Options, Server};

use gateway::{
    ActivateJobsRequest, ActivateJobsResponse, ActivatedJob, CompleteJobRequest,
    CompleteJobResponse, CreateProcessInstanceRequest, CreateProcessInstanceResponse,
    StreamActivatedJobsRequest, gateway_client::GatewayClient,
};

// Linked for its allocator, in place of the system's.
use mimalloc as _;

#[rustfmt::skip]
#[allow(clippy::all, clippy::pedantic, clippy::allow_attributes, clippy::allow_attributes_without_reason, clippy::clone_on_ref_ptr, clippy::empty_structs_with_brackets, unused, unused_qualifications, unreachable_pub, unnameable_types, missing_docs, reason = "it is generated")]
#[path = "../../../../crates/server/src/c8/grpc/gateway.rs"]
mod gateway;
mod program;
mod secured;

/// An error that tasks can hand on.
type Fault = Box<dyn std::error::Error + Send + Sync>;

/// The error as the programs that measure have it.
fn plain(fault: Fault) -> Box<dyn std::error::Error> {
    fault
}

/// Requests under way at once, and over how many channels where one carries several.
const AT_ONCE: usize = 128;
const CHANNELS: usize = 4;

/// How many jobs are asked for at once.
const JOBS: i32 = 32;

const ROUNDS: usize = 3;

const VARIABLES: &str = r#"{"amount":250,"customer":"Ann","items":[1,2,3]}"#;

const MODEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="bench">
  <process id="one" isExecutable="true">
    <startEvent id="start"/><sequenceFlow id="in" sourceRef="start" targetRef="task"/>
    <serviceTask id="task"><extensionElements><zeebe:taskDefinition type="work"/></extensionElements></serviceTask>
    <sequenceFlow id="out" sourceRef="task" targetRef="end"/><endEvent id="end"/>
  </process></definitions>"#;

fn main() -> Outcome {
    measure(&[
        ("create", |dir| compared(dir, "create an instance, REST", 60_000, rest_create)),
        ("create-grpc", |dir| compared(dir, "create an instance, gRPC", 60_000, grpc_create)),
        ("job-stream", |dir| compared(dir, "a whole job, streamed", 30_000, grpc_stream)),
        ("job-poll", |dir| compared(dir, "a whole job, polled", 30_000, grpc_poll)),
        ("get", |dir| compared(dir, "look at an instance, REST", 60_000, rest_get)),
        ("latency", latency),
        ("waiting", program::waiting),
        ("overload", program::overload),
        ("secured", secured::secured),
        ("begin", program::begin),
    ])
}

/// A load on a server, which says how many of them it took a second.
type Load = fn(SocketAddr, usize) -> Pin<Box<dyn Future<Output = Result<f64, Fault>> + Send>>;

/// The two servers on an empty store.
struct Both {
    runtime: Runtime,
    engine: Engine,
    ours: SocketAddr,
    raw: SocketAddr,
}

fn both(dir: &Path) -> Outcome<Both> {
    both_with(dir, Options::default())
}

fn both_with(dir: &Path, options: Options) -> Outcome<Both> {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let engine = Engine::open_with(dir, EngineOptions { shards: 1, ..EngineOptions::default() })?;
    engine.deploy(&[File { name: "bench.bpmn".into(), body: MODEL.into() }])?;
    let options =
        Options { listen: "127.0.0.1:0".to_owned(), grpc_listen: None, manage: None, ..options };
    let server = Server::new(engine.clone(), options);
    let (ours, raw) = runtime
        .block_on(async {
            let listening = server.bind().await?;
            let ours = listening.addresses().rest[0];
            tokio::spawn(listening.serve(std::future::pending()));
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let raw = listener.local_addr()?;
            let listener = listener.tap_io(|it| drop(it.set_nodelay(true)));
            tokio::spawn(async { axum::serve(listener, raw_routes()).await });
            Ok::<_, Fault>((ours, raw))
        })
        .map_err(plain)?;
    Ok(Both { runtime, engine, ours, raw })
}

fn compared(dir: &Path, what: &str, count: usize, load: Load) -> Outcome {
    let Both { runtime, engine, ours, raw } = both(&dir.join("server"))?;
    let count = scaled(count);
    let (mut rates, mut raws) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        raws.push(runtime.block_on(load(raw, count)).map_err(plain)?);
        rates.push(runtime.block_on(load(ours, count)).map_err(plain)?);
    }
    let (ours, raw) = (median(rates), median(raws));
    say(&format!("{what:<28} {ours:>8.0}/s, raw {raw:>8.0}/s, ratio {:.2}", ours / raw));
    runtime.shutdown_background();
    engine.shutdown()?;
    Ok(())
}

// ---- REST

async fn connected(at: SocketAddr) -> Result<SendRequest<Full<Bytes>>, Fault> {
    let stream = TcpStream::connect(at).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

fn request(
    at: SocketAddr,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, Fault> {
    let request = Request::builder().method(method).uri(path).header(header::HOST, at.to_string());
    Ok(request.header(header::CONTENT_TYPE, "application/json").body(Full::new(body))?)
}

async fn answered(
    sender: &mut SendRequest<Full<Bytes>>,
    it: Request<Full<Bytes>>,
) -> Result<Bytes, Fault> {
    sender.ready().await?;
    let answer = sender.send_request(it).await?;
    let status = answer.status();
    let body = answer.into_body().collect().await?.to_bytes();
    if !status.is_success() {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
    }
    Ok(body)
}

fn create_body() -> Bytes {
    format!(r#"{{"processDefinitionId":"one","variables":{VARIABLES}}}"#).into()
}

/// As many requests as asked for, over as many connections as usual.
async fn over_connections(
    at: SocketAddr,
    count: usize,
    method: Method,
    path: Arc<str>,
    body: Bytes,
) -> Result<f64, Fault> {
    let mut senders = Vec::new();
    for _ in 0..AT_ONCE {
        senders.push(connected(at).await?);
    }
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for mut sender in senders {
        let (method, path, body) = (method.clone(), Arc::clone(&path), body.clone());
        tasks.spawn(async move {
            for _ in 0..count / AT_ONCE {
                answered(&mut sender, request(at, method.clone(), &path, body.clone())?).await?;
            }
            Ok::<_, Fault>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(rate(count / AT_ONCE * AT_ONCE, began.elapsed()))
}

fn rest_create(
    at: SocketAddr,
    count: usize,
) -> Pin<Box<dyn Future<Output = Result<f64, Fault>> + Send>> {
    Box::pin(over_connections(
        at,
        count,
        Method::POST,
        "/v2/process-instances".into(),
        create_body(),
    ))
}

fn rest_get(
    at: SocketAddr,
    count: usize,
) -> Pin<Box<dyn Future<Output = Result<f64, Fault>> + Send>> {
    Box::pin(async move {
        let mut sender = connected(at).await?;
        let create = request(at, Method::POST, "/v2/process-instances", create_body())?;
        let created: serde_json::Value =
            serde_json::from_slice(&answered(&mut sender, create).await?)?;
        let key = created["processInstanceKey"].as_str().ok_or("it has a key")?;
        let path = format!("/v2/process-instances/{key}");
        over_connections(at, count, Method::GET, path.into(), Bytes::new()).await
    })
}

fn latency(dir: &Path) -> Outcome {
    let Both { runtime, engine, ours, raw } = both(&dir.join("server"))?;
    let count = scaled(3_000);
    for (name, at) in [("raw", raw), ("ours", ours)] {
        let mut all = runtime
            .block_on(async {
                let mut sender = connected(at).await?;
                let mut all = Vec::new();
                for _ in 0..count {
                    let it = request(at, Method::POST, "/v2/process-instances", create_body())?;
                    let began = Instant::now();
                    answered(&mut sender, it).await?;
                    all.push(began.elapsed());
                }
                Ok::<_, Fault>(all)
            })
            .map_err(plain)?;
        all.sort();
        let at = |part: usize| all[(all.len() * part / 100).min(all.len() - 1)];
        say(&format!("one client, create, {name:<5} p50 {:?}, p99 {:?}", at(50), at(99)));
    }
    let synced = sync_time(dir, scaled(1_000))?;
    say(&format!("a sync of the disk            p50 {:?}, p99 {:?}", synced.0, synced.1));
    runtime.shutdown_background();
    engine.shutdown()?;
    Ok(())
}

/// How long the disk takes to keep a few bytes.
fn sync_time(dir: &Path, count: usize) -> Outcome<(Duration, Duration)> {
    use std::io::Write as _;
    let mut file = fs::File::create(dir.join("sync"))?;
    let mut all = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        file.write_all(&[7; 512])?;
        file.sync_data()?;
        all.push(began.elapsed());
    }
    all.sort();
    Ok((all[all.len() / 2], all[all.len() * 99 / 100]))
}

// ---- gRPC

async fn channels(at: SocketAddr) -> Result<Vec<GatewayClient<Channel>>, Fault> {
    let mut all = Vec::new();
    for _ in 0..CHANNELS {
        let channel =
            Endpoint::from_shared(format!("http://{at}"))?.tcp_nodelay(true).connect().await?;
        all.push(GatewayClient::new(channel));
    }
    Ok(all)
}

fn create_message() -> CreateProcessInstanceRequest {
    CreateProcessInstanceRequest {
        bpmn_process_id: "one".to_owned(),
        version: -1,
        variables: VARIABLES.to_owned(),
        ..CreateProcessInstanceRequest::default()
    }
}

/// Creates instances, as many under way as usual.
async fn create_all(clients: &[GatewayClient<Channel>], count: usize) -> Result<(), Fault> {
    let mut tasks = JoinSet::new();
    for at in 0..AT_ONCE {
        let mut client = clients[at % clients.len()].clone();
        tasks.spawn(async move {
            for _ in 0..count / AT_ONCE {
                client.create_process_instance(create_message()).await?;
            }
            Ok::<_, Fault>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

fn grpc_create(
    at: SocketAddr,
    count: usize,
) -> Pin<Box<dyn Future<Output = Result<f64, Fault>> + Send>> {
    Box::pin(async move {
        let clients = channels(at).await?;
        let began = Instant::now();
        create_all(&clients, count).await?;
        Ok(rate(count / AT_ONCE * AT_ONCE, began.elapsed()))
    })
}

/// Completes jobs as they come, as many under way as usual.
struct Completing {
    clients: Vec<GatewayClient<Channel>>,
    free: Arc<Semaphore>,
    done: Arc<AtomicUsize>,
    begun: usize,
}

impl Completing {
    fn new(clients: &[GatewayClient<Channel>]) -> Self {
        Self {
            clients: clients.to_vec(),
            free: Arc::new(Semaphore::new(AT_ONCE)),
            done: Arc::default(),
            begun: 0,
        }
    }

    async fn complete(&mut self, job: i64) -> Result<(), Fault> {
        let permit = Arc::clone(&self.free).acquire_owned().await?;
        let mut client = self.clients[self.begun % self.clients.len()].clone();
        let done = Arc::clone(&self.done);
        self.begun += 1;
        tokio::spawn(async move {
            let it = CompleteJobRequest { job_key: job, variables: "{}".to_owned() };
            if client.complete_job(it).await.is_ok() {
                done.fetch_add(1, Ordering::SeqCst);
            }
            drop(permit);
        });
        Ok(())
    }

    /// Waits for all of them.
    async fn finish(self, count: usize) -> Result<(), Fault> {
        drop(self.free.acquire_many(u32::try_from(AT_ONCE)?).await?);
        let done = self.done.load(Ordering::SeqCst);
        if done == count {
            Ok(())
        } else {
            Err(format!("{done} of {count} jobs were completed").into())
        }
    }
}

fn grpc_stream(
    at: SocketAddr,
    count: usize,
) -> Pin<Box<dyn Future<Output = Result<f64, Fault>> + Send>> {
    Box::pin(async move {
        let count = count / AT_ONCE * AT_ONCE;
        let clients = channels(at).await?;
        let asked = StreamActivatedJobsRequest {
            r#type: "work".to_owned(),
            worker: "bench".to_owned(),
            timeout: 600_000,
            ..StreamActivatedJobsRequest::default()
        };
        let mut jobs = clients[0].clone().stream_activated_jobs(asked).await?.into_inner();
        let began = Instant::now();
        let creating = tokio::spawn({
            let clients = clients.clone();
            async move { create_all(&clients, count).await }
        });
        let mut completing = Completing::new(&clients);
        for _ in 0..count {
            let job = jobs.message().await?.ok_or("the stream has ended")?;
            completing.complete(job.key).await?;
        }
        completing.finish(count).await?;
        creating.await??;
        Ok(rate(count, began.elapsed()))
    })
}

fn grpc_poll(
    at: SocketAddr,
    count: usize,
) -> Pin<Box<dyn Future<Output = Result<f64, Fault>> + Send>> {
    Box::pin(async move {
        let count = count / AT_ONCE * AT_ONCE;
        let clients = channels(at).await?;
        let began = Instant::now();
        let creating = tokio::spawn({
            let clients = clients.clone();
            async move { create_all(&clients, count).await }
        });
        let mut completing = Completing::new(&clients);
        let mut client = clients[0].clone();
        while completing.begun < count {
            let asked = ActivateJobsRequest {
                r#type: "work".to_owned(),
                worker: "bench".to_owned(),
                timeout: 600_000,
                max_jobs_to_activate: JOBS,
                request_timeout: 10_000,
                ..ActivateJobsRequest::default()
            };
            let mut answers = client.activate_jobs(asked).await?.into_inner();
            while let Some(answer) = answers.message().await? {
                for job in answer.jobs {
                    completing.complete(job.key).await?;
                }
            }
        }
        completing.finish(count).await?;
        creating.await??;
        Ok(rate(count, began.elapsed()))
    })
}

// ---- The raw servers

fn raw_routes() -> Router {
    let create = async |body: Bytes| {
        static NEXT: AtomicI64 = AtomicI64::new(1);
        let asked: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        let id = asked["processDefinitionId"].as_str().unwrap_or_default();
        let body = format!(
            r#"{{"processDefinitionId":"{id}","processDefinitionVersion":1,"tenantId":"<default>","variables":{{}},"processDefinitionKey":"1","processInstanceKey":"{key}","tags":[],"businessId":null}}"#
        );
        ([(header::CONTENT_TYPE, "application/json")], body)
    };
    let get = async |extract::Path(key): extract::Path<String>| {
        let body = format!(
            r#"{{"processDefinitionId":"one","processDefinitionName":null,"processDefinitionVersion":1,"processDefinitionVersionTag":null,"startDate":"2026-01-05T09:00:00.000Z","endDate":null,"state":"ACTIVE","suspendedDate":null,"hasIncident":false,"tenantId":"<default>","processInstanceKey":"{key}","processDefinitionKey":"1","parentProcessInstanceKey":null,"parentElementInstanceKey":null,"rootProcessInstanceKey":"{key}","tags":[],"businessId":null}}"#
        );
        ([(header::CONTENT_TYPE, "application/json")], body)
    };
    let raw = RawGateway::default();
    let grpc = tonic::service::Routes::new(raw).prepare().into_axum_router();
    Router::new()
        .route("/v2/process-instances", routing::post(create))
        .route("/v2/process-instances/{key}", routing::get(get))
        .merge(grpc)
}

type Sender = mpsc::UnboundedSender<Result<ActivatedJob, Status>>;

/// Answers the calls that are measured, and does nothing else.
#[derive(Clone, Default)]
struct RawGateway {
    /// Whoever streams jobs; else they are queued for those who poll.
    stream: Arc<Mutex<Option<Sender>>>,
    queue: Arc<Mutex<VecDeque<i64>>>,
    more: Arc<Notify>,
}

impl NamedService for RawGateway {
    const NAME: &'static str = "gateway_protocol.Gateway";
}

impl tower::Service<Request<Body>> for RawGateway {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let it = self.clone();
        let call = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        Box::pin(async move {
            Ok(match &*call {
                "CreateProcessInstance" => {
                    let codec: ProstCodec<
                        CreateProcessInstanceResponse,
                        CreateProcessInstanceRequest,
                    > = ProstCodec::default();
                    Grpc::new(codec).unary(it, request).await
                }
                "CompleteJob" => {
                    let codec: ProstCodec<CompleteJobResponse, CompleteJobRequest> =
                        ProstCodec::default();
                    Grpc::new(codec).unary(it, request).await
                }
                "StreamActivatedJobs" => {
                    let codec: ProstCodec<ActivatedJob, StreamActivatedJobsRequest> =
                        ProstCodec::default();
                    Grpc::new(codec).server_streaming(it, request).await
                }
                _ => {
                    let codec: ProstCodec<ActivateJobsResponse, ActivateJobsRequest> =
                        ProstCodec::default();
                    Grpc::new(codec).server_streaming(it, request).await
                }
            })
        })
    }
}

fn raw_job(key: i64) -> ActivatedJob {
    ActivatedJob {
        key,
        r#type: "work".to_owned(),
        process_instance_key: key,
        bpmn_process_id: "one".to_owned(),
        element_id: "task".to_owned(),
        custom_headers: "{}".to_owned(),
        worker: "bench".to_owned(),
        retries: 3,
        variables: VARIABLES.to_owned(),
        tenant_id: "<default>".to_owned(),
        ..ActivatedJob::default()
    }
}

type Answered<T> = Ready<Result<tonic::Response<T>, Status>>;

impl UnaryService<CreateProcessInstanceRequest> for RawGateway {
    type Response = CreateProcessInstanceResponse;
    type Future = Answered<Self::Response>;

    fn call(&mut self, request: tonic::Request<CreateProcessInstanceRequest>) -> Self::Future {
        static NEXT: AtomicI64 = AtomicI64::new(1);
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        let asked = request.into_inner();
        let read: Result<serde_json::Value, _> = serde_json::from_str(&asked.variables);
        if read.is_err() {
            return ready(Err(Status::invalid_argument("variables")));
        }
        let streams = self.stream.lock().ok().and_then(|it| it.clone());
        match (streams, self.queue.lock()) {
            (Some(stream), _) => drop(stream.send(Ok(raw_job(key)))),
            (None, Ok(mut queue)) => {
                queue.push_back(key);
                self.more.notify_one();
            }
            (None, Err(_)) => {}
        }
        ready(Ok(tonic::Response::new(CreateProcessInstanceResponse {
            process_definition_key: 1,
            bpmn_process_id: asked.bpmn_process_id,
            version: 1,
            process_instance_key: key,
            tenant_id: "<default>".to_owned(),
        })))
    }
}

impl UnaryService<CompleteJobRequest> for RawGateway {
    type Response = CompleteJobResponse;
    type Future = Answered<Self::Response>;

    fn call(&mut self, _: tonic::Request<CompleteJobRequest>) -> Self::Future {
        ready(Ok(tonic::Response::new(CompleteJobResponse {})))
    }
}

impl ServerStreamingService<StreamActivatedJobsRequest> for RawGateway {
    type Response = ActivatedJob;
    type ResponseStream = UnboundedReceiverStream<Result<ActivatedJob, Status>>;
    type Future = Answered<Self::ResponseStream>;

    fn call(&mut self, _: tonic::Request<StreamActivatedJobsRequest>) -> Self::Future {
        let (send, receive) = mpsc::unbounded_channel();
        if let Ok(mut stream) = self.stream.lock() {
            *stream = Some(send);
        }
        ready(Ok(tonic::Response::new(UnboundedReceiverStream::new(receive))))
    }
}

impl ServerStreamingService<ActivateJobsRequest> for RawGateway {
    type Response = ActivateJobsResponse;
    type ResponseStream =
        tokio_stream::Iter<std::option::IntoIter<Result<ActivateJobsResponse, Status>>>;
    type Future =
        Pin<Box<dyn Future<Output = Result<tonic::Response<Self::ResponseStream>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<ActivateJobsRequest>) -> Self::Future {
        let most = usize::try_from(request.into_inner().max_jobs_to_activate).unwrap_or_default();
        let it = self.clone();
        Box::pin(async move {
            loop {
                let jobs: Vec<_> = it.queue.lock().map_or_else(
                    |_| Vec::new(),
                    |mut queue| {
                        let count = most.min(queue.len());
                        queue.drain(..count).map(raw_job).collect()
                    },
                );
                if !jobs.is_empty() {
                    let answer = Some(Ok(ActivateJobsResponse { jobs }));
                    return Ok(tonic::Response::new(tokio_stream::iter(answer)));
                }
                it.more.notified().await;
            }
        })
    }
}
