//! The web page, in a real browser: journeys in `ui/journeys` against this binary.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// A program, where it is on the path.
fn found(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let all: Vec<PathBuf> = env::split_paths(&path).collect();
    names.iter().flat_map(|name| all.iter().map(move |it| it.join(name))).find(|it| it.is_file())
}

#[test]
fn the_journeys_through_the_page_arrive() {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui");
    let node = found(&["node"]);
    let chromium = found(&["chromium", "chromium-browser", "google-chrome"]);
    let modules = ui.join("node_modules/playwright-core").is_dir();
    let (Some(node), Some(chromium), true) = (&node, &chromium, modules) else {
        let missing = [
            (node.is_none(), "node"),
            (chromium.is_none(), "chromium"),
            (!modules, "ui/node_modules (npm ci in ui/)"),
        ];
        let missing: Vec<&str> = missing.iter().filter(|it| it.0).map(|it| it.1).collect();
        let missing = missing.join(", ");
        assert!(
            env::var("CI").as_deref() != Ok("true"),
            "the page cannot be tried without {missing}"
        );
        eprintln!("SKIPPED: the page is not tried in a browser, for want of {missing}");
        return;
    };
    let run = Command::new(node)
        .current_dir(&ui)
        .arg("journeys/run.mjs")
        .arg(env!("CARGO_BIN_EXE_travertine"))
        .arg(chromium)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
}
