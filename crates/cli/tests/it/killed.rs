//! A server that is killed in the middle of everything: what it has acknowledged is there, once.
//!
//! Clients do a mix of commands, half of them over REST and half over gRPC. Again and again, after some number of answers, the server is killed with
//! SIGKILL and started anew on the same store. Each client notes what was acknowledged, and what nobody knows; in the end
//! the store is held against these notes. `TRAVERTINE_KILLS` says how often, `TRAVERTINE_SEED` what is done.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::Child,
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use gateway::{
    ActivateJobsRequest, ActivatedJob, CancelProcessInstanceRequest, CompleteJobRequest,
    CreateProcessInstanceRequest, DeployResourceRequest, FailJobRequest, PublishMessageRequest,
    Resource, SetVariablesRequest, StreamActivatedJobsRequest, ThrowErrorRequest,
    gateway_client::GatewayClient,
};
use tokio::runtime::Runtime;
use tonic::{
    Code, Status,
    transport::{Channel, Endpoint},
};
use travertine_value::{Name, Value};

use super::{command, file, model, store::Store};

#[rustfmt::skip]
#[allow(clippy::all, clippy::pedantic, clippy::allow_attributes, clippy::allow_attributes_without_reason, clippy::clone_on_ref_ptr, clippy::empty_structs_with_brackets, unused, unused_qualifications, unreachable_pub, unnameable_types, missing_docs, reason = "it is generated")]
#[path = "../../../server/src/c8/grpc/gateway.rs"]
mod gateway;

/// How many clients there are.
const CLIENTS: u64 = 4;

/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_mins(1);

