//! `travertine serve`: its configuration, and a store that is served.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command},
    sync::mpsc,
};

use travertine_value::Value;

use super::{command, file, store::Store, travertine, travertine_with};

/// `travertine serve` on a store, until it is dropped.
pub(super) struct Serves {
    child: Child,
    /// Where REST is.
    at: String,
    /// What it says after that.
    says: mpsc::Receiver<String>,
}

impl Serves {
    fn on(store: &Store, more: &[&str]) -> Self {
        let any = "127.0.0.1:0";
        let data = store.data();
        let args =
            ["serve", "--data", &data, "--listen", any, "--grpc-listen", any, "--manage", any];
        Self::begin(command(&[&args, more].concat()))
    }

    /// Runs it, and waits until it says where it is.
    pub(super) fn begin(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let rest = lines.find(|it| it.trim_start().starts_with("REST")).unwrap();
        let at = rest.rsplit("http://").next().unwrap().trim_end_matches("/v2").to_owned();
        // What it says further is read, so that it never waits for a reader.
        let (say, says) = mpsc::channel();
        std::thread::spawn(move || lines.for_each(|it| drop(say.send(it))));
        Self { child, at, says }
    }

    /// Sends SIGHUP, and answers with what it says to that.
    fn hang_up(&mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
        self.says.iter().find(|it| it.contains("configuration")).unwrap()
    }

