//! Where a store is: a directory, or a schema of a PostgreSQL database, which is named by its URL.

use std::{
    env, fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use travertine_runtime::{Engine, Error, engine::Options};
use travertine_store as store;

/// How many shards a new store gets where nobody says: one in a directory, so that instances have small numbers. On
/// PostgreSQL the number cannot be changed later either, and such a store may once have many processes.
pub(crate) fn shards(data: &Path, said: Option<u16>) -> u16 {
    said.unwrap_or_else(|| if is_url(data) { 64 } else { 1 })
}

/// Whether a store is named by a URL.
pub(crate) fn is_url(data: &Path) -> bool {
    let text = data.as_os_str().as_encoded_bytes();
    text.starts_with(b"postgres://") || text.starts_with(b"postgresql://")
}

/// Refuses a URL with a password: other users of the machine see arguments, and messages name the store.
pub(crate) fn check(data: &Path) -> Result<(), store::Error> {
    let refused = |reason: &str| Err(store::Error::BadQuery { reason: reason.to_owned() });
    if !is_url(data) {
        return Ok(());
    }
    if cfg!(not(feature = "postgres")) {
        return refused("this build knows no PostgreSQL; build it with the feature `postgres`");
    }
    let text = data.to_string_lossy();
    let who = text.split_once("://").and_then(|it| it.1.split('?').next()?.rsplit_once('@'));
    // One with a `?` or a `/` in it is no port either.
    let is_port = |it: &str| {
        it.split(['/', '?', ',']).next().is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()))
    };
    let strange = text.split_once("://").and_then(|it| it.1.split_once('@')?.0.split_once(':'));
    let in_front = who.is_some_and(|(who, _)| who.contains(':'))
        || strange.is_some_and(|(user, it)| !user.contains(['/', '?']) && !is_port(it));
    let behind = text
        .split_once('?')
        .is_some_and(|it| it.1.split('&').any(|it| it.starts_with("password=")));
    if in_front || behind {
        return refused(
            "a password does not belong into the URL of a store, where others can see it: put it into PGPASSWORD, or \
             into ~/.pgpass or the file that PGPASSFILE names",
        );
    }
    Ok(())
}

/// The directory of what belongs to a store on this machine: the store itself, or for one on PostgreSQL a place of its
/// own for accounts and webhooks, and for the socket through which commands reach the process that has it. It is nowhere
/// where others can write: whoever makes it has the store.
pub(crate) fn local(data: &Path) -> io::Result<PathBuf> {
    if !is_url(data) {
        return Ok(data.to_owned());
    }
    let given = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let state = given("XDG_STATE_HOME").or_else(|| Some(given("HOME")?.join(".local/state")));
    let state = state.ok_or_else(|| {
        io::Error::other("neither XDG_STATE_HOME nor HOME says where this machine keeps things")
    })?;
    Ok(state.join("travertine").join(file_name(data.as_os_str().as_encoded_bytes())))
}

/// A name for a file that no other URL has.
fn file_name(url: &[u8]) -> String {
    let plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_' | b'-');
    let of = |it: &u8| {
        if plain(*it) { char::from(*it).to_string() } else { format!("%{it:02x}") }
    };
    url.iter().map(of).collect()
}

/// The directory that [`local`] names, made where it is not there.
pub(crate) fn local_made(data: &Path) -> io::Result<PathBuf> {
    let dir = local(data)?;
    if is_url(data) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
    }
    Ok(dir)
}

/// Opens a store.
pub(crate) fn open(data: &Path, options: Options) -> Result<Engine, Error> {
    check(data)?;
    if is_url(data) { connect(data, options) } else { Engine::open_with(data, options) }
}

#[cfg(feature = "postgres")]
fn connect(data: &Path, options: Options) -> Result<Engine, Error> {
    Engine::connect_with(&data.to_string_lossy(), options)
}

#[cfg(not(feature = "postgres"))]
fn connect(data: &Path, _options: Options) -> Result<Engine, Error> {
    Err(store::Error::Missing { store: data.display().to_string() }.into())
}

/// Copies a store that others may have open.
pub(crate) fn backup(data: &Path, to: &Path) -> Result<(), store::Error> {
    check(data)?;
    #[cfg(feature = "postgres")]
    if is_url(data) {
        return store::postgres::backup(&data.to_string_lossy(), to);
    }
    store::sqlite::backup(data, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_with_a_password_is_refused_without_showing_it() {
        for text in [
            "postgres://ann:hidden@db/app",
            "postgres://ann:hid?den@db/app",
            "postgres://db/app?user=ann&password=hidden",
        ] {
            let told = check(Path::new(text)).unwrap_err().to_string();
            assert!(told.contains("PGPASSWORD") && !told.contains("hid"), "{told}");
        }
        for text in [
            "postgres://ann@db:5432/app?schema=x",
            "postgres://db:5432/app?user=ann@x",
            "data",
            "/var/lib/a:b@c",
        ] {
            assert_eq!(check(Path::new(text)), Ok(()));
        }
    }

    #[test]
    fn what_belongs_to_a_url_has_a_directory_that_no_other_url_has() {
        assert_eq!(local(Path::new("data")).unwrap(), Path::new("data"));
        let all =
            ["postgres://db/a-b", "postgres://db/a/b", "postgres://db/a%2fb", "postgres://db/A-b"];
        let mut names: Vec<String> = all.iter().map(|it| file_name(it.as_bytes())).collect();
        assert_eq!(names[1], "postgres%3a%2f%2fdb%2fa%2fb");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }
}
