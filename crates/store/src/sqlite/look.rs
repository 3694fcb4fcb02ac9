//! A copy of a store that cannot be written where it is, for who only looks.
//!
//! Looking needs to write, too: what a crash has left in a journal, and rows that are behind the log.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt as _,
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
    let length = |name: &str| fs::metadata(from.join(name)).map_or(0, |it| it.len());
    let needed = NAMES.map(length).iter().sum::<u64>() + (4 << 20);
    let places = [std::env::temp_dir(), PathBuf::from("/dev/shm")];
    let Some(place) = places.iter().find(|it| file::room(it).is_some_and(|room| room > needed))
    else {
        let reason = format!(
            "{} cannot be written, and there is no room for a copy to look at in {} ({} MiB); set TMPDIR to a directory that has",
            from.display(),
            places[0].display(),
            needed >> 20,
        );
        return Err(Error::Full { reason });
    };
    let copy = make(place)?;
    for name in NAMES {
        let (source, target) = (from.join(name), copy.0.join(name));
        match fs::copy(&source, &target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // Views are made again where they cannot be had.
            Err(_) if name.starts_with("views") => {}
            copied => drop(copied.map_err(|error| fault::system(&source, &error))?),
        }
    }
    Ok(copy)
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
