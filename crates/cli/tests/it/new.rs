//! `travertine new`: what it makes compiles, and survives a kill.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Called, command, finish};

fn new_in(dir: &Path, args: &[&str]) -> Called {
    let mut command = command(&[&["new"], args].concat());
    finish(command.current_dir(dir).spawn().unwrap(), "")
}

/// Runs the program in its directory and gives all that it says; kills it when it was heard to say this, so
/// that it may have said a little more.
fn said(program: &Path, dir: &Path, last: Option<&str>) -> String {
    let mut command = Command::new(program);
    let mut child = command.current_dir(dir).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        said += &line;
        said += "\n";
        if last.is_some_and(|it| line.contains(it)) {
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    assert!(status.success() || last.is_some(), "{said}");
    said
}

/// The settings of builds here, so that libraries which were built for this workspace fit.
fn as_in_this_workspace() -> Vec<String> {
    let crates = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
    let names = crates.map(|it| it.unwrap().file_name().into_string().unwrap());
    let own = names.map(|it| match it.as_str() {
        "travertine" => "profile.dev.package.travertine.opt-level=0".to_owned(),
        it => format!("profile.dev.package.travertine-{it}.opt-level=0"),
    });
    let others = [
        "profile.dev.debug=\"line-tables-only\"".to_owned(),
        "profile.dev.package.\"*\".opt-level=1".to_owned(),
    ];
    own.chain(others).flat_map(|it| ["--config".to_owned(), it]).collect()
}

#[test]
fn a_new_project_compiles_and_survives_a_kill() {
    // Always the same place, in the checkout: what was built for it is still there the next time.
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new");
    drop(fs::remove_dir_all(&place));
    fs::create_dir_all(&place).unwrap();
    let called = new_in(&place, &["new-shop"]);
    assert_eq!(called.status, 0, "{}", called.err);
    assert!(called.out.contains("cd new-shop && cargo run"), "{}", called.out);

    let shop = place.join("new-shop");
    // Nobody wants to wait for ten seconds here.
    let seconds = "Duration::from_secs(10)";
    change(&shop, "src/workflows.rs", seconds, "Duration::from_millis(300)");
    let target: PathBuf = [env!("CARGO_TARGET_TMPDIR"), ".."].iter().collect();
    let cargo = |command: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([command, "--offline", "--quiet"]).args(as_in_this_workspace());
        let done = cargo.current_dir(&shop).env("CARGO_TARGET_DIR", &target).output().unwrap();
        let warnings = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{warnings}");
        warnings
    };
    assert_eq!(cargo("build"), "", "it compiles without warnings");

    let program = target.join("debug").join("new-shop");
    let before = said(&program, &shop, Some("charged"));
    assert!(before.contains("the bank is busy (attempt 2)"), "{before}");
    let after = said(&program, &shop, None);
    assert!(!after.contains("the bank is busy"), "what has failed counts after the kill: {after}");
    // On a busy machine it may have come to its end before it was killed.
    let all = before + &after;
    assert!(all.contains("shipped a teapot"), "{all}");
    let result = "order-1: a teapot is on its way, 1200 cents paid";
    assert!(after.contains(result), "{after}");
    let again = said(&program, &shop, None);
    assert!(again.contains(result) && !again.contains("shipped"), "{again}");

    // What people do first: a pause in an activity, an argument of the program, an error of someone else, a clock
    // in a workflow.
    let pause = "tokio::time::sleep(std::time::Duration::from_millis(1)).await; tokio::fs::metadata(\".\").await?;";
    change(
        &shop,
        "src/activities.rs",
        "    println!(\"  shipped",
        &format!("    {pause}\n    println!(\"  shipped"),
    );
    change(
        &shop,
        "src/activities.rs",
        "Ok(format!(\"a {item} is",
        "std::env::current_dir()?;\n    Ok(format!(\"a {item} is",
    );
    change(
        &shop,
        "src/main.rs",
        "    println!(\"kill",
        "    let _ = std::env::args().nth(1);\n    println!(\"kill",
    );
    change(
        &shop,
        "src/workflows.rs",
        "    let parcel",
        "    let v = Vec::<u8>::new();\n    println!(\"{}\", v[cx.run() as usize]);\n    let parcel",
    );
    change(&shop, "src/main.rs", "order-1\").await", "order-2\").await");
    if has_clippy() {
        assert_eq!(cargo("clippy"), "", "only workflows are looked at");
        change(
            &shop,
            "src/workflows.rs",
            "    let parcel",
            "    let _ = std::time::SystemTime::now();\n    let parcel",
        );
        assert!(cargo("clippy").contains("ask `cx.now()`"), "and they are");
    }

    // A workflow that panics ends the program with words, and goes on when it is mended.
    cargo("build");
    let stuck = Command::new(&program).current_dir(&shop).output().unwrap();
    let words = String::from_utf8_lossy(&stuck.stderr).into_owned();
    assert_eq!(stuck.status.code(), Some(1), "{words}");
    assert!(
        words.contains("Error: order-2 cannot go on: the code panicked at src/workflows.rs:"),
        "{words}"
    );
    change(
        &shop,
        "src/workflows.rs",
        "    println!(\"{}\", v[cx.run() as usize]);\n",
        "    drop(v);\n",
    );
    cargo("build");
    let mended = said(&program, &shop, None);
    assert!(mended.contains("a teapot is on its way") && !mended.contains("charged"), "{mended}");
}

