//! Makes a table of the files in `dist`: name, type, hash, and bytes both plain and compressed.
//!
//! `dist` is committed as it was built, so this needs neither Node nor a network.

use std::{
    env,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest as _, Sha256};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let dist = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("dist");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    list(&dist, "", &mut files)?;
    if env::var_os("CARGO_FEATURE_EDITORS").is_none() {
        files.retain(|it| !it.starts_with("editors/"));
    }
    files.sort();
    let mut table = "static ALL: &[Asset] = &[\n".to_owned();
    for (number, name) in files.iter().enumerate() {
        let path = dist.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let bytes = fs::read(&path)?;
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(&bytes)?;
        let packed = out.join(format!("{number}.gz"));
        fs::write(&packed, packer.finish()?)?;
        let hash = Sha256::digest(&bytes);
        let hash = u128::from_be_bytes(hash[..16].try_into()?);
        let kind = content_type(name)?;
        // As texts, so that what a system has in its paths is escaped.
        let (path, packed) = (path.display().to_string(), packed.display().to_string());
        writeln!(
            table,
            "    Asset {{ name: {name:?}, content_type: {kind:?}, hash: \"{hash:032x}\", \
             bytes: include_bytes!({path:?}), gzip: include_bytes!({packed:?}) }},"
        )?;
    }
    table.push_str("];\n");
    fs::write(out.join("table.rs"), table)?;
    Ok(())
}

/// The names of all files, with `/` on every system.
fn list(dir: &Path, below: &str, found: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name =
            entry.file_name().into_string().map_err(|it| format!("no text: {}", it.display()))?;
        let name = format!("{below}{name}");
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), found)?;
        } else {
            found.push(name);
        }
    }
    Ok(())
}

fn content_type(name: &str) -> Result<&'static str> {
    Ok(match name.rsplit_once('.').map(|(_, it)| it) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("woff2") => "font/woff2",
        Some("svg") => "image/svg+xml",
        Some("txt" | "sha256") => "text/plain; charset=utf-8",
        Some("bpmn" | "dmn") => "application/xml",
        Some("json") => "application/json",
        _ => {
            return Err(format!("no content type is known for {name}; name one in build.rs").into());
        }
    })
}
