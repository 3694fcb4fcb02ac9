//! A server that is killed in the middle of everything: what it has acknowledged is there, once.
//!
//! Clients do a mix of commands over REST. Again and again, after some number of answers, the server is killed with
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

use travertine_value::Value;

use super::{command, file, model, store::Store};

/// How many clients there are.
const CLIENTS: u64 = 3;

/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_mins(1);

fn setting(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

fn models() -> [String; 2] {
    let job = r#"<process id="work" isExecutable="true">
        <startEvent id="start"/><sequenceFlow id="a" sourceRef="start" targetRef="it"/>
        <serviceTask id="it" tv:jobType="work"/><sequenceFlow id="b" sourceRef="it" targetRef="end"/>
        <endEvent id="end"/></process>"#;
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
        let none = "127.0.0.1:0";
        let args =
            ["serve", "--data", data, "--listen", none, "--grpc-listen", none, "--manage", none];
        let mut child = command(&args).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let at = lines.by_ref().map(Result::unwrap).find_map(|line| {
            let (_, rest) = line.split_once("REST")?;
            let (_, rest) = rest.split_once("http://")?;
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
    exchange(at, method, path, body).unwrap_or(Answer::Unknown)
}

fn exchange(at: SocketAddr, method: &str, path: &str, body: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "{method} /v2{path} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\ncontent-type: application/json\r\n\
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

    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let Some(at) = self.server() else { return Answer::Unknown };
        let answer = ask(at, method, path, body);
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
        while !self.ended.load(Ordering::SeqCst) {
            count += 1;
            match dice(6) {
                0 | 1 => {
                    let process = if dice(2) == 0 { "work" } else { "wait" };
                    let id = format!("{process}-{number}-{count}");
                    let body = format!(
                        r#"{{"processDefinitionId": "{process}", "businessId": "{id}", "variables": {{"order": "{id}", "n": 0}}}}"#
                    );
                    self.start(&id, &body, &mut own);
                }
                2 | 3 => self.work(number),
                4 => {
                    let Some((id, _)) =
                        own.get(usize::try_from(dice(own.len().max(1) as u64)).unwrap())
                    else {
                        continue;
                    };
                    if id.starts_with("wait") {
                        self.pay(&id.clone());
                    }
                }
                _ => {
                    let Some((id, key)) =
                        own.get(usize::try_from(dice(own.len().max(1) as u64)).unwrap())
                    else {
                        continue;
                    };
                    self.set(&id.clone(), &key.clone(), count);
                }
            }
        }
    }

    fn start(&self, id: &str, body: &str, own: &mut Vec<(String, String)>) {
        let answer = self.ask("POST", "/process-instances", body);
        let mut notes = self.notes.lock().unwrap();
        match answer {
            Answer::Answered(200, it) => {
                let key = text(&it, "processInstanceKey");
                own.push((id.to_owned(), key.clone()));
                notes.started.insert(id.to_owned(), Some(key));
            }
            Answer::Answered(503, _) => {}
            Answer::Answered(502, _) | Answer::Unknown => {
                notes.started.insert(id.to_owned(), None);
            }
            Answer::Answered(status, it) => panic!("start: {status} {}", it.to_json()),
        }
    }

    fn work(&self, number: u64) {
        let body = format!(
            r#"{{"type": "work", "worker": "w{number}", "timeout": 1, "maxJobsToActivate": 2, "requestTimeout": -1}}"#
        );
        let Answer::Answered(200, it) = self.ask("POST", "/jobs/activation", &body) else { return };
        let Some(Value::List(jobs)) = it.field("jobs") else { panic!("{}", it.to_json()) };
        for job in jobs.iter() {
            let (key, instance) = (text(job, "jobKey"), text(job, "processInstanceKey"));
            let answer = self.ask(
                "POST",
                &format!("/jobs/{key}/completion"),
                r#"{"variables": {"done": true}}"#,
            );
            let mut notes = self.notes.lock().unwrap();
            match answer {
                Answer::Answered(204, _) => {
                    // Its lease is over at once, so that several have it; one of them completes it.
                    assert!(
                        notes.completed.insert(instance.clone()),
                        "{instance} was completed twice"
                    );
                }
                Answer::Answered(404 | 409 | 503, _) => {}
                Answer::Answered(502, _) | Answer::Unknown => {
                    notes.perhaps_completed.insert(instance);
                }
                Answer::Answered(status, it) => panic!("completion: {status} {}", it.to_json()),
            }
        }
    }

    fn pay(&self, id: &str) {
        let body = format!(
            r#"{{"name": "paid", "correlationKey": "{id}", "messageId": "{id}", "timeToLive": 3600000}}"#
        );
        let answer = self.ask("POST", "/messages/publication", &body);
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

    fn set(&self, id: &str, key: &str, value: u64) {
        let body = format!(r#"{{"variables": {{"n": {value}}}}}"#);
        let answer = self.ask("PUT", &format!("/element-instances/{key}/variables"), &body);
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
            match &*state {
                "COMPLETED" => assert!(is_surely || is_perhaps, "{id} was completed by nobody"),
                "ACTIVE" => assert!(!is_surely, "{id} was completed, and is not"),
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
