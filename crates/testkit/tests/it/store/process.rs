//! Other processes with the store open, and what they leave when they are killed.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Command, ExitStatus, Stdio},
};

use travertine_store::{CRASH_POINTS, Error, SqliteStore, sqlite, sqlite::Options};
use travertine_testkit::store_suite::load::{Acknowledged, run, verify};

use super::open;

const PROCESS: &str = env!("CARGO_BIN_EXE_store_process");

/// Runs a load in a process of its own, and hears what is acknowledged there.
fn write(
    command: &mut Command,
    dir: &Path,
    body: usize,
    batches: u64,
    acknowledged: &mut Acknowledged,
) -> (ExitStatus, String) {
    let numbers = [body.to_string(), batches.to_string()];
    let output = command.arg("write").arg(dir).args(numbers).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    told.lines().for_each(|line| acknowledged.hear(line));
    (output.status, told + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_process_killed_at_any_point_loses_nothing_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = Acknowledged::default();
    for point in CRASH_POINTS.iter().filter(|it| !it.starts_with("wal.")) {
        for nth in [1, 2] {
            let mut command = Command::new(PROCESS);
            command.env("TRAVERTINE_CRASH", format!("{point}:{nth}"));
            let (status, told) = write(&mut command, dir.path(), 300, 40, &mut acknowledged);
            assert_eq!(status.signal(), Some(9), "{point} was not passed {nth} times: {told}");
            verify(&open(dir.path()), &acknowledged);
        }
    }
    assert!(acknowledged.append > 100);
}

#[test]
fn a_process_killed_while_the_journal_is_moved_loses_nothing() {
    for point in CRASH_POINTS.iter().filter(|it| it.starts_with("wal.")) {
        let dir = tempfile::tempdir().unwrap();
        let mut acknowledged = Acknowledged::default();
        let mut command = Command::new(PROCESS);
        command.env("TRAVERTINE_CRASH", format!("{point}:1"));
        // Twenty are enough, unless the thread that moves it is held up.
        let (status, told) = write(&mut command, dir.path(), 300_000, 300, &mut acknowledged);
        assert_eq!(status.signal(), Some(9), "{point} was not passed: {told}");
        verify(&open(dir.path()), &acknowledged);
    }
}

#[test]
fn a_store_is_opened_by_one_process_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut holder = Command::new(PROCESS)
        .arg("hold")
        .arg(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "open\n");
    let refused = SqliteStore::open(dir.path(), &Options::default()).unwrap_err();
    let store = dir.path().display().to_string();
    let by = format!("process {}", holder.id());
    assert_eq!(refused, Error::InUse { store, holder: Some(by.clone()) });
    assert!(refused.to_string().contains(&by));
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    // It is free at once, and not opened twice by one process either.
    let _store = open(dir.path());
    let again = SqliteStore::open(dir.path(), &Options::default());
    assert!(matches!(again, Err(Error::InUse { .. })));
}

#[test]
fn a_copy_made_while_another_process_writes_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("store");
    let mut writer = Command::new(PROCESS)
        .args(["write".as_ref(), from.as_os_str(), "2000".as_ref(), "400".as_ref()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut acknowledged = Acknowledged::default();
    let mut copies = 0;
    while let Some(Ok(line)) = told.next() {
        acknowledged.hear(&line);
        if acknowledged.append / 150 > copies {
            copies += 1;
            let to = dir.path().join(format!("copy-{copies}"));
            sqlite::backup(&from, &to).unwrap();
            let copy = open(&to);
            // The views are made again.
            verify(&copy, &Acknowledged { checkpoint: 0, ..acknowledged });
            run(&copy, 100, 3, &mut |_, _| {}).unwrap();
        }
    }
    assert!(writer.wait().unwrap().success());
    assert!(copies > 4, "{copies}");
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("failing_sync.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/store/failing_sync.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .args([source, "-ldl"])
        .status();
    if !compiled.is_ok_and(|it| it.success()) {
        println!("skipped: there is no C compiler that can make a library to be loaded first");
        return;
    }
    let mut failed = 0;
    for at in (1..=60).step_by(3) {
        let dir = dir.path().join(at.to_string());
        let mut acknowledged = Acknowledged::default();
        let mut command = Command::new(PROCESS);
        command.env("LD_PRELOAD", &library).env("FAIL_SYNC_AT", at.to_string());
        let (status, told) = write(&mut command, &dir, 300, 30, &mut acknowledged);
        if !status.success()
            && let Some((before, after)) = told.split_once("then ")
        {
            failed += 1;
            assert!(after.starts_with("Err(Poisoned"), "sync {at}: {told}");
            assert!(!before.contains("Poisoned"), "sync {at}: {told}");
            assert!(told.lines().last().is_some_and(|it| it.starts_with("Poisoned")), "{told}");
        }
        verify(&open(&dir), &acknowledged);
        fs::remove_dir_all(&dir).unwrap();
    }
    assert!(failed > 5, "only {failed} writes failed");
}

#[test]
fn a_file_that_cannot_grow_poisons_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = Acknowledged::default();
    let mut command = Command::new("sh");
    // Ignored signals stay ignored, so that writing fails instead of ending the process.
    command.args(["-c", "trap '' XFSZ; ulimit -f 2000; exec \"$@\"", "sh", PROCESS]);
    let (status, told) = write(&mut command, dir.path(), 1_000, 1_000, &mut acknowledged);
    assert_eq!(status.code(), Some(1), "{told}");
    assert!(told.contains("then Err(Poisoned"), "{told}");
    assert!(acknowledged.append > 0);
    verify(&open(dir.path()), &acknowledged);
}

#[test]
fn a_full_disk_is_told_and_writing_goes_on_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let script =
        "mount -t tmpfs -o size=1600k none \"$1\" && echo mounted && exec \"$2\" fill \"$1\"";
    let child = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(dir.path())
        .arg(PROCESS)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut told = String::new();
    if let Ok(mut child) = child {
        child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
        child.wait().unwrap();
    }
    if !told.contains("mounted") {
        println!("skipped: a small file system cannot be mounted here");
        return;
    }
    assert!(told.contains("full: ") && told.contains("went on to "), "{told}");
}
