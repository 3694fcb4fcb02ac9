//! One process at a time.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::Path,
};

use super::fault;
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
        let mut file = options.open(&path).map_err(failed)?;
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
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that is just being started has a copy of the file for a moment.
        // Where unlocking fails, the lock goes with the last copy.
        let _ = self.file.unlock();
    }
}
