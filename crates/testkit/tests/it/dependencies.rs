//! What comes with the crate that programs add.

use std::{collections::BTreeSet, process::Command};

/// The crates that a package brings with it.
fn brought(package: &str) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--edges", "normal,build", "--prefix", "none"])
        .args(["--package", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).expect("it is text");
    tree.lines().filter_map(|it| it.split(' ').next().map(str::to_owned)).collect()
}

#[test]
fn programs_with_functions_bring_no_server_with_them() {
    let server = [
        "argon2",
        "axum",
        "hyper",
        "hyper-util",
        "prometheus-client",
        "prost",
        "rustls",
        "tokio-rustls",
        "tonic",
        "tower",
        "travertine-server",
        "travertine-ui",
    ];
    let all = brought("travertine");
    assert!(all.contains("travertine-runtime"), "{all:?}");
    for it in server {
        assert!(!all.contains(it), "travertine needs {it}");
    }
    // These are what the server is made of, so that a name that has changed is noticed.
    let all = brought("travertine-server");
    for it in server {
        assert!(all.contains(it), "travertine-server does not need {it}: leave it out of the list");
    }
}
