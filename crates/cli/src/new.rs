//! `travertine new`: a project with a workflow to begin with.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::{args::New, screen::Screen, status::Status};

const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// What is written, and where. The templates name in braces what differs.
const FILES: [(&str, &str); 7] = [
    ("Cargo.toml", include_str!("../template/Cargo.toml.in")),
    ("src/main.rs", include_str!("../template/main.rs")),
    ("src/workflows.rs", include_str!("../template/workflows.rs")),
    ("src/activities.rs", include_str!("../template/activities.rs")),
    ("clippy.toml", include_str!("../../../docs/functions/clippy.toml")),
    ("README.md", include_str!("../template/README.md")),
    (".gitignore", "/target\n/data\n"),
];

pub(crate) fn new(args: &New, out: &Screen) -> Result<Status> {
    let New { name, path, git } = args;
    check_name(name)?;
    let dir = Path::new(name);
    if dir.symlink_metadata().is_ok() {
        bail!("{name} is there already; choose another name, or move it away");
    }
    let here = env::current_dir().context("nobody knows where this is")?;
    let checkout = match (path, git) {
        (Some(path), _) => Some(checkout(path)?),
        (None, Some(_)) => None,
        (None, None) => {
            let built_in = Path::new(env!("CARGO_MANIFEST_DIR"));
            let mut near = here.ancestors().chain(built_in.ancestors());
            near.find(|it| is_checkout(it)).map(Path::to_owned)
        }
    };
    let repository = git.as_deref().unwrap_or(REPOSITORY);
    let travertine = match &checkout {
        Some(checkout) => {
            let library = checkout.join("crates").join("travertine");
            let Some(library) = library.to_str() else {
                bail!("{} cannot be written into Cargo.toml: it is not UTF-8", library.display());
            };
            format!("{{ path = {library:?} }}")
        }
        None => format!("{{ git = {repository:?} }}"),
    };
    fs::create_dir_all(dir.join("src")).with_context(|| format!("cannot make {name}"))?;
    for (file, template) in FILES {
        let text = match file {
            "Cargo.toml" | "README.md" => template
                .replace("{name}", name)
                .replace("{travertine}", &travertine)
                .replace("{repository}", repository),
            _ => template.to_owned(),
        };
        let file = dir.join(file);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    if let Some(checkout) = &checkout {
        // The versions that the checkout was tried with, which are also at hand without a network.
        let lock = checkout.join("Cargo.lock");
        if lock.exists() {
            fs::copy(&lock, dir.join("Cargo.lock"))
                .with_context(|| format!("cannot copy {}", lock.display()))?;
        }
    }
    out.line(format!("made {name}, with a workflow that survives a kill"));
    match &checkout {
        Some(checkout) => out.line(format!("  on Travertine in {}", checkout.display())),
        None => out.line(format!("  on Travertine from {repository}")),
    }
    out.line(format!("  cd {name} && cargo run"));
    Ok(Status::Done)
}

/// What Cargo takes as a name, and no name of what the project uses.
fn check_name(name: &str) -> Result<()> {
    let begins = name.starts_with(|it: char| it.is_ascii_lowercase());
    let fits = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-_".contains(it);
    if !begins || !name.chars().all(fits) {
        bail!("{name:?} cannot be the name of a project; use a-z, 0-9, - and _, as in my-orders");
    }
    let used = [
        "travertine",
        "anyhow",
        "serde",
        "tokio",
        "tracing-subscriber",
        "std",
        "core",
        "alloc",
        "test",
    ];
    if used.contains(&name) {
        bail!("{name} is the name of something that the project uses; choose another one");
    }
    Ok(())
}

fn is_checkout(dir: &Path) -> bool {
    dir.join("crates/travertine/Cargo.toml").is_file()
}

fn checkout(path: &Path) -> Result<PathBuf> {
    let found = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    if !is_checkout(&found) {
        bail!(
            "{} is no checkout of Travertine: it has no crates/travertine; clone {REPOSITORY}",
            path.display()
        );
    }
    Ok(found)
}
