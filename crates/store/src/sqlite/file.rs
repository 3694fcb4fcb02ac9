//! The files of a store: only its owner may read them.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::Path,
};

use rustix::fs::OFlags;

use super::fault;
use crate::Error;

const NO_LINKS: i32 = OFlags::NOFOLLOW.bits().cast_signed();

/// The file that keeps some room, so that a full disk can be emptied.
const RESERVE: &str = "reserve";
/// How much room that is. A disk with less is full.
pub(super) const RESERVE_BYTES: u64 = 1 << 20;

/// What a store consists of.
const NAMES: [&str; 10] = [
    RESERVE,
    "log.db",
    "log.db-wal",
    "log.db-shm",
    "views.db",
    "views.db-wal",
    "views.db-shm",
    "lock",
    super::end::NAME,
    super::notes::NAME,
];

/// How many bytes can still be written where the store is, if the system says.
pub(super) fn room(dir: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(dir).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Whether so little room is left that a store should not be written.
pub(super) fn is_full(dir: &Path) -> bool {
    room(dir).is_some_and(|it| it < RESERVE_BYTES)
}

/// Whether so little room is left that rows of a few large variables might fill it.
pub(super) fn is_tight(dir: &Path) -> bool {
    room(dir).is_some_and(|it| it < 16 * RESERVE_BYTES)
}

/// Keeps some room, where there is as much besides.
pub(super) fn reserve(dir: &Path) {
    if dir.join(RESERVE).exists() || room(dir).is_none_or(|it| it < 2 * RESERVE_BYTES) {
        return;
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    let flags = rustix::fs::FallocateFlags::empty();
    // A store without it is as good, until the disk is full.
    if let Ok(file) = private(&mut options).open(dir.join(RESERVE)) {
        let _: Result<(), _> = rustix::fs::fallocate(file, flags, 0, RESERVE_BYTES);
    }
}

/// Gives the room back that was kept.
pub(super) fn use_reserve(dir: &Path) {
    let _: io::Result<()> = fs::remove_file(dir.join(RESERVE));
}

/// Whether there is a store in a directory. Who may not look into it is told so.
pub(super) fn has_log(dir: &Path) -> Result<bool, Error> {
    let path = dir.join("log.db");
    match path.try_exists() {
        Err(error) if error.kind() != io::ErrorKind::NotADirectory => {
            Err(Error::Failed { reason: format!("{}: {error}", path.display()) })
        }
        found => Ok(found.unwrap_or(false)),
    }
}

/// Refuses a directory in which everything but the log of a store is left: it is no place for a new one.
pub(super) fn check_remains(dir: &Path) -> Result<(), Error> {
    let log = dir.join("log.db");
    let journal = if log.exists() { &[][..] } else { &["log.db-wal"] };
    let beside = ["views.db", super::end::NAME].iter().chain(journal);
    let Some(left) = beside.copied().find(|it| dir.join(it).exists()) else { return Ok(()) };
    let how = if log.exists() { "empty" } else { "gone" };
    let reason = format!("it is {how}, and {left} beside it is not");
    Err(Error::Lost { place: log.display().to_string(), reason })
}

/// There must be a store in a directory.
pub(super) fn need_log(dir: &Path) -> Result<(), Error> {
    if has_log(dir)? {
        return Ok(());
    }
    check_remains(dir)?;
    Err(Error::Missing { store: dir.display().to_string() })
}

/// New files are for their owner alone. What a link points to is not ours to write.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600).custom_flags(NO_LINKS)
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
        fs::create_dir_all(parent).map_err(|error| {
            // What it says of itself is that something is there.
            let file = parent.ancestors().find(|it| it.exists() && !it.is_dir());
            file.map_or_else(
                || fault::system(parent, &error),
                |it| Error::Failed {
                    reason: format!("{} cannot be made: {} is a file", dir.display(), it.display()),
                },
            )
        })?;
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
