//! One process at a time.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::Path,
};

use super::{fault, file};
use crate::Error;

/// Holds the store for this process, until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    pub(super) fn take(dir: &Path) -> Result<Self, Error> {
        let path = dir.join("lock");
        let failed = |error: std::io::Error| fault::system(&path, &error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = file::private(&mut options).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let known = file.read_to_string(&mut holder).is_ok_and(|length| length > 0);
                let (holder, own) = (holder.trim(), std::process::id().to_string());
                let whose = if holder == own { "this process, " } else { "process " };
                let holder = known.then(|| format!("{whose}{holder}"));
                return Err(Error::InUse { store: dir.display().to_string(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let name = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        match name(&mut file) {
            // It is locked all the same, only nobody can read by whom.
            Err(error) if error.kind() != std::io::ErrorKind::StorageFull => Err(failed(error)),
            _ => Ok(Self { file }),
        }
    }
}

impl Lock {
    /// Holds a store that cannot be written, where it has a lock that can be read.
    pub(super) fn look(dir: &Path) -> Result<Option<Self>, Error> {
        let Ok(file) = File::open(dir.join("lock")) else { return Ok(None) };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                Err(Error::InUse { store: dir.display().to_string(), holder: None })
            }
            _ => Ok(Some(Self { file })),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that is just being started has a copy of the file for a moment.
        // Where unlocking fails, the lock goes with the last copy.
        let _ = self.file.unlock();
    }
}
