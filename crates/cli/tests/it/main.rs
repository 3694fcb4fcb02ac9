//! The real binary, as people and programs call it.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod access;
mod batches;
mod bench;
mod check;
mod decide;
mod decisions;
mod docs;
mod draw;
mod eval;
mod friction;
mod full;
mod functions;
mod kept;
mod killed;
mod new;
mod page;
mod postgres;
mod run;
mod schedules;
mod serve;
mod served;
mod store;
mod tail;
mod webhooks;
mod workers;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use travertine_value::Value;

/// What came of calling the binary.
struct Called {
    status: i32,
    out: String,
    err: String,
}

impl Called {
    /// The document on standard output.
    fn json(&self) -> Value {
        let parsed = Value::parse_json(&self.out);
        parsed.unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

fn travertine(args: &[&str]) -> Called {
    travertine_with(args, "")
}

/// Calls the binary on the store in this directory.
fn travertine_at(args: &[&str], data: &str) -> Called {
    let mut command = command(args);
    finish(command.env("TRAVERTINE_DATA", data).spawn().unwrap(), "")
}

/// Calls the binary in the root of the repository, with this on its standard input.
fn travertine_with(args: &[&str], input: &str) -> Called {
    finish(command(args).spawn().unwrap(), input)
}

fn finish(mut child: Child, input: &str) -> Called {
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Called {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_travertine"));
    command
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env_remove("NO_COLOR")
        .env_remove("TRAVERTINE_DATA")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A file of that name with that content, and its path.
fn file(name: &str, content: &str) -> String {
    let path: PathBuf = [env!("CARGO_TARGET_TMPDIR"), name].iter().collect();
    fs::write(&path, content).unwrap();
    path.display().to_string()
}

/// A model with one process from a start event to an end event, through this.
fn process(inside: &str) -> String {
    model(&format!(
        r#"<process id="p" isExecutable="true">
             <startEvent id="start"/>
             <sequenceFlow id="in" sourceRef="start" targetRef="it"/>
             {inside}
             <sequenceFlow id="out" sourceRef="it" targetRef="end"/>
             <endEvent id="end"/>
           </process>"#
    ))
}

fn model(inside: &str) -> String {
    format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
                        xmlns:tv="urn:travertine:bpmn:1" targetNamespace="test">
             {inside}
           </definitions>"#
    )
}

#[test]
fn the_version_and_the_help_are_there() {
    let called = travertine(&["--version"]);
    assert_eq!(
        (called.status, &*called.out),
        (0, concat!("travertine ", env!("CARGO_PKG_VERSION"), "\n"))
    );
    for args in [
        &["--help"][..],
        &["check", "--help"],
        &["run", "--help"],
        &["eval", "--help"],
        &["decide", "--help"],
        &["start", "--help"],
        &["timers", "--help"],
        &["schedules", "--help"],
        &["schedules", "add", "--help"],
        &["migrate", "--help"],
        &["new", "--help"],
    ] {
        let called = travertine(args);
        assert_eq!(called.status, 0);
        assert!(called.out.contains("Examples:"), "{}", called.out);
    }
}

#[test]
fn nonsense_is_refused_with_the_usage() {
    for args in
        [&["frobnicate"][..], &["check"], &["run"], &["decide"], &["run", "x.bpmn", "--nope"]]
    {
        let called = travertine(args);
        assert_eq!(called.status, 2, "{args:?}");
        assert!(called.err.contains("Usage:"), "{}", called.err);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let mut child = command(&["check", "--json", "examples/order.bpmn"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
