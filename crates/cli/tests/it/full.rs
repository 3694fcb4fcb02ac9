//! A disk without room.

use std::process::Command;

/// Runs a script with a small file system at `$1` and the binary as `$2`. What it prints, where such a file
/// system can be mounted.
fn on_a_small_disk(script: &str) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let script = format!("mount -t tmpfs -o size=3000k none \"$1\" && echo mounted\n{script}");
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"])
        .arg(&disk)
        .arg(env!("CARGO_BIN_EXE_travertine"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .ok()?;
    let told = String::from_utf8(output.stdout).unwrap();
    told.starts_with("mounted").then_some(told)
}

#[test]
fn a_command_that_finds_no_room_says_so_and_loses_nothing() {
    let script = r#"
        data="$1/data"
        large=$(head -c 120000 /dev/zero | tr '\0' x)
        "$2" deploy examples/hello.bpmn --data "$data"
        "$2" start hello --var name=Ann --data "$data"
        free=$(df -k --output=avail "$1" | tail -1)
        dd if=/dev/zero of="$1/fill" bs=1k count=$((free - 250)) 2>/dev/null
        "$2" start hello --var "a=$large" --var "b=$large" --var "c=$large" --data "$data" 2>&1
        echo "status $?"
        dd if=/dev/zero of="$1/more" bs=1k count=9999 2>/dev/null
        "$2" backup "$1/copy" --data "$data" 2>&1
        echo "status $?"
        ls "$1/copy"
        rm "$1/fill" "$1/more"
        "$2" instances --data "$data"
        "$2" verify --data "$data"
        "$2" backup "$1/copy" --data "$data"
    "#;
    let Some(told) = on_a_small_disk(script) else {
        println!("skipped: a small file system cannot be mounted here");
        return;
    };
    assert!(told.contains("the store has no room left"), "{told}");
    assert!(told.contains("make room and try again"), "{told}");
    assert_eq!(told.matches("status 2").count(), 2, "{told}");
    assert!(!told.contains("unfinished"), "{told}");
    assert!(
        told.contains("hello       1        running"),
        "what was acknowledged is there: {told}"
    );
    assert!(told.contains("everything agrees") && told.contains("copied "), "{told}");
}
