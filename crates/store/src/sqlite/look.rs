//! A copy of a store that cannot be written where it is, for who only looks.
//!
//! Looking needs to write, too: what a crash has left in a journal, and rows that are behind the log. Whoever empties a
//! store on a full disk has its views elsewhere meanwhile: they can be made again, so their room is the first to give.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::{fault, file};
use crate::Error;

/// A directory that goes when it is dropped.
#[derive(Debug)]
pub(super) struct Copy(PathBuf);

impl Copy {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _: io::Result<()> = fs::remove_dir_all(&self.0);
    }
}

/// What is copied: the databases and their journals.
const NAMES: [&str; 5] = ["log.db", "log.db-wal", "views.db", "views.db-wal", "end"];

/// Copies a store to where there is room for it.
pub(super) fn copy(from: &Path) -> Result<Copy, Error> {
    let needed = length(from, &NAMES) + (4 << 20);
    let Some(place) = place_for(needed) else {
        let reason = format!(
            "{} cannot be written, and there is no room for a copy to look at in {} ({} MiB); set TMPDIR to a directory that has",
            from.display(),
            std::env::temp_dir().display(),
            needed >> 20,
        );
        return Err(Error::Full { reason });
    };
    let copy = make(&place)?;
    for name in NAMES {
        let (source, target) = (from.join(name), copy.0.join(name));
        match copy_file(&source, &target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // Views are made again where they cannot be had.
            Err(_) if name.starts_with("views") => {}
            copied => drop(copied.map_err(|error| fault::system(&source, &error))?),
        }
    }
    Ok(copy)
}

/// Copies what a file has in it, not its rights: the copy can be written where the file cannot.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = fs::File::open(from)?;
    let mut to = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut from, &mut to).map(drop)
}

fn length(dir: &Path, names: &[&str]) -> u64 {
    names.iter().map(|it| fs::metadata(dir.join(it)).map_or(0, |it| it.len())).sum()
}

/// A place for what is kept as long as this process runs.
fn place_for(bytes: u64) -> Option<PathBuf> {
    let places = [std::env::temp_dir(), PathBuf::from("/dev/shm")];
    places.into_iter().find(|it| file::room(it).is_some_and(|room| room > bytes))
}

/// The views of a store on a full disk, elsewhere. They come back when this is dropped, if there is room then.
#[derive(Debug)]
pub(super) struct Elsewhere {
    copy: Copy,
    home: PathBuf,
}

/// What views consist of.
const VIEWS: [&str; 3] = ["views.db", "views.db-wal", "views.db-shm"];

impl Elsewhere {
    /// Takes the views of a store away, where there is another place for them.
    pub(super) fn take(home: &Path) -> Option<Self> {
        // What is stored meanwhile is in the journal before it is in the database.
        let needed = 2 * length(home, &NAMES) + (4 << 20);
        let copy = make(&place_for(needed)?).ok()?;
        for name in &VIEWS[..2] {
            match copy_file(&home.join(name), &copy.0.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                copied => drop(copied.ok()?),
            }
        }
        for name in VIEWS {
            let _: io::Result<()> = fs::remove_file(home.join(name));
        }
        Some(Self { copy, home: home.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        self.copy.path()
    }

    fn bring_back(&self) -> io::Result<()> {
        let (from, to) = (self.copy.0.join(VIEWS[0]), self.home.join(VIEWS[0]));
        // All of it must be in the file.
        let whole = rusqlite::Connection::open(&from)
            .and_then(|it| it.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
        if whole.is_err() || length(&self.copy.0, &VIEWS[1..2]) > 0 {
            return Ok(());
        }
        let needed = fs::metadata(&from)?.len() + file::RESERVE_BYTES;
        if file::room(&self.home).is_none_or(|room| room < needed) {
            return Ok(());
        }
        let new = to.with_extension("new");
        let copied = fs::copy(&from, &new)
            .and_then(|_| fs::File::open(&new)?.sync_all())
            .and_then(|()| fs::rename(&new, &to));
        if copied.is_err() {
            let _: io::Result<()> = fs::remove_file(&new);
        }
        copied
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        file::reserve(&self.home);
        // Those that do not come back are made again.
        let _: io::Result<()> = self.bring_back();
    }
}

fn make(place: &Path) -> Result<Copy, Error> {
    let mut nth = 0_u32;
    loop {
        let path = place.join(format!("travertine-look-{}-{nth}", std::process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(Copy(path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => nth += 1,
            Err(error) => return Err(fault::system(&path, &error)),
        }
    }
}
