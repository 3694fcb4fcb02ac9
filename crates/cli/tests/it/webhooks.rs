//! A webhook over kills of the server and of its sink: every event comes, in order for each instance.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Duration,
};

use travertine_value::Value;

use super::{file, killed::Serves, model, store::Store};

const PATIENCE: Duration = Duration::from_mins(2);

const MODEL: &str = r#"<process id="short" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><task id="t"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#;

/// What a sink has taken: events by instance, each by its id, in the order in which they came first.
#[derive(Default)]
struct Taken {
    events: BTreeMap<String, Vec<String>>,
    ended: BTreeSet<String>,
    messages: usize,
}

#[derive(Default)]
struct Heard {
    taken: Mutex<Taken>,
    more: Condvar,
}

/// A sink that is there until it is dropped. Of every third message it takes what it says and hangs up: nobody can know.
struct Sink {
    at: SocketAddr,
    stop: Arc<Mutex<bool>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Sink {
    fn at(address: &str, heard: &Arc<Heard>) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let at = listener.local_addr().unwrap();
        let stop = Arc::new(Mutex::new(false));
        let (stopped, heard) = (Arc::clone(&stop), Arc::clone(heard));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if *stopped.lock().unwrap() {
                    return;
                }
                // Whoever hangs up comes again.
                let _: io::Result<()> = stream.and_then(|it| hear(it, &heard));
            }
        });
        Self { at, stop, thread: Some(thread) }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        *self.stop.lock().unwrap() = true;
        drop(TcpStream::connect(self.at));
        self.thread.take().unwrap().join().unwrap();
    }
}

fn hear(mut stream: TcpStream, heard: &Heard) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let Ok(Value::List(events)) = Value::parse_json(&String::from_utf8(body).unwrap()) else {
        panic!("it is a list")
    };
    let mut taken = heard.taken.lock().unwrap();
    for event in events.iter() {
        let of = |field| event.field(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (source, id, kind) = (of("source"), of("id"), of("type"));
        if kind == "travertine.ended" {
            taken.ended.insert(source.clone());
        }
        let all = taken.events.entry(source).or_default();
        if !all.contains(&id) {
            all.push(id);
        }
    }
    taken.messages += 1;
    let hangs_up = taken.messages.is_multiple_of(3);
    heard.more.notify_all();
    drop(taken);
    if hangs_up {
        return Ok(());
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn ask(at: SocketAddr, method: &str, path: &str, body: &str) -> Value {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "{method} /api/1{path} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
    Value::parse_json(body).unwrap()
}

/// Entry and place within it, out of the id of an event.
fn place(id: &str) -> (u64, u64) {
    let mut parts = id.split('-').skip(1).map(|it| it.parse().unwrap());
    (parts.next().unwrap(), parts.next().unwrap())
}

#[test]
fn every_event_comes_in_order_whoever_is_killed() {
    let store = Store::with(&[&file("short.bpmn", &model(MODEL))]);
    let data = store.data();
    let heard = Arc::new(Heard::default());
    let allow = ["--set", "connect.allow=127.0.0.1/32"];
    let mut sink = Some(Sink::at("127.0.0.1:0", &heard));
    let at = sink.as_ref().unwrap().at.to_string();
    let mut server = Some(Serves::with(&data, &allow));
    let wanted =
        format!(r#"{{"url": "http://{at}/in", "kinds": ["created", "token_moved", "ended"]}}"#);
    ask(server.as_ref().unwrap().at, "PUT", "/webhooks/sink", &wanted);
    let mut instances = Vec::new();
    for round in 0..4 {
        let here = server.as_ref().unwrap().at;
        for _ in 0..5 {
            let started = ask(here, "POST", "/instances", r#"{"definition": "short"}"#);
            instances.push(started.field("instance").and_then(Value::as_str).unwrap().to_owned());
        }
        match round {
            // The sink goes, and comes again while the server is not there.
            1 => drop(sink.take()),
            2 => sink = Some(Sink::at(&at, &heard)),
            _ => {}
        }
        // Killed, with whatever it was sending.
        drop(server.take());
        server = Some(Serves::with(&data, &allow));
    }
    let sources: BTreeSet<String> = instances.iter().map(|it| format!("/instances/{it}")).collect();
    let taken = heard.taken.lock().unwrap();
    let (taken, late) =
        heard.more.wait_timeout_while(taken, PATIENCE, |it| it.ended != sources).unwrap();
    assert!(!late.timed_out(), "{:?} of {sources:?}", taken.ended);
    for id in &instances {
        let seen = &taken.events[&format!("/instances/{id}")];
        let path = format!("/instances/{id}/events?limit=1000");
        let all = ask(server.as_ref().unwrap().at, "GET", &path, "");
        let Some(Value::List(all)) = all.field("events") else { panic!("{}", all.to_json()) };
        let is_told = |it: &&Value| {
            let kind = it.field("kind").and_then(Value::as_str).unwrap_or_default();
            ["created", "token_moved", "ended"].contains(&kind)
        };
        assert_eq!(seen.len(), all.iter().filter(is_told).count(), "{seen:?}");
        assert!(seen.iter().is_sorted_by_key(|it| place(it)), "{seen:?}");
    }
    drop(taken);
    drop(server);
    let listed = store.text(&["webhooks", "list"]);
    assert!(listed.contains("sink") && listed.contains("active"), "{listed}");
}