fn has_clippy() -> bool {
    let installed = Command::new(env!("CARGO")).args(["clippy", "--version"]).output();
    installed.is_ok_and(|it| it.status.success())
}

/// Changes a file of the project.
fn change(project: &Path, file: &str, before: &str, after: &str) {
    let path = project.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(before), "{before} is not in {file}");
    fs::write(&path, text.replacen(before, after, 1)).unwrap();
}

#[test]
fn a_new_project_uses_the_repository_or_the_checkout_that_is_named() {
    let place = tempfile::tempdir().unwrap();
    let called = new_in(place.path(), &["orders"]);
    assert_eq!(called.status, 0, "{}", called.err);
    let manifest = fs::read_to_string(place.path().join("orders/Cargo.toml")).unwrap();
    assert!(manifest.contains("crates/travertine\" }"), "the one it was built in: {manifest}");
    assert!(called.out.contains("  on Travertine in "), "{}", called.out);
    assert!(place.path().join("orders/Cargo.lock").exists());
    let lints = fs::read_to_string(place.path().join("orders/clippy.toml")).unwrap();
    assert!(lints.contains("disallowed-types"));

    let mirror = "ssh://git@git.example.com/travertine.git";
    let called = new_in(place.path(), &["ours", "--git", mirror]);
    assert_eq!(called.status, 0, "{}", called.err);
    assert!(called.out.contains(&format!("  on Travertine from {mirror}\n")), "{}", called.out);
    for file in ["Cargo.toml", "README.md"] {
        let text = fs::read_to_string(place.path().join("ours").join(file)).unwrap();
        assert!(text.contains(mirror), "{text}");
    }
    assert!(!place.path().join("ours/Cargo.lock").exists());

    let checkout = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let called = new_in(place.path(), &["here", "--path", checkout]);
    assert_eq!(called.status, 0, "{}", called.err);
    let manifest = fs::read_to_string(place.path().join("here/Cargo.toml")).unwrap();
    assert!(manifest.contains("crates/travertine\" }"), "{manifest}");
    assert!(place.path().join("here/Cargo.lock").exists());
}

#[test]
fn a_new_project_overwrites_nothing_and_needs_a_name_that_cargo_takes() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("orders"), "mine").unwrap();
    for (args, words) in [
        (&["orders"][..], "orders is there already; choose another name"),
        (&["My Orders"], "use a-z, 0-9, - and _, as in my-orders"),
        (&["tokio"], "choose another one"),
        (&["shop", "--path", "nowhere"], "cannot find nowhere"),
        (&["shop", "--path", "."], "is no checkout of Travertine"),
    ] {
        let called = new_in(place.path(), args);
        assert_eq!(called.status, 2, "{args:?}");
        assert!(called.err.contains(words), "{args:?}: {}", called.err);
    }
    assert_eq!(fs::read_to_string(place.path().join("orders")).unwrap(), "mine");
    assert!(!place.path().join("shop").exists());
}
