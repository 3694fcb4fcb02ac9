//! A server, and a client that holds what both say against the description.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value as Json, json};
use tokio::{sync::oneshot, task::JoinHandle};
use travertine_runtime::{
    Engine, Kept, KeptHistory, Settings, Timestamp,
    engine::{ManualClock, Options as EngineOptions},
};
use travertine_server::{Options, Server};

use crate::schema;

/// When tests begin.
pub(crate) const BEGIN: i64 = 1_767_268_800_000;

/// A server with an engine in memory, whose clock is moved by hand.
pub(crate) struct Stage {
    pub(crate) engine: Engine,
    pub(crate) address: SocketAddr,
    clock: Arc<ManualClock>,
    client: Client<HttpConnector, Full<Bytes>>,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or(Json::Null)
    }
}

impl Stage {
    pub(crate) async fn open() -> Self {
        Self::open_in(2, None).await
    }

    /// A server whose engine has one shard, so that instances are numbered from 1.
    pub(crate) async fn single() -> Self {
        Self::open_in(1, None).await
    }

    /// A server that keeps what it must know after a restart there.
    pub(crate) async fn open_in(shards: u16, directory: Option<&std::path::Path>) -> Self {
        let clock = Arc::new(ManualClock::default());
        clock.set(Timestamp::from_millis(BEGIN));
        let kept: Arc<ManualClock> = Arc::clone(&clock);
        let history = KeptHistory { jobs: Kept::WithInstance, ..KeptHistory::default() };
        let settings = Settings { history, ..Settings::default() };
        let options = EngineOptions { shards, settings, clock: kept, ..EngineOptions::default() };
        let engine = Engine::in_memory(options).unwrap();
        let options = Options {
            listen: "127.0.0.1:0".into(),
            grpc_listen: None,
            manage: None,
            directory: directory.map(std::path::Path::to_owned),
            connect_allow: vec!["127.0.0.1/32".parse().unwrap()],
            ..Options::default()
        };
        let listening = Server::new(engine.clone(), options).bind().await.unwrap();
        let address = listening.addresses().rest[0];
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            listening.serve(stopped).await.unwrap();
        });
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { engine, address, clock, client, stop: Some(stop), serving: Some(serving) }
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, millis: u64) {
        self.clock.set(self.engine.now().after(Duration::from_millis(millis)));
        self.engine.wake();
    }

    /// Asks, and holds question and answer against the description.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<Json>) -> Answer {
        let text = body.as_ref().map(Json::to_string).unwrap_or_default();
        let answer = self.send(method, path, "application/json", text.into()).await;
        check(&schema::C8, method, path, body.as_ref(), &answer);
        if answer.status == StatusCode::NO_CONTENT {
            assert_eq!(answer.text, "");
        }
        if answer.status.as_u16() >= 400 {
            let kind = answer.headers.get(header::CONTENT_TYPE).unwrap();
            assert_eq!(kind, "application/problem+json");
            let said = answer.json();
            assert_eq!(said["status"], answer.status.as_u16());
            assert_eq!(said["instance"], format!("/v2{path}"));
        }
        answer
    }

    /// Asks for what must be done.
    pub(crate) async fn did(&self, method: &str, path: &str, body: Json) -> Json {
        let answer = self.ask(method, path, Some(body)).await;
        assert!(answer.status.is_success(), "{method} {path}: {}", answer.text);
        answer.json()
    }

    pub(crate) async fn get(&self, path: &str) -> Json {
        let answer = self.ask("GET", path, None).await;
        assert!(answer.status.is_success(), "GET {path}: {}", answer.text);
        answer.json()
    }

    pub(crate) async fn post(&self, path: &str, body: Json) -> Json {
        self.did("POST", path, body).await
    }

    /// Asks for what must be refused so. Answers with what is said about it.
    pub(crate) async fn refused(
        &self,
        method: &str,
        path: &str,
        body: Json,
        status: u16,
        title: &str,
    ) -> String {
        let answer = self.ask(method, path, Some(body)).await;
        let said = answer.json();
        assert_eq!((answer.status.as_u16(), &said["title"]), (status, &json!(title)), "{said}");
        said["detail"].as_str().unwrap().to_owned()
    }

    /// Sends bytes, and holds nothing against them.
    pub(crate) async fn send(&self, method: &str, path: &str, kind: &str, body: Bytes) -> Answer {
        self.send_to(method, &format!("/v2{path}"), kind, body, &[]).await
    }

    /// Sends bytes of JSON with headers.
    pub(crate) async fn send_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Answer {
        self.send_to(method, &format!("/v2{path}"), "application/json", body, headers).await
    }

    /// Sends bytes anywhere.
    pub(crate) async fn send_to(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: Bytes,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header(header::CONTENT_TYPE, kind);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.client.request(request.body(Full::new(body)).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let text = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(text.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, text }
    }

    /// Sends files to deploy.
    pub(crate) async fn send_files(&self, files: &[(&str, &str)], tenant: Option<&str>) -> Answer {
        const LINE: &str = "the-line-between-two-parts";
        let mut body = String::new();
        for (name, text) in files {
            body.extend([format!(
                "--{LINE}\r\nContent-Disposition: form-data; name=\"resources\"; filename=\"{name}\"\r\n\
                 Content-Type: application/octet-stream\r\n\r\n{text}\r\n"
            )]);
        }
        if let Some(tenant) = tenant {
            body.extend([format!(
                "--{LINE}\r\nContent-Disposition: form-data; name=\"tenantId\"\r\n\r\n{tenant}\r\n"
            )]);
        }
        body.extend([format!("--{LINE}--\r\n")]);
        let kind = format!("multipart/form-data; boundary={LINE}");
        let answer = self.send("POST", "/deployments", &kind, body.into()).await;
        let operation = schema::C8.operation("POST", "/deployments").unwrap();
        if let Some(wanted) = schema::C8.answer_schema(operation, answer.status.as_u16()).unwrap() {
            let faults = schema::C8.faults(wanted, &answer.json(), true);
            assert!(faults.is_empty(), "{}: {faults:#?}", answer.text);
        }
        answer
    }

    pub(crate) async fn deploy(&self, files: &[(&str, &str)]) -> Json {
        let answer = self.send_files(files, None).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()
    }

    /// Starts an instance and answers with its key.
    pub(crate) async fn start(&self, process: &str, variables: Json) -> String {
        let body = json!({ "processDefinitionId": process, "variables": variables });
        text(&self.post("/process-instances", body).await["processInstanceKey"])
    }

    /// The jobs of a type that are there now.
    pub(crate) async fn jobs(&self, job_type: &str) -> Vec<Json> {
        let body = json!({
            "type": job_type, "worker": "w", "timeout": 60_000, "maxJobsToActivate": 10, "requestTimeout": -1,
        });
        self.post("/jobs/activation", body).await["jobs"].as_array().unwrap().clone()
    }

    /// The jobs of a type, as soon as there is one.
    pub(crate) async fn awaits(&self, job_type: &str) -> Vec<Json> {
        let body = json!({
            "type": job_type, "worker": "w", "timeout": 60_000, "maxJobsToActivate": 10, "requestTimeout": 60_000,
        });
        self.post("/jobs/activation", body).await["jobs"].as_array().unwrap().clone()
    }

    /// The items of a search.
    pub(crate) async fn found(&self, path: &str, filter: Json) -> Vec<Json> {
        let found = self.post(path, json!({ "filter": filter })).await;
        found["items"].as_array().unwrap().clone()
    }

    pub(crate) async fn close(mut self) {
        drop(self.stop.take());
        if let Some(serving) = self.serving.take() {
            serving.await.unwrap();
        }
    }
}

