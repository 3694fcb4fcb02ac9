//! Commands on a store that another process has open: they give what they give without it.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    process::Child,
};

use super::{command, file, finish, process, store::Store};

/// `travertine work` on a store, until it is dropped.
struct Works(Child);

impl Works {
    fn on(store: &Store) -> Self {
        let mut works = command(&["work", "--quiet", "--data", &store.data()]).spawn().unwrap();
        let greeting =
            BufReader::new(works.stderr.take().unwrap()).lines().next().unwrap().unwrap();
        assert!(greeting.contains("Ctrl-C ends it"), "{greeting}");
        Self(works)
    }

    fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), signal).unwrap();
    }

    fn end(mut self) {
        self.signal(rustix::process::Signal::TERM);
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Works {
    fn drop(&mut self) {
        // A test that has failed leaves nothing behind.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The text without what differs between two stores: where they are, and when.
fn plain(text: &str, store: &Store) -> String {
    let text = text.replace(&store.data(), "DATA");
    let is_time = |word: &str| {
        let word = word.trim_matches(|it: char| !it.is_ascii_alphanumeric());
        word.starts_with("20") && word.contains('T') && word.ends_with('Z')
    };
    // `5s`, `231ms,`
    let is_span = |word: &str| {
        let unit = word.trim_start_matches(|it: char| it.is_ascii_digit()).trim_end_matches(',');
        unit.len() < word.len() && matches!(unit, "s" | "ms")
    };
    let word = |it: &&str| !is_span(it);
    let time = |it: &str| if is_time(it) { "TIME".to_owned() } else { it.to_owned() };
    text.lines()
        .map(|line| line.split(' ').filter(word).map(time).collect::<Vec<_>>().join(" "))
        .filter(|line| !line.contains(" ms, ") && !line.contains("KiB"))
        .collect::<Vec<_>>()
        .join("\n")
}

const TASK: &str = r#"<userTask id="it" name="Look at it"/>"#;

#[test]
fn commands_give_the_same_text_and_data_while_another_process_has_the_store() {
    let model = file("served.bpmn", &process(TASK));
    let (alone, shared) = (Store::with(&[&model]), Store::with(&[&model]));
    let works = Works::on(&shared);
    for args in [
        &["definitions"][..],
        &["deploy", "examples/hello.bpmn"],
        &["start", "p", "--id", "P-1", "--var", "amount=5"],
        &["start", "p", "--id", "P-1", "--var", "amount=6"],
        &["start", "hello", "--var", "name=Ann", "--wait"],
        &["start", "nothing"],
        &["instances"],
        &["show", "P-1"],
        &["show", "nobody"],
        &["tasks"],
        &["claim", "1-3", "Ann"],
        &["claim", "1-3", "Bob"],
        &["unclaim", "1-3"],
        &["set", "1", "--var", "amount=7"],
        &["suspend", "1"],
        &["complete", "1-3"],
        &["resume", "1"],
        &["message", "paid"],
        &["signal", "stop"],
        &["timers"],
        &["schedules"],
        &["complete", "1-3", "--vars", "-"],
        &["history", "P-1"],
        &["draw", "--instance", "1"],
        &["incidents"],
        &["delete", "1"],
        &["verify"],
    ] {
        for json in [false, true] {
            let mut args = args.to_vec();
            match (json, args[0]) {
                (true, "tasks" | "instances" | "show" | "incidents" | "timers" | "definitions") => {
                    args.push("--json");
                }
                (true, _) => continue,
                (false, _) => {}
            }
            let [expected, found] = [&alone, &shared].map(|store| {
                let mut command = command(&args);
                let child = command.env("TRAVERTINE_DATA", store.data()).spawn().unwrap();
                let called = finish(child, r#"{"note": "seen"}"#);
                (called.status, plain(&called.out, store), plain(&called.err, store))
            });
            assert_eq!(found, expected, "{args:?}");
        }
    }
    works.end();
    assert!(!Path::new(&shared.data()).join("control").exists());
    assert!(shared.text(&["definitions"]).contains("hello"));
}

#[test]
fn what_a_killed_process_leaves_behind_does_not_matter() {
    let store = Store::with(&["examples/hello.bpmn"]);
    let works = Works::on(&store);
    works.signal(rustix::process::Signal::KILL);
    drop(works);
    assert!(Path::new(&store.data()).join("control").exists());
    store.text(&["start", "hello", "--var", "name=Ann"]);
    let works = Works::on(&store);
    assert!(store.text(&["instances"]).contains("hello"));
    works.end();
}

#[test]
fn nonsense_at_the_socket_hurts_nobody() {
    let store = Store::with(&["examples/hello.bpmn"]);
    let works = Works::on(&store);
    for nonsense in [&b""[..], b"?", b"GET / HTTP/1.1\r\n\r\n", b"w\xff\xff\xff\xff", b"g\0\0\0\0"]
    {
        let mut stream = UnixStream::connect(Path::new(&store.data()).join("control")).unwrap();
        stream.write_all(nonsense).unwrap();
    }
    assert!(store.text(&["definitions"]).contains("hello"));
    works.end();
}

#[test]
fn a_store_with_a_long_path_is_shared_too() {
    let store = Store::empty();
    let data = format!("{}/{}", store.data(), "deep/".repeat(30));
    std::fs::create_dir_all(&data).unwrap();
    let call = |args: &[&str]| super::travertine_at(args, &data);
    assert_eq!(call(&["deploy", "examples/hello.bpmn"]).status, 0);
    let mut works = command(&["work", "--quiet", "--data", &data]).spawn().unwrap();
    let greeting = BufReader::new(works.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(greeting.contains("Ctrl-C ends it"), "{greeting}");
    let works = Works(works);
    let called = call(&["definitions"]);
    assert!(called.out.contains("hello"), "{}{}", called.out, called.err);
    works.end();
}

#[test]
fn who_finds_no_place_is_told_to_come_again() {
    let store = Store::with(&[&file("served-full.bpmn", &process(TASK))]);
    let works = Works::on(&store);
    let socket = Path::new(&store.data()).join("control");
    let silent: Vec<_> = (0..64).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let refused = store.call(&["start", "p"]);
    assert_eq!(refused.status, 2, "{}", refused.out);
    assert!(refused.err.contains("too many commands at once"), "{}", refused.err);
    drop(silent);
    works.end();
    assert_eq!(store.call(&["start", "p"]).status, 0);
}