    pub(super) fn ask(&self, first: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.at).unwrap();
        let length = body.len();
        let request = format!(
            "{first} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub(super) fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Serves {
    fn drop(&mut self) {
        // A test that has failed leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_store_is_served_and_other_commands_reach_it() {
    let store = Store::empty();
    let serves = Serves::on(&store, &["--sample"]);
    let body = r#"{"processDefinitionId": "hello", "variables": {"name": "Ann"}}"#;
    let answer = serves.ask("POST /v2/process-instances", body);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let shown = store.call(&["show", "1"]);
    assert!(shown.status == 0 && shown.out.contains("greet"), "{}{}", shown.out, shown.err);
    serves.end();
    // What was answered is there after it, too.
    let shown = store.call(&["show", "1"]);
    assert!(shown.status == 0 && shown.out.contains("greet"), "{}{}", shown.out, shown.err);
}

#[test]
fn what_was_answered_survives_a_kill() {
    let store = Store::empty();
    let serves = Serves::on(&store, &["--sample"]);
    let answer = serves.ask("POST /v2/process-instances", r#"{"processDefinitionId": "hello"}"#);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(serves);
    let serves = Serves::on(&store, &[]);
    let answer = serves.ask("GET /v2/process-instances/1", "");
    assert!(answer.contains(r#""state":"ACTIVE""#), "{answer}");
    serves.end();
}

#[test]
fn a_configuration_is_printed_checked_and_refused() {
    let printed = travertine(&["serve", "--print-config", "--set", "limits.body=1MiB"]);
    assert!(printed.status == 0 && printed.out.contains("body = 1048576"), "{}", printed.out);
    let config = file("serve.toml", &printed.out);
    let checked = travertine(&["serve", "--config", &config, "--check-config"]);
    assert_eq!((checked.status, &*checked.out), (0, "the configuration is right\n"));
    let again = travertine(&["serve", "--config", &config, "--print-config"]);
    assert_eq!(again.out, printed.out);
    let wrong = file("serve-wrong.toml", "[limits]\nbodi = 1\n");
    let refused = travertine(&["serve", "--config", &wrong, "--check-config"]);
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("do you mean limits.body?"), "{}", refused.err);
    let refused = travertine(&["serve", "--set", "limits.body", "--check-config"]);
    assert!(refused.status == 2 && refused.err.contains("KEY=VALUE"), "{}", refused.err);
}

#[test]
fn other_machines_are_served_only_after_a_login() {
    let store = Store::empty();
    let data = store.data();
    let everywhere = ["serve", "--data", &data, "--listen", "0.0.0.0:0", "--manage", "off"];
    let refused = travertine(&[&everywhere[..], &["--grpc-listen", "off"]].concat());
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("without login"), "{}", refused.err);
    // What is printed for a new key can be put into the configuration, and lets in who has the key.
    let key = travertine(&["serve", "--new-key", "worker"]);
    let (first, lines) = key.out.split_once('\n').unwrap();
    let config = file("serve-key.toml", lines.split_once('\n').unwrap().1);
    let serves = Serves::on(&store, &["--config", &config]);
    assert!(serves.ask("GET /v2/topology", "").starts_with("HTTP/1.1 401"));
    let text = first.rsplit(' ').next().unwrap();
    let with_key = format!("GET /v2/topology HTTP/1.1\r\nauthorization: Bearer {text}\r\nx:");
    let answer = serves.ask(&with_key, "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    serves.end();
    let hashed = travertine_with(&["serve", "--hash-password"], "correct horse\n");
    assert!(hashed.out.starts_with("$argon2id$v=19$"), "{}", hashed.out);
    assert!(!hashed.out.contains("horse"));
}

#[test]
fn the_configuration_is_read_again_when_asked_to() {
    let store = Store::empty();
    let drawn = |id: &str| {
        let key = travertine(&["serve", "--new-key", id]);
        let (first, lines) = key.out.split_once('\n').unwrap();
        (first.rsplit(' ').next().unwrap().to_owned(), lines.split_once('\n').unwrap().1.to_owned())
    };
    let ((first, first_lines), (second, second_lines)) = (drawn("one"), drawn("two"));
    let config = file("serve-again.toml", &first_lines);
    let mut serves = Serves::on(&store, &["--config", &config]);
    let answers = |serves: &Serves, key: &str| {
        let with_key = format!("GET /v2/topology HTTP/1.1\r\nauthorization: Bearer {key}\r\nx:");
        serves.ask(&with_key, "").split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!((&*answers(&serves, &first), &*answers(&serves, &second)), ("200", "401"));
    file("serve-again.toml", "[limits]\nbodi = 1\n");
    assert!(serves.hang_up().contains("do you mean limits.body?"));
    assert_eq!((&*answers(&serves, &first), &*answers(&serves, &second)), ("200", "401"));
    file("serve-again.toml", &second_lines);
    assert!(serves.hang_up().contains("was read again"));
    assert_eq!((&*answers(&serves, &first), &*answers(&serves, &second)), ("401", "200"));
    serves.end();
}

/// What is answered, without its head.
fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn the_native_api_says_what_the_command_line_prints() {
    let store = Store::with(&["examples/order.bpmn", "examples/hello.bpmn"]);
    for args in [
        &["start", "order", "--id", "ORD-7", "--var", "amount=250"][..],
        &["complete", "1-3", "--var", "shelf=B7"],
        &["start", "hello", "--var", "name=Ann"],
    ] {
        assert_eq!(store.call(args).status, 0, "{args:?}");
    }
    let serves = Serves::on(&store, &[]);
    let get = |path: &str| {
        let answer = serves.ask(&format!("GET /api/1{path}"), "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        Value::parse_json(body(&answer)).unwrap()
    };
    let printed = |args: &[&str]| store.call(&[args, &["--json"]].concat()).json();
    for entry in ["1", "2"] {
        let args = ["history", "1", "--at", entry];
        assert_eq!(get(&format!("/instances/1/at/{entry}")), printed(&args), "{entry}");
    }
    assert_eq!(get("/instances/ORD-7/history"), printed(&["history", "1"]));
    for (path, field) in [
        ("/instances", "instances"),
        ("/jobs", "jobs"),
        ("/timers", "timers"),
        ("/tasks", "tasks"),
        ("/definitions", "definitions"),
    ] {
        let (told, printed) = (get(path), printed(&[field]));
        let rows = |it: &Value| it.field(field).unwrap().as_list().unwrap().to_vec();
        let (told, printed) = (rows(&told), rows(&printed));
        assert_eq!(told.len(), printed.len(), "{path}");
        for (told, printed) in told.iter().zip(&printed) {
            for (name, value) in printed.as_map().unwrap() {
                assert_eq!(told.field(name), Some(value), "{path} {name}");
            }
        }
    }
    let (shown, why) = (printed(&["show", "1"]), get("/instances/1/why"));
    let (shown, why) = (shown.field("waits").unwrap(), why.field("waits").unwrap());
    for (told, printed) in why.as_list().unwrap().iter().zip(shown.as_list().unwrap()) {
        for (name, value) in printed.as_map().unwrap() {
            // The command line names the store besides.
            let (told, value) = (told.field(name).unwrap(), value);
            match (told.as_str(), value.as_str()) {
                (Some(told), Some(value)) => assert!(value.starts_with(told), "{value} {told}"),
                _ => assert_eq!(told, value, "{name}"),
            }
        }
    }
    let picture = serves.ask("GET /api/1/instances/1/picture", "");
    let drawn = travertine(&["draw", "--instance", "1", "--data", &store.data()]);
    assert_eq!(body(&picture).trim_end(), drawn.out.trim_end());
    serves.end();
}
