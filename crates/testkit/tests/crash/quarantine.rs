//! What takes the process with it is not done again and again.

use std::{
    fmt::Write as _,
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use expect_test::{Expect, expect};

const PROCESS: &str = env!("CARGO_BIN_EXE_quarantine");

/// A process that has not ended by then hangs. It says nothing about how long one may take.
const HANGS: Duration = Duration::from_mins(5);

/// Has a process take a step. Says what it said; nothing where it died.
fn step(dir: &Path, shards: u16, kind: &str, step: &str) -> Option<String> {
    let mut child = Command::new(PROCESS)
        .arg(dir)
        .args([&shards.to_string(), kind, step])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("there is a process");
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is a child") {
            break status;
        }
        if began.elapsed() > HANGS {
            child.kill().expect("it is a child");
            child.wait().expect("it is a child");
            panic!("{step} of {kind} hangs");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let mut said = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut said).expect("it is a text");
    status.success().then_some(said)
}

/// Prepares a store, opens it as often as the process dies of it, looks, and has all of it tried again.
fn story(shards: u16, kind: &str) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path().join("store");
    let act = |name: &str| step(&dir, shards, kind, name);
    act("prepare").expect("it is prepared");
    let mut told = String::new();
    let mut deaths = 0;
    for death in 1.. {
        if let Some(said) = act("go") {
            writeln!(told, "{said}").expect("it is a text");
            break;
        }
        assert!(death < 20, "it dies again and again");
        deaths = death;
    }
    // Of many things that were noted together nobody knows which it was, so that death does not count.
    assert!((2..=12).contains(&deaths), "it died {deaths} times");
    // Whoever opens it next goes on as well.
    let again = act("go").expect("it does not die of it any more");
    assert!(told.contains(&again), "{again}");
    writeln!(told, "{}", act("repair").expect("nothing dies")).expect("it is a text");
    told.trim_end().to_owned()
}

/// Has a story on one shard and on several, and compares what they tell.
fn stories(kind: &str, expected: &Expect) {
    let told = story(1, kind);
    expected.assert_eq(&told);
    assert_eq!(story(3, kind), told);
}

