//! Workers that are commands.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::Command,
};

use travertine_value::Value;

use super::{
    command, file,
    killed::Serves,
    model, process,
    store::{Store, list, text},
};

fn one_job(retries: u32) -> String {
    process(&format!(r#"<serviceTask id="it" tv:jobType="charge" tv:retries="{retries}"/>"#))
}

/// A store with one process of one job, whose instance has been started.
fn started(name: &str, retries: u32) -> Store {
    let store = Store::with(&[&file(&format!("workers-{name}.bpmn"), &one_job(retries))]);
    store.text(&["start", "p", "--id", "P-1", "--var", "amount=5"]);
    store
}

fn worker(script: &str) -> String {
    format!("charge={script}")
}

fn state(store: &Store) -> String {
    text(&store.json(&["show", "1"]), "state")
}

#[test]
fn a_command_reads_the_job_as_json_and_brings_variables() {
    let store = started("reads", 3);
    let seen = store.path("seen.json");
    let script = worker(&format!(r#"cat >'{seen}'; echo "{{\"receipt\": \"$TRAVERTINE_JOB\"}}""#));
    let worked = store.text(&["work", "--until-idle", "--worker", &script]);
    assert!(worked.contains("completed"), "{worked}");
    assert_eq!(state(&store), "completed");
    let shown = store.json(&["show", "1"]);
    assert_eq!(shown.field("variables").unwrap().field("receipt"), Some(&"1-3".into()));
    let seen = Value::parse_json(&fs::read_to_string(seen).unwrap()).unwrap();
    assert_eq!((text(&seen, "job"), text(&seen, "type")), ("1-3".into(), "charge".into()));
    assert_eq!((text(&seen, "business_id"), text(&seen, "element")), ("P-1".into(), "it".into()));
    assert_eq!(seen.field("variables").unwrap().to_json(), r#"{"amount":5}"#);
}

#[test]
fn a_command_that_reads_and_prints_nothing_is_done_too() {
    let store = started("silent", 3);
    store.text(&["work", "--until-idle", "--quiet", "--worker", "charge=true"]);
    assert_eq!(state(&store), "completed");
}

#[test]
fn a_command_that_fails_costs_a_retry_and_says_why() {
    let store = started("fails", 1);
    store.text(&["work", "--until-idle", "--worker", "charge=echo no net >&2; exit 1"]);
    let incidents = list(&store.json(&["incidents"]), "incidents");
    assert_eq!(text(&incidents[0], "message"), "no net");
    for (script, expected) in [
        ("exit 7", "it ended with exit status: 7"),
        ("exit 100", "it ended with exit status: 100"),
        ("echo '[1]'", "what it prints cannot be used"),
        ("echo '{'", "what it prints cannot be used: this is not JSON"),
        ("kill -9 $$", "signal: 9"),
    ] {
        store.call(&["resolve", "1"]);
        store.text(&["retries", &job(&store), "1"]);
        store.text(&["work", "--until-idle", "--worker", &worker(script)]);
        let incidents = list(&store.json(&["incidents"]), "incidents");
        assert!(text(&incidents[0], "message").contains(expected), "{script}: {incidents:?}");
    }
}

fn job(store: &Store) -> String {
    text(&list(&store.json(&["jobs"]), "jobs")[0], "job")
}

#[test]
fn a_command_raises_an_error_for_the_model() {
    let caught = model(
        r#"<error id="e" errorCode="no-stock"/>
           <process id="p" isExecutable="true">
             <startEvent id="start"/>
             <sequenceFlow id="f1" sourceRef="start" targetRef="it"/>
             <serviceTask id="it" tv:jobType="charge"/>
             <sequenceFlow id="f2" sourceRef="it" targetRef="end"/>
             <endEvent id="end"/>
             <boundaryEvent id="caught" attachedToRef="it"><errorEventDefinition errorRef="e"/></boundaryEvent>
             <sequenceFlow id="f3" sourceRef="caught" targetRef="ask"/>
             <userTask id="ask"/>
           </process>"#,
    );
    let store = Store::with(&[&file("workers-raises.bpmn", &caught)]);
    store.text(&["start", "p"]);
    let script =
        r#"echo '{"code": "no-stock", "message": "none", "variables": {"left": 0}}'; exit 100"#;
    store.text(&["work", "--until-idle", "--worker", &worker(script)]);
    let tasks = list(&store.json(&["tasks"]), "tasks");
    assert_eq!(text(&tasks[0], "element"), "ask");
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_it_has_started() {
    // A slow machine may not even get as far as to write the file in the first of these.
    for (timeout, said) in [("300ms", "0.3 s"), ("10s", "10 s"), ("5m", "300 s")] {
        let store = started("late", 1);
        let pid = store.path("pid");
        let script = worker(&format!("sleep 1000 & echo $! >'{pid}'; wait"));
        let timeout = ["--job-timeout", timeout];
        store.text(&[&["work", "--until-idle", "--worker", &script][..], &timeout].concat());
        let incidents = list(&store.json(&["incidents"]), "incidents");
        let message = text(&incidents[0], "message");
        assert_eq!(message, format!("it took longer than {said} and was ended"));
        if fs::read_to_string(&pid).is_ok_and(|it| it.ends_with('\n')) {
            assert!(is_gone(&pid));
            return;
        }
    }
    panic!("it never came to write its number");
}

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    let store = started("leaves", 1);
    let pid = store.path("pid");
    let script = worker(&format!("sleep 1000 & echo $! >'{pid}'"));
    store.text(&["work", "--until-idle", "--worker", &script]);
    assert_eq!(state(&store), "completed");
    assert!(is_gone(&pid));
}

/// Whether a process is gone whose number is in this file.
fn is_gone(pid: &str) -> bool {
    let pid = fs::read_to_string(pid).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    // Whoever adopts it may not have buried it yet.
    stat.map_or(true, |it| it.contains(") Z "))
}

#[test]
fn a_shutdown_ends_commands_and_their_jobs_count_as_not_begun() {
    let store = started("shutdown", 3);
    let (pid, begun) = (store.path("pid"), store.path("begun"));
    assert!(Command::new("mkfifo").arg(&begun).status().unwrap().success());
    let script = worker(&format!("sleep 1000 & echo $! >'{pid}'; echo >'{begun}'; wait"));
    let mut works =
        command(&["work", "--worker", &script, "--data", &store.data()]).spawn().unwrap();
    // Answers when the command has written to it.
    assert_eq!(fs::read_to_string(begun).unwrap(), "\n");
    let process = rustix::process::Pid::from_child(&works);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    let lines = BufReader::new(works.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said: Vec<String> = lines.collect();
    assert!(works.wait().unwrap().success());
    assert!(!said.iter().any(|it| it.contains("fail")), "{said:?}");
    assert!(is_gone(&pid));
    let jobs = list(&store.json(&["jobs"]), "jobs");
    assert_eq!(
        (text(&jobs[0], "state"), jobs[0].field("retries")),
        ("available".into(), Some(&3.into()))
    );
    store.text(&["work", "--until-idle", "--worker", "charge=true"]);
    assert_eq!(state(&store), "completed");
}

#[test]
fn no_more_commands_run_at_once_than_may() {
    let store = Store::with(&[&file("workers-many.bpmn", &one_job(1))]);
    for _ in 0..6 {
        store.text(&["start", "p"]);
    }
    let (lock, both) = (store.path("lock"), store.path("both"));
    let script = worker(&format!("mkdir '{lock}' || echo >'{both}'; rmdir '{lock}'"));
    store.text(&["work", "--until-idle", "--worker", &script, "--at-once", "1"]);
    assert!(!fs::exists(both).unwrap());
    assert_eq!(store.text(&["jobs"]), "no jobs\n");
}

#[test]
fn a_command_that_gives_up_leaves_an_incident_at_once() {
    let store = started("gives-up", 3);
    store.text(&["work", "--until-idle", "--worker", "charge=echo no such card >&2; exit 101"]);
    let incidents = list(&store.json(&["incidents"]), "incidents");
    assert_eq!(text(&incidents[0], "message"), "no such card");
}

#[test]
fn a_worker_does_the_jobs_of_a_store_that_nobody_has_open() {
    let store = started("worker", 3);
    let args =
        ["worker", "charge", "--until-idle", "--", "jq", "-c", "{receipt: .variables.amount}"];
    let script = ["worker", "charge", "--until-idle", "--", "sh", "-c", r#"echo '{"receipt": 5}'"#];
    // Its words are no line for a shell.
    let has_jq = Command::new("jq").arg("--version").output().is_ok();
    store.text(if has_jq { &args } else { &script });
    let shown = store.json(&["show", "1"]);
    assert_eq!(shown.field("variables").unwrap().field("receipt"), Some(&5.into()));
}

#[test]
fn a_worker_does_the_jobs_of_a_server() {
    let store = started("remote", 3);
    store.text(&["start", "p", "--id", "P-2", "--var", "amount=0"]);
    let serves = Serves::on(&store.data());
    let server = format!("http://{}", serves.at);
    let script = r#"read job; case "$job" in *'"amount":5'*) echo '{"receipt": 1}';; *) echo no money >&2; exit 101;; esac"#;
    let args = ["worker", "charge", "--server", &server, "--until-idle", "--", "sh", "-c", script];
    let worked = super::travertine(&args);
    assert_eq!(worked.status, 0, "{}{}", worked.out, worked.err);
    assert!(worked.out.contains("completed") && worked.out.contains("no money"), "{}", worked.out);
    let shown = store.json(&["show", "P-1"]);
    assert_eq!(shown.field("variables").unwrap().field("receipt"), Some(&1.into()));
    let incidents = list(&store.json(&["incidents"]), "incidents");
    assert_eq!(text(&incidents[0], "message"), "no money");
    // Where no server is named, the one that has the store open says where it is.
    let called = store.call(&["worker", "other", "--until-idle", "--", "true"]);
    assert!(called.status == 0 && called.err.contains(&server), "{}", called.err);
}

#[test]
fn a_worker_does_the_jobs_of_a_server_whose_certificate_it_trusts() {
    let store = started("tls", 3);
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let (cert, key) = (store.path("cert.pem"), store.path("key.pem"));
    fs::write(&cert, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let tls = [format!("listen.tls_cert={cert}"), format!("listen.tls_key={key}")];
    let serves = Serves::with(&store.data(), &["--set", &tls[0], "--set", &tls[1]]);
    let server = format!("https://{}", serves.at);
    let work = |more: &[&str]| {
        let args = ["worker", "charge", "--server", &server, "--until-idle"];
        super::travertine(&[&args[..], more, &["--", "true"]].concat())
    };
    let stranger = work(&[]);
    assert_eq!(stranger.status, 2, "{}", stranger.err);
    assert!(stranger.err.contains("--ca FILE"), "{}", stranger.err);
    let absent = work(&["--ca", &store.path("none.pem")]);
    assert!(absent.status == 2 && absent.err.contains("none.pem"), "{}", absent.err);
    let empty = work(&["--ca", &key]);
    assert!(empty.status == 2 && empty.err.contains("no certificate"), "{}", empty.err);
    let worked = work(&["--ca", &cert]);
    assert_eq!(worked.status, 0, "{}{}", worked.out, worked.err);
    assert_eq!(text(&store.json(&["show", "1"]), "state"), "completed");
}
