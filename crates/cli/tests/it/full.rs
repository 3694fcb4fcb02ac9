//! A disk without room.

use std::process::Command;

/// Runs a script with a small file system at `$1` and the binary as `$2`. What it prints, where such a file
/// system can be mounted.
fn on_a_small_disk(script: &str) -> Option<String> {
    on_a_disk("3000k", script)
}

/// Runs a script as [`on_a_small_disk`] does, on a file system of this size.
fn on_a_disk(size: &str, script: &str) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let script = format!("mount -t tmpfs -o size={size} none \"$1\" && echo mounted\n{script}");
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
    // Neither was done, and whoever asked is told so.
    assert_eq!(told.matches("status 2").count(), 2, "{told}");
    assert!(!told.contains("unfinished"), "{told}");
    assert!(
        told.contains("hello       1        running"),
        "what was acknowledged is there: {told}"
    );
    assert!(told.contains("everything agrees") && told.contains("copied "), "{told}");
    assert!(told.contains(" 1 instance and "), "{told}");
}

#[test]
fn a_store_on_a_full_disk_can_be_looked_at_and_emptied() {
    let script = r#"
        data="$1/data"
        large=$(head -c 100000 /dev/zero | tr '\0' x)
        "$2" deploy examples/hello.bpmn --data "$data"
        for n in 1 2 3 4; do "$2" start hello --id "i$n" --var "a=$large" --data "$data" >/dev/null; done
        dd if=/dev/zero of="$1/fill" bs=1k count=99999 2>/dev/null
        df -k --output=avail "$1" | tail -1
        for command in instances "show i1" stats verify; do
            "$2" $command --data "$data" >"$1/../told" 2>&1; echo "$command: status $?"
        done
        "$2" start hello --data "$data" 2>&1; echo "start: status $?"
        "$2" cancel i1 i2 i3 i4 --data "$data" 2>&1; echo "cancel: status $?"
        "$2" delete i1 i2 i3 --data "$data" 2>&1; echo "delete: status $?"
        "$2" compact --data "$data" 2>&1; echo "compact: status $?"
        df -k --output=avail "$1" | tail -1
        rm "$1/fill"
        "$2" instances --data "$data"
        "$2" verify --data "$data"
    "#;
    let Some(told) = on_a_disk("12m", script) else {
        println!("skipped: a small file system cannot be mounted here");
        return;
    };
    for command in ["instances", "show i1", "stats", "verify", "cancel", "delete", "compact"] {
        assert!(told.contains(&format!("{command}: status 0")), "{command}: {told}");
    }
    assert!(told.contains("start: status 2") && told.contains("make room"), "{told}");
    assert!(told.contains("i4") && !told.contains("hello 1 \"i1\""), "{told}");
    assert!(told.contains("everything agrees"), "{told}");
}

#[test]
fn a_store_that_has_filled_the_disk_itself_can_be_looked_at_and_emptied() {
    // Rows of what came last do not fit any more, or just so.
    let script = r#"
        data="$1/data"
        "$2" deploy examples/hello.bpmn --data "$data" >/dev/null
        large=$(head -c SIZE /dev/zero | tr '\0' x)
        n=0
        while "$2" start hello --id "i$n" --var "a=$large" --data "$data" >/dev/null 2>&1; do n=$((n + 1)); done
        echo "started $n"
        look() {
            for command in instances "show i2" stats verify tasks "history i2" "draw --instance i2"; do
                "$2" $command --data "$data" >"$1/../told" 2>&1 || { echo "failed: $command"; cat "$1/../told"; }
            done
        }
        look "$@"
        "$2" cancel i1 --data "$data" 2>&1 || echo "failed: cancel"
        "$2" cancel i3 i4 i5 --data "$data" 2>&1 || echo "failed: cancel"
        "$2" delete i1 i3 i4 i5 --data "$data" 2>&1 || echo "failed: delete"
        "$2" compact --data "$data" 2>&1 || echo "failed: compact"
        look "$@"
        i=6
        while [ $i -lt $n ]; do "$2" cancel "i$i" --data "$data" >/dev/null 2>&1 || echo "failed: cancel i$i"; i=$((i + 1)); done
        "$2" compact --ended 0s --data "$data" >/dev/null 2>&1 || echo "failed: compact"
        "$2" start hello --id new --data "$data" 2>&1 || echo "failed: start"
        "$2" instances --data "$data"
        "$2" verify --data "$data"
    "#;
    for size in ["110000", "90000"] {
        let Some(told) = on_a_disk("5m", &script.replace("SIZE", size)) else {
            println!("skipped: a small file system cannot be mounted here");
            return;
        };
        assert!(!told.contains("failed: "), "{told}");
        assert!(told.contains("i2   running") && told.contains("new  running"), "{told}");
        assert!(told.contains("everything agrees"), "{told}");
    }
}

#[test]
fn a_store_on_a_medium_that_cannot_be_written_can_be_looked_at() {
    let script = r#"
        data="$1/data"
        "$2" deploy examples/hello.bpmn --data "$data"
        "$2" start hello --id ann --var name=Ann --data "$data"
        mount -o remount,ro "$1"
        "$2" instances --data "$data" 2>&1; echo "instances: status $?"
        "$2" verify --data "$data" 2>&1; echo "verify: status $?"
        "$2" start hello --data "$data" 2>&1; echo "start: status $?"
    "#;
    let Some(told) = on_a_disk("12m", script) else {
        println!("skipped: a small file system cannot be mounted here");
        return;
    };
    assert!(told.contains("instances: status 0") && told.contains("ann"), "{told}");
    assert!(told.contains("everything agrees") && told.contains("verify: status 0"), "{told}");
    assert!(told.contains("start: status 2") && told.contains("cannot be written"), "{told}");
}