fn setting(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

fn models() -> [String; 2] {
    let job = r#"<process id="work" isExecutable="true">
        <startEvent id="start"/><sequenceFlow id="a" sourceRef="start" targetRef="it"/>
        <serviceTask id="it" tv:jobType="work"/><sequenceFlow id="b" sourceRef="it" targetRef="end"/>
        <boundaryEvent id="wrong" attachedToRef="it"><errorEventDefinition errorRef="no"/></boundaryEvent>
        <sequenceFlow id="c" sourceRef="wrong" targetRef="caught"/><endEvent id="caught"/>
        <endEvent id="end"/></process><error id="no" name="no" errorCode="no"/>"#;
    let message = r#"<message id="m" name="paid"><extensionElements>
        <zeebe:subscription xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" correlationKey="=order"/>
        </extensionElements></message>
        <process id="wait" isExecutable="true">
        <startEvent id="start"/><sequenceFlow id="a" sourceRef="start" targetRef="it"/>
        <receiveTask id="it" messageRef="m"/><sequenceFlow id="b" sourceRef="it" targetRef="end"/>
        <endEvent id="end"/></process>"#;
    [file("killed-work.bpmn", &model(job)), file("killed-wait.bpmn", &model(message))]
}

/// A server, and where it is.
pub(crate) struct Serves {
    child: Child,
    pub(crate) at: SocketAddr,
}

impl Serves {
    pub(crate) fn on(data: &str) -> Self {
        Self::with(data, &[])
    }

    /// With more flags.
    pub(crate) fn with(data: &str, more: &[&str]) -> Self {
        let none = "127.0.0.1:0";
        let args =
            ["serve", "--data", data, "--listen", none, "--grpc-listen", none, "--manage", none];
        let mut child = command(&[&args, more].concat()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let at = lines.by_ref().map(Result::unwrap).find_map(|line| {
            let (_, rest) = line.split_once("REST")?;
            let (_, rest) = rest.split_once("://")?;
            rest.split('/').next()?.parse().ok()
        });
        // What it says later must not block it.
        thread::spawn(move || lines.for_each(drop));
        Self { child, at: at.expect("it says where it is") }
    }
}

impl Drop for Serves {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What came of a request.
enum Answer {
    /// The server has answered, with this status and this document.
    Answered(u16, Value),
    /// It was killed before: nobody knows whether it was done.
    Unknown,
}

fn ask(at: SocketAddr, method: &str, path: &str, body: &str) -> Answer {
    exchange(at, method, path, "application/json", body).unwrap_or(Answer::Unknown)
}

fn exchange(
    at: SocketAddr,
    method: &str,
    path: &str,
    content: &str,
    body: &str,
) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "{method} /v2{path} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\ncontent-type: {content}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(cut)?;
    let status: u16 = head.split(' ').nth(1).and_then(|it| it.parse().ok()).ok_or_else(cut)?;
    let length = head.lines().find_map(|it| {
        let (name, value) = it.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    if length.is_some_and(|it| it != body.len()) {
        return Err(cut());
    }
    let value =
        if body.is_empty() { Value::Null } else { Value::parse_json(body).map_err(|_| cut())? };
    Ok(Answer::Answered(status, value))
}

/// What clients ask for.
enum Command {
    Start { process: &'static str, id: String },
    Activate { worker: String },
    Complete { job: String },
    Fail { job: String },
    Throw { job: String },
    Publish { order: String },
    Set { instance: String, value: u64 },
    Cancel { instance: String },
    Deploy { id: String },
}

/// A process of which there is one version.
fn deployed(id: &str) -> String {
    model(&format!(
        r#"<process id="{id}" isExecutable="true"><startEvent id="start"/>
        <sequenceFlow id="a" sourceRef="start" targetRef="end"/><endEvent id="end"/></process>"#
    ))
}

/// How a client speaks with the server.
enum Speaks {
    Rest,
    Grpc(Box<Calls>),
}

/// Calls of one client.
struct Calls {
    runtime: Runtime,
    /// The server that it is connected to.
    client: Option<(SocketAddr, GatewayClient<Channel>)>,
    /// Whether the next jobs come by a stream.
    streams: bool,
}

impl Speaks {
    fn like(number: u64) -> Self {
        if number.is_multiple_of(2) {
            return Self::Rest;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self::Grpc(Box::new(Calls { runtime, client: None, streams: false }))
    }

    fn ask(&mut self, at: SocketAddr, command: &Command) -> Answer {
        match self {
            Self::Rest => rest(at, command),
            Self::Grpc(calls) => calls.ask(at, command),
        }
    }
}

fn rest(at: SocketAddr, command: &Command) -> Answer {
    let post = |path: &str, body: &str| ask(at, "POST", path, body);
    match command {
        Command::Start { process, id } => post(
            "/process-instances",
            &format!(
                r#"{{"processDefinitionId": "{process}", "businessId": "{id}", "variables": {{"order": "{id}", "n": 0}}}}"#
            ),
        ),
        Command::Activate { worker } => post(
            "/jobs/activation",
            &format!(
                r#"{{"type": "work", "worker": "{worker}", "timeout": 1, "maxJobsToActivate": 2, "requestTimeout": -1}}"#
            ),
        ),
        Command::Complete { job } => {
            post(&format!("/jobs/{job}/completion"), r#"{"variables": {"done": true}}"#)
        }
        Command::Fail { job } => post(
            &format!("/jobs/{job}/failure"),
            r#"{"retries": 3, "errorMessage": "later", "retryBackOff": 0, "variables": {}}"#,
        ),
        Command::Throw { job } => post(&format!("/jobs/{job}/error"), r#"{"errorCode": "no"}"#),
        Command::Publish { order } => post(
            "/messages/publication",
            &format!(
                r#"{{"name": "paid", "correlationKey": "{order}", "messageId": "{order}", "timeToLive": 3600000}}"#
            ),
        ),
        Command::Set { instance, value } => ask(
            at,
            "PUT",
            &format!("/element-instances/{instance}/variables"),
            &format!(r#"{{"variables": {{"n": {value}}}}}"#),
        ),
        Command::Cancel { instance } => {
            post(&format!("/process-instances/{instance}/cancellation"), "")
        }
        Command::Deploy { id } => {
            let body = format!(
                "--cut\r\ncontent-disposition: form-data; name=\"resources\"; filename=\"{id}.bpmn\"\r\n\r\n{}\r\n--cut--\r\n",
                deployed(id)
            );
            exchange(at, "POST", "/deployments", "multipart/form-data; boundary=cut", &body)
                .unwrap_or(Answer::Unknown)
        }
    }
}

impl Calls {
    fn ask(&mut self, at: SocketAddr, command: &Command) -> Answer {
        self.streams = !self.streams;
        let (streams, known) = (self.streams, self.client.take().filter(|(it, _)| *it == at));
        let (client, answer) = self.runtime.block_on(async {
            let mut client = match known {
                Some((_, client)) => client,
                None => {
                    match Endpoint::from_shared(format!("http://{at}")).unwrap().connect().await {
                        Ok(channel) => GatewayClient::new(channel),
                        Err(_) => return (None, Answer::Unknown),
                    }
                }
            };
            let answer = call(&mut client, command, streams).await.unwrap_or_else(|it| told(&it));
            (Some(client), answer)
        });
        self.client = client.map(|it| (at, it));
        answer
    }
}

/// What a call is answered with, as REST would say it.
fn told(status: &Status) -> Answer {
    use std::error::Error as _;
    let code = match status.code() {
        // What has a cause was found out here: the connection has ended.
        _ if status.source().is_some() => return Answer::Unknown,
        Code::Unknown | Code::Cancelled => return Answer::Unknown,
        Code::NotFound => 404,
        Code::FailedPrecondition | Code::AlreadyExists => 409,
        Code::Unavailable | Code::ResourceExhausted => 503,
        Code::Aborted => 502,
        code => panic!("{code:?}: {status}"),
    };
    Answer::Answered(code, Value::Null)
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    fields.into_iter().map(|(name, it)| (Name::from(name), it)).collect()
}

async fn call(
    client: &mut GatewayClient<Channel>,
    command: &Command,
    streams: bool,
) -> Result<Answer, Status> {
    let number = |it: &str| it.parse().unwrap();
    let jobs = |all: Vec<ActivatedJob>| {
        let all = all.iter().map(|it| {
            let (job, instance) = (it.key.to_string(), it.process_instance_key.to_string());
            object([("jobKey", job.into()), ("processInstanceKey", instance.into())])
        });
        Answer::Answered(200, object([("jobs", Value::List(all.collect::<Vec<_>>().into()))]))
    };
    Ok(match command {
        Command::Start { process, id } => {
            let it = client
                .create_process_instance(CreateProcessInstanceRequest {
                    bpmn_process_id: (*process).to_owned(),
                    version: -1,
                    variables: format!(r#"{{"order": "{id}", "n": 0}}"#),
                    business_id: Some(id.clone()),
                    ..Default::default()
                })
                .await?;
            let key = it.into_inner().process_instance_key.to_string();
            Answer::Answered(200, object([("processInstanceKey", key.into())]))
        }
        Command::Activate { worker } if streams => {
            let asked = StreamActivatedJobsRequest {
                r#type: "work".to_owned(),
                worker: worker.clone(),
                timeout: 1,
                ..Default::default()
            };
            let mut stream = client.stream_activated_jobs(asked).await?.into_inner();
            // There need not be any.
            let first = tokio::time::timeout(Duration::from_millis(20), stream.message()).await;
            jobs(match first {
                Ok(job) => job?.into_iter().collect(),
                Err(_) => Vec::new(),
            })
        }
        Command::Activate { worker } => {
            let asked = ActivateJobsRequest {
                r#type: "work".to_owned(),
                worker: worker.clone(),
                timeout: 1,
                max_jobs_to_activate: 2,
                request_timeout: -1,
                ..Default::default()
            };
            let mut batches = client.activate_jobs(asked).await?.into_inner();
            let mut all = Vec::new();
            while let Some(batch) = batches.message().await? {
                all.extend(batch.jobs);
            }
            jobs(all)
        }
        Command::Complete { job } => {
            let variables = r#"{"done": true}"#.to_owned();
            client.complete_job(CompleteJobRequest { job_key: number(job), variables }).await?;
            Answer::Answered(204, Value::Null)
        }
        Command::Fail { job } => {
            let asked = FailJobRequest {
                job_key: number(job),
                retries: 3,
                error_message: "later".to_owned(),
                ..Default::default()
            };
            client.fail_job(asked).await?;
            Answer::Answered(204, Value::Null)
        }
        Command::Throw { job } => {
            let asked = ThrowErrorRequest {
                job_key: number(job),
                error_code: "no".to_owned(),
                ..Default::default()
            };
            client.throw_error(asked).await?;
            Answer::Answered(204, Value::Null)
        }
        Command::Publish { order } => {
            let asked = PublishMessageRequest {
                name: "paid".to_owned(),
                correlation_key: order.clone(),
                message_id: order.clone(),
                time_to_live: 3_600_000,
                ..Default::default()
            };
            client.publish_message(asked).await?;
            Answer::Answered(200, Value::Null)
        }
        Command::Set { instance, value } => {
            let asked = SetVariablesRequest {
                element_instance_key: number(instance),
                variables: format!(r#"{{"n": {value}}}"#),
                ..Default::default()
            };
            client.set_variables(asked).await?;
            Answer::Answered(204, Value::Null)
        }
        Command::Cancel { instance } => {
            let process_instance_key = number(instance);
            let asked = CancelProcessInstanceRequest { process_instance_key, ..Default::default() };
            client.cancel_process_instance(asked).await?;
            Answer::Answered(204, Value::Null)
        }
        Command::Deploy { id } => {
            let file = Resource { name: format!("{id}.bpmn"), content: deployed(id).into() };
            let asked = DeployResourceRequest { resources: vec![file], ..Default::default() };
            client.deploy_resource(asked).await?;
            Answer::Answered(200, Value::Null)
        }
    })
}

fn text(of: &Value, field: &str) -> String {
    of.field(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Ends everything where a client fails.
struct Fails<'a>(&'a World);

impl Drop for Fails<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
    }
}

/// What clients have been told.
#[derive(Default)]
struct Notes {
    /// Instances by their business id, with the key that was told, if one was.
    started: BTreeMap<String, Option<String>>,
    /// Instances whose job was completed for sure, or perhaps.
    completed: BTreeSet<String>,
    perhaps_completed: BTreeSet<String>,
    /// Orders whose message was published for sure, or perhaps.
    paid: BTreeSet<String>,
    perhaps_paid: BTreeSet<String>,
    /// Instances that were cancelled for sure, or perhaps.
    cancelled: BTreeSet<String>,
    perhaps_cancelled: BTreeSet<String>,
    /// Processes that were deployed for sure, or perhaps.
    deployed: BTreeMap<String, bool>,
    /// The last value that was set for sure, and those that may have been set after it.
    values: BTreeMap<String, (Option<u64>, Vec<u64>)>,
}

struct World {
    at: Mutex<Option<SocketAddr>>,
    up: Condvar,
    /// How often the server has answered.
    answers: Mutex<u64>,
    more: Condvar,
    ended: AtomicBool,
    notes: Mutex<Notes>,
}

impl World {
    /// Where the server is, once it is there; none where all is over.
    fn server(&self) -> Option<SocketAddr> {
        let is_down =
            |it: &mut Option<SocketAddr>| it.is_none() && !self.ended.load(Ordering::SeqCst);
        *self.up.wait_while(self.at.lock().unwrap(), is_down).unwrap()
    }

    fn ask(&self, speaks: &mut Speaks, command: &Command) -> Answer {
        let Some(at) = self.server() else { return Answer::Unknown };
        let answer = speaks.ask(at, command);
        match answer {
            Answer::Answered(..) => {
                *self.answers.lock().unwrap() += 1;
                self.more.notify_all();
            }
            Answer::Unknown => {
                // It is gone, or about to be: whoever starts it anew says where.
                let mut known = self.at.lock().unwrap();
                if *known == Some(at) {
                    *known = None;
                }
            }
        }
        answer
    }

    /// Waits until the server has answered so often again, or a client has failed.
    fn wait_for(&self, answers: u64) {
        let known = self.answers.lock().unwrap();
        let until = *known + answers;
        let is_waiting = |it: &mut u64| *it < until && !self.ended.load(Ordering::SeqCst);
        drop(self.more.wait_while(known, is_waiting).unwrap());
    }

    fn end(&self) {
        // Under the locks, so that nobody misses it who is about to wait.
        let (_answers, _at) = (self.answers.lock().unwrap(), self.at.lock().unwrap());
        self.ended.store(true, Ordering::SeqCst);
        self.more.notify_all();
        self.up.notify_all();
    }

    /// One client: does something, again and again.
    fn client(&self, number: u64, seed: u64) {
        let _fails = Fails(self);
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number);
        let mut dice = |sides: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % sides
        };
        let mut count = 0_u64;
        let mut own: Vec<(String, String)> = Vec::new();
        let mut speaks = Speaks::like(number);
        while !self.ended.load(Ordering::SeqCst) {
            count += 1;
            let known = own.get(usize::try_from(dice(own.len().max(1) as u64)).unwrap()).cloned();
            match (dice(18), known) {
                (0..=5, _) => {
                    let process = if dice(2) == 0 { "work" } else { "wait" };
                    let id = format!("{process}-{number}-{count}");
                    own.extend(self.start(&mut speaks, process, &id).map(|key| (id, key)));
                }
                (6..=11, _) => self.work(&mut speaks, number, dice(6)),
                (12 | 13, Some((id, _))) if id.starts_with("wait") => self.pay(&mut speaks, &id),
                (14 | 15, Some((id, key))) => self.set(&mut speaks, &id, &key, count),
                (16, Some((_, key))) => self.cancel(&mut speaks, &key),
                (17, _) => self.deploy(&mut speaks, &format!("deployed-{number}-{count}")),
                _ => {}
            }
        }
    }

    /// Answers with the key, where it is known.
    fn start(&self, speaks: &mut Speaks, process: &'static str, id: &str) -> Option<String> {
        let answer = self.ask(speaks, &Command::Start { process, id: id.to_owned() });
        let mut notes = self.notes.lock().unwrap();
        match answer {
            Answer::Answered(200, it) => {
                let key = text(&it, "processInstanceKey");
                notes.started.insert(id.to_owned(), Some(key.clone()));
                return Some(key);
            }
            Answer::Answered(503, _) => {}
            Answer::Answered(502, _) | Answer::Unknown => {
                notes.started.insert(id.to_owned(), None);
            }
            Answer::Answered(status, it) => panic!("start: {status} {}", it.to_json()),
        }
        None
    }

    fn work(&self, speaks: &mut Speaks, number: u64, how: u64) {
        let activate = Command::Activate { worker: format!("w{number}") };
        let Answer::Answered(200, it) = self.ask(speaks, &activate) else { return };
        let Some(Value::List(jobs)) = it.field("jobs") else { panic!("{}", it.to_json()) };
        for it in jobs.iter() {
            let (job, instance) = (text(it, "jobKey"), text(it, "processInstanceKey"));
            let (ends, command) = match how {
                0 => (false, Command::Fail { job }),
                1 => (true, Command::Throw { job }),
                _ => (true, Command::Complete { job }),
            };
            let answer = self.ask(speaks, &command);
            let mut notes = self.notes.lock().unwrap();
            match answer {
                Answer::Answered(204, _) if ends => {
                    // Its lease is over at once, so that several have it; one of them completes it.
                    let is_first = notes.completed.insert(instance.clone());
                    assert!(is_first, "{instance} was completed twice");
                }
                Answer::Answered(502, _) | Answer::Unknown if ends => {
                    notes.perhaps_completed.insert(instance);
                }
                Answer::Answered(204 | 404 | 409 | 502 | 503, _) | Answer::Unknown => {}
                Answer::Answered(status, it) => panic!("job: {status} {}", it.to_json()),
            }
        }
    }

    fn pay(&self, speaks: &mut Speaks, id: &str) {
        let answer = self.ask(speaks, &Command::Publish { order: id.to_owned() });
        let mut notes = self.notes.lock().unwrap();
        match answer {
            // What is known already was published before, perhaps without an answer.
            Answer::Answered(200 | 409, _) => {
                notes.paid.insert(id.to_owned());
            }
            Answer::Answered(503, _) => {}
            Answer::Answered(502, _) | Answer::Unknown => {
                notes.perhaps_paid.insert(id.to_owned());
            }
            Answer::Answered(status, it) => panic!("publication: {status} {}", it.to_json()),
        }
    }

    fn set(&self, speaks: &mut Speaks, id: &str, key: &str, value: u64) {
        let answer = self.ask(speaks, &Command::Set { instance: key.to_owned(), value });
        let mut notes = self.notes.lock().unwrap();
        let of = notes.values.entry(id.to_owned()).or_default();
        match answer {
            Answer::Answered(204, _) => *of = (Some(value), Vec::new()),
            // It may have ended meanwhile.
            Answer::Answered(404 | 409 | 503, _) => {}
            Answer::Answered(502, _) | Answer::Unknown => of.1.push(value),
            Answer::Answered(status, it) => panic!("set: {status} {}", it.to_json()),
        }
    }

    fn cancel(&self, speaks: &mut Speaks, key: &str) {
        let answer = self.ask(speaks, &Command::Cancel { instance: key.to_owned() });
        let mut notes = self.notes.lock().unwrap();
        match answer {
            Answer::Answered(204, _) => {
                assert!(notes.cancelled.insert(key.to_owned()), "{key} was cancelled twice");
            }
            // It has ended meanwhile.
            Answer::Answered(404 | 503, _) => {}
            Answer::Answered(502, _) | Answer::Unknown => {
                notes.perhaps_cancelled.insert(key.to_owned());
            }
            Answer::Answered(status, it) => panic!("cancellation: {status} {}", it.to_json()),
        }
    }

    fn deploy(&self, speaks: &mut Speaks, id: &str) {
        let answer = self.ask(speaks, &Command::Deploy { id: id.to_owned() });
        let mut notes = self.notes.lock().unwrap();
        match answer {
            Answer::Answered(200, _) => {
                notes.deployed.insert(id.to_owned(), true);
            }
            Answer::Answered(503, _) => {}
            Answer::Answered(502, _) | Answer::Unknown => {
                notes.deployed.insert(id.to_owned(), false);
            }
            Answer::Answered(status, it) => panic!("deployment: {status} {}", it.to_json()),
        }
    }

    /// Holds a store against what clients were told.
    fn verify(&self, at: SocketAddr) {
        let notes = self.notes.lock().unwrap();
        assert!(!notes.started.is_empty() && !notes.completed.is_empty(), "something was done");
        let found = |path: &str, body: &str| match ask(at, "POST", path, body) {
            Answer::Answered(200, it) => match it.field("items") {
                Some(Value::List(items)) => items.to_vec(),
                _ => panic!("{path}: {}", it.to_json()),
            },
            Answer::Answered(status, it) => panic!("{path}: {status} {}", it.to_json()),
            Answer::Unknown => panic!("{path}: no answer"),
        };
        for (id, is_surely) in &notes.deployed {
            let body = format!(r#"{{"filter": {{"processDefinitionId": "{id}"}}}}"#);
            let count = found("/process-definitions/search", &body).len();
            assert!(count <= 1 && (count == 1 || !is_surely), "{id} is there {count} times");
        }
        for (id, key) in &notes.started {
            let body = format!(r#"{{"filter": {{"businessId": "{id}"}}}}"#);
            let all = found("/process-instances/search", &body);
            let keys: Vec<String> = all.iter().map(|it| text(it, "processInstanceKey")).collect();
            match key {
                Some(key) => assert_eq!(keys, std::slice::from_ref(key), "{id} was started"),
                None => assert!(keys.len() <= 1, "{id} was started {} times", keys.len()),
            }
            let Some(key) = keys.first() else { continue };
            let state = text(&all[0], "state");
            let (is_surely, is_perhaps) = if id.starts_with("work") {
                (notes.completed.contains(key), notes.perhaps_completed.contains(key))
            } else {
                (notes.paid.contains(id), notes.perhaps_paid.contains(id))
            };
            let is_cancelled = notes.cancelled.contains(key);
            match &*state {
                "COMPLETED" => {
                    assert!(is_surely || is_perhaps, "{id} was completed by nobody");
                    assert!(!is_cancelled, "{id} was cancelled, and is completed");
                }
                "TERMINATED" => {
                    let by_somebody = is_cancelled || notes.perhaps_cancelled.contains(key);
                    assert!(by_somebody, "{id} was cancelled by nobody");
                    // A message that nobody waits for any more is published all the same.
                    assert!(!is_surely || id.starts_with("wait"), "{id} was completed, and is not");
                }
                "ACTIVE" => assert!(!is_surely && !is_cancelled, "{id} has ended, and has not"),
                _ => panic!("{id} is {state}"),
            }
            if let Some((surely, perhaps)) = notes.values.get(id)
                && state == "ACTIVE"
            {
                let body =
                    format!(r#"{{"filter": {{"processInstanceKey": "{key}", "name": "n"}}}}"#);
                let value = text(&found("/variables/search", &body)[0], "value");
                let known = perhaps.iter().chain(surely).chain(surely.is_none().then_some(&0));
                let known: Vec<String> = known.map(u64::to_string).collect();
                assert!(known.contains(&value), "{id} has {value}, not one of {known:?}");
            }
        }
    }
}

#[test]
fn what_a_server_has_acknowledged_outlives_its_kills_and_is_there_once() {
    let models = models();
    let store = Store::with(&[&models[0], &models[1]]);
    let world = World {
        at: Mutex::new(None),
        up: Condvar::new(),
        answers: Mutex::default(),
        more: Condvar::new(),
        ended: AtomicBool::new(false),
        notes: Mutex::default(),
    };
    let (kills, seed) = (setting("TRAVERTINE_KILLS", 3), setting("TRAVERTINE_SEED", 7));
    let mut last = None;
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let world = &world;
            scope.spawn(move || world.client(number, seed));
        }
        for round in 0..=kills {
            let serves = Serves::on(&store.data());
            *world.at.lock().unwrap() = Some(serves.at);
            world.up.notify_all();
            world.wait_for(40 + (round * seed) % 23);
            if round < kills {
                *world.at.lock().unwrap() = None;
            } else {
                // The last one is not killed before the clients have finished.
                world.end();
                last = Some(serves);
            }
        }
    });
    drop(last);
    let serves = Serves::on(&store.data());
    world.verify(serves.at);
}
