//! The end mark: how far the log of each shard was, in a file beside it.
//!
//! It is written after each commit and never synced, so it costs next to nothing. It is never ahead of the
//! log: what it says was durable before it said so. A log that ends before its mark has lost something, for
//! example because its journal was deleted after a crash. A mark that is missing or torn says nothing.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path};

use crate::Seq;

/// The end mark of an open log.
#[derive(Debug)]
pub(super) struct End {
    file: Option<File>,
    log: Vec<u8>,
}

/// The name of the file.
pub(super) const NAME: &str = "end";

impl End {
    /// The mark for the log of this id. Where there is no room for the file the log goes without.
    pub(super) fn open(dir: &Path, log: &[u8]) -> Self {
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        Self {
            file: super::file::private(&mut options).open(dir.join(NAME)).ok(),
            log: log.to_owned(),
        }
    }

    /// Says how far the logs are.
    pub(super) fn mark(&self, ends: impl Iterator<Item = Seq>) {
        let Some(file) = &self.file else { return };
        let mut bytes = self.log.clone();
        for end in ends {
            bytes.extend(end.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes);
        bytes.extend(sum.to_le_bytes());
        // An older mark says less, and nothing wrong.
        let _: io::Result<()> = file.write_all_at(&bytes, 0);
    }
}

/// How far the logs of a store were at least, where the mark is of this log.
pub(super) fn read(dir: &Path, log: &[u8], shards: u16) -> Option<Vec<Seq>> {
    let bytes = std::fs::read(dir.join(NAME)).ok()?;
    let length = log.len() + usize::from(shards) * 8;
    let (bytes, sum) = bytes.get(..length + 4)?.split_at(length);
    if crc32fast::hash(bytes).to_le_bytes() != sum {
        return None;
    }
    let ends = bytes.strip_prefix(log)?;
    Some(ends.as_chunks().0.iter().map(|it| Seq::from_le_bytes(*it)).collect())
}