/// Holds a question and its answer against a description.
fn check(
    description: &'static schema::Description,
    method: &str,
    path: &str,
    body: Option<&Json>,
    answer: &Answer,
) {
    let operation = description
        .operation(method, path)
        .unwrap_or_else(|| panic!("{method} {path} is not described"));
    if answer.status.is_success()
        && let (Some(body), Some(wanted)) = (body, schema::request_schema(operation))
    {
        let faults = description.faults(wanted, body, false);
        assert!(faults.is_empty(), "{method} {path} {body}: {faults:#?}");
    }
    let wanted = description.answer_schema(operation, answer.status.as_u16()).unwrap();
    if let Some(wanted) = wanted {
        let faults = description.faults(wanted, &answer.json(), true);
        assert!(faults.is_empty(), "{method} {path} answers {}: {faults:#?}", answer.text);
    }
}

/// Files as parts of a body, with fields beside them, and the type of that body.
pub(crate) fn parts(
    field: &str,
    files: &[(&str, &str)],
    fields: &[(&str, &str)],
) -> (String, String) {
    const LINE: &str = "the-line-between-two-parts";
    let mut body = String::new();
    for (name, text) in files {
        body.extend([format!(
            "--{LINE}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n{text}\r\n"
        )]);
    }
    for (name, text) in fields {
        body.extend([format!(
            "--{LINE}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n"
        )]);
    }
    body.extend([format!("--{LINE}--\r\n")]);
    (format!("multipart/form-data; boundary={LINE}"), body)
}

