//! Connections over real sockets: what is served, and what is refused.

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use travertine_runtime::{Engine, Timestamp, engine};

use crate::{
    Access, Addresses, ApiKey, Error, Limits, Listening, Options, Password, Rate, Server, Tls,
};

/// How long anything may take before a test gives up.
const BOUND: Duration = Duration::from_mins(1);

/// What is short enough to be waited for.
const SHORT: Duration = Duration::from_millis(40);

struct Running {
    at: Addresses,
    stop: oneshot::Sender<()>,
    done: JoinHandle<Result<(), Error>>,
}

fn options() -> Options {
    let any = || "127.0.0.1:0".to_owned();
    Options { listen: any(), grpc_listen: Some(any()), manage: Some(any()), ..Options::default() }
}

fn limited(limits: Limits) -> Options {
    Options { limits, ..options() }
}

async fn serve(options: Options) -> Running {
    let engine = Engine::in_memory(engine::Options::default()).expect("an engine opens");
    running(Server::new(engine, options).bind().await.expect("addresses are free"))
}

fn running(listening: Listening) -> Running {
    let at = listening.addresses();
    let (stop, stopped) = oneshot::channel::<()>();
    let done = tokio::spawn(listening.serve(async {
        let _ = stopped.await;
    }));
    Running { at, stop, done }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at.rest[0]).await.expect("it listens")
    }

    /// Sends something, and answers with all that comes until the connection ends.
    async fn send(&self, text: &str) -> String {
        talk(self.connect().await, text).await
    }

    /// A request of one's own, with further lines of headers.
    async fn ask(&self, first: &str, headers: &str, body: &str) -> String {
        let length = body.len();
        self.send(&format!(
            "{first} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        ))
        .await
    }

    async fn metrics(&self) -> String {
        let stream = TcpStream::connect(self.at.manage[0]).await.expect("it listens");
        let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        talk(stream, request).await
    }

    /// Answers when metrics say so.
    async fn until(&self, line: &str) {
        timeout(BOUND, async { while !self.metrics().await.contains(line) {} })
            .await
            .unwrap_or_else(|_| panic!("metrics never said {line}"));
    }

    async fn end(self) {
        self.stop.send(()).expect("it runs");
        timeout(BOUND, self.done)
            .await
            .expect("it ends")
            .expect("nothing panics")
            .expect("in order");
    }
}

/// Tries until it holds. What clients send has little time in some tests, and a machine that stands still for a
/// moment uses that up.
async fn sooner_or_later<F: Future<Output = bool>>(mut holds: impl FnMut() -> F) {
    timeout(BOUND, async { while !holds().await {} }).await.expect("it never held");
}

/// Sends something, and answers with all that comes until the connection ends, which it must.
async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin, text: &str) -> String {
    // A server that has seen enough may close before all is sent.
    let _ = stream.write_all(text.as_bytes()).await;
    read_all(stream).await
}

async fn read_all(mut stream: impl AsyncRead + Unpin) -> String {
    let mut answer = Vec::new();
    let read = timeout(BOUND, stream.read_to_end(&mut answer)).await;
    let _ = read.expect("the server ends the connection");
    String::from_utf8_lossy(&answer).into_owned()
}

