//! Hostile models, expressions and data take neither the process nor the store nor what else is in it.

#![cfg(unix)] // The limit on memory is the shell's.

use std::{
    fmt::Write as _,
    io::Read as _,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use expect_test::{Expect, expect};
use travertine_testkit::hostile::{Group, cases};

const PROCESS: &str = env!("CARGO_BIN_EXE_hostile");

/// How much memory a case may ask for, in KiB.
const MEMORY_KIB: u64 = 3 << 20;

/// A case that has not answered by then hangs. It says nothing about how long one may take.
const HANGS: Duration = Duration::from_mins(5);

/// Waits for a process that may hang.
fn wait(child: &mut Child) -> Option<std::process::ExitStatus> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is a child") {
            return Some(status);
        }
        if began.elapsed() > HANGS {
            child.kill().expect("it is a child");
            child.wait().expect("it is a child");
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn fate(case: &str) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let script = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &script, PROCESS, case])
        .arg(dir.path().join("store"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let Some(status) = wait(&mut child) else { return "hangs".to_owned() };
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().expect("piped").read_to_string(&mut out).expect("it is a text");
    child.stderr.take().expect("piped").read_to_string(&mut err).expect("it is a text");
    if status.success() { out.trim_end().to_owned() } else { format!("{status}: {err}") }
}

fn held(groups: &[Group], expected: &Expect) {
    let mut found = String::new();
    for (_, case) in cases().iter().filter(|(group, _)| groups.contains(group)) {
        writeln!(found, "{}: {}", case.name, fate(case.name)).expect("it is a text");
    }
    expected.assert_eq(&found);
}

#[test]
fn instances_that_grow_loop_or_multiply_are_answered() {
    held(
        &[Group::Instances],
        &expect![[r"
        a-billion-tokens-at-once: incident
        a-billion-tokens-behind-a-timer: incident
        a-billion-tasks: incident
        a-billion-rounds-in-turn: halted
        a-billion-branches-by-data: incident
        calls-itself-ten-times: waits
        calls-itself-once: waits
        hears-its-own-signal: halted
        starts-itself-by-message: ended
        starts-itself-by-signal: ended
        two-that-start-each-other: ended
        a-timer-of-no-time: halted
        an-endless-loop: halted
        an-endless-loop-of-steps: halted
        a-large-text-rewritten: halted
        a-list-that-doubles: incident
        new-variables-for-ever: incident
        a-start-every-millisecond-a-year-late: waits
        a-cycle-a-year-late: waits
        an-error-that-is-thrown-for-ever: halted
    "]],
    );
}

#[test]
fn files_that_are_deep_wide_or_expand_are_answered() {
    held(
        &[Group::Files],
        &expect![[r"
        sub-processes-in-each-other: refused
        tasks-in-a-row: ended
        gateways-each-to-each: incident
        a-condition-of-brackets: refused
        a-script-of-many-names: ended
        decisions-in-a-chain: ended
        decisions-in-a-circle: refused
        decisions-in-a-lattice: ended
        knowledge-in-a-chain: incident
        types-that-double: ended
        types-in-a-chain: refused
        types-in-a-circle: ended
        boxes-in-each-other: refused
    "]],
    );
}

#[test]
fn data_and_expressions_without_measure_are_answered() {
    held(
        &[Group::Data, Group::Expressions],
        &expect![[r"
        a-deep-value: not started
        a-large-value: not started
        large-values-together: not started
        a-name-of-megabytes: not started
        a-million-names: not started
        a-list-as-wide-as-memory: incident
        javascript-that-searches: answered
        javascript-that-grows: answered
        javascript-that-loops: answered
        javascript-that-is-deep: answered
        feel-that-grows: answered
        juel-that-grows: answered
    "]],
    );
}