impl Stage {
    /// Asks our own API, and holds question and answer against its description.
    pub(crate) async fn api(&self, method: &str, path: &str, body: Option<Json>) -> Answer {
        self.api_with(method, path, body, &[]).await
    }

    /// Asks with headers.
    pub(crate) async fn api_with(
        &self,
        method: &str,
        path: &str,
        body: Option<Json>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let text = body.as_ref().map(Json::to_string).unwrap_or_default();
        let uri = format!("/api/1{path}");
        let answer = self.send_to(method, &uri, "application/json", text.into(), headers).await;
        check(&schema::NATIVE, method, path, body.as_ref(), &answer);
        if answer.status.as_u16() >= 400 {
            let said = answer.json();
            assert_eq!(said["status"], answer.status.as_u16());
            assert!(said["code"].is_string(), "{said}");
        }
        answer
    }

    /// Asks for what must be done.
    pub(crate) async fn does(&self, method: &str, path: &str, body: Json) -> Json {
        let answer = self.api(method, path, Some(body)).await;
        assert!(answer.status.is_success(), "{method} {path}: {}", answer.text);
        answer.json()
    }

    /// Looks at something.
    pub(crate) async fn looks(&self, path: &str) -> Json {
        let answer = self.api("GET", path, None).await;
        assert!(answer.status.is_success(), "GET {path}: {}", answer.text);
        answer.json()
    }

    /// Listens to what happens, until one of the messages has this in it. Answers with the messages until then.
    pub(crate) async fn hears(&self, path: &str, wanted: &str, headers: &[(&str, &str)]) -> String {
        let mut request = Request::builder().uri(format!("http://{}/api/1{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.client.request(request.body(Full::default()).unwrap()).await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let (mut body, mut heard) = (response.into_body(), String::new());
        let listen = async {
            while !heard.contains(wanted) {
                let frame = body.frame().await.unwrap().unwrap();
                heard.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
            }
        };
        tokio::time::timeout(Duration::from_mins(2), listen).await.unwrap();
        heard
    }

    /// Sends files to our own API.
    pub(crate) async fn api_files(
        &self,
        path: &str,
        files: &[(&str, &str)],
        fields: &[(&str, &str)],
    ) -> Answer {
        let (kind, body) = parts("files", files, fields);
        let answer = self.send_to("POST", &format!("/api/1{path}"), &kind, body.into(), &[]).await;
        check(&schema::NATIVE, "POST", path, None, &answer);
        answer
    }
}

pub(crate) fn text(it: &Json) -> String {
    it.as_str().unwrap_or_else(|| panic!("{it} is no text")).to_owned()
}

/// A file with a process, in the dialect that these clients use.
pub(crate) fn model(id: &str, inside: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
  xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" xmlns:modeler="http://camunda.org/schema/modeler/1.0"
  targetNamespace="urn:test" modeler:executionPlatform="Camunda Cloud" modeler:executionPlatformVersion="8.8.0">
  <bpmn:message id="paid" name="paid"><bpmn:extensionElements>
    <zeebe:subscription correlationKey="=order"/></bpmn:extensionElements></bpmn:message>
  <bpmn:message id="begun" name="begun"/>
  <bpmn:signal id="go" name="go"/>
  <bpmn:error id="declined" errorCode="declined"/>
  <bpmn:process id="{id}" name="The {id}" isExecutable="true">{inside}</bpmn:process>
</bpmn:definitions>"#
    )
}

/// A process with one element between its start and its end.
pub(crate) fn one(id: &str, element: &str, of: &str) -> String {
    let inside = format!(
        r#"<bpmn:startEvent id="start"/><bpmn:sequenceFlow id="f1" sourceRef="start" targetRef="{element}"/>
        {of}<bpmn:sequenceFlow id="f2" sourceRef="{element}" targetRef="end"/><bpmn:endEvent id="end"/>"#
    );
    model(id, &inside)
}

/// A process with a service task.
pub(crate) fn work(id: &str, job_type: &str) -> String {
    let task = format!(
        r#"<bpmn:serviceTask id="work" name="Do it"><bpmn:extensionElements>
        <zeebe:taskDefinition type="{job_type}" retries="3"/>
        <zeebe:taskHeaders><zeebe:header key="region" value="eu"/></zeebe:taskHeaders>
        </bpmn:extensionElements></bpmn:serviceTask>"#
    );
    one(id, "work", &task)
}

/// A process with a user task.
pub(crate) fn review(id: &str) -> String {
    let task = r#"<bpmn:userTask id="review" name="Review"><bpmn:extensionElements><zeebe:userTask/>
        <zeebe:assignmentDefinition candidateGroups="ops"/></bpmn:extensionElements></bpmn:userTask>"#;
    one(id, "review", task)
}