async fn health(at: SocketAddr) -> HealthClient<Channel> {
    let at = format!("http://localhost:{}", at.port());
    let endpoint = Endpoint::from_shared(at).expect("it is an address");
    HealthClient::new(endpoint.connect().await.expect("it speaks HTTP/2"))
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

const POLL: &str = r#"{"type": "nothing", "worker": "w", "timeout": 1000, "maxJobsToActivate": 1, "requestTimeout": 600000}"#;

#[tokio::test]
async fn each_port_serves_rest_and_grpc() {
    let server = serve(options()).await;
    for at in [server.at.rest[0], server.at.grpc[0]] {
        let stream = TcpStream::connect(at).await.expect("it listens");
        let request = "GET /v2/topology HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        assert_eq!(status(&talk(stream, request).await), "200");
        let mut client = health(at).await;
        for service in ["", "gateway_protocol.Gateway"] {
            let request = HealthCheckRequest { service: service.to_owned() };
            let answer = client.check(request).await.expect("it is healthy").into_inner();
            assert_eq!(answer.status, 1, "{service}");
        }
    }
    server.end().await;
}

#[tokio::test]
async fn health_and_metrics_have_a_port_of_their_own() {
    let server = serve(options()).await;
    for path in ["/health/live", "/health/ready", "/health/started"] {
        let stream = TcpStream::connect(server.at.manage[0]).await.expect("it listens");
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        assert_eq!(status(&talk(stream, &request).await), "200", "{path}");
        assert_eq!(status(&server.ask(&format!("GET {path}"), "", "").await), "404", "{path}");
    }
    server.ask("GET /v2/topology", "", "").await;
    server.ask("GET /some/path/of/a/stranger", "", "").await;
    let metrics = server.metrics().await;
    assert!(metrics.contains(r#"route="/v2/topology",code="200"} 1"#), "{metrics}");
    assert!(!metrics.contains("stranger"), "{metrics}");
    server.end().await;
}

#[tokio::test]
async fn paths_that_strangers_choose_are_no_labels_of_metrics() {
    let access = Access::default().user("ann", Password::hash("secret"));
    let server = serve(Options { access, ..options() }).await;
    let call = "content-type: application/grpc\r\n";
    for path in ["/some/path/of/a/stranger", "/gateway_protocol.Gateway/Stranger"] {
        let answer = server.ask(&format!("POST {path}"), call, "").await;
        assert!(answer.contains("grpc-status: 16"), "{answer}");
    }
    server.ask("POST /gateway_protocol.Gateway/Topology", call, "").await;
    let metrics = server.metrics().await;
    assert!(!metrics.to_lowercase().contains("stranger"), "{metrics}");
    let known = r#"route="/gateway_protocol.Gateway/Topology",code="UNAUTHENTICATED"} 1"#;
    assert!(metrics.contains(known), "{metrics}");
    server.end().await;
}

#[tokio::test]
async fn a_request_keeps_its_id_where_it_is_plain() {
    let server = serve(options()).await;
    let answer = server.ask("GET /v2/topology", "x-request-id: order-7\r\n", "").await;
    assert!(answer.contains("x-request-id: order-7\r\n"), "{answer}");
    let answer = server.ask("GET /v2/topology", "x-request-id: a b\u{7f}\r\n", "").await;
    assert!(!answer.contains("a b"), "{answer}");
    server.end().await;
}

#[tokio::test]
async fn pages_of_other_sites_reach_nothing() {
    let server = serve(options()).await;
    for headers in [
        "origin: http://evil.com\r\ncontent-type: multipart/form-data; boundary=x\r\n",
        "origin: http://evil.com\r\ncontent-type: text/plain\r\n",
        "origin: null\r\n",
        "sec-fetch-site: cross-site\r\n",
    ] {
        let answer = server.ask("POST /v2/deployments", headers, "").await;
        assert_eq!(status(&answer), "403", "{headers}: {answer}");
        assert!(answer.contains("application/problem+json"), "{answer}");
    }
    for host in ["evil.com", "127.0.0.1.evil.com", "localhost.evil.com:8080", "localhost@evil.com"]
    {
        let request =
            format!("GET /v2/topology HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        assert_eq!(status(&server.send(&request).await), "403", "{host}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_name_that_is_configured_is_answered() {
    let server = serve(Options { hosts: vec!["flow.example".to_owned()], ..options() }).await;
    let request =
        "GET /v2/topology HTTP/1.1\r\nhost: flow.example:443\r\nconnection: close\r\n\r\n";
    assert_eq!(status(&server.send(request).await), "200");
    server.end().await;
}

#[tokio::test]
async fn other_machines_are_not_served_without_login() {
    let everywhere = || Options { listen: "0.0.0.0:0".to_owned(), ..options() };
    let bind = async |options| {
        let engine = Engine::in_memory(engine::Options::default()).expect("an engine opens");
        Server::new(engine, options).bind().await.map(|_| ())
    };
    assert!(matches!(bind(everywhere()).await, Err(Error::Open { .. })));
    let grpc = Options { grpc_listen: Some("0.0.0.0:0".to_owned()), ..options() };
    assert!(matches!(bind(grpc).await, Err(Error::Open { .. })));
    bind(Options { insecure: true, ..everywhere() }).await.expect("it was said aloud");
    let (key, _) = ApiKey::draw("worker");
    let access = Access::default().key("worker", key, None);
    bind(Options { access, ..everywhere() }).await.expect("there is a login");
}

#[tokio::test]
async fn who_cannot_say_who_they_are_is_refused() {
    let (key, text) = ApiKey::draw("a_worker");
    let (old, expired) = ApiKey::draw("old");
    let access = Access::default()
        .user("ann", Password::hash("correct horse"))
        .key("a_worker", key, None)
        .key("old", old, Some(Timestamp::from_millis(1)));
    let server = serve(Options { access, ..options() }).await;
    let basic = |text: &str| format!("authorization: Basic {}\r\n", STANDARD.encode(text));
    let ask = async |headers: &str| {
        let answer = server.ask("GET /v2/topology", headers, "").await;
        status(&answer).to_owned()
    };
    assert_eq!(ask(&basic("ann:correct horse")).await, "200");
    assert_eq!(ask(&basic("ann:correct horse")).await, "200");
    assert_eq!(ask(&format!("authorization: Bearer {text}\r\n")).await, "200");
    let wrong = [
        String::new(),
        basic("ann:wrong horse"),
        basic("bob:correct horse"),
        basic("ann"),
        "authorization: Basic !\r\n".to_owned(),
        format!("authorization: Bearer {expired}\r\n"),
        format!("authorization: Bearer {text}x\r\n"),
        "authorization: Bearer tvk_a_worker_\r\n".to_owned(),
        format!("authorization: Bearer tvk_{}\r\n", "_".repeat(15_000)),
        format!("authorization: Bearer {text}\r\nauthorization: Bearer {text}\r\n"),
    ];
    for headers in wrong {
        let answer = server.ask("GET /v2/topology", &headers, "").await;
        assert_eq!(status(&answer), "401", "{headers}");
        assert!(answer.contains("www-authenticate: Basic"), "{answer}");
    }
    let mut client = health(server.at.grpc[0]).await;
    let refused = client.check(HealthCheckRequest::default()).await.expect_err("nobody asks");
    assert_eq!(refused.code(), tonic::Code::Unauthenticated);
    let mut request = tonic::Request::new(HealthCheckRequest::default());
    let bearer = format!("Bearer {text}").parse().expect("it is plain");
    request.metadata_mut().insert("authorization", bearer);
    client.check(request).await.expect("the key is right");
    // Metrics are for whoever reaches their port.
    assert!(server.metrics().await.contains("travertine_requests"));
    server.end().await;
}

#[tokio::test]
async fn passwords_are_not_guessed_side_by_side() {
    let access = Access::default().user("ann", Password::hash("correct horse"));
    let server = Arc::new(serve(Options { access, ..options() }).await);
    let mut guesses = tokio::task::JoinSet::new();
    for number in 0..100 {
        let server = Arc::clone(&server);
        guesses.spawn(async move {
            let login = STANDARD.encode(format!("ann:wrong {number}"));
            let login = format!("authorization: Basic {login}\r\n");
            server.ask("GET /v2/topology", &login, "").await
        });
    }
    // A few have their turn, one after the other. All others are told at once to come back later.
    for _ in 0..80 {
        let answer = guesses.join_next().await.expect("there are more").expect("nothing panics");
        match status(&answer) {
            "401" => {}
            "429" => assert!(answer.contains("retry-after: "), "{answer}"),
            _ => panic!("{answer}"),
        }
    }
    guesses.shutdown().await;
    // Others have turns of their own.
    let other = format!("authorization: Basic {}\r\n", STANDARD.encode("bob:wrong"));
    assert_eq!(status(&server.ask("GET /v2/topology", &other, "").await), "401");
    Arc::into_inner(server).expect("nobody else has it").end().await;
}

#[tokio::test]
async fn who_comes_together_with_the_right_password_is_let_in_together() {
    let access = Access::default().user("ann", Password::hash("correct horse"));
    let server = Arc::new(serve(Options { access, ..options() }).await);
    let login = format!("authorization: Basic {}\r\n", STANDARD.encode("ann:correct horse"));
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (server, login) = (Arc::clone(&server), login.clone());
        all.spawn(async move { server.ask("GET /v2/topology", &login, "").await });
    }
    for answer in all.join_all().await {
        assert_eq!(status(&answer), "200", "{answer}");
    }
    Arc::into_inner(server).expect("nobody else has it").end().await;
}

#[tokio::test]
async fn clients_that_send_nothing_or_too_slowly_are_let_go() {
    let limits =
        Limits { header_time: SHORT, body_time: SHORT, idle_time: SHORT * 10, ..Limits::default() };
    let server = serve(limited(limits)).await;
    for start in [
        "",
        "P",
        "PRI * HTTP/2.0\r\n",
        "GET /v2/topology HT",
        "GET /v2/topology HTTP/1.1\r\nhost: localhost\r\nx: ",
    ] {
        let answer = server.send(start).await;
        assert!(!answer.contains("200 OK"), "{start:?}: {answer}");
    }
    // Also on a connection that has been used.
    let two = "GET /v2/topology HTTP/1.1\r\nhost: localhost\r\n\r\nGET /v2/top";
    let used = || async { server.send(two).await.matches("200 OK").count() == 1 };
    sooner_or_later(used).await;
    let slow = "POST /v2/signals/broadcast HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    sooner_or_later(|| async { server.send(slow).await.starts_with("HTTP/1.1 408 ") }).await;
    server.end().await;
}

#[tokio::test]
async fn a_connection_that_rests_is_not_taken_for_a_slow_one() {
    let limits = Limits { header_time: SHORT, ..Limits::default() };
    let server = serve(limited(limits)).await;
    let request = "GET /v2/topology HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let last = "GET /v2/topology HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let rests = || async {
        let mut stream = server.connect().await;
        // On a machine that stood still just now this client was a slow one.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut some = [0; 512];
        if stream.read(&mut some).await.is_ok_and(|it| it > 0) {
            // Others that are slow are let go while this one rests.
            for _ in 0..3 {
                assert_eq!(server.send("GET").await, "");
            }
        }
        talk(stream, last).await.contains("200 OK")
    };
    sooner_or_later(rests).await;
    server.end().await;
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let limits = Limits { body: 1_000, multipart: 2_000, headers: 2_000, ..Limits::default() };
    let server = serve(limited(limits)).await;
    let json = "content-type: application/json\r\n";
    // Announced: nothing is read.
    let announced = format!(
        "POST /v2/signals/broadcast HTTP/1.1\r\nhost: localhost\r\n{json}content-length: 99999999999\r\n\r\n"
    );
    assert_eq!(status(&server.send(&announced).await), "413");
    // Not announced: only as much as may be is read.
    let chunk = format!("400\r\n{}\r\n", " ".repeat(0x400));
    let chunked = format!(
        "POST /v2/signals/broadcast HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{json}transfer-encoding: chunked\r\n\r\n{chunk}{chunk}0\r\n\r\n"
    );
    assert_eq!(status(&server.send(&chunked).await), "413");
    let multipart = "content-type: multipart/form-data; boundary=x\r\n";
    let answer = server.ask("POST /v2/deployments", multipart, &"x".repeat(2_001)).await;
    assert_eq!(status(&answer), "413", "{answer}");
    let answer = server.ask("GET /v2/topology", &format!("x: {}\r\n", "y".repeat(2_001)), "").await;
    assert_eq!(status(&answer), "431", "{answer}");
    server.end().await;
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed_and_the_others_served() {
    let server = serve(limited(Limits { connections: 2, ..Limits::default() })).await;
    let mut first = server.connect().await;
    let request = "GET /v2/topology HTTP/1.1\r\nhost: localhost\r\n\r\n";
    first.write_all(request.as_bytes()).await.expect("it is open");
    first.read_u8().await.expect("it answers");
    let mut second = server.connect().await;
    second.write_all(request.as_bytes()).await.expect("it is open");
    second.read_u8().await.expect("it answers");
    assert_eq!(server.send(request).await, "");
    drop(second);
    let last = "GET /v2/topology HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let again = async { while server.send(last).await.is_empty() {} };
    timeout(BOUND, again).await.expect("there is room again");
    drop(first);
    server.end().await;
}

#[tokio::test]
async fn waiting_requests_beyond_the_limit_are_told_so_at_once() {
    let server = serve(limited(Limits { polls: 1, ..Limits::default() })).await;
    let json = "content-type: application/json\r\n";
    let first = server.ask("POST /v2/jobs/activation", json, POLL);
    let rest = async {
        server.until("travertine_polls_now 1").await;
        let second = server.ask("POST /v2/jobs/activation", json, POLL).await;
        assert_eq!(status(&second), "503", "{second}");
        assert!(second.contains("retry-after: 1\r\n"), "{second}");
        assert!(second.contains("RESOURCE_EXHAUSTED"), "{second}");
        // Who does not wait is not affected.
        assert_eq!(status(&server.ask("GET /v2/topology", "", "").await), "200");
    };
    tokio::select! {
        answer = first => panic!("nothing was there to be found: {answer}"),
        () = rest => {}
    }
    // The first client has gone, and its place is free.
    server.until("travertine_polls_now 0").await;
    server.end().await;
}

#[tokio::test]
async fn a_request_keeps_the_room_for_its_body_until_it_is_answered() {
    let limits = Limits { bytes: POLL.len() + 10, ..Limits::default() };
    let server = serve(limited(limits)).await;
    let json = "content-type: application/json\r\n";
    let first = server.ask("POST /v2/jobs/activation", json, POLL);
    let rest = async {
        server.until("travertine_polls_now 1").await;
        let taken = format!("travertine_bytes_now {}", POLL.len());
        assert!(server.metrics().await.contains(&taken));
        let second =
            server.ask("POST /v2/signals/broadcast", json, r#"{"signalName": "go"}"#).await;
        assert_eq!(status(&second), "503", "{second}");
    };
    tokio::select! {
        answer = first => panic!("nothing was there to be found: {answer}"),
        () = rest => {}
    }
    server.until("travertine_bytes_now 0").await;
    server.end().await;
}

#[tokio::test]
async fn whoever_waits_for_an_instance_takes_no_place_of_those_who_do_not() {
    let limits = Limits { requests: 1, polls: 1, ..Limits::default() };
    let engine = Engine::in_memory(engine::Options::default()).expect("an engine opens");
    let model = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">
        <process id="p" isExecutable="true"><startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="t"/>
        <userTask id="t"/></process></definitions>"#;
    let file = engine::File { name: "p.bpmn".to_owned(), body: model.into() };
    engine.deploy(&[file]).expect("it can run");
    let listening = Server::new(engine.clone(), limited(limits)).bind().await;
    let server = running(listening.expect("addresses are free"));
    let json = "content-type: application/json\r\n";
    let wait = r#"{"processDefinitionId": "p", "awaitCompletion": true, "requestTimeout": 600000}"#;
    let waits = || server.ask("POST /v2/process-instances", json, wait);
    let rest = async {
        server.until("travertine_polls_now 1").await;
        assert_eq!(status(&server.ask("GET /v2/topology", "", "").await), "200");
        let second = waits().await;
        assert!(second.contains("nothing was done"), "{second}");
        // Where the engine ends meanwhile, nobody must take that for not done.
        engine.clone().shutdown().expect("it shuts down");
    };
    let (answer, ()) = tokio::join!(waits(), rest);
    assert_eq!(status(&answer), "502", "{answer}");
    assert!(answer.contains("it was done"), "{answer}");
    server.end().await;
}

#[tokio::test]
async fn shutting_down_answers_those_who_wait_with_nothing() {
    let server = serve(options()).await;
    let stream = server.connect().await;
    let length = POLL.len();
    let request = format!(
        "POST /v2/jobs/activation HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{POLL}"
    );
    let poll = tokio::spawn(async move { talk(stream, &request).await });
    server.until("travertine_polls_now 1").await;
    server.end().await;
    let answer = timeout(BOUND, poll).await.expect("it is answered").expect("nothing panics");
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(answer.contains(r#"{"jobs":[]}"#), "{answer}");
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("it is small").to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

#[tokio::test]
async fn a_client_that_begins_and_resets_without_end_is_let_go() {
    const HEADERS: u8 = 1;
    const RST_STREAM: u8 = 3;
    const SETTINGS: u8 = 4;
    let server = serve(options()).await;
    let mut stream = server.connect().await;
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    // GET http://localhost/, in the words that every table of headers begins with.
    let mut get = vec![0x82, 0x86, 0x84, 0x41, 9];
    get.extend(b"localhost");
    for nth in 0..20_000_u32 {
        let id = 2 * nth + 1;
        bytes.extend(frame(HEADERS, 0x5, id, &get));
        bytes.extend(frame(RST_STREAM, 0, id, &8_u32.to_be_bytes()));
    }
    let (reader, mut writer) = stream.split();
    let sent = async {
        // It need not take all of that.
        let _ = writer.write_all(&bytes).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = read_all(reader) => {}
        () = sent => {}
    }
    assert_eq!(status(&server.ask("GET /v2/topology", "", "").await), "200");
    server.end().await;
}

struct Certified {
    options: Options,
    roots: rustls::RootCertStore,
    _dir: tempfile::TempDir,
}

fn certified() -> Certified {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
        .expect("a certificate can be made");
    let dir = tempfile::tempdir().expect("there is room for a directory");
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).expect("there is room for a file");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("there is room for a file");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("it is a certificate");
    let limits = Limits { handshake_time: SHORT * 50, ..Limits::default() };
    let tls = Some(Tls { cert, key });
    Certified { options: Options { tls, limits, ..options() }, roots, _dir: dir }
}

#[tokio::test]
async fn with_a_certificate_connections_are_encrypted() {
    let Certified { options, roots, _dir } = certified();
    let server = serve(options).await;
    for alpn in [&b"h2"[..], b"http/1.1"] {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("there are protocols")
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = vec![alpn.to_vec()];
        let name = ServerName::try_from("localhost").expect("it is a name");
        let connector = TlsConnector::from(Arc::new(config));
        let served = || async {
            let connected = connector.connect(name.clone(), server.connect().await).await;
            // A machine that stood still has used up the time of the handshake.
            let stream = match connected {
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return false,
                connected => connected.expect("it is trusted"),
            };
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(alpn));
            let request =
                "GET /v2/topology HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
            alpn != b"http/1.1" || status(&talk(stream, request).await) == "200"
        };
        sooner_or_later(served).await;
    }
    // Whoever does not begin with a handshake, or does not go on with it, is let go.
    assert!(
        !server.send("GET /v2/topology HTTP/1.1\r\nhost: localhost\r\n\r\n").await.contains("200")
    );
    assert_eq!(server.send("").await, "");
    server.end().await;
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().expect("there is room for a directory");
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    let bind = async |cert: &std::path::Path, key: &std::path::Path| {
        let engine = Engine::in_memory(engine::Options::default()).expect("an engine opens");
        let tls = Some(Tls { cert: cert.to_owned(), key: key.to_owned() });
        let refused = Server::new(engine, Options { tls, ..options() }).bind().await;
        refused.expect_err("it cannot be used").to_string()
    };
    assert!(bind(&cert, &key).await.contains("cert.pem"));
    std::fs::write(&cert, "nothing").expect("there is room for a file");
    assert!(bind(&cert, &key).await.contains("no certificate"));
}

#[tokio::test]
async fn the_page_is_there_before_anybody_logs_in_and_below_the_path_of_a_proxy() {
    let access = Access::default().user("ann", Password::hash("secret"));
    let server = serve(Options { access, base_path: "/flow".to_owned(), ..options() }).await;
    for path in ["/ui/", "/flow/ui/instances/12", "/ui/icon.svg"] {
        let answer = server.ask(&format!("GET {path}"), "", "").await;
        assert_eq!(status(&answer), "200", "{path}: {answer}");
        assert!(answer.contains("content-security-policy: default-src 'none'"), "{answer}");
    }
    for path in ["/v2/topology", "/flow/v2/topology", "/uix"] {
        assert_eq!(status(&server.ask(&format!("GET {path}"), "", "").await), "401", "{path}");
    }
    // What looks like the page and leads elsewhere is the page.
    let answer = server.ask("GET /ui/../v2/topology", "", "").await;
    assert!(answer.contains("<base href="), "{answer}");
    assert!(server.ask("GET /flow", "", "").await.contains("location: flow/ui/"));
    server.end().await;
}

/// Says who asks.
fn bearer(key: &str) -> String {
    format!("authorization: Bearer {key}\r\n")
}

#[tokio::test]
async fn somebody_may_send_so_many_requests_and_others_have_their_own() {
    let ((first, text), (second, other)) = (ApiKey::draw("a"), ApiKey::draw("b"));
    let access = Access::default().key("a", first, None).key("b", second, None);
    let two = NonZeroU32::new(2).expect("it is not 0");
    let rate = Some(Rate { requests: NonZeroU32::MIN, per: Duration::from_hours(1), burst: two });
    let server = serve(Options { access, rate, ..options() }).await;
    let (text, other) = (bearer(&text), bearer(&other));
    for _ in 0..2 {
        assert_eq!(status(&server.ask("GET /v2/topology", &text, "").await), "200");
    }
    let refused = server.ask("GET /v2/topology", &text, "").await;
    assert_eq!(status(&refused), "429");
    assert!(refused.contains("retry-after: 3") && refused.contains("RESOURCE_EXHAUSTED"));
    let call = format!("{text}content-type: application/grpc\r\n");
    let refused = server.ask("POST /gateway_protocol.Gateway/Topology", &call, "").await;
    assert!(refused.contains("grpc-status: 8"), "{refused}");
    assert_eq!(status(&server.ask("GET /v2/topology", &other, "").await), "200");
    // Who does not get in has no part in it.
    assert_eq!(status(&server.ask("GET /v2/topology", &bearer("tvk_b_x"), "").await), "401");
    assert_eq!(status(&server.ask("GET /v2/topology", &other, "").await), "200");
    server.end().await;
}

#[tokio::test]
async fn logins_and_rates_change_while_it_serves() {
    let ((first, text), (second, other)) = (ApiKey::draw("a"), ApiKey::draw("b"));
    let (text, other) = (bearer(&text), bearer(&other));
    let ann = STANDARD.encode("ann:correct horse");
    let ann = format!("authorization: Basic {ann}\r\n");
    let before = Access::default().key("a", first, None);
    let before = before.user("ann", Password::hash("correct horse"));
    let engine = Engine::in_memory(engine::Options::default()).expect("an engine opens");
    let begun = Options { access: before, ..options() };
    let listening = Server::new(engine, begun.clone()).bind().await.expect("addresses are free");
    let reload = listening.reload();
    let server = running(listening);
    let answers = |who| {
        let server = &server;
        async move { status(&server.ask("GET /v2/topology", who, "").await).to_owned() }
    };
    assert_eq!((answers(&text).await, answers(&other).await), ("200".into(), "401".into()));
    assert_eq!(answers(&ann).await, "200");
    let access = Access::default().key("b", second, None);
    let access = access.user("ann", Password::hash("another horse"));
    reload.apply(&Options { access, ..begun.clone() }).expect("it is right");
    assert_eq!((answers(&text).await, answers(&other).await), ("401".into(), "200".into()));
    // A password that was verified before is not good for another one.
    assert_eq!(answers(&ann).await, "401");
    let rate =
        Rate { requests: NonZeroU32::MIN, per: Duration::from_hours(1), burst: NonZeroU32::MIN };
    // Where somebody had to log in, nobody comes in without login because the configuration is gone.
    let open = Options { access: Access::default(), rate: Some(rate), ..begun.clone() };
    assert!(matches!(reload.apply(&open), Err(Error::Opened)));
    assert_eq!((answers(&other).await, answers("").await), ("200".into(), "401".into()));
    let open = Options { insecure: true, ..open };
    reload.apply(&open).expect("it was said aloud");
    assert_eq!((answers("").await, answers("").await), ("200".into(), "429".into()));
    reload.apply(&Options { rate: None, ..open }).expect("it is right");
    assert_eq!(answers("").await, "200");
    let Certified { options: tls, .. } = certified();
    let refused = reload.apply(&Options { tls: tls.tls, ..begun });
    assert!(matches!(refused, Err(Error::Tls { .. })), "{refused:?}");
    server.end().await;
}

#[tokio::test]
async fn other_machines_are_not_let_in_without_login_by_a_change() {
    let (key, text) = ApiKey::draw("a");
    let access = Access::default().key("a", key, None);
    let begun = Options { access, listen: "0.0.0.0:0".to_owned(), ..options() };
    let engine = Engine::in_memory(engine::Options::default()).expect("an engine opens");
    let listening = Server::new(engine, begun.clone()).bind().await.expect("addresses are free");
    let reload = listening.reload();
    let server = running(listening);
    let open = Options { access: Access::default(), ..begun };
    assert!(matches!(reload.apply(&open), Err(Error::Open { .. })));
    assert_eq!(status(&server.ask("GET /v2/topology", &bearer(&text), "").await), "200");
    assert_eq!(status(&server.ask("GET /v2/topology", "", "").await), "401");
    server.end().await;
}

#[tokio::test]
async fn a_certificate_is_replaced_while_it_serves() {
    let Certified { options: begun, roots, _dir } = certified();
    let engine = Engine::in_memory(engine::Options::default()).expect("an engine opens");
    let listening = Server::new(engine, begun.clone()).bind().await.expect("addresses are free");
    let reload = listening.reload();
    let server = running(listening);
    let Certified { options: next, roots: next_roots, _dir: _next_dir } = certified();
    assert!(is_trusted(&server, &roots).await && !is_trusted(&server, &next_roots).await);
    // What cannot be used changes nothing.
    let tls = next.tls.expect("it has one");
    let mixed = Tls { key: tls.key.clone(), ..begun.tls.clone().expect("it has one") };
    let refused = reload.apply(&Options { tls: Some(mixed), ..begun.clone() });
    assert!(matches!(refused, Err(Error::Tls { .. })), "{refused:?}");
    assert!(is_trusted(&server, &roots).await);
    reload.apply(&Options { tls: Some(tls), ..begun }).expect("it is right");
    assert!(!is_trusted(&server, &roots).await && is_trusted(&server, &next_roots).await);
    server.end().await;
}

/// Whether a client with these roots takes the certificate that it is shown.
async fn is_trusted(server: &Running, roots: &rustls::RootCertStore) -> bool {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("there are protocols")
        .with_root_certificates(roots.clone())
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    loop {
        let name = ServerName::try_from("localhost").expect("it is a name");
        match connector.connect(name, server.connect().await).await {
            Ok(_) => return true,
            // A machine that stood still has used up the time of the handshake.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {}
            Err(_) => return false,
        }
    }
}