#[test]
fn an_instance_whose_timer_takes_the_process_with_it_is_halted() {
    stories(
        "timer",
        &expect![[r"
        bad Halted: the process died 2 times during the same turn of this instance, while what wait 3 waited for happened: find out what became of memory, stack or native code; then resolve it, and it is tried again; or cancel it, or change its variables or where its tokens are
        good Running at good_done
        good Running at good_done
        good Running at good_done

        bad Running at bad_done
        good Running at good_done
        good Running at good_done
        good Running at good_done"]],
    );
}

#[test]
fn a_start_timer_that_takes_the_process_with_it_is_a_dead_letter() {
    stories(
        "start-timer",
        &expect![[r"
        dead letter: bad cannot be started at bad_s: the process died 2 times while bad was started for this, which is not done again by itself: find out what became of memory, stack or native code, then have it tried again
        good Running at good_done
        good Running at good_done
        good Running at good_done

        bad Running at bad_done
        good Running at good_done
        good Running at good_done
        good Running at good_done"]],
    );
}

#[test]
fn a_message_whose_start_takes_the_process_with_it_is_a_dead_letter() {
    stories(
        "message",
        &expect![[r"
        dead letter: the process died 2 times while bad was started for this, which is not done again by itself: find out what became of memory, stack or native code, then have it tried again
        good Running at good_done
        good Running at good_done
        good Running at good_done
        sender Running at sender_done

        bad Running at bad_done
        good Running at good_done
        good Running at good_done
        good Running at good_done
        sender Running at sender_done"]],
    );
}

#[test]
fn a_signal_whose_start_takes_the_process_with_it_is_a_dead_letter() {
    stories(
        "signal",
        &expect![[r"
        dead letter: bad cannot be started at bad_s: the process died 2 times while bad was started for this, which is not done again by itself: find out what became of memory, stack or native code, then have it tried again
        good Running at good_done
        good Running at good_done
        good Running at good_done
        sender Running at sender_done

        bad Running at bad_done
        good Running at good_done
        good Running at good_done
        good Running at good_done
        sender Running at sender_done"]],
    );
}

#[test]
fn a_call_that_takes_the_process_with_it_is_an_incident_of_its_caller() {
    stories(
        "call",
        &expect![[r"
        caller Running: the process died 2 times while bad was started for this, which is not done again by itself: find out what became of memory, stack or native code, then have it tried again
        good Running at good_done
        good Running at good_done
        good Running at good_done

        bad Running at bad_done
        caller Running
        good Running at good_done
        good Running at good_done
        good Running at good_done"]],
    );
}

#[test]
fn an_instance_that_goes_on_and_takes_the_process_with_it_is_halted() {
    stories(
        "loop",
        &expect![[r"
        bad Halted: the process died 2 times during the same turn of this instance, while it went on: find out what became of memory, stack or native code; then resolve it, and it is tried again; or cancel it, or change its variables or where its tokens are
        good Running at good_done
        good Running at good_done
        good Running at good_done

        bad Running at bad_done
        good Running at good_done
        good Running at good_done
        good Running at good_done"]],
    );
}

#[test]
fn a_function_whose_code_takes_the_process_with_it_is_halted() {
    stories(
        "function",
        &expect![[r"
        good Running at good_done
        good Running at good_done
        good Running at good_done
        sleeper Halted: the process died 2 times during the same turn of this instance, while what wait 3 waited for happened: find out what became of memory, stack or native code; then resolve it, and it is tried again; or cancel it, or change its variables or where its tokens are

        good Running at good_done
        good Running at good_done
        good Running at good_done
        sleeper Completed"]],
    );
}

#[test]
fn a_function_that_dies_of_what_an_activity_brings_is_halted() {
    stories(
        "outcome",
        &expect![[r"
        asker Halted: the process died 2 times during the same turn of this instance, while what wait 4 waited for happened: find out what became of memory, stack or native code; then resolve it, and it is tried again; or cancel it, or change its variables or where its tokens are
        good Running at good_done
        good Running at good_done
        good Running at good_done

        asker Completed
        good Running at good_done
        good Running at good_done
        good Running at good_done"]],
    );
}

#[test]
fn a_function_whose_activity_takes_the_process_with_it_is_halted() {
    stories(
        "activity",
        &expect![[r"
        employer Completed
        employer Completed
        employer Halted: the process died 2 times while the activity deadly was at work: find out what became of memory, stack or native code; then resolve it, and it is tried again; or cancel it
        good Running at good_done
        good Running at good_done
        good Running at good_done

        employer Completed
        employer Completed
        employer Completed
        good Running at good_done
        good Running at good_done
        good Running at good_done"]],
    );
}

#[test]
fn an_activity_of_a_process_that_takes_the_program_with_it_is_an_incident() {
    stories(
        "worker",
        &expect![[r"
        client Running: the process died 2 times while the activity deadly was at work: find out what became of memory, stack or native code; then retry it
        good Running at good_done
        good Running at good_done
        good Running at good_done

        client Running at client_done
        good Running at good_done
        good Running at good_done
        good Running at good_done"]],
    );
}

#[test]
fn an_instance_that_dies_of_what_someone_asks_is_halted_once_that_is_asked_again_and_again() {
    stories(
        "asked",
        &expect![[r"
        bad Halted at ask: the process died 2 times during the same turn of this instance, while what wait 3 waited for happened: find out what became of memory, stack or native code; then resolve it, and it is tried again; or cancel it, or change its variables or where its tokens are
        good Running at good_done
        good Running at good_done
        good Running at good_done

        bad Running at ask
        good Running at good_done
        good Running at good_done
        good Running at good_done"]],
    );
}

#[test]
fn whoever_looks_between_two_deaths_does_not_make_them_forgotten() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path().join("store");
    let act = |name: &str| step(&dir, 2, "timer", name);
    act("prepare").expect("it is prepared");
    // The first note may tell of several timers, which proves nothing.
    for _ in 0..4 {
        let looked = act("look").expect("nothing goes on");
        assert!(looked.contains("bad Running"), "{looked}");
        assert_eq!(act("go"), None);
        if act("look").expect("nothing goes on").contains("bad Halted") {
            break;
        }
    }
    let looked = act("look").expect("nothing goes on");
    assert!(looked.contains("bad Halted: the process died 2 times"), "{looked}");
    act("go").expect("it is halted already");
}
