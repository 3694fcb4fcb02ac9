//! Webhooks: who is told what, signed, in order, and what becomes of sinks that do not answer.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU16, Ordering},
    },
};

use axum::{Router, extract::State, routing::post};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::{Value as Json, json};
use tokio::{net::TcpListener, sync::mpsc};

use crate::stage::{Stage, review, text, work};

/// A message, as the sink has it.
struct Message {
    headers: HeaderMap,
    body: Bytes,
}

#[derive(Clone)]
struct Heard {
    to: mpsc::UnboundedSender<Message>,
    answer: Arc<AtomicU16>,
}

/// Somebody who is told.
struct Sink {
    at: SocketAddr,
    answer: Arc<AtomicU16>,
    messages: mpsc::UnboundedReceiver<Message>,
    rest: Mutex<VecDeque<Json>>,
}

impl Sink {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (to, messages) = mpsc::unbounded_channel();
        let answer = Arc::new(AtomicU16::new(200));
        let heard = Heard { to, answer: Arc::clone(&answer) };
        let at = listener.local_addr().unwrap();
        let routes = Router::new().route("/in", post(hear)).with_state(heard);
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { at, answer, messages, rest: Mutex::default() }
    }

    fn url(&self) -> String {
        format!("http://{}/in", self.at)
    }

    fn answers(&self, status: u16) {
        self.answer.store(status, Ordering::SeqCst);
    }

    async fn message(&mut self) -> Message {
        self.messages.recv().await.unwrap()
    }

    /// The next event.
    async fn event(&mut self) -> Json {
        loop {
            if let Some(event) = self.rest.get_mut().unwrap().pop_front() {
                return event;
            }
            let message = self.message().await;
            let all: Vec<Json> = serde_json::from_slice(&message.body).unwrap();
            self.rest.get_mut().unwrap().extend(all);
        }
    }

    /// The types of the events up to one of this type.
    async fn until(&mut self, last: &str) -> Vec<String> {
        let mut types = Vec::new();
        loop {
            let event = self.event().await;
            types.push(text(&event["type"]));
            if event["type"] == last {
                return types;
            }
        }
    }
}

async fn hear(State(heard): State<Heard>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let status = heard.answer.load(Ordering::SeqCst);
    heard.to.send(Message { headers, body }).unwrap();
    StatusCode::from_u16(status).unwrap()
}

async fn deployed() -> Stage {
    let stage = Stage::single().await;
    let files = [("p.bpmn", &*work("p", "paint")), ("q.bpmn", &*review("q"))];
    assert_eq!(stage.api_files("/deployments", &files, &[]).await.status, 201);
    stage
}

