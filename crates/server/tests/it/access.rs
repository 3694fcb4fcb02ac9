//! Accounts beside a store, as a server that runs sees them.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
};
use travertine_runtime::{
    Engine, Timestamp,
    engine::{File, Options as EngineOptions},
};
use travertine_server::{AccountError, Accounts, Error, Grant, Options, Server, Subject};

const MODEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">
    <process id="order" isExecutable="true"><startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="t"/>
    <userTask id="t"/></process></definitions>"#;

struct Guarded {
    at: SocketAddr,
    path: PathBuf,
    engine: Engine,
    stop: oneshot::Sender<()>,
    done: JoinHandle<Result<(), Error>>,
    dir: tempfile::TempDir,
}

impl Guarded {
    async fn open(prepare: impl FnOnce(&Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.db");
        prepare(&path);
        let engine = Engine::in_memory(EngineOptions::default()).unwrap();
        engine.deploy(&[File { name: "order.bpmn".to_owned(), body: MODEL.into() }]).unwrap();
        let options = Options {
            listen: "127.0.0.1:0".to_owned(),
            grpc_listen: None,
            manage: None,
            accounts: Some(path.clone()),
            // Whoever tries passwords is not waited for.
            drain: Duration::from_millis(200),
            ..Options::default()
        };
        let listening = Server::new(engine.clone(), options).bind().await.unwrap();
        let at = listening.addresses().rest[0];
        let (stop, stopped) = oneshot::channel::<()>();
        let done = tokio::spawn(listening.serve(async {
            let _ = stopped.await;
        }));
        Self { at, path, engine, stop, done, dir }
    }

    fn accounts(&self) -> Accounts {
        Accounts::open(&self.path).unwrap()
    }

    async fn ask(&self, login: &str, first: &str, body: &str) -> String {
        let login =
            if login.is_empty() { String::new() } else { format!("authorization: {login}\r\n") };
        let request = format!(
            "{first} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{login}content-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn status(&self, login: &str) -> u16 {
        let answer = self.ask(login, "POST /v2/process-instances/search", "{}").await;
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Answers once the server knows what has changed.
    async fn until(&self, login: &str, status: u16) {
        while self.status(login).await != status {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn end(self) {
        self.stop.send(()).unwrap();
        self.done.await.unwrap().unwrap();
    }
}

fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{name}:{password}")))
}

fn grant(text: &str) -> Grant {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_server_that_runs_notices_who_comes_and_who_goes() {
    let server = Guarded::open(|_| {}).await;
    assert_eq!(server.status("").await, 200, "there is nobody yet");
    let accounts = server.accounts();
    let ann = Subject::User("ann".into());
    accounts.add_user("ann", "correct horse", "root").unwrap();
    server.until("", 401).await;
    let login = basic("ann", "correct horse");
    server.until(&login, 403).await;
    accounts.grant(&ann, &grant("viewer:order"), "root").unwrap();
    server.until(&login, 200).await;
    accounts.revoke(&ann, &grant("viewer:order"), "root").unwrap();
    accounts.add_member("ops", "ann", "root").unwrap();
    accounts.grant(&Subject::Group("ops".into()), &grant("read"), "root").unwrap();
    server.until(&login, 200).await;
    accounts.set_password("ann", "battery staple", "root").unwrap();
    server.until(&login, 401).await;
    let login = basic("ann", "battery staple");
    assert_eq!(server.status(&login).await, 200);
    accounts.set_disabled("ann", true, "root").unwrap();
    server.until(&login, 401).await;
    let text = accounts.add_key("ci", None, "root").unwrap();
    accounts.grant(&Subject::Key("ci".into()), &grant("viewer"), "root").unwrap();
    let key = format!("Bearer {text}");
    server.until(&key, 200).await;
    accounts.remove_key("ci", "root").unwrap();
    server.until(&key, 401).await;
    // Once there was somebody, nobody comes in without login, also when there is nobody any more.
    accounts.remove_user("ann", "root").unwrap();
    assert_eq!(server.status("").await, 401);
    server.end().await;
}

/// What an answer says, without its head.
fn told(answer: &str) -> serde_json::Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn accounts_are_looked_after_over_the_api_by_who_may_do_everything() {
    let server = Guarded::open(|path| {
        let accounts = Accounts::open(path).unwrap();
        for (name, granted) in [("ann", "admin"), ("bob", "viewer"), ("eve", "admin:order")] {
            accounts.add_user(name, "correct horse", "root").unwrap();
            accounts.grant(&Subject::User(name.into()), &grant(granted), "root").unwrap();
        }
    })
    .await;
    let [ann, bob, eve] = ["ann", "bob", "eve"].map(|it| basic(it, "correct horse"));
    let me = told(&server.ask(&bob, "GET /api/1/me", "").await);
    assert_eq!(
        (&me["name"], &me["permissions"]),
        (&"bob".into(), &serde_json::json!({ "read": "all" }))
    );
    for who in [&bob, &eve] {
        for first in
            ["GET /api/1/access", "PUT /api/1/access/keys/mine", "DELETE /api/1/access/users/ann"]
        {
            let answer = server.ask(who, first, "{}").await;
            assert!(answer.starts_with("HTTP/1.1 403"), "{first}: {answer}");
        }
    }
    // A key is told once.
    let body = r#"{"grants": ["viewer:order"], "expires": "2099-01-31T00:00:00Z"}"#;
    let key = told(&server.ask(&ann, "PUT /api/1/access/keys/mailer", body).await);
    let secret = key["secret"].as_str().unwrap().to_owned();
    let again = server.ask(&ann, "PUT /api/1/access/keys/mailer", body).await;
    assert!(again.starts_with("HTTP/1.1 409"), "{again}");
    let all = server.ask(&ann, "GET /api/1/access", "").await;
    assert!(!all.contains(&secret) && !all.contains("argon2"), "{all}");
    assert_eq!(told(&all)["keys"][0]["grants"], serde_json::json!(["viewer:order"]));
    let bearer = format!("Bearer {secret}");
    server.until(&bearer, 200).await;
    server.ask(&ann, "DELETE /api/1/access/keys/mailer", "").await;
    server.until(&bearer, 401).await;
    // Users are made, changed and removed; what is wrong changes nothing.
    let wrong = server.ask(&ann, "PUT /api/1/access/users/joe", r#"{"grants": ["user"]}"#).await;
    assert!(wrong.starts_with("HTTP/1.1 400") && wrong.contains("say a password"), "{wrong}");
    let body = r#"{"password": "battery staple", "grants": ["user"], "groups": ["clerks"]}"#;
    server.ask(&ann, "PUT /api/1/access/users/joe", body).await;
    let body = r#"{"grants": ["viewer"], "groups": [], "disabled": true}"#;
    let all = told(&server.ask(&ann, "PUT /api/1/access/users/joe", body).await);
    let joe = all["users"].as_array().unwrap().iter().find(|it| it["user"] == "joe").unwrap();
    assert_eq!((&joe["disabled"], &joe["groups"]), (&true.into(), &serde_json::json!([])));
    assert_eq!(joe["grants"], serde_json::json!(["viewer"]));
    let all = server.ask(&ann, r"PUT /api/1/access/groups/clerks", r#"{"grants": ["user"]}"#).await;
    assert_eq!(told(&all)["groups"][0]["grants"], serde_json::json!(["user"]));
    server.ask(&ann, "DELETE /api/1/access/users/joe", "").await;
    let audit = told(&server.ask(&ann, "GET /api/1/access/audit?limit=200", "").await);
    let whats: Vec<_> = audit["audit"].as_array().unwrap().iter().map(|it| &it["what"]).collect();
    for what in ["key added", "key removed", "user added", "user removed"] {
        assert!(whats.contains(&&what.into()), "{what}: {whats:?}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_key_that_has_expired_is_none() {
    let server = Guarded::open(|path| {
        let accounts = Accounts::open(path).unwrap();
        accounts.add_user("root", "correct horse", "root").unwrap();
    })
    .await;
    let accounts = server.accounts();
    let old = accounts.add_key("old", Some(Timestamp::from_millis(1)), "root").unwrap();
    accounts.grant(&Subject::Key("old".into()), &grant("admin"), "root").unwrap();
    let new = accounts.add_key("new", None, "root").unwrap();
    accounts.grant(&Subject::Key("new".into()), &grant("admin"), "root").unwrap();
    server.until(&format!("Bearer {new}"), 200).await;
    assert_eq!(server.status(&format!("Bearer {old}")).await, 401);
    // Neither are parts of one, nor one with something behind it.
    for wrong in [format!("{new}x"), new[..new.len() - 1].to_owned(), "tvk_new_".to_owned()] {
        assert_eq!(server.status(&format!("Bearer {wrong}")).await, 401);
    }
    server.end().await;
}

#[tokio::test]
async fn the_audit_has_logins_refusals_and_changes_and_no_secret() {
    let secret = "planted-secret-17";
    let server = Guarded::open(|path| {
        let accounts = Accounts::open(path).unwrap();
        accounts.add_user("ann", secret, "root (at the terminal)").unwrap();
        accounts.grant(&Subject::User("ann".into()), &grant("viewer"), "root").unwrap();
    })
    .await;
    let login = basic("ann", secret);
    assert_eq!(server.status(&login).await, 200);
    assert_eq!(server.status(&basic("ann", "wrong")).await, 401);
    // Somebody has typed a password where a name belongs.
    assert_eq!(server.status(&basic(secret, "ann")).await, 401);
    let answer =
        server.ask(&login, "POST /v2/process-instances", r#"{"processDefinitionId": "order"}"#);
    let answer = answer.await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("permission start"), "{answer}");
    let Guarded { stop, done, dir, path, .. } = server;
    stop.send(()).unwrap();
    done.await.unwrap().unwrap();
    let all = Accounts::open(&path).unwrap().audited(None, 100).unwrap();
    let has = |who: Option<&str>, what: &str, about: &str| {
        all.iter()
            .any(|it| it.who.as_deref() == who && &*it.what == what && it.about.contains(about))
    };
    assert!(has(Some("root (at the terminal)"), "user added", "ann"), "{all:?}");
    assert!(has(Some("root"), "granted", "user ann: viewer"), "{all:?}");
    assert!(has(Some("ann"), "login", ""), "{all:?}");
    assert!(has(Some("ann"), "login refused", ""), "{all:?}");
    assert!(has(None, "login refused", ""), "{all:?}");
    assert!(has(Some("ann"), "refused", "start"), "{all:?}");
    assert!(!format!("{all:?}").contains(secret));
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|it| it == secret.as_bytes()));
    }
}

#[tokio::test]
async fn a_thousand_wrong_passwords_keep_nobody_out_who_has_the_right_one() {
    let server = Guarded::open(|path| {
        let accounts = Accounts::open(path).unwrap();
        accounts.add_user("ann", "correct horse", "root").unwrap();
        accounts.grant(&Subject::User("ann".into()), &grant("viewer"), "root").unwrap();
    })
    .await;
    let right = basic("ann", "correct horse");
    assert_eq!(server.status(&right).await, 200);
    for number in 0..1_000 {
        let login = basic(if number % 2 == 0 { "ann" } else { "bob" }, &format!("wrong {number}"));
        let request = format!(
            "GET /v2/topology HTTP/1.1\r\nhost: localhost\r\nauthorization: {login}\r\n\r\n"
        );
        // Nobody reads the answers: whoever tries passwords has the time.
        let mut stream = TcpStream::connect(server.at).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        if number % 250 == 249 {
            assert_eq!(server.status(&right).await, 200, "it is remembered, and not verified anew");
        }
    }
    server.end().await;
}

#[cfg(unix)]
#[test]
fn accounts_are_for_their_owner_and_the_audit_is_only_added_to() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.db");
    let accounts = Accounts::open(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    accounts.add_user("ann", "correct horse", "root").unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    for sql in ["DELETE FROM audit", "UPDATE audit SET who = 'bob'"] {
        let refused = other.execute(sql, []).unwrap_err().to_string();
        assert!(refused.contains("only added to"), "{refused}");
    }
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = Accounts::open(&dir.path().join("server.db")).unwrap();
    accounts.add_user("ann", "correct horse", "root").unwrap();
    let ann = Subject::User("ann".into());
    let why = |refused: Result<(), AccountError>| refused.unwrap_err().to_string();
    assert_eq!(
        why(accounts.add_user("ann", "correct horse", "root")),
        "there is a user ann already"
    );
    assert!(why(accounts.add_user("bob", "short", "root")).contains("at least 8"));
    for name in ["", " bob", "a:b", "-bob", "bob\n", &"x".repeat(300)] {
        assert!(why(accounts.add_user(name, "correct horse", "root")).contains("is no name"));
    }
    let bob = Subject::User("bob".into());
    assert_eq!(why(accounts.grant(&bob, &grant("viewer"), "root")), "there is no user bob");
    assert!(why(accounts.revoke(&ann, &grant("viewer"), "root")).contains("was not granted"));
    assert_eq!(why(accounts.add_member("ops", "bob", "root")), "there is no user bob");
    assert_eq!(why(accounts.add_key("ann", None, "root").map(drop)), "there is a user ann already");
    for number in 0..50 {
        accounts.grant(&ann, &grant(&format!("read:p{number}")), "root").unwrap();
    }
    assert!(why(accounts.grant(&ann, &grant("viewer:p50"), "root")).contains("too many patterns"));
    // What was refused is not audited as done.
    let done = accounts.audited(None, 1_000).unwrap();
    assert_eq!(done.len(), 51);
    assert_eq!(accounts.users().unwrap()[0].grants.len(), 50);
}

#[tokio::test]
async fn who_did_something_stands_in_the_history() {
    let server = Guarded::open(|path| {
        let accounts = Accounts::open(path).unwrap();
        accounts.add_user("ann", "correct horse", "root").unwrap();
        accounts.grant(&Subject::User("ann".into()), &grant("operator"), "root").unwrap();
    })
    .await;
    let login = basic("ann", "correct horse");
    let start = "POST /v2/process-instances";
    let answer = server.ask(&login, start, r#"{"processDefinitionId": "order"}"#).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let history = server.engine.history(travertine_runtime::InstanceId(1)).unwrap();
    assert!(format!("{:?}", history.steps[0].records).contains("By { who: \"ann\" }"));
    server.end().await;
}

#[tokio::test]
async fn what_is_told_live_ends_where_its_login_does_not_hold_any_more() {
    let server = Guarded::open(|path| {
        let accounts = Accounts::open(path).unwrap();
        accounts.add_user("ann", "correct horse", "root").unwrap();
        accounts.grant(&Subject::User("ann".into()), &grant("viewer"), "root").unwrap();
    })
    .await;
    let login = basic("ann", "correct horse");
    assert_eq!(server.status(&login).await, 200);
    let (told, ()) = tokio::join!(server.ask(&login, "GET /api/1/live", ""), async {
        server.accounts().set_disabled("ann", true, "root").unwrap();
    });
    // It has come to its end, or was refused before it began.
    assert!(told.contains("event: hello") || told.starts_with("HTTP/1.1 401"), "{told}");
    server.end().await;
}

#[tokio::test]
async fn a_change_of_accounts_is_made_as_a_whole_or_not_at_all() {
    let server = Guarded::open(|path| {
        let accounts = Accounts::open(path).unwrap();
        for name in ["ann", "bob"] {
            accounts.add_user(name, "correct horse", "root").unwrap();
        }
        accounts.grant(&Subject::User("ann".into()), &grant("admin"), "root").unwrap();
        accounts.grant(&Subject::User("bob".into()), &grant("viewer"), "root").unwrap();
        accounts.add_member("clerks", "bob", "root").unwrap();
    })
    .await;
    let (ann, bob) = (basic("ann", "correct horse"), basic("bob", "correct horse"));
    let before = (server.accounts().users().unwrap(), server.accounts().audited(None, 99).unwrap());
    // More patterns than searches can have conditions for.
    let many: Vec<String> = (0..60).map(|it| format!("read:p{it}")).collect();
    let body = serde_json::json!({ "password": "battery staple", "groups": ["ops"],
        "grants": many, "disabled": true });
    let refused = server.ask(&ann, "PUT /api/1/access/users/bob", &body.to_string()).await;
    assert!(refused.starts_with("HTTP/1.1 400") && refused.contains("not_done"), "{refused}");
    let body = serde_json::json!({ "grants": many }).to_string();
    let refused = server.ask(&ann, "PUT /api/1/access/keys/mailer", &body).await;
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
    let refused = server.ask(&ann, "PUT /api/1/access/groups/clerks", &body).await;
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
    assert_eq!(server.accounts().users().unwrap(), before.0);
    assert_eq!(server.accounts().keys().unwrap(), []);
    let logins = |all: Vec<travertine_server::Audited>| {
        all.into_iter().filter(|it| &*it.what != "login").collect::<Vec<_>>()
    };
    assert_eq!(logins(server.accounts().audited(None, 99).unwrap()), logins(before.1));
    assert_eq!(server.status(&bob).await, 200);
    // What goes makes room for what comes.
    let most: Vec<String> = (0..50).map(|it| format!("read:p{it}")).collect();
    let other: Vec<String> = (50..100).map(|it| format!("read:p{it}")).collect();
    for grants in [most, other] {
        let body = serde_json::json!({ "grants": grants }).to_string();
        let done = server.ask(&ann, "PUT /api/1/access/users/bob", &body).await;
        assert!(done.starts_with("HTTP/1.1 200"), "{done}");
    }
    server.end().await;
}
