//! The files of a store: only its owner may read them.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::Path,
};

use super::fault;
use crate::Error;

/// What a store consists of.
const NAMES: [&str; 8] = [
    "log.db",
    "log.db-wal",
    "log.db-shm",
    "views.db",
    "views.db-wal",
    "views.db-shm",
    "lock",
    super::end::NAME,
];

/// New files are for their owner alone.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Makes an empty file, where there is none. SQLite gives its journals the rights of the database.
pub(super) fn make(path: &Path) -> Result<(), Error> {
    let mut options = File::options();
    options.write(true).create_new(true);
    match private(&mut options).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(fault::system(path, &error))
        }
        _ => Ok(()),
    }
}

/// Makes a directory for its owner alone, where there is none.
pub(super) fn make_directory(dir: &Path) -> Result<(), Error> {
    if dir.exists() && !dir.is_dir() {
        let reason = format!("{} is a file; a store is a directory: name another", dir.display());
        return Err(Error::Failed { reason });
    }
    if let Some(parent) = dir.parent().filter(|it| !it.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|error| fault::system(parent, &error))?;
    }
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(fault::system(dir, &error))
        }
        _ => Ok(()),
    }
}

/// Takes the rights of others to the files of a store away, as far as this process may.
pub(super) fn narrow(dir: &Path) {
    for name in NAMES {
        let path = dir.join(name);
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if found.is_file() && found.mode() & 0o077 != 0 {
            // Who does not own it cannot, and the owner will.
            let _: io::Result<()> =
                fs::set_permissions(&path, Permissions::from_mode(found.mode() & 0o700));
        }
    }
}

/// Which file a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl FileId {
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|it| Self(it.dev(), it.ino()))
    }
}