fn signature(secret: &str, seconds: &str, body: &[u8]) -> String {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
    let said = [seconds.as_bytes(), b".", body].concat();
    let mut text = String::new();
    for byte in ring::hmac::sign(&key, &said).as_ref() {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_told_what_it_wants_to_hear_signed_and_in_order() {
    let stage = deployed().await;
    let mut sink = Sink::open().await;
    let wanted = json!({ "url": sink.url(), "definitions": ["p"],
        "kinds": ["created", "token_moved", "incident_raised", "ended"] });
    let made = stage.api("PUT", "/webhooks/sink", Some(wanted)).await;
    assert_eq!(made.status, 201);
    let secret = text(&made.json()["secret"]);
    assert!(secret.len() > 20);
    for definition in ["q", "p"] {
        stage.does("POST", "/instances", json!({ "definition": definition })).await;
    }
    let job = text(&stage.looks("/jobs").await["jobs"][0]["job"]);
    stage.does("POST", &format!("/jobs/{job}/complete"), json!({})).await;
    let message = sink.message().await;
    let said = message.headers["travertine-signature"].to_str().unwrap();
    let (seconds, given) = said.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    assert_eq!(given, signature(&secret, seconds, &message.body));
    let kind = &message.headers["content-type"];
    assert_eq!(kind, "application/cloudevents-batch+json; charset=utf-8");
    let all: Vec<Json> = serde_json::from_slice(&message.body).unwrap();
    assert_eq!(all[0]["specversion"], "1.0");
    assert_eq!(all[0]["type"], "travertine.created");
    assert_eq!(
        (&all[0]["source"], &all[0]["data"]["definition"]),
        (&json!("/instances/2"), &json!("p"))
    );
    assert_eq!(all[0]["time"], "2026-01-01T12:00:00Z");
    sink.rest.get_mut().unwrap().extend(all);
    let types = sink.until("travertine.ended").await;
    assert_eq!(
        types,
        [
            "travertine.created",
            "travertine.token_moved",
            "travertine.token_moved",
            "travertine.ended"
        ]
    );
    while stage.looks("/webhooks/sink").await["told"] != 4 {
        tokio::task::yield_now().await;
    }
    // The secret is not shown again, and stays where the webhook is changed.
    let again = stage.does("PUT", "/webhooks/sink", json!({ "url": sink.url() })).await;
    assert_eq!(again["secret"], Json::Null);
    let listed = stage.looks("/webhooks").await;
    assert!(!listed.to_string().contains(&secret));
    assert_eq!(listed["webhooks"][0]["told"], 4);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_has_taken_is_sent_again_before_anything_else() {
    let stage = deployed().await;
    let mut sink = Sink::open().await;
    sink.answers(503);
    let wanted = json!({ "url": sink.url(), "kinds": ["created"], "secret": "known" });
    assert_eq!(stage.api("PUT", "/webhooks/sink", Some(wanted)).await.status, 201);
    stage.does("POST", "/instances", json!({ "definition": "p" })).await;
    let first = sink.message().await.body;
    stage.does("POST", "/instances", json!({ "definition": "p" })).await;
    assert_eq!(sink.message().await.body, first);
    let seen = stage.looks("/webhooks/sink").await;
    assert_eq!((&seen["state"], &seen["reason"]), (&json!("active"), &json!("it answered 503")));
    sink.answers(204);
    assert_eq!(sink.message().await.body, first);
    let second = sink.event().await;
    assert_eq!(second["source"], "/instances/2");
    while stage.looks("/webhooks/sink").await["told"] != 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.looks("/webhooks/sink").await["reason"], Json::Null);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_shortened_whoever_has_not_read_it_and_the_gap_is_told() {
    let stage = deployed().await;
    let mut sink = Sink::open().await;
    let wanted = json!({ "url": sink.url(), "kinds": ["created"] });
    assert_eq!(stage.api("PUT", "/webhooks/sink", Some(wanted)).await.status, 201);
    let paused = stage.does("POST", "/webhooks/sink/pause", json!({})).await;
    assert_eq!(paused["state"], "paused");
    for _ in 0..3 {
        stage.does("POST", "/instances", json!({ "definition": "p" })).await;
    }
    stage.does("POST", "/instances/1/cancel", json!({})).await;
    assert_eq!(stage.api("DELETE", "/instances/1", None).await.status, 200);
    // A webhook that nobody resumes keeps nothing.
    assert_eq!(stage.api("GET", "/instances/1", None).await.status, 404);
    stage.does("POST", "/webhooks/sink/resume", json!({})).await;
    let gap = sink.event().await;
    assert_eq!((&gap["type"], &gap["data"]["shard"]), (&json!("travertine.gap"), &json!(0)));
    let sources = [text(&sink.event().await["source"]), text(&sink.event().await["source"])];
    assert_eq!(sources, ["/instances/2", "/instances/3"]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_or_leads_inside_is_refused() {
    let stage = deployed().await;
    let refused = async |name: &str, body: Json, what: &str| {
        let answer = stage.api("PUT", &format!("/webhooks/{name}"), Some(body)).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.text.contains(what), "{}", answer.text);
    };
    refused("a", json!({ "url": "ftp://a.example/" }), "http://").await;
    refused("a", json!({ "url": "http://10.0.0.1/" }), "connect.allow").await;
    refused("a", json!({ "url": "http://ann:x@a.example/" }), "not part of a URL").await;
    refused("a", json!({ "url": "http://a.example/", "kinds": ["nonsense"] }), "nonsense").await;
    refused("a%20b", json!({ "url": "http://a.example/" }), "letters, digits").await;
    assert_eq!(stage.api("GET", "/webhooks/a", None).await.status, 404);
    assert_eq!(stage.api("POST", "/webhooks/a/resume", Some(json!({}))).await.status, 404);
    assert_eq!(stage.api("DELETE", "/webhooks/a", None).await.status, 404);
    stage.close().await;
}
